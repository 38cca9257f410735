"""CSV: one row a document, a column of texts, one of ids, one of annotations (as JSON); other columns are metadata.

All values of metadata are strings when read. Values that are no strings are written as JSON, None as an empty cell.
Everything is quoted when written, so that line ends, tabs and leading blanks stay as they are. Rows are streamed.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import TextIOWrapper
from typing import Any, BinaryIO

from deid.base.errors import DeidError, EncodingError, FormatError, or_error
from deid.document import Document
from deid.io.encoding import (
    TextSink,
    check_head,
    check_misread,
    encode,
    is_binary,
    misfit,
    settle,
    strip_mark,
    text_view,
)
from deid.io.fields import Columns, TableFields, find_columns
from deid.io.formats import CollectionFormat, Options, Streams
from deid.io.json_records import no_json
from deid.io.span_checks import check_labelled
from deid.io.span_json import from_values, to_value

_SUFFIX = ".csv"
_DELIMITERS = ("\t", ",", ";", "|")  # a name of a column may hold a comma, hardly a tab


def read(streams: Streams, options: Options) -> Iterator[Document | DeidError]:
    """Yield the rows of a file as documents, an error for each that is malformed; raises when the header is."""
    rows = _rows(streams[_SUFFIX], options)
    _, header = next(rows)
    if isinstance(header, DeidError):
        raise header
    columns = find_columns(header, options)
    read_row = or_error(_document)
    for position, row in rows:
        if isinstance(row, DeidError):
            yield row
        elif len(row) != len(header):
            yield FormatError(
                f"a row of {len(row)} cells under a header of {len(header)}",
                "quote cells that hold separators or line ends",
                position=position,
            )
        else:
            yield read_row(dict(zip(header, row, strict=True)), columns, position)


def _document(record: dict[str, str], columns: Columns, position: str) -> Document:
    text = record[columns.text]
    cell = record[columns.spans] if columns.spans else ""
    try:
        values = json.loads(cell) if cell.strip() else []
    except (ValueError, RecursionError):
        raise FormatError(
            "the cell of the annotations is not valid JSON",
            "name the column with --spans-field; an empty name says that there is none",
            position=position,
        ) from None
    metadata = {name: value for name, value in record.items() if name not in columns.own()}
    identifier = record[columns.id] if columns.id else ""
    return Document(identifier, text, from_values(values, text, position), metadata)


def _rows(stream: BinaryIO, options: Options) -> Iterator[tuple[str, list[str] | DeidError]]:
    """Yield header and rows with their positions; a row of wrong bytes gives an error in its place."""
    head = stream.read(1 << 16)
    stream.seek(0)
    check_head(head, "CSV", "a table needs at least a header")
    encoding = settle(stream, options.encoding)
    csv.field_size_limit(sys.maxsize)  # a note may be longer than the 128 KiB that the module allows
    # undecodable bytes become lone surrogates, which no encoding yields otherwise: so the row that has them is known
    with text_view(stream, encoding, "", "surrogateescape") as text:
        try:
            yield from _parsed(text, replace(options, encoding=encoding))
        except UnicodeError:
            raise misfit(head, encoding, "beginning") from None


def _parsed(text: TextIOWrapper, options: Options) -> Iterator[tuple[str, list[str] | DeidError]]:
    beginning = _without_mark(text)
    first = next(beginning, "")
    reader = csv.reader(_chain(first, beginning), delimiter=options.delimiter or delimiter_of(first), strict=True)
    while True:
        position = f"line {reader.line_num + 1}"
        try:
            row = next(reader, None)
        except csv.Error:
            raise FormatError(
                "a quotation mark is missing or too many", "the rows after it cannot be read", position=position
            ) from None
        if row is None:
            return
        if row:
            yield position, _check_bytes(row, options.encoding, position)


def _without_mark(text: TextIOWrapper) -> Iterator[str]:
    for number, line in enumerate(text):
        yield strip_mark(line) if number == 0 else line


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def delimiter_of(header: str) -> str:
    """Return the separator that cuts the header into most columns."""

    def cells(delimiter: str) -> int:
        try:
            return max(map(len, csv.reader([header], delimiter=delimiter)), default=0)
        except csv.Error:
            return 0

    return max(_DELIMITERS, key=cells)


def _check_bytes(row: list[str], encoding: str, position: str) -> list[str] | DeidError:
    for cell in row:
        try:
            cell.encode("utf-8")
        except UnicodeEncodeError:
            return misfit(cell.encode(encoding, "surrogateescape"), encoding, position)
        if encoding != "utf-8" and not cell.isascii() and "A".encode(encoding) == b"A":
            try:
                check_misread(cell.encode(encoding), encoding)
            except EncodingError as error:
                return EncodingError(error.what, error.hint, position=position)
    return row


def layout(streams: Streams, options: Options) -> Options:
    """Return the options with separator and columns as the file has them."""
    _, header = next(_rows(streams[_SUFFIX], options))
    if isinstance(header, DeidError):
        raise header
    columns = find_columns(header, options)
    streams[_SUFFIX].seek(0)
    encoding = settle(streams[_SUFFIX], options.encoding)
    first = strip_mark(streams[_SUFFIX].readline().decode(encoding, "replace"))
    return replace(columns.fill(options), columns=tuple(header), delimiter=options.delimiter or delimiter_of(first))


class _Sink:
    """Writes one row a document."""

    def __init__(self, streams: Streams, options: Options) -> None:
        self._text = TextSink(streams[_SUFFIX], options.encoding)
        self._options = options
        self._fields: TableFields | None = None
        self._lines: list[str] = []
        self._csv = csv.writer(self, delimiter=options.delimiter or ",", quoting=csv.QUOTE_ALL, lineterminator="\n")

    def write(self, line: str) -> None:
        """Take a line from the csv module."""
        self._lines.append(line)

    def add(self, document: Document) -> None:
        check_labelled(document)
        encode(document.text, self._options.encoding, whole=False)
        fields = self._fields or TableFields.of(document, self._options)
        self._lines = []
        if self._fields is None:
            self._csv.writerow(fields.names)
        record = fields.record(document)
        if fields.spans:
            record[fields.spans] = json.dumps([to_value(span) for span in document.spans])
        self._csv.writerow([_cell(record.get(name)) for name in fields.names])
        self._text.write("".join(self._lines))
        self._fields = fields

    def finish(self) -> None:
        self._text.close()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    with no_json():
        return json.dumps(value, ensure_ascii=False, allow_nan=False)


CSV = CollectionFormat(
    name="csv",
    suffixes=(_SUFFIX, ".tsv"),
    matches=lambda head: not is_binary(head),
    needs_suffix=True,
    read=read,
    write=_Sink,
    layout=layout,
)
