"""Tables of databases as data frames: SQLite and PostgreSQL, read in read-only batches, written in one transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.errors import ConfigError, OutputError, require
from deid.base.files import check_folder
from deid.base.late import pd
from deid.io.batches import open_table
from deid.io.database_places import split_place
from deid.table.cell_text import cell_text

if TYPE_CHECKING:
    import sqlalchemy as sql

_BATCH = 5_000
_WIDTH = 256
"""Bytes of the checksum of a row, and of their sum."""
_EXAMPLE = "for example: sqlite:///release.db/patients or postgresql://me@host/research/release.patients"


Cells = tuple[list[str], list[list[Any]]]
"""Names of columns, and the cells of each."""


def cell_batches(place: str, table: str | None, most: int | None = None) -> Generator[Cells]:
    """Yield the rows of a table, all in one transaction; see `deid.table.table_files.read_table`.

    Parameters
    ----------
    place, table
        As those of `deid.table.table_files.read_table`.
    most : int, optional
        Rows of a batch; without it all are one.

    Yields
    ------
    Cells
        Numbers of SQLite with the decimal places that the column declares. A table without rows is one batch.

    Raises
    ------
    ConfigError
        When the URL holds a password, or the table cannot be told.
    DeidError
        When the database cannot be read.
    """
    from deid.base.store import has_password

    require(not has_password(place), "the URL holds a password", "leave it out; set PGPASSWORD or use ~/.pgpass")
    database, named = split_place(place)
    found = open_table(database, table or named)
    loose = found.store.dialect == "sqlite"
    places = [getattr(column.type, "scale", None) if loose else None for column in found.table.columns]
    with closing(found.store), closing(found.all(found.columns)) as batches:
        rows = (row for batch in batches for row in batch)
        batch = list(islice(rows, most))
        while True:
            values = zip(*batch, strict=True) if batch else [()] * len(places)
            columns = [[_scaled(cell, scale) for cell in own] for scale, own in zip(places, values, strict=True)]
            yield list(found.columns), columns
            batch = list(islice(rows, most))
            if not batch:
                return


def _scaled(cell: object, places: int | None) -> object:
    """Write a number of SQLite with the decimal places that its column declares, where nothing is lost."""
    if places is None or not isinstance(cell, int | float):
        return cell
    text = f"{cell or 0:.{places}f}"  # -0.00 is 0.00
    return text if float(text) == cell else cell


def rows_digest(place: str) -> tuple[list[str], bytes]:
    """Return the names of a table's columns, and a checksum of its rows, which have no order in a database.

    The checksums of the rows are added (AdHash; Bellare and Micciancio, EUROCRYPT 1997), so that a table of any length
    needs the memory of one row. Sums of 2048 bits: generalized birthdays (Wagner, CRYPTO 2002) find other rows of one
    sum in some 2^90 steps there. Parameters and errors as those of `cell_batches`; cells are texts in the form of
    `deid.table.cell_text`.
    """
    columns: list[str] = []
    count = total = 0
    for names, cells in cell_batches(place, None, _BATCH):
        columns = names
        for row in zip(*cells, strict=True):
            line = json.dumps([*map(cell_text, row)]).encode()
            total += int.from_bytes(hashlib.shake_256(line).digest(_WIDTH))
            count += 1
    return columns, count.to_bytes(8) + (total % (1 << 8 * _WIDTH)).to_bytes(_WIDTH)


def _target(place: str) -> tuple[str, str | None, str]:
    """Return database, schema and name of the table that is to be written."""
    from deid.base.store import refuse_password, sqlite_file

    database, named = split_place(refuse_password(place))
    if not named:
        raise OutputError("the table to write is not named", _EXAMPLE, database)
    schema, _, name = named.rpartition(".")
    if schema and sqlite_file(database) is not None:
        raise ConfigError("a file of SQLite has no schemas", "name the table alone", database)
    return database, schema or None, name


def shown_table(place: str) -> Path:
    """Return where files about a written table lie: beside the file of SQLite, else here, by the table's name."""
    from deid.base.store import sqlite_file

    database, schema, name = _target(place)
    file = sqlite_file(database)
    own = f"{schema}.{name}" if schema else name
    return Path(own) if file is None else file.with_name(f"{file.name}.{own}")


def is_shown_as(place: str, path: Path) -> bool:
    """Tell whether a place is a table of a database that goes by a path, which a whole file of SQLite is not."""
    return "://" in place and bool(split_place(place)[1]) and shown_table(place) == path


def check_new_rows(place: str, source: str | Path | None = None) -> None:
    """Refuse a table that cannot be made, before work is spent on it.

    Parameters
    ----------
    place : str
        URL of a database with the table behind it (`deid.io.database_places.split_place`).
    source : str or Path, optional
        Where the rows come from: what is released does not go into the file of its originals.

    Raises
    ------
    OutputError
        When no table is named, it is there already, or it would lie in the file of the source.
    ConfigError, StoreError
        When the database cannot be reached.
    """
    import sqlalchemy as sql

    from deid.base.store import open_reading, sqlite_file

    database, schema, name = _target(place)
    file = sqlite_file(database)
    if file is not None:
        if source is not None and _same_file(file, source):
            raise OutputError(
                "the output lies in the file of the source", "name another file: it holds the originals", str(file)
            )
        if not file.exists():
            if file.is_symlink():
                raise OutputError("the file to write is a link to nothing", "name a new file", str(file))
            check_folder(file)
            return
    store = open_reading(database)
    try:
        with store.reading() as connection:
            if sql.inspect(connection).has_table(name, schema=schema):
                raise _there(database)
    finally:
        store.close()


def _there(database: str) -> OutputError:
    return OutputError("the output table exists already", "name a new one; nothing is ever overwritten", database)


def _same_file(file: Path, source: str | Path) -> bool:
    from deid.base.store import sqlite_file

    try:
        other = sqlite_file(split_place(str(source))[0])
    except ConfigError:
        return False
    return other is not None and other.resolve() == file.resolve()


def write_rows(frame: pd.DataFrame, place: str) -> None:
    """Write a table into a database, all of it or nothing; a new file of SQLite has mode 0600.

    Whole numbers, other numbers and truth values keep their type; all else is text in the form of
    `deid.table.cell_text`. A schema that is not there is made.

    Raises
    ------
    OutputError
        When the table is there, or two columns differ by capitals alone, which SQLite takes for one.
    ConfigError, StoreError
        When the database cannot be reached or does not take the rows.
    """
    import sqlalchemy as sql

    from deid.base.store import made_whole, open_store

    database, schema, name = _target(place)
    with made_whole(database):
        store = open_store(database, sql.MetaData(), create=True, whole=True)
        try:
            lower = [str(column).lower() for column in frame.columns]
            if store.dialect == "sqlite" and len(set(lower)) < len(lower):
                raise OutputError("two columns differ by capitals alone", "rename one: SQLite takes them for one")
            table = sql.Table(
                name, sql.MetaData(), *(_column(frame[column]) for column in frame.columns), schema=schema
            )
            with store.writing() as connection:
                inspected = sql.inspect(connection)
                if schema and schema not in inspected.get_schema_names():
                    connection.execute(sql.schema.CreateSchema(schema))
                if inspected.has_table(name, schema=schema):
                    raise _there(database)
                table.create(connection)
                rows = _rows(frame)
                while batch := list(islice(rows, _BATCH)):
                    connection.execute(sql.insert(table), batch)
        finally:
            store.close()


def _column(column: pd.Series) -> sql.Column[Any]:
    import sqlalchemy as sql

    kind = column.dtype.kind if not isinstance(column.dtype, pd.CategoricalDtype) else "O"
    types: dict[str, Any] = {"i": sql.BigInteger(), "f": sql.Double(), "b": sql.Boolean()}
    return sql.Column(str(column.name), types.get(kind, sql.Text()), nullable=True)


def _rows(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    names = [str(name) for name in frame.columns]
    for row in zip(*(_cells(frame[name]) for name in frame.columns), strict=True):
        yield dict(zip(names, row, strict=True))


def _cells(column: pd.Series) -> Sequence[Any]:
    plain = not isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.kind in "ifb"
    cells = column.astype(object).tolist()
    if plain:
        return [None if cell is pd.NA or cell != cell else cell for cell in cells]
    return [cell if isinstance(cell, str) else cell_text(cell) for cell in cells]
