"""Manifests of a feed: checksums of what goes through, and one manifest after so many records, if that is wanted."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from deid.manifest import ManifestRun
from deid.manifest.run import path_pseudonym
from deid.streaming.totals import Totals

_LONGEST = 3600.0
"""Seconds until a clock is looked at again."""


class Proof:
    """Takes in what a feed reads and writes, and writes its manifests.

    A manifest speaks of a stretch of the feed: from where the one before ended to the last record that was written.
    Checksums are of streams; an output that is a file is listed when the feed has ended.

    Parameters
    ----------
    begin : callable
        Begins a manifest's run.
    facts : mapping
        What every manifest tells (`Run.finish`).
    totals : Totals
        Of the feed.
    every : int
        Records after which a manifest is written; 0 for one at the end.
    """

    def __init__(
        self, begin: Callable[[], ManifestRun], facts: Mapping[str, Any], totals: Totals, every: int = 0
    ) -> None:
        self._begin = begin
        self._facts = facts
        self._totals = totals
        self._every = every
        self.places: list[Path] = []
        """Where the manifests lie."""
        self._start()

    def _start(self) -> None:
        self.run = self._begin()
        self._read = hmac.new(self.run.key.secret, b"deid file 1\0", hashlib.sha256)
        self._written = hashlib.sha256()
        self._took = 0
        self._files: dict[str, str] = {}
        self._from: Totals | None = None

    def begin_at(self) -> None:
        """Note where the stretch begins; a resumed feed's totals are known by now."""
        if self._from is None:
            self._from = _copy(self._totals)

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
        assert self._from is not None
        if self._every and self._totals.records + self._totals.failed >= self._due():
            self.turn()

    def turn(self) -> None:
        """Write the manifest of what was so far, and begin the next."""
        self.begin_at()
        self._end({"complete": False})
        self._start()
        self.begin_at()

    def finish(self, source: Path | None, target: Path | None, *, complete: bool) -> None:
        """Write the last manifest.

        Parameters
        ----------
        source, target : Path or None
            Files that were read and written; None for streams.
        complete : bool
            Whether the feed came to its end.
        """
        self.begin_at()
        self._end({"complete": complete}, source, target)

    def _due(self) -> int:
        assert self._from is not None
        return self._from.records + self._from.failed + self._every

    def _end(self, said: Mapping[str, Any], source: Path | None = None, target: Path | None = None) -> None:
        before, now = self._from, self._totals
        assert before is not None
        inputs = dict(self._files)
        if self._took:
            inputs["stream"] = f"keyed:{self._read.hexdigest()} of {self._took} bytes that were read"
        if source is not None and source.is_file():
            inputs["file"] = self.run.digest(source)
        out = target if target is not None and (target.is_file() or target.is_dir()) else None
        results = {
            **said,
            "read": [before.read, now.read],
            "written": [before.written, now.written],
            "stream": f"sha256:{self._written.hexdigest()}",
            "errors": dict(sorted((now.errors - before.errors).items())),
        }
        self.places.append(
            self.run.finish(
                out,
                inputs=inputs,
                documents=now.records - before.records,
                failed=now.failed - before.failed,
                categories=dict(sorted((now.spans - before.spans).items())),
                results=results,
                **self._facts,
            )
        )


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
