"""Clusters of trajectories, what they lose, and whether they hold."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trajectories.fixture import AGES, CODES, HISTORIES, paper

from deid.base.errors import ConfigError, InputError
from deid.trajectories import TrajectoryRelease, anonymize_trajectories, check_trajectories, make_trajectories
from deid.trajectories.alignment import Costs, align
from deid.trajectories.measures import average_relative_error, loss_of
from deid.trajectories.records import Trajectories, suppress_repeats


def shown(release: TrajectoryRelease) -> dict[frozenset[str], list[tuple[str, str]]]:
    data = release.data
    return {
        frozenset(data.people[m] for m in cluster.members): [
            (data.codes.names[c], data.ages.names[a]) for c, a in cluster.pairs
        ]
        for cluster in release.clusters
    }


def test_the_papers_clusters_and_losses() -> None:
    """Jane's first code becomes 401, and the last person's first pair is (401.1, [39-40])."""
    release = anonymize_trajectories(paper(), 2)
    assert shown(release) == {
        frozenset({"T1", "T4"}): [("401.1", "33"), ("401.1", "34"), ("401.1", "35")],
        frozenset({"T2", "T3"}): [("401", "38"), ("401.1", "40")],
        frozenset({"T5", "T6"}): [("401.1", "[39-40]")],
    }
    loss = loss_of(release)
    assert round(loss.ilm_estimate, 4) == 0.2308
    assert round(loss.alm_estimate, 4) == 0.1154
    # exactly, by Definition 8: T4 loses 1 of 4 pairs, T2 and T3 half of a code each, T5 and T6 a quarter of an age
    assert loss.ilm == pytest.approx((0.25 + 0.5 + 0.5) / 6)
    assert loss.alm == pytest.approx((0.25 + 0.25 + 0.25) / 6)
    assert loss.suppressed == 1


def test_a_generalized_pair_answers_by_its_leaves() -> None:
    """Two persons with (401.1, [39-40]) stand for half a person each at 39: the count is right, its error 0."""
    data = make_trajectories({p: HISTORIES[p] for p in ("T5", "T6")}, CODES, AGES)
    error, queries = average_relative_error(anonymize_trajectories(data, 2))
    assert (error, queries) == (0, 2)


_history = st.lists(
    st.tuples(st.sampled_from(["401.0", "401.1", "401.9"]), st.integers(33, 40).map(str)), min_size=1, max_size=4
)


@settings(max_examples=80)
@given(
    st.lists(_history, min_size=2, max_size=14),
    st.integers(2, 4),
    st.sampled_from(["a-gs", "baseline"]),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_every_release_holds(
    histories: list[list[tuple[str, str]]], k: int, method: str, diversity: int, weight: float
) -> None:
    people = {f"p{i}": h for i, h in enumerate(histories)}
    values = {p: f"v{i % 3}" for i, p in enumerate(people)}
    data = make_trajectories(people, CODES, AGES, sensitive=values)
    if len(data) < k or len(set(values.values())) < diversity:
        with pytest.raises(InputError):
            anonymize_trajectories(data, k, method=method, diversity=diversity, weight=weight)
        return
    release = anonymize_trajectories(data, k, method=method, diversity=diversity, weight=weight)
    assert check_trajectories(release.published(), k, data, diversity) == (
        True,
        min(Counter(r.tobytes() for r in release.published()).values()),
        None,
    )
    assert sorted(m for c in release.clusters for m in c.members) == list(range(len(data)))
    loss = loss_of(release)
    assert 0 <= loss.ilm <= 1
    assert 0 <= loss.alm <= 1


def _by_the_book(data: Trajectories, k: int, costs: Costs) -> set[frozenset[int]]:
    """Clusters of Algorithms 3 and 4 of the paper, written down plainly: the first of equals is always taken."""
    left = list(range(len(data)))
    own = [data.trajectory(i) for i in left]

    def distance(x: np.ndarray, i: int) -> float:
        if x.shape == own[i].shape and (x == own[i]).all():
            return 0.0
        found = align(x, own[i], costs)
        return found.codes * costs.weights[0] + found.ages * costs.weights[1]

    def extreme(x: np.ndarray, sign: int) -> int:
        return min(left, key=lambda i: (sign * distance(x, i), i))

    def most_frequent() -> np.ndarray:
        often = Counter(own[i].tobytes() for i in left)
        return own[min(left, key=lambda i: (-often[own[i].tobytes()], i))]

    def form(first: int) -> frozenset[int]:
        members, x = [first], own[first]
        left.remove(first)
        while len(members) < k:
            nearest = extreme(x, 1)
            if distance(x, nearest) or len(x) != len(own[nearest]):
                x = align(x, own[nearest], costs).pairs
            members.append(nearest)
            left.remove(nearest)
        return frozenset(members)

    clusters = set()
    while len(left) >= 3 * k:
        far = extreme(most_frequent(), -1)
        clusters.add(form(far))
        clusters.add(form(extreme(own[far], -1)))
    while len(left) >= 2 * k:
        clusters.add(form(extreme(most_frequent(), -1)))
    return clusters | {frozenset(left)}


@settings(max_examples=60)
@given(st.integers(2, 3), st.integers(0, 6), st.sampled_from([0.0, 0.5, 1.0]), st.data())
def test_clusters_are_those_of_the_paper(k: int, more: int, weight: float, source: st.DataObject) -> None:
    count = 2 * k + more
    histories = source.draw(st.lists(_history, min_size=count, max_size=count))
    data = make_trajectories({f"p{i:02}": h for i, h in enumerate(histories)}, CODES, AGES)
    release = anonymize_trajectories(data, k, weight=weight)
    assert {frozenset(c.members) for c in release.clusters} == _by_the_book(data, k, release.costs)


def test_planted_violations_are_rejected() -> None:
    data = paper()
    rows = anonymize_trajectories(data, 2).published()
    alone = [*rows[:-1], rows[0]]
    assert check_trajectories(alone, 2) == (False, 1, 4)
    untrue = [rows[4]] * 6  # a pair of ages 39 to 40 does not stand for anything of T1
    assert check_trajectories(untrue, 2)[0]
    assert check_trajectories(untrue, 2, data) == (False, 6, 0)
    backwards = [r[::-1].copy() for r in rows]
    assert not check_trajectories(backwards, 2, data)[0]


def test_loss_grows_with_k_and_follows_the_weight() -> None:
    rng = np.random.default_rng(3)
    people = {
        str(i): sorted(
            ((f"401.{rng.choice([0, 1, 9])}", str(rng.integers(33, 41))) for _ in range(rng.integers(1, 5))),
            key=lambda p: p[1],
        )
        for i in range(150)
    }
    data = make_trajectories(people, CODES, AGES)
    sums = [
        sum((loss_of(anonymize_trajectories(data, k)).ilm, loss_of(anonymize_trajectories(data, k)).alm))
        for k in (2, 5, 15)
    ]
    assert sums[0] < sums[1] < sums[2]
    light, heavy = (loss_of(anonymize_trajectories(data, 5, weight=w)) for w in (0.1, 0.9))
    assert heavy.ilm < light.ilm
    assert heavy.alm > light.alm
    baseline = loss_of(anonymize_trajectories(data, 5, method="baseline"))
    aligned = loss_of(anonymize_trajectories(data, 5))
    assert aligned.ilm + aligned.alm < baseline.ilm + baseline.alm


def test_rare_repetitions_are_cut() -> None:
    """Of three persons two have a code once and one has it three times: two of these go."""
    people = {
        "a": [("401.1", "33")],
        "b": [("401.1", "34")],
        "c": [("401.1", "33"), ("401.1", "34"), ("401.1", "35"), ("401.0", "36")],
    }
    data, removed = suppress_repeats(make_trajectories(people, CODES, AGES), 2)
    assert removed == 2
    assert [len(data.trajectory(i)) for i in range(3)] == [1, 1, 2]
    again, none = suppress_repeats(data, 2)
    assert none == 0
    assert again.pairs.tolist() == data.pairs.tolist()


@pytest.mark.parametrize(
    ("people", "word"),
    [
        ({}, "no history"),
        ({"a": [("401.7", "33")]}, "401.7"),
        ({"a": [("401.1", "x")]}, "no number"),
        ({"a": [("401.1", "-3")]}, "negative"),
        ({"a": [("401.1", "nan")]}, "negative or missing"),
        ({"a": [("401.1", "77")]}, "not in its hierarchy"),
    ],
)
def test_bad_input_is_told(people: dict[str, list[tuple[str, str]]], word: str) -> None:
    with pytest.raises(InputError, match=word):
        make_trajectories(people, CODES, AGES)


def test_unknown_codes_can_be_leaves_and_unsorted_histories_are_sorted() -> None:
    data = make_trajectories({"a": [("999", "40"), ("401.1", "33")]}, CODES, AGES, own_leaf=True)
    assert [data.codes.names[c] for c, _ in data.pairs] == ["401.1", "999"]


def test_options_are_checked() -> None:
    for options in ({"k": 1}, {"k": 2, "weight": 2.0}, {"k": 2, "method": "x"}, {"k": 2, "diversity": 2}):
        with pytest.raises(ConfigError):
            anonymize_trajectories(paper(), **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="fewer than k"):
        anonymize_trajectories(paper(), 7)
