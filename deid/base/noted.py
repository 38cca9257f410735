"""Lists of a user that only grow, in the folder of his keys: what he signed, what he spent, how far stores came.

A store cannot tell by itself that it is yesterday's: who uses it notes how far it came, and an older copy that was put
in its place is behind that.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from deid.base.keys import config_folder

_TAIL = 1 << 16
"""Bytes at the end of a list in which entries are looked for that are renewed in place."""


def noted_place(name: str) -> Path:
    """Return where a list lies."""
    return config_folder() / f"{name}.log"


def note(name: str, entry: Mapping[str, Any]) -> None:
    """Add an entry to a list, so that it is on the disk; two processes may do so at once.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    with _locked(name) as descriptor:
        _append(descriptor, entry)
        os.fsync(descriptor)


def note_progress(name: str, of: Mapping[str, str], counts: Mapping[str, int], *, on_disk: bool) -> None:
    """Note how far a thing came, in place of its last entry where that has the room and stands near the end.

    Parameters
    ----------
    name : str
        Of the list.
    of, counts : mapping
        See `furthest`; the first count decides, then the next, and the greatest stays.
    on_disk : bool
        Whether to wait until it is on the disk: without, a process that is killed loses nothing, a computer may.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    with _locked(name) as descriptor:
        at = os.fstat(descriptor).st_size
        *lines, torn = os.pread(descriptor, _TAIL, max(at - _TAIL, 0)).split(b"\n")
        at -= len(torn)
        best, own = tuple(counts.values()), [json.dumps(said).encode() for said in of.values()]
        for line in reversed(lines):
            at -= len(line) + 1
            far = furthest(_entries([line]), of, *counts) if all(said in line for said in own) else ()
            if any(far):
                best = max(best, far)
                break
        else:
            line = b""
        entry = {**of, **dict(zip(counts, best, strict=True))}
        if len(new := json.dumps(entry).encode()) <= len(line):
            os.pwrite(descriptor, new.ljust(len(line)), at)
        else:
            _append(descriptor, entry)
        if on_disk:
            os.fsync(descriptor)


def _append(descriptor: int, entry: Mapping[str, Any]) -> None:
    size = os.fstat(descriptor).st_size
    torn = size and os.pread(descriptor, 1, size - 1) != b"\n"  # a killed process left half a line
    os.pwrite(descriptor, (b"\n" if torn else b"") + json.dumps(entry).encode() + b"\n", size)


@contextlib.contextmanager
def _locked(name: str) -> Iterator[int]:
    path = noted_place(name)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def note_if_possible(name: str, entry: Mapping[str, Any]) -> None:
    """Add an entry to a list; where nothing can be written, an older copy is not told."""
    with contextlib.suppress(OSError):
        note(name, entry)


def furthest(entries: Iterable[Mapping[str, Any]], of: Mapping[str, str], *counts: str) -> tuple[int, ...]:
    """Return the greatest counts that entries have of a thing, zeros where they have none.

    Parameters
    ----------
    entries : iterable of mapping
        Of `noted`, asked for before the store is read, as others may go on with it.
    of : mapping of str to str
        What the thing's entries say of it.
    *counts : str
        Names of what is counted; the first one decides, then the next.
    """
    best = (0,) * len(counts)
    for one in entries:
        own: tuple[Any, ...] = tuple(one.get(name) for name in counts)
        if of.items() <= one.items() and all(isinstance(count, int) for count in own):
            best = max(best, own)
    return best


def noted(name: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a list; what is none is passed over."""
    with contextlib.suppress(OSError):
        yield from _entries(noted_place(name).read_bytes().splitlines())


def _entries(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield entry
