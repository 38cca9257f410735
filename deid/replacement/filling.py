"""The surrogates of one document: what stands for which of its originals, and in which order they are chosen.

`deid.replacement.surrogates` has the operator; this does its work, compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Final

from deid.base.errors import DeidError
from deid.base.in_step import pause
from deid.document import Document, Span
from deid.phi import canonical
from deid.reading.identity import PersonName, name_key
from deid.replacement.choices import Choices, tag
from deid.replacement.contacts import replace_email, replace_ip, replace_phone, replace_url
from deid.replacement.containment import Finder, finder, is_whole, texts_of
from deid.replacement.coordinates import replace_coordinates
from deid.replacement.identifiers import replace_code, replace_ssn
from deid.replacement.institutions import TEMPLATES, initials_of, learn_states, replace_by_template
from deid.replacement.names import NameMap
from deid.replacement.numbers import normal_form, numbers_of, replace_number, replace_social_security
from deid.replacement.people import replace_age, replace_other, replace_profession
from deid.replacement.permutation import Keyed, keyed_for
from deid.replacement.places import ADDRESS, STAYS, AddressSpan, PlaceMap
from deid.replacement.pools import words
from deid.replacement.scope import Scope, Written

_NAMES: Final = frozenset({"PATIENT", "DOCTOR"})
_PLACES: Final = frozenset({"CITY", "STATE", "ZIP", "COUNTRY"})
_NUMBERS: Final = frozenset(
    {"SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE", "DEVICE", "BIOID", "IDNUM"}
)
"""Categories whose numbers are one person's: one map for all patients (`deid.replacement.numbers`)."""
_ELSEWHERE: Final = "LOCATION-OTHER"
"""The category of coordinates, among other places."""
_STEPS: Final = 8
_BLANKS: Final = "".join(chr(c) if chr(c).isalpha() else " " for c in range(128))
"""Table that leaves nothing of an ASCII text but its letters."""
_RUN: Final = re.compile(r"\w+")
_LONG: Final = 5
"""Length from which an original may not survive as a word anywhere in its document."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")

Shift = Callable[[Document, Sequence[Span], Scope, Keyed], Sequence[str]]
"""Shifts the dates of a document (`deid.replacement.dates.DateShift.shift`)."""


class _Page:
    """The choices of one document.

    Parameters
    ----------
    choices : Choices
    places : PlaceMap
    numbers : Keyed or None
        Choices of all patients, for the numbers that identify one; None where each patient has a map of his own.
    originals : frozenset of str
        Normal forms of what is replaced in the document, as far as they are long enough to identify.
    """

    def __init__(self, choices: Choices, places: PlaceMap, numbers: Keyed | None, originals: frozenset[str]) -> None:
        self.choices = choices
        self.keyed: Keyed = choices.keyed
        self.names: NameMap = choices.names
        self.places = places
        self.numbers = numbers
        self.originals = originals
        self.acronyms: dict[str, str] = {}

    def number(self, category: str, text: str, step: int) -> str:
        """Replace a number that identifies a person; it has one surrogate, or none where a document holds that."""
        social = category == "SSN"
        if self.numbers is None:
            keyed = self.keyed
            return replace_ssn(keyed, text, step) if social else replace_code(keyed, text, category, step)
        new: str = replace_social_security(self.numbers, text) if social else replace_number(self.numbers, text)
        return "" if normal_form(new) in self.originals else new

    def surrogate(self, category: str, text: str, step: int) -> str:
        """Return the surrogate of what is no name, place or date; empty when there is none."""
        if category == _ELSEWHERE and (new := replace_coordinates(self.keyed, text, step)):
            return new
        if category in TEMPLATES:
            learn_states(self.choices, text, self.places.known)
            return replace_by_template(self.choices, category, text, self.places.known, self.acronyms, step)
        if category in _NUMBERS:
            return self.number(category, text, step)
        if category in ("PHONE", "FAX"):
            return replace_phone(self.choices, text, step)
        if category == "PROFESSION":
            return replace_profession(self.choices, text, step)
        if category == "USERNAME":
            return self.names.username(text, step)
        if category == "EMAIL":
            return replace_email(self.choices, text, step)
        if category == "AGE":
            return replace_age(self.keyed, text, step)
        if category == "ROOM":
            return replace_code(self.keyed, text, category, step)
        if category == "URL":
            return replace_url(self.choices, text, step)
        if category == "IPADDR":
            return replace_ip(self.choices, text, step)
        return replace_other(self.choices, category, text, step)

    def first(self, category: str, text: str, place: AddressSpan | None = None) -> str:
        """Return the first surrogate that does not hold its own original, a tag when there is none."""
        folded = text.casefold()
        for step in range(1, _STEPS + 1):
            new = self.surrogate(category, text, step) if place is None else self.places.replace(place, step)
            if not new:
                break
            if folded not in new.casefold():
                return new
        return tag(category, text)


@cache
def _canonical(label: str) -> str:
    return canonical(label)


@cache
def _generic() -> frozenset[str]:
    """Words that stay in institutions, streets and places, and so are never an original."""
    return frozenset[str]().union(*words().kept.values())


def fill(document: Document, spans: Sequence[Span], scope: Scope, corpus: bool, shift: Shift) -> Written:
    """Return one surrogate a span, with the collisions and the full names that were replaced.

    Parameters
    ----------
    document : Document
    spans : sequence of Span
        What to replace; the document's own spans are what else is.
    scope : Scope
    corpus : bool
        Whether the choices are those of all documents, not of a person's.
    shift : callable
        What shifts the dates.

    Raises
    ------
    OffsetError
        When a span lies outside the text.
    DeidError
        When something cannot be replaced.
    """
    beside = texts_of(document, document.spans)
    own = texts_of(document, spans)
    key = scope.key
    person = keyed_for(key, scope.person_scope)
    keyed: Keyed = keyed_for(key, "corpus") if corpus else person
    categories: list[str] = [_canonical(span.category) for span in spans]
    found = list(zip(categories, own, strict=True))
    known = _original_words(scope.known_names) if scope.known_names else frozenset()
    originals = known | _original_words({*beside, *own, *scope.beside})
    pause("dates")
    names = NameMap(keyed, scope.language, originals, known, scope.people, scope.sexes)
    choices = Choices(keyed, names, originals, scope.language)
    places: dict[int, AddressSpan] = {}
    dated: list[Span] = []
    for i, span in enumerate(spans):
        category, text = found[i]
        if category == "DATE":
            dated.append(span)
        elif category in ADDRESS:
            places[i] = AddressSpan(span.start, span.end, category, text)
    numbers: Keyed | None = numbers_of(key) if key.map > 1 else None
    page = _Page(
        choices, PlaceMap(choices, document.text, places.values()), numbers, _forms(found) if numbers else frozenset()
    )
    for span, text in zip(document.spans, beside, strict=True):
        if span.source == STAYS:
            page.places.stay(text)
    out: list[str] = [""] * len(own)
    if dated:
        shifted = iter(shift(document, dated, scope, person))
        for i, category in enumerate(categories):
            if category == "DATE":
                out[i] = next(shifted)
    pause("people")
    try:
        people = _fill(page, found, places, out)
    except DeidError as error:
        raise error.at(document.name) from None
    return Written(out, names.collisions, people)


def _forms(found: list[tuple[str, str]]) -> frozenset[str]:
    """Return the normal forms of originals that no surrogate number of their document may be."""
    return frozenset([form for _, text in found if len(form := normal_form(text)) >= _LONG])


def _original_words(texts: Collection[str]) -> frozenset[str]:
    """Return the keys of the words of originals that no surrogate may be; generic words and short ones may."""
    joined = "\n".join(texts)
    if joined.isascii() and "'" not in joined:
        words = {word for word in joined.lower().translate(_BLANKS).split() if len(word) > 2}
    else:
        words = {name_key(word) for word in _WORD.findall(joined) if len(word) > 2}
    return frozenset(words - _generic())


def _fill(page: _Page, found: list[tuple[str, str]], places: dict[int, AddressSpan], out: list[str]) -> dict[str, str]:
    """Write the surrogates into ``out``; return the full names that were replaced, and by which."""
    names = page.names
    parsed: dict[str, PersonName] = {text: names.parse(text) for category, text in found if category in _NAMES}
    names.learn(list(parsed.values()))
    pause("names and places")
    done: dict[tuple[str, str], str] = {}
    several: list[int] = []  # names of several words come before their initials, which follow them
    later: list[int] = []
    for i, what in enumerate(found):
        category, text = what
        if category in _PLACES:
            out[i] = page.first(category, text, places[i])
        elif category in _NAMES:
            known = done.get(what)
            if known is None:
                known = names.replace(text, parsed[text])
                if not known or text.casefold() in known.casefold():
                    known = tag(category, text)
                done[what] = known
            out[i] = known
        elif category != "DATE":
            (several if " " in text else later).append(i)
    pause("others")
    for i in several + later:
        what = found[i]
        known = done.get(what)
        if known is None:
            category, text = what
            done[what] = known = page.first(category, text)
            if category in TEMPLATES:
                page.acronyms.setdefault(initials_of(text), initials_of(known))
        out[i] = known
    pause("originals")
    _remove_originals(page, found, out)
    return names.people(parsed.values())


def _remove_originals(page: _Page, found: list[tuple[str, str]], out: list[str]) -> None:
    """Replace once more whatever holds an original of five or more characters as a word, else write a tag."""
    look = finder({text.casefold() for _, text in found if len(text) >= _LONG})
    joined = "\n".join([new.casefold() for new in out])  # folded at once it takes twelve bytes a character
    present = sorted({o for o, at in look.places(joined) if not o.isalnum() or is_whole(joined, at, o)})
    if not present:
        return
    del joined
    # word of an original that is present -> surrogates that hold it
    places: dict[str, set[int]] = {word: set() for original in present for word in _RUN.findall(original)}
    for i, new in enumerate(out):
        for word in _RUN.findall(new.casefold()):
            if word in places:
                places[word].add(i)
    for original in present:
        whole = re.compile(rf"(?<!\w){re.escape(original)}(?!\w)", re.IGNORECASE)
        words: list[str] = _RUN.findall(original)
        held = min([places[word] for word in words], key=len) if words else range(len(out))
        for i in sorted(held):
            category, text = found[i]
            if category == "DATE" or original not in out[i].casefold() or not whole.search(out[i]):
                continue
            out[i] = _other(page, category, text, look)


def _other(page: _Page, category: str, text: str, look: Finder) -> str:
    """Return a surrogate that holds no original, a tag when there is none."""
    if category not in _NAMES and category not in _PLACES:
        own = text.casefold()
        for step in range(2, _STEPS + 1):
            new = page.surrogate(category, text, step)
            folded = new.casefold()
            if new and own not in folded and not look.places(folded):
                return new
    return tag(category, text)
