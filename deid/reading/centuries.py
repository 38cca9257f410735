"""The century of a year that is written with two digits: one rule for whatever reads dates."""

from __future__ import annotations

LATEST = 2049
"""Latest year that two digits stand for where no reference year is known."""


def full_year(year: int, reference: int | None = None, *, past: bool = False) -> int:
    """Return a year of two digits in four: the latest year that it can be.

    Parameters
    ----------
    year : int
        As written; from 100 on it is complete.
    reference : int, optional
        Year of the note's own date, else of the day that the user gives; never that of the run. Two digits mean the
        year after it at the latest, since notes plan into the next year and seldom beyond. Without one the latest
        year is `LATEST`.
    past : bool
        The date cannot lie behind the reference: a birth.

    Examples
    --------
    >>> full_year(20, 2019), full_year(21, 2019), full_year(20, 2019, past=True), full_year(49), full_year(50)
    (2020, 1921, 1920, 2049, 1950)
    """
    if year > 99:
        return year
    latest = LATEST if reference is None else reference if past else reference + 1
    return latest - (latest - year) % 100
