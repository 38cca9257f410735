"""Adding a row, whatever its text, changes the reading of no other row of codes or trajectories."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid.cli.main import app
from deid.table.hierarchy_builders import build_hierarchy
from deid.table.table_files import read_table
from deid.trajectories.records import trajectories_of_table
from deid.transactions.reading import read_codes

ROWS = [("1", "250.00", "45"), ("1", "401.10", "46"), ("2", "250.0", "45"), ("07", "038", "80")]
COLUMNS = ["who", "code", "age"]


def as_csv(rows: list[tuple[str, ...]], folder: Path) -> pd.DataFrame:
    pd.DataFrame(rows, columns=COLUMNS).to_csv(folder / "t.csv", index=False)
    return read_table(folder / "t.csv", text=True)


def as_parquet(rows: list[tuple[str, ...]], folder: Path) -> pd.DataFrame:
    pd.DataFrame(rows, columns=COLUMNS).to_parquet(folder / "t.parquet")
    return read_table(folder / "t.parquet", text=True)


def as_sql(rows: list[tuple[str, ...]], folder: Path) -> pd.DataFrame:
    place = folder / "t.db"
    place.unlink(missing_ok=True)
    with sqlite3.connect(place) as connection:
        connection.execute("create table t (who text, code text, age text)")
        connection.executemany("insert into t values (?, ?, ?)", rows)
    connection.close()
    return read_table(place, table="t", text=True)


def as_frame(rows: list[tuple[str, ...]], folder: Path) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS)


KINDS = [as_csv, as_parquet, as_sql, as_frame]
CELLS = st.sampled_from(["V58.11", "250", "1e5", "x", "-1", "0", "nan", "1.0", '"', "a;b", "é"])


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(CELLS, CELLS)
def test_codes(
    tmp_path_factory: pytest.TempPathFactory,
    kind: Callable[[list[tuple[str, ...]], Path], pd.DataFrame],
    code: str,
    age: str,
) -> None:
    folder = tmp_path_factory.mktemp("codes")
    found = read_codes(kind([*ROWS, ("new", code, age)], folder), "code", person="who")
    assert found.transactions.texts()[:3] == [("250.00", "401.10"), ("250.0",), ("038",)]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(CELLS, st.sampled_from(["45", "45.0", "99.00", "99"]))
def test_trajectories(
    tmp_path_factory: pytest.TempPathFactory,
    kind: Callable[[list[tuple[str, ...]], Path], pd.DataFrame],
    code: str,
    age: str,
) -> None:
    folder = tmp_path_factory.mktemp("trajectories")
    codes = build_hierarchy("prefixes", ["250.00", "250.0", "401.10", "038"])
    ages = build_hierarchy("intervals", ["45", "46", "80", "99"], widths=[5, 10])
    rows = [*ROWS, ("new", code, age)]
    data = trajectories_of_table(kind(rows, folder), codes, ages, person="who", code="code", age="age", own_leaf=True)
    found = {
        who: [(data.codes.names[c], data.ages.names[a]) for c, a in data.trajectory(place).tolist()]
        for place, who in enumerate(data.people)
        if who != "new"
    }
    assert found == {"1": [("250.00", "45"), ("401.10", "46")], "2": [("250.0", "45")], "07": [("038", "80")]}


@pytest.mark.parametrize("more", ["", "50,F,V58.11,x\n50,M,V58.11,x\n"])
def test_cells_that_are_published_as_they_are(tmp_path: Path, more: str) -> None:
    (tmp_path / "t.csv").write_text(
        f"age,sex,dx,dose\n30,F,250.00,1.50\n31,F,250.00,01\n30,M,401.10,2.0\n31,M,038,2\n{more}"
    )
    (tmp_path / "s.toml").write_text('[columns.dx]\nrole = "sensitive"\nkind = "nominal"\n')
    asked = ("--schema", "s.toml", "--qi", "age,sex", "--publish", "dose", "--k", "2", "-o", "o.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        result = CliRunner().invoke(app, ["anonymize", "t.csv", *asked], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found = pd.read_csv(tmp_path / "o.csv", dtype=str)
    assert {"250.00", "401.10", "038"} <= set(found["dx"])
    assert {"1.50", "01", "2.0", "2"} <= set(found["dose"])
