"""Bytes to text and back, exactly, and never by guessing.

Text that does not fit the stated encoding is refused with the names of the encodings that it would fit. So is UTF-8
that is read as another encoding: nearly any bytes are text in cp1252, and a name that is read wrongly is not found.
Where several encodings are named (``utf-8,cp1252``), each file is read in the first of them that it fits. Content that
is no text at all (a known binary signature, or many control characters) is refused as well, in both directions, so
that what is written can be read again.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from typing import BinaryIO

from deid.base.errors import ConfigError, DeidError, EncodingError, FormatError, OutputError, require

SQLITE = b"SQLite format 3\x00"
"""How a file of SQLite begins."""
_SIGNATURES = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "a zip archive"),
    (b"%PDF-", "PDF"),
    (b"{\\rtf", "RTF"),
    (b"\x89PNG\r\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x7fELF", "ELF"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "OLE (doc, xls, msg)"),
    (b"PAR1", "Parquet"),
    (SQLITE, "SQLite"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
)
_PACKED = (
    (b"word/", "a Word document (docx)"),
    (b"xl/", "an Excel workbook (xlsx)"),
    (b"ppt/", "a PowerPoint presentation (pptx)"),
    (b"opendocument.text", "an OpenDocument text (odt)"),
    (b"opendocument.spreadsheet", "an OpenDocument spreadsheet (ods)"),
)
"""Documents that are zip archives, by the name of a member."""
_REMEDIES = {
    "PDF": "extract its text first (such as: pdftotext -layout IN.pdf OUT.txt), and look whether it has any",
    "an Excel workbook (xlsx)": "read it as a document (--from documents), or save each sheet as CSV, in UTF-8",
    "an OpenDocument spreadsheet (ods)": "save each sheet as CSV, in UTF-8",
    "Parquet": "deid scrub reads it as a table, from a file that ends in .parquet",
    "OLE (doc, xls, msg)": "save it as plain text in UTF-8, or a sheet as CSV",
}
_REMEDY = "save or export it as plain text, in UTF-8"
_BEGINNINGS = tuple(signature for signature, _ in _SIGNATURES)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_CONTROL_BYTES = re.compile(b"[\x00-\x08\x0e-\x1f\x7f]")
_C1 = re.compile("[\x80-\x84\x86-\x9f]")
_CONTROL_CODES = bytes((*range(9), *range(0x0E, 0x20), 0x7F))
_FEW = 8  # a handful of control characters is never called binary, however short the text
_CANDIDATES = ("utf-8", "utf-16", "utf-32", "cp1252", "latin-1", "iso8859-15")
_MULTIBYTE = re.compile(b"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
"""What UTF-8 makes of a character outside ASCII."""
_OUTSIDE_ASCII = bytes(range(0x80, 0x100))
_SURE_BYTES = 8
"""So many bytes of such characters are no accident, even where others are not UTF-8."""
_MOST_ASCII = 4
"""Where fewer than one byte in so many is none of ASCII, bytes without a NUL are no UTF-16 and no EBCDIC."""
_MISREAD_AS = ("cp1252", "latin-1", "mac-roman")
_INSIDE_WORD = re.compile(
    "[A-Za-z][\u00c3-\u00c5][\u0080-\u00bf\u0152-\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122][A-Za-z]"
)
"""What UTF-8 that was read as cp1252 makes of a Latin letter inside a word."""
_BLOCK = 1 << 20
_OUTPUT_HINT = "write in utf-8 (--output-encoding utf-8)"
_NOT_FOR_NOTES = frozenset({"unicode-escape", "raw-unicode-escape", "idna", "punycode", "undefined", "utf-7"})


def check_encoding(name: str) -> str:
    """Return the encoding's canonical name.

    Raises
    ------
    ConfigError
        When Python knows no text encoding of that name.
    """
    try:
        info = codecs.lookup(name)
        "".encode(info.name)
    except (LookupError, ValueError):
        info = None
    if info is None or info.name.replace("_", "-") in _NOT_FOR_NOTES:
        raise ConfigError("unknown text encoding", "use a name such as utf-8, cp1252, latin-1 or utf-16")
    return info.name


def check_encodings(names: str) -> str:
    """Return the canonical names of one or several encodings, with commas between.

    Raises
    ------
    ConfigError
        When Python knows no text encoding of one of the names.
    """
    return ",".join(dict.fromkeys(check_encoding(name.strip()) for name in names.split(",")))


@dataclass(slots=True)
class _Bytes:
    """What tells UTF-8 from other encodings, of bytes that come piece by piece."""

    size: int = 0
    nul: bool = False
    outside: int = 0
    """Bytes outside ASCII."""
    inside: int = 0
    """Those that lie in what UTF-8 makes of a character."""

    def add(self, data: bytes) -> None:
        """Take a piece that cuts no character of UTF-8."""
        self.nul |= b"\0" in data
        self.size += len(data)
        if data.isascii():
            return
        self.outside += len(data) - len(data.translate(None, _OUTSIDE_ASCII))
        self.inside += sum(map(len, _MULTIBYTE.findall(data)))

    def misread_as(self, encoding: str) -> bool:
        """Tell whether this is UTF-8 that the encoding would take for something else."""
        if encoding.startswith("utf-8") or not self.size:
            return False
        if "A".encode(encoding) != b"A":
            # UTF-16 and its like, EBCDIC: nearly any bytes are text in it, ASCII too
            return not self.nul and (self.inside == self.outside or self.outside * _MOST_ASCII < self.size)
        return self.outside > 0 and (
            self.inside == self.outside or (self.inside >= _SURE_BYTES and 2 * self.inside >= self.outside)
        )


def check_misread(data: bytes, encoding: str) -> None:
    """Raise where bytes are UTF-8 beyond ASCII, and would be read as another encoding.

    Raises
    ------
    EncodingError
    """
    seen = _Bytes()
    if not encoding.startswith("utf-8"):
        seen.add(data)
    if seen.misread_as(encoding):
        found = _MULTIBYTE.search(data)
        raise _misread(encoding, f"byte {found.start() if found else 0}")


def _misread(encoding: str, position: str) -> EncodingError:
    return EncodingError(
        f"the text is UTF-8 or ASCII, and would be misread as {encoding}",
        f"--encoding utf-8,{encoding} reads each file in the first that it fits; repair a file that mixes them",
        position=position,
    )


def looks_misread(text: str) -> bool:
    """Tell whether a text looks like UTF-8 that was read as another encoding: *JosÃ© MÃ¼ller*."""
    if text.isascii():
        return False
    if _INSIDE_WORD.search(text):
        return True
    for encoding in _MISREAD_AS:
        seen = _Bytes()
        seen.add(text.encode(encoding, "replace"))
        if seen.misread_as(encoding):
            return True
    return False


def settle(stream: BinaryIO, encodings: str) -> str:
    """Return the encoding of a file: of those that are named, with commas between, the first that it fits.

    The stream is read once where it may be anything but UTF-8, and is at its start afterwards.

    Raises
    ------
    EncodingError
        The file is UTF-8 and that is not among them, or it fits none of several. (Where one is named, what does not fit
        is told by the reader, which knows the record.)
    """
    if encodings == "utf-8":
        return encodings
    names = encodings.split(",")
    decoders = {name: codecs.getincrementaldecoder(name)() for name in names}
    seen = _Bytes()
    while block := stream.read(_BLOCK):
        block += stream.readline()  # up to a line's end, so that no character is cut
        seen.add(block)
        for name in list(decoders):
            try:
                decoders[name].decode(block)
            except UnicodeError:
                del decoders[name]
    stream.seek(0)
    misread = [name for name in names if seen.misread_as(name)]
    if fitting := [name for name in names if name not in misread and (name in decoders or len(names) == 1)]:
        return fitting[0]
    raise _misread(misread[0], "beginning") if misread else _unfit(names)


def _unfit(names: Sequence[str]) -> EncodingError:
    return EncodingError(
        f"the text is none of {', '.join(names)}", "add its encoding to those of --encoding, or repair the file"
    )


def decode(data: bytes, encoding: str, *, whole: bool = True) -> str:
    """Decode text; a BOM stays character 0, line ends stay as they are.

    Parameters
    ----------
    data : bytes
    encoding : str
        As `check_encodings` returns it: of several, the first that the bytes fit.
    whole : bool
        Whether this is a whole file, which is then checked for being binary.

    Raises
    ------
    FormatError
        Binary content.
    EncodingError
        Bytes that are not text in this encoding, or UTF-8 in place of it; the hint names those that they would fit.
    """
    if whole:
        refuse_binary(data)
    if "," in encoding:
        names = encoding.split(",")
        for name in names:
            with suppress(EncodingError):
                return decode(data, name, whole=whole)
        raise _unfit(names)
    check_misread(data, encoding)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if whole and _mostly_control(len(_CONTROL_BYTES.findall(data)), len(data)) and not _wide(data):
            raise FormatError("this is no text but binary data", _REMEDY) from None
        raise misfit(data, encoding, f"byte {error.start}") from None
    except UnicodeError:
        raise misfit(data, encoding, "byte 0") from None
    if whole and encoding == "utf-8" and len(data.translate(None, _CONTROL_CODES)) == len(data):
        return text  # without control characters, as nearly always
    if whole and (found := _CONTROL.findall(text)) and _mostly_control(len(found), len(text)):
        if _wide(data):
            raise misfit(data, encoding, "byte 0")
        raise FormatError(f"this is no text: {len(found)} of {len(text)} characters are control characters", _REMEDY)
    return text


def encode(text: str, encoding: str, *, whole: bool = True) -> bytes:
    """Return text as bytes of which `decode` makes exactly the same text.

    Parameters
    ----------
    text : str
        The text.
    encoding : str
        Name of one encoding.
    whole : bool
        Whether this is a whole file, which must not look binary when it is read.

    Raises
    ------
    OutputError
        When the encoding cannot express a character, or the text would be refused as binary when read.
    """
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError as error:
        kind = "a lone surrogate" if 0xD800 <= ord(text[error.start]) < 0xE000 else "a character"
        raise OutputError(
            f"{kind} cannot be expressed in {encoding}",
            "write JSONL, which can carry every character, or repair the text"
            if kind.endswith("surrogate")
            else _OUTPUT_HINT,
            position=f"offset {error.start}",
        ) from None
    if not encoding.startswith("utf"):
        try:
            exact = data.decode(encoding) == text
        except UnicodeError:
            exact = False
        require(exact, f"the text does not survive {encoding}", _OUTPUT_HINT, position="offset 0", kind=OutputError)
    if whole:
        try:
            decode(data, encoding)
        except DeidError:
            raise OutputError(
                "the text would be taken for something else when read again",
                "it looks like a binary file or like another encoding; write JSONL, or --output-encoding utf-8",
                position="offset 0",
            ) from None
    return data


def is_binary(data: bytes) -> str:
    """Return the kind of file that the first bytes are a signature of, else an empty string."""
    if not data.startswith(_BEGINNINGS):
        return ""
    kind = next(kind for signature, kind in _SIGNATURES if data.startswith(signature))
    if kind == "a zip archive":
        return next((packed for member, packed in _PACKED if member in data), kind)
    return kind


def check_head(head: bytes, kind: str, needs: str) -> None:
    """Refuse a file that is empty or no text.

    Parameters
    ----------
    head : bytes
        What it begins with.
    kind : str
        What it should be.
    needs : str
        What it has at least.

    Raises
    ------
    FormatError
        When there is nothing, or what a file begins with that is no text.
    """
    require(head.strip(), "the file is empty", needs, kind=FormatError)
    if found := is_binary(head):
        raise FormatError(f"this is no {kind} but {found}", "name the right format with --from")


def refuse_binary(data: bytes) -> None:
    """Raise `FormatError` with what can be done when the first bytes are those of a kind of file that is no text."""
    if kind := is_binary(data):
        raise FormatError(f"this is no text but {kind}", _REMEDIES.get(kind, _REMEDY))


def looks_textual(head: bytes) -> bool:
    """Tell whether the beginning of a file may be text in some encoding."""
    return not is_binary(head) and (_wide(head) or not _mostly_control(len(_CONTROL_BYTES.findall(head)), len(head)))


def would_fit(data: bytes) -> list[str]:
    """Return the names of the encodings in which ``data`` would be plausible text."""
    fitting = []
    for name in _CANDIDATES:
        if name in ("utf-16", "utf-32"):
            names = [name] if _has_mark(data, name) else [f"{name}-le", f"{name}-be"] if _wide(data) else []
        else:
            names = [name]
        for candidate in names:
            try:
                text = data.decode(candidate)
            except UnicodeError:
                continue
            if not _CONTROL.search(text) and not _C1.search(text):
                fitting.append(candidate)
    return fitting


def misfit(data: bytes, encoding: str, position: str) -> EncodingError:
    """Return the error for bytes that are not text in ``encoding``; its hint names the encodings that would fit.

    Parameters
    ----------
    data : bytes
        The bytes, or enough of them.
    encoding : str
        What they were read as.
    position : str
        Where they stand, for the error.
    """
    fitting = [name for name in would_fit(data) if codecs.lookup(name).name != encoding]
    hint = (
        f"would fit: {', '.join(fitting)}; name the right one with --encoding, or where only some files are not "
        f"{encoding} both in order: --encoding {encoding},{fitting[0]}"
        if fitting
        else "no common encoding fits; the file may be damaged or binary"
    )
    return EncodingError(f"the text is not {encoding}", hint, position=position)


def strip_mark(text: str) -> str:
    """Return text without the BOM at the start of a file where it only marks the encoding (JSON, CSV, XML)."""
    return text.removeprefix("\ufeff")


class TextSink:
    """Writes text to a binary stream in one encoding, with one BOM where the encoding wants one."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._text = TextIOWrapper(stream, encoding=encoding, newline="")
        self._encoding = encoding

    def write(self, text: str) -> None:
        """Write all of ``text`` or, when the encoding cannot express it, raise `OutputError` and write nothing."""
        try:
            self._text.write(text)
        except UnicodeEncodeError:
            raise OutputError(f"a character cannot be expressed in {self._encoding}", _OUTPUT_HINT) from None

    def close(self) -> None:
        """Flush, and leave the stream open."""
        self._text.detach()


@contextmanager
def text_view(stream: BinaryIO, encoding: str, newline: str, errors: str = "strict") -> Iterator[TextIOWrapper]:
    """Yield a binary stream as text, and leave it open; other parameters as those of `io.TextIOWrapper`."""
    text = TextIOWrapper(stream, encoding=encoding, errors=errors, newline=newline)
    try:
        yield text
    finally:
        with suppress(ValueError):  # a reader that nobody finished is dropped after its file was closed
            text.detach()


def lines(stream: BinaryIO, encoding: str) -> Iterator[tuple[int, str | EncodingError]]:
    """Yield numbered lines, line ends included; a line of wrong bytes gives an error in its place.

    Lines end at LF only, as JSON Lines and the PhysioNet files have it, so CR and other separators stay text. Of
    several encodings the one that the whole file fits is taken (`settle`).
    """
    encoding = settle(stream, encoding)
    if "\n".encode(encoding) != b"\n" or encoding == "utf-8-sig":
        # LF is more than one byte here, so lines cannot be cut before decoding, and one error ends the file
        number = 0
        with text_view(stream, encoding, "\n") as text:
            try:
                for number, line in enumerate(text, 1):
                    yield number, line
            except UnicodeError:
                yield (
                    number + 1,
                    EncodingError(f"the text is not {encoding}", "name it with --encoding", "", f"line {number + 1}"),
                )
        return

    def numbered(number: int, raw: bytes) -> tuple[int, str | EncodingError]:
        try:
            check_misread(raw, encoding)
            return number, raw.decode(encoding)
        except EncodingError as error:
            return number, EncodingError(error.what, error.hint, position=f"line {number}")
        except UnicodeError:
            return number, misfit(raw, encoding, f"line {number}")

    yield from map(numbered, itertools.count(1), stream)  # a loop would hold each line, perhaps a very long one


def _mostly_control(controls: int, length: int) -> bool:
    return controls > _FEW and controls * 10 > length


def _has_mark(data: bytes, name: str) -> bool:
    marks = {"utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)}
    return data.startswith(marks[name])


def _wide(data: bytes) -> bool:
    """Tell whether the bytes look like UTF-16 or UTF-32: by their mark, or by a NUL in nearly every other byte."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)):
        return True
    sample = data[:4096]
    if len(sample) < 2 * _FEW:
        return False
    zeros = [sample[phase::2].count(0) * 2 / len(sample) for phase in (0, 1)]
    return (max(zeros) > 0.7 and min(zeros) < max(zeros) - 0.3) or (min(zeros) > 0.4 and max(zeros) > 0.9)
