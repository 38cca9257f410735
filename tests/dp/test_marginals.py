"""Reconciled marginals against ordinary least squares, projections against their definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.dp.marginals import Axes, Marginal, choose_cuboids, least_squares, nonnegative, query_weights

SHAPE = (2, 3, 4)
MATRICES: dict[Axes, np.ndarray] = {}
for _size in range(4):
    for _axes in itertools.combinations(range(3), _size):
        _cells = np.indices(SHAPE).reshape(3, -1)
        _place = np.ravel_multi_index([_cells[a] for a in _axes], [SHAPE[a] for a in _axes]) if _axes else 0 * _cells[0]
        MATRICES[_axes] = np.equal.outer(np.arange(int(np.prod([SHAPE[a] for a in _axes]))), _place).astype(float)

TABLES = st.lists(
    st.tuples(st.sampled_from([axes for axes in MATRICES if axes]), st.floats(0.5, 20)), min_size=1, max_size=4
)


def measured(tables: list[tuple[Axes, float]], seed: int) -> list[Marginal]:
    generator = np.random.default_rng(seed)
    return [Marginal(axes, generator.normal(5, 3, [SHAPE[a] for a in axes]), variance) for axes, variance in tables]


def design(tables: list[tuple[Axes, float]]) -> tuple[np.ndarray, np.ndarray]:
    matrix = np.concatenate([MATRICES[axes] for axes, _ in tables])
    return matrix, np.concatenate([np.full(len(MATRICES[axes]), variance) for axes, variance in tables])


@settings(max_examples=40)
@given(TABLES, st.integers(0, 99))
def test_is_generalized_least_squares_over_the_whole_table(tables: list[tuple[Axes, float]], seed: int) -> None:
    marginals = measured(tables, seed)
    matrix, variances = design(tables)
    root = 1 / np.sqrt(variances)
    seen = np.concatenate([marginal.values.ravel() for marginal in marginals])
    cube = np.linalg.lstsq(matrix * root[:, None], seen * root, rcond=None)[0]
    fitted = least_squares(marginals, SHAPE)
    for axes, _ in tables:
        np.testing.assert_allclose(fitted.table(axes).ravel(), MATRICES[axes] @ cube, atol=1e-8)


@settings(max_examples=30)
@given(TABLES, st.integers(0, 3))
def test_variance_of_queries_is_that_of_least_squares(tables: list[tuple[Axes, float]], which: int) -> None:
    axes = tables[which % len(tables)][0]
    chosen = [np.arange(SHAPE[axis]) % 2 * 1.0 + (axis == 0) for axis in axes]
    matrix, variances = design(tables)
    weights = np.ones(())
    for weight in chosen:
        weights = np.multiply.outer(weights, weight)
    query = weights.ravel() @ MATRICES[axes]
    information = matrix.T @ (matrix / variances[:, None])
    expected = query @ np.linalg.pinv(information) @ query
    variance, draws = query_weights(tables, SHAPE, axes, chosen)
    assert variance == pytest.approx(expected, rel=1e-6)
    each = (query @ np.linalg.pinv(information) @ matrix.T / variances) ** 2 * variances  # the share of each draw
    assert draws == pytest.approx(each.sum() ** 2 / (each**2).sum(), rel=1e-6)


@settings(max_examples=30)
@given(TABLES, st.integers(0, 99))
def test_projection_is_nonnegative_consistent_and_keeps_the_total(tables: list[tuple[Axes, float]], seed: int) -> None:
    marginals = [Marginal(m.axes, m.values - 3, m.variance) for m in measured(tables, seed)]
    fitted = least_squares(marginals, SHAPE)
    shown = nonnegative(fitted, tables)
    total = max(float(fitted.parts[()]), 0)
    for (first, one), (second, other) in itertools.product(shown.items(), repeat=2):
        assert one.min() >= 0
        assert one.sum() == pytest.approx(total, abs=1e-6)
        common = [axis for axis in first if axis in second]
        np.testing.assert_allclose(
            one.sum(axis=tuple(i for i, axis in enumerate(first) if axis not in common)),
            other.sum(axis=tuple(i for i, axis in enumerate(second) if axis not in common)),
            atol=1e-6,
        )


def test_projection_leaves_good_tables_alone_and_helps_empty_ones() -> None:
    generator = np.random.default_rng(3)
    true = np.where(np.arange(40) < 30, 0.0, 50.0)
    raw, projected = [], []
    for _ in range(50):
        noisy = true + generator.laplace(0, 4, 40)
        shown = nonnegative(least_squares([Marginal((0,), noisy, 32.0)], (40,)), [((0,), 32.0)])[(0,)]
        raw.append(np.abs(noisy - true).sum())
        projected.append(np.abs(shown - true).sum())
    assert np.mean(projected) < 0.7 * np.mean(raw)
    full = np.arange(1.0, 5.0)
    same = nonnegative(least_squares([Marginal((0,), full, 1.0)], (4,)), [((0,), 1.0)])[(0,)]
    np.testing.assert_allclose(same, full)


def test_slices_within_others_are_measured_only_where_that_helps() -> None:
    shape = (36, 2, 130)
    assert choose_cuboids([(0,), (0, 1)], shape) == ((0, 1),)
    assert choose_cuboids([(0, 1), (1, 2)], shape) == ((0, 1), (1, 2))
    # a total summed from 130 noisy cells is worse than half the budget on each
    assert choose_cuboids([(1,), (1, 2)], shape) == ((1,), (1, 2))
    assert choose_cuboids([(0,), (1,), (0, 1)], shape) == ((1,), (0, 1))


@given(st.lists(st.sampled_from([axes for axes in MATRICES if axes]), min_size=1, max_size=5, unique=True))
def test_every_named_slice_can_be_summed_from_a_measured_one(slices: list[Axes]) -> None:
    measured = choose_cuboids(slices, SHAPE)
    assert set(measured) <= set(slices)
    assert all(any(set(axes) <= set(own) for own in measured) for axes in slices)
