"""Sum, mean, variance, standard deviation and number of the values of a column: what is asked together is drawn once.

All follow from a count of the values, the sum of their distances from the middle of the bounds, and the sum of the
squares of these. Each is drawn once, with the cost of all that is asked, and every answer is computed from them, so
that answers agree: SD squared is VARIANCE, SUM is MEAN times COUNT. That is post-processing, and a number that two
answers need is paid for once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import FloatArray
from deid.dp.aggregates import Bounded, Drawing, Drawn, check_bounds, drawn_count, drawn_sum, half_width
from deid.dp.costs import Cost, laplace_draws, split_evenly
from deid.dp.intervals import mean_interval


def noisy_moments(
    values: FloatArray,
    wanted: Sequence[str],
    low: float,
    high: float,
    how: Drawing,
    *,
    whole: bool = False,
) -> list[Bounded]:
    """Answer several questions about the values, moved into [low, high]; missing ones (nan) are left out.

    Equal parts of the cost are spent on the sum of the distances from the middle of the bounds, which is less sensitive
    than the sum of the values, on the count, and for a variance on the sum of the squared distances, taken as distances
    from the middle of what these can be: a sum of numbers within [-r, r] has sensitivity r times the rows between
    neighbours, and the draws follow one another (sequential composition). The variance is the mean square less the
    square of the mean, which divides by the number of values. An interval holds for all pairs (of a variance triples)
    of the numbers within theirs.

    For intervals that cover sampling the squares are drawn in any case, but for means of values that are one of two
    whole numbers (a proportion), whose variance follows from the mean; for a variance, a part is spent on the fourth
    powers of the distances from the mean that the others told: the variance of the variance of n values is that of
    their squared distances over n. That of a sum of Poisson many values is the sum of their squares.

    Parameters
    ----------
    values : float array, shape (rows,)
        The numbers.
    wanted : sequence of str
        Some of SUM, MEAN, VARIANCE, SD, and VALUES, which is how many values there are.
    low, high, how, whole
        As those of `deid.dp.aggregates.noisy_sum`; its cost pays for everything.

    Returns
    -------
    list of Bounded
        One for each of ``wanted``. A mean lies within the bounds, a variance from 0 to a quarter of their squared
        distance.

    Raises
    ------
    ConfigError
        When the bounds are not two finite numbers in order, or there is no grid for the powers that are needed.
    """
    check_bounds(low, high)
    reach = (high - low) / 2
    varied = bool({"VARIANCE", "SD"} & {*wanted})
    if varied:
        order = ["sums", "squares", "count"] + ["fourth"] * bool(how.sampling)
    else:
        known = whole and high - low == 1 and {*wanted} <= {"MEAN", "VALUES"}
        order = ["sums", "count"] + ["squares"] * (bool(how.sampling) and not known)
    square = reach * reach
    if "squares" in order:
        check_bounds(0.0, square)
    if "fourth" in order:  # of distances from the mean, which may lie at an end
        check_bounds(0.0, square * square)
        check_bounds(0.0, 16 * square * square)
    costs = dict(zip(order, split_evenly(how.cost, len(order)), strict=True))
    present = np.clip(values[~np.isnan(values)], low, high)
    return _Moments.drawn(present, (low, high), costs, how).answers(wanted)


@dataclass(frozen=True, eq=False)
class _Moments:
    """What was drawn, and how it is told."""

    bounds: tuple[float, float]
    sums: Drawn
    squares: Drawn | None
    """Of the squared distances from the middle, less half of the greatest."""
    count: Drawn
    fourth: float
    """What the mean fourth power of the distances from the mean is at most."""
    level: float
    sampling: int

    @staticmethod
    def drawn(present: FloatArray, bounds: tuple[float, float], costs: dict[str, Cost], how: Drawing) -> _Moments:
        """Draw the numbers that are paid for, in the order of their costs."""
        (low, high), level = bounds, how.level
        reach = (high - low) / 2
        most = reach * reach
        away = present - (low + high) / 2
        found: dict[str, Drawn] = {}
        for name, own in costs.items():
            paid = how.paid(own)
            if name == "sums":
                found[name] = drawn_sum(away, -reach, reach, paid)
            elif name == "squares":
                found[name] = drawn_sum(away * away - most / 2, -most / 2, most / 2, paid)
            elif name == "count":
                found[name] = drawn_count(len(present), paid)
        fourth, count = 0.0, found["count"]
        if "fourth" in costs:
            mean = _ratio(found["sums"].at(level), count.at(level), 0.0, reach).value
            top = (reach + abs(mean)) ** 4 / 2
            powers = drawn_sum((away - mean) ** 4 - top, -top, top, how.paid(costs["fourth"])).at(level)
            fourth = _ratio(powers, count.at(1 - (1 - level) / 3), top, top).upper
        return _Moments(bounds, found["sums"], found.get("squares"), count, fourth, level, how.sampling)

    @property
    def middle(self) -> float:
        return sum(self.bounds) / 2

    @property
    def reach(self) -> float:
        return (self.bounds[1] - self.bounds[0]) / 2

    def answers(self, wanted: Sequence[str]) -> list[Bounded]:
        told = {"MEAN": self.mean, "SUM": self.total, "VALUES": self.number, "VARIANCE": self.variance, "SD": self.root}
        return [told[name]() for name in wanted]

    def number(self) -> Bounded:
        found = self.count.at(self.level)
        if not self.sampling:
            return found
        half = half_width(self.sampling * max(found.upper, 0.0), self.count.variance, self.count.cost, self.level)
        return Bounded(found.value, max(found.value - half, 0.0), max(found.value + half, 0.0))

    def mean(self) -> Bounded:
        low, high = self.bounds
        if not self.sampling:
            each = 1 - (1 - self.level) / 2
            found = _ratio(self.sums.at(each), self.count.at(each), self.middle, self.reach)
            return Bounded(*(min(max(own, low), high) for own in found))
        reach, level = self.reach, self.level
        value = _ratio(self.sums.at(level), self.count.at(level), 0.0, reach).value
        # of numbers within bounds no variance is greater (Bhatia and Davis 2000); of two whole numbers none is smaller
        spread = (reach - value) * (reach + value)
        if self.squares is not None:
            square = _ratio(self.squares.at(level), self.count.at(level), reach**2 / 2, reach**2 / 2)
            spread = min(max(square.upper - value**2, 0.0), spread)
        draws = laplace_draws(self.sums.cost)
        lower, upper = mean_interval(
            self.sums.value, self.count.value, self.sums.variance, self.count.variance, spread, draws, level,
            self.sampling,
        )  # fmt: skip
        ends = max(min(lower, value), -reach), min(max(upper, value), reach)
        return Bounded(*(self.middle + own for own in (value, *ends)))

    def total(self) -> Bounded:
        """Return the sum: the mean times the count, so that the three agree."""
        level, middle = self.level, self.middle
        value = self.mean().value * max(self.count.value, 0.0)
        each = 1 - (1 - level) / 2
        sums, count = self.sums.at(each), self.count.at(each)
        lower, upper = (choose(middle * own for own in count[1:]) for choose in (min, max))
        lower, upper = lower + sums.lower, upper + sums.upper
        if self.sampling:
            assert self.squares is not None
            away = self.squares.value + self.reach**2 / 2 * self.count.value
            squares = max(away + 2 * middle * self.sums.value + middle**2 * self.count.value, 0.0)
            noise = self.sums.variance + middle**2 * self.count.variance
            half = half_width(self.sampling * squares, noise, self.sums.cost, level)
            lower, upper = min(lower, value - half), max(upper, value + half)
        return Bounded(value, min(lower, value), max(upper, value))

    def root(self) -> Bounded:
        return Bounded(*map(math.sqrt, self.variance()))

    def variance(self) -> Bounded:
        assert self.squares is not None
        reach, level = self.reach, self.level
        most, each = reach * reach, 1 - (1 - level) / 3
        count = self.count.at(each)
        mean = _ratio(self.sums.at(each), count, 0.0, reach)
        square = _ratio(self.squares.at(each), count, most / 2, most / 2)
        nearest = max(mean.lower, -mean.upper, 0.0)
        farthest = max(-mean.lower, mean.upper)
        found = square.value - mean.value**2, square.lower - farthest**2, square.upper - nearest**2
        value, lower, upper = (min(max(own, 0.0), most) for own in found)
        if self.sampling:
            of_rows = self.sampling * max(self.fourth - value**2, 0.0) / max(count.value, 1.0)
            # how the variance moves with each of the three numbers
            of_noise = self.squares.variance + self.sums.variance * (2 * mean.value) ** 2
            of_noise += self.count.variance * (square.value - most / 2 - 2 * mean.value**2) ** 2
            half = half_width(of_rows, of_noise / max(count.value, 1.0) ** 2, self.sums.cost, level)
            known = count.lower >= 1
            lower, upper = (max(value - half, 0.0), min(value + half, most)) if known else (0.0, most)
        return Bounded(value, min(lower, value), max(upper, value))


def _ratio(sums: Bounded, count: Bounded, middle: float, reach: float) -> Bounded:
    """Return the mean of what was added up as distances from ``middle``, at most ``reach`` away from it."""
    value = min(max(middle + sums.value / max(count.value, 1.0), middle - reach), middle + reach)
    if count.lower < 1:
        return Bounded(value, middle - reach, middle + reach)
    ends = [middle + total / rows for total in (sums.lower, sums.upper) for rows in (count.lower, count.upper)]
    return Bounded(value, max(min(*ends, value), middle - reach), min(max(*ends, value), middle + reach))
