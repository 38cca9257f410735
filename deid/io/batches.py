"""Rows in batches, so that memory does not grow with a table: of databases by their keys, of Parquet by its groups.

A table of a database is read in chunks of a key (``key > last ORDER BY key LIMIT n``), each in a read-only transaction
of its own: none is open for hours, a connection that breaks costs a chunk, and reading can begin behind any row. What
is inserted behind the last key while reading is read too. Nothing is ever written to what is read.
"""

from __future__ import annotations

import datetime
import time
import uuid
import warnings
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from deid.base.errors import ConfigError, FormatError, StoreError, require
from deid.base.nearest import nearest

if TYPE_CHECKING:
    import sqlalchemy as sql

    from deid.base.store import Store

_ROWS = 256
_CHARACTERS = 1 << 23
"""Characters of a chunk, roughly; after a chunk of long rows the next has fewer."""
_WAITS = (0.5, 2.0, 5.0)
"""Seconds before each further attempt, where a database does not answer."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SqlTable:
    """A table, or a view, of a database; made by `open_table`."""

    store: Store = field(repr=False)
    table: sql.Table = field(repr=False)

    @property
    def name(self) -> str:
        """The table's name, with its schema where one was said."""
        return self.table.fullname

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.table.columns)

    def cells(self, names: Sequence[str]) -> list[Any]:
        """Return what to select for columns."""
        return [self._as_kept(name).label(name) for name in names]

    def _as_kept(self, name: str) -> Any:
        """Return a column as its database has it.

        SQLite keeps what it was given, whatever type a column declares: converted by that type, one cell could fail.
        """
        import sqlalchemy as sql

        column = self.table.columns[name]
        return sql.type_coerce(column, sql.types.NullType()) if self.store.dialect == "sqlite" else column

    def all(self, names: Sequence[str]) -> Generator[Sequence[Row]]:
        """Yield all rows in batches, in no order, in one transaction."""
        import sqlalchemy as sql

        with self.store.reading() as connection:
            rows = connection.execution_options(yield_per=_ROWS).execute(sql.select(*self.cells(names)))
            yield from rows.partitions()

    def by_key(self, names: Sequence[str], key: str, after: object = None) -> Iterator[Sequence[Row]]:
        """Yield rows in batches in the order of their keys, from behind one of them on, but for those without a key.

        Parameters
        ----------
        names : sequence of str
            Columns.
        key : str
            The column that tells rows apart (`check_key`); it must be among ``names``.
        after : object, optional
            Key, as `stored_key` has it, of the last row that is not wanted.

        Raises
        ------
        StoreError
            When the database does not answer any more, nor does after a few seconds.
        """
        import sqlalchemy as sql

        column, at = self.table.columns[key], list(names).index(key)
        last = None if after is None else self._key(key, after)
        size = _ROWS
        while True:
            query = sql.select(*self.cells(names)).where(column.is_not(None)).order_by(column).limit(size)
            rows = self._fetched(query if last is None else query.where(self._as_kept(key) > last))
            if not rows:
                return
            yield rows
            last = rows[-1][at]
            long = max(1, sum(len(cell) for row in rows for cell in row if isinstance(cell, str | bytes)))
            size = max(1, min(_ROWS, _CHARACTERS * len(rows) // long))

    def _fetched(self, query: Any) -> Sequence[Row]:
        for wait in (*_WAITS, None):
            try:
                with self.store.reading() as connection:
                    return connection.execute(query).fetchall()
            except StoreError:
                if wait is None:
                    raise
                time.sleep(wait)
        raise AssertionError

    def row(self, names: Sequence[str], key: str, value: object) -> Row | None:
        """Return the row of a key, None when there is none."""
        import sqlalchemy as sql

        query = sql.select(*self.cells(names)).where(self._as_kept(key) == self._key(key, value))
        return next(iter(self._fetched(query.limit(1))), None)

    def _key(self, name: str, stored: object) -> object:
        """Return a stored key as the column has it."""
        import sqlalchemy as sql

        if isinstance(stored, str) and isinstance(self._as_kept(name).type, sql.types.Uuid):
            return uuid.UUID(stored)
        return stored

    def check_key(self, key: str) -> int:
        """Refuse a column that does not tell rows apart; return how many rows have nothing there.

        Raises
        ------
        ConfigError
            When two rows have the same key: reading by it would leave some out.
        """
        import sqlalchemy as sql

        column = self.table.columns[key]
        asked = sql.inspect(self.table.metadata.info["engine"])
        name, schema = self.table.name, self.table.schema
        with self.store.translated():
            alone = [[c.name for c in self.table.primary_key.columns]]
            if name not in asked.get_view_names(schema):
                alone += [found["column_names"] for found in asked.get_unique_constraints(name, schema)]
                alone += [found["column_names"] for found in asked.get_indexes(name, schema) if found["unique"]]
        with self.store.reading() as connection:
            if [key] not in alone:
                twice = sql.select(column).where(column.is_not(None)).group_by(column).having(sql.func.count() > 1)
                if connection.execute(twice.limit(1)).first() is not None:
                    raise ConfigError(
                        f"the column {key} of {self.name} does not tell rows apart: two have the same",
                        "name the column of the rows' ids with --id",
                    )
            if not column.nullable:
                return 0
            found = sql.select(sql.func.count()).select_from(self.table).where(column.is_(None))
            return int(connection.execute(found).scalar_one())


def stored_key(value: object) -> int | str:
    """Return a key as it is kept for another run: what `SqlTable.by_key` begins behind.

    Raises
    ------
    FormatError
        When it is neither a whole number nor a text.
    """
    if isinstance(value, Decimal | float) and value % 1 == 0:  # frames write numbers with gaps as 7.0
        return int(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise FormatError("the id is neither a whole number nor a text", "name another column with --id")
    return value


def open_table(place: str | Path, name: str | None) -> SqlTable:
    """Open a table of a database for reading.

    Parameters
    ----------
    place : str or Path
        A file of SQLite, or a URL, as `deid.base.store.open_reading` takes them.
    name : str or None
        Table or view, with its schema where it is not on the search path: ``cdm.note``.

    Raises
    ------
    ConfigError
        When no table is named, or there is none of that name: the hint names the nearest.
    InputError, StoreError
        When the database cannot be read.
    """
    import sqlalchemy as sql

    from deid.base.store import open_reading

    store = open_reading(place)
    schema, _, own = (name or "").rpartition(".")
    with store.reading() as connection, warnings.catch_warnings():
        warnings.simplefilter("ignore", sql.exc.SAWarning)  # a type that is not known is read as the driver gives it
        inspected = sql.inspect(connection)
        names = [*inspected.get_table_names(), *inspected.get_view_names()]
        if name in names:
            schema, own = "", str(name)
        elif schema and schema in inspected.get_schema_names():
            names = [*inspected.get_table_names(schema), *inspected.get_view_names(schema)]
            names = [f"{schema}.{one}" for one in names]
        alike = [one for one in names if one.lower() == str(name).lower()]
        if name not in names and len(alike) == 1:  # NOTE is note in some databases
            name = alike[0]
            own = name.rpartition(".")[2] if schema else name
        if name not in names:
            what = "the table of the database is not named" if name is None else f"there is no table {name!r}"
            hint = nearest(name or "", names, "the database has") if names else "name its schema too: SCHEMA.TABLE"
            raise ConfigError(what, hint)
        metadata = sql.MetaData(info={"engine": store._engine})
        return SqlTable(store, sql.Table(own, metadata, schema=schema or None, autoload_with=connection))


def open_parquet(stream: BinaryIO) -> Any:
    """Open a Parquet file (`pyarrow.parquet.ParquetFile`), or raise `FormatError`."""
    import pyarrow
    import pyarrow.parquet

    require(stream.read(1), "the file is empty", "a Parquet file needs at least a schema", kind=FormatError)
    stream.seek(0)
    try:
        return pyarrow.parquet.ParquetFile(stream)
    except (pyarrow.ArrowException, OSError):
        raise FormatError("this is no whole Parquet file", "it may be truncated, or of another format") from None
    except UnicodeError:
        raise FormatError("the name of a column is no valid text", "write the file again") from None


def parquet_rows(file: Any) -> Iterator[dict[str, Any] | None]:
    """Yield the rows of a Parquet file, None for one with a cell that cannot be read: some writers check nothing.

    Raises
    ------
    FormatError
        When the file is damaged; says from which row on.
    """
    import pyarrow

    number = 0
    try:
        for batch in file.iter_batches(batch_size=_ROWS):
            for row in batch_rows(batch):
                yield row
                number += 1
    except (pyarrow.ArrowException, OSError):
        raise FormatError("the file is damaged", "write it again", position=f"row {number + 1}") from None


def batch_rows(batch: Any) -> list[dict[str, Any] | None]:
    """Return the rows of a record batch of Arrow, None for one with a cell that cannot be read."""
    import pyarrow

    bad = (pyarrow.ArrowException, ValueError, OverflowError)  # UnicodeDecodeError is a ValueError
    try:
        rows: list[dict[str, Any] | None] = batch.to_pylist()
    except bad:
        rows = [_row_alone(batch, at, bad) for at in range(batch.num_rows)]
    return rows


def _row_alone(batch: Any, at: int, bad: tuple[type[Exception], ...]) -> dict[str, Any] | None:
    try:
        row: dict[str, Any] = batch.slice(at, 1).to_pylist()[0]
    except bad:
        return None
    return row


def plain_cell(value: Any) -> Any:
    """Return a cell as a JSON value: dates, decimals and the like as texts; bytes are left as they are."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (Decimal, datetime.timedelta, uuid.UUID)):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain_cell(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_cell(item) for item in value]
    return value
