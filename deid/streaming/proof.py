"""Manifests of a feed: checksums of what goes through, and one manifest after so many records, if that is wanted."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from deid.base.errors import DeidError
from deid.manifest import ManifestRun
from deid.manifest.digests import Digest, digest_file
from deid.manifest.run import path_pseudonym
from deid.manifest.stretches import ProvedStretch
from deid.streaming.totals import Totals

_LONGEST = 3600.0
"""Seconds until a clock is looked at again."""


class Proof:
    """Takes in what a feed reads and writes, and writes its manifests.

    A manifest speaks of a stretch of the feed: from where the one before ended to the last record that was written.
    Checksums are of streams; an output that is a file is listed when the feed has ended, files of a folder in the
    manifest of the stretch in which they were complete.

    Parameters
    ----------
    begin : callable
        Begins a manifest's run.
    facts : mapping
        What every manifest tells (`ManifestRun.finish`).
    totals : Totals
        Of the feed.
    every : int
        Records after which a manifest is written; 0 for one at the end.
    tell : callable, optional
        Told when a manifest in the middle of a feed cannot be written. The feed goes on, the stretch does too, and the
        next manifest is tried at its time; the last one raises what is wrong.
    """

    def __init__(
        self,
        begin: Callable[[], ManifestRun],
        facts: Mapping[str, Any],
        totals: Totals,
        every: int = 0,
        tell: Callable[[str], object] | None = None,
    ) -> None:
        self._begin = begin
        self._facts = facts
        self._totals = totals
        self._every = every
        self._tell = tell
        self._first = True
        self.places: list[Path] = []
        """Where the manifests lie."""
        self.lost = ""
        """What to tell where manifests were taken away meanwhile, which fails the feed's command."""
        self._start(begin())

    def _start(self, run: ManifestRun) -> None:
        self.run = run
        self._read = hmac.new(run.key.secret, b"deid file 1\0", hashlib.sha256)
        self._written = hashlib.sha256()
        self._took = 0
        self._files: dict[str, str] = {}
        self._grown: dict[str, Digest] = {}
        self._from: Totals | None = None
        self._due = 0

    def begin_at(self) -> None:
        """Note where the stretch begins; a resumed feed's totals are known by now."""
        if self._from is None:
            self._from = _copy(self._totals)
            self._due = self._from.records + self._from.failed + self._every

    def read(self, data: bytes) -> None:
        """Take in bytes of an input that is a stream."""
        self._read.update(data)
        self._took += len(data)

    def read_file(self, path: Path) -> None:
        """Take in a file that went through as a whole."""
        self._files[path_pseudonym(self.run.key, path.name)] = self.run.digest(path)

    def wrote(self, data: bytes) -> None:
        """Take in bytes of the output; their records are counted already."""
        self._written.update(data)
        if self._every and self._totals.records + self._totals.failed >= self._due:
            self.turn()

    def wrote_file(self, name: str, path: Path) -> None:
        """Take in a file that gets its name in the output's folder now; then whoever wants it may take it away.

        Parameters
        ----------
        name : str
            The name that it gets.
        path : Path
            Where it is as yet.
        """
        self._grown[name] = digest_file(self.run.key, name, path)

    def open(self) -> None:
        """Write the manifest of a feed that has just begun, so that one which is killed later is missed.

        Raises
        ------
        DeidError
            When it cannot be written: a feed that cannot be proved does not begin.
        """
        self.begin_at()
        self._turned()

    def turn(self) -> None:
        """Write the manifest of what was so far, and begin the next."""
        self.begin_at()
        try:
            self._turned()
        except DeidError as error:
            if self._tell is None:
                raise
            self._tell(f"no manifest could be written, which is tried again: {error}")
            self._due = self._totals.records + self._totals.failed + self._every

    def finish(self, source: Path | None, target: Path | None, *, complete: bool) -> None:
        """Write the last manifest.

        Parameters
        ----------
        source, target : Path or None
            Files that were read and written; None for streams, and for a folder whose files were taken in.
        complete : bool
            Whether the feed came to its end.

        Raises
        ------
        DeidError
            When it cannot be written.
        """
        self.begin_at()
        self._end(source, target, complete=complete, goes_on=False)

    def _turned(self) -> None:
        following = self._begin()  # first: what lies there may be no manifest any more
        self._end(complete=False, goes_on=True)
        following.end = self.run.end
        self._start(following)
        self.begin_at()

    def _end(self, source: Path | None = None, target: Path | None = None, *, complete: bool, goes_on: bool) -> None:
        before, now = self._from, self._totals
        assert before is not None
        inputs = dict(self._files)
        if self._took:
            inputs["stream"] = f"keyed:{self._read.hexdigest()} of {self._took} bytes that were read"
        if source is not None and source.is_file():
            inputs["file"] = self.run.digest(source)
        stretch = ProvedStretch(
            (before.read, now.read),
            (before.written, now.written),
            f"sha256:{self._written.hexdigest()}",
            begins=self._first,
            goes_on=goes_on,
        )
        errors = dict(sorted((now.errors - before.errors).items()))
        place = self.run.finish(
            target if target is not None and target.is_file() else None,
            inputs=inputs,
            grown=self._grown or None,
            documents=now.records - before.records,
            failed=now.failed - before.failed,
            categories=dict(sorted((now.spans - before.spans).items())),
            results={"complete": complete, **stretch.told(), "errors": errors},
            **self._facts,
        )
        if self.run.lost and not self.lost and self._tell is not None:
            self._tell(self.run.lost)
        self.lost = self.lost or self.run.lost
        self.places.append(place)
        self._first = False


def _copy(totals: Totals) -> Totals:
    same = Totals()
    same.restore(totals.as_dict())
    return same


async def daily(
    turn: Callable[[], None],
    now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Call something when a day ends, in UTC, until it is cancelled.

    Parameters
    ----------
    turn : callable
        Is called once a day, however a clock is set meanwhile; once for all days that a machine slept.
    now, sleep : callable
        Tell the time, and wait.
    """
    while True:
        midnight = datetime.datetime.combine(now().date() + datetime.timedelta(days=1), datetime.time(), datetime.UTC)
        while (left := (midnight - now()).total_seconds()) > 0:
            await sleep(min(left, _LONGEST))
        turn()
