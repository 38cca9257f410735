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
    path = noted_place(name)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        size = os.fstat(descriptor).st_size
        torn = size and os.pread(descriptor, 1, size - 1) != b"\n"  # a killed process left half a line
        os.write(descriptor, (b"\n" if torn else b"") + json.dumps(entry).encode() + b"\n")
        os.fsync(descriptor)
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
    try:
        lines = noted_place(name).read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield entry
