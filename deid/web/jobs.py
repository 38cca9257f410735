"""Asynchronous jobs: a folder or a table is scrubbed while whoever asked for it does something else.

A job reads and writes below folders that the operator named, by the pipeline of the service: its output is that of
`deid scrub` for the same key and options. What is asked for, and how far it is, stands in a SQL store, so that jobs
outlive the service: one that was under way goes on where it was when the service starts again.
"""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sql

from deid.base.async_pool import AsyncPool, Busy, WorkerLost
from deid.base.audit import now
from deid.base.errors import ConfigError, DeidError, InputError, raised_at, require
from deid.base.files import os_reason
from deid.base.store import Store, open_store
from deid.document import Failure
from deid.manifest.options import OptionRecord
from deid.streaming.work import PipelineRecipe

if TYPE_CHECKING:
    from deid.base.pool import Pool
    from deid.manifest import ManifestRun
    from deid.pipeline import Pipeline, Report
    from deid.replacement.vault import Vault

QUEUED, RUNNING, DONE, FAILED, CANCELLED = "queued", "running", "done", "failed", "cancelled"
TABLES = sql.MetaData()
JOBS = sql.Table(
    "deid_jobs",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("id", sql.String(32), unique=True, nullable=False),
    sql.Column("caller", sql.Text, nullable=False),
    sql.Column("asked", sql.Text, nullable=False),
    sql.Column("state", sql.String(16), nullable=False),
    sql.Column("cancel", sql.Boolean, nullable=False),
    sql.Column("submitted", sql.Text, nullable=False),
    sql.Column("ended", sql.Text),
    sql.Column("done", sql.Integer, nullable=False),
    sql.Column("total", sql.Integer),
    sql.Column("result", sql.Text),
)
_OFTEN = 0.5
"""Seconds between looks at whether a job is to be cancelled."""
_AGAIN = 5.0
"""Seconds between attempts where the store or the worker fails."""
_BOTH = "files become files, and tables of databases tables"
_FIELDS = "patient_field and date_field are columns of a database's table"
_SHOWN = 100
"""Jobs that a caller is told of."""
_WAITING = 1000
"""Jobs that may wait, of all callers."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a job is to do."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    format: str | None = None
    text_field: str | None = field(default=None, repr=False)
    id_field: str | None = field(default=None, repr=False)
    patient_field: str | None = field(default=None, repr=False)
    """Column of a database's table with whose row it is."""
    date_field: str | None = field(default=None, repr=False)
    """Column of a database's table with the day of a row."""


_NAMES = tuple(one.name for one in fields(JobRequest))
_TABLE = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):((?:[A-Za-z_]\w*\.)?[A-Za-z_]\w*)", re.ASCII)
"""A connection's name and a table, which are put into a URL: nothing that could change where it leads."""


@dataclass(frozen=True, slots=True)
class JobPlaces:
    """Where jobs may read and write, as the operator says; whoever asks for a job names no host.

    Parameters
    ----------
    folders : sequence of Path
        Below which files are read and written.
    sources, targets : mapping of str to str
        URLs of databases whose tables are read, and that get new tables, by the names that requests call them.
    """

    folders: Sequence[Path] = ()
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    targets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def table(self, place: str, *, new: bool) -> tuple[str, str, str] | None:
        """Return the connection's name, its URL and the table of a place ``NAME:TABLE``; None for a path.

        Raises
        ------
        ConfigError
            When it is no such place, or no connection has the name.
        """
        if place.startswith("/") or ":" not in place:
            return None
        found, flag = _TABLE.fullmatch(place), "--job-target" if new else "--job-source"
        url = (self.targets if new else self.sources).get(found[1]) if found else None
        if found is None or url is None:
            raise ConfigError(
                "this names no table of a database that jobs may use",
                f"write NAME:TABLE or NAME:SCHEMA.TABLE; ask whoever runs the service ({flag})",
            )
        return found[1], url, found[2]


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the store has it."""

    id: str
    caller: str
    asked: JobRequest
    state: str
    submitted: str
    ended: str | None
    done: int
    """Documents that are dealt with."""
    total: int | None
    """Documents in all, where that is known."""
    result: Mapping[str, Any] | None = None
    """What it did, or why it could not, when it is over."""
    written: Mapping[str, Any] | None = None
    """What it did, when all is written and the job is not over yet."""

    def told(self) -> dict[str, Any]:
        """Return what whoever asked for it is told."""
        names = ("id", "state", "submitted", "ended", "done", "total")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


class JobStore:
    """The jobs of a service in a database.

    Parameters
    ----------
    place : str or Path
        File of SQLite, made where there is none, or a URL of PostgreSQL.
    """

    def __init__(self, place: str | Path) -> None:
        self._store: Store = open_store(place, TABLES, create=True)

    def close(self) -> None:
        """Close the connections."""
        self._store.close()

    def submit(self, caller: str, asked: JobRequest) -> Job:
        """Add a job, and return it."""
        id = secrets.token_hex(16)
        row = {
            "id": id,
            "caller": caller,
            "asked": json.dumps({name: getattr(asked, name) for name in _NAMES}),
            "state": QUEUED,
            "cancel": False,
            "submitted": now(),
            "done": 0,
        }
        with self._store.writing() as connection:
            connection.execute(JOBS.insert(), row)
        found = self.find(id)
        assert found is not None
        return found

    def find(self, id: str, caller: str | None = None) -> Job | None:
        """Return a job, if it is there and belongs to a caller."""
        if "\0" in id:  # which PostgreSQL takes for no text
            return None
        where = JOBS.c.id == id if caller is None else sql.and_(JOBS.c.id == id, JOBS.c.caller == caller)
        return next(iter(self._jobs(where)), None)

    def of(self, caller: str) -> list[Job]:
        """Return the jobs of a caller, the last 100, in the order in which they were submitted."""
        return self._jobs(JOBS.c.caller == caller, last=_SHOWN)

    def left(self) -> list[Job]:
        """Return the jobs that are not over."""
        return self._jobs(JOBS.c.state.in_((QUEUED, RUNNING)))

    def _jobs(self, where: sql.ColumnElement[bool], last: int | None = None) -> list[Job]:
        wanted = sql.select(JOBS).where(where).order_by(JOBS.c.number.desc()).limit(last)
        with self._store.reading() as connection:
            rows = connection.execute(wanted).mappings().all()[::-1]
        names = ("id", "caller", "state", "submitted", "ended", "done", "total")
        jobs = []
        for row in rows:
            said: dict[str, Any] = {name: row[name] for name in names}
            said["result" if row["ended"] else "written"] = json.loads(row["result"]) if row["result"] else None
            jobs.append(Job(asked=JobRequest(**json.loads(row["asked"])), **said))
        return jobs

    def progress(self, id: str, done: int, total: int | None) -> bool:
        """Note how far a job is; tell whether it is to go on."""
        with self._store.writing() as connection:
            mine = JOBS.c.id == id
            connection.execute(JOBS.update().where(mine).values(state=RUNNING, done=done, total=total))
            return not connection.scalar(sql.select(JOBS.c.cancel).where(mine))

    def wrote(self, id: str, written: Mapping[str, Any]) -> None:
        """Note what a job did that has written all and is not over yet (`Job.written`)."""
        with self._store.writing() as connection:
            connection.execute(JOBS.update().where(JOBS.c.id == id).values(result=json.dumps(written)))

    def end(self, id: str, state: str, result: Mapping[str, Any] | None = None) -> None:
        """Note how a job ended."""
        values = {"state": state, "ended": now(), "result": None if result is None else json.dumps(result)}
        with self._store.writing() as connection:
            connection.execute(JOBS.update().where(JOBS.c.id == id).values(values))

    def alone(self, id: str) -> AbstractContextManager[bool]:
        """Tell whether no other process does a job, until the block ends."""
        return self._store.alone(f"deid job {id}")

    def cancel(self, id: str) -> None:
        """Ask for a job's end; one that has not begun ends at once."""
        with self._store.writing() as connection:
            connection.execute(JOBS.update().where(JOBS.c.id == id).values(cancel=True))
            waits = sql.and_(JOBS.c.id == id, JOBS.c.state == QUEUED)
            connection.execute(JOBS.update().where(waits).values(state=CANCELLED, ended=now()))


class _Cancelled(Exception):
    """Whoever asked for a job wants it no more."""


@dataclass(frozen=True)
class JobRecipe:
    """Makes what does jobs, where it works.

    Parameters
    ----------
    recipe : PipelineRecipe
        Of the service.
    place : str
        Of the store.
    places : JobPlaces
        Where jobs read and write.
    facts : mapping
        What a manifest tells of policy and model.
    options : sequence of OptionRecord
        What the operator asked of the service.
    vault : callable
        Returns a block with the vault that keeps the originals of what jobs replace; by default there is none.
    """

    recipe: PipelineRecipe
    place: str
    places: JobPlaces
    facts: Mapping[str, Any] = field(repr=False)
    options: Sequence[OptionRecord] = field(default=(), repr=False)
    vault: Callable[[], AbstractContextManager[Vault | None]] = nullcontext

    def __call__(self) -> JobWorker:
        """Return it; model and policy are loaded by the first job."""
        return JobWorker(self)


class JobWorker:
    """Does jobs in a process of its own."""

    def __init__(self, said: JobRecipe) -> None:
        self._said = said
        self._store = JobStore(said.place)
        self._made: tuple[PipelineRecipe, Pipeline] | None = None
        self.notes: list[str] = []

    def __call__(self, id: str) -> None:
        """Do a job, unless another process does; how it ended stands in the store.

        That may be one of another service with the same store, or of one that was killed and is still at work.
        """
        with self._store.alone(id) as mine:
            job = self._store.find(id) if mine else None
            if job is not None and not job.ended:
                self._do(job)

    def _do(self, job: Job) -> None:
        id = job.id
        try:
            rows = self._said.places.table(job.asked.source, new=False) is not None
            with self._said.vault() as vault:
                self._store.end(id, DONE, self._rows(job, vault) if rows else self._files(job, vault))
        except _Cancelled:
            self._store.end(id, CANCELLED)
        except DeidError as error:
            self._store.end(id, FAILED, {"detail": error.what, "hint": error.hint})
        except OSError as error:
            what = f"a file or folder cannot be read or made ({os_reason(error)})"
            self._store.end(id, FAILED, {"detail": what, "hint": "look at the place, and name another target"})
        except Exception as error:  # its message could quote a document
            what = f"internal error {type(error).__name__} at {raised_at(error)}"
            self._store.end(id, FAILED, {"detail": what, "hint": "please report this"})

    def _begin(self, asked: JobRequest, target: Path) -> ManifestRun:
        from deid import __version__
        from deid.manifest import begin_run

        own = [OptionRecord(name, getattr(asked, name)) for name in _NAMES if name not in ("source", "target")]
        options = (*self._said.options, *own)
        return begin_run("serve", target, version=__version__, key=self._said.recipe.key, options=options)

    def _pipeline(self, recipe: PipelineRecipe) -> Pipeline:
        """Return the pipeline of what a user says; that of the last job is kept."""
        if self._made is None or self._made[0] != recipe:
            self._made = recipe, recipe.pipeline()
        return self._made[1]

    def _recipe(self, vault: Vault | None) -> PipelineRecipe:
        """Return the recipe of the service; a vault of yesterday goes on with the numbers of yesterday."""
        own = self._said.recipe
        return own if vault is None else replace(own, key=own.key.of_map(vault.map_version), originals=True)

    def _rows(self, job: Job, vault: Vault | None) -> dict[str, Any]:
        """Scrub a table of a database into a new one.

        What was done stands in the store before the database forgets how far the run has come: so a table that is
        whole when the service begins is known as this job's, whenever the service was killed.
        """
        from deid.base.store import sqlite_file
        from deid.io.database import join_place, open_rows
        from deid.io.formats import Options
        from deid.pipeline import scrub_files
        from deid.pipeline.table_output import TableOutput, is_whole

        asked, places = job.asked, self._said.places
        source, target = places.table(asked.source, new=False), places.table(asked.target, new=True)
        assert source is not None
        require(target is not None, _BOTH, "name a table as NAME:TABLE")
        assert target is not None
        own = self._recipe(vault)
        said = replace(own.options, patient_field=asked.patient_field, date_field=asked.date_field)
        recipe = replace(own, options=said)
        columns = Options(
            text_field=asked.text_field,
            id_field=asked.id_field,
            table=source[2],
            patient=asked.patient_field,
            date=asked.date_field,
            kept=frozenset(said.keep),
        )
        # of a server the manifest lies where the service runs, as that of the command does
        out = sqlite_file(target[1]) or Path(f"{target[0]}.{target[2]}")
        run = self._begin(asked, out)
        work = _work({"source": asked.source}, recipe)
        found = open_rows(source[1], columns)
        place, digest = join_place(target[1], target[2]), hashlib.sha256(work.encode()).hexdigest()
        written, failures = job.written, list[Failure]()
        if written is not None and is_whole(place):
            found.table.store.close()
            require(
                written["work"] == digest,
                "all is written, by a service that had other options or another key: no manifest could speak of it",
                "start the service with the same ones, or take the table away; then submit the job again",
            )
        else:
            output = TableOutput(found, place, recipe.key, work, hold=True)
            try:
                report = scrub_files(
                    found, output, self._pipeline(recipe), vault=vault,
                    watch=lambda items: self._watched(job.id, items, None),
                )  # fmt: skip
            except _Cancelled:
                output.discard()
                raise
            failures, told = report.failures, _told(report) | {"columns": found.plan.told()}
            nothing_new = report.there and not report.documents
            if written is None or not nothing_new or written["told"]["failed"] != told["failed"]:
                written = {"work": digest, "began": run.began.isoformat(), "told": told}
                self._store.wrote(job.id, written)
            output.settle()
        run.began = datetime.datetime.fromisoformat(written["began"])  # what changed since then changed during the run
        inputs = [] if found.place is None else [(found.place.name, found.place)]
        return self._end(run, out, inputs, found.root, failures, written["told"])

    def _end(
        self,
        run: ManifestRun,
        out: Path,
        inputs: Sequence[tuple[str, Path]],
        root: Path,
        failures: Sequence[Failure],
        told: dict[str, Any],
    ) -> dict[str, Any]:
        """Write the manifest; return what whoever asked for the job is told."""
        run.finish(
            out,
            inputs=inputs,
            failures=failures,
            root=root,
            documents=told["documents"],
            failed=told["failed"],
            categories=told["categories"],
            results=told,
            **self._said.facts,
        )
        return told

    def _files(self, job: Job, vault: Vault | None) -> dict[str, Any]:
        """Scrub a file or folder into a new one."""
        from deid.io import check_output, check_suffix, scan
        from deid.io.formats import CollectionFormat, Options
        from deid.pipeline import scrub_files
        from deid.pipeline.resuming import RunNote, interrupted

        asked, recipe = job.asked, self._recipe(vault)
        source, target = below(self._said.places.folders, asked.source), below(self._said.places.folders, asked.target)
        found = scan(source, asked.format, Options(text_field=asked.text_field, id_field=asked.id_field))
        inputs = [
            (path.relative_to(found.root).as_posix(), path) for name in found.names for _, path in found.paths(name)
        ]
        for _, path in inputs:  # a link can lead anywhere
            below(self._said.places.folders, str(path))
        if job.state == RUNNING and not interrupted(target):
            # all was written, and the service ended before it was noted; by which policy and key is not known any more
            _cleared(target)
        again = interrupted(target)
        if not again:
            check_output(source, target)
        check_suffix(found.single, found.format, target, found.format)
        run = self._begin(asked, target)
        total = None if isinstance(found.format, CollectionFormat) else len(found.names)
        work = _work({"job": job.id}, recipe)
        try:
            report = scrub_files(
                found,
                target,
                self._pipeline(recipe),
                vault=vault,
                run=None if found.single else RunNote(target, work, again),
                watch=lambda items: self._watched(job.id, items, total),
            )
        except _Cancelled:
            _cleared(target)
            raise
        return self._end(run, target, inputs, found.root, report.failures, _told(report))

    def _watched(self, id: str, items: Iterator[Any], total: int | None) -> Iterator[Any]:
        looked, count = 0.0, 0
        for item in items:
            if time.monotonic() - looked >= _OFTEN:
                if not self._store.progress(id, count, total):
                    raise _Cancelled
                looked = time.monotonic()
            yield item
            count += 1
        if not self._store.progress(id, count, total):
            raise _Cancelled


def _work(own: dict[str, str], recipe: PipelineRecipe) -> str:
    """Return what a run must be to go on; without the vault it would write what the vault has no originals of."""
    kept = {"vault": True} if recipe.originals else {}
    return json.dumps({**own, **kept, **recipe.fingerprint()}, sort_keys=True, default=str)


def _cleared(target: Path) -> None:
    """Remove what a job made: nothing may lie where it begins anew, or another one begins."""
    if target.is_dir():
        shutil.rmtree(target, ignore_errors=True)
    else:
        target.unlink(missing_ok=True)


def _told(report: Report) -> dict[str, Any]:
    return {
        "documents": report.documents,
        **({"there": report.there} if report.there else {}),
        "failed": len(report.failures),
        "errors": dict(sorted(Counter(type(one.error).__name__ for one in report.failures).items())),
        "categories": dict(sorted(report.categories.items())),
        "unexamined": report.unexamined,
    }


def below(folders: Sequence[Path], path: str) -> Path:
    """Return a path as it really is, if it lies below one of some folders.

    Raises
    ------
    ConfigError
        When it does not; nothing is told of what is there.
    """
    try:
        real = Path(path).resolve()
        if Path(path).is_absolute() and any(real.is_relative_to(one) and real != one for one in folders):
            return real
    except (OSError, ValueError, RuntimeError):  # NUL, a name too long, a ring of links
        pass
    raise ConfigError("a path is not below a folder that jobs may use", "ask whoever runs the service (--job-folder)")


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
        names = frozenset(_NAMES)
        strings = all(isinstance(value, str) for value in values.values())
        if not strings or not values.keys() <= names or not {"source", "target"} <= values.keys():
            raise InputError("this is no job", 'send {"source": "/folder/in", "target": "/folder/out"}')
        asked = JobRequest(**{name: str(value) for name, value in values.items()})
        tables = [
            self._places.table(asked.source, new=False) is not None,
            self._places.table(asked.target, new=True) is not None,
        ]
        require(len({*tables}) == 1, _BOTH, "name two paths, or two tables as NAME:TABLE")
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
