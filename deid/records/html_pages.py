"""HTML read as places: cut into tags as browsers cut it, however it is written, and nothing parsed into a tree.

What is no tag is text. What elements and attributes are: ``dictionaries/records/html.toml``; a tag that no line names
goes, and its words are read; an attribute that no line names goes with its name.

Source of the cutting: WHATWG, HTML Living Standard, section 13.2.5 (Tokenization).
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Callable, Iterator, Sequence

from deid.base.errors import FormatError
from deid.records.markup import mark_of
from deid.records.office import MOST_PLACES, REMOVED, Attribute, PackageReader, Paragraph, ParagraphRun, Tag, end_with
from deid.records.record import BLOCKED, TEXT, Change, Place, Record, assemble
from deid.records.tables import KEEP, Table
from deid.records.xml_positions import XmlCodec, codec_of

_OPEN = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
_ATTRIBUTE = re.compile(
    r"[\s/]*((?!>)[^\s/][^\s/>=]*)(?:\s*=\s*(?:\"([^\"]*)(\"|\Z)|'([^']*)('|\Z)|([^\s>\"'][^\s>]*)?))?", re.DOTALL
)
_CLOSE = re.compile(r"[\s/]*>")
_KEPT_ASIDE = re.compile(
    r"<!doctype\s+html(?:\s+(?:public|system)(?:\s+[\"'](?:-//W3C//DTD [\w.\s/]*|https?://www\.w3\.org/[\w./-]*"
    r"|about:legacy-compat)[\"'])*)?\s*>|<\?xml\s[^>]{0,100}\?>"
    r"|<!\[(?:if\s+[!&|()\w\s]{0,10}(?:support\w+|vml|mso|gte\s+mso\s+[0-9]+)[()\s]*|endif)\]>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z][A-Za-z0-9]*;?)|[\r\n\t\f]")
_RAW = ("script", "style", "iframe", "noembed", "noframes")
_STYLE = re.compile(
    r"/\*.*?(?:\*/|\Z)|<!--|-->|url\s*\(.*?(?:\)|\Z)|content\s*:[^;}]*|@import[^;]*;?"
    r"|(?<![\w-])(?:mso-style-(?:name|link|parent|next)|--[\w-]+)\s*:[^;}]*;?|var\s*\(.*?(?:\)|\Z)",
    re.DOTALL | re.I,
)
_SELECTOR = re.compile(r"(?<![^{};])[^{};]+(?=\{)")
_CLASS = re.compile(r"-?[^\W\d][\w-]{0,80}")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_]+")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_FAMILIES = re.compile(r"(?<=font-family)\s*:[^;{}]+", re.I)
_FAMILY = re.compile(r"[^\W\d_][\w -]*")
_MOST_DIGITS = 4
"""Digits that a class may have beside words that programs use: more could be a number of a person."""
_SHEET = re.compile(r"\s*(?:[^{}<>]{1,500}\{[^{}<>]*(?:\{[^{}<>]*\}[^{}<>]*)*\}\s*)*")
_BLANKS = " \t\r\n\f"
_HARMLESS_STYLE = ("<!--", "-->")
_NONE: dict[str, str] = {}


def read(data: bytes, source: str, charset: str, table: Table) -> Record:
    """Read one page.

    Parameters
    ----------
    data, source, charset
        The page, its characters, and the codec that makes one of the other.
    table : Table
        What stands where.

    Raises
    ------
    FormatError
        When it has too many pieces.
    """
    reader = HtmlReader(source, table, frozenset())
    reader.part("page", 0, len(source), charset)
    return assemble(data, source, charset, reader.places, known=reader.known, links=reader.links, marks=reader.marks)


class HtmlReader(PackageReader):
    """The tags of one page while they are read."""

    def __init__(self, source: str, table: Table, names: frozenset[str]) -> None:
        super().__init__(source, table, names)
        facts = table.facts
        self.elements = frozenset(facts["elements"].split())
        self.inline = frozenset(facts["inline"].split())
        self.classes = self.elements | frozenset(facts["classes"].split())

    def part(self, name: str, begin: int, end: int, charset: str) -> None:
        """Find the places of a page.

        Raises
        ------
        FormatError
            When it has too many pieces of text.
        """
        self.name, self.codec, self.count = name, codec_of(charset), 0
        source = self.source
        self.paragraph = Paragraph()
        cells: list[int] = []
        at = read = begin
        while (at := source.find("<", at, end)) >= 0:
            if len(self.places) > MOST_PLACES:
                raise FormatError(f"more than {MOST_PLACES:,} pieces of text", "split the document", "", name)
            tag = _OPEN.match(source, at, end)
            if tag is None:
                if source[at + 1 : at + 2] not in ("!", "?", "/"):
                    at += 1  # a sign of its own
                    continue
                self._text(read, at)
                at = read = self._aside(at, end)
                continue
            self._text(read, at)
            called = tag[2].lower()
            attributes, stop = self._attributes(tag.end(), end)
            if stop < 0:  # what is cut off inside of a tag no browser shows
                self._block("#cut", at, end, examined=False)
                read = end
                break
            if called not in self.elements and not called.startswith(("o:", "v:", "w:", "m:", "st1:")):
                self._block("?", at, stop, examined=False)
            elif tag[1]:
                if attributes or source[tag.end() : stop - 1].strip("/ \t\r\n"):
                    self._block(called, tag.end(), stop - 1)
            else:
                self._tag_attributes(called, attributes)
            if called == "br":
                self._sign("\n")
            elif called == "sup":
                self.raised = not tag[1]
            elif called in self.elements and called not in self.inline:
                self._break()
                if called in ("td", "th") and cells:
                    end_with(self.places, cells[-1], "\t")
                elif called in ("tr", "table"):
                    if cells:
                        end_with(self.places, cells.pop(), "\n")
                    if called == "tr" and not tag[1]:
                        cells.append(len(self.places))
            at = read = stop
            if not tag[1] and called in _RAW:
                at = read = self._raw(called, stop, end)
        self._text(read, end)
        self._break()

    # what stands between tags

    def _text(self, start: int, end: int) -> None:
        if start >= end:
            return
        raw = self.source[start:end]
        words = raw.strip(_BLANKS)
        if not words or raw[0] in _BLANKS or (self.raised and mark_of(words)):
            self._sign(" ")
        if words:
            self.raised = False
            start += raw.index(words[0]) if raw[0] in _BLANKS else 0
            run = ParagraphRun(start, start + len(words), False, f"{self.name}/{self.count}", False, False)
            self.paragraph.runs.append(run)
            self.paragraph.behind.append(" " if raw[-1] in _BLANKS else "")

    def _sign(self, sign: str) -> None:
        """Put a sign between two stretches of words; of blanks browsers show one."""
        if self.paragraph.runs and not (sign == " " and self.paragraph.behind[-1][-1:].isspace()):
            self.paragraph.behind[-1] += sign

    def _break(self) -> None:
        if self.paragraph.runs:
            self.count += 1
            self._flush(self.paragraph)
            self.paragraph = Paragraph()

    def _aside(self, at: int, end: int) -> int:
        """Take a comment, a declaration or what browsers take for one; return where it ends."""
        source = self.source
        if source.startswith("<!--", at):
            if source.startswith((">", "->"), at + 4):
                stop = source.index(">", at + 4) + 1
            else:
                found = re.compile(r"--!?>").search(source, at + 4, end)
                stop = found.end() if found else end
        else:
            stop = source.find(">", at, end) + 1 or end
        if not _KEPT_ASIDE.fullmatch(source, at, stop):
            self._block("#aside", at, stop)
        return stop

    def _raw(self, called: str, start: int, end: int) -> int:
        """Take what stands in an element that holds no tags; return where it ends."""
        found = re.compile(rf"</{called}(?=[\s/>])", re.IGNORECASE).search(self.source, start, end)
        stop = found.start() if found else end
        sheet = self.source[start:stop]
        if called != "style" or "\\" in sheet or not _SHEET.fullmatch(_STYLE.sub("", sheet)):
            if sheet.strip():
                self._block(called, start, stop)
            return stop
        for one in _STYLE.finditer(sheet):
            if one[0] not in _HARMLESS_STYLE:
                self._block(called, start + one.start(), start + one.end())
        # what is blocked stands for itself: neither a selector nor words in quotes are looked for in it
        bare = _STYLE.sub(lambda one: " " * len(one[0]), sheet)
        for selector in _SELECTOR.finditer(bare):
            for name in _CLASS.finditer(bare, *selector.span()):
                self._class(called, start + name.start(), name[0])
        for quoted in _QUOTED.finditer(_SELECTOR.sub(lambda one: " " * len(one[0]), bare)):
            if not self._usual_class(quoted[0]):
                self._block(called, start + quoted.start(), start + quoted.end())
        for low, high in self._own_fonts(_QUOTED.sub(lambda one: " " * len(one[0]), bare)):
            self._block(called, start + low, start + high)
        return stop

    def _usual_class(self, name: str) -> bool:
        """Tell whether a name of a class, of an element or of a font is made of words that programs use alone."""
        return sum(map(str.isdecimal, name)) <= _MOST_DIGITS and all(
            len(part) == 1 or part.lower() in self.classes for part in _PART.findall(name)
        )

    def _own_fonts(self, sheet: str) -> Iterator[tuple[int, int]]:
        """Yield where fonts are named that are no usual ones."""
        for families in _FAMILIES.finditer(sheet):
            for family in _FAMILY.finditer(families[0]):
                if not self._usual_class(family[0]):
                    at = families.start() + family.start()
                    yield at, at + len(family[0].rstrip())

    def _class(self, path: str, at: int, name: str) -> None:
        """Take the name of a class or of a place in the page: another is the same new one wherever it stands."""
        if not self._usual_class(name):
            self.links.append(Place(f"{self.name}/{path}", at, at + len(name), "IDNUM", f"#{name}"))

    # tags

    def _attributes(self, at: int, end: int) -> tuple[list[tuple[str, int, int, int, int, bool | None]], int]:
        """Return the attributes of a tag (name, begin, value from and to, end, quotes), and where it ends or -1."""
        found: list[tuple[str, int, int, int, int, bool | None]] = []
        while (close := _CLOSE.match(self.source, at, end)) is None:
            one = _ATTRIBUTE.match(self.source, at, end)
            if one is None or one[3] == "" or one[5] == "":
                return found, -1
            group, double = (2, True) if one[2] is not None else (4, False) if one[4] is not None else (6, None)
            low, high = one.span(group) if one[group] is not None else (one.end(), one.end())
            found.append((one[1].lower(), one.start(1), low, high, one.end(), double))
            at = one.end()
        return found, close.end()

    def _tag_attributes(self, called: str, attributes: Sequence[tuple[str, int, int, int, int, bool | None]]) -> None:
        rules = self.table.rules(called)
        said = {f"@{name}": self.decode(self.source[low:high])[0] for name, _, low, high, _, _ in attributes}
        tag = Tag(called, (), said, _NONE, None, None)
        for name, begin, low, high, stop, double in attributes:
            rule = rules.get(f"@{name}") or self.anywhere.get(f"@{name}")
            if rule is None and name.startswith("aria-"):
                rule = "value"
            raw = self.source[low:high]
            if rule == KEEP or (rule is not None and not raw):
                continue
            path = f"{self.name}/{called}/@{name if rule is not None else '?'}"
            text, starts = self.decode(raw)
            kind, _ = self._settled(REMOVED if rule is None else str(rule), text, said)
            if kind == "class" and starts is not None:  # written as entities: no page needs that
                kind = BLOCKED
            if kind == KEEP:
                continue
            if kind == "class":
                for one in re.finditer(r"\S+", raw):
                    self._class(f"{called}/@class", low + one.start(), one[0])
                continue
            if kind in (REMOVED, BLOCKED) or (double is None and kind in ("instant", KEEP)):
                self.places.append(Place(path, begin, stop, BLOCKED, examined=rule is not None))
                continue
            self._attribute(tag, Attribute(str(rule), f"@{name}", raw, begin, low, high, double), 0)

    def _settled(self, kind: str, text: str, said: object) -> tuple[str, str]:
        if kind == "look":
            return (BLOCKED if _STYLE.search(text) else TEXT if any(self._own_fonts(text)) else KEEP), text
        if kind == "class":
            return (kind if all(map(_CLASS.fullmatch, text.split())) else BLOCKED), text
        if kind == "meta":
            plain = re.fullmatch(
                r"text/html(?:;\s*charset=[\w-]+)?|width=[\w-]+(?:,\s*[a-z-]+=[\w.]+)*|(?:Microsoft|LibreOffice|Word)[\w.\s()/-]{0,60}"
                r"|Word\.Document|IE=\w+",
                text,
            )
            return (KEEP if plain else "text"), text
        return super()._settled(kind, text, said)  # type: ignore[arg-type]

    def decode(self, raw: str) -> tuple[str, Sequence[tuple[int, int]] | None]:
        """Return the characters that raw ones stand for, line ends as blanks, and where each stands."""
        if _ENTITY.search(raw) is None:
            return raw, None
        out: list[str] = []
        starts: list[tuple[int, int]] = []
        read = 0
        for one in _ENTITY.finditer(raw):
            out.append(raw[read : one.start()])
            starts += [(n, n + 1) for n in range(read, one.start())]
            char = html.unescape(one[0]) if one[0][0] == "&" else " "
            if one[0][0] == "&" and len(char) > 2 and char[0] != "&" and one[0][-1] != ";":
                out.append(char[0])  # &copyright: a name without its end, and letters behind it
                starts.append((one.start(), one.end() - len(char) + 1))
                rest = char[1:]
                out.append(rest)
                starts += [(one.end() - len(rest) + n, one.end() - len(rest) + n + 1) for n in range(len(rest))]
            elif char == one[0]:
                out.append(char)
                starts += [(n, n + 1) for n in range(*one.span())]
            else:
                out.append(char)
                starts += [one.span()] * len(char)
            read = one.end()
        out.append(raw[read:])
        starts += [(n, n + 1) for n in range(read, len(raw))]
        return "".join(out), starts

    def quoted(self, one: Attribute) -> Callable[[str, Place, Sequence[Change]], str]:
        """Return what writes the value of an attribute, without blanks where no quotes stand around it."""
        return functools.partial(_bare, self.codec) if one.double is None else super().quoted(one)


def _bare(codec: XmlCodec, raw: str, place: Place, changes: Sequence[Change]) -> str:
    written = codec.double(raw, place, changes).replace("'", "&apos;")
    return written.replace(" ", "&#32;") or "&#32;"  # an empty one would take the next attribute for its value
