"""Plain text: one document a file, the file's characters exactly (BOM, CR, tabs and NUL included), no annotations."""

from __future__ import annotations

from deid.base.errors import OutputError
from deid.document import Document
from deid.io import documents, records
from deid.io.contents import refuse_records
from deid.io.encoding import decode, encode, looks_textual
from deid.io.formats import DocumentFormat, Options, Parts


def read(parts: Parts, options: Options) -> Document:
    """Return the document of a text file, its id empty: of a record where it begins as one, and nobody said that it is
    text; raise where it begins as something else that is none.
    """
    data = parts[".txt"]
    if options.told:
        record = documents.of_a_system(data, options)
        if record is not None:
            return records.document(record)
        refuse_records(data, documents.begins(data))
    return Document("", decode(data, options.encoding))


def write(document: Document, options: Options) -> dict[str, bytes]:
    """Return the text file of a document by suffix; annotations are an `OutputError`, because they would be lost."""
    if document.spans:
        raise OutputError(
            f"plain text cannot carry the {len(document.spans)} annotations",
            "write another format, or drop the annotations first",
            position=f"offset {document.spans[0].start}",
        )
    record = document.record
    return {".txt": encode(document.text, options.encoding) if record is None else record.data}


TEXT = DocumentFormat(
    name="text", suffixes=(".txt", ".text"), matches=looks_textual, carries_spans=False, read=read, write=write
)
