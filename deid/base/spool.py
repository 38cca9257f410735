"""Values that may be more than memory holds, on disk while a program runs: a sequence of them, a set, or a mapping.

What is written may hold PHI. A sequence lies in a file without a name, a set or a mapping in a private folder.
"""

from __future__ import annotations

import copy
import heapq
import itertools
import json
import os
import sqlite3
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Generic, TypeVar, overload

from deid.base.errors import OutputError
from deid.base.files import os_reason
from deid.base.private_folder import PrivateFolder

T = TypeVar("T")

_HELD = 1 << 16
_SORTED = 50_000
"""Values that are sorted in memory."""
_MET = 100_000
"""Texts of a set that are held in memory."""
_RUNS = 64
"""Sorted files that are open at a time."""


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        said = os_reason(error)
    except sqlite3.Error:
        said = "no room, or a damaged disk"
    else:
        return
    raise OutputError(
        f"the folder of temporary files cannot be written ({said})", "make room, or name another one with TMPDIR"
    ) from None


def _file() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="deid-", buffering=0)


class Spool(Sequence[T], Generic[T]):
    """Values in the order in which they were added, in a file; another one tells where each of them begins.

    Parameters
    ----------
    write, read : callable
        Make JSON of a value, and a value of JSON.

    Raises
    ------
    OutputError
        When there is no room; also by `add` and by what reads first.
    """

    def __init__(self, write: Callable[[T], Any], read: Callable[[Any], T]) -> None:
        self._write, self._read = write, read
        self._count = self._size = 0
        self._waiting, self._starts = bytearray(), array("Q", [0])
        with _writing():
            self._file, self._index = _file(), _file()  # closed with the value

    def add(self, value: T) -> None:
        """Take a value."""
        own = json.dumps(self._write(value), separators=(",", ":")).encode("ascii") + b"\n"
        self._waiting += own
        self._count += 1
        self._size += len(own)
        self._starts.append(self._size)
        if len(self._waiting) > _HELD:
            self._put_away()

    def _put_away(self) -> None:
        with _writing():
            for file, waiting in ((self._file, self._waiting), (self._index, self._starts)):
                rest = memoryview(waiting).cast("B")
                while rest:
                    rest = rest[file.write(rest) or 0 :]
        self._waiting, self._starts = bytearray(), array("Q")

    def mapped(self, change: Callable[[T], T]) -> Spool[T]:
        """Return the same values, each of them changed when it is read; none may be added any more."""
        self._put_away()
        own, read = copy.copy(self), self._read
        own._read = lambda value: change(read(value))
        return own

    def __len__(self) -> int:
        """Return the number of values."""
        return self._count

    @overload
    def __getitem__(self, number: int) -> T: ...

    @overload
    def __getitem__(self, number: slice) -> list[T]: ...

    def __getitem__(self, number: int | slice) -> T | list[T]:
        """Return a value by its number, from 0, or some of them."""
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        self._put_away()
        start, end = array("Q", os.pread(self._index.fileno(), 16, 8 * number))
        return self._read(json.loads(os.pread(self._file.fileno(), end - start, start)))

    def __iter__(self) -> Iterator[T]:
        """Yield the values in order, many at a time from disk."""
        self._put_away()
        place, rest = 0, b""
        while block := os.pread(self._file.fileno(), max(_HELD, len(rest)), place):
            place += len(block)
            *whole, rest = (rest + block).split(b"\n")
            for own in whole:
                yield self._read(json.loads(own))


def in_order(
    values: Iterable[T],
    key: Callable[[T], Any],
    write: Callable[[T], Any],
    read: Callable[[Any], T],
    *,
    distinct: bool = False,
) -> Sequence[T]:
    """Return values sorted by a key, those with the same key as they came; on disk when they are many.

    Parameters
    ----------
    values : iterable
    key : callable
    write, read : callable
        See `Spool`.
    distinct : bool
        Leave out values that are equal to the one before them in this order.

    Raises
    ------
    OutputError
        When there is no room.
    """

    def put(merged: Iterable[T]) -> Spool[T]:
        spool = Spool(write, read)
        for value in once(merged):
            spool.add(value)
        return spool

    def once(merged: Iterable[T]) -> Iterable[T]:
        return (value for value, _ in itertools.groupby(merged)) if distinct else merged

    rest, runs = iter(values), list[Spool[T]]()
    while run := sorted(itertools.islice(rest, _SORTED), key=key):
        if not runs and len(run) < _SORTED:
            return list(once(run))
        runs.append(put(run))
        if len(runs) == _RUNS:
            runs = [put(heapq.merge(*runs, key=key))]
    return put(heapq.merge(*runs, key=key)) if runs else []


class DiskMap(Mapping[str, T], Generic[T]):
    """A mapping that lies on disk; a copy in another process reads the same file as long as the first value is kept.

    Parameters
    ----------
    pairs : iterable of (str, JSON)
        Of two with the same key the later one counts.
    read : callable
        Makes a value of JSON; one that can be pickled.

    Raises
    ------
    OutputError
        When there is no room.
    """

    def __init__(self, pairs: Iterable[tuple[str, Any]], read: Callable[[Any], T]) -> None:
        self._read = read
        with _writing():
            self._folder: PrivateFolder | None = PrivateFolder()
            self._path = Path(self._folder.name) / "values"
            self._reading: sqlite3.Connection | None = None
            connection = _made(self._path, ", value text")
            try:
                rows = ((_key(key), json.dumps(value)) for key, value in pairs)
                connection.executemany("insert or replace into held values (?, ?)", rows)
                connection.commit()
                self._count = int(connection.execute("select count(*) from held").fetchone()[0])
            finally:
                connection.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return all but what belongs to this process."""
        own = {"_folder": None, "_reading": None}
        return {"_read": self._read, "_path": self._path, "_count": self._count, **own}

    def _rows(self, query: str, *values: object) -> sqlite3.Cursor:
        if self._reading is None:
            self._reading = sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        return self._reading.execute(query, values)

    def __getitem__(self, key: str) -> T:
        """Return the value of a key."""
        found = self._rows("select value from held where key = ?", _key(key)).fetchone()
        if found is None:
            raise KeyError
        return self._read(json.loads(found[0]))

    def __len__(self) -> int:
        """Return the number of keys."""
        return self._count

    def __iter__(self) -> Iterator[str]:
        """Yield the keys."""
        return (key.decode("utf-8", "surrogatepass") for (key,) in self._rows("select key from held"))

    def __del__(self) -> None:
        """Close the file before its folder is removed."""
        if getattr(self, "_reading", None) is not None:
            self._reading.close()  # type: ignore[union-attr]


class TextSet:
    """Texts that were met: in memory while they are few, else on disk.

    Raises
    ------
    OutputError
        When there is no room; by `add`.
    """

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._folder: PrivateFolder | None = None
        self._disk: sqlite3.Connection | None = None

    def __bool__(self) -> bool:
        """Tell whether there is any text."""
        return bool(self._held) or self._disk is not None

    def __contains__(self, text: str) -> bool:
        """Tell whether a text was added."""
        if text in self._held or self._disk is None:
            return text in self._held
        return self._disk.execute("select 1 from held where key = ?", [_key(text)]).fetchone() is not None

    def add(self, text: str) -> None:
        """Take a text."""
        self._held.add(text)
        if len(self._held) < _MET:
            return
        with _writing():
            if self._disk is None:
                self._folder = PrivateFolder()
                self._disk = _made(Path(self._folder.name) / "texts")
                weakref.finalize(self, self._disk.close)
            self._disk.executemany(
                "insert or ignore into held values (?)", ([k] for k in sorted(map(_key, self._held)))
            )
        self._held.clear()


def _made(path: Path, columns: str = "") -> sqlite3.Connection:
    """Return a new database with one table of keys, for one process and as long as it lives."""
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, check_same_thread=False)
    connection.executescript("pragma journal_mode=off; pragma synchronous=off")
    connection.execute(f"create table held (key blob primary key{columns}) without rowid")
    return connection


def _key(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
