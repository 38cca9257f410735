"""Bootstrap and paired tests against exhaustive enumeration, scipy, and known distributions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from deid.base.errors import ConfigError
from deid.evaluation.comparison import compare_statistics, intervals, resampled_totals, subset_ttest

OPTIONS = {"resamples": 500, "permutations": 20_000, "seed": 3}


def _mean(counts: np.ndarray) -> np.ndarray:
    return counts[..., 0] / counts[..., 1]


def _column(values: list[float]) -> np.ndarray:
    """Counts whose ratio is the mean over documents."""
    return np.stack([values, np.ones(len(values))], axis=1)


def test_resampled_totals_draw_as_many_documents_as_there_are() -> None:
    totals = resampled_totals(np.ones((7, 1)), 50, 1)
    assert totals.shape == (50, 1)
    assert (totals == 7).all()


def test_equal_seeds_draw_equal_documents_for_all_columns() -> None:
    counts = np.arange(12).reshape(6, 2)
    both = resampled_totals(counts, 40, 5)
    assert (both == resampled_totals(counts, 40, 5)).all()
    assert (both[:, :1] == resampled_totals(counts[:, :1], 40, 5)).all()
    assert (both != resampled_totals(counts, 40, 6)).any()


def test_interval_of_a_mean_is_near_its_standard_error() -> None:
    """For the mean of 400 numbers the percentile interval is about 1.96 standard errors wide on each side."""
    values = np.random.default_rng(0).normal(size=400)
    low, high = intervals(resampled_totals(values[:, np.newaxis], 4000, 1)[:, 0] / 400)
    error = values.std(ddof=1) / 20
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_randomization_is_near_the_exact_permutation_test() -> None:
    """All 2**8 ways to swap the systems in eight documents, counted one by one."""
    a, b = [3, 5, 2, 7, 4, 6, 8, 5], [2, 5, 1, 4, 4, 3, 9, 2]
    differences = np.array(a) - np.array(b)
    observed = abs(differences.sum())
    swaps = [abs((differences * signs).sum()) >= observed for signs in itertools.product([1, -1], repeat=8)]
    exact = sum(swaps) / len(swaps)
    found = compare_statistics(_column(a), _column(b), _mean, **OPTIONS)
    assert found.p_randomization == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 20_000) ** 0.5)


def test_paired_t_equals_scipy() -> None:
    a, b = [3.0, 5, 2, 7, 4, 6], [2.0, 5, 1, 4, 4, 3]
    found = compare_statistics(_column(a), _column(b), _mean, **OPTIONS)
    expected = stats.ttest_rel(a, b)
    assert found.t == pytest.approx(expected.statistic)
    assert found.p_t == pytest.approx(expected.pvalue)
    assert (found.documents, found.t_documents) == (6, 6)
    assert found.difference == pytest.approx(np.mean(a) - np.mean(b))
    assert found.low < found.difference < found.high


def test_documents_without_a_value_are_left_out_of_the_t_test_only() -> None:
    a = np.array([[1.0, 1], [0, 0], [1, 2], [2, 2]])
    b = np.array([[0.0, 1], [0, 0], [1, 2], [1, 2]])
    with np.errstate(invalid="ignore"):
        found = compare_statistics(a, b, _mean, **OPTIONS)
    assert (found.documents, found.t_documents) == (4, 3)
    assert found.a == pytest.approx(4 / 5)


def test_equal_systems_do_not_differ() -> None:
    values = _column([1, 2, 3])
    found = compare_statistics(values, values, _mean, **OPTIONS)
    assert (found.difference, found.low, found.high, found.p_randomization) == (0, 0, 0, 1)
    assert (found.t, found.p_t) == (0, 1)


def test_one_document_has_no_t_test() -> None:
    found = compare_statistics(_column([1]), _column([2]), _mean, **OPTIONS)
    assert (found.t, found.p_t) == (None, None)
    assert found.p_randomization == 1.0


def test_documents_that_all_differ_alike_have_no_t_test() -> None:
    """Their standard error is 0, and an infinite t is no JSON number."""
    found = compare_statistics(_column([1, 2, 3]), _column([2, 3, 4]), _mean, **OPTIONS)
    assert (found.t, found.p_t) == (None, None)
    assert found.difference == -1


def test_many_documents_are_drawn_in_blocks_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from deid.evaluation import comparison

    counts = np.random.default_rng(1).integers(0, 9, (50, 2))
    whole = resampled_totals(counts, 60, 2)
    monkeypatch.setattr(comparison, "_BLOCK", 500)
    assert (resampled_totals(counts, 60, 2) == whole).all()


def test_subset_ttest_equals_scipy_for_fifteen_subsets_and_ten_folds() -> None:
    f1 = np.random.default_rng(4).normal(0.9, 0.02, (15, 10))
    t, p = subset_ttest(f1)
    expected = stats.ttest_rel(f1[:-1], np.broadcast_to(f1[-1], (14, 10)), axis=1)
    assert t == pytest.approx(expected.statistic)
    assert p == pytest.approx(expected.pvalue)


def test_subset_ttest_of_equal_rows_and_of_a_constant_difference() -> None:
    full = np.array([0.5, 0.75, 0.25])
    t, p = subset_ttest(np.stack([full, full - 0.125, full]))
    assert t.tolist() == [0.0, -np.inf]
    assert p.tolist() == [1.0, 0.0]


def test_subset_ttest_needs_two_folds() -> None:
    with pytest.raises(ConfigError):
        subset_ttest(np.ones((15, 1)))
