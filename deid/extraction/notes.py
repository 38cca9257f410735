"""What one note says about its patient: facts, each an attribute's value with the place where it stands.

Identifiers come from the spans that were found; sex, diagnoses and what a date means from the words around them
(`deid.extraction.cues`). The identifier view is that of Gardner and Xiong (HIDE, 2009): identifying, quasi-identifying
and sensitive attributes of patients, each with where it came from.
"""

from __future__ import annotations

import csv
import datetime
import functools
import io
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from deid.base.resources import resource_folder
from deid.document import Document, Span
from deid.extraction.cues import Cues, load_cues
from deid.extraction.values import (
    city_state,
    iso_date,
    read_age,
    read_number,
    read_state,
    read_zip,
    whole_name,
)
from deid.linkage.linking import DOUBTFUL
from deid.phi import canonical
from deid.reading.day_order import days_first
from deid.reading.dictionaries import Dictionary, fold
from deid.reading.identity import link, parse_name
from deid.reading.line_ends import unified_document
from deid.reading.phrases import PhraseMatcher
from deid.reading.view import view_of, words_of
from deid.table.hierarchy_builders import categories_of

PERSONAL = (
    *("name", "birth_date", "death_date", "sex", "mrn", "ssn", "health_plan", "account", "license"),
    *("street", "city", "state", "zip", "country", "profession"),
)
"""Columns that hold one value a person."""
OF_NOTE = ("note_date", "age", "admission_date", "discharge_date")
"""Columns that hold one value a note."""
MANY = ("phone", "email", "doctor", "hospital", "organization", "diagnosis")
"""Columns that hold every value, joined by ``; ``."""
COLUMNS = (*PERSONAL, *OF_NOTE, *MANY)

_LABELLED = 4
"""Weight of a value behind its label against one that stands anywhere."""
_IMPLIED = 0
"""Weight of a state that follows from a city: it counts where no state is named."""
_BEFORE, _BEHIND = 40, 20
_DATES = ("birth_date", "death_date", "admission_date", "discharge_date", "note_date")
_CODE = re.compile(r"(?<![\w.-])([A-TV-Z]\d[0-9A-Z])(?:\.([0-9A-Z]{1,4}))?(?![\w-]|\.\d)")
_WORD = re.compile(r"[^\W\d_]+")
_CLAUSE = re.compile(r"[.;:!?\n]")


def _plain(text: str) -> str:
    """Return a text in one line."""
    return " ".join(text.split())


_READERS: dict[str, tuple[str, Callable[[str], str | None]]] = {
    "MEDICALRECORD": ("mrn", read_number),
    "SSN": ("ssn", read_number),
    "HEALTHPLAN": ("health_plan", read_number),
    "ACCOUNT": ("account", read_number),
    "LICENSE": ("license", read_number),
    "STREET": ("street", _plain),
    "CITY": ("city", _plain),
    "ZIP": ("zip", read_zip),
    "COUNTRY": ("country", _plain),
    "PROFESSION": ("profession", lambda text: _plain(text.lower())),
    "PHONE": ("phone", lambda text: re.sub(r"[^\dx+]", "", text.lower()) or None),
    "EMAIL": ("email", lambda text: text.strip().lower()),
    "DOCTOR": ("doctor", whole_name),
    "HOSPITAL": ("hospital", _plain),
    "ORGANIZATION": ("organization", _plain),
}
"""Category -> column, and how its value is read."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of one attribute at one place."""

    column: str
    """One of `COLUMNS`."""
    value: str = field(repr=False)
    start: int
    end: int
    weight: int = 1
    """How much it counts where values of a note disagree."""
    confidence: float = 1.0
    """How sure it was that this is such PHI; less where other notes of the person contradict."""


def note_facts(
    document: Document,
    spans: Sequence[Span],
    *,
    language: str = "en",
    note_date: datetime.date | None = None,
    known: Sequence[Span] = (),
) -> tuple[Fact, ...]:
    """Read the facts of a note.

    Parameters
    ----------
    document : Document
    spans : sequence of Span
        Its PHI, of any label set that `deid.phi` knows.
    language : str
        Language of the cues.
    note_date : datetime.date, optional
        Day of the note, where it is known from elsewhere; for years of two digits.
    known : sequence of Span
        Where the note says what is known of its patient: names there are no relative's.

    Returns
    -------
    tuple of Fact
        In the order of the text.
    """
    document, normal = unified_document(document.with_spans(spans))
    cues, text, spans = load_cues(language), document.text, sorted(document.spans)
    dates = [text[s.start : s.end] for s in spans if canonical(s.category) == "DATE"]
    day_before = days_first(dates, language != "en")
    facts: list[Fact] = []

    def add(column: str, value: str, weight: int = 1) -> None:
        sure = 1.0 if span.score is None else span.score
        facts.append(Fact(column, value, span.start, span.end, weight, sure))

    for span in spans:
        said = text[span.start : span.end]
        category = canonical(span.category)
        ahead = text[max(0, span.start - _BEFORE) : span.start]
        after = text[span.end : span.end + _BEHIND]
        if category == "DATE":
            column = next((c for c in _DATES if cues.before[c].search(ahead)), None)
            born = column == "birth_date"
            value = iso_date(said, days_first=day_before, reference=note_date, past=born, language=language)
            if value and column:
                add(column, value, _LABELLED)
        elif category == "AGE":
            age = read_age(said + after if said.strip().isdigit() else said)
            labelled = cues.before["age"].search(ahead) or cues.behind["age"].match(after)
            if age is not None:
                add("age", str(age), _LABELLED if labelled else 1)
        elif category == "STATE":
            add("state", read_state(said) or said.strip())
        elif category in _READERS:
            column, read = _READERS[category]
            if value := read(said):
                add(column, value)
            if category == "CITY" and (state := city_state(said)):
                add("state", state, _IMPLIED)
    told = [s for s in map(normal.ahead, known) if s is not None and canonical(s.category) == "PATIENT"]
    facts += _names(text, [s for s in spans if canonical(s.category) == "PATIENT"], told, cues)
    facts += _sex(text, spans, cues)
    facts += _diagnoses(document, language, cues)
    facts.sort(key=lambda f: (f.start, f.end, f.column))
    if not normal.removed:
        return tuple(facts)
    return tuple(replace(f, start=normal.origin(f.start), end=normal.origin(f.end - 1) + 1) for f in facts)


def _names(text: str, spans: Sequence[Span], told: Sequence[Span], cues: Cues) -> Iterator[Fact]:
    """Tell the patient from relatives: the one who is known, else with a label, else the one that is named most."""
    if not spans:
        return
    said = [text[s.start : s.end] for s in spans]
    people = link([parse_name(name) for name in said])
    labelled = [bool(cues.before["name"].search(text[max(0, s.start - _BEFORE) : s.start])) for s in spans]
    weight: dict[int, int] = {}
    for person, label in zip(people, labelled, strict=True):
        weight[person] = weight.get(person, 0) + (_LABELLED if label else 1)
    patient = max(weight, key=lambda p: (weight[p], -people.index(p)))
    known = {i for i, s in enumerate(spans) if any(s.overlaps(one) for one in told)}  # however it is written
    own = [i for i, person in enumerate(people) if i in known or (not known and person == patient)]
    sure = {i: 1.0 if (score := spans[i].score) is None else score for i in own}
    whole = {i: whole_name(said[i]) or "" for i in own}
    best = max(own, key=lambda i: (bool(whole[i]), sure[i] >= DOUBTFUL, len(whole[i].split()), len(whole[i])))
    if whole[best]:
        for i in own:
            yield Fact("name", whole[best], spans[i].start, spans[i].end, confidence=min(sure[i], sure[best]))


def _sex(text: str, spans: Sequence[Span], cues: Cues) -> Iterator[Fact]:
    """Read the sex from a labelled field, else from nouns beside age and name, else from pronouns."""
    labelled = [(sex, m) for sex, pattern in cues.sex_labels.items() for m in pattern.finditer(text)]
    if labelled:
        for sex, match in labelled:
            yield Fact("sex", sex, *match.span(), weight=_LABELLED * 2)
        return
    near: list[tuple[int, int]] = []
    for span in spans:
        if canonical(span.category) == "AGE":
            near += [(span.end, span.end + 30), (span.start - 14, span.start)]  # 66-year-old woman, mujer de 66 años
        elif canonical(span.category) == "PATIENT":
            near.append((span.start - 6, span.start))
    either = cues.sex_strong["female"] | cues.sex_strong["male"]
    for sex in ("female", "male"):
        for start, end in near:
            first = next((w for w in _WORD.finditer(text, max(0, start), end) if w[0].lower() in either), None)
            if first is not None and first[0].lower() in cues.sex_strong[sex]:
                yield Fact("sex", sex, *first.span(), weight=_LABELLED)
    for word in _WORD.finditer(text):
        for sex in ("female", "male"):
            if word[0].lower() in cues.sex_weak[sex]:
                yield Fact("sex", sex, *word.span())


@functools.cache
def _icd_categories() -> frozenset[str]:
    return frozenset(categories_of("icd-10-cm").leaves())


def _diagnoses(document: Document, language: str, cues: Cues) -> Iterator[Fact]:
    """Find codes of ICD-10-CM with a decimal part, and names of diseases that are not negated, as codes."""
    text = document.text
    for match in _CODE.finditer(text):
        if match[2] and match[1] in _icd_categories():
            yield Fact("diagnosis", f"{match[1]}.{match[2]}", *match.span())
    diseases = _diseases(language)
    view = view_of(text)
    for start, end, _ in diseases.phrases.scan(view.folded, bytes(b < 2 for b in view.breaks))[0]:
        first, last = view.starts[start], view.ends[end - 1]
        clause = _CLAUSE.split(text[max(0, first - 120) : first])[-1]
        words = [w.lower() for w in _WORD.findall(clause)]
        cut = max((i + 1 for i, w in enumerate(words) if w in cues.negation_ends), default=0)
        if not cues.negation.intersection(words[cut:]):
            yield Fact("diagnosis", diseases.codes[" ".join(view.folded[start:end])], first, last)


@dataclass(frozen=True, slots=True)
class _Diseases:
    """Names of diseases and their codes."""

    phrases: PhraseMatcher = field(repr=False)
    codes: dict[str, str] = field(repr=False)
    """Folded words of a name -> code of ICD-10-CM."""


@functools.lru_cache(maxsize=4)
def _diseases(language: str) -> _Diseases:
    """Read the diseases of the ontology, if it is in this language."""
    folder = resource_folder("dictionaries") / "ontologies" / "diseases"
    codes: dict[str, str] = {}
    if tomllib.loads((folder / "source.toml").read_text(encoding="utf-8")).get("language") == language:
        terms = {term: code for code, term in reversed(_pairs(folder / "codes.csv"))}
        for name, term in (*_pairs(folder / "synonyms.csv"), *((term, term) for term in terms)):
            if term in terms:
                codes[" ".join(fold(w) for w in words_of(name))] = terms[term]
    source = {"description": "diseases", "language": language}
    return _Diseases(PhraseMatcher([Dictionary("diseases", tuple(codes), (), source)], words_of), codes)


def _pairs(path: Path) -> list[tuple[str, str]]:
    rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""), delimiter=";")
    return [(row[0], row[1]) for row in rows if len(row) > 1]
