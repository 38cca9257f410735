"""The mixture that rows are drawn from: its tables, its fit, and the rows of overlapping slices."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OneHotEncoder

from deid.base.errors import ConfigError
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import Dimension, declare
from deid.dp.marginals import Axes, Marginal
from deid.dp.mixture import Mixture, _Task, apportion, column_counts, fit_mixture
from deid.dp.noise import SeededNoise
from deid.dp.release import CubeRelease
from deid.dp.synthetic import _junction_tree, release_distances, synthesize
from deid.dp.unit import PrivacyUnit

SHAPE = (3, 2, 4)


def random_mixture(seed: int, components: int = 5) -> Mixture:
    draw = np.random.default_rng(seed)
    return Mixture(
        draw.dirichlet(np.ones(components)), tuple(draw.dirichlet(np.ones(size), components).T for size in SHAPE)
    )


def test_tables_are_sums_over_all_cells() -> None:
    mixture = random_mixture(0)
    joint = np.einsum("k,ak,bk,ck->abc", mixture.weights, *mixture.columns)
    for axes in [(0,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]:
        others = tuple(axis for axis in range(3) if axis not in axes)
        assert mixture.table(axes) == pytest.approx(joint.sum(axis=others))
    rows = mixture.draw(50_000, np.random.default_rng(1))
    counted = np.zeros(SHAPE)
    np.add.at(counted, tuple(rows[axis] for axis in range(3)), 1)
    assert np.abs(counted / 50_000 - joint).sum() < 0.02


def test_the_gradient_is_that_of_the_function() -> None:
    draw = np.random.default_rng(3)
    tables = [
        Marginal(axes, draw.normal(20, 9, [SHAPE[axis] for axis in axes]), float(draw.uniform(1, 30)))
        for axes in [(0,), (1, 2), (0, 2), (0, 1, 2)]
    ]
    task = _Task(tables, SHAPE, 100.0, 3)
    point = draw.normal(size=3 * (1 + sum(SHAPE)))
    assert check_grad(lambda at: task(at)[0], lambda at: task(at)[1], point) < 1e-4


def test_the_gradient_of_a_table_of_many_columns_is_that_of_the_function() -> None:
    draw, shape = np.random.default_rng(4), (2, 3, 2, 2, 3, 2)
    for axes in [(0, 1, 2, 3, 4), (0, 1, 2, 3, 4, 5)]:
        table = Marginal(axes, draw.normal(20, 9, [shape[axis] for axis in axes]), 5.0)
        task = _Task([table], shape, 100.0, 2)
        point = draw.normal(size=2 * (1 + sum(shape)))
        assert check_grad(lambda at, task=task: task(at)[0], lambda at, task=task: task(at)[1], point) < 1e-3


def test_what_a_mixture_can_show_is_found_again() -> None:
    truth = random_mixture(7)
    pairs: list[Axes] = [(0, 1), (0, 2), (1, 2)]
    tables = [Marginal(axes, 1e5 * truth.table(axes), 1.0) for axes in pairs]
    found = fit_mixture(tables, SHAPE, total=1e5)
    for axes in pairs:
        assert np.abs(found.table(axes) - truth.table(axes)).sum() < 0.01
    again = fit_mixture(tables, SHAPE, total=1e5)
    assert np.array_equal(found.weights, again.weights)
    # where noise drowns all, columns are left apart
    noisy = [Marginal(own.axes, own.values, 1e10) for own in tables]
    apart = fit_mixture(noisy, SHAPE, total=1e5)
    assert apart.table((0, 2)) == pytest.approx(np.outer(apart.table((0,)), apart.table((2,))), abs=2e-3)


TABLES = st.lists(
    st.sets(st.integers(0, 4), min_size=1, max_size=3).map(lambda own: tuple(sorted(own))), min_size=1, max_size=5
)


@settings(max_examples=150)
@given(TABLES)
def test_a_junction_tree_is_an_order_in_which_each_overlap_lies_in_one_table(tables: list[Axes]) -> None:
    distinct = [own for own in set(tables) if not any(set(own) < set(other) for other in tables)]

    def running(order: tuple[Axes, ...]) -> bool:
        return all(
            any(set(own) & set().union(*map(set, order[:place])) <= set(before) for before in order[:place])
            for place, own in enumerate(order)
            if place
        )

    assert _junction_tree(tables) == any(map(running, itertools.permutations(distinct)))


@functools.cache
def cyclic(epsilon: float, method: str = "marginals") -> tuple[pd.DataFrame, CubeRelease]:
    """Release all pairs of three columns, each of which says something of both others, and a fourth by itself."""
    draw = np.random.default_rng(0)
    first = draw.integers(0, 3, 6000)
    second = np.where(draw.random(6000) < 0.7, first, draw.integers(0, 3, 6000))
    third = np.where(draw.random(6000) < 0.6, (first + second) % 3, draw.integers(0, 3, 6000))
    frame = pd.DataFrame({"a": first, "b": second, "c": third, "d": draw.integers(0, 2, 6000)}).astype("string")
    dimensions = [declare(name, {"range": [0, 2 if name != "d" else 1]}) for name in "abcd"]
    slices = [["a", "b"], ["b", "c"], ["a", "c"]] if method == "marginals" else []
    plan = plan_cube(dimensions, epsilon, PrivacyUnit(), method=method, slices=slices)
    return frame, release_cube(frame, plan, ledger=None, noise=SeededNoise(1))


def test_rows_of_slices_in_a_cycle_have_all_of_them() -> None:
    frame, release = cyclic(20.0)
    made = synthesize(release)
    assert list(made) == ["a", "b", "c"]  # no slice names d
    for pair in (["a", "b"], ["b", "c"], ["a", "c"]):
        true, drawn = frame.groupby(pair).size(), made.groupby(pair).size()
        assert true.sub(drawn, fill_value=0).abs().sum() < 250  # of 6,000 rows; one of the pairs alone is 1,000 off
    told = release_distances(release, made)
    assert [own.slice for own in told] == ["a x b", "a x c", "b x c"] or len(told) == 3
    assert all(0 <= own.share < 0.02 for own in told)
    moved = release_distances(release, made.assign(a="0"))
    assert moved[0].share > 0.5


def test_adaptive_measures_what_hangs_together(small: tuple[pd.DataFrame, tuple[Dimension, ...]]) -> None:
    frame, release = cyclic(3.0, "adaptive")
    tables = [table.axes for table in release.model.tables]
    assert tables[:4] == [(0,), (1,), (2,), (3,)]
    assert (0, 1) in tables[4:6]
    pairs = ", ".join(" x ".join("abcd"[axis] for axis in axes) for axes in tables if len(axes) == 2)
    assert f"pairs chosen by the exponential mechanism: {pairs}" in release.metadata["notes"]
    made = synthesize(release)
    true, drawn = frame.groupby(["a", "b"]).size(), made.groupby(["a", "b"]).size()
    assert true.sub(drawn, fill_value=0).abs().sum() < 600


@pytest.mark.parametrize(
    "method", ["marginals", pytest.param("adaptive", marks=pytest.mark.slow), "privtree", "forest"]
)
def test_no_row_has_what_can_never_be(method: str) -> None:
    _, release = cyclic(1.0, method)
    never = [{"a": "0", "b": "1,2"}, {"c": "0..1", "a": "2"}]
    made = synthesize(release, never=never)
    assert not ((made["a"] == "0") & made["b"].isin(["1", "2"])).any()
    assert not (made["c"].isin(["0", "1"]) & (made["a"] == "2")).any()
    assert len(made) == len(synthesize(release))
    assert len(synthesize(release, rows=0, never=never)) == 0
    with pytest.raises(ConfigError, match="all that the release shows"):
        synthesize(release, never=[{"a": "0..2"}])
    for wrong in ({}, {"x": "1"}, {"d": "0"} if method == "marginals" else {"y": "0"}):
        with pytest.raises(ConfigError, match="column that rows do not have"):
            synthesize(release, never=[wrong])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "epsilon", "distance", "area"), [("marginals", 1.0, 0.03, 0.87), ("adaptive", 0.1, 0.085, 0.80)]
)
def test_adult_rows_are_worth_training_on(
    method: str, epsilon: float, distance: float, area: float, shared_data: Path
) -> None:
    """Mean distance of two-way tables to those of 24,000 true rows; a classifier of income, tried on other rows."""
    path = shared_data / "adult" / "adult.csv"
    if not path.is_file():
        pytest.skip("Adult is not beside this checkout")
    frame = pd.read_csv(path, sep=";", dtype="string")
    frame["age"] = ((frame["age"].astype(int) - 17) // 5 * 5 + 17).astype("string")
    frame = frame.sample(frac=1, random_state=0)
    train, test = frame.iloc[:24_000], frame.iloc[24_000:]
    dimensions = [declare(name, {"values": sorted(frame[name].unique())}) for name in frame]
    pairs = list(itertools.combinations(frame, 2))
    slices = [list(pair) for pair in pairs] if method == "marginals" else []
    plan = plan_cube(dimensions, epsilon, PrivacyUnit(), method=method, slices=slices, report_share=0)
    found = []
    for seed in range(2):
        made = synthesize(release_cube(train, plan, ledger=None, noise=SeededNoise(seed)), seed=seed)
        apart = [
            (train.groupby(list(pair)).size() / len(train))
            .sub(made.groupby(list(pair)).size() / len(made), fill_value=0).abs().sum() / 2
            for pair in pairs
        ]  # fmt: skip
        encoder = OneHotEncoder(handle_unknown="ignore").fit(train.iloc[:, :-1])
        model = LogisticRegression(max_iter=300).fit(encoder.transform(made.iloc[:, :-1]), made.iloc[:, -1] == ">50K")
        chances = model.predict_proba(encoder.transform(test.iloc[:, :-1]))[:, 1]
        found.append((np.mean(apart), roc_auc_score(test.iloc[:, -1] == ">50K", chances)))
    assert np.mean(found, axis=0)[0] <= distance
    assert np.mean(found, axis=0)[1] >= area


def test_columns_by_themselves_are_what_tables_say_of_them_on_average() -> None:
    pair, lone = Marginal((0, 1), np.array([[4.0, 0.0], [2.0, -9.0]]), 1.0), Marginal((0,), np.array([7.0, 1.0]), 2.0)
    first, second, third = column_counts([pair, lone], (2, 2, 4), 12.0)
    assert first == pytest.approx([5.5, 6e-3])  # the mean of (4, -7) and (7, 1), and no count below a trace
    assert second == pytest.approx([6.0, 6e-3])
    assert third.tolist() == [3.0] * 4


@given(st.lists(st.sampled_from([0.0, -1.0, 0.5, 2.0]), min_size=1, max_size=6), st.integers(0, 50))
def test_places_are_drawn_as_often_as_they_weigh_up_to_rounding(weights: list[float], rows: int) -> None:
    held = np.maximum(weights, 0.0) if max(weights) > 0 else np.ones(len(weights))
    drawn = np.bincount(apportion(np.array(weights), rows, np.random.default_rng(3)), minlength=len(weights))
    assert drawn.sum() == rows
    assert (abs(drawn - rows * held / held.sum()) < 1 + 1e-9).all()
