"""Plain text: one document a file, the file's characters exactly (BOM, CR, tabs and NUL included), no annotations."""

from __future__ import annotations

from deid.base.errors import OutputError
from deid.document import Document
from deid.io import documents
from deid.io.contents import refuse_records
from deid.io.encoding import decode, encode, looks_textual
from deid.io.formats import DocumentFormat, Options, Parts


def read(parts: Parts, options: Options) -> Document:
    """Return the document of a text file, its id empty; raise where it is none, or begins as a record does."""
    if options.told:
        refuse_records(parts[".txt"], documents.begins(parts[".txt"]))
    return Document("", decode(parts[".txt"], options.encoding))


def write(document: Document, options: Options) -> dict[str, bytes]:
    """Return the text file of a document by suffix; annotations are an `OutputError`, because they would be lost."""
    if document.spans:
        raise OutputError(
            f"plain text cannot carry the {len(document.spans)} annotations",
            "write another format, or drop the annotations first",
            position=f"offset {document.spans[0].start}",
        )
    return {".txt": encode(document.text, options.encoding)}


TEXT = DocumentFormat(
    name="text", suffixes=(".txt", ".text"), matches=looks_textual, carries_spans=False, read=read, write=write
)
