"""Cells that lie in one another: the best counts by dense algebra, sums that agree, levels that can be asked."""

from __future__ import annotations

import io
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odds import upper_log_ratio
from recording import RecordingNoise
from test_dp_commands import deid

from deid.base.errors import ConfigError
from deid.dp import QuerySession
from deid.dp.boxes import simplex
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import declare
from deid.dp.forecast import forecast
from deid.dp.methods import CubePlan
from deid.dp.nested import Nesting, chained
from deid.dp.noise import SeededNoise
from deid.dp.release import read_release, write_release
from deid.dp.sequences import plan_sequences
from deid.dp.synthetic import check_fidelity, release_distances, synthesize
from deid.dp.unit import PrivacyUnit

TREE = {"North": {"Idaho": ["Ada", "Boise", "Custer"], "Utah": ["Rich"]}, "South, deep": {"Ohio": ["Adams", 'Al"len']}}
COUNTY = declare("county", {"tree": TREE, "within": ["region", "state"]})
YEAR = declare("year", {"range": [0, 2]})


def random_nesting(draws: Any) -> Nesting:
    sizes = [1, draws.randint(1, 3)]
    parents = [np.zeros(sizes[1], np.int64)]
    for _ in range(draws.randint(0, 2)):
        below = [place for place in range(sizes[-1]) for _ in range(draws.randint(1, 3))]
        parents.append(np.array(below, np.int64))
        sizes.append(len(below))
    return Nesting(tuple(parents))


@settings(max_examples=30)
@given(st.randoms(use_true_random=False), st.integers(0, 10_000))
def test_estimates_and_variances_are_those_of_dense_least_squares(draws: Any, seed: int) -> None:
    nesting, generator = random_nesting(draws), np.random.default_rng(seed)
    cells = nesting.sizes[-1]
    sums = [np.array(own) for own in nesting.levels(np.eye(cells))]  # how each level adds up cells
    variances = generator.uniform(0.5, 4, len(sums)).tolist()
    measured = [generator.normal(size=(size, 2)) for size in nesting.sizes]
    weight = np.concatenate([np.full(len(own), 1 / np.sqrt(v)) for own, v in zip(sums, variances, strict=True)])
    design = np.concatenate(sums) * weight[:, None]
    found = nesting.estimate(measured, variances)
    best = np.linalg.lstsq(design, np.concatenate(measured) * weight[:, None], rcond=None)[0]
    np.testing.assert_allclose(found, best, atol=1e-9)
    covariance = np.linalg.inv(design.T @ design)
    np.testing.assert_allclose(nesting.cell_variances(variances), np.diag(covariance), atol=1e-9)
    asked = generator.normal(size=cells)
    assert nesting.variance(asked, variances) == pytest.approx(asked @ covariance @ asked)
    shown = nesting.nonnegative(found)
    assert (shown >= 0).all()
    np.testing.assert_allclose(shown.sum(axis=0), np.maximum(found.sum(axis=0), 0), atol=1e-9)


def test_a_total_of_rounding_is_shared_out() -> None:
    found = simplex(np.array([0.0, 3.0, -1.0]), 2.220446049250313e-16)
    assert found.tolist() == pytest.approx([0, 0, 0], abs=1e-12)
    assert simplex(np.array([5.0, 3.0, -1.0]), 4.0).tolist() == [3, 1, 0]


def table(rows: int = 3000) -> pd.DataFrame:
    generator = np.random.default_rng(7)
    odds = np.array([0.5, 0.2, 0.0, 0.1, 0.15, 0.05])
    return pd.DataFrame(
        {
            "county": generator.choice(np.array(COUNTY.labels), rows, p=odds),
            "year": generator.choice(list("012"), rows),
        },
        dtype="string",
    )


def released(frame: pd.DataFrame, epsilon: float = 1.0, seed: int = 1, **how: Any) -> Any:
    plan = plan_cube([COUNTY, YEAR], epsilon, PrivacyUnit(), report_share=0.0, **({"method": "topdown"} | how))
    return release_cube(frame, plan, ledger=None, noise=SeededNoise(seed))


def test_only_pairs_that_there_are_have_cells() -> None:
    assert COUNTY.labels == ("Ada", "Boise", "Custer", "Rich", "Adams", 'Al"len')
    assert {name: own.labels for name, own in COUNTY.outer.items()} == {
        "region": ("North", "South, deep"), "state": ("Idaho", "Utah", "Ohio")
    }  # fmt: skip
    assert [own.tolist() for own in COUNTY.nesting.parents] == [[0, 0], [0, 0, 1], [0, 0, 0, 1, 2, 2]]


def test_levels_agree_and_can_be_asked(tmp_path: Path) -> None:
    frame = table()
    for suffix in (".parquet", ".csv", ".json"):
        write_release(released(frame), tmp_path / f"r{suffix}")
        cube = read_release(tmp_path / f"r{suffix}")
        counties, states = cube.slice(["county"]), cube.slice(["state"])
        assert states["state"].tolist() == ["Idaho", "Utah", "Ohio"]
        assert states["count"][0] == pytest.approx(counties["count"][:3].sum())
        assert cube.slice()["count"][0] == pytest.approx(states["count"].sum())
        both = cube.slice(["year", "region"], {"state": "Idaho,Ohio"})
        assert both[["year", "region"]].to_numpy().tolist() == [
            [year, region] for year in "012" for region in ("North", "South, deep")
        ]
        south = cube.slice(["year"], {"region": "South, deep"})
        assert both["count"].tolist()[1::2] == pytest.approx(south["count"].tolist())
        assert cube.slice(["state"], {"county": "Rich"})["state"].tolist() == ["Utah"]
        pd.testing.assert_frame_equal(cube.to_frame(), released(frame).to_frame(), check_dtype=False)
    with pytest.raises(ConfigError, match="named twice"):
        cube.slice(["state", "county"])
    with pytest.raises(ConfigError, match="no such cell"):
        cube.slice(["year"], {"state": "Texas"})
    with pytest.raises(ConfigError, match="state"):
        cube.slice(["stat"])
    rows = synthesize(cube, seed=1)
    assert len(rows) == pytest.approx(3000, abs=30)
    assert set(rows["county"]) <= set(COUNTY.labels)


def test_intervals_cover_and_outer_levels_have_less_noise_than_sums_of_cells() -> None:
    frame, inside = table(), []
    true = frame["county"].isin(["Ada", "Boise", "Custer"]).sum()
    singles = frame["county"].value_counts().reindex(list(COUNTY.labels)).fillna(0).to_numpy()
    for seed in range(60):
        cube = released(frame, 0.5, seed, nonnegative=False)
        line, counties = cube.slice([], {"state": "Idaho"}).iloc[0], cube.slice(["county"])
        inside += [line["lower"] <= true <= line["upper"]]
        inside += ((counties["lower"] <= singles) & (singles <= counties["upper"])).tolist()
    assert np.mean(inside) >= 0.93
    big = declare("zip", {"tree": {str(s): [f"{s}-{n}" for n in range(200)] for s in range(5)}, "within": ["state"]})
    plans = {m: plan_cube([big], 1.0, PrivacyUnit(), method=m, report_share=0) for m in ("topdown", "cells")}
    spread = {}
    for method, plan in plans.items():
        assert isinstance(plan, CubePlan)
        empty = pd.DataFrame({"zip": ["0-0"] * 100}, dtype="string")
        spread[method] = np.mean([
            abs(release_cube(empty, plan, ledger=None, noise=SeededNoise(seed)).model.answer(
                (), [np.arange(200)], 0.95).counts - 100) for seed in range(10)])  # fmt: skip
    assert spread["topdown"] < spread["cells"] / 2


@pytest.mark.parametrize(("states", "counties", "chosen"), [(3, 6, "cells"), (2, 60, "topdown"), (50, 63, "topdown")])
def test_the_nearer_of_levels_and_cells_is_chosen(states: int, counties: int, chosen: str) -> None:
    """By the geometric mean of what is forecast of the levels; shares of levels ask for them."""
    tree = {str(s): [f"{s}-{n}" for n in range(counties)] for s in range(states)}
    dimensions = [declare("place", {"tree": tree, "within": ["state"]}), YEAR]
    plan = plan_cube(dimensions, 1.0, PrivacyUnit(), report_share=0.0)
    assert plan.method == chosen
    lines = [line for line in forecast(plan) if line.slice in ("state", "place", "year")]
    errors = {own: math.prod(line.per_cell for line in lines if line.method == own) for own in ("topdown", "cells")}
    assert chosen == min(errors, key=errors.__getitem__)
    assert plan_cube(dimensions, 1.0, PrivacyUnit(), level_shares={"state": 2.0}).method == "topdown"


@pytest.mark.slow
def test_the_forecast_and_shares_of_levels() -> None:
    plan = plan_cube([COUNTY, YEAR], 0.5, PrivacyUnit(), report_share=0.0, nonnegative=False)
    for method in ("topdown", "cells"):
        told = {line.slice: line.per_cell for line in forecast(plan) if line.method == method}
        asked = plan_cube([COUNTY, YEAR], 0.5, PrivacyUnit(), method=method, report_share=0.0, nonnegative=False)
        errors: dict[str, list[float]] = {"year": [], "state": []}
        for seed in range(80):
            made = release_cube(table(), asked, ledger=None, noise=SeededNoise(seed))
            sure = release_cube(table(), replace(asked, epsilon=1e9), ledger=None, noise=SeededNoise(0))
            for name, found in errors.items():
                found.append(np.abs(made.slice([name])["count"] - sure.slice([name])["count"]).mean())
        for name, found in errors.items():
            assert told[name] == pytest.approx(np.mean(found), rel=0.2), (method, name)
    # an outer level is forecast, and its share makes it better
    shares = {"state": 6.0}
    better = plan_cube([COUNTY, YEAR], 0.5, PrivacyUnit(), report_share=0.0, nonnegative=False, level_shares=shares)
    error, before = (
        {own.slice: own.per_cell for own in forecast(one) if own.method == "topdown"} for one in (better, plan)
    )
    assert error["state"] < before["state"]
    assert error[COUNTY.name] > before[COUNTY.name]
    # what is never drawn is not forecast
    wide = [declare(name, {"range": [0, 299]}) for name in "abc"]
    assert forecast(plan_cube(wide, 1.0, PrivacyUnit(), method="privtree", report_share=0.0)) == []
    heavy = released(table(), level_shares={"all": 8, "state": 2})
    assert heavy.model.costs == pytest.approx((8 / 12, 1 / 12, 2 / 12, 1 / 12), rel=1e-6)


@pytest.mark.parametrize("wrong", [
    {"tree": {"a": ["x"], "b": {"c": ["y"]}}, "within": ["s"]}, {"tree": {"a": ["x"], "b": ["x"]}, "within": ["s"]},
    {"tree": {"a": ["x"]}}, {"tree": {"a": []}, "within": ["s"]}, {"tree": {"a": ["x"]}, "within": ["c"]},
    {"tree": {}, "within": ["s"]}, {"tree": ["x"], "within": ["s"]}, {"tree": {"a": ["x", ""]}, "within": ["s"]},
    {"tree": {"a": {"o": ["x"]}, "b": {"o": ["y"]}}, "within": ["s", "t"]}, {"tree": {"a": "xy"}, "within": ["s"]},
    {"tree": {"a": ["x"]}, "within": [""]}, {"tree": {"a": ["x"]}, "within": [1]},
    {"tree": {"a": ["x"]}, "within": "s"},
])  # fmt: skip
def test_trees_that_are_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        declare("c", wrong)


def test_what_cannot_be_asked() -> None:
    shares = [-1.0, 0.0, 0.9e-6, 1.1e6, math.inf, math.nan]
    for how in ({"level_shares": {"town": 1.0}}, *({"level_shares": {"state": share}} for share in shares),
                {"level_shares": {"state": 1.0}, "method": "cells"}, {"epsilon": 1e-9}):  # fmt: skip
        with pytest.raises(ConfigError):
            plan_cube([COUNTY], **{"epsilon": 100.0, **how}, unit=PrivacyUnit())
    for share in (1e-6, 1e6):
        assert share in plan_cube([COUNTY], 100.0, PrivacyUnit(), level_shares={"state": share}).weights
    with pytest.raises(ConfigError, match="may not be called"):
        plan_cube([declare("c", {"tree": {"a": ["x"]}, "within": ["count"]})], 1.0, PrivacyUnit())


def test_a_row_more_moves_each_level_by_one() -> None:
    """The sensitivity by brute force: what enters the noise, with all of a level's budget for one row."""
    seen = []
    for rows in (table(50), pd.concat([table(50), table(51).iloc[50:]])):
        noise = RecordingNoise(1)
        plan = plan_cube([COUNTY, YEAR], 0.8, PrivacyUnit(), method="topdown", report_share=0.0)
        release_cube(rows, plan, ledger=None, noise=noise)
        seen.append(noise.entered)
    moved = [np.abs(a[1] - b[1]).sum() / a[2] * a[3] for a, b in zip(*seen, strict=True)]
    assert len(moved) == 4
    assert sum(moved) <= 0.8


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table().to_csv("t.csv", index=False)
    Path("d.toml").write_text(
        '[columns.county]\nwithin = ["state"]\ntree = { Idaho = ["Ada", "Boise", "Custer"], Utah = ["Rich"], Ohio = '
        '["Adams", \'Al"len\'] }\n[columns.year]\nrange = [0, 2]\n'
    )
    deid("budget", "init", "l.db", "--epsilon", "3")
    asked = ("cube", "t.csv", "--dims", "county,year", "--domains", "d.toml", "--epsilon", "1", "--ledger", "l.db")
    assert "topdown" in deid(*asked, "--dry-run")
    deid(*asked, "--level-share", "state:3", "-o", "c.parquet")
    shown = pd.read_csv(io.StringIO(deid("slice", "c.parquet", "--dims", "state", "--where", "year=0..1")))
    assert shown["state"].tolist() == ["Idaho", "Utah", "Ohio"]
    assert shown["count"].sum() == pytest.approx(2000, abs=150)
    with pytest.raises(ConfigError, match="weight"):
        deid(*asked, "--level-share", "state:x", "-o", "e.parquet")


@pytest.mark.parametrize(
    "size", [pytest.param(2000, marks=pytest.mark.slow), pytest.param(8000, marks=pytest.mark.night)]
)
@pytest.mark.parametrize(("epsilon", "broken"), [(1.0, False), (4.0, True)])
def test_odds_of_neighbours_stay_within_epsilon(epsilon: float, broken: bool, size: int) -> None:
    """The control spends four times what it says."""
    plan = plan_cube([COUNTY], epsilon, PrivacyUnit(), method="topdown", report_share=0.0)
    seen = []
    for which, rows in enumerate((["Ada"], ["Ada", "Rich"])):
        noise, frame = SeededNoise(50 + which), pd.DataFrame({"county": rows}, dtype="string")
        answers = Counter[Any]()
        for _ in range(size):
            made = release_cube(frame, plan, ledger=None, noise=noise).model
            answers[int(np.clip(np.rint(made.unbiased[3] * 2), -3, 5))] += 1
        seen.append(answers)
    assert (upper_log_ratio(*seen, size) > 1.0) == broken


PAIRS = {"tree": {"Idaho": ["Adams", "Ada"], "Ohio": ["Adams", "Lake"]}, "within": ["state"], "paired": True}


def test_a_pair_of_columns_is_one_column_of_cells(tmp_path: Path) -> None:
    """Adams is a county of both states: rows count where state and county together say so."""
    county = declare("county", PAIRS)
    assert county.labels == ("Idaho/Adams", "Idaho/Ada", "Ohio/Adams", "Ohio/Lake")
    rows = [("Idaho", "Adams"), ("Ohio", "Adams"), ("Ohio", " Adams"), ("Ohio", "Ada"), ("Idaho", None), (None, "Lake")]
    frame = pd.DataFrame(rows * 50, columns=["state", "county"], dtype="string")
    assert county.codes(county.read(frame))[:6].tolist() == [0, 2, 2, -1, -1, -1]
    for method in ("topdown", "cells"):
        plan = plan_cube([county], 50.0, PrivacyUnit(), method=method, report_share=0.01)
        release = release_cube(frame, plan, ledger=None, noise=SeededNoise(1))
        assert release.slice(["county"])["count"].round().tolist() == [50, 0, 100, 0]
        assert release.slice(["state"])["count"].round().tolist() == [50, 100]
        assert abs(release.metadata["left_out"]["rows_outside_domains"] - 150) < 40
        write_release(release, tmp_path / f"{method}.json")
        again = read_release(tmp_path / f"{method}.json")
        assert again.slice(["county"], {"state": "Ohio"})["county"].tolist() == ["Ohio/Adams", "Ohio/Lake"]
        made = synthesize(again)
        assert list(made.columns) == ["state", "county"]
        assert set(map(tuple, made.itertuples(index=False))) == {("Idaho", "Adams"), ("Ohio", "Adams")}
        assert max(own.share for own in release_distances(again, made)) < 0.02
    session = QuerySession(frame, [county], None, noise=SeededNoise(1))
    assert session.query("SELECT HISTOGRAM(county)", 50.0).to_frame()["value"].round().tolist() == [50, 0, 100, 0]
    (found,) = check_fidelity(frame, made, [county], [["county"]], 50.0, ledger=None, unit=PrivacyUnit(),
                              noise=SeededNoise(1))  # fmt: skip
    assert found.share < 0.05
    with pytest.raises(ConfigError, match="no column 'state'"):
        release_cube(frame[["county"]], plan, ledger=None, noise=SeededNoise(1))
    with pytest.raises(ConfigError, match="stand in one column"):
        plan_sequences(county, ["a", "b"], 1.0, PrivacyUnit())
    with pytest.raises(ConfigError, match="not of the form"):
        declare("county", {**PAIRS, "paired": "yes"})
    with pytest.raises(ConfigError, match="a value twice"):
        declare("county", {**PAIRS, "paired": False})


def test_pairs_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"state": ["Idaho", "Ohio"] * 40, "county": "Adams", "id": range(80)}).to_csv("t.csv", index=False)
    Path("d.toml").write_text(
        '[columns.county]\ntree = { Idaho = ["Adams", "Ada"], Ohio = ["Adams"] }\nwithin = ["state"]\npaired = true\n'
    )
    deid("cube", "t.csv", "--dims", "county", "--domains", "d.toml", "--epsilon", "20", "--not-private-seed", "1",
         "-o", "c.csv")  # fmt: skip
    said = deid("slice", "c.csv", "--dims", "state").splitlines()
    assert [line.split(".")[0] for line in said[1:3]] == ["Idaho,40", "Ohio,40"]
    deid("synthesize", "c.csv", "-o", "s.csv")
    assert Path("s.csv").read_text().startswith("state,county\n")


CODE = declare("code", {"tree": {"I": {"I1": ["I10", "I11"]}, "J": {"J1": ["J10"], "J2": ["J20", "J21"]}},
                        "within": ["chapter", "block"]})  # fmt: skip
PLACE = declare("county", {"tree": {"a": ["a1", "a2", "a3"], "b": ["b1"]}, "within": ["state"]})


def test_columns_that_are_nested_go_finer_together() -> None:
    nesting = chained([PLACE.nesting, CODE.nesting])
    assert nesting.sizes == (1, 4, 12, 20)  # total, state x chapter, county x block, county x code
    cells = np.arange(20.0).reshape(4, 5)
    total, first, second, third = nesting.levels(cells.ravel()[:, None])
    assert total.sum() == cells.sum()
    states = np.stack([cells[:3].sum(axis=0), cells[3]])
    assert first.ravel().tolist() == np.stack([states[:, :2].sum(1), states[:, 2:].sum(1)], axis=1).ravel().tolist()
    assert (
        second.ravel().tolist()
        == np.stack([cells[:, :2].sum(1), cells[:, 2], cells[:, 3:].sum(1)], axis=1).ravel().tolist()
    )
    assert third.ravel().tolist() == cells.ravel().tolist()


def test_two_nested_columns_are_one_release(tmp_path: Path) -> None:
    """Variances of every slice are those of dense algebra; sums agree over all levels; intervals hold."""
    shares = {"all": 1.0, "state x chapter": 3.0, "county x block": 1.0, "county x code": 2.0}
    plan = plan_cube([YEAR, PLACE, CODE], 1.0, PrivacyUnit(), level_shares=shares, nonnegative=False, report_share=0)
    assert plan.method == "topdown"
    assert plan.weights == (1.0, 3.0, 1.0, 2.0)
    generator = np.random.default_rng(2)
    codes = [generator.integers(0, size, 3000) for size in (3, 4, 5)]
    frame = pd.DataFrame(
        {own.name: np.array(own.labels)[code] for own, code in zip((YEAR, PLACE, CODE), codes, strict=True)},
        dtype="string",
    )
    nesting = chained([PLACE.nesting, CODE.nesting])
    sums = [np.array(own) for own in nesting.levels(np.eye(20))]
    shares_of = zip(sums, plan.shares(plan.weights), strict=True)
    weight = np.concatenate([np.full(len(own), plan.variance(share)) for own, share in shares_of]) ** -0.5
    design = np.concatenate(sums) * weight[:, None]
    covariance = np.linalg.inv(design.T @ design).reshape(4, 5, 4, 5)
    release = release_cube(frame, plan, ledger=None, noise=SeededNoise(0))
    none: list[Any] = [None, None, None]
    by_code = covariance.sum(axis=(0, 2))
    found = release.model.moments((2, 0), [np.array([1, 2]), None, None])
    np.testing.assert_allclose(found.variance, np.repeat(np.diag(by_code)[:, None], 2, axis=1))
    found = release.model.moments((2, 1), [np.array([0]), np.array([1, 3]), None])
    np.testing.assert_allclose(found.variance, covariance.diagonal(0, 0, 2).diagonal(0, 0, 1)[[1, 3]].T)
    np.testing.assert_allclose(release.model.moments((), none).variance, 3 * covariance.sum())
    inside = []
    for seed in range(40):
        release = release_cube(frame, plan, ledger=None, noise=SeededNoise(seed))
        shown = release.slice(["chapter", "state"], {"year": "0"})
        true = [
            int(((codes[0] == 0) & ((codes[2] >= 2) == (chapter == "J")) & ((codes[1] < 3) == (state == "a"))).sum())
            for chapter, state in zip(shown["chapter"], shown["state"], strict=True)
        ]
        inside.append((shown["lower"] <= true) & (true <= shown["upper"]))
    assert np.mean(inside) >= 0.9
    write_release(release, tmp_path / "c.parquet")
    again = read_release(tmp_path / "c.parquet")
    pd.testing.assert_frame_equal(again.slice(["state", "block"]), release.slice(["state", "block"]), check_dtype=False)
    with pytest.raises(ConfigError, match="the levels are all, state x chapter, county x block, county x code"):
        plan_cube([PLACE, CODE], 1.0, PrivacyUnit(), level_shares={"state": 1.0})
