"""What jobs are asked for, where they may read and write, and how far they are: a table in a SQL store."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from deid.base.audit import now
from deid.base.errors import ConfigError, require
from deid.base.store import Store, open_store, refuse_password, sqlite_file
from deid.io.database_places import DATABASES, split_place

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
_SHOWN = 100
"""Jobs that a caller is told of."""


BOTH = "files become files, and tables of databases tables"


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


NAMES = tuple(one.name for one in fields(JobRequest))
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

    @classmethod
    def said(cls, folders: Iterable[Path], sources: Iterable[str], targets: Iterable[str]) -> JobPlaces:
        """Read what an operator says: folders that are there, and databases as NAME=URL.

        Raises
        ------
        ConfigError
            When a folder is not there, or what is said of a database is none with a name.
        """
        found = [_connections(f"--job-{kind}", said) for kind, said in (("source", sources), ("target", targets))]
        below = tuple(folder.resolve() for folder in folders)
        there = all(folder.is_dir() for folder in below)
        require(there, "a folder for jobs is not there", "make it first, or correct --job-folder")
        return cls(below, *found)

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


def _connections(flag: str, said: Iterable[str]) -> dict[str, str]:
    """Return the URLs of databases by the names that requests call them.

    Raises
    ------
    ConfigError
        When one is no URL of a database, names a table or holds a password, or two have one name.
    """
    found: dict[str, str] = {}
    for one in said:
        name, _, url = one.partition("=")
        hint = f"write {flag} NAME=postgresql://user@host/database, or NAME=sqlite:///file.db"
        named = re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name)
        require(named is not None and "://" in url, f"{flag} is no database with a name", hint)
        require(name not in found, f"{flag}: two databases have one name", "name each once")
        file = sqlite_file(refuse_password(url))
        require(file is None or file.suffix in DATABASES, f"{flag} names no file of SQLite", hint)
        require(split_place(url)[1] is None, f"{flag} names a table", "requests name it")
        found[name] = url
    return found


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
            "asked": json.dumps({name: getattr(asked, name) for name in NAMES}),
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
