"""Fields of HL7 v2 that hold codes of lists: what else stands there may be somebody's name or number."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final

from deid.base.resources import resource_folder
from deid.phi import CATEGORIES
from deid.records.new_ids import OID
from deid.records.readings import ordinary_words
from deid.records.record import TEXT
from deid.records.tables import CODE, KEEP, Table, kept_as, kept_words, words_of

HL7_TABLE = re.compile(r"HL7[0-9]{4,5}\Z")
LONGEST_CODE: Final = 6
"""What is kept and no longer holds no identifier: ``M``, ``2.5.1``, ``OBX``."""
NUMBER_OF_PERSON = 6
"""Digits that no code beside a name has."""
_AMOUNT = re.compile(r"[$+-]?[0-9,]+\.[0-9]{1,2}\Z")
_NUMERIC = re.compile(r"[0-9]{1,18}(?:-[0-9]{1,4}){0,2}\Z")
_LONGEST_UNIT = 3
"""Letters of a code of an interval or a duration: *QID*."""
_GIVEN = (
    "female_unambig",
    "female_popular",
    "male_unambig",
    "male_popular",
    "given_de",
    "given_es",
    "given_fr",
    "given_nl",
)
_CODED = re.compile(r"(?=.*[0-9_./:-])[A-Z0-9_./:-]+\Z")
DAY = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[0-9]{4,6}(?:[.+-][0-9.+-]+)?)?\Z")


def listed_as(text: str, usual: str) -> str:
    """Return what a value is that should be a code of a list, or the words of one.

    Parameters
    ----------
    text : str
        Without the sign between components.
    usual : str
        Words of such lists in small letters.

    Returns
    -------
    str
        `KEEP`, `TEXT`, or the category of an identifier: a number of six and more digits is somebody's.

    >>> [listed_as(text, "life partner") for text in ("SPO", "Life Partner", "8812345", "Dr. Zorvath", "2106-3")]
    ['keep', 'keep', 'IDNUM', 'text', 'keep']
    """
    if DAY.match(text):
        return "DATE"
    if (shape := kept_as(CODE, text)) in CATEGORIES:
        return shape
    if sum(map(str.isdigit, text)) >= NUMBER_OF_PERSON and not _AMOUNT.match(text) and not OID.match(text):
        return "IDNUM" if shape == KEEP else TEXT
    if (len(text) <= LONGEST_CODE and shape == KEEP) or _CODED.match(text) or HL7_TABLE.match(text):
        return KEEP
    return KEEP if words_of(usual).issuperset(re.findall(r"[^\W\d_]+", text.lower())) else TEXT


def all_listed_as(pieces: Sequence[str], table: Table) -> list[str]:
    """Return what the components of a field of a list are: a number that its coding system, the second component
    behind it, makes of numbers, is a code (*18748-4^Report^LN*).
    """
    usual, systems = table.facts["list_words"], table.facts["numeric_systems"]
    return [
        KEEP
        if piece[:1].isdigit() and n + 2 < len(pieces) and pieces[n + 2] in systems and _NUMERIC.match(piece)
        else listed_as(piece, usual)
        for n, piece in enumerate(pieces)
    ]


@functools.lru_cache(maxsize=1 << 14)
def is_beside_lists(raw: str, component: str, repetition: str, table: Table) -> bool:
    """Tell whether a field of a list holds anything else than what lists hold."""
    parts = raw.split(repetition)
    return any(kind != KEEP for part in parts for kind in all_listed_as(part.split(component), table)) or any(
        stray(component).search(part) for part in parts
    )


@functools.lru_cache(maxsize=1 << 14)
def is_stray(raw: str, component: str, sub: str, table: Table) -> bool:
    """Tell whether a field that is kept may hold anything else than codes and their words."""
    pieces = raw.split(component)
    if sub in raw or any(DAY.match(piece) or kept_words(piece) != KEEP for piece in pieces):
        return True
    found = stray(component).search(raw)
    said = None if found is None else found[1] or found[2]
    return found is not None and (said is None or said.upper() not in table.facts["no_given_names"])


def is_person(pieces: Sequence[str], *, coded: bool = False) -> bool:
    """Tell whether components are a person's without a doubt: a given name behind a word that is no other word; where
    only codes belong (``coded``), any two words that are none.

    >>> [is_person(said.split("^")) for said in ("12^Quillfeather^Joan", "12^Potassium^Joan", "Quillfeather^Joan^B")]
    [True, False, True]
    """
    words = pieces[1:3]
    if coded and len(words) > 1 and all(word.isalpha() and len(word) > _LONGEST_UNIT for word in words):
        return ordinary_words().isdisjoint(word.lower() for word in words)
    for family, given in ((pieces[1:2], pieces[2:3]), (pieces[:1], pieces[1:2])):
        if given and given[0].lower() in _given_names():
            return family[0].isalpha() and family[0].lower() not in ordinary_words()
    return False


@functools.cache
def _given_names() -> frozenset[str]:
    found = (resource_folder("dictionaries") / "names" / name / "items.txt" for name in _GIVEN)
    return frozenset(line for path in found for line in path.read_text("utf-8").lower().splitlines())


@functools.cache
def stray(component: str) -> re.Pattern[str]:
    """Return what finds persons and identifiers by their shape among the components of a code."""
    sign = re.escape(component)
    word = r"[^\W\d_](?:[^\W\d_]|['. -])+"
    return re.compile(
        rf"(?<![0-9])(?:[0-9]{{3}}-[0-9]{{2}}-|[0-9]{{3}}\)?[-. ]?[0-9]{{3}}[-.])[0-9]{{4}}|@"
        rf"|\A(?:[^{sign}]*{sign}{word}{sign}({word})|{word}{sign}{word}{sign}([A-Z])\.?)(?={sign}|\Z)"
    )
