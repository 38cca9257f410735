"""Words of dates, English and Spanish: months, weekdays, seasons, holidays, and words that may stand around a date."""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

from deid.reading.identity import name_key


@dataclass(frozen=True, slots=True)
class Name:
    """A word for a month, weekday or season."""

    index: int
    """Counted from 0: January, Monday, winter."""
    table: tuple[str, ...]
    """The words of the same language and length, by index."""


def _table(rows: str, skip: frozenset[str] = frozenset()) -> dict[str, Name]:
    """Read rows of words; the first row that has a word wins."""
    found: dict[str, Name] = {}
    for row in rows.strip().splitlines():
        words = tuple(row.split())
        for i, word in enumerate(words):
            if name_key(word) not in skip:
                found.setdefault(name_key(word), Name(i, words))
    return found


_MONTHS_EN = """
January February March April May June July August September October November December
Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec
Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec
"""
_MONTHS_ES = """
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
ene feb mar abr may jun jul ago sep oct nov dic
ene febr mzo abr may jun jul agto sept oct nov dic
enero febrero marzo abril mayo junio julio agosto setiembre octubre noviembre diciembre
"""
MONTHS = {
    "en": _table(_MONTHS_EN + _MONTHS_ES.lstrip(), skip=frozenset({"ago"})),
    "es": _table(_MONTHS_ES + _MONTHS_EN.lstrip()),
}
"""Months by language; the language decides words that both have (feb, mar, may)."""
WEEKDAYS = _table(
    """
Monday Tuesday Wednesday Thursday Friday Saturday Sunday
Mon Tue Wed Thu Fri Sat Sun
Mon Tues Wed Thurs Fri Sat Sun
Mon Tues Weds Thur Fri Sat Sun
Mondays Tuesdays Wednesdays Thursdays Fridays Saturdays Sundays
lunes martes miércoles jueves viernes sábado domingo
lun mar mié jue vie sáb dom
lunes martes miércoles jueves viernes sábados domingos
""",
    skip=frozenset({"mar"}),  # a month more often than a Tuesday
)
SEASONS = _table(
    """
winter spring summer fall
winter spring summer autumn
winters springs summers falls
invierno primavera verano otoño
"""
)

FILLERS = frozenset(
    name_key(word)
    for word in """
        of the in on at to and or thru through until till from between since late early mid middle end beginning start
        last next this past coming previous following day date week weekend month year season night morning afternoon
        evening eve noon midnight about around approximately circa ca uh um er a an s st nd rd th anno ad T Z am pm h by
        before after during as de del el la los las en al a y o e hasta desde día mes año finales principios mediados
        pasado pasada próximo próxima último última fin semana fecha hora noche tarde mañana entre sobre hacia primeros
        durante antes después
    """.split()  # noqa: SIM905
)
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
    """Return the n-th (or, when negative, n-th last) such weekday of a month."""

    @functools.lru_cache(maxsize=_YEARS)
    def find(year: int) -> datetime.date:
        if n > 0:
            first = datetime.date(year, month, 1)
            return first + datetime.timedelta((weekday - first.weekday()) % 7 + 7 * (n - 1))
        last = datetime.date(year + month // 12, month % 12 + 1, 1) - datetime.timedelta(1)
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


_ENGLISH = (
    Holiday("New Year's Day", _fixed(1, 1), ("New Year's", "New Years", "New Year", "New Years Day")),
    Holiday("Martin Luther King Day", _nth(1, 0, 3), ("MLK Day",)),
    Holiday("Valentine's Day", _fixed(2, 14), ("Valentines Day", "Valentine's")),
    Holiday("Presidents' Day", _nth(2, 0, 3), ("Presidents Day", "President's Day")),
    Holiday("St. Patrick's Day", _fixed(3, 17), ("Saint Patrick's Day", "St Patrick's Day", "St. Paddy's Day")),
    Holiday("Easter", _from_easter(0), ("Easter Sunday",)),
    Holiday("Mother's Day", _nth(5, 6, 2), ("Mothers Day",)),
    Holiday("Memorial Day", _nth(5, 0, -1), ("Spring Bank Holiday",)),
    Holiday("Father's Day", _nth(6, 6, 3), ("Fathers Day",)),
    Holiday("Independence Day", _fixed(7, 4), ("Fourth of July", "4th of July", "July Fourth", "July 4th")),
    Holiday("Labor Day", _nth(9, 0, 1), ("Labour Day",)),
    Holiday("Columbus Day", _nth(10, 0, 2), ("Indigenous Peoples' Day",)),
    Holiday("Halloween", _fixed(10, 31), ("Hallowe'en",)),
    Holiday("Veterans Day", _fixed(11, 11), ("Veteran's Day", "Veterans' Day", "Remembrance Day", "Armistice Day")),
    Holiday("Thanksgiving", _nth(11, 3, 4), ("Thanksgiving Day",)),
    Holiday("Christmas", _fixed(12, 25), ("Christmas Day", "Xmas", "Boxing Day", "Christmas Eve", "Xmas Eve")),
    Holiday("New Year's Eve", _fixed(12, 31), ("New Years Eve",)),
    Holiday("Good Friday", _from_easter(-2)),
    Holiday("Ash Wednesday", _from_easter(-46)),
    Holiday("Mardi Gras", _from_easter(-47)),
    Holiday("Palm Sunday", _from_easter(-7)),
    Holiday("Groundhog Day", _fixed(2, 2)),
    Holiday("Juneteenth", _fixed(6, 19)),
    Holiday("Cinco de Mayo", _fixed(5, 5)),
    # movable by the moon: their usual day
    Holiday("Hanukkah", _fixed(12, 12), ("Chanukah",)),
    Holiday("Passover", _fixed(4, 12)),
    Holiday("Rosh Hashanah", _fixed(9, 20)),
    Holiday("Yom Kippur", _fixed(9, 29)),
    Holiday("Diwali", _fixed(11, 2)),
    Holiday("Kwanzaa", _fixed(12, 27)),
    Holiday("Ramadan", _fixed(4, 1), ("Eid", "Eid al-Fitr")),
)
_SPANISH = (
    Holiday("Año Nuevo", _fixed(1, 1), ("Nochevieja",)),
    Holiday("Reyes", _fixed(1, 6), ("Día de Reyes", "Reyes Magos")),
    Holiday("Carnaval", _from_easter(-47), ("Carnavales",)),
    Holiday("San José", _fixed(3, 19), ("Día del Padre",)),
    Holiday("Semana Santa", _from_easter(-4), ("Pascua", "Viernes Santo", "Jueves Santo", "Domingo de Ramos")),
    Holiday("San Juan", _fixed(6, 24)),
    Holiday("Todos los Santos", _fixed(11, 1), ("Día de los Muertos",)),
    Holiday("Día de la Hispanidad", _fixed(10, 12), ("El Pilar",)),
    Holiday("Navidad", _fixed(12, 25), ("Navidades", "Nochebuena")),
)
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
    return " ".join(name_key(w) if not w[0].isdigit() else w.lower() for w in text.replace(".", " ").split())


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
