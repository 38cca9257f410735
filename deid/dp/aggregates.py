"""Mechanisms for single questions: count, sum, quantiles, histogram, top-k, with intervals.

Mean and variance, and what is asked with them, are those of `deid.dp.moments`.

All take the distance between neighbours (rows added or removed) and draw whole numbers: sums are of values rounded to a
grid, so that the noise is exact. Each stays right when its rows are one part of a partition: a change of d rows that is
spread over parts changes each by its own share, and the losses add up to that of d rows in one part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.base.errors import ConfigError, require
from deid.dp.costs import Cost, choosing, draw, half_width_of, laplace_draws, split, split_evenly, variance_of
from deid.dp.intervals import deviations, sampled, shares_interval, standard_half_width
from deid.dp.noise import Noise

STEPS = 1 << 20  # of the grid of a sum
_MOST_WHOLE = 1 << 31  # whole numbers above it could overflow when added up, and take a grid
_FINEST, _WIDEST = 1e-290, 1e290  # of bounds: a grid between them is neither 0 nor infinite
_SLOTS = 8  # into which rows with one value are dealt, a power of two
_CANDIDATES = 1000  # of a quantile of numbers that are not whole
_MOST_CANDIDATES = 200_000


class Estimate(NamedTuple):
    """A number with the ends of its interval; None where none was asked for."""

    value: float
    lower: float | None
    upper: float | None


class Bounded(NamedTuple):
    """A number with the ends of its interval."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """How a number is drawn, and what its interval covers.

    Parameters
    ----------
    cost : Cost
        What all of an answer costs together.
    noise : Noise
        Its source.
    distance : int
        Rows between neighbours.
    level : float
        Level of each interval, 0 to 1; it covers the noise, not what bounds of values cut off.
    sampling : int
        Above 0, intervals cover that the rows are a sample, too, with so many rows a person (`deid.dp.intervals`).
    """

    cost: Cost
    noise: Noise
    distance: int
    level: float
    sampling: int = 0

    def paid(self, cost: Cost) -> Drawing:
        """Return what draws a part of an answer, whose interval covers the noise alone."""
        return replace(self, cost=cost, sampling=0)


def noisy_count(rows: int, how: Drawing) -> Bounded:
    """Return a noisy count of rows; parameters as those of `noisy_counts`."""
    return noisy_counts(np.array([rows]), how)[0]


def noisy_counts(counts: IntArray, how: Drawing) -> list[Bounded]:
    """Count the rows of disjoint cells with discrete Laplace noise (Ghosh, Roughgarden, Sundararajan 2009).

    Parameters
    ----------
    counts : int64 array, shape (cells,)
        True counts; each row is in one of them.
    how : Drawing

    Returns
    -------
    list of Bounded
        One a cell; values may be negative, the ends of intervals are not.
    """
    drawn = draw(how.noise, np.asarray(counts, np.int64), how.distance, how.cost)
    if how.sampling:
        values = drawn.astype(float)
        spread = np.full(len(values), variance_of(how.distance, how.cost))
        ends = sampled(values, spread, np.full(len(values), laplace_draws(how.cost)), how.level, rows=how.sampling)
        return [Bounded(*map(float, own)) for own in zip(values, *ends, strict=True)]
    half = half_width_of(how.distance, how.cost, how.level)
    return [Bounded(float(own), max(float(own) - half, 0.0), max(float(own) + half, 0.0)) for own in drawn]


def check_bounds(low: float, high: float) -> None:
    """Refuse bounds that are not two finite numbers in order."""
    if not (math.isfinite(low) and math.isfinite(high) and _FINEST < high - low < _WIDEST):
        raise ConfigError("bounds are two numbers, the smaller first", "for example: SUM(dose, 0, 500)")


def noisy_sum(values: FloatArray, low: float, high: float, how: Drawing, *, whole: bool = False) -> Bounded:
    """Add up values, moved into [low, high]; missing ones (nan) count as nothing.

    For an interval that covers sampling a quarter of epsilon is spent on the sum of the squares, which is the variance
    of a sum of Poisson many independent values (a compound Poisson law).

    Parameters
    ----------
    values : float array, shape (rows,)
        What is added up.
    low, high : float
        Bounds of a value, finite and low < high; the noise grows with the greater absolute one.
    how : Drawing
        An interval that covers sampling is of the sum to be expected.
    whole : bool
        The values and bounds are whole numbers, which need no grid.

    Returns
    -------
    Bounded
        The noisy sum.

    Raises
    ------
    ConfigError
        When the bounds are not two finite numbers in order.
    """
    check_bounds(low, high)
    most = max(abs(low), abs(high))
    if how.sampling:
        check_bounds(0.0, most * most)
        for_sum, for_squares = split(how.cost, (3.0, 1.0))
        squares = noisy_sum(np.clip(values, low, high) ** 2, 0.0, most * most, how.paid(for_squares))
        found = noisy_sum(values, low, high, how.paid(for_sum), whole=whole)
        of_noise = variance_of(STEPS * how.distance, for_sum) * (most / STEPS) ** 2
        half = half_width(how.sampling * max(squares.upper, 0.0), of_noise, for_sum, how.level)
        return Bounded(found.value, min(found.lower, found.value - half), max(found.upper, found.value + half))
    return drawn_sum(values, low, high, how, whole=whole).at(how.level)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A number that was drawn, with the law of its noise."""

    value: float
    sensitivity: int
    """In steps of the grid."""
    grid: float
    cost: Cost
    least: float = -math.inf
    """Below which the ends of intervals cannot be."""

    @property
    def variance(self) -> float:
        """The variance of its noise."""
        return variance_of(self.sensitivity, self.cost) * self.grid**2

    def at(self, level: float) -> Bounded:
        """Return it with its interval of a level."""
        half = half_width_of(self.sensitivity, self.cost, level) * self.grid
        return Bounded(self.value, max(self.value - half, self.least), max(self.value + half, self.least))


def drawn_sum(values: FloatArray, low: float, high: float, how: Drawing, *, whole: bool = False) -> Drawn:
    """Draw a sum; parameters and errors as those of `noisy_sum`."""
    check_bounds(low, high)
    most = max(abs(low), abs(high))
    grid = 1.0 if whole and most <= _MOST_WHOLE else most / STEPS
    units = np.rint(np.clip(values[~np.isnan(values)], low, high) / grid).astype(np.int64)
    sensitivity = math.ceil(most / grid) * how.distance
    found = int(draw(how.noise, np.array([int(units.sum())]), sensitivity, how.cost)[0]) * grid
    return Drawn(found, sensitivity, grid, how.cost)


def drawn_count(rows: int, how: Drawing) -> Drawn:
    """Draw a count of rows; parameters as those of `noisy_counts`."""
    found = float(draw(how.noise, np.array([rows]), how.distance, how.cost)[0])
    return Drawn(found, how.distance, 1.0, how.cost, 0.0)


def half_width(of_rows: float, of_noise: float, cost: Cost, level: float) -> float:
    """Return the half width for a number whose variance is that of the rows and that of noise, drawn at ``cost``."""
    own = (np.array([of_rows]), np.array([of_noise]), np.array([laplace_draws(cost)]))
    return float(deviations(*own, level)[0]) * math.sqrt(of_rows + of_noise)


def noisy_distinct(counts: IntArray, how: Drawing) -> Bounded:
    """Count the cells in which rows are; a row more is at most one cell more.

    An interval that covers sampling is of the number of cells to be expected of as many rows. Of Poisson many
    independent rows each cell has some or none for itself; with the expectation D of K cells the variance of their
    number is at most D (1 - D / K) (all cells alike), as that of a share of K is, so it is Wilson's. Where a person has
    up to m rows it is at most m times that: for cells j and k with the rates a and b, and c of those who have both,
    exp(c) - 1 is at most sqrt(c / a) sqrt(c / b) sqrt((exp(a) - 1) (exp(b) - 1)), so that the covariances of a cell add
    up to at most m - 1 times its variance. Parameters as those of `noisy_counts`.
    """
    cells = len(counts)
    found = noisy_count(int((np.asarray(counts) > 0).sum()), how.paid(how.cost))
    if not how.sampling:
        return found
    nothing, whole = np.zeros(1), np.full(1, float(cells))
    spread = np.full(1, variance_of(how.distance, how.cost)), nothing, nothing
    draws = np.full(1, laplace_draws(how.cost))
    ends = shares_interval(np.full(1, found.value), whole, spread, draws, how.level, rows=how.sampling)
    lower, upper = (float(own[0]) * cells for own in ends)
    return Bounded(found.value, min(lower, found.lower), max(upper, found.upper))


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
    check_bounds(low, high)
    if whole and high - low < _MOST_CANDIDATES:
        return np.arange(math.ceil(low), math.floor(high) + 1, dtype=float)
    candidates = np.linspace(low, high, _CANDIDATES + 1)
    require((np.diff(candidates) > 0).all(), "bounds are too near to one another", "give wider bounds")
    return candidates


def check_shares(shares: Sequence[float]) -> tuple[float, ...]:
    """Return the shares of quantiles, ascending, each once.

    Raises
    ------
    ConfigError
        When there is none, or one is not from 0 to 1.
    """
    for share in shares or (-1.0,):
        require(0 <= share <= 1, "a quantile's share lies between 0 and 1", "for example: QUANTILE(age, 0.9)")
    return tuple(sorted(set(shares)))


def quantile_scores(bounds: tuple[float, float], shares: Sequence[float], *, whole: bool, interval: bool) -> int:
    """Return among how many candidates `noisy_quantiles` chooses, all choices together, at most."""
    candidates = len(quantile_candidates(*bounds, whole=whole))
    values = candidates if len(shares) == 1 else len(shares) * _SLOTS * candidates
    return values + (2 * len(shares) * candidates if interval else 0)


def noisy_quantiles(
    values: FloatArray,
    shares: Sequence[float],
    low: float,
    high: float,
    how: Drawing,
    *,
    whole: bool = False,
    interval: bool = False,
) -> list[Estimate]:
    """Choose quantiles of values, moved into [low, high], by noisy scores; missing ones are left out.

    One is chosen from `quantile_candidates`. A candidate's score is how deep the wanted rank lies within its own ranks,
    or minus the distance from them (Smith 2011): the lesser of the wanted rank less the rows below, and the rows not
    above less the wanted rank. A row changes either by at most max(share, 1 - share), hence the lesser one, too (the
    choice: `deid.dp.noise.Noise`).

    Several are chosen by recursive split (Kaplan, Schnapp and Stemmer 2022, "Differentially private approximate
    quantiles", theorem 3.3): the middle one divides the rows into those below and those above, in which the others are
    sought. The parts of a level have no row in common, so a level costs once, and of m quantiles there are
    floor(log2(m)) + 1 levels with equal parts of epsilon. Rows with equal values are dealt to slots in an order that
    depends on their number alone, so that a row more is one row more in one slot, and a cut may divide them.

    An interval, on request, takes half of epsilon: its ends are two more quantiles, whose wanted ranks lie so far
    outside that, with probability (1 + level) / 2 each, the chosen candidate is outside as well (McSherry and Talwar
    2007, lemma 7; a choice by permute-and-flip is never further off). Where values are not whole, the ends lie half a
    step further out, which covers the rounding to candidates.

    An interval that covers sampling, too, spends a tenth of the cost on a count of the rows. Of n independent rows the
    share of those below the quantile of a share q of all that might have been drawn deviates from q by no more than
    z sqrt(q (1 - q) / n), so the ends are the quantiles of the shares that lie as far outside; n is the lower end of
    the count's interval. Half of the chance that an end is on the wrong side is that of the noise, half that of the
    sample. The shares follow from what was drawn, so the sensitivity is that of their own choice.

    Parameters
    ----------
    values : float array, shape (rows,)
        The numbers.
    shares : sequence of float
        Which quantiles, ascending, from 0 to 1 (`check_shares`); 0.5 is the median.
    low, high, how, whole
        As those of `noisy_sum`; its cost pays for everything.
    interval : bool
        Whether to spend half of the cost on intervals.

    Returns
    -------
    list of Estimate
        One a share, ascending; without ends where no interval was asked for.

    Raises
    ------
    ConfigError
        When a share is not from 0 to 1, or the bounds are none or too near to one another.
    """
    shares = check_shares(shares)
    candidates = quantile_candidates(low, high, whole=whole)
    step = float(candidates[1] - candidates[0]) if len(candidates) > 1 else 1.0
    places = np.rint((np.clip(values[~np.isnan(values)], low, high) - candidates[0]) / step)
    places = places.astype(np.int64).clip(0, len(candidates) - 1)
    below, upto = _ranks(candidates[places], candidates)

    def choose(share: float, paid: Cost, shift: float = 0.0) -> float:
        sensitivity, own = max(share, 1 - share) * how.distance, choosing(paid)
        target = share * len(places) + shift * 2 * sensitivity / own
        scores = np.minimum(target - below, upto - target)
        scores[np.isinf(scores)] = 0.0  # of the only candidate
        return float(candidates[how.noise.choose(scores, sensitivity, own)])

    rows, away, level = float("inf"), 0.0, how.level
    if how.sampling:
        for_values, for_count, ends = split(how.cost, (5.0, 1.0, 4.0))
        rows = max(noisy_count(len(places), how.paid(for_count)).lower, 1.0) / how.sampling
        level, away = (1 + level) / 2, standard_half_width(math.inf, (1 + level) / 2)
    else:
        for_values, ends = (how.cost, how.cost) if not interval else split_evenly(how.cost, 2)
    if len(shares) == 1:
        found = [choose(shares[0], for_values)]
    else:
        found = candidates[_split(places, len(candidates), shares, how.paid(for_values))].tolist()
    if not interval and not how.sampling:
        return [Estimate(value, None, None) for value in found]
    parts = iter(split_evenly(ends, 2 * len(shares)))
    apart = math.log(len(candidates)) - math.log((1 - level) / 2)
    rounding = 0.0 if whole and step == 1 else step / 2
    result = []
    for share, value in zip(shares, found, strict=True):
        further = away * math.sqrt(share * (1 - share) / rows)
        lower, upper = (
            choose(min(max(share + sign * further, 0.0), 1.0), next(parts), sign * apart) + sign * rounding
            for sign in (-1, 1)
        )
        result.append(Estimate(value, max(min(lower, value), low), min(max(upper, value), high)))
    return result


def _split(places: IntArray, number: int, shares: Sequence[float], how: Drawing) -> list[int]:
    """Return the chosen candidate of each share; see `noisy_quantiles`."""
    counts = np.bincount(places, minlength=number)
    # the slots of the first, second, ... of the rows with one value: bits reversed, so that any number is spread evenly
    order = np.array([int(f"{slot:0{_SLOTS.bit_length() - 1}b}"[::-1], 2) for slot in range(_SLOTS)])
    slots = np.empty((number, _SLOTS), np.int64)
    for turn, slot in enumerate(order):
        slots[:, slot] = (counts - turn + _SLOTS - 1) // _SLOTS
    ranks = np.concatenate([[0], np.cumsum(slots.ravel())])
    level = split_evenly(how.cost, len(shares).bit_length())[0]
    chosen = [0] * len(shares)
    # a stretch of shares, the cuts between which they are sought, and what these cuts are shares of
    work = [(0, len(shares), 0, len(ranks) - 1, 0.0, 1.0)]
    while work:
        first, last, start, stop, from_share, to_share = work.pop()
        if first >= last:
            continue
        middle = (first + last) // 2
        inside = (shares[middle] - from_share) / (to_share - from_share)
        rows = ranks[start : stop + 1] - ranks[start]
        place = start + how.noise.choose(
            -np.abs(rows - inside * rows[-1]), max(inside, 1 - inside) * how.distance, choosing(level)
        )
        # a cut between two values belongs to the one on the side of the middle
        chosen[middle] = min(place // _SLOTS if shares[middle] < 0.5 else max(place - 1, 0) // _SLOTS, number - 1)
        work.append((first, middle, start, place, from_share, shares[middle]))
        work.append((middle + 1, last, place, stop, shares[middle], to_share))
    return sorted(chosen)


def noisy_top(counts: IntArray, number: int, how: Drawing) -> list[tuple[int, Bounded]]:
    """Choose the most frequent cells, one by one, by noisy counts with half of epsilon, and count them again.

    Neighbours are steps of one row more or less apart (`deid.dp.unit`), and a row more can only raise counts. Scores
    that all move in one direction need half the noise (`deid.dp.noise.Noise.choose`), a step at a time.

    Parameters
    ----------
    counts : int64 array, shape (cells,)
        True counts of disjoint cells.
    number : int
        How many to choose, 1 to the number of cells.
    how : Drawing
        Half of its cost pays for the choices, half for the counts.

    Returns
    -------
    list of (int, Bounded)
        The chosen cells in the order of the choice, with their counts.

    Raises
    ------
    ConfigError
        When ``number`` is below 1 or above the number of cells.
    """
    if not 1 <= number <= len(counts):
        raise ConfigError(f"there are {len(counts)} values to choose from", "ask for fewer: TOP(3, diagnosis)")
    choices, counting = split_evenly(how.cost, 2)
    left: list[int] = list(range(len(counts)))
    chosen: list[int] = []
    for own in split_evenly(choices, number):
        chosen.append(left.pop(how.noise.choose(np.asarray(counts)[left], how.distance / 2, choosing(own))))
    estimates = noisy_counts(np.asarray(counts)[chosen], replace(how, cost=counting))
    return list(zip(chosen, estimates, strict=True))
