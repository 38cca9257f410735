"""Noise: the laws, the losses that OpenDP confirms, the mark of test noise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.dp.noise import Noise, OpenDPNoise, SeededNoise, gaussian_scale, laplace_scale, laplace_variance

BACKENDS: list[Noise] = [OpenDPNoise(), SeededNoise(5)]


@settings(max_examples=60)
@given(st.integers(1, 50), st.floats(1e-3, 20))
def test_opendp_confirms_every_scale(sensitivity: int, epsilon: float) -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    scale = laplace_scale(sensitivity, epsilon)
    measurement = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i32")), dp.l1_distance(T="i32"), scale=scale)
    assert measurement.map(sensitivity) <= epsilon
    assert scale <= sensitivity / epsilon * (1 + 1e-12)


@pytest.mark.parametrize("noise", BACKENDS, ids=["opendp", "seeded"])
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 0.5), (2, 0.5), (3, 1.0)])
def test_discrete_laplace_has_its_law(noise: Noise, sensitivity: int, epsilon: float) -> None:
    """Chi-squared over the bins -12..12 at the .1 % level: a right sampler fails six of these once in 170 suites."""
    from scipy.stats import chisquare

    size = 30_000
    drawn = noise.discrete_laplace(np.zeros(size, int), sensitivity, epsilon)
    alpha = math.exp(-epsilon / sensitivity)
    inner = np.array([(1 - alpha) / (1 + alpha) * alpha ** abs(k) for k in range(-12, 13)])
    seen = np.bincount(np.clip(drawn, -13, 13) + 13, minlength=27)
    outer = (1 - inner.sum()) / 2
    assert chisquare(seen, size * np.array([outer, *inner, outer])).pvalue > 0.001
    assert drawn.var() == pytest.approx(laplace_variance(sensitivity, epsilon), rel=0.08)
    assert laplace_variance(sensitivity, epsilon) == pytest.approx(2 * alpha / (1 - alpha) ** 2)


def test_clamped_empty_cell_has_the_expectation_of_the_theory() -> None:
    """Alpha / (1 - alpha**2) = .9595 at epsilon .5."""
    alpha = math.exp(-0.5)
    assert alpha / (1 - alpha**2) == pytest.approx(0.9595, abs=1e-4)
    drawn = SeededNoise(1).discrete_laplace(np.zeros(400_000, int), 1, 0.5)
    assert np.maximum(drawn, 0).mean() == pytest.approx(0.9595, abs=0.01)


@pytest.mark.parametrize("noise", BACKENDS, ids=["opendp", "seeded"])
def test_continuous_laplace_has_its_law(noise: Noise) -> None:
    from scipy.stats import kstest

    drawn = noise.laplace(np.full(5000, 2.0), 3.0)
    assert kstest(drawn, "laplace", args=(2.0, 3.0)).pvalue > 0.001


@pytest.mark.parametrize("noise", BACKENDS, ids=["opendp", "seeded"])
def test_a_choice_has_the_law_of_permute_and_flip(noise: Noise) -> None:
    """Candidates in random order, each taken with probability exp(-epsilon gap / 2 delta) (McKenna and Sheldon 2020,
    algorithm 1); a binomial 4-sigma band for each candidate."""
    scores, sensitivity, epsilon, size = np.array([0.0, 1.0, 4.0]), 2.0, 1.5, 8000
    taken = np.exp(epsilon * (scores - scores.max()) / (2 * sensitivity))
    expected = np.zeros(3)
    orders = list(itertools.permutations(range(3)))
    for order in orders:
        left = 1.0 / len(orders)
        for candidate in order:
            expected[candidate] += left * taken[candidate]
            left *= 1 - taken[candidate]
    assert expected.sum() == pytest.approx(1)
    seen = np.bincount([noise.choose(scores, sensitivity, epsilon) for _ in range(size)], minlength=3) / size
    assert np.all(np.abs(seen - expected) < 4 * np.sqrt(expected * (1 - expected) / size))


def test_a_choice_survives_large_scores() -> None:
    assert SeededNoise(1).choose([1e9, 0.0], 1.0, 1.0) == 0
    assert OpenDPNoise().choose([-1e9, 0.0], 1.0, 1.0) == 1


@pytest.mark.parametrize("noise", BACKENDS, ids=["opendp", "seeded"])
def test_shapes_and_large_values_are_kept(noise: Noise) -> None:
    values = np.array([[2**40, 5], [0, -(2**40)]])
    drawn = noise.discrete_laplace(values, 1, 1.0)
    assert drawn.shape == (2, 2)
    assert np.abs(drawn - values).max() < 100
    assert noise.discrete_laplace(np.zeros((0, 3), int), 1, 1.0).shape == (0, 3)


@pytest.mark.parametrize("noise", BACKENDS, ids=["opendp", "seeded"])
def test_what_would_not_protect_is_refused(noise: Noise) -> None:
    for epsilon in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ConfigError):
            noise.discrete_laplace(np.zeros(3, int), 1, epsilon)
        with pytest.raises(ConfigError):
            noise.choose([1.0], 1.0, epsilon)
    with pytest.raises(ConfigError):
        noise.discrete_laplace(np.zeros(3, int), 0, 1.0)
    with pytest.raises(TypeError):
        noise.discrete_laplace(np.zeros(3), 1, 1.0)
    with pytest.raises(ConfigError):
        noise.choose([], 1.0, 1.0)


def test_noise_that_might_not_fit_into_64_bits_is_refused() -> None:
    """Sixty-four scales of it and a count of as much are 2**62 at most."""
    assert laplace_scale(2, 2.0**-54) == 2.0**55 == pytest.approx(gaussian_scale(1, 2.0**-110.99), rel=0.01)
    for scale in (laplace_scale, gaussian_scale):
        with pytest.raises(ConfigError, match="epsilon is too small"):
            scale(1, 2.0 ** (-55.1 if scale is laplace_scale else -111.1))


def test_scale_zero_of_opendp_is_refused() -> None:
    with pytest.raises(ConfigError, match="positive"):
        OpenDPNoise().laplace(np.zeros(2), 0.0)


def test_test_noise_says_that_it_protects_nobody() -> None:
    assert not SeededNoise(3).private
    assert "NOT PRIVATE" in SeededNoise(3).label
    assert OpenDPNoise().private
    assert OpenDPNoise().label.startswith("OpenDP")


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(0, 7), st.integers(0, 99))
def test_same_stream_on_neighbours_differs_by_the_sensitivity(counts: list[int], place: int, seed: int) -> None:
    neighbour = list(counts)
    neighbour[place % len(counts)] += 1
    first = SeededNoise(seed).discrete_laplace(counts, 1, 0.5)
    second = SeededNoise(seed).discrete_laplace(neighbour, 1, 0.5)
    assert np.abs(first - second).sum() == 1


@pytest.mark.parametrize("noise", [OpenDPNoise(), SeededNoise(1)], ids=["private", "seeded"])
def test_nothing_gets_no_noise(noise: Noise) -> None:
    none = np.zeros((0, 3), np.int64)
    for drawn in (
        noise.discrete_laplace(none, 1, 1.0),
        noise.discrete_gaussian(none, 1, 1.0),
        noise.laplace(none, 1.0),
    ):
        assert drawn.shape == (0, 3)
