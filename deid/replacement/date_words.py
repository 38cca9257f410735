"""Words of dates, by language: months, weekdays, seasons, holidays, and words that may stand around a date."""

from __future__ import annotations

import calendar
import datetime
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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


def _table(rows: Iterable[str], skip: Sequence[str] = ()) -> dict[str, Name]:
    """Read rows of words; the first row that has a word wins."""
    found: dict[str, Name] = {}
    for words in (tuple(row.split()) for row in rows):
        for i, word in enumerate(words):
            if name_key(word) not in skip:
                found.setdefault(name_key(word), Name(i, words))
    return found


def _by_language(kind: str) -> dict[str, dict[str, Name]]:
    """Read the words of each language that has months: its own decide, and of others count those of three letters and
    more.
    """
    rows: dict[str, list[str]] = {name: own for name, own in _WORDS[kind].items() if isinstance(own, list)}
    long = [row for own in rows.values() for row in own if min(map(len, row.split())) > 2]
    none: Mapping[str, list[str]] = _WORDS[kind].get("none", {})
    languages = (name for name, own in _WORDS["months"].items() if isinstance(own, list))
    return {name: _table([*rows.get(name, ()), *long], none.get(name, ())) for name in languages}


_WORDS = read_words("writing.toml")
_CALENDAR = _WORDS["calendar"]
MONTHS, WEEKDAYS, SEASONS = (_by_language(kind) for kind in ("months", "weekdays", "seasons"))
"""Months, weekdays and seasons by language, which decides words that several have (feb, mar, may, di, do)."""
BEFORE_DAYS: Mapping[str, list[str]] = _WORDS["months"]["before"]
"""Keys of months that are weekdays before a day and a month, by language."""
SHORT_YEARS = frozenset(_CALENDAR["short_years"])
"""Languages in which a number behind a month is no day."""
PARTS = tuple(map(name_key, _CALENDAR["parts"].split()))
"""What may end a word that begins with a weekday."""
WEEKS = frozenset(_CALENDAR["weeks"].split())
"""Words before the number of a week."""
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


_TARGETS: Mapping[str, int] = _WORDS["holidays"]["targets"]
"""How many holidays of its language one may turn into."""
_HOLIDAYS: dict[str, tuple[Holiday, ...]] = {
    language: tuple(_holiday(*row) for row in _WORDS["holidays"][language]) for language in _TARGETS
}


@functools.cache
def _by_key(language: str) -> dict[str, tuple[Holiday, tuple[Holiday, ...]]]:
    """Return the holidays of all languages by what they are called, and their like; names of one's own language win."""
    found: dict[str, tuple[Holiday, tuple[Holiday, ...]]] = {}
    for own in (*_HOLIDAYS, *_HOLIDAYS.keys() & {language}):
        for holiday in _HOLIDAYS[own]:
            for name in (holiday.name, *holiday.others):
                found[_holiday_key(name)] = (holiday, _HOLIDAYS[own][: _TARGETS[own]])
    return found


def _holiday_key(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").replace(".", " ").split())


_NAMES = sorted(
    {name for table in _HOLIDAYS.values() for h in table for name in (h.name, *h.others)}, key=lambda n: (-len(n), n)
)
HOLIDAY = re.compile(
    r"(?i)(?<![^\W_])(?:"
    + "|".join(re.escape(n).replace("'", "['’]").replace(r"\ ", r"\s+") for n in _NAMES)
    + r")(?![^\W_])"
)
"""The name of a holiday."""


def _telling(name: str) -> set[str]:
    """Return the keys of a name's words without which it cannot stand in a text: those that dates seldom have."""
    words = {name_key(word) for word in re.findall(r"[^\W\d_]{3,}", name)}
    return words - FILLERS or words


HOLIDAY_WORDS = frozenset(word for name in _NAMES for word in _telling(name))
"""Keys of words of holidays: a text without any of them names none."""


HOLIDAYS_OF_ONE_WORD = frozenset(n.lower() for n in _NAMES if n.isalpha())
"""Names of holidays that are one word, in lower case."""


def holiday_of(text: str, language: str = "en") -> tuple[Holiday, tuple[Holiday, ...]]:
    """Return the holiday of a text that `HOLIDAY` matched, and those that it may turn into, in its language."""
    holiday, targets = _by_key(language)[_holiday_key(text)]
    return holiday, tuple(h for h in targets if h is not holiday)
