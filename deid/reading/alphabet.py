"""What the compiled loops know of characters: asked of Python, a page of 256 at a time.

`deid._native` holds no Unicode tables of its own. So its tokens, shapes, lower case and folded words are those of the
Python code in every version of Python and of `regex`.
"""

from __future__ import annotations

import functools
import re
import struct
import unicodedata
from typing import Any

import regex

from deid.reading.dictionaries import fold

_CHARACTER = struct.Struct("=HHII")
_NOTHING = 0xFFFFFFFF
_CLASSES: dict[int, Any] = {
    1: regex.compile(r"[\p{L}\p{M}]"),
    2: regex.compile(r"\p{N}"),
    4: regex.compile(r"\s"),
    8: re.compile(r"\w"),
    32: regex.compile(r"\p{Lu}"),
    64: regex.compile(r"\p{Ll}"),
    2048: regex.compile(r"\w"),
}
"""Bit -> what finds the characters that have it."""
_ODD_LOWER, _ODD_FOLD = 512, 1024
_PAGES = 64
"""Pages that are remembered: each compiled loop asks for its own."""
_FINAL_SIGMA = "\u03a3"
"""Its lower case depends on what stands beside it."""


def kind_of(character: str) -> str:
    """Return what stands for a character in a shape.

    ``X`` upper case, ``x`` lower case, ``d`` digit, ``m`` mark, a blank for white space, others themselves.
    """
    category = unicodedata.category(character)
    if category == "Lu" or category == "Lt":
        return "X"
    if category[0] == "L":
        return "x"
    if category[0] == "N":
        return "d"
    if category[0] == "M":
        return "m"
    return " " if character.isspace() else character


@functools.lru_cache(maxsize=_PAGES)
def page(number: int) -> bytes:
    """Describe the characters ``256 * number`` to ``256 * number + 255``.

    Returns
    -------
    bytes
        Twelve bytes a character: bits as in ``csrc/text.h``, the letter that stands for it in a shape (0: itself), its
        lower case, and its form under `deid.reading.dictionaries.fold` (0xFFFFFFFF when that drops it).
    """
    characters = "".join(map(chr, range(256 * number, 256 * number + 256)))
    bits = [0] * 256
    for bit, expression in _CLASSES.items():
        for found in expression.finditer(characters):
            bits[found.start()] |= bit
    return b"".join(map(_describe, characters, bits))


def _describe(c: str, bits: int) -> bytes:
    bits |= c.isspace() << 4 | c.isalnum() << 7 | c.isdigit() << 8
    kind, lower, folded = kind_of(c), c.lower(), fold(c)
    if len(lower) != 1 or c == _FINAL_SIGMA:
        bits |= _ODD_LOWER
    if len(folded) > 1 or _FINAL_SIGMA in unicodedata.normalize("NFKD", c):
        bits |= _ODD_FOLD
    return _CHARACTER.pack(
        bits,
        0 if kind == c else ord(kind),
        ord(lower) if len(lower) == 1 else ord(c),
        ord(folded) if len(folded) == 1 else _NOTHING,
    )
