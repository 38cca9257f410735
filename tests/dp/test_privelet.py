"""Privelet: the transform, its sensitivity, and long ranges with little noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.dp.models import WaveletModel
from deid.dp.noise import SeededNoise, laplace_variance
from deid.dp.privelet import Wavelet, forward, inverse, privelet, weight_sums


@given(st.integers(0, 3), st.integers(0, 2), st.integers(0, 99))
def test_transform_is_undone(power: int, axis: int, seed: int) -> None:
    shape = [3, 2, 5]
    shape[axis] = 2**power
    values = np.random.default_rng(seed).integers(0, 50, shape)
    coefficients = forward(values, axis)
    np.testing.assert_allclose(inverse(coefficients.astype(float), axis), values)
    np.testing.assert_array_equal(np.take(coefficients, 0, axis), values.sum(axis))


@given(st.integers(0, 4), st.integers(0, 2), st.integers(0, 6))
def test_one_row_changes_as_many_coefficients_as_stated(first: int, second: int, third: int) -> None:
    """Generalized sensitivity of the paper, lemma 2: (1 + log2 m) in each transformed dimension."""
    wavelet = Wavelet((5, 3, 7), (True, False, True))
    assert wavelet.padded == (8, 3, 8)
    assert wavelet.sensitivity == 4 * 4
    cube = np.zeros(wavelet.padded, np.int64)
    cube[first, second, third] = 1
    assert np.abs(forward(forward(cube, 0), 2)).sum() == wavelet.sensitivity


def test_long_ranges_have_less_noise_than_sums_of_cells() -> None:
    wavelet = Wavelet((256,), (True,))
    drawn = [privelet(np.zeros(256, np.int64), wavelet, 1.0, SeededNoise(seed)) for seed in range(300)]
    found = np.var([cells[3:250].sum() for cells in drawn])
    weight = (np.arange(256) >= 3) * (np.arange(256) < 250) * 1.0
    second, _ = weight_sums(wavelet, [weight])
    assert found == pytest.approx(second * laplace_variance(9, 1.0), rel=0.3)
    by_cells = 247 * laplace_variance(1, 1.0)
    assert found < by_cells
    # at the price of single cells
    assert np.var([cells[7] for cells in drawn]) > laplace_variance(1, 1.0)


@given(st.lists(st.booleans(), min_size=2, max_size=2), st.integers(0, 99))
def test_weights_of_a_query_are_those_of_each_coefficient(transformed: list[bool], seed: int) -> None:
    wavelet = Wavelet((5, 3), tuple(transformed))
    chosen = [np.random.default_rng(seed + axis).integers(0, 2, size) * 1.0 for axis, size in enumerate((5, 3))]
    weights = []
    for place in range(int(np.prod(wavelet.padded))):
        cells = np.eye(1, int(np.prod(wavelet.padded)), place).reshape(wavelet.padded)
        for axis in (0, 1):
            cells = inverse(cells, axis) if transformed[axis] else cells
        weights.append(chosen[0] @ cells[:5, :3] @ chosen[1])
    powers = [(np.array(weights) ** power).sum() for power in (2, 4)]
    assert weight_sums(wavelet, chosen) == pytest.approx(powers)


def test_intervals_cover_slices() -> None:
    wavelet = Wavelet((12, 3), (True, False))
    true = np.arange(36).reshape(12, 3)
    hits = []
    for seed in range(200):
        model = WaveletModel(wavelet, privelet(true, wavelet, 1.0, SeededNoise(seed)), 1.0, 1)
        one = model.answer((1,), [np.arange(2, 9), None], 0.9)
        two = model.answer((0, 1), [None, None], 0.9)
        truth = true[2:9].sum(0)
        hits.append(((one.lower <= truth) & (truth <= one.upper)).mean())
        hits.append(((two.lower <= true) & (true <= two.upper)).mean())
    assert 0.87 < np.mean(hits) < 0.97
