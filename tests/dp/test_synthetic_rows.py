"""Synthetic rows from releases, and what their fidelity costs."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError
from deid.cli.main import app
from deid.dp import synthetic
from deid.dp.budget import Ledger
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import Dimension, declare
from deid.dp.domain_options import DrawnRows
from deid.dp.epsilon import NANO
from deid.dp.noise import SeededNoise
from deid.dp.sequences import plan_sequences, release_sequences
from deid.dp.synthetic import MadeUpRows, _tables, check_fidelity, release_distances, synthesize
from deid.dp.unit import PrivacyUnit

Small = tuple[pd.DataFrame, tuple[Dimension, ...]]
LEVEL = declare("level", {"values": ["no", "low", "high"]})


def cube(small: Small, method: str, epsilon: float = 1.0):  # type: ignore[no-untyped-def]
    frame, dimensions = small
    slices = [["sex", "age"], ["age", "clinic"]] if method == "marginals" else []
    plan = plan_cube(dimensions, epsilon, PrivacyUnit(), method=method, slices=slices)
    return release_cube(frame, plan, ledger=None, noise=SeededNoise(3))


@pytest.mark.parametrize(
    "method", ["marginals", "cells", "forest", "privtree", "dpcube", "privelet", "diffgen", "even"]
)
def test_made_up_rows_have_the_counts_of_the_release(small: Small, method: str) -> None:
    release = cube(small, method)
    made = synthesize(release, seed=1)
    assert made.equals(synthesize(release, seed=1))
    assert not made.equals(synthesize(release, seed=2))
    assert list(made) == ["sex", "age", "clinic"]
    published = release.slice(["age"]).set_index("age")["count"].clip(lower=0)
    counted = made["age"].value_counts().reindex(published.index, fill_value=0)
    assert len(made) == pytest.approx(published.sum(), abs=40)
    # rounding, and where boxes or negative cells are concerned what lies in their mixture
    assert np.abs(counted - published * len(made) / published.sum()).max() <= (3 if method == "marginals" else 25)
    assert len(synthesize(release, rows=77)) == 77
    assert len(synthesize(release, rows=0)) == 0


@pytest.mark.parametrize("method", ["marginals", "cells", "forest", "privtree"])
def test_made_up_rows_are_told_to_be_near_each_table_of_their_release(small: Small, method: str) -> None:
    release = cube(small, method)
    told = MadeUpRows.drawn(release, DrawnRows(rows=2000, seed=1)).distances
    assert len(told) == len(_tables(release))
    assert max(own.share for own in told) < 0.1
    for axes, own in zip(_tables(release), told, strict=True):
        names = [release.dimensions[axis].name for axis in axes]
        assert release.model.counts(axes) == pytest.approx(release.slice(names)["count"].to_numpy().reshape(
            [len(release.dimensions[axis]) for axis in axes]))  # fmt: skip
        assert own.slice == " x ".join(names)


def test_made_up_rows_of_no_cell_are_in_no_table_that_they_are_compared_in(small: Small) -> None:
    release = cube(small, "marginals")
    made = synthesize(release, rows=500, seed=1)
    partly = made.assign(sex=made["sex"].where(made.index >= 200))
    odd = made.assign(sex=made["sex"].where(made.index >= 200, "X"))
    first, second = release_distances(release, made.iloc[200:])[0], release_distances(release, made)[1]
    for own in (partly, odd):
        assert release_distances(release, own) == [first, second]


@pytest.mark.parametrize("rows", [-1, 51])
def test_too_few_or_too_many_rows_are_refused(small: Small, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "_MAX_ROWS", 50)
    release = cube(small, "cells")
    assert len(synthesize(release, rows=50)) == 50
    with pytest.raises(ConfigError, match=f"{rows} rows are too many or too few"):
        synthesize(release, rows=rows)


def test_pairs_of_measured_tables_are_kept(small: Small) -> None:
    frame, _ = small
    made = synthesize(cube(small, "marginals", 50.0))
    for pair in (["sex", "age"], ["age", "clinic"]):
        true, drawn = frame.groupby(pair).size(), made.groupby(pair).size()
        assert true.sub(drawn, fill_value=0).abs().max() <= 3


@pytest.mark.parametrize("method", ["tree", "markov", "tree-paper"])
@pytest.mark.parametrize(("ends", "epsilon"), [(False, 5.0), (True, 5.0), (False, 0.3)])
def test_made_up_sequences(method: str, ends: bool, epsilon: float) -> None:
    generator = np.random.default_rng(0)
    codes = generator.choice(3, (2000, 3), p=[0.7, 0.2, 0.1])
    frame = pd.DataFrame(np.array(LEVEL.labels)[codes], columns=["a", "b", "c"], dtype="string")
    if ends:
        frame["b"] = frame["b"].mask(np.arange(2000) % 4 == 0)
    plan = plan_sequences(LEVEL, ["a", "b", "c"], epsilon, PrivacyUnit(), method=method, ends=ends)
    release = release_sequences(frame, plan, ledger=None, noise=SeededNoise(2))
    # along a chain, and below leaves, what comes next is drawn apart from what came before
    near = 60 if epsilon < 1 else 45 if method == "markov" else 12
    made = synthesize(release)
    assert len(made) == pytest.approx(2000, abs=30 if epsilon > 1 else 200)
    for length in (1, 2, 3):
        counts = made.dropna(subset=made.columns[:length]).groupby(list(made.columns[:length])).size()
        expected = release.model.distribution(length)
        for prefix in np.ndindex(*expected.shape):
            label = tuple(LEVEL.labels[own] for own in prefix)
            assert counts.get(label if length > 1 else label[0], 0) == pytest.approx(expected[prefix], abs=near)
    assert made["c"][made["b"].isna()].isna().all()
    assert made["b"].isna().any() == ends


def test_fidelity_spends_and_tells_the_distance(small: Small, tmp_path: Path) -> None:
    frame, dimensions = small
    made = synthesize(cube(small, "marginals"))
    ledger = Ledger.create(tmp_path / "l.db", 40.0, PrivacyUnit())
    slices = [["sex", "age"], ["clinic"]]
    found = check_fidelity(frame, made, dimensions, slices, 40.0, ledger=ledger, unit=PrivacyUnit(), request="r")
    assert ledger.account().spent == 40 * NANO
    for one, line in zip(slices, found, strict=True):
        true = frame.groupby(one).size().sub(made.groupby(one).size(), fill_value=0).abs().sum()
        assert line.distance == pytest.approx(true, abs=2)
        assert line.lower <= true <= line.upper
        assert line.share == pytest.approx(line.distance / 2 / len(made))
    for wrong in ([], [[]], [["x"]], [["sex"], ["age", "x"]]):
        with pytest.raises(ConfigError, match="name no column"):
            check_fidelity(frame, made, dimensions, wrong, 1.0, ledger=ledger, unit=PrivacyUnit(), request="w")
    with pytest.raises(ConfigError, match="needs a ledger"):
        check_fidelity(frame, made, dimensions, slices, 1.0, ledger=None, unit=PrivacyUnit())


def test_a_row_moves_the_distance_by_at_most_one(small: Small) -> None:
    frame, dimensions = small
    made = synthesize(cube(small, "marginals"))
    seen = []
    for table in (frame, frame.iloc[1:]):
        noise = SeededNoise(4)
        seen.append(
            check_fidelity(table, made, dimensions, [["sex", "age"]], 1.0, ledger=None, unit=PrivacyUnit(), noise=noise)
        )
    assert abs(seen[0][0].distance - seen[1][0].distance) <= 1


def test_the_commands(small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEID_LEDGER", raising=False)
    small[0].to_csv("t.csv", index=False)

    def deid(*arguments: str) -> str:
        result = CliRunner().invoke(app, arguments)
        if isinstance(result.exception, DeidError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    deid("budget", "init", "l.db", "--epsilon", "3")
    domains = ("--domain", "sex=F,M", "--domain", "age=0..11/2", "--ledger", "l.db")
    deid("cube", "t.csv", "--dims", "sex,age", *domains, "--slice", "sex,age", "--epsilon", "1", "-o", "c.parquet")
    deid("synthesize", "c.parquet", "-o", "s.csv")
    assert set(pd.read_csv("s.csv")["age"]) <= {"0-1", "2-3", "4-5", "6-7", "8-9", "10-11"}
    options = ("--release", "c.parquet", "--slice", "sex,age", "--epsilon", "1", "--ledger", "l.db", "--request", "f")
    shown = deid("fidelity", "t.csv", "s.csv", *options)
    assert pd.read_csv(io.StringIO(shown))["distance"][0] < 60
    assert deid("fidelity", "t.csv", "s.csv", *options) == shown  # the same request is answered again
    sequences = ("--periods", "sex", "--domain", "level=F,M", "--ledger", "l.db", "--epsilon", "1")
    deid("sequences", "t.csv", *sequences, "-o", "q.json")
    deid("synthesize", "q.json", "-o", "q.csv", "--rows", "50")
    assert len(pd.read_csv("q.csv")) == 50
    with pytest.raises(DeidError, match=r"no release of sequences.*deid cube"):
        deid("synthesize", "t.csv", "-o", "x.csv")


def test_columns_of_no_measured_table_are_said_to_be_left_out(small: Small) -> None:
    frame, dimensions = small
    plan = plan_cube(dimensions, 1.0, PrivacyUnit(), method="marginals", slices=[["sex"]])
    release = release_cube(frame, plan, ledger=None, noise=SeededNoise(3))
    told = MadeUpRows.drawn(release, DrawnRows(seed=1))
    assert list(told.table) == ["sex"]
    others = ", ".join(own.name for own in dimensions if own.name != "sex")
    assert f"not in any measured table, so left out: {others}" in told.sentences()
    assert "left out" not in " ".join(MadeUpRows.drawn(cube(small, "marginals"), DrawnRows(seed=1)).sentences())
