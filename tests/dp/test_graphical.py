"""The junction tree that rows of many columns are drawn from: its tables, its fit, and the rows."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recording import RecordingNoise

from deid.base.arrays import FloatArray, IntArray
from deid.base.errors import ConfigError
from deid.dp import graphical
from deid.dp.adaptive import measure_adaptive
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import Dimension, count_cells, declare
from deid.dp.graphical import WIDEST, JunctionTree, fit_graphical, narrow, staying_narrow
from deid.dp.marginals import Axes, Marginal
from deid.dp.noise import SeededNoise
from deid.dp.synthetic import fitted_drawing, synthesize
from deid.dp.unit import PrivacyUnit

SHAPE = (3, 2, 4, 3, 2, 2)
TABLES = st.lists(
    st.sets(st.integers(0, 5), min_size=1, max_size=3).map(lambda own: tuple(sorted(own))), min_size=1, max_size=5
)


def summed(joint: FloatArray, axes: Axes) -> FloatArray:
    return np.asarray(joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in axes)))


@given(TABLES, st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_exact_tables_are_found_again_and_all_tables_are_of_one_distribution(asked: list[Axes], seed: int) -> None:
    joint = np.random.default_rng(seed).dirichlet(np.ones(int(np.prod(SHAPE)))).reshape(SHAPE)
    found = fit_graphical([Marginal(axes, 1e5 * summed(joint, axes), 1.0) for axes in asked], SHAPE, total=1e5)
    for axes in asked:
        assert found.table(axes) == pytest.approx(summed(joint, axes), abs=3e-3)
    whole = found.table(tuple(range(6)))
    assert whole.sum() == pytest.approx(1)
    for size in (1, 2, 3):
        for axes in itertools.combinations(range(6), size):
            assert found.table(axes) == pytest.approx(summed(whole, axes), abs=1e-9)
    for clique, parent in zip(found.tree.cliques, found.tree.parents, strict=True):
        before = {axis for own in found.tree.cliques[: found.tree.cliques.index(clique)] for axis in own}
        assert {*clique} & before <= ({*found.tree.cliques[parent]} if parent >= 0 else set())


def test_columns_that_no_table_ties_are_apart_given_those_between_them() -> None:
    joint = np.random.default_rng(3).dirichlet(np.ones(24)).reshape(3, 2, 4)
    tables = [Marginal(axes, 1e6 * summed(joint, axes), 1.0) for axes in [(0, 1), (1, 2)]]
    found = fit_graphical(tables, (3, 2, 4), total=1e6)
    first, second, middle = (summed(joint, axes) for axes in ((0, 1), (1, 2), (1,)))
    assert found.table((0, 2)) == pytest.approx((first / middle) @ second, abs=2e-3)


def test_where_noise_drowns_all_columns_are_left_apart() -> None:
    tables = [Marginal((0, 1), np.array([[900.0, -50], [30, 800]]), 1e9)]
    apart = fit_graphical(tables, (2, 2), total=1700.0)
    assert apart.table((0, 1)) == pytest.approx(np.outer(apart.table((0,)), apart.table((1,))), abs=2e-3)
    near = fit_graphical([Marginal((0, 1), tables[0].values, 1.0)], (2, 2), total=1700.0)
    assert near.table((0, 1)).min() < 0.005
    assert near.table((0, 0 + 1))[0, 0] > 0.5


def test_where_noise_drowns_the_columns_by_themselves_are_left_whatever_they_hang_on() -> None:
    """Each column counts once, in how many cliques ever it stands."""
    draw = np.random.default_rng(5)
    single = [Marginal((axis,), 1e5 * draw.dirichlet(np.ones(4)), 1.0) for axis in range(4)]
    pairs = [Marginal((axis, axis + 1), 1e5 * draw.dirichlet(np.ones(16)).reshape(4, 4), 1e13) for axis in range(3)]
    found = fit_graphical([*single, *pairs], (4,) * 4, total=1e5, rounds=1)
    for own in single:
        assert found.table(own.axes) == pytest.approx(own.values / 1e5, abs=1e-3)


def test_a_column_by_itself_is_kept_before_what_a_pair_says_of_it() -> None:
    """Noise of a pair is taken for dependence more readily than that of a column for its counts."""
    single = Marginal((0,), np.array([600.0, 400]), 100.0)
    pair = Marginal((0, 1), np.array([[200.0, 200], [300, 300]]), 100.0)
    for tables in ([single, pair], [pair, single]):
        assert fit_graphical(tables, (2, 2), total=1000.0).table((0,))[0] == pytest.approx(0.6, abs=0.01)


def test_tables_whose_counts_are_far_apart_are_fitted_in_few_rounds() -> None:
    draw = np.random.default_rng(5)
    left, right = (draw.dirichlet(np.full(400, 0.05)).reshape(20, 20) for _ in range(2))
    right *= (left.sum(axis=0) / right.sum(axis=1))[:, None]
    tables = [Marginal((0, 1), 1e5 * left, 1.0), Marginal((1, 2), 1e5 * right, 1.0)]
    found = fit_graphical(tables, (20, 20, 20), total=1e5, rounds=40)
    assert max(float(np.abs(found.table(own.axes) - own.values / 1e5).sum()) for own in tables) < 0.08


def test_a_pair_that_stays_narrow_is_one_whose_tree_is() -> None:
    shape = (60, 60, 60, 2, 3)
    tables: list[Axes] = [(0, 1), (1, 2), (3, 4)]
    pairs = [pair for pair in itertools.combinations(range(5), 2) if pair not in tables]
    told = {pair for pair in pairs if JunctionTree.of([*tables, pair], shape).cells(shape) <= WIDEST}
    assert set(staying_narrow(tables, shape, pairs)) == told
    assert (0, 2) not in told  # 60 x 60 x 60 cells
    assert (0, 3) in told


@given(
    st.lists(st.integers(2, 4), min_size=6, max_size=6),
    st.lists(st.sampled_from(list(itertools.combinations(range(6), 2))), max_size=5, unique=True),
    st.integers(15, 100),
)
@settings(max_examples=60, deadline=None)
def test_what_stays_narrow_is_told_by_the_tree_of_all_tables_with_each_pair(
    shape: list[int], tables: list[Axes], widest: int
) -> None:
    """By the definition, at bounds that other parts of the tree and columns by themselves decide."""
    pairs = [pair for pair in itertools.combinations(range(6), 2) if pair not in tables]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphical, "WIDEST", widest)
        told = staying_narrow(tables, shape, pairs)
    assert told == [pair for pair in pairs if JunctionTree.of([*tables, pair], shape).cells(shape) <= widest]


def many_columns(rows: int) -> tuple[list[Dimension], pd.DataFrame]:
    """Return thirty columns, of which the first two are nearly the same, and the third and fourth tied, too."""
    draw = np.random.default_rng(4)
    columns = {f"c{place}": draw.integers(0, 12 if place < 2 else 4, rows) for place in range(30)}
    columns["c1"] = np.where(draw.random(rows) < 0.97, columns["c0"], columns["c1"])
    columns["c3"] = np.where(draw.random(rows) < 0.8, columns["c2"], columns["c3"])
    frame = pd.DataFrame(columns)
    names = list(columns)
    return [declare(name, {"range": [0, 11 if name in ("c0", "c1") else 3]}) for name in names], frame.astype(str)


def test_what_is_tied_strongly_among_many_columns_is_so_in_the_rows() -> None:
    dimensions, frame = many_columns(8000)
    slices = [[own.name] for own in dimensions[4:]] + [["c0", "c1"], ["c1", "c2"], ["c0", "c2"], ["c2", "c3"]]
    plan = plan_cube(dimensions, 40.0, PrivacyUnit(), method="marginals", slices=slices, report_share=0)
    rows = synthesize(release_cube(frame, plan, ledger=None, noise=SeededNoise(1)))
    assert list(rows) == list(frame)
    same = (frame["c0"] == frame["c1"]).mean(), (frame["c2"] == frame["c3"]).mean()
    assert (rows["c0"] == rows["c1"]).mean() == pytest.approx(same[0], abs=0.02)
    assert (rows["c2"] == rows["c3"]).mean() == pytest.approx(same[1], abs=0.02)


def test_rows_are_drawn_from_a_tree_where_few_pairs_are_tied_and_its_cliques_are_small() -> None:
    """Both are asked for: many ties of small columns are no tree, nor is one tie of columns with too many cells."""
    pairs = list(itertools.combinations(range(6), 2))
    assert narrow([(0, 1), (1, 2), (3,)], [4] * 12)
    assert not narrow(pairs, [2] * 6)
    assert JunctionTree.of(pairs, [2] * 6).cells([2] * 6) <= WIDEST
    assert not narrow([(0, 1)], [math.isqrt(WIDEST) + 1] * 12)


@pytest.mark.slow
def test_adaptive_finds_what_is_tied_among_many_columns_and_its_tree_stays_narrow() -> None:
    dimensions, frame = many_columns(8000)
    shape = [len(own) for own in dimensions]
    codes = frame.astype(int).to_numpy()

    def counts(axes: Axes) -> np.ndarray:
        table = np.zeros([shape[axis] for axis in axes], np.int64)
        np.add.at(table, tuple(codes[:, axis] for axis in axes), 1)
        return table

    pairs = list(itertools.combinations(range(30), 2))
    measured = measure_adaptive(counts, shape, pairs, 3.0, SeededNoise(2))
    chosen = [axes for axes, _, _ in measured if len(axes) == 2]
    assert {(0, 1), (2, 3)} <= set(chosen[:3])
    assert narrow([axes for axes, _, _ in measured], shape)
    tables = [Marginal(axes, table, 50.0) for axes, table, _ in measured]
    drawn = fitted_drawing(tables, shape, [0] * 30, 8000.0)(8000, np.random.default_rng(0))
    assert (drawn[0] == drawn[1]).mean() > 0.8


def test_adaptive_takes_larger_steps_where_there_is_little_to_learn() -> None:
    generator = np.random.default_rng(4)
    first = generator.integers(0, 3, 20_000)
    columns = [first, (first + (generator.random(20_000) < 0.1)) % 3, *generator.integers(0, 20, (5, 20_000))]
    shape = (3, 3, 20, 20, 20, 20, 20)

    def counts(axes: Axes) -> IntArray:
        return count_cells([columns[axis] for axis in axes], [shape[axis] for axis in axes])

    pairs = list(itertools.combinations(range(7), 2))
    noise = RecordingNoise(3)
    measured = measure_adaptive(counts, shape, pairs, 1.0, noise)
    costs = {axes: cost for axes, _, cost in measured if len(axes) == 2 and isinstance(cost, float)}
    assert (0, 1) in costs
    assert len(costs) < 18
    assert max(costs.values()) > 3.9 * min(costs.values())
    assert sum(costs.values()) <= 0.75
    chosen = [spent for kind, _, _, spent in noise.entered if kind == "choose"]
    assert [spent / (spent + cost) for spent, cost in zip(chosen, costs.values(), strict=True)] == (
        pytest.approx([0.15] * len(chosen), rel=1e-3)
    )
    assert sum(spent for *_, spent in noise.entered) == pytest.approx(1.0, abs=1e-6)  # nothing is left over


def test_where_no_tree_is_narrow_adaptive_goes_on_with_a_mixture() -> None:
    shape = [700] * 8  # a pair of them has more cells than a narrow tree
    codes = np.random.default_rng(1).integers(0, 700, (300, 1)).repeat(8, axis=1)

    def counts(axes: Axes) -> np.ndarray:
        table = np.zeros([shape[axis] for axis in axes], np.int64)
        np.add.at(table, tuple(codes[:, axis] for axis in axes), 1)
        return table

    pairs = list(itertools.combinations(range(8), 2))
    assert not staying_narrow([(axis,) for axis in range(8)], shape, pairs)
    measured = measure_adaptive(counts, shape, pairs[:1], 1.0, SeededNoise(2))
    assert [axes for axes, _, _ in measured if len(axes) == 2] == [(0, 1)]


def test_a_share_that_is_too_small_for_any_of_its_rounds_is_refused_before_anything_is_drawn() -> None:
    shape = (2,) * 12
    pairs = list(itertools.combinations(range(12), 2))
    noise = RecordingNoise()
    with pytest.raises(ConfigError):
        measure_adaptive(lambda axes: np.full([2] * len(axes), 9), shape, pairs, 1e-7, noise)
    assert noise.entered == []
