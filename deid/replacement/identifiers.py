"""Surrogates of numbers and codes: same length, same character classes, same separators, valid check digits.

A code is read as a number in mixed radix (a digit counts 10, a letter 26, a leading digit other than zero 9) and sent
through a keyed permutation without fixed point: two codes of the same form never share a surrogate, and no code is its
own surrogate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from deid.replacement.permutation import Keyed

__all__ = ["scramble"]

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_UPPER = _LOWER.upper()
_CHUNK = 64  # characters that are permuted together: 26**64 stays below the permutation's limit
_ALNUM = re.compile(r"[^\W_]", re.UNICODE)


def _alphabet(char: str) -> str:
    if char.isdigit():
        return "0123456789"
    return _LOWER if char.islower() else _UPPER


def encipher(keyed: Keyed, what: str, text: str, alphabets: Sequence[str], step: int = 1) -> str:
    """Move ``text`` within the strings whose characters come from ``alphabets``, one a character."""
    size = rank = 1
    rank = 0
    for char, alphabet in zip(text, alphabets, strict=True):
        size *= len(alphabet)
        rank = rank * len(alphabet) + max(alphabet.find(char), 0)
    rank = keyed.move(f"{what}\0{len(text)}\0{size}", rank, size, step)
    out = []
    for alphabet in reversed(alphabets):
        rank, digit = divmod(rank, len(alphabet))
        out.append(alphabet[digit])
    return "".join(reversed(out))


def scramble(keyed: Keyed, text: str, what: str = "code", step: int = 1) -> str:
    """Replace every letter and digit of ``text`` by another arrangement of the same classes.

    Parameters
    ----------
    keyed : Keyed
        The scope's choices.
    text : str
        The original; characters other than letters and digits stay.
    what : str
        Kind of code.
    step : int
        1 for the first choice, 2 for the next, and so on.

    Returns
    -------
    str
        As long as ``text`` and different from it; empty when ``text`` has no letter or digit.
    """
    places = [m.start() for m in _ALNUM.finditer(text)]
    if not places:
        return ""
    chars = list(text)
    for begin in range(0, len(places), _CHUNK):
        part = places[begin : begin + _CHUNK]
        old = "".join(text[i] for i in part)
        alphabets = [_alphabet(c) for c in old]
        if begin == 0 and old[0] in "123456789" and len(part) > 1:
            alphabets[0] = "123456789"
        for i, char in zip(part, encipher(keyed, f"{what}\0{begin}", old, alphabets, step), strict=True):
            chars[i] = char
    return "".join(chars)
