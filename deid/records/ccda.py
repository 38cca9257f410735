"""Clinical documents (CDA R2, C-CDA), read as places: markup stays, texts and attribute values are replaced in it.

Who calls has seen to it that the XML is well-formed and has no document type declaration. What elements and attributes
are: ``dictionaries/records/ccda.toml``.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from deid.base.errors import FormatError
from deid.phi import CATEGORIES
from deid.records.ages import is_old, write_age
from deid.records.answers import answer
from deid.records.embedded import packed, unpacked
from deid.records.markup import mark_of
from deid.records.readings import read_as
from deid.records.record import (
    BLOCKED,
    INSTANT,
    TEXT,
    Change,
    Place,
    Record,
    assemble,
    changed,
    day_of,
    instant,
    iso,
)
from deid.records.sweeping import known_of, sexes_of, sweep
from deid.records.tables import (
    DATA,
    DISPLAY,
    KEEP,
    NUMBER,
    ByName,
    Inner,
    Rule,
    Table,
    display_as,
    kept_as,
    kept_words,
    words_of,
)
from deid.records.xml_positions import LINE, SPECIAL, SPECIAL_INSIDE, TOKEN, XmlAttribute, codec_of, decoded, written

ROOT = "ClinicalDocument"
"""The element that a document is."""
_STRUCTURE, _ANCHOR, _OID, _TELECOM, _AGE = "structure", "anchor", "root", "telecom", "age"
_YEAR = "a"
_SCHEME = re.compile(r"\s*(tel|fax|x-text-fax|mailto|callto|sms|http|https|ftp)\s*:\s*", re.IGNORECASE)
_SCHEMES = {"fax": "FAX", "x-text-fax": "FAX", "mailto": "EMAIL", "http": "URL", "https": "URL", "ftp": "URL"}
_DEPTH = 200
_HINT = "repair the document at its source, or leave it out"


def read(data: bytes, source: str, charset: str, table: Table) -> Record:
    """Read one document.

    Parameters
    ----------
    data, source, charset
        The document, its text, and the codec that makes one of the other; well-formed, without DOCTYPE.
    table : Table
        What stands where.

    Raises
    ------
    FormatError
        When it cannot be read as it says it is; names the element, and no text.
    """
    document = _Document(source, charset, table)
    document.read()
    return document.record(data)


@dataclass(slots=True)
class _Frame:
    """An open element."""

    name: str
    path: str
    rules: Mapping[str, Rule]
    spaces: Mapping[str, str]
    """Prefix -> namespace."""
    said: Mapping[str, str]
    """Attributes that tell what stands inside."""
    seen: dict[str, int] = field(default_factory=dict)
    parts: list[tuple[int, Place]] | None = None
    """Of a name: its parts, and where they stand in it."""
    order: Sequence[str] = ()
    blocked: bool = False
    """Whether the table says that it is blocked, with all that stands inside."""
    begin: int = 0
    """Where its tag begins."""
    subject: tuple[int, int] | None = None
    """Where it says whom it is about, if that is another person."""
    first: int = 0
    """The first place inside of it."""
    question: str = ""
    """What the code inside of it says."""


@dataclass(slots=True)
class _Run:
    """A piece of a text without markup."""

    path: str
    start: int
    end: int
    data: bool
    behind: str = ""


_Tag = tuple[str, list[tuple[str, XmlAttribute]], dict[str, str], Mapping[str, str]]
"""Name of the element, names and values of its attributes, the values decoded, the namespaces there."""
_OF_PLACES = {"@code": "IDNUM", "@displayName": "LOCATION-OTHER"}
"""What a code of a county or town is, and what it says."""
_HL7_TABLE = re.compile(r"HL7[0-9]{4,5}\Z")
_SPACES = {"xml": "http://www.w3.org/XML/1998/namespace"}


class _Patient(NamedTuple):
    """A patient of a document: where the recordTarget stands, words of names, days, and the key."""

    start: int
    end: int
    names: frozenset[str]
    births: set[str]
    key: str | None


class _Document:
    """One document while it is read."""

    def __init__(self, source: str, charset: str, table: Table) -> None:
        self.source, self.charset, self.table = source, charset, table
        self.codec = codec_of(charset)
        facts = table.facts
        self.namespaces: Mapping[str, str] = facts["namespaces"]
        self.inline, self.cells, self.breaks = (frozenset(facts[n]) for n in ("inline", "cells", "breaks"))
        self.standards = tuple(facts["standards"])
        self.systems = (*self.standards, *facts["code_systems"])
        self.codes: set[str] = set()
        """Codes of standards' systems."""
        self.asking, self.answering = facts["question"], facts["answer"]
        self.target, self.subject = facts["patient"].partition("/")[0], facts["subject"]
        found = table.of_type(facts["anywhere"])
        assert isinstance(found, Inner)
        self.anywhere = table.parts(found)
        self.tags: dict[tuple[int, str], _Tag] = {}
        self.places: list[Place] = []
        self.links: list[Place] = []
        self.kept: list[Place] = []
        """Stretches that stay and may hold what somebody typed."""
        self.block: list[_Run] = []
        self.last = -1
        """The last place of free text."""
        self.given: list[tuple[str, str]] = []
        """Paths of names, and the given ones."""
        self.said_sex: dict[str, str] = {}
        """Path of a person -> what is said of the sex."""
        self.numbers: list[tuple[bool, str, int]] = []
        """Numbers of patients: whether it is one of second choice, and where it stands."""
        self.targets: list[tuple[int, int]] = []
        """Where each recordTarget stands."""
        self.about: list[tuple[int, int, tuple[int, int]]] = []
        """Where what is about another person stands, and where the subject in it says so."""
        self.known: dict[tuple[str, str], None] = {}

    def read(self) -> None:
        """Find the places."""
        source = self.source
        frames: list[_Frame] = []
        at = 0
        for token in TOKEN.finditer(source):
            start, end = token.span()
            if frames and at < start:
                self._characters(frames, at, start, data=False)
            at = end
            name = token["name"]
            if name is not None:
                self._start(frames, name, token)
                if token["empty"]:
                    self._end(frames, end)
            elif token["data"] is not None:
                if frames and token["data"]:
                    self._characters(frames, *token.span("data"), data=True)
            elif token["comment"] is not None:
                self._aside("#comment", frames, start, end)
            elif token["told"] is not None:
                if not re.match(r"xml\s", token["told"]):
                    self._aside("#instruction", frames, start, end)
            else:
                self._end(frames, end)

    def _aside(self, kind: str, frames: Sequence[_Frame], start: int, end: int) -> None:
        path = f"{frames[-1].path}/{kind}" if frames and frames[-1].path else kind
        rule = self.anywhere.get(kind)
        if rule != KEEP:
            self.places.append(Place(path, start, end, BLOCKED, examined=rule == BLOCKED))

    def _start(self, frames: list[_Frame], tag: str, token: re.Match[str]) -> None:
        above = frames[-1] if frames else None
        if len(frames) >= _DEPTH:
            raise _wrong("elements are nested too deep", "/".join(above.path.split("/")[:8]) if above else ROOT)
        begin = token.start()
        spaces: Mapping[str, str] = above.spaces if above else _SPACES
        name, attributes, said, spaces = self._tag(token, tag, spaces)
        frame = self._frame(above, name, spaces, said)
        if name not in self.inline:
            self._flush("\n")
        frame.begin, frame.first = begin, len(self.places)
        frames.append(frame)
        for key, value in attributes:
            rule = frame.rules.get(key) or self.anywhere.get(key)
            if rule != _STRUCTURE or frame.blocked or kept_words(value.raw) != KEEP:
                self._attribute(frame, key, rule, value, begin + value.at)
        if name in self.breaks and self.block:
            self.block[-1].behind = "\n"

    def _tag(self, token: re.Match[str], tag: str, spaces: Mapping[str, str]) -> _Tag:
        """Return what a start tag says; most are of a few kinds."""
        key = id(spaces), token[0]
        if (found := self.tags.get(key)) is not None:
            return found
        every, own = written(token)
        if own:
            spaces = {**spaces, **own}
        attributes = [
            (f"@{self._name(a.name, spaces, None)}", a)
            for a in every
            if a.name.partition(":")[0] != "xmlns" and a.raw and not a.raw.isspace()
        ]
        said = {n: decoded(a.raw, SPECIAL_INSIDE)[0] for n, a in attributes}
        # what is kept here keeps its namespaces alive, so that no others can come to have their id
        self.tags[key] = found = self._name(tag, spaces, ""), attributes, said, spaces
        return found

    def _name(self, name: str, spaces: Mapping[str, str], default: str | None) -> str:
        """Return a name as the table writes it."""
        prefix, colon, local = name.rpartition(":")
        if not colon and default is None:
            return name
        space = spaces.get(prefix, "")
        if not colon and not space:
            return name  # a document that has forgotten its namespace
        short = self.namespaces.get(space)
        return f"{prefix or '?'}:{local}" if short is None else f"{short}{local}"

    def _frame(self, above: _Frame | None, name: str, spaces: Mapping[str, str], said: Mapping[str, str]) -> _Frame:
        if above is None:
            return _Frame(name, "", self.table.rules(name), spaces, said)
        rule = above.rules.get(name)
        if isinstance(rule, ByName):
            rule = self._told(rule, above, said)
        shown = name if rule is not None else "?"  # what nobody knows can be called by a person's name
        count = above.seen[shown] = above.seen.get(shown, 0) + 1
        path = f"{above.path}/{shown}".removeprefix("/") + (f"[{count}]" if count > 1 else "")
        if above.blocked or rule is None:
            return _Frame(name, path, {}, spaces, said, blocked=above.blocked)
        if not isinstance(rule, Inner):
            assert isinstance(rule, str)
            return _Frame(name, path, {"#text": rule}, spaces, said, blocked=rule == BLOCKED)
        order = self.table.facts["joined"].get(rule.name)
        return _Frame(
            name, path, self.table.parts(rule), spaces, said, parts=None if order is None else [], order=order or ()
        )

    def _told(self, rule: ByName, above: _Frame, said: Mapping[str, str]) -> Rule | None:
        """Return the type that an attribute of the element, or of the one around it, says."""
        for name in rule.names:
            type_ = name
            if name == "@parent":
                type_ = above.said.get("@classCode", "")
            elif name.startswith("@"):
                type_ = said.get(name, "").rpartition(":")[2]
            if (found := self.table.of_type(type_)) is not None:
                return found
        return rule.otherwise

    def _end(self, frames: list[_Frame], end: int) -> None:
        frame = frames.pop()
        if frame.name == self.subject and frames:
            frames[-1].subject = frame.begin, end
        elif frame.name == self.target and len(frames) == 1:
            self.targets.append((frame.begin, end))
        if frame.subject is not None:
            self.about.append((frame.begin, end, frame.subject))
        if frame.name in self.cells and self.block:
            self._flush("\t")
        elif frame.name not in self.inline and frame.name not in self.breaks:
            self._flush("\n")
            if frame.name not in self.cells and self.last >= 0 and self.places[self.last].behind == "\t":
                self.places[self.last] = self.places[self.last].varied(behind="\n")
        if frame.parts:
            self._join(frame.parts)
        if frames and frame.name == self.asking:
            texts = (place.text for place in self.places[frame.first :] if place.kind == TEXT)
            frames[-1].question = frame.said.get("@displayName") or next(texts, "")
        elif frames and frame.name == self.answering and frames[-1].question:
            answer(self.places, frame.first, frames[-1].question)
            if self.last >= frame.first:
                self.last = max(n for n, place in enumerate(self.places) if place.kind == TEXT)

    def _join(self, parts: list[tuple[int, Place]]) -> None:
        """Add the parts of a name, as one: family^given^given."""
        ordered = [place for _, place in sorted(parts, key=lambda part: part[0])]
        self.places += [place.varied(behind="^", joins=True) for place in ordered[:-1]]
        self.places.append(ordered[-1])
        family = " ".join(place.text for order, place in parts if not order)
        given = " ".join(place.text for order, place in parts if order)
        self._know(ordered[0].kind, f"{family}^{given}")
        self.given.append((ordered[0].path, given))

    def _know(self, kind: str, value: str) -> None:
        if kind in self.table.facts["known"]:
            self.known |= dict.fromkeys(known_of(kind, " ".join(value.split())))

    # text

    def _characters(self, frames: list[_Frame], start: int, end: int, *, data: bool) -> None:
        frame = frames[-1]
        raw = self.source[start:end]
        rule = frame.rules.get("#text")
        stripped = raw.strip(" \t\r\n")
        raised = frame.name == "sup" and mark_of(raw)
        if self.block and not self.block[-1].behind and (raised or raw[:1].isspace()):
            self.block[-1].behind = " "
        if not stripped:
            return
        start += len(raw) - len(raw.lstrip(" \t\r\n"))
        spaced = start + len(stripped) < end
        end = start + len(stripped)
        path = frame.path or "#text"
        kind = rule if isinstance(rule, str) else ""
        if kind == DATA:
            if frame.said.get("@representation", "").upper() == "B64" or "@compression" in frame.said:
                self._data(frame, stripped, start, end)
                return
            kind = TEXT if frame.said.get("@mediaType", "") in self.table.facts["plain_text"] else ""
        kind = kept_words(stripped) if kind == KEEP else kept_as(kind, stripped)
        if kind == TEXT:
            self.block.append(_Run(path, start, end, data, " " if spaced else ""))
            return
        encode = self.codec.data if data else self.codec.text
        if kind not in CATEGORIES:
            self._other(kind, Place(path, start, end, KEEP, stripped, encode), examined=frame.blocked)
            return
        text, starts = (stripped, None) if data else decoded(stripped, SPECIAL)
        kind = read_as(kind, text)
        place = Place(path, start, end, kind, text, encode, starts)
        above = frame if frame.parts is not None else frames[-2] if len(frames) > 1 else frame
        if above.parts is not None:
            name = "#text" if above is frame else frame.name
            order = above.order.index(name) if name in above.order else len(above.order)
            above.parts.append((order, place))
            return
        self.places.append(place)
        self._know(kind, text)

    def _other(self, kind: str, place: Place, *, examined: bool = False) -> None:
        """Add what is kept or blocked."""
        if kind == KEEP:
            self.kept.append(place)
        elif kind != _STRUCTURE:
            self.places.append(Place(place.path, place.start, place.end, BLOCKED, examined=examined or kind == BLOCKED))

    def _flush(self, behind: str) -> None:
        """End a block of text."""
        block, self.block = self.block, []
        for number, run in enumerate(block, 1):
            raw = self.source[run.start : run.end]
            special = LINE if run.data else SPECIAL
            text, starts = decoded(raw, special)
            encode = self.codec.data if run.data else self.codec.text
            joins = number < len(block)
            self.last = len(self.places)
            self.places.append(
                Place(
                    run.path, run.start, run.end, TEXT, text, encode, starts,
                    behind=run.behind if joins else behind, joins=joins,
                )
            )  # fmt: skip

    def _data(self, frame: _Frame, raw: str, start: int, end: int) -> None:
        """Read a document inside the document."""
        path, said = frame.path, frame.said
        if said.get("@mediaType", "") not in self.table.facts["plain_text"] or "@compression" in said:
            self.places.append(Place(path, start, end, BLOCKED))
            return
        charset = said.get("@charset", "utf-8")
        text = unpacked(raw, charset, path, _HINT)
        if text.strip():
            self.last = len(self.places)
            encode = functools.partial(_encode_base64, charset)
            self.places.append(Place(path, start, end, TEXT, text, encode))

    # attributes

    def _attribute(self, frame: _Frame, key: str, rule: Rule | None, value: XmlAttribute, at: int) -> None:
        raw = value.raw
        shown = key if rule is not None else "@?"
        path = f"{frame.path}/{shown}".removeprefix("/")
        if key == "@code" and path.endswith(self.table.facts["sex"]):
            self.said_sex[path.removesuffix(self.table.facts["sex"])] = raw
        encode = self.codec.double if value.double else self.codec.single
        end = at + len(raw)
        kind = rule if isinstance(rule, str) and not frame.blocked else ""
        if key in _OF_PLACES and kind and frame.said.get("@codeSystem", "") in self.table.facts["place_systems"]:
            kind = _OF_PLACES[key]
        elif kind == DISPLAY:
            kind = display_as(raw, of_standard=self._is_system(frame.said.get("@codeSystem", "")))
        elif kind == _ANCHOR:
            kind = KEEP if raw.startswith("#") else BLOCKED
        elif key == "@codeSystemName" and self._is_system(frame.said.get("@codeSystem", "")):
            kind = _STRUCTURE  # figures in it are a standard's
        elif kind in (KEEP, _STRUCTURE):
            shape = kept_words(raw.strip())  # but for days: versions of code systems are some
            kind = kind if shape in (KEEP, "DATE") else shape
        if kind == _AGE:
            kind = NUMBER
            if frame.said.get("@unit") == _YEAR and is_old(raw):
                self.places.append(Place(path, at, end, "AGE", raw, write_age))
                return
        kind = kept_as(kind, raw.strip())
        if kind == _OID:
            self._root(frame, path, raw, at, encode)
            return
        if kind == _TELECOM:
            scheme = _SCHEME.match(raw)
            kind = _SCHEMES.get(scheme[1].lower(), "PHONE") if scheme else "EMAIL" if "@" in raw else "PHONE"
            if scheme and kind != "URL":
                at += scheme.end()
                raw = raw[scheme.end() :]
            at += len(raw) - len(raw.lstrip())
            raw = raw.strip()
            end = at + len(raw)
            if not raw:
                return
        if kind in CATEGORIES or kind == TEXT:
            self._value(frame, kind, path, raw, at, encode)
        else:
            if kind == KEEP and key == "@code" and self._is_system(frame.said.get("@codeSystem", "")):
                self.codes.add(raw)
            self._other(kind, Place(path, at, end, KEEP, raw, encode), examined=frame.blocked)

    def _value(self, frame: _Frame, kind: str, path: str, raw: str, at: int, encode: _Encode) -> None:
        """Add free text or an identifier in an attribute."""
        end = at + len(raw)
        if kind == "DATE" and (found := INSTANT.match(raw)) and read_as(kind, raw) == kind:
            day = iso(found[1])
            lead = found.start(1)
            write = functools.partial(_encode_date, encode)
            self.places.append(Place(path, at + lead, end, kind, day, write))
            if path.endswith(tuple(self.table.facts["known_dates"])):
                self.known["DATE", day] = None
            return
        text, starts = decoded(raw, SPECIAL_INSIDE)
        if kind not in (TEXT, "DATE") and path.endswith("/@extension"):
            root = frame.said.get("@root", "")
            kind = self.table.facts["roots"].get(root, kind)
            if _PLAIN.sub("", path).startswith(f"{self.table.facts['patient']}/@"):
                self._number(text, at, second=root in self.table.facts["roots"])
        if kind == TEXT:
            self.last = len(self.places)
        else:
            kind = read_as(kind, text)
            self._know(kind, text)
        self.places.append(Place(path, at, end, kind, text, encode, starts))

    def _root(self, frame: _Frame, path: str, raw: str, at: int, encode: _Encode) -> None:
        """Add the number of an authority or, where no other stands beside it, of what the element is about."""
        alone = not frame.said.get("@extension")
        if raw.startswith(self.standards) or raw in self.table.facts["roots"]:
            return
        if path.endswith("/@codeSystem") and self._is_system(raw):
            return
        own = frame.rules.get("@extension")
        text, starts = decoded(raw, SPECIAL_INSIDE)
        if alone and isinstance(own, str) and own in CATEGORIES and own != "IDNUM":
            self._value(frame, own, path, raw, at, encode)
            if _PLAIN.sub("", path).startswith(f"{self.table.facts['patient']}/@"):
                self._number(text, at, second=True)
        else:
            self.links.append(Place(path, at, at + len(raw), "IDNUM", text, encode, starts))

    def _is_system(self, said: str) -> bool:
        """Tell whether a code system is a standard's: by its number, or by a name in its place; none of places is."""
        if said in self.table.facts["place_systems"]:
            return False
        return (
            said.startswith(self.systems)
            or said.upper() in self.table.facts["system_names"]
            or (_HL7_TABLE.match(said) is not None)
        )

    def _number(self, text: str, at: int, *, second: bool) -> None:
        """Add a number of the patient; those of second choice come when there is no other."""
        if any(map(str.isdigit, text)):  # else it says that there is none
            self.numbers.append((second, text.strip(), at))

    # the record

    def record(self, data: bytes) -> Record:
        """Return the record of the places that were found."""
        facts = self.table.facts
        dated: dict[str, str] = {}
        for place in self.places:
            if place.kind == "DATE" and (path := _PLAIN.sub("", place.path)) in facts["date"]:
                dated.setdefault(path, place.text)
        self._sweep()
        self._settle_headings()
        persons = self._persons()
        return assemble(
            data,
            self.source,
            self.charset,
            self.places,
            known=self.known,
            patient=next((one.key for one in persons if one.key is not None), None),
            date=next((day for path in facts["date"] if path in dated and (day := day_of(dated[path]))), None),
            links=self.links,
            whose=self._whose(persons) if len(persons) > 1 else (),
            sexes={word: sex for person, said in self.said_sex.items() for word, sex in self._sexes(person, said)},
            codes=self.codes,
        )

    def _persons(self) -> list[_Patient]:
        """Return the patients: one whose names and birth date are another's is that one, registered once more."""
        found: list[_Patient] = []
        for start, end in self.targets:
            numbers = sorted((second, number) for second, number, at in self.numbers if start <= at < end)
            names = self._words(start, end, self.table.facts["patient_name"])
            birth = tuple(self.table.facts["known_dates"])
            births = {p.text for p in self.places if start <= p.start < end and p.path.endswith(birth)}
            key = numbers[0][1] if numbers else None
            again = [one.key for one in found if names and (names, births) == (one.names, one.births)]
            found.append(_Patient(start, end, names, births, again[0] if again else key))
        return found

    def _words(self, start: int, end: int, path: str = "") -> frozenset[str]:
        """Return the words of names of patients and relatives in a stretch, of one path if that is said."""
        of_person = [p for p in self.places if p.kind == "PATIENT" and start <= p.start < end]
        inside = [p.text for p in of_person if _PLAIN.sub("", p.path).startswith(path)]
        return frozenset(word for text in inside for word in text.lower().split())

    def _whose(self, persons: Sequence[_Patient]) -> list[tuple[int, str | None]]:
        """Return where what belongs to each patient begins: the own recordTarget, and what has one for a subject."""
        ranges = [(start, end, key) for start, end, *_, key in persons]
        for start, end, subject in self.about:
            names = self._words(*subject)
            own = [one for one in persons if names and names <= one.names]
            if len(own) == 1:
                ranges.append((start, end, own[0].key))
        ranges.sort(key=lambda one: (one[0], -one[1]))
        found: list[tuple[int, str | None]] = []
        above: list[tuple[int, str | None]] = [(len(self.source), None)]
        for start, end, key in [*ranges, (len(self.source), len(self.source), None)]:
            while len(above) > 1 and above[-1][0] <= start:
                stop, _ = above.pop()
                found.append((stop, above[-1][1]))
            found.append((start, key))
            above.append((end, key))
        return found

    def _sexes(self, person: str, said: str) -> Iterator[tuple[str, str]]:
        """Yield the given names of a person, each with the sex."""
        for path, given in self.given:
            if path.startswith(f"{person}name"):
                yield from sexes_of(given, said).items()

    def _settle_headings(self) -> None:
        """Let stay as they are texts that headings alone are made of."""
        known = {word for _, value in self.known for word in _HEADING.split(value.lower())}
        usual = words_of(self.table.facts["headings"]) - known
        joins = False
        for number, place in enumerate(self.places):
            if place.kind == TEXT:
                words = [word for word in _HEADING.split(place.text.lower()) if word]
                if not (joins or place.joins) and usual.issuperset(words):
                    self.places[number] = place.varied(encode=None)
                joins = place.joins

    def _sweep(self) -> None:
        """Make places of known identifiers in what would be kept."""
        plain = [place for place in self.kept if "&" not in place.text]
        starts = [place.start for place in plain]
        for start, end, category in sweep(self.source, [(place.start, place.end) for place in plain], self.known):
            place = plain[bisect_right(starts, start) - 1]
            self.places.append(Place(place.path, start, end, category, self.source[start:end], place.encode))
        for place in self.kept:
            if "&" in place.text:
                self._sweep_entities(place)

    def _sweep_entities(self, place: Place) -> None:
        """Find known identifiers in a kept stretch some of whose characters are written as entities."""
        text, where = (place.text, None) if place.encode == self.codec.data else decoded(place.text, SPECIAL_INSIDE)
        for start, end, category in sweep(text, [(0, len(text))], self.known):
            inside = [(n, n + 1) for n in range(start, end)] if where is None else where[start:end]
            first, last = inside[0][0], inside[-1][1]
            moved = [(a - first, b - first) for a, b in inside]
            begin, stop = place.start + first, place.start + last
            self.places.append(Place(place.path, begin, stop, category, text[start:end], place.encode, moved))


_PLAIN = re.compile(r"\[[0-9]+\]")
_HEADING = re.compile(r"(?:'s)?[\s/(),:;.&-]+")


_Encode = Callable[[str, Place, Sequence[Change]], str]


def _wrong(what: str, path: str) -> FormatError:
    return FormatError(what, _HINT, "", path)


def _encode_date(encode: _Encode, raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return a date: the time of day stays where a whole day does."""
    new = instant(raw, place, changes)
    return encode("", place.varied(starts=None), [(0, 0, changed(place.text, changes))]) if new is None else new


def _encode_base64(charset: str, raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return a text in base64."""
    return packed(changed(place.text, changes), charset)
