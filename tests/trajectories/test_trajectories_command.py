"""The command of longitudinal records."""

import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest
from trajectories.fixture import HISTORIES
from typer.testing import CliRunner

from deid.base.errors import DeidError
from deid.cli.main import app

COLUMNS = ("--person", "mrn", "--code", "icd", "--code-hierarchy", "icd-9-cm")


def run(*arguments: object) -> int:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [(f"Mary {p}", c, a, f"dna{p}") for p, pairs in HISTORIES.items() for c, a in reversed(pairs)]
    path = tmp_path / "in.csv"
    pd.DataFrame(rows, columns=["mrn", "icd", "age", "dna"]).to_csv(path, index=False)
    return path


def test_histories_are_released_without_persons(table: Path, tmp_path: Path) -> None:
    """The whole way: unsorted histories are sorted, ICD-9 chapters are built in, payload stays beside its record."""
    status = run(
        *("trajectories", "anonymize", table, "-o", tmp_path / "out.csv", "--k", 2, "--person", "mrn", "--code", "icd"),
        *("--code-hierarchy", "icd-9-cm", "--attach", "dna", "--report", tmp_path / "r.html"),
        *("--json", tmp_path / "s.json"),
    )
    assert status == 0
    out = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert list(out.columns) == ["record", "icd", "age", "dna"]
    trajectories = out.groupby("record")[["icd", "age"]].apply(lambda g: tuple(map(tuple, g.to_numpy())))
    assert trajectories.value_counts().min() >= 2
    assert out.groupby("dna")["record"].nunique().tolist() == [1] * 6
    assert "Mary" not in (tmp_path / "out.csv").read_text()
    figures = json.loads((tmp_path / "s.json").read_text())
    assert figures["level"] >= 2
    manifest = json.loads((tmp_path / "out.csv.manifest.json").read_text())["run"]
    assert manifest["results"]["level"] == figures["level"]
    assert manifest["outputs"]["OUT"] == f"sha256:{hashlib.sha256((tmp_path / 'out.csv').read_bytes()).hexdigest()}"
    assert "persons" in (tmp_path / "r.html").read_text()


def test_bad_options_are_told_and_nothing_is_written(table: Path, tmp_path: Path) -> None:
    place = ("-o", tmp_path / "out.csv")
    base = ("trajectories", "anonymize", table, *place, "--person", "mrn", "--code-hierarchy", "icd-9-cm")
    for more, word in (
        (("--code", "idc"), "'icd'"),
        (("--code", "icd", "--k", 9), "fewer than k"),
        (("--code", "icd", "--l", 2), "sensitive"),
        (("--code", "icd", "--method", "x"), "a-gs, baseline"),
        (("--code", "icd", "--attach", "mrn"), "'mrn' is named for two things"),
        (("--code", "icd", "--sensitive-column", "age"), "'age' is named for two things"),
    ):
        with pytest.raises(DeidError, match=word):
            run(*base, *more)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("age", ["44,5", "4o", "inf"])
def test_an_age_that_is_no_number_is_told_with_its_row(table: Path, tmp_path: Path, age: str) -> None:
    frame = pd.read_csv(table, dtype=str)
    frame.loc[1, "age"] = age
    frame.to_csv(table, index=False)
    with pytest.raises(DeidError, match="an age is no number") as refused:
        run("trajectories", "anonymize", table, "-o", tmp_path / "out.csv", "--k", 2, *COLUMNS)
    assert "row 2" in str(refused.value)
    assert age not in str(refused.value)


def test_an_id_that_is_written_in_several_ways_is_no_second_person(table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table, dtype=str)
    frame.loc[0, "mrn"] = "0" + frame.loc[0, "mrn"].upper()
    frame.to_csv(table, index=False)
    asked = ("trajectories", "anonymize", table, "-o", tmp_path / "out.csv", "--k", 2, *COLUMNS)
    with pytest.raises(DeidError, match="1 ids of persons are written in several ways"):
        run(*asked)
    assert not (tmp_path / "out.csv").exists()
    assert run(*asked, "--persons-as-given") == 0
