"""RTF read as places: words and escaped characters are replaced where they stand, between control words as they are.

What groups are: ``dictionaries/records/rtf.toml``; a group that may be skipped (``\\*``) and that no line names is
emptied. New characters outside of ASCII are written as Unicode, with as many signs behind them as readers skip there.

Format: Microsoft, Rich Text Format (RTF) Specification, version 1.9.1, "RTF Syntax", "Unicode RTF", "Font Table".
"""

from __future__ import annotations

import codecs
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from deid.base.errors import FormatError
from deid.phi import CATEGORIES
from deid.records.markup import mark_of
from deid.records.office import FIELD, MOST_PLACES, SHAPED, end_with
from deid.records.record import BLOCKED, TEXT, Change, Place, Record, assemble, splice
from deid.records.sweeping import known_of
from deid.records.tables import KEEP, Table

_HINT = "open it with the program that wrote it, and save it anew"
_TOKEN = re.compile(
    r"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?[0-9]{1,10})?(?P<blank> ?)|\\'(?P<byte>[0-9a-fA-F]{2})"
    r"|\\(?P<sign>[^A-Za-z])"
    r"|(?P<brace>[{}])|(?P<end>[\r\n]+)|(?P<text>[^\\{}\r\n]+)"
)
_DEPTH = 400
_SIGNS = {"~": "\u00a0", "_": "-", "{": "{", "}": "}", "\\": "\\"}
_CHARACTERS = {
    "emdash": "\u2014",
    "endash": "\u2013",
    "lquote": "\u2018",
    "rquote": "\u2019",
    "ldblquote": "\u201c",
    "rdblquote": "\u201d",
    "bullet": "\u2022",
    "emspace": "\u2003",
    "enspace": "\u2002",
}
_RAISED = frozenset(("super", "nosupersub", "sub"))
_BREAKS = {"tab": "\t", "line": "\n", "lbr": "\n"}
_CHARSETS = {
    77: "mac-roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "cp936", 136: "cp950", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874",
    238: "cp1250", 255: "cp437",
}  # fmt: skip
_WIDE = frozenset(("cp932", "cp949", "johab", "cp936", "cp950", "utf-8"))
_PAGES = {"ansi": "cp1252", "mac": "mac-roman", "pc": "cp437", "pca": "cp850"}
_SAME, _LABEL, _HEAD, _VALUE, _INSTRUCTION = "same", "label", "head", "value", "instruction"
_SILENT = "silent"


@dataclass(slots=True)
class _Run:
    """A stretch of characters that no control word cuts."""

    start: int
    end: int
    chars: list[str] = field(default_factory=list)
    starts: list[tuple[int, int]] = field(default_factory=list)
    tight: bool = False
    """Whether a control word without a blank stands before it."""
    skipped: int = 1
    """Signs that readers skip behind a Unicode character."""
    behind: str = ""
    raised: bool = False


@dataclass(slots=True)
class _Frame:
    """An open group."""

    start: int
    kind: str
    name: str
    runs: list[_Run]
    owner: bool
    skipped: int
    charset: str
    fresh: bool = True
    starred: bool = False
    inner: int = 0
    """Where what follows the name of the group begins."""
    first: int = 0


def read(data: bytes, table: Table) -> Record:
    """Read one document.

    Parameters
    ----------
    data : bytes
    table : Table
        What stands where.

    Raises
    ------
    FormatError
        When it is cut off, nested too deep, or has too many pieces.
    """
    reader = _Reader(data.decode("latin-1"), table)
    reader.read()
    return assemble(
        data,
        reader.source,
        "latin-1",
        [*reader.places, *reader.late],
        known=reader.known,
    )


class _Reader:
    """The groups of one document while they are read."""

    def __init__(self, source: str, table: Table) -> None:
        self.source, self.table = source, table
        self.usual = frozenset(table.facts["usual"].split())
        self.software = frozenset(table.facts["software"])
        self.ends, self.dated = frozenset(table.facts["ends"]), frozenset(table.facts["dated"])
        self.tables = frozenset(table.facts["tables"])
        self.page = "cp1252"
        self.fonts: dict[int, str] = {}
        self.font = 0
        self.places: list[Place] = []
        self.late: list[Place] = []
        """Names of styles and the like, which stand behind the words of the document."""
        self.known: dict[tuple[str, str], None] = {}
        self.row = 0
        self.pending: tuple[bytes, int, int] | None = None
        self.word_end = -1
        self.high = 0
        self.raised = False

    def read(self) -> None:
        """Find the places."""
        source, end = self.source, len(self.source)
        frames: list[_Frame] = []
        at = 0
        while at < end:
            token = _TOKEN.match(source, at)
            if token is None:
                raise FormatError("the document is cut off", _HINT, "", f"byte {at}")
            if len(self.places) > MOST_PLACES:
                raise FormatError(f"more than {MOST_PLACES:,} pieces of text", "split the document")
            if not frames and (token["brace"] != "{" or at):
                if source[at:].strip("\r\n \0"):
                    self.places.append(Place("#behind", at, end, BLOCKED, examined=True))
                return
            if token["brace"] == "{":
                at = token.end()
                frames.append(self._opened(frames, at))
            elif token["brace"]:
                self._closed(frames.pop(), at)
                at = token.end()
            elif token["word"]:
                at = self._word(frames, token)
            else:
                at = self._characters(frames[-1], token)
        if frames:
            raise FormatError("the document is cut off: a group has no end", _HINT, "", f"byte {end}")

    # groups

    def _opened(self, frames: Sequence[_Frame], at: int) -> _Frame:
        if len(frames) >= _DEPTH:
            raise FormatError("groups are nested too deep", "leave the document out", "", f"byte {at}")
        if not frames:
            return _Frame(at, TEXT, "rtf", [], True, 1, "", inner=at)
        above = frames[-1]
        own = above.name in self.tables
        return replace(
            above,
            start=at,
            runs=[] if own else above.runs,
            owner=own,
            fresh=True,
            starred=False,
            inner=at,
            first=len(self.places),
        )

    def _closed(self, frame: _Frame, at: int) -> None:
        self.pending = None
        if frame.owner:
            self._flush(frame, at)

    def _settle(self, frame: _Frame, name: str, at: int) -> bool:
        """Tell a group by its first word; return whether it is blocked."""
        rules = self.table.rules(name)
        kind = str(rules.get("#text", ""))
        if not kind and frame.starred:
            kind = BLOCKED
        if not kind or kind == _SAME:
            return False
        if kind != BLOCKED:
            frame.kind, frame.name, frame.inner = kind, name, at
            frame.runs, frame.owner, frame.first = [], True, len(self.places)
            return False
        return True

    def _block(self, frame: _Frame, name: str, at: int) -> int:
        """Block a group to its end; return where that is."""
        depth = 1
        source = self.source
        while depth:
            token = _TOKEN.match(source, at)
            if token is None:
                raise FormatError("the document is cut off: a group has no end", _HINT, "", f"byte {at}")
            at = token.end()
            if token["brace"]:
                depth += 1 if token["brace"] == "{" else -1
            elif token["word"] == "bin":
                at += max(int(token["number"] or 0), 0)
        known = "#text" in self.table.rules(name) and name not in self.table.facts["unexamined"]
        path = name if "#text" in self.table.rules(name) else "?"
        self.places.append(Place(path, frame.start, at - 1, BLOCKED, examined=known))
        return at - 1

    # control words

    def _word(self, frames: Sequence[_Frame], token: re.Match[str]) -> int:
        frame, word, at = frames[-1], token["word"], token.end()
        number = int(token["number"] or 0)
        self.pending = None
        fresh, frame.fresh = frame.fresh, False
        self.word_end = -1 if token["blank"] else at
        if fresh and self._settle(frame, word, at):
            return self._block(frame, word, token.start())
        if word == "bin":
            stop = min(at + max(number, 0), len(self.source))
            self.places.append(Place("bin", token.start(), stop, BLOCKED))
            return stop
        if word == "u":
            return self._unicode(frame, token, number)
        if word in _CHARACTERS:
            self._add(frame, _CHARACTERS[word], token.start(), at)
        elif word in _BREAKS:
            if frame.runs:
                frame.runs[-1].behind += _BREAKS[word]
        elif word in self.ends:
            if frame.kind == TEXT:
                self._ended(frame, word)
        elif word in self.dated:
            self.places.append(Place(word, token.start(), at - len(token["blank"]), BLOCKED, examined=True))
        elif word in _RAISED:
            self.raised = word == "super" and token["number"] != "0"
        elif word == "uc":
            frame.skipped = min(max(number, 0), 9)
        elif word in ("f", "af", "plain", "deff"):
            if frame.name == "fonttbl":
                self.font = number
            elif word != "deff":
                frame.charset = self.fonts.get(number, "") if word != "plain" else ""
        elif word == "fcharset" and frame.name == "fonttbl":
            self.fonts[self.font] = _CHARSETS.get(number, "")
        elif word == "cpg" and frame.name == "fonttbl":
            self.fonts[self.font] = _codec(f"cp{number}") or ""
        elif word in _PAGES:
            self.page = _PAGES[word]
        elif word == "ansicpg":
            self.page = _codec("utf-8" if number == 65001 else f"cp{number}") or self.page
        return at

    def _unicode(self, frame: _Frame, token: re.Match[str], number: int) -> int:
        at = token.end()
        for _ in range(frame.skipped):  # what older readers show instead
            behind = _TOKEN.match(self.source, at)
            if behind is None or behind["brace"] or behind["end"]:
                break
            if behind["word"]:
                break
            at = at + 1 if behind["text"] else behind.end()
        code = number % 0x10000
        if 0xD800 <= code < 0xDC00:
            self.high, self.high_start = code, token.start()
            return at
        start = token.start()
        if 0xDC00 <= code < 0xE000 and self.high:
            code = 0x10000 + ((self.high - 0xD800) << 10) + code - 0xDC00
            start = self.high_start
        self.high = 0
        self._add(frame, chr(code) if not 0xD800 <= code < 0xE000 and code else "\ufffd", start, at)
        self.word_end = at if at == token.end() and not token["blank"] else -1
        return at

    # characters

    def _characters(self, frame: _Frame, token: re.Match[str]) -> int:
        at, end = token.span()
        if token["end"]:
            return end
        sign = token["sign"]
        if sign == "*":
            if frame.fresh:
                frame.starred = True
            return end
        frame.fresh = False
        if token["byte"]:
            self._byte(frame, int(token["byte"], 16), at, end)
        elif sign is not None:
            self.pending = None
            if sign in _SIGNS:
                self._add(frame, _SIGNS[sign], at, end)
            elif sign in "\r\n" and frame.kind == TEXT:
                self._ended(frame, "par")
        elif self.pending is None and token["text"].isascii():
            run = self._run(frame, at)
            run.chars.append(token["text"])
            run.starts += [(n, n + 1) for n in range(at, end)]
            run.end = end
        else:
            for n, char in enumerate(token["text"], at):
                self._byte(frame, ord(char), n, n + 1)
        return end

    def _byte(self, frame: _Frame, byte: int, at: int, end: int) -> None:
        """Take a byte of the code page; some take two of them for a character."""
        charset = frame.charset or self.page
        held, self.pending = self.pending, None
        content = bytes((byte,))
        if held is not None and held[2] == at:
            content, at = held[0] + content, held[1]
        try:
            char = content.decode(charset)
        except UnicodeDecodeError:
            if charset in _WIDE and len(content) < (4 if charset == "utf-8" else 2):
                self.pending = content, at, end
                return
            char = "\ufffd" * len(content)
        self._add(frame, char, at, end)

    def _run(self, frame: _Frame, at: int) -> _Run:
        """Return the run that goes on here, a new one where a control word has cut it."""
        tight = self.word_end == at
        if frame.runs and frame.runs[-1].end == at and not tight and not frame.runs[-1].behind:
            return frame.runs[-1]
        run = _Run(at, at, tight=tight, skipped=frame.skipped, raised=self.raised)
        self.raised = False
        frame.runs.append(run)
        return run

    def _add(self, frame: _Frame, chars: str, at: int, end: int) -> None:
        run = self._run(frame, at)
        run.chars.append(chars)
        run.starts += [(at, end)] * len(chars)
        run.end = end

    # places

    def _ended(self, frame: _Frame, word: str) -> None:
        """End a paragraph, a cell or a row."""
        self._flush(frame, -1)
        del frame.runs[:]
        if word in ("cell", "nestcell", "row", "nestrow"):
            sign = "\t" if "cell" in word else "\n"
            end_with(self.places, self.row, sign)
            if sign == "\n":
                self.row = len(self.places)

    def _flush(self, frame: _Frame, at: int) -> None:
        runs = [run for run in frame.runs if run.chars]
        kind, path = frame.kind, frame.name
        if kind == KEEP or not runs:
            return
        for before, run in pairwise(runs):
            if run.raised and not before.behind and mark_of(run.chars[0]):
                before.behind = " "
        text = "".join("".join(run.chars) + run.behind for run in runs)
        if kind == _INSTRUCTION:
            if not FIELD.fullmatch(text):
                self.places.append(Place(path, frame.inner, at, BLOCKED, examined=True))
            return
        if kind == _LABEL:
            words = re.findall(r"[^\W\d_]+", text)
            kind = KEEP if self.usual.issuperset(words) and len(re.findall("[0-9]", text)) < 10 else TEXT
        elif kind == _SILENT:
            kind = TEXT if re.search(r"\w", text) else KEEP
        elif kind == _VALUE:
            kind = KEEP if SHAPED.fullmatch(text.strip()) else TEXT
        elif kind in CATEGORIES and text.strip(" ;") in self.software:
            kind = KEEP
        if kind == KEEP:
            return
        behind = ": " if kind == _HEAD else "\n"
        kind = TEXT if kind == _HEAD else kind
        late = frame.kind in (_LABEL, _VALUE, _SILENT) or kind in CATEGORIES
        places = self.late if late else self.places
        if frame.name in self.tables and runs[-1].chars and "".join(runs[-1].chars).endswith(";"):
            runs[-1] = _shorter(runs[-1])
            runs = [run for run in runs if run.chars]
        for number, run in enumerate(runs, 1):
            chars = "".join(run.chars)
            starts = [(a - run.start, b - run.start) for a, b in run.starts]
            encode = functools.partial(_encode, run.tight, run.skipped)
            joins = number < len(runs)
            sign = run.behind if joins else behind
            places.append(Place(path, run.start, run.end, kind, chars, encode, starts, behind=sign, joins=joins))
        if kind in CATEGORIES and len(re.findall(r"[^\W\d_]+", text)) > 1:
            self.known |= dict.fromkeys(known_of(kind, text.strip(" ;")))


def _shorter(run: _Run) -> _Run:
    """Return a run without its last character."""
    chars = "".join(run.chars)[:-1]
    return replace(run, chars=[chars] if chars else [], starts=run.starts[:-1], end=run.starts[-1][0])


def _codec(name: str) -> str | None:
    try:
        return codecs.lookup(name).name if name != "cp65001" else "utf-8"
    except LookupError:
        return None


def _encode(tight: bool, skipped: int, raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return the characters of a run with its changes."""
    out = splice(raw, place, changes, lambda new, *_: _written(new, skipped))
    return f" {out}" if tight and re.match(r"[A-Za-z0-9 -]", out) else out


def _written(text: str, skipped: int) -> str:
    out = []
    for char in text:
        if char in "\\{}":
            out.append(f"\\{char}")
        elif char == "\n":
            out.append("\\line ")
        elif char == "\t":
            out.append("\\tab ")
        elif " " <= char <= "~":
            out.append(char)
        elif char > "~":
            for unit in codecs.iterdecode([char.encode("utf-16-le", "replace")], "utf-16-le"):
                pair = unit.encode("utf-16-le")
                for n in range(0, len(pair), 2):
                    code = int.from_bytes(pair[n : n + 2], "little", signed=True)
                    out.append(f"\\u{code}{'?' * skipped or ' '}")
    return "".join(out)
