"""What the names of columns say: which words propose a role, and which column seems to number persons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from deid.io.fields import NAMED, folded, words_of
from deid.table.cell_text import as_read, whole_number
from deid.table.microdata import NA_CODE, Microdata

_SEPARATORS = re.compile(r"[\s_/‐-―-]+")


def _repeats(table: Microdata, name: str) -> bool:
    coded = table.codes(name)
    return len(coded.values) < int((coded.codes != NA_CODE).sum())


def alike(id: str) -> str:
    """Return what ids have in common that differ in blanks, hyphens, leading zeros, case or look-alike signs alone.

    >>> {alike("MRN-0100"), alike("mrn 0100\u200b")}, {alike("007"), alike("7.0"), alike("\uff17")}
    ({'mrn 0100'}, {'7'})
    """
    text = _SEPARATORS.sub(" ", as_read(id)).strip()
    return (whole_number(text) or text).lstrip("0")


def split_ids(persons: Iterable[str]) -> int:
    """Return how many ids are written in several ways (`alike`), each of which would count as a person of its own."""
    return sum(ways > 1 for ways in Counter(map(alike, set(persons))).values())


def _numbers_persons(name: str) -> bool:
    words = words_of(name)
    if words & NAMED["shared"]:
        return False
    return bool(words & NAMED["person_number"]) or re.sub(r"[^a-z]", "", folded(name)) in NAMED["person_alone"]


def repeated_person(table: Microdata) -> str | None:
    """Return a column by which several rows seem to be of one person, None when there is none.

    That is a column called like the number of a person (a record number, a patient's id), wherever it repeats, written
    in one way or in several (`alike`). In a
    table without such a column that numbers every row differently, also an identifier that repeats, unless its name
    says that persons share it, as first names, addresses and doctors are.

    Parameters
    ----------
    table : Microdata
        Quasi-identifiers and sensitive columns are not looked at.
    """
    columns = [c for c in table.frame.columns if table.roles.get(c) not in ("quasi-identifier", "sensitive")]
    # one called like a person (*person*) before those of a system's numbers (*mrn*), of which he may have several
    by_number = {name: bool(words_of(name) & NAMED["person_number"]) for name in columns if _numbers_persons(name)}
    numbers = sorted(by_number, key=lambda name: (by_number[name], name))
    for name in numbers:
        values = table.codes(name).values
        if _repeats(table, name) or len(set(map(alike, values))) < len(values):
            return name
    if any(len(table.codes(name).values) == len(table) for name in numbers):
        return None
    for name in columns:
        words = words_of(name)
        says = table.roles.get(name) == "identifier" or bool(words & {"name", "fullname"})
        if says and not words & NAMED["shared"] and _repeats(table, name):
            return name
    return None
