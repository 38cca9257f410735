"""Records of numbers that may be more than memory holds: in memory while they are few, else in parts on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deid.base.private_folder import PrivateFolder

_PARTS = 256
_SHIFT = np.uint64(56)

Words = NDArray[np.uint64]


class Buckets:
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

    def __enter__(self) -> Buckets:
        return self

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
        for number in range(_PARTS):
            path = self._path(number)
            if path.exists():
                yield np.fromfile(path, np.uint64).reshape(-1, self._width)
                path.unlink()

    def _taken(self) -> Words:
        found = np.concatenate([np.empty((0, self._width), np.uint64), *self._waiting])
        self._waiting, self._bytes = [], 0
        return found

    def _put_away(self) -> None:
        self._folder = self._folder or PrivateFolder()
        records = self._taken()
        part = (records[:, 0] >> _SHIFT).astype(np.intp)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=_PARTS))
        for number, own in enumerate(np.split(records[order], ends[:-1])):
            if len(own):
                with self._path(number).open("ab") as stream:
                    stream.write(own.tobytes())

    def _path(self, number: int) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / f"{number:03}"
