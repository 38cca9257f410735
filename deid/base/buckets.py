"""Records of numbers that may be more than memory holds: in memory while they are few, else in parts on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deid.base.arrays import IndexArray
from deid.base.private_folder import PrivateFolder

_SHIFT = np.uint64(56)

Words = NDArray[np.uint64]


class Buckets(AbstractContextManager["Buckets"]):
    """Records of ``width`` numbers, in parts by the highest byte of their first one.

    Records with the same first number come in the same part, and parts in the order of their first bytes. First numbers
    should be spread evenly, as hashes are: then a part is a 256th of the whole. What goes to disk lies in a
    private folder, which is removed at the end.

    Parameters
    ----------
    width : int
        Numbers of a record.
    """

    held = 16 << 20
    """Bytes that are held before they go to disk."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._waiting: list[Words] = []
        self._bytes = 0
        self._folder: PrivateFolder | None = None
        self._there: set[int] = set()

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, records: Words) -> None:
        """Take records, shape (records, width)."""
        self._waiting.append(np.ascontiguousarray(records, np.uint64))
        self._bytes += records.nbytes
        if self._bytes > self.held:
            self._put_away()

    def parts(self) -> Iterator[Words]:
        """Yield all records in their parts; nothing may be added afterwards."""
        if self._folder is None:
            yield self._taken()
            return
        self._put_away()
        for number in sorted(self._there):
            yield np.fromfile(self._path(number), np.uint64).reshape(-1, self._width)
            self._path(number).unlink()

    def _taken(self) -> Words:
        found = np.concatenate([np.empty((0, self._width), np.uint64), *self._waiting])
        self._waiting, self._bytes = [], 0
        return found

    def _put_away(self) -> None:
        self._folder = self._folder or PrivateFolder()
        records = self._taken()
        part = (records[:, 0] >> _SHIFT).astype(np.intp)
        records = records[np.argsort(part, kind="stable")]
        many = np.bincount(part)
        ends = np.cumsum(many)
        for number in np.flatnonzero(many).tolist():
            with self._path(number).open("ab") as stream:
                stream.write(records[ends[number] - many[number] : ends[number]].tobytes())
            self._there.add(number)

    def _path(self, number: int) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / f"{number:03}"


def step_of(many: int) -> np.uint64:
    """Return by what 0, 1, ... up to ``many`` are multiplied, so that they are spread evenly and keep their order."""
    return np.uint64(((1 << 64) - 1) // max(many, 1))


def distinct(records: Words) -> Words:
    """Return the different records in the order of their numbers."""
    ordered = records[np.lexsort(records.T[::-1])]
    return ordered[runs_of(ordered)[0]]


def runs_of(records: Words) -> tuple[IndexArray, IndexArray]:
    """Return where runs of equal records start, and how many are in each."""
    starts = np.flatnonzero(np.append([True] * bool(len(records)), (records[1:] != records[:-1]).any(axis=1)))
    return starts, np.diff(np.append(starts, len(records)))


def connected(pairs: Iterable[Words]) -> Iterator[Words]:
    """Yield what hangs together by pairs of numbers that are spread evenly: the lowest number with each of the others.

    Each number is joined with the lowest one among its neighbours, and they with it, until all of them are neighbours
    of one; on disk while they are many (Rastogi et al., "Finding connected components in map-reduce in logarithmic
    rounds", ICDE 2013: hash-to-min).

    Yields
    ------
    uint64 array, shape (pairs, 2)
        Distinct and in order, all pairs with one lowest number in the same array.
    """
    with ExitStack() as stack:

        def both_ways(pairs: Iterable[Words]) -> Buckets:
            ways = stack.enter_context(Buckets(2))
            for some in pairs:
                own = some[some[:, 0] != some[:, 1]]
                ways.add(own)
                ways.add(own[:, ::-1])
            return ways

        ways, moved = both_ways(pairs), [True]
        while any(moved):
            moved = []
            ways = both_ways(_nearer(ways, moved))
        for part in map(distinct, ways.parts()):
            yield part[part[:, 0] < part[:, 1]]


def _nearer(ways: Buckets, moved: list[bool]) -> Iterator[Words]:
    """Yield each number and its neighbours with the lowest of them; tell whether any was joined with others too."""
    for part in map(distinct, ways.parts()):
        start, size = runs_of(part[:, :1])
        low = part[start].min(axis=1)
        moved.append(bool(((low < part[start, 0]) & (size > 1)).any()))
        yield np.stack([part[:, 1], np.repeat(low, size)], axis=1)
        yield np.stack([part[start, 0], low], axis=1)
