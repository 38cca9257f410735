"""Mechanisms for single questions: count, sum, mean, quantile, histogram, top-k, each with an interval.

All take the distance between neighbours (rows added or removed) and draw whole numbers: sums are of values rounded to a
grid, so that the noise is exact. Each stays right when its rows are one part of a partition: a change of d rows that is
spread over parts changes each by its own share, and the losses add up to that of d rows in one part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.base.errors import ConfigError, require
from deid.dp.epsilon import split_epsilon
from deid.dp.intervals import discrete_half_width
from deid.dp.noise import Noise

_STEPS = 1 << 20  # of the grid of a sum
_MOST_WHOLE = 1 << 31  # whole numbers above it could overflow when added up, and take a grid
_FINEST, _WIDEST = 1e-290, 1e290  # of bounds: a grid between them is neither 0 nor infinite
_CANDIDATES = 1000  # of a quantile of numbers that are not whole
_MOST_CANDIDATES = 200_000


class Estimate(NamedTuple):
    """A number with the ends of its interval."""

    value: float
    lower: float
    upper: float


def noisy_count(rows: int, epsilon: float, noise: Noise, distance: int, level: float) -> Estimate:
    """Return a noisy count of rows; parameters as those of `noisy_counts`."""
    return noisy_counts(np.array([rows]), epsilon, noise, distance, level)[0]


def noisy_counts(counts: IntArray, epsilon: float, noise: Noise, distance: int, level: float) -> list[Estimate]:
    """Count the rows of disjoint cells with discrete Laplace noise (Ghosh, Roughgarden, Sundararajan 2009).

    Parameters
    ----------
    counts : int64 array, shape (cells,)
        True counts.
    epsilon : float
        Cost of all cells together; each row is in one of them.
    noise, distance : Noise, int
        Source of noise, and rows between neighbours.
    level : float
        Level of each interval, 0 to 1.

    Returns
    -------
    list of Estimate
        One a cell; values may be negative, the ends of intervals are not.
    """
    drawn = noise.discrete_laplace(np.asarray(counts, np.int64), distance, epsilon)
    half = discrete_half_width(distance, epsilon, 1, level)
    return [Estimate(float(own), max(float(own) - half, 0.0), max(float(own) + half, 0.0)) for own in drawn]


def _checked(low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high and _FINEST < high - low < _WIDEST):
        raise ConfigError("bounds are two numbers, the smaller first", "for example: SUM(dose, 0, 500)")


def noisy_sum(
    values: FloatArray,
    low: float,
    high: float,
    epsilon: float,
    noise: Noise,
    distance: int,
    level: float,
    *,
    whole: bool = False,
) -> Estimate:
    """Add up values, moved into [low, high]; missing ones (nan) count as nothing.

    Parameters
    ----------
    values : float array, shape (rows,)
        What is added up.
    low, high : float
        Bounds of a value, finite and low < high; the noise grows with the greater absolute one.
    epsilon : float
        Cost.
    noise, distance : Noise, int
        Source of noise, and rows between neighbours.
    level : float
        Level of the interval, 0 to 1; it covers the noise, not what the bounds cut off.
    whole : bool
        The values and bounds are whole numbers, which need no grid.

    Returns
    -------
    Estimate
        The noisy sum.

    Raises
    ------
    ConfigError
        When the bounds are not two finite numbers in order.
    """
    _checked(low, high)
    most = max(abs(low), abs(high))
    grid = 1.0 if whole and most <= _MOST_WHOLE else most / _STEPS
    units = np.rint(np.clip(values[~np.isnan(values)], low, high) / grid).astype(np.int64)
    sensitivity = math.ceil(most / grid) * distance
    drawn = int(noise.discrete_laplace(np.array([int(units.sum())]), sensitivity, epsilon)[0])
    half = discrete_half_width(sensitivity, epsilon, 1, level) * grid
    return Estimate(drawn * grid, drawn * grid - half, drawn * grid + half)


def noisy_mean(
    values: FloatArray, low: float, high: float, epsilon: float, noise: Noise, distance: int, level: float
) -> Estimate:
    """Take the mean of values, moved into [low, high]; missing ones (nan) are left out.

    Half of epsilon adds up the distances from the middle of the bounds, which is less sensitive than the sum, the other
    half counts. The interval holds for all pairs of sum and count within theirs. Parameters and errors as those of
    `noisy_sum`.

    Returns
    -------
    Estimate
        The noisy mean, within the bounds.
    """
    _checked(low, high)
    present = np.clip(values[~np.isnan(values)], low, high)
    middle, reach = (low + high) / 2, (high - low) / 2
    for_sum, for_count = split_epsilon(epsilon, (1.0, 1.0))
    each = 1 - (1 - level) / 2
    sums = noisy_sum(present - middle, -reach, reach, for_sum, noise, distance, each)
    count = noisy_count(len(present), for_count, noise, distance, each)
    value = min(max(middle + sums.value / max(count.value, 1.0), low), high)
    if count.lower < 1:
        return Estimate(value, low, high)
    ends = [middle + total / rows for total in (sums.lower, sums.upper) for rows in (count.lower, count.upper)]
    return Estimate(value, max(min(*ends, value), low), min(max(*ends, value), high))


def _ranks(values: FloatArray, candidates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many values lie below each candidate, and how many not above; the ends take all ranks outside."""
    ordered = np.sort(values)
    below = np.searchsorted(ordered, candidates, "left").astype(float)
    upto = np.searchsorted(ordered, candidates, "right").astype(float)
    below[0], upto[-1] = -np.inf, np.inf
    return below, upto


def quantile_candidates(low: float, high: float, *, whole: bool) -> FloatArray:
    """Return what a quantile is chosen from, ascending: the whole numbers within the bounds, or 1,001 equal steps.

    Raises
    ------
    ConfigError
        When the bounds are none, or too near to one another for so many steps.
    """
    _checked(low, high)
    if whole and high - low < _MOST_CANDIDATES:
        return np.arange(math.ceil(low), math.floor(high) + 1, dtype=float)
    candidates = np.linspace(low, high, _CANDIDATES + 1)
    if not (np.diff(candidates) > 0).all():
        raise ConfigError("bounds are too near to one another", "give wider bounds")
    return candidates


def noisy_quantile(
    values: FloatArray,
    share: float,
    low: float,
    high: float,
    epsilon: float,
    noise: Noise,
    distance: int,
    level: float,
    *,
    whole: bool = False,
) -> Estimate:
    """Choose a quantile of values, moved into [low, high], by the exponential mechanism; missing ones are left out.

    It is chosen from `quantile_candidates`. A candidate's score is minus the distance,
    in ranks, between it and the wanted rank, which a row changes by at most max(share, 1 - share). The ends of the
    interval are two more quantiles, a quarter of epsilon each: their wanted ranks lie so far outside that, with
    probability (1 + level) / 2 each, the chosen candidate is outside as well (McSherry and Talwar 2007, lemma 7).

    Parameters
    ----------
    values : float array, shape (rows,)
        The numbers.
    share : float
        Which quantile, 0 to 1; 0.5 is the median.
    low, high, epsilon, noise, distance, level, whole
        As those of `noisy_sum`; ``epsilon`` pays for the value and both ends.

    Returns
    -------
    Estimate
        Candidates: the value, and the ends of its interval.

    Raises
    ------
    ConfigError
        When the share is not from 0 to 1, or the bounds are none or too near to one another.
    """
    require(0 <= share <= 1, "a quantile's share lies between 0 and 1", "for example: QUANTILE(age, 0.9)")
    candidates = quantile_candidates(low, high, whole=whole)
    step = candidates[1] - candidates[0] if len(candidates) > 1 else 1.0
    places = np.rint((np.clip(values[~np.isnan(values)], low, high) - candidates[0]) / step)
    below, upto = _ranks(candidates[places.astype(np.int64).clip(0, len(candidates) - 1)], candidates)
    wanted = share * len(places)
    sensitivity = max(share, 1 - share) * distance
    parts = split_epsilon(epsilon, (2.0, 1.0, 1.0))
    failing = (1 - level) / 2
    found = []
    for sign, own in zip((0, -1, 1), parts, strict=True):
        shift = 2 * sensitivity / own * (math.log(len(candidates)) + math.log(1 / failing))
        target = wanted + sign * shift
        scores = -np.maximum(np.maximum(below - target, target - upto), 0.0)
        found.append(float(candidates[noise.choose(scores, sensitivity, own)]))
    value, lower, upper = found
    return Estimate(value, min(lower, value), max(upper, value))


def noisy_top(
    counts: IntArray, number: int, epsilon: float, noise: Noise, distance: int, level: float
) -> list[tuple[int, Estimate]]:
    """Choose the most frequent cells, one by one, by the exponential mechanism with half of epsilon, and count them.

    Parameters
    ----------
    counts : int64 array, shape (cells,)
        True counts of disjoint cells.
    number : int
        How many to choose, 1 to the number of cells.
    epsilon, noise, distance, level
        As those of `noisy_counts`; half of ``epsilon`` pays for the choices, half for the counts.

    Returns
    -------
    list of (int, Estimate)
        The chosen cells in the order of the choice, with their counts.

    Raises
    ------
    ConfigError
        When ``number`` is below 1 or above the number of cells.
    """
    if not 1 <= number <= len(counts):
        raise ConfigError(f"there are {len(counts)} values to choose from", "ask for fewer: TOP(3, diagnosis)")
    choosing, counting = split_epsilon(epsilon, (1.0, 1.0))
    left: list[int] = list(range(len(counts)))
    chosen: list[int] = []
    for own in split_epsilon(choosing, [1.0] * number):
        chosen.append(left.pop(noise.choose(np.asarray(counts)[left], distance, own)))
    estimates: Sequence[Estimate] = noisy_counts(np.asarray(counts)[chosen], counting, noise, distance, level)
    return list(zip(chosen, estimates, strict=True))
