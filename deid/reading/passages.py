"""Which passages of a text are read by themselves.

A long text is read in windows that overlap, so that what is known of words need not be held for all of it at once
(`windows`). Where a text is read a second time and the other reading differs in few lines, only what lies around those
is (`passages`).

A recognizer looks a few lines around: at the label in the line above, the section's head, the columns of a table. So a
passage is the lines that differ with lines around them, and with the rows above where that is a table. What is found
near its ends, where something is missing, is left to the reading of the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from deid.document import Document, Span
from deid.reading.casing import recase, uninformative_case
from deid.reading.lexicon import Lexicon
from deid.reading.misreading import reading_of
from deid.reading.scans import left_out

WINDOW, MARGIN = 200_000, 4_000
"""Characters up to which a text is read at once, and that a window reads beyond each of its ends."""
_CELLS, _PARTS = 16, 4
"""Characters a cell of a text that is nearly all table, and by what its windows are smaller: each takes as much."""
_HEAD, _WIDEST = 3, 2_000
"""Rows from the beginning of a table that go before a window that begins inside it, and how long each may be."""

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
    head: str = ""
    """What is read before it: the first rows of the table in which it begins."""
    filled: Mapping[int, int] = field(default_factory=dict)
    """Where blanks stand for what the reading leaves out, start -> end: it belongs to what ends before."""
    scanned: bool = False
    """Whether it is of a scanned document."""

    def of(self, text: str) -> str:
        """Return what is read; the text itself where that is all of it."""
        return self.head + text[self.start : self.end]

    def back(self, span: Span) -> Span | None:
        """Return a span of the passage as one of the text; None where it does not count."""
        by = self.start - len(self.head)
        end = span.end + by
        moved = span.moved(span.start + by, self.filled.get(end, end))
        return moved if any(moved.start < end and start < moved.end for start, end in self.kept) else None


def windows(text: str, size: int | None = None, margin: int | None = None) -> list[Passage]:
    """Return the windows in which a text is read: one for all of it where it has no more than ``size`` characters.

    Each place counts in one window, and what crosses a border between two in both. Borders are empty lines, ends of
    lines, or blanks.

    Parameters
    ----------
    text : str
        With plain line ends.
    size, margin : int, optional
        Most characters that count in a window, and how many it reads beyond each end; by default `WINDOW` (a quarter
        of it in a longer text that is nearly all table) and `MARGIN`.
    """
    whole, margin = size or WINDOW, MARGIN if margin is None else margin
    if len(text) <= whole:
        return [Passage(0, len(text), ((0, len(text)),))]
    dense = size is None and (text.count("\t") + text.count("|")) * _CELLS > len(text)
    size = whole // _PARTS if dense else whole
    borders = [0]
    while borders[-1] + size < len(text):
        borders.append(_border(text, borders[-1] + size // 2, borders[-1] + size))
    starts = [0, *(_border(text, max(0, at - margin), max(0, at - margin // 2)) for at in borders[1:])]
    borders.append(len(text))
    return [
        Passage(start, min(len(text), end + margin), ((first, end),), head)
        for start, (first, end), head in zip(starts, pairwise(borders), _heads(text, starts), strict=True)
    ]


def _border(text: str, low: int, high: int) -> int:
    """Return the best place to cut a text between two places: behind the last empty line, line end or blank."""
    for sign in ("\n\n", "\n", " "):
        at = text.rfind(sign, low, high)
        if at >= 0:
            return at + len(sign)
    return high


def _heads(text: str, places: list[int]) -> Iterator[str]:
    """Yield the first rows of the table in which each of some places stands, given in order; empty outside of one."""
    table: list[str] = []
    lines, last, first = rows(text), -3, -1
    line = next(lines, None)
    for place in places:
        while line is not None and line[0] < place:
            if line[0] - last > 2:
                table, first = [], line[0]
            if len(table) < _HEAD and line[1] < place:
                table.append(text[line[0] : min(line[1], line[0] + _WIDEST)] + "\n")
            last, line = line[1], next(lines, None)
        yield "".join(table) if first >= 0 and place - last <= 2 else ""


def rows(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the lines of a text with tabs or bars lie, without their ends."""
    at, tab, bar = 0, text.find("\t"), text.find("|")
    while tab >= 0 or bar >= 0:
        first = min(tab, bar) if tab >= 0 and bar >= 0 else max(tab, bar)
        start, end = text.rfind("\n", at, first) + 1, text.find("\n", first)
        at = end = len(text) if end < 0 else end
        yield start, end
        # each sign is looked for only when its last place lies behind
        tab = text.find("\t", at) if 0 <= tab < at else tab
        bar = text.find("|", at) if 0 <= bar < at else bar


def other_reading(text: str, lexicon: Lexicon) -> tuple[str, bool]:
    """Return a text as it would ordinarily be written (letter case, misread characters), and whether it was scanned."""
    read, scanned = reading_of(text, lexicon)
    return recase(read, lexicon), scanned


def second_readings(document: Document, lexicon: Lexicon) -> Iterator[tuple[Document, Passage]]:
    """Yield what is read a second time as it would ordinarily be written: passages, each as a document of its own."""
    text = document.text
    other, scanned = other_reading(text, lexicon)
    if other == text:
        return
    filled = dict(left_out(text, other)) if scanned else {}
    for passage in passages(text, other):
        yield (
            document.with_text(other[passage.start : passage.end]),
            replace(passage, filled=filled, scanned=True) if scanned else passage,
        )


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
    found = [] if uninformative_case(text) else _around(text, other)
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
