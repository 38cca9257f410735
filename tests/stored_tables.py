"""The same rows as a table of every kind that commands read."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas
import pyarrow
import pyarrow.parquet
import pytest

from deid.table.workbook import write_workbook

KINDS = ["csv", "parquet", "xlsx", "spss", "sqlite", "postgresql"]
Rows = Sequence[Sequence[str | None]]
Stored = Callable[[Sequence[str], Rows], tuple[str, ...]]


@pytest.fixture
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Stored:
    """Return a function that writes a header and rows of texts, in place of the last ones, as the parameter says; it
    returns the place, and the name of the table in a database. In SQLite names may have types.
    """
    path = tmp_path / f"t.{ {'sqlite': 'db', 'spss': 'sav'}.get(request.param, request.param) }"
    url = request.getfixturevalue("postgresql")() if request.param == "postgresql" else ""

    def as_csv(header: Sequence[str], rows: Rows) -> tuple[str, ...]:
        with path.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([header, *(["" if cell is None else cell for cell in row] for row in rows)])
        return (str(path),)

    def as_parquet(header: Sequence[str], rows: Rows) -> tuple[str, ...]:
        columns = {name: pyarrow.array([r[at] for r in rows], pyarrow.string()) for at, name in enumerate(header)}
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
        return (str(path),)

    def as_xlsx(header: Sequence[str], rows: Rows) -> tuple[str, ...]:
        with path.open("wb") as stream:
            write_workbook(pandas.DataFrame(rows, columns=list(header), dtype=object), stream)
        return (str(path),)

    def as_spss(header: Sequence[str], rows: Rows) -> tuple[str, ...]:
        pyreadstat = pytest.importorskip("pyreadstat")
        pyreadstat.write_sav(pandas.DataFrame(rows, columns=list(header), dtype=str), str(path))
        return (str(path),)

    def as_sqlite(header: Sequence[str], rows: Rows) -> tuple[str, ...]:
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as connection:
            connection.execute(f"CREATE TABLE t ({', '.join(n if ' ' in n else f'{n} TEXT' for n in header)})")
            connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(header))})", rows)
        connection.close()
        return (str(path), "t")

    def as_postgresql(header: Sequence[str], rows: Rows) -> tuple[str, ...]:
        import psycopg

        with psycopg.connect(url) as connection:
            connection.execute("DROP TABLE IF EXISTS t")
            connection.execute(f"CREATE TABLE t ({', '.join(f'{name} TEXT' for name in header)})")
            connection.cursor().executemany(f"INSERT INTO t VALUES ({', '.join(['%s'] * len(header))})", rows)
        return (url, "t")

    return {
        "csv": as_csv,
        "parquet": as_parquet,
        "xlsx": as_xlsx,
        "spss": as_spss,
        "sqlite": as_sqlite,
        "postgresql": as_postgresql,
    }[request.param]
