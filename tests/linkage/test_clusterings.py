"""Measures of a clustering against sums over all pairs and all mentions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import InputError
from deid.linkage.measures import MEASURES, score_clusters

CLUSTERINGS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=14)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 1.0


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@given(CLUSTERINGS)
def test_measures_are_those_of_all_pairs_and_mentions(mentions: list[tuple[int, int]]) -> None:
    pairs = list(combinations(mentions, 2))
    right = sum(a == b for a, b in pairs)
    precision = _share(right, sum(a[1] == b[1] for a, b in pairs))
    recall = _share(right, sum(a[0] == b[0] for a, b in pairs))
    alike = [
        [sum(o == m for o in mentions) / sum(o[side] == m[side] for o in mentions) for m in mentions] for side in (1, 0)
    ]
    b3 = [sum(values) / len(mentions) for values in alike]
    expected = [precision, recall, _f1(precision, recall), *b3, _f1(*b3)]
    truth, found = zip(*mentions, strict=True)
    scores = score_clusters(truth, [f"c{n}" for n in found])
    assert [scores.values[name] for name in MEASURES] == pytest.approx(expected)
    assert scores.over_merged == sum(len({p for p, c in mentions if c == n}) > 1 for n in set(found))
    assert scores.split == sum(len({c for p, c in mentions if p == n}) > 1 for n in set(truth))
    assert (scores.persons, scores.clusters, scores.mentions) == (len(set(truth)), len(set(found)), len(mentions))


def test_the_truth_itself_scores_one_and_all_in_one_cluster_has_full_recall() -> None:
    truth = list("aabbbcd")
    assert set(score_clusters(truth, truth).values.values()) == {1.0}
    merged = score_clusters(truth, ["x"] * 7)
    assert merged.values["recall"] == 1
    assert merged.values["precision"] == pytest.approx(4 / 21)
    assert (merged.over_merged, merged.split) == (1, 0)


def test_intervals_hold_what_other_samples_of_persons_score() -> None:
    def sample(seed: int, persons: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        truth = np.repeat(np.arange(persons), rng.integers(1, 6, persons))
        moved = rng.random(len(truth)) < 0.2
        return truth, np.where(moved, persons + np.arange(len(truth)), truth - (truth % 10 == 1))

    usual = score_clusters(*sample(0, 50_000)).values
    inside = dict.fromkeys(MEASURES, 0)
    for seed in range(40):
        scores = score_clusters(*sample(seed + 1, 300), resamples=200, seed=seed)
        for name, (low, high) in scores.intervals.items():
            assert low <= high
            inside[name] += low <= usual[name] <= high
    assert min(inside.values()) >= 32
    again = score_clusters(*sample(1, 300), resamples=50, seed=3)
    assert again == score_clusters(*sample(1, 300), resamples=50, seed=3)
    assert {"f1", "f1_low", "f1_high", "over_merged"} <= again.as_dict().keys()


@pytest.mark.parametrize(("truth", "found"), [([1, 2], [1]), ([], []), ([1, None], [1, 1])])
def test_what_is_no_clustering_is_refused(truth: list[int], found: list[int]) -> None:
    with pytest.raises(InputError):
        score_clusters(truth, found)
