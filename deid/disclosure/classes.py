"""Equivalence classes of a published table, and the sensitive values in them.

A class is a maximal set of rows that agree on all quasi-identifiers (Samarati 2001). Rows whose quasi-identifiers are
all suppressed are a class like any other: whoever publishes them must hide each among k as well. They can be left out
where it is known that they say nothing (`Microdata.ignore_suppressed`).
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.errors import InputError, require
from deid.base.late import pd
from deid.table.microdata import NA_CODE, SUPPRESSED, Microdata, check_columns

WITNESS_ROWS = 10
"""So many rows of a witness are kept."""
NO_QUASI_IDENTIFIER = "the table has no quasi-identifier", "name the columns by which persons can be recognized"
NONE_SENSITIVE = "no column is sensitive", "name the ones to protect with --sensitive"
"""What `deid.base.errors.require` tells of a table without such columns."""


@dataclass(frozen=True)
class Verdict:
    """What a verifier found.

    Parameters
    ----------
    ok : bool
        The table has the property asked for.
    level : float or tuple of float
        The level that it reaches: the best parameter for which ``ok`` would be true.
    witness : tuple of int
        Rows (from 0, at most ten) of a class, or a row, that decides the level: it shows why no better one is reached.
    """

    ok: bool
    level: float | tuple[float, ...]
    witness: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """Rows grouped by their quasi-identifiers.

    Parameters
    ----------
    ids : int64 array, shape (rows,)
        Class of each row, numbered by first appearance; -1 for rows left out.
    sizes : int64 array, shape (classes,)
        Rows of each class.
    persons : int64 array, shape (classes,)
        Distinct persons of each class; its rows where every row is a person.
    """

    ids: np.ndarray
    sizes: np.ndarray
    persons: np.ndarray

    def __len__(self) -> int:
        """Return the number of classes."""
        return len(self.sizes)

    def rows(self, number: int) -> tuple[int, ...]:
        """Return the first rows of a class, as a witness names them."""
        return tuple(int(row) for row in np.flatnonzero(self.ids == number)[:WITNESS_ROWS])

    @property
    def first_rows(self) -> np.ndarray:
        """First row of each class, int64 array of shape (classes,)."""
        first = np.full(len(self), len(self.ids), dtype=np.int64)
        kept = np.flatnonzero(self.ids >= 0)
        np.minimum.at(first, self.ids[kept], kept)
        return first


def group_rows(columns: Sequence[tuple[np.ndarray, int]], *, sort: bool = False) -> tuple[np.ndarray, int]:
    """Number the distinct rows of several columns of codes.

    Parameters
    ----------
    columns : sequence of (int array, int)
        Codes (-1 is missing) and the number of codes of each column, of one at least.
    sort : bool
        Number them in the order of their codes, not by first appearance.

    Returns
    -------
    ids : int64 array
        Number of each row's combination.
    count : int
        Number of combinations.
    """
    key = np.zeros(len(columns[0][0]), dtype=np.int64)
    room = 1
    for codes, size in columns:
        if room > 2**62 // (size + 1):  # the mixed radix would overflow: number what there is, then go on
            key, uniques = pd.factorize(key, sort=sort)
            room = len(uniques)
        key = key * (size + 1) + (codes.astype(np.int64) + 1)
        room *= size + 1
    ids, uniques = pd.factorize(key, sort=sort)
    return ids.astype(np.int64), len(uniques)


def suppressed_rows(release: Microdata, names: Sequence[str] | None = None) -> np.ndarray:
    """Tell which rows have nothing but ``*`` in some columns, the quasi-identifiers by default; bool array (rows,)."""
    gone = np.ones(len(release), dtype=bool)
    for name in release.quasi_identifiers if names is None else names:
        column = release.codes(name)
        gone &= column.codes == (column.values.index(SUPPRESSED) if SUPPRESSED in column.values else len(column.values))
    return gone


_known: weakref.WeakKeyDictionary[Microdata, dict[object, EquivalenceClasses]] = weakref.WeakKeyDictionary()


def equivalence_classes(release: Microdata, columns: Sequence[str] | None = None) -> EquivalenceClasses:
    """Group the rows of a table by their quasi-identifiers; computed once a table.

    Parameters
    ----------
    release : Microdata
        The published table.
    columns : sequence of str, optional
        Columns to group by instead of the quasi-identifiers.

    Returns
    -------
    EquivalenceClasses
        The classes; the same object for the same table and columns.

    Raises
    ------
    ConfigError
        When there is no quasi-identifier, or the table lacks a column.
    InputError
        When suppressed rows are to be ignored, and all are.
    """
    names = tuple(release.quasi_identifiers if columns is None else columns)
    check_columns(release.frame, names)
    require(names, *NO_QUASI_IDENTIFIER)
    known = _known.setdefault(release, {})
    if names not in known:
        known[names] = _classes(release, names)
    return known[names]


def _classes(release: Microdata, names: tuple[str, ...]) -> EquivalenceClasses:
    coded = [release.codes(name) for name in names]
    ids, count = group_rows([(column.codes, len(column.values)) for column in coded])
    if release.ignore_suppressed:
        out = suppressed_rows(release, names)
        if out.any():
            gone = ids[np.argmax(out)]
            ids = np.where(out, -1, ids - (ids > gone))
            count -= 1
        require(count, "every row is suppressed", "there is nothing to check; ask for less protection", kind=InputError)
    sizes = np.bincount(ids[ids >= 0], minlength=count)
    persons = sizes
    if release.person is not None:
        who = release.codes(release.person)
        kept = ids >= 0
        pairs, _ = group_rows([(ids[kept], count), (who.codes[kept], len(who.values))])
        persons = np.bincount(ids[kept][_first_of(pairs)], minlength=count)
    return EquivalenceClasses(ids, sizes.astype(np.int64), persons.astype(np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class ValueCounts:
    """How often each sensitive value occurs in each class: one entry a class and a value that occurs in it.

    Rows count where every row is a person; otherwise a person counts once for each value of theirs in a class. Missing
    and suppressed values are left out: there is nothing that could be disclosed.

    Parameters
    ----------
    classes : EquivalenceClasses
        The classes.
    values : tuple of str
        Distinct sensitive values, by what they mean (`Microdata.meanings`).
    owners, codes, counts : int64 arrays, shape (entries,)
        Class, value and count of each entry, sorted by class, then by value.
    people : int64 array, shape (classes,)
        Persons of each class with a recorded value.
    table : int64 array, shape (values,)
        Count of each value in the whole table; a person counts once for each value, whatever the number of classes.
    """

    classes: EquivalenceClasses
    values: tuple[str, ...]
    owners: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    people: np.ndarray
    table: np.ndarray

    @property
    def totals(self) -> np.ndarray:
        """Sum of the counts of each class, shape (classes,)."""
        return np.bincount(self.owners, weights=self.counts, minlength=len(self.classes)).astype(np.int64)

    @property
    def shares(self) -> np.ndarray:
        """Share of each entry in its class, shape (entries,)."""
        return self.counts / self.totals[self.owners]

    @property
    def overall(self) -> np.ndarray:
        """Share of each value in the whole table, shape (values,)."""
        return self.table / max(self.table.sum(), 1)

    @property
    def starts(self) -> np.ndarray:
        """First entry of each class, and one behind the last entry, shape (classes + 1,)."""
        return np.searchsorted(self.owners, np.arange(len(self.classes) + 1))


def recorded_rows(release: Microdata, sensitive: str, classes: EquivalenceClasses) -> np.ndarray:
    """Return the rows of classes whose sensitive value is neither missing nor suppressed.

    Parameters
    ----------
    release : Microdata
        The published table.
    sensitive : str
        One of its columns.
    classes : EquivalenceClasses
        Its classes; rows that these leave out are left out here, too.

    Returns
    -------
    int64 array
        Rows, from 0, ascending.
    """
    column = release.meanings(sensitive)
    recorded = (classes.ids >= 0) & (column.codes != NA_CODE)
    if SUPPRESSED in column.values:
        recorded &= column.codes != column.values.index(SUPPRESSED)
    return np.flatnonzero(recorded)


def value_counts(release: Microdata, sensitive: str) -> ValueCounts:
    """Count the values of a sensitive column in every class.

    Parameters
    ----------
    release
        See `equivalence_classes`.
    sensitive : str
        The column to count.

    Returns
    -------
    ValueCounts
        Counts by class and value.

    Raises
    ------
    ConfigError, InputError
        As `equivalence_classes`; also when the table lacks the sensitive column.
    """
    check_columns(release.frame, [sensitive])
    classes = equivalence_classes(release)
    column = release.meanings(sensitive)
    values = tuple(value for value in column.values if value != SUPPRESSED)
    size = max(len(values), 1)
    rows = recorded_rows(release, sensitive, classes)
    owners, codes = classes.ids[rows], column.codes[rows].astype(np.int64)
    if len(values) < len(column.values):
        codes -= codes > column.values.index(SUPPRESSED)
    people = np.bincount(owners, minlength=len(classes))
    whole = codes
    if release.person is not None:
        who = release.codes(release.person)
        persons = (who.codes[rows], len(who.values))
        people = np.bincount(
            owners[_first_of(group_rows([(owners, len(classes)), persons])[0])], minlength=len(classes)
        )
        whole = codes[_first_of(group_rows([(codes, size), persons])[0])]
        once = _first_of(group_rows([(owners, len(classes)), (codes, size), persons])[0])
        owners, codes = owners[once], codes[once]
    entries, counts = _count(owners * size + codes, len(classes) * size)
    table = np.bincount(whole, minlength=len(values))
    return ValueCounts(classes, values, entries // size, entries % size, counts, people, table)


def _first_of(ids: np.ndarray) -> np.ndarray:
    """Return the first place of each number; numbers are given by first appearance."""
    return np.unique(ids, return_index=True)[1]


def _count(keys: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """Return distinct keys in order, and how often each occurs."""
    if room <= 4 * len(keys) + 1024:  # counting needs no sort where the table of counts is small
        dense = np.bincount(keys, minlength=room)
        entries = np.flatnonzero(dense)
        return entries, dense[entries]
    return np.unique(keys, return_counts=True)
