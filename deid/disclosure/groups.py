"""Groups of rows that a search looks at: their sizes and the sensitive values in them, for all groups at once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deid.base.arrays import FloatArray, IndexArray, IntArray
from deid.disclosure.encoding import CodedTable


class Groups:
    """Rows of a table arranged so that every group is a run.

    Parameters
    ----------
    table : CodedTable
        The table.
    rows : ndarray of intp
        Row numbers, group after group.
    starts : ndarray of intp
        Where each group begins in ``rows``; the first is 0, none is empty.
    """

    def __init__(self, table: CodedTable, rows: IndexArray, starts: IndexArray) -> None:
        self.table = table
        self.rows = rows
        self.starts = starts
        self._histograms: dict[str, tuple[IndexArray, IndexArray, FloatArray]] = {}

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.starts)

    @cached_property
    def group(self) -> IndexArray:
        """Group of each arranged row."""
        lengths = np.diff(self.starts, append=len(self.rows))
        return np.repeat(np.arange(len(self.starts)), lengths)

    @cached_property
    def sizes(self) -> FloatArray:
        """[groups] records, or distinct persons where rows belong to persons."""
        table = self.table
        if table.persons is not None:
            ids = _distinct(self.group, table.persons[self.rows], int(table.persons.max(initial=0)) + 1)[0]
            return np.bincount(ids, minlength=len(self)).astype(np.float64)
        if table.weights is not None:
            return np.add.reduceat(table.weights[self.rows], self.starts).astype(np.float64)
        return np.diff(self.starts, append=len(self.rows)).astype(np.float64)

    def histogram(self, column: str) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Return (group, value, count) of the known values that occur, sorted; counts are records or persons."""
        if column not in self._histograms:
            table = self.table
            coded, codes = table.sensitive[column]
            size = max(coded.size, 1)
            values = codes[self.rows]
            known = slice(None) if values.min(initial=0) >= 0 else values >= 0  # a missing value is no value
            values, rows, groups = values[known], self.rows[known], self.group[known]
            if table.persons is not None:
                people = int(table.persons.max(initial=0)) + 1
                group, packed = _distinct(groups, values.astype(np.int64) * people + table.persons[rows], size * people)
                key = group * size + packed // people
                weights = None
            else:
                key = groups * size + values
                weights = None if table.weights is None else table.weights[rows]
            if len(self) * size <= 4 * len(key) + 1024:  # a dense table is cheaper than sorting
                dense = np.bincount(key, weights, minlength=len(self) * size)
                found = np.flatnonzero(dense)
                counts = dense[found].astype(np.float64)
            else:
                found, place = np.unique(key, return_inverse=True)
                counts = np.bincount(place, weights).astype(np.float64)
            self._histograms[column] = (found // size, found % size, counts)
        return self._histograms[column]

    def people(self, column: str) -> FloatArray:
        """Return [groups] records, or distinct persons, with a known value of a sensitive column."""
        table = self.table
        if table.persons is None:
            return self.totals(column)
        known = table.sensitive[column][1][self.rows] >= 0
        group = _distinct(self.group[known], table.persons[self.rows[known]], int(table.persons.max()) + 1)[0]
        return np.bincount(group, minlength=len(self)).astype(np.float64)

    def own_values(self, column: str) -> IndexArray:
        """Return [groups] distinct values when every person may have one: the rarest of theirs in the table.

        No more than what a matching of persons and values reaches, so that three values of one person count once. The
        table must have persons.
        """
        table = self.table
        assert table.persons is not None
        coded, codes = table.sensitive[column]
        frequency = np.bincount(codes[codes >= 0], minlength=coded.size)
        rarity = np.empty(coded.size, dtype=np.int64)
        rarity[np.lexsort((np.arange(coded.size), frequency))] = np.arange(coded.size)
        known = codes[self.rows] >= 0
        group, rows = self.group[known], self.rows[known]
        order = np.lexsort((rarity[codes[rows]], table.persons[rows], group))
        group, rows = group[order], rows[order]
        first = np.ones(len(rows), dtype=bool)
        first[1:] = (group[1:] != group[:-1]) | (table.persons[rows[1:]] != table.persons[rows[:-1]])
        found = _distinct(group[first], codes[rows[first]], coded.size)[0]
        return np.bincount(found, minlength=len(self))

    def sums(self, column: str, values: FloatArray) -> FloatArray:
        """Return [groups] sums of ``values``, one for each entry of the histogram of ``column``."""
        return np.bincount(self.histogram(column)[0], values, minlength=len(self)).astype(np.float64)

    def totals(self, column: str) -> FloatArray:
        """Return [groups] the sum of the histogram's counts."""
        return self.sums(column, self.histogram(column)[2])

    def share(self, column: str) -> FloatArray:
        """Return count / total of the group for each entry of the histogram, shape [entries]."""
        group, _, counts = self.histogram(column)
        return counts / self.totals(column)[group]  # a group that is listed has a value


def _distinct(group: IndexArray, value: NDArray[np.integer], size: int) -> tuple[IntArray, IntArray]:
    key = np.unique(group.astype(np.int64) * size + value)
    return key // size, key % size


def groups_of(table: CodedTable, classes: IndexArray, count: int) -> Groups:
    """Arrange a table by class.

    Parameters
    ----------
    table : CodedTable
        The rows.
    classes : intp array, shape (rows,)
        Class of each row, 0 to ``count`` - 1; every class must have a row.
    count : int
        Number of classes.

    Returns
    -------
    Groups
        The table with its rows sorted by class.
    """
    order = np.argsort(classes, kind="stable")
    return Groups(table, order, np.searchsorted(classes[order], np.arange(count)))
