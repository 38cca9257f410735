"""From a document to a scrubbed document: recognize, replace, rename."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from deid.base.compiled import quick
from deid.base.errors import ConfigError, InputError, require
from deid.base.in_step import pause
from deid.base.keys import Key
from deid.detection import Recognizer
from deid.detection.recognizers import LazyRecognizer, find_with_effect, language_of_labels
from deid.detection.site_lists import NO_EFFECT, Effect
from deid.document import Carrier, Document, Edit, Failure, Span, apply_edits
from deid.io.formats import CollectionFormat, Format
from deid.pipeline.known_people import KnownPeople, read_people, recognizer_of
from deid.pipeline.naming import FieldNames, Naming
from deid.pipeline.options import METHODS, PipelineOptions
from deid.pipeline.patients import Patients
from deid.pipeline.workers import process
from deid.reading.languages import DEFAULT_LANGUAGE, language_of, other_language, read_language
from deid.records.new_ids import renamer
from deid.replacement.containment import held
from deid.replacement.policy import DEFAULT_POLICY, Policy, load_policy
from deid.replacement.replacer import Replaced, Replacer
from deid.replacement.scope import Scope

_RESIDUAL_LENGTH = 5
_NO_POLICY = "the method {} uses no annotations, policy, model or lists"
_NOBODY = KnownPeople()


@dataclass(frozen=True, slots=True)
class Settings:
    """What a pipeline may be told beside recognizer, policy and key."""

    gold: bool = False
    """Replace the annotations that documents carry, instead of detecting."""
    keep_id: bool = False
    """Documents keep their ids."""
    keep_fields: frozenset[str] = frozenset()
    """Metadata fields that are kept as they are."""
    ids: Mapping[str, str] = field(default_factory=dict)
    """Metadata fields that hold ids -> of what (`deid.pipeline.naming.mapped_id`)."""
    patients: Patients = field(default_factory=Patients)
    date_field: str | None = None
    """Metadata field with the document's date (ISO)."""
    as_of: datetime.date | None = None
    """Reference day of documents without a date of their own."""
    language: str | None = None
    """Language of surrogates; by default the recognizer's, for annotations that of their label set
    (`Pipeline.of_format`), else English. ``auto`` is each document's own (`deid.reading.languages.read_language`)."""
    known: KnownPeople | None = None
    """The table of known patients: surrogates steer clear of their names. (What looks for identifiers in the notes is a
    recognizer, `deid.pipeline.known_people.KnownPeople.recognizer`.)"""
    originals: bool = False
    """Whether results carry the replaced texts, for a vault."""
    method: str = "policy"
    """One of `METHODS`: replace spans by the policy, or block all that no nomenclature knows
    (`deid.replacement.concept_match`); then neither recognizer nor policy decide anything."""


@quick
@dataclass(frozen=True, slots=True)
class Scrubbed:
    """A scrubbed document and what was done to it.

    All but ``spans``, ``originals`` and ``people`` may leave the house.
    """

    document: Document
    """New text, pseudonymous id and fields; its spans stand where the replacements are."""
    edits: tuple[Edit, ...]
    """What changed, in order; holds no text."""
    spans: tuple[Span, ...] = field(repr=False)
    """The spans of the original text."""
    residual: int
    """Replaced texts of five and more characters that still stand somewhere else in the document. They can be innocent
    ("Foley" the patient and the catheter) or missed."""
    collisions: int
    """Name words that got another surrogate than in the person's other documents (`deid.replacement.scope.Written`)."""
    people: Mapping[str, str] = field(repr=False)
    """Full names and their surrogates (`deid.replacement.scope.Written`)."""
    patient_known: bool
    """Whether the document's patient was known; otherwise surrogates are consistent within the document only."""
    patient_listed: bool
    """Whether the table of known patients, if there is one, has the document's patient."""
    person_scope: str = field(repr=False)
    """Within what surrogates are consistent (`Scope.person_scope`)."""
    originals: tuple[str, ...] = field(repr=False)
    """The replaced text of each edit, when `Settings.originals` asks for it."""
    effect: Effect
    """What the site's lists changed in the spans."""
    other_language: str
    """The language that the document is written in, where it surely is not the one that it was read in."""
    unexamined: int
    """Positions of the document's record that nobody examined (`deid.records`)."""
    places: tuple[tuple[str, int], ...]
    """Of each edit of a record, the path of its place and the offset there."""
    person_scopes: tuple[str, ...] = field(repr=False)
    """Of each edit of a record of several patients, its `person_scope`."""
    telling: tuple[int, ...]
    """Numbers, from 1, of the fields beside text and id whose names may be of somebody: names of fields stay."""

    def replacements(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield scope, category, original and replacement of each edit, when `Settings.originals` asked for it."""
        scopes = self.person_scopes or (self.person_scope,) * len(self.edits)
        for scope, edit, original in zip(scopes, self.edits, self.originals, strict=False):
            yield scope, edit.category, original, self.document.text[edit.new_start : edit.new_end]

    def changed_lines(self, text: str) -> Iterator[tuple[int, int, list[Edit]]]:
        """Yield the stretches of whole lines of the original text that hold changes, with their edits."""
        group: list[Edit] = []
        start = end = 0
        for edit in self.edits:
            line_start = text.rfind("\n", 0, edit.start) + 1
            line_end = text.find("\n", edit.end - 1) + 1 or len(text)
            if group and line_start >= end:
                yield start, end, group
                group = []
            if not group:
                start = line_start
            group.append(edit)
            end = max(line_end, edit.end)
        if group:
            yield start, end, group


def as_document(note: Document | str) -> Document:
    """Return a text that belongs to no document as one of its own, and a document as it is.

    Raises
    ------
    InputError
        When it is neither, such as a missing value of a data frame.
    """
    if isinstance(note, str):
        return Document("text", note)
    if not isinstance(note, Document):
        raise InputError(f"{type(note).__name__} is no text", "give str or Document, and leave missing values out")
    return note


class Pipeline:
    """Scrubs documents.

    Parameters
    ----------
    recognizer : Recognizer or None
        What finds the spans; None where annotations are replaced (``Settings(gold=True)``) and for the method
        concept-match, which take no notice of any.
    policy : Policy or None
        By default `deid.replacement.policy.DEFAULT_POLICY`; None for the method concept-match, which has none.
    key : Key
    settings : Settings, optional

    Raises
    ------
    ConfigError
        When what is given contradicts itself, or the policy cannot be fulfilled: an operator cannot be made, or the
        recognizer cannot find what the policy is about.

    Notes
    -----
    A document that cannot be processed is never passed on unchanged: calling the pipeline raises, `pipe` yields a
    `Failure` in its place.

    Examples
    --------
    >>> pipeline = Pipeline(build_recognizer(), load_policy("redact"), key)                  # doctest: +SKIP
    >>> pipeline("Seen by Dr. Smith.").document.text                                         # doctest: +SKIP
    'Seen by Dr. [NAME].'
    """

    def __init__(
        self, recognizer: Recognizer | None, policy: Policy | None, key: Key, settings: Settings | None = None
    ) -> None:
        self.recognizer = recognizer
        self.key = key
        self.settings = settings or Settings()
        self._given = policy
        _check(recognizer, policy, self.settings)
        self.policy = load_policy(DEFAULT_POLICY) if policy is None else policy
        self.field_names = FieldNames(recognizer)
        self._undetected = [] if recognizer is None else self.policy.check_detectable(recognizer.categories)
        told = self.settings
        self.naming = Naming(key, told.keep_id, told.keep_fields, told.patients.field_name, told.ids)
        self._replacer  # noqa: B018  (operators that cannot be made are an error of now, not of the first document)

    def __reduce__(self) -> tuple[Any, ...]:
        # operators are closures: another process makes its own
        return Pipeline, (self.recognizer, self._given, self.key, self.settings)

    @cached_property
    def _replacer(self) -> Replacer:
        return Replacer(self.policy)

    def of_map(self, version: int) -> Pipeline:
        """Return the pipeline for another version of the map of numbers, see `deid.base.keys.Key.of_map`."""
        key = self.key.of_map(version)
        return self if key.map == self.key.map else Pipeline(self.recognizer, self._given, key, self.settings)

    def of_format(self, format: Format) -> Pipeline:
        """Return the pipeline for documents of a format: one with labels of its own can say their language, and where
        each document is a file, its name is its id.
        """
        said = self.settings
        changes: dict[str, Any] = {}
        if said.language is None and self.recognizer is None:
            changes["language"] = language_of_labels(format.name)
        if "filename" in said.keep_fields and not said.keep_id and not isinstance(format, CollectionFormat):
            changes["keep_id"] = True
        if format.fields:
            kept = frozenset(name for name, what in format.fields.items() if what == "keep")
            changes["keep_fields"] = said.keep_fields | kept
            changes["ids"] = {
                name: what.removeprefix("id-") for name, what in format.fields.items() if name not in kept
            }
        if not changes:
            return self
        return Pipeline(self.recognizer, self._given, self.key, replace(said, **changes))

    @cached_property
    def language(self) -> str:
        """Language of surrogates: the user's word, else the recognizer's, else English; of documents whose own it
        shall be and cannot be told."""
        found: str = getattr(self.recognizer, "language", DEFAULT_LANGUAGE)
        return read_language(self.settings.language)[0] or found

    def language_of(self, document: Document) -> str:
        """Return the language of a document's surrogates."""
        if read_language(self.settings.language)[1]:
            return language_of(_free_text(document), self.language)
        return self.language

    @property
    def applied(self) -> Policy | None:
        """The policy that decides; None for the method concept-match, which has none."""
        return None if self.settings.method == "concept-match" else self.policy

    @property
    def notes(self) -> list[str]:
        """What whoever releases the output must know."""
        return [] if self.applied is None else [*self.applied.notes(), *self._undetected]

    def __call__(self, document: Document | str) -> Scrubbed:
        """Scrub one document, or a text that belongs to none.

        Raises
        ------
        DeidError
            When it cannot be processed; nothing of it is returned then.
        """
        if isinstance(document, str):
            require(not self.settings.gold, "a text of its own carries no annotations", "leave out gold")
        document = as_document(document)
        if self.applied is None:
            return self.replace(document, ())
        spans, effect = self._spans(document)
        pause("replacing")
        return self._scrub(document, spans, frozenset(), effect)

    def replace(self, document: Document, spans: Sequence[Span], avoid: frozenset[str] = frozenset()) -> Scrubbed:
        """Scrub one document whose spans are known.

        Parameters
        ----------
        document : Document
        spans : sequence of Span
            What to replace; of no account for the method concept-match.
        avoid : frozenset of str
            Full names (`deid.replacement.names.full_name_key`) that no surrogate may be, beside those of the table of
            known patients.

        Returns
        -------
        Scrubbed
            The scrubbed document, with its edits.

        Raises
        ------
        DeidError
            When it cannot be processed; nothing of it is returned then.
        """
        return self._scrub(document, spans, avoid, NO_EFFECT)

    def _scrub(self, document: Document, spans: Sequence[Span], avoid: frozenset[str], effect: Effect) -> Scrubbed:
        patient = self.settings.patients.of(document)
        record = document.record
        known = self.settings.known or _NOBODY
        language = self.language_of(document)
        scope = Scope(
            self.key,
            document.id,
            patient,
            self._reference_date(document),
            language,
            document.metadata,
            known.names(patient),
            known.people | avoid if avoid else known.people,
            {} if record is None else record.sexes,
        )
        scope_at = None
        if self.applied is None:
            require(record is None, "the method concept-match is for notes", "leave out --method", document.name)
            replaced = _block(document)
        else:
            if record is not None and record.owners:
                scope_at = self._scope_at(record, scope)
            replaced = self._replacer(document, spans, scope, scope_at)
        pause("naming")
        anonymous = Document(
            self.naming.id(document.id),
            replaced.document.text,
            # ids of annotations come from the file and can say anything
            tuple([replace(span, id="") if span.id else span for span in replaced.document.spans]),
            self.naming.metadata(document.metadata),
            document.index,
            None
            if record is None
            else record.replaced(
                replaced.document.text, replaced.edits, keep_blocked=self._keeps("OTHER"), renamed=self._renamed
            ),
        )
        pause("telling of it")
        return Scrubbed(
            anonymous,
            replaced.edits,
            replaced.spans,
            0 if self.applied is None else _residual(document, replaced),
            replaced.collisions,
            replaced.people,
            patient is not None,
            self.settings.known is None or patient in known.identifiers,
            scope.person_scope,
            tuple([document.text[e.start : e.end] for e in replaced.edits]) if self.settings.originals else (),
            effect,
            # who finds by other means than a language's, or takes annotations, misses nothing by it
            other_language(_free_text(document), language) if isinstance(self.recognizer, LazyRecognizer) else "",
            0 if record is None else record.unexamined,
            () if record is None else tuple(record.paths(replaced.edits)),
            () if scope_at is None else tuple([scope_at(edit.start, edit.end).person_scope for edit in replaced.edits]),
            self.field_names.telling(document.metadata),
        )

    def _scope_at(self, record: Carrier, scope: Scope) -> Callable[[int, int], Scope] | None:
        """Return what tells the scope of each stretch of a record of several patients; None where the user says whose
        it is.
        """
        if scope.patient_id != record.patient:
            return None
        known = self.settings.known or _NOBODY

        @functools.cache
        def of(patient: str | None) -> Scope:
            return replace(scope, patient_id=patient, known_names=known.names(patient))

        return lambda start, end: of(record.patient_at(start, end))

    def pipe(self, documents: Iterable[Document | Failure], jobs: int = 1) -> Iterator[Scrubbed | Failure]:
        """Scrub a stream of documents, in order; memory does not grow with its length.

        Parameters
        ----------
        documents : iterable of Document or Failure
        jobs : int
            Number of processes.

        Yields
        ------
        Scrubbed or Failure
            A `Failure` for each document that could not be processed: nothing else of it comes out.
        """
        return process(self, documents, jobs)

    def _spans(self, document: Document) -> tuple[list[Span], Effect]:
        if document.record is not None and self.settings.gold:
            raise ConfigError("records carry no annotations that could be replaced", "leave out --gold", document.name)
        if self.settings.gold or self.recognizer is None:
            return [replace(span.also_read(), source="gold", score=None) for span in document.spans], Effect()
        return find_with_effect(self.recognizer, document)

    @cached_property
    def _renamed(self) -> Callable[[str], str] | None:
        """Return what makes new ids of records; None where numbers are kept."""
        return None if self._keeps("IDNUM") else renamer(self.key)

    def _keeps(self, category: str) -> bool:
        """Whether the policy keeps a category; what nobody examined is of none, and so like OTHER."""
        return self.settings.method == "policy" and self.policy.rule(category, {}).operator == "keep"

    def _reference_date(self, document: Document) -> datetime.date | None:
        name = self.settings.date_field
        if name is None and document.record is not None and document.record.date is not None:
            return document.record.date
        if name is None or document.metadata.get(name) in (None, ""):
            return self.settings.as_of
        value = document.metadata[name]
        if isinstance(value, datetime.date):
            return value.date() if isinstance(value, datetime.datetime) else value
        try:
            return datetime.date.fromisoformat(str(value)[:10])
        except ValueError:
            raise ConfigError(
                "the field named as the document's date holds no date", "write dates as YYYY-MM-DD", document.name
            ) from None


def build_pipeline(key: Key, options: PipelineOptions | None = None, *, originals: bool = False) -> Pipeline:
    """Return the pipeline for what a user asks for.

    Parameters
    ----------
    key : Key
    options : PipelineOptions, optional
    originals : bool
        Whether results carry the replaced texts, for a vault.

    Raises
    ------
    ConfigError
        When a file that the options name cannot be read, or the policy cannot be fulfilled.
    """
    said = options or PipelineOptions()
    people = read_people(said)
    settings = Settings(
        gold=said.gold,
        keep_id="id" in said.keep,
        keep_fields=said.keep,
        patients=people.patients,
        date_field=said.date_field,
        as_of=said.as_of,
        language=said.language,
        known=people.known,
        originals=originals,
        method=said.method,
    )
    if said.method != "policy":
        return Pipeline(None, None, key, settings)
    recognizer = None if said.gold else recognizer_of(said, people)
    return Pipeline(recognizer, load_policy(said.policy or DEFAULT_POLICY, said.accept), key, settings)


def _check(recognizer: Recognizer | None, policy: Policy | None, settings: Settings) -> None:
    """Refuse what contradicts itself."""
    require(settings.method in METHODS, "there is no such method of scrubbing", f"methods: {', '.join(METHODS)}")
    if settings.method != "policy":
        if recognizer is not None or policy is not None or settings.gold or settings.known is not None:
            raise ConfigError(_NO_POLICY.format(settings.method), "leave out their options")
    elif settings.gold and recognizer is not None:
        raise ConfigError("annotations are replaced, so nothing is detected", "give no recognizer, or gold=False")
    elif not settings.gold and recognizer is None:
        raise ConfigError("the pipeline has no recognizer", "give one, or replace annotations with gold=True")


def _free_text(document: Document) -> str:
    """Return what of a document is prose."""
    return document.text if document.record is None else document.text[: document.record.free]


def _block(document: Document) -> Replaced:
    """Scrub a whole note by Concept-Match; its blocks are no annotations."""
    from deid.replacement.concept_match import concept_match

    scrubbed, edits = apply_edits(document, concept_match(document))
    return Replaced(scrubbed.with_spans(()), (), edits)


def _residual(original: Document, replaced: Replaced) -> int:
    text = original.text
    texts = {text[edit.start : edit.end].strip().casefold() for edit in replaced.edits}
    return len(held(replaced.document.text, [t for t in texts if len(t) >= _RESIDUAL_LENGTH]))
