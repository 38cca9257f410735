"""Perturbing methods: what stays exactly, what stays on average, and seeds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_tables import microdata

from deid.base.errors import ConfigError, InputError
from deid.disclosure.perturbation import (
    add_noise,
    microaggregate,
    microaggregation_groups,
    randomize_small_domains,
    round_values,
    swap_values,
)


def test_rounding() -> None:
    values = np.array([1.0, 2.5, 7.4, -3.0, np.nan])
    assert round_values(values, 5).tolist()[:4] == [0, 0, 5, -5]
    assert np.isnan(round_values(values, 5)[4])
    many = np.full(20_000, 12.0)
    rounded = round_values(many, 5, random=True, seed=1)
    assert set(rounded) == {10.0, 15.0}
    assert rounded.mean() == pytest.approx(12, abs=0.1)  # the expected value stays
    assert (rounded == round_values(many, 5, random=True, seed=1)).all()


def test_noise_keeps_means_and_adds_its_variance() -> None:
    values = np.stack([np.random.default_rng(0).normal(50, 10, 20_000), np.arange(20_000.0)], axis=1)
    noisy = add_noise(values, 0.5, seed=3)
    assert noisy.mean(axis=0) == pytest.approx(values.mean(axis=0), rel=0.02)
    assert noisy.std(axis=0) / values.std(axis=0) == pytest.approx([1.118, 1.118], abs=0.02)
    assert (noisy != values).all()
    assert (noisy == add_noise(values, 0.5, seed=3)).all()
    assert (noisy != add_noise(values, 0.5, seed=4)).any()


@given(st.lists(st.integers(0, 30), min_size=2, max_size=40), st.integers(0, 5))
def test_swapping_keeps_the_distribution(values: list[int], seed: int) -> None:
    column = np.array(values)
    for window in (None, 0.2):
        swapped = swap_values(column, 1.0, window=window, seed=seed)
        assert sorted(swapped) == sorted(values)
        assert (swapped == swap_values(column, 1.0, window=window, seed=seed)).all()


def test_rank_swapping_stays_near_and_missing_values_stay() -> None:
    column = np.append(np.random.default_rng(0).permutation(1000).astype(float), np.nan)
    near = swap_values(column, 1.0, window=0.02, seed=2)
    moved = np.abs(near[:-1] - column[:-1])
    assert 0 < moved.max() <= 20
    assert (moved > 0).mean() > 0.95
    assert np.isnan(near[-1])
    assert np.abs(swap_values(column, 1.0, seed=2)[:-1] - column[:-1]).max() > 500
    half = swap_values(column, 0.5, seed=2)
    assert (half[:-1] != column[:-1]).sum() == 500


def test_shares_and_windows_are_above_0_and_at_most_1() -> None:
    column = np.arange(9.0)
    for bad in (0.0, -0.5, 1.01):
        with pytest.raises(ConfigError, match="share"):
            swap_values(column, bad)
        with pytest.raises(ConfigError, match="window"):
            swap_values(column, 0.5, window=bad)
    assert (swap_values(column, 1.0) != column).sum() == 8  # the pairs of nine rows
    assert sorted(swap_values(column, 1.0, window=1.0)) == sorted(column)
    assert (swap_values(column, 0.5) != column).sum() == 4
    neighbours = swap_values(column, 1.0, window=0.01)  # less than a row: the next rank
    assert np.abs(neighbours - column).max() <= 2  # and one row is left over


def test_microaggregation_groups_what_is_near() -> None:
    points = np.array([[0, 0], [0.1, 0], [0, 0.1], [5, 5], [5.1, 5], [5, 5.1], [9, 0], [9.1, 0], [9, 0.1]])
    means, groups = microaggregate(points, 3)
    assert [len(set(groups[i : i + 3])) for i in (0, 3, 6)] == [1, 1, 1]
    assert len(set(groups)) == 3
    assert means[0] == pytest.approx([0.1 / 3, 0.1 / 3])
    assert means.mean(axis=0) == pytest.approx(points.mean(axis=0))
    with pytest.raises(InputError, match="fewer than k"):
        microaggregation_groups(points, 10)
    with pytest.raises(InputError, match="missing value"):
        microaggregation_groups(np.array([[1.0], [np.nan]]), 1)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30), st.integers(1, 5))
def test_groups_have_k_to_2k_less_1_rows(rows: list[tuple[int, int]], k: int) -> None:
    if len(rows) >= k:
        sizes = np.bincount(microaggregation_groups(np.array(rows, dtype=float), k))
        assert sizes.min() >= k
        assert sizes.max() <= 2 * k - 1


def _by_the_book(points: np.ndarray, k: int) -> set[frozenset[int]]:
    """MDAV as its authors write it down: two groups around the farthest and what is farthest from that, and so on."""
    table = points / points.std(axis=0)
    left = list(range(len(points)))

    def farthest(center: np.ndarray) -> int:
        return max(left, key=lambda i: float(((table[i] - center) ** 2).sum()))

    def group(center: int) -> frozenset[int]:
        members = sorted(left, key=lambda i: float(((table[i] - table[center]) ** 2).sum()))[:k]
        left[:] = [i for i in left if i not in members]
        return frozenset(members)

    groups = set()
    while len(left) >= 3 * k:
        first = farthest(table[left].mean(axis=0))
        groups.add(group(first))
        groups.add(group(farthest(table[first])))
    if len(left) >= 2 * k:
        groups.add(group(farthest(table[left].mean(axis=0))))
    return groups | {frozenset(left)}


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_groups_are_those_of_the_authors(k: int) -> None:
    random = np.random.default_rng(k)
    for rows in range(max(k, 2), 6 * k + 2):
        points = random.normal(size=(rows, 2)) * [1, 50]
        groups = microaggregation_groups(points, k)
        assert {frozenset(np.flatnonzero(groups == g)) for g in set(groups)} == _by_the_book(points, k)


def _optimal(line: np.ndarray, k: int) -> float:
    """Return the least sum of squared errors of a sorted line cut into groups of k to 2k - 1."""
    best = {0: 0.0}
    for end, size in itertools.product(range(1, len(line) + 1), range(k, 2 * k)):
        if end - size in best:
            part = line[end - size : end]
            cost = best[end - size] + float(((part - part.mean()) ** 2).sum())
            best[end] = min(best.get(end, np.inf), cost)
    return best[len(line)]


def test_microaggregation_is_not_far_from_the_optimum_of_one_column() -> None:
    line = np.sort(np.random.default_rng(5).normal(size=60))
    means, _ = microaggregate(line[:, None], 3)
    error, optimum = float(((line - means[:, 0]) ** 2).sum()), _optimal(line, 3)
    assert optimum <= error < 3 * optimum
    assert error < 0.05 * float(((line - line.mean()) ** 2).sum())


def test_small_domains_keep_more_and_can_be_counted_back() -> None:
    rng = np.random.default_rng(0)
    codes = rng.zipf(1.3, 40_000) % 100
    table = microdata([(1, f"c{code:02}") for code in codes], "q code!")
    column = table.codes("code")
    found = randomize_small_domains(table, "code", 5, 10, seed=1)
    assert np.bincount(found.blocks).tolist() == [10] * 10
    kept = found.codes == column.codes
    assert kept.mean() == pytest.approx(5 / 14, abs=0.01)  # .357
    assert (found.blocks[found.codes] == found.blocks[column.codes]).all()
    assert found.operator(0)[0, 0] == pytest.approx(0.357, abs=5e-4)
    whole = randomize_small_domains(table, "code", 5, 100, seed=1)
    assert (whole.codes == column.codes).mean() == pytest.approx(5 / 104, abs=0.01)
    truth = np.bincount(column.codes, minlength=len(column.values))
    top = np.argsort(-truth)[:5]
    # standard error: about sqrt(28,000 rows p (1 - p)) / (a - b), 200 to 270 rows
    assert found.estimate()[top] == pytest.approx(truth[top], abs=700)
    assert np.abs(np.bincount(found.codes)[top] - truth[top]).max() > 3000  # the published counts alone are far off
    assert found.estimate().sum() == pytest.approx(len(codes))
    with pytest.raises(ConfigError, match="no column 'kode'"):
        randomize_small_domains(table, "kode", 5, 10, seed=1)
    again = randomize_small_domains(table, "code", 5, 10, seed=1)
    assert (again.codes == found.codes).all()


def test_blocks_in_an_order_of_ones_own_and_missing_values() -> None:
    table = microdata([(1, v) for v in ["a", "b", "c", "d", "e", None]], "q code!")
    found = randomize_small_domains(table, "code", 1, 2, ["e", "a", "d", "b", "c"])
    assert found.blocks.tolist() == [0, 1, 1, 1, 0]  # the last block takes the rest
    assert found.codes[-1] == -1
    assert np.isnan(found.estimate()).all()  # gamma 1 keeps nothing
    with pytest.raises(ConfigError, match="does not hold"):
        randomize_small_domains(table, "code", 2, 2, ["a"])
    for least in (0, 6, 9):
        with pytest.raises(ConfigError, match=f"blocks of at least {least} of 5"):
            randomize_small_domains(table, "code", 2, least)
    with pytest.raises(ConfigError, match="gamma of at least 1"):
        randomize_small_domains(table, "code", 0.9, 2)
    alone = randomize_small_domains(table, "code", 1, 1)
    assert alone.codes.tolist() == table.codes("code").codes.tolist()
    assert alone.estimate().tolist() == [1] * 5
    assert randomize_small_domains(table, "code", 1, 5).blocks.tolist() == [0] * 5
