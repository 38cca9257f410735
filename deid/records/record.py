"""A record and its places.

The recognizers see one text for a record: its free text, a place a line, then its identifiers, a line each. Places that
are one (the elements of a name, the pieces of a paragraph) stand one behind the other there, and spans go over them. So
one surrogate stands for a person in the fields and in the text, and what is done to the text is done to the record:
edits of the text become edits of the record's own characters. Nothing is parsed into a tree and serialized again.
"""

from __future__ import annotations

import datetime
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from deid.base.compiled import quick
from deid.base.errors import OutputError
from deid.base.plain_letters import without_accents
from deid.document import Edit, Span
from deid.phi import group
from deid.records.readings import doubts, is_unsaid

TEXT: Final = "text"
BLOCKED: Final = "blocked"
"""Kinds of places beside the categories of identifiers."""

Change = tuple[int, int, str]
"""Start and end in the decoded text of a place, and what to write there."""
Encode = Callable[[str, "Place", Sequence[Change]], str | Sequence[str]]
"""Gets the characters of a place, the place and changes in order; returns the new characters, of a place in several
stretches those of each."""
Pack = Callable[[bytes, str, str], bytes]
"""Gets a record's bytes, its characters and the new ones, and returns the new bytes."""
NAMES: Final = ("PATIENT", "DOCTOR")
_TOWNS: Final = ("CITY", "STATE", "COUNTRY")
_DOUBTED: Final = frozenset((*_TOWNS, "ZIP"))
"""Kinds of places that may hold something else than their field says."""
LEAST = {"PATIENT": 3, "DOCTOR": 3, "CITY": 4, "ZIP": 5}
"""Letters and digits that an identifier must have to be looked for in the rest of its record."""
LEAST_NUMBER: Final = 5
LEAST_INSIDE: Final = 6
"""Digits of a number that is looked for inside of longer words, too."""
_OF_SOMEBODY = ("known:", "consistency:known:")
"""Sources of spans that the record itself says to be somebody's."""
_NO_NUMBERS = frozenset(("NAME", "DATE", "AGE"))
_AROUND_CODES = " '\"()[]{}="
_CODE = re.compile(r"[0-9]{6,18}|(?=.*[0-9])(?=.*[-.])[A-Z0-9.-]{4,12}")
"""A code that is no ordinary number of a house, a room or a year."""
_SHORT_NAME: Final = 4
"""Signs that no part of a name has in Chinese, Japanese or Korean."""
INSTANT = re.compile(
    r"\s*([0-9]{4}(?:[0-9]{2})?(?=\s*\Z)|(?:[0-9]{2}){4,7}"
    r"|(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[01][0-9]|2[0-3])(?:[0-5][0-9]){2}[0-9]{1,4})"
    r"(?:\.[0-9]+)?(?:[+-][0-9]{2}(?::?[0-9]{2})?|Z)?\s*\Z"
)
"""An instant as HL7 v2 and CDA write it, its digits to its precision; some write parts of a second without a point.

All else in a field of dates goes through the operator of dates as a whole: of ``2015-06-22`` the year alone would be
read here, and month and day would stay."""
_ISO = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?")


class Place:
    """A stretch of a record; does not change."""

    def __init__(
        self,
        path: str,
        start: int,
        end: int,
        kind: str,
        text: str = "",
        encode: Encode | None = None,
        starts: Sequence[tuple[int, int]] | None = None,
        examined: bool = False,
        behind: str = "\n",
        joins: bool = False,
        stretches: tuple[tuple[int, int], ...] = (),
    ) -> None:
        self.path: Final[str] = path
        """Where it stands, as in ``OBX[2]-5``; no text."""
        self.start: Final[int] = start
        """First character in the record."""
        self.end: Final[int] = end
        self.kind: Final[str] = kind
        """`TEXT`, `BLOCKED`, or the category of an identifier."""
        self.text: Final[str] = text
        """What stands there, decoded."""
        self.encode: Final[Encode | None] = encode
        """A text without it is read for what stands around it, and stays."""
        self.starts: Final[Sequence[tuple[int, int]] | None] = starts
        """Where each decoded character begins and ends in the place; None where one stands for one."""
        self.examined: Final[bool] = examined
        """Of a blocked place: whether the table names it, rather than that nothing does."""
        self.behind: Final[str] = behind
        """What stands in the text between this place and the next one."""
        self.joins: Final[bool] = joins
        """Whether the next place is one with this one, so that spans may go on into it."""
        self.stretches: Final[tuple[tuple[int, int], ...]] = stretches
        """Where it stands if in several stretches, such as a name in its parts."""

    def _fields(self) -> tuple[Any, ...]:
        told = (self.path, self.start, self.end, self.kind, self.text, self.encode, self.starts, self.examined)
        return *told, self.behind, self.joins, self.stretches

    def __reduce__(self) -> tuple[Any, ...]:
        return Place, self._fields()

    def varied(self, **changes: Any) -> Place:
        """Return the same place with other values of some attributes."""
        return Place(**(dict(zip(_FIELDS, self._fields(), strict=True)) | changes))

    def within(self, path: str, at: int) -> Place:
        """Return the same place, of which path and stretches were counted from another one's, from the record's."""
        stretches = self.stretches
        if stretches:
            stretches = tuple([(start + at, end + at) for start, end in stretches])
        return Place(
            path + self.path,
            self.start + at,
            self.end + at,
            self.kind,
            self.text,
            self.encode,
            self.starts,
            self.examined,
            self.behind,
            self.joins,
            stretches,
        )

    @property
    def where(self) -> tuple[tuple[int, int], ...]:
        """First character and end of each stretch."""
        return self.stretches or ((self.start, self.end),)


_FIELDS = ("path", "start", "end", "kind", "text", "encode", "starts", "examined", "behind", "joins", "stretches")


@quick
@dataclass(frozen=True, slots=True)
class ChangeMark:
    """What is written into a part of a record when something in it changed."""

    start: int
    end: int
    at: int
    text: str = field(repr=False)


@quick
@dataclass(frozen=True, slots=True, repr=False)
class Owners:
    """What belongs to whom in a record of several patients."""

    places: tuple[str | None, ...]
    """Key of each place's patient; None of a place that is nobody's."""
    called: Mapping[str, str]
    """Words of names and numbers in the places of one patient alone -> the key."""


@quick
@dataclass(frozen=True, slots=True)
class Record:
    """A record: its characters and its places; what is written has no places."""

    data: bytes = field(repr=False)
    source: str = field(default="", repr=False)
    """The data, decoded."""
    charset: str | Pack = "utf-8"
    """The codec that makes the data of the characters, or what packs them, as of a document of several parts."""
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
    """The patient's key; of several, the first one's, which is also that of what belongs to none."""
    whose: Owners | None = field(default=None, repr=False)
    """Of a record of several patients, what is whose."""
    date: datetime.date | None = field(default=None, repr=False)
    unexamined: int = 0
    """Positions that hold something, and that nobody examined."""
    links: tuple[Place, ...] = field(default=(), repr=False)
    """Ids, and references to them: they get the same new ids in all records of a key, whatever the policy writes."""
    marks: tuple[ChangeMark, ...] = ()
    sexes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Words of given names -> M or F, as fields beside the names say."""
    codes: frozenset[str] = field(default=frozenset(), repr=False)
    """Codes of standards' systems, and addresses of such systems, that the record says: in its text they are codes."""

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What other records about the patient are told: identifiers, and given names with M or F for a category."""
        return *self.known, *((sex, word) for word, sex in self.sexes.items())

    @property
    def owners(self) -> tuple[str | None, ...]:
        """Keys of the patients of its places, where it is about several."""
        return () if self.whose is None else self.whose.places

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the texts of the links."""
        return tuple([link.text for link in self.links])

    def spans(self) -> list[Span]:
        """Return the identifiers behind the free text, as spans of the text."""
        found = []
        whole, places, offsets = self.text, self.places, self.offsets
        named: dict[str, str] | None = None
        first = -1
        path = text = ""
        for number, place in enumerate(places):
            kind = place.kind
            if kind == TEXT:
                continue
            if first < 0:
                first, path = offsets[number], place.path
                text = place.text
            if place.joins:
                continue
            end = offsets[number] + len(place.text)
            if offsets[number] != first:
                text = whole[first:end]
            first = -1
            if is_unsaid(text):
                continue
            span = Span(end - len(text), end, kind, "", f"field:{path}", 1.0)
            if kind in _DOUBTED:
                also = [*doubts(kind, text)]
                if kind in _TOWNS and (words := _words(text)):
                    # where the patient's own name stands, a town's field may hold it and no town
                    named = self._named() if named is None else named
                    also += [named[word] for word in words if word in named]
                span = span.read_as(also) if also else span
            found.append(span)
        return found

    def _named(self) -> dict[str, str]:
        """Return words of the known names in small letters -> category."""
        return {small(word): kind for kind, value in self.known if kind in NAMES for word in forms(kind, value)}

    def inside(self, spans: Iterable[Span]) -> list[Span]:
        """Return spans of the free text, cut where a place ends; none in what stays."""
        found = []
        for span in spans:
            if self.codes and self._is_code(span):
                continue
            at = bisect_right(self.offsets, span.start) - 1
            while at < len(self.places) and self.offsets[at] < span.end:
                start = max(span.start, self.offsets[at])
                written = self.places[at].encode is not None
                while self.places[at].joins and self.offsets[at + 1] < span.end:
                    at += 1
                    written = written or self.places[at].encode is not None
                end = min(span.end, self.offsets[at] + len(self.places[at].text))
                if start < end and written:
                    found.append(span.moved(start, end))
                at += 1
        return found

    def _is_code(self, span: Span) -> bool:
        """Tell whether what was taken for a number or an address is a code that the record says elsewhere."""
        labelled = "rule:" in span.source and span.category != "URL"  # what the text calls a number is no code
        if labelled or span.source.startswith(_OF_SOMEBODY) or group(span.category) in _NO_NUMBERS:
            return False
        return self.text[span.start : span.end].strip(_AROUND_CODES) in self.codes

    def patient_at(self, start: int, end: int) -> str | None:
        """Return the key of the patient in whose place a stretch of the text stands; of a place that is nobody's, of
        the one patient in whose places alone its words stand.
        """
        if self.whose is None:
            return self.patient
        owner = self.whose.places[bisect_right(self.offsets, start) - 1]
        if owner is None:
            told = {self.whose.called.get(word) for word in _words(self.text[start:end])} - {None}
            owner = told.pop() if len(told) == 1 else None
        return self.patient if owner is None else owner

    def paths(self, spans: Iterable[Span | Edit]) -> list[tuple[str, int]]:
        """Return of each span or edit of the text the path of the place where it begins, and the offset there."""
        offsets, places = self.offsets, self.places
        if not offsets:
            return [("", span.start) for span in spans]
        begun = [(span.start, bisect_right(offsets, span.start) - 1) for span in spans]
        return [(places[at].path, start - offsets[at]) for start, at in begun]

    def replaced(
        self, text: str, edits: Iterable[Edit], *, keep_blocked: bool, renamed: Callable[[str], str] | None = None
    ) -> Record:
        """Return the record as it is written.

        Parameters
        ----------
        text : str
            The new text.
        edits : iterable of Edit
            What was replaced in the text, in order.
        keep_blocked : bool
            Whether what nobody examined stays; otherwise nothing stands there.
        renamed : callable, optional
            Returns the new id for one; without it ids stay.

        Raises
        ------
        OutputError
            When an edit goes over the border of a place.
        """
        source, places, offsets = self.source, self.places, self.offsets
        changes: dict[int, list[Change]] = {}
        at, size = 0, len(places)
        for edit in edits:
            start, end = edit.start, edit.end
            while at + 1 < size and offsets[at + 1] <= start:
                at += 1
            begin = offsets[at]
            if end <= begin + len(places[at].text):
                changes.setdefault(at, []).append((start - begin, end - begin, text[edit.new_start : edit.new_end]))
                continue
            touched: list[tuple[int, int, int]] = []
            while True:
                begin, long = offsets[at], len(places[at].text)
                touched.append((at, max(start - begin, 0), min(end - begin, long)))
                if end <= begin + long:
                    break
                if not places[at].joins:
                    raise OutputError(
                        "a replacement goes from one place of the record into the next", "this method is for notes"
                    )
                at += 1
            inner = [found for found in touched if found[1] < found[2]] or touched[:1]
            touched = [found for found in inner if places[found[0]].encode is not None]
            signs = [places[one].behind for one, *_ in touched[:-1]]
            parts = _parted(text[edit.new_start : edit.new_end], signs)
            for (one, start, end), part in zip(touched, parts, strict=True):
                changes.setdefault(one, []).append((start, end, part))
        pieces: list[tuple[int, int, str]] = [] if keep_blocked else [(p.start, p.end, "") for p in self.blocked]
        for at, changed in changes.items():
            place = places[at]
            assert place.encode is not None
            start, end = place.start, place.end
            written = place.encode(source[start:end], place, changed)
            if isinstance(written, str):
                if place.stretches:
                    start, end = place.stretches[0]
                pieces.append((start, end, written))
            else:
                pieces += [(start, end, new) for (start, end), new in zip(place.where, written, strict=True)]
        if renamed is not None:
            pieces += [(link.start, link.end, renamed(link.text)) for link in self.links]
        if not pieces and isinstance(self.charset, str):
            return Record(self.data, unexamined=self.unexamined, sexes={})
        pieces.sort()
        if self.marks:
            starts = [start for start, _, _ in pieces]
            for mark in self.marks:
                at = bisect_left(starts, mark.start)
                if at < len(pieces) and pieces[at][1] <= mark.end:
                    pieces.append((mark.at, mark.at, mark.text))
            pieces.sort()
        out: list[str] = []
        read = 0
        for start, end, new in pieces:
            if start >= read:  # a mark goes with what is removed around it
                out += (source[read:start], new)
                read = end
        out.append(source[read:])
        new = "".join(out)
        charset = self.charset
        data = new.encode(charset) if isinstance(charset, str) else charset(self.data, source, new)
        return Record(data, unexamined=self.unexamined, sexes={})

    def frames(self, written: str) -> bool:
        """Tell whether a written record is this one outside of its places."""
        fixed: list[str] = []
        read = 0
        open_ = [place for place in self.places if place.encode is not None]
        stretches = [where for place in (*open_, *self.blocked, *self.links) for where in place.where]
        for start, end in sorted([*stretches, *((mark.at, mark.at) for mark in self.marks)]):
            fixed.append(self.source[read:start])
            read = max(read, end)
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


def splice(raw: str, place: Place, changes: Sequence[Change], write: Callable[[str, str, str], str]) -> str:
    """Return the characters of a place with its changes; those that no change touches stay as they are.

    Parameters
    ----------
    raw : str
        The characters as they stand in the record.
    place : Place
    changes : sequence of (int, int, str)
    write : callable
        Gets the new text, the characters that it replaces, and those of them that stand for no character of the text,
        such as markup; returns what to write.
    """
    text, starts = place.text, place.starts
    out: list[str] = []
    read = taken = 0
    if starts is None:
        for start, end, new in changes:
            out += (raw[read:start], write(new, raw[start:end], ""))
            read = end
        return "".join(out) + raw[read:]
    for start, end, new in changes:
        first, last = start, end
        # one escape can stand for several characters: those of them that stay are written again
        while first > taken and starts[first][0] == starts[first - 1][0]:
            first -= 1
        while last < len(text) and starts[last][0] == starts[last - 1][0]:
            last += 1
        between = "".join([raw[a[1] : b[0]] for a, b in pairwise(starts[first:last])])
        new = text[first:start] + new
        begin, stop = max(read, starts[first][0]), starts[last - 1][1]
        taken = min([last, *(c[0] for c in changes if c[0] >= end)])
        new += text[end:taken]
        out += (raw[read:begin], write(new, raw[begin:stop], between))
        read = stop
    out.append(raw[read:])
    return "".join(out)


def changed(text: str, changes: Sequence[Change]) -> str:
    """Return a text with its changes."""
    if len(changes) == 1:
        start, end, new = changes[0]
        return f"{text[:start]}{new}{text[end:]}"
    out: list[str] = []
    read = 0
    for start, end, new in changes:
        out += (text[read:start], new)
        read = end
    return "".join([*out, text[read:]])


def fit(text: str, charset: str) -> str:
    """Return text that the character set can write: without accents, else with question marks."""
    try:
        text.isascii() or text.encode(charset)
    except UnicodeError:
        return without_accents(text).encode(charset, "replace").decode(charset)
    return text


def forms(category: str, value: str) -> list[str]:
    """Return the forms in which a known identifier may stand in a code."""
    if category in NAMES:
        words = value.replace(",", " ").split()
        if not value.isascii() and len(words) > 1 and max(map(len, words)) < _SHORT_NAME:
            return ["".join(words), *words]  # as scripts of signs write them
        return words
    if category == "DATE":
        return [value, value.replace("-", "")] if day_of(value) else []
    plain = "".join(filter(str.isalnum, value))
    return [value, plain] if plain.isdecimal() and len(plain) > LEAST_INSIDE else [value]


def small(text: str) -> str:
    """Return text in small letters, each at its own place: one whose small form is two letters stays."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def assemble(
    data: bytes,
    source: str,
    charset: str | Pack,
    places: Sequence[Place],
    *,
    known: Iterable[tuple[str, str]],
    patient: str | None = None,
    date: datetime.date | None = None,
    links: Sequence[Place] = (),
    marks: Sequence[ChangeMark] = (),
    whose: Sequence[tuple[int, str | None]] = (),
    sexes: Mapping[str, str] | None = None,
    codes: Iterable[str] = (),
) -> Record:
    """Return the record of places in any order.

    Parameters
    ----------
    data, source, charset
        The record's bytes, their text, and the codec (or `Pack`) that makes one of the other.
    places : sequence of Place
        They may not overlap; those that are one stand in the order of the text.
    known, patient, date, links, marks, sexes
        See `Record`.
    codes : iterable of str
        Codes of standards' systems, and addresses of such systems; those too short to tell are left out.
    whose : sequence of (int, str or None)
        Where in the record what belongs to a patient begins, in order, and the patient's key.
    """
    free, fields, blocked = list[Place](), list[Place](), list[Place]()
    for place in places:
        (free if place.kind == TEXT else blocked if place.kind == BLOCKED else fields).append(place)
    ordered = (*free, *fields)
    several = bool(whose) and len({patient, *(owner for _, owner in whose)} - {None}) > 1
    owners = _owners(ordered, whose) if several else None
    texts: list[str] = []
    offsets: list[int] = []
    at = 0
    for place in ordered:
        offsets.append(at)
        texts += (place.text, place.behind)
        at += len(place.text) + len(place.behind)
    del texts[-1:]  # nothing stands behind the last one
    return Record(
        data,
        source,
        charset,
        ordered,
        tuple(blocked),
        "".join(texts),
        tuple(offsets),
        offsets[len(free) - 1] + len(free[-1].text) if free else 0,
        tuple(known),
        patient,
        owners,
        date,
        len([p for p in blocked if not p.examined]),
        tuple(links),
        tuple(marks),
        sexes or {},
        frozenset([c for c in codes if "://" in c or _CODE.fullmatch(c)]).difference(value for _, value in known),
    )


def _owners(places: Sequence[Place], whose: Sequence[tuple[int, str | None]]) -> Owners:
    starts = [start for start, _ in whose]
    found = [bisect_right(starts, place.start) - 1 for place in places]
    owners = tuple([whose[at][1] if at >= 0 else None for at in found])
    called: dict[str, str] = {}
    for place, owner in zip(places, owners, strict=True):
        if owner is not None and place.kind not in (TEXT, "DATE"):
            for word in _words(place.text):
                called[word] = owner if called.get(word, owner) == owner else ""
    return Owners(owners, {word: owner for word, owner in called.items() if owner})


def _words(text: str) -> list[str]:
    """Return words in small letters that may tell one person from another."""
    words = re.split(r"[^\w-]+", text.lower())
    return [w for w in words if len(w) >= (LEAST["PATIENT"] if w.replace("-", "").isalpha() else LEAST_NUMBER)]


def iso(digits: str) -> str:
    """Return the day of an instant's digits as ISO writes it, to its precision."""
    return "-".join(filter(None, (digits[:4], digits[4:6], digits[6:8])))


def day_of(text: str) -> datetime.date | None:
    """Return the day that a text is in ISO, None where it is none."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def instant(raw: str, place: Place, changes: Sequence[Change]) -> str | None:
    """Return an instant with its day changed: the time of day stays where a whole day does.

    Parameters
    ----------
    raw : str
        The instant, its digits first.
    place : Place
        Its text is the day (`iso`).
    changes : sequence of Change
        What to write in the day.

    Returns
    -------
    str or None
        None where no day stands there any more.
    """
    new = changed(place.text, changes)
    if _ISO.fullmatch(new) is None:
        return None
    digits = new.replace("-", "")
    return digits + raw[len(digits) :] if len(new) == len(place.text) else digits
