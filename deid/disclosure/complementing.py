"""Groups made t-close by joining complements: one with too many of some values and one with too few of them.

Cutting from the top gets stuck under t-closeness, since every part drifts away from the table in its own direction.
Here the table is cut as k-anonymity allows, and groups that are too far from the table then join, the smallest first,
the group for which the rise of the loss is least for the fall of the excess: rise / sqrt(fall).
"""

from __future__ import annotations

import heapq

import numpy as np

from deid.base.arrays import FloatArray, IndexArray
from deid.disclosure.clustering import BoxLoss
from deid.disclosure.constraints import TCloseness
from deid.disclosure.encoding import CodedTable, boxes
from deid.disclosure.groups import groups_of

MAX_GROUPS = 5_000
"""Every join looks at all groups."""


def join_complements(table: CodedTable, classes: IndexArray, model: TCloseness) -> IndexArray:
    """Join groups until all are t-close by the equal ground distance.

    Parameters
    ----------
    table : CodedTable
        The table, one row a record; of a person with several all count.
    classes : ndarray of intp, shape [n]
        Groups to begin with.
    model : TCloseness
        The model, with the equal distance.

    Returns
    -------
    ndarray of intp, shape [n]
        Group of each row; at worst all are one, which is at distance 0.
    """
    count = int(classes.max()) + 1
    coded, codes = table.sensitive[model.column]
    width = coded.size
    known = codes >= 0
    pairs = np.bincount(classes[known] * width + codes[known], minlength=count * width)
    held = pairs.reshape(count, width).astype(np.float64)
    total = held.sum(axis=1)
    overall = held.sum(axis=0) / max(held.sum(), 1.0)
    size = groups_of(table, classes, count).sizes
    penalty = BoxLoss(table.columns)
    low, high = boxes(table.codes, classes, count)
    own = size * penalty.loss(low, high)
    bound = model.t - 1e-9  # rounding must not put a group over the bound

    def excess(held: FloatArray, total: FloatArray) -> FloatArray:
        """Return the records by which groups are too far."""
        far = np.maximum(held - total[:, None] * overall, 0.0).sum(axis=1) - bound * total
        return np.asarray(np.maximum(far, 0.0))

    over = excess(held, total)
    alive = np.ones(count, dtype=bool)
    joined = np.arange(count)
    heap = [(float(size[g]), int(g)) for g in np.flatnonzero(over > 0)]
    heapq.heapify(heap)
    while heap:
        was, group = heapq.heappop(heap)
        others = np.flatnonzero(alive)
        others = others[others != group]
        if not alive[group] or size[group] != was or over[group] <= 0 or not len(others):
            continue
        together = excess(held[others] + held[group], total[others] + total[group])
        rise = (size[others] + size[group]) * penalty.joined(low[group], high[group], low[others], high[others])
        rise -= own[others] + own[group]
        fall = over[group] + over[others] - together
        cost = np.where(fall > 1e-9, (rise + 1e-3) / np.sqrt(np.maximum(fall, 1e-9)), 1e12 + rise)
        other = int(others[np.argmin(cost)])
        alive[other] = False
        joined[other] = group
        low[group], high[group] = np.minimum(low[group], low[other]), np.maximum(high[group], high[other])
        held[group] += held[other]
        total[group] += total[other]
        size[group] += size[other]
        own[group] = size[group] * penalty.loss(low[group : group + 1], high[group : group + 1])[0]
        over[group] = excess(held[group : group + 1], total[group : group + 1])[0]
        if over[group] > 0:
            heapq.heappush(heap, (float(size[group]), group))
    while (joined != joined[joined]).any():
        joined = joined[joined]
    return np.unique(joined[classes], return_inverse=True)[1].astype(np.intp)
