"""Where the characters of XML stand: markup told from text, references and line ends decoded, and texts written back.

Who calls has seen to it that the XML is well-formed and has no document type declaration; so one expression tells
markup from text, and nothing is expanded.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

from deid.records.record import Change, Place, fit, splice

TOKEN = re.compile(
    r"<!--(?P<comment>.*?)-->|<!\[CDATA\[(?P<data>.*?)\]\]>|<\?(?P<told>.*?)\?>|</[^>]*>"
    r"|<(?P<name>[^\s/>]+)(?P<attributes>(?:[^>\"']|\"[^\"]*\"|'[^']*')*?)(?P<empty>/?)>",
    re.DOTALL,
)
ATTRIBUTE = re.compile(r"([^\s=]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
"""Name and value, in double or in single quotes."""
SPECIAL = re.compile(r"&(#x[0-9a-fA-F]+|#[0-9]+|[a-z]+);|[ \t]*(?:\r\n?|\n)[ \t]*")
SPECIAL_INSIDE = re.compile(r"&(#x[0-9a-fA-F]+|#[0-9]+|[a-z]+);|\r\n|[\r\n\t]")
LINE = re.compile(r"[ \t]*(?:\r\n?|\n)[ \t]*")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class XmlAttribute(NamedTuple):
    """An attribute as it is written."""

    name: str
    raw: str
    """Its value between the quotes."""
    begin: int
    """Where its name begins, from the beginning of its tag."""
    at: int
    """Where its value does."""
    double: bool
    """Whether the quotes are double ones."""


def written(token: re.Match[str]) -> tuple[list[XmlAttribute], dict[str, str]]:
    """Return the attributes of a start tag, a match of `TOKEN`, and the namespaces that it declares, by prefix."""
    attributes = []
    begin = token.start("attributes") - token.start()
    for one in ATTRIBUTE.finditer(token["attributes"]):
        group = 2 if one[2] is not None else 3
        attributes.append(XmlAttribute(one[1], one[group], begin + one.start(), begin + one.start(group), group == 2))
    declared = (one for one in attributes if one.name == "xmlns" or one.name.startswith("xmlns:"))
    return attributes, {one.name[6:]: decoded(one.raw, SPECIAL_INSIDE)[0] for one in declared}


class Starts(Sequence[tuple[int, int]]):
    """Where each character of a text begins and ends in the raw one, from those that stand for more than themselves."""

    __slots__ = ("at", "ends", "length", "starts")

    def __init__(self, at: list[int], starts: list[int], ends: list[int], length: int) -> None:
        self.at, self.starts, self.ends, self.length = at, starts, ends, length

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[int, int]]: ...
    def __getitem__(self, index: int | slice) -> tuple[int, int] | Sequence[tuple[int, int]]:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(self.length))]
        if not 0 <= index < self.length:
            raise IndexError(index)
        found = bisect_right(self.at, index) - 1
        if found < 0:
            return index, index + 1
        if self.at[found] == index:
            return self.starts[found], self.ends[found]
        start = self.ends[found] + index - self.at[found] - 1
        return start, start + 1


def decoded(raw: str, special: re.Pattern[str]) -> tuple[str, Starts | None]:
    """Return the characters of raw ones, and where each stands there; None for each at its own place."""
    if raw.isalnum():
        return raw, None
    out: list[str] = []
    at: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    read = length = 0
    for found in special.finditer(raw):
        start, end = found.span()
        length += start - read
        out.append(raw[read:start])
        said = found[1] if found.re.groups else None
        if said is None:
            char = " " if special is SPECIAL_INSIDE else "\n"
        elif said[0] == "#":
            char = chr(int(said[2:], 16) if said[1] == "x" else int(said[1:]))
        else:
            char = _ENTITIES[said]
        out.append(char)
        at.append(length)
        starts.append(start)
        ends.append(end)
        length += 1
        read = end
    if not at:
        return raw, None
    out.append(raw[read:])
    return "".join(out), Starts(at, starts, ends, length + len(raw) - read)


@functools.lru_cache(maxsize=64)
def codec_of(charset: str) -> XmlCodec:
    """Return what writes text in a character set."""
    return XmlCodec(charset)


@dataclass(frozen=True, slots=True)
class XmlCodec:
    """How a document writes text: its character set, and escapes by where the text stands."""

    charset: str

    def __reduce__(self) -> tuple[type[XmlCodec], tuple[str]]:
        return XmlCodec, (self.charset,)  # a frozen class that is compiled cannot be filled in later

    def text(self, raw: str, place: Place, changes: Sequence[Change]) -> str:
        """Return the text of an element with its changes."""
        return splice(raw, place, changes, lambda new, *_: self._escaped(new))

    def double(self, raw: str, place: Place, changes: Sequence[Change]) -> str:
        """Return a value in double quotes with its changes."""
        return splice(raw, place, changes, lambda new, *_: self._inside(new).replace('"', "&quot;"))

    def single(self, raw: str, place: Place, changes: Sequence[Change]) -> str:
        """Return a value in single quotes with its changes."""
        return splice(raw, place, changes, lambda new, *_: self._inside(new).replace("'", "&apos;"))

    def data(self, raw: str, place: Place, changes: Sequence[Change]) -> str:
        """Return the text of a CDATA section with its changes; it has no escapes, and cannot hold its own end."""
        out = splice(raw, place, changes, lambda new, *_: fit(_FORBIDDEN.sub("?", new), self.charset))
        return out.replace("]]>", "]]]]><![CDATA[>")

    def _escaped(self, text: str) -> str:
        text = (
            _FORBIDDEN.sub("?", text)
            .replace("&", "&amp;")
            .replace("<", "&lt;")
            .replace(">", "&gt;")
            .replace("\r", "&#13;")
        )
        return text if text.isascii() else text.encode(self.charset, "xmlcharrefreplace").decode(self.charset)

    def _inside(self, text: str) -> str:
        return self._escaped(text).replace("\t", "&#9;").replace("\n", "&#10;")
