"""JSON objects of a file, one after the other: a line each, or elements of one array."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any, BinaryIO

from deid.base.errors import DeidError, EncodingError, FormatError, OutputError
from deid.document import Span
from deid.io.encoding import check_head, lines, settle, strip_mark, text_view
from deid.io.span_json import to_value

_ESCAPED = re.compile("[\ud800-\udfff\u0085\u2028\u2029]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_CHUNK = 1 << 16
_SPACE = " \t\r\n"
_LONG = 1 << 12
"""Characters of a string, or members of a list, that are written at a time."""


def records(stream: BinaryIO, encoding: str) -> Iterator[tuple[str, dict[str, Any] | DeidError]]:
    """Yield each record with its position; a line that is no record gives an error in its place.

    Raises
    ------
    FormatError
        The file is empty or binary.
    """
    head = stream.read(_CHUNK)
    stream.seek(0)
    check_head(head, "JSON", "a JSON Lines file holds one object a line")
    encoding = settle(stream, encoding)
    beginning = strip_mark(head.decode(encoding, errors="ignore")).lstrip(_SPACE)
    if beginning.startswith("["):
        yield from _array(stream, encoding)
        return
    if beginning.partition("\n")[0].rstrip(_SPACE) == "{":
        raise FormatError("one JSON object over many lines", "write each document's object on one line, or an array")
    for number, line in lines(stream, encoding):
        position = f"line {number}"
        if isinstance(line, DeidError):
            yield position, line
            continue
        body = strip_mark(line) if number == 1 else line
        record = parse_record(body, position) if body.strip(_SPACE) else None
        del line, body  # a long one takes as much as its record, which is worked on now
        if record is not None:
            yield position, record


def first_record(head: bytes) -> dict[str, Any]:
    """Return the first object at the beginning of a file, which may be cut, or an empty one."""
    text = strip_mark(head.decode("utf-8", errors="ignore")).lstrip(_SPACE + "[")
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        # a long first record is cut: its field names up to there still tell the format
        return dict.fromkeys(re.findall(r'"(\w{1,40})"\s*:', text)) if text.startswith("{") else {}
    return value if isinstance(value, dict) else {}


@contextmanager
def no_json() -> Iterator[None]:
    """Raise `OutputError` for a value that has no JSON form."""
    try:
        yield
    except (TypeError, ValueError, RecursionError):
        raise OutputError("a metadata field holds a value that JSON cannot express", "drop or convert it") from None


def dump(record: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """Return a record as one line of JSON that reads back exactly; see `dumped`."""
    return "".join(dumped(record, ascii_only=ascii_only))


def dumped(record: Mapping[str, Any], *, ascii_only: bool = False) -> list[str]:
    """Return a record as one line of JSON that reads back exactly, a long one in pieces, which take less room than one.

    Parameters
    ----------
    record : mapping
        Field -> JSON value; spans are written as `deid.io.span_json.to_value` has them.
    ascii_only : bool
        Escape everything outside ASCII, for encodings that cannot express all characters.

    Raises
    ------
    OutputError
        A value has no JSON form, or two lone surrogates follow each other so that they would read back as one
        character.
    """
    with no_json():
        return [*_pieces(record, ascii_only), "\n"]


def _pieces(record: Mapping[str, Any], ascii_only: bool) -> Iterator[str]:
    long = {key for key, value in record.items() if isinstance(value, (str, list, tuple)) and len(value) > _LONG}
    if not long:
        yield _encoded(record, ascii_only)
        return
    before = "{"
    for key, value in record.items():
        if key not in long:
            yield before + _encoded({key: value}, ascii_only)[1:-1]
        else:
            frame = _encoded({key: value[:0]}, ascii_only)[1:-1]  # up to its quotes or brackets
            yield before + frame[:-1]
            between = "" if isinstance(value, str) else ", "
            if isinstance(value, str):
                _check_pairs(value)
            for at in range(0, len(value), _LONG):
                yield (between if at else "") + _encoded(value[at : at + _LONG], ascii_only)[1:-1]
            yield frame[-1]
        before = ", "
    yield "}"


def _encoded(value: Any, ascii_only: bool) -> str:
    text = _ENCODER.encode(value)
    if text.isascii():
        return text
    _check_pairs(text)
    if ascii_only:
        return _ASCII.encode(value)
    # separators of lines that are no LF are escaped too, because some readers cut lines there
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _check_pairs(text: str) -> None:
    if not text.isascii() and _PAIR.search(text):
        raise OutputError(
            "two lone surrogates stand side by side, which JSON would join into one character", "repair the text"
        )


def _other(value: object) -> dict[str, Any]:
    if isinstance(value, Span):
        return to_value(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_other)
_ASCII = json.JSONEncoder(allow_nan=False, default=_other)


def parse_record(text: str, position: str) -> dict[str, Any] | DeidError:
    """Return the object that a line of JSON holds, or what is wrong with it.

    Parameters
    ----------
    text : str
    position : str
        Where the line stands, for the message.
    """
    try:
        value = parse_json(text)
    except FormatError as error:
        return FormatError(error.what, error.hint, position=position)
    except (ValueError, RecursionError) as error:
        column = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        return FormatError("this is not valid JSON", "repair the line", position=position + column)
    return _object(value, position)


def _object(value: Any, position: str) -> dict[str, Any] | DeidError:
    if isinstance(value, dict):
        return value
    return FormatError("this is no JSON object", "each record is an object with a text", position=position)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise FormatError("an object has the same field twice", "only one of them can be right; remove the other")
    return value


def _constant(_: str) -> None:
    raise FormatError("NaN or Infinity, which JSON does not have", "write null or a number")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant)


def parse_json(text: str) -> Any:
    """Return the value that a JSON text holds, where it can be read in one way only.

    Raises
    ------
    FormatError
        When an object has a member twice, or a number is NaN or infinite.
    ValueError, RecursionError
        When it is no JSON.
    """
    return _DECODER.decode(text)


def _array(stream: BinaryIO, encoding: str) -> Iterator[tuple[str, dict[str, Any] | DeidError]]:
    """Read the elements of one array without holding the whole file."""
    with text_view(stream, encoding, "") as text:
        try:
            yield from _elements(text)
        except UnicodeError:
            yield "end", EncodingError(f"the text is not {encoding}", "name the encoding with --encoding")


def _elements(stream: TextIOWrapper) -> Iterator[tuple[str, dict[str, Any] | DeidError]]:
    buffer = strip_mark(stream.read(_CHUNK)).lstrip(_SPACE)[1:]
    number, wanted, ended = 0, _CHUNK, False
    while True:
        buffer = buffer.lstrip(_SPACE)
        position = f"record {number + 1}"
        try:
            if buffer.startswith("]"):
                return
            value, end = _DECODER.raw_decode(buffer)
            rest = buffer[end:].lstrip(_SPACE)
            if not rest.startswith((",", "]")):
                raise ValueError
        except FormatError as error:
            yield position, FormatError(error.what, error.hint, position=position)
            return
        except (ValueError, RecursionError):
            # the element may go on beyond the buffer: read twice as much each time, which keeps the whole linear
            more = "" if ended else stream.read(wanted)
            wanted *= 2
            if not more:
                what = "the JSON array is broken or ends here"
                yield position, FormatError(what, "the file may be truncated", position=position)
                return
            buffer += more
            continue
        number, wanted = number + 1, _CHUNK
        yield position, _object(value, position)
        buffer = rest.removeprefix(",")
