"""Messages that become safe: the files of an output folder, dead letters and the journal, one step for all of a moment.

What is safe is on the disk: the letters first, then, at once, the output and the journal's word that it is there
(`Keeper`). To wait for two files one after the other takes as long again; a word without the output is passed over by
the next run (`Segments.has`), and nothing of it was acknowledged.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from deid.base.errors import ConfigError, OutputError, told_as
from deid.streaming.journal import Commit, Journal, remember
from deid.streaming.letters import DeadLetter
from deid.streaming.mllp import framed
from deid.streaming.proof import Proof
from deid.streaming.totals import Totals
from deid.streaming.writing import FeedSink, cut_to, part_of, sync_folder

_SUFFIX = ".hl7"


@dataclass(slots=True)
class Kept:
    """What is to be made safe: a message's output, or why it has none."""

    output: bytes = field(default=b"", repr=False)
    letters: tuple[DeadLetter, ...] = ()
    length: int = 0
    """Bytes of the input."""
    message: bytes = field(default=b"", repr=False)
    """The message as it came, without its frame."""
    records: int = 0
    spans: Counter[str] = field(default_factory=Counter)
    identity: str | None = None
    safe: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future(), repr=False)


class Segments:
    """The files of an output folder, each complete when it has a number of bytes; the last one grows beside the others
    under a hidden name.

    Parameters
    ----------
    folder : Path
    limit : int
        Bytes with which a file is complete.
    number : int
        Of the file that grows.
    size : int
        Bytes of it that count; what stands behind is cut off.

    Raises
    ------
    OutputError
        When it cannot be opened, or is shorter than ``size``.
    """

    def __init__(self, folder: Path, limit: int, number: int, size: int) -> None:
        self.folder = folder
        self.limit = limit
        self.number = number
        self.sink = FeedSink(-1)
        if self.path(number).exists():  # complete, but the journal does not know yet
            self.number, size = number + 1, 0
        self._open(size)

    @staticmethod
    def next_number(folder: Path) -> int:
        """Return the number behind those of all files that a folder has."""
        names = (path.name.removesuffix(_SUFFIX).rpartition("-")[2] for path in folder.glob(f"*{_SUFFIX}"))
        return 1 + max((int(name) for name in names if name.isdigit()), default=0)

    @staticmethod
    def check_none_unfinished(folder: Path) -> None:
        """Refuse a folder where a file of another journal has not got its name: nobody would ever read it.

        Raises
        ------
        ConfigError
        """
        for path in sorted(folder.glob(part_of(folder / f"*{_SUFFIX}").name)):
            if path.stat().st_size:
                raise ConfigError(
                    "the folder has an unfinished file of another journal, whose messages were acknowledged",
                    "go on with that journal and its key until the relay ends by SIGTERM; where they are lost, rename "
                    f"{path.name}, whose last message may not be whole",
                )

    @staticmethod
    def has(folder: Path, last: Commit, before: Commit) -> bool:
        """Tell whether a folder has what the last commit says that it wrote."""
        path = folder / _name(int(last.totals["segment"]))
        if not last.stretch or path.exists():  # a file gets its name when all of it is safe
            return True
        try:
            with part_of(path).open("rb") as file:
                file.seek(before.output)
                return _hash(file.read(last.output - before.output)) == last.stretch
        except OSError:
            return False

    def path(self, number: int) -> Path:
        """Return where a complete file stands."""
        return self.folder / _name(number)

    def take_back(self, size: int) -> None:
        """Cut off what was written last, so that nobody believes a word of the journal for it."""
        with suppress(OSError):
            os.ftruncate(self.sink.descriptor, self.sink.position - size)

    @property
    def complete(self) -> bool:
        """Whether the file has as many bytes as it should."""
        return self.sink.position >= self.limit

    def next(self) -> None:
        """Give the file its name, unless it is empty, and begin the next one."""
        self.close()
        if self.sink.position:
            part_of(self.path(self.number)).replace(self.path(self.number))
            self.number += 1
        self._open(0)

    def close(self) -> None:
        """Close the file that grows."""
        os.close(self.sink.descriptor)

    def _open(self, size: int) -> None:
        path = part_of(self.path(self.number))
        with told_as(OutputError("the output cannot be opened", "name a folder where you may write"), OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            cut_to(descriptor, size, "name a new journal")
            os.fsync(descriptor)
            sync_folder(self.folder)
        hint = "make room, then run the same command again: it goes on where it was"
        self.sink = FeedSink(descriptor, size, hint=hint, where=str(self.folder))


def _name(number: int) -> str:
    return f"{number:08d}{_SUFFIX}"


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


class Keeper:
    """Makes messages safe: on the disk with the journal's word for it; what came together goes to the disk together.

    Parameters
    ----------
    totals : Totals
    segments : Segments, optional
        Without, the output is elsewhere.
    journal : Journal, optional
        Without, nothing is known of messages that came before this process.
    letters : FeedSink, optional
    proof : Proof, optional
        Writes manifests: of what is safe.
    """

    def __init__(
        self,
        totals: Totals,
        segments: Segments | None,
        journal: Journal | None,
        letters: FeedSink | None,
        proof: Proof | None = None,
    ) -> None:
        self._totals = totals
        self._segments = segments
        self._journal = journal
        self._letters = letters
        self._proof = proof
        self._turning = False
        self._pending: list[Kept] = []
        self._wake = asyncio.Event()
        self._thread, self._beside = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self.known: dict[str, None] = journal.received if journal is not None else {}
        """Keyed hashes of messages that are safe."""

    async def note(self, item: Kept) -> None:
        """Return when a message is safe."""
        self._pending.append(item)
        self._wake.set()
        await item.safe

    def turn(self) -> None:
        """Have the manifest written of what is safe so far, where manifests are written."""
        self._turning = True
        self._wake.set()

    async def run(self) -> None:
        """Make safe what comes, until cancelled.

        Raises
        ------
        OutputError
            When something cannot be written; nothing is safe from then on.
        """
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                items, self._pending = self._pending, []
                turning, self._turning = self._turning, False
                await loop.run_in_executor(self._thread, self._commit, items)
                if turning and self._proof is not None:
                    await loop.run_in_executor(self._thread, self._proof.turn)
                for item in items:
                    if not item.safe.done():
                        item.safe.set_result(None)
        finally:
            self._thread.shutdown()
            self._beside.shutdown()

    def finish(self) -> None:
        """Give the last file its name; an empty one goes."""
        if self._segments is not None:
            self._next(self._segments)
            self._note()
            self._segments.close()
            part_of(self._segments.path(self._segments.number)).unlink()

    def _commit(self, items: list[Kept]) -> None:
        output = b"".join(item.output for item in items)  # to the receiver, where there is no folder
        flushed = stretch = None
        if self._segments is not None and output:
            if self._segments.complete:
                self._next(self._segments)
                self._note()  # whoever takes the file away may do so from now on
            self._segments.sink.write(output)
            flushed, stretch = self._beside.submit(self._segments.sink.sync), _hash(output)
        letters = b"".join(letter.line() for item in items for letter in item.letters)
        if self._letters is not None and letters:
            self._letters.write(letters)
            self._letters.sync()
        totals = self._totals
        for item in items:
            totals.add(item.length, item.output, item.records, item.letters, item.spans)
        identities = [item.identity for item in items if item.identity is not None]
        if self._journal is None:
            remember(self.known, identities)
        try:
            self._note(identities, stretch)
            if flushed is not None:
                flushed.result()
        except OutputError:
            if self._segments is not None:
                self._segments.take_back(len(output))
            raise
        if self._proof is not None and items:
            for item in items:
                self._proof.read(framed(item.message))
            self._proof.wrote(output)

    def _next(self, segments: Segments) -> None:
        """Begin the next file."""
        if self._proof is not None and segments.sink.position:
            path = segments.path(segments.number)
            self._proof.wrote_file(path.name, part_of(path))
        segments.next()

    def _note(self, identities: Sequence[str] = (), stretch: str | None = None) -> None:
        """Note in the journal how far the output came, and what of it is on its way to the disk."""
        if self._journal is None:
            return
        totals, segments = self._totals, self._segments
        self._journal.commit(
            Commit(
                totals.read,
                segments.sink.position if segments else 0,
                self._letters.position if self._letters else 0,
                {**totals.as_dict(), "segment": segments.number if segments else 0},
                received=identities,
                stretch=stretch or "",
            )
        )
