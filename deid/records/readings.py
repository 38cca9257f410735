"""Whether what stands in a field reads as what the field is for: messages of the wild are often a field off.

A field of dates, towns or countries may be kept by a policy that forbids names and numbers. So what stands there keeps
the field's category only where it has a reading as one; what has none is taken for a number or another place, which
such policies take out. Words in a field of towns that no list of towns has, and nine digits alone in one of postcodes,
keep the category with a doubt (`doubts`): they are replaced as what the field says, and kept by no policy that forbids
what they may be.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

from deid.base.resources import resource_folder

SHAPES = re.compile(
    r"\s*(?:(?P<SSN>[0-9]{3}-[0-9]{2}-[0-9]{4})|(?P<PHONE>(?:\+?1[-. ])?\(?[0-9]{3}\)?[-. ]?[0-9]{3}[-.][0-9]{4})"
    r"|(?P<EMAIL>[^\s@]+@[^\s@]+\.[A-Za-z]{2,})"
    r"|(?P<DATE>(?:19|20)[0-9]{2}[-/][01]?[0-9][-/][0-3]?[0-9]|[0-3]?[0-9][-/][0-3]?[0-9][-/](?:19|20)[0-9]{2}))\s*\Z"
)
"""What is an identifier wherever it stands: records write values a field beside their own."""
_DAY = re.compile(
    r"([0-9]{4})(?:-?([0-9]{2})(?:-?([0-9]{2}))?)?"
    r"(?:[T ]?[0-9]{2}(?::?[0-9]{2}){0,2}(?:[.,][0-9]+)?|(?:[01][0-9]|2[0-3])(?:[0-5][0-9]){2}[0-9]{1,4})?"
    r" ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
_FIRST_YEAR, _LAST_YEAR = 1800, 2199
_NEVER = (1, 9999)
"""Years that systems write for no day."""
_MONTHS, _DAYS = 12, 31
_PIECE = (
    r"(?:[0-9]{1,2}(?:st|nd|rd|th)?|(?:1[89]|2[01])[0-9]{2}|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
    r"|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*|[ap]m|[ecmp][sd]t|gmt|utc|of|t|z)"
)
_WRITTEN = re.compile(rf"(?=.*[0-9])\W*{_PIECE}(?:\W+{_PIECE})*\W*\Z", re.IGNORECASE)
_ZIP = re.compile(
    r"[0-9]{3,6}|[0-9]{5}-?[0-9]{4}|[0-9]{2,5}[- ][0-9]{2,4}|[0-9]{4} ?[A-Z]{2}|[A-Z]{1,3}-? ?[0-9]{3,6}"
    r"|[A-Z]{1,2}[0-9][A-Z0-9]?(?: ?[0-9][A-Z]{2})?|[A-Z][0-9][A-Z](?:[ -]?[0-9][A-Z][0-9])?"
    r"|[A-Z][0-9][0-9W] ?[A-Z0-9]{4}",
    re.IGNORECASE,
)
_CODE_LETTERS = 3
_LISTS = {
    "STATE": ("states", "state_old_abbreviations", "provinces_es", "states_de", "states_fr", "states_nl"),
    "COUNTRY": ("countries", "countries_de", "countries_es", "countries_fr", "countries_nl"),
}  # fmt: skip
_TOWNS = (
    *("cities_us", "cities_world", "cities_big", "cities_ambig", "cities_de", "cities_es", "cities_fr", "cities_nl"),
    *("towns_es", "states"),
)
_MEANINGS = (
    "common/words",
    *(f"clinical/{name}" for name in ("terms", "drugs", "substances", "organisms", "anatomy", "conditions", "devices")),
)
_NAMES_ALONE = ("names/last_unambig", "names/female_unambig", "names/male_unambig")
_LONG = re.compile(r"[^\W\d_]{4}")
_SAID = re.compile(r"[^\W_]+(?:/[^\W_]+)?")
_BARE = re.compile(r"[0-9]{9}")
"""A ZIP code with its four more digits, or a social security number."""
_LEAST_DIGITS = 3
"""Digits that no name of a town has."""


def read_as(category: str, text: str) -> str:
    """Return the category of what stands in a field of a category.

    Parameters
    ----------
    category : str
        The field's.
    text : str

    Returns
    -------
    str
        The field's category where the text has a reading as one; else that of its shape, ``IDNUM`` or, of names of
        places, ``LOCATION-OTHER``.

    >>> [read_as("DATE", text) for text in ("1947-06-19", "June 1947", "99991231", "MRN 8812345", "47112199")]
    ['DATE', 'DATE', 'DATE', 'IDNUM', 'IDNUM']
    >>> [read_as("STATE", text) for text in ("VT", "Vermont", "552-12-3344", "Quillfeather")]
    ['STATE', 'STATE', 'SSN', 'LOCATION-OTHER']
    """
    test = _TESTS.get(category)
    if test is None or test(text.strip()):
        return category
    if (found := SHAPES.match(text)) and found.lastgroup != "DATE":
        return str(found.lastgroup)
    return "LOCATION-OTHER" if category in _LISTS else "IDNUM"


def doubts(category: str, text: str) -> tuple[str, ...]:
    """Return what else the text of a field of a category may be (`deid.document.Span.also`).

    Parameters
    ----------
    category : str
        As `read_as` returns it.
    text : str

    Returns
    -------
    tuple of str
        Canonical categories; most often none.

    >>> [doubts("CITY", text) for text in ("Boston", "St. John's", "Quillfeather, Joan")]
    [(), (), ('LOCATION-OTHER',)]
    >>> doubts("ZIP", "552123344"), doubts("ZIP", "55212-3344"), doubts("PATIENT", "Joan")
    (('SSN',), (), ())
    """
    if category == "CITY" and _spelt(text) not in _towns():
        return ("LOCATION-OTHER",)
    return ("SSN",) if category == "ZIP" and _BARE.fullmatch(text.strip()) else ()


def says_nothing(text: str) -> bool:
    """Tell whether a field says that nothing is known, or that the record is a test: *UNKNOWN*, *SAME*, *PATIENT^TEST*.

    >>> [says_nothing(text) for text in ("UNKNOWN", "Patient^Test", "N/A", "-", "Test, Eleanor")]
    [True, True, True, True, False]
    """
    unsaid, initials = _unsaid()
    if text[:1].isascii() and text[:1].isalnum() and text[0].lower() not in initials:
        return False
    small = text.lower()
    if text.isascii() and text.isalnum():
        return small in unsaid
    first = _SAID.search(small)  # most fields are told by their first word
    return first is None or (first[0] in unsaid and unsaid.issuperset(_SAID.findall(small)))


def is_unsaid(text: str) -> bool:
    """Tell whether what stands in a field is nobody's without a doubt: signs alone, or words that say nothing, one of
    them too long for a short family name (*Na*, *Do*, *See*), and no family name alone (*Self*, *Blank*).

    >>> [is_unsaid(text) for text in ("-", "UNKNOWN", "See above", "Do", "Na^Sin", "Unknown Road 7", "Self")]
    [True, True, True, False, False, False, False]
    """
    if not says_nothing(text):
        return False
    return not any(map(str.isalnum, text)) or (
        _LONG.search(text) is not None and text.strip(" ^.,").lower() not in _family_names()
    )


@functools.cache
def _unsaid() -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that say nothing, and the letters that they begin with."""
    lines = (resource_folder("dictionaries") / "records" / "unsaid.txt").read_text("utf-8").splitlines()
    words = frozenset(word for line in lines if not line.startswith("#") for word in line.split())
    return words, frozenset(word[0] for word in words)


@functools.cache
def _family_names() -> frozenset[str]:
    folder = resource_folder("dictionaries") / "names"
    return frozenset((*_lines(folder / "last_ambig"), *_lines(folder / "last_unambig")))


@functools.cache
def ordinary_words() -> frozenset[str]:
    """Return words in small letters that mean something beside a name, or are none: *white*, *hand*, *liver*."""
    folder = resource_folder("dictionaries")
    words, names = ({line for name in part for line in _lines(folder / name)} for part in (_MEANINGS, _NAMES_ALONE))
    return frozenset(words - names)


def _lines(folder: Path) -> list[str]:
    return (folder / "items.txt").read_text("utf-8").lower().splitlines()


def _is_date(text: str) -> bool:
    if shape := SHAPES.match(text):
        return shape.lastgroup == "DATE"
    if found := _DAY.fullmatch(text):
        year, month, day = (int(part) if part else 1 for part in found.groups())
        known = _FIRST_YEAR <= year <= _LAST_YEAR or year in _NEVER
        known = known and 0 < min(month, day) <= _MONTHS and 0 < max(month, day) <= _DAYS  # some write the day first
        return known or not text.strip("0")
    return _WRITTEN.match(text) is not None


def _is_town(text: str) -> bool:
    return SHAPES.match(text) is None and "@" not in text and sum(map(str.isdigit, text)) < _LEAST_DIGITS


def _is_postcode(text: str) -> bool:
    return _ZIP.fullmatch(text) is not None


def _is_listed(category: str, text: str) -> bool:
    plain = "".join(filter(str.isalnum, text))
    code = len(plain) <= _CODE_LETTERS or (len(plain) <= 2 * _CODE_LETTERS and "-" in text and plain.isupper())
    return (code and not plain.isdecimal()) or text.lower() in _listed(category)


@functools.cache
def _listed(category: str) -> frozenset[str]:
    folder = resource_folder("dictionaries") / "places"
    texts = ((folder / name / "items.txt").read_text("utf-8").lower() for name in _LISTS[category])
    return frozenset(line for text in texts for line in text.splitlines())


def _spelt(town: str) -> str:
    """Return the letters of a town: its signs, districts by number and *St.* are written in many ways."""
    return "".join(filter(str.isalpha, town.lower())).replace("saint", "st")


@functools.cache
def _towns() -> frozenset[str]:
    folder = resource_folder("dictionaries") / "places"
    texts = ((folder / name / "items.txt").read_text("utf-8") for name in _TOWNS)
    return frozenset(_spelt(line) for text in texts for line in text.splitlines())


_TESTS: dict[str, Callable[[str], bool]] = {
    "IDNUM": lambda text: (shape := SHAPES.match(text)) is None or shape.lastgroup == "DATE",
    "PROFESSION": lambda text: SHAPES.match(text) is None,
    "DATE": functools.lru_cache(maxsize=1 << 12)(_is_date),
    "CITY": _is_town,
    "ZIP": functools.lru_cache(maxsize=1 << 12)(_is_postcode),
    "STATE": functools.lru_cache(maxsize=1 << 10)(functools.partial(_is_listed, "STATE")),
    "COUNTRY": functools.lru_cache(maxsize=1 << 10)(functools.partial(_is_listed, "COUNTRY")),
}
