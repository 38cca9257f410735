"""Values of attributes in one form: ISO dates, ages in years, codes of states, digits of numbers.

What cannot be read is None, never a guess: a date without a year keeps what it says (``--03-14``, ISO 8601), and no
century, month or day is invented beyond what completes a year of two digits.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable

from deid.reading.centuries import full_year
from deid.reading.identity import parse_name
from deid.replacement.date_forms import Token, tokenize_date
from deid.replacement.numerals import read_numeral
from deid.replacement.pools import city_index, expression, phrase_key, state_index, states

_ZIP = re.compile(r"(?<!\d)\d{5}(?!\d)")


def iso_date(
    text: str,
    *,
    days_first: bool = False,
    reference: datetime.date | None = None,
    past: bool = False,
    language: str = "en",
) -> str | None:
    """Return a date as ``2019-03-14``, ``2019-03``, ``2019`` or ``--03-14``; None for what is none of these.

    Parameters
    ----------
    text : str
        A date as it stands in a note.
    days_first : bool
        How 3/4/2019 is read.
    reference : datetime.date, optional
        Day of the note, for the century of years of two digits (`deid.reading.centuries`).
    past : bool
        The date cannot lie behind that day: a birth.
    language : str
        Of the names of months.

    Examples
    --------
    >>> iso_date("March 14th, 2019"), iso_date("14.3.19", days_first=True), iso_date("3/2019"), iso_date("May 3")
    ('2019-03-14', '2019-03-14', '2019-03', '--05-03')
    """
    tokens = [t for t in tokenize_date(text, language=language) or () if t.kind != "W"]
    known = reference.year if reference else None
    try:
        return _read(tokens, days_first, lambda year: full_year(year, known, past=past))
    except ValueError:  # no such day
        return None


def _read(tokens: list[Token], days_first: bool, complete: Callable[[int], int]) -> str | None:
    kinds = "".join("D" if t.kind == "O" else t.kind for t in tokens)
    values = [t.values for t in tokens]
    if kinds == "F":
        a, b, c = values[0]
        if a > 31:
            year, month, day = a, b, c
        else:
            first = a > 12 or (days_first and b <= 12)
            year, month, day = complete(c), *((b, a) if first else (a, b))
        return datetime.date(year, month, day).isoformat() if month and day else None
    found = dict(zip(kinds, (v[0] if v else 0 for v in values), strict=True)) if len(set(kinds)) == len(kinds) else {}
    year = complete(found["Y"]) if "Y" in found else complete(found["Q"]) if "Q" in found else 0
    if set(found) in ({"M", "D", "Y"}, {"M", "D", "Q"}):
        return datetime.date(year, found["M"], found["D"]).isoformat()
    if set(found) == {"M", "D"}:
        datetime.date(2000, found["M"], found["D"])
        return f"--{found['M']:02}-{found['D']:02}"
    if set(found) in ({"M", "Y"}, {"M", "Q"}):
        return f"{year:04}-{found['M']:02}"
    if kinds == "E":
        a, b = values[0]
        year, month = (a, b) if a > 12 else (b, a)
        return f"{complete(year):04}-{month:02}" if 1 <= month <= 12 else None
    if kinds == "P":
        a, b = values[0]
        if max(a, b) > 31:
            month, year = (a, b) if b > 31 else (b, a)
            return f"{complete(year):04}-{month:02}" if 1 <= month <= 12 else None
        month, day = (b, a) if a > 12 or (days_first and b <= 12) else (a, b)
        datetime.date(2000, month, day)
        return f"--{month:02}-{day:02}"
    return f"{year:04}" if kinds in ("Y", "Q") else None


def read_age(text: str) -> int | None:
    """Return an age in whole years: ``"87"``, ``"eighty seven"``, ``"18 months"`` is 1; None for a decade."""
    match = re.match(r"\s*(\d{1,3})(?![\d'’s])", text)
    if match is None:
        numeral = read_numeral(text.strip())
        return numeral[0] if numeral and 0 <= numeral[0] <= 125 else None
    age = int(match[1])
    rest = text[match.end() :].lower()
    if expression("in_months").match(rest):
        age //= 12
    elif expression("below_a_month").match(rest):
        age = 0
    return age if age <= 125 else None


def read_state(text: str) -> str | None:
    """Return the postal code of a state of the USA; None for another region."""
    place = state_index().get(phrase_key(text))
    return None if place is None else states()[place].code


def city_state(text: str) -> str | None:
    """Return the state that a city lies in, where one state alone has it, or its namesakes are all far smaller."""
    places = city_index().get(phrase_key(text), ())
    if not places or not places[0][1].startswith("US-"):
        return None
    return places[0][1].removeprefix("US-") if len(places) == 1 or places[1][0] > 5 * places[0][0] + 20 else None


def read_zip(text: str) -> str | None:
    """Return the five digits of a ZIP code, or another postal code in capitals without blanks."""
    match = _ZIP.search(text)
    return match[0] if match else re.sub(r"\s+", "", text).upper() or None


def read_number(text: str) -> str | None:
    """Return letters and digits of an identifier, in capitals."""
    return re.sub(r"[\W_]+", "", text).upper() or None


def whole_name(text: str) -> str | None:
    """Return a person's name as ``Given Middle Family``; None when no name is in it."""
    place = {"given": 0, "name": 0, "initial": 1, "middle": 1, "particle": 2, "family": 2}
    parts = sorted((p for p in parse_name(text).parts if p.role in place), key=lambda p: place[p.role])
    words = [text[p.start : p.end] for p in parts]
    return " ".join(w.title() if w.isupper() or w.islower() else w for w in words) or None
