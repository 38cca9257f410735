"""Documents of office programs, one a file, each written back as what it is (`deid.records.office`), but for PDF files,
which come out as text, and workbooks, which come out as tables of text.

What a file is, its content tells and not its name. One that cannot be read in place is refused with the reason, never
passed on: what carries macros, is encrypted or signed, holds parts that no table names, pictures, scans.
"""

from __future__ import annotations

import codecs
import functools
import re
from collections.abc import Sequence
from io import BytesIO

from deid.base.errors import DeidError, EncodingError, FormatError, OutputError, require
from deid.document import Document, check_spans
from deid.io import ccda, pdf, sheets
from deid.io.contents import refuse_records
from deid.io.encoding import check_encoding, decode, encode, refuse_binary, settle
from deid.io.formats import DocumentFormat, Options, Parts
from deid.io.records import document
from deid.io.xml_parts import whole
from deid.records import fhir, fhir_files, hl7v2, html_pages, mail, office, rows, rtf
from deid.records.record import TEXT, Place, Record, assemble, changed
from deid.records.tables import load_table
from deid.records.zip_members import Member, kind_of, read_members, unpacked

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ODT = b"application/vnd.oasis.opendocument.text"
_ALONE = "save what is attached on its own, and the message without it"
_SAVE = "save it as DOCX, ODT or text with the program that wrote it"
_PDF, _RTF = b"%PDF-", b"{\\rtf"
_SHEETS = rows.BEGIN.encode()
_HEAD = 4096
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,100}\?>\s*|<!--.{0,2000}?-->\s*){0,9}<(?:!doctype\s+html|html|head|body)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]{2,40})", re.IGNORECASE)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_HEADER = re.compile(rb"^([!-9;-~]+)[ \t]*:", re.MULTILINE)
_HEADERS = re.compile(rb"(?:[!-9;-~]+[ \t]*:[^\r\n]*(?:\r?\n|\Z)(?:[ \t][^\r\n]*(?:\r?\n|\Z))*)*")
_SUFFIXES = (".docx", ".odt", ".html", ".htm", ".eml", ".rtf", ".pdf", ".xlsx")
_REFUSED = (
    *(".docm", ".dotx", ".dotm", ".doc", ".dot", ".ott", ".odm"),
    *(".xlsm", ".xls", ".ods", ".pptx", ".ppt", ".odp"),
    *(".msg", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".bmp", ".webp", ".heic", ".dcm"),
)
"""What stands among documents and cannot be read: told, file by file, rather than skipped."""
_BOOK = "xl/workbook.xml"
_MAIN = {"docx": "word/document.xml", "odt": "content.xml"}


def _kind(data: bytes, members: Sequence[Member]) -> str:
    """Return which kind of office document a package is; raise where none that can be read."""
    names = {member.name for member in members}
    if "word/document.xml" in names:
        return "docx"
    for member in members[:1]:
        if member.name == "mimetype" and member.size < 200 and unpacked(data, member).strip() == _ODT:
            return "odt"
    refuse_binary(data[: 1 << 16])
    raise AssertionError


def _packed(data: bytes, options: Options) -> Record:
    members = read_members(data, options.max_document)
    if any(member.name == _BOOK for member in members):
        tables = sheets.tables_of(data, members, options.max_document)
        return rows.read(data, rows.joined(tables), "utf-8", functools.partial(_encoded, "utf-8"))
    kind = _kind(data, members)
    table = load_table(kind, options.places)
    parts = {}
    for member in members:
        what = kind_of(table, member.name)
        if what.kind == "refused":
            raise FormatError(f"the document is refused: {what.reason}", _SAVE)
        if what.kind == "part" and member.size:
            content = unpacked(data, member)
            if b"macroEnabled" in content[:4096]:
                raise FormatError("the document is refused: it carries macros", _SAVE)
            try:
                text, charset = whole(content, "utf-8")
            except DeidError as error:
                raise type(error)(error.what, error.hint, "", f"{member.name} {error.position}".strip()) from None
            parts[member.name] = office.PackagePart(member.name, text, charset)
    require(_MAIN[kind] in parts, "the document has no text of its own", _SAVE, kind=FormatError)
    return office.read(data, members, parts, table)


def read(data: bytes, options: Options) -> Document:
    """Return the document of a file's bytes.

    Raises
    ------
    InputError
        When it is of no kind that can be read in place, damaged or beyond bounds.
    """
    if data.startswith(_ZIP):
        return document(_packed(data, options))
    if data.startswith(_OLE):
        encrypted = "EncryptedPackage".encode("utf-16-le") in data
        what = "it is encrypted" if encrypted else "it is a document of an old kind (doc, xls, ppt, msg)"
        raise FormatError(f"the document is refused: {what}", "save it without a password" if encrypted else _SAVE)
    if data.startswith(_PDF):
        return Document("", pdf.text(data))
    if _is_page(data):
        return document(_page(data, options))
    if data.startswith(_RTF):
        return document(rtf.read(data, load_table("rtf", options.places)))
    if _is_message(data):
        return document(_message(data, options))
    text = decode(data, options.encoding)
    if rows.is_joined(text):  # sheets of a workbook that was written
        return document(rows.read(data, text, "utf-8"))
    return Document("", text)


def _message(data: bytes, options: Options) -> Record:
    attached = functools.partial(_attached, options=options)
    return mail.read(data, load_table("eml", options.places), load_table("html", options.places), attached)


def _attached(data: bytes, options: Options) -> Record | None:
    """Return the record of a document in a message, None of a plain text; raise where it cannot be written in place."""
    if data.startswith(_PDF):
        return _of_text(data, pdf.text(data, options.max_document).replace("\0", " "))
    found = of_a_system(data, options) or read(data, options).record
    return found if isinstance(found, Record) else None


def of_a_system(data: bytes, options: Options) -> Record | None:
    """Return the one record that bytes are which begin as one of a hospital's system does, else None.

    Raises
    ------
    DeidError
        Where it cannot be read, or is one of several.
    """
    if hl7v2.BEGINNING.match(data):
        return _only(list(hl7v2.read_all(data, load_table("hl7v2", options.places), options.encoding)), data)
    if fhir_files.begins(data):
        return _only(list(fhir_files.read_all(data, load_table(fhir.STANDARD, options.places), {})), data)
    if ccda.is_document(data[:_HEAD]):
        return ccda.record(data, options.encoding, options.places)
    return None


def _of_text(data: bytes, text: str) -> Record:
    """Return the record of a document that is read to text, and goes as one, in UTF-8 with a mark."""
    place = Place("text", 0, len(text), TEXT, text, lambda raw, place, changes: changed(place.text, changes))
    return assemble(data, text, functools.partial(_encoded, "utf-8-sig"), [place], known=(), patient=None, date=None)


def _encoded(charset: str, data: bytes, source: str, new: str) -> bytes:
    return new.encode(charset, "replace")


def _only(found: Sequence[Record | DeidError], data: bytes) -> Record:
    """Return the one record of a file."""
    if error := next((one for one in found if isinstance(one, DeidError)), None):
        raise error
    if len(found) == 1 and isinstance(found[0], Record) and found[0].data == data:
        return found[0]
    raise FormatError("a file of several records", _ALONE)


def _is_message(head: bytes) -> bool:
    """Tell whether bytes begin as an e-mail does: headers alone, who wrote it and how it came among them."""
    names = {name.lower() for name in _HEADER.findall(_HEADERS.match(head[:_HEAD])[0])}  # type: ignore[index]
    return b"from" in names and not names.isdisjoint((b"mime-version", b"message-id", b"received", b"return-path"))


def _is_page(head: bytes) -> bool:
    """Tell whether bytes begin as a page of HTML does."""
    wide = next((name for mark, name in _MARKS[1:] if head.startswith(mark)), "")
    return _HTML.match(head[:_HEAD].decode(wide, "ignore").encode() if wide else head[:_HEAD]) is not None


def _page(data: bytes, options: Options) -> Record:
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    said = _CHARSET.search(data[:_HEAD])
    charset = options.encoding
    if marked or (said and charset == "utf-8"):
        charset = check_encoding(marked or said[1].decode())  # type: ignore[index]
    charset = settle(BytesIO(data), charset)
    source = decode(data, charset)
    if source.encode(charset) != data:
        raise EncodingError("the page cannot be written as it was", "convert it to UTF-8")
    return html_pages.read(data, source, charset, load_table("html", options.places))


def _suffix(data: bytes) -> str:
    """Return the suffix of a document that was written."""
    if data.startswith(_ZIP):
        return ".odt" if data[:200].find(_ODT) > 0 else ".docx"
    if data.startswith(_RTF):
        return ".rtf"
    if data.startswith(_SHEETS):
        return ".txt"
    return ".eml" if _is_message(data) else ".html"


def _read(parts: Parts, options: Options) -> Document:
    data = parts[_SUFFIXES[0]]
    found = read(data, options)
    if options.told and found.record is None:
        refuse_records(data)
    return found


def write(document: Document, options: Options) -> dict[str, bytes]:
    """Return the file of a document by suffix: what was read from one as that, all else as text.

    Raises
    ------
    OutputError
        When it has annotations, or does not fit into the encoding.
    """
    check_spans(len(document.text), document.spans)
    if document.spans:
        raise OutputError(
            f"documents cannot carry the {len(document.spans)} annotations", "write another format, such as jsonl"
        )
    if document.record is None:
        return {".txt": encode(document.text, options.encoding)}
    return {_suffix(document.record.data): document.record.data}


def begins(head: bytes) -> bool:
    """Tell whether bytes begin as a document does that is read here."""
    if head.startswith(_ZIP):
        return b"word/" in head or b"xl/" in head or _ODT in head[:200]
    return head.startswith((_PDF, _RTF, _SHEETS)) or _is_page(head) or _is_message(head)


DOCUMENTS = DocumentFormat(
    name="documents",
    suffixes=(*_SUFFIXES, *_REFUSED, ".txt", ".text"),
    matches=begins,
    carries_spans=False,
    of_records=True,
    reads_too=("text",),
    read=_read,
    write=write,
)
