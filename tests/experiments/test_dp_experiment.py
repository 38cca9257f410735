"""deid experiment dp: methods against the truth, always with the even baseline."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError
from deid.base.plots import image
from deid.cli.main import app
from deid.dp.domain import declare
from deid.dp.methods import Rows
from deid.experiments.dp import (
    THRESHOLDS,
    compare_methods,
    histograms,
    plot_histograms,
    plot_methods,
    plot_thresholds,
    sweep_thresholds,
)
from deid.experiments.outcome import RunOptions

DIMENSIONS = (declare("age", {"range": [0, 15]}), declare("sex", {"values": ["F", "M"]}))


@pytest.fixture
def rows() -> Rows:
    generator = np.random.default_rng(0)
    points = np.stack([np.clip(generator.normal(6, 2, 900).round(), 0, 15), generator.integers(0, 2, 900)], 1)
    return Rows(points.astype(np.int64), (16, 2))


def test_methods_by_epsilon_with_the_even_baseline(rows: Rows) -> None:
    frame = compare_methods(
        rows, DIMENSIONS, [["age", "sex"], ["age"]], RunOptions((0.2, 2.0), runs=4), methods=["marginals", "cells"]
    )
    assert set(frame["method"]) == {"marginals", "cells", "even"}
    by = frame.set_index(["method", "epsilon", "slice"])["l1"]
    for method in ("marginals", "cells"):
        assert by[method, 2.0, "age x sex"] < by[method, 0.2, "age x sex"] < by["even", 2.0, "age x sex"]
    assert (frame["per_bin"] * frame["cells"]).to_numpy() == pytest.approx(frame["l1"].to_numpy())
    assert frame["average_slope_error"].notna().all()
    assert b"<svg" in image(plot_methods(frame))


def test_thresholds_of_all_gains(rows: Rows) -> None:
    frame = sweep_thresholds(rows, DIMENSIONS, [["age"]], RunOptions((2.0,), runs=2))
    assert set(frame["gain"]) == set(THRESHOLDS)
    boxes = frame[frame["gain"] == "sse"]["boxes"].to_numpy()
    assert (np.diff(boxes) <= 0).all()
    assert boxes[0] > boxes[-1]
    assert b"<svg" in image(plot_thresholds(frame))


def test_wrong_slices_are_refused(rows: Rows) -> None:
    for wrong in ([], [["x"]], [[]]):
        with pytest.raises(ConfigError):
            compare_methods(rows, DIMENSIONS, wrong, RunOptions())


def test_the_command_says_that_it_is_not_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("age,sex\n" + "".join(f"{i % 16},{'FM'[i % 2]}\n" for i in range(200)))
    arguments = "experiment dp t.csv --dims age,sex --domain age=0..15 --domain sex=F,M --slice age --methods cells"
    command = [*arguments.split(), "--runs", "2"]
    swept = CliRunner().invoke(app, [*command, "--sweep-thresholds", "--plot", "q.png", "--json", "t.json"])
    assert swept.exit_code == 0, swept.output
    assert len(json.loads(Path("t.json").read_text())["thresholds"]) > 1
    result = CliRunner().invoke(app, [*command, "--plot", "p.svg", "--json", "e.json"])
    assert result.exit_code == 0, result.output
    assert "NOT PRIVATE" in result.output
    assert "even" in result.output
    figures = json.loads(Path("e.json").read_text())
    assert figures["private"] is False
    assert {line["method"] for line in figures["methods"]} == {"cells", "even"}
    assert Path("p.svg").stat().st_size > 1000
    assert Path("q.png").stat().st_size > 1000


def test_histograms_sum_to_the_errors_of_the_slice_and_tell_slopes(rows: Rows) -> None:
    how = RunOptions((0.5,), runs=2)
    bins, slopes = histograms(rows, DIMENSIONS, [["age", "sex"]], how, methods=["cells"])
    true = rows.counts((0, 1))
    own = bins[bins["method"] == "cells"]
    assert own["true"].to_numpy().reshape(2, 16).T.tolist() == true.tolist()
    compared = compare_methods(rows, DIMENSIONS, [["age", "sex"]], how, methods=["cells"])
    assert own["error"].sum() == pytest.approx(compared[compared["method"] == "cells"]["l1"].item())
    told = slopes.set_index(["method", "series"])["true"]
    for sex, label in enumerate("FM"):
        steps = np.diff(true[:, sex])  # the dissertation's average slope, section 5.3.3
        assert told["cells", f"sex = {label}"] == pytest.approx(steps.sum() / 16)
    assert b"<svg" in image(plot_histograms(bins))
    with pytest.raises(ConfigError):
        histograms(rows, DIMENSIONS, [["sex"]], how)


def test_thresholds_are_swept_at_every_epsilon(rows: Rows) -> None:
    frame = sweep_thresholds(rows, DIMENSIONS, [["age"]], RunOptions((0.2, 2.0), runs=1))
    assert (frame.groupby(["gain", "threshold"])["epsilon"].nunique() == 2).all()
    assert b"<svg" in image(plot_thresholds(frame))
