"""Where records and dead letters go: a stream, which is never taken back, or a file, there whole or not at all."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from deid.base.errors import OutputError, Told, require
from deid.base.files import atomic_files, held_by_another, refused_as

_PART = ".deid-feed-"
"""Not what `deid.base.files.clear_leftovers` removes: a journal speaks of it, and a killed feed goes on there."""
_PLACE = "name a place where you may write"


@dataclass(eq=False)
class FeedSink:
    """An open file descriptor that is written to.

    Parameters
    ----------
    descriptor : int
    position : int
        Bytes that stand before what is written now.
    what : str
        What it is, for messages.
    hint : str
        What to do when it cannot be written.
    where : str
        Its file, for messages.
    """

    descriptor: int
    position: int = 0
    what: str = "the output"
    hint: str = ""
    where: str = ""

    def write(self, data: bytes) -> None:
        """Write all of it.

        Raises
        ------
        BrokenPipeError
            When nobody reads any more.
        OutputError
            When it cannot be written.
        """
        rest = memoryview(data)
        while rest:
            try:
                written = os.write(self.descriptor, rest)
            except BlockingIOError:
                select.select([], [self.descriptor], [])
                continue
            except BrokenPipeError:
                raise
            except OSError:
                with self._writing():
                    raise
            self.position += written
            rest = rest[written:]

    def sync(self) -> None:
        """Wait until the disk has it."""
        with self._writing():
            os.fsync(self.descriptor)

    def _writing(self) -> Told[OSError]:
        return refused_as(OutputError, f"{self.what} cannot be written", self.hint, self.where)


@contextmanager
def opened(path: Path, flags: int, what: str, hint: str = _PLACE) -> Iterator[int]:
    """Open a file for a block, the user's alone where it is made; ``what`` is told where the system refuses it."""
    with refused_as(OutputError, what, hint):
        descriptor = os.open(path, flags, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Wait until the disk knows which files a folder has."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder of results alone: two processes would take away or give names to what the other is writing.

    Raises
    ------
    ConfigError
        When another process holds it.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        taken = held_by_another(descriptor)
        require(not taken, "another process writes to this folder", "give each a folder of its own")
        yield
    finally:
        os.close(descriptor)


def cut_to(descriptor: int, size: int, hint: str) -> None:
    """Leave of an unfinished output what a journal speaks of, to be written on at its end.

    Raises
    ------
    OutputError
        When it is shorter; ``hint`` says what to do.
    """
    if os.fstat(descriptor).st_size < size:
        raise OutputError("the unfinished output is shorter than the journal says", hint)
    os.ftruncate(descriptor, size)
    os.lseek(descriptor, size, os.SEEK_SET)


@contextmanager
def append_private(path: Path, committed: int | None = None) -> Iterator[FeedSink]:
    """Open the dead-letter file, the user's alone, to append to it.

    Parameters
    ----------
    path : Path
    committed : int, optional
        Bytes of it that count; what stands behind is cut off.

    Yields
    ------
    FeedSink
        At the end of what counts.

    Raises
    ------
    OutputError
        When the file cannot be opened, or is shorter than ``committed``.
    """
    what = "the dead-letter file"
    with opened(path, os.O_WRONLY | os.O_CREAT, f"{what} cannot be opened") as descriptor:
        position = _at_end(descriptor, committed, what)
        yield FeedSink(descriptor, position, what, "make room or name another place, then run the same command again")


def _at_end(descriptor: int, committed: int | None, what: str) -> int:
    """Make a file the user's alone, cut it to what counts, and go to its end; a device has none of these."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return committed or 0
    if status.st_size < (committed or 0):
        raise OutputError(f"{what} is shorter than the journal says", "restore it, or begin anew")
    with refused_as(OutputError, f"{what} cannot be opened", _PLACE):
        os.fchmod(descriptor, 0o600)
        if committed is not None:
            os.ftruncate(descriptor, committed)
    return os.lseek(descriptor, 0, os.SEEK_END)


def is_file(target: Path | None) -> TypeGuard[Path]:
    """Tell whether the output is a file to be made, not a stream or a device."""
    return target is not None and (target.is_file() or not target.exists())


def part_of(target: Path) -> Path:
    """Return where an output with a journal grows until it is whole."""
    return target.with_name(f"{_PART}{target.name}")


@contextmanager
def _device(target: Path | None, position: int = 0) -> Iterator[FeedSink]:
    """Yield standard output, or a device or pipe that exists."""
    hint = "what reads it must go on, or name another place"
    if target is None:
        yield FeedSink(1, position, hint=hint)
        return
    with opened(target, os.O_WRONLY, "the output cannot be opened") as descriptor:
        yield FeedSink(descriptor, position, hint=hint, where=str(target))


@contextmanager
def new_output(target: Path | None) -> Iterator[tuple[FeedSink, bool]]:
    """Yield where to write, and whether it vanishes when the block raises."""
    if not is_file(target):
        with _device(target) as sink:
            yield sink, False
        return
    with atomic_files([target]) as (stream,):
        hint = "nothing was left behind; with --journal a run can go on where it was"
        yield FeedSink(stream.fileno(), hint=hint, where=str(target)), True


@contextmanager
def resumable_output(target: Path | None, size: int) -> Iterator[FeedSink]:
    """Yield where to write on: the file that grows beside the target, cut to ``size`` bytes.

    Raises
    ------
    OutputError
        When the output exists already, cannot be opened, or is shorter than ``size``.
    """
    if not is_file(target):
        with _device(target, size) as sink:
            yield sink
        return
    part = part_of(target)
    if target.exists():
        raise OutputError("the output exists already", "name a new file; the journal knows of none that is complete")
    with opened(part, os.O_RDWR | os.O_CREAT, "the output cannot be opened") as descriptor:
        taken = held_by_another(descriptor)
        require(not taken, "another process writes this output", "let it end first, or name a new output")
        cut_to(descriptor, size, "begin anew, without journal")
        sync_folder(target.parent)
        hint = "make room, then run the same command again: it goes on where it was"
        yield FeedSink(descriptor, size, hint=hint, where=str(target or ""))
