"""Quasi-identifiers as integers: what every search for a release works on.

A column becomes codes 0, 1, 2, ... such that whatever may be published for a group of rows is a contiguous range of
codes: numbers are ranked by value, values of a hierarchy are its leaves in the order of the tree (so that every inner
value is a range of leaves), other values are ordered as text. A group is then a box of least and greatest codes, its
loss is a function of the box, and the searches need no Python object per cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deid.base.arrays import BoolArray, FloatArray, IndexArray, IntArray
from deid.disclosure.classes import group_rows
from deid.table.hierarchy import Hierarchy
from deid.table.microdata import NA_CODE, SUPPRESSED, Microdata

Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class HierarchyTree:
    """A hierarchy as arrays over its leaves 0 to L - 1, in tree order.

    Nodes are numbered from the root (0) downwards, parents before children.
    """

    names: tuple[str | None, ...]
    """Value of each node; None for a missing one."""
    first: Ints
    """[nodes] first leaf below each node."""
    last: Ints
    """[nodes] one behind the last leaf below each node."""
    depths: Ints
    """[depth + 1, L] ancestor of each leaf at each distance from the root; a leaf that ends sooner repeats itself."""
    levels: Ints
    """[height + 1, L] what full-domain recoding to each level makes of each leaf (`Hierarchy.generalize`)."""

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return self.depths.shape[1]

    @cached_property
    def loss(self) -> FloatArray:
        """[nodes] share of the leaves below each node, 0 for a leaf: the certainty penalty of a cell."""
        size = self.last - self.first
        return np.where(size > 1, size / max(self.leaves, 1), 0.0)

    def common(self, low: Ints, high: Ints) -> Ints:
        """Return the lowest common ancestor of each range of leaves ``low`` to ``high`` (both included), shape [n]."""
        node = np.zeros(len(low), dtype=np.int32)
        for row in self.depths:
            at_low = row[low]
            same = at_low == row[high]
            node[same] = at_low[same]
        return node

    @classmethod
    def build(cls, hierarchy: Hierarchy, inner: Iterable[str] = (), loose: Iterable[str | None] = ()) -> HierarchyTree:
        """Lay a hierarchy out as arrays.

        Parameters
        ----------
        hierarchy : Hierarchy
            The tree.
        inner : iterable of str
            Inner values that rows hold as they are; each becomes one more leaf below itself.
        loose : iterable of str or None
            Values outside the tree that lie directly below the root, such as None, a missing value.

        Returns
        -------
        HierarchyTree
            Its leaves in tree order: inner values before what is below them, loose ones last.
        """
        held = set(inner)
        names: list[str | None] = []
        first: list[int] = []
        last: list[int] = []
        paths: list[list[int]] = []
        levels: list[list[int]] = []
        node_of: dict[str, int] = {}
        height = hierarchy.height

        def leaf(name: str | None, path: list[int], own: bool) -> None:
            node = path[-1]
            if own:  # the value itself, as a leaf below the node of the same name
                names.append(name)
                first.append(len(paths))
                last.append(len(paths) + 1)
                node = len(names) - 1
                path = [*path, node]
            paths.append(path)
            levels.append([node])

        stack: list[tuple[str, list[int], bool]] = [(hierarchy.root, [], False)]
        while stack:
            value, above, leaving = stack.pop()
            if leaving:
                last[node_of[value]] = len(paths)
                continue
            node = node_of[value] = len(names)
            names.append(value)
            first.append(len(paths))
            last.append(len(paths) + 1)
            path = [*above, node]
            below = hierarchy.children(value)
            if not below:
                leaf(value, path, False)
                continue
            stack.append((value, above, True))
            stack.extend((child, path, False) for child in reversed(below))
            if value in held:
                leaf(value, path, True)
        for extra in loose:
            leaf(extra, [0], True)
        last[0] = len(paths)
        # the highest ancestor whose level is at most the wanted one, as Hierarchy.generalize has it
        level_of = np.zeros(len(names), dtype=np.int32)
        for value, node in node_of.items():
            level_of[node] = hierarchy.level(value)
        for path, row in zip(paths, levels, strict=True):
            up = len(path) - 1
            for level in range(1, height + 1):
                while up > 0 and level_of[path[up - 1]] <= level:
                    up -= 1
                row.append(path[up])
        deepest = max(map(len, paths))
        depths = [path + path[-1:] * (deepest - len(path)) for path in paths]
        as_array = np.array
        return cls(
            tuple(names),
            as_array(first, np.int32),
            as_array(last, np.int32),
            as_array(depths, np.int32).T.copy(),
            as_array(levels, np.int32).T.copy(),
        )


@dataclass(frozen=True, eq=False, repr=False)
class CodedColumn:
    """How one column is coded.

    Exactly one of three kinds: with a ``tree``, codes are its leaves; with ``numbers``, codes are ranks of them;
    otherwise codes are ranks of ``values`` as text.
    """

    name: str
    values: tuple[str | None, ...]
    """Value of each code, None for a missing value, which only itself and suppression cover."""
    tree: HierarchyTree | None = None
    numbers: FloatArray | None = None
    """[codes] number of each code (days for dates), NaN (last) for a missing value."""

    @property
    def size(self) -> int:
        """Number of codes: the size of the domain."""
        return len(self.values)

    @cached_property
    def _span(self) -> float:
        known = self.numbers[~np.isnan(self.numbers)] if self.numbers is not None else np.zeros(0)
        return float(known[-1] - known[0]) if len(known) else 0.0

    def loss(self, low: Ints, high: Ints) -> FloatArray:
        """Return the normalized certainty penalty (0 to 1) of cells that cover codes ``low`` to ``high``, shape [n].

        Xu et al., KDD 2006: leaves below the common ancestor over all leaves, width over range, or values over all
        values; 0 where nothing is generalized.
        """
        if self.tree is not None:
            return self.tree.loss[self.tree.common(low, high)]
        if self.numbers is not None:
            width = (self.numbers[high] - self.numbers[low]) / (self._span or 1.0)
            return np.where(low == high, 0.0, np.where(np.isnan(width), 1.0, width))
        share = (high - low + 1) / max(self.size, 1)
        return np.where(low == high, 0.0, np.where(self._missing(high), 1.0, share))

    def _missing(self, codes: Ints) -> BoolArray:
        return (codes == self.size - 1) & (self.values[-1] is None)

    def flat(self) -> CodedColumn:
        """Return the column with nothing between a value and suppression."""
        leaves = np.arange(self.size, dtype=np.int32)
        first = np.concatenate([[0], leaves]).astype(np.int32)
        last = np.concatenate([[self.size], leaves + 1]).astype(np.int32)
        levels = np.stack([leaves + 1, np.zeros(self.size, dtype=np.int32)])
        tree = HierarchyTree((SUPPRESSED, *self.values), first, last, levels[::-1].copy(), levels)
        return CodedColumn(self.name, self.values, tree)

    def covers(self, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """Return the least and greatest codes, shape [n] each, published for groups of codes ``low`` to ``high``."""
        if self.tree is None:
            return low, high
        node = self.tree.common(low, high)
        return self.tree.first[node], self.tree.last[node] - 1


@dataclass(frozen=True, eq=False)
class CodedTable:
    """The quasi-identifiers of a table and what constraints look at, row by row.

    Parameters
    ----------
    columns : sequence of CodedColumn
        Quasi-identifiers.
    codes : ndarray of int32, shape [n, d]
        Their codes.
    sensitive : mapping of str to (CodedColumn, ndarray of int32 [n])
        Sensitive columns by name.
    persons : ndarray of int32 [n], optional
        Person of each row, where a person may have several rows.
    weights : ndarray of int64 [n], optional
        How many equal records a row stands for (see `collapse`); one each when absent.
    """

    columns: tuple[CodedColumn, ...]
    codes: Ints
    sensitive: Mapping[str, tuple[CodedColumn, Ints]] = field(default_factory=dict)
    persons: Ints | None = None
    weights: IntArray | None = None

    def __len__(self) -> int:
        """Return the number of rows (not of records, when rows are weighted)."""
        return len(self.codes)

    @cached_property
    def records(self) -> int:
        """Number of records."""
        return len(self) if self.weights is None else int(self.weights.sum())

    def collapse(self) -> tuple[CodedTable, IndexArray]:
        """Return the distinct rows with their weights, and the distinct row of each row (shape [rows]).

        Rows are equal when quasi-identifiers and sensitive values are; persons are never collapsed.
        """
        if self.persons is not None or self.weights is not None:
            return self, np.arange(len(self))
        parts = [self.codes, *(codes[:, None] for _, codes in self.sensitive.values())]
        sizes = [column.size for column in self.columns] + [column.size for column, _ in self.sensitive.values()]
        ids, index = class_ids(np.concatenate(parts, axis=1) if len(parts) > 1 else self.codes, sizes)
        weights = np.bincount(ids, minlength=len(index))
        sensitive = {name: (column, codes[index]) for name, (column, codes) in self.sensitive.items()}
        return CodedTable(self.columns, self.codes[index], sensitive, None, weights), ids

    def take(self, rows: IndexArray) -> CodedTable:
        """Return the table of some rows, in the order given."""
        return CodedTable(
            self.columns,
            self.codes[rows],
            {name: (column, codes[rows]) for name, (column, codes) in self.sensitive.items()},
            None if self.persons is None else self.persons[rows],
            None if self.weights is None else self.weights[rows],
        )


def class_ids(codes: NDArray[np.integer], sizes: Sequence[int]) -> tuple[IndexArray, IndexArray]:
    """Number the distinct rows of ``codes`` [n, d] in the order of their codes.

    Returns
    -------
    ids : ndarray of intp, shape [n]
        Number of each row's class.
    index : ndarray of intp, shape [classes]
        One row of each class.
    """
    ids, count = group_rows([(codes[:, place], size) for place, size in enumerate(sizes)], sort=True)
    index = np.empty(count, dtype=np.intp)
    index[ids] = np.arange(len(ids))
    return ids.astype(np.intp), index


def boxes(codes: Ints, classes: IndexArray, count: int) -> tuple[Ints, Ints]:
    """Return the least and the greatest codes of each class.

    Parameters
    ----------
    codes : int32 array, shape (rows, columns)
        Codes.
    classes : intp array, shape (rows,)
        Class of each row.
    count : int
        Number of classes; every one must have a row.

    Returns
    -------
    low, high : int32 array, shape (count, columns)
        Bounds, both included.
    """
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], np.arange(count))
    arranged = codes[order]
    return np.minimum.reduceat(arranged, starts, axis=0), np.maximum.reduceat(arranged, starts, axis=0)


def encode_column(data: Microdata, column: str, *, meanings: bool = False) -> tuple[CodedColumn, Ints]:
    """Code one column of a table; a missing value gets the greatest code.

    Parameters
    ----------
    data : Microdata
        The table.
    column : str
        One of its columns.
    meanings : bool
        Whether values of one meaning (`Microdata.meanings`) get one code, as models of sensitive values want it.

    Returns
    -------
    column : CodedColumn
        What the codes mean: leaves of its hierarchy in tree order, or the values in their order.
    codes : int32 array, shape (rows,)
        Code of each row.

    Raises
    ------
    InputError
        When a value of a column of numbers or dates is neither; names its row.
    """
    coded = data.meanings(column) if meanings else data.codes(column)
    codes = coded.codes
    missing = bool((codes == NA_CODE).any())
    hierarchy = data.hierarchies.get(column)
    if hierarchy is not None:
        inner = [text for text in coded.values if text in hierarchy and hierarchy.children(text)]
        loose = [text for text in coded.values if text not in hierarchy]  # cells that were suppressed before
        tree = HierarchyTree.build(hierarchy, inner, loose + [None] * missing)
        names = [tree.names[node] for node in tree.depths[-1]]
        place = {text: code for code, text in enumerate(names)}
        table = np.array([*(place[text] for text in coded.values), len(names) - 1], dtype=np.int32)
        return CodedColumn(column, tuple(names), tree), table[codes]
    shown: tuple[str | None, ...] = coded.values + (None,) * missing
    numbers = None
    if data.kind(column) != "nominal":
        numbers = np.full(len(shown), np.nan)
        known = codes != NA_CODE
        numbers[codes[known]] = data.numbers(column)[known]
    codes = np.where(codes == NA_CODE, np.int32(len(shown) - 1), codes)
    return CodedColumn(column, shown, None, numbers), codes


def encode(data: Microdata, columns: Sequence[str] = ()) -> CodedTable:
    """Code a table's quasi-identifiers, its sensitive columns and its persons.

    A missing sensitive value keeps the code `deid.table.microdata.NA_CODE`: it is no value.

    Parameters
    ----------
    data : Microdata
        The table.
    columns : sequence of str
        Columns to code in place of the quasi-identifiers.

    Returns
    -------
    CodedTable
        The codes.

    Raises
    ------
    InputError
        When a value of a column of numbers or dates is neither; names its row.
    """
    coded = [encode_column(data, name) for name in columns or data.quasi_identifiers]
    sensitive = {}
    for name in data.sensitive:
        column, codes = encode_column(data, name, meanings=True)
        sensitive[name] = column, np.where(data.meanings(name).codes == NA_CODE, np.int32(NA_CODE), codes)
    persons = None if data.person is None else data.codes(data.person).codes
    codes = np.empty((len(data), len(coded)), dtype=np.int32)
    for place, (_, column_codes) in enumerate(coded):
        codes[:, place] = column_codes
    return CodedTable(tuple(column for column, _ in coded), codes, sensitive, persons)
