"""E-mail (RFC 5322, MIME) read as places: words of headers, of plain texts and of HTML, in whatever they are encoded.

The characters of such a record are its bytes, one for one, and between NULs the decoded texts of its parts; what is
changed in a part is encoded again as the part was, all else stays. An attached document stands there as the record that
it is by itself. What headers are: ``dictionaries/records/eml.toml``; a header that no line names goes. What parts a
message is named anew: programs make it of the time of day and of hosts.

Formats: RFC 5322 (messages), 2045 to 2047 (MIME, encodings, words in headers).
"""

from __future__ import annotations

import base64
import binascii
import codecs
import functools
import quopri
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from deid.base.errors import DeidError, EncodingError, FormatError, told_as
from deid.records import rows
from deid.records.html_pages import HtmlReader
from deid.records.record import BLOCKED, TEXT, Change, ChangeMark, Pack, Place, Record, assemble, fit, splice
from deid.records.sweeping import known_of
from deid.records.tables import KEEP, Table

_HINT = "open it with a mail program, and save it anew"
_ALONE = "save what is attached on its own, and the message without it"
_FIELD = re.compile(r"([!-9;-~]+)[ \t]*:((?:[^\r\n]|\r(?!\n)|\r?\n[ \t])*)(\r?\n|\Z)")
_PARAMETER = re.compile(r";\s*([\w*!#$%&'+.^`|~-]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;\"]*))", re.DOTALL)
_WORD = re.compile(r"=\?([\w.:+-]+?)(?:\*[\w-]*)?\?([bBqQ])\?([^?\s]*)\?=|\r?\n(?=[ \t])")
_KIND = re.compile(r"\s*([a-z0-9/.+-]+)\s*(?=;|\Z)", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?P<email>[^\s<>,;:\"()@]+@[^\s<>,;:\"()@]+)|\"(?P<quoted>(?:[^\"\\]|\\.)*)\""
    r"|(?P<words>(?:=\?[^?\s]+\?[bBqQ]\?[^?\s]*\?=|[^\s<>,;:@\"()])(?:(?:\s*=\?[^?\s]+\?[bBqQ]\?[^?\s]*\?=|[^<>,;:@\"()])*"
    r"(?:=\?[^?\s]+\?[bBqQ]\?[^?\s]*\?=|[^\s<>,;:@\"()]))?)"
)
_DAY = re.compile(r"[0-9]{1,2}\s+(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+[0-9]{4}", re.IGNORECASE)
_CLOCK = re.compile(
    r"\s+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\s+(?:[-+][0-9]{4}|UTC?|GMT|Z|[ECMP][SD]T)\b)?|", re.IGNORECASE
)
"""Time of day and zone behind a day, as far as there is one."""
_DEPTH = 20
_MOST_PARTS = 500
_BORDERS = "\1\2\3\4\5\6\7\x08\x0e\x0f\x10\x11\x12\x13\x14\x15"
"""What can part the members of an attached document, as NUL does in one by itself: one that it does not hold."""
_PLAIN, _PAGE = "text/plain", "text/html"
_ANY = "application/octet-stream"
_ATTACHED = "attachment"
_TEXTS = ("txt", "text", "htm", "html")
"""How names of files end that are plain texts, or pages."""
_FILES = (b"PK\3\4", b"%PDF-", b"{\\rtf", b"\xd0\xcf\x11\xe0")
"""How documents begin that are no text, whatever their part says that they are."""
_TABLES = ("text/csv", "text/tab-separated-values")
_ROWS = ("csv", "tsv")
_OF_SHEETS = "application/vnd.ms-excel"
"""What Outlook says that a CSV file is."""
_NOTHING = "#content-type"
_UNWRITTEN = (b"%PDF-", b"PK\3\4")
"""How documents begin that are read to text and go as one, but for those whose source has members parted by NUL."""
_JOINED = rows.BEGIN.encode()
_IDENTITY = ("7bit", "8bit", "binary", "")


@dataclass(frozen=True, slots=True)
class _Body:
    """The text of a part: where its bytes stand, and what makes them of it."""

    start: int
    end: int
    text: str = field(repr=False)
    charset: str | Pack
    encoding: str
    inside: bool | Record
    """Whether it is a page of HTML; the record of an attached document."""
    border: str = ""
    """What stands for NUL in the text of an attached document."""


@dataclass(slots=True)
class _Message:
    """A message while it is cut into parts."""

    data: str = field(repr=False)
    """Its bytes, one character each."""
    attached: Callable[[bytes], Record | None]
    kinds: frozenset[str]
    """Kinds of parts that the table names."""
    bodies: list[_Body] = field(default_factory=list)
    fields: list[tuple[str, int, int, int, int]] = field(default_factory=list)
    """Name of each header, where it begins, where its value begins and ends, and where its line ends."""
    blocked: list[tuple[str, int, int]] = field(default_factory=list)
    borders: list[tuple[int, int]] = field(default_factory=list)
    """Where it stands what parts the message, but for headers."""
    parts: int = 0
    attachments: int = 0

    def cut(self, start: int, end: int, depth: int) -> None:
        """Cut a message or a part into its headers and what is below them."""
        self.parts += 1
        if depth > _DEPTH or self.parts > _MOST_PARTS:
            raise FormatError("a message with too many parts, or parts too deep in one another", _HINT)
        at, header = start, len(self.fields)
        said: dict[str, str] = {}
        while (found := _FIELD.match(self.data, at, end)) is not None:
            name = found[1].lower()
            self.fields.append((name, at, found.start(2), found.end(2), found.end()))
            said.setdefault(name, re.sub(r"\r?\n(?=[ \t])", "", found[2]).strip())
            at = found.end()
        blank = re.compile(r"\r?\n").match(self.data, at, end)
        if blank is None and at < end:
            raise FormatError("a line among the headers is none", _HINT, "", f"byte {at}")
        body = blank.end() if blank else at
        kind, parameters = _content(said.get("content-type", _PLAIN))
        encoding = said.get("content-transfer-encoding", "").lower()
        shown, names = _content(said.get("content-disposition", ""))
        if kind.startswith("multipart/"):
            self._multipart(kind, parameters.get("boundary", ""), body, end, depth)
        elif kind == "message/rfc822" and encoding in _IDENTITY:
            self.cut(body, end, depth + 1)
        elif kind.startswith("image/") and (shown == "inline" or (shown != _ATTACHED and "content-id" in said)):
            self.blocked.append(("picture", body, end))
        elif body < end:
            content = _unencoded(self.data[body:end].encode("latin-1"), encoding, body)
            if kind in (_PLAIN, _PAGE) and shown != _ATTACHED and not content.startswith(_FILES):
                self._text(kind, content, parameters.get("charset", ""), encoding, body, end)
                return
            self.attachments += 1
            file = next((p[one] for p in (names, parameters) for one in ("filename", "name") if one in p), "")
            try:
                self._attached(kind, file, content, parameters.get("charset", ""), encoding, body, end, header)
            except DeidError as error:
                what = error.what.removeprefix("the message is refused: ").removeprefix("the document is refused: ")
                where = ", ".join(filter(None, (f"attachment {self.attachments}", error.position)))
                raise type(error)(f"the message is refused: {what}", error.hint or _ALONE, "", where) from None

    def _multipart(self, kind: str, boundary: str, start: int, end: int, depth: int) -> None:
        if kind in ("multipart/encrypted", "multipart/signed"):
            raise FormatError(f"the message is refused: it is {kind.partition('/')[2]}", _HINT)
        if kind not in self.kinds:
            raise FormatError("the message is refused: its parts are of a kind that no line of the table names", _HINT)
        if not boundary:
            raise FormatError("a message of parts does not say what parts them", _HINT)
        border = re.compile(rf"(?:^|(?<=\n))--{re.escape(boundary)}(--)?[ \t]*(?:\r?\n|\Z)")
        at = begin = start
        inside = False
        for found in border.finditer(self.data, start, end):
            if inside:
                stop = found.start()
                stop -= 2 if self.data[stop - 2 : stop] == "\r\n" else 1
                self.cut(begin, max(stop, begin), depth + 1)
            elif at < found.start():
                self.blocked.append(("preamble", at, found.start()))
            inside, begin = not found[1], found.end()
            self.borders.append((found.start() + 2, found.start() + 2 + len(boundary)))
            if found[1]:
                break
        if inside:
            raise FormatError("a message is cut off", _HINT)
        if begin < end:
            self.blocked.append(("epilogue", begin, end))

    def _attached(
        self, kind: str, file: str, content: bytes, charset: str, encoding: str, start: int, end: int, header: int
    ) -> None:
        """Take an attached document as the record that it is by itself, a plain text as one."""
        if kind not in self.kinds:
            raise FormatError("a file of a kind that no line of the table names", _ALONE)
        suffix = file.rpartition(".")[2].lower() if "." in file else ""
        named = kind in _TABLES or (suffix in _ROWS and kind in (_PLAIN, _ANY, _OF_SHEETS))
        if (named and not content.startswith(_FILES)) or content.startswith(_JOINED):
            text, codec = _decoded(content, charset, start)
            found: Record | None = rows.read(content, text, codec) if "\0" not in text else None
        else:
            found = self.attached(content)
        if found is not None and content.startswith(_UNWRITTEN) and "\0" not in found.source:
            self._retype(header)
        if found is None:
            plain = kind in (_PLAIN, _PAGE)
            # a scrubbed message has no names of files, and is read again
            named = suffix in _TEXTS or (not suffix and (plain or not file))
            if not named or not (plain or kind == _ANY):
                raise FormatError("a file that cannot be read in it", _ALONE)
            self._text(kind, content, charset, encoding, start, end)
            return
        text, border = found.source, ""
        if "\0" in text:
            border = next((one for one in _BORDERS if one not in text), "")
            if not border:
                raise FormatError("a file with signs that no text has", _ALONE)
            text = text.replace("\0", border)
        self.bodies.append(_Body(start, end, text, found.charset, encoding, found, border))

    def _retype(self, header: int) -> None:
        """Let a part no longer say what it is, so that it is plain text."""
        for number in range(header, len(self.fields)):
            name, *where = self.fields[number]
            if name == "content-type":
                self.fields[number] = (_NOTHING, *where)  # type: ignore[assignment]

    def _text(self, kind: str, content: bytes, charset: str, encoding: str, start: int, end: int) -> None:
        text, name = _decoded(content, charset, start)
        if "\0" in text:
            raise FormatError("a part is no text", _HINT, "", f"byte {start}")
        if text:
            inside = rows.read(content, text, name) if rows.is_joined(text) else kind == _PAGE
            self.bodies.append(_Body(start, end, text, name, encoding, inside))


def _unencoded(raw: bytes, encoding: str, at: int) -> bytes:
    """Return the bytes of a part."""
    if encoding == "base64":
        with told_as(FormatError("a part is no base64", _HINT, "", f"byte {at}"), binascii.Error):
            return base64.b64decode(raw.translate(None, b"\r\n\t "), validate=True)
    if encoding == "quoted-printable":
        return quopri.decodestring(raw)
    if encoding not in _IDENTITY:
        raise FormatError("a part is encoded in a way that is not known", _HINT, "", f"byte {at}")
    return raw


def _content(value: str) -> tuple[str, dict[str, str]]:
    """Return the kind of a part in small letters, and its parameters."""
    kind = value.partition(";")[0].strip().lower()
    found: dict[str, str] = {}
    for one in _PARAMETER.finditer(value):
        found.setdefault(one[1].lower(), re.sub(r"\\(.)", r"\1", one[2]) if one[2] is not None else one[3])
    return kind, found


def _decoded(content: bytes, charset: str, at: int) -> tuple[str, str]:
    """Return the text of a part, and its character set; one without is UTF-8, or that of ASCII's letters."""
    names = [charset] if charset else ["utf-8"]
    if charset.lower() in ("us-ascii", "ascii"):
        names.append("utf-8")
    for name in names:
        try:
            codec = codecs.lookup(name).name
            text = content.decode(codec)
            if text.encode(codec) == content:
                return text, codec
        except LookupError:
            raise EncodingError("a part's character set is not known", _HINT, "", f"byte {at}") from None
        except UnicodeError:
            continue
    raise EncodingError("a part is not in the character set that it says", _HINT, "", f"byte {at}")


def read(data: bytes, table: Table, pages: Table, attached: Callable[[bytes], Record | None]) -> Record:
    """Read one message.

    Parameters
    ----------
    data : bytes
    table, pages : Table
        What stands where in headers, and in HTML.
    attached : callable
        Returns the record of an attached document, None where it is none that can be written again.

    Raises
    ------
    FormatError
        When it is no message, is encrypted or signed, or carries what cannot be read.
    EncodingError
        When a part is not in the character set that it says.
    """
    if b"\0" in data:
        raise FormatError("this is no message but binary data", _HINT)
    message = _Message(data.decode("latin-1"), attached, frozenset(table.facts["contents"].split()))
    message.cut(0, len(message.data), 0)
    pieces: list[str] = []
    at = size = 0
    moved: list[tuple[int, int]] = []
    bodies: list[tuple[_Body, int]] = []
    for body in sorted(message.bodies, key=lambda body: body.start):
        moved.append((at, size - at))
        pieces += (message.data[at : body.start], "\0", body.text, "\0")
        bodies.append((body, size + body.start - at + 1))
        size += body.start - at + len(body.text) + 2
        at = body.end
    moved.append((at, size - at))
    pieces.append(message.data[at:])
    source = "".join(pieces)

    def here(offset: int) -> int:
        return offset + next(shift for start, shift in reversed(moved) if start <= offset)

    headers = _Headers(message.data, table, here)
    for one in message.fields:
        headers.add(*one)
    places = list(headers.places)
    for name, begin, end in message.blocked:
        if message.data[begin:end].strip():
            stretch = here(begin), here(begin) + end - begin
            places.append(Place(f"#{name}", *stretch, BLOCKED, examined=name != "picture"))
    links = [Place("#border", here(a), here(a) + b - a, "IDNUM", message.data[a:b]) for a, b in message.borders]
    links += headers.links
    marks: list[ChangeMark] = []
    known = dict(headers.known)
    sexes: dict[str, str] = {}
    whose: list[tuple[int, str | None]] = []
    for number, (body, start) in enumerate(bodies, 1):
        if isinstance(body.inside, Record):
            inside = body.inside
            places += [_moved(place, start) for place in (*inside.places, *inside.blocked)]
            links += [_moved(link, start) for link in inside.links]
            marks += [ChangeMark(m.start + start, m.end + start, m.at + start, m.text) for m in inside.marks]
            known |= dict.fromkeys(inside.known)
            sexes |= inside.sexes
            whose += [(start, inside.patient), (start + len(body.text), None)]
        elif body.inside:
            assert isinstance(body.charset, str)
            reader = HtmlReader(source, pages, frozenset())
            reader.part(f"part {number}", start, start + len(body.text), body.charset)
            places += reader.places
            links += reader.links
        elif body.text.strip():
            assert isinstance(body.charset, str)
            encode = functools.partial(_encode_plain, body.charset)
            places.append(Place(f"part {number}", start, start + len(body.text), TEXT, body.text, encode))
    pack = functools.partial(_packed, tuple(body for body, _ in bodies))
    return assemble(
        data,
        source,
        pack,
        places,
        known=known,
        patient=next((key for _, key in whose if key is not None), None),
        links=links,
        marks=marks,
        whose=whose,
        sexes=sexes,
    )


def _moved(place: Place, by: int) -> Place:
    stretches = tuple((start + by, end + by) for start, end in place.stretches)
    return place.varied(start=place.start + by, end=place.end + by, stretches=stretches)


def _encode_plain(charset: str, raw: str, place: Place, changes: Sequence[Change]) -> str:
    return splice(raw, place, changes, lambda new, *_: fit(new.replace("\0", ""), charset))


def _packed(bodies: Sequence[_Body], data: bytes, source: str, new: str) -> bytes:
    """Return the message of new characters."""
    out: list[bytes] = []
    for number, piece in enumerate(new.split("\0")):
        if not number % 2:
            out.append(piece.encode("latin-1"))
            continue
        body = bodies[number // 2]
        raw = data[body.start : body.end]
        if piece == body.text and isinstance(body.charset, str):
            out.append(raw)
            continue
        end = b"\r\n" if b"\r\n" in raw or b"\r\n" in data[: body.start] else b"\n"
        if isinstance(body.charset, str):
            content = piece.encode(body.charset)
        else:
            assert isinstance(body.inside, Record)
            whole = piece.replace(body.border, "\0") if body.border else piece
            content = body.charset(body.inside.data, body.inside.source, whole)
        if body.encoding == "base64":
            packed = base64.b64encode(content)
            content = end.join([packed[n : n + 76] for n in range(0, len(packed), 76)])
            content += end * raw.endswith(b"\n")
        elif body.encoding == "quoted-printable":
            if isinstance(body.inside, Record):  # its line ends are its own
                content = binascii.b2a_qp(content, istext=False).replace(b"\n", end)
            else:
                content = re.sub(rb"\r?\n", end, quopri.encodestring(content.replace(b"\r\n", b"\n")))
        out.append(content)
    return b"".join(out)


class _Headers:
    """The headers of a message while they are read."""

    def __init__(self, data: str, table: Table, here: Callable[[int], int]) -> None:
        self.data, self.table, self.here = data, table, here
        self.places: list[Place] = []
        self.links: list[Place] = []
        self.known: dict[tuple[str, str], None] = {}
        self.contents = frozenset(table.facts["contents"].split())

    def add(self, name: str, begin: int, value: int, end: int, stop: int) -> None:
        """Add the places of a header: where it begins, its value begins and ends, and where its line ends."""
        rule = self.table.rules(name).get("#text")
        path = name if rule is not None else "?"
        raw = self.data[value:end]
        lead = len(raw) - len(raw.lstrip())
        if rule is not None and not raw.strip():
            return
        if rule == KEEP:
            kept = raw.strip().lower() in self.table.facts["kept"]
            self._block(path, value, value if kept else end)
        elif rule == "addresses":
            self._addresses(path, value, raw)
        elif rule == "content":
            kind = _KIND.match(raw)
            at = kind.end() if kind and kind[1].lower() in self.contents else 0
            for one in _PARAMETER.finditer(raw, at):
                self._block(path, value + at, value + one.start())
                at = one.end()
                group = 2 if one[2] is not None else 3
                if one[1].lower() == "boundary" and one[group]:
                    begin, stop = value + one.start(group), value + one.end(group)
                    text = re.sub(r"\\(.)", r"\1", one[group])
                    self.links.append(Place(path, self.here(begin), self.here(begin) + stop - begin, "IDNUM", text))
                elif not self._is_said(one[1].lower(), one[group]):
                    self._block(path, value + one.start(), value + one.end())
            if raw[at:].strip():
                self._block(path, value + at, end)
        elif rule == "DATE" and (day := _DAY.search(raw)):
            if lead < day.start():
                self._block(path, value + lead, value + day.start())
            self._place(path, "DATE", value + day.start(), day[0])
            clock = _CLOCK.match(raw, day.end())
            behind = clock.end() if clock else day.end()
            if raw[behind:].strip():
                self._block(path, value + behind, end)
        elif rule == TEXT:
            self._place(path, TEXT, value + lead, raw.strip())
        else:
            self._block(path, begin, stop, examined=rule is not None)

    def _is_said(self, name: str, value: str) -> bool:
        """Tell whether a parameter says of a part what the table knows: how it is written, nobody's name."""
        if name != "charset":
            return value.lower() in self.table.facts["parameters"].get(name, ())
        try:
            return bool(codecs.lookup(value))
        except (LookupError, ValueError):
            return False

    def _block(self, path: str, begin: int, end: int, *, examined: bool = True) -> None:
        if begin < end:
            self.places.append(
                Place(path, self.here(begin), self.here(begin) + end - begin, BLOCKED, examined=examined)
            )

    def _addresses(self, path: str, at: int, raw: str) -> None:
        read = 0
        for one in _ADDRESS.finditer(raw):
            self._rest(path, at, raw, read, one.start())
            read = one.end()
            kind = one.lastgroup or ""
            if one[kind].strip():
                self._place(path, "EMAIL" if kind == "email" else "DOCTOR", at + one.start(kind), one[kind], kind)
        self._rest(path, at, raw, read, len(raw))

    def _rest(self, path: str, at: int, raw: str, start: int, end: int) -> None:
        """Block what stands between addresses, but for their signs."""
        for one in re.finditer(r"[^\s<>,;:\"()]+", raw[start:end]):
            self._block(path, at + start + one.start(), at + start + one.end())

    def _place(self, path: str, kind: str, at: int, raw: str, form: str = "") -> None:
        text, starts = _unfolded(raw)
        encode = functools.partial(_encode_header, form)
        start = self.here(at)
        self.places.append(Place(path, start, start + len(raw), kind, text, encode, starts))
        if kind == "DOCTOR" and len(re.findall(r"[^\W\d_]+", text)) > 1:
            self.known |= dict.fromkeys(known_of(kind, text))


def _unfolded(raw: str) -> tuple[str, Sequence[tuple[int, int]] | None]:
    """Return the text of a header's value, and where each of its characters stands; bytes beyond ASCII are UTF-8."""
    if _WORD.search(raw) is None and raw.isascii():
        return raw, None
    out: list[str] = []
    starts: list[tuple[int, int]] = []

    def plain(begin: int, end: int) -> None:
        for one in re.finditer(r"[\x00-\x7f]|[\x80-\xff]+", raw[begin:end]):
            try:
                chars = one[0].encode("latin-1").decode("utf-8")
            except UnicodeError:
                chars = one[0]
            out.append(chars)
            starts.extend([(begin + one.start(), begin + one.end())] * len(chars))

    read = 0
    for word in _WORD.finditer(raw):
        plain(read, word.start())
        read = word.end()
        if word[1] is None:
            continue
        try:
            if word[2] in "bB":
                content = base64.b64decode(word[3], validate=True)
            else:
                content = quopri.decodestring(word[3].replace("_", " ").encode(), header=True)
            chars = content.decode(codecs.lookup(word[1]).name).replace("\0", "?")
        except (LookupError, ValueError):
            chars = word[0]
        out.append(chars)
        starts.extend([word.span()] * len(chars))
    plain(read, len(raw))
    return "".join(out), starts


def _encode_header(form: str, raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return a value of a header with its changes."""

    def write(new: str, *_: str) -> str:
        new = " ".join(new.split())
        if not new.isascii():
            if form == "quoted":
                return fit(new, "ascii")
            return f"=?utf-8?b?{base64.b64encode(new.encode()).decode()}?="
        if form == "quoted":
            return re.sub(r"([\"\\])", r"\\\1", new)
        if form == "words" and re.search(r"[^\w !#$%&'*+/=?^`{|}~-]", new):
            return '"' + re.sub(r"([\"\\])", r"\\\1", new) + '"'
        return new

    return splice(raw, place, changes, write)
