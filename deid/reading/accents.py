"""Letters whose accents are characters of their own (Unicode's NFD, as macOS writes it), read as one character each."""

from __future__ import annotations

import unicodedata

import regex

from deid.base.compiled import native_for
from deid.reading.line_ends import Normalized

native = native_for("normalize")


_ACCENTED = regex.compile(r"[\p{Latin}\p{Greek}\p{Cyrillic}]\p{M}+")
_MARK = regex.compile(r"\p{M}")
_LATIN = bytes([1]) * 0x300
GONE = "\u034f"
"""Stands where an accent was taken out (invisible, and an accent itself)."""


def _beyond_latin(text: str) -> str:
    """Return the characters from the first mark on, each once: of notes there are few, and `regex` takes its time."""
    if native is not None:
        found: str = native.Reader.odd(text, _LATIN)
        return found
    return "".join(set(text))


def joined(text: str) -> tuple[str, list[int]]:
    """Return a text with letter and accents as one character, `GONE` in the place of the accents, and these places.

    Accents with which no letter of Unicode is written go too.
    """
    if text.isascii() or not _MARK.search(_beyond_latin(text)):
        return text, []
    places: list[int] = []

    def join(found: regex.Match[str]) -> str:
        places.extend(range(found.start() + 1, found.end()))
        return unicodedata.normalize("NFC", found[0])[0] + GONE * (found.end() - found.start() - 1)

    return _ACCENTED.sub(join, text), places


def composed(text: str) -> Normalized:
    r"""Return a text with letter and accents as one character, and the way back.

    Examples
    --------
    >>> composed("Jose\u0301 came").text
    'José came'
    """
    plain, places = joined(text)
    if not places:
        return Normalized(text)
    gone = frozenset(places)
    kept = "".join(c for at, c in enumerate(plain) if at not in gone)
    return Normalized(kept, tuple(at - before for before, at in enumerate(places)), gone)
