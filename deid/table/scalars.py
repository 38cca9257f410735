"""Cells as numbers and as dates: how the text of a cell is read, and how a number is written, without loss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Context, Decimal, InvalidOperation

EXACT = 2**53
"""From here on floats skip integers."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:([T ])\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
_PLAIN = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?", re.ASCII)
_OPEN = re.compile(
    r"(?P<sign>[<>]=?|[≤≥])\s*(?P<bound>-?\d+(?:\.\d+)?)"
    r"|(?P<number>-?\d+(?:\.\d+)?)(?:\s*\+|\s+(?:and|or)\s+(?:(?P<up>over|older|above|more)|under|younger|below|less))",
    re.ASCII,
)
_COMMA = re.compile(r"-?\d+(?:,\d+)?", re.ASCII)
_DAY_FIRST = re.compile(r"\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d\d)|\d{4}([./])\d{1,2}\2\d{1,2}", re.ASCII)
_EPOCH = datetime(1970, 1, 1)
_WIDE = Context(prec=400)
_DAY = 86_400_000_000  # microseconds


def date_position(text: str) -> float:
    """Return an ISO date, or a date-time, as days since 1970-01-01; NaN for other texts.

    A date-time is ``2020-01-31T09:15``, with a blank for the ``T`` as well, seconds and a zone where they are written;
    one with a zone counts by UTC.

    >>> date_position("1970-01-02"), date_position("1970-01-02 12:00:00"), date_position("2020-02-30")
    (1.0, 1.5, nan)
    """
    found = _DATE.fullmatch(text)
    if found is None:
        return float("nan")
    try:
        if found[1] is None:
            return float(date.fromisoformat(text).toordinal() - 719163)
        moment = datetime.fromisoformat(text)
    except ValueError:
        return float("nan")
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    past = moment - _EPOCH
    return past.days + (past.seconds * 1_000_000 + past.microseconds) / _DAY


def exact_number(text: str) -> int | float:
    """Return the number that a text writes, an integer exactly; NaN for other texts, and for infinity.

    >>> exact_number("007"), exact_number("2.50"), exact_number("9007199254740993")
    (7, 2.5, 9007199254740993)
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        return float("nan")
    if not number.is_finite() or number.adjusted() > 308:
        return float("nan")
    return int(number) if number == number.to_integral_value() else float(number)


def open_end(text: str) -> tuple[str, int, bool] | None:
    """Return what the code of an open end says, a top or bottom code such as the ``90+`` of Safe Harbor.

    Parameters
    ----------
    text : str
        A cell: ``90+``, ``>=90``, ``>89``, ``<18``, ``<=17``, ``90 and over``, ``17 or younger``.

    Returns
    -------
    tuple of str, int and bool, or None
        The number; 1 where the code means it and all above, -1 where it and all below; whether the number itself is
        left out. None for other texts.

    Examples
    --------
    >>> open_end("90+"), open_end(">89"), open_end("17 or younger"), open_end("90")
    (('90', 1, False), ('89', 1, True), ('17', -1, False), None)
    """
    found = _OPEN.fullmatch(text.strip())
    if found is None:
        return None
    sign = found["sign"]
    if sign is not None:
        return found["bound"], 1 if sign[0] in ">≥" else -1, sign in ("<", ">")
    return found["number"], 1 if found["up"] or text.strip().endswith("+") else -1, False


def plain_number(value: float | str) -> str:
    """Return a number as one writes it: no exponent where it can be read without, no zeros that say nothing.

    >>> plain_number("007"), plain_number(20.0), plain_number("1e3"), plain_number(9007199254740993)
    ('7', '20', '1000', '9007199254740993')
    """
    number = Decimal(str(value)).normalize(_WIDE)
    if not number:
        return "0"
    return format(number, "f") if -30 < number.adjusted() < 30 else str(number)


def misread_form(values: Sequence[str]) -> str:
    """Return what values are that are read as names without order, for the way they are written; empty for others.

    >>> misread_form(["1,5", "20"]), misread_form(["31.12.2020", "2021-01-01"]), misread_form(["A", "1,5"])
    ('numbers with a decimal comma, not a point', 'dates that are not written YYYY-MM-DD', '')
    """
    if all(map(_COMMA.fullmatch, values)) and any("," in value for value in values):
        return "numbers with a decimal comma, not a point"
    days = [_DAY_FIRST.fullmatch(value) is not None for value in values]
    if any(days) and all(day or _DATE.fullmatch(value) for day, value in zip(days, values, strict=True)):
        return "dates that are not written YYYY-MM-DD"
    return ""


def is_plain_number(text: str) -> bool:
    """Tell whether a text is written as one would write a number: 0.5 and -3, not 007, +5 or 1e3.

    >>> is_plain_number("250.00"), is_plain_number("02139")
    (True, False)
    """
    return _PLAIN.fullmatch(text) is not None
