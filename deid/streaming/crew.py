"""The workers, seen from the process that reads and writes: started, fed, renewed when one dies.

Each is a fresh interpreter with one end of a socket; nothing else is inherited, so no pipe is kept open by a process
that should not have it. A worker has at most two stretches in hand: one that it works on, one to go on with at once.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from deid.base.errors import ConfigError, DeidError, DetectionError
from deid.streaming.work import Recipe, Reply, Request, Shape

IN_HAND = 2
"""Stretches that a worker can have in hand."""
_PROGRAM = "import sys; from deid.streaming.worker import serve; serve(int(sys.argv[1]))"


@dataclass(frozen=True, slots=True)
class Died:
    """A worker died: the stretch that it worked on, those that it had not begun, and whether time had run out."""

    during: Request | None
    waiting: tuple[Request, ...]
    timed_out: bool


@dataclass(slots=True, eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]
    ready: bool = False
    requests: list[Request] = field(default_factory=list)
    """In hand, the one worked on first."""


class Crew:
    """Worker processes; a context manager that ends them.

    Parameters
    ----------
    recipe : Recipe
        What makes the pipeline; it must be possible to pickle it.
    shape : Shape
        What records look like.
    jobs : int
        Number of workers.

    Raises
    ------
    ConfigError
        When there is to be no worker, or the recipe cannot be sent to one.
    """

    def __init__(self, recipe: Recipe, shape: Shape, jobs: int = 1) -> None:
        if jobs < 1:
            raise ConfigError("the number of jobs must be at least 1", "such as --jobs 2")
        try:
            self._sent = pickle.dumps((recipe, shape))
        except (pickle.PicklingError, TypeError, AttributeError):
            raise ConfigError("this recipe cannot be sent to another process", "it must be picklable") from None
        self.jobs = jobs
        self.restarts = 0
        self._false_starts = 0
        self.notes: list[str] = []
        """What whoever releases the output must know, once a worker has loaded the policy."""
        self._workers: list[_Worker] = []

    def __enter__(self) -> Crew:
        self._workers = [self._start() for _ in range(self.jobs)]
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            _end(worker)
        self._workers = []

    def _start(self) -> _Worker:
        ours, theirs = Pipe()
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
        except OSError:
            ours.close()
            raise ConfigError("a worker process could not be started", "use fewer jobs") from None
        finally:
            theirs.close()  # so that our end sees the worker's death
        worker = _Worker(process, ours)
        with suppress(BrokenPipeError, ConnectionResetError):  # noticed when its answer is read
            ours.send(sys.path)
            ours.send_bytes(self._sent)
        return worker

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
        """Return how many stretches the least busy worker could still take: 0 none, 2 it has nothing to do."""
        return max((IN_HAND - len(worker.requests) for worker in self._workers), default=0)

    def give(self, request: Request) -> None:
        """Give a stretch to the least busy worker."""
        worker = min(self._workers, key=lambda w: len(w.requests))
        worker.requests.append(request)
        with suppress(BrokenPipeError, ConnectionResetError):  # noticed when its answer is read
            worker.connection.send(request)

    def forget(self) -> None:
        """Replace the workers that have something in hand, so that nothing of an abandoned run comes back."""
        for index, worker in enumerate(self._workers):
            if worker.requests:
                _end(worker)
                self._workers[index] = self._start()

    def sources(self) -> Iterator[tuple[int, Callable[[], Reply | Died | None]]]:
        """Yield for each worker its file descriptor, and what to call when that can be read."""
        for worker in self._workers:
            yield worker.connection.fileno(), lambda worker=worker: self._receive(worker)  # type: ignore[misc]

    def _receive(self, worker: _Worker) -> Reply | Died | None:
        """Return an answer, None when a worker tells that it has loaded what it needs.

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
        if isinstance(answer, list):
            worker.ready, self.notes = True, answer
            return None
        worker.requests.pop(0)
        assert isinstance(answer, Reply)
        return answer

    def _renew(self, worker: _Worker) -> Died:
        _end(worker)
        if not worker.ready:
            self._false_starts += 1
            if self._false_starts > self.jobs:  # once each can be bad luck
                raise DetectionError(
                    "worker processes die while they load model and rules", "they may lack memory: use fewer jobs"
                )
        self.restarts += 1
        self._workers[self._workers.index(worker)] = self._start()
        begun = 1 if worker.ready and worker.requests else 0
        during = worker.requests[0] if begun else None
        return Died(during, tuple(worker.requests[begun:]), worker.process.returncode == -signal.SIGALRM)


def _end(worker: _Worker) -> None:
    worker.connection.close()
    worker.process.kill()
    worker.process.wait()
