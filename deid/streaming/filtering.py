"""The filter: records in, scrubbed records out, in order, with a bound on what is under way.

This process reads, keeps the order and writes; the workers of a `Crew` do the rest. It waits at one place, for all of
them, for input, and for a request to end; what cannot be handed out is not read, so a slow reader behind the filter
slows down the writer before it.
"""

from __future__ import annotations

import json
import os
import select
import stat
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, InputError
from deid.base.files import refused_as
from deid.base.keys import Key
from deid.base.pool import IN_HAND, Died, Done
from deid.io.csv_table import CSV
from deid.streaming.beginning import NAMES, begins_as, table_refused
from deid.streaming.crew import FeedRun
from deid.streaming.journal import Commit, Journal
from deid.streaming.letters import DeadLetter, RecordTimeout, WorkerDied, record_mac
from deid.streaming.reading import HEAD_BYTES, Reader, Stretch, singles
from deid.streaming.stopping import Stop
from deid.streaming.totals import Totals
from deid.streaming.work import FilePlace, Reply, Request, Shape, changed
from deid.streaming.writing import FeedSink, append_private, is_file, new_output, part_of, resumable_output, sync_folder

_UNDER_WAY = 4
"""Stretches a worker that may be under way, or wait for their turn to be written."""
_DEATHS = 2
"""Workers that may die with one record alone in hand until it is left out."""
_BEGINNING = 1 << 16
"""Bytes of an input that are looked at to tell what it is."""
_REPLAY = "give the same stream from its beginning, or name a new journal"


@dataclass(frozen=True, slots=True)
class Feed:
    """Where records come from and go to."""

    source: Path | None = None
    """None is standard input."""
    target: Path | None = None
    """None is standard output."""
    letters: Path | None = None
    """File for dead letters."""
    journal: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What decides about the output, beside the shape: a run with other options does not go on with the journal."""
    name: str = "the input"
    """What it is called to the user; no path, which may hold PHI."""

    def check(self) -> None:
        """Raise `ConfigError` when two of the files are the same one."""
        named = [p for p in (self.source, self.target, self.letters, self.journal) if p is not None]
        real = [p.resolve() for p in named if p.is_file() or not p.exists()]
        if len(set(real)) < len(real):
            raise ConfigError("two of the files are the same one", "input, output, dead letters and journal need four")


def filter_feed(feed: Feed, run: FeedRun) -> bool:
    """Filter one input into one output.

    Parameters
    ----------
    feed : Feed
        A named output is a new file, which is there when the whole input is done and not before; devices and pipes are
        written to as they are.
    run : FeedRun
        With `Shape.others`, the input's first bytes decide, and `Totals.note` is told when it is JSON. When stopped, a
        journal's run can go on, an output file without a journal vanishes.

    Returns
    -------
    bool
        Whether the input was used up; False when the run was stopped before.

    Raises
    ------
    InputError, OutputError
        When an input cannot be read or an output not written.
    ConfigError
        When the journal belongs to something else, or files collide.
    DeidError
        When workers cannot load what they need; nothing is read then.
    BrokenPipeError
        When nobody reads the output any more.
    """
    feed.check()
    shape, totals = run.shape, run.totals
    if shape.others and feed.source is not None and feed.source.suffix.lower() in CSV.suffixes:
        raise table_refused()
    run.crew.wait_ready()  # what cannot be loaded is told before anything is read, of a feed without records too
    with ExitStack() as stack:
        descriptor, place, status = _opened(feed.source)
        if feed.source is not None:
            stack.callback(os.close, descriptor)
        reader = Reader(descriptor, shape, run.key, place=place)
        if run.proof is not None and place is None:
            reader.tap = run.proof.read
        settled = _settled(reader, shape, run.stop)
        if settled is None:
            return False
        if settled in shape.others and totals.note is not None:
            what = NAMES[settled.content]
            totals.note(f"{feed.name} is taken for {what}, as it begins so; for text, name its format with --from")
        reader.shape = settled
        if settled.content in ("fhir", "fhir-resource"):
            from deid.streaming.people import FeedPeople  # what else this process needs is loaded in a moment

            reader.people = FeedPeople()
            if feed.source is not None and place is not None:
                reader.people.add_beside(feed.source, settled.max_record)
        work = _Work(replace(run, shape=settled))
        if feed.journal is None:
            work.letters = stack.enter_context(append_private(feed.letters)) if feed.letters else None
            stack.enter_context(suppress(_Abandoned))
            work.output, taken_back = stack.enter_context(new_output(feed.target))
            work.go(reader)
            if reader.stopped and taken_back:
                raise _Abandoned
        else:
            _go_on(feed, work, reader, status, stack)
    return not reader.stopped


def _settled(reader: Reader, shape: Shape, stop: Stop) -> Shape | None:
    """Return the shape that the input's first bytes speak for; None when a stop came before they did."""
    if not shape.others:
        return shape
    poll = _input_or_stop(reader, stop)
    while True:
        head = reader.beginning(_BEGINNING)
        content = begins_as(head, final=reader.ended or len(head) == _BEGINNING or reader.place is not None)
        if content is not None:
            return shape.settled(content)
        poll.poll()
        if stop.signal is not None:
            return None
        reader.pull()


def _input_or_stop(reader: Reader, stop: Stop) -> select.poll:
    poll = select.poll()
    for descriptor in (reader.descriptor, stop.descriptor):
        poll.register(descriptor, select.POLLIN)
    return poll


def _go_on(feed: Feed, work: _Work, reader: Reader, status: os.stat_result, stack: ExitStack) -> None:
    """Filter with a journal, from its beginning or from where it ends."""
    if (reader.place is None or not is_file(feed.target)) and work.shape.content != "json":
        raise ConfigError(
            "a journal for a pipe needs records with ids, by which those that came twice can be told",
            "use --from ndjson, or name IN and --output",
        )
    journal = stack.enter_context(_journal(feed, work.shape, work.key, reader.descriptor, status))
    work.resume(journal)
    last = journal.last
    if last.complete and is_file(feed.target) and feed.target.exists() and not part_of(feed.target).exists():
        return  # all was done, the last step included
    if feed.letters is not None:
        work.letters = stack.enter_context(append_private(feed.letters, last.letters if journal.resumed else None))
    _move_to(reader, last, work.key, work.stop)
    with resumable_output(feed.target, last.output) as work.output:
        work.go(reader)
        work.commit(reader, complete=not reader.stopped)
        if not reader.stopped and is_file(feed.target):
            part_of(feed.target).replace(feed.target)
            sync_folder(feed.target.parent)


class _Work:
    """One run over one input."""

    def __init__(self, run: FeedRun) -> None:
        self.crew = run.crew
        self.proof = run.proof
        self.shape = run.shape
        self.key = run.key
        self.totals = run.totals
        self.stop = run.stop
        self.output = FeedSink(-1)
        self.letters: FeedSink | None = None
        self.journal: Journal | None = None
        self._again: deque[Stretch] = deque()
        self._asked: dict[int, Stretch] = {}
        self._number = 0
        self._stopping = False

    def resume(self, journal: Journal) -> None:
        self.journal = journal
        if journal.resumed:
            self.totals.restore(journal.last.totals)

    def go(self, reader: Reader) -> None:
        """Work until the input ends, or a stop is requested and what was read is written."""
        if self.proof is not None:
            self.proof.begin_at()
        window: list[Stretch] = []  # in the input's order
        committed = self.totals.read
        try:
            while True:
                if self.stop.signal is not None and not self._stopping:
                    self._stopping = True
                    reader.stop()
                exhausted = self._hand_out(reader, window)
                done = 0
                while done < len(window) and window[done].reply is not None:
                    self._write(window[done])
                    done += 1
                del window[:done]
                if self.journal is not None and self.totals.read > committed and not self.journal.due():
                    self.commit(reader)
                    committed = self.totals.read
                if exhausted and not window:
                    return
                if not done:  # else there is room for more
                    self._wait(reader, window, dirty=self.totals.read > committed)
        finally:
            if self._asked:
                self.crew.forget()

    def commit(self, reader: Reader, *, complete: bool = False) -> None:
        """Put on the disk what was written, then note it in the journal."""
        assert self.journal is not None
        if self.output.descriptor >= 0 and stat.S_ISREG(os.fstat(self.output.descriptor).st_mode):
            self.output.sync()
        if self.letters is not None:
            self.letters.sync()
        head = _head(self.key, reader.head, self.totals.read) if reader.place is None else ""
        self.journal.commit(
            Commit(
                self.totals.read,
                self.output.position,
                self.letters.position if self.letters else 0,
                self.totals.as_dict(),
                head,
                complete,
            )
        )

    def _hand_out(self, reader: Reader, window: list[Stretch]) -> bool:
        """Give the workers what they can take; tell whether the input is used up."""
        while room := self.crew.room():
            if self._again:
                self._ask(self._again.popleft(), reader.place)
                continue
            if len(window) >= _UNDER_WAY * self.crew.jobs:
                return False
            stretch = reader.take(full=room < IN_HAND)
            if stretch is None:
                if not reader.wants():
                    return reader.ended
                if reader.place is None:
                    return False
                reader.pull()  # a file is always ready
                continue
            window.append(stretch)
            if stretch.reply is None:
                self._ask(stretch, reader.place)
        return False

    def _ask(self, stretch: Stretch, place: FilePlace | None) -> None:
        self._number += 1
        self._asked[self._number] = stretch
        self.crew.give(stretch.request(self._number, self.shape.content, place))

    def _wait(self, reader: Reader, window: list[Stretch], *, dirty: bool) -> None:
        poll = select.poll()
        calls: dict[int, Callable[[], Done[Request, Reply] | Died[Request] | None]] = dict(self.crew.sources())
        for descriptor in calls:
            poll.register(descriptor, select.POLLIN)
        if not self._stopping:
            poll.register(self.stop.descriptor, select.POLLIN)
        readable = reader.place is None and reader.wants() and len(window) < _UNDER_WAY * self.crew.jobs
        if readable:
            poll.register(reader.descriptor, select.POLLIN)
        if self.output.descriptor >= 0:
            poll.register(self.output.descriptor, 0)  # errors are always told: a reader that went away
        due = self.journal.due() if self.journal is not None and dirty else None
        for descriptor, event in poll.poll(None if due is None else 1 + 1000 * due):
            if descriptor in calls:
                answer = calls[descriptor]()
                if isinstance(answer, Done):
                    self._asked.pop(answer.request.number).fill(answer.answer)
                elif isinstance(answer, Died):
                    self._bury(answer, reader, window)
            elif readable and descriptor == reader.descriptor:
                reader.pull()
            elif descriptor == self.output.descriptor and event & select.POLLERR:
                raise BrokenPipeError

    def _bury(self, died: Died[Request], reader: Reader, window: list[Stretch]) -> None:
        """Try again what a dead worker had in hand, record by record; leave out the one that kills two more alone.

        Two, because somebody may kill all workers, one after the other: the second death is then none of its doing.
        """
        self.totals.restarts = self.crew.restarts
        for request in reversed(died.waiting):
            self._again.appendleft(self._asked.pop(request.number))
        if died.during is None:
            return
        stretch = self._asked.pop(died.during.number)
        data = _bytes_of(stretch, reader)
        if not stretch.single:
            pieces = singles(stretch, data, self.shape)
            place = window.index(stretch)
            window[place : place + 1] = pieces
            if not (died.timed_out and len(pieces) == 1):
                self._again.extendleft(reversed(pieces))
                return
            stretch = pieces[0]
        stretch.deaths += 1
        if stretch.deaths < _DEATHS and not died.timed_out:
            self._again.appendleft(stretch)
            return
        start, end, _ = next(iter(self.shape.framing.split(data)))
        error = RecordTimeout() if died.timed_out else WorkerDied()
        stretch.give_up(
            DeadLetter.of(error, stretch.offset + start, end - start, record_mac(self.key, data[start:end]))
        )

    def _write(self, stretch: Stretch) -> None:
        reply, totals = stretch.reply, self.totals
        assert reply is not None
        self.output.write(reply.output)
        if self.letters is not None and reply.letters:
            self.letters.write(b"".join(letter.line() for letter in reply.letters))
        if reply.records:
            totals.unmet = reply.unmet if totals.unmet is None else totals.unmet & reply.unmet
        totals.writings.met(reply.writings)
        if totals.drift is not None and reply.drift is not None:
            totals.drift.take("", reply.drift)
        totals.add(stretch.length, reply.output, reply.records, reply.letters, reply.spans)
        if self.proof is not None:
            self.proof.wrote(reply.output)


def _bytes_of(stretch: Stretch, reader: Reader) -> bytes:
    if stretch.data is not None:
        return stretch.data
    data = os.pread(reader.descriptor, stretch.length, stretch.offset)
    if len(data) < stretch.length:
        raise changed()
    return data


class _Abandoned(Exception):
    """A run was stopped that has no journal: its output file is taken back."""


def _opened(source: Path | None) -> tuple[int, FilePlace | None, os.stat_result]:
    """Open the input; a regular file has a place, from which workers read by themselves."""
    if source is None:
        return 0, None, os.fstat(0)
    with refused_as(InputError, "the input cannot be opened", "name a file that you may read"):
        descriptor = os.open(source, os.O_RDONLY)
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        os.close(descriptor)
        raise InputError("the input is a folder", "scrub folders with deid scrub, feeds of files with deid watch")
    regular = stat.S_ISREG(status.st_mode)
    place = FilePlace(str(source.resolve()), status.st_dev, status.st_ino) if regular else None
    return descriptor, place, status


@contextmanager
def _journal(feed: Feed, shape: Shape, key: Key, descriptor: int, status: os.stat_result) -> Iterator[Journal]:
    assert feed.journal is not None
    options = {**feed.options, **shape.fingerprint()}
    about: dict[str, Any] = {"options": key.mac(json.dumps(options, sort_keys=True)).hex()}
    if stat.S_ISREG(status.st_mode) and feed.source is not None:
        head = os.pread(descriptor, HEAD_BYTES, 0)
        about["input"] = [status.st_size, status.st_mtime_ns, _head(key, head, len(head))]
    else:
        about["input"] = "stream"  # what it begins with is known, and noted, as it comes
    letters = feed.letters.stat().st_size if feed.letters is not None and feed.letters.is_file() else 0
    journal = Journal(feed.journal, key, about, Commit(0, 0, letters, Totals().as_dict()))
    try:
        yield journal
    finally:
        journal.close()


def _head(key: Key, head: bytes | bytearray, read: int) -> str:
    """Return the length and keyed hash of an input's beginning, as far as it was read."""
    known = bytes(head[:read])
    return f"{len(known)}:{record_mac(key, known).hexdigest()}"


def _move_to(reader: Reader, last: Commit, key: Key, stop: Stop) -> None:
    """Bring a reader to where the journal says: a file is set there, of a stream what came again is dropped."""
    if reader.place is not None:
        if reader.people is not None:
            reader.pass_on(last.input)
        os.lseek(reader.descriptor, last.input, os.SEEK_SET)
        reader.offset = last.input
        return
    poll = _input_or_stop(reader, stop)
    left = last.input
    while left and stop.signal is None:
        poll.poll()
        if stop.signal is None:
            reader.pull()
        left -= reader.pass_over(left)
        if reader.ended and left:
            raise InputError("the stream ends before the place that the journal speaks of", _REPLAY)
    if last.input and stop.signal is None and _head(key, reader.head, last.input) != last.head:
        raise ConfigError("the journal belongs to another stream", _REPLAY)
