"""Whom a release protects, against which difference: privacy unit, neighbouring relation, contribution bound.

Every mechanism of this package is calibrated in one currency, the *distance*: how many rows must be added to or removed
from a table to turn it into a neighbour. A unit that stands behind at most m rows has distance m when a neighbour lacks
(or has) the unit's rows, and 2m when the unit's rows are replaced by others. A query that one row changes by at most s
(in L1) has sensitivity s times the distance.

Replacement is always counted as a removal and an addition. Disjoint parts of a table may therefore be charged by their
maximum under either relation: a row that moves from one part to another is one step in each of them, not two in one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deid.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RELATIONS", "PrivacyUnit", "bounded_rows"]

RELATIONS = {
    "add-remove": "neighbours differ by one unit's rows, present or absent; the number of rows is private",
    "replace": "neighbours differ by one unit's rows, replaced by others; the number of rows counts as public",
}
"""Neighbouring relations and what they mean."""


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """What a guarantee is about.

    Parameters
    ----------
    name : str
        What one unit is, in the user's words: ``row``, ``patient``, ``doctor``.
    relation : str
        A key of `RELATIONS`.
    max_rows : int
        Greatest number of rows that one unit stands behind. It must hold for the table: either because a unit is a
        row, or because `bounded_rows` has enforced it.
    """

    name: str = "row"
    relation: str = "add-remove"
    max_rows: int = 1

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise ConfigError("unknown neighbouring relation", f"use one of {', '.join(RELATIONS)}")
        if self.max_rows < 1:
            raise ConfigError("a unit stands behind at least one row", "give a bound of 1 or more")
        if not self.name.strip():
            raise ConfigError("the privacy unit has no name", "say what one unit is, such as patient")

    @property
    def distance(self) -> int:
        """Rows added or removed between neighbours, at most."""
        return self.max_rows * (2 if self.relation == "replace" else 1)

    @property
    def unit_distance(self) -> int:
        """Units added or removed between neighbours: the sensitivity of a count of units."""
        return 2 if self.relation == "replace" else 1

    def __str__(self) -> str:
        rows = "one row" if self.max_rows == 1 else f"up to {self.max_rows} rows"
        return f"{self.name} ({rows}), {self.relation}"


def bounded_rows(persons: pd.Series, max_rows: int) -> tuple[npt.NDArray[np.bool_], int]:
    """Say which rows to keep so that no person stands behind more than ``max_rows`` of them.

    The first rows of each person are kept, in the order of the table. Which rows of a person stay depends on that
    person's rows alone, so adding or removing a person changes at most ``max_rows`` of the kept rows. A row without a
    person (missing value) is a person of its own.

    Parameters
    ----------
    persons : pandas.Series
        The person of each row.
    max_rows : int
        The bound.

    Returns
    -------
    (ndarray of bool, shape (rows,), int)
        The rows to keep, and how many persons lost rows. The number is private: it changes by at most one when a
        person is added or removed, and may only be told with noise.
    """
    if max_rows < 1:
        raise ConfigError("a bound of fewer than one row a person keeps nothing", "give a bound of 1 or more")
    number = persons.groupby(persons, sort=False, dropna=True).cumcount().to_numpy()
    keep = (number < max_rows) | persons.isna().to_numpy()
    return keep, int(persons[~keep].nunique())
