"""The text of a cell comes from the cell alone: no row changes how another one is read, wherever it comes from."""

from __future__ import annotations

import datetime
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
from stored_tables import KINDS, Stored

from deid.base.errors import FormatError
from deid.table.cell_text import cell_text, key_text, row_hashes, table_hash, text_column
from deid.table.table_files import read_table

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


@pytest.mark.parametrize(
    ("stored", "typed"),
    [*((kind, False) for kind in KINDS if kind != "xlsx"), ("sqlite", True)],  # an empty row of a sheet is no row
    indirect=["stored"],
)
def test_no_row_changes_how_another_is_read(stored: Stored, typed: bool) -> None:
    def read(rows: list[Any]) -> list[list[str | None]]:
        place, *table = stored(("a NUMERIC(5,2)", "b DATE") if typed else "ab", rows)  # SQLite takes any text
        frame = read_table(place, table=table[0] if table else None, text=True).astype(object)
        return frame.where(frame.notna(), None).to_numpy().tolist()

    @settings(max_examples=20)
    @given(ROWS, st.tuples(TEXT, TEXT), st.integers(0, 6))
    def law(rows: list[Any], added: Any, place: int) -> None:
        place = min(place, len(rows))
        after = read([*rows[:place], added, *rows[place:]])
        assert after[:place] + after[place + 1 :] == read(rows)

    law()


@settings(max_examples=60)
@given(ROWS, st.tuples(TEXT, TEXT))
def test_no_row_changes_how_another_of_a_frame_is_read(rows: list[Any], added: Any) -> None:
    for before, after in zip(zip(*rows, strict=True), zip(*rows, added, strict=True), strict=True):
        texts = [text_column(pd.Series(cells, dtype=object)).astype(object) for cells in (before, after)]
        assert texts[1][:-1].fillna("").tolist() == texts[0].fillna("").tolist()


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


@pytest.mark.parametrize("stored", ["sqlite"], indirect=True)
@pytest.mark.parametrize("kind", ["DATE", "DATETIME", "TIME", "NUMERIC(5,2)", "BOOLEAN", "JSON", "UUID", "STRING"])
@pytest.mark.parametrize("text", [True, False])
def test_a_cell_that_is_not_of_its_columns_type_is_text(stored: Stored, kind: str, text: bool) -> None:
    place, table = stored((f"a {kind}", "b"), [("unknown", "1"), ("maybe", "2")])
    assert read_table(place, table=table, text=text, exact=True)["a"].tolist() == ["unknown", "maybe"]


@pytest.mark.parametrize("text", [True, False])
def test_times_that_python_has_not_are_texts_in_postgresql(postgresql: Callable[[], str], text: bool) -> None:
    import psycopg

    place = postgresql()
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a DATE, b TIMESTAMP, c TIMESTAMPTZ, d TIME)")
        connection.execute("INSERT INTO t VALUES ('2020-01-31', '2020-01-31 10:01', NULL, '10:01')")
        connection.execute("INSERT INTO t VALUES ('infinity', '0044-03-15 10:01 BC', '-infinity', '24:00')")
    frame = read_table(place, table="t", text=text, exact=True).astype(str)
    assert frame.iloc[0, [0, 1, 3]].tolist() == ["2020-01-31", "2020-01-31 10:01:00", "10:01:00"]
    assert frame.iloc[1].tolist() == ["infinity", "0044-03-15 10:01:00 BC", "-infinity", "24:00:00"]


@pytest.mark.parametrize("text", [True, False])
def test_the_zone_of_a_machine_changes_no_instant_of_postgresql(
    postgresql: Callable[[], str], text: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    place, seen = postgresql(), []
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a TIMESTAMPTZ)")
        connection.execute("INSERT INTO t VALUES ('2020-01-31 23:30+00')")
    for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
        monkeypatch.setenv("PGTZ", zone)
        seen.append(str(read_table(place, table="t", text=text, exact=True)["a"][0]))
    assert len(set(seen)) == 1
    assert seen[0].startswith("2020-01-31")


def test_dates_beyond_those_of_python_change_no_other_in_parquet(tmp_path: Path) -> None:
    columns = {"a": pyarrow.array([0, 2**31 - 1], pyarrow.date32()), "b": ["x", "y"]}
    columns["c"] = pyarrow.array([0, 2**60], pyarrow.timestamp("us"))
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", text=True).iloc[0].tolist() == ["1970-01-01", "x", "1970-01-01"]
    with pytest.raises(FormatError, match="out of range"):
        read_table(tmp_path / "t.parquet")


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


@pytest.mark.parametrize("stored", ["sqlite"], indirect=True)
def test_sqlite_writes_the_places_that_a_column_declares(stored: Stored) -> None:
    place, table = stored(("a NUMERIC(5,2)", "b"), [("250.00", "1"), ("250.005", "2"), ("V58.11", None)])
    assert read_table(place, table=table, text=True)["a"].tolist() == ["250.00", "250.005", "V58.11"]


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
