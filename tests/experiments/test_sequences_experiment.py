"""The comparison of sequence methods on a small table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError
from deid.cli.main import app
from deid.dp.domain import declare
from deid.experiments.outcome import RunOptions
from deid.experiments.sequences import compare_sequences, compare_trends, unit_cost

LEVEL = declare("level", {"range": [0, 2]})


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    return np.random.default_rng(0).choice(3, (2000, 4), p=[0.8, 0.15, 0.05]).astype(np.int64)


def test_errors_fall_with_epsilon_and_even_is_always_compared(codes: np.ndarray) -> None:
    found = compare_sequences(codes, LEVEL, RunOptions((0.1, 10.0), runs=3), methods=("tree",))
    errors = found.pivot_table(index=["method", "epsilon"], columns="length", values="error")
    assert {"tree", "even", "zero"} == set(found["method"])
    assert (errors.loc["tree", 10.0] < errors.loc["tree", 0.1]).all()
    assert (errors.loc["tree", 10.0] < errors.loc["even", 10.0]).all()
    assert errors.loc["zero", 0.1].to_numpy() == pytest.approx([2000 / 3**length for length in range(1, 5)])


def test_trends_by_both_slopes(codes: np.ndarray) -> None:
    found = compare_trends(codes, LEVEL, RunOptions((5.0,), runs=2), methods=("tree", "markov"), lengths=(3,))
    assert set(found["slope"]) == {"average", "regression"}
    assert found.groupby(["method", "slope"])["true"].sum().eq(2000).all()
    assert found[found["method"] == "tree"]["error"].max() < 20 < found[found["method"] == "even"]["error"].max()


def test_protecting_a_person_costs_more_than_a_row(codes: np.ndarray) -> None:
    persons = pd.Series(np.arange(2000) % 100)
    found = unit_cost(codes, persons, LEVEL, RunOptions(runs=2), bounds=(1, 20))
    assert found.groupby("max_rows")["rows"].first().to_dict() == {1: 100, 20: 2000}
    assert (found["error"] > found["row_error"]).all()


def test_unknown_methods_are_refused(codes: np.ndarray) -> None:
    with pytest.raises(ConfigError, match="unknown method"):
        compare_sequences(codes, LEVEL, RunOptions(), methods=("guess",))
    with pytest.raises(ConfigError, match="needs a run"):
        RunOptions(runs=0)


def test_the_command(codes: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(codes[:300], columns=list("abcd")).assign(who=np.arange(300) % 30)
    table.to_csv("t.csv", index=False)
    arguments = ["experiment", "sequences", "t.csv", "--periods", "a,b,c,d", "--domain", "level=0..2", "--runs", "1"]
    arguments += ["--trends", "3", "--person", "who", "--bounds", "1,5", "--plot", "e.svg", "--json", "f.json"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert "NOT private" in result.stdout
    assert "row alone" in result.stdout
    assert Path("e.svg").read_text().lstrip().startswith("<?xml")
    figures = json.loads(Path("f.json").read_text())
    assert figures["private"] is False
    assert {"private", "lengths", "slopes", "unit"} <= set(figures)
