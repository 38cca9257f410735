"""Intervals that cover the noise and that the rows are a sample: against other libraries, and by simulation."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from typer.testing import CliRunner

from deid.base.errors import ConfigError
from deid.cli.main import app
from deid.dp import QuerySession
from deid.dp.aggregates import Drawing
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import declare
from deid.dp.intervals import check_level, half_width, mean_interval, sampled, shares_interval
from deid.dp.moments import noisy_moments
from deid.dp.noise import SeededNoise
from deid.dp.release import CubeRelease, write_release
from deid.dp.unit import PrivacyUnit

Floats = npt.NDArray[np.float64]
DIMENSIONS = (
    declare("arm", {"values": ["a", "b", "c"]}),
    declare("dose", {"values": ["0", "1", "2"]}),
    declare("age", {"range": [0, 7]}),
)
ARMS = np.array([0.6, 0.35, 0.05])
DOSES = np.array([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])
ZERO, MANY = np.zeros(1), np.full(1, math.inf)


def one(value: float) -> Floats:
    return np.array([value])


@pytest.mark.parametrize(("part", "whole"), [(0, 20), (3, 20), (20, 20), (70, 300)])
def test_without_noise_a_share_has_wilsons_interval(part: int, whole: int) -> None:
    lower, upper = shares_interval(one(part), one(whole), (ZERO, ZERO, ZERO), MANY, 0.9)
    known = binomtest(part, whole).proportion_ci(0.9, method="wilson")
    assert (lower[0], upper[0]) == pytest.approx((known.low, known.high), abs=2e-4)
    half = sampled(one(part), ZERO, MANY, 0.9)
    z = norm.ppf(0.95)
    assert half[0][0] == pytest.approx(part + z**2 / 2 - z * math.sqrt(part + z**2 / 4), abs=5e-3)


@settings(max_examples=60)
@given(
    st.floats(-20, 300), st.floats(1, 500), st.floats(0, 400), st.floats(0, 400), st.floats(-1, 1), st.integers(1, 4),
    st.booleans(),
)  # fmt: skip
def test_a_share_has_all_values_that_its_law_allows(
    part: float, whole: float, of_part: float, of_whole: float, correlation: float, rows: int, sampling: bool
) -> None:
    """By trying shares on a grid, with normal noise; where the whole may be nothing, any share may be."""
    both = correlation * math.sqrt(of_part * of_whole)
    found = shares_interval(
        one(part), one(whole), (one(of_part), one(of_whole), one(both)), MANY, 0.95, rows=rows, sampling=sampling
    )
    lower, upper = float(found[0][0]), float(found[1][0])
    z = 1.96
    if whole <= 1.97 * math.sqrt(of_whole):
        assert (lower, upper) == (0, 1) or whole > 1.95 * math.sqrt(of_whole)
        return
    grid = np.linspace(0, 1, 2001)
    variance = of_part - 2 * grid * both + grid**2 * of_whole + sampling * rows * whole * grid * (1 - grid)
    inside = grid[(part - grid * whole) ** 2 <= (z - 0.02) ** 2 * np.maximum(variance, 0)]
    assert all(lower - 1e-3 <= own <= upper + 1e-3 for own in inside)
    outside = (part - grid * whole) ** 2 > (z + 0.02) ** 2 * np.maximum(variance, 0) + 1e-9
    assert not (outside & (grid > lower + 1e-3) & (grid < upper - 1e-3)).any()


def test_more_rows_of_a_person_noise_and_level_widen_intervals() -> None:
    def width(rows: int = 1, noise: float = 9.0, level: float = 0.9) -> float:
        lower, upper = sampled(one(100), one(noise), one(1.0), level, rows=rows)
        return float(upper[0] - lower[0])

    assert width() < width(rows=3) < width(rows=3, level=0.99)
    assert width() < width(noise=100)
    # a mean of many rows is as near as they are many
    ends = [mean_interval(5.0 * n, n, 0.0, 0.0, 4.0, math.inf, 0.95, 1) for n in (100, 400)]
    assert [round(upper - lower, 3) for lower, upper in ends] == pytest.approx(
        [2 * 1.96 * 0.2, 2 * 1.96 * 0.1], abs=2e-3
    )
    assert mean_interval(1.0, 3.0, 1.0, 100.0, 1.0, 1.0, 0.95, 1) == (-math.inf, math.inf)


@pytest.mark.parametrize(("of_total", "spread", "half"), [(1e8, 1e-6, 2.118e4), (1e-8, 1e3, 1.961e4)])
def test_a_mean_whose_noise_is_of_one_draw_is_as_far_off_as_the_law_of_that_draw(
    of_total: float, spread: float, half: float
) -> None:
    """-log(.05) / sqrt(2) deviations of a Laplace law, 1.96 of a normal one, whichever is the greater part."""
    lower, upper = mean_interval(1e6, 1e5, of_total, 0.0, spread, 1.0, 0.95, 1)
    assert (upper - lower) / 2 == pytest.approx(half / 1e5, rel=2e-3)


def drawn(rows: float, generator: np.random.Generator) -> pd.DataFrame:
    count = generator.poisson(rows)
    arm = generator.choice(3, count, p=ARMS)
    dose = (generator.random(count)[:, None] > np.cumsum(DOSES[arm], axis=1)).sum(axis=1)
    age = generator.integers(0, 8, count)
    return pd.DataFrame(
        {"arm": np.array(list("abc"))[arm], "dose": dose.astype(str), "age": age.astype(str)}, dtype="string"
    )


@pytest.mark.parametrize(
    ("method", "runs"), [("marginals", 80), ("cells", 80), ("topdown", 40), ("privelet", 40), ("forest", 8)]
)
def test_slices_hold_what_samples_are_drawn_from(method: str, runs: int) -> None:
    slices = [["arm", "dose"], ["dose", "age"]] if method == "marginals" else []
    plan = plan_cube(DIMENSIONS, 0.5, PrivacyUnit(), method=method, slices=slices, report_share=0)
    generator = np.random.default_rng(5)
    counts, shares, noise_alone = [], [], []
    expected = (400 * ARMS[:, None] * DOSES).ravel()
    for seed in range(runs):
        release = release_cube(drawn(400, generator), plan, ledger=None, noise=SeededNoise(seed))
        found = release.slice(["arm", "dose"], sampling=True)
        counts.append((found["lower"] <= expected) & (expected <= found["upper"]))
        found = release.slice(["arm", "dose"], sampling=True, share="dose")
        shares.append((found["lower"] <= DOSES.ravel()) & (DOSES.ravel() <= found["upper"]))
        assert ((found["lower"] <= found["share"]) & (found["share"] <= found["upper"])).all()
        found = release.slice(["arm", "dose"])
        noise_alone.append((found["lower"] <= expected) & (expected <= found["upper"]))
    assert np.mean(counts) >= (0.9 if method == "forest" else 0.92)
    assert np.mean(shares) >= 0.9
    if method in ("marginals", "cells"):
        assert np.mean(counts) <= 0.98
        assert np.mean(shares) <= 0.98
        assert np.mean(noise_alone) < 0.9


TRUE = {"COUNT(*)": 800.0, "MEAN(age)": 50.0, "MEAN(dead)": 0.1, "MEDIAN(age)": 50.0, "QUANTILE(age, 0.9)": 65.0}


@pytest.mark.parametrize("asked", TRUE)
def test_answers_hold_what_samples_are_drawn_from(asked: str) -> None:
    columns = [declare("age", {"range": [0, 99]}), declare("dead", {"range": [0, 1]})]
    generator, inside, alone = np.random.default_rng(2), [], []
    for seed in range(80):
        count = generator.poisson(800)
        age = np.clip(np.rint(generator.normal(50, 12, count)), 0, 99).astype(int)
        dead = (generator.random(count) < 0.1).astype(int)
        frame = pd.DataFrame({"age": age, "dead": dead}).astype(str).astype("string")
        session = QuerySession(frame, columns, None, noise=SeededNoise(seed), report_share=0)
        for told, with_what in ((inside, "SAMPLING"), (alone, "INTERVAL")):
            found = session.query(f"SELECT {asked} WITH {with_what}", 2.0)
            assert found.lower <= found.value <= found.upper
            told.append(found.lower <= TRUE[asked] <= found.upper)
    assert np.mean(inside) >= 0.9
    if asked in ("COUNT(*)", "MEAN(dead)"):
        assert np.mean(alone) < 0.8
        assert np.mean(inside) <= 0.99


CODES = 1 / np.arange(1, 61) ** 1.5
CODES /= CODES.sum()
SPREAD = {"SUM(age)": 40_000.0, "SUM(stay)": 7998.0, "VARIANCE(age)": 144.1, "SD(stay)": 9.495,
          "COUNT(DISTINCT code)": float((1 - np.exp(-800 * CODES)).sum())}  # fmt: skip


def patients(rows: int, generator: np.random.Generator) -> pd.DataFrame:
    """Ages of a normal law, stays of a geometric one with mean ten cut at 60, codes of which most are rare."""
    stay = np.minimum(generator.geometric(1 / 11, rows) - 1, 60)
    age = np.clip(np.rint(generator.normal(50, 12, rows)), 0, 99).astype(int)
    code = generator.choice(60, rows, p=CODES)
    return pd.DataFrame({"age": age, "stay": stay, "code": code}).astype(str).astype("string")


ASKED_OF_PATIENTS = [
    declare("age", {"range": [0, 99]}),
    declare("stay", {"range": [0, 60]}),
    declare("code", {"values": [str(own) for own in range(60)]}),
]


@pytest.mark.parametrize("asked", SPREAD)
def test_sums_spreads_and_numbers_of_codes_hold_what_samples_are_drawn_from(asked: str) -> None:
    stay = np.arange(60)
    tail = (10 / 11) ** stay / 11
    mean = float(stay @ tail + 60 * (1 - tail.sum()))
    square = float(stay**2 @ tail + 3600 * (1 - tail.sum()))
    true = {**SPREAD, "SUM(stay)": 800 * mean, "SD(stay)": math.sqrt(square - mean**2)}[asked]
    generator, inside, alone = np.random.default_rng(2), [], []
    for seed in range(80):
        frame = patients(generator.poisson(800), generator)
        session = QuerySession(frame, ASKED_OF_PATIENTS, None, noise=SeededNoise(seed), report_share=0)
        for told, with_what in ((inside, "SAMPLING"), (alone, "INTERVAL")):
            found = session.query(f"SELECT {asked} WITH {with_what}", 2.0)
            assert found.lower <= found.value <= found.upper
            told.append(found.lower <= true <= found.upper)
    assert np.mean(inside) >= 0.9
    if asked.startswith(("SUM", "COUNT")):
        assert np.mean(alone) < 0.5
        assert np.mean(inside) <= 0.99


@pytest.mark.parametrize("asked", ["SUM(age)", "SD(age)", "COUNT(DISTINCT code)"])
def test_patients_with_alike_rows_are_no_larger_sample(asked: str) -> None:
    """Each of 300 patients has the same row three times: without the bound of rows intervals would be too narrow."""
    true = {"SUM(age)": 45_000.0, "SD(age)": 12.0, "COUNT(DISTINCT code)": (1 - np.exp(-300 * CODES)).sum()}[asked]
    generator, inside = np.random.default_rng(4), []
    for seed in range(60):
        frame = patients(generator.poisson(300), generator)
        frame = pd.concat([frame.assign(who=np.arange(len(frame)).astype(str))] * 3, ignore_index=True)
        session = QuerySession(
            frame, ASKED_OF_PATIENTS, None, person="who", unit=PrivacyUnit("patient", max_rows=3),
            noise=SeededNoise(seed), report_share=0,
        )  # fmt: skip
        found = session.query(f"SELECT {asked} WITH SAMPLING", 60.0)
        inside.append(found.lower <= true <= found.upper)
    assert np.mean(inside) >= 0.9


def test_without_noise_spreads_have_the_intervals_of_the_textbook() -> None:
    """The bootstrap of the same sample, at an epsilon that leaves next to no noise."""
    generator = np.random.default_rng(6)
    frame = patients(4000, generator)
    session = QuerySession(frame, ASKED_OF_PATIENTS, None, noise=SeededNoise(1), report_share=0)
    values = frame["stay"].astype(float).to_numpy()
    known = np.std(generator.choice(values, (1500, 4000)).var(axis=1))
    found = session.query("SELECT VARIANCE(stay) WITH SAMPLING", 1e4)
    assert (found.upper - found.lower) / 2 == pytest.approx(1.96 * known, rel=0.1)
    total = session.query("SELECT SUM(stay) WITH SAMPLING", 1e4)
    assert (total.upper - total.lower) / 2 == pytest.approx(1.96 * math.sqrt((values**2).sum()), rel=0.02)


@pytest.mark.parametrize("centre", [30.0, 50.0, 70.0])
def test_the_interval_of_a_mean_goes_by_the_spread_of_its_values_not_of_their_bounds(centre: float) -> None:
    values = np.random.default_rng(2).normal(centre, 4.0, 4000)
    found = noisy_moments(values, ["MEAN"], 0.0, 100.0, Drawing(100.0, SeededNoise(3), 1, 0.95, sampling=1))[0]
    classical = 2 * norm.isf(0.025) * 4.0 / math.sqrt(len(values))
    assert found.lower <= values.mean() <= found.upper
    assert classical * 0.9 < found.upper - found.lower < classical * 1.5


def small_release(**how: Any) -> CubeRelease:
    plan = plan_cube(DIMENSIONS[:2], 5.0, PrivacyUnit(), **how)
    return release_cube(drawn(300, np.random.default_rng(1)), plan, ledger=None, noise=SeededNoise(1))


def test_shares_are_of_their_group_and_add_up(tmp_path: Path) -> None:
    release = small_release(slices=[["arm", "dose"]])
    found = release.slice(["dose", "arm"], share="dose", where={"arm": "a,b"})
    assert list(found.columns[:6]) == ["dose", "arm", "count", "share", "lower", "upper"]
    assert found.groupby("arm")["share"].sum().tolist() == pytest.approx([1, 1])
    assert (found["count"] / found.groupby("arm")["count"].transform("sum")).tolist() == pytest.approx(
        list(found["share"])
    )
    write_release(release, tmp_path / "c.json")
    said = CliRunner().invoke(
        app, ["slice", str(tmp_path / "c.json"), "--dims", "arm,dose", "--share", "dose", "--sampling",
              "--plot", str(tmp_path / "p.svg")]
    )  # fmt: skip
    assert said.exit_code == 0
    assert said.output.startswith("arm,dose,count,share,lower,upper")
    assert "that the rows are a sample of others" in said.output
    assert (tmp_path / "p.svg").exists()
    with pytest.raises(ConfigError, match="a share is of a column of the table"):
        release.slice(["arm"], share="dose")
    with pytest.raises(ConfigError, match="were set to 0 one by one"):
        small_release(method="cells-clamped").slice(["arm"], sampling=True)


def test_where_a_share_is_nought_the_noise_alone_decides_how_many_deviations_there_are() -> None:
    """A sample of nobody varies by nothing; few draws of noise, known by their spread, take more deviations."""
    reach = []
    for sampling in (True, False):
        _, upper = shares_interval(one(0.0), one(1000.0), (one(100.0), ZERO, ZERO), one(4.0), 0.95, sampling=sampling)
        varied = 100 + 1000 * sampling * upper[0] * (1 - upper[0])
        reach.append(1000 * upper[0] / math.sqrt(varied))
    assert reach[0] == pytest.approx(reach[1], abs=0.01)


@pytest.mark.parametrize(
    ("level", "fit"), [(0.01, True), (0.95, True), (0.999999, True), (0.0099, False), (0.9999999, False)]
)
def test_levels_are_those_whose_quantiles_can_be_computed(level: float, fit: bool) -> None:
    if fit:
        assert check_level(level) == level
    else:
        with pytest.raises(ConfigError, match=r"from \.01 to \.999999"):
            check_level(level)


@pytest.mark.parametrize("sampling", [0, 1, 3])
def test_the_surer_the_wider_at_every_level(sampling: int) -> None:
    """Of one draw; what a level divides among several intervals is of every level that can be asked for."""
    values, wanted = np.random.default_rng(2).normal(40.0, 12.0, 400), ["MEAN", "SUM", "VALUES", "VARIANCE", "SD"]
    found = [
        noisy_moments(values, wanted, 0.0, 100.0, Drawing(0.5, SeededNoise(3), 1, level, sampling=sampling))
        for level in (0.05, 0.3, 0.5, 0.66, 0.67, 0.8, 0.95, 0.999)
    ]
    for own in zip(*found, strict=True):
        assert len({answer.value for answer in own}) == 1
        for one, other in itertools.pairwise(own):
            assert other.lower <= one.lower <= one.value <= one.upper <= other.upper
        assert own[0].upper - own[0].lower < own[-2].upper - own[-2].lower


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("count", [-9.0, -0.5, 0.0, 0.25, 4.0, 60.0])
def test_the_ends_of_an_interval_are_where_a_count_is_just_not_too_far_from_what_is_expected(
    count: float, rows: int
) -> None:
    """They solve abs(count - m) = z sqrt(rows m + v), with z of noise and a sample that is as large as counted."""
    variance, draws, level = 8.0, 2.0, 0.9
    of_sample = rows * max(count, 0.0)
    like = (of_sample + variance) ** 2 / (variance**2 / draws)
    z = float(half_width([1.0], [like], level)[0])
    lower, upper = (
        float(end[0]) for end in sampled(*(np.array([n]) for n in (count, variance, draws)), level, rows=rows)
    )
    assert 0 <= lower <= upper
    for end in (lower, upper):
        if end > 0:
            assert abs(count - end) == pytest.approx(z * math.sqrt(rows * end + variance))
    if count == 0:
        assert upper == pytest.approx(rows * z**2 / 2 + z * math.sqrt(variance + (rows * z) ** 2 / 4))
