"""Parquet: one row a document, like `csv_table`, with typed columns; read by row groups and written in batches.

Annotations are a list of structs. A column of metadata gets the type that its first values share (text, truth value,
64-bit integer, floating point); anything else is written as JSON text and marked so in the column's metadata, so that
it is read back as it was. Types that JSON does not have (dates, decimals, bytes) come as text. pyarrow is imported
where it is used.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Any

from deid.base.errors import DeidError, FormatError, OutputError, or_error
from deid.document import Document, Span, check_spans
from deid.io.batches import open_parquet, parquet_rows, plain_cell
from deid.io.encoding import encode
from deid.io.fields import Columns, TableFields, field_value, find_columns
from deid.io.formats import CollectionFormat, Options, Streams
from deid.io.json_records import no_json
from deid.io.span_checks import check_label
from deid.io.span_json import from_values

_SUFFIX = ".parquet"
_JSON_MARK = {b"deid": b"json"}
_BATCH = 256
_BUFFERED = 1 << 24
"""Characters that are held before a batch is written."""


def read(streams: Streams, options: Options) -> Iterator[Document | DeidError]:
    """Yield the rows of a file as documents, one batch at a time, an error for each that is malformed.

    Raises
    ------
    FormatError
        When the file is damaged.
    """
    file = open_parquet(streams[_SUFFIX])
    schema = _schema_of(file)
    columns = find_columns(schema.names, options)
    encoded = {field.name for field in schema if (field.metadata or {}).get(b"deid") == b"json"}
    read_row = or_error(document_of)
    for number, row in enumerate(parquet_rows(file), 1):
        yield read_row(row, columns, f"row {number}", encoded)


def document_of(
    row: dict[str, Any] | None, columns: Columns, position: str = "", encoded: Container[str] = ()
) -> Document:
    """Return a row as a document.

    Parameters
    ----------
    row : dict or None
        Cells by column, as `deid.io.batches.batch_rows` has them.
    columns : Columns
    position : str
        Where the row stands, for messages.
    encoded : container of str
        Columns whose cells are JSON text.

    Raises
    ------
    FormatError
        When it is none.
    """
    if row is None:
        raise FormatError(
            "a cell holds no valid text, or no valid value of its type", "write the file again", "", position
        )
    text = row[columns.text]
    if not isinstance(text, str):
        raise FormatError("the cell of the text holds no text", "check --text-field", "", position)
    try:
        values = _span_values(row[columns.spans], position) if columns.spans else []
        spans = from_values(values, text, position)
        own = columns.own()
        metadata = {
            name: json.loads(value) if name in encoded and value is not None else _json_value(value)
            for name, value in row.items()
            if name not in own
        }
    except (ValueError, RecursionError):
        raise FormatError("a cell that is marked as JSON is not", "write the file again", "", position) from None
    return Document(field_value(row[columns.id], position) if columns.id else "", text, spans, metadata)


def _schema_of(file: Any) -> Any:
    """Return the columns of a file; writers need not check that their names are text."""
    import pyarrow

    try:
        schema = file.schema_arrow
        schema.names  # noqa: B018  (decodes them)
    except (pyarrow.ArrowException, UnicodeError, ValueError):
        raise FormatError("the name of a column is no valid text", "write the file again") from None
    return schema


def _span_values(cell: object, position: str) -> object:
    if isinstance(cell, str):
        try:
            return json.loads(cell) if cell.strip() else []
        except (ValueError, RecursionError):
            raise FormatError("the annotations are not valid JSON", "check --spans-field", "", position) from None
    if not isinstance(cell, list):
        return cell
    return [
        {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value
        for value in cell
    ]


def _json_value(value: Any) -> Any:
    """Return a cell as a JSON value."""
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else plain_cell(value)


def layout(streams: Streams, options: Options) -> Options:
    """Return the options with the columns as the file has them."""
    names = _schema_of(open_parquet(streams[_SUFFIX])).names
    return replace(find_columns(names, options).fill(options), columns=tuple(names))


class _Sink:
    """Writes one row a document."""

    def __init__(self, streams: Streams, options: Options) -> None:
        self._stream = streams[_SUFFIX]
        self._options = options
        self._fields: TableFields | None = None
        self._kinds: dict[str, str] = {}
        self._schema: Any = None
        self._file: Any = None
        self._rows: list[dict[str, Any]] = []
        self._size = 0

    def add(self, document: Document) -> None:
        check_spans(len(document.text), document.spans)
        fields = self._fields or TableFields.of(document, self._options)
        record = fields.record(document)
        for name in fields.names:
            check_strings([name, record.get(name)])
        if fields.spans:
            record[fields.spans] = [span_struct(span) for span in document.spans]
        if self._schema is not None:
            record |= {name: _fit(record.get(name), kind) for name, kind in self._kinds.items()}
        self._fields = fields
        self._rows.append(record)
        self._size += len(document.text)
        if len(self._rows) >= _BATCH or self._size > _BUFFERED:
            self._flush()

    def _flush(self) -> None:
        import pyarrow
        import pyarrow.parquet

        assert self._fields is not None
        if self._schema is None:
            own = (self._fields.text, self._fields.id, self._fields.spans)
            self._kinds = {
                name: _kind([row.get(name) for row in self._rows]) for name in self._fields.names if name not in own
            }
            for row in self._rows:
                row |= {name: _fit(row.get(name), kind) for name, kind in self._kinds.items()}
            self._schema = _schema(self._fields, self._kinds)
            self._file = pyarrow.parquet.ParquetWriter(self._stream, self._schema)
        self._file.write_table(pyarrow.Table.from_pylist(self._rows, schema=self._schema))
        self._rows, self._size = [], 0

    def finish(self) -> None:
        if self._rows:
            self._flush()
        self._file.close()


def span_struct(span: Span) -> dict[str, Any]:
    """Return a span as a value of `span_type`."""
    check_label(span.category, (), True, f"offset {span.start}")
    check_strings([span.category, span.id, *span.attributes])
    return {
        "start": span.start,
        "end": span.end,
        "label": span.category,
        "id": span.id or None,
        "score": span.score,
        "attributes": [list(pair) for pair in span.attributes] or None,
    }


def check_strings(value: object) -> None:
    """Raise `OutputError` for strings with lone surrogates, which Parquet cannot hold."""
    if isinstance(value, str):
        encode(value, "utf-8", whole=False)
    elif isinstance(value, (list, tuple)):
        for item in value:
            check_strings(item)


def _kind(values: list[Any]) -> str:
    """Return the type that all values of a column share."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {str}:
        return "text"
    if kinds == {bool}:
        return "truth"
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values if value is not None):
        return "integer"
    return "float" if kinds == {float} else "json"


def _fit(value: Any, kind: str) -> Any:
    """Return a value as it is stored in a column of a kind."""
    if value is None:
        return None
    if kind == "json":
        with no_json():
            return json.dumps(value, allow_nan=False)
    if _kind([value]) != kind:
        raise OutputError(
            "a metadata field holds another type of value than in the documents before",
            "write JSONL, or convert the field",
        )
    return value


def _schema(fields: TableFields, kinds: dict[str, str]) -> Any:
    import pyarrow as pa

    marks = {"json": _JSON_MARK}
    types = {
        "text": pa.string(),
        "json": pa.string(),
        "truth": pa.bool_(),
        "integer": pa.int64(),
        "float": pa.float64(),
    }
    own = {fields.text: pa.string(), fields.id: pa.string(), fields.spans: pa.list_(span_type())}
    return pa.schema(
        [
            pa.field(name, own[name])
            if name in own
            else pa.field(name, types.get(kinds[name], pa.string()), metadata=marks.get(kinds[name]))
            for name in fields.names
        ]
    )


def span_type() -> Any:
    """Return the type of a span in a table of Arrow."""
    import pyarrow as pa

    return pa.struct(
        [
            ("start", pa.int64()),
            ("end", pa.int64()),
            ("label", pa.string()),
            ("id", pa.string()),
            ("score", pa.float64()),
            ("attributes", pa.list_(pa.list_(pa.string()))),
        ]
    )


PARQUET = CollectionFormat(
    name="parquet",
    suffixes=(_SUFFIX, ".pq"),
    matches=lambda head: head.startswith(b"PAR1"),
    read=read,
    write=_Sink,
    layout=layout,
)
