"""What a feed is, by its first bytes: objects of JSON, a line each, or text.

JSON that is read as text goes out with its ids, and with escapes that a replacement has cut; so what begins as an
object does is never taken for text unless the user says so.
"""

from __future__ import annotations

import codecs
import re

from deid.base.errors import InputError
from deid.io.contents import KEY, is_table
from deid.io.documents import begins as is_document
from deid.records.ccda import ROOT
from deid.records.fhir_files import begins
from deid.records.hl7v2 import BEGINNING

NAMES = {
    "json": "NDJSON",
    "fhir": "FHIR, a resource a line",
    "fhir-resource": "a resource of FHIR",
    "hl7v2": "HL7 v2",
    "ccda": "a clinical document",
    "documents": "a document of an office program",
}
"""What an input can begin as, in words."""
_MARK = b"\xef\xbb\xbf"
_LINE = re.compile(KEY + rb"|\{\s*\}")
_OPEN = re.compile(rb"\{\s*\Z|\[\s*(?:\{|\Z)")


_PROLOG = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)\s*)*", re.DOTALL
)
_DOCUMENT = re.compile(rb"<(?:[\w.-]+:)?" + ROOT.encode() + rb"[\s/>]")
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def begins_as(head: bytes, *, final: bool) -> str | None:
    """Tell what a feed holds, one of `deid.streaming.records.CONTENTS`; None when more bytes are needed.

    Parameters and errors are those of `begins_as_json`; one more is that of a table, whose rows are no records.
    """
    if BEGINNING.match(head):
        return "hl7v2"
    if not final and BEGINNING.match(head.rstrip(b"\r\n\x0b\x1c") + b"MSH|^~\\&"[len(head.lstrip(b"\r\n\x0b\x1c")) :]):
        return None
    if is_document(head):
        return "documents"
    document = _begins_as_document(head)
    if document or (document is None and not final):
        return "ccda" if document else None
    begun = head.removeprefix(_MARK).lstrip()
    line, end, _ = begun.partition(b"\n")
    if begun.startswith(b"{") and begins(begun):
        return "fhir" if line.rstrip().endswith(b"}") or (final and not end) else "fhir-resource" if end else None
    json = begins_as_json(head, final=final)
    if json is not False:
        return None if json is None else "json"
    table = is_table(head, final)
    if table:
        raise table_refused()
    return "text" if final or table is False else None


def table_refused() -> InputError:
    """Return the error of a table that was given to a feed."""
    return InputError(
        "the input is a table, of whose rows some cells would stay",
        "deid scrub IN OUT reads tables (.csv, .tsv, .parquet); for text, name its format with --from",
    )


def _begins_as_document(head: bytes) -> bool | None:
    """Tell whether a feed holds a clinical document; None when more bytes are needed to tell."""
    if wide := _WIDE.get(head[:2]):
        head = head[2:].decode(wide, "ignore").encode()
    elif head and len(head) < len(_MARK) and (_MARK.startswith(head) or any(mark.startswith(head) for mark in _WIDE)):
        return None
    prolog = _PROLOG.match(head)
    assert prolog is not None
    rest = head[prolog.end() :]
    if _DOCUMENT.match(rest):
        return True
    return None if rest.startswith((b"<?", b"<!")) or (re.fullmatch(rb"<[\w.:-]*|", rest) and b"<" in head) else False


def begins_as_json(head: bytes, *, final: bool) -> bool | None:
    """Tell whether a feed holds a JSON object a line, by its first line that is not blank.

    Parameters
    ----------
    head : bytes
        The first bytes of the feed, as many as have come.
    final : bool
        Whether no more of them will be looked at.

    Returns
    -------
    bool or None
        None when more bytes are needed to tell; what begins with no brace and no bracket needs none.

    Raises
    ------
    InputError
        When it begins as an object over many lines does, or an array, which no filter of lines can read.
    """
    if len(head) < len(_MARK) and _MARK.startswith(head) and not final:
        return None
    begun = head.removeprefix(_MARK).lstrip()
    if not begun:
        return False if final else None
    if not begun.startswith((b"{", b"[")):
        return False
    line, end, _ = begun.partition(b"\n")
    if _LINE.match(line):
        return True
    if not end and not final:
        return None
    if _OPEN.match(line):
        raise InputError(
            "the input begins as JSON over many lines does",
            "write each record as an object on one line (jq -c); for text, name its format with --from",
        )
    return False
