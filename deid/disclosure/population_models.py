"""Models that compare a release with its population: k-map and delta-presence, as searches see them.

A search looks at the rows of a table above the members of its population (`deid.disclosure.population_search.joined`);
a column of their own tells the two apart. Like `deid.disclosure.constraints`, this proves nothing about a release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deid.base.arrays import BoolArray, FloatArray
from deid.base.errors import require
from deid.disclosure.constraints import Constraint
from deid.disclosure.groups import Groups

MEMBERSHIP = ""
"""Name of the column that tells rows of the table (1) from members of the population (0); no other column has it."""


def _counts(groups: Groups) -> tuple[FloatArray, FloatArray]:
    """Return [groups] members of the population, and rows (or persons) of the table."""
    group, own, counts = groups.histogram(MEMBERSHIP)
    rows = np.bincount(group, counts * own, minlength=len(groups)).astype(np.float64)
    return np.bincount(group, counts, minlength=len(groups)) - rows, rows


@dataclass(frozen=True)
class KMap:
    """Every published row matches ``k`` members of the population (Sweeney 2001); of a table as `joined` codes it."""

    k: int

    def __post_init__(self) -> None:
        require(self.k >= 1, f"{self.k}-map", "ask for at least 1")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether it has k members, or no row."""
        members, rows = _counts(groups)
        return (members >= self.k) | (rows == 0)

    def __str__(self) -> str:
        return f"{self.k}-map"


@dataclass(frozen=True)
class Presence:
    """A member is in the table with a chance of ``low`` to ``high`` (Nergiz et al. 2007); of a table of `joined`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        ordered = 0 <= self.low <= self.high <= 1
        require(ordered, "the bounds of presence are not from 0 to 1, in order", "for example 0 and 0.5")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether rows over members lie between the bounds."""
        members, rows = _counts(groups)
        chance = rows / np.maximum(members, 1)
        return (members > 0) & (chance >= self.low - 1e-12) & (chance <= self.high + 1e-12)

    def __str__(self) -> str:
        return f"presence of {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class OfRows:
    """Another model, of the rows of the table alone: members of the population do not count."""

    inner: Constraint

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether its rows satisfy the model, or there are none."""
        own = groups.table.sensitive[MEMBERSHIP][1][groups.rows] == 1
        group = groups.group[own]
        result = np.ones(len(groups), dtype=bool)
        if len(group):
            starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
            result[group[starts]] = self.inner.satisfied(Groups(groups.table, groups.rows[own], starts))
        return result

    def __str__(self) -> str:
        return str(self.inner)
