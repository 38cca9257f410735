"""Noise taken off tables before rows are made: what it leaves alone, and that tables come nearer to the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.dp.domain import declare
from deid.dp.marginals import Axes, Marginal
from deid.dp.shrinkage import shrink_tables
from deid.dp.synthetic import fitted_drawing

SIZES = st.lists(st.integers(1, 12), min_size=1, max_size=3)


def noisy(truth: np.ndarray, axes: Axes, deviation: float, seed: int) -> Marginal:
    return Marginal(axes, truth + np.random.default_rng(seed).normal(0, deviation, truth.shape), deviation**2)


@settings(max_examples=100)
@given(SIZES, st.lists(st.integers(0, 12), min_size=3, max_size=3), st.integers(0, 99))
def test_tables_without_noise_stay_as_they_are(sizes: list[int], in_order: list[int], seed: int) -> None:
    cube = np.random.default_rng(seed).gamma(0.5, 100, sizes) + 1
    orders = [min(own, size) for own, size in zip(in_order, sizes, strict=False)]
    axes = tuple(range(len(sizes)))
    tables = [Marginal(axes, cube, 1e-9)]
    tables += [Marginal((axis,), cube.sum(axis=tuple({*axes} - {axis})), 1e-9) for axis in axes if len(axes) > 1]
    found = shrink_tables(tables, sizes, orders, total=float(cube.sum()))
    for table, own in zip(tables, found, strict=True):
        assert own.axes == table.axes
        assert own.values == pytest.approx(table.values, abs=1e-3)


@settings(max_examples=100)
@given(SIZES, st.integers(0, 99))
def test_single_columns_are_counts_that_add_up_to_the_total(sizes: list[int], seed: int) -> None:
    draw = np.random.default_rng(seed)
    tables = [Marginal((axis,), draw.normal(0, 500, size), 500.0**2) for axis, size in enumerate(sizes)]
    for own in shrink_tables(tables, sizes, sizes, total=1000.0):
        assert own.values.min() >= 0
        assert own.values.sum() == pytest.approx(1000)


@given(st.permutations(range(7)), st.integers(0, 99))
def test_cells_without_order_may_stand_in_any(places: list[int], seed: int) -> None:
    draw = np.random.default_rng(seed)
    pair, single = draw.normal(50, 40, (7, 20)), draw.normal(1000, 300, 7)

    def shrunk(where: list[int]) -> list[Marginal]:
        tables = [Marginal((0, 1), pair[where], 900.0), Marginal((0,), single[where], 9e4)]
        return shrink_tables(tables, (7, 20), (0, 20), total=7000.0)

    for one, other in zip(shrunk(list(range(7))), shrunk(places), strict=True):
        assert one.values[places] == pytest.approx(other.values)


def test_a_smooth_column_and_table_come_nearer_to_the_truth() -> None:
    at = np.arange(90)
    by_year = np.stack([np.exp(-(((at - 50 - year) / 15) ** 2)) for year in range(12)], axis=1)
    truth = 20_000 * by_year / by_year.sum()
    for seed in range(10):
        tables = [noisy(truth, (0, 1), 40.0, seed), noisy(truth.sum(axis=1), (0,), 150.0, seed + 100)]
        found = shrink_tables(tables, (90, 12), (90, 12), total=20_000.0)
        for exact, before, after, most in zip((truth, truth.sum(axis=1)), tables, found, (0.5, 0.35), strict=True):
            assert np.abs(after.values - exact).sum() < most * np.abs(before.values - exact).sum()


def test_nothing_but_noise_leaves_even_counts() -> None:
    noise = np.random.default_rng(5).normal(0, 1, 64)
    for in_order in (64, 0):
        (own,) = shrink_tables([Marginal((0,), 100 + noise, 4.0)], (64,), (in_order,), total=6400.0)
        assert own.values == pytest.approx(np.full(64, 100.0))


def test_what_is_missing_and_what_is_above_are_no_neighbours_of_a_range() -> None:
    own = declare("age", {"range": [0, 60], "above": "61+", "missing": "unknown"})
    assert (len(own), own.in_order) == (63, 61)
    assert declare("sex", {"values": ["F", "M"]}).in_order == 0
    truth = np.concatenate([np.full(61, 100.0), [3000.0, 6000.0]])
    before = noisy(truth, (0,), 300.0, 1)
    (after,) = shrink_tables([before], (63,), (own.in_order,), total=float(truth.sum()))
    assert after.values[-2:] == pytest.approx(before.values[-2:], abs=100)  # as measured, but for what the total takes
    assert after.values[50:61] == pytest.approx(truth[50:61], abs=60)


def test_rows_of_few_noisy_counts_follow_the_slow_waves() -> None:
    share = np.exp(-(((np.arange(60) - 40) / 12) ** 2))
    truth = 5000 * share / share.sum()
    tables = [noisy(truth, (0,), 80.0, 3), noisy(np.outer(truth, [0.3, 0.7]), (0, 1), 80.0, 4)]

    def apart(in_order: int) -> float:
        codes = fitted_drawing(tables, (60, 2), (in_order, 0), 5000.0)(5000, np.random.default_rng(0))[0]
        return float(np.abs(np.bincount(codes, minlength=60) - truth).sum()) / 2 / 5000

    assert apart(60) < 0.6 * apart(0)
