"""Clinical documents (CDA R2, C-CDA): one document a file, whose text is that of its places (`deid.records`).

A document is written back as it came, with what was replaced; so only one that was read can be written.
"""

from __future__ import annotations

from pathlib import Path

from deid.document import Document
from deid.io.formats import DocumentFormat, Options, Parts
from deid.io.records import document, written
from deid.io.xml_parts import root_of, whole
from deid.records.ccda import ROOT, read
from deid.records.record import Record
from deid.records.tables import load_table

_SUFFIX = ".xml"
STANDARD = "ccda"


def is_document(head: bytes) -> bool:
    """Tell whether bytes begin as a clinical document does."""
    return root_of(head)[0].rpartition(":")[2] == ROOT


def record(data: bytes, encoding: str, places: Path | None) -> Record:
    """Return the record of a document.

    Parameters
    ----------
    data : bytes
    encoding : str
        Of documents that do not say theirs, by mark or declaration.
    places : Path, optional
        A site's lines on what stands where.

    Raises
    ------
    InputError
        When it is no well-formed XML, has a document type declaration, is not in the encoding that it says, or cannot
        be read as it says it is; says where, and quotes nothing.
    """
    source, charset = whole(data, encoding)
    return read(data, source, charset, load_table(STANDARD, places))


def _read(parts: Parts, options: Options) -> Document:
    return document(record(parts[_SUFFIX], options.encoding, options.places))


def _write(document: Document, options: Options) -> dict[str, bytes]:
    return {_SUFFIX: written(document, "clinical document")}


CCDA = DocumentFormat(
    name=STANDARD,
    suffixes=(_SUFFIX,),
    matches=is_document,
    carries_spans=False,
    of_records=True,
    read=_read,
    write=_write,
)
