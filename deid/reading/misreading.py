"""Undoing what scanners do to identifiers: *O3/l4/2Ol9*, *Mr. J0hn5on*.

A scanner takes letters for digits and digits for letters. Inside a number with the shape of a date, a telephone number
or a record number, letters that look like digits are read as digits; inside a word, digits that look like letters are
read as letters. In a document with many words that no list has and that are one misread letter away from a word of the
lists, these are read as that word (*Septcmber*, *Baslnger*), and its numbers and torn words as `deid.reading.scans`
says. All is tried beside the text as it is, never in its place: *B12* and *L5* stay what they are.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import regex

from deid.base.compiled import native_for
from deid.reading.lexicon import Lexicon, classes_of
from deid.reading.scans import is_scanned, restore

native = native_for("misreading")

_ORDINARY = classes_of("word", "function", "clinical")
_DIGITS = str.maketrans("OoQDlIiZzSsGbBgqAT", "000011122556689947")
_LETTERS = str.maketrans("0158", "olsb")
_LIKE_DIGIT = "OoQDlIiZzSsGbBgqAT"
# groups of digits and letters that look like them, with the signs of dates and numbers between
_NUMBER = regex.compile(
    rf"(?<![A-Za-z0-9])(?=[^\s]{{0,12}}[0-9])[0-9{_LIKE_DIGIT}]{{1,10}}+(?:[/.()-][0-9{_LIKE_DIGIT}]{{1,10}}+){{0,4}}+(?![A-Za-z0-9])"
)
_WITH_DIGIT = regex.compile(r"(?<!\S)[^\s0-9]*+[0-9]\S*+")
_FLANKED = regex.compile(r"[0-9][^0-9/.()-]+[0-9]")
_YEAR = regex.compile(
    r"(?:(?<![A-Za-z0-9./-])|(?<=[0-9][-./ ][A-Za-z]{3}[-./]))(?=[A-Za-z]{0,2}[0-9])"
    r"(?:[1lI][9gq]|[2Z][0OQ])[0-9OlISBg]{2}(?![A-Za-z0-9])"
)
_GROUP = regex.compile(rf"(?<=[0-9)][ .-])[0-9{_LIKE_DIGIT}]{{3,4}}(?=[ .-][0-9]{{3}})")
# whatever `_GROUP` would change lies in a stretch with this, and in a text with that; there is nearly never anything
_MAYBE_GROUP = re.compile(rf"(?:^|[.-])(?=[0-9]*[{_LIKE_DIGIT}])[0-9{_LIKE_DIGIT}]{{3,4}}(?:$|[.-])")
_MIXED_GROUP = re.compile(rf"[0-9)][ .-](?=[0-9]*[{_LIKE_DIGIT}])[0-9{_LIKE_DIGIT}]{{3,4}}[ .-][0-9]{{3}}")
_TELEPHONE = regex.compile(rf"\(?(?:[0-9{_LIKE_DIGIT}]{{3}}[-.)])?[0-9{_LIKE_DIGIT}]{{3}}[-.][0-9{_LIKE_DIGIT}]{{4}}")
_SHORT = regex.compile(r"[1-9][0-9]*[lO]+[0-9]+")
"""*2l7*: no unit stands so."""
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile("[0-9]")
_PIECE = regex.compile(r"\S+")
_REMEMBERED = 1 << 13
_LEAST_LONG, _LEAST_DATE, _LEAST_DIGITS, _LEAST_DATED, _MOST_LETTERS = 6, 4, 0.6, 0.4, 4
_INSIDE = regex.compile(r"(?<=\p{L})[0158](?=\p{Ll})")
_WORD = regex.compile(r"(?<![\p{L}0-9])\p{L}[\p{Ll}0158]{3,20}+(?![\p{L}0-9])")
_LEAST_LETTERS = 0.7
_SPELT = re.compile(r"(?<![A-Za-z0-9'\u2019-])[A-Za-z][a-z]{3,20}(?![A-Za-z0-9'\u2019-])")
"""Words of ASCII letters; those that another letter touches are parts of words."""
_TAKEN_FOR = {
    **{"c": "e", "e": "c", "o": "ao", "a": "o", "u": "n", "n": "urh", "b": "h", "h": "b", "f": "t", "t": "f", "l": "i"},
    **{"i": "l", "v": "y", "y": "v", "q": "g", "g": "q", "N": "M", "F": "E", "E": "F", "P": "R", "B": "R", "r": "n"},
}
"""A letter and those that a scanner may have taken for it."""
_NOISY, _FEWEST = 0.015, 3
"""Share and number of misread words from which a document counts as scanned."""


def reading_of(text: str, lexicon: Lexicon) -> tuple[str, bool]:
    """Return the text with numbers and words as they were before a scanner misread them, and whether it was scanned.

    The text (``lexicon`` has the word lists of its language) keeps its length, and is returned itself where nothing
    looks misread.

    Examples
    --------
    >>> from deid.reading.lexicon import load_lexicon
    >>> reading_of("Dr. J0hnson, DOB O3/l4/2Ol9, B12 low, L5-S1", load_lexicon("en"))
    ('Dr. Johnson, DOB 03/14/2019, B12 low, L5-S1', False)
    """
    read = text
    small, mixed = _suspects(text, lexicon)
    least = _NOISY * text.count(" ")
    scanned = is_scanned(mixed, least)
    changed = set(filter(_changes, mixed))
    groups = set(filter(_MAYBE_GROUP.search, mixed))
    if changed or (groups and _MIXED_GROUP.search(text)):
        odd = changed | groups
        lines = text.split("\n")  # nothing goes over a line's end, and few lines hold what is odd
        read = "\n".join(line if odd.isdisjoint(_PIECE.findall(line)) else _plain(line) for line in lines)
        small, _ = _suspects(read, lexicon)
    if not scanned and small < max(_FEWEST, least):
        return read, False
    return _respell(restore(read, lexicon), lexicon), True


def _suspects(text: str, lexicon: Lexicon) -> tuple[int, list[str]]:
    """Count the misread words in small letters, and return the stretches without white space of digits and letters."""
    if native is not None:
        found: tuple[int, list[str]] = _reader(lexicon).read(text)
        return found
    spelt = _spelt(text)
    misspelt = {w for w in {w for w, _ in spelt} if w[0].islower() and _spelling(w, lexicon)}
    mixed = [piece for piece in _PIECE.findall(text) if _DIGIT.search(piece) and _LETTER.search(piece)]
    return sum(w in misspelt for w, _ in spelt), mixed


@functools.lru_cache(maxsize=8)
def _reader(lexicon: Lexicon) -> Any:
    return native.Reader(lambda word: _spelling(word, lexicon) != "")


def _spelt(text: str) -> list[tuple[str, int]]:
    """Return the words that may be misread, and where they are."""
    beside = f" {text} "
    return [
        (found[0], found.start())
        for found in _SPELT.finditer(text)
        if not beside[found.start()].isalpha() and not beside[found.end() + 1].isalpha()
    ]


def _plain(text: str) -> str:
    return _words(_GROUP.sub(_digits, _numbers(text)))


def _numbers(text: str) -> str:
    """Read letters in numbers and years as digits; most of a text has no digit near, and is not looked at."""
    return _WITH_DIGIT.sub(lambda piece: _YEAR.sub(_digits, _NUMBER.sub(_number, piece[0])), text)


def _words(text: str) -> str:
    """Read digits in words as letters."""
    return _WITH_DIGIT.sub(lambda piece: _WORD.sub(_word, piece[0]), text)


@functools.lru_cache(maxsize=_REMEMBERED)
def _changes(piece: str) -> bool:
    """Tell whether a stretch without white space looks misread."""
    return _numbers(piece) != piece or _words(piece) != piece


def _digits(found: regex.Match[str]) -> str:
    token = found[0]
    return token if token.isdigit() or sum(map(str.isdigit, token)) < 2 else token.translate(_DIGITS)


def _respell(text: str, lexicon: Lexicon) -> str:
    """Read misread words as words of the lists."""
    pieces = list(text)
    for word, start in _spelt(text):
        spelling = _spelling(word, lexicon)
        if spelling:
            pieces[start : start + len(word)] = spelling
    return "".join(pieces)


@functools.lru_cache(maxsize=_REMEMBERED)
def _spelling(word: str, lexicon: Lexicon) -> str:
    """Return the word of the lists that one misread letter makes of a word that no list has; empty: none."""
    known = lexicon.words
    if word.lower() in known:
        return ""
    for index, letter in enumerate(word):
        for other in _TAKEN_FOR.get(letter, ""):
            spelt = word[:index] + other + word[index + 1 :]
            classes = known.get(spelt.lower(), 0)
            # a word in small letters is none of the names; one with a capital may be anything
            if classes and (word[0].isupper() or classes & _ORDINARY):
                return spelt
    return ""


def _number(found: regex.Match[str]) -> str:
    token = found[0]
    letters = sum(map(str.isalpha, token))
    characters = sum(map(str.isalnum, token))
    if _SHORT.fullmatch(token):
        return token.translate(_DIGITS)
    dated = len(token) - characters > 1 and token.count("/") + token.count("-") > 1
    if not letters or letters > _MOST_LETTERS or characters < (_LEAST_DATE if dated else _LEAST_LONG):
        return token
    if not dated and not _FLANKED.search(token) and not _TELEPHONE.fullmatch(token):
        return token  # "DT19525", "93S-47928": codes
    least = _LEAST_DATED if dated else _LEAST_DIGITS
    return token.translate(_DIGITS) if characters - letters >= least * characters else token


def _word(found: regex.Match[str]) -> str:
    token = found[0]
    if token.isalpha() or sum(map(str.isalpha, token)) < _LEAST_LETTERS * len(token):
        return token
    return _INSIDE.sub(lambda digit: digit[0].translate(_LETTERS), token)
