"""A pool of processes, asked from an event loop: whoever asks waits for the answer, and nobody else does."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from deid.base.errors import DeidError, DetectionError
from deid.base.pool import Died, Done, Pool

Q = TypeVar("Q")
A = TypeVar("A")


class WorkerLost(DetectionError):
    """A worker process died while it worked on a request."""

    def __init__(self, *, timed_out: bool = False) -> None:
        super().__init__("a worker process died of the request", "send it again; if it dies again, report this")
        self.timed_out = timed_out
        """Whether the time was up that a request may take."""


class Busy(DetectionError):
    """A request that would have to wait behind too many."""

    def __init__(self) -> None:
        super().__init__("there is more to do than can wait", "send it again later")


class AsyncPool(Generic[Q, A]):
    """Asks the workers of a pool out of the event loop that it was made in.

    Parameters
    ----------
    pool : Pool
        Entered; no one else may ask it.
    waiting : int, optional
        Requests that may wait for a worker; by default any number.
    """

    def __init__(self, pool: Pool[Q, A], waiting: int | None = None) -> None:
        self._pool = pool
        self._limit = waiting
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[Q, asyncio.Future[A]]] = deque()
        self._asked: dict[int, tuple[Q, asyncio.Future[A]]] = {}
        self._watched: set[int] = set()
        self.broken: asyncio.Future[None] = self._loop.create_future()
        """Raises what workers could not do at all, when that happens: there will be no more answers."""
        self._watch()

    def close(self) -> None:
        """Let go of the pool; who waits for an answer is told that there is none."""
        for descriptor in self._watched:
            self._loop.remove_reader(descriptor)
        self._watched.clear()
        for _, future in (*self._waiting, *self._asked.values()):
            future.cancel()

    @property
    def waiting(self) -> int:
        """Requests that wait for a worker."""
        return len(self._waiting)

    @property
    def working(self) -> int:
        """Requests that workers have in hand."""
        return len(self._asked)

    @property
    def full(self) -> bool:
        """Whether as many requests wait as may."""
        return self._limit is not None and not self._pool.room() and len(self._waiting) >= self._limit

    async def ask(self, request: Q, *, patient: bool = False) -> A:
        """Return the answer to a request.

        Parameters
        ----------
        request
        patient : bool
            Whether it waits behind however many: it is a part of something that was let in.

        Raises
        ------
        Busy
            When as many requests wait as may.
        WorkerLost
            When its worker died while it worked on this very request; the others are given to another one.
        DeidError
            What a worker could not do at all.
        """
        if self.broken.done():
            await self.broken  # it raises: who would answer has ended
        if not patient and self.full:
            raise Busy
        future: asyncio.Future[A] = self._loop.create_future()
        self._waiting.append((request, future))
        self._give()
        return await future

    def _give(self) -> None:
        while self._waiting and self._pool.room():
            request, future = self._waiting.popleft()
            if not future.done():  # else whoever asked has gone
                self._asked[id(request)] = request, future
                self._pool.give(request)

    def _watch(self) -> None:
        for descriptor, receive in self._pool.sources():
            if descriptor not in self._watched:
                self._watched.add(descriptor)
                self._loop.add_reader(descriptor, self._receive, descriptor, receive)

    def _receive(self, descriptor: int, receive: Callable[[], Done[Q, A] | Died[Q] | None]) -> None:
        try:
            found = receive()
        except DeidError as error:
            for _, future in (*self._waiting, *self._asked.values()):
                if not future.done():
                    future.set_exception(error)
            self._waiting.clear()
            self._asked.clear()
            self._unwatch(descriptor)
            if not self.broken.done():
                self.broken.set_exception(error)
            return
        if isinstance(found, Done):
            _, future = self._asked.pop(id(found.request))
            if not future.done():
                future.set_result(found.answer)
        elif isinstance(found, Died):
            self._unwatch(descriptor)  # the new worker's may have the same number
            self._waiting.extendleft(self._asked.pop(id(request)) for request in reversed(found.waiting))
            if found.during is not None:
                _, future = self._asked.pop(id(found.during))
                if not future.done():
                    future.set_exception(WorkerLost(timed_out=found.timed_out))
            self._watch()
        self._give()

    def _unwatch(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        self._watched.discard(descriptor)
