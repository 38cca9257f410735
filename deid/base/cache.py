"""Tables that take long to compute and follow from shipped files alone, kept between runs.

They lie in ``$XDG_CACHE_HOME/deid`` (else ``~/.cache/deid``), one file each, mode 0600. The name holds a digest of all
that the table was computed from, so a changed pattern or a new version never meets an old table; the file holds a
digest of its name and the table, so that no table is taken for another one. A file or folder that is damaged, a link,
that another user owns or may write or put in another one's place, or that cannot be written, costs time and nothing
else. Nothing that comes from documents or from a user's own lists is kept here.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

_Bytes = TypeVar("_Bytes", bytes, memoryview)
_FORMAT = b"3"
"""Goes into the names, so that no file is read that was written in another way."""
_LINE = 64
"""Size of a cache line: where a table that is mapped begins in its file."""
_KEPT = 8
"""Tables of one kind that stay when a new one is written, the newest first: one run may need those of all languages."""


def cache_folder() -> Path | None:
    """Return the folder of the tables, which need not be there; None where the user has no home."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # a relative path is to be ignored (XDG Base Directory Specification, 0.8)
    if base.is_absolute():
        return base / "deid"
    try:
        return Path.home() / ".cache" / "deid"
    except RuntimeError:
        return None


def cached(kind: str, sources: Iterable[bytes], make: Callable[[], tuple[bytes, ...]]) -> tuple[bytes, ...]:
    """Return the columns of a table, computed when they are not kept yet.

    Parameters
    ----------
    kind : str
        First part of the file's name: letters and hyphens.
    sources : iterable of bytes
        All that the table follows from, the code that computes it included.
    make : callable
        Computes the columns.
    """
    path = _place(kind, sources)
    if path is None:
        return make()
    kept = _read(path)
    if kept is not None:
        return unpacked(kept)
    columns = make()
    with suppress(OSError):
        table = packed(columns)
        _write(path, _digest(path, table) + table)
    return columns


def mapped(kind: str, sources: Iterable[bytes], make: Callable[[], bytes] | None = None) -> memoryview | None:
    """Return a table that lies in its file, so that all processes that use it share its memory.

    Parameters
    ----------
    kind, sources
        As for `cached`.
    make : callable, optional
        Computes the table when it is not kept yet.

    Returns
    -------
    memoryview or None
        The table, read-only, from the start of a cache line; None where it is not kept, or no file can be.
    """
    path = _place(kind, sources)
    if path is None:
        return None
    kept = _map(path)
    if kept is None and make is not None:
        with suppress(OSError):
            # before anything is computed: a table that cannot be kept is of no use
            if not _made(path.parent):
                return None
            table = make()
            kept = _map(path)  # of a worker that was faster
            if kept is None:
                _write(path, _digest(path, table).ljust(_LINE, b"\0") + table)
                kept = _map(path)
    return kept


def _place(kind: str, sources: Iterable[bytes]) -> Path | None:
    """Return the path of a table, None where there is no folder for it."""
    folder = cache_folder()
    if folder is None:
        return None
    digest = hashlib.sha256(_FORMAT)
    for source in sources:
        digest.update(b"%d:" % len(source))
        digest.update(source)
    return folder / f"{kind}-{digest.hexdigest()[:32]}"


def packed(columns: Sequence[bytes]) -> bytes:
    """Join columns into one table: their number and sizes as 64-bit integers, then the columns."""
    return struct.pack(f"<{len(columns) + 1}Q", len(columns), *map(len, columns)) + b"".join(columns)


def unpacked(table: _Bytes) -> tuple[_Bytes, ...]:
    """Return the columns of a `packed` table; those of one that is `mapped` stay in its file."""
    (count,) = struct.unpack_from("<Q", table)
    at, columns = 8 * (count + 1), []
    for size in struct.unpack_from(f"<{count}Q", table, 8):
        columns.append(table[at : at + size])
        at += size
    return tuple(columns)


def _digest(path: Path, table: bytes | memoryview) -> bytes:
    """Return what stands before a table in the file of this name."""
    digest = hashlib.sha256(path.name.encode() + b"\0")
    digest.update(table)
    return digest.digest()


def _ours(folder: Path) -> bool:
    """Tell whether nobody else can have put a file into the folder, or another folder in its place."""
    if not hasattr(os, "geteuid"):
        return True
    me = os.geteuid()
    try:
        own, above = folder.lstat(), folder.parent.stat()
    except OSError:
        return False
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != me or own.st_mode & 0o022:
        return False
    # where everybody may write, as in /tmp, the sticky bit keeps names to their owners
    return above.st_uid in (me, 0) and (not above.st_mode & stat.S_IWOTH or bool(above.st_mode & stat.S_ISVTX))


def _made(folder: Path) -> bool:
    """Make the folder, and tell whether tables may be written there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _ours(folder) and os.access(folder, os.W_OK)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO | None]:
    """Open a file of ours; None when there is none that can be trusted."""
    if not _ours(path.parent):
        yield None
        return
    try:
        # a link is not followed
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        yield None
        return
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        trusted = stat.S_ISREG(status.st_mode) and not status.st_mode & 0o022
        if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
            trusted = False
        yield stream if trusted else None


def _read(path: Path) -> bytes | None:
    with _opened(path) as stream:
        if stream is None:
            return None
        try:
            digest, table = stream.read(32), stream.read()
        except OSError:
            return None
    return table if digest == _digest(path, table) else None


def _map(path: Path) -> memoryview | None:
    with _opened(path) as stream:
        if stream is None:
            return None
        try:
            whole = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):  # nothing can be mapped of an empty file
            return None
    return whole[_LINE:] if whole[:32] == _digest(path, whole[_LINE:]) else None


def _write(path: Path, content: bytes) -> None:
    if not _made(path.parent):
        return
    descriptor, part = tempfile.mkstemp(prefix=".part-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(part).replace(path)
    except OSError:
        Path(part).unlink(missing_ok=True)
        raise
    kind = path.name.rpartition("-")[0]
    others = sorted(path.parent.glob(f"{kind}-*"), key=lambda p: p.stat().st_mtime, reverse=True)
    for old in others[_KEPT:]:
        old.unlink(missing_ok=True)
