"""The journal of a run: how far it came, so that a later one goes on there.

A line is JSON: first what the run is about (which input, which options), then one line a commit: how far the input is
dealt with, and how long the output and the dead-letter file were at that moment. Output first, journal second, each
flushed to the disk: what the journal says is there, is there; what is there beyond is cut off on resuming. Where both
are flushed at once (`Journal.write`), the last line alone may speak of more than is there: it is passed over then.
Every line ends with a keyed check, so a torn last line is told from a whole one. The journal holds no path and no text.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, OutputError, told_as
from deid.base.keys import Key
from deid.streaming.writing import FeedSink, sync_folder

_INTERVAL = 0.5
"""Seconds between commits: each costs the disk's synchronization, and a crash costs the work since the last."""
_LONG = 1 << 20
_REMEMBERED = 1 << 16
"""Keyed hashes of what came that are kept."""
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Commit:
    """How far a run came."""

    input: int
    """Bytes of the input that are dealt with."""
    output: int
    """Bytes of the output then."""
    letters: int
    """Bytes of the dead-letter file then."""
    totals: Mapping[str, Any]
    head: str = ""
    """Keyed hash of the stream's beginning, when it is no file."""
    complete: bool = False
    received: Sequence[str] = ()
    """Keyed hashes of what came since the commit before, where that could come again."""
    stretch: str = ""
    """Hash of the output since the commit before, where it was not flushed before the journal was written."""


def remember(known: dict[str, None], received: Iterable[str]) -> None:
    """Add hashes of what came to those that are known, of which the last 65,536 stay."""
    known.update(dict.fromkeys(received))
    for old in list(islice(known, max(0, len(known) - _REMEMBERED))):
        del known[old]


class Journal:
    """An open journal, locked against other processes.

    Parameters
    ----------
    path : Path
    key : Key
    about : mapping
        What the run is about: ``input`` and ``options``, JSON values. A journal about something else is refused.
    first : Commit
        Where a new run begins.
    there : callable, optional
        Takes the last commit and the one before it, and tells whether the disk has what the last one speaks of; else
        the one before is the last. Needed where `write` is used.

    Raises
    ------
    ConfigError
        When the file is no journal, belongs to another input or other options, or is in use.
    OutputError
        When it cannot be written.
    """

    def __init__(
        self,
        path: Path,
        key: Key,
        about: Mapping[str, Any],
        first: Commit,
        there: Callable[[Commit, Commit], bool] | None = None,
    ) -> None:
        self.path = path
        self._there = there
        self._key = key.derive("filter-journal")
        self._about = {"deid_journal": _VERSION, **about}
        self.resumed = False
        self.received: dict[str, None] = {}
        """Keyed hashes of what came last, and is committed."""
        self._whole = 0
        """Bytes of the file when it was begun."""
        self._sink = self._open()
        try:
            self.last = self._read(first)
        except BaseException:
            os.close(self._sink.descriptor)
            raise
        self._next = time.monotonic() + _INTERVAL

    def close(self) -> None:
        """Close the file, and unlock it."""
        os.close(self._sink.descriptor)

    def due(self) -> float:
        """Return the seconds until the next commit is due, 0 when it is."""
        return max(0.0, self._next - time.monotonic())

    def commit(self, commit: Commit) -> None:
        """Note how far the run came; what it speaks of must be on the disk already."""
        self.write(commit)
        self.sync()

    def write(self, commit: Commit) -> None:
        """Write how far the run came, which counts when both the journal and what it speaks of are on the disk.

        What the commit before speaks of must be there already.
        """
        if self._sink.position > _LONG + 2 * self._whole:
            self._begin(replace(self.last, received=tuple(self.received), stretch=""), commit)
        else:
            self._sink.write(self._line(asdict(commit)))
        self.last = commit
        remember(self.received, commit.received)
        self._next = time.monotonic() + _INTERVAL

    def sync(self) -> None:
        """Wait until the disk has what was written."""
        self._sink.sync()

    def _open(self) -> FeedSink:
        hint = "name a place where you may write"
        while True:
            with told_as(OutputError("the journal cannot be opened", hint), OSError):
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # who held the lock may have put a new file in this one's place
                if os.fstat(descriptor).st_ino == self.path.stat().st_ino:
                    return _sink(descriptor)
            except BlockingIOError:
                os.close(descriptor)
                raise ConfigError("the journal is in use by another process", "let it end first") from None
            except FileNotFoundError:
                pass
            except OSError:
                os.close(descriptor)
                raise OutputError("the journal cannot be locked", hint) from None
            os.close(descriptor)

    def _read(self, first: Commit) -> Commit:
        descriptor = self._sink.descriptor
        content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        if not content:
            self._begin(first)
            return first
        lines = []
        valid = 0
        for line in content.splitlines(keepends=True):
            values = self._parse(line)
            if values is None:
                break
            lines.append(values)
            valid += len(line)
        if len(lines) < 2 or "deid_journal" not in lines[0]:
            raise ConfigError("this is no journal, or one made with another key", "name a new file")
        for part in ("deid_journal", "input", "options"):
            if lines[0].get(part) != self._about.get(part):
                what = "an input that has changed, or another one" if part == "input" else "other options"
                raise ConfigError(
                    f"the journal belongs to {what}", "run the command that it was made with, or name a new journal"
                )
        if self._there and len(lines) > 2 and not self._there(Commit(**lines[-1]), Commit(**lines[-2])):
            valid -= len(content[:valid].splitlines(keepends=True)[-1])
            lines.pop()
        os.ftruncate(descriptor, valid)
        os.lseek(descriptor, valid, os.SEEK_SET)
        self._sink.position = valid
        self._sink.sync()  # the run that wrote it may have been killed before that
        self.resumed = True
        for values in lines[1:]:
            remember(self.received, values.get("received", ()))
        return replace(Commit(**lines[-1]), received=())

    def _begin(self, *commits: Commit) -> None:
        """Put a new file in place that begins with these commits."""
        part = self.path.with_name(f".{self.path.name}.part")
        with told_as(OutputError("the journal cannot be written", "name a place where you may write"), OSError):
            descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        sink = _sink(descriptor)
        try:
            sink.write(b"".join(map(self._line, (self._about, *map(asdict, commits)))))
            sink.sync()
            part.replace(self.path)
            sync_folder(self.path.parent)
        except BaseException:
            os.close(descriptor)
            part.unlink(missing_ok=True)
            raise
        os.close(self._sink.descriptor)
        self._sink = sink
        self._whole = sink.position

    def _line(self, values: Mapping[str, Any]) -> bytes:
        body = json.dumps(values, sort_keys=True)
        return json.dumps({**values, "check": self._key.mac(body).hex()[:16]}, sort_keys=True).encode() + b"\n"

    def _parse(self, line: bytes) -> dict[str, Any] | None:
        try:
            values = json.loads(line) if line.endswith(b"\n") else None
            if not isinstance(values, dict):
                return None
            check = values.pop("check", None)
        except ValueError:
            return None
        return values if check == self._key.mac(json.dumps(values, sort_keys=True)).hex()[:16] else None


def _sink(descriptor: int) -> FeedSink:
    return FeedSink(descriptor, 0, "the journal", "make room, then run the same command again: it goes on where it was")
