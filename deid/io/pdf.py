"""The text of PDF files that have one, with a mark before each page.

The file is read by pypdf (extra ``documents``). It is not written: what stands in a PDF stands there as strokes,
and words that were replaced would overlap others, or still be found below them.
"""

from __future__ import annotations

import logging
from io import BytesIO

from deid.base.errors import ConfigError, DeidError, FormatError

_MOST_PAGES = 5000
_LEAST = 10
"""Letters and digits that a page has at least, of those that have a picture: fewer are a stamp on a scan."""
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
        When it is damaged, encrypted, scanned in part or wholly, or has too many pages.
    ConfigError
        When pypdf is not installed.
    """
    try:
        import pypdf
    except ImportError:
        raise ConfigError("PDF files need pypdf", "pip install 'clinical-deid[documents]'") from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its warnings can quote the file
    try:
        reader = pypdf.PdfReader(BytesIO(data))
        if reader.is_encrypted:
            raise FormatError("the document is refused: it is encrypted", "save it without a password")
        count = len(reader.pages)
        if count > _MOST_PAGES:
            raise FormatError(f"a PDF file of more than {_MOST_PAGES} pages", "split it")
        out: list[str] = []
        size = 0
        for number, page in enumerate(reader.pages, 1):
            words = page.extract_text()
            size += len(words)
            if size > most:
                raise FormatError(f"a PDF file of more than {most:,} characters", "split it, or raise --max-document")
            if sum(map(str.isalnum, words)) < _LEAST and _drawn(page):
                raise FormatError(
                    "the document is refused: a page is a picture, so it was scanned", _HINT, "", f"page {number}"
                )
            out.append(f"=== page {number} of {count} ===\n{words.strip()}\n")
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


def _drawn(page: object) -> bool:
    """Tell whether a page shows a picture."""
    resources = page.get("/Resources")  # type: ignore[attr-defined]
    drawn = resources.get_object().get("/XObject") if resources is not None else None
    return drawn is not None and len(drawn.get_object()) > 0


def _unread(char: str) -> bool:
    """Tell whether a character is none that a text has: control characters, private ones, halves of pairs."""
    return (char < " " and char not in "\n\t\f") or "\x7f" <= char < "\xa0" or "\ud800" <= char <= "\uf8ff"
