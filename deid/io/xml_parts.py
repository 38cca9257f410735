"""What the XML formats share: a parser that refuses what can be abused, decoding, escaping.

The parser is expat. Document type declarations are refused altogether, and with them entity bombs, external entities
and undeclared default attributes; the five built-in entities and character references remain. Errors carry line and
column, and expat's own messages, which quote nothing.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any, BinaryIO
from xml.parsers import expat

from deid.base.errors import ConfigError, DeidError, EncodingError, FormatError, OutputError
from deid.io.encoding import check_encoding, check_head, check_misread, decode, settle, strip_mark

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_CHUNK = 1 << 16
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF8)


def encoding_of(head: bytes, encoding: str) -> str:
    """Return the encoding of an XML file: what the user says, else its BOM, else its declaration, else UTF-8.

    Where the user names several, the file's own word is one of them.

    Raises
    ------
    EncodingError
        When the declaration names an encoding that does not exist.
    """
    if encoding != "utf-8":
        return encoding
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    declared = _DECLARED.match(head)
    if head.startswith(codecs.BOM_UTF8) or declared is None:
        return "utf-8"
    try:
        return check_encoding(declared[1].decode("ascii"))
    except ConfigError:
        raise EncodingError(
            "the XML declaration names an encoding that does not exist", "name the right one with --encoding"
        ) from None


def chunks(stream: BinaryIO, encoding: str) -> Iterator[str]:
    """Yield an XML file's characters piece by piece, without its BOM.

    Raises
    ------
    FormatError
        When the file is empty or binary.
    EncodingError
        When bytes are not text in the file's encoding.
    """
    data = stream.read(_CHUNK)
    check_head(data, "XML", "an XML file needs at least a root element")
    if "," in encoding and not data.startswith(_MARKS) and not _DECLARED.match(data):
        stream.seek(0)
        encoding = settle(stream, encoding)
        stream.seek(len(data))
    name = encoding_of(data, "utf-8" if "," in encoding else encoding)
    decoder = codecs.getincrementaldecoder(name)()
    done = 0
    first = True
    while data:
        following = stream.read(_CHUNK)
        try:
            text = decoder.decode(data, final=not following)
        except UnicodeDecodeError as error:
            raise _wrong_bytes(data + following, name, done + error.start) from None
        except UnicodeError:
            raise _wrong_bytes(data + following, name, done) from None
        check_misread(data, name)
        yield strip_mark(text) if first else text
        first = False
        done += len(data)
        data = following


def whole(data: bytes, encoding: str) -> tuple[str, str]:
    """Return the characters of a whole XML file, its mark included, and the codec that makes its bytes of them.

    Parameters
    ----------
    data : bytes
    encoding : str
        Of a file that does not say its own, by mark or declaration.

    Raises
    ------
    InputError
        When it is no well-formed XML, has a document type declaration, or is not in the encoding that it says; says
        where, and quotes nothing.
    """
    charset = _WIDE.get(data[:2]) or encoding_of(data[:1000], "utf-8" if "," in encoding else encoding)
    source = decode(data, encoding if charset == "utf-8" and "," in encoding else charset)
    if charset == "utf-8" and "," in encoding:
        charset = next(name for name in encoding.split(",") if _fits(data, name))
    if source.encode(charset) != data:
        raise EncodingError("the document cannot be written as it was", "convert it to UTF-8")
    feed(new_parser(), strip_mark(source), final=True)
    return source, charset


def _fits(data: bytes, name: str) -> bool:
    try:
        data.decode(name)
    except UnicodeError:
        return False
    return True


def _wrong_bytes(data: bytes, name: str, position: int) -> DeidError:
    try:
        decode(data, name, whole=False)
    except EncodingError as error:
        return EncodingError(error.what, error.hint, position=f"byte {position}")
    return EncodingError(f"the text is not {name}", "the file may be damaged", position=f"byte {position}")


def new_parser() -> Any:
    """Return an expat parser that refuses document type declarations and gives attributes in file order."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.buffer_size = _CHUNK
    parser.ordered_attributes = True

    def refuse(*_: object) -> int:
        raise FormatError(
            "a document type declaration, which can hold entity bombs or external entities",
            "remove the DOCTYPE from the file",
            position=place(parser),
        )

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    return parser


def place(parser: Any) -> str:
    """Return line and column where the parser stands."""
    return f"line {parser.CurrentLineNumber}, column {parser.CurrentColumnNumber + 1}"


def feed(parser: Any, text: str, *, final: bool = False) -> None:
    """Feed the parser; malformed XML raises `FormatError`."""
    try:
        parser.Parse(text, final)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        raise FormatError(
            f"the XML is not well-formed ({message})",
            "the file may be truncated" if message == "no element found" else "repair the markup at this place",
            position=f"line {error.lineno}, column {error.offset + 1}",
        ) from None


def check_characters(text: str, what: str = "the text") -> None:
    """Raise `OutputError` for characters that XML 1.0 cannot hold: control characters, lone surrogates, U+FFFE/F."""
    found = _FORBIDDEN.search(text)
    if found:
        character = found.group()
        kind = "NUL" if character == "\0" else "a lone surrogate" if "\ud800" <= character <= "\udfff" else "a control"
        raise OutputError(
            f"{what} holds a character that XML cannot carry ({kind})",
            "write JSONL or plain text instead",
            position=f"offset {found.start()}",
        )


def is_name(name: str) -> bool:
    """Tell whether ``name`` can be the name of an element or attribute."""
    if _NAME.fullmatch(name):
        return True
    if not name or re.search(r"""[\s<>&"'/=?!\[\]]""", name):
        return False
    try:
        expat.ParserCreate().Parse(f"<{name}/>", True)
    except (expat.ExpatError, UnicodeError):
        return False
    return True


def escape(text: str) -> str:
    """Return text escaped for element content; CR becomes a character reference, because parsers fold bare CR to LF."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def attribute(name: str, value: str) -> str:
    """Return an attribute as XML with a space before it; characters that XML cannot hold are an `OutputError`."""
    check_characters(value, "an attribute")
    body = escape(value).replace('"', "&quot;").replace("\t", "&#9;").replace("\n", "&#10;")
    return f' {name}="{body}"'


def declaration(encoding: str) -> str:
    """Return the XML declaration for a file in ``encoding``."""
    official = encoding.upper().replace("ISO8859", "ISO-8859")  # Python's name lacks a hyphen that other parsers want
    return f'<?xml version="1.0" encoding="{official}" ?>\n'


def root_of(head: bytes) -> tuple[str, str]:
    """Return the names of the root element and of its first child at the beginning of an XML file, else empty."""
    names: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, _: names.append(name)
    try:
        text = head.decode(encoding_of(head, "utf-8"), errors="ignore")
        parser.Parse(strip_mark(text), False)
    except (expat.ExpatError, DeidError, ValueError):
        pass  # the beginning of a file, cut anywhere, or no XML at all
    return (names[0] if names else "", names[1] if len(names) > 1 else "")
