"""Models of numeric sensitive values, as constraints of a search: no class whose values lie too close together.

Unlike the models of `deid.disclosure.constraints` they can break when two good groups are merged, so a search that
merges checks what it gets, and full-domain search prunes nothing by them when rows may be suppressed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import BoolArray, FloatArray
from deid.base.errors import ConfigError, told_as
from deid.disclosure.groups import Groups


def _numbers(groups: Groups, column: str) -> FloatArray:
    """Return the number of each code of a sensitive column."""
    coded = groups.table.sensitive[column][0]
    if coded.numbers is not None:
        return coded.numbers
    with told_as(ConfigError(f"column {column!r} is not numeric", "this model needs numbers"), ValueError):
        return np.array([math.nan if value is None else float(value) for value in coded.values])


def _near(groups: Groups, column: str, below: float, above: float) -> FloatArray:
    """Return, for each entry of the histogram, the count of its group's values so far below and above its own."""
    group, value, counts = groups.histogram(column)
    numbers = _numbers(groups, column)[value]
    slack = 1e-9 * np.maximum(np.abs(numbers), above)
    low, high = numbers - below - slack, numbers + above + slack
    order = np.lexsort((numbers, group))
    line, owner = numbers[order], group[order]
    ranks, place = np.unique(line, return_inverse=True)
    size = len(ranks) + 1
    key = owner * size + place
    sums = np.concatenate([[0.0], np.cumsum(counts[order])])
    first = np.searchsorted(key, group * size + np.searchsorted(ranks, low, "left"))
    last = np.searchsorted(key, group * size + np.searchsorted(ranks, high, "right"))
    return np.asarray(sums[last] - sums[first])


@dataclass(frozen=True)
class EpsilonM:
    """(epsilon, m)-anonymity: at most 1/m of a class lies within epsilon of any of its values (Li, Tao, Xiao 2008)."""

    epsilon: float
    m: float
    column: str

    def __post_init__(self) -> None:
        if not (self.epsilon >= 0 and self.m >= 1):
            raise ConfigError("epsilon must be at least 0 and m at least 1", "for example epsilon = 10, m = 2")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether no value has too many neighbours."""
        group = groups.histogram(self.column)[0]
        near = _near(groups, self.column, self.epsilon, self.epsilon)
        over = near * self.m > groups.people(self.column)[group] * (1 + 1e-9)
        return np.bincount(group, over, minlength=len(groups)) == 0

    def __str__(self) -> str:
        return f"({self.epsilon:g},{self.m:g})-anonymity of {self.column}"


@dataclass(frozen=True)
class RangeDiversity:
    """No interval of a share ``width`` of the column's range holds more than ``alpha`` of a class (Loukides, Shao)."""

    width: float
    alpha: float
    column: str

    def __post_init__(self) -> None:
        if not (0 <= self.width <= 1 and 0 < self.alpha <= 1):
            raise ConfigError("width and alpha must lie between 0 and 1", "for example width = 0.1, alpha = 0.5")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether no interval holds too many."""
        group = groups.histogram(self.column)[0]
        numbers = _numbers(groups, self.column)
        codes = groups.table.sensitive[self.column][1]
        occurring = numbers[codes[codes >= 0]]
        reach = self.width * float(np.ptp(occurring)) if len(occurring) else 0.0
        within = _near(groups, self.column, 0.0, reach)
        over = within > self.alpha * groups.people(self.column)[group] * (1 + 1e-9)
        return np.bincount(group, over, minlength=len(groups)) == 0

    def __str__(self) -> str:
        return f"range diversity ({self.width:g}, {self.alpha:g}) of {self.column}"
