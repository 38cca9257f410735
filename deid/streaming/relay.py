"""A relay of HL7 v2 messages over MLLP: scrubbed as they come, acknowledged once they are safe.

An event loop owns every connection, workers scrub. Of a connection one message is under way, so its order is kept. Safe
is what a folder's file and the journal have on the disk, all connections' messages of a moment in one step
(`Keeper`), or what the receiver downstream has acknowledged (`Downstream`). A message that comes again, because its
acknowledgement was lost, is known by the keyed hash of its bytes, and acknowledged again. What is not safe is not
acknowledged, so its sender still has it: whatever ends the relay, nothing is lost.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from deid.base.async_pool import AsyncPool, WorkerLost
from deid.base.errors import ConfigError, DetectionError, OutputError, told_as
from deid.base.keys import Key
from deid.base.network import Address
from deid.streaming.crew import FeedRun
from deid.streaming.journal import Commit, Journal
from deid.streaming.keeping import Keeper, Kept, Segments
from deid.streaming.letters import (
    DeadLetter,
    ReceiverRefused,
    RecordEmpty,
    RecordTimeout,
    RecordTooLong,
    WorkerDied,
    record_mac,
)
from deid.streaming.mllp import VT, Frame, Frames, MessageHeader, framed, outcome_of
from deid.streaming.proof import daily
from deid.streaming.totals import Totals
from deid.streaming.work import Reply, Request
from deid.streaming.writing import alone, append_private

_CHUNK = 1 << 16
_TORN = 0.5
"""Seconds after which an FS that nothing follows is taken for the end of a message."""
_LARGE = 1 << 20
_LARGE_AT_ONCE = 4
"""Messages above `_LARGE` bytes that are held at once; others wait unread in their senders' sockets."""
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 15.0
"""Seconds between attempts to reach the receiver: doubled each time."""
_IDENTITY = 24
"""Hexadecimal digits by which a message is known."""


def sender_of(message: bytes) -> str:
    """Return who sends a message: application and facility, MSH-3 and MSH-4."""
    head = message[:_CHUNK].partition(b"\r")[0]
    return b"|".join(head.split(head[3:4] or b"|")[2:4]).decode("latin-1")


@dataclass(frozen=True, slots=True)
class Relay:
    """What a relay does."""

    listen: Address
    forward: Address | None = None
    """Receiver downstream."""
    folder: Path | None = None
    """Folder of the output, where there is none."""
    journal: Path | None = None
    letters: Path | None = None
    max_message: int = 64 << 20
    """Bytes of a message."""
    rotate: int = 64 << 20
    """Bytes of an output file with which it is complete."""
    idle: float | None = None
    """Seconds after which a connection is closed on which nothing comes."""
    patience: float = 30.0
    """Seconds to wait for the receiver's answer, and for what is under way at the end."""
    connections: int = 1000
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    forward_tls: ssl.SSLContext | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse an output that is none, or two."""
        if (self.forward is None) == (self.folder is None):
            raise ConfigError("there must be one place for the messages", "give --forward or --output, one of them")


class Downstream:
    """The receiver, as one connection's messages reach it: one after the other, again until it answers.

    Parameters
    ----------
    relay : Relay
    totals : Totals
        Told while the receiver is away.
    """

    def __init__(self, relay: Relay, totals: Totals) -> None:
        self._relay = relay
        self._totals = totals
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._frames = Frames(relay.max_message)

    async def deliver(self, message: bytes) -> str:
        """Send a message until the receiver answers; return the outcome."""
        wait = _FIRST_WAIT
        while True:
            try:
                return await asyncio.wait_for(self._ask(message), self._relay.patience)
            except (OSError, TimeoutError, EOFError):
                self.close()
            if wait == _FIRST_WAIT and self._totals.tell is not None:
                self._totals.tell(f"{self._relay.forward} does not answer: messages wait, and are sent again")
            self._totals.gauges["receivers_away"] += 1
            try:
                await asyncio.sleep(wait)
            finally:
                self._totals.gauges["receivers_away"] -= 1
            wait = min(2 * wait, _LONGEST_WAIT)

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    async def _ask(self, message: bytes) -> str:
        if self._streams is None:
            there = self._relay.forward
            assert there is not None
            self._streams = await asyncio.open_connection(there.host, there.port, ssl=self._relay.forward_tls)
            self._frames = Frames(self._relay.max_message)
            _keep_alive(self._streams[1])
        reader, writer = self._streams
        writer.write(message)
        await writer.drain()
        head = MessageHeader.of(message)
        if head.answer("accepted") is None:
            return "accepted"  # the message says that nobody is to answer
        while True:
            answer = self._frames.next() or self._frames.end()
            if answer is None:
                data = await reader.read(_CHUNK)
                if not data:
                    raise EOFError
                self._frames.feed(data)
                continue
            about, outcome = outcome_of(answer.content)
            if about == head.control or not head.control:  # else it is late, and about another message
                return outcome


class _Server:
    def __init__(self, relay: Relay, key: Key, totals: Totals, keeper: Keeper, workers: AsyncPool[Request, Reply]):
        self._relay = relay
        self._totals = totals
        self._keeper = keeper
        self._workers = workers
        self._key = key
        self._offset = totals.read
        self._number = 0
        self._under_way: dict[str, asyncio.Future[str]] = {}
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self._tasks: dict[asyncio.Task[None], bool] = {}
        """Of each connection, whether a message of its is under way."""
        self._stopping = False
        self._sent: tuple[str | None, bytes] | None = None
        """Who the last message was that was sent on, and the number that it left with."""
        self._alike = False
        totals.gauges |= {"connections": 0, "duplicates": 0, "stray_bytes": 0}
        if relay.forward is not None:
            totals.gauges["receivers_away"] = 0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self._stopping or len(self._tasks) >= self._relay.connections:
            writer.transport.abort()
            return
        self._tasks[task] = False
        self._totals.gauges["connections"] = len(self._tasks)
        downstream = Downstream(self._relay, self._totals) if self._relay.forward is not None else None
        try:
            await self._serve(task, reader, writer, downstream)
        except (OSError, asyncio.CancelledError):
            pass  # the sender has gone, or the relay ends; what was not acknowledged the sender has
        finally:
            del self._tasks[task]
            self._totals.gauges["connections"] = len(self._tasks)
            if downstream is not None:
                downstream.close()
            writer.close()

    async def end(self) -> None:
        """Let messages that are under way become safe, then end all connections."""
        self._stopping = True
        for task, busy in list(self._tasks.items()):
            if not busy:
                task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=self._relay.patience)
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=1)

    async def _serve(
        self,
        task: asyncio.Task[None],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        downstream: Downstream | None,
    ) -> None:
        _keep_alive(writer)
        frames = Frames(self._relay.max_message)
        holding = False
        try:
            while not self._stopping:
                frame = frames.next()
                if frame is None:
                    if frames.held > _LARGE and not holding:
                        await self._large.acquire()
                        holding = True
                    frame = await self._more(reader, frames)
                    if frame is None and reader.at_eof():
                        return
                if frame is None:
                    continue
                self._tasks[task] = True
                answer = await self._answered(frame, downstream)
                if holding:
                    self._large.release()
                    holding = False
                if answer is not None:
                    writer.write(framed(answer))
                    await writer.drain()
                self._tasks[task] = False
        finally:
            self._totals.gauges["stray_bytes"] += frames.stray
            if holding:
                self._large.release()

    async def _more(self, reader: asyncio.StreamReader, frames: Frames) -> Frame | None:
        """Read on; return a message whose end the sender has torn, when nothing more comes."""
        torn = frames.may_have_ended
        try:
            data = await asyncio.wait_for(reader.read(_CHUNK), _TORN if torn else self._relay.idle)
        except TimeoutError:
            if torn:
                return frames.end()
            raise ConnectionError from None
        frames.feed(data)
        return frames.end() if torn and not data else None

    async def _answered(self, frame: Frame, downstream: Downstream | None) -> bytes | None:
        head = MessageHeader.of(frame.content)
        offset, self._offset = self._offset, self._offset + frame.length
        if frame.length > self._relay.max_message:
            return head.answer("rejected", await self._left_out(RecordTooLong(), frame, offset))
        identity = record_mac(self._key, frame.content).hexdigest()[:_IDENTITY] if head.control else None
        if identity is None:
            return head.answer(*await self._processed(frame, offset, None, downstream))
        if identity in self._keeper.known:
            self._totals.gauges["duplicates"] += 1
            return head.answer("accepted")
        if identity in self._under_way:  # its sender has lost patience, or the connection
            self._totals.gauges["duplicates"] += 1
            outcome = await asyncio.shield(self._under_way[identity])
            return head.answer(outcome)
        future = self._under_way[identity] = asyncio.get_running_loop().create_future()
        try:
            outcome, why = await self._processed(frame, offset, identity, downstream)
            future.set_result(outcome)
        finally:
            del self._under_way[identity]
            future.cancel()
        return head.answer(outcome, why)

    async def _processed(
        self, frame: Frame, offset: int, identity: str | None, downstream: Downstream | None
    ) -> tuple[str, str]:
        """Scrub a message and make it safe; return the outcome, and why it was not accepted."""
        try:
            reply = await self._scrubbed(framed(frame.content), offset)
        except DetectionError as error:
            return "error", await self._left_out(error, frame, offset)
        if reply.letters:
            # a message that fails in part does not go on in part: nobody would know
            await self._keeper.note(Kept(letters=reply.letters, length=frame.length, message=frame.content))
            return "rejected", f"{reply.letters[0].error} {reply.letters[0].path}".strip()
        if not reply.records:
            return "rejected", await self._left_out(RecordEmpty(), frame, offset)
        item = Kept(reply.output, (), frame.length, frame.content, reply.records, Counter(reply.spans), identity)
        if downstream is not None:
            self._compare(identity, reply.output)
            outcome = await downstream.deliver(reply.output)
            if outcome != "accepted":
                return outcome, await self._left_out(ReceiverRefused(), frame, offset)
        await self._keeper.note(item)
        self._totals.writings.met(reply.writings)
        if self._totals.drift is not None and reply.drift is not None:
            self._totals.drift.take(sender_of(frame.content), reply.drift)
        return "accepted", ""

    def _compare(self, identity: str | None, output: bytes) -> None:
        """Tell, once, when another message has the number of the one before: a receiver may take it for that one."""
        before, self._sent = self._sent, (identity, MessageHeader.of(output).control)
        if identity is None or before is None or before[0] == identity or before[1] != self._sent[1]:
            return
        if not self._alike and self._totals.tell is not None:
            self._alike = True
            self._totals.tell(
                "messages leave with the same number (MSH-10), so that a receiver may take them for one that came "
                "again: take a policy that writes pseudonyms of numbers (surrogate)"
            )

    async def _scrubbed(self, data: bytes, offset: int) -> Reply:
        """Have a worker scrub a message, and another one where it dies of it.

        Raises
        ------
        DetectionError
            When the time was up, or the second worker died as well.
        """
        for last in (False, True):
            self._number += 1
            try:
                return await self._workers.ask(Request(self._number, offset, len(data), data, "hl7v2"))
            except WorkerLost as error:
                self._totals.restarts += 1
                if error.timed_out:
                    raise RecordTimeout from None
                if last:
                    raise WorkerDied from None
        raise AssertionError

    async def _left_out(self, error: Exception, frame: Frame, offset: int) -> str:
        """Note a message that does not go on; return the class of the error."""
        letter = DeadLetter.of(error, offset, frame.length, record_mac(self._key, VT + frame.content))
        await self._keeper.note(Kept(letters=(letter,), length=frame.length, message=frame.content))
        return letter.error


def run_relay(relay: Relay, given: FeedRun, ready: Callable[[Address], object]) -> None:
    """Relay messages until a stop is requested.

    Parameters
    ----------
    relay : Relay
    given : FeedRun
        Manifests are written when it begins, when a day ends (UTC), and when it does.
    ready : callable
        Called with the address when messages can come.

    Raises
    ------
    ConfigError
        When the address cannot be listened on, or the journal belongs to something else.
    OutputError
        When the output cannot be written; what is not on the disk was not acknowledged.
    DeidError
        When workers cannot load what they need.
    """

    totals, proof = given.totals, given.proof

    async def run() -> None:
        loop = asyncio.get_running_loop()
        with ExitStack() as stack:
            if relay.folder is not None:
                with told_as(OutputError("the folder cannot be made", "name a folder where you may write"), OSError):
                    relay.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                stack.enter_context(alone(relay.folder))
            journal = _journal(relay, given.key)
            segments, committed = None, None
            if journal is not None:
                stack.callback(journal.close)
                last = journal.last
                if journal.resumed:
                    totals.restore(last.totals)
                    committed = last.letters
                if relay.folder is not None:
                    segments = Segments(relay.folder, relay.rotate, int(last.totals["segment"]), last.output)
            letters = stack.enter_context(append_private(relay.letters, committed)) if relay.letters else None
            if proof is not None:
                proof.open()
            keeper = Keeper(totals, segments, journal, letters, proof)
            workers = AsyncPool(given.crew)
            stack.callback(workers.close)
            server = _Server(relay, given.key, totals, keeper, workers)
            stopped = asyncio.Event()
            loop.add_reader(given.stop.descriptor, stopped.set)
            stack.callback(loop.remove_reader, given.stop.descriptor)
            listening = await _listening(relay, server)
            stack.callback(listening.close)
            keeping = asyncio.create_task(keeper.run())
            waiting = asyncio.create_task(stopped.wait())
            turning = asyncio.create_task(daily(keeper.turn))
            ends: set[asyncio.Future[Any]] = {keeping, waiting, workers.broken}
            try:
                ready(Address(relay.listen.host, listening.sockets[0].getsockname()[1]))
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                listening.close()
                if waiting.done():
                    await server.end()
            finally:
                waiting.cancel()
                turning.cancel()
                keeping.cancel()
                with suppress(asyncio.CancelledError):
                    await keeping  # raises what it failed of
            if workers.broken.done():
                await workers.broken
            keeper.finish()

    given.crew.wait_ready()  # what cannot be loaded is told before anybody may send
    asyncio.run(run())
    if proof is not None:
        proof.finish(None, None, complete=True)


async def _listening(relay: Relay, server: _Server) -> asyncio.Server:
    wrong = ConfigError(f"{relay.listen} cannot be listened on", "name another port, or an address of this machine")
    with told_as(wrong, OSError, UnicodeError):
        return await asyncio.start_server(
            server.connected, relay.listen.host, relay.listen.port, ssl=relay.tls, backlog=1024, limit=_CHUNK
        )


def _journal(relay: Relay, key: Key) -> Journal | None:
    place = relay.journal
    if place is None and relay.folder is not None:
        place = relay.folder / ".deid-journal"
    if place is None:
        return None
    if relay.folder is not None and not (place.is_file() and place.stat().st_size):
        Segments.check_none_unfinished(relay.folder)
    letters = relay.letters.stat().st_size if relay.letters is not None and relay.letters.is_file() else 0
    # files of an earlier journal are none of this one's
    number = Segments.next_number(relay.folder) if relay.folder is not None else 0
    first = Commit(0, 0, letters, {**Totals().as_dict(), "segment": number})
    about = {"input": "relay", "options": str(relay.forward is None)}
    return Journal(place, key, about, first, partial(Segments.has, relay.folder) if relay.folder else None)


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    """Have the system ask, on a connection where nothing comes for long, whether the other end is still there."""
    peer = writer.get_extra_info("socket")
    if peer is not None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
