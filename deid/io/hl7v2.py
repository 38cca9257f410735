"""HL7 v2: files of messages, each a document whose text is that of its places (`deid.records`).

A message is written back as it came, with what was replaced; so only a document that was read from one can be written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from deid.base.errors import DeidError, OutputError
from deid.document import Document, check_spans
from deid.io.formats import CollectionFormat, Options, Streams
from deid.records.hl7v2 import BEGINNING, read_all
from deid.records.record import Record
from deid.records.tables import load_table

_SUFFIX = ".hl7"
STANDARD = "hl7v2"


def document(record: Record, id: str = "") -> Document:
    """Return the document of a record."""
    return Document(id, record.text, record=record)


def read(streams: Streams, options: Options) -> Iterator[Document | DeidError]:
    """Yield the messages of a file; headers and trailers of batches are records too."""
    table = load_table(STANDARD, options.places)
    for number, found in enumerate(read_all(streams[_SUFFIX].read(), table, options.encoding), 1):
        if isinstance(found, DeidError):
            position = ", ".join(filter(None, (f"record {number}", found.position)))
            yield type(found)(found.what, found.hint, found.where, position)
        else:
            yield document(found)


@dataclass
class _Sink:
    """Writes records one after the other."""

    streams: Streams

    def add(self, document: Document) -> None:
        check_spans(len(document.text), document.spans)
        if document.record is None:
            raise OutputError(
                "only what was read from a message can be written as one", "write another format", "", "offset 0"
            )
        self.streams[_SUFFIX].write(document.record.data)

    def finish(self) -> None:
        """Nothing comes after the last record."""


HL7V2 = CollectionFormat(
    name=STANDARD,
    suffixes=(_SUFFIX, ".msg"),
    matches=lambda head: BEGINNING.match(head) is not None,
    carries_spans=False,
    of_records=True,
    read=read,
    write=lambda streams, options: _Sink(streams),
)
