"""A pool of processes that work for this one: started, fed, renewed when one dies.

Each is a fresh interpreter with one end of a socket; nothing of this process's memory, threads or open files is in it,
so no pipe is kept open by a process that should not have it. A worker has at most two requests in hand: one that it
works on, one to go on with at once. It ends with the process that started it, whatever became of that one, even in the
middle of a long request: a thread waits on the socket. Interrupts and requests to end are that process's business
alone.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import Pipe, spawn
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import Any, Generic, Self, TypeVar

from deid.base.compiled import return_arrays
from deid.base.errors import ConfigError, DeidError, DetectionError, raised_at, require

Q = TypeVar("Q")
A = TypeVar("A")

IN_HAND = 2
"""Requests that a worker can have in hand."""
_WAITING = 3
"""Requests a worker that may be under way or wait for their turn to be yielded."""
_PROGRAM = "import sys; from deid.base.pool import serve; serve(int(sys.argv[1]))"


@dataclass(frozen=True, slots=True)
class Done(Generic[Q, A]):
    """What came of a request."""

    request: Q
    answer: A


@dataclass(frozen=True, slots=True)
class Died(Generic[Q]):
    """A worker died: the request that it worked on, those that it had not begun, and whether time had run out."""

    during: Q | None
    waiting: tuple[Q, ...]
    timed_out: bool


@dataclass(slots=True, eq=False)
class _Worker(Generic[Q]):
    process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]
    ready: bool = False
    requests: list[Q] = field(default_factory=list)
    """In hand, the one worked on first."""

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.wait()


def _killed(request: object) -> Any:
    raise DetectionError("a worker process died", "it may have run out of memory: use fewer jobs")


class Pool(Generic[Q, A]):
    """Worker processes; a context manager that ends them.

    Parameters
    ----------
    make : callable
        Makes in a worker what answers requests there: a callable, whose attribute ``notes`` is told when all is loaded.
        It must be possible to pickle it.
    jobs : int
        Number of workers.
    silent : bool
        Whether what workers print is lost: where standard output is a feed.

    Raises
    ------
    ConfigError
        When there is to be no worker, or ``make`` cannot be sent to one.
    """

    def __init__(self, make: Callable[[], Callable[[Q], A]], jobs: int, *, silent: bool = False) -> None:
        require(jobs >= 1, "the number of jobs must be at least 1", "such as --jobs 2")
        try:
            self._sent = pickle.dumps(make)
        except (pickle.PicklingError, TypeError, AttributeError):
            raise ConfigError(
                "this work cannot be sent to other processes", "use one job, or a recognizer that can be pickled"
            ) from None
        self.jobs = jobs
        self.restarts = 0
        self._silent = silent
        self._false_starts = 0
        self.notes: list[str] = []
        """What a worker told when it had loaded what it needs."""
        self._workers: list[_Worker[Q]] = []

    def __enter__(self) -> Self:
        self._workers = [self._start() for _ in range(self.jobs)]
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()
        self._workers = []

    def _start(self) -> _Worker[Q]:
        script = spawn.get_preparation_data("worker") if b"__main__" in self._sent else {}
        ours, theirs = Pipe()
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if self._silent else None,
                pass_fds=(theirs.fileno(),),
            )
        except OSError:
            ours.close()
            raise ConfigError("a worker process could not be started", "use fewer jobs") from None
        finally:
            theirs.close()  # so that our end sees the worker's death
        with suppress(BrokenPipeError, ConnectionResetError):  # noticed when its answer is read
            ours.send((sys.path, {name: value for name, value in script.items() if name.startswith("init_main")}))
            ours.send_bytes(self._sent)
        return _Worker(process, ours)

    def wait_ready(self) -> None:
        """Wait until all workers have loaded what they need.

        Raises
        ------
        DeidError
            When one could not.
        """
        while waiting := [worker for worker in self._workers if not worker.ready]:
            self._receive(waiting[0])

    def room(self) -> int:
        """Return how many requests the least busy worker could still take: 0 none, 2 it has nothing to do."""
        return max((IN_HAND - len(worker.requests) for worker in self._workers), default=0)

    def give(self, request: Q) -> None:
        """Give a request to the least busy worker."""
        worker = min(self._workers, key=lambda w: len(w.requests))
        worker.requests.append(request)
        with suppress(BrokenPipeError, ConnectionResetError):  # noticed when its answer is read
            worker.connection.send(request)

    def forget(self) -> None:
        """Replace the workers that have something in hand, so that nothing of an abandoned run comes back, or ended."""
        self._false_starts = 0
        for index, worker in enumerate(self._workers):
            if worker.requests or worker.process.poll() is not None:
                worker.end()
                self._workers[index] = self._start()

    def sources(self) -> Iterator[tuple[int, Callable[[], Done[Q, A] | Died[Q] | None]]]:
        """Yield for each worker its file descriptor, and what to call when that can be read."""
        for worker in self._workers:
            yield worker.connection.fileno(), lambda worker=worker: self._receive(worker)  # type: ignore[misc]

    def in_order(
        self,
        requests: Iterator[Q],
        parts: Callable[[Q], list[Q]] = lambda request: [request],
        killed: Callable[[Q], A] = _killed,
    ) -> Iterator[A]:
        """Yield the answers to requests in their order; a bounded number of requests is read ahead.

        Parameters
        ----------
        requests : iterator
        parts : callable
            Cuts a request during which a worker died; each part is tried by itself, and answered by itself.
        killed : callable
            Returns the answer for a request that cannot be cut and of which a second worker died, for somebody may have
            killed the first; by default there is none, and the run ends.
        """
        self.wait_ready()
        under_way: list[Q] = []  # in order
        answers: dict[int, A] = {}
        again: deque[Q] = deque()
        once: set[int] = set()
        more = True
        while more or under_way:
            while self.room() and (again or (more and len(under_way) < _WAITING * self.jobs)):
                if not again:
                    again.extend(islice(requests, 1))
                    under_way += again
                    more = bool(again)
                if again:
                    self.give(again.popleft())
            while under_way and id(under_way[0]) in answers:
                yield answers.pop(id(under_way.pop(0)))
            calls = dict(self.sources())
            for ready in wait(list(calls)) if under_way else ():
                found = calls[ready]()  # type: ignore[index]  # a file descriptor, as given
                if isinstance(found, Done):
                    once.discard(id(found.request))
                    answers[id(found.request)] = found.answer
                elif isinstance(found, Died):
                    again.extendleft(reversed(found.waiting))
                    if found.during is None:
                        continue
                    pieces = parts(found.during)
                    if len(pieces) == 1 and id(found.during) in once:
                        once.remove(id(found.during))
                        answers[id(found.during)] = killed(found.during)
                        continue
                    if len(pieces) == 1:
                        once.add(id(found.during))
                        again.appendleft(found.during)
                        continue
                    place = next(i for i, request in enumerate(under_way) if request is found.during)
                    under_way[place : place + 1] = pieces
                    again.extendleft(reversed(pieces))

    def _receive(self, worker: _Worker[Q]) -> Done[Q, A] | Died[Q] | None:
        """Return what came of a request, None when a worker tells that it has loaded what it needs.

        Raises
        ------
        DeidError
            What a worker could not do at all.
        """
        try:
            answer = worker.connection.recv()
        except (EOFError, OSError):
            return self._renew(worker)
        if isinstance(answer, DeidError):
            raise answer
        if worker.ready:
            return Done(worker.requests.pop(0), answer)
        worker.ready, self.notes = True, answer
        self._false_starts = 0
        return None

    def _renew(self, worker: _Worker[Q]) -> Died[Q]:
        worker.end()
        if not worker.ready:
            self._false_starts += 1
            if self._false_starts > self.jobs:  # once each can be bad luck
                raise DetectionError(
                    "worker processes die while they load model and rules",
                    'they may lack memory: use fewer jobs; in a script, work below: if __name__ == "__main__":',
                )
        self.restarts += 1
        self._workers[self._workers.index(worker)] = self._start()
        begun = 1 if worker.ready and worker.requests else 0
        during = worker.requests[0] if begun else None
        return Died(during, tuple(worker.requests[begun:]), worker.process.returncode == -signal.SIGALRM)


def serve(descriptor: int) -> None:
    """Answer requests in a worker process until the other end of its socket closes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return_arrays()
    connection: Connection[Any, Any] = Connection(descriptor)
    requests: SimpleQueue[Any] = SimpleQueue()
    with suppress(EOFError, OSError):
        sys.path[:], script = connection.recv()
        sent = connection.recv_bytes()
        threading.Thread(target=_take, args=(connection, requests), daemon=True).start()
        try:
            # what is loaded stays: there is no garbage to look for in it, now or later
            gc.disable()
            if script:  # work that a script defines is found there; what it starts by itself is refused
                multiprocessing.current_process()._inheriting = True  # type: ignore[attr-defined]
                spawn.prepare(script)
                del multiprocessing.current_process()._inheriting  # type: ignore[attr-defined]
            work = pickle.loads(sent)()  # noqa: S301  (from the process that started this one)
            gc.freeze()
            gc.enable()
            connection.send(getattr(work, "notes", []))
            while True:
                connection.send(work(requests.get()))
        except DeidError as error:
            connection.send(error)
        except OSError:
            raise
        except Exception as error:
            connection.send(DeidError(f"internal error {raised_at(error)}", "please report this"))


def _take(connection: Connection[Any, Any], requests: SimpleQueue[Any]) -> None:
    with suppress(EOFError, OSError):
        while True:
            requests.put(connection.recv())
    # nobody is there to take an answer
    os._exit(0)
