"""What a dry run tells of queries and comparisons is what happens, and needs neither table nor budget."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError
from deid.cli import main
from deid.dp.domain import declare
from deid.dp.forecast import fidelity_sections, forecast_query
from deid.dp.noise import SeededNoise
from deid.dp.session import QuerySession
from deid.dp.synthetic import check_fidelity, plan_fidelity
from deid.dp.unit import PrivacyUnit

COLUMNS = [declare("age", {"range": [0, 99]}), declare("sex", {"values": ["F", "M"]})]
UNIT = PrivacyUnit("patient", max_rows=2)


def table(rows: int) -> pd.DataFrame:
    places = np.random.default_rng(3).permutation(rows)
    return pd.DataFrame(
        {"age": (places * 100 // rows).astype(str), "sex": np.where(places % 2, "F", "M"), "id": places // 2},
        dtype="string",
    )


@pytest.mark.parametrize(
    "asked",
    ["COUNT(*)", "COUNT(PERSONS)", "SUM(age)", "MEAN(age)", "SD(age)", "QUARTILES(age)", "QUANTILE(age, 0.905)",
     "HISTOGRAM(sex)", "TOP(1, sex)", "MEDIAN(age) WITH INTERVAL"],
)  # fmt: skip
def test_a_forecast_is_what_happens(asked: str) -> None:
    frame, epsilon = table(1000), 0.4
    empty = QuerySession.rehearsal(COLUMNS, UNIT, person="id", report_share=0)
    told = next(line for line in forecast_query(empty.check(f"SELECT {asked}", epsilon)) if line.rows in (None, 1000))
    errors, halves = [], []
    sure = [row["value"] for row in _ask(frame, asked, 1e9, 0)]
    for seed in range(1, 60):
        rows = _ask(frame, asked, epsilon, seed)
        errors += [abs(row["value"] - true) for row, true in zip(rows, sure, strict=True)]
        halves += [(row["upper"] - row["lower"]) / 2 for row in rows if row["lower"] is not None]
    assert told.error == pytest.approx(np.mean(errors), rel=0.3)
    assert told.numbers == len(sure)
    if told.plus_minus is None:
        assert not halves
    else:
        assert told.plus_minus == pytest.approx(np.mean(halves), rel=0.15)


def _ask(frame: pd.DataFrame, asked: str, epsilon: float, seed: int) -> list[dict[str, float]]:
    session = QuerySession(frame, COLUMNS, None, person="id", unit=UNIT, noise=SeededNoise(seed), report_share=0)
    return [dict(row) for row in session.query(f"SELECT {asked}", epsilon).rows]


def test_more_rows_make_better_means_and_no_better_counts() -> None:
    empty = QuerySession.rehearsal(COLUMNS, PrivacyUnit(), report_share=0)
    lines = forecast_query(empty.check("SELECT COUNT(*), MEAN(age) GROUP BY sex", 0.5))
    assert [line.rows for line in lines] == [None, 100, 1000, 10000]
    assert lines[1].error > 3 * lines[2].error > 9 * lines[3].error
    for asked, rows in (("TOP(1, sex)", [100, 1000, 10000]), ("HISTOGRAM(sex)", [None]), ("SUM(age)", [None])):
        assert [line.rows for line in forecast_query(empty.check(f"SELECT {asked}", 0.5))] == rows
    with pytest.raises(ConfigError, match="no column 'aeg'"):
        empty.check("SELECT MEAN(aeg)", 0.5)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_of_a_comparison(delta: float) -> None:
    plan = plan_fidelity(COLUMNS, [["sex"], ["age", "sex"]], 0.5, PrivacyUnit(), delta=delta)
    _, told = fidelity_sections(plan)
    frame = table(200)
    drawn = [
        [own.distance for own in check_fidelity(
            frame, frame, COLUMNS, [["sex"], ["age", "sex"]], 0.5, ledger=None, unit=PrivacyUnit(),
            noise=SeededNoise(seed), delta=delta)]
        for seed in range(150)
    ]  # fmt: skip
    for line, errors in zip(told["forecast"], np.abs(drawn).T, strict=True):
        assert line["error"] == pytest.approx(errors.mean(), rel=0.25)
        assert np.mean(errors <= line["half"]) >= 0.9


def test_dry_runs_read_no_table_and_spend_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def deid(*words: str) -> str:
        result = CliRunner().invoke(main.app, list(words))
        assert result.exit_code == 0, result.output + str(result.exception)
        return result.output

    deid("budget", "init", "b.ledger", "--epsilon", "1", "--unit", "patient", "--max-rows", "2")
    declared = ("--domain", "sex=F,M", "--domain", "age=0..99", "--epsilon", "0.5")
    paid = ("--ledger", "b.ledger", "--person", "id", "--dry-run")
    said = deid("query", "none.csv", "SELECT MEAN(age) GROUP BY sex", *declared, *paid, "--json", "q.json")
    assert "patient (up to 2 rows)" in said
    assert "each of 2 groups" in said
    assert [line["rows"] for line in json.loads(Path("q.json").read_text())["forecast"]] == [100, 1000, 10000]
    table(50).to_csv("t.csv", index=False)
    cube = ("--dims", "sex,age", "--not-private-seed", "1", "-o", "c.csv", "--method", "cells")
    deid("cube", "t.csv", *declared, *cube)
    deid("synthesize", "c.csv", "-o", "made.csv")
    said = deid(
        "fidelity", "none.csv", "made.csv", "--release", "c.csv", "--slice", "sex", "--epsilon", "0.5", *paid
    )  # fmt: skip
    assert "Noise of a comparison" in said
    assert "spent      0\n" in deid("budget", "show", "b.ledger")
