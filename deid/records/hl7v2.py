"""Messages of HL7 v2, read as places: separators as the message says, escapes decoded, nothing serialized again.

A record is a message, or the header or trailer of a batch or a file. What its fields are stands in
``dictionaries/records/hl7v2.toml``.
"""

from __future__ import annotations

import codecs
import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

from deid.base.errors import DeidError, EncodingError, or_error
from deid.records.ages import is_old, write_age
from deid.records.answers import answer
from deid.records.hl7v2_codec import wrong
from deid.records.hl7v2_fields import ENDS, LINK, NULL, field_of, fields_of
from deid.records.hl7v2_lists import LONGEST_CODE
from deid.records.record import Place, Record, assemble, day_of
from deid.records.sweeping import sexes_of, sweep
from deid.records.tables import Table

HEADS = ("MSH", "FHS", "BHS", "BTS", "FTS")
"""Segments that begin a record."""
BEGINNING = re.compile(rb"\A(?:\xef\xbb\xbf)?[\x0b\x1c\r\n]*(?:MSH|FHS|BHS)(?=[^\w\s][^\w\s]{1,5})")
"""How a file of messages begins; the bytes of MLLP around a message are no part of it."""
BORDER = re.compile(rb"\x1c\r|[\r\n\x1c\x0b](?=(?:MSH|FHS|BHS|BTS|FTS)[^\w\s])")
"""What ends a record: the end that MLLP sets, or the byte before the next one."""
BORDER_BYTES = 5
"""Bytes that tell a border."""
_LINE = re.compile(f"[^{ENDS}]*")  # as `str.splitlines` has them
_HEAD_END = re.compile(
    rb"[\r\n]|(?:[\x0b\x0c\x1c-\x1e]|\xc2?\x85|\xe2\x80[\xa8\xa9])+(?=[A-Z][A-Z0-9]{2}[^A-Za-z0-9\s])"
)
"""Where the first segment ends, before the character set is known."""
_AROUND = ENDS + " \ufeff"
_AROUND_BYTES = b"\r\n\x0b\x1c \xef\xbb\xbf"
_NAMING = HEADS[:3]  # segments that name the separators
_USUAL = "^~\\&"
_STATELESS = frozenset(("utf-8", "ascii", *(f"iso8859-{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 15)), "cp1252"))
"""Character sets in which what was decoded is written as it was."""
_SHIFTED = re.compile(r"\x1b\$(?:[@B]|\([A-Z]).*?(?:\x1b\([A-Z]|\Z)", re.DOTALL)
"""Characters of two bytes between escapes of ISO 2022: bytes of them look like separators."""
_JAPANESE = {
    "ISO IR13": "iso2022_jp_ext",
    "ISO IR159": "iso2022_jp_1",
    "ISO IR87": "iso2022_jp",
    "ISO IR14": "iso2022_jp",
}
"""Further character sets of a message, that escapes of ISO 2022 lead to -> the codec of all that it says."""
_WIDE = ("big5", "gb18030", "gbk", "shift_jis", "cp932")
"""Codecs in which a second byte may be one of a separator: what a header says is read as what it says itself."""
_LIKE_ASCII = re.compile(
    r"ascii|iso8859-|cp(?:125|437|8[56]|93|94|95)|big5|gb|euc_|shift_jis|koi8|utf-8\Z|hp-roman8|mac-"
)
"""Codecs of character sets whose first half is ASCII, by which senders write what they are called elsewhere."""
_SEGMENT = re.compile(r"[A-Z][A-Z0-9]{2}\Z")
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
        self.places: list[Place] = []
        self.asked: list[Place] = []
        """Those of them that say whose the message is, and of which day."""
        self.known: dict[tuple[str, str], None] = {}
        """Identifiers that are looked for in the free text, and in what would be kept."""
        self.persons: list[int] = []
        """Where each PID begins."""
        self.question = ""
        """What the last answer answered."""
        self.closed: list[tuple[int, int]] = []
        """Names of segments, and fields that say how the message is read: no name is looked for there."""
        begun = data.lstrip(_AROUND_BYTES)
        head = begun.partition(b"\r")[0].partition(b"\n")[0].decode("latin-1")
        if not (head.isascii() and head.isprintable()):
            head = _HEAD_END.split(begun, 1)[0].decode("latin-1")
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
        self.component, self.repetition = signs[0], signs[1]
        self.charset = self._charset(head, encoding) if name == "MSH" else encoding.partition(",")[0]
        try:
            self.source = data.decode(self.charset)
        except UnicodeError:
            raise EncodingError(
                "the message is not in the character set that it says",
                "repair MSH-18, or name the encoding of messages that say none with --encoding",
                position="MSH-18",
            ) from None
        self._ends = "\r\n" + "".join(end for end in ENDS[2:] if end in self.source)
        if self.charset not in _STATELESS and self.source.encode(self.charset) != data:
            raise EncodingError("the message cannot be written as it was", "convert it to UTF-8", position="MSH-18")
        self.fields = fields_of(table, self.sep, signs[:4], self.charset)
        self.codec = self.fields.codec

    def _charset(self, head: str, encoding: str) -> str:
        said = self._said(_SHIFTED.sub("", head))
        found = self._codec(said[0])
        if not head.isascii():
            for wide in _WIDE:
                told = self._codec(self._said(head.encode("latin-1").decode(wide, "replace"))[0])
                if told and codecs.lookup(told).name == wide:
                    found = told
        shifted = next((codec for name, codec in _JAPANESE.items() if name in said), None)
        if found is None or (not shifted and _SHIFTED.search(self.data.decode("latin-1"))):
            raise EncodingError(
                "the character set is not known", "convert the message to UNICODE UTF-8 first", position="MSH-18"
            )
        if shifted and b"\x1b" in self.data:
            return shifted
        if found:
            return found
        for name in encoding.split(","):
            try:
                self.data.decode(name)
            except UnicodeError:
                continue
            return name
        return encoding.partition(",")[0]

    def _said(self, head: str) -> list[str]:
        """Return the character sets that a header says, the first one for all that no escape leads elsewhere."""
        fields = head.split(self.sep, 18)
        return [part.strip() for part in fields[17].split(self.repetition)] if len(fields) > 17 else [""]

    def _codec(self, name: str) -> str | None:
        """Return the codec of a character set, empty for the usual one; None for what is none."""
        return self.table.charsets[name] if name in self.table.charsets else _codec_called(name)

    def read(self) -> None:
        """Find the places."""
        source, sep = self.source, self.sep
        begin = len(source) - len(source.lstrip(_AROUND))
        end = len(source.rstrip(_AROUND))
        # a line that does not begin a segment belongs to the field before it
        starts, ends, at, last = [begin], list[int](), begin, end
        begins = _segment_begin(sep).match
        for line in source[begin:end].splitlines(keepends=True):
            if at > begin and begins(line):
                ends.append(last)
                starts.append(at)
            if size := len(line.rstrip(ENDS)):
                last = at + size
            at += len(line)
        ends.append(end)
        seen: dict[str, int] = {}
        for number, start in enumerate(starts):
            fields = source[start : ends[number]].split(sep)
            name = fields[0]
            if not _SEGMENT.match(name):
                raise wrong("this is no segment", f"segment {number + 1}")
            count = seen[name] = seen.get(name, 0) + 1
            self.closed.append((start, start + len(name)))
            if name == "PID":
                self.persons.append(start)
            if number == 0 and name == "MSH" and (len(fields) < 9 or not fields[8]):
                raise wrong("the message ends before its type", "MSH-9")
            self._segment(name, count, fields, start)

    def _segment(self, name: str, count: int, fields: list[str], at: int) -> None:
        reader, places = self.fields, self.places
        plans = reader.plans(name, first=count == 1)
        path = f"{name}[{count}]" if count > 1 else name
        number = begin = 1 if name in _NAMING else 0  # the first separator of these is a field of its own
        try:
            for raw in fields:
                if raw and number != begin and raw != NULL:
                    plan = plans[number] if number < len(plans) else reader.unnamed
                    if plan.closed is not None and plan.closed.fullmatch(raw):
                        self.closed.append((at, at + len(raw)))
                    elif not (plan.coded and len(raw) <= LONGEST_CODE and raw.isalnum()):
                        asked, here, old = plan.asked, plan.path if count == 1 else "", False
                        answers = plan.answers
                        if plan.by:
                            plan = reader.typed(plan, fields[plan.by] if len(fields) > plan.by else "", raw)
                            old = plan.measured and is_old(raw) and self._in_years(f"{name}-{number}", fields)
                        if old:
                            places.append(Place(f"{path}-{number}", at, at + len(raw), "AGE", raw, write_age))
                        else:
                            found, known = reader.read(plan, raw)
                            own = [one.within(here or f"{path}-{number}", at) for one in found]
                            if asked:
                                self.asked += own
                            places += own
                            if 0 < answers < len(fields):
                                self._answer(fields[answers], len(places) - len(own))
                            if known:
                                self.known.update(known)
                at += len(raw) + 1
                number += 1
        except DeidError as error:
            raise type(error)(error.what, error.hint, error.where, f"{path}-{number}{error.position}") from None

    def _answer(self, question: str, begin: int) -> None:
        """Put a question before the last places; what answers the same one again may be the next line of a text."""
        if question != self.question:
            answer(self.places, begin, self.fields.question(question))
        self.question = question

    def _in_years(self, field: str, fields: Sequence[str]) -> bool:
        """Tell whether the unit of an amount is a year: its code, or what it says."""
        number = int(self.table.facts["units"].get(field, 0))
        said = fields[number].lower().split(self.component) if 0 < number < len(fields) else ()
        return any(unit in self.table.facts["years"] for unit in said[:2])

    def record(self) -> Record:
        """Return the record of the places that were found."""
        facts = self.table.facts
        keys, days, sexes = facts.get("patient", ()), facts.get("date", ()), facts.get("sexes", {})
        numbers: dict[str, list[Place]] = {}
        sex: dict[str, str] = {}
        dated: dict[str, str] = {}
        for place in self.asked:
            field = field_of(place.path)
            if place.kind == "DATE":
                if field in days:
                    dated.setdefault(field, place.text)
            elif place.kind in self.fields.wanted:
                if place.kind == "PATIENT" and (told := sexes.get(_PLAIN.sub("", field))):
                    self._know_sex(place, int(told), sex)
                if field in keys and field.startswith("PID-"):
                    numbers.setdefault(field, []).append(place)
        patient = next((self._patient(numbers[key]) for key in keys if key in numbers), None)
        whose = self._whose(patient) if len(self.persons) > 1 else ()
        self._sweep()
        return assemble(
            self.data,
            self.source,
            self.charset,
            [place for place in self.places if place.kind != LINK],
            known=self.known,
            patient=patient,
            date=next((day for key in days if key in dated and (day := day_of(dated[key]))), None),
            links=[place for place in self.places if place.kind == LINK],
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
                    (field := field_of(place.path).replace(f"[{number}]", "")) in keys
                ):
                    numbers.setdefault(field, []).append(place)
            found.append((start, next((self._patient(numbers[key]) for key in keys if key in numbers), None)))
        return found

    def _sweep(self) -> None:
        """Make places of known identifiers in what would be kept."""
        kept = []
        read = 0
        for place in sorted(self.places, key=attrgetter("start")):
            kept.append((read, place.start))
            read = place.end
        kept.append((read, len(self.source)))
        kept, escaped = self._without_escapes(kept)
        begun = [start for start, _ in self.closed]
        for start, end, category in sweep(self.source, kept, self.known):
            if start < self.closed[bisect_right(begun, start) - 1][1]:
                continue
            text = self.source[start:end]
            self.places.append(Place(self._path(start), start, end, category, text, self.codec.encode))
        for start, end in escaped:  # what a name is made of may be written with escapes
            path = self._path(start)
            text, starts = self.codec.decode(self.source[start:end], path)
            for first, last, category in sweep(text, [(0, len(text))], self.known):
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


@functools.lru_cache(maxsize=256)
def _codec_called(name: str) -> str | None:
    """Return the codec of a character set whose first half is ASCII, by a name of IANA's or a usual one; else None."""
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return found if _LIKE_ASCII.match(found) else None


@functools.cache
def _segment_begin(sep: str) -> re.Pattern[str]:
    return re.compile(rf"[A-Z][A-Z0-9]{{2}}(?:{re.escape(sep)}|[\r\n]|\Z)")


@functools.cache
def _escaped_field(sep: str, escape: str) -> re.Pattern[str]:
    """Return what finds fields, or what is kept of them, with an even number of escape characters."""
    plain, sign = f"[^{re.escape(sep + escape)}\r\n]*", re.escape(escape)
    return re.compile(rf"{plain}(?:{sign}{plain}{sign}{plain})+(?![^{re.escape(sep)}\r\n])")


def read_all(data: bytes, table: Table, encoding: str) -> Iterator[Record | DeidError]:
    """Return the records of a file as they are read, and errors in place of those that cannot be read."""
    return map(or_error(functools.partial(read, table=table, encoding=encoding)), split(data))
