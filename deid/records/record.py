"""A record and its places.

The recognizers see one text for a record: its free text, a place a line, then its identifiers, a line each. Places that
are one (the elements of a name, the pieces of a paragraph) stand one behind the other there, and spans go over them. So
one surrogate stands for a person in the fields and in the text, and what is done to the text is done to the record:
edits of the text become edits of the record's own characters. Nothing is parsed into a tree and serialized again.
"""

from __future__ import annotations

import datetime
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from deid.base.compiled import quick
from deid.base.errors import OutputError
from deid.document import Edit, Span

TEXT, BLOCKED = "text", "blocked"
"""Kinds of places beside the categories of identifiers."""

Change = tuple[int, int, str]
"""Start and end in the decoded text of a place, and what to write there."""


@quick
@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a record."""

    path: str
    """Where it stands, as in ``OBX[2]-5``; no text."""
    start: int
    """First character in the record."""
    end: int
    kind: str
    """`TEXT`, `BLOCKED`, or the category of an identifier."""
    text: str = field(default="", repr=False)
    """What stands there, decoded."""
    encode: Callable[[str, Place, Sequence[Change]], str] | None = field(default=None, repr=False)
    """Gets the characters of the record, the place and changes in order; returns the new characters."""
    starts: Sequence[tuple[int, int]] | None = field(default=None, repr=False)
    """Where each decoded character begins and ends in the place; None where one stands for one."""
    examined: bool = False
    """Of a blocked place: whether the table names it, rather than that nothing does."""
    behind: str = "\n"
    """What stands in the text between this place and the next one."""
    joins: bool = False
    """Whether the next place is one with this one, so that spans may go on into it."""


@quick
@dataclass(frozen=True, slots=True)
class Record:
    """A record: its characters and its places; what is written has no places."""

    data: bytes = field(repr=False)
    source: str = field(default="", repr=False)
    """The data, decoded."""
    charset: str = "utf-8"
    places: tuple[Place, ...] = field(default=(), repr=False)
    """Free text in order of the record, then identifiers."""
    blocked: tuple[Place, ...] = field(default=(), repr=False)
    text: str = field(default="", repr=False)
    """The texts of the places, a line (or some) each."""
    offsets: tuple[int, ...] = field(default=(), repr=False)
    """Where each place begins in the text."""
    free: int = 0
    """Characters of the text that are free text; behind it stand the identifiers."""
    known: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Categories and values of identifiers that may stand in the free text as well."""
    patient: str | None = field(default=None, repr=False)
    """The patient's key."""
    date: datetime.date | None = field(default=None, repr=False)
    unexamined: int = 0
    """Positions that hold something, and that nobody examined."""

    def spans(self) -> list[Span]:
        """Return the identifiers behind the free text, as spans of the text."""
        found = []
        first: tuple[int, str] | None = None
        for at, place in zip(self.offsets, self.places, strict=True):
            if place.kind != TEXT:
                start, path = first or (at, place.path)
                if place.joins:
                    first = start, path
                    continue
                found.append(Span(start, at + len(place.text), place.kind, source=f"field:{path}", score=1.0))
            first = None
        return found

    def inside(self, spans: Iterable[Span]) -> list[Span]:
        """Return spans of the free text, cut where a place ends."""
        found = []
        for span in spans:
            at = bisect_right(self.offsets, span.start) - 1
            while at < len(self.places) and self.offsets[at] < span.end:
                start = max(span.start, self.offsets[at])
                while self.places[at].joins and self.offsets[at + 1] < span.end:
                    at += 1
                end = min(span.end, self.offsets[at] + len(self.places[at].text))
                if start < end:
                    found.append(span.moved(start, end))
                at += 1
        return found

    def path(self, offset: int) -> tuple[str, int]:
        """Return the place of a character of the text: its path, and the offset there."""
        at = max(bisect_right(self.offsets, offset) - 1, 0)
        return (self.places[at].path, offset - self.offsets[at]) if self.places else ("", offset)

    def replaced(self, text: str, edits: Iterable[Edit], *, keep_blocked: bool) -> Record:
        """Return the record as it is written.

        Parameters
        ----------
        text : str
            The new text.
        edits : iterable of Edit
            What was replaced in the text, in order.
        keep_blocked : bool
            Whether what nobody examined stays; otherwise nothing stands there.

        Raises
        ------
        OutputError
            When an edit goes over the border of a place.
        """
        source = self.source
        changes: dict[int, list[Change]] = {}
        for edit in edits:
            at = bisect_right(self.offsets, edit.start) - 1
            begin = self.offsets[at]
            if edit.end <= begin + len(self.places[at].text):
                here = edit.start - begin, edit.end - begin, text[edit.new_start : edit.new_end]
                changes.setdefault(at, []).append(here)
                continue
            touched: list[tuple[int, int, int]] = []
            while True:
                begin, size = self.offsets[at], len(self.places[at].text)
                touched.append((at, max(edit.start - begin, 0), min(edit.end - begin, size)))
                if edit.end <= begin + size:
                    break
                if not self.places[at].joins:
                    raise OutputError(
                        "a replacement goes from one place of the record into the next", "this method is for notes"
                    )
                at += 1
            touched = [found for found in touched if found[1] < found[2]] or touched[:1]
            signs = [self.places[one].behind for one, *_ in touched[:-1]]
            parts = _parted(text[edit.new_start : edit.new_end], signs)
            for (one, start, end), part in zip(touched, parts, strict=True):
                changes.setdefault(one, []).append((start, end, part))
        pieces: list[tuple[int, int, str]] = [] if keep_blocked else [(p.start, p.end, "") for p in self.blocked]
        for at, changed in changes.items():
            place = self.places[at]
            assert place.encode is not None
            pieces.append((place.start, place.end, place.encode(source[place.start : place.end], place, changed)))
        if not pieces:
            return Record(self.data, unexamined=self.unexamined)
        out: list[str] = []
        read = 0
        for start, end, new in sorted(pieces):
            out += (source[read:start], new)
            read = end
        out.append(source[read:])
        return Record("".join(out).encode(self.charset), unexamined=self.unexamined)

    def frames(self, written: str) -> bool:
        """Tell whether a written record is this one outside of its places."""
        fixed: list[str] = []
        read = 0
        for place in sorted((*self.places, *self.blocked), key=lambda place: place.start):
            fixed.append(self.source[read : place.start])
            read = place.end
        if not fixed:
            return written == self.source
        first, *between = fixed
        last = self.source[read:]
        if not written.startswith(first):
            return False
        at = len(first)
        for part in between:  # where one fits, its first place leaves most room for the rest: no other need be tried
            at = written.find(part, at)
            if at < 0:
                return False
            at += len(part)
        return len(written) - len(last) >= at and written.endswith(last)


def _parted(new: str, signs: Sequence[str]) -> list[str]:
    """Return a replacement cut at the signs between the places that it goes over; where it cannot be, all first."""
    parts = []
    rest = new
    for sign in signs:
        if not sign or not (found := rest.partition(sign))[1]:
            break
        parts.append(found[0])
        rest = found[2]
    if len(parts) < len(signs) or (signs and signs[-1] in rest):
        return [new, *[""] * len(signs)]
    return [*parts, rest]


def assemble(
    data: bytes,
    source: str,
    charset: str,
    places: Sequence[Place],
    *,
    known: tuple[tuple[str, str], ...],
    patient: str | None,
    date: datetime.date | None,
) -> Record:
    """Return the record of places in any order.

    Parameters
    ----------
    data, source, charset
        The record's bytes, their text, and the codec that makes one of the other.
    places : sequence of Place
        They may not overlap; those that are one stand in the order of the text.
    known, patient, date
        See `Record`.
    """
    free = [p for p in places if p.kind == TEXT]
    ordered = (*free, *(p for p in places if p.kind not in (TEXT, BLOCKED)))
    blocked = tuple(p for p in places if p.kind == BLOCKED)
    offsets = []
    at = 0
    for place in ordered:
        offsets.append(at)
        at += len(place.text) + len(place.behind)
    return Record(
        data,
        source,
        charset,
        ordered,
        blocked,
        "".join([part for p in ordered for part in (p.text, p.behind)][:-1]),
        tuple(offsets),
        offsets[len(free) - 1] + len(free[-1].text) if free else 0,
        known,
        patient,
        date,
        sum(not p.examined for p in blocked),
    )
