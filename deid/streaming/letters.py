"""Dead letters: which records could not be processed, without a word of what was in them.

A plain hash of a short record can be guessed ("John Smith, HIV positive"), so the hash is keyed: whoever holds the key
can find the record again, nobody else learns anything.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
import re
from dataclasses import dataclass

from deid.base.errors import DeidError, DetectionError, FormatError, OutputError
from deid.base.keys import Key

_PATH = re.compile(
    r"(?:[A-Z][A-Z0-9]{2}(?:\[\d+\])?-|segment )\d|line \d+, column \d+\Z"
    r"|[\w?]+(?:\[\d+\])*(?:\.[\w?]+(?:\[\d+\])*)*\Z"
    r"|[\w:]+(?:\[\d+\])?(?:/[@#?]?[\w:]*(?:\[\d+\])?)+\Z"
)


class RecordTooLong(FormatError):
    """A record that exceeds the limit."""

    def __init__(self) -> None:
        super().__init__("the record is too long", "raise --max-record")


class RecordTruncated(FormatError):
    """A last record that is shorter than its length says."""

    def __init__(self) -> None:
        super().__init__("the last record is shorter than its length says", "look whether its sender was cut off")


class RecordEmpty(FormatError):
    """A message with nothing in it."""

    def __init__(self) -> None:
        super().__init__("the message is empty", "look at its sender")


class ReceiverRefused(OutputError):
    """A message that its receiver did not accept."""

    def __init__(self) -> None:
        super().__init__("the receiver did not accept the message", "look at what the receiver notes")


class RecordTimeout(DetectionError):
    """A record that took longer than the limit."""

    def __init__(self) -> None:
        super().__init__("the record took too long", "raise --timeout, or look what is strange about the record")


class WorkerDied(DetectionError):
    """A record that its worker process did not survive."""

    def __init__(self) -> None:
        super().__init__(
            "a worker process died of the record, twice", "it may have run out of memory: use fewer --jobs"
        )


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that was left out."""

    offset: int
    """Where its content starts in the input, in bytes."""
    length: int
    """Bytes of its content, without delimiter or length prefix."""
    mac: str
    """Keyed HMAC-SHA256 of its content, in hex."""
    error: str
    """Class of the exception."""
    reason: str = ""
    """What was wrong, and what can be done: for the user's eyes, once a class, not in the file."""
    path: str = ""
    """Where in a record it was, as in ``OBX[2]-5``; of what is no XML, line and column."""

    @classmethod
    def of(cls, error: Exception, offset: int, length: int, mac: hmac.HMAC) -> DeadLetter:
        """Return the letter of a record that failed; its reason holds nothing of the record, and no place in it.

        Parameters
        ----------
        error : Exception
            Why it failed; only a `DeidError` is told in words.
        offset, length : int
            Bytes of the record in the input.
        mac : hmac.HMAC
            Keyed checksum of the record, which took in its bytes.
        """
        reason = "an error of deid; please report it"
        if isinstance(error, DeidError):
            reason = f"{error.what}. Hint: {error.hint}" if error.hint else error.what
        position = error.position if isinstance(error, DeidError) else ""
        path = position if _PATH.match(position) else ""
        return cls(offset, length, mac.hexdigest(), type(error).__name__, reason, path)

    def line(self) -> bytes:
        """Return the line of the dead-letter file."""
        values = {"offset": self.offset, "length": self.length, "hmac": self.mac, "error": self.error}
        return json.dumps(values | ({"path": self.path} if self.path else {})).encode() + b"\n"


def record_mac(key: Key, content: bytes | bytearray = b"") -> hmac.HMAC:
    """Return what the bytes of a record are fed to, for `DeadLetter.mac`; ``content`` is the first of them."""
    mac = _begun(key).copy()
    mac.update(content)
    return mac


@functools.lru_cache(maxsize=4)
def _begun(key: Key) -> hmac.HMAC:
    return hmac.new(key.derive("dead-letter").secret, digestmod=hashlib.sha256)
