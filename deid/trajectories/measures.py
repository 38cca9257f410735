"""What a release of trajectories loses, how well it answers queries, and whether it holds.

Loss and queries: Tamersoy and others 2012, Definitions 7 and 8 and appendix B.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.trajectories.alignment import Pairs
from deid.trajectories.clustering import TrajectoryRelease
from deid.trajectories.records import Trajectories
from deid.trajectories.trees import LocationTree


@dataclass(frozen=True)
class TrajectoryLoss:
    """Loss of a release, each 0 (nothing) to 1 (everything)."""

    ilm: float
    """Of codes: mean over persons of their mean over pairs, exactly from the published pairs (Definition 8)."""
    alm: float
    """Of ages, likewise."""
    ilm_estimate: float
    """As the algorithm adds it up: a further generalization of a cluster counts once, not for each member."""
    alm_estimate: float
    suppressed: int
    """Pairs that are not published."""
    pairs: int


def loss_of(release: TrajectoryRelease) -> TrajectoryLoss:
    """Return what a release of trajectories lost: of codes and of ages, as shares from 0 to 1, and pairs suppressed."""
    data = release.data
    trees = (data.codes, data.ages)
    per_person = np.zeros((len(data), 2))
    suppressed = 0
    for cluster in release.clusters:
        for member, places in zip(cluster.members, cluster.places, strict=True):
            own = data.trajectory(member)
            if not len(own):
                continue
            suppressed += len(own) - len(places)
            for column, tree in enumerate(trees):
                lost = tree.root_cost(own[:, column])
                chosen = list(places)
                lost[chosen] = tree.leaves[cluster.pairs[:, column]].astype(np.int64) - tree.leaves[own[chosen, column]]
                per_person[member, column] = lost.sum() / tree.size / len(own)
    pairs = len(data.pairs)
    ilm, alm = per_person.mean(axis=0)
    estimate = [
        sum(getattr(c, name) for c in release.clusters) / tree.size / max(1, pairs)
        for name, tree in zip(("codes", "ages"), trees, strict=True)
    ]
    return TrajectoryLoss(float(ilm), float(alm), estimate[0], estimate[1], suppressed, pairs)


def check_trajectories(
    published: Sequence[Pairs], k: int, data: Trajectories | None = None, diversity: int = 1
) -> tuple[bool, int, int | None]:
    """Verify published trajectories on their own: each occurs at least ``k`` times.

    Parameters
    ----------
    published : sequence of int32 arrays
        One a person.
    k : int
    data : Trajectories, optional
        The originals: then published pairs must also stand for original ones, in their order, and equal trajectories
        must have ``diversity`` distinct sensitive values, if any is recorded.
    diversity : int

    Returns
    -------
    bool
        Whether it holds.
    int
        How often the rarest trajectory occurs.
    int or None
        Place of a person for whom it does not.
    """
    keys = [np.ascontiguousarray(rows, dtype=np.int32).tobytes() for rows in published]
    counts = Counter(keys)
    level = min(counts.values(), default=0)
    for place, key in enumerate(keys):
        if counts[key] < k:
            return False, level, place
    if data is not None:
        for place, rows in enumerate(published):
            if not _stands_for(rows, data.trajectory(place), data.codes, data.ages):
                return False, level, place
        if diversity > 1:
            equal: dict[bytes, list[int]] = {}
            for place, key in enumerate(keys):
                equal.setdefault(key, []).append(place)
            for places in equal.values():
                if 0 < len(data.values(places)) < diversity:
                    return False, level, places[0]
    return True, level, None


def _stands_for(rows: Pairs, own: Pairs, codes: LocationTree, ages: LocationTree) -> bool:
    """Tell whether published pairs cover original ones in their order; the earliest fit is as good as any."""
    at = 0
    for code, age in rows.tolist():
        while at < len(own) and not (codes.covers(code, int(own[at, 0])) and ages.covers(age, int(own[at, 1]))):
            at += 1
        if at == len(own):
            return False
        at += 1
    return True


def average_relative_error(release: TrajectoryRelease, share: float = 0.01) -> tuple[float, int]:
    """Return the mean relative error of counting persons with a (code, age) pair, and the number of queries.

    Queries are the pairs of at least ``share`` of the original trajectories. A published pair stands for each of its
    leaves with equal probability; a person counts by the probability that one of the pairs is the one asked for.
    """
    data = release.data
    counts: Counter[tuple[int, int]] = Counter()
    for i in range(len(data)):
        counts.update(set(map(tuple, data.trajectory(i).tolist())))
    queries = sorted(q for q, count in counts.items() if count >= share * len(data))
    if not queries:
        return 0.0, 0
    sizes = np.array([len(c.members) for c in release.clusters], dtype=float)
    owner = np.repeat(np.arange(len(release.clusters)), [len(c.pairs) for c in release.clusters])
    pairs = np.concatenate([c.pairs for c in release.clusters])
    width = [np.maximum(1, tree.leaves[pairs[:, k]]) for k, tree in enumerate((data.codes, data.ages))]
    chance = 1.0 / (width[0] * width[1].astype(float))
    errors = []
    for code, age in queries:
        fits = np.isin(pairs[:, 0], data.codes.chain(code)) & np.isin(pairs[:, 1], data.ages.chain(age))
        missing = np.ones(len(release.clusters))
        np.multiply.at(missing, owner[fits], 1 - chance[fits])
        expected = float((sizes * (1 - missing)).sum())
        errors.append(abs(counts[code, age] - expected) / counts[code, age])
    return float(np.mean(errors)), len(queries)
