"""A stream of lines in, a stream of lines out: however long, it needs the memory of a few stretches.

Lines are dealt with in stretches by the workers, a few at once, and their answers go out in order while others still
come in. Clients that read nothing before they have sent all are common; for them answers wait in a file without a name,
up to a limit, so that neither side waits for the other for ever.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import closing
from typing import Any

from deid.base.errors import FormatError
from deid.web.guard import Receive, Scope, Send

STRETCH = 16 << 10
"""Bytes of lines that are given to a worker at once; a longer line goes by itself."""
_IN_MEMORY = 1 << 20
_PIECE = 64 << 10
_UNREAD = 256 << 20


class LineStream:
    """The answer to a stream of lines; an ASGI application that reads the body by itself.

    Parameters
    ----------
    answer : callable
        Takes a stretch of whole lines and the number of its first line, from 1; returns what is written for them.
    media_type : str
        Of the answer.
    longest : int
        Bytes that a line may have.
    under_way : int
        Stretches that are dealt with at once.
    unread : int
        Bytes of answers that may wait for a client that does not read.
    patience : float
        Seconds to wait for a client that has sent all, and takes nothing.
    """

    def __init__(
        self,
        answer: Callable[[bytes, int], Awaitable[bytes]],
        media_type: str,
        *,
        longest: int,
        under_way: int,
        unread: int = _UNREAD,
        patience: float = 60.0,
    ) -> None:
        self._answer, self._media_type = answer, media_type
        self._longest, self._under_way, self._unread = longest, under_way, unread
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the stream.

        Raises
        ------
        FormatError
            When a line is too long.
        ConnectionError
            When the client went away, or does not take its answers.
        """
        came = asyncio.Event()
        asked: asyncio.Queue[asyncio.Task[bytes] | None] = asyncio.Queue(self._under_way)
        with closing(_Spool(self._unread)) as spool:
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._read(receive, asked, group, came))
                    group.create_task(_collect(asked, spool))
                    group.create_task(self._write(send, spool, came))
            except* Exception as errors:
                error: BaseException = errors
                while isinstance(error, BaseExceptionGroup):
                    error = error.exceptions[0]
                raise error from None

    async def _read(
        self,
        receive: Receive,
        asked: asyncio.Queue[asyncio.Task[bytes] | None],
        group: asyncio.TaskGroup,
        came: asyncio.Event,
    ) -> None:
        held, number, more = bytearray(), 1, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionResetError
            held += message.get("body", b"")
            more = message.get("more_body", False)
            while stretch := _cut(held, min(STRETCH, self._longest), last=not more):
                self._check(len(stretch))
                await asked.put(group.create_task(_awaited(self._answer, stretch, number)))
                number += stretch.count(b"\n")
            self._check(len(held))
        came.set()
        await asked.put(None)

    def _check(self, size: int) -> None:
        if size > self._longest:
            raise FormatError(f"a line has more than {self._longest} bytes", "cut it, or raise --max-body")

    async def _write(self, send: Send, spool: _Spool, came: asyncio.Event) -> None:
        start: MutableMapping[str, Any] = {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", self._media_type.encode())],
        }
        begun = False
        while (piece := await spool.take()) or not begun:
            if not begun:  # nothing before the first answer: until then a status can tell what is wrong
                await self._sent(send(start), came)
                begun = True
            if piece:
                await self._sent(send({"type": "http.response.body", "body": piece, "more_body": True}), came)
        await self._sent(send({"type": "http.response.body", "body": b""}), came)

    async def _sent(self, sending: Awaitable[None], came: asyncio.Event) -> None:
        """Wait until the client takes something, and for ever only while it sends: that has a limit of its own."""
        task = asyncio.ensure_future(sending)
        try:
            while not (await asyncio.wait([task], timeout=self._patience))[0]:
                if came.is_set():
                    raise ConnectionAbortedError
            task.result()
        finally:
            task.cancel()


async def _awaited(answer: Callable[[bytes, int], Awaitable[bytes]], lines: bytes, first: int) -> bytes:
    return await answer(lines, first)


async def _collect(asked: asyncio.Queue[asyncio.Task[bytes] | None], spool: _Spool) -> None:
    while (task := await asked.get()) is not None:
        spool.add(await task)
    spool.end()


def _cut(held: bytearray, size: int, *, last: bool) -> bytes:
    """Take whole lines of about a size away from what is held: at least one, if there is one."""
    end = held.rfind(b"\n", 0, size) + 1 or held.find(b"\n", size) + 1
    if not end and last:
        end = len(held)
    stretch = bytes(held[:end])
    del held[:end]
    return stretch


class _Spool:
    """Bytes that wait to be read: in memory, then in a file that has no name."""

    def __init__(self, most: int) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  (closed by `close`)
        self._most = most
        self._read = self._written = 0
        self._ended = False
        self._changed = asyncio.Event()

    def add(self, data: bytes) -> None:
        self._file.seek(self._written)
        self._file.write(data)
        self._written += len(data)
        if self._written - self._read > self._most:
            raise ConnectionAbortedError
        self._changed.set()

    def end(self) -> None:
        self._ended = True
        self._changed.set()

    async def take(self) -> bytes:
        """Return the next bytes, none at the end; waits for them."""
        while self._read == self._written:
            if self._ended:
                return b""
            self._changed.clear()
            await self._changed.wait()
        self._file.seek(self._read)
        piece = self._file.read(_PIECE)
        self._read += len(piece)
        if self._read == self._written:
            self._file.seek(0)
            self._file.truncate()
            self._read = self._written = 0
        return piece

    def close(self) -> None:
        self._file.close()
