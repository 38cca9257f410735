"""From a folder of notes to the identifier view, in rounds: what a round learns of a person, the next one looks for.

The loop of HIDE (Gardner and Xiong 2009, section 3): extract, link, and extract again with the identifiers of the view
as known identifiers, until the view stays the same or the rounds are used up.
"""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, told_as
from deid.base.late import pd
from deid.base.spool import DiskMap, Spool
from deid.detection import Recognizer
from deid.detection.known import Known, KnownRecognizer
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Failure, kept
from deid.extraction import Fact, IdentifierView, note_facts
from deid.extraction.cues import load_cues
from deid.extraction.persons import WhoIsWho, grouped, person_name
from deid.extraction.view import ExtractedView, NoteFacts, join_table, link_notes
from deid.io import Source
from deid.linkage.clustering import similar_names
from deid.linkage.columns import kind_of
from deid.linkage.linking import DOUBTFUL, PERSON
from deid.linkage.look_alikes import LookAlikes, count_look_alikes
from deid.pipeline.files import Watch, require_annotations, results
from deid.pipeline.known_people import read_people
from deid.pipeline.options import ViewOptions
from deid.pipeline.patients import Patients
from deid.reading.languages import DEFAULT_LANGUAGE, foreign, language_of, other_language, read_language
from deid.table.cell_text import text_list

_KNOWN = {
    "name": "PATIENT",
    "birth_date": "DATE",
    "mrn": "MEDICALRECORD",
    "ssn": "SSN",
    "health_plan": "HEALTHPLAN",
    "account": "ACCOUNT",
    "license": "LICENSE",
    "street": "STREET",
    "phone": "PHONE",
    "email": "EMAIL",
}
"""Column of the view -> category under which its values are looked for in the person's other notes."""
_KINDS = {
    "name": "PATIENT",
    "birth": "DATE",
    "number": "MEDICALRECORD",
    "account": "ACCOUNT",
    "address": "STREET",
    "phone": "PHONE",
    "email": "EMAIL",
}
"""Kind of a table's column (`deid.linkage.columns`) -> the same."""


@dataclass(frozen=True, slots=True)
class Round:
    """What a round found."""

    persons: int
    places: int
    """Places of identifiers of patients."""
    new: int
    """Places that the round before did not find."""
    documents: int
    """Notes with such a place."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What `extract_files` made."""

    rows: ExtractedView = field(repr=False)
    """The view, on disk: `deid.extraction.view.ExtractedView`."""
    documents: int
    rounds: tuple[Round, ...]
    """Rounds that ran."""
    contradicted: Mapping[str, int] = field(default_factory=dict)
    """Column -> values that the other notes of their person contradict; their confidence is lower."""
    failures: list[Failure] = field(default_factory=list)
    recognizer: Recognizer | None = field(default=None, repr=False)
    """What found PHI in the last round."""
    joined: Sequence[str] = field(default=(), repr=False)
    """The person of each row of the table that was linked with the notes."""
    table: pd.DataFrame | None = field(default=None, repr=False)
    """That table."""
    on: str = ""
    """Its key, which the view has too."""
    other_languages: Mapping[str, int] = field(default_factory=dict)
    """Language -> documents that are surely written in it, and were read in another one."""

    @property
    def view(self) -> IdentifierView:
        """The view in memory."""
        return self.rows.whole()

    def write(self, path: Path) -> WrittenView:
        """Write the view and its provenance beside it, with the columns of the table that was linked, if one was.

        Raises
        ------
        ConfigError, InputError
            See `deid.extraction.view.join_table`.
        OutputError
            When a file cannot be written.
        """
        if self.table is None:
            self.rows.write(path)
            return WrittenView(self, self.rows.filled, self.rows.nameless, self.rows.look_alikes())
        view, linked, unmatched = join_table(self.view, self.table, self.on, self.joined)
        view.write(path)
        nameless = int(view.frame.reindex(columns=["name", "mrn"]).isna().all(axis=1).sum())
        filled = {c: int(view.frame[c].notna().sum()) for c in view.frame.columns[2:]}
        return WrittenView(self, filled, nameless, count_look_alikes(view.frame, PERSON), linked, unmatched)


@dataclass(frozen=True, slots=True)
class WrittenView:
    """What stands in the files of a view. Holds no text."""

    made: Extraction
    filled: Mapping[str, int]
    """Column -> rows with a value."""
    nameless: int
    """Rows that tell neither name nor record number."""
    look_alikes: LookAlikes | None
    linked: int = 0
    """Rows whose partner in the joined table linking told."""
    unmatched: int | None = None
    """Rows without a partner; None without a joined table."""

    def remarks(self) -> list[str]:
        """Return what whoever extracted must know."""
        rounds, alike, told, others = self.made.rounds, self.look_alikes, [], self.made.other_languages
        if others:
            told.append(f"{sum(others.values())} {foreign(others)}")
        for number, (before, one) in enumerate(itertools.pairwise(rounds), 2):
            gain = f"{one.new} more places of identifiers in {one.documents} notes"
            told.append(f"round {number}: {gain}, {before.persons} -> {one.persons} persons")
        told += [
            f"{column}: {count} values that other notes of their person contradict, of lower confidence now"
            for column, count in self.made.contradicted.items()
        ]
        conflicts = sorted(self.made.rows.conflicts.items())
        told += [f"{column}: {count} rows with values that disagree" for column, count in conflicts]
        if alike is not None and alike.pairs:
            told.append(f"{alike}; name who is who with --patients, or correct the view, before levels count them")
        if self.nameless:
            told.append(
                f"{self.nameless} rows tell neither name nor record number: only --patients says whose they are"
            )
        if self.unmatched is not None:
            told.append(f"joined table: {self.linked} rows have their partner by linking, {self.unmatched} have none")
        return told

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return {
            "other_languages": dict(sorted(self.made.other_languages.items())),
            "rows": self.made.rows.rows,
            "persons": self.made.rows.persons,
            "rounds": [asdict(one) for one in self.made.rounds],
            "contradicted": dict(self.made.contradicted),
            "conflicts": dict(sorted(self.made.rows.conflicts.items())),
            "filled": dict(self.filled),
            "linked": self.linked,
            "unmatched": self.unmatched or 0,
            "look_alikes": None if self.look_alikes is None else self.look_alikes.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class _Reading:
    """The work on one document: find its spans, read its facts."""

    recognizer: Recognizer | None
    patients: Patients
    language: str
    each_its_own: bool
    """Whether a document's own language goes before it."""
    date_field: str | None
    as_of: datetime.date | None
    known: KnownRecognizer

    def __call__(self, document: Document) -> tuple[NoteFacts, str]:
        """Return the facts, and the document's language where it surely is another one."""
        spans = document.spans if self.recognizer is None else self.recognizer.find(document)
        day = self._day(document)
        language = language_of(document.text, self.language) if self.each_its_own else self.language
        known = replace(self.known, language=language).find(document)
        facts = note_facts(document, spans, language=language, note_date=day or self.as_of, known=known)
        note = NoteFacts(document.id, facts, self.patients.of(document), day.isoformat() if day else None)
        return note, other_language(document.text, language)

    def _day(self, document: Document) -> datetime.date | None:
        value = document.metadata.get(self.date_field) if self.date_field else None
        with told_as(
            ConfigError("the document's date is no ISO date", "write it as 2019-03-14, or leave out --date-field"),
            ValueError,
        ):
            return datetime.date.fromisoformat(str(value)) if value else None


def extract_files(
    source: Source,
    options: ViewOptions | None = None,
    *,
    table: pd.DataFrame | None = None,
    jobs: int = 1,
    watch: Watch = iter,
) -> Extraction:
    """Extract the identifier view of a file or folder.

    Parameters
    ----------
    source : Source
    options : ViewOptions, optional
        What finds PHI, and what a row is; with the documents' own annotations one round is all.
    table : pandas.DataFrame, optional
        Rows that are linked too, instead of those that the options name; their identifiers are looked for in the notes
        of their persons.
    jobs, watch
        See `deid.pipeline.scrub_files`.

    Returns
    -------
    Extraction
        The identifier view, the rounds that ran, and the failures.

    Raises
    ------
    ConfigError
        When there are no cues for the language, or notes cannot be linked so.
    """
    said = options or ViewOptions()
    table, on = said.joined() if table is None else (table, said.on or "")
    if said.gold:
        require_annotations(source, "extract", "detect")
    people, (language, own) = read_people(said), read_language(said.language)
    language = language or DEFAULT_LANGUAGE
    load_cues(language)  # a language without cues is refused before any note is read
    patients, listed = people.patients, people.known.identifiers if people.known else {}
    known = people.recognizer(language) or KnownRecognizer()
    recognizer = None if said.gold else build_recognizer(said, people.recognizer(language))
    ran: list[Round] = []
    before: Sequence[NoteFacts] | None = None
    weaker: Mapping[str, Shares] = {}
    while True:
        failures: list[Failure] = []
        others: Counter[str] = Counter()
        work = _Reading(recognizer, patients, language, own, said.date_field, said.as_of, known)
        read = Spool(_written, _read)
        for _, (note, other) in kept(watch(results(source, work, jobs)), failures):
            read.add(note)
            others.update(filter(None, [other]))
        who = link_notes(read.mapped(partial(_weakened, weaker=weaker)), method=said.link, table=table, on=on)
        weaker = _weaker(read, who, weaker)
        notes = read.mapped(partial(_weakened, weaker=weaker))
        counted, same = _round(notes, before, who)
        ran.append(counted)
        if recognizer is None or len(ran) == said.rounds or same:
            break
        before = notes
        identifiers, of = _learnt(notes, who, listed, table)
        known = KnownRecognizer(identifiers, Patients(table=of).of, people.fields, language, alike=similar_names)
        recognizer = build_recognizer(said, known)
    contradicted = Counter(column for own in weaker.values() for column, _ in own)
    view = ExtractedView(notes, who.notes, said.by)
    told = dict(sorted(contradicted.items()))
    return Extraction(view, len(notes), tuple(ran), told, failures, recognizer, who.rows, table, on, others)


def _written(note: NoteFacts) -> list[object]:
    facts = [(f.column, f.value, f.start, f.end, f.weight, f.confidence) for f in note.facts]
    return [note.document, facts, note.patient, note.note_date]


def _read(values: list[Any]) -> NoteFacts:
    document, facts, patient, day = values
    return NoteFacts(document, tuple(Fact(*own) for own in facts), patient, day)


Shares = Mapping[tuple[str, str], float]
"""Column and value -> share of the person's notes that say the same, where others contradict."""


def _weaker(read: Sequence[NoteFacts], who: WhoIsWho, before: Mapping[str, Shares]) -> Mapping[str, Shares]:
    """Return what of each document others of its person contradict, now or before."""

    def listed() -> Iterator[tuple[str, list[tuple[str, str, float]]]]:
        yield from ((document, _flat(own)) for document, own in before.items())
        for row, found in itertools.groupby(who.contradicted, itemgetter(0)):
            note = read[row]
            held = dict(before.get(note.document, {}))
            for _, column, share in found:
                for place in ((column, f.value) for f in note.facts if f.column == column):
                    held[place] = min(share, held.get(place, 1.0))
            yield note.document, _flat(held)

    return DiskMap(listed(), _shares) if who.contradicted else before


def _flat(own: Shares) -> list[tuple[str, str, float]]:
    return [(*place, share) for place, share in own.items()]


def _shares(values: list[tuple[str, str, float]]) -> Shares:
    return {(column, value): share for column, value, share in values}


def _weakened(note: NoteFacts, weaker: Mapping[str, Shares]) -> NoteFacts:
    """Return a note whose contradicted values are less sure."""
    own = weaker.get(note.document) if weaker else None
    if not own:
        return note
    facts = (replace(f, confidence=f.confidence * own.get((f.column, f.value), 1.0)) for f in note.facts)
    return replace(note, facts=tuple(facts))


def _beside(notes: Sequence[NoteFacts], before: Sequence[NoteFacts]) -> Iterator[tuple[NoteFacts, NoteFacts | None]]:
    """Yield each note with what was found of it before: at the same place but behind one that failed once."""
    places: DiskMap[int] | None = None
    for number, note in enumerate(notes):
        earlier = before[number] if number < len(before) else None
        if before and (earlier is None or earlier.document != note.document):
            if places is None:
                places = DiskMap(((own.document, place) for place, own in enumerate(before)), int)
            place = places.get(note.document)
            earlier = None if place is None else before[place]
        yield note, earlier


def _round(notes: Sequence[NoteFacts], before: Sequence[NoteFacts] | None, who: WhoIsWho) -> tuple[Round, bool]:
    """Return what a round found, and whether that is what the one before found."""

    def places(facts: Sequence[Fact]) -> set[tuple[int, int]]:
        return {(f.start, f.end) for f in facts if f.column in _KNOWN}

    found = new = documents = 0
    same = not len(notes) if before is None else len(before) == len(notes)
    for note, earlier in _beside(notes, before or ()):
        own = places(note.facts)
        more = len(own - places(earlier.facts)) if earlier else len(own)
        found, new, documents = found + len(own), new + more, documents + bool(more)
        same = same and earlier is not None and note.facts == earlier.facts
    return Round(max(who.notes, default=-1) + 1, found, new, documents), same


def _learnt(
    notes: Sequence[NoteFacts],
    who: WhoIsWho,
    listed: Mapping[str, Sequence[Known]],
    table: pd.DataFrame | None,
) -> tuple[DiskMap[tuple[Known, ...]], DiskMap[str]]:
    """Return the identifiers of each person, and the person of each document; what is unsure is not looked for."""
    rows: dict[str, list[Known]] = {}
    if table is not None:
        for person, row in zip(who.rows, _of_rows(table), strict=True):
            rows.setdefault(person, []).extend(row)

    def identifiers() -> Iterator[tuple[str, list[tuple[str, str]]]]:
        for person, members in grouped(who.notes, len(notes)):
            held: dict[Known, None] = {}
            for note in (notes[number] for number in members):
                held.update(dict.fromkeys(listed.get(note.patient, ()) if note.patient is not None else ()))
                for fact in note.facts:
                    if (category := _KNOWN.get(fact.column)) and fact.confidence >= DOUBTFUL:
                        held[Known(category, fact.value)] = None
            held.update(dict.fromkeys(rows.get(person_name(person), ())))
            yield person_name(person), [(known.category, known.value) for known in held]

    persons = ((note.document, person_name(own)) for note, own in zip(notes, who.notes, strict=True))
    return DiskMap(identifiers(), _known), DiskMap(persons, str)


def _known(values: list[list[str]]) -> tuple[Known, ...]:
    return tuple(Known(category, value) for category, value in values)


def _of_rows(table: pd.DataFrame) -> list[list[Known]]:
    """Return the identifiers in each row of a table, by the names of its columns."""
    cells = {name: text_list(table[name]) for name in table.columns}
    kinds = {name: kind_of(name) for name in table.columns}
    found = []
    for row in range(len(table)):
        own = {name: cells[name][row] for name in cells if cells[name][row]}
        known = [Known(_KINDS[kinds[name]], value) for name, value in own.items() if kinds[name] in _KINDS]
        named = {kinds[name]: value for name, value in own.items()}
        if "family" in named:
            given = " ".join(named[part] for part in ("given", "middle") if part in named)
            known.append(Known("PATIENT", f"{named['family']}, {given}" if given else named["family"]))
        found.append(known)
    return found
