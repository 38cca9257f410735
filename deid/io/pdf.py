"""The text of PDF files that have one, with a mark before each page.

The file is read by pypdf (extra ``documents``). It is not written: what stands in a PDF stands there as strokes,
and words that were replaced would overlap others, or still be found below them. Of what is no stroke, the answers in
the fields of a form and what remarks say come behind their page; properties, outlines and links are left behind.
ISO 32000-2, 12.5.6 (annotations), 12.7 (forms), 7.11.4 (files inside).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

from deid.base.errors import ConfigError, DeidError, FormatError, require, told_as

if TYPE_CHECKING:
    from pypdf import PageObject

_MOST_PAGES = 5000
_LEAST = 10
"""Letters and digits that a page has at least, of those that have a picture: fewer are a stamp on a scan."""
_ATTACHED = "the document is refused: other files are attached to it", "save these on their own, and it without them"
_DEPTH = 32
"""Fields of a form that lie in one another."""
_HINT = "make text of it by other means (such as OCR), and scrub that"


def text(data: bytes, most: int = 64 << 20) -> str:
    """Return the text of all pages, with a line ``=== page 2 of 9 ===`` before each.

    Parameters
    ----------
    data : bytes
        The file.
    most : int
        Characters that the text may have.

    Raises
    ------
    FormatError
        When it is damaged, encrypted, scanned in part or wholly, has too many pages, or holds other files.
    ConfigError
        When pypdf is not installed.
    """
    with told_as(ConfigError("PDF files need pypdf", "pip install 'clinical-deid[documents]'"), ImportError):
        import pypdf
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its warnings can quote the file
    try:
        reader = pypdf.PdfReader(BytesIO(data))
        if reader.is_encrypted:
            raise FormatError("the document is refused: it is encrypted", "save it without a password")
        if "/XFA" in (reader.root_object.get("/AcroForm") or ()):
            raise FormatError("the document is refused: its form is a program (XFA)", _HINT)
        if next(iter(reader.attachment_list), None) is not None:
            raise FormatError(*_ATTACHED)
        count = len(reader.pages)
        require(count <= _MOST_PAGES, f"a PDF file of more than {_MOST_PAGES} pages", "split it", kind=FormatError)
        out: list[str] = []
        size = 0
        for number, page in enumerate(reader.pages, 1):
            words = page.extract_text().strip()
            beside = list(_beside(page))
            size += len(words) + sum(map(len, beside))
            if size > most:
                raise FormatError(f"a PDF file of more than {most:,} characters", "split it, or raise --max-document")
            if sum(map(str.isalnum, words)) < _LEAST and _drawn(page):
                raise FormatError(
                    "the document is refused: a page is a picture, so it was scanned", _HINT, "", f"page {number}"
                )
            out.append(f"=== page {number} of {count} ===\n" + "".join(f"{line}\n" for line in (words, *beside)))
    except DeidError:
        raise
    except Exception:  # whatever a damaged file makes of the library; its messages can quote the file
        raise FormatError("the PDF file is damaged", "print it to a new file, and take that") from None
    found = "\n".join(out)
    if not any(sum(map(str.isalnum, page.partition("\n")[2])) for page in out):
        raise FormatError("the document is refused: it has no text, so it was scanned or drawn", _HINT)
    if "\ufffd" in found or sum(map(_unread, found)) * 50 > len(found):
        raise FormatError("the document is refused: letters of its text cannot be told", _HINT)
    return "".join(" " if _unread(char) else char for char in found)


def _beside(page: PageObject) -> Iterator[str]:
    """Yield what stands on a page and is no stroke: the answers of its form's fields, and its remarks."""
    for reference in page.get("/Annots") or ():
        note = reference.get_object()
        kind, said = note.get("/Subtype"), note.get("/Contents")
        if kind == "/FileAttachment":
            raise FormatError(*_ATTACHED)
        if kind == "/Widget":
            said, name = _inherited(note, "/V"), _inherited(note, "/TU") or _inherited(note, "/T")
            answers = [a.get_object() for a in said] if isinstance(said, list) else [said]
            # names are states of buttons: /Yes, /Off; a signature has a dictionary
            found = ", ".join(str(a).removeprefix("/") for a in answers if isinstance(a, str) and a not in ("", "/Off"))
            if found:
                yield f"{name}: {found}" if name else found
        elif kind not in ("/Link", "/Popup") and isinstance(said, str) and said.strip():
            yield said.strip()


def _inherited(field: Mapping[str, Any], name: str) -> Any:
    """Return what a field of a form says, else the field that it is a part of."""
    for _ in range(_DEPTH):
        if name in field:
            return field[name]
        if "/Parent" not in field:
            return None
        field = field["/Parent"]
    return None


def _drawn(page: object) -> bool:
    """Tell whether a page shows a picture."""
    resources = page.get("/Resources")  # type: ignore[attr-defined]
    drawn = resources.get_object().get("/XObject") if resources is not None else None
    return drawn is not None and len(drawn.get_object()) > 0


def _unread(char: str) -> bool:
    """Tell whether a character is none that a text has: control characters, private ones, halves of pairs."""
    return (char < " " and char not in "\n\t\f") or "\x7f" <= char < "\xa0" or "\ud800" <= char <= "\uf8ff"
