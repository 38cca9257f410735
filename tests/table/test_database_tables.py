"""Tables that are written into databases: whole or not at all, never over what is there, never beside the originals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError, OutputError
from deid.cli.main import app
from deid.table.table_files import read_table
from deid.table.table_writing import check_new_table, write_table

FRAME = pd.DataFrame(
    {
        'a "b%(x)s:q': ["x", None, "é"],
        "gap": pd.array([1, None, 2**60], "Int64"),
        "real": [1.5, float("nan"), 2],
        "kind": pd.Categorical(["[1-2]", "*", None]),
        "day": pd.to_datetime(["2020-01-01", None, "2020-01-02 10:00"], format="mixed"),
    }
)
READ = [
    ["x", 1, 1.5, "[1-2]", "2020-01-01"],
    [None, None, None, "*", None],
    ["é", 2**60, 2.0, None, "2020-01-02 10:00:00"],
]


def cells(place: str) -> list[list[object]]:
    frame = read_table(place, exact=True).astype(object)
    return frame.where(frame.notna(), None).to_numpy().tolist()  # type: ignore[no-any-return]


def test_sqlite(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/r.db/patients"
    check_new_table(place)
    assert list(tmp_path.iterdir()) == []
    write_table(FRAME, place)
    assert cells(place) == READ
    assert (tmp_path / "r.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(OutputError, match="exists already"):
        check_new_table(place)
    with pytest.raises(OutputError, match="exists already"):
        write_table(FRAME, place)
    write_table(FRAME, f"sqlite:///{tmp_path}/r.db/more")
    assert cells(place) == READ


def test_postgresql(postgresql: Callable[[], str]) -> None:
    place = f"{postgresql().partition('?')[0]}/release.patients"
    query = postgresql().partition("?")[2]
    place = f"{place}?{query}" if query else place
    check_new_table(place)
    write_table(FRAME, place)
    assert cells(place) == READ
    with pytest.raises(OutputError, match="exists already"):
        check_new_table(place)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("sqlite:///ehr.db/other", "file of the source"),
        ("sqlite:///new.db", "not named"),
        ("sqlite:///missing/new.db/t", "no folder"),
        ("sqlite:///new.db/a.t", "no schemas"),
        ("postgresql://u:secret@h/d/t", "password"),
        ("mysql://h/d/t", "not supported"),
    ],
)
def test_places_that_cannot_be_are_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(FRAME, "sqlite:///ehr.db/patients")
    with pytest.raises((OutputError, ConfigError), match=message) as caught:
        check_new_table(place, "ehr.db")
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == [tmp_path / "ehr.db"]


def test_nothing_is_left_of_what_fails(tmp_path: Path) -> None:
    for frame in (pd.DataFrame({"A": [1], "a": [2]}), pd.DataFrame({"a": ["\ud800"]}, dtype=object)):
        with pytest.raises((DeidError, UnicodeEncodeError)):
            write_table(frame, f"sqlite:///{tmp_path}/r.db/t")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["xlsx", "db"])
def test_a_release_from_a_workbook_or_database_into_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame({"mrn": range(40), "age": [20 + i for i in range(40)], "dx": ["flu", "hiv"] * 20})
    source, out = {"xlsx": ("p.xlsx", "r.xlsx"), "db": ("sqlite:///p.db/p", "sqlite:///r.db/r")}[kind]
    write_table(rows, source)
    said = ["anonymize", source, "--qi", "age", "--sensitive", "dx", "--drop", "mrn", "--k", "4", "-o", out]
    result = CliRunner().invoke(app, said)
    assert result.exit_code == 0, (result.output, result.exception)
    released = read_table(out, text=True)
    assert released.groupby("age", observed=True).size().min() >= 4
    assert len(released) == 40
    assert "mrn" not in released
    beside = tmp_path / {"xlsx": "r.xlsx.manifest.json", "db": "r.db.r.manifest.json"}[kind]
    assert "p.db" not in beside.read_text()
    checked = CliRunner().invoke(app, ["privacy", out, "--qi", "age", "--sensitive", "dx", "--k", "4"])
    assert checked.exit_code == 0, checked.output
