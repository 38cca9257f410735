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
from deid.experiments.sequences import compare_sequences, compare_trends, sequence_shapes, unit_cost

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


def test_shapes_of_sequences_worked_by_hand() -> None:
    rising, falling, flat, turning = [0, 1, 1, 2], [2, 2, 0, 0], [1, 1, 1, 1], [1, 2, 0, 1]
    found = sequence_shapes(np.array([rising, rising, falling, flat, turning]))
    assert found == pytest.approx({"higher": 0.4, "same": 0.4, "lower": 0.2, "turning": 0.2})


def test_sequences_are_drawn_from_the_complete_ones_and_shown_again(tmp_path: Path) -> None:
    rows = [[0, 1, 1], [2, 1, 0], [0, 2, 1], [9, 0, 0]]  # the last lies outside the domain
    file, out, page = tmp_path / "t.csv", tmp_path / "f.json", tmp_path / "p.html"
    pd.DataFrame(rows, columns=list("abc")).to_csv(file, index=False)
    line = ["experiment", "sequences", str(file), "--periods", "a,b,c", "--domain", "level=0..2", "--runs", "1"]
    line += ["--methods", "tree", "--epsilons", "1", "--json", str(out)]
    result = CliRunner().invoke(app, [*line, "--draw", "3"], catch_exceptions=False)
    assert result.exit_code == 0
    values = json.loads(out.read_text())
    assert sorted(values["drawn"]) == sorted(rows[:3])
    assert values["shapes"] == pytest.approx({"higher": 2 / 3, "same": 0, "lower": 1 / 3, "turning": 1 / 3})
    assert "Rows of the table as they are: NOT private" in result.stdout
    assert CliRunner().invoke(app, ["report", "open", str(out), "-o", str(page)]).exit_code == 0
    assert "Sequences drawn at random" in page.read_text()
    assert "66.7%" in page.read_text()
    more = CliRunner().invoke(app, [*line, "--draw", "4"])
    assert isinstance(more.exception, ConfigError)
    assert "not so many complete sequences" in str(more.exception)


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
