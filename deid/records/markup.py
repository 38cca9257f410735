"""The text of markup, and where its characters stand: XHTML of resources, HTML of their documents."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

_MARKUP = re.compile(
    r"<!--(.*?)(?:-->|\Z)|<!\[CDATA\[|\]\]>|<([/!?]?)([A-Za-z][^\s/>]*)?((?:\"[^\"]*\"|'[^']*'|[^>\"'])*)>", re.S
)
_ATTRIBUTE = re.compile(r"([^\s=\"'/]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
_INLINE = frozenset(
    ("a", "abbr", "b", "big", "code", "em", "font", "i", "small", "span", "strong", "sub", "sup", "tt", "u")
)
_CELLS = frozenset(("td", "th"))
_RAISED = "sup"
mark_of = re.compile("[0-9*\u2020\u2021\u00a7(\\[]").match
"""Tells whether raised characters are an exponent or the mark of a note: no part of the word or number before them."""


def visible(markup: str, silent: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Return the text of XHTML, and where each of its characters begins and ends.

    Parameters
    ----------
    markup : str
    silent : sequence of str
        Attributes whose values are no text.

    Returns
    -------
    (str, list of (int, int))
        Text of elements, of comments and of other attributes, each of the latter on a line of its own; what parts
        blocks stands between characters and takes no room.
    """
    out: list[str] = []
    starts: list[tuple[int, int]] = []
    raised = False

    def take(begin: int, end: int) -> None:
        nonlocal raised
        at = begin
        if raised and begin < end:
            if out and out[-1][-1:].isalnum() and mark_of(markup, begin, end):
                part(" ", begin)
            raised = False
        for entity in _ENTITY.finditer(markup, begin, end):
            plain(at, entity.start())
            char = html.unescape(entity[0])
            out.append(char)
            starts.extend([entity.span()] * len(char))
            at = entity.end()
        plain(at, end)

    def plain(begin: int, end: int) -> None:
        out.append(markup[begin:end])
        starts.extend([(n, n + 1) for n in range(begin, end)])

    def part(sign: str, at: int) -> None:
        out.append(sign)
        starts.append((at, at))

    read = 0
    for tag in _MARKUP.finditer(markup):
        take(read, tag.start())
        read = tag.end()
        name = (tag[3] or "").lower()
        raised = (name == _RAISED and not tag[2]) or (raised and name != _RAISED)
        if name and name not in _INLINE:
            part("\t" if name in _CELLS else "\n", tag.start())
        if tag[1]:
            part("\n", tag.start())
            take(*tag.span(1))
            part("\n", tag.end(1))
        for attribute in _ATTRIBUTE.finditer(markup, *tag.span(4)) if tag[4] else ():
            group = 2 if attribute[2] is not None else 3
            said = attribute[1].lower()
            if said not in silent and not said.startswith("xmlns") and attribute[group]:
                part("\n", attribute.start())
                take(*attribute.span(group))
                part("\n", attribute.end(group))
    take(read, len(markup))
    return "".join(out), starts
