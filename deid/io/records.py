"""Hospital records: files of messages or resources, each a document whose text is that of its places (`deid.records`).

A record is written back as it came, with what was replaced; so only a document that was read from one can be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deid.base.errors import DeidError, OutputError
from deid.document import Document, check_spans
from deid.io.formats import CollectionFormat, Options, Streams
from deid.records import fhir, fhir_files, hl7v2
from deid.records.record import Record
from deid.records.tables import load_table

Read = Callable[[bytes, Path | None, Options], Iterator[Record | DeidError]]
"""Gets the bytes of a file, where it stands (if that is known) and the options."""


def document(record: Record, id: str = "") -> Document:
    """Return the document of a record."""
    return Document(id, record.text, (), {}, None, record)


def written(document: Document, what: str) -> bytes:
    """Return the bytes of a document that was read from a record; ``what`` names its kind, for the message.

    Raises
    ------
    OutputError
        When it was not.
    """
    check_spans(len(document.text), document.spans)
    if document.record is None:
        what = f"only what was read from a {what} can be written as one"
        raise OutputError(what, "write another format", "", "offset 0")
    return document.record.data


@dataclass
class _Sink:
    """Writes records one after the other."""

    streams: Streams
    suffix: str

    def add(self, document: Document) -> None:
        self.streams[self.suffix].write(written(document, "record"))

    def finish(self) -> None:
        """Nothing comes after the last record."""


def _collection(name: str, suffixes: tuple[str, ...], matches: Callable[[bytes], bool], read: Read) -> CollectionFormat:
    """Return the format of a standard's records."""

    def documents(streams: Streams, options: Options) -> Iterator[Document | DeidError]:
        stream = streams[suffixes[0]]
        where = getattr(stream, "name", None)
        path = Path(where) if isinstance(where, str) else None
        for number, found in enumerate(read(stream.read(), path, options), 1):
            if isinstance(found, DeidError):
                position = ", ".join(filter(None, (f"record {number}", found.position)))
                yield type(found)(found.what, found.hint, found.where, position)
            else:
                yield document(found)

    return CollectionFormat(
        name=name,
        suffixes=suffixes,
        matches=matches,
        carries_spans=False,
        of_records=True,
        read=documents,
        write=lambda streams, options: _Sink(streams, suffixes[0]),
    )


def _read_hl7v2(data: bytes, path: Path | None, options: Options) -> Iterator[Record | DeidError]:
    return hl7v2.read_all(data, load_table("hl7v2", options.places), options.encoding)


def _read_fhir(data: bytes, path: Path | None, options: Options) -> Iterator[Record | DeidError]:
    table = load_table(fhir.STANDARD, options.places)
    return fhir_files.read_all(data, table, {} if path is None else fhir_files.known_beside(path, table))


HL7V2 = _collection("hl7v2", (".hl7", ".msg"), lambda head: hl7v2.BEGINNING.match(head) is not None, _read_hl7v2)
FHIR = _collection("fhir", (".json", ".ndjson"), fhir_files.begins, _read_fhir)
