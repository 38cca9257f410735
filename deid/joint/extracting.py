"""From a folder of notes to the identifier view, in rounds: what a round learns of a person, the next one looks for.

The loop of HIDE (Gardner and Xiong 2009, section 3): extract, link, and extract again with the identifiers of the view
as known identifiers, until the view stays the same or the rounds are used up.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deid.base.errors import ConfigError
from deid.detection import Recognizer
from deid.detection.known import Known, KnownRecognizer
from deid.detection.recognizers import DEFAULT_LANGUAGE, build_recognizer
from deid.document import Document, Failure, kept
from deid.extraction import IdentifierView, build_view, note_facts
from deid.extraction.view import NoteFacts
from deid.io import Source
from deid.pipeline.files import Watch, require_annotations, results
from deid.pipeline.known_people import read_people
from deid.pipeline.options import NoteOptions
from deid.pipeline.patients import Patients

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


@dataclass(frozen=True, slots=True)
class Extraction:
    """What `extract_files` made."""

    view: IdentifierView
    documents: int
    rounds: int
    """Rounds that ran."""
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The work on one document: find its spans, read its facts."""

    recognizer: Recognizer | None
    patients: Patients
    language: str
    date_field: str | None
    as_of: datetime.date | None

    def prepare(self) -> None:
        """Load what is loaded on first use."""
        if self.recognizer is not None:
            self.recognizer.find(Document("", ""))

    def __call__(self, document: Document) -> NoteFacts:
        spans = document.spans if self.recognizer is None else self.recognizer.find(document)
        day = self._day(document)
        facts = note_facts(document, spans, language=self.language, note_date=day or self.as_of)
        return NoteFacts(document.id, facts, self.patients.of(document), day.isoformat() if day else None)

    def _day(self, document: Document) -> datetime.date | None:
        value = document.metadata.get(self.date_field) if self.date_field else None
        try:
            return datetime.date.fromisoformat(str(value)) if value else None
        except ValueError:
            raise ConfigError(
                "the document's date is no ISO date", "write it as 2019-03-14, or leave out --date-field"
            ) from None


def extract_files(
    source: Source,
    options: NoteOptions | None = None,
    *,
    by: str = "person",
    rounds: int = 2,
    jobs: int = 1,
    watch: Watch = iter,
) -> Extraction:
    """Extract the identifier view of a file or folder.

    Parameters
    ----------
    source : Source
    options : NoteOptions, optional
        What finds PHI; with the documents' own annotations one round is all.
    by : str
        ``person`` or ``note``: what a row is.
    rounds : int
        Most rounds; 1 does without what the view knows.
    jobs, watch
        See `deid.pipeline.scrub_files`.

    Returns
    -------
    Extraction
        The identifier view, the number of rounds that ran, and the failures.

    Raises
    ------
    ConfigError
        When ``rounds`` is less than 1.
    """
    if rounds < 1:
        raise ConfigError("the number of rounds must be at least 1", "such as --rounds 2")
    said = options or NoteOptions()
    if said.gold:
        require_annotations(source, "extract", "detect")
    people, language = read_people(said), said.language or DEFAULT_LANGUAGE
    patients, table = people.patients, people.known.identifiers if people.known else {}
    recognizer = None if said.gold else build_recognizer(said, people.recognizer(language))
    notes: list[NoteFacts] = []
    for done in range(1, rounds + 1):
        before = [n.facts for n in notes]
        failures: list[Failure] = []
        work = _Reading(recognizer, patients, language, said.date_field, said.as_of)
        notes = [note for _, note in kept(watch(results(source, work, jobs)), failures)]
        if recognizer is None or done == rounds or [n.facts for n in notes] == before:
            break
        identifiers, of = _learnt(notes, table)
        learnt = KnownRecognizer(identifiers, Patients(table=of).of, people.fields, language)
        recognizer = build_recognizer(said, learnt)
    return Extraction(build_view(notes, by=by), len(notes), done, failures)


def _learnt(
    notes: Sequence[NoteFacts], table: Mapping[str, Sequence[Known]]
) -> tuple[dict[str, tuple[Known, ...]], dict[str, str]]:
    """Return the identifiers of each person of the view, and the person of each document."""
    view = build_view(notes, by="note")
    people = view.frame["person"].tolist()
    found: dict[str, dict[Known, None]] = {}
    for note, person in zip(notes, people, strict=True):
        held = found.setdefault(person, {})
        held.update(dict.fromkeys(table.get(note.patient, ()) if note.patient is not None else ()))
        for fact in note.facts:
            if category := _KNOWN.get(fact.column):
                held[Known(category, fact.value)] = None
    return {p: tuple(k) for p, k in found.items()}, {n.document: p for n, p in zip(notes, people, strict=True)}
