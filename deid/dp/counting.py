"""Rows of a table as counts of cells, batch by batch: memory grows with the cells that have rows, not with the rows.

What is kept of a row is its cell. Where rows of a person are bounded, cells wait beside two keyed hashes, of the person
and of the row, until all rows were read (`deid.base.buckets`): on disk, when they are many.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deid.base.arrays import BoolArray, IntArray
from deid.base.buckets import Buckets, Words
from deid.base.late import pd
from deid.dp.domain import Dimension, rows_in_part
from deid.dp.methods import CubePlan, Rows
from deid.dp.unit import least_of_each
from deid.table.cell_text import RowsHash, row_hashes, text_column
from deid.table.microdata import check_columns

_LARGEST = 1 << 62
"""Numbers of cells below it are one word."""
_OUTSIDE = np.uint64(2**64 - 1)
_PERSON_BYTES = 16


@dataclass(frozen=True, eq=False)
class Counted:
    """What a plan counts of a table.

    Parameters
    ----------
    rows : Rows
        The cells that have rows, and how many.
    left_out : int64 array, shape (2,)
        Persons with too many rows, and rows outside of the declared domains.
    mark : str
        Hash of the table's content in any order; empty when it was not asked for.
    """

    rows: Rows
    left_out: IntArray
    mark: str = ""


def count_rows(batches: Iterable[pd.DataFrame], plan: CubePlan, key: bytes, *, marked: bool = False) -> Counted:
    """Count the rows of a table that a plan is about.

    Parameters
    ----------
    batches : iterable of pandas.DataFrame
        Rows of the table; how they are divided changes nothing.
    plan : CubePlan
        Dimensions, part, and whose rows are bounded.
    key : bytes
        Chooses the rows of a person (`deid.dp.unit.bounded_rows`).
    marked : bool
        Return the hash of the content as well.

    Raises
    ------
    ConfigError
        When the table lacks a column.
    """
    packing = _Packing(plan.shape)
    kept, outside, cut = _Tally(packing.width), 0, 0
    with Buckets(_PERSON_BYTES // 8 + 1 + packing.width) as persons, RowsHash(key) as content:
        for frame in batches:
            words, inside, chosen = _cells_of(frame, plan, packing)
            hashes = row_hashes(frame, key) if marked or plan.person is not None else None
            if hashes is not None and marked:
                content.add(hashes)
            if plan.person is not None and hashes is not None:
                there, who = _person_words(frame, plan.person, key)
                # a row of another part fills its person's bound, too
                words[~inside] = _OUTSIDE
                words[~chosen] = _OUTSIDE - np.uint64(1)
                persons.add(np.column_stack([who, hashes, words])[there])
            else:
                kept.add(words[inside])
                outside += int((chosen & ~inside).sum())
        for records in persons.parts():
            found, crowded = _bounded(records, plan.unit.max_rows)
            cut += crowded
            words = found[:, _PERSON_BYTES // 8 + 1 :]
            beyond = words[:, 0] == _OUTSIDE
            outside += int(beyond.sum())
            kept.add(words[words[:, 0] < _OUTSIDE - np.uint64(1)])
        mark = content.digest() if marked else ""
    words, weights = kept.total()
    return Counted(Rows(packing.points(words), plan.shape, weights), np.array([cut, outside], np.int64), mark)


def rows_of(frame: pd.DataFrame, dimensions: Sequence[Dimension]) -> Rows:
    """Return the rows of a table that lie in the declared domains.

    Raises
    ------
    ConfigError
        When the table lacks a column.
    """
    points = np.stack([dimension.codes(dimension.read(frame)) for dimension in dimensions], axis=1)
    return Rows(points[(points >= 0).all(axis=1)], tuple(len(dimension) for dimension in dimensions))


def distinct_cells(batches: Iterable[pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    """Return a table with the different cells of each column; shorter columns end in missing cells."""
    found: dict[str, dict[str, None]] = {name: {} for name in names}
    for frame in batches:
        check_columns(frame, names)
        for name in names:
            found[name].update(dict.fromkeys(text_column(frame[name]).cat.categories))
    return pd.DataFrame({name: pd.Series(list(own), dtype="string") for name, own in found.items()})


def _cells_of(frame: pd.DataFrame, plan: CubePlan, packing: _Packing) -> tuple[Words, BoolArray, BoolArray]:
    """Return the cells of rows, which of them lie in the domains and the part, and which in the part."""
    asked = [*plan.dimensions, *(own for own, _ in plan.part)]
    check_columns(
        frame, [*(name for own in asked for name in own.columns), *([plan.person] if plan.person is not None else [])]
    )
    codes = {own.name: own.codes(own.read(frame)) for own in plan.dimensions}
    chosen = rows_in_part(frame, plan.part)
    inside = chosen & (np.stack(list(codes.values())) >= 0).all(axis=0)
    return packing.words(list(codes.values()), inside), inside, chosen


def _person_words(frame: pd.DataFrame, person: str, key: bytes) -> tuple[BoolArray, Words]:
    """Return which rows say whose they are, and 128 bits of a keyed hash of that, so that no two persons are one."""
    column = text_column(frame[person], key=True)

    def hashed(text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_PERSON_BYTES, key=key).digest()

    known = b"".join([*map(hashed, column.cat.categories), bytes(_PERSON_BYTES)])
    codes = column.cat.codes.to_numpy()
    return codes >= 0, np.frombuffer(known, np.uint64).reshape(-1, _PERSON_BYTES // 8)[codes]


def _bounded(records: Words, max_rows: int) -> tuple[Words, int]:
    """Return the records of each person with the smallest hashes, and how many persons lost some."""
    if not len(records):
        return records, 0
    who = records[:, : _PERSON_BYTES // 8]
    _, persons, counts = np.unique(who, axis=0, return_inverse=True, return_counts=True)
    persons = persons.reshape(-1).astype(np.int64)
    return records[least_of_each(persons, records[:, who.shape[1]], max_rows)], int((counts > max_rows).sum())


class _Packing:
    """Cells of a cube as few numbers: each is that of some neighbouring columns."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)
        self._groups: list[list[int]] = [[]]
        size = 1
        for axis, own in enumerate(shape):
            if size * own > _LARGEST:
                self._groups.append([])
                size = 1
            self._groups[-1].append(axis)
            size *= own

    @property
    def width(self) -> int:
        """Numbers of a cell."""
        return len(self._groups)

    def words(self, codes: Sequence[IntArray], inside: BoolArray) -> Words:
        """Return the numbers of rows, shape (rows, width); those that are not inside have any."""
        found = np.zeros((len(inside), self.width), np.uint64)
        for word, axes in enumerate(self._groups):
            flat = np.ravel_multi_index([codes[axis][inside] for axis in axes], [self.shape[axis] for axis in axes])
            found[inside, word] = flat.astype(np.uint64)
        return found

    def points(self, words: Words) -> IntArray:
        """Return the cells of numbers, shape (rows, columns)."""
        points = np.empty((len(words), len(self.shape)), np.int64)
        for word, axes in enumerate(self._groups):
            codes = np.unravel_index(words[:, word].astype(np.int64), [self.shape[axis] for axis in axes])
            for axis, own in zip(axes, codes, strict=True):
                points[:, axis] = own
        return points


@dataclass
class _Tally:
    """How often each record of numbers came."""

    width: int
    _waiting: list[tuple[Words, NDArray[np.int64]]] = field(default_factory=list)
    _size: int = 0

    def add(self, words: Words) -> None:
        """Count records, shape (records, width)."""
        self._waiting.append((words, np.ones(len(words), np.int64)))
        self._size += len(words)
        if self._size > 2 * max(len(self._waiting[0][0]), 1 << 19):
            self.total()

    def total(self) -> tuple[Words, IntArray]:
        """Return the different records in their order, and how often each came."""
        words = np.concatenate([np.empty((0, self.width), np.uint64), *(own for own, _ in self._waiting)])
        counts = np.concatenate([np.empty(0, np.int64), *(own for _, own in self._waiting)])
        found, places = np.unique(words[:, 0] if self.width == 1 else words, axis=0, return_inverse=True)
        summed = np.zeros(len(found), np.int64)
        np.add.at(summed, places.reshape(-1), counts)
        found = found.reshape(-1, self.width)
        self._waiting, self._size = [(found, summed)], len(found)
        return found, summed
