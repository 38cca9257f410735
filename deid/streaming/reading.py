"""Cuts an input into stretches of whole records, in bounded memory.

A record that exceeds the limit is passed over while it is read: only its offset, its length and its keyed hash stay.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from deid.base.errors import InputError
from deid.base.files import os_reason
from deid.base.keys import Key
from deid.streaming.framing import PREFIX_BYTES, Skip
from deid.streaming.letters import DeadLetter, RecordTooLong, RecordTruncated, record_mac
from deid.streaming.work import FilePlace, Reply, Request, Shape

if TYPE_CHECKING:
    from deid.streaming.people import Before, FeedPeople

HEAD_BYTES = 1 << 16
"""Bytes at the beginning of a stream that tell it from others."""
_BLOCK = 1 << 18
_STRETCH = 1 << 18


@dataclass(slots=True, eq=False)
class Stretch:
    """A piece of the input between two borders, and what became of it."""

    offset: int
    length: int
    data: bytes | None = field(default=None, repr=False)
    """Its bytes, unless workers read them from the file."""
    reply: Reply | None = field(default=None, repr=False)
    """What became of it; None until it is done."""
    before: Before | None = None
    """See `deid.streaming.work.Request.before`."""
    single: bool = False
    """Whether it is one record, cut out because a worker did not survive its neighbourhood."""
    deaths: int = 0
    """Workers that died with it alone in hand; one of them may have been killed for another reason."""

    def request(self, number: int, content: str, place: FilePlace | None) -> Request:
        """Return what a worker is asked.

        Parameters
        ----------
        number : int
            Number of the stretch.
        content : str
            What the records hold, as `Shape` says.
        place : FilePlace or None
            The file that the worker reads by itself; None where the bytes are sent.
        """
        return Request(number, self.offset, self.length, self.data, content, place, self.before)

    def fill(self, reply: Reply) -> None:
        """Take over a worker's answer."""
        self.reply, self.data = reply, None

    def give_up(self, letter: DeadLetter) -> None:
        """Leave the record out."""
        self.fill(Reply(0, b"", letters=(letter,)))


def singles(stretch: Stretch, data: bytes, shape: Shape) -> list[Stretch]:
    """Return a stretch for each record of a stretch.

    Parameters
    ----------
    stretch : Stretch
        Several whole records.
    data : bytes
        Their bytes.
    shape : Shape
        Tells where a record ends.
    """
    pieces = []
    begun = 0
    people = None
    if stretch.before is not None:
        from deid.streaming.people import FeedPeople

        people = FeedPeople(stretch.before)
    for start, end, after in shape.framing.split(data):
        own = data[begun:after] if stretch.data is not None else None
        before = None if people is None else people.before(data[start:end])
        pieces.append(Stretch(stretch.offset + begun, after - begun, own, before=before, single=True))
        if people is not None and end - start <= shape.max_record:
            people.add((data[start:end],))
        begun = after
    return pieces


class Reader:
    """Reads an input and hands it out in stretches.

    Parameters
    ----------
    descriptor : int
        Open for reading; the reader neither opens nor closes it.
    shape : Shape
    key : Key
        Key of the dead letters.
    offset : int
        Where in the input the descriptor stands, which must be a border.
    place : FilePlace, optional
        The file, when workers can read it by themselves.
    """

    def __init__(
        self, descriptor: int, shape: Shape, key: Key, *, offset: int = 0, place: FilePlace | None = None
    ) -> None:
        self.descriptor = descriptor
        self.shape = shape
        self.place = place
        self.offset = offset
        """Where the buffer starts in the input."""
        self.ended = False
        self.stopped = False
        self.head = bytearray()
        """The first bytes of the input, up to `HEAD_BYTES`, when it was read from its beginning."""
        self.people: FeedPeople | None = None
        """The persons of a feed of FHIR."""
        self.tap: Callable[[bytes], None] | None = None
        """Gets every block that is read."""
        self._key = key
        self._buffer = bytearray()
        self._searched = 0
        self._border = 0
        self._skip: _Skipping | None = None

    def wants(self) -> bool:
        """Tell whether more is to be read before the next stretch can be taken, or a full one."""
        searched_in_vain = self._border == 0 and self._searched == len(self._buffer)
        return not self.ended and (searched_in_vain or len(self._buffer) < _STRETCH)

    def pull(self) -> None:
        """Read what is there, at most a block; waits when nothing is.

        Raises
        ------
        InputError
            When the input cannot be read.
        """
        try:
            block = os.read(self.descriptor, _BLOCK)
        except BlockingIOError:
            return
        except OSError as error:
            raise InputError(f"the input cannot be read ({os_reason(error)})") from None
        if not block:
            self.ended = True
            return
        if self.tap is not None:
            self.tap(block)
        if self.offset + len(self._buffer) == len(self.head) and len(self.head) < HEAD_BYTES:
            self.head += block[: HEAD_BYTES - len(self.head)]
        self._buffer += block

    def beginning(self, limit: int) -> bytes:
        """Return up to ``limit`` of the input's first bytes, as many as are there, before anything was taken."""
        return os.pread(self.descriptor, limit, 0) if self.place is not None else bytes(self._buffer[:limit])

    def stop(self) -> None:
        """Read no more; what was read of a record without its end is left. At the end there is nothing to stop."""
        self.stopped = self.stopped or not self.ended
        self.ended = True

    def pass_on(self, end: int) -> None:
        """Take note again of the persons of a file up to a border."""
        assert self.people is not None
        with open(self.descriptor, "rb", closefd=False) as stream:
            stream.seek(0)
            held = b""
            while end and (block := stream.read(min(_BLOCK, end))):
                end -= len(block)
                held += block
                border = self.shape.framing.border(held, 0) if end else len(held)
                self.people.add_all(held[:border], self.shape.framing, self.shape.max_record)
                held = held[border:]

    def pass_over(self, count: int) -> int:
        """Drop up to ``count`` bytes of what was read, and return how many were."""
        dropped = min(count, len(self._buffer))
        self._drop(dropped)
        return dropped

    def take(self, *, full: bool) -> Stretch | None:
        """Return the next stretch, None when none can be cut yet.

        Parameters
        ----------
        full : bool
            Rather wait for a full one, because all workers are busy.
        """
        if self._skip is None:
            self._search()
            if self._border:
                size = self._border
                return None if full and self.wants() else self._cut(size)
            self._begin_skip()
        if self._skip is not None:
            return self._go_on_skipping()
        if self.ended and not self.stopped and self._buffer:
            return self._last()
        return None

    def _search(self) -> None:
        if self._searched < len(self._buffer):
            border = self.shape.framing.border(self._buffer, self._searched if not self._border else self._border)
            self._border = max(self._border, border)
            self._searched = len(self._buffer)

    def _cut(self, size: int) -> Stretch:
        data = None if self.place is not None and self.people is None else bytes(self._buffer[:size])
        stretch = Stretch(self.offset, size, data if self.place is None else None)
        if self.people is not None and data is not None:
            stretch.before = self.people.before(data)
            self.people.add_all(data, self.shape.framing, self.shape.max_record)
        self._drop(size)
        return stretch

    def _drop(self, size: int) -> None:
        del self._buffer[:size]
        self.offset += size
        self._searched = max(0, self._searched - size)
        self._border = 0

    def _begin_skip(self) -> None:
        found = self.shape.framing.too_long(self._buffer, self.shape.max_record)
        if found is not None:
            start, skip = found
            self._skip = _Skipping(skip, self.offset, self.offset + start, record_mac(self._key))
            self._drop(start)

    def _go_on_skipping(self) -> Stretch | None:
        assert self._skip is not None
        state = self._skip
        content, dropped, over = state.skip.step(self._buffer, self.ended)
        state.mac.update(self._buffer[:content])
        state.length += content
        self._drop(dropped)
        if not over or self.stopped:
            return None
        self._skip = None
        letter = DeadLetter.of(RecordTooLong(), state.content, state.length, state.mac)
        return Stretch(state.offset, self.offset - state.offset, reply=Reply(0, b"", letters=(letter,)))

    def _last(self) -> Stretch:
        """Return what stands behind the last border when the input has ended."""
        torn = self.shape.framing.unfinished(self._buffer)
        start = min(PREFIX_BYTES, len(self._buffer)) if torn else 0
        mac = record_mac(self._key, self._buffer[start:])
        length = len(self._buffer) - start
        stretch = self._cut(len(self._buffer))
        if torn:
            letter = DeadLetter.of(RecordTruncated(), stretch.offset + start, length, mac)
            stretch = replace(stretch, data=None, reply=Reply(0, b"", letters=(letter,)))
        return stretch


@dataclass(slots=True)
class _Skipping:
    skip: Skip
    offset: int
    """Where the record starts."""
    content: int
    """Where its content starts."""
    mac: hmac.HMAC
    length: int = 0
