"""DiffGen: top-down specialization by noisy choices, then noisy counts of the groups.

Mohammed, Chen, Fung and Yu, "Differentially private data release for data mining", 2011. Every column starts as one
interval of its cells. In each round the exponential mechanism chooses an interval of a column, which is halved for all
rows; the groups at the end are the products of all columns' intervals, and each is counted with noise, empty or not.

The paper scores a specialization by a class attribute. A release of counts has none, so the score here is how far the
halves' rows are from their share of the cells; one row changes it by less than 1.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from deid.base.arrays import IntArray
from deid.base.errors import require
from deid.dp.boxes import Boxes
from deid.dp.domain import count_cells
from deid.dp.epsilon import split_epsilon
from deid.dp.noise import Noise, laplace_variance

ROUNDS = 10
"""Specializations; more give smaller groups, and choices that are closer to random."""
_CHOICE_SHARE = 0.3
_MAX_GROUPS = 1_000_000


def _scores(histogram: IntArray, cuts: list[int]) -> list[tuple[float, int]]:
    """Return the score of halving each interval of a column that has two cells or more, and where it is cut."""
    result = []
    for low, high in itertools.pairwise(cuts):
        if high - low > 1:
            middle = (low + high) // 2
            left, right = int(histogram[low:middle].sum()), int(histogram[middle:high].sum())
            result.append((abs(left * (high - middle) - right * (middle - low)) / (high - low), middle))
    return result


def diffgen(
    points: IntArray,
    shape: tuple[int, ...],
    epsilon: float,
    noise: Noise,
    *,
    distance: int = 1,
    rounds: int = ROUNDS,
    weights: IntArray | None = None,
) -> Boxes:
    """Specialize a cube top-down and count its groups.

    Parameters
    ----------
    points, shape, weights
        See `deid.dp.methods.Rows`.
    epsilon : float
        For choices and counts together.
    noise, distance : Noise, int
        Source of noise, and rows between neighbours.
    rounds : int
        How many specializations; fewer where nothing is left to halve.

    Returns
    -------
    Boxes
        The groups as boxes, with noisy counts that may be negative.

    Raises
    ------
    ConfigError
        When there are fewer than 1 round, or epsilon is too small to be divided.
    """
    require(rounds >= 1, "at least one specialization is needed", "give 1 or more rounds")
    choosing, counting = split_epsilon(epsilon, (_CHOICE_SHARE, 1 - _CHOICE_SHARE))
    each = split_epsilon(choosing, [1.0] * rounds)[0]
    cuts = [[0, size] for size in shape]
    histograms = [count_cells([points[:, axis]], [size], weights) for axis, size in enumerate(shape)]
    for _ in range(rounds):
        candidates = [
            (score, axis, place) for axis in range(len(shape)) for score, place in _scores(histograms[axis], cuts[axis])
        ]
        if not candidates or 2 * math.prod(len(own) - 1 for own in cuts) > _MAX_GROUPS:
            break
        _, axis, place = candidates[noise.choose([score for score, _, _ in candidates], distance, each)]
        cuts[axis] = sorted([*cuts[axis], place])
    sizes = [len(own) - 1 for own in cuts]
    groups = [np.searchsorted(own, points[:, axis], "right") - 1 for axis, own in enumerate(cuts)]
    drawn = noise.discrete_laplace(count_cells(groups, sizes, weights), distance, counting).ravel()
    corners = [
        np.stack([grid.ravel() for grid in np.meshgrid(*ends, indexing="ij")], axis=1)
        for ends in ([own[:-1] for own in cuts], [own[1:] for own in cuts])
    ]
    variances = np.full(len(drawn), laplace_variance(distance, counting))
    return Boxes(shape, corners[0], corners[1], drawn.astype(float), variances)
