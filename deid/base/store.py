"""The SQL store: one SQLite file by default, a PostgreSQL database by URL.

A `Store` hands out connections inside transactions and turns every database error into a `StoreError` that quotes
neither statements nor values. What was committed to SQLite survives a killed process and a power failure; writers wait
for one another. In WAL mode readers and a writer do not disturb each other, but what was written last may stand in a
second file (``-wal``) alone. Where a copy of the file must hold all that was committed, a store is opened whole: then
SQLite keeps a rollback journal, which is gone at the end of each transaction. The file has mode 0600.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import URL, make_url

from deid.base.errors import ConfigError, InputError, StoreError, require, told_as
from deid.base.files import hold

_WAIT_SECONDS = 60
_WRITES = "deid_writes"
_DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_SECRET_OPTIONS = frozenset({"password", "sslpassword", "passfile"})


def has_password(place: str) -> bool:
    """Tell whether a database URL holds a password, which must not stand on a command line."""
    if "://" not in place:
        return False
    url = _parse(place)
    return url.password is not None or not _SECRET_OPTIONS.isdisjoint(url.query)


def refuse_password(place: str, variable: str = "") -> str:
    """Return the place of a store as a command line names it.

    Parameters
    ----------
    place : str
    variable : str
        Environment variable that may hold the whole URL.

    Raises
    ------
    ConfigError
        When it is a URL with a password, which other users can read there.
    """
    if has_password(place):
        raise ConfigError(
            "the URL holds a password, which other users can read on the command line",
            "leave it out and use PGPASSWORD or ~/.pgpass"
            + (f", or give the whole URL in the variable {variable}" if variable else ""),
        )
    return place


def _parse(place: str) -> URL:
    try:
        return make_url(place)
    except (sql.exc.ArgumentError, ValueError):
        raise ConfigError("not a database URL", "write postgresql://user@host/database, or a file name") from None


def open_store(place: str | Path, tables: sql.MetaData, *, create: bool = False, whole: bool = False) -> Store:
    """Open a database.

    Parameters
    ----------
    place : str or Path
        File of a SQLite database, or a URL ``postgresql://user@host/database``.
    tables : sqlalchemy.MetaData
        The tables that it must have.
    create : bool
        Create a missing file and missing tables.
    whole : bool
        Whether a file of SQLite must by itself hold all that was committed; slower where many read while one writes.

    Returns
    -------
    Store
        The database; close it with `Store.close`.

    Raises
    ------
    ConfigError
        When the URL is of another kind, the driver is missing, or other users may read the file.
    StoreError
        When there is no such database or table, or it cannot be reached.
    """
    with made_whole(place) if create else nullcontext():
        return _open(str(place), tables, create, whole)


@contextmanager
def made_whole(place: str | Path) -> Iterator[None]:
    """Remove a file of SQLite where the block makes it and fails, as on a full disk, before a row stands in it."""
    path = sqlite_file(place)
    there = path is None or os.path.lexists(path)
    try:
        yield
    except BaseException:
        if path is not None and not there and _empty(path):
            for ending in ("", "-wal", "-shm", "-journal"):
                path.with_name(path.name + ending).unlink(missing_ok=True)
        raise


def _empty(path: Path) -> bool:
    """Tell whether a file holds no row that another process may have written."""
    log = path.with_name(f"{path.name}-wal")
    alone = "" if log.exists() and log.stat().st_size else "&immutable=1"  # where the disk is full, no log can be made
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro{alone}", uri=True)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            return not any(connection.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone() for (name,) in tables)  # noqa: S608
    except sqlite3.Error:
        return path.exists() and path.stat().st_size == 0


def _open(place: str, tables: sql.MetaData, create: bool, whole: bool) -> Store:
    if (path := sqlite_file(place)) is not None:
        _check_file(path, create)
        engine = sql.create_engine(
            URL.create("sqlite+pysqlite", database=str(path)),
            hide_parameters=True,
            connect_args={"timeout": _WAIT_SECONDS, "check_same_thread": False},
        )
        sql.event.listen(engine, "connect", functools.partial(_prepare_sqlite, whole))
        sql.event.listen(engine, "begin", _begin_sqlite)
        store = Store(engine, place)
    else:
        store = _postgresql(place)
    try:
        with store.translated():
            if create:
                with store.writing() as connection:
                    tables.create_all(connection)
            elif set(tables.tables) - set(sql.inspect(store._engine).get_table_names()):
                raise StoreError("the database lacks tables", "create it first, or name another database", place)
    except BaseException:
        store.close()
        raise
    return store


def sqlite_file(place: str | Path) -> Path | None:
    """Return the file of a database of SQLite, which is named as such or as ``sqlite:///file``; None for a server.

    Raises
    ------
    ConfigError
        When a URL of SQLite names no file.
    """
    place = str(place)
    if "://" not in place:
        return Path(place)
    url = _parse(place)
    if url.drivername.partition("+")[0] != "sqlite":
        return None
    if not url.database or url.query:
        raise ConfigError("the URL names no file of SQLite", "write sqlite:///name.db, or just the name of the file")
    return Path(url.database)


def open_reading(place: str | Path) -> Store:
    """Open a database that is read and never written to: not even its journal mode is, and the server knows it.

    Parameters
    ----------
    place : str or Path
        As that of `open_store`.

    Raises
    ------
    ConfigError
        When the URL is of another kind, or the driver is missing.
    InputError
        When there is no such file.
    """
    path = sqlite_file(place)
    if path is None:
        store = _postgresql(str(place))
        sql.event.listen(store._engine, "connect", _take_any_date)
        return store
    require(path.is_file(), "there is no such file", "check the path", str(path), kind=InputError)
    address = f"{path.resolve().as_uri()}?mode=ro"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(address, uri=True, timeout=_WAIT_SECONDS, check_same_thread=False)
        # a cell that is not UTF-8 costs its row, not all of them: no text in UTF-8 has lone surrogates
        connection.text_factory = functools.partial(str, encoding="utf-8", errors="surrogateescape")
        return connection

    return Store(sql.create_engine("sqlite+pysqlite://", creator=connect, hide_parameters=True), str(path))


def _postgresql(place: str) -> Store:
    url = _parse(place)
    driver = _DRIVERS.get(url.drivername, url.drivername)
    if driver not in _DRIVERS.values():
        raise ConfigError(
            f"databases of the kind {url.drivername!r} are not supported", "use postgresql:// or sqlite://"
        )
    shown = URL.create("postgresql", url.username, None, url.host, url.port, url.database).render_as_string()
    with told_as(
        ConfigError("the driver for PostgreSQL is not installed", "run: pip install 'clinical-deid[postgresql]'"),
        ImportError,
    ):
        engine = sql.create_engine(url.set(drivername=driver), hide_parameters=True, pool_pre_ping=True)
    sql.event.listen(engine, "connect", _prepare_postgresql)
    return Store(engine, shown)


def _take_any_date(connection: Any, _: Any) -> None:
    """Let times of PostgreSQL that Python has not (infinity, 44 BC, 24:00) be texts: one would fail all rows."""
    from psycopg import DataError
    from psycopg.types import datetime as kinds

    for name in ("Date", "Timestamp", "Timestamptz", "Time"):
        own = getattr(kinds, f"{name}Loader")

        def load(self: Any, data: Any, own: Any = own) -> object:
            try:
                return own.load(self, data)
            except DataError:
                return bytes(data).decode()

        connection.adapters.register_loader(name.lower(), type(name, (own,), {"load": load}))


def _check_file(path: Path, create: bool) -> None:
    """Create a missing file with mode 0600, refuse one that others may read."""
    try:
        mode = path.stat().st_mode & 0o077
    except FileNotFoundError:
        if not create:
            hint = "make it first (deid budget init, deid vault init), or correct the name"
            raise StoreError("there is no such database", hint, str(path)) from None
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            if path.is_symlink() and not path.exists():  # SQLite would follow it, and make the file with any mode
                raise StoreError(
                    "this is a link to a file that is not there", "remove the link, or name its target", str(path)
                ) from None
            return  # another process was faster, with the same mode
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise StoreError(f"cannot be created ({reason})", "name a writable place", str(path)) from None
    except OSError as error:
        raise StoreError(f"cannot be read ({os.strerror(error.errno or 0)})", "check the path", str(path)) from None
    else:
        require(not mode, "the database can be read by other users", f"run: chmod 600 {path}", str(path))


def _prepare_sqlite(whole: bool, connection: Any, record: object) -> None:
    connection.isolation_level = None  # transactions begin where we say so, see _begin_sqlite
    cursor = connection.cursor()
    # EXTRA also synchronizes the folder after the journal's removal, which is what commits
    journal = (
        ("journal_mode = DELETE", "synchronous = EXTRA") if whole else ("journal_mode = WAL", "synchronous = FULL")
    )
    for pragma in (*journal, "foreign_keys = ON", "secure_delete = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _prepare_postgresql(connection: Any, _: Any) -> None:
    # an instant is read as the same text whatever zone the server or PGTZ names
    connection.autocommit = True
    connection.execute("SET TIME ZONE 'UTC'")
    connection.autocommit = False


def _begin_sqlite(connection: sql.Connection) -> None:
    # a writer asks for the lock at once: one that has read first could no longer wait for another writer
    options = connection.get_execution_options()
    if options.get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(_WRITES) else "BEGIN")


class Store:
    """A database; made by `open_store`."""

    def __init__(self, engine: sql.Engine, shown: str) -> None:
        self._engine = engine
        self._process = os.getpid()
        self.shown = shown
        """The place, for messages; without a password."""

    def __repr__(self) -> str:
        return f"Store({self.shown})"

    @property
    def dialect(self) -> str:
        """``sqlite`` or ``postgresql``."""
        return self._engine.dialect.name

    def _own_engine(self) -> sql.Engine:
        if self._process != os.getpid():  # connections must not be shared with a parent process
            self._engine.dispose(close=False)
            self._process = os.getpid()
        return self._engine

    @contextmanager
    def reading(self) -> Iterator[sql.Connection]:
        """Yield a connection in a transaction that sees one state of the database; its errors become `StoreError`."""
        kind = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self._transaction(kind if self.dialect == "postgresql" else {}) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sql.Connection]:
        """Yield a connection in a transaction that is committed when the block ends, and undone when it raises.

        Raises
        ------
        StoreError
            When the database fails.
        """
        with self._transaction({_WRITES: True}) as connection:
            yield connection

    @contextmanager
    def _transaction(self, options: dict[str, Any]) -> Iterator[sql.Connection]:
        with (
            self.translated(),
            self._own_engine().connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def alone(self, name: str) -> Iterator[bool]:
        """Tell whether this process alone is in a block of a name, as it is then until the block, or the process, ends.

        In a file of SQLite all names are one; the file beside it that is locked stays.
        """
        path = sqlite_file(self.shown)
        if path is None:
            key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
            plain = {"isolation_level": "AUTOCOMMIT"}  # no transaction stays open
            with self.translated(), self._own_engine().connect().execution_options(**plain) as connection:
                try:
                    yield bool(connection.scalar(sql.text("SELECT pg_try_advisory_lock(:key)"), {"key": key}))
                finally:
                    connection.invalidate()  # it ends, and with it the lock, instead of going back to the others
            return
        descriptor = os.open(path.with_name(f"{path.name}-lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            yield os.name == "nt" or hold(descriptor)  # Windows has no such locks
        finally:
            os.close(descriptor)

    def compact(self, tables: sql.MetaData) -> bool:
        """Remove what deleted and overwritten rows of ``tables`` left in the files; tell whether that worked."""
        statements = {
            "sqlite": ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"),
            "postgresql": (f"VACUUM FULL {', '.join(tables.tables)}",),
        }[self.dialect]
        try:
            with self._own_engine().connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                for statement in statements:
                    connection.exec_driver_sql(statement)
        except sql.exc.SQLAlchemyError:
            return False
        return True

    def close(self) -> None:
        """Close all connections."""
        self._own_engine().dispose()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Run the block with errors of the database as `StoreError`."""
        try:
            yield
        except sql.exc.SQLAlchemyError as error:
            what, hint = _explain(error)
            raise StoreError(what, hint, self.shown) from None
        except UnicodeDecodeError:
            raise StoreError("the database is damaged", "restore a copy", self.shown) from None


def _explain(error: sql.exc.SQLAlchemyError) -> tuple[str, str]:
    """Say what happened without the driver's message, which can quote values."""
    message = str(getattr(error, "orig", "")).lower()
    for sign, what, hint in (
        ("locked", f"another process held the database for more than {_WAIT_SECONDS} s", "try again later"),
        ("full", "there is no space left", "free some space, then run again; nothing of the last step was written"),
        ("disk i/o", "the disk is full, or failed", "free some space, then run again"),
        ("unable to open", "nothing can be written beside the database", "check its folder's permissions"),
        ("readonly", "the database may not be written", "check its permissions"),
        ("not a database", "the file is no database, or damaged", "name another file, or restore a copy"),
        ("malformed", "the database is damaged", "restore a copy"),
        ("password", "the database refused the user", "check the user and the password (PGPASSWORD or ~/.pgpass)"),
        ("does not exist", "there is no such database, user or table", "create it first, or correct the name"),
        ("connection", "the database cannot be reached", "check that it runs, and the address"),
        ("could not translate host", "the database cannot be reached", "check the address"),
    ):
        if sign in message:
            return what, hint
    return f"the database failed ({type(error).__name__})", "check that the database is intact and reachable"
