"""Documents inside of records, in base64 or hexadecimal digits."""

from __future__ import annotations

import base64
import codecs

from deid.base.errors import EncodingError, FormatError
from deid.records.record import fit

_FILES = ("%PDF", "{\\rtf", "PK\x03")
"""How files begin that are no text, whatever is said of them."""
LARGEST = 64 << 20
"""Bytes of text that a document inside of a record may have."""


def unpacked(raw: str, charset: str, path: str, hint: str, *, hexadecimal: bool = False) -> str:
    """Return the text of a document that stands in a record in base64, or in hexadecimal digits.

    Raises
    ------
    FormatError
        When it is not written so, is no text, or is larger than `LARGEST`.
    EncodingError
        When it is not in the character set that it says.
    """
    if len(raw) > 4 * LARGEST // 3 * (1 + hexadecimal):
        size = f"the document inside is larger than {LARGEST >> 20} MB"
        raise FormatError(size, "split it, or take it out of the record", "", path)
    digits = "".join(raw.split())
    try:
        content = bytes.fromhex(digits) if hexadecimal else base64.b64decode(digits, validate=True)
    except ValueError:
        raise FormatError(f"this is no {'hexadecimal number' if hexadecimal else 'base64'}", hint, "", path) from None
    try:
        text = content.decode(codecs.lookup(charset).name)
    except LookupError:
        raise EncodingError("the character set is not known", "convert the document to UTF-8", "", path) from None
    except UnicodeError:
        raise EncodingError("the document is not in the character set that it says", hint, "", path) from None
    if "\x00" in text or text.startswith(_FILES):
        raise FormatError("the document is not the text that it says it is", hint, "", path)
    return text


def packed(text: str, charset: str) -> str:
    """Return a text in base64."""
    return base64.b64encode(fit(text, charset).encode(charset)).decode("ascii")
