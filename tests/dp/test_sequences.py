"""Releases of sequences: queries, slope classes, files, units, and the commands."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError, FormatError, InputError
from deid.cli.main import app
from deid.dp.domain import declare
from deid.dp.forecast import forecast_levels, sequence_sections
from deid.dp.noise import SeededNoise
from deid.dp.release_files import read_numbers
from deid.dp.sequence_release import SequenceRelease, read_sequences, slope_classes, write_sequences
from deid.dp.sequences import plan_sequences, release_sequences
from deid.dp.unit import PrivacyUnit

RUNNER = CliRunner()
LEVEL = declare("level", {"values": ["zero", "low", "high"]})
PERIODS = ["q1", "q2", "q3"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    generator = np.random.default_rng(0)
    codes = generator.choice(3, (900, 3), p=[0.6, 0.3, 0.1])
    table = pd.DataFrame(np.array(LEVEL.labels)[codes], columns=PERIODS, dtype="string")
    table["doctor"] = [str(number % 300) for number in range(900)]
    return table


def release(frame: pd.DataFrame, epsilon: float = 50.0, unit: PrivacyUnit | None = None, **options: Any) -> Any:
    plan = plan_sequences(LEVEL, PERIODS, epsilon, unit or PrivacyUnit(), **options)
    return release_sequences(frame, plan, ledger=None, noise=SeededNoise(1))


def test_slope_classes_of_the_source() -> None:
    """Levels 0 to 3, three periods: slopes (x3 - x1) / 2, negative below -.5, positive from .5 on."""
    negative, zero, positive = slope_classes([0, 1, 2, 3], 3)
    assert positive[0, 3, 1] == 1  # exactly .5 is positive
    assert zero[1, 3, 0] == 1  # exactly -.5 is zero
    assert negative[2, 0, 0] == 1
    assert (negative + zero + positive == 1).all()
    assert [own.sum() for own in (negative, zero, positive)] == [4 * 3, 4 * 7, 4 * 6]


def test_regression_slopes_use_all_periods() -> None:
    average = slope_classes([0, 1, 2, 3], 4, slope="average")[2]
    regression = slope_classes([0, 1, 2, 3], 4, slope="regression")[2]
    # 0 0 3 1: average 1/3, regression (-1.5*0 - .5*0 + .5*3 + 1.5*1) / 5 = .6
    assert (average[0, 0, 3, 1], regression[0, 0, 3, 1]) == (0, 1)


@pytest.mark.parametrize("method", ["tree", "markov", "tree-paper"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
def test_a_release_can_be_read_again(frame: pd.DataFrame, tmp_path: Path, method: str, suffix: str) -> None:
    made = release(frame, method=method, epsilon=1.0)
    write_sequences(made, tmp_path / f"r{suffix}")
    assert read_numbers(tmp_path / f"r{suffix}", (), ("deid_sequences", 1))  # later versions read it by its number
    again = read_sequences(tmp_path / f"r{suffix}")
    assert isinstance(again, SequenceRelease)
    for length in (1, 2, 3):
        pd.testing.assert_frame_equal(made.prefixes(length), again.prefixes(length), atol=1e-6)
    pd.testing.assert_frame_equal(made.slopes(3), again.slopes(3), atol=1e-6)
    assert again.metadata["epsilon"] == 1.0
    assert "NOT PRIVATE" in again.prefix(["zero"])["NOT_PRIVATE"][0]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
def test_a_tree_with_ends_can_be_read_again(frame: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    short = frame.assign(q3=frame["q3"].mask(np.arange(900) % 3 == 0))
    made = release(short, ends=True)
    write_sequences(made, tmp_path / f"r{suffix}")
    again = read_sequences(tmp_path / f"r{suffix}")
    ended = again.prefix(["zero", "zero", "(end)"])["count"][0]
    true = (short["q1"].eq("zero") & short["q2"].eq("zero") & short["q3"].isna()).sum()
    assert ended == pytest.approx(true, abs=2)
    with pytest.raises(ConfigError, match="nothing follows the end"):
        again.prefix(["(end)", "zero"])


def test_slopes_of_a_release(frame: pd.DataFrame) -> None:
    codes = frame[PERIODS].apply(lambda column: column.map(LEVEL.labels.index)).to_numpy(int)
    slopes = (codes[:, 2] - codes[:, 0]) / 2
    true = [(slopes < -0.5).sum(), ((slopes >= -0.5) & (slopes < 0.5)).sum(), (slopes >= 0.5).sum()]
    found = release(frame).slopes(3)
    assert found["slope"].tolist() == ["negative", "zero", "positive"]
    assert found["count"].to_numpy() == pytest.approx(true, abs=6)
    assert ((found["lower"] <= true) & (found["upper"] >= true)).all()


def test_incomplete_sequences_are_left_out_unless_they_may_end(frame: pd.DataFrame) -> None:
    short = frame.assign(q3=frame["q3"].mask(np.arange(900) % 2 == 0))
    assert release(short).model.distribution(1).sum() == pytest.approx(450, abs=3)
    assert release(short, ends=True).model.distribution(2).sum() == pytest.approx(900, abs=3)


def test_the_unit_bounds_rows_and_raises_the_noise(frame: pd.DataFrame) -> None:
    unit = PrivacyUnit("doctor", "add-remove", 2)
    made = release(frame, unit=unit, person="doctor")
    assert made.model.distribution(1).sum() == pytest.approx(600, abs=6)
    assert made.metadata["left_out"]["persons_with_too_many_rows"] == pytest.approx(300, abs=20)
    plans = [
        plan_sequences(LEVEL, PERIODS, 1.0, own, person="doctor", report_share=0)
        for own in (PrivacyUnit("doctor"), unit, PrivacyUnit("doctor", "replace", 2))
    ]
    noise = [forecast_levels(plan)[1].noise for plan in plans]
    assert noise[1] / noise[0] == pytest.approx(2, rel=0.02)
    assert noise[2] / noise[0] == pytest.approx(4, rel=0.02)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_tree_of_any_height_has_a_line_for_each_depth(count: int) -> None:
    plan = plan_sequences(LEVEL, PERIODS[:count], 1.0, PrivacyUnit(), method="tree")
    (section,), told = sequence_sections(plan)
    assert len(section.rows) == len(told["levels"]) == len(forecast_levels(plan))
    assert {len(row) for row in section.rows} == {len(section.columns)}


@pytest.mark.parametrize("method", ["tree", "markov"])
def test_more_prefixes_than_can_be_held_are_refused(method: str) -> None:
    """Of 34 levels, five periods have 45 million."""
    periods = [f"q{number}" for number in range(5)]
    frame = pd.DataFrame({name: ["1", "2"] * 40 for name in periods}, dtype="string")
    plan = plan_sequences(declare("level", {"range": [0, 33]}), periods, 5.0, PrivacyUnit(), method=method)
    made = release_sequences(frame, plan, ledger=None, noise=SeededNoise(1))
    with pytest.raises(ConfigError, match="5 prefixes are too many"):
        made.slopes(5)
    if method == "tree":  # of the other one a hundred models are fitted for the widths
        assert len(made.prefixes(2)) == 34**2


@pytest.mark.parametrize(
    ("levels", "periods", "most"), [(1414, 2, 1414**2), (999, 3, 2 * 999**2), (706, 5, 4 * 706**2)]
)
def test_a_chain_of_more_than_two_million_pairs_is_refused(levels: int, periods: int, most: int) -> None:
    """Of a level more; a chain of one period has no pairs."""

    def plan(levels: int, periods: int) -> object:
        level, names = declare("level", {"range": [1, levels]}), [f"q{number}" for number in range(periods)]
        return plan_sequences(level, names, 5.0, PrivacyUnit(), method="markov", report_share=0.0)

    assert most <= 2_000_000 < (levels + 2) ** 2 * (periods - 1)
    assert plan(levels, periods)
    assert plan(levels + 2, 1)
    with pytest.raises(ConfigError, match=f"{(levels + 2) ** 2 * (periods - 1)} pairs of levels"):
        plan(levels + 2, periods)


def test_what_cannot_be_asked(frame: pd.DataFrame, tmp_path: Path) -> None:
    made = release(frame)
    with pytest.raises(ConfigError, match="levels are zero, low, high"):
        made.prefix(["medium"])
    with pytest.raises(ConfigError, match="its longest have 3"):
        made.prefix(["low"] * 4)
    with pytest.raises(ConfigError, match="its longest have 3"):
        made.slopes(4)
    with pytest.raises(ConfigError, match="there are 3 levels"):
        made.slopes(3, values=[1, 2])
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(FormatError, match="no release of sequences"):
        read_sequences(tmp_path / "x.json")
    with pytest.raises(InputError, match="there is no such file"):
        read_sequences(tmp_path / "missing.csv")


def deid(*arguments: object) -> str:
    result = RUNNER.invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, DeidError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_commands(frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEID_LEDGER", raising=False)
    frame.to_csv("doctors.csv", index=False)
    deid("budget", "init", "l.db", "--epsilon", "2", "--unit", "doctor", "--max-rows", "3")
    asked = ("sequences", "doctors.csv", "--periods", "q1,q2,q3", "--domain", "level=zero,low,high", "--ledger", "l.db")
    forecast = deid(*asked, "--epsilon", "1", "--dry-run", "--person", "doctor")
    assert "doctor (up to 3 rows)" in forecast
    with pytest.raises(ConfigError, match="no column says whose"):
        deid(*asked, "--epsilon", "1", "-o", "t.parquet")
    deid(*asked, "--epsilon", "1", "-o", "t.parquet", "--person", "doctor", "--request", "one", "--asked-length", "2:3")
    before = Path("t.parquet").read_bytes()
    deid(*asked, "--epsilon", "1", "-o", "t.parquet", "--person", "doctor", "--request", "one", "--asked-length", "2:3")
    assert Path("t.parquet").read_bytes() == before
    assert len(deid("budget", "history", "l.db").splitlines()) == 1
    with pytest.raises(DeidError, match="of the budget is left"):
        deid(*asked, "--epsilon", "1.5", "-o", "u.parquet", "--person", "doctor")
    assert not Path("u.parquet").exists()
    slopes = pd.read_csv(io.StringIO(deid("prefixes", "t.parquet", "--slopes", "3", "--json", "s.json")))
    assert slopes["slope"].tolist() == ["negative", "zero", "positive"]
    assert json.loads(Path("s.json").read_text())["private"] is True
    assert len(pd.read_csv(io.StringIO(deid("prefixes", "t.parquet", "--length", "2")))) == 9
    assert "zero low" in deid("prefixes", "t.parquet", "--prefix", "zero,low")
    with pytest.raises(ConfigError, match="one question"):
        deid("prefixes", "t.parquet")
    with pytest.raises(ConfigError, match="N\\[:WEIGHT\\]"):
        deid(*asked, "--epsilon", "1", "--asked-length", "a", "-o", "v.csv")


@pytest.mark.parametrize("method", ["tree", "markov", "tree-paper"])
def test_what_a_plan_of_sequences_accepts_is_released_however_little_it_costs(method: str, frame: pd.DataFrame) -> None:
    level = declare("level", {"values": ["a", "b"]})
    rows = pd.DataFrame({"one": ["a", "b"], "two": ["b", "b"], "three": ["a", None]})
    refused = []
    for epsilon in (2e-9, 1e-8, 1e-5):
        try:
            plan = plan_sequences(level, list(rows), epsilon, PrivacyUnit(), method=method, report_share=0)
        except ConfigError:
            refused.append(epsilon)
        else:
            assert release_sequences(rows, plan, ledger=None, noise=SeededNoise(1)).to_frame().shape[0] > 0
    assert 2e-9 in refused
    assert len(refused) < 3
    plan = plan_sequences(level, list(rows), 1.0, PrivacyUnit(), method=method)
    with pytest.raises(ConfigError, match="no column 'two'"):
        release_sequences(rows.drop(columns="two"), plan, ledger=None, noise=SeededNoise(1))
