"""An inbox folder: each file that is complete is filtered into the outbox, then moved to ``done`` or ``failed``.

Nothing but the folders says what is done, so a restart needs no journal. A result appears in the outbox whole or not at
all; only then its input moves away. Who is killed between the two finds the input again, makes the same result (the
replacements come from the key), sees that it is there already, and just moves the input.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from deid.base.errors import ConfigError, DeidError, InputError, OutputError, require, told_as
from deid.base.files import refused_as
from deid.base.keys import Key
from deid.base.safe_names import safe_name
from deid.io.folder import shown_suffix
from deid.streaming.crew import FeedRun
from deid.streaming.filtering import Feed, filter_feed
from deid.streaming.stopping import Stop
from deid.streaming.work import changed
from deid.streaming.writing import alone, opened, sync_folder

DONE, FAILED = "done", "failed"
_UNFINISHED = (".part", ".partial", ".tmp", ".temp", ".filepart", ".crdownload", ".swp", "~")
_LOCK = ".deid-watch.lock"
_PART = ".deid-watch-"
_LETTERS = ".dead-letters.jsonl"


@dataclass(frozen=True, slots=True)
class Folders:
    """Where files come from and go to; ``done`` and ``failed`` lie in the inbox, because they hold originals."""

    inbox: Path
    outbox: Path
    keep_names: bool = False
    """Whether results keep the file names, which may hold PHI."""
    settle: float = 2.0
    """Seconds that a file must stay as it is before it counts as complete."""

    def check(self) -> None:
        """Make the folders that are missing.

        Raises
        ------
        ConfigError
            When the inbox is no folder, or one folder lies in the other.
        OutputError
            When a folder cannot be made.
        """
        require(self.inbox.is_dir(), "the inbox is no folder", "name a folder that exists")
        inbox, outbox = self.inbox.resolve(), self.outbox.resolve()
        if inbox == outbox or inbox in outbox.parents or outbox in inbox.parents:
            raise ConfigError("inbox and outbox lie in one another", "name two separate folders")
        for folder in (self.outbox, self.inbox / DONE, self.inbox / FAILED):
            with refused_as(OutputError, "a folder cannot be made", "make it, or choose another", str(folder)):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of a file."""

    name: str
    """Safe name."""
    failed: bool
    error: DeidError | None = None
    """Why nothing of it was written; None when just some records failed."""


@dataclass(slots=True)
class _Look:
    """How a file looked, and since when."""

    size: int
    modified: int
    since: float


@dataclass(slots=True)
class _Inbox:
    """Finds files that stay as they are."""

    folder: Path
    settle: float
    looks: dict[str, _Look] = field(default_factory=dict)

    def complete(self, now: float) -> list[Path]:
        """Return the files that have not changed for the time to settle, oldest first."""
        found: dict[str, _Look] = {}
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name.lower().endswith(_UNFINISHED):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                    if not entry.is_file(follow_symlinks=False):
                        continue
                except FileNotFoundError:
                    continue
                before = self.looks.get(entry.name)
                same = before is not None and (before.size, before.modified) == (status.st_size, status.st_mtime_ns)
                since = before.since if before is not None and same else now
                found[entry.name] = _Look(status.st_size, status.st_mtime_ns, since)
        self.looks = found
        ready = [(look.modified, name) for name, look in found.items() if now - look.since >= self.settle]
        return [self.folder / name for _, name in sorted(ready)]


def watch(folders: Folders, run: FeedRun, *, poll: float = 1.0, once: bool = False) -> Iterator[Seen]:
    """Filter the files of an inbox as they come.

    Parameters
    ----------
    folders : Folders
    run : FeedRun
        When stopped, a file that is being worked on stays in the inbox.
    poll : float
        Seconds between looks at the inbox.
    once : bool
        Return when the files are done that are complete now.

    Yields
    ------
    Seen
        Each file when it is done.

    Raises
    ------
    ConfigError
        When another process has the inbox or outbox, the inbox was watched with another key, or a folder cannot be
        used.
    """
    folders.check()
    with _lock(folders.inbox, run.key), alone(folders.outbox):
        for leftover in folders.outbox.glob(f"{_PART}*"):
            leftover.unlink(missing_ok=True)
        inbox = _Inbox(folders.inbox, folders.settle)
        inbox.complete(time.monotonic())
        if once and folders.settle:
            _sleep(folders.settle, run.stop)
        while run.stop.signal is None:
            for path in inbox.complete(time.monotonic()):
                hint = "inbox, done and failed must lie on one disk, and the outbox must be writable"
                with refused_as(OutputError, "a file cannot be moved", hint, safe_name(path.name)):
                    seen = _one(path, folders, run)
                if seen is None:
                    return
                yield seen
            if once:
                return
            _sleep(poll, run.stop)


def _one(path: Path, folders: Folders, run: FeedRun) -> Seen | None:
    """Filter one file; None when the watch is to end before it is done."""
    name = safe_name(path.name)
    letters = folders.outbox / f"{_PART}letters"
    result = folders.outbox / f"{_PART}result"
    failed_before = run.totals.failed
    try:
        try:
            before = _state(path)
            if not filter_feed(Feed(path, result, letters, name=name), run):
                return None
            if _state(path) != before:  # what came behind the end that was read would be moved away unread
                raise changed()
        except InputError as error:
            if path.exists():  # else whoever put it there took it away again
                _move(path, folders.inbox / FAILED)
            return Seen(name, True, error.at(name))
        failed = run.totals.failed > failed_before
        if run.proof is not None:
            run.proof.read_file(path)
        if not failed or result.stat().st_size:
            target = _place(result, folders.outbox, _result_name(path, run.key, keep=folders.keep_names))
            if run.proof is not None:
                run.proof.wrote_file(target.name, result)
            _publish(result, target)
        moved = _move(path, folders.inbox / (FAILED if failed else DONE))
        if failed:
            letters.replace(moved.with_name(moved.name + _LETTERS))
        return Seen(name, failed)
    finally:
        for leftover in (result, letters):
            leftover.unlink(missing_ok=True)


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return which file this is, how long and of when; None where there is none any more."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _result_name(path: Path, key: Key, *, keep: bool) -> str:
    if path.suffix.lower() in (".pdf", ".xlsx"):  # it comes out as text
        path = path.with_suffix(f"{path.suffix}.txt" if keep else ".txt")
    if keep:
        return path.name
    # a suffix is kept when it says what a file is, and cannot be part of a name
    suffix = path.suffix if shown_suffix(path.suffix.lower()) == path.suffix.lower() else ""
    return key.pseudonym("doc", path.stem if suffix else path.name) + suffix


def _place(result: Path, outbox: Path, name: str) -> Path:
    """Return where a result belongs; the same one is there when an earlier run was killed behind that step."""
    return next(target for target in _free_names(outbox, name) if not target.exists() or _same(target, result))


def _publish(result: Path, target: Path) -> None:
    """Move a result to its place in the outbox, unless it is there."""
    if not target.exists():
        result.replace(target)
        sync_folder(target.parent)


def _move(path: Path, folder: Path) -> Path:
    target = next(target for target in _free_names(folder, path.name) if not target.exists())
    path.replace(target)
    sync_folder(folder)
    return target


def _free_names(folder: Path, name: str) -> Iterator[Path]:
    """Yield ``name``, then ``name-2``, ``name-3``, ... in front of the suffix."""
    yield folder / name
    stem, suffix = Path(name).stem, Path(name).suffix
    number = 2
    while True:
        yield folder / f"{stem}-{number}{suffix}"
        number += 1


def _same(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as first, other.open("rb") as second:
        while block := first.read(1 << 20):
            if block != second.read(1 << 20):
                return False
    return True


def _sleep(seconds: float, stop: Stop) -> None:
    """Sleep, but not through a request to end; what else wakes the process, such as another signal, does not end it."""
    poll = select.poll()
    poll.register(stop.descriptor, select.POLLIN)
    end = time.monotonic() + seconds
    while stop.signal is None and (left := end - time.monotonic()) > 0:
        if poll.poll(1000 * left) and stop.signal is None:
            time.sleep(min(left, 0.05))


@contextmanager
def _lock(folder: Path, key: Key) -> Iterator[None]:
    """Hold the inbox alone, and for one key: under another one each person would have a second surrogate."""
    own = f"{key.fingerprint()} {key.map}".encode()
    what = "the inbox cannot be written to"
    with opened(folder / _LOCK, os.O_RDWR | os.O_CREAT, what, "files are moved out of it") as descriptor:
        with told_as(ConfigError("another process watches this inbox", "one is enough; give it more --jobs"), OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with refused_as(OutputError, what, "make room"):
            if (held := os.pread(descriptor, 64, 0)) not in (b"", own):
                secret, _, version = held.decode("latin-1").partition(" ")
                other, go_on = "key, under which persons have", "go on with that one"
                if secret == key.fingerprint():
                    other, go_on = "version of the map, by which numbers have", f"write below the key: map {version}"
                raise ConfigError(
                    f"the inbox was watched with another {other} other surrogates",
                    f"{go_on}, or name new folders; where both may be in the outbox, remove {_LOCK}",
                )
            if not held and os.write(descriptor, own) < len(own):
                raise OSError(errno.ENOSPC, "")
        yield
