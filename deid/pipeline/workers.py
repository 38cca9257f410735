"""Works on a stream of documents, in this process or in several, in order, one bad document at a time.

A worker process gets a few documents at a time (`deid.base.pool.Pool`). A window bounds how many are under way, so that
memory does not grow with the number of documents.
"""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, TypeVar

from deid.base.errors import DetectionError, require
from deid.base.in_step import batches, in_step
from deid.base.pool import Pool
from deid.document import Document, Failure, failure_of

R = TypeVar("R")
Work = Callable[[Document], R]

_SPLIT = "split the document, or raise --timeout"
_IN_STEP = 60.0
"""Seconds that a few documents may take in step, where each may take more."""


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
        return chain.from_iterable(_together(work, items) for items in batches(documents, _size))
    return _in_processes(Pool(functools.partial(_Each, work), jobs), documents)


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
        with _limit(self.seconds, DetectionError(f"it took longer than {self.seconds:g} s", _SPLIT)):
            return self.work(document)


class _OverTime(BaseException):
    """Documents that are worked on in step take too long: no work takes this for an error of its own."""


@contextmanager
def _limit(seconds: float, over: BaseException) -> Iterator[None]:
    """Raise an error in what goes on for longer; signals reach the main thread alone: in another there is no limit."""
    if not seconds or threading.current_thread() is not threading.main_thread():
        yield
        return
    working = [True]

    def told(number: int, frame: object) -> None:
        if working:
            raise over

    before = signal.signal(signal.SIGALRM, told)
    # again each second: what is raised while an object is finalized (`__del__`) is printed and dropped by Python
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        try:
            yield
        finally:
            working.clear()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _tried(work: Work[R], item: Document | Failure) -> R | Failure:
    if isinstance(item, Failure):
        return item
    try:
        return work(item)
    except Exception as error:
        return failure_of(item, error)


def _together(work: Work[R], items: list[Document | Failure]) -> list[R | Failure]:
    """Apply work to a few documents, in step; to each by itself, with time of its own, where all take too long."""
    if len(items) > 1:
        plain, seconds = (work.work, min(work.seconds, _IN_STEP)) if isinstance(work, Timed) else (work, 0.0)
        with suppress(_OverTime), _limit(seconds, _OverTime()):
            return in_step(functools.partial(_tried, plain), items)
    return [_tried(work, item) for item in items]


class _Each(Generic[R]):
    """The work on a few documents, in another process."""

    def __init__(self, work: Work[R]) -> None:
        self.work = work
        prepare(work)

    def __call__(self, items: list[Document | Failure]) -> list[R | Failure]:
        return _together(self.work, items)


def _in_processes(
    pool: Pool[list[Document | Failure], list[R | Failure]], documents: Iterable[Document | Failure]
) -> Iterator[R | Failure]:
    with pool:
        # one of a few documents killed its worker: which one shows when each is worked on by itself
        for results in pool.in_order(batches(documents, _size), lambda items: [[item] for item in items], _killed):
            yield from results


def _size(item: Document | Failure) -> int:
    return len(item.text) if isinstance(item, Document) else 0


def _killed(items: list[Document | Failure]) -> list[Any]:
    """Return the failure of a document that its worker did not survive."""
    hint = "it may have run out of memory: split the document, or use fewer jobs"
    died = DetectionError("the process that worked on it died", hint)
    return [failure_of(item, died) if isinstance(item, Document) else item for item in items]
