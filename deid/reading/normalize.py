"""Texts as recognizers should see them, with the way back to the text as it is.

Zero-width characters inside words and letters that only look Latin (a Cyrillic *а*) hide names from every pattern and
list. They are taken out, or replaced by what they look like, before detection, as are curly quotes and odd blanks;
letters and their accents become one character (*e* with a combining accent is *é*), and every line end one line feed
(`deid.reading.line_ends`); commas between values without blanks are tabs, and the dots of a form's line say where its
values begin and end. Offsets are mapped back afterwards.
"""

from __future__ import annotations

import html
import unicodedata
from bisect import bisect_left

import regex

from deid.base.compiled import native_for
from deid.reading.accents import GONE, joined
from deid.reading.comma_rows import parted
from deid.reading.line_ends import Normalized, unified

native = native_for("normalize")

_ODD = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_ODD += "\u2018\u2019\u02bc\u2032\u201c\u201d\u2010\u2011"
_PLAIN = {ord(odd): plain for odd, plain in zip(_ODD, " " * 16 + "''''\"\"--", strict=True)}
"""Blanks, apostrophes, quotes and hyphens that patterns need not know; one character each."""
_INVISIBLE = regex.compile(r"[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
_LOOK_ALIKES = dict(
    zip(
        "АВЕЅІЈКМНОРСТУХаеѕіјорсухԁԛԝһӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧαοιν",
        "ABESIJKMHOPCTYXaesijopcyxdqwhlABEZHIKMNOPTYXaoiv",
        strict=True,
    )
)
_FOREIGN = regex.compile(r"[\p{Cyrillic}\p{Greek}]")
_MIXED_WORD = regex.compile(r"[\p{L}\p{M}'\u2019-]+")
_OTHER_WIDTH = regex.compile("[\uff01-\uff5e\U0001d400-\U0001d7ff]")
_LATIN = regex.compile(r"\p{Latin}")
_SPELT = regex.compile(r"&(?:#(?:[0-9]{2,5}|[xX][0-9a-fA-F]{2,4})|[A-Za-z]{4,8});|=C[3-9](?:=[89AB][0-9A-F])")
"""Letters as HTML and mail write them: *&#233;*, *&eacute;*, *=C3=A9*."""
_DOTTED = regex.compile(r"(?m)(?<=[ \t\n]|^)\.{3,}(?=[^\W_])|(?<=\w)\.{4,}(?=[^\W_])|(?<=\w)\.{3,}(?=[ \t]*$|[ \t]{2})")
"""Dots that touch a value on a form: *Age ...58...*."""
_LATER = "\u2013\u2014\u2020\u2021\u2022\u2026\u20ac\u2122\u2190\u2191\u2192\u2193\u2260\u2264\u2265"
_ORDINARY = frozenset(c for c in (*map(chr, range(0x250)), *_LATER) if ord(c) not in _PLAIN and not _INVISIBLE.match(c))
"""Characters that stay as they are; most texts have no others."""
_TABLE = bytes(chr(code) in _ORDINARY for code in range(max(map(ord, _ORDINARY)) + 1))
"""The same, a byte for each character."""


def normalize(text: str) -> Normalized:
    """Return the text with plain line ends, and without invisible characters and look-alikes."""
    lines = unified(text)
    plain = _SPELT.sub(_letter, lines.text) if "&" in text or "=C" in text else lines.text
    plain = parted(plain)
    if "..." in plain:
        plain = _DOTTED.sub(_undotted, plain)
    if plain is not lines.text:
        lines = Normalized(plain, lines.removed)
    odd = "" if plain.isascii() else _odd(plain)
    if not odd:
        return lines
    if _OTHER_WIDTH.search(odd):
        plain = _fold_width(plain)
        odd = _odd(plain)
    for character in odd:
        if ord(character) in _PLAIN:  # `str.translate` asks for every character
            plain = plain.replace(character, _PLAIN[ord(character)])
    if _FOREIGN.search(odd):
        pieces = plain.split("\n")  # few have such letters
        plain = "\n".join(line if line.isascii() else _latin_words(line) for line in pieces)
    plain, tied = joined(plain)
    if tied:
        odd = _odd(plain)
    places: list[int] = []
    for character in filter(_INVISIBLE.match, odd):
        at = plain.find(character)
        while at >= 0:
            places.append(at)
            at = plain.find(character, at + 1)
    if not places:
        return Normalized(plain, lines.removed)
    places.sort()
    removed = [place - before for before, place in enumerate(places)]
    removed += [place - bisect_left(places, place) for place in lines.removed]
    return Normalized(_INVISIBLE.sub("", plain), tuple(sorted(removed)), frozenset(map(lines.origin, tied)))


def _letter(spelt: regex.Match[str]) -> str:
    """Return a letter that was spelt as a code, as long as the code; other codes stay."""
    code = spelt[0]
    letter = html.unescape(code) if code[0] == "&" else bytes.fromhex(code.replace("=", "")).decode("utf-8", "replace")
    return letter + GONE * (len(code) - 1) if _LATIN.fullmatch(letter) else code


def _undotted(dots: regex.Match[str]) -> str:
    """Return what stands for dots: a colon before a value, blanks behind it."""
    size = dots.end() - dots.start()
    behind = dots.string[dots.end() : dots.end() + 1].isalnum()
    return (":" if behind else " ").ljust(size)


def _odd(text: str) -> str:
    """Return the characters that are not ordinary, each once."""
    if native is not None:
        found: str = native.Reader.odd(text, _TABLE)
        return found
    return "".join(set(text) - _ORDINARY)


def _fold_width(text: str) -> str:
    """Replace full-width letters, digits and signs, and odd blanks, by ordinary ones, character by character."""
    return "".join(
        unicodedata.normalize("NFKC", c) if "\uff01" <= c <= "\uff5e" or "\U0001d400" <= c <= "\U0001d7ff" else c
        for c in text
    )


def _latin_words(line: str) -> str:
    return " ".join(piece if piece.isascii() else _MIXED_WORD.sub(_latin, piece) for piece in line.split(" "))


def _latin(word: regex.Match[str]) -> str:
    """Replace look-alikes in a word that has Latin letters too, or that consists of look-alikes alone."""
    letters = word[0]
    if not _FOREIGN.search(letters):
        return letters
    if _LATIN.search(letters) or all(c in _LOOK_ALIKES for c in letters if c.isalpha()):
        return "".join(_LOOK_ALIKES.get(c, c) for c in letters)
    return letters
