"""Text files that hold records of a hospital's system, or documents of a program.

Read as text, what is packed in them would stay (a letter in base64), and so would ids and names that only their fields
tell. So what begins as they do is never taken for text, unless the user says that it is.
"""

from __future__ import annotations

import re

from deid.base.errors import FormatError
from deid.io import ccda
from deid.records import fhir_files, hl7v2

_HEAD = 1 << 16
KEY = rb'\{\s*"(?:[^"\\]|\\.)*"\s*:'
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*)?" + KEY)


def is_object(content: bytes) -> bool:
    """Tell whether bytes begin as a JSON object does, or an array of them."""
    return _OBJECT.match(content) is not None


def refuse_records(data: bytes, document: bool = False) -> None:
    """Refuse a text that begins as something else does, of which no format was named.

    Parameters
    ----------
    data : bytes
    document : bool
        Whether it begins as a document of an office program does (`deid.io.documents.begins`).

    Raises
    ------
    FormatError
        Saying as what.
    """
    head = data[:_HEAD]
    kinds = (
        (hl7v2.BEGINNING.match(head), "HL7 v2", ".hl7"),
        (fhir_files.begins(head), "a resource of FHIR", ".json or .ndjson"),
        (is_object(head), "JSON", ".jsonl"),
        (ccda.is_document(head), "a clinical document", ".xml"),
        (document, "a document of an office program", ".docx, .html or .eml"),
    )
    for told, what, suffix in kinds:
        if told:
            raise FormatError(
                f"the text begins as {what} does",
                f"let the name of its file end in {suffix}, or give it to deid filter; if it is text all the same: "
                "--from text",
            )
