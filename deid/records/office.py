"""Office documents (DOCX, ODT), read as places: packages of XML parts, whose texts are replaced where they stand.

The characters of such a record are those of its members, one behind the other: the XML of each part that has words, the
checksum of every other member. So what nobody may touch is compared by `Record.frames` as the rest is, and what is
replaced is packed again member by member (`deid.records.zip_members`).

A paragraph is one text over its runs, however often they are cut by spelling, formatting or tracked changes. Where
words were deleted, the paragraph is read a second time as it was before. Tables: ``dictionaries/records/docx.toml``,
``odt.toml``; what no line names is blocked.

Formats: ISO/IEC 29500-1 (WordprocessingML, DrawingML) and 29500-2 (Open Packaging Conventions); OASIS OpenDocument 1.3,
parts 2 and 3.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from deid.base.errors import FormatError
from deid.phi import CATEGORIES
from deid.records.blanks import blank
from deid.records.markup import mark_of
from deid.records.record import BLOCKED, TEXT, Change, ChangeMark, Place, Record, assemble, changed
from deid.records.sweeping import known_of
from deid.records.tables import KEEP, Inner, Rule, Table
from deid.records.xml_positions import SPECIAL_INSIDE, TOKEN, XmlCodec, codec_of, decoded, written
from deid.records.zip_members import Member, kind_of, packed, unpacked

_VALUE, _LABEL, _HEAD, _COUNT, _MEMBER, _TARGET = "value", "label", "head", "count", "member", "target"
_AMOUNT = "amount"
_ID = "id"
REMOVED, _INSTANT, _DATED, _INSTRUCTION, _DELETED, _SETTING = (
    "removed",
    "instant",
    "dated",
    "instruction",
    "deleted",
    "setting",
)
_NUMBER = r"[-+]?(?:[0-9]{1,10}(?:\.[0-9]*)?|\.[0-9]+)(?:%|[a-z]{1,2})?"
SHAPED = re.compile(
    rf"{_NUMBER}(?:[\s,;]+{_NUMBER})*"
    r"|#?[0-9A-Fa-f]{1,8}|\{?[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}?"
    r"|[a-z]{1,30}(?:[A-Z0-9][a-z0-9]{0,30}){0,8}|[A-Za-z]|r?[Ii]d[0-9]{1,6}|[a-z]{2,3}-[A-Z]{2}|[^A-Za-z0-9]{1,8}"
)
"""Numbers with units, colours, ids, and words of a standard: one word, small at its beginning."""
_NO_DAY = "1970-01-01T00:00:00"
"""What LibreOffice writes where it removes the day of a change; a change without one it does not read."""
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
FIELD = re.compile(
    r"\s*(?:(?:PAGE|NUMPAGES|NUMWORDS|NUMCHARS|SECTION|SECTIONPAGES|DATE|TIME|TOC|FORMTEXT|FORMCHECKBOX|FORMDROPDOWN"
    r"|REF|PAGEREF|NOTEREF|SEQ|LISTNUM|AUTONUM|CREATEDATE|SAVEDATE|PRINTDATE|EDITTIME|AUTHOR|TITLE|SUBJECT|LASTSAVEDBY"
    r"|FILENAME|HYPERLINK|MERGEFORMAT|Arabic|roman|Table|Figure|_(?:Toc|Ref|Hlk)[0-9]+"
    r"|\\[*@#a-z!]|[0-9]{1,2}(?:-[0-9]{1,2})?|\"[0-9]{1,2}-[0-9]{1,2}\"|\"[dMyHhms/.,: -]{1,30}\")(?=\s|\Z)\s*)*"
)
"""Instructions of fields that hold no word of anybody's."""
_WORD = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+")
_PATH = re.compile(r"/?[\w.\[\]/ -]+")
_DEPTH = 400
MOST_PLACES, _MOST_SPACES, _MOST_TAGS = 500_000, 1000, 20_000
_NO_SPACES: Mapping[str, str] = {}
_PARAGRAPHS = "paragraphs"
_CHECKSUM = "="


@dataclass(frozen=True, slots=True)
class PackagePart:
    """A member of a package that has words: its characters, and the codec that makes bytes of them."""

    name: str = field(repr=False)
    text: str = field(repr=False)
    charset: str


def read(data: bytes, members: Sequence[Member], parts: Mapping[str, PackagePart], table: Table) -> Record:
    """Read a document.

    Parameters
    ----------
    data : bytes
        The package.
    members : sequence of Member
    parts : mapping of str to Part
        Those of them that have words; well-formed, without DOCTYPE.
    table : Table
        What stands where.

    Raises
    ------
    FormatError
        When it cannot be read as it says it is; names the part, and no text.
    """
    pieces: list[str] = []
    where: list[tuple[int, str, int, int]] = []
    places: list[Place] = []
    at = 0
    for member in members:
        kind = kind_of(table, member.name)
        pieces.append(f"\0{member.name}\0")
        at += len(member.name) + 2
        part = parts.get(member.name)
        if part is not None:
            pieces.append(part.text)
            where.append((kind.rank, member.name, at, at + len(part.text)))
        else:
            pieces.append(_CHECKSUM + hashlib.sha256(unpacked(data, member)).hexdigest())
            if kind.kind in ("blank", "empty") and member.size:
                places.append(Place(member.name, at, at + len(pieces[-1]), BLOCKED))
        at += len(pieces[-1])
    source = "".join(pieces)
    reader = PackageReader(source, table, frozenset(member.name for member in members))
    for _, name, start, end in sorted(where):
        reader.part(name, start, end, parts[name].charset)
    charsets = {name: part.charset for name, part in parts.items()}
    return assemble(
        data,
        source,
        functools.partial(_packed, tuple(members), charsets),
        [*reader.places, *places],
        known=reader.known,
        links=reader.links,
        marks=reader.marks,
    )


def _packed(members: Sequence[Member], charsets: Mapping[str, str], data: bytes, source: str, new: str) -> bytes:
    """Return the package of new characters."""
    new_parts: dict[str, bytes] = {}
    before, after = source.split("\0"), new.split("\0")
    for member, old, now in zip(members, before[2::2], after[2::2], strict=True):
        if now == old:
            continue
        charset = charsets.get(member.name)
        new_parts[member.name] = blank(member.name) if charset is None else now.encode(charset)
    return packed(data, members, new_parts)


class Attribute(NamedTuple):
    """An attribute that is not kept: what it is, and where it and its value stand from the beginning of its tag."""

    kind: str
    name: str
    raw: str
    begin: int
    at: int
    end: int
    double: bool | None
    """Whether double quotes stand around the value; None where there are none."""


class Tag(NamedTuple):
    """What a start tag says."""

    name: str
    attributes: tuple[Attribute, ...]
    said: Mapping[str, str]
    spaces: Mapping[str, str]
    text: Rule | None
    element: Rule | None


class OpenElement(NamedTuple):
    """An open element."""

    tag: Tag
    start: int
    first: int
    """Number of places when it began."""


class ParagraphRun(NamedTuple):
    """A piece of a paragraph."""

    start: int
    end: int
    data: bool
    path: str
    deleted: bool
    inserted: bool
    context: bool = False


class Paragraph:
    """The runs of a paragraph, and what stands between them."""

    __slots__ = ("behind", "codes", "runs")

    def __init__(self) -> None:
        self.runs: list[ParagraphRun] = []
        self.behind: list[str] = []
        self.codes: list[tuple[int, int]] = []


class PackageReader:
    """The parts of one document while they are read."""

    def __init__(self, source: str, table: Table, names: frozenset[str]) -> None:
        self.source, self.table, self.names = source, table, names
        facts = table.facts
        self.namespaces: Mapping[str, str] = facts["namespaces"]
        self.prefixes = frozenset(facts["namespaces"].values())
        self.paragraphs, self.cells, self.rows = (frozenset(facts[n]) for n in (_PARAGRAPHS, "cells", "rows"))
        self.deletions, self.insertions = frozenset(facts["deletions"]), frozenset(facts["insertions"])
        self.breaks: Mapping[str, str] = facts["breaks"]
        self.spaced = frozenset(facts["spaced"])
        self.software = frozenset(facts["software"])
        self.looks = tuple(f"@{prefix}" for prefix in facts["looks"])
        self.authorities = tuple(facts["authorities"])
        self.usual = frozenset(facts["usual"].split())
        self.raising: Mapping[str, Sequence[str]] = facts.get("raising", {})
        self.styles: set[str] = set()  # those that raise words
        self.raised = False
        anywhere = table.of_type(facts["anywhere"])
        assert isinstance(anywhere, Inner)
        self.anywhere: Mapping[str, Rule] = table.parts(anywhere)
        self.tags: dict[tuple[int, str], Tag] = {}
        self.spaces: list[Mapping[str, str]] = []
        """All that were met: they stay alive, so that no other can come to have the id of one."""
        self.places: list[Place] = []
        self.marks: list[ChangeMark] = []
        self.links: list[Place] = []
        self.known: dict[tuple[str, str], None] = {}
        self.codec: XmlCodec = codec_of("utf-8")
        self.name, self.count = "", 0

    def part(self, name: str, begin: int, end: int, charset: str) -> None:
        """Find the places of a part.

        Raises
        ------
        FormatError
            When it has too many pieces of text, or elements nested too deep.
        """
        self.name, self.codec, self.count = name, codec_of(charset), 0
        source = self.source
        frames: list[OpenElement] = []
        open_: list[Paragraph] = []
        skip = deleted = inserted = 0
        at = begin
        for token in TOKEN.finditer(source, begin, end):
            start, stop = token.span()
            if len(self.places) > MOST_PLACES:
                raise FormatError(f"more than {MOST_PLACES:,} pieces of text", "split the document", "", name)
            if at < start and frames and not skip:
                self._characters(frames, open_, at, start, deleted > 0, inserted > 0, data=False)
            at = stop
            tag_name = token["name"]
            if tag_name is not None:
                if len(frames) >= _DEPTH:
                    raise FormatError("elements are nested too deep", "leave the document out", "", name)
                tag = self._tag(token, tag_name, frames[-1].tag.spaces if frames else _NO_SPACES)
                if not skip and tag.element == BLOCKED and frames:
                    if token["empty"]:
                        if tag.said:
                            self._block(tag.name, start, stop)
                        continue
                    skip = len(frames) + 1
                frames.append(OpenElement(tag, start, len(self.places)))
                if not skip:
                    for attribute in tag.attributes:
                        self._attribute(tag, attribute, start)
                    if tag.name in self.paragraphs:
                        open_.append(Paragraph())
                        self.count += 1
                    elif open_ and (sign := self.breaks.get(tag.name)) and open_[-1].runs:
                        open_[-1].behind[-1] += sign
                    if tag.name in self.raising:
                        self._raise(tag, frames)
                deleted += tag.name in self.deletions
                inserted += tag.name in self.insertions
                if not token["empty"]:
                    continue
            elif token["data"] is not None:
                if frames and not skip and token["data"]:
                    self._characters(frames, open_, *token.span("data"), deleted > 0, inserted > 0, data=True)
                continue
            elif token["comment"] is not None or token["told"] is not None:
                if not skip and not (token["told"] or "").startswith("xml "):
                    self._block("#aside", start, stop)
                continue
            frame = frames.pop()
            name_ = frame.tag.name
            deleted -= name_ in self.deletions
            inserted -= name_ in self.insertions
            if skip:
                if len(frames) < skip:
                    skip = 0
                    self._block(name_, frame.start, stop)
                continue
            if name_ in self.paragraphs and open_:
                self._flush(open_.pop())
            elif name_ in self.cells:
                end_with(self.places, frame.first, "\t")
            elif name_ in self.rows:
                end_with(self.places, frame.first, "\n")

    def _raise(self, tag: Tag, frames: Sequence[OpenElement]) -> None:
        """Take note that what follows is raised, as exponents and marks of notes are, or what has this style."""
        attribute, value, named = self.raising[tag.name]
        said = tag.said.get(attribute, "")
        if named and len(frames) > 1 and said.startswith(value):
            self.styles.add(frames[-2].tag.said.get(named, ""))
        elif not named:
            self.raised = said.startswith(value) if value else not attribute or said in self.styles

    def decode(self, raw: str) -> tuple[str, Sequence[tuple[int, int]] | None]:
        """Return the characters that raw ones stand for, and where each stands; None for each at its own place."""
        return decoded(raw, SPECIAL_INSIDE)

    def quoted(self, one: Attribute) -> Callable[[str, Place, Sequence[Change]], str]:
        """Return what writes the value of an attribute."""
        return self.codec.double if one.double else self.codec.single

    def _block(self, path: str, start: int, end: int, *, examined: bool = True) -> None:
        self.places.append(Place(f"{self.name}/{path}", start, end, BLOCKED, examined=examined))

    # tags

    def _tag(self, token: re.Match[str], name: str, spaces: Mapping[str, str]) -> Tag:
        """Return what a start tag says; most are of a few kinds."""
        key = id(spaces), token[0]
        if (found := self.tags.get(key)) is not None:
            return found
        attributes, own = written(token)
        if own:
            spaces = {**spaces, **own}
            self.spaces.append(spaces)
            if len(self.spaces) > _MOST_SPACES:
                raise FormatError("namespaces are declared too often", "leave the document out", "", self.name)
        name = self._name(name, spaces, "")
        rules = self.table.rules(name)
        unknown = name.startswith("?")
        said: dict[str, str] = {}
        kinds: list[Attribute] = []
        for called, raw, start, at, double in attributes:
            if not raw:
                continue
            prefix = called.partition(":")[0]
            if prefix == "xmlns":
                uri = own[called[6:]]
                kind, shown = (KEEP if self._of_program(uri) else TEXT), "@xmlns"
            else:
                shown = f"@{self._name(called, spaces, None)}"
                said[shown] = decoded(raw, SPECIAL_INSIDE)[0]
                rule = rules.get(shown) or self.anywhere.get(shown)
                if rule is None and shown.startswith(self.looks):
                    rule = KEEP
                elif rule is None:
                    rule = BLOCKED if unknown or shown.startswith("@?") else _VALUE
                    shown = shown if rule == _VALUE else "@?"
                kind = str(rule)
            if kind != KEEP:
                kinds.append(Attribute(kind, shown, raw, start, at, at + len(raw), double))
        attributes_ = tuple([a for a in kinds if not (a.kind == _VALUE and SHAPED.fullmatch(a.raw))])
        element = rules.get("#element")
        text = rules.get("#text") or (BLOCKED if unknown else None)
        found = Tag(name, attributes_, said, spaces, text, element)
        if len(self.tags) < _MOST_TAGS:
            self.tags[key] = found
        return found

    def _name(self, name: str, spaces: Mapping[str, str], default: str | None) -> str:
        """Return a name as the table writes it; ``?`` before one of a namespace that it does not know."""
        prefix, colon, local = name.rpartition(":")
        if not colon and default is None:
            return name
        if prefix == "xml":
            return name
        short = self.namespaces.get(spaces.get(prefix, ""))
        return f"?{local}" if short is None else f"{short}{local}"

    def _attribute(self, tag: Tag, one: Attribute, start: int) -> None:
        begin, at, end = start + one.begin, start + one.at, start + one.end
        path = f"{self.name}/{tag.name if tag.name[0] != '?' else '?'}/{one.name}"
        kind = one.kind
        encode = self.quoted(one)
        text, starts = self.decode(one.raw)
        kind, text_kept = self._settled(kind, text, tag.said)
        if kind == KEEP:
            return
        if kind == _INSTANT:
            whole = self.source[begin - 1].isspace()
            self._instant(path, begin - whole, end + 1, at, text_kept)
        elif kind == REMOVED:
            self.places.append(Place(path, begin - 1, end + 1, BLOCKED, examined=one.name != "@?"))
        elif kind == BLOCKED:
            self.places.append(Place(path, at, end, BLOCKED, examined=one.kind == BLOCKED and "?" not in one.name))
        elif kind == _ID:
            begin, stop = self._stretch(text, starts, text_kept)
            self.links.append(Place(path, at + begin, at + stop, "IDNUM", f"#{text_kept}"))
        elif kind == TEXT:
            behind = ": " if one.kind == _HEAD else "\n"
            self.places.append(Place(path, at, end, TEXT, text, encode, starts, behind=behind))
        else:
            self._identifier(kind, path, at, one, text_kept)

    def _identifier(self, kind: str, path: str, at: int, one: Attribute, value: str) -> None:
        """Add an identifier that is a value or stands in it; what is behind it there goes, what is before it stays."""
        text, starts = self.decode(one.raw)
        lead = text.index(value)
        tail = lead + len(value)
        begin, end = self._stretch(text, starts, value)
        inside = None if starts is None else [(a - begin, b - begin) for a, b in starts[lead:tail]]
        self.places.append(Place(path, at + begin, at + end, kind, value, self.quoted(one), inside))
        if tail < len(text):
            self.places.append(Place(path, at + end, at + len(one.raw), BLOCKED, examined=True))
        self._know(kind, value)

    @staticmethod
    def _stretch(text: str, starts: Sequence[tuple[int, int]] | None, value: str) -> tuple[int, int]:
        """Return where a value that stands in a text begins and ends among the characters written for it."""
        lead = text.index(value)
        tail = lead + len(value)
        return (lead, tail) if starts is None else (starts[lead][0], starts[tail - 1][1])

    @staticmethod
    def _few_digits(text: str) -> bool:
        """Tell whether a name holds fewer digits than a number of a person may have."""
        return len(re.findall(r"[0-9]", text)) < 10

    def _settled(self, kind: str, text: str, said: Mapping[str, str]) -> tuple[str, str]:
        """Return what a value is by what it holds: kept, blocked, free text or an identifier; and what of it is one."""
        if kind in CATEGORIES:
            return (KEEP if text.strip() in self.software else kind), text
        if kind == _HEAD:
            return TEXT, text
        if kind == _LABEL:
            words = _WORD.findall(text)
            return (KEEP if self._few_digits(text) and self.usual.issuperset(words) else TEXT), text
        if kind == _ID:  # of a style: made of its name, without the blanks
            usual = self._few_digits(text) and self.usual.issuperset(_CAMEL.findall(text))
            return (KEEP if usual else kind), text
        if kind == _COUNT:
            return (KEEP if re.fullmatch(r"[0-9]{1,4}|true|false", text.strip()) else "IDNUM"), text
        if kind in (_VALUE, _SETTING, _AMOUNT):
            long = kind == _AMOUNT and re.fullmatch("[0-9]{5,}", text.strip())
            if not text.strip() or (not long and SHAPED.fullmatch(text.strip())) or self._of_program(text):
                return KEEP, text
            return (BLOCKED if kind == _SETTING else TEXT), text
        if kind == _MEMBER:
            name = text.lstrip("/")
            return (KEEP if name in self.names or any(n.startswith(name) for n in self.names) else BLOCKED), text
        if kind == _TARGET:
            return self._target(text, said)
        if kind == _INSTRUCTION:
            return (KEEP if FIELD.fullmatch(text) else BLOCKED), text
        return kind, text

    def _of_program(self, uri: str) -> bool:
        """Tell whether a name is of a namespace of programs, not of a site."""
        return uri in self.namespaces or (uri.startswith(self.authorities) and not re.search(r"\s", uri))

    def _target(self, text: str, said: Mapping[str, str]) -> tuple[str, str]:
        """Return what a link leads to: a part of the document, a place in it, or something outside."""
        inside = _PATH.fullmatch(text) is not None and said.get("@TargetMode") != "External"
        tail = text.removeprefix("./").lstrip("/").rpartition("../")[2].rstrip("/")
        if inside and any(f"/{name}".endswith(f"/{tail}") or name.startswith(f"{tail}/") for name in self.names):
            return KEEP, text
        if text.startswith("#"):  # a heading is named by its words, anything else by its id
            return self._settled(_LABEL, text, said) if "|" in text else self._settled(_ID, text[1:], said)
        scheme = re.match(r"\s*(mailto|tel|sms|fax)\s*:\s*(?=\S)", text, re.IGNORECASE)
        if scheme is None:
            return "URL", text
        address = re.split(r"[?;]", text[scheme.end() :], maxsplit=1)[0].strip()
        if not address:
            return "URL", text
        return ("EMAIL" if scheme[1].lower() == "mailto" else "PHONE"), address

    def _know(self, kind: str, value: str) -> None:
        """Take note of a person who is named in full, to be found in the text."""
        if kind in self.table.facts["known"] and len(_WORD.findall(value)) > 1:
            self.known |= dict.fromkeys(known_of(kind, value))

    def _instant(self, path: str, begin: int, end: int, day_at: int, text: str, else_: str = "") -> None:
        """Add a day with its time; where its form cannot be kept it goes with all around it, or is said otherwise."""
        if _DAY.match(text) is None or (day := self.source[day_at : day_at + 10]) != text[:10]:
            self.places.append(Place(path, begin, end, BLOCKED, examined=True))
        else:
            encode = functools.partial(_encode_instant, day_at - begin, else_)
            self.places.append(Place(path, begin, end, "DATE", day, encode))

    # text

    def _characters(
        self,
        frames: Sequence[OpenElement],
        open_: Sequence[Paragraph],
        start: int,
        end: int,
        deleted: bool,
        inserted: bool,
        *,
        data: bool,
    ) -> None:
        frame = frames[-1]
        tag = frame.tag
        rule = tag.text
        if rule in (TEXT, _DELETED) and open_:
            run = ParagraphRun(start, end, data, f"{self.name}/{self.count}", deleted or rule == _DELETED, inserted)
            if self.raised and open_[-1].runs and not open_[-1].behind[-1] and mark_of(self.source, start, end):
                open_[-1].behind[-1] = " "
            self.raised = False
            open_[-1].runs.append(run)
            open_[-1].behind.append("")
            if tag.name in self.spaced and "@xml:space" not in tag.said:
                at = self.source.index(">", frame.start)
                self.marks.append(ChangeMark(frame.start, end, at, ' xml:space="preserve"'))
            return
        raw = self.source[start:end]
        stripped = raw.strip()
        if not stripped or rule == KEEP:
            return
        if rule == _INSTRUCTION and open_:
            open_[-1].codes.append((start, end))
            return
        if rule in (_INSTANT, _DATED):
            stop = self.source.index(">", end) + 1
            lead = start + len(raw) - len(raw.lstrip())
            else_ = f"{self.source[frame.start : start]}{_NO_DAY}{self.source[end:stop]}" if rule == _DATED else ""
            self._instant(f"{self.name}/{tag.name}", frame.start, stop, lead, stripped, else_)
            return
        start += len(raw) - len(raw.lstrip())
        end = start + len(stripped)
        path = f"{self.name}/{tag.name if tag.name[0] != '?' else '?'}"
        encode = self.codec.data if data else self.codec.text
        text, starts = (stripped, None) if data else self.decode(stripped)
        kind = str(rule) if rule is not None else _SETTING
        kind, _ = self._settled(TEXT if kind == _DELETED else kind, text, tag.said)
        if kind == BLOCKED:
            self.places.append(
                Place(path, start, end, BLOCKED, examined=rule in (BLOCKED, _SETTING) and tag.name[0] != "?")
            )
        elif kind != KEEP:
            self.places.append(Place(path, start, end, kind, text, encode, starts))
            self._know(kind, text)

    def _flush(self, paragraph: Paragraph) -> None:
        """End a paragraph: its words as they are now, and as they were before somebody deleted some."""
        self._codes(paragraph.codes)
        runs = list(zip(paragraph.runs, paragraph.behind, strict=True))
        self._joined([(run, behind) for run, behind in runs if not run.deleted])
        if any(run.deleted for run, _ in runs):
            before = [(run._replace(context=not run.deleted), behind) for run, behind in runs]
            self._joined([(run, behind) for run, behind in before if run.deleted or not run.inserted])

    def _codes(self, codes: Sequence[tuple[int, int]]) -> None:
        """Block the instructions of a paragraph's fields where one of them says something of its own."""
        if codes and not FIELD.fullmatch(" ".join([decoded(self.source[a:b], SPECIAL_INSIDE)[0] for a, b in codes])):
            for start, end in codes:
                self._block("#instruction", start, end)

    def _joined(self, runs: Sequence[tuple[ParagraphRun, str]]) -> None:
        for number, (run, behind) in enumerate(runs, 1):
            raw = self.source[run.start : run.end]
            text, starts = (raw, None) if run.data else self.decode(raw)
            encode: Callable[[str, Place, Sequence[Change]], str] | None = (
                None if run.context else self.codec.data if run.data else self.codec.text
            )
            joins = number < len(runs)
            self.places.append(
                Place(
                    run.path, run.start, run.end, TEXT, text, encode, starts,
                    behind=behind if joins else "\n", joins=joins,
                )
            )  # fmt: skip


def end_with(places: list[Place], first: int, sign: str) -> None:
    """Let the last place of a cell or a row, which began at a place, end as one does."""
    for number in range(len(places) - 1, first - 1, -1):
        if places[number].kind == TEXT:
            places[number] = places[number].varied(behind=sign)
            return


def _encode_instant(lead: int, else_: str, raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return an attribute or element with another day; what is said otherwise where no whole day is left."""
    new = changed(place.text, changes)
    return raw[:lead] + new + raw[lead + len(new) :] if _DAY.fullmatch(new) else else_
