"""Works on a stream of documents, in this process or in several, in order, one bad document at a time.

Each worker process has a pipe of its own and gets a few documents at a time. A window bounds how many are under way, so
memory does not grow with the number of documents. Workers are started with the method ``spawn``: nothing of the
parent's memory, threads or open files is in them. They end with their parent, whatever became of it, so no run leaves
orphans behind; Ctrl-C is the parent's business alone.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, TypeVar

from deid.base.errors import ConfigError, DeidError, DetectionError
from deid.document import Document, Failure

R = TypeVar("R")
Work = Callable[[Document], R]

_CHUNK_DOCUMENTS = 32
_CHUNK_CHARACTERS = 100_000
_WAITING = 3
"""Chunks a worker that may be under way or wait for their turn to be yielded."""


def process(work: Work[R], documents: Iterable[Document | Failure], jobs: int = 1) -> Iterator[R | Failure]:
    """Apply ``work`` to each document.

    Parameters
    ----------
    work : callable
        Gets a document. With more than one job it must be possible to send it to another process (to pickle it), and
        its method ``prepare``, if it has one, is called there once before the first document.
    documents : iterable of Document or Failure
        Failures are passed on.
    jobs : int
        Number of processes that work; 1 works in this process.

    Yields
    ------
    R or Failure
        In the order of the documents: the result, or what went wrong with this document.

    Raises
    ------
    ConfigError
        When ``work`` cannot be sent to other processes, or they cannot be started.
    """
    if jobs < 1:
        raise ConfigError("the number of jobs must be at least 1", "such as --jobs 2")
    if jobs == 1:
        return _in_turn(work, documents)
    try:
        sent = pickle.dumps(work)
    except (pickle.PicklingError, TypeError, AttributeError):
        raise ConfigError(
            "this pipeline cannot be sent to other processes",
            "use one job, or a recognizer that can be pickled",
        ) from None
    return _Pool(sent, jobs).run(iter(documents))


@dataclass(frozen=True)
class Timed(Generic[R]):
    """Work that gives a document up when it takes too long, so that none holds up the rest of a run."""

    work: Work[R]
    seconds: float
    """0: any time."""

    def prepare(self) -> None:
        """Load what is loaded on first use."""
        getattr(self.work, "prepare", lambda: None)()

    def __call__(self, document: Document) -> R:
        """Work on a document.

        Raises
        ------
        DetectionError
            When it takes longer. (Signals reach the main thread alone: in another thread there is no limit.)
        """
        if not self.seconds or threading.current_thread() is not threading.main_thread():
            return self.work(document)
        before = signal.signal(signal.SIGALRM, self._over)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        try:
            return self.work(document)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _over(self, number: int, frame: object) -> None:
        raise DetectionError(f"it took longer than {self.seconds:g} s", "split the document, or raise --timeout")


def failure_of(document: Document, error: Exception) -> Failure:
    """Return the failure that stands for a document; of unknown errors only the kind and place are kept."""
    if isinstance(error, DeidError):
        known = error.at(document.name)
    else:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
        known = DetectionError(
            f"internal error {type(error).__name__}{place}",
            "the document was left out; please report this",
            document.name,
        )
    # frames and causes would keep the document's text alive, and show it to whoever prints them
    known.__traceback__ = known.__context__ = known.__cause__ = None
    return Failure(document.name, known, document.index, document.id)


def _attempt(work: Work[R], document: Document) -> R | Failure:
    try:
        return work(document)
    except Exception as error:
        return failure_of(document, error)


def _in_turn(work: Work[R], documents: Iterable[Document | Failure]) -> Iterator[R | Failure]:
    for document in documents:
        yield document if isinstance(document, Failure) else _attempt(work, document)


def _serve(connection: Connection, sent: bytes) -> None:
    """Work in a child process until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            work = pickle.loads(sent)  # noqa: S301  (from our own parent process)
            getattr(work, "prepare", lambda: None)()
        except DeidError as error:
            connection.send(error)
            return
        connection.send(None)
        while True:
            connection.send([_attempt(work, document) for document in connection.recv()])


def _follow_parent() -> None:
    """End this process with its parent, even in the middle of a long document."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@dataclass(slots=True)
class _Chunk(Generic[R]):
    """A few items of the stream; ``results`` has a place for each."""

    items: list[Document | Failure]
    results: list[R | Failure | None] = field(default_factory=list)

    def documents(self) -> list[Document]:
        return [item for item in self.items if isinstance(item, Document)]

    def fill(self, results: Sequence[R | Failure]) -> None:
        ready = iter(results)
        self.results = [item if isinstance(item, Failure) else next(ready) for item in self.items]
        self.items = []


def _chunks(documents: Iterator[Document | Failure]) -> Iterator[_Chunk[Any]]:
    items: list[Document | Failure] = []
    size = 0
    for item in documents:
        items.append(item)
        size += len(item.text) if isinstance(item, Document) else 0
        if len(items) >= _CHUNK_DOCUMENTS or size >= _CHUNK_CHARACTERS:
            yield _Chunk(items)
            items, size = [], 0
    if items:
        yield _Chunk(items)


@dataclass(slots=True)
class _Worker:
    """A child process, its pipe, and what it is working on."""

    child: SpawnProcess
    connection: Connection
    chunk: _Chunk[Any] | None = None


def _killer(document: Document) -> Failure:
    """Return the failure of a document that its worker did not survive."""
    hint = "it may have run out of memory: split the document, or use fewer jobs"
    return failure_of(document, DetectionError("the process that worked on it died", hint, document.name))


class _Pool(Generic[R]):
    def __init__(self, sent: bytes, jobs: int) -> None:
        self.sent = sent
        self.jobs = jobs
        self.context = multiprocessing.get_context("spawn")
        self.workers: list[_Worker] = []

    def run(self, documents: Iterator[Document | Failure]) -> Iterator[R | Failure]:
        try:
            self.workers = self.start(self.jobs)
            yield from self.in_order(_chunks(documents))
        finally:
            self.stop(self.workers)

    def start(self, count: int) -> list[_Worker]:
        """Start workers and wait until they have loaded what they need."""
        workers = []
        for _ in range(count):
            ours, theirs = self.context.Pipe()
            child = self.context.Process(target=_serve, args=(theirs, self.sent), daemon=True)
            child.start()
            theirs.close()  # so that our end sees the child's death
            workers.append(_Worker(child, ours))
        for worker in workers:
            try:
                error = worker.connection.recv()
            except EOFError:
                error = ConfigError(
                    "a worker process could not start",
                    'use one job; in a script, call it below: if __name__ == "__main__":',
                )
            if error is not None:
                self.stop(workers)
                raise error
        return workers

    def stop(self, workers: list[_Worker]) -> None:
        for worker in workers:
            worker.connection.close()
            worker.child.terminate()
        for worker in workers:
            worker.child.join(2)
            if worker.child.is_alive():
                worker.child.kill()
                worker.child.join()

    def in_order(self, chunks: Iterator[_Chunk[R]]) -> Iterator[R | Failure]:
        waiting: list[_Chunk[R]] = []  # handed out, oldest first; at most _WAITING a worker
        more = True
        while more or waiting:
            for worker in self.workers:
                if worker.chunk is None and more and len(waiting) < _WAITING * self.jobs:
                    chunk = next(chunks, None)
                    more = chunk is not None
                    if chunk is not None:
                        waiting.append(chunk)
                        self.hand_out(worker, chunk)
            while waiting and not waiting[0].items:
                yield from waiting.pop(0).results  # type: ignore[misc]  # filled: no place is empty
            busy = {worker.connection: worker for worker in self.workers if worker.chunk is not None}
            for ready in wait(list(busy)) if busy else ():
                self.take_back(busy[ready])  # type: ignore[index]  # ready is one of ours

    def hand_out(self, worker: _Worker, chunk: _Chunk[R]) -> None:
        documents = chunk.documents()
        if not documents:
            chunk.fill([])
            return
        worker.chunk = chunk
        # a worker that died is noticed when its pipe is read
        with suppress(BrokenPipeError, ConnectionResetError):
            worker.connection.send(documents)

    def take_back(self, worker: _Worker) -> None:
        chunk, worker.chunk = worker.chunk, None
        if chunk is None:
            return
        try:
            results = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self.renew(worker)
            documents = chunk.documents()
            # one of them killed the worker: which one shows when each is worked on by itself
            results = [self.alone(worker, d) for d in documents] if len(documents) > 1 else [_killer(documents[0])]
        chunk.fill(results)

    def alone(self, worker: _Worker, document: Document) -> R | Failure:
        try:
            worker.connection.send([document])
            result: R | Failure = worker.connection.recv()[0]
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.renew(worker)
            return _killer(document)
        return result

    def renew(self, worker: _Worker) -> None:
        self.stop([worker])
        fresh = self.start(1)[0]
        worker.child, worker.connection = fresh.child, fresh.connection
