"""Spans by probability: brute force over all label sequences, and the tagger that uses them."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.labeling.span_decoding import probable_spans
from deid.labeling.tagger import Tagger

LABELS = ("B-N", "O", "I-N", "B-D", "I-D")


def brute_force(emissions: np.ndarray, transition: np.ndarray) -> dict[tuple[int, int, str], float]:
    """Return the probability of each span that begins with a B, from all sequences of labels."""
    total = 0.0
    spans: dict[tuple[int, int, str], float] = {}
    for path in itertools.product(range(len(LABELS)), repeat=len(emissions)):
        score = sum(emissions[i, y] for i, y in enumerate(path))
        score += sum(transition[a, b] for a, b in itertools.pairwise(path))
        weight = float(np.exp(score))
        total += weight
        for first, label in enumerate(path):
            kind, _, name = LABELS[label].partition("-")
            if kind != "B":
                continue
            stop = first + 1
            while stop < len(path) and LABELS[path[stop]] == f"I-{name}":
                stop += 1
            spans[first, stop, name] = spans.get((first, stop, name), 0.0) + weight
    return {span: weight / total for span, weight in spans.items()}


def best_sum(chances: dict[tuple[int, int, str], float], threshold: float) -> float:
    """Return the largest sum of (probability - threshold) over spans without overlap."""
    spans = sorted((a, b, p - threshold) for (a, b, _), p in chances.items() if p > threshold)

    def best(begin: int) -> float:
        return max((gain + best(b) for a, b, gain in spans if a >= begin), default=0.0)

    return max(0.0, best(0))


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(0, 10_000), st.sampled_from([0.05, 0.2, 0.4, 0.6]))
def test_every_chosen_span_is_as_probable_as_counted_and_no_choice_is_better(size, seed, threshold):
    random = np.random.default_rng(seed)
    emissions, transition = random.normal(size=(size, 5)) * 2, random.normal(size=(5, 5))
    chances = brute_force(emissions, transition)
    chosen = probable_spans(emissions, transition, LABELS, threshold)
    for a, b, name, probability in chosen:
        assert probability == pytest.approx(chances[a, b, name], abs=2e-3)
        assert probability > threshold
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(chosen))
    assert sum(p - threshold for *_, p in chosen) == pytest.approx(best_sum(chances, threshold), abs=5e-3)


def test_a_border_in_doubt_takes_the_most_probable_span_not_the_best_path() -> None:
    # the best path has no span (.4), but a span of either length has .3 each: at .25 one of them is taken
    emissions = np.full((2, 5), -50.0)
    emissions[0, [0, 1]] = np.log([0.6, 0.4])
    emissions[1, [1, 2]] = 0.0
    transition = np.zeros((5, 5))
    transition[0, [1, 2]] = np.log([0.5, 0.5])
    transition[1, 2] = -50.0
    assert [round(p, 2) for *_, p in probable_spans(emissions, transition, LABELS, 0.25)] == [0.3]
    assert probable_spans(emissions, transition, LABELS, 0.35) == []


def test_no_items_no_spans() -> None:
    assert probable_spans(np.empty((0, 5)), np.zeros((5, 5)), LABELS, 0.4) == []


def test_tagger_finds_the_same_where_nothing_is_in_doubt(small_tagger: Tagger, corpus) -> None:
    chosen = dataclasses.replace(small_tagger, span_probability=0.4)
    for document in corpus[:5]:
        plain = [(s.start, s.end, s.category) for s in small_tagger.find(document)]
        assert plain
        spans = chosen.find(document)
        assert [(s.start, s.end, s.category) for s in spans] == plain
        assert all(s.score is not None and 0.4 < s.score <= 1 + 1e-9 for s in spans)


def test_a_higher_probability_takes_fewer_spans(small_tagger: Tagger, corpus) -> None:
    def count(least: float) -> int:
        tagger = dataclasses.replace(small_tagger.dial(4.0), span_probability=least)
        return sum(len(tagger.find(document)) for document in corpus)

    assert count(0.99) < count(0.4) <= count(0.05)


def test_other_schemes_are_refused(small_tagger: Tagger, corpus) -> None:
    weights = dataclasses.replace(
        small_tagger.decoder.weights, labels=tuple(label.replace("B-", "S-") for label in small_tagger.labels)
    )
    decoder = type(small_tagger.decoder)(weights, small_tagger.decoder.features)
    tagger = dataclasses.replace(small_tagger, decoder=decoder, span_probability=0.4)
    with pytest.raises(ConfigError, match="BIO labels only"):
        tagger.find(corpus[0])
