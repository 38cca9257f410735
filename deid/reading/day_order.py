"""Which number of a date is the month: one rule for whatever reads dates, told by those that can be read in one way."""

from __future__ import annotations

import re
from collections.abc import Iterable

ROMAN_MONTHS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
"""Months as they stand between day and year where months are Roman numbers: ``14. III. 2019``."""
_NUMBERS = re.compile(r"(?<![\d/])(\d{1,2})\s?[-/.]\s?(\d{1,2})\s?[-/.]\s?\d{2,4}(?!\d)")
_DAY_AND_MONTH = re.compile(r"(?<![\d./-])(?:1[3-9]|2\d|3[01])/(?:1[0-2]|0?[1-9])(?![\d./])")
"""Without a year: *28/11*; *11/28* may be a month and a year, and has no vote."""


def days_first(texts: Iterable[str], usual: bool = False) -> bool:
    """Tell whether texts of one writer write days before months.

    Parameters
    ----------
    texts : iterable of str
        The dates of a note, or the cells of a column. A date of which one number is above 12 has a vote, and
        so has a day above 12 before its month without a year; where as many dates say one as the other, some are
        mistakes, and nothing is told.
    usual : bool
        What is so in the language, where the dates do not tell.

    Examples
    --------
    >>> days_first(["14/3/2019", "2/3/2019"]), days_first(["3/14/2019", "2/3/2019"]), days_first(["2. 3. 19"], True)
    (True, False, True)
    """
    votes = 0
    for text in texts:
        votes += _DAY_AND_MONTH.search(text) is not None
        for match in _NUMBERS.finditer(text):
            a, b = int(match[1]), int(match[2])
            votes += (a > 12 >= b) - (b > 12 >= a)
    return votes > 0 or (votes == 0 and usual)
