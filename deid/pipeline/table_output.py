"""Scrubbed rows into a new table of a database, so that a run that was killed goes on where it was.

Rows are written in batches, and in the transaction of a batch stands how far the run has come: the key of the last row,
and which rows were left out. So whatever happens, nothing is written twice and nothing is left out. That note is sealed
with the key of the run, for it holds ids of the source, and is gone when the run is complete.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import sqlalchemy as sql

from deid.base.errors import ConfigError, DeidError, OutputError, StoreError, require
from deid.base.keys import Key
from deid.base.store import open_store, sqlite_file
from deid.document import Document, Failure
from deid.io.database import TableSource, cells_of
from deid.io.database_places import split_place
from deid.records.record import BLOCKED, Record
from deid.replacement.sealing import Sealer

R = TypeVar("R")
_ROWS, _CHARACTERS = 256, 1 << 22
"""A batch ends with the first that is reached."""
_PROGRESS = "deid_progress"
_OF_A_ROW = (sql.exc.DataError, sql.exc.IntegrityError, sql.exc.ProgrammingError, UnicodeError, OverflowError)
_WAITS = (0.5, 2.0, 5.0)
_PLAIN = (
    sql.types.Integer,
    sql.types.Numeric,
    sql.types.Boolean,
    sql.types.Date,
    sql.types.DateTime,
    sql.types.Time,
    sql.types.LargeBinary,
    sql.types.Uuid,
)
"""Types of columns that the new table has too; all others are texts there."""


def _kept(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict) else value


def is_whole(place: str) -> bool:
    """Tell whether an output table is there, and no run that stopped in it; which run wrote it is not known here.

    Parameters
    ----------
    place : str
        Database and table (`deid.io.database_places.split_place`).

    Raises
    ------
    StoreError
        When the database cannot be reached.
    """
    database, named = split_place(place)
    schema, _, name = (named or "").rpartition(".")
    if (file := sqlite_file(database)) is not None and not file.exists():
        return False
    store = open_store(database, sql.MetaData(), whole=True)
    try:
        with store.reading() as connection:
            inspected = sql.inspect(connection)
            if not inspected.has_table(name, schema=schema or None):
                return False
            if not inspected.has_table(_PROGRESS, schema=schema or None):
                return True
            note = sql.table(_PROGRESS, sql.column("target"), schema=schema)
            return connection.execute(sql.select(note).where(note.c.target == name)).first() is None
    finally:
        store.close()


class TableOutput(AbstractContextManager["TableOutput"]):
    """The new table; use it in a ``with`` statement (it takes the place of `deid.pipeline.files.Output`).

    Parameters
    ----------
    source : TableSource
    place : str
        Database and table (`deid.io.database_places.split_place`); the source's table where none is named.
    key : Key
        Of the run.
    options : str
        What decides what is written: a run goes on only with the same.
    resume : bool
        Whether rows that an earlier run left out are tried again.
    hold : bool
        Whether the note of how far the run has come stays until `settle` is called: for whoever notes elsewhere, too,
        that all is written.

    Raises
    ------
    OutputError
        When the table is there, and no run stopped in it.
    ConfigError
        When the run that stopped there had other options, or none did and ``resume`` was said.
    StoreError
        When the database cannot be opened or written.
    """

    _usual, _not_beside = "", "note_nlp"
    """Name of the table where none is said (else that of the source), and of a table that must not stand in the same
    schema: spans quote PHI, and what is scrubbed is shared."""
    _own_beside = False
    """Whether this run makes that table itself."""

    def __init__(
        self,
        source: TableSource,
        place: str,
        key: Key,
        options: str = "",
        *,
        resume: bool = False,
        hold: bool = False,
    ) -> None:
        database, named = split_place(place)
        schema, _, name = (named or self._usual or source.table.name).rpartition(".")
        self.schema = (schema if named else "") or None
        self.name = name
        file = sqlite_file(database)
        if file is not None and source.place is not None and file.resolve() == source.place.resolve():
            raise OutputError("the output lies in the file of the source", "name another file: it holds the originals")
        require(file is None or not self.schema, "a file of SQLite has no schemas", "name the table alone")
        self.file = file
        self.failures: list[Failure] = []
        """Rows that the database did not take, and those that an earlier run left out."""
        self.lost = 0
        """Documents of this run among them."""
        self.emptied: Counter[str] = Counter()
        """Cells by column that are empty because the policy makes no date of a date."""
        self.format, self.rename = source.format, str
        self._source, self._hold = source, hold
        self._digest = hashlib.sha256(options.encode()).hexdigest()
        self._sealer = Sealer(key.derive("progress"), f"{self.schema}.{self.name}")
        self._rows: dict[int, list[tuple[int, dict[str, Any]]]] = {}
        """Number of a row of the source -> the rows that it becomes, each behind the number of its table."""
        self._handled: dict[int, int | str] = {}
        self._left: dict[int, str] = {}
        self._size = 0
        self._broken = self._incomplete = False
        self.store = open_store(database, sql.MetaData(), create=True, whole=True)
        self._metadata = sql.MetaData()
        self._tables = [
            sql.Table(name or self.name, self._metadata, *columns, schema=self.schema)
            for name, columns in self._layout()
        ]
        self._target = self._tables[0]
        self._progress = sql.Table(
            _PROGRESS,
            self._metadata,
            sql.Column("target", sql.Text, primary_key=True),
            sql.Column("part", sql.BigInteger, primary_key=True, autoincrement=False),
            sql.Column("sealed", sql.LargeBinary, nullable=False),
            schema=self.schema,
        )
        # values go as they are: a type of SQLAlchemy would convert them
        self._inserts = [
            sql.insert(sql.table(table.name, *(sql.column(c.name) for c in table.columns), schema=self.schema))
            for table in self._tables
        ]
        self._begin(resume)

    @property
    def there(self) -> int:
        """Rows that an earlier run had written."""
        return self._source.before - len(self._earlier)

    @property
    def shown(self) -> Path:
        """Where files about the table lie: beside the file of SQLite, else here, by the table's name."""
        return self.file or Path(f"{self.schema}.{self.name}" if self.schema else self.name)

    def remarks(self) -> list[str]:
        """Return what whoever ran it must know of the columns."""
        told = self._source.plan.told()
        words = [
            f"{what}: {', '.join(name for name in told if told[name] == what)}" for what in dict.fromkeys(told.values())
        ]
        return [
            f"columns of {self._source.table.name}: {'; '.join(words)}",
            *(
                f"{count} cells of {name} are empty: the policy makes no date of a date"
                for name, count in sorted(self.emptied.items())
            ),
        ]

    def _layout(self) -> Iterator[tuple[str, Iterator[sql.Column[Any]]]]:
        """Yield the tables that are made: the name, empty for that of the output, and the columns."""
        yield "", self._columns()

    def _columns(self) -> Iterator[sql.Column[Any]]:
        """Yield the columns of the new table; ids, and what is kept, have the types that they had."""
        source, lite = self._source, self.store.dialect == "sqlite"
        for name, kind in source.plan.kinds.items():
            if kind == BLOCKED:
                continue
            own = source.table.table.columns[name].type
            kind = source.plan.fields.get(name, kind)
            whole = isinstance(own, sql.types.Integer)
            dated = isinstance(own, sql.types.Date | sql.types.DateTime)
            new: Any = sql.Text()
            if name in source.plan.fields and kind != "keep":
                new = sql.Integer() if whole and not isinstance(own, sql.types.BigInteger) else own if whole else new
            elif kind == "keep" and isinstance(own, _PLAIN):
                new = own if source.table.store.dialect == self.store.dialect else own.as_generic()
            elif kind == "keep" and lite and isinstance(own, sql.types.NullType):
                new = sql.LargeBinary()  # a column of no type, which changes nothing
            elif dated and kind == "DATE":
                new = sql.DateTime(timezone=getattr(own, "timezone", False)) if hasattr(own, "timezone") else sql.Date()
            first = name == source.plan.key
            yield sql.Column(name, new, primary_key=first, autoincrement=False, nullable=not first)

    def _begin(self, resume: bool) -> None:
        """Make the table, or find where an earlier run stopped."""
        with self.store.writing() as connection:
            inspected = sql.inspect(connection)
            if self.schema and self.schema not in inspected.get_schema_names():
                connection.execute(sql.schema.CreateSchema(self.schema))
            beside = {name.lower() for name in inspected.get_table_names(self.schema)}
            own = self._source.table
            same = (own.store.shown, own.table.schema) == (self.store.shown, self.schema)
            sealed = None
            if inspected.has_table(_PROGRESS, schema=self.schema):
                sealed = self._parts(connection)
            expected = (same and self._not_beside == "note") or (self._own_beside and sealed)
            if self._not_beside in beside and not expected:
                raise OutputError(
                    f"a table {self._not_beside} is there: spans quote PHI, and do not stand where scrubbed notes do",
                    "name another schema or file",
                )
            there = inspected.has_table(self.name, schema=self.schema)
            if there and not sealed:
                raise OutputError(
                    "the output table exists already", "name a new one; nothing is ever overwritten", self.name
                )
            if not there:
                require(not resume, "there is no interrupted run to go on with", "leave out --resume")
                self._metadata.create_all(connection)
                first = {"options": self._digest, "rows": 0, "after": None, "written": 0}
                sealed = {0: (self._seal(0, first), first)}
                self._put(connection, 0, sealed[0][0])
        assert sealed is not None
        self._state, state = sealed.pop(0)
        if state["options"] != self._digest:
            raise ConfigError(
                "the interrupted run had other options, another input, key or version",
                "give the same ones, or name a new table",
            )
        self._earlier = {number: left for number, (_, left) in sorted(sealed.items())}
        self._count, self._after, self._written = int(state["rows"]), state["after"], int(state["written"])
        again = [(number, left["key"]) for number, left in self._earlier.items()] if resume else []
        self._source = replace(self._source, after=self._after, before=self._count, again=tuple(again))
        if not resume:
            self._incomplete = bool(self._earlier)
            for number, left in self._earlier.items():
                self._note(number, left["key"], left["what"])

    @property
    def source(self) -> TableSource:
        """The rows that are left to do."""
        return self._source

    def _note(self, number: int, key: int | str, what: str) -> None:
        error = OutputError(what, "correct it, then run again with --resume", self._source.table.name, f"row {number}")
        self.failures.append(Failure(f"row {number}", error, number, self._source.line(key)))

    def _seal(self, part: int, values: dict[str, Any]) -> bytes:
        return self._sealer.seal("progress", values, str(part).encode())

    def _parts(self, connection: sql.Connection) -> dict[int, tuple[bytes, dict[str, Any]]]:
        table, found = self._progress, {}
        for row in connection.execute(sql.select(table).where(table.c.target == self.name)):
            values = self._sealer.unseal("progress", row.sealed, str(row.part).encode())
            if values is None:
                raise ConfigError("the run that stopped there had another key", "give its key, or name a new table")
            found[row.part] = (row.sealed, values)
        return found

    def _put(self, connection: sql.Connection, part: int, sealed: bytes) -> None:
        connection.execute(sql.insert(self._progress).values(target=self.name, part=part, sealed=sealed))

    def _drop(self, connection: sql.Connection, part: int) -> None:
        table = self._progress
        connection.execute(sql.delete(table).where(table.c.target == self.name, table.c.part == part))

    def key(self, group: str, document_id: str) -> str:
        """Return what edit logs call a written row."""
        return document_id

    def write(self, group: str, document: Document) -> int:
        """Take a row; it is written with its batch."""
        assert isinstance(document.record, Record)
        assert document.index is not None
        self._rows[document.index] = rows = self._rows_of(document, document.record)
        self._written += len(rows)
        return 0

    def _rows_of(self, document: Document, record: Record) -> list[tuple[int, dict[str, Any]]]:
        """Return what is written of a row, each behind the number of its table."""
        row = {name: _kept(document.metadata[name]) for name in self._source.plan.fields}
        for name, text in cells_of(record).items():
            row[name] = self._cell(name, text)
            self._size += len(text or "")
        return [(0, row)]

    def _cell(self, name: str, text: str | None) -> str | None:
        if text is not None and isinstance(self._target.columns[name].type, sql.types.Date | sql.types.DateTime):
            try:
                datetime.fromisoformat(text)
            except ValueError:
                self.emptied[name] += 1
                return None
        return text

    def follow(self, items: Iterator[R], failures: Sequence[Failure]) -> Iterator[R]:
        """Yield results, and take note of each when whoever asked is done with it.

        Parameters
        ----------
        items : iterator of (Origin, result) or Failure
        failures : sequence of Failure
            Where those are that did not go well, when whoever asked is done with them.
        """
        for item in items:
            known = len(failures)
            yield item
            number = item.index if isinstance(item, Failure) else item[0].document.index  # type: ignore[index]
            if number is None:
                self._broken = True
                continue
            key = self._source.keys.pop(number, None)
            if key is None:  # a row whose id is none; what comes behind it is found all the same
                continue
            self._handled[number] = key
            if number > self._count:
                self._count, self._after = number, key
            if number not in self._rows:
                error = failures[-1].error if len(failures) > known else None
                self._left[number] = error.what if isinstance(error, DeidError) else "it failed"
            if len(self._handled) >= _ROWS or self._size >= _CHARACTERS:
                self.flush()

    def flush(self) -> None:
        """Write the batch, and how far the run has come, in one transaction.

        Raises
        ------
        StoreError
            When the database does not take it; the batch is not written then.
        """
        if not self._handled:
            return
        for wait in (*_WAITS, None):
            try:
                with self.store.writing() as connection:
                    far = {"rows": self._count, "after": self._after, "written": self._written}
                    state = self._seal(0, {"options": self._digest, **far})
                    self._step(connection, state)  # first: where another run is at work, nothing else can go wrong
                    refused = self._write(connection)
                    for number, key in self._handled.items():
                        if number in self._earlier:
                            self._drop(connection, number)
                        if what := refused.get(number, self._left.get(number)):
                            self._put(connection, number, self._seal(number, {"key": key, "what": what}))
                break
            except StoreError:
                if wait is None:
                    raise
                time.sleep(wait)
        self._state = state
        for number, what in refused.items():
            self._note(number, self._handled[number], what)
        self.lost += len(refused)
        self._incomplete = self._incomplete or bool(refused or self._left)
        self._rows, self._handled, self._left, self._size = {}, {}, {}, 0

    def _step(self, connection: sql.Connection, state: bytes) -> None:
        table = self._progress
        own = (table.c.target == self.name, table.c.part == 0, table.c.sealed == self._state)
        noted = self._is_noted(connection)
        if not noted or connection.execute(sql.update(table).where(*own).values(sealed=state)).rowcount != 1:
            what = "another run writes to the table" if noted else "another run writes to the table, and has ended it"
            raise StoreError(what, "let it end; then run again", self.store.shown)

    def _is_noted(self, connection: sql.Connection) -> bool:
        """Tell whether any run is noted beside the table: the last one to end takes that away."""
        return sql.inspect(connection).has_table(_PROGRESS, schema=self.schema)

    def _write(self, connection: sql.Connection) -> dict[int, str]:
        """Write the rows of the batch; return those that the database refuses, each for itself."""
        refused: dict[int, str] = {}
        if not any(self._rows.values()):
            return refused
        try:
            with connection.begin_nested():
                for number, insert in enumerate(self._inserts):
                    found = [row for rows in self._rows.values() for table, row in rows if table == number]
                    if found:
                        connection.execute(insert, found)
        except _OF_A_ROW:
            for number, rows in self._rows.items():
                try:
                    with connection.begin_nested():
                        for table, row in rows:
                            connection.execute(self._inserts[table], row)
                except _OF_A_ROW as error:
                    kind = type(error).__name__
                    refused[number] = f"the output table does not take the row ({kind}): a value, or a second equal id"
        return refused

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.flush()
            if not self._hold:
                self.settle()
        self.store.close()
        self._source.table.store.close()

    def settle(self) -> None:
        """Take the note away, if the run is complete: the table is whole then (`is_whole`)."""
        if self._broken or self._incomplete:
            return
        with self.store.writing() as connection:
            self._forget(connection)

    def discard(self) -> None:
        """Take away what this run has made, and its note: nobody wants it any more."""
        with self.store.writing() as connection:
            for table in self._tables:
                table.drop(connection)
            self._forget(connection)
        self.store.close()

    def _forget(self, connection: sql.Connection) -> None:
        if not self._is_noted(connection):
            return
        connection.execute(sql.delete(self._progress).where(self._progress.c.target == self.name))
        if connection.execute(sql.select(self._progress.c.part).limit(1)).first() is None:
            self._progress.drop(connection)
