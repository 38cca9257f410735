"""MDAV': clusters of at least k trajectories, each published as the alignment of its members.

Tamersoy and others, Anonymization of longitudinal electronic medical records, IEEE TITB 16(3), 2012, Algorithms 3
and 4. Equal trajectories are looked at once. Beyond the paper: clusters with at least l distinct sensitive values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from deid.base.errors import ConfigError, InputError, require
from deid.trajectories.alignment import METHODS, Aligned, Costs, Pairs, align, align_by_index
from deid.trajectories.kernels import alignment_costs
from deid.trajectories.records import Trajectories


@dataclass(frozen=True, eq=False)
class TrajectoryCluster:
    """Trajectories that are published as one, int32 of shape (pairs, 2): nodes of codes and of ages."""

    pairs: Pairs = field(repr=False)
    """What is published."""
    members: tuple[int, ...] = field(repr=False)
    """Their places."""
    places: tuple[tuple[int, ...], ...] = field(repr=False)
    """For each member the place in its own trajectory of each published pair; its other pairs are suppressed."""
    codes: int = 0
    """Leaves lost by the alignments, of codes; the running estimate of the paper."""
    ages: int = 0


@dataclass(frozen=True, eq=False)
class TrajectoryRelease:
    """Published trajectories."""

    data: Trajectories
    clusters: tuple[TrajectoryCluster, ...] = field(repr=False)
    costs: Costs
    k: int
    method: str

    def published(self) -> list[Pairs]:
        """Return the published pairs of each person, in their order, int32 arrays of shape (pairs, 2)."""
        rows: list[Pairs] = [np.empty((0, 2), np.int32)] * len(self.data)
        for cluster in self.clusters:
            for member in cluster.members:
                rows[member] = cluster.pairs
        return rows


def anonymize_trajectories(
    data: Trajectories, k: int, *, weight: float = 0.5, method: str = "a-gs", diversity: int = 1, seed: int = 0
) -> TrajectoryRelease:
    """Release trajectories so that each published one occurs at least ``k`` times.

    Parameters
    ----------
    data : Trajectories
    k : int
        Least size of a cluster, at least 2.
    weight : float
        Weight of the loss of codes, 0 to 1; that of ages is the rest.
    method : {'a-gs', 'baseline'}
        How two trajectories are joined.
    diversity : int
        Least number of distinct sensitive values of a cluster; 1 asks for nothing.
    seed : int
        For the one choice at random: which trajectory the last cluster is built around.

    Returns
    -------
    TrajectoryRelease
        The clusters, each with its published trajectory.

    Raises
    ------
    ConfigError
        When an option is out of its range, or diversity is asked for without sensitive values.
    InputError
        When there are fewer trajectories than ``k``, or fewer sensitive values than ``diversity``.
    """
    require(method in METHODS, f"there is no method {method!r}", f"one of: {', '.join(METHODS)}")
    if k < 2 or not 0 <= weight <= 1 or diversity < 1:
        raise ConfigError("k is less than 2, or a weight is outside 0 to 1", "such as --k 5 --code-weight .5")
    if len(data) < k:
        raise InputError(f"{len(data)} trajectories are fewer than k = {k}", "lower k, or add persons")
    if diversity > 1 and not data.sensitive:
        raise ConfigError("diversity is asked for without a sensitive column", "name the column")
    if diversity > 1 and len(data.values(range(len(data)))) < diversity:
        raise InputError(f"fewer than {diversity} sensitive values", "lower the diversity")
    costs = Costs(data.codes, data.ages, weight)
    rest = _Rest(data, costs, method)
    clusters: list[TrajectoryCluster] = []
    while rest.size >= 3 * k:
        centre = rest.most_frequent()
        far = rest.extreme(centre, farthest=True)
        start = rest.unique[far]
        clusters.append(_form(rest, far, k, diversity))
        clusters.append(_form(rest, rest.extreme_of(start, farthest=True), k, diversity))
    while rest.size >= 2 * k:
        clusters.append(_form(rest, rest.extreme(rest.most_frequent(), farthest=True), k, diversity))
    left = rest.left()
    chosen = int(np.random.default_rng(seed).integers(len(left)))
    clusters.append(_form(rest, int(rest.kind[left[chosen]]), len(left), diversity, int(left[chosen])))
    return TrajectoryRelease(data, tuple(_diverse(clusters, data, costs, method, diversity)), costs, k, method)


class _Rest:
    """The trajectories that no cluster has yet; equal ones are one kind."""

    def __init__(self, data: Trajectories, costs: Costs, method: str) -> None:
        self.data, self.costs, self.by_index = data, costs, method == "baseline"
        kinds: dict[bytes, int] = {}
        self.kind = np.array([kinds.setdefault(data.trajectory(i).tobytes(), len(kinds)) for i in range(len(data))])
        """Kind of each trajectory."""
        firsts = np.unique(self.kind, return_index=True)[1]
        self.unique = [data.trajectory(int(i)) for i in firsts]
        self.pairs = np.concatenate([*self.unique, np.empty((0, 2), np.int32)])
        self.bounds = np.cumsum([0, *map(len, self.unique)]).astype(np.int64)
        self.queues: list[list[int]] = [[] for _ in self.unique]
        for i in range(len(data) - 1, -1, -1):
            self.queues[self.kind[i]].append(i)  # the last of a queue is its smallest place
        self.count = np.array([len(q) for q in self.queues])
        self.first = np.array([q[-1] for q in self.queues])
        self.size = len(data)
        self._cached: tuple[int, np.ndarray] | None = None

    def left(self) -> list[int]:
        """Return the places of what is left, ascending."""
        return sorted(i for queue in self.queues for i in queue)

    def take(self, kind: int, place: int | None = None) -> int:
        """Remove a trajectory of a kind: that at a place, or the first."""
        queue = self.queues[kind]
        found = queue.pop() if place is None else queue.pop(queue.index(place))
        self.count[kind] -= 1
        self.first[kind] = queue[-1] if queue else len(self.data)
        self.size -= 1
        return found

    def most_frequent(self) -> int:
        """Return the kind that is left most often, the one that comes first of equals."""
        best = np.flatnonzero(self.count == self.count.max())
        return int(best[np.argmin(self.first[best])])

    def _weigh(self, x: Pairs, active: np.ndarray) -> np.ndarray:
        codes, ages = alignment_costs(x, self.pairs, self.bounds, active, self.costs, self.by_index)
        weight_i, weight_a = self.costs.weights
        return codes * weight_i + ages * weight_a

    def extreme(self, kind: int, *, farthest: bool) -> int:
        """Return the kind that is farthest from another kind; costs are kept while that stays the same."""
        if self._cached is None or self._cached[0] != kind:
            everything = np.ones(len(self.unique), dtype=np.uint8)
            self._cached = (kind, self._weigh(self.unique[kind], everything))
        return self._pick(self._cached[1], self.count > 0, farthest)

    def extreme_of(self, x: Pairs, *, farthest: bool = False, among: np.ndarray | None = None) -> int:
        """Return the kind that is nearest to a trajectory, or farthest from it."""
        active = (self.count > 0) & (True if among is None else among)
        return self._pick(self._weigh(x, active.astype(np.uint8)), active, farthest)

    def _pick(self, cost: np.ndarray, active: np.ndarray, farthest: bool) -> int:
        places = np.flatnonzero(active)
        values = cost[places]
        best = places[values == (values.max() if farthest else values.min())]
        return int(best[np.argmin(self.first[best])])


def _form(rest: _Rest, kind: int, size: int, diversity: int, place: int | None = None) -> TrajectoryCluster:
    """Build a cluster around a trajectory out of the nearest ones (formCluster)."""
    member = rest.take(kind, place)
    pairs = rest.unique[kind]
    cluster = TrajectoryCluster(pairs, (member,), (tuple(range(len(pairs))),))
    data = rest.data
    while len(cluster.members) < size:
        among = fresh = None
        if diversity > 1:
            have = data.values(cluster.members)
            if diversity - len(have) >= size - len(cluster.members):
                fresh = [i for i in rest.left() if data.sensitive[i] not in {*have, ""}]
                among = np.bincount(rest.kind[fresh], minlength=len(rest.unique)) > 0 if fresh else None
        kind = rest.extreme_of(cluster.pairs, among=among)
        chosen = min(i for i in fresh if rest.kind[i] == kind) if among is not None and fresh else None
        member = rest.take(kind, chosen)
        own = rest.unique[kind]
        cluster = _joined(
            cluster, TrajectoryCluster(own, (member,), (tuple(range(len(own))),)), rest.costs, rest.by_index
        )
    return cluster


def _joined(a: TrajectoryCluster, b: TrajectoryCluster, costs: Costs, by_index: bool) -> TrajectoryCluster:
    """Join two clusters."""
    if a.pairs.shape == b.pairs.shape and (a.pairs == b.pairs).all():
        same = tuple(range(len(a.pairs)))
        found = Aligned(a.pairs, same, same, 0, 0)
    else:
        found = (align_by_index if by_index else align)(a.pairs, b.pairs, costs)
    places = [tuple(own[i] for i in found.left) for own in a.places]
    places += [tuple(own[i] for i in found.right) for own in b.places]
    return TrajectoryCluster(
        found.pairs,
        (*a.members, *b.members),
        tuple(places),
        a.codes + b.codes + found.codes,
        a.ages + b.ages + found.ages,
    )


def _diverse(
    clusters: list[TrajectoryCluster], data: Trajectories, costs: Costs, method: str, diversity: int
) -> list[TrajectoryCluster]:
    """Join clusters with too few sensitive values to the nearest other one."""
    if diversity == 1:
        return clusters
    weight_i, weight_a = costs.weights
    join = align_by_index if method == "baseline" else align
    while True:
        poor = next((c for c in clusters if 0 < len(data.values(c.members)) < diversity), None)
        if poor is None:
            return clusters
        others = [c for c in clusters if c is not poor]
        losses = [join(poor.pairs, c.pairs, costs) for c in others]
        nearest = min(range(len(others)), key=lambda i: losses[i].codes * weight_i + losses[i].ages * weight_a)
        others[nearest] = _joined(others[nearest], poor, costs, method == "baseline")
        clusters = others
