"""Dates in the forms in which notes write them."""

from __future__ import annotations

import datetime as dt

from .draw import Draw
from .wording import ordinal_in_words, year_in_words

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
HOLIDAYS = [
    "Thanksgiving",
    "Thanksgiving",
    "Christmas",
    "Christmas",
    "Christmas Eve",
    "New Year's",
    "New Year's Eve",
    "New Year's Day",
    "Easter",
    "Easter Sunday",
    "Good Friday",
    "Memorial Day",
    "Labor Day",
    "the Fourth of July",
    "July 4th",
    "Fourth of July",
    "Independence Day",
    "Halloween",
    "Mother's Day",
    "Father's Day",
    "Valentine's Day",
    "St. Patrick's Day",
    "Passover",
    "Yom Kippur",
    "Rosh Hashanah",
    "Hanukkah",
    "Ramadan",
    "Eid",
    "Eid al-Fitr",
    "Diwali",
    "Lunar New Year",
    "Chinese New Year",
    "Veterans Day",
    "Presidents Day",
    "MLK Day",
    "Columbus Day",
    "Juneteenth",
    "Mardi Gras",
    "Ash Wednesday",
    "Lent",
    "Cinco de Mayo",
    "Super Bowl Sunday",
    "Orthodox Easter",
    "Nowruz",
    "Tet",
    "Kwanzaa",
    "X-mas",
    "Xmas",
    "Christmas Day",
    "Black Friday",
    "Palm Sunday",
    "Whitsun",
    "Boxing Day",
    "Bonfire Night",
    "Guy Fawkes Night",
    "Purim",
    "Groundhog Day",
]
UK_HOLIDAYS = [
    "Christmas",
    "Christmas Day",
    "Boxing Day",
    "Boxing Day",
    "Easter",
    "Easter Monday",
    "Good Friday",
    "Bonfire Night",
    "Hogmanay",
    "New Year",
    "New Year's Eve",
    "Mothering Sunday",
    "Shrove Tuesday",
    "Pancake Day",
    "Remembrance Sunday",
    "Halloween",
    "Whitsun",
    "St David's Day",
    "Burns Night",
    "Eid",
    "Ramadan",
    "Diwali",
    "Holi",
    "Vaisakhi",
    "Easter Sunday",
    "Xmas",
    "Michaelmas",
    "Guy Fawkes Night",
]

# weights of numeric house styles: what a note's fields are written in
_US = (
    ("{m:02}/{d:02}/{y}", 30),
    ("{m}/{d}/{y}", 16),
    ("{m:02}/{d:02}/{yy:02}", 12),
    ("{m}/{d}/{yy:02}", 14),
    ("{m:02}-{d:02}-{y}", 4),
    ("{m}-{d}-{yy:02}", 4),
    ("{y}-{m:02}-{d:02}", 6),
    ("{B} {d}, {y}", 8),
    ("{d:02}-{b}-{y}", 4),
    ("{b} {d}, {y}", 4),
    ("{d} {b} {y}", 2),
    ("{d:02}{b}{y}", 1),
    ("{m:02}.{d:02}.{yy:02}", 1),
    ("{b} {d:02} {y}", 2),
    ("{y}/{m:02}/{d:02}", 1),
    ("{d:02}-{b}-{yy:02}", 2),
)
_UK = (
    ("{d:02}/{m:02}/{y}", 34),
    ("{d}/{m}/{yy:02}", 14),
    ("{d:02}/{m:02}/{yy:02}", 12),
    ("{d}.{m}.{yy:02}", 6),
    ("{d:02}.{m:02}.{y}", 4),
    ("{d} {B} {y}", 10),
    ("{dth} {B} {y}", 6),
    ("{d:02}-{b}-{y}", 6),
    ("{d} {b} {y}", 6),
    ("{y}-{m:02}-{d:02}", 3),
    ("{d:02}-{m:02}-{y}", 2),
    ("{d:02}-{b}-{yy:02}", 3),
)
_US_NARRATIVE = (
    ("{B} {d}, {y}", 22),
    ("{m}/{d}", 16),
    ("{B} {d}", 12),
    ("{m}/{d}/{yy:02}", 12),
    ("{m:02}/{d:02}/{y}", 10),
    ("{B} {dth}", 6),
    ("{b} {d}", 6),
    ("{m:02}/{d:02}", 4),
    ("{B} {dth}, {y}", 3),
    ("{dth} of {B}", 2),
    ("{d} {B} {y}", 2),
    ("{b}. {d}, {y}", 2),
    ("{m}-{d}", 2),
    ("{m}-{d}-{yy:02}", 2),
    ("{b} {dth}", 2),
)
_UK_NARRATIVE = (
    ("{d} {B} {y}", 22),
    ("{dth} {B}", 16),
    ("{d}/{m}/{yy:02}", 14),
    ("{d} {B}", 10),
    ("{dth} {B} {y}", 10),
    ("{d}/{m}", 10),
    ("{dth} of {B}", 6),
    ("{d:02}/{m:02}/{y}", 8),
    ("{d} {b}", 4),
    ("{d}.{m}.{yy:02}", 4),
)
_FORMS: dict[str, tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]] = {
    "n": (_US_NARRATIVE, _UK_NARRATIVE),
    "md": (
        (("{m}/{d}", 70), ("{m:02}/{d:02}", 25), ("{m}-{d}", 5)),
        (("{d}/{m}", 70), ("{d:02}/{m:02}", 20), ("{d}.{m}", 10)),
    ),
    "mdw": (
        (("{B} {d}", 50), ("{b} {d}", 20), ("{B} {dth}", 20), ("{b}. {d}", 5), ("{dth} of {B}", 5)),
        (("{d} {B}", 40), ("{dth} {B}", 30), ("{d} {b}", 15), ("{dth} of {B}", 15)),
    ),
    "full": (
        (("{B} {d}, {y}", 75), ("{B} {dth}, {y}", 10), ("{B} {d} {y}", 5), ("{d} {B} {y}", 10)),
        (("{d} {B} {y}", 55), ("{dth} {B} {y}", 40), ("{dth} of {B} {y}", 5)),
    ),
    "wdn": (
        (("{A}, {B} {d}", 40), ("{A} {m}/{d}", 25), ("{A}, {B} {d}, {y}", 25), ("{a} {m}/{d}", 10)),
        (("{A} {d} {B}", 40), ("{A} {d}/{m}", 20), ("{A} {dth} {B}", 30), ("{A} {d} {B} {y}", 10)),
    ),
    "my": (
        (("{B} {y}", 60), ("{b} {y}", 20), ("{m}/{y}", 8), ("{m}/{yy:02}", 4), ("{m:02}/{y}", 4), ("{B} of {y}", 4)),
    )
    * 2,
    "mon": ((("{B}", 85), ("{b}", 15)),) * 2,
    "y": ((("{y}", 1),),) * 2,
    "yy": ((("'{yy:02}", 90), ("’{yy:02}", 10)),) * 2,
    "wd": ((("{A}", 85), ("{a}", 10), ("{a}.", 5)),) * 2,
    "wds": ((("{A}s", 85), ("{a}s", 15)),) * 2,
    "dth": ((("{dth}", 1),),) * 2,
    "iso": ((("{y}-{m:02}-{d:02}", 1),),) * 2,
    "ts": ((("{y}{m:02}{d:02}{H:02}{M:02}", 60), ("{y}{m:02}{d:02}", 25), ("{y}{m:02}{d:02}{H:02}{M:02}{S:02}", 15)),)
    * 2,
    "mil": ((("{d:02} {bu} {yy:02}", 50), ("{d:02}{bu}{y}", 25), ("{d:02}{bu}{yy:02}", 25)),) * 2,
    "c": (
        (("{m:02}{d:02}{yy:02}", 40), ("{m:02}{d:02}{y}", 25), ("{y}{m:02}{d:02}", 25), ("{yy:02}{m:02}{d:02}", 10)),
        (("{d:02}{m:02}{yy:02}", 45), ("{d:02}{m:02}{y}", 30), ("{y}{m:02}{d:02}", 25)),
    ),
    "dm": (
        (
            ("{d:02}{bu}", 30),
            ("{d}-{b}", 25),
            ("{b}-{d:02}", 15),
            ("{d} {b}", 15),
            ("{bu} {d:02}", 10),
            ("{d:02}.{m:02}.", 5),
        ),
        (("{d} {b}", 35), ("{d}-{b}", 30), ("{d:02}{bu}", 15), ("{d:02}.{m:02}", 20)),
    ),
    "q": ((("Q{q} {y}", 40), ("Q{q}", 30), ("Q{q} of {y}", 15), ("Q{q} '{yy:02}", 15)),) * 2,
    "dof": ((("{dth} of {B}", 75), ("{dth} of {B}, {y}", 15), ("{dth} of {b}", 10)),) * 2,
    "yb": ((("{yy:02}", 1),),) * 2,
    "spk": (
        (("{B} {dw}", 40), ("{B} {dw}, {yw}", 40), ("{B} {dw} {yw}", 10), ("{dw} of {B}", 10)),
        (("{dw} of {B}", 40), ("{dw} of {B}, {yw}", 40), ("{dw} {B} {yw}", 20)),
    ),
    "dec": ((("{dec}s", 80), ("{dec}'s", 20)),) * 2,
}


def house_style(draw: Draw, uk: bool) -> str:
    """Return the style that a note writes the dates of its fields in."""
    return draw.weighted(_UK if uk else _US)


def ordinal(n: int) -> str:
    """Return 1st, 2nd, 11th."""
    return f"{n}{'th' if 10 <= n % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def write(date: dt.date, form: str, draw: Draw, style: str, uk: bool) -> str:
    """Write a date in a form; an empty form means the note's own style."""
    if form == "hol":
        return draw.pick(UK_HOLIDAYS if uk else HOLIDAYS)
    if form in ("sea", "seas"):
        autumn = "autumn" if uk else draw.pick(("fall", "fall", "autumn"))
        season = ("winter", "spring", "summer", autumn)[date.month % 12 // 3]
        if form == "seas":
            return season
        return draw.pick((f"{season} of {date.year}", f"{season} {date.year}", f"{season.capitalize()} {date.year}"))
    pattern = draw.weighted(_FORMS[form][uk]) if form else style
    return pattern.format(
        y=date.year,
        yy=date.year % 100,
        m=date.month,
        d=date.day,
        B=MONTHS[date.month - 1],
        b=MONTHS[date.month - 1][:3],
        bu=MONTHS[date.month - 1][:3].upper(),
        A=DAYS[date.weekday()],
        a=DAYS[date.weekday()][:3],
        dth=ordinal(date.day),
        dw=ordinal_in_words(date.day),
        yw=year_in_words(date.year),
        q=(date.month + 2) // 3,
        dec=date.year // 10 * 10,
        H=draw.between(0, 23),
        M=draw.between(0, 59),
        S=draw.between(0, 59),
    )


def shift(date: dt.date, amount: int, unit: str) -> dt.date:
    """Return the date some days, weeks, months or years away."""
    if unit in "dw":
        return date + dt.timedelta(days=amount * (7 if unit == "w" else 1))
    months = date.year * 12 + date.month - 1 + amount * (12 if unit == "y" else 1)
    return dt.date(months // 12, months % 12 + 1, min(date.day, 28))
