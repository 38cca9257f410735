"""Files and folders in, files and folders out: the loop that scrubbing, tagging and generalizing share.

A collection (JSONL, CSV, ...) in a folder becomes a collection of its own; other documents become a file each. Nothing
is written of a document that failed.
"""

from __future__ import annotations

import difflib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from deid.base.errors import ConfigError, DeidError, TakenError
from deid.base.list_lines import list_line
from deid.base.safe_names import safe_name
from deid.document import Document, Failure, Span
from deid.io import FORMATS, CollectionFormat, Format, Options, Source, Writer, open_writer
from deid.io.folder import split_suffix
from deid.io.formats import ReadingOptions
from deid.io.reading import get_format
from deid.phi import LABEL_SETS, map_used_labels
from deid.pipeline.patients import Patients, patient_of
from deid.pipeline.workers import Timed, process

R = TypeVar("R")
_NUMBERED = frozenset({"i2b2-2014", "meddocan"})
"""Formats whose official files number the annotations of a document from P0."""
Watch = Callable[[Iterator[Any]], Iterable[Any]]
"""Looks on while results come in: a progress bar."""


def keyed_documents(source: Source) -> Iterator[tuple[str, Document | Failure]]:
    """Yield the documents of a source with keys that are unique in it, as edit logs have them."""
    for group, item in _items(source):
        yield (_key(group, item.id) if isinstance(item, Document) else ""), item


def tagged_format(name: str | None, categories: Set[str]) -> Format:
    """Return the format of tagged notes: the one that is named, else that of the labels which are found.

    Raises
    ------
    ConfigError
        When there is none of that name.
    """
    spanish = LABEL_SETS["meddocan"].labels.keys() - LABEL_SETS["i2b2-2014"].labels.keys()
    return get_format(name or ("meddocan" if categories & spanish else "i2b2-2014"), FORMATS)


def tagged_options(source: Source, target: Format, reading: ReadingOptions) -> Options:
    """Return how notes of a source are written with what a recognizer finds, by its own labels."""
    options = source.layout() if source.format.name == target.name else source.options
    if not options.spans_field and reading.spans_field is None:  # a table has none yet, and is to get one
        options = replace(options, spans_field=None)
    return replace(options, any_label=True)


def require_annotations(source: Source, what: str, otherwise: str) -> None:
    """Refuse a source without any annotation: its text would come out as it is.

    Parameters
    ----------
    source : Source
    what, otherwise : str
        What is to be done with annotations, and without ``--gold``.

    Raises
    ------
    ConfigError
        When no document carries any.
    """
    if not any(isinstance(item, Document) and item.spans for item in source.documents()):
        raise ConfigError(
            f"no document carries an annotation, so there is nothing to {what}",
            f"name the field of the annotations (--spans-field), or leave out --gold to {otherwise}",
        )


def require_names(
    source: Source,
    patients: Patients,
    keep: Iterable[str] = (),
    date_field: str | None = None,
    *,
    known: bool = False,
) -> None:
    """Refuse names of fields, and tables of documents, that fit no document: they would be without effect.

    Documents are read until each name has been met, which is nearly always the first one.

    Parameters
    ----------
    source : Source
    patients : Patients
        One document of their table at least must be there.
    keep : iterable of str
        Fields that are kept as they are; ``filename`` and ``id`` are none.
    date_field : str, optional
    known : bool
        Whether identifiers of known patients are looked for, so that a document's patient must be told.

    Raises
    ------
    ConfigError
        When no document has such a field, or none stands in the table.
    """
    if known and (not source.format.of_records or source.format.reads_too):  # what is a note too says not whose it is
        patients.require_named()
    named = dict.fromkeys({*keep} - {"filename", "id"}, "--keep")
    named |= {name: "--patient-field" for name in [patients.field_name] if name is not None}
    named |= {name: "--date-field" for name in [date_field] if name is not None}
    missing, unmatched = set(named), bool(patients.table)
    if not missing and not unmatched:
        return
    seen: dict[str, None] = {}
    readable = False
    for item in source.documents():
        if isinstance(item, Document):
            readable = True
            seen.update(dict.fromkeys(item.metadata))
            missing.difference_update(item.metadata)
            unmatched = unmatched and patient_of(item.id, patients.table) is None
            if not missing and not unmatched:
                return
    if not readable:
        return  # what cannot be read says so itself
    if missing:
        name = min(missing)
        close = difflib.get_close_matches(name, seen, cutoff=0.5)
        there = f"fields: {', '.join(map(repr, list(seen)[:12]))}" if seen else "they have no fields beside the text"
        raise ConfigError(
            f"{named[name]} {name}: no document has such a field", f"did you mean {close[0]!r}?" if close else there
        )
    raise ConfigError(
        "no document of IN stands in the table of patients",
        "its column document holds ids; of files, their paths in IN, with or without suffix",
    )


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
class Origin:
    """Where a result comes from."""

    group: str
    document: Document = field(repr=False)

    def failure(self, error: Exception, source: Source) -> Failure:
        """Return a failure of this document, with its real path for whoever runs it again."""
        if isinstance(error, DeidError):  # a writer names the scrubbed document, which the user does not know
            error = type(error)(error.what, error.hint, self.document.name, error.position)
        return Failure(self.document.name, error, self.document.index, self.path(source))

    def path(self, source: Source) -> str:
        """Return the line of a list of documents for this one (`deid.base.list_lines.list_line`)."""
        if isinstance(source.format, CollectionFormat):
            file = source.root / (self.group or source.names[0])
            return list_line(str(next(_existing(file, source.format), file)), self.document.id)
        file = source.root / self.document.id
        return list_line(str(next(_existing(file, source.format), file)))


def results(
    source: Source,
    work: Callable[[Document], R],
    jobs: int,
    *,
    skip: Callable[[str, Document], bool] | None = None,
) -> Iterator[tuple[Origin, R] | Failure]:
    """Yield each result with where it comes from, in order.

    Parameters
    ----------
    source : Source
    work : callable
        What is done with a document.
    jobs : int
        Number of processes.
    skip : callable, optional
        Tells of a collection's name and a document whether nothing is to be done with it.
    """
    origins: deque[Origin | None] = deque()  # of what is under way, so a bounded number; None: could not be read

    def items() -> Iterator[Document | Failure]:
        for group, item in _items(source):
            if isinstance(item, Document):
                if skip is not None and skip(group, item):
                    continue
                origins.append(Origin(group, item))
            else:
                origins.append(None)
            yield item

    for result in process(Timed(work, source.options.timeout), items(), jobs):
        origin = origins.popleft()
        if not isinstance(result, Failure):
            assert origin is not None
            yield origin, result
        else:
            yield result if origin is None else origin.failure(result.error, source)


def _existing(file: Path, format: Format) -> Iterator[Path]:
    candidates = (file, *(file.with_name(file.name + suffix) for suffix in format.suffixes))
    return (path for path in candidates if path.is_file())


class Output(AbstractContextManager["Output"]):
    """Writes documents to their groups' places, one group after the other; used as a context manager.

    Parameters
    ----------
    source : Source
        Where the documents come from.
    target : Path
    format : Format
        Of the output.
    rename : callable
        Gives the name of a collection in a folder.
    options : Options, optional
        How to write; by default as the source was read.
    """

    def __init__(
        self, source: Source, target: Path, format: Format, rename: Callable[[str], str], options: Options | None = None
    ) -> None:
        self.source = source
        self.target = target
        self.format = format
        self.rename = rename
        self.options = options
        self.failures: list[Failure] = []
        """Collections that could not be completed."""
        self.lost = 0
        """Documents that had been written to them."""
        self.there = 0
        """Documents that an earlier run had written, where none of them is asked for again."""
        self._group: str | None = None
        self._written = 0
        self._stack = ExitStack()
        self._writer: Writer | None = None
        self._options = Options()
        self._taken: TakenError | None = None

    def key(self, group: str, document_id: str) -> str:
        """Return the key of a written document, as `keyed_documents` has it for the output."""
        return _key(self.rename(group) if group else "", document_id)

    def follow(self, items: Iterator[R], failures: Sequence[Failure]) -> Iterator[R]:
        """Return results as they are: files tell by themselves what is written."""
        return items

    def write(self, group: str, document: Document) -> int:
        """Write a document; return how many of its annotations have no label in the format."""
        if group != self._group or self._writer is None:
            self._close()
            self._open(group)
        assert self._writer is not None
        fit = fitted(document, self.format, self._options)
        try:
            self._writer.write(fit)
        except TakenError as error:
            self._take(error)
            raise
        self._written += 1
        return len(document.spans) - len(fit.spans) if _carries(self.format, self._options) else 0

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
            suffix = split_suffix(part.names[0])[1] if self.format.of_records else self.format.suffixes[0]
            path, single = self.target / (f"{name}{suffix}" if collection else name), collection
        self._group, self._written, self._options = group, 0, options
        self._writer = self._stack.enter_context(open_writer(path, self.format.name, options, single=single))

    def _close(self) -> None:
        try:
            self._stack.close()
        except DeidError as error:
            if isinstance(error, TakenError):
                self._take(error)
            # the collection could not be completed, so nothing of it is there
            name = safe_name(self._group or "the output")
            self.failures.append(Failure(name, error.at(name), None, list_line(self._group or "")))
            self.lost += self._written
        self._writer = None

    def _take(self, error: TakenError) -> None:
        """Note that another run wrote OUT, where that is one file: no manifest of this run may speak of it."""
        if not self._group and (self.source.single or isinstance(self.format, CollectionFormat)):
            self._taken = TakenError(error.what, error.hint)

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        if kind is None:
            self._close()
            if self._taken is not None:
                raise self._taken
        else:
            self._stack.__exit__(kind, *rest)


def fitted(document: Document, format: Format, options: Options) -> Document:
    """Return a document with what a format has place for: annotations with its labels, in a file no emptied fields."""
    spans: Iterable[Span] = document.spans if _carries(format, options) else ()
    if not options.any_label:
        spans = _labelled(spans, format)
    if format.name in _NUMBERED:
        spans = [replace(span, id=f"P{n}") for n, span in enumerate(spans)]
    fields = document.metadata
    if not isinstance(format, CollectionFormat):
        fields = {name: value for name, value in fields.items() if value is not None}
    return replace(document, spans=tuple(spans), metadata=fields)


def _carries(format: Format, options: Options) -> bool:
    return format.carries_spans and options.spans_field != ""


def _labelled(spans: Iterable[Span], format: Format) -> Iterator[Span]:
    """Yield the spans with labels that the format knows; a closed format has no place for some."""
    sets = [LABEL_SETS[name] for name in format.label_sets]
    for span in spans:
        if not sets or any(span.category in known for known in sets):
            yield span
        elif (label := map_used_labels([span.category], sets[0].name).to[span.category]) is not None:
            yield replace(span, category=label)
