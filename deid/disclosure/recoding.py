"""From groups of rows to a published table: every group gets cells that cover its rows, or is suppressed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deid.base.arrays import BoolArray, IndexArray
from deid.base.late import pd
from deid.disclosure.cells import format_dates, format_interval, format_set
from deid.disclosure.encoding import CodedColumn, CodedTable, Ints, boxes
from deid.table.microdata import SUPPRESSED, Microdata

EVERYTHING = -1
"""As both ends of a range of codes: the cell is suppressed."""


def range_labels(column: CodedColumn, low: Ints, high: Ints, kind: str) -> list[str | None]:
    """Return the published cell of each range of codes ``low`` to ``high``.

    Parameters
    ----------
    column : CodedColumn
        The column.
    low, high : ndarray of int32, shape [ranges]
        Least and greatest code, both included.
    kind : str
        ``numeric``, ``date`` or ``nominal``: how a range without a hierarchy is written.

    Returns
    -------
    list of str or None
        None for a missing value; ``*`` where a missing value is together with others.
    """
    if column.tree is not None:
        names = column.tree.names
        found = column.tree.common(np.maximum(low, 0), high)
        return [SUPPRESSED if a < 0 else names[node] for a, node in zip(low.tolist(), found.tolist(), strict=True)]
    return [
        SUPPRESSED if a < 0 else _label(column, range(a, b + 1), kind)
        for a, b in zip(low.tolist(), high.tolist(), strict=True)
    ]


def _label(column: CodedColumn, codes: Sequence[int], kind: str) -> str | None:
    """Return the cell that covers some codes of a column without a hierarchy, given in ascending order."""
    first, last = column.values[codes[0]], column.values[codes[-1]]
    if len(codes) == 1:
        return first
    if first is None or last is None or SUPPRESSED in (first, last):
        return SUPPRESSED
    if kind == "date":
        return format_dates(first, last)
    if column.numbers is not None:
        return format_interval(first, last)
    return format_set(str(column.values[code]) for code in codes)


def publish(
    data: Microdata,
    coded: CodedTable,
    classes: IndexArray,
    suppressed: BoolArray | None = None,
    *,
    regions: Sequence[tuple[Ints, Ints]] | None = None,
) -> pd.DataFrame:
    """Return the table with every quasi-identifier replaced by the cell of its row's group.

    Parameters
    ----------
    data : Microdata
        The original table.
    coded : CodedTable
        Its coded quasi-identifiers, one row a row.
    classes : ndarray of intp, shape [n]
        Group of each row.
    suppressed : ndarray of bool, shape [n], optional
        Rows whose quasi-identifiers become ``*``.
    regions : sequence of (low, high), optional
        By column, the range of codes [groups] to publish; by default the least that covers the group's rows.

    Returns
    -------
    pandas.DataFrame
        The rows in their order, with all other columns as they were.
    """
    kinds = [data.kind(column.name) for column in coded.columns]
    cells = group_cells(coded.columns, coded.codes, classes, kinds, regions=regions)
    columns = {
        column.name: _categorical(own, classes, suppressed) for column, own in zip(coded.columns, cells, strict=True)
    }
    return data.frame.assign(**columns)


def group_cells(
    columns: Sequence[CodedColumn],
    codes: Ints,
    classes: IndexArray,
    kinds: Sequence[str],
    *,
    regions: Sequence[tuple[Ints, Ints]] | None = None,
) -> list[NDArray[np.object_]]:
    """Return, by column, the published cell of each group.

    Parameters
    ----------
    columns : sequence of CodedColumn
    codes : ndarray of int32, shape [n, columns]
        Codes of the rows.
    classes, regions
        See `publish`; every group has a row.
    kinds : sequence of str
        Kind of each column.

    Returns
    -------
    list of object arrays, shape (groups,)
        Texts, None for a missing value.
    """
    found = []
    count = int(classes.max(initial=-1)) + 1
    low, high = boxes(codes, classes, count)
    for c, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        if regions is None and column.tree is None and column.numbers is None:
            found.append(_sets(column, codes[:, c], classes, count))
        else:
            ends = (low[:, c], high[:, c]) if regions is None else regions[c]
            found.append(_cells(column, *ends, kind))
    return found


def _categorical(cells: NDArray[np.object_], classes: IndexArray, suppressed: BoolArray | None) -> pd.Categorical[str]:
    """Return each row's cell; few different cells, so that a million rows stay small."""
    places: dict[str | None, int] = {None: -1}
    for cell in (SUPPRESSED, *cells.tolist()):
        places.setdefault(cell, len(places) - 1)
    codes = np.array([places[cell] for cell in cells.tolist()], dtype=np.int32)[classes]
    if suppressed is not None:
        codes[suppressed] = 0
    return pd.Categorical.from_codes(codes, categories=pd.Index([cell for cell in places if cell is not None]))


def _cells(column: CodedColumn, low: Ints, high: Ints, kind: str) -> NDArray[np.object_]:
    """Return the cell of each range; ranges that occur often are formatted once."""
    size = column.size + 1
    distinct, place = np.unique((low.astype(np.int64) + 1) * size + high + 1, return_inverse=True)
    labels = range_labels(column, (distinct // size - 1).astype(np.int32), (distinct % size - 1).astype(np.int32), kind)
    return _objects(labels)[place]


def _sets(column: CodedColumn, codes: Ints, classes: IndexArray, count: int) -> NDArray[np.object_]:
    """Return the cell of each group in a column of words without a hierarchy: the set of the words in the group."""
    pairs = np.unique(classes * column.size + codes)
    bounds = np.searchsorted(pairs // column.size, np.arange(count + 1)).tolist()
    members = (pairs % column.size).tolist()
    known: dict[tuple[int, ...], str | None] = {}
    labels: list[str | None] = []
    for begin, end in itertools.pairwise(bounds):
        key = tuple(members[begin:end])
        if key not in known:
            known[key] = _label(column, key, "nominal")
        labels.append(known[key])
    return _objects(labels)


def _objects(labels: Sequence[str | None]) -> NDArray[np.object_]:
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
