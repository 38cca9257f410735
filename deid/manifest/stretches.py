"""Manifests of a feed: each speaks of a stretch of it, from where the one before ended.

A feed is a filter, a watched folder, a relay or a service. What it writes may go to where no file is; where somebody
kept it in one, `check_stream` compares that with the stretches. What went through and is in no manifest, because the
process was killed, `gaps` tells.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from deid.base.errors import InputError
from deid.base.files import refused_as
from deid.manifest.content import Manifest
from deid.manifest.faults import Fault

_PART = 1 << 20
_MOST = 1 << 50
"""Bytes that no feed has."""


@dataclass(frozen=True, slots=True)
class ProvedStretch:
    """What a manifest says of its stretch of a feed."""

    read: tuple[int, int]
    """Bytes of the input that were dealt with when it began, and when it ended."""
    written: tuple[int, int]
    """Bytes of the output, likewise."""
    stream: str
    """``sha256:`` and the checksum of what was written."""
    begins: bool
    """Whether the process began with it."""
    goes_on: bool
    """Whether the process went on behind it."""

    def told(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self) | {"read": list(self.read), "written": list(self.written)}

    @classmethod
    def of(cls, manifest: Manifest) -> ProvedStretch | None:
        """Return the stretch of a manifest; None where it is of no feed."""
        try:
            told = manifest.run["results"]
            places = [tuple(map(int, told[name])) for name in ("read", "written")]
            (a, b), (c, d) = places
            if not 0 <= a <= b < _MOST or not 0 <= c <= d < _MOST:
                return None
            return cls((a, b), (c, d), str(told["stream"]), bool(told.get("begins")), bool(told.get("goes_on")))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):  # anybody can write a manifest
            return None


def stretches(manifests: Sequence[Manifest]) -> list[tuple[int, ProvedStretch]]:
    """Return the stretches of a feed with the numbers of their manifests."""
    return [(m.number, stretch) for m in manifests if (stretch := ProvedStretch.of(m)) is not None]


def gaps(manifests: Sequence[Manifest]) -> Iterator[Fault]:
    """Yield what of a feed is in no manifest, since a process was killed between two of them.

    A process that ends in order says so in its last manifest; a journal's run begins where the one before ended.
    """
    before: ProvedStretch | None = None
    for number, now in stretches(manifests):
        cut = before is not None and before.goes_on and now.begins and now.read[0] == 0
        if before is not None and (cut or now.read[0] > before.read[1]):
            yield Fault(
                "gap", f"manifest {number}", "what went through before it is in none: the process before was killed"
            )
        before = now


def check_stream(path: Path, manifests: Sequence[Manifest]) -> Iterator[Fault]:
    """Compare a file, into which somebody put all that a feed wrote, with the feed's stretches.

    Yields
    ------
    Fault
        Each stretch that is not there as it was, and bytes of which no manifest speaks.

    Raises
    ------
    InputError
        When the file cannot be read.
    """
    with refused_as(InputError, "the output cannot be read", "name the file as it was kept"), path.open("rb") as file:
        yield from _compared(file, stretches(manifests))


def _compared(file: BinaryIO, told: Sequence[tuple[int, ProvedStretch]]) -> Iterator[Fault]:
    base = at = 0  # a process that counts from 0 goes on behind the one before
    for number, stretch in told:
        start, end = stretch.written
        base = at if start == 0 else base
        if base + start > at:
            yield Fault("unchecked", "OUT", f"no manifest speaks of the bytes {at} to {base + start}")
        file.seek(base + start)
        digest, left = hashlib.sha256(), end - start
        while left and (data := file.read(min(left, _PART))):
            digest.update(data)
            left -= len(data)
        where = f"the bytes {base + start} to {base + end}, of which manifest {number} speaks,"
        if left:
            yield Fault("missing", "OUT", f"{where} are not all there")
        elif stretch.stream != f"sha256:{digest.hexdigest()}":
            yield Fault("changed", "OUT", f"{where} are not what it says")
        at = max(at, base + end)
    size = os.fstat(file.fileno()).st_size
    if size > at and told[-1][1].goes_on:
        yield Fault("unchecked", "OUT", f"the bytes {at} to {size} came behind the last manifest")
    elif size > at:
        yield Fault("added", "OUT", f"no manifest speaks of the bytes {at} to {size}")
