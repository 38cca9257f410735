"""Scrubs and tags files and folders: reads, works, writes, and reports.

A collection (JSONL, CSV, ...) in a folder becomes a collection of its own; other documents become a file each. Nothing
is written of a document that failed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from deid.detection import Recognizer
from deid.detection.site_lists import NO_EFFECT, Effect
from deid.document import Document, Failure, Span
from deid.errors import ConfigError, DeidError
from deid.io import CollectionFormat, Format, Options, Source, Writer, open_writer
from deid.io.atomic import atomic_files
from deid.phi import LABEL_SETS, map_used_labels
from deid.pipeline.collisions import Collisions
from deid.pipeline.core import Pipeline, Scrubbed
from deid.pipeline.edit_log import log_line
from deid.pipeline.known_people import KnownPeople
from deid.pipeline.naming import pseudonym_of_id
from deid.pipeline.patients import Patients
from deid.pipeline.recognizers import find_with_effect
from deid.pipeline.workers import process
from deid.safe_names import safe_name

if TYPE_CHECKING:
    from deid.replacement.vault import Vault

__all__ = ["Report", "keyed_documents", "scrub_files", "tag_files"]

R = TypeVar("R")
_NUMBERED = frozenset({"i2b2-2014", "meddocan"})
"""Formats whose official files number the annotations of a document from P0."""
Watch = Callable[[Iterator[Any]], Iterable[Any]]
"""Looks on while results come in: a progress bar."""


@dataclass(slots=True)
class Report:
    """What was done. Holds no text."""

    documents: int = 0
    failures: list[Failure] = field(default_factory=list)
    categories: Counter[str] = field(default_factory=Counter)
    """Spans by category."""
    residual: int = 0
    """Replaced texts that still stand elsewhere in their documents (`Scrubbed.residual`)."""
    residual_documents: int = 0
    without_patient: int = 0
    """Documents whose patient was not known."""
    unlisted: int = 0
    """Documents whose patient is not in the table of known patients."""
    collisions: int = 0
    """See `deid.pipeline.collisions.Collisions.words`."""
    shared_names: int = 0
    """See `deid.pipeline.collisions.Collisions.names`."""
    unlabelled: int = 0
    """Annotations that were not written because the format has no label for them; their text was replaced all the
    same."""
    effect: Effect = NO_EFFECT
    """What the site's lists changed in the spans."""


def scrub_files(
    source: Source,
    target: Path,
    pipeline: Pipeline,
    *,
    jobs: int = 1,
    keep_filename: bool = False,
    edit_log: Path | None = None,
    vault: Vault | None = None,
    watch: Watch = iter,
) -> Report:
    """Scrub a file or folder into a new file or folder of the same format.

    Parameters
    ----------
    source : Source
        What to read (`deid.io.scan`).
    target : Path
        Where to write (checked with `deid.io.check_output`).
    pipeline : Pipeline
    jobs : int
        Number of processes.
    keep_filename : bool
        Collections in a folder keep their names; otherwise these are pseudonyms.
    edit_log : Path, optional
        Where to write the edits; mode 0600.
    vault : Vault, optional
        Keeps which replacement stands for which original, before the document is written. No surrogate becomes a full
        name that it knows as an original (`deid.pipeline.collisions`).
    watch : callable, optional
        Wraps the stream of results.

    Returns
    -------
    Report

    Raises
    ------
    ConfigError
        When annotations are to be replaced and no document carries any: its text would come out as it is.
    StoreError
        When the vault cannot keep what it must; the run stops there.
    DeidError
        When nothing can be read or written at all; what fails for single documents is in the report.
    """
    if vault is not None and not pipeline.settings.originals:
        raise ConfigError("a vault needs the originals", "make the pipeline with Settings(originals=True)")
    if pipeline.settings.gold and not any(isinstance(d, Document) and d.spans for _, d in keyed_documents(source)):
        raise ConfigError(
            "no document carries an annotation, so there is nothing to replace",
            "name the field of the annotations (--spans-field), or leave out --gold to detect",
        )
    report = Report()
    collisions = Collisions(pipeline, vault)
    output = _Output(
        source,
        target,
        source.format,
        (lambda name: name) if keep_filename else (lambda n: pseudonym_of_id(pipeline.key, n)),
    )
    with ExitStack() as stack:
        log = stack.enter_context(atomic_files([edit_log], replace=True))[0] if edit_log else None
        stack.enter_context(output)
        for origin, result in watch(_results(source, pipeline, jobs, keep=vault is not None)):
            if isinstance(result, Failure):
                report.failures.append(result)
                continue
            assert isinstance(result, Scrubbed)
            if origin.document is not None:
                result = collisions.settle(origin.document, result)
            document = result.document
            if vault is not None:
                from deid.replacement.sealing import Entry

                vault.record_all(Entry(result.person_scope, *found) for found in result.replacements())
            try:
                report.unlabelled += output.write(origin.group, document)
            except DeidError as error:
                report.failures.append(origin.failure(error, source))
                continue
            report.documents += 1
            report.categories.update(edit.category for edit in result.edits)
            report.residual += result.residual
            report.residual_documents += result.residual > 0
            report.without_patient += not result.patient_known
            report.unlisted += not result.patient_listed
            collisions.count(result)
            report.effect += result.effect
            if log is not None:
                grown = sum((e.new_end - e.new_start) - (e.end - e.start) for e in result.edits)
                key = output.key(origin.group, document.id)
                log.write(log_line(key, len(document.text) - grown, result.edits))
    report.collisions, report.shared_names = collisions.words, collisions.names
    report.failures.extend(output.failures)
    report.documents -= output.lost
    return report


@dataclass(frozen=True, slots=True)
class Tagging:
    """The work of `tag_files` on one document."""

    recognizer: Recognizer
    patients: Patients
    known: KnownPeople | None

    def prepare(self) -> None:
        """Load what is loaded on first use."""
        self.recognizer.find(Document("", ""))

    def __call__(self, document: Document) -> tuple[Document, Effect, bool]:
        spans, effect = find_with_effect(self.recognizer, document)
        listed = self.known is None or self.patients.of(document) in self.known.identifiers
        return document.with_spans(spans), effect, listed


def tag_files(
    source: Source,
    target: Path,
    recognizer: Recognizer,
    output_format: Format,
    *,
    options: Options | None = None,
    patients: Patients | None = None,
    known: KnownPeople | None = None,
    jobs: int = 1,
    watch: Watch = iter,
) -> Report:
    """Write the documents of a file or folder with the spans that a recognizer finds; other annotations are left out.

    Parameters
    ----------
    source : Source
    target : Path
    recognizer : Recognizer
    output_format : Format
    options : Options, optional
        How to write; by default as the source was read.
    patients, known
        Whom documents are about, and the table of known patients, for the report; the recognizer has its own.
    jobs, watch
        See `scrub_files`.
    """
    report = Report()
    output = _Output(source, target, output_format, lambda name: name, options)
    with output:
        for origin, result in watch(_results(source, Tagging(recognizer, patients or Patients(), known), jobs)):
            if isinstance(result, Failure):
                report.failures.append(result)
                continue
            document, effect, listed = result
            try:
                output.write(origin.group, document)
            except DeidError as error:
                report.failures.append(origin.failure(error, source))
                continue
            report.documents += 1
            report.categories.update(span.category for span in document.spans)
            report.effect += effect
            report.unlisted += not listed
    report.failures.extend(output.failures)
    report.documents -= output.lost
    return report


def keyed_documents(source: Source) -> Iterator[tuple[str, Document | Failure]]:
    """Yield the documents of a source with keys that are unique in it, as edit logs have them."""
    for group, item in _items(source):
        yield (_key(group, item.id) if isinstance(item, Document) else ""), item


def _key(group: str, document_id: str) -> str:
    """Join the name of a collection in a folder and the id of a document in it; ids in two collections may be equal."""
    return f"{group}/{document_id}" if group else document_id


def _groups(source: Source) -> Iterator[tuple[str, Source]]:
    """Yield the collections of a folder by name, or everything as one group without a name."""
    if isinstance(source.format, CollectionFormat) and not source.single:
        yield from source.files()
        # folders that cannot be opened belong to no file, but must be told
        yield "", replace(source, names=())
    else:
        yield "", source


def _items(source: Source) -> Iterator[tuple[str, Document | Failure]]:
    """Yield all documents with the name of their group, counted through."""
    count = 0
    for group, part in _groups(source):
        for item in part.documents(count + 1):
            count += 1
            yield group, item


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a result comes from: what is kept of a document while it is under way."""

    group: str
    id: str
    name: str
    index: int | None
    document: Document | None = field(default=None, repr=False)
    """The document itself, where the result needs it."""

    def failure(self, error: Exception, source: Source) -> Failure:
        """Return a failure of this document, with its real path for whoever runs it again."""
        if isinstance(error, DeidError):  # a writer names the scrubbed document, which the user does not know
            error = type(error)(error.what, error.hint, self.name, error.position)
        return Failure(self.name, error, self.index, self.path(source))

    def path(self, source: Source) -> str:
        """Return the path of the document's file; of a record in a collection that of its file, and its id."""
        if isinstance(source.format, CollectionFormat):
            file = source.root / (self.group or source.names[0])
            return f"{next(_existing(file, source.format), file)}\t{self.id}"
        file = source.root / self.id
        return str(next(_existing(file, source.format), file))


def _results(
    source: Source, work: Callable[[Document], R], jobs: int, *, keep: bool = False
) -> Iterator[tuple[_Origin, R | Failure]]:
    """Yield each result with where it comes from, in order; with its document when that is to be kept."""
    origins: deque[_Origin | None] = deque()  # of what is under way, so a bounded number; None: could not be read

    def items() -> Iterator[Document | Failure]:
        for group, item in _items(source):
            if isinstance(item, Document):
                origins.append(_Origin(group, item.id, item.name, item.index, item if keep else None))
            else:
                origins.append(None)
            yield item

    for result in process(work, items(), jobs):
        origin = origins.popleft()
        if origin is not None and isinstance(result, Failure):
            result = origin.failure(result.error, source)
        yield origin or _Origin("", "", "", None), result


def _existing(file: Path, format: Format) -> Iterator[Path]:
    candidates = (file, *(file.with_name(file.name + suffix) for suffix in format.suffixes))
    return (path for path in candidates if path.is_file())


class _Output:
    """Writes documents to their groups' places, one group after the other."""

    def __init__(
        self, source: Source, target: Path, format: Format, rename: Callable[[str], str], options: Options | None = None
    ) -> None:
        self.source = source
        self.target = target
        self.format = format
        self.rename = rename
        self.options = options
        self.failures: list[Failure] = []
        self.lost = 0
        self._group: str | None = None
        self._written = 0
        self._stack = ExitStack()
        self._writer: Writer | None = None
        self._drop_spans = self._any_label = False

    def key(self, group: str, document_id: str) -> str:
        return _key(self.rename(group) if group else "", document_id)

    def write(self, group: str, document: Document) -> int:
        """Write a document; return how many of its annotations have no label in the format."""
        if group != self._group or self._writer is None:
            self._close()
            self._open(group)
        assert self._writer is not None
        spans = document.spans if self._any_label else tuple(_labelled(document.spans, self.format))
        if self._drop_spans:
            spans = ()
        if self.format.name in _NUMBERED:
            spans = tuple(replace(span, id=f"P{n}") for n, span in enumerate(spans))
        fields = dict(document.metadata)
        if not isinstance(self.format, CollectionFormat):
            fields = {name: value for name, value in fields.items() if value is not None}  # emptied: only tables care
        self._writer.write(replace(document, spans=spans, metadata=fields))
        self._written += 1
        return 0 if self._drop_spans else len(document.spans) - len(spans)

    def _open(self, group: str) -> None:
        part = next(p for g, p in _groups(self.source) if g == group)
        options = self.options or part.layout()
        if options.id_field == "":
            options = replace(options, id_field=None)  # edit logs and checks name documents, so they get ids
        collection = isinstance(self.format, CollectionFormat)
        path = self.target
        # a folder stays a folder, even when its name has a dot
        single = None if collection or self.source.single else False
        if group:
            name = self.rename(group)
            path, single = self.target / (f"{name}{self.format.suffixes[0]}" if collection else name), collection
        self._drop_spans = not self.format.carries_spans or options.spans_field == ""
        self._any_label = options.any_label
        self._group, self._written = group, 0
        self._writer = self._stack.enter_context(open_writer(path, self.format.name, options, single=single))

    def _close(self) -> None:
        try:
            self._stack.close()
        except DeidError as error:
            # the collection could not be completed, so nothing of it is there
            name = safe_name(self._group or "the output")
            self.failures.append(Failure(name, error.at(name), None, self._group or ""))
            self.lost += self._written
        self._writer = None

    def __enter__(self) -> _Output:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        if kind is None:
            self._close()
        else:
            self._stack.__exit__(kind, *rest)


def _labelled(spans: Iterable[Span], format: Format) -> Iterator[Span]:
    """Yield the spans with labels that the format knows; a closed format has no place for some."""
    sets = [LABEL_SETS[name] for name in format.label_sets]
    for span in spans:
        if not sets or any(span.category in known for known in sets):
            yield span
        elif (label := map_used_labels([span.category], sets[0].name).to[span.category]) is not None:
            yield replace(span, category=label)
