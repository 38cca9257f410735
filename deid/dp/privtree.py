"""PrivTree: a partition of the cube that follows the data, without a bound on its depth.

Zhang, Xiao and Xie, "PrivTree: a differentially private algorithm for hierarchical decompositions", SIGMOD 2016. A box
is halved when its count, lowered by a bias that grows with its depth, exceeds a threshold under Laplace noise of one
fixed scale; the bias makes the loss of all decisions on a path add up to epsilon however long the path. Counts are then
drawn for the leaves only, which are disjoint.

Which dimension is halved does not depend on the data: they take turns, those with fewer cells first, because one cut
resolves a binary column for good. Counts are spread by profile (`deid.dp.boxes`), which costs nothing.
"""

from __future__ import annotations

import math

import numpy as np

from deid.base.arrays import IndexArray, IntArray
from deid.dp.boxes import Boxes
from deid.dp.epsilon import split_epsilon
from deid.dp.noise import Noise, laplace_scale, laplace_variance

_FANOUT = 2
_COUNT_SHARE = 0.5
"""Share of epsilon for the leaves' counts."""


def privtree(
    points: IntArray,
    shape: tuple[int, ...],
    epsilon: float,
    noise: Noise,
    *,
    distance: int = 1,
    weights: IntArray | None = None,
) -> Boxes:
    """Partition a cube and count its boxes.

    Parameters
    ----------
    points, shape, weights
        See `deid.dp.methods.Rows`.
    epsilon : float
        For decisions and counts together.
    noise, distance : Noise, int
        Source of noise, and rows between neighbours (`PrivacyUnit.distance`).

    Returns
    -------
    Boxes
    """
    structure, counting = split_epsilon(epsilon, (1 - _COUNT_SHARE, _COUNT_SHARE))
    # theorem 3.1 of the paper for one row; a distance of d rows divides epsilon by d
    scale = laplace_scale((2 * _FANOUT - 1) / (_FANOUT - 1) * distance, structure)
    decay = scale * math.log(_FANOUT)
    dimensions = len(shape)

    def size(rows: IndexArray) -> int:
        return len(rows) if weights is None else int(weights[rows].sum())

    order = sorted(range(dimensions), key=lambda axis: (shape[axis], axis))
    leaves: list[tuple[IntArray, IntArray, int]] = []
    level = [(np.zeros(dimensions, np.int64), np.array(shape, np.int64), np.arange(len(points)), 0)]
    depth = 0
    while level:
        wide = [node for node in level if np.any(node[1] - node[0] > 1)]
        leaves += [(low, high, size(rows)) for low, high, rows, _ in level if not np.any(high - low > 1)]
        counts = np.array([size(rows) for _, _, rows, _ in wide], float)
        biased = np.maximum(counts - depth * decay, -decay)  # the paper's theta is 0
        split = noise.laplace(biased, scale) > 0
        level = []
        for (low, high, rows, turn), divide in zip(wide, split, strict=True):
            if not divide:
                leaves.append((low, high, size(rows)))
                continue
            axis = next(a for a in (*order[turn:], *order[:turn]) if high[a] - low[a] > 1)
            following = (order.index(axis) + 1) % dimensions
            cut = (low[axis] + high[axis]) // 2
            left = points[rows, axis] < cut
            middle_high, middle_low = high.copy(), low.copy()
            middle_high[axis] = middle_low[axis] = cut
            level.append((low, middle_high, rows[left], following))
            level.append((middle_low, high, rows[~left], following))
        depth += 1
    true = np.array([count for _, _, count in leaves], np.int64)
    drawn = noise.discrete_laplace(true, distance, counting)
    return Boxes(
        shape,
        np.array([low for low, _, _ in leaves]),
        np.array([high for _, high, _ in leaves]),
        drawn.astype(float),
        np.full(len(leaves), laplace_variance(distance, counting)),
        "profile",
    )
