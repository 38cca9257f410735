"""t-closeness: how far the sensitive values of a class are from those of the whole table.

Li, Li, Venkatasubramanian, ICDE 2007. The distance is the earth mover's distance with one of three ground distances:
``equal`` (any two values are at distance 1), ``ordered`` (values in order, neighbours at distance 1/(m-1)) and
``hierarchical`` (height of the lowest common ancestor over the height of the tree).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deid.base.errors import ConfigError, InputError, require
from deid.disclosure.classes import ValueCounts, Verdict, value_counts
from deid.disclosure.privacy import greatest
from deid.table.hierarchy import Hierarchy
from deid.table.microdata import Microdata

_CELLS = 4_000_000  # cells of a dense table of classes and nodes at a time


def _equal(counts: ValueCounts, hierarchy: Hierarchy | None) -> np.ndarray:
    # half the sum of |p - q| is the sum of p - q where it is positive, and p is 0 where a class has no entry
    excess = np.maximum(counts.shares - counts.overall[counts.codes], 0.0)
    return np.bincount(counts.owners, weights=excess, minlength=len(counts.classes))


def _ordered(counts: ValueCounts, hierarchy: Hierarchy | None) -> np.ndarray:
    """Sum |P_i - Q_i| over the cumulated shares; between two entries of a class P is constant.

    There the sum over a stretch of places splits where Q passes P, and prefix sums of Q give both parts.
    """
    m = len(counts.values)
    if m < 2:
        return np.zeros(len(counts.classes))
    q = np.cumsum(counts.overall)
    sums = np.concatenate([[0.0], np.cumsum(q)])
    starts = counts.starts
    running = np.cumsum(counts.shares)
    before = np.concatenate([[0.0], running])[starts[counts.owners]]
    level = running - before  # P from this entry's value up to the next entry's
    last = np.arange(len(counts.owners)) + 1 == starts[counts.owners + 1]
    stop = np.where(last, m, np.append(counts.codes[1:], m))
    # the stretch before a class's first entry, where P is 0
    first = counts.codes[starts[:-1][np.diff(starts) > 0]]
    owners = np.concatenate([counts.owners, counts.owners[starts[:-1][np.diff(starts) > 0]]])
    a = np.concatenate([counts.codes, np.zeros(len(first), dtype=np.int64)])
    b = np.concatenate([stop, first])
    p = np.concatenate([level, np.zeros(len(first))])
    split = np.clip(np.searchsorted(q, p, "right"), a, b)
    area = p * (split - a) - (sums[split] - sums[a]) + (sums[b] - sums[split]) - p * (b - split)
    return np.bincount(owners, weights=area, minlength=len(counts.classes)) / (m - 1)


def _hierarchical(counts: ValueCounts, hierarchy: Hierarchy | None) -> np.ndarray:
    if hierarchy is None:
        raise ConfigError("the sensitive column has no hierarchy", "name one, or use the distance equal")
    leaves = {leaf: place for place, leaf in enumerate(hierarchy.leaves())}
    if any(value not in leaves for value in np.array(counts.values, dtype=object)[np.unique(counts.codes)]):
        raise InputError("a sensitive value is no leaf of its hierarchy", "use the distance equal, or its leaves only")
    place = np.array([leaves.get(value, 0) for value in counts.values], dtype=np.int64)
    inner = [node for node in hierarchy if hierarchy.children(node)]
    spans = [[_span(hierarchy, leaves, child) for child in hierarchy.children(node)] for node in inner]
    overall = np.zeros(len(leaves))
    np.add.at(overall, place, counts.overall)
    distances = np.zeros(len(counts.classes))
    block = max(_CELLS // (len(leaves) + 1), 1)
    starts = counts.starts
    for low in range(0, len(counts.classes), block):
        high = min(low + block, len(counts.classes))
        entries = slice(starts[low], starts[high])
        extra = np.zeros((high - low, len(leaves)))
        extra[counts.owners[entries] - low, place[counts.codes[entries]]] = counts.shares[entries]
        extra -= overall
        running = np.concatenate([np.zeros((high - low, 1)), np.cumsum(extra, axis=1)], axis=1)
        for node, children in zip(inner, spans, strict=True):
            first, last = np.array(children).T
            of_children = running[:, last] - running[:, first]
            moved = np.minimum(np.maximum(of_children, 0).sum(1), np.maximum(-of_children, 0).sum(1))
            distances[low:high] += hierarchy.level(node) / hierarchy.height * moved
    return distances


def _span(hierarchy: Hierarchy, leaves: dict[str, int], node: str) -> tuple[int, int]:
    below = hierarchy.leaves(node)
    return leaves[below[0]], leaves[below[-1]] + 1


DISTANCES: dict[str, Callable[[ValueCounts, Hierarchy | None], np.ndarray]] = {
    "equal": _equal,
    "ordered": _ordered,
    "hierarchical": _hierarchical,
}
"""Ground distances by name."""


def class_distances(counts: ValueCounts, distance: str = "equal", hierarchy: Hierarchy | None = None) -> np.ndarray:
    """Return the distance of every class's distribution from that of the whole table.

    Parameters
    ----------
    counts : ValueCounts
        The values; for ``ordered`` they stand in their order.
    distance : str
        One of `DISTANCES`.
    hierarchy : Hierarchy, optional
        Of the sensitive column, for ``hierarchical``.

    Returns
    -------
    float array, shape (classes,)
        0 to 1; 0 where no value is recorded.

    Raises
    ------
    ConfigError
        When there is no such distance, or no hierarchy for it.
    """
    require(distance in DISTANCES, f"there is no distance {distance!r}", f"choose one of {', '.join(DISTANCES)}")
    return np.where(counts.people > 0, DISTANCES[distance](counts, hierarchy), 0.0)


def t_closeness(release: Microdata, sensitive: str, t: float, distance: str = "equal") -> Verdict:
    """Verify t-closeness (Li, Li, Venkatasubramanian, ICDE 2007): every class's distribution is near that of the table.

    Parameters
    ----------
    release
        See `deid.disclosure.privacy.distinct_l_diversity`.
    sensitive : str
        Column whose distribution is compared. For ``ordered`` its values must be numbers or dates, or sort by their
        characters; for ``hierarchical`` they must be leaves of its hierarchy.
    t : float
        Greatest distance allowed, 0 to 1.
    distance : str
        Ground distance, one of `DISTANCES`.

    Returns
    -------
    Verdict
        Level: the greatest distance of a class; witness: rows of that class.

    Raises
    ------
    ConfigError
        When t is not from 0 to 1, there is no such distance, or no hierarchy for it.
    InputError
        When a value is no leaf of the hierarchy.
    """
    require(0 <= t <= 1, f"t is {t:g}", "give a number from 0 to 1")
    counts = value_counts(release, sensitive)
    return greatest(class_distances(counts, distance, release.hierarchies.get(sensitive)), t, counts.classes)
