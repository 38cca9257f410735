"""Notes in record batches of Arrow: what engines call in their workers (`deid.streaming.spark`, Ray, Dask, Beam).

`ScrubBatch` and `TagBatch` can be pickled, and hold where the key is, never the key. They have no state that decides
anything: surrogates come from keyed hashes, so that a batch that is worked on again, on another machine, or on two at
once, gives the same bytes. The model is loaded once in a process. A note that fails becomes a row that says why.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.errors import ConfigError, DeidError, require
from deid.base.keys import Key, load_key
from deid.base.nearest import nearest
from deid.detection.options import RecognizerOptions
from deid.document import Document, Failure, Span, failure_of
from deid.io.batches import batch_rows
from deid.io.fields import Columns, find_columns
from deid.io.formats import Options
from deid.io.parquet_table import PARQUET, check_strings, document_of, span_struct, span_type
from deid.pipeline.options import PipelineOptions
from deid.pipeline.workers import Timed, prepare, process

if TYPE_CHECKING:
    import pyarrow as pa

    from deid.pipeline.batch import Tagging
    from deid.pipeline.core import Pipeline

REJECTED = "rejected"
"""Column that says why a note was left out; nothing where it was not."""


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Where the site's key is on every machine, and by what it is recognized there."""

    file: str | None
    """File with the key; None: what `deid.load_key` finds, such as the variable ``DEID_KEY``."""
    fingerprint: str
    """Of the key; it tells nothing of it."""

    @classmethod
    def of(cls, file: str | Path | None) -> KeyPlace:
        """Return the place of a key that exists on this machine.

        Raises
        ------
        ConfigError
            When there is none, or it cannot be used.
        """
        path = None if file is None else Path(file).absolute()
        return cls(None if path is None else str(path), load_key(path, create=False)[0].fingerprint())

    def load(self) -> Key:
        """Return the key, where the work is done.

        Raises
        ------
        ConfigError
            When there is none on this machine, or another one: surrogates would not be those of the other machines.
        """
        key, _ = load_key(None if self.file is None else Path(self.file), create=False)
        require(
            key.fingerprint() == self.fingerprint,
            "the key of this machine is another one than that of the machine that planned the work",
            "give all machines the same key",
        )
        return key


@dataclass(frozen=True, kw_only=True)
class _Batches(ABC):
    """Works on the notes of record batches."""

    names: tuple[str, ...] = field(repr=False)
    """Columns of the batches."""
    columns: Columns
    """Which of them hold text, id and annotations (`columns_of`)."""
    timeout: float = 600.0
    """Seconds that a note may take; 0: any."""
    max_document: int = 64 << 20
    """Characters that a note may have."""

    def __post_init__(self) -> None:
        require(REJECTED not in self.names, f"there is a column {REJECTED} already", "rename it")
        require(self.columns.id, "there is no column for the id", "name it: id, or --id-field")
        for name in filter(None, self._named()):
            require(name in self.names, f"there is no column {name!r}", nearest(name, self.names))

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return what comes of a record batch: as many rows, in the same order."""
        work = _work(self)
        items = [self._document(row) for row in batch_rows(_utc(batch))]
        rows: list[dict[str, Any]] = []
        for item, result in zip(items, process(work, items), strict=True):
            if not isinstance(result, Failure):
                try:
                    rows.append(self._row(result) | {REJECTED: None})
                    continue
                except DeidError as error:
                    assert isinstance(item, Document)
                    result = failure_of(item, error)
            why = result.error
            what = why.what if isinstance(why, DeidError) else ""
            rows.append({**self._known(result), REJECTED: f"{type(why).__name__}: {what}"})
        return self._batch(batch, rows)

    def stream(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what comes of record batches."""
        return map(self, batches)

    def _document(self, row: dict[str, Any] | None) -> Document | Failure:
        identifier = "" if row is None else row[self.columns.id]
        document = Document(str(identifier) if isinstance(identifier, str | int) else "", "")
        try:
            read = document_of(row, self.columns)
            require(read.id, "the note has no id", "give every note one")
            if len(read.text) > self.max_document:
                raise ConfigError(f"the note has more than {self.max_document:,} characters", "split it")
        except DeidError as error:
            return failure_of(document, error)
        return read

    @abstractmethod
    def _named(self) -> Iterable[str | None]:
        """Yield the columns that options name."""

    @abstractmethod
    def make(self) -> Callable[[Document], Any]:
        """Return what works on a note; made once in a process."""

    @abstractmethod
    def _row(self, result: Any) -> dict[str, Any]:
        """Return the cells that a result gives."""

    @abstractmethod
    def _known(self, failure: Failure) -> dict[str, Any]:
        """Return the cells of a note that failed."""

    @abstractmethod
    def _batch(self, batch: pa.RecordBatch, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        """Return the batch of rows."""


@dataclass(frozen=True, kw_only=True)
class ScrubBatch(_Batches):
    """Scrubs the notes of record batches.

    What comes out has the same columns, and `REJECTED` behind them: the text is scrubbed, the id is a pseudonym, and
    other columns are keyed pseudonyms or empty unless the options keep them, as `deid scrub` writes them. A note that
    fails has its pseudonymous id and `REJECTED` alone.
    """

    key: KeyPlace
    options: PipelineOptions = field(default_factory=PipelineOptions)

    def _named(self) -> Iterable[str | None]:
        return (self.options.patient_field, self.options.date_field, *(self.options.keep - {"filename", "id"}))

    def make(self) -> Pipeline:
        """Return the pipeline; made once in a process.

        Raises
        ------
        DeidError
            When key, model, lists or policy cannot be used there.
        """
        from deid.pipeline import build_pipeline

        pipeline = build_pipeline(self.key.load(), self.options).of_format(PARQUET)
        if pipeline.settings.known is not None:
            pipeline.settings.patients.require_named()
        return pipeline

    def _row(self, result: Any) -> dict[str, Any]:
        document = result.document
        spans = {self.columns.spans: list(map(span_struct, document.spans))} if self.columns.spans else {}
        row = {**document.metadata, self.columns.id: document.id, self.columns.text: document.text}
        check_strings([value for name, value in row.items() if name not in self.options.keep])
        return row | spans

    def _known(self, failure: Failure) -> dict[str, Any]:
        if not failure.path:
            return {}
        naming = _work(self).work.naming  # type: ignore[attr-defined]
        return {self.columns.id: naming.id(failure.path)}

    def is_kept(self, name: str) -> bool:
        """Tell whether a column comes out as it goes in, with its type."""
        return name in self.options.keep and name not in self.columns.own()

    def _batch(self, batch: pa.RecordBatch, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        import pyarrow as pa
        import pyarrow.compute

        good = pa.array([row[REJECTED] is None for row in rows], pa.bool_())
        cells = []
        for name in self.names:
            if self.is_kept(name):
                column = batch.column(name)
                cells.append(pa.compute.if_else(good, column, pa.nulls(len(rows), column.type)))
            else:
                kind = span_type_list() if name == self.columns.spans else pa.string()
                cells.append(pa.array([row.get(name) for row in rows], kind))
        cells.append(pa.array([row[REJECTED] for row in rows], pa.string()))
        return pa.RecordBatch.from_arrays(cells, names=[*self.names, REJECTED])


@dataclass(frozen=True, kw_only=True)
class TagBatch(_Batches):
    """Finds PHI in the notes of record batches.

    What comes out has all columns as they were, the column of annotations with what was found, and `REJECTED`.
    """

    options: RecognizerOptions = field(default_factory=RecognizerOptions)

    def _named(self) -> Iterable[str | None]:
        return (self.options.patient_field,)

    def make(self) -> Tagging:
        """Return what tags a note; made once in a process.

        Raises
        ------
        DeidError
            When model or lists cannot be used there.
        """
        from deid.pipeline.batch import Tagging
        from deid.pipeline.known_people import read_people, recognizer_of

        people = read_people(self.options)
        return Tagging(recognizer_of(self.options, people), people, PARQUET.carries_attributes)

    @property
    def spans(self) -> str:
        """Name of the column of annotations."""
        return self.columns.spans or "spans"

    def _row(self, result: Any) -> dict[str, Any]:
        spans: Sequence[Span] = result.document.spans
        return {self.spans: list(map(span_struct, spans))}

    def _known(self, failure: Failure) -> dict[str, Any]:
        return {self.spans: None}

    def _batch(self, batch: pa.RecordBatch, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        import pyarrow as pa

        names = [name for name in self.names if name != self.spans]
        found = pa.array([row[self.spans] for row in rows], span_type_list())
        rejected = pa.array([row[REJECTED] for row in rows], pa.string())
        cells = [*map(batch.column, names), found, rejected]
        return pa.RecordBatch.from_arrays(cells, names=[*names, self.spans, REJECTED])


def columns_of(names: Sequence[str], text: str | None, id: str | None) -> Columns:
    """Return which columns hold text, id and annotations: as they are named, else as they are usually called.

    Raises
    ------
    FormatError
        When there is none for the text, or a named one is not there.
    """
    return find_columns(names, Options(text_field=text, id_field=id))


def span_type_list() -> Any:
    """Return the type of a column of annotations."""
    import pyarrow as pa

    return pa.list_(span_type())


@lru_cache(maxsize=4)
def _work(batches: _Batches) -> Timed[Any]:
    """Return what works on a document, with its model loaded."""
    work = Timed(batches.make(), batches.timeout)
    prepare(work)
    return work


def _utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose moments are told in UTC: the zone of an engine's session decides nothing."""
    import pyarrow as pa

    zoned = [at for at, one in enumerate(batch.schema) if pa.types.is_timestamp(one.type) and one.type.tz]
    for at in zoned:
        one = batch.schema[at]
        moments = batch.column(at).cast(pa.timestamp(one.type.unit, "UTC"))
        batch = batch.set_column(at, one.with_type(moments.type), moments)
    return batch
