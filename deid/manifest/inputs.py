"""What a run read: checksums taken before the work, and whether the same content is still there behind it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from deid.base.errors import DeidError
from deid.base.keys import Key
from deid.manifest.digests import digest_file

UNREADABLE = "unreadable"
CHANGED = "(changed during the run)"
_COARSE = 2_000_000_000
"""Nanoseconds that the coarsest clock of a file system in use (FAT) leaves two changes alike."""

_State = tuple[int, ...]


class InputFiles:
    """Files that a run reads, with their checksums.

    A file is read for its checksum when it is noted, and again behind the work only where its file system says that
    something became of it (inode, size, times of content and of inode: nobody sets the last), or could not say so yet.
    What tells is the content: a file that was only touched, or given other rights, has not changed.

    Parameters
    ----------
    key : Key
        Of manifests.
    """

    def __init__(self, key: Key) -> None:
        self._key = key
        self._noted: dict[str, tuple[str, str, _State]] = {}

    def note(self, files: Iterable[tuple[str, Path]]) -> None:
        """Take the checksums of files, by relative path, before they are read.

        Parameters
        ----------
        files : iterable of (str, Path)
            One that cannot be read is told as such.
        """
        for name, path in files:
            state = _state(path)
            self._noted[name] = (os.fspath(path), input_digest(self._key, name, path), state)

    def told(self) -> dict[str, str]:
        """Return what a manifest says of them, by pseudonym: the checksum, and whether another content is there now."""
        told = {}
        for name, (place, digest, state) in self._noted.items():
            path = Path(place)
            same = (
                digest == UNREADABLE
                or (state and _state(path) == state)
                or input_digest(self._key, name, path) == digest
            )
            told[self._key.pseudonym("file", name)] = digest if same else f"{digest} {CHANGED}"
        return told


def input_digest(key: Key, name: str, path: Path) -> str:
    """Return what is told of a file that is read: its keyed checksum, or that it cannot be read."""
    try:
        return digest_file(key, name, path).keyed
    except (DeidError, OSError):
        return UNREADABLE


def _state(path: Path) -> _State:
    """Return what changes with a file; nothing where it is not there, or changed so lately that this does not tell."""
    try:
        found = path.stat()
    except OSError:
        return ()
    if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < _COARSE:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
