"""The surrogate operator: realistic, keyed, consistent replacements for the spans of a document.

Everything is chosen by keyed hashes and permutations of the person's scope, so that the same original gets the same
surrogate in every document of a patient, on every machine, without any memory. Names and places of a document are
replaced together (`deid.replacement.names`, `deid.replacement.places`). No surrogate equals or holds its own original,
and none holds another original of the document as a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from deid.base.errors import ConfigError, DeidError
from deid.document import Document, Span
from deid.phi import canonical
from deid.reading.identity import name_key
from deid.replacement.choices import Choices, require_inside, tag
from deid.replacement.contacts import replace_email, replace_ip, replace_phone, replace_url
from deid.replacement.containment import finder, is_whole
from deid.replacement.dates import DateShift, date_shift_operator
from deid.replacement.identifiers import replace_code, replace_ssn
from deid.replacement.institutions import TEMPLATES, initials_of, learn_states, replace_by_template
from deid.replacement.names import NameMap
from deid.replacement.numbers import normal_form, numbers_of, replace_number, replace_social_security
from deid.replacement.people import replace_age, replace_other, replace_profession
from deid.replacement.permutation import Keyed, keyed_for
from deid.replacement.places import ADDRESS, STAYS, AddressSpan, PlaceMap
from deid.replacement.pools import words
from deid.replacement.scope import Scope, Written

_NAMES = frozenset({"PATIENT", "DOCTOR"})
_PLACES = frozenset({"CITY", "STATE", "ZIP", "COUNTRY"})
_NUMBERS = ("SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE", "DEVICE", "BIOID", "IDNUM")
"""Categories whose numbers are one person's: one map for all patients (`deid.replacement.numbers`)."""
_STEPS = 8
_BLANKS = "".join(chr(c) if chr(c).isalpha() else " " for c in range(128))
"""Table that leaves nothing of an ASCII text but its letters."""
_RUN = re.compile(r"\w+")
_LONG = 5
"""Length from which an original may not survive as a word anywhere in its document."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


@dataclass(frozen=True, slots=True, repr=False)
class _Page:
    """The choices of one document."""

    choices: Choices
    places: PlaceMap
    numbers: Keyed | None
    """Choices of all patients, for the numbers that identify one; None where each patient has a map of his own."""
    originals: frozenset[str]
    """Normal forms of the document's numbers, as far as they are long enough to identify."""
    lengths: frozenset[int]
    """How long these are."""
    acronyms: dict[str, str] = field(default_factory=dict)


def _other(page: _Page, category: str, text: str, step: int) -> str:
    return replace_other(page.choices, category, text, step)


def _place(place: AddressSpan, page: _Page, category: str, text: str, step: int) -> str:
    return page.places.replace(place, step)


def _code(page: _Page, category: str, text: str, step: int) -> str:
    return replace_code(page.choices.keyed, text, category, step)


def _number(page: _Page, category: str, text: str, step: int) -> str:
    """Replace a number that identifies a person; it has one surrogate, or none in a document that holds that one."""
    social = category == "SSN"
    if page.numbers is None:
        keyed = page.choices.keyed
        return replace_ssn(keyed, text, step) if social else replace_code(keyed, text, category, step)
    if step > 1:
        return ""
    new = (replace_social_security if social else replace_number)(page.numbers, text)
    written = "".join(filter(str.isalnum, new)).upper() if new.isascii() else ""
    if written and page.originals.isdisjoint([written[-length:] for length in page.lengths]):
        return new  # a normal form is the end of what is written, and as long as an original's
    return "" if new and normal_form(new) in page.originals else new


def _nothing(page: _Page, category: str, text: str, step: int) -> str:
    return ""


_Replacer = Callable[[_Page, str, str, int], str]
_REPLACERS: dict[str, _Replacer] = {
    "USERNAME": lambda page, _, text, step: page.choices.names.username(text, step),
    "PROFESSION": lambda page, _, text, step: replace_profession(page.choices, text, step),
    "AGE": lambda page, _, text, step: replace_age(page.choices.keyed, text, step),
    "PHONE": lambda page, _, text, step: replace_phone(page.choices, text, step),
    "FAX": lambda page, _, text, step: replace_phone(page.choices, text, step),
    "EMAIL": lambda page, _, text, step: replace_email(page.choices, text, step),
    "URL": lambda page, _, text, step: replace_url(page.choices, text, step),
    "IPADDR": lambda page, _, text, step: replace_ip(page.choices, text, step),
    "ROOM": _code,
    **dict.fromkeys(_NUMBERS, _number),
    **dict.fromkeys(
        TEMPLATES,
        lambda page, category, text, step: replace_by_template(
            page.choices, category, text, page.places.known, page.acronyms, step
        ),
    ),
}


@cache
def _canonical(label: str) -> str:
    return canonical(label)


@cache
def _generic() -> frozenset[str]:
    """Words that stay in institutions, streets and places, and so are never an original."""
    return frozenset().union(*words().kept.values())


@dataclass(frozen=True)
class SurrogateOperator:
    """See `surrogate_operator`."""

    corpus: bool
    dates: DateShift

    def __call__(self, document: Document, spans: Sequence[Span], scope: Scope) -> Written:
        """Return one surrogate a span, with the collisions and the full names that were replaced."""
        text = document.text
        require_inside(document, document.spans)
        require_inside(document, spans)
        person = keyed_for(scope.key, scope.person_scope)
        keyed = keyed_for(scope.key, "corpus") if self.corpus else person
        found = [(_canonical(s.category), text[s.start : s.end]) for s in spans]
        known = _original_words(scope.known_names) if scope.known_names else frozenset()
        written = {text[s.start : s.end] for s in document.spans}
        written.update([text for _, text in found], scope.beside)
        originals = known | _original_words(written)
        names = NameMap(keyed, scope.language, originals, known, scope.people, scope.sexes)
        choices = Choices(keyed, names, originals, scope.language)
        address = [
            AddressSpan(span.start, span.end, *what)
            for span, what in zip(spans, found, strict=True)
            if what[0] in ADDRESS
        ]
        numbers = numbers_of(scope.key) if scope.key.map > 1 else None
        forms = _forms(found) if numbers else frozenset()
        page = _Page(choices, PlaceMap(choices, text, address), numbers, forms, frozenset(map(len, forms)))
        for span in document.spans:
            if span.source == STAYS:
                page.places.stay(text[span.start : span.end])
        out: list[str] = [""] * len(spans)
        dated = [i for i, (category, _) in enumerate(found) if category == "DATE"]
        if dated:
            shifted = self.dates.shift(document, [spans[i] for i in dated], scope, person)
            for i, new in zip(dated, shifted, strict=True):
                out[i] = new
        try:
            people = _fill(page, spans, found, out)
        except DeidError as error:
            raise error.at(document.name) from None
        return Written(out, names.collisions, people)


def _forms(found: Sequence[tuple[str, str]]) -> frozenset[str]:
    """Return the normal forms of the numbers among originals that no surrogate number of their document may be."""
    forms = {normal_form(text) for category, text in set(found) if category in _NUMBERS}
    return frozenset(form for form in forms if len(form) >= _LONG)


def _original_words(texts: Collection[str]) -> frozenset[str]:
    """Return the keys of the words of originals that no surrogate may be; generic words and short ones may."""
    joined = "\n".join(texts)
    if joined.isascii() and "'" not in joined:
        words = {word for word in joined.lower().translate(_BLANKS).split() if len(word) > 2}
    else:
        words = {name_key(word) for word in _WORD.findall(joined) if len(word) > 2}
    return frozenset(words - _generic())


def _fill(page: _Page, spans: Sequence[Span], found: Sequence[tuple[str, str]], out: list[str]) -> dict[str, str]:
    """Write the surrogates into ``out``; return the full names that were replaced, and by which."""
    names = page.choices.names
    parsed = {text: names.parse(text) for category, text in found if category in _NAMES}
    names.learn(list(parsed.values()))
    done: dict[tuple[str, str], str] = {}
    several: list[int] = []  # names of several words come before their initials, which follow them
    later: list[int] = []
    for i, (category, text) in enumerate(found):
        if category in _PLACES:
            place = AddressSpan(spans[i].start, spans[i].end, category, text)
            out[i] = _until_new(page, category, text, partial(_place, place))
        elif category in _NAMES:
            new = done.get(found[i])
            if new is None:
                new = names.replace(text, parsed[text])
                if not new or text.casefold() in new.casefold():
                    new = tag(category, text)
                done[found[i]] = new
            out[i] = new
        elif category != "DATE":
            (several if " " in text else later).append(i)
    acronyms = any(found[i][0] in TEMPLATES and found[i][1].isupper() for i in later)
    for i in several + later:
        category, text = found[i]
        new = done.get(found[i])
        if new is None:
            named = category in TEMPLATES
            if named:
                learn_states(page.choices, text, page.places.known)
            done[found[i]] = new = _until_new(page, category, text, _REPLACERS.get(category, _other))
            if acronyms and named and (short := initials_of(text)):
                page.acronyms.setdefault(short, initials_of(new))
        out[i] = new
    _remove_originals(page, found, out)
    return names.people(parsed.values())


def _until_new(page: _Page, category: str, text: str, make: _Replacer) -> str:
    """Return the first surrogate that does not hold its own original, a tag when there is none."""
    folded = text.casefold()
    for step in range(1, _STEPS + 1):
        new = make(page, category, text, step)
        if not new:
            break
        if folded not in new.casefold():
            return new
    return tag(category, text)


def _remove_originals(page: _Page, found: Sequence[tuple[str, str]], out: list[str]) -> None:
    """Replace once more whatever holds an original of five or more characters as a word, else write a tag."""
    originals = {text.casefold() for _, text in found if len(text) >= _LONG}
    look = finder(originals)
    joined = "\n".join([new.casefold() for new in out])  # folded at once it takes twelve bytes a character
    present = sorted({o for o, at in look.places(joined) if not o.isalnum() or is_whole(joined, at, o)})
    if not present:
        return
    del joined, originals
    # word of an original that is present -> surrogates that hold it
    places: dict[str, set[int]] = {word: set() for original in present for word in _RUN.findall(original)}
    for i, new in enumerate(out):
        for word in _RUN.findall(new.casefold()):
            if word in places:
                places[word].add(i)
    for original in present:
        whole = re.compile(rf"(?<!\w){re.escape(original)}(?!\w)", re.IGNORECASE)
        words = _RUN.findall(original)
        held = min((places[word] for word in words), key=len) if words else range(len(out))
        for i in sorted(held):
            new = out[i]
            category, text = found[i]
            if category == "DATE" or original not in new.casefold() or not whole.search(new):
                continue
            make = _nothing if category in _NAMES | _PLACES else _REPLACERS.get(category, _other)
            tries = (make(page, category, text, step) for step in range(2, _STEPS + 1))
            out[i] = next(
                (t for t in tries if t and text.casefold() not in (folded := t.casefold()) and not look.places(folded)),
                tag(category, text),
            )
            for word in _RUN.findall(out[i].casefold()):
                if word in places:
                    places[word].add(i)


def surrogate_operator(
    *, scope: str = "patient", preserve_weekday: bool = False, day_first: bool | None = None
) -> SurrogateOperator:
    """Return the operator that replaces spans by keyed surrogates.

    Parameters
    ----------
    scope : str
        ``patient``: an original has the same surrogate in all documents of a patient (of the document, when the
        patient is unknown); ``corpus``: in all documents, so that a physician stays recognizable across patients.
    preserve_weekday, day_first
        For spans of the category DATE, see `deid.replacement.dates.date_shift_operator`.

    Returns
    -------
    SurrogateOperator
        An operator (see `deid.replacement.scope.Operator`) for spans of every category.

    Raises
    ------
    ConfigError
        When ``scope`` is neither of the two.
    """
    if scope not in ("patient", "corpus"):
        raise ConfigError("the scope of surrogates is neither patient nor corpus", 'write scope = "patient"')
    dates = date_shift_operator(preserve_weekday=preserve_weekday, day_first=day_first)
    return SurrogateOperator(scope == "corpus", dates)
