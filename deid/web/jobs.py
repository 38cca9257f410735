"""Asynchronous jobs: a folder or a table is scrubbed while whoever asked for it does something else.

A job reads and writes below folders that the operator named, by the pipeline of the service: its output is that of
`deid scrub` for the same key and options. What is asked for, and how far it is, stands in a SQL store, so that jobs
outlive the service: one that was under way goes on where it was when the service starts again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.async_pool import AsyncPool, Busy, WorkerLost
from deid.base.errors import DeidError, InputError, require
from deid.web.job_store import BOTH, FAILED, NAMES, QUEUED, RUNNING, Job, JobPlaces, JobRequest, JobStore, below

if TYPE_CHECKING:
    from deid.base.pool import Pool

_FIELDS = "patient_field and date_field are columns of a database's table"
_AGAIN = 5.0
"""Seconds between attempts where the store or the worker fails."""
_WAITING = 1000
"""Jobs that may wait, of all callers."""


class Jobs:
    """The jobs of a service, given to their worker one after the other.

    Parameters
    ----------
    pool : Pool
        Of `JobRecipe`, entered.
    place : str or Path
        Of the store.
    places : JobPlaces
        Where jobs read and write.
    """

    def __init__(self, pool: Pool[str, None], place: str | Path, places: JobPlaces) -> None:
        self._pool = pool
        self._places = places
        self.store = JobStore(place)
        self._new = asyncio.Event()

    def close(self) -> None:
        """Close the store; a job under way goes on when a service starts again."""
        self.store.close()

    async def work(self) -> None:
        """Do what is to be done, until it is cancelled; where the store or the worker fails, try again."""
        while True:
            workers = AsyncPool(self._pool)
            try:
                while True:
                    self._new.clear()
                    await self._work(workers)
                    # what another service does is looked at again: that one may end
                    left = await asyncio.to_thread(self.store.left)
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._new.wait(), _AGAIN if left else None)
            except DeidError:
                if workers.broken.done():
                    workers.broken.exception()  # it is the same one
                self._pool.forget()  # a worker that could not begin has a job in hand, which is asked for again
                await asyncio.sleep(_AGAIN)
            finally:
                workers.close()

    async def _work(self, workers: AsyncPool[str, None]) -> None:
        for job in await asyncio.to_thread(self.store.left):
            now = await asyncio.to_thread(self.store.find, job.id)
            if now is None or now.state not in (QUEUED, RUNNING):
                continue
            try:
                await workers.ask(job.id)
            except WorkerLost as error:
                told = {"detail": error.what, "hint": "it may have run out of memory: cut what it reads"}
                await asyncio.to_thread(self.store.end, job.id, FAILED, told)

    def submit(self, caller: str, values: Mapping[str, Any]) -> Job:
        """Add a job of a request.

        Raises
        ------
        InputError
            When the request is of another form.
        ConfigError
            When its places are none that jobs may use.
        Busy
            When as many wait as may.
        """
        names = frozenset(NAMES)
        strings = all(isinstance(value, str) for value in values.values())
        if not strings or not values.keys() <= names or not {"source", "target"} <= values.keys():
            raise InputError("this is no job", 'send {"source": "/folder/in", "target": "/folder/out"}')
        asked = JobRequest(**{name: str(value) for name, value in values.items()})
        tables = [
            self._places.table(asked.source, new=False) is not None,
            self._places.table(asked.target, new=True) is not None,
        ]
        require(len({*tables}) == 1, BOTH, "name two paths, or two tables as NAME:TABLE")
        if len(self.store.left()) >= _WAITING:
            raise Busy
        if all(tables):
            require(asked.format is None, "a table of a database has no format", "leave it out")
            return self.store.submit(caller, asked)
        require(asked.patient_field is None and asked.date_field is None, _FIELDS, "set them for the service")
        source, target = below(self._places.folders, asked.source), below(self._places.folders, asked.target)
        require(source.exists(), "there is nothing at the path of the source", "look at how it is spelt")
        require(target.parent.is_dir(), "the folder for the target is not there", "make it first")
        require(not os.path.lexists(target), "there is something at the path of the target", "name a new one")
        return self.store.submit(caller, asked)

    def wake(self) -> None:
        """Let the work go on with what is new."""
        self._new.set()
