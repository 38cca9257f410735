"""Decoding against brute force, and against CRFsuite itself."""

from __future__ import annotations

import itertools

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.labeling.kernels import marginals, viterbi
from deid.labeling.reference import _forward, log_partition
from deid.labeling.tagger import Tagger

random_scores = st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(0, 10_000), st.booleans())


def scores(case: tuple[int, int, int, bool]) -> tuple[np.ndarray, np.ndarray]:
    n, labels, seed, ties = case
    rng = np.random.default_rng(seed)
    draw = (lambda s: rng.integers(0, 2, s).astype(float)) if ties else (lambda s: rng.normal(size=s))
    return draw((n, labels)), draw((labels, labels))


def all_paths(emissions: np.ndarray, transition: np.ndarray) -> dict[tuple[int, ...], float]:
    n, labels = emissions.shape
    return {
        path: sum(emissions[i, y] for i, y in enumerate(path))
        + sum(transition[a, b] for a, b in itertools.pairwise(path))
        for path in itertools.product(range(labels), repeat=n)
    }


@given(case=random_scores)
def test_viterbi_finds_a_best_path(case: tuple[int, int, int, bool]) -> None:
    emissions, transition = scores(case)
    paths = all_paths(emissions, transition)
    assert paths[tuple(viterbi(emissions, transition).tolist())] == pytest.approx(max(paths.values()))


@given(case=random_scores)
def test_marginals_and_partition_equal_the_sum_over_all_paths(case: tuple[int, int, int, bool]) -> None:
    emissions, transition = scores(case)
    paths = all_paths(emissions, transition)
    weights = np.exp(np.array(list(paths.values())))
    assert log_partition(emissions, transition) == pytest.approx(np.log(weights.sum()))
    expected = np.zeros_like(emissions)
    for path, weight in zip(paths, weights, strict=True):
        expected[np.arange(len(path)), path] += weight / weights.sum()
    found = marginals(emissions, transition)
    assert found == pytest.approx(expected)
    assert found.sum(axis=1) == pytest.approx(1.0)


@given(case=random_scores)
@settings(max_examples=30)
def test_gradient_of_the_partition_is_the_marginals(case: tuple[int, int, int, bool]) -> None:
    """Finite differences of log Z in each emission score."""
    emissions, transition = scores(case)
    found = marginals(emissions, transition)
    step = 1e-6
    for place in np.ndindex(emissions.shape):
        moved = emissions.copy()
        moved[place] += step
        slope = (log_partition(moved, transition) - log_partition(emissions, transition)) / step
        assert slope == pytest.approx(found[place], abs=1e-4)


def test_long_sequences_do_not_overflow() -> None:
    emissions = np.random.default_rng(0).normal(scale=50, size=(3000, 4))
    transition = np.zeros((4, 4))
    assert np.isfinite(log_partition(emissions, transition))
    assert np.isfinite(_forward(emissions, transition)).all()
    assert marginals(emissions, transition).sum(axis=1) == pytest.approx(1.0)


def test_empty_text_has_no_labels() -> None:
    assert viterbi(np.empty((0, 3)), np.zeros((3, 3))).tolist() == []
    assert marginals(np.empty((0, 3)), np.zeros((3, 3))).shape == (0, 3)


def crfsuite_labels(tagger: Tagger, text: str) -> list[str]:
    reference = pycrfsuite.Tagger()
    reference.open_inmemory(tagger.crfsuite)
    features = tagger.decoder.features
    return reference.tag(features.expand(features.encode(text)))


@pytest.mark.parametrize("fixture", ["small_tagger", "small_hide_tagger"])
@given(text=st.text(alphabet=st.sampled_from("AaBb Rios123.,\n:é\x00"), max_size=60))
@settings(max_examples=40)
def test_labels_equal_crfsuite_fed_by_hand(fixture: str, request: pytest.FixtureRequest, text: str) -> None:
    tagger: Tagger = request.getfixturevalue(fixture)
    assert tagger.label(text)[0] == crfsuite_labels(tagger, text)


def test_marginals_equal_crfsuite(small_tagger: Tagger) -> None:
    text = "Name: Ana Ruiz. MRN 12345, seen by Dr. Lee on 3 May 2019."
    reference = pycrfsuite.Tagger()
    reference.open_inmemory(small_tagger.crfsuite)
    features = small_tagger.decoder.features
    encoded = features.encode(text)
    reference.set(features.expand(encoded))
    found = marginals(small_tagger.decoder.emissions(encoded), small_tagger.decoder.weights.transition)
    for i, row in enumerate(found):
        for label, value in zip(small_tagger.labels, row, strict=True):
            assert reference.marginal(label, i) == pytest.approx(value, abs=1e-9)
