"""Messages of HL7 v2, read as places: separators as the message says, escapes decoded, nothing serialized again.

A record is a message, or the header or trailer of a batch or a file. What its fields are stands in
``dictionaries/records/hl7v2.toml``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

from deid.base.errors import DeidError, EncodingError
from deid.phi import CATEGORIES
from deid.records.embedded import unpacked
from deid.records.hl7v2_codec import CHECKS, HINT, Following, codec_of, wrong
from deid.records.hl7v2_lists import (
    DAY,
    HL7_TABLE,
    LONGEST_CODE,
    NUMBER_OF_PERSON,
    is_beside_lists,
    is_stray,
    listed_as,
    stray,
)
from deid.records.readings import read_as
from deid.records.record import (
    BLOCKED,
    INSTANT,
    NAMES,
    TEXT,
    Place,
    Record,
    assemble,
    day_of,
    iso,
    known_of,
    sexes_of,
    sweep,
)
from deid.records.tables import (
    CODE,
    DATA,
    DISPLAY,
    KEEP,
    LISTED,
    NUMBER,
    By,
    Parts,
    Rule,
    Table,
    display_as,
    kept_as,
    kept_words,
    titles,
    words_of,
)

HEADS = ("MSH", "FHS", "BHS", "BTS", "FTS")
"""Segments that begin a record."""
BEGINNING = re.compile(rb"\A(?:\xef\xbb\xbf)?[\x0b\x1c\r\n]*(?:MSH|FHS|BHS)(?=[^\w\s][^\w\s]{1,5})")
"""How a file of messages begins; the bytes of MLLP around a message are no part of it."""
BORDER = re.compile(rb"\x1c\r|[\r\n\x1c\x0b](?=(?:MSH|FHS|BHS|BTS|FTS)[^\w\s])")
"""What ends a record: the end that MLLP sets, or the byte before the next one."""
BORDER_BYTES = 5
"""Bytes that tell a border."""
_ENDS = "\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What may end a segment, as it ends a line of a note: else all behind the first one would be fields of MSH."""
_LINE = re.compile(f"[^{_ENDS}]*")
_is_broken = re.compile(f"[{_ENDS}]").search
"""Tells whether a kept code goes over the end of a line: what stands behind it is no code."""
_HEAD_END = re.compile(
    rb"[\r\n]|(?:[\x0b\x0c\x1c-\x1e]|\xc2?\x85|\xe2\x80[\xa8\xa9])+(?=[A-Z][A-Z0-9]{2}[^A-Za-z0-9\s])"
)
"""Where the first segment ends, before the character set is known."""
_AROUND = _ENDS + " \ufeff"
_AROUND_BYTES = b"\r\n\x0b\x1c \xef\xbb\xbf"
_NAMING = HEADS[:3]  # segments that name the separators
_USUAL = "^~\\&"
_STATELESS = frozenset(("utf-8", "ascii", *(f"iso8859-{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 15)), "cp1252"))
"""Character sets in which what was decoded is written as it was."""
_SEGMENT = re.compile(r"[A-Z][A-Z0-9]{2}\Z")
_NOBODY = ("", 0, 0)
_LONGEST_KIND = 2
"""Letters of a code that says of what kind a name is."""
_WORDS = re.compile(r"[^\W\d_](?:[^\W\d_]|['. -])*\Z")
_CHECK, _SHAPE = "check", "shape"
_NULL = '""'
_PLAIN = re.compile(r"\[[0-9]+\]")


def split(data: bytes) -> Iterator[bytes]:
    """Yield the records of a file: what stands between them goes with the one before."""
    start = 0
    for found in BORDER.finditer(data):
        if not data[start : found.end()].strip(b"\r\n\x0b\x1c "):
            continue
        yield data[start : found.end()]
        start = found.end()
    if start < len(data):
        yield data[start:]


def read(data: bytes, table: Table, encoding: str = "utf-8") -> Record:
    """Read one record.

    Parameters
    ----------
    data : bytes
        From its header segment to the next one.
    table : Table
        What stands where.
    encoding : str
        Of messages that do not say theirs (MSH-18).

    Raises
    ------
    InputError
        When it cannot be read as it says it is; names the field, and no text.
    """
    message = _Message(data, table, encoding)
    message.read()
    return message.record()


class _Message:
    """One record while it is read."""

    def __init__(self, data: bytes, table: Table, encoding: str) -> None:
        self.data = data
        self.table = table
        self.systems = table.facts["coding_systems"]
        self.places: list[Place] = []
        self.persons: list[int] = []
        """Where each PID begins."""
        head = _HEAD_END.split(data.lstrip(_AROUND_BYTES), 1)[0].decode("latin-1")
        name = head[:3]
        if name not in HEADS:
            raise wrong("the message does not begin with MSH", "segment 1")
        self.sep = head[3:4]
        if not self.sep or self.sep.isalnum() or self.sep.isspace():
            raise wrong("the separator of fields is missing", f"{name}-1")
        signs = head[4:9].partition(self.sep)[0] if name in _NAMING else _USUAL
        if not signs or len({*signs, self.sep}) <= len(signs) or any(c.isalnum() or c.isspace() for c in signs):
            raise wrong("the separators inside of fields are missing", f"{name}-2")
        signs += _USUAL[len(signs) :]
        self.component, self.repetition, self.sub = signs[0], signs[1], signs[3]
        self.charset = self._charset(head, encoding) if name == "MSH" else encoding.partition(",")[0]
        try:
            self.source = data.decode(self.charset)
        except UnicodeError:
            raise EncodingError(
                "the message is not in the character set that it says",
                "repair MSH-18, or name the encoding of messages that say none with --encoding",
                position="MSH-18",
            ) from None
        self._ends = "\r\n" + "".join(end for end in _ENDS[2:] if end in self.source)
        if self.charset not in _STATELESS and self.source.encode(self.charset) != data:
            raise EncodingError("the message cannot be written as it was", "convert it to UTF-8", position="MSH-18")
        self.codec = codec_of(self.sep, signs[:4], self.charset)

    def _charset(self, head: str, encoding: str) -> str:
        fields = head.split(self.sep, 18)
        said = fields[17].partition(self.repetition)[0].strip() if len(fields) > 17 else ""
        if said not in self.table.charsets:
            raise EncodingError(
                "the character set is not known", "convert the message to UNICODE UTF-8 first", position="MSH-18"
            )
        if found := self.table.charsets[said]:
            return found
        for name in encoding.split(","):
            try:
                self.data.decode(name)
            except UnicodeError:
                continue
            return name
        return encoding.partition(",")[0]

    def read(self) -> None:
        """Find the places."""
        source, sep = self.source, self.sep
        begin = len(source) - len(source.lstrip(_AROUND))
        end = len(source.rstrip(_AROUND))
        # a line that does not begin a segment belongs to the field before it
        starts, ends = [begin], []
        for found in _segment_border(sep).finditer(source, begin, end):
            ends.append(found.start())
            starts.append(found.end())
        ends.append(end)
        seen: dict[str, int] = {}
        for number, (start, stop) in enumerate(zip(starts, ends, strict=True), 1):
            fields = source[start:stop].split(sep)
            name = fields[0]
            if not _SEGMENT.match(name):
                raise wrong("this is no segment", f"segment {number}")
            count = seen[name] = seen.get(name, 0) + 1
            if name == "PID":
                self.persons.append(start)
            if number == 1 and name == "MSH" and (len(fields) < 9 or not fields[8]):
                raise wrong("the message ends before its type", "MSH-9")
            self._segment(name, f"{name}[{count}]" if count > 1 else name, fields, start)

    def _segment(self, name: str, path: str, fields: list[str], at: int) -> None:
        rules = self.table.rules(name)
        first = 2 if name in _NAMING else 1  # the first separator of these is a field of its own
        at += len(name) + 1
        for number, raw in enumerate(fields[1:], first):
            if raw and raw != _NULL:
                rule = rules.get(number)
                if rule is None:
                    self.places.append(Place(f"{path}-{number}", at, at + len(raw), BLOCKED))
                elif rule == LISTED and len(raw) <= LONGEST_CODE and raw.isalnum():
                    pass
                elif rule != KEEP or _is_broken(raw):
                    self._field(rule, raw, at, f"{path}-{number}", fields)
                elif len(raw) > LONGEST_CODE and is_stray(raw, self.component, self.table):
                    self._kept(raw, at, f"{path}-{number}")
            at += len(raw) + 1

    def _field(self, rule: Rule, raw: str, at: int, path: str, fields: list[str]) -> None:
        if isinstance(rule, By):
            said = fields[rule.field] if len(fields) > rule.field else ""
            found = self.table.of_type(said)
            if found is None:
                self.places.append(Place(path, at, at + len(raw), BLOCKED))
                return
            rule = self._by_shape(raw) if found == _SHAPE else found
        if rule in (TEXT, NUMBER):
            assert isinstance(rule, str)
            self._leaf(rule, raw, at, path)  # a repetition in a text is a line of it
            return
        if rule == LISTED and not is_beside_lists(raw, self.component, self.repetition, self.table):
            return
        here = path
        for number, part in enumerate(raw.split(self.repetition), 1):
            if number > 1:
                here = f"{path}({number})"
            if part and part != _NULL:
                if isinstance(rule, Parts):
                    if rule.unnamed and self._is_misplaced(part, persons_alone=rule.numbered):
                        self._misplaced(part, at, here)
                    else:
                        self._parts(rule, part, at, here, self.component)
                elif rule == LISTED:
                    self._of_list(part, at, here)
                else:
                    assert isinstance(rule, str)
                    self._leaf(rule, part, at, here)
            at += len(part) + 1

    def _by_shape(self, raw: str) -> Rule:
        """Return what a value looks like whose type nobody says."""
        if self.component in raw:
            coded = self.table.of_type("CWE")
            assert coded is not None
            return coded
        return "DATE" if DAY.match(raw) else NUMBER  # what is no number is text

    def _parts(self, rule: Parts, raw: str, at: int, path: str, sep: str) -> None:
        """Take a repetition, or a component, apart."""
        pieces = raw.split(sep)
        done = 0
        for number, piece in enumerate(pieces, 1):
            if number > done and piece and piece != _NULL:
                inner, first, last = rule.parts.get(number, _NOBODY)
                here = f"{path}.{first or number}"
                if inner == LISTED:
                    inner = listed_as(piece, self.table.facts["list_words"])
                    if inner in (KEEP, TEXT) and number == 2 and self._is_given(piece, rule):
                        inner = str(rule.parts[1][0])
                elif inner == NUMBER and piece.isalpha() and len(piece) > _LONGEST_KIND:
                    inner = "IDNUM"  # no sentence stands in an amount: a lone word there is somebody's
                elif inner == DISPLAY:
                    inner = self._said(piece, pieces[number] if len(pieces) > number else "")
                if inner == KEEP and not _is_broken(piece):
                    if len(piece) > LONGEST_CODE and (shape := kept_as(CODE, piece)) in CATEGORIES:
                        self._leaf(shape, piece, at, here)
                    at += len(piece) + 1
                    continue
                if len(pieces) == 1 and inner == CODE and DAY.match(piece):
                    inner = "DATE"
                elif len(pieces) == 1 and inner == "IDNUM" and _WORDS.match(piece.replace(",", " ")):
                    inner = next((r for r, _, _ in [rule.parts.get(2, _NOBODY)] if r in NAMES), inner)  # a name alone
                if isinstance(inner, Parts):
                    self._parts(inner, piece, at, here, self.sub)
                elif inner == DATA:
                    self._data(pieces, piece, at, here)
                elif inner == _CHECK:
                    self._check(pieces, number, at, path)
                elif first < last:
                    # those before it, if any, are empty
                    begin, done = at - (number - first), last
                    self._leaf(str(inner), sep.join(pieces[first - 1 : last]).rstrip(sep), begin, here, sep)
                else:
                    self._leaf(str(inner), piece, at, here)
            at += len(piece) + 1

    def _is_given(self, piece: str, rule: Parts) -> bool:
        """Tell whether a given name stands behind the name of an organization, where a code says of what kind it is."""
        kinds = words_of(self.table.facts["list_words"])
        organization = rule.parts.get(1, _NOBODY)[0] in ("ORGANIZATION", "HOSPITAL")
        return organization and piece.isalpha() and len(piece) > _LONGEST_KIND and piece.lower() not in kinds

    def _kept(self, raw: str, at: int, path: str) -> None:
        """Make places of what is no code in a field that is kept."""
        if DAY.match(raw):
            self._leaf("DATE", raw, at, path)
        elif self._is_misplaced(raw):
            self._misplaced(raw, at, path)
        else:
            for number, piece in enumerate(raw.split(self.component), 1):
                if (kind := kept_words(piece)) != KEEP:
                    self._leaf(kind, piece, at, f"{path}.{number}")
                at += len(piece) + 1

    def _of_list(self, raw: str, at: int, path: str) -> None:
        """Make places of what no list has in a field of a list: a person, else each component for itself."""
        usual = self.table.facts["list_words"]
        kinds = [listed_as(piece, usual) for piece in raw.split(self.component)]
        if self._is_misplaced(raw) or kinds[:2] == [TEXT, TEXT]:
            self._misplaced(raw, at, path)
            return
        for number, (piece, kind) in enumerate(zip(raw.split(self.component), kinds, strict=True), 1):
            if kind != KEEP:
                self._leaf(kind, piece, at, f"{path}.{number}")
            at += len(piece) + 1

    def _said(self, words: str, system: str) -> str:
        """Return what the words of a code are, by the coding system behind them."""
        return display_as(words, of_standard=system in self.systems or HL7_TABLE.match(system) is not None)

    def _is_misplaced(self, raw: str, *, persons_alone: bool = False) -> bool:
        """Tell whether a person, or an identifier by its shape, stands where a code should: many messages are a field
        off. The second and third component of a code are its words and its coding system.
        """
        found = stray(self.component).search(raw)
        if found is None:
            return False
        said = found[1] or found[2]
        return not persons_alone if said is None else said.upper() not in self.table.facts["no_given_names"]

    def _misplaced(self, raw: str, at: int, path: str) -> None:
        """Make places of what stands in a wrong field: names are text as notes write them, family name first; with
        a degree or title behind them they are a person's without a doubt.
        """
        if any(piece.strip(". ").lower() in titles(behind=True) for piece in raw.split(self.component)[5:7]):
            person = self.table.of_type("XCN", "DOCTOR")
            assert isinstance(person, Parts)
            self._parts(person, raw, at, path, self.component)
            return
        named, begun = True, 0
        for number, piece in enumerate(raw.split(self.component), 1):
            if piece and piece != _NULL:
                here = f"{path}.{number}"
                is_word = bool(_WORDS.match(piece))
                named = named and (number == 1 or is_word)
                if named and is_word:
                    self._leaf(TEXT, piece, at, here)
                    if begun:
                        between = ", " if begun == 1 else " "
                        self.places[-2] = replace(self.places[-2], behind=between, joins=True)
                    begun += 1
                elif sum(map(str.isdigit, piece)) >= NUMBER_OF_PERSON:
                    self._leaf("IDNUM", piece, at, here)
                else:
                    self._leaf(CODE, piece, at, here)
            at += len(piece) + 1

    def _leaf(self, kind: str, raw: str, at: int, path: str, sep: str = "^") -> None:
        end = at + len(raw)
        if kind in (CODE, NUMBER):
            if self.component in raw and self._is_misplaced(raw):
                self._misplaced(raw, at, path)
                return
            kind = kept_as(kind, raw)
            if kind == KEEP:
                return
        if kind in ("", BLOCKED):
            self.places.append(Place(path, at, end, BLOCKED, examined=kind == BLOCKED))
        elif kind == KEEP:
            raise wrong("a line begins no segment", path)
        elif kind == "DATE" and (found := INSTANT.match(raw)) and read_as(kind, raw) == kind:
            self.places.append(Place(path, at + found.start(1), end, kind, iso(found[1]), self.codec.encode_date))
        else:
            text, starts = self.codec.decode(raw, path)
            if sep != "^":  # what replaces names knows the usual separators
                text = text.replace(sep, "^") if sep == self.sub else text.replace(sep, "^").replace(self.sub, "&")
            if text and not text.isspace():
                self.places.append(Place(path, at, end, read_as(kind, text), text, self.codec.encode, starts))

    def _data(self, pieces: Sequence[str], raw: str, at: int, path: str) -> None:
        """Read a document inside a message."""
        kind, subtype, encoding = (pieces[n].strip() if len(pieces) > n else "" for n in (1, 2, 3))
        plain = self.table.facts.get("plain_text", ())
        if not kind or not {kind.upper(), subtype.upper()} <= {*plain} or encoding not in ("A", "Base64", "Hex", ""):
            self.places.append(Place(path, at, at + len(raw), BLOCKED))
            return
        if encoding in ("A", ""):
            self._leaf(TEXT, raw, at, path)
            return
        text = unpacked(raw, self.charset, path, HINT, hexadecimal=encoding == "Hex")
        if text.strip():
            encode = self.codec.encode_hex if encoding == "Hex" else self.codec.encode_base64
            self.places.append(Place(path, at, at + len(raw), TEXT, text, encode))

    def _check(self, pieces: Sequence[str], number: int, at: int, path: str) -> None:
        """Let a check digit follow the number that it belongs to: the first component of those before it."""
        place = next((p for p in reversed(self.places) if p.path.startswith(f"{path}.")), None)
        scheme = CHECKS.get(pieces[number] if len(pieces) > number else "")
        digit, end = pieces[number - 1], at + len(pieces[number - 1])
        if place is not None and place.end == at - 1 and scheme is not None and place.text.isdecimal():
            inside = digit == place.text[-1] == scheme(place.text[:-1])
            if inside or digit == scheme(place.text):
                follow = Following(self.codec, None if inside else scheme)
                stretches = (place.start, place.end), (at, end)
                self.places[self.places.index(place)] = replace(place, encode=follow, stretches=stretches)
                return
        self.places.append(Place(f"{path}.{number}", at, end, BLOCKED, examined=True))

    def record(self) -> Record:
        """Return the record of the places that were found."""
        facts = self.table.facts
        wanted, dates, days = facts.get("known", ()), facts.get("known_dates", ()), facts.get("date", ())
        keys, numbers = facts.get("patient", ()), dict[str, list[Place]]()
        sexes, sex = facts.get("sexes", {}), dict[str, str]()
        known: dict[tuple[str, str], None] = {}
        dated: dict[str, str] = {}
        for place in self.places:
            if place.kind == "DATE":
                field = _first(place.path)
                if field.partition("[")[0] in dates:
                    known["DATE", place.text] = None
                if field in days:
                    dated.setdefault(field, place.text)
            elif place.kind in wanted:
                known |= dict.fromkeys(known_of(place.kind, place.text))
                if place.kind == "PATIENT" and (told := sexes.get(_PLAIN.sub("", _first(place.path)))):
                    self._know_sex(place, int(told), sex)
                if place.path.startswith("PID-") and (field := _first(place.path)) in keys:
                    numbers.setdefault(field, []).append(place)
        patient = next((self._patient(numbers[key]) for key in keys if key in numbers), None)
        whose = self._whose(patient) if len(self.persons) > 1 else ()
        self._sweep(known)
        return assemble(
            self.data,
            self.source,
            self.charset,
            self.places,
            known=known,
            patient=patient,
            date=next((day for key in days if key in dated and (day := day_of(dated[key]))), None),
            whose=whose,
            sexes=sex,
        )

    def _know_sex(self, place: Place, number: int, sexes: dict[str, str]) -> None:
        """Take note of the sex that a field of the segment says of the given names in a place."""
        line = _LINE.match(self.source, self._line_start(place.start))
        fields = line[0].split(self.sep, number + 1) if line else []
        if len(fields) > number:
            sexes.update(sexes_of(place.text.partition("^")[2].replace("^", " "), fields[number]))

    def _whose(self, first: str | None) -> list[tuple[int, str | None]]:
        """Return where what belongs to each patient begins: with a PID, but what stands before the first is its own."""
        keys = self.table.facts.get("patient", ())
        found = [(0, first)]
        for number, start in enumerate(self.persons[1:], 2):
            numbers: dict[str, list[Place]] = {}
            for place in self.places:
                if place.path.startswith(f"PID[{number}]-") and (
                    (field := _first(place.path).replace(f"[{number}]", "")) in keys
                ):
                    numbers.setdefault(field, []).append(place)
            found.append((start, next((self._patient(numbers[key]) for key in keys if key in numbers), None)))
        return found

    def _sweep(self, known: Iterable[tuple[str, str]]) -> None:
        """Make places of known identifiers in what would be kept."""
        kept = []
        read = 0
        for place in sorted(self.places, key=attrgetter("start")):
            kept.append((read, place.start))
            read = place.end
        kept.append((read, len(self.source)))
        kept, escaped = self._without_escapes(kept)
        for start, end, category in sweep(self.source, kept, known):
            text = self.source[start:end]
            self.places.append(Place(self._path(start), start, end, category, text, self.codec.encode))
        for start, end in escaped:  # what a name is made of may be written with escapes
            path = self._path(start)
            text, starts = self.codec.decode(self.source[start:end], path)
            for first, last, category in sweep(text, [(0, len(text))], known):
                where = starts[first:last] if starts else [(n, n + 1) for n in range(first, last)]
                begin, stop = where[0][0], where[-1][1]
                moved = [(a - begin, b - begin) for a, b in where]
                at = start + begin, start + stop
                self.places.append(Place(path, *at, category, text[first:last], self.codec.encode, moved))

    def _without_escapes(self, kept: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return stretches that are kept, and apart from them the fields in them with whole escapes."""
        head = self.source.find(self.sep, self.source.find(self.sep) + 1)  # the separators themselves
        if self.source.find(self.codec.escape, head) < 0:
            return kept, []
        field = _escaped_field(self.sep, self.codec.escape)
        plain, escaped = [], []
        for start, end in kept:
            for found in field.finditer(self.source, max(start, head), end):
                plain.append((start, found.start()))
                escaped.append(found.span())
                start = found.end()
            plain.append((start, end))
        return plain, escaped

    def _line_start(self, at: int) -> int:
        """Return where the line of a character begins."""
        return max(self.source.rfind(end, 0, at) for end in self._ends) + 1

    def _path(self, at: int) -> str:
        """Return segment and field of a character."""
        line = self._line_start(at)
        before = self.source[line:at].lstrip(_AROUND)
        return f"{before[:3]}-{before.count(self.sep) + (before[:3] in _NAMING)}"

    def _patient(self, numbers: Sequence[Place]) -> str:
        """Return the patient's key: the first number, of the wanted type if there is one."""
        wanted = self.table.facts.get("patient_type")
        for place in numbers:
            # the fifth component of its repetition says what kind of number it is
            rest = self.source[place.start : place.start + 400].partition(self.sep)[0].partition(self.repetition)[0]
            if rest.split(self.component)[4:5] == [wanted]:
                return place.text.strip()
        return numbers[0].text.strip()


@functools.cache
def _segment_border(sep: str) -> re.Pattern[str]:
    return re.compile(rf"[{_ENDS}]+(?=[A-Z][A-Z0-9]{{2}}(?:{re.escape(sep)}|[\r\n]|\Z))")


@functools.cache
def _escaped_field(sep: str, escape: str) -> re.Pattern[str]:
    """Return what finds fields, or what is kept of them, with an even number of escape characters."""
    plain, sign = f"[^{re.escape(sep + escape)}\r\n]*", re.escape(escape)
    return re.compile(rf"{plain}(?:{sign}{plain}{sign}{plain})+(?![^{re.escape(sep)}\r\n])")


def _first(path: str) -> str:
    """Return the field of a path whose place is a first component of it: PID-3 of PID-3(2).1; else the path."""
    return path.removesuffix(".1").partition("(")[0]


def read_all(data: bytes, table: Table, encoding: str) -> Iterator[Record | DeidError]:
    """Yield the records of a file, and errors in place of those that cannot be read."""
    for content in split(data):
        try:
            yield read(content, table, encoding)
        except DeidError as error:
            yield error
