"""A table on disk, and DuckDB that looks at it in bounded memory (extra ``link``)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid.base.errors import ConfigError, InputError, require, told_as
from deid.io.database_places import is_database
from deid.table.microdata import NA_CODE
from deid.table.table_files import copy_to_parquet, parquet_files

_PYTHON_MEMORY = 160 << 20
"""What Python and its libraries take beside the engine."""
LEAST_MEMORY = 96 << 20
"""With which the engine can do something."""
_THREAD_MEMORY = 256 << 20


@dataclass(frozen=True)
class DiskTable:
    """A table of Parquet, and the engine that looks at it."""

    con: Any
    names: tuple[str, ...] = field(repr=False)
    rows: int = field(repr=False)

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query. (What is not fetched whole keeps the connection busy.)"""
        found: list[tuple[Any, ...]] = self.con.execute(query, list(values)).fetchall()
        return found

    def arrays(self, query: str) -> dict[str, NDArray[Any]]:
        """Return the columns of a query of numbers."""
        found = self.con.execute(query).fetchnumpy()
        return {name: np.ma.filled(column, NA_CODE) for name, column in found.items()}

    def keep(self, name: str, columns: dict[str, Any], *, more: bool = False) -> None:
        """Make a table of arrays, or put them behind those that it has."""
        import pyarrow

        self.con.register("given", pyarrow.table(columns))
        self.ask(f"INSERT INTO {name} SELECT * FROM given" if more else f"CREATE TABLE {name} AS SELECT * FROM given")
        self.con.unregister("given")

    def limit(self, memory: int) -> None:
        """Say how many bytes of memory the engine may use from now on."""
        self.ask(f"SET memory_limit = '{_engine_memory(memory)}B'")


@contextmanager
def open_disk_table(
    source: str | Path, memory: int, folder: Path, name: str = "work", *, table: str | None = None
) -> Iterator[DiskTable]:
    """Open a table.

    Parameters
    ----------
    source : str or Path
        File or folder of Parquet, or a database, whose table is copied to Parquet first.
    memory : int
        Bytes, roughly, that may be used.
    folder : Path
        An existing folder for what the engine puts aside, which holds the table's values.
    name : str
        Of what it puts aside.
    table : str, optional
        Table of the database.

    Raises
    ------
    ConfigError, InputError
        When DuckDB is not there, the table cannot be read, or the memory does not suffice.
    """
    with told_as(ConfigError("DuckDB is not installed", "pip install 'clinical-deid[link]'"), ImportError):
        import duckdb
        import pyarrow.parquet
    copy = folder / f"{name}.parquet"
    if is_database(source):
        try:
            copy_to_parquet(str(source), table, copy)
            with open_disk_table(copy, memory, folder, name) as found:
                yield found
        finally:
            copy.unlink(missing_ok=True)
        return
    files = parquet_files(Path(source))
    if not files:
        raise InputError("there is no Parquet here", "name a file or folder of Parquet, or a database", str(source))
    if any(sign in str(file) for file in files for sign in "*?["):
        raise ConfigError("the name of the table has a sign that DuckDB takes for a pattern", "rename it: no * ? [")
    place = folder / f"{name}.duckdb"
    settings: dict[str, Any] = {
        "memory_limit": f"{_engine_memory(memory)}B",
        "temp_directory": str(folder / f"{name}.tmp"),
        "preserve_insertion_order": "false",
        "autoinstall_known_extensions": "false",
        # each thread of the engine needs room of its own
        "threads": str(max(1, min(os.cpu_count() or 1, memory // _THREAD_MEMORY))),
    }
    con = duckdb.connect(str(place), config=settings)
    try:
        listed = ", ".join(sql_text(str(file)) for file in files)
        con.execute(f"CREATE VIEW source AS SELECT * FROM read_parquet([{listed}])").fetchall()
        names = tuple(row[0] for row in con.execute("DESCRIBE source").fetchall())
        if list(names) != pyarrow.parquet.read_schema(files[0]).names:  # it has renamed some
            raise InputError("two columns have names that differ in capitals alone", "rename one", str(source))
        rows = con.execute("SELECT count(*) FROM source").fetchall()[0][0]
        require(rows, "the table has no rows", "name a table with rows", str(source), kind=InputError)
        yield DiskTable(con, names, rows)
    except (duckdb.Error, pyarrow.ArrowException) as error:
        # the engine's messages quote values
        kind = type(error).__name__
        if isinstance(error, duckdb.OutOfMemoryException):
            raise ConfigError("the memory does not suffice", "raise --memory, or free room on the disk") from None
        raise InputError(f"the table cannot be worked on ({kind})", "is it whole?", str(source)) from None
    finally:
        con.close()
        place.unlink(missing_ok=True)


def _engine_memory(memory: int) -> int:
    """Return what the engine may use, of all the memory."""
    return max(memory - _PYTHON_MEMORY, LEAST_MEMORY)


def sql_name(text: str) -> str:
    """Return a name of a column as SQL has it."""
    return '"' + text.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"
