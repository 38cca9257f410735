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
    ):
        with pytest.raises(DeidError, match=word):
            run(*base, *more)
    assert not (tmp_path / "out.csv").exists()
