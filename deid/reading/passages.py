"""Which passages of a text are read a second time, where its other reading differs in few lines.

A recognizer looks a few lines around: at the label in the line above, the section's head, the columns of a table. So a
passage is the lines that differ with lines around them, and with the rows above where that is a table. What is found
near its ends, where something is missing, is left to the reading of the whole text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

from deid.document import Span
from deid.reading.casing import silent

__all__ = ["Passage", "passages"]

_KEPT, _AROUND = 2, 8
"""Lines around one that differs in which spans count, and that are read."""
_MOST = 0.5
"""Share of a text from which the whole is read."""
_ROW = re.compile(r"[\t|]")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a text."""

    start: int
    end: int
    kept: tuple[tuple[int, int], ...]
    """Start and end of each place where spans count; those that touch it do."""

    def back(self, span: Span) -> Span | None:
        """Return a span of the passage as one of the text; None where it does not count."""
        moved = span.moved(span.start + self.start, span.end + self.start)
        return moved if any(moved.start < end and start < moved.end for start, end in self.kept) else None


def passages(text: str, other: str) -> list[Passage]:
    """Return the passages in which another reading of a text is to be looked at.

    Parameters
    ----------
    text, other : str
        Of the same length, with the same line ends.

    Returns
    -------
    list of Passage
        In order, none touching another; the whole text as one when it differs in many places, or in letter case.
    """
    found = [] if silent(text) else _around(text, other)
    if found and sum(p.end - p.start for p in found) < _MOST * len(text):
        return found
    return [Passage(0, len(text), ((0, len(text)),))]


def _around(text: str, other: str) -> list[Passage]:
    """Return what lies around the lines that differ."""
    lines = text.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    found: list[tuple[int, int, list[int]]] = []  # first line, one past the last, the lines that differ
    read = zip(lines, other.splitlines(keepends=True), strict=True)
    for line in [number for number, (here, there) in enumerate(read) if here != there]:
        first, differing = max(0, line - _AROUND), [line]
        while first and _ROW.search(lines[first]):
            first -= 1
        while found and first <= found[-1][1]:
            before = found.pop()
            first, differing = min(first, before[0]), before[2] + differing
        found.append((first, min(len(lines), line + _AROUND + 1), differing))

    def kept(line: int) -> tuple[int, int]:
        return starts[max(0, line - _KEPT)], starts[min(len(lines), line + _KEPT + 1)]

    return [Passage(starts[first], starts[end], tuple(map(kept, differing))) for first, end, differing in found]
