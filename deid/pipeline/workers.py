"""Works on a stream of documents, in this process or in several, in order, one bad document at a time.

A worker process gets a few documents at a time (`deid.base.pool.Pool`). A window bounds how many are under way, so that
memory does not grow with the number of documents.
"""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from deid.base.errors import DetectionError, require
from deid.base.pool import Pool
from deid.document import Document, Failure, failure_of

R = TypeVar("R")
Work = Callable[[Document], R]

_CHUNK_DOCUMENTS = 32
_CHUNK_CHARACTERS = 100_000


def process(work: Work[R], documents: Iterable[Document | Failure], jobs: int = 1) -> Iterator[R | Failure]:
    """Apply ``work`` to each document.

    Parameters
    ----------
    work : callable
        Gets a document. With more than one job it must be possible to send it to another process (to pickle it), where
        it is prepared before the first document.
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
    require(jobs >= 1, "the number of jobs must be at least 1", "such as --jobs 2")
    if jobs == 1:
        return _in_turn(work, documents)
    return _together(Pool(functools.partial(_Each, work), jobs), documents)


def prepare(work: object) -> None:
    """Load what a work on documents, or a pipeline, loads on first use: what its ``recognizer`` needs."""
    recognizer = getattr(work, "recognizer", None)
    if recognizer is not None:
        recognizer.find(Document("", ""))


@dataclass(frozen=True)
class Timed(Generic[R]):
    """Work that gives a document up when it takes too long, so that none holds up the rest of a run."""

    work: Work[R]
    seconds: float
    """0: any time."""

    @property
    def recognizer(self) -> Any:
        """That of the work, if it has one."""
        return getattr(self.work, "recognizer", None)

    def __call__(self, document: Document) -> R:
        """Work on a document.

        Raises
        ------
        DetectionError
            When it takes longer. (Signals reach the main thread alone: in another thread there is no limit.)
        """
        if not self.seconds or threading.current_thread() is not threading.main_thread():
            return self.work(document)
        working = [True]

        def over(number: int, frame: object) -> None:
            if working:
                hint = "split the document, or raise --timeout"
                raise DetectionError(f"it took longer than {self.seconds:g} s", hint)

        before = signal.signal(signal.SIGALRM, over)
        # again each second: what is raised while an object is finalized (`__del__`) is printed and dropped by Python
        signal.setitimer(signal.ITIMER_REAL, self.seconds, 1)
        try:
            try:
                return self.work(document)
            finally:
                working.clear()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _in_turn(work: Work[R], documents: Iterable[Document | Failure]) -> Iterator[R | Failure]:
    for document in documents:
        if isinstance(document, Failure):
            yield document
            continue
        try:
            yield work(document)
        except Exception as error:
            yield failure_of(document, error)


class _Each(Generic[R]):
    """The work on a few documents, in another process."""

    def __init__(self, work: Work[R]) -> None:
        self.work = work
        prepare(work)

    def __call__(self, items: list[Document | Failure]) -> list[R | Failure]:
        return list(_in_turn(self.work, items))


def _together(
    pool: Pool[list[Document | Failure], list[R | Failure]], documents: Iterable[Document | Failure]
) -> Iterator[R | Failure]:
    with pool:
        # one of a few documents killed its worker: which one shows when each is worked on by itself
        for results in pool.in_order(_chunks(documents), lambda items: [[item] for item in items], _killed):
            yield from results


def _chunks(documents: Iterable[Document | Failure]) -> Iterator[list[Document | Failure]]:
    items: list[Document | Failure] = []
    size = 0
    for item in documents:
        items.append(item)
        size += len(item.text) if isinstance(item, Document) else 0
        if len(items) >= _CHUNK_DOCUMENTS or size >= _CHUNK_CHARACTERS:
            yield items
            items, size = [], 0
    if items:
        yield items


def _killed(items: list[Document | Failure]) -> list[Any]:
    """Return the failure of a document that its worker did not survive."""
    hint = "it may have run out of memory: split the document, or use fewer jobs"
    died = DetectionError("the process that worked on it died", hint)
    return [failure_of(item, died) if isinstance(item, Document) else item for item in items]
