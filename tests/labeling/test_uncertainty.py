"""How unsure a tagger is: every figure counted over all label sequences, and what a queue relies on."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.labeling.tagger import Tagger
from deid.labeling.uncertainty import MEASURES, Uncertainty, find_measure, uncertainty

sizes = st.tuples(st.integers(1, 5), st.integers(2, 4), st.integers(0, 10_000))


def lattice(size: tuple[int, int, int], spread: float = 2.0) -> Uncertainty:
    items, labels, seed = size
    random = np.random.default_rng(seed)
    emissions, transition = random.normal(size=(items, labels)) * spread, random.normal(size=(labels, labels)) * spread
    return Uncertainty(emissions, transition, 1, random.random(items) < 0.7)


def all_sequences(told: Uncertainty) -> dict[tuple[int, ...], float]:
    """Return the probability of each label sequence."""
    items, labels = told.emissions.shape
    weight = {
        path: np.exp(
            sum(told.emissions[i, y] for i, y in enumerate(path))
            + sum(told.transition[a, b] for a, b in itertools.pairwise(path))
        )
        for path in itertools.product(range(labels), repeat=items)
    }
    total = sum(weight.values())
    return {path: float(value / total) for path, value in weight.items()}


@settings(max_examples=60)
@given(sizes)
def test_every_figure_is_what_counting_all_sequences_gives(size: tuple[int, int, int]) -> None:
    told = lattice(size)
    chances = all_sequences(told)
    ranked = sorted(chances.items(), key=lambda pair: -pair[1])
    best, first = ranked[0]
    assert told.surprise == pytest.approx(-np.log(first), abs=1e-9)
    assert told.margin == pytest.approx(np.log(first) - np.log(ranked[1][1]), abs=1e-9)
    share = np.zeros(told.emissions.shape)
    for path, chance in chances.items():
        share[np.arange(len(path)), path] += chance
    assert told.entropy == pytest.approx(-(share * np.log(share)).sum(), abs=1e-9)
    left = [i for i, y in enumerate(best) if y == 1 and told.words[i]]
    assert told.missed == pytest.approx(sum(1 - share[i, 1] for i in left), abs=1e-9)


def test_equally_good_sequences_have_no_margin_and_all_of_the_entropy() -> None:
    even = Uncertainty(np.zeros((3, 2)), np.zeros((2, 2)), 0, np.ones(3, dtype=bool))
    assert even.margin == 0
    assert even.surprise == pytest.approx(3 * np.log(2))
    assert even.entropy == pytest.approx(3 * np.log(2))
    assert even.missed == pytest.approx(1.5)


@pytest.mark.parametrize("labels", [1, 3])
def test_an_empty_note_and_a_single_label_leave_no_doubt(labels: int) -> None:
    empty = Uncertainty(np.empty((0, labels)), np.zeros((labels, labels)), 0, np.empty(0, dtype=bool))
    assert (empty.surprise, empty.margin, empty.entropy, empty.missed) == (0.0, float("inf"), 0.0, 0.0)
    alone = Uncertainty(np.ones((4, 1)), np.ones((1, 1)), 0, np.ones(4, dtype=bool))
    assert (alone.surprise, alone.margin, alone.entropy, alone.missed) == (0.0, float("inf"), 0.0, 0.0)


@given(sizes)
@settings(max_examples=20)
def test_scores_far_apart_stay_finite(size: tuple[int, int, int]) -> None:
    told = lattice(size, 100.0)
    assert all(np.isfinite(measure(told)) for measure in MEASURES.values())
    assert min(told.surprise, told.margin, told.entropy, told.missed) >= 0


def test_a_tagger_doubts_what_it_has_not_seen(small_tagger: Tagger, corpus) -> None:
    known = uncertainty(small_tagger, corpus[0].text)
    strange = uncertainty(small_tagger, "Zyx Qwv rang 77 about 5 Foo, see Bar 12/99, MRN? Ruiz or May 3.\n" * 2)
    for name, measure in MEASURES.items():
        if name != "missed":
            assert measure(strange) > measure(known), name
    assert strange.missed > known.missed


def test_the_dial_and_line_ends_count_as_they_do_when_tagging(small_tagger: Tagger, corpus) -> None:
    text = corpus[3].text + corpus[4].text
    assert uncertainty(small_tagger, text.replace("\n", "\r\n")).entropy == uncertainty(small_tagger, text).entropy
    turned = uncertainty(small_tagger.dial(3.0), text)
    best = [turned.emissions.shape[1] and small_tagger.labels[i] for i in turned._best.tolist()]
    assert best == small_tagger.dial(3.0).label(text)[0]


def test_words_without_a_letter_or_digit_are_never_missed(small_tagger: Tagger) -> None:
    told = uncertainty(small_tagger, "-- . . ; --\n")
    assert not told.words.any()
    assert told.missed == 0


def test_a_tagger_without_the_label_O_misses_nothing() -> None:
    told = lattice((4, 3, 1))
    assert dataclasses.replace(told, outside=-1).missed == 0


def test_an_unknown_measure_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="margin"):
        find_measure("doubt")
