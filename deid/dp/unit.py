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

import numpy as np
from numpy.typing import NDArray

from deid.base.arrays import BoolArray, IntArray
from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.base.options import option
from deid.table.cell_text import row_hashes, text_column
from deid.table.microdata import check_columns

RELATIONS = {
    "add-remove": "neighbours differ by one unit's rows, present or absent; the number of rows is private",
    "replace": "neighbours differ by one unit's rows, replaced by others; the number of rows counts as public",
}
"""Neighbouring relations and what they mean."""
_MOST_ROWS = 10**12


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """What a guarantee is about: one unit, by its name in the user's words, and what it may stand behind.

    ``max_rows`` must hold for the table (`check_bound`): because a unit is a row, because `bounded_rows` has enforced
    it, or because the user vouches for it.
    """

    name: str = option("row", "Whom it protects: row, patient, doctor, ...", "--unit")
    relation: str = option(
        "add-remove", "Neighbouring tables differ by a unit that is missing (add-remove) or other (replace)."
    )
    max_rows: int = option(1, "Rows that one unit may stand behind; others are left out.", metavar="K", minimum=1)

    def __post_init__(self) -> None:
        require(self.relation in RELATIONS, "unknown neighbouring relation", f"use one of {', '.join(RELATIONS)}")
        require(self.max_rows <= _MOST_ROWS, "a bound of more rows than any table has", f"at most {_MOST_ROWS:,}")
        require(self.max_rows >= 1, "a unit stands behind at least one row", "give a bound of 1 or more")
        require(self.name.strip(), "the privacy unit has no name", "say what one unit is, such as patient")

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


def check_bound(unit: PrivacyUnit, person: str | None, asserted: bool) -> str:
    """Say how it is known that no unit stands behind more rows than the bound.

    Parameters
    ----------
    unit : PrivacyUnit
        Whom a release protects.
    person : str or None
        Column that says whose a row is, by which `bounded_rows` enforces the bound.
    asserted : bool
        Whether the user vouches for the bound instead.

    Returns
    -------
    str
        ``enforced`` (also where the unit is a row), or ``asserted``.

    Raises
    ------
    ConfigError
        When nothing ensures the bound, or both do.
    """
    if person is not None:
        require(not asserted, "the bound is either enforced by a column or asserted", "leave out --assert-bound")
        return "enforced"
    if unit.name == "row" and unit.max_rows == 1:
        return "enforced"
    if asserted:
        return "asserted"
    raise ConfigError(
        f"the budget protects each {unit}, and no column says whose a row is",
        "name the column: --person COLUMN; or, where the bound holds anyway, vouch for it with --assert-bound, which "
        "the release then says",
    )


@dataclass(frozen=True, eq=False)
class BoundedRows:
    """Which rows count.

    Parameters
    ----------
    keep : bool array, shape (rows,)
        The rows to keep.
    cut : int
        How many persons lost rows. Private: it changes by at most one when a person is added or removed, and may only
        be told with noise.
    """

    keep: BoolArray
    cut: int


def bounded_rows(frame: pd.DataFrame, person: str, max_rows: int, key: bytes = b"") -> BoundedRows:
    """Say which rows to keep so that no person stands behind more than ``max_rows`` of them.

    Of each person the rows with the smallest keyed hashes of their content are kept
    (`deid.table.cell_text.row_hashes`). Which rows stay depends on that person's rows alone, so adding or removing a
    person changes at most ``max_rows`` of the kept rows; and it does not depend on the order of the table, so parts of
    it stay disjoint however it is sorted. Persons are compared by `deid.table.cell_text.key_text`. A row without a
    person is not kept: nothing would bound it.

    Parameters
    ----------
    frame : pandas.DataFrame
        The whole table: all its columns are content.
    person : str
        The column of the person.
    max_rows : int
        The bound.
    key : bytes
        Key of the hash; the same one chooses the same rows.

    Returns
    -------
    BoundedRows
        The rows to keep, and how many persons lost some.

    Raises
    ------
    ConfigError
        When the bound is below 1, or the table lacks the column.
    """
    require(max_rows >= 1, "a bound of fewer than one row a person keeps nothing", "give a bound of 1 or more")
    persons = _persons(frame, person)
    keep = persons >= 0
    counts = np.bincount(persons[keep], minlength=1)
    crowded = np.flatnonzero(keep & (counts[persons] > max_rows))
    if len(crowded):
        keep[crowded] = least_of_each(persons[crowded], row_hashes(frame.iloc[crowded], key), max_rows)
    return BoundedRows(keep, int((counts > max_rows).sum()))


def least_of_each(persons: IntArray, hashes: NDArray[np.uint64], max_rows: int) -> BoolArray:
    """Return which rows are among the ``max_rows`` with the smallest hashes of their person; a number a person."""
    order = np.lexsort((hashes, persons))
    owners = persons[order]
    sizes = np.diff(np.flatnonzero(np.diff(owners, prepend=-1, append=-1)))
    rank = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    keep = np.empty(len(order), np.bool_)
    keep[order] = rank < max_rows
    return keep


def _persons(frame: pd.DataFrame, person: str) -> IntArray:
    """Return a number for each row's person, -1 for none."""
    check_columns(frame, [person])
    return text_column(frame[person], key=True).cat.codes.to_numpy().astype(np.int64)


def rows_without_person(frame: pd.DataFrame, person: str) -> int:
    """Return how many rows do not say whose they are, which `bounded_rows` leaves out.

    The number is exact, and nobody knows how much of it one person is: for the custodian's eyes, never for a release.
    """
    return int((_persons(frame, person) < 0).sum())
