"""Tables that take long to compute and follow from shipped files alone, kept between runs.

They lie in ``$XDG_CACHE_HOME/deid`` (else ``~/.cache/deid``), one file each, mode 0600. The name holds a digest of all
that the table was computed from, so a changed pattern or a new version never meets an old table; the file holds a
digest of the table. A file that is damaged, that another user owns or may write, or a folder that cannot be written,
costs time and nothing else. Nothing that comes from documents or from a user's own lists is kept here.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["cache_folder", "cached"]

_FORMAT = b"2"
"""Goes into the names, so that no file is read that was written in another way."""
_KEPT = 4
"""Tables of one kind that stay when a new one is written, the newest first."""


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
    folder = cache_folder()
    if folder is None:
        return make()
    digest = hashlib.sha256(_FORMAT)
    for source in sources:
        digest.update(b"%d:" % len(source))
        digest.update(source)
    path = folder / f"{kind}-{digest.hexdigest()[:32]}"
    kept = _read(path)
    if kept is not None:
        return _unpack(kept)
    columns = make()
    with suppress(OSError):
        _write(path, _pack(columns))
    return columns


def _pack(columns: Sequence[bytes]) -> bytes:
    """Join columns: their number and sizes as 64-bit integers, then the columns."""
    return struct.pack(f"<{len(columns) + 1}Q", len(columns), *map(len, columns)) + b"".join(columns)


def _unpack(table: bytes) -> tuple[bytes, ...]:
    (count,) = struct.unpack_from("<Q", table)
    at, columns = 8 * (count + 1), []
    for size in struct.unpack_from(f"<{count}Q", table, 8):
        columns.append(table[at : at + size])
        at += size
    return tuple(columns)


def _read(path: Path) -> bytes | None:
    """Return what a file of ours holds, None when there is none that can be trusted."""
    try:
        # a link is not followed
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o022:
            return None
        if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
            return None
        try:
            digest, table = stream.read(32), stream.read()
        except OSError:
            return None
    return table if digest == hashlib.sha256(table).digest() else None


def _write(path: Path, table: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(prefix=".part-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(hashlib.sha256(table).digest() + table)
        Path(part).replace(path)
    except OSError:
        Path(part).unlink(missing_ok=True)
        raise
    kind = path.name.rpartition("-")[0]
    others = sorted(path.parent.glob(f"{kind}-*"), key=lambda p: p.stat().st_mtime, reverse=True)
    for old in others[_KEPT:]:
        old.unlink(missing_ok=True)
