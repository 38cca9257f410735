"""Words of dates, English and Spanish: months, weekdays, seasons, holidays, and words that may stand around a date."""

from __future__ import annotations

import calendar
import datetime
import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deid.reading.identity import name_key
from deid.replacement.pools import read_words


@dataclass(frozen=True, slots=True)
class Name:
    """A word for a month, weekday or season."""

    index: int
    """Counted from 0: January, Monday, winter."""
    table: tuple[str, ...]
    """The words of the same language and length, by index."""


def _table(rows: Sequence[str], skip: Sequence[str] = ()) -> dict[str, Name]:
    """Read rows of words; the first row that has a word wins."""
    found: dict[str, Name] = {}
    for words in (tuple(row.split()) for row in rows):
        for i, word in enumerate(words):
            if name_key(word) not in skip:
                found.setdefault(name_key(word), Name(i, words))
    return found


_WORDS = read_words("writing.toml")
_EN, _ES, _CALENDAR = _WORDS["months"]["en"], _WORDS["months"]["es"], _WORDS["calendar"]
_OTHERS = {language: rows for language, rows in _WORDS["months"].items() if language not in ("en", "es", "no_english")}
MONTHS = {
    "en": _table(_EN + _ES, _WORDS["months"]["no_english"]),
    "es": _table(_ES + _EN),
    **{language: _table(rows + _EN) for language, rows in _OTHERS.items()},
}
"""Months by language; the language decides words that several have (feb, mar, may)."""
WEEKDAYS, SEASONS = _table(_CALENDAR["weekdays"], _CALENDAR["no_weekdays"]), _table(_CALENDAR["seasons"])
CLOCK_WORDS, ENDINGS = frozenset(_CALENDAR["clock"].split()), frozenset(_CALENDAR["endings"].split())
"""Words of clock times, and letters behind the number of a day or a decade."""
FILLERS = frozenset(map(name_key, _CALENDAR["fillers"].split()))
"""Words that say nothing about which day it was; they stay. No plurals: "3 days" is no date."""


# holidays

_YEARS = 256
"""For how many years a holiday's date is remembered."""


def _easter(year: int) -> datetime.date:
    """Return Easter Sunday, by the anonymous Gregorian algorithm."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return datetime.date(year, f // 31, f % 31 + 1)


def _fixed(month: int, day: int) -> Callable[[int], datetime.date]:
    return lambda year: datetime.date(year, month, day)


def _nth(month: int, weekday: int, n: int) -> Callable[[int], datetime.date]:
    """Return the n-th (or, when negative, the last) such weekday of a month."""

    @functools.lru_cache(maxsize=_YEARS)
    def find(year: int) -> datetime.date:
        if n > 0:
            first = datetime.date(year, month, 1)
            return first + datetime.timedelta((weekday - first.weekday()) % 7 + 7 * (n - 1))
        last = datetime.date(year, month, calendar.monthrange(year, month)[1])
        return last - datetime.timedelta((last.weekday() - weekday) % 7)

    return find


def _from_easter(days: int) -> Callable[[int], datetime.date]:
    @functools.lru_cache(maxsize=_YEARS)
    def find(year: int) -> datetime.date:
        return _easter(year) + datetime.timedelta(days)

    return find


@dataclass(frozen=True, slots=True)
class Holiday:
    """A holiday and what it is called."""

    name: str
    date: Callable[[int], datetime.date]
    others: tuple[str, ...] = ()
    """Further names of the same day."""


_RULES: dict[str, Callable[..., Callable[[int], datetime.date]]] = {
    "fixed": _fixed,
    "nth": _nth,
    "easter": _from_easter,
}


def _holiday(rule: str, name: str, *others: str) -> Holiday:
    kind, *numbers = rule.split()
    return Holiday(name, _RULES[kind](*map(int, numbers)), others)


_ENGLISH, _SPANISH = (tuple(_holiday(*row) for row in _WORDS["holidays"][language]) for language in ("en", "es"))
_TURNED_INTO = 18
"""How many holidays of the English list others may turn into: those that most people keep."""


@functools.cache
def _by_key() -> dict[str, tuple[Holiday, tuple[Holiday, ...]]]:
    found = {}
    for table, targets in ((_ENGLISH, _ENGLISH[:_TURNED_INTO]), (_SPANISH, _SPANISH)):
        for holiday in table:
            for name in (holiday.name, *holiday.others):
                found[_holiday_key(name)] = (holiday, targets)
    return found


def _holiday_key(text: str) -> str:
    return " ".join(text.lower().replace(".", " ").split())


_NAMES = sorted((n for h in (*_ENGLISH, *_SPANISH) for n in (h.name, *h.others)), key=lambda n: (-len(n), n))
HOLIDAY = re.compile(
    r"(?i)(?<![^\W_])(?:"
    + "|".join(re.escape(n).replace("'", "['’]").replace(r"\ ", r"\s+") for n in _NAMES)
    + r")(?![^\W_])"
)
"""The name of a holiday."""


HOLIDAY_WORDS = frozenset(name_key(w) for n in _NAMES for w in re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", n) if len(w) > 2)
"""Keys of words of holidays: a text without any of them names none."""


HOLIDAYS_OF_ONE_WORD = frozenset(n.lower() for n in _NAMES if n.isalpha())
"""Names of holidays that are one word, in lower case."""


def holiday_of(text: str) -> Holiday:
    """Return the holiday of a text that `HOLIDAY` matched."""
    return _by_key()[_holiday_key(text.replace("’", "'"))][0]


def holidays(text: str) -> tuple[Holiday, ...]:
    """Return the holidays that the one of a text that `HOLIDAY` matched may turn into, in its language."""
    holiday, targets = _by_key()[_holiday_key(text.replace("’", "'"))]
    return tuple(h for h in targets if h is not holiday)
