"""Cubes: plans, releases, intervals, files, and the accuracy that was asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deid.base.errors import ConfigError, FormatError, InputError
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import Dimension, declare
from deid.dp.forecast import epsilon_for, expected_deviation, forecast
from deid.dp.intervals import discrete_half_width, half_width
from deid.dp.marginals import query_weights
from deid.dp.methods import METHODS, Rows, measure
from deid.dp.models import BoxModel, TableModel, clamp_bias
from deid.dp.noise import SeededNoise, laplace_variance
from deid.dp.release import NOT_PRIVATE, read_release, write_release
from deid.dp.release_files import read_numbers
from deid.dp.unit import PrivacyUnit

Small = tuple[pd.DataFrame, tuple[Dimension, ...]]
ROW = PrivacyUnit()


def slices_for(method: str) -> list[list[str]]:
    return [["age", "sex"], ["age", "clinic"]] if method == "marginals" else []


@pytest.mark.parametrize("method", METHODS)
def test_releases_answer_slices_and_come_back_from_files(method: str, small: Small, tmp_path: Path) -> None:
    frame, dimensions = small
    plan = plan_cube(dimensions, 40.0, ROW, method=method, slices=slices_for(method))
    release = release_cube(frame, plan, ledger=None, noise=SeededNoise(2))
    ages = release.slice(["age"])
    assert ages["age"].tolist() == [str(age) for age in range(12)]
    true = frame["age"].astype(int).value_counts().reindex(range(12), fill_value=0).to_numpy()
    if method not in ("even", "dpcube-paper"):  # at epsilon 40 the rest is close
        assert np.abs(ages["count"] - true).sum() < 25
    assert (ages["lower"] <= ages["count"]).all()
    assert (ages["count"] <= ages["upper"]).all()
    rolled = release.slice([], {"age": "4..7"})
    assert float(rolled["count"].iloc[0]) == pytest.approx(ages["count"][4:8].sum(), abs=1e-6)
    asked: list[tuple[list[str], dict[str, str]]] = [
        (["age", "sex"], {"age": "2..9"}),
        ([], {}),
        (["sex"], {"sex": "M"}),
    ]
    for suffix in (".parquet", ".csv", ".json"):
        write_release(release, tmp_path / f"cube{suffix}")
        assert read_numbers(tmp_path / f"cube{suffix}", (), ("deid_cube", 1))  # later versions read it by its number
        again = read_release(tmp_path / f"cube{suffix}")
        assert again.dimensions == release.dimensions
        assert dict(again.metadata) == json.loads(json.dumps(dict(release.metadata)))
        for dims, where in asked:
            one, two = release.slice(dims, where), again.slice(dims, where)
            pd.testing.assert_frame_equal(one, two, check_dtype=False)


def test_test_noise_is_marked_wherever_it_goes(small: Small, tmp_path: Path) -> None:
    frame, dimensions = small
    release = release_cube(frame, plan_cube(dimensions, 1.0, ROW), ledger=None, noise=SeededNoise(1))
    assert not release.private
    assert (release.slice(["sex"])[NOT_PRIVATE] == SeededNoise(1).label).all()
    for suffix in (".parquet", ".csv", ".json"):
        write_release(release, tmp_path / f"cube{suffix}")
        assert b"NOT PRIVATE" in (tmp_path / f"cube{suffix}").read_bytes()
        assert NOT_PRIVATE in read_release(tmp_path / f"cube{suffix}").slice([])


def test_rows_of_a_person_are_bounded_and_the_loss_is_told_with_noise(tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": ["p"] * 500 + ["q", "r"], "sex": ["F"] * 500 + ["M", "X"]}, dtype="string")
    unit = PrivacyUnit("patient", max_rows=3)
    sexes = [declare("sex", {"values": ["F", "M"]})]
    with pytest.raises(ConfigError, match="no column says whose"):
        plan_cube(sexes, 1.0, unit)
    plan = plan_cube(sexes, 20.0, unit, person="who")
    assert plan.report_share == 0.02
    plan = plan_cube(sexes, 20.0, unit, person="who", report_share=0.05)
    release = release_cube(frame, plan, ledger=None, noise=SeededNoise(1))
    assert release.slice(["sex"])["count"].to_numpy() == pytest.approx([3, 1], abs=3)
    left_out = release.metadata["left_out"]
    assert left_out["epsilon"] == pytest.approx(1.0)
    persons, rows = [], []
    for seed in range(200):
        told = release_cube(frame, plan, ledger=None, noise=SeededNoise(seed)).metadata["left_out"]
        persons.append(told["persons_with_too_many_rows"])
        rows.append(told["rows_outside_domains"])
    # one person and one row were left out; the noise has sensitivity 3 + 1
    assert np.mean(np.abs(np.array(persons) - 1) <= left_out["plus_minus"]) == pytest.approx(0.95, abs=0.05)
    assert np.mean(persons) == pytest.approx(1, abs=1.2)
    assert np.mean(rows) == pytest.approx(1, abs=1.2)
    assert np.var(persons) == pytest.approx(laplace_variance(4, 1.0), rel=0.5)


def test_noise_grows_with_relation_and_rows() -> None:
    assert laplace_variance(PrivacyUnit(relation="replace").distance, 1.0) == laplace_variance(1, 0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "other"}, "unknown method"),
        ({"slices": [["x"]]}, "no dimension"),
        ({"method": "privtree", "slices": [["age"]]}, "for it alone"),
        ({"method": "marginals"}, "for it alone"),
        ({"slices": [["age"], ["age"]]}, "twice"),
        ({"slices": [["age"]], "weights": [1.0, 2.0]}, "weights"),
        ({"level": 1.0}, "level"),
        ({"report_share": 1.0}, "share"),
        ({"epsilon": 0.0}, "positive"),
    ],
)
def test_plans_that_do_not_fit_are_refused(changes: dict[str, object], message: str, small: Small) -> None:
    options: dict[str, object] = {"epsilon": 1.0, **changes}
    with pytest.raises(ConfigError, match=message):
        plan_cube(small[1], unit=ROW, **options)  # type: ignore[arg-type]


def test_the_method_follows_from_the_domains_alone(small: Small, seer: Small) -> None:
    assert plan_cube(small[1], 1.0, ROW).method == "cells"
    assert plan_cube(small[1], 1.0, ROW, slices=[["age"]]).method == "marginals"
    assert plan_cube(seer[1], 1.0, ROW).method == "forest"
    assert plan_cube(seer[1][:5], 1.0, ROW).method == "forest"
    assert plan_cube(seer[1][:4], 1.0, ROW).method == "forest"
    assert plan_cube(seer[1][1:3], 2.0, ROW).method == "cells"
    assert plan_cube(seer[1][1:3], 0.5, ROW).method == "dpcube"
    assert plan_cube(seer[1][1:3], 0.1, ROW).method == "privtree"
    patients = PrivacyUnit("patient", max_rows=4)  # four times the noise
    assert plan_cube(seer[1][1:3], 2.0, patients, person="who").method == "dpcube"
    codes = [declare(name, {"values": [str(own) for own in range(100)]}) for name in "ab"]
    assert plan_cube(codes, 0.1, ROW).method == "forest"
    wide = [declare(name, {"range": [0, 9999]}) for name in "ab"]
    assert plan_cube(wide, 1.0, ROW).method == "privtree"


def test_what_a_release_cannot_answer_is_refused(small: Small, tmp_path: Path) -> None:
    frame, dimensions = small
    plan = plan_cube(dimensions, 1.0, ROW, slices=[["age", "sex"]])
    release = release_cube(frame, plan, ledger=None, noise=SeededNoise(1))
    for dims, where in ((["clinic"], {}), ([], {"clinic": "west"}), (["x"], {}), (["age", "age"], {})):
        with pytest.raises(ConfigError):
            release.slice(dims, where)
    (tmp_path / "x.json").write_text("{}")
    (tmp_path / "x.csv").write_text("a\n1\n")
    for name in ("x.json", "x.csv"):
        with pytest.raises(FormatError):
            read_release(tmp_path / name)
    with pytest.raises(InputError, match="no such file"):
        read_release(tmp_path / "none.parquet")
    with pytest.raises(ConfigError, match="parquet"):
        write_release(release, tmp_path / "x.txt")


@pytest.mark.parametrize("method", ["marginals", "cells", "dpcube", "privtree"])
def test_intervals_cover_what_they_say(method: str, small: Small) -> None:
    """90 % intervals of 60 releases against the truth as the model sees it; for boxes against the boxes' true sums."""
    frame, dimensions = small
    rows = Rows(np.stack([own.codes(frame[own.name]) for own in dimensions], 1), tuple(map(len, dimensions)))
    cube = rows.counts()
    inside = total = 0
    for seed in range(60):
        model, _ = measure(
            rows,
            plan_cube(dimensions, 1.0, ROW, method=method, slices=slices_for(method), report_share=0),
            SeededNoise(seed),
        )
        for axes in ((1,), (0, 1)) if method != "privtree" else ((0,), (2,)):
            answer = model.answer(axes, [None] * 3, 0.9)
            if isinstance(model, BoxModel):
                boxes = [
                    tuple(map(slice, low, high)) for low, high in zip(model.boxes.lows, model.boxes.highs, strict=True)
                ]
                truth = model.boxes.aggregate(axes, [None] * 3, np.array([cube[box].sum() for box in boxes], float))
            else:
                truth = rows.counts(axes)
            hit = (answer.lower <= truth + 1e-9) & (truth <= answer.upper + 1e-9)
            inside, total = inside + hit.sum(), total + hit.size
    assert 0.86 < inside / total <= 1.0


def test_widths_of_boxes_are_those_of_their_shares_in_an_answer(small: Small) -> None:
    frame, dimensions = small
    plan = plan_cube(dimensions, 1.0, ROW, method="privtree", report_share=0)
    boxes = release_cube(frame, plan, ledger=None, noise=SeededNoise(1)).model.boxes  # type: ignore[union-attr]
    boxes = replace(boxes, variances=np.arange(1.0, len(boxes) + 1), counts=boxes.counts + 1e3)
    for axes, chosen in (
        ((0,), [None, np.arange(3, 6), None]),
        ((1, 2), [None] * 3),
        ((), [np.array([1]), None, None]),
    ):
        shares = [boxes.aggregate(axes, chosen, own) for own in np.eye(len(boxes))]
        squares = [share**2 * variance for share, variance in zip(shares, boxes.variances, strict=True)]
        variance, fourth = sum(squares), sum(own**2 for own in squares)
        answer = BoxModel(boxes, boxes.counts).answer(axes, chosen, 0.9)
        half = half_width(variance, variance**2 / fourth, 0.9)
        np.testing.assert_allclose(answer.upper, answer.counts + half)
        np.testing.assert_allclose(answer.lower, np.maximum(answer.counts - half, 0))


def test_one_table_has_the_exact_widths_of_its_draws_and_several_those_of_their_weights(small: Small) -> None:
    frame, dimensions = small
    for slices in ([["sex", "age"]], [["sex", "age"], ["age", "clinic"]]):
        plan = plan_cube(dimensions, 1.0, ROW, slices=slices, report_share=0, nonnegative=False)
        found = release_cube(frame, plan, ledger=None, noise=SeededNoise(1)).slice(["sex"])
        assert ((found["upper"] + found["lower"]) / 2).to_numpy() == pytest.approx(found["count"].to_numpy())
        half = (found["upper"] - found["count"]).to_numpy()
        if len(slices) == 1:
            assert (half == discrete_half_width(1, 1.0, 12, 0.95)).all()
        else:
            weights = [np.eye(1, 2)[0], np.ones(12)]
            tables = [(axes, laplace_variance(1, 0.5)) for axes in ((0, 1), (1, 2))]
            assert half == pytest.approx(float(half_width(*query_weights(tables, (2, 12, 3), (0, 1), weights), 0.95)))


def test_counts_are_projected_unless_that_is_not_wanted(small: Small) -> None:
    frame, dimensions = small
    for method in ("marginals", "diffgen", "dpcube"):
        raw, shown = (
            release_cube(
                frame.iloc[:20],
                plan_cube(dimensions, 0.1, ROW, method=method, slices=slices_for(method), nonnegative=wanted),
                ledger=None,
                noise=SeededNoise(2),
            ).to_frame()["count"]
            for wanted in (False, True)
        )
        assert raw.min() < 0 <= shown.min()


def test_the_expected_error_goes_on_as_draws_become_many() -> None:
    noise = np.abs(np.random.default_rng(0).laplace(size=(20_000, 7)).sum(axis=1))
    assert expected_deviation(14.0, 7) == pytest.approx(noise.mean(), rel=0.02)
    assert expected_deviation(3.0, 10_001) == pytest.approx(expected_deviation(3.0, 10_000), rel=1e-4)


@given(st.integers(1, 4), st.floats(0.3, 3), st.floats(0.05, 0.99))
def test_exact_widths_are_the_least_that_hold_the_level(draws: int, epsilon: float, level: float) -> None:
    one = np.exp(-epsilon * np.abs(np.arange(-60, 61)))
    law = one / one.sum()
    for _ in range(draws - 1):
        law = np.convolve(law, one / one.sum())
    middle = len(law) // 2
    held = [law[middle - width : middle + width + 1].sum() for width in range(50)]
    assume(min(abs(own - level) for own in held) > 1e-6)
    assert discrete_half_width(1, epsilon, draws, level) == sum(own < level for own in held)


def test_widths_of_little_epsilon_take_no_memory() -> None:
    """Of two draws of scale b that is 4.11 b: (1 + x / 2) exp(-x) is .05 there."""
    for scale in (10**4, 10**8):
        assert discrete_half_width(1, 1 / scale, 2, 0.95) == pytest.approx(4.11 * scale, rel=0.005)


def test_exact_widths_against_simulation() -> None:
    noise = SeededNoise(4)
    for draws in (1, 2, 7, 40):
        sums = np.abs(noise.discrete_laplace(np.zeros((40_000, draws), int), 1, 0.5).sum(axis=1))
        width = discrete_half_width(1, 0.5, draws, 0.9)
        assert (sums <= width).mean() > 0.895
        assert (sums <= width - 1).mean() < 0.91
        assert half_width(draws * laplace_variance(1, 0.5), draws, 0.9) == pytest.approx(width, abs=1)


def test_forecast_is_what_happens(small: Small) -> None:
    frame, dimensions = small
    rows = Rows(np.stack([own.codes(frame[own.name]) for own in dimensions], 1), tuple(map(len, dimensions)))
    for method in ("marginals", "cells"):
        plan = plan_cube(dimensions, 0.5, ROW, slices=[["age", "sex"], ["clinic"]], nonnegative=False)
        told = {line.slice: line for line in forecast(plan) if line.method == method}
        own = plan if method == "marginals" else plan_cube(dimensions, 0.5, ROW, method=method)
        for name, axes in (("sex x age", (0, 1)), ("clinic", (2,))):
            errors = []
            for seed in range(150):
                model, _ = measure(rows, own, SeededNoise(seed))
                errors.append(np.abs(model.answer(axes, [None] * 3, 0.9).counts - rows.counts(axes)).mean())
            assert np.mean(errors) == pytest.approx(told[name].per_cell, rel=0.12)


def test_epsilon_for_an_error_reaches_it(small: Small) -> None:
    plan = plan_cube(small[1], 0.5, ROW, slices=[["age", "sex"]])
    needed = epsilon_for(plan, 3.0)
    assert set(needed) == {"marginals", "cells", "cells-clamped"}
    assert set(epsilon_for(plan_cube(small[1], 0.5, ROW), 3.0)) == {"cells", "cells-clamped"}  # no slices are named
    assert set(epsilon_for(plan, 1e-9).values()) == {None}
    for method, epsilon in needed.items():
        assert epsilon is not None
        worst = [line.per_cell for line in forecast(replace(plan, epsilon=epsilon)) if line.method == method]
        assert max(worst) <= 3.0
        below = [line.per_cell for line in forecast(replace(plan, epsilon=0.98 * epsilon)) if line.method == method]
        assert max(below) > 3.0
    with pytest.raises(ConfigError):
        epsilon_for(plan, 0.0)


def errors(rows: Rows, dimensions: tuple[Dimension, ...], method: str, runs: int) -> list[float]:
    slices = [["year", "death"], ["age", "death"]] if method == "marginals" else []
    plan = plan_cube(dimensions, 0.5, ROW, method=method, slices=slices)
    result = []
    for seed in range(runs):
        model, _ = measure(rows, plan, SeededNoise(seed))
        answers = [model.answer(axes, [None] * 7, 0.95).counts for axes in ((2, 5), (1, 5))]
        result.append([np.abs(a - rows.counts(axes)).sum() for a, axes in zip(answers, ((2, 5), (1, 5)), strict=True)])
    return [float(value) for value in np.mean(result, axis=0)]


@pytest.mark.parametrize(
    ("method", "runs", "year", "age"),
    [("marginals", 30, 300, 800), ("privtree", 8, 1200, 3400), ("dpcube", 4, 2200, 3900)],
)
def test_accuracy_on_the_seer_shaped_cube(
    method: str, runs: int, year: float, age: float, seer: Small, seer_rows: Rows
) -> None:
    """L1 errors of year x death and age x death at epsilon .5; scripts/bench/bench_cube.py has 30 runs of all."""
    found = errors(seer_rows, seer[1], method, runs)
    assert found[0] <= year
    assert found[1] <= age


def test_clamped_cells_err_as_the_theory_says(seer: Small, seer_rows: Rows) -> None:
    """.9595 in every empty cell: about 9,360 of them in each year x death bin."""
    plan = plan_cube(seer[1], 0.5, ROW, method="cells-clamped", report_share=0)
    model, _ = measure(seer_rows, plan, SeededNoise(0))
    assert isinstance(model, TableModel)
    counts = model.tables[0].counts
    empty = seer_rows.counts() == 0
    assert counts[empty].mean() == pytest.approx(clamp_bias(1, 0.5), abs=0.01)
    assert clamp_bias(1, 0.5) == pytest.approx(0.9595, abs=1e-4)
    floor = np.maximum(np.floor(SeededNoise(1).laplace(np.zeros(673_920), 2.0)), 0)
    assert floor.mean() == pytest.approx(0.7707, abs=0.01)  # the source's floor of continuous noise
    assert 6787 < floor.mean() * 9360 < 7447  # the dissertation's errors are this bias


def test_even_baseline_is_the_total_spread(small: Small) -> None:
    frame, dimensions = small
    plan = plan_cube(dimensions, 5.0, ROW, method="even")
    counts = release_cube(frame, plan, ledger=None, noise=SeededNoise(0)).slice(["age"])["count"]
    assert counts.nunique() == 1
    assert counts.sum() == pytest.approx(600, abs=5)


@pytest.mark.parametrize("columns", [11, 12])
def test_a_slice_of_twelve_columns_takes_too_long_to_reconcile(columns: int) -> None:
    """However few its cells: it has 4,096 subsets."""
    names = [f"c{number}" for number in range(columns)]
    dimensions = [declare(name, {"values": ["x", "y"]}) for name in names]
    ask = partial(plan_cube, dimensions, 1.0, PrivacyUnit(), slices=[names])
    if columns == 11:
        assert ask().method == "marginals"
        return
    with pytest.raises(ConfigError, match="too many to draw and to reconcile"):
        ask()


@pytest.mark.parametrize("method", METHODS)
def test_what_a_plan_accepts_is_released_however_little_it_costs(method: str) -> None:
    """An epsilon that is too small for what a method draws is refused before the table is read or anything charged."""
    dimensions = [declare("a", {"range": [0, 3]}), declare("b", {"values": ["x", "y"]})]
    slices = [["a"], ["b"]] if method == "marginals" else []
    frame = pd.DataFrame({"a": ["1", "2"], "b": ["x", "y"]})
    refused = []
    for epsilon in (2e-9, 1e-8, 1e-5):
        try:
            plan = plan_cube(dimensions, epsilon, PrivacyUnit(), method=method, slices=slices, report_share=0)
        except ConfigError:
            refused.append(epsilon)
        else:
            assert release_cube(frame, plan, ledger=None, noise=SeededNoise(1)).to_frame().shape[0] > 0
    assert refused == sorted(refused)
    assert len(refused) < 3
