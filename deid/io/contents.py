"""Text files that hold records of a hospital's system, documents of a program, or a table.

Read as text, what is packed in them would stay (a letter in base64), and so would ids and names that only their fields
or columns tell. So what begins as they do is never taken for text, unless the user says that it is.
"""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from io import StringIO

from deid.base.errors import FormatError
from deid.io import ccda
from deid.io.csv_table import delimiter_of
from deid.io.fields import names_columns
from deid.records import fhir_files, hl7v2

_HEAD = 1 << 16
KEY = rb'\{\s*"(?:[^"\\]|\\.)*"\s*:'
_COLUMN = re.compile(r"[^\W\d_][\w .\ufffd-]{0,39}(?<! )")
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*)?" + KEY)


def is_object(content: bytes) -> bool:
    """Tell whether bytes begin as a JSON object does, or an array of them."""
    return _OBJECT.match(content) is not None


def is_table(head: bytes, whole: bool) -> bool | None:
    """Tell whether a text is a table (CSV, TSV): a line of columns' names, one of whom or what a note is, and rows
    of as many cells; None where no row is there yet.

    Parameters
    ----------
    head : bytes
        What it begins with.
    whole : bool
        Whether no more will come; else what has no line end is not looked at.
    """
    whole &= len(head) < _HEAD
    lines = StringIO(head.decode("utf-8-sig", "replace").lstrip("\r\n"), newline="")
    ended = [line for line in lines if whole or line.endswith(("\n", "\r"))]
    if not ended:
        return False if whole else None
    sign = delimiter_of(ended[0])
    cells = ended[0].rstrip("\r\n").split(sign)
    names = [cell[1:-1] if cell[:1] == cell[-1:] == '"' else cell.strip() if sign == "|" else cell for cell in cells]
    if len(set(names)) < max(len(names), 2) or not all(_COLUMN.fullmatch(name) for name in names if name):
        return False
    if not names_columns(names):
        return False
    widths: list[int] = []
    with suppress(csv.Error):  # of a row without its end, or a quote inside a word
        widths.extend(len(row) for row in csv.reader(ended[1:], delimiter=sign, strict=True) if row)
    return all(width == len(names) for width in widths) if widths else None


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
    if is_table(head, True):
        raise FormatError(
            "the text is a table, of whose rows some cells would stay",
            "let the name of its file end in .csv or .tsv; if it is text all the same: --from text",
        )
    for told, what, suffix in kinds:
        if told:
            raise FormatError(
                f"the text begins as {what} does",
                f"let the name of its file end in {suffix}, or give it to deid filter; if it is text all the same: "
                "--from text",
            )
