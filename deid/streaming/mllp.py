"""The minimal lower layer protocol (MLLP) of HL7 v2: a message between VT and FS CR, and what is answered to it.

Bytes alone are looked at, and of a message its header segment alone.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

VT, FS, END = b"\x0b", b"\x1c", b"\x1c\r"
_HEAD_BYTES = 4096
"""A header segment is looked for in so many bytes."""
_OUTCOMES = {"accepted": "A", "error": "E", "rejected": "R"}
_SIGNS = b"^~\\&"
_AGAIN = -2


def framed(message: bytes) -> bytes:
    """Return a message as it goes over the line."""
    return b"".join((VT, message, END))


@dataclass(frozen=True, slots=True)
class Frame:
    """A message as it came."""

    content: bytes = field(repr=False)
    """What stood between VT and FS; the beginning of it where it was too long."""
    length: int
    """Bytes that stood there."""


class Frames:
    """Takes bytes as they come, and cuts messages out of them.

    What stands before a VT is no message's. A VT inside of one says that its sender began anew: what came before is
    dropped, and was never acknowledged. An FS ends a message that CR or VT follows; whether one that nothing follows
    does, who waits for more decides (`end`).

    Parameters
    ----------
    limit : int
        Bytes that a message may have; of a longer one the beginning alone is held.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._inside = False
        self._passed = 0
        """Bytes of a message that is too long, beyond those that are held."""
        self.stray = 0
        """Bytes outside of messages, line ends apart, and of messages that were begun anew."""

    @property
    def held(self) -> int:
        """Bytes that are held."""
        return len(self._buffer)

    @property
    def begun(self) -> bool:
        """Whether a message has begun and not ended."""
        return self._inside

    @property
    def may_have_ended(self) -> bool:
        """Whether the last byte is an FS that nothing follows."""
        return self._inside and self._buffer.endswith(FS)

    def feed(self, data: bytes) -> None:
        """Take what came."""
        self._buffer += data

    def next(self) -> Frame | None:
        """Return the next whole message; None when more bytes are needed."""
        while True:
            if not self._inside and not self._begin():
                return None
            end, width = self._end()
            if end >= 0:
                return self._cut(end, width)
            if end == _AGAIN:
                continue
            if len(self._buffer) > self._limit:
                self._skip()
            return None

    def end(self) -> Frame | None:
        """Return the message that ends with an FS that nothing follows, if there is one."""
        return self._cut(len(self._buffer) - 1, 1) if self.may_have_ended else None

    def _begin(self) -> bool:
        start = self._buffer.find(VT)
        outside = bytes(self._buffer if start < 0 else self._buffer[:start])
        self.stray += len(outside.strip(b"\r\n"))
        if start < 0:
            self._buffer.clear()
            return False
        del self._buffer[: start + 1]
        self._inside, self._searched, self._passed = True, 0, 0
        return True

    def _end(self) -> tuple[int, int]:
        """Return where the message ends and how wide its end is; -1 where it does not yet, `_AGAIN` where it began
        anew.
        """
        buffer, at = self._buffer, self._searched
        while True:
            end = buffer.find(FS, at)
            again = buffer.find(VT, self._searched, end if end >= 0 else len(buffer))
            if again >= 0:
                self.stray += again + self._passed
                del buffer[: again + 1]
                self._searched = self._passed = 0
                return _AGAIN, 0
            after = buffer[end + 1 : end + 2] if end >= 0 else b""
            if end < 0 or not after:
                self._searched = len(buffer) if end < 0 else end
                return -1, 0
            if after in (b"\r", VT):
                return end, 2 if after == b"\r" else 1
            at = end + 1

    def _cut(self, end: int, width: int) -> Frame:
        content = bytes(self._buffer[:end])
        del self._buffer[: end + width]
        self._inside = False
        length = len(content) + self._passed
        return Frame(content[:_HEAD_BYTES] if length > self._limit else content, length)

    def _skip(self) -> None:
        """Hold the beginning of a message that is too long, and the last byte, which may be an FS."""
        last = self._buffer[-1:]
        kept = self._buffer[: min(_HEAD_BYTES, len(self._buffer) - 1)]
        self._passed += len(self._buffer) - len(kept) - 1
        self._buffer = bytearray(kept + last)
        self._searched = len(kept)


@dataclass(frozen=True, slots=True)
class MessageHeader:
    """The header segment of a message, as bytes; all empty where there is none."""

    separator: bytes = b"|"
    fields: Mapping[int, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, content: bytes) -> MessageHeader:
        """Return the header of a message."""
        begun = content[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf\r\n\x0b\x1c ")
        line = begun.replace(b"\n", b"\r").partition(b"\r")[0]
        separator = line[3:4]
        if not line.startswith(b"MSH") or not separator or separator.isalnum() or separator.isspace():
            return cls()
        return cls(separator, dict(enumerate(line.split(separator), 1)))

    def __getitem__(self, number: int) -> bytes:
        return self.fields.get(number, b"")

    @property
    def control(self) -> bytes:
        """The message's own id (MSH-10)."""
        return self[10]

    def answer(self, outcome: str, why: str = "") -> bytes | None:
        """Return what is answered to the message; None where its sender wants no answer.

        In the original mode that is AA, AE or AR. In enhanced mode (MSH-15 or MSH-16 is there) it is CA, CE or CR where
        MSH-15 asks for it, else AA, AE or AR where MSH-16 does.

        Parameters
        ----------
        outcome : {'accepted', 'error', 'rejected'}
            Whether it is safe; whether to send it again makes sense.
        why : str
            No text of the message.
        """
        letter = _OUTCOMES[outcome]
        code = f"A{letter}"
        if self[15] or self[16]:
            asked = [first for first, said in (("C", self[15]), ("A", self[16])) if _wants(said, outcome)]
            if not asked:
                return None
            code = f"{asked[0]}{letter}"
        separator, signs = self.separator, self[2] or _SIGNS
        kind = self[9].split(signs[:1])
        said = [
            b"MSH",
            signs,
            *(self[number] for number in (5, 6, 3, 4)),
            datetime.datetime.now().strftime("%Y%m%d%H%M%S").encode(),
            b"",
            signs[:1].join((b"ACK", kind[1], b"ACK") if len(kind) > 1 and kind[1] else (b"ACK",)),
            self.control,
            self[11] or b"P",
            self[12] or b"2.5.1",
        ]
        if self[18]:  # what is quoted from the message is in its character set
            said += [b""] * (17 - len(said)) + [self[18]]
        about = [b"MSA", code.encode(), self.control, *([why.encode("ascii", "replace")] if why else [])]
        return separator.join(said) + b"\r" + separator.join(about) + b"\r"


def _wants(said: bytes, outcome: str) -> bool:
    """Tell whether a condition of MSH-15 or MSH-16 asks for an answer."""
    return {b"": False, b"NE": False, b"ER": outcome != "accepted", b"SU": outcome == "accepted"}.get(said, True)


def outcome_of(answer: bytes) -> tuple[bytes, str]:
    """Return the id of the message that an answer is about, and its outcome."""
    head = MessageHeader.of(answer)
    for line in answer.replace(b"\n", b"\r").split(b"\r"):
        parts = line.split(head.separator)
        if parts[0].strip() == b"MSA" and len(parts) > 1:
            outcomes = {letter.encode(): outcome for outcome, letter in _OUTCOMES.items()}
            return parts[2] if len(parts) > 2 else b"", outcomes.get(parts[1][1:2], "error")
    return b"", "error"
