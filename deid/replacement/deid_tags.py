"""Tags as the program DE-ID writes them: ``**NAME[AAA, BBB M]``, ``**DATE[Jan 17 2003]``, ``**AGE[over 89]``.

Grammar: ``TAG := "**" [A-Z-]+ ( "[" payload "]" )?``; a payload holds no bracket. `parse_tags` and `DeidTag.__str__`
are each other's inverse.

The payload of a name has each word of the name replaced by a code word, initials by another letter; order and commas
stay, so that a reader sees which names belong together. DE-ID hands out its codes in the order in which words turn up;
here a word's code is a keyed hash of the patient and the word, which needs no memory and is the same in all documents
of the patient, on every machine. Codes of patients and relatives begin with A to M, those of staff with N to Z: two
series that do not meet.

Source: Gupta, Saul, Gilbertson 2004, "Evaluation of a deidentification software engine"
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from deid.base.keys import Key
from deid.base.resources import shipped_table
from deid.document import Document, Span
from deid.phi import group
from deid.reading.dictionaries import load_dictionary
from deid.replacement.dates import date_shift_operator
from deid.replacement.scope import Operator, Scope

_TAG = re.compile(r"\*\*([A-Z]+(?:-[A-Z]+)*)(?:\[([^\[\]]*)\])?")

KINDS: Mapping[str, str] = shipped_table("labels/labels.toml")["deid_tags"]
"""Canonical category -> kind of tag; the ids that are not named are ``ID-NUM``."""

_NAME_PARTS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|[,\-/]")
_TITLES = ("names/credentials", "names/suffixes", "names/titles", "names/titles_doctor")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class DeidTag:
    """One tag."""

    kind: str
    payload: str | None = None
    """What stands in brackets; None when there are none."""

    def __str__(self) -> str:
        return f"**{self.kind}" if self.payload is None else f"**{self.kind}[{self.payload}]"


def parse_tags(text: str) -> Iterator[tuple[int, int, DeidTag]]:
    """Yield the tags of a text with their offsets, in order."""
    for found in _TAG.finditer(text):
        yield found.start(), found.end(), DeidTag(found[1], found[2])


def deid_tag_operator() -> Operator:
    """Return the operator that writes DE-ID's tags.

    Names carry codes that are the same for the same word in all documents of the patient; dates are shifted by the
    patient's secret number of days and stay in their form; ages carry their decade or "over 89"; everything else the
    kind alone.
    """

    def operate(document: Document, spans: Sequence[Span], scope: Scope) -> list[str]:
        key = scope.key.derive("operator:deid-tag")
        dates = [s for s in spans if s.category == "DATE"]
        shifted = dict(zip(dates, shift(document, dates, scope), strict=True))
        tags = []
        for span in spans:
            text = document.text[span.start : span.end]
            tags.append(str(_tag(key, scope.person_scope, span.category, text, shifted.get(span))))
        return tags

    shift = date_shift_operator()
    return operate


def _tag(key: Key, person: str, category: str, text: str, date: str | None) -> DeidTag:
    kind = KINDS.get(category, "ID-NUM" if group(category) == "ID" else "OTHER")
    payload = None
    if kind == "NAME":
        payload = _name_payload(key, person, category, text)
    elif kind == "AGE":
        payload = _age_payload(text)
    elif date is not None and "[" not in date:  # a text that is no date has become a label
        payload = date
    tag = DeidTag(kind, payload)
    # a place called "Place": any other kind says nothing of it
    return DeidTag("OTHER" if kind != "OTHER" else "ID-NUM") if text.strip().casefold() == kind.casefold() else tag


def _name_payload(key: Key, person: str, category: str, text: str) -> str | None:
    """Return the name with code words for its words, None when it has none."""
    series = "staff" if category == "DOCTOR" else "patient"
    out: list[str] = []
    for part in _NAME_PARTS.findall(text):
        if not part[0].isalpha():
            if out and out[-1] not in ", -/":
                out.append(", " if part == "," else part)
            continue
        word = part.casefold()
        if word.endswith(("'s", "’s")):
            word = word[:-2]
        if len(word) > 1 and word in title_words():
            continue
        if out and out[-1] not in ("-", "/", ", "):
            out.append(" ")
        out.append(_initial(key, person, word) if len(word) == 1 else _code(key, person, series, word))
    while out and out[-1] in (", ", "-", "/", " "):
        out.pop()
    return "".join(out) or None


@functools.cache
def title_words() -> frozenset[str]:
    """Return the words that stand beside names and are none: titles, suffixes, degrees."""
    return frozenset(p.rstrip(".") for name in _TITLES for p in load_dictionary(name).phrases)


def _code(key: Key, person: str, series: str, word: str) -> str:
    """Return the code word of a name word: four letters, never the word itself."""
    number = key.number(person, "word", word)
    number, first = divmod(number, 13)
    letters = [_LETTERS[first if series == "patient" else first + 13]]
    for _ in range(3):
        number, letter = divmod(number, 26)
        letters.append(_LETTERS[letter])
    code = "".join(letters)
    # one step along the alphabet, in the last place only: the series stays
    return code if code.casefold() != word else code[:-1] + _LETTERS[(_LETTERS.index(code[-1]) + 1) % 26]


def _initial(key: Key, person: str, letter: str) -> str:
    """Return the letter that stands for an initial: one keyed step of 1 to 25 round the alphabet, the same for all
    initials of a person, so that different initials stay different."""
    step = 1 + key.number(person, "initials") % 25
    place = _LETTERS.find(letter.upper())
    return _LETTERS[(place + step) % 26] if place >= 0 else "X"


def _age_payload(text: str) -> str | None:
    number = re.search(r"\d+", text)
    if number is None:
        return None
    years = int(number.group()) if len(number.group()) < 4 else 120
    return "over 89" if years > 89 else f"in {years // 10 * 10}s" if years >= 10 else "under 10"
