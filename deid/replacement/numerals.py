"""Numbers and ordinals in words, English and Spanish: read them and write them again in the same language."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deid.reading.identity import name_key
from deid.replacement.pools import read_words

_WRITTEN = read_words("writing.toml")["numbers"]
_UNITS, _TENS, _ORDINALS, _UNITS_ES, _TENS_ES = (
    _WRITTEN[name].split() for name in ("units", "tens", "ordinals", "units_es", "tens_es")
)
YEARS: Mapping[str, str] = _WRITTEN["years"]
"""Words of a year as it is spoken: thousand, and, zero, round."""


def _english(value: int) -> str:
    if value < 20:
        return _UNITS[value]
    ten, unit = divmod(value, 10)
    return _TENS[ten - 2] + (f"-{_UNITS[unit]}" if unit else "")


def _spanish(value: int) -> str:
    if value < 30:
        return _UNITS_ES[value]
    ten, unit = divmod(value, 10)
    return _TENS_ES[ten - 3] + (f" y {_UNITS_ES[unit]}" if unit else "")


def ordinal_in_words(value: int) -> str:
    """Return ``twenty-first`` for 21; 1 to 39."""
    if value <= 20:
        return _ORDINALS[value - 1]
    ten, unit = divmod(value, 10)
    tens = _TENS[ten - 2]
    return f"{tens}-{_ORDINALS[unit - 1]}" if unit else f"{tens[:-1]}ieth"


def _key(text: str) -> str:
    return " ".join(filter(None, (name_key(w) for w in re.split(r"[\s-]+", text))))


_VALUES: dict[str, tuple[int, str]] = {}
for _n in range(99, 0, -1):
    _VALUES[_key(_spanish(_n))] = (_n, "es")
    _VALUES[_key(_english(_n))] = (_n, "en")
for _n in range(39, 0, -1):
    _VALUES[_key(ordinal_in_words(_n))] = (_n, "ordinal")
_WORDS = sorted({word for key in _VALUES for word in key.split()} - {"y"}, key=lambda w: (-len(w), w))
NUMERAL_WORDS = frozenset({*_WORDS, *YEARS["thousand"].split(), YEARS["zero"], YEARS["round"]})
"""Keys of the words that numbers are made of."""
_SPELLED = sorted({*_WORDS, *(w for n in range(1, 30) for w in _UNITS_ES[n : n + 1])}, key=lambda w: (-len(w), w))
_ONE = "|".join(_SPELLED)
NUMERAL = re.compile(rf"(?i)\b(?:{_ONE})(?:(?:\s+y\s+|[\s-]+)(?:{_ONE}))?\b")
"""A number or an ordinal of one or two words; `read_numeral` tells whether the words belong together."""


def read_numeral(text: str) -> tuple[int, str] | None:
    """Return the value of a number in words and its kind (``en``, ``es``, ``ordinal``), None when it is no number.

    >>> read_numeral("fifty-six"), read_numeral("Cuarenta y dos"), read_numeral("twenty first"), read_numeral("six two")
    ((56, 'en'), (42, 'es'), (21, 'ordinal'), None)
    """
    return _VALUES.get(_key(text))


def write_numeral(value: int, kind: str, like: str) -> str:
    """Return a number in words, written as ``like`` is: hyphen or blank, and case; ``kind`` is en, es or ordinal."""
    text = {"en": _english, "es": _spanish, "ordinal": ordinal_in_words}[kind](value)
    if "-" not in like and " " in like:
        text = text.replace("-", " ")
    if like.isupper():
        return text.upper()
    return text[0].upper() + text[1:] if like[0].isupper() else text
