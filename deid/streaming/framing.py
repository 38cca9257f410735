"""Where a record ends in a stream of bytes: at a delimiter, after a stated length, or at the end.

Cutting is the work of the process that reads, taking records apart that of the workers; both use the same framing, and
both start at a border. So records are the same, however the stream is cut into pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from deid.base.errors import OutputError, require

PREFIX_BYTES = 4
"""A length-prefixed record begins with its length in bytes, an unsigned big-endian number of this width."""

DELIMITERS = {"line": b"\n", "form-feed": b"\f", "nul": b"\0", "blank-line": b"\n\n"}
"""Delimiters by name. A blank line may also end with CR LF."""

_BLANK_LINE = re.compile(rb"\n\r?\n")
_NEVER = re.compile(rb"(?!)")


class Skip(Protocol):
    """Passes over a record that is too long to hold."""

    def step(self, buffer: bytearray, final: bool) -> tuple[int, int, bool]:
        """Return how many bytes at the buffer's start are the record's, how many to drop, and whether it ended."""


class Framing(Protocol):
    """How records stand in a stream."""

    def border(self, buffer: bytearray | bytes, searched: int) -> int:
        """Return the position behind the last whole record, 0 when there is none.

        The buffer starts at a border; in its first ``searched`` bytes no record ends.
        """

    def split(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """Yield for each record where its content starts and ends, and where the next record starts."""

    def too_long(self, buffer: bytearray, limit: int) -> tuple[int, Skip] | None:
        """Return what passes over the first record, and where its content starts, when it exceeds the limit.

        Asked only when the buffer holds no whole record.
        """

    def wrap(self, content: bytes, tail: bytes) -> bytes:
        """Return a record with new content; ``tail`` is what stood behind the old one."""

    def unfinished(self, buffer: bytearray) -> bool:
        """Tell whether a last record, which no border follows, is a torn one."""


@dataclass(frozen=True)
class Delimited:
    """Records with a delimiter behind each; the last one may lack it."""

    pattern: re.Pattern[bytes]
    width: int
    """Bytes of the longest delimiter."""
    byte: bytes = b""
    """The delimiter, when it is one byte."""

    def border(self, buffer: bytearray | bytes, searched: int) -> int:
        """Return the position behind the last delimiter, 0 when there is none behind ``searched``; see `Framing`."""
        if self.byte:
            return buffer.rfind(self.byte, searched) + 1
        end = 0
        for found in self.pattern.finditer(buffer, max(0, searched - self.width + 1)):
            end = found.end()
        return end

    def split(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """Yield content start, content end and record end of each record."""
        start = 0
        for found in self.pattern.finditer(data):
            yield start, found.start(), found.end()
            start = found.end()
        if start < len(data):
            yield start, len(data), len(data)

    def too_long(self, buffer: bytearray, limit: int) -> tuple[int, Skip] | None:
        """Return 0 and what skips to the delimiter when the buffer exceeds the limit without one, else None.

        A buffer may be longer than the limit by all but one byte of a delimiter: its end may be the start of one.
        """
        return (0, _ToDelimiter(self)) if len(buffer) > limit + self.width - 1 else None

    def wrap(self, content: bytes, tail: bytes) -> bytes:
        """Return content and delimiter.

        Raises
        ------
        OutputError
            When the content holds the delimiter, so that it would be read as two records.
        """
        record = content + tail
        if self.byte:
            inside = self.byte in content
        else:
            found = self.pattern.search(record)
            inside = found is not None and found.start() < len(content)
        if inside:
            raise OutputError("a replacement holds the delimiter", "choose a delimiter that no note can hold")
        return record

    def unfinished(self, buffer: bytearray) -> bool:
        """Return False: a last record may lack its delimiter."""
        return False


@dataclass(frozen=True)
class _ToDelimiter:
    framing: Delimited

    def step(self, buffer: bytearray, final: bool) -> tuple[int, int, bool]:
        found = self.framing.pattern.search(buffer)
        if found is not None:
            return found.start(), found.end(), True
        # the beginning of a delimiter may stand at the end
        sure = len(buffer) if final else max(0, len(buffer) - self.framing.width + 1)
        return sure, sure, final


@dataclass(frozen=True)
class Prefixed:
    """Records with their length in front."""

    def border(self, buffer: bytearray | bytes, searched: int) -> int:
        """Return the position behind the last whole record, 0 when there is none; ``searched`` is not needed."""
        end = 0
        while end + PREFIX_BYTES <= len(buffer):
            following = end + PREFIX_BYTES + int.from_bytes(buffer[end : end + PREFIX_BYTES], "big")
            if following > len(buffer):
                break
            end = following
        return end

    def split(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """Yield content start, content end and record end of each record."""
        start = 0
        while start < len(data):
            content = start + PREFIX_BYTES
            end = content + int.from_bytes(data[start:content], "big")
            yield content, end, end
            start = end

    def too_long(self, buffer: bytearray, limit: int) -> tuple[int, Skip] | None:
        """Return the bytes of the length, and what skips as many as it says, when these exceed the limit; else None."""
        length = int.from_bytes(buffer[:PREFIX_BYTES], "big")
        return (PREFIX_BYTES, _Counted(length)) if len(buffer) >= PREFIX_BYTES and length > limit else None

    def wrap(self, content: bytes, tail: bytes) -> bytes:
        """Return length and content."""
        return len(content).to_bytes(PREFIX_BYTES, "big") + content

    def unfinished(self, buffer: bytearray) -> bool:
        """Return True: bytes behind the last whole record are a torn one."""
        return True


@dataclass
class _Counted:
    left: int

    def step(self, buffer: bytearray, final: bool) -> tuple[int, int, bool]:
        here = min(self.left, len(buffer))
        self.left -= here
        return here, here, self.left == 0 or final


def delimited(delimiter: str) -> Delimited:
    """Return the framing for a delimiter: a name of `DELIMITERS`, or the text itself.

    Raises
    ------
    ConfigError
        When it is empty.
    """
    require(delimiter, "the delimiter is empty", f"give a text, or one of {', '.join(DELIMITERS)}")
    if delimiter == "blank-line":
        return Delimited(_BLANK_LINE, 3)
    literal = DELIMITERS.get(delimiter) or delimiter.encode("utf-8", "surrogateescape")
    return Delimited(re.compile(re.escape(literal)), len(literal), literal if len(literal) == 1 else b"")


def whole() -> Delimited:
    """Return the framing of an input that is one record."""
    return Delimited(_NEVER, 1)
