"""Adding a row, whatever its text, changes the reading of no other row of codes or trajectories."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_tables import KINDS, Stored
from typer.testing import CliRunner

from deid.cli.main import app
from deid.table.hierarchy_builders import build_hierarchy
from deid.table.table_files import read_table
from deid.trajectories.records import trajectories_of_table
from deid.transactions.reading import read_codes

ROWS = [("1", "250.00", "45"), ("1", "401.10", "46"), ("2", "250.0", "45"), ("07", "038", "80")]
COLUMNS = ["who", "code", "age"]


CELLS = st.sampled_from(["V58.11", "250", "1e5", "x", "-1", "0", "nan", "1.0", '"', "a;b", "é"])


def readings(stored: Stored, rows: list[tuple[str, ...]]) -> list[pd.DataFrame]:
    """Return rows as they are read, and as a frame that somebody has."""
    place, *table = stored(COLUMNS, rows)
    return [read_table(place, table=table[0] if table else None, text=True), pd.DataFrame(rows, columns=COLUMNS)]


@pytest.mark.parametrize("stored", KINDS, indirect=True)
def test_codes(stored: Stored) -> None:
    @settings(max_examples=12)
    @given(CELLS, CELLS)
    def law(code: str, age: str) -> None:
        for frame in readings(stored, [*ROWS, ("new", code, age)]):
            found = read_codes(frame, "code", person="who")
            assert found.transactions.texts()[:3] == [("250.00", "401.10"), ("250.0",), ("038",)]

    law()


@pytest.mark.parametrize("stored", KINDS, indirect=True)
def test_trajectories(stored: Stored) -> None:
    codes = build_hierarchy("prefixes", ["250.00", "250.0", "401.10", "038"])
    ages = build_hierarchy("intervals", ["45", "46", "80", "99"], widths=[5, 10])

    @settings(max_examples=12)
    @given(CELLS, st.sampled_from(["45", "45.0", "99.00", "99"]))
    def law(code: str, age: str) -> None:
        for frame in readings(stored, [*ROWS, ("new", code, age)]):
            data = trajectories_of_table(frame, codes, ages, person="who", code="code", age="age", own_leaf=True)
            found = {
                who: [(data.codes.names[c], data.ages.names[a]) for c, a in data.trajectory(place).tolist()]
                for place, who in enumerate(data.people)
                if who != "new"
            }
            assert found == {"1": [("250.00", "45"), ("401.10", "46")], "2": [("250.0", "45")], "07": [("038", "80")]}

    law()


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
