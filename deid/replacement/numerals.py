"""Numbers and ordinals in words, also those of days and years: read them and write them again in the same language."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from deid.reading.identity import name_key
from deid.replacement.pools import read_words

_WRITTEN = read_words("writing.toml")["numbers"]
_CARDINALS, _ORDINALS = (
    {language: " ".join(words.split()).split(", ") for language, words in _WRITTEN[kind].items()}
    for kind in ("cardinals", "ordinals")
)
YEARS: Mapping[str, str] = _WRITTEN["years"]
"""Words of a year as it is spoken: thousand, and, zero, round."""
MILLENNIA: Mapping[str, str] = {"en": YEARS["thousand"], "es": _WRITTEN["spoken"]["es"][0][1]}
"""Words of the year 2000, by language."""
_CENTURIES = (1900, 2000)
"""Of the years in words that are read."""


def _key(text: str) -> str:
    return " ".join(filter(None, (name_key(w) for w in re.split(r"[\s-]+", text))))


_VALUES: dict[str, tuple[int, str]] = {}
for _n in range(99, 0, -1):
    _VALUES[_key(_CARDINALS["es"][_n])] = (_n, "es")
    _VALUES[_key(_CARDINALS["en"][_n])] = (_n, "en")
for _n, _word in enumerate(_ORDINALS["en"], 1):
    _VALUES[_key(_word)] = (_n, "ordinal")
_WORDS = sorted({word for key in _VALUES for word in key.split()} - {"y"}, key=lambda w: (-len(w), w))
NUMERAL_WORDS = frozenset({*_WORDS, *YEARS["thousand"].split(), YEARS["zero"], YEARS["round"]})
"""Keys of the words that numbers are made of."""
_SPELLED = sorted({*_WORDS, *_CARDINALS["es"][1:30]}, key=lambda w: (-len(w), w))
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
    text = _ORDINALS["en"][value - 1] if kind == "ordinal" else _CARDINALS[kind][value]
    if " " in like:
        text = text.replace("-", " ")
    if like.isupper():
        return text.upper()
    return text[0].upper() + text[1:] if like[0].isupper() else text


@dataclass(frozen=True)
class Spoken:
    """Days and years in the words of a language."""

    pattern: re.Pattern[str]
    words: frozenset[str] = field(repr=False)
    """Keys of the words that they are made of."""
    series: Mapping[str, tuple[str, int, Mapping[int, str]]] = field(repr=False)
    """Key -> kind of a date's token, value, and all that is written in this form, by value."""

    def read(self, text: str) -> tuple[str, int, Mapping[int, str]]:
        """Return what stands for a text that the pattern matched."""
        return self.series[_key(text)]


@functools.cache
def spoken(language: str) -> Spoken | None:
    """Return the days and years of a language, of English and Spanish those alone that `read_numeral` does not read.

    >>> found = spoken("de")
    >>> kind, value, written = found.read("Siebzehnten")
    >>> kind, value, written[21]
    ('O', 17, 'einundzwanzigsten')
    """
    centuries = _WRITTEN["spoken"].get(language)
    if centuries is None:
        return None
    cardinals = _CARDINALS[language]
    forms: list[tuple[str, dict[int, str]]] = []
    for ending in _WRITTEN["spoken"]["endings"].get(language, [""]) if language in _ORDINALS else ():
        forms.append(("O", {n: word + ending for n, word in enumerate(_ORDINALS[language], 1)}))
    if language != "es":
        forms.append(("D", {n: word for n, word in enumerate(cardinals) if 1 < n < 32}))
        forms.append(("Q", {n: word for n, word in enumerate(cardinals) if n > 31}))
    for *heads, joint in centuries:
        years = {
            c + n: head + (joint + w if n else "")
            for c, head in zip(_CENTURIES, heads, strict=True)
            for n, w in enumerate(cardinals)
        }
        forms.append(("Y", years))
    series: dict[str, tuple[str, int, Mapping[int, str]]] = {}
    for kind, words in forms:
        for value, word in words.items():
            series.setdefault(_key(word), (kind, value, words))
    spelt = sorted({word for _, words in forms for word in words.values()}, key=lambda w: (-len(w), w))
    pattern = "|".join(re.escape(word).replace(r"\ ", r"[\s-]+").replace(r"\-", r"[\s-]+") for word in spelt)
    keys = frozenset(word for key in series for word in key.split())
    return Spoken(re.compile(rf"(?i)\b(?:{pattern})\b"), keys, series)
