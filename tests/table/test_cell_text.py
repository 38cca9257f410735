"""The text of a cell comes from the cell alone: no row changes how another one is read, wherever it comes from."""

from __future__ import annotations

import csv
import datetime
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from postgresql_server import postgresql

from deid.table.cell_text import cell_text, key_text, row_hashes, table_hash, text_column
from deid.table.table_files import read_table

__all__ = ["postgresql"]

HARD = ["250.00", "250.0", "250", "V58.11", "1", "1.0", "01", "-0", "", "  ", " 7 ", "unknown", "NULL", "nan", "1e5",
        "9007199254740993", "2020-01-02", "true", "x;y|z\tw", 'say "x"', "a\nb", "a,b", "é", "e\u0301"]  # fmt: skip
WRITTEN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
TEXT = st.one_of(st.none(), st.sampled_from(HARD), WRITTEN)
ROWS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("1", "1"),
        ("1.0", "1.0"),
        ("01", "01"),
        (" 250.00 ", "250.00"),
        (1, "1"),
        (1.0, "1"),
        (np.float32(0.1), "0.1"),
        (2**63 - 1, "9223372036854775807"),
        (Decimal("250.00"), "250.00"),
        (Decimal("1E+3"), "1000"),
        (True, "True"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (pd.Timestamp("2020-01-02"), "2020-01-02"),
        (pd.Timestamp("2020-01-02 10:01"), "2020-01-02 10:01:00"),
        ("e\u0301", "é"),
        (b"V58.11", "V58.11"),
        (b"\xff", "ff"),
        *((missing, None) for missing in ("", " \t", None, float("nan"), pd.NA, pd.NaT, Decimal("NaN"))),
    ],
)
def test_what_a_cell_is(cell: object, text: str | None) -> None:
    assert cell_text(cell) == text
    read = text_column(pd.Series([cell, "V58.11"], dtype=object))[0]
    assert read == text or (text is None and pd.isna(read))


def test_ids_of_persons_merge_whole_numbers_with_a_point() -> None:
    assert [key_text(cell) for cell in ("7", "7.0", 7.0, " 7", "07", "7.00", "A1", None)] == [
        "7", "7", "7", "7", "07", "7.00", "A1", None]  # fmt: skip


def as_csv(folder: Path, rows: list[Any]) -> pd.DataFrame:
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("a", "b"), *(("" if x is None else x, "" if y is None else y) for x, y in rows)])
    return read_table(folder / "t.csv", text=True)


def as_parquet(folder: Path, rows: list[Any]) -> pd.DataFrame:
    columns = {name: pyarrow.array([row[at] for row in rows], pyarrow.string()) for at, name in enumerate("ab")}
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "t.parquet")
    return read_table(folder / "t.parquet", text=True)


def as_sqlite(folder: Path, rows: list[Any]) -> pd.DataFrame:
    path = folder / "t.db"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        # SQLite puts any text into any column; numbers are stored as numbers
        connection.execute("CREATE TABLE t (a NUMERIC(5,2), b DATE)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.close()
    return read_table(path, table="t", text=True)


def as_frame(folder: Path, rows: list[Any]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["a", "b"], dtype=object)
    return pd.DataFrame({name: text_column(frame[name]) for name in frame})


@pytest.mark.parametrize("read", [as_csv, as_parquet, as_sqlite, as_frame])
def test_no_row_changes_how_another_is_read(read: Callable[..., pd.DataFrame], tmp_path: Path) -> None:
    @settings(max_examples=60)
    @given(ROWS, st.tuples(TEXT, TEXT), st.integers(0, 6))
    def law(rows: list[Any], added: Any, place: int) -> None:
        place = min(place, len(rows))
        with_it = [*rows[:place], added, *rows[place:]]
        before, after = (read(tmp_path, own).astype(object).where(lambda f: f.notna(), None) for own in (rows, with_it))
        assert after.drop(index=place).to_numpy().tolist() == before.to_numpy().tolist()

    law()


def test_no_row_changes_how_another_is_read_in_postgresql(postgresql: Callable[[], str]) -> None:
    import psycopg

    place = postgresql()
    rows = [("250.00", Decimal("250.00"), 7, 0.5), ("V58.11", None, None, None), (" x ", Decimal("1.5"), 2**53 + 1, 2)]
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a TEXT, b NUMERIC(5,2), c BIGINT, d DOUBLE PRECISION)")
        seen = []
        for row in rows:
            connection.execute("INSERT INTO t VALUES (%s, %s, %s, %s)", row)
            frame = read_table(place, table="t", text=True).astype(object)
            seen.append(frame.where(frame.notna(), None).to_numpy().tolist())
    assert seen[-1] == [["250.00", "250.00", "7", "0.5"], ["V58.11", None, None, None],
                        ["x", "1.50", "9007199254740993", "2"]]  # fmt: skip
    assert seen[0] == seen[-1][:1]
    assert seen[1] == seen[-1][:2]


def test_typed_columns_of_parquet_do_not_lose_digits_beside_gaps(tmp_path: Path) -> None:
    columns = {
        "id": pyarrow.array([2**53 + 1, None, 7], pyarrow.int64()),
        "dose": pyarrow.array([1.0, 0.1, None], pyarrow.float32()),
        "dx": pyarrow.array([Decimal("250.00"), None, Decimal("401.90")], pyarrow.decimal128(5, 2)),
        "seen": pyarrow.array([datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 2, 3), None]),
        "sex": pyarrow.array(["F", None, " M "]).dictionary_encode(),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    frame = read_table(tmp_path / "t.parquet", text=True)
    assert {name: frame[name].dropna().tolist() for name in frame} == {
        "id": ["9007199254740993", "7"],
        "dose": ["1", "0.1"],
        "dx": ["250.00", "401.90"],
        "seen": ["2020-01-02", "2020-01-02 03:00:00"],
        "sex": ["F", "M"],
    }


def test_sqlite_writes_the_places_that_a_column_declares(tmp_path: Path) -> None:
    rows = [("250.00", 1), ("250.005", 2), ("V58.11", None)]
    assert as_sqlite(tmp_path, rows)["a"].tolist() == ["250.00", "250.005", "V58.11"]


@given(st.lists(st.tuples(TEXT, TEXT), max_size=8), st.randoms())
def test_hashes_of_rows_know_content_alone(rows: list[Any], random: Any) -> None:
    frame = pd.DataFrame(rows, columns=["a", "b"], dtype=object)
    order = list(range(len(rows)))
    random.shuffle(order)
    moved = frame.iloc[order][["b", "a"]]
    assert row_hashes(moved, b"k").tolist() == row_hashes(frame, b"k")[order].tolist()
    assert table_hash(moved, b"k") == table_hash(frame, b"k")
    texts = [tuple(map(cell_text, row)) for row in rows]
    assert len(set(row_hashes(frame, b"k").tolist())) == len(set(texts))


def test_hashes_depend_on_key_and_on_which_row_holds_a_cell() -> None:
    one = pd.DataFrame({"a": ["x", "y"], "b": ["1", "2"]})
    other = pd.DataFrame({"a": ["x", "y"], "b": ["2", "1"]})
    assert table_hash(one, b"k") != table_hash(other, b"k")
    assert table_hash(one, b"k") != table_hash(one, b"l")
