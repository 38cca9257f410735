"""What each mechanism asks of the noise, by arithmetic of its own: scores, sensitivities and shares of epsilon."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from deid.base.errors import ConfigError
from deid.dp.aggregates import Drawing, noisy_quantiles, noisy_sum, noisy_top, quantile_candidates, quantile_scores
from deid.dp.budget import Ledger
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import declare
from deid.dp.epsilon import split_epsilon
from deid.dp.forest import SHARES, choose_pairs, measure_forest
from deid.dp.intervals import discrete_half_width
from deid.dp.moments import noisy_moments
from deid.dp.noise import SeededNoise
from deid.dp.payment import row_key
from deid.dp.prefix_tree import growing_from
from deid.dp.release_files import NOT_PRIVATE
from deid.dp.sequences import plan_sequences, release_sequences
from deid.dp.session import QuerySession
from deid.dp.unit import PrivacyUnit


class Exact:
    """Gives the truth, or what is best, and keeps what was asked: values, sensitivity, epsilon."""

    private = False
    label = "none"

    def __init__(self) -> None:
        self.asked: list[tuple[npt.NDArray[np.float64], float, float]] = []

    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
        self.asked.append((np.array(values, float), sensitivity, epsilon))
        return np.asarray(values)

    def choose(self, scores: npt.ArrayLike, sensitivity: float, epsilon: float) -> int:
        self.asked.append((np.array(scores, float), sensitivity, epsilon))
        return int(np.argmax(scores))


def near_cell(value: float) -> Any:
    return pytest.approx(value, abs=0.16)  # candidates are a tenth apart, and the ends half a step further out


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 4.0, 9.0])
def test_quantiles_of_one_value_are_that_value(value: float) -> None:
    """At the ends of the domain, too."""
    shares, how = [0.1, 0.4, 0.5, 0.9], Drawing(50.0, SeededNoise(1), 1, 0.9)
    found = noisy_quantiles(np.full(200, value), shares, 0, 9, how, whole=True)
    assert [own.value for own in found] == [value] * 4


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("distance", [1, 2])
@pytest.mark.parametrize("interval", [False, True])
def test_a_quantile_has_all_of_epsilon_and_an_interval_takes_half(share: float, distance: int, interval: bool) -> None:
    """Scores are how deep the wanted rank lies within a candidate's own ranks, or minus how far outside; ends lie
    2 s (ln n + ln 1/q) / epsilon ranks outside."""
    noise: Any = Exact()
    values = np.array([1.0, 4.0, 4.0, 7.0, np.nan, 99.0, -3.0])
    inside = [1, 4, 4, 7, 9, 0]
    (found,) = noisy_quantiles(values, [share], 0, 9, Drawing(2.0, noise, distance, 0.9), whole=True, interval=interval)
    sensitivity = max(share, 1 - share) * distance
    costs = (1.0, 0.5, 0.5) if interval else (2.0,)
    assert [(own, epsilon) for _, own, epsilon in noise.asked] == [(sensitivity, near(cost)) for cost in costs]
    for sign, (scores, _, epsilon) in zip((0, -1, 1), noise.asked, strict=False):
        target = share * 6 + sign * 2 * sensitivity / epsilon * (math.log(10) + math.log(1 / 0.05))
        for candidate, score in enumerate(scores):
            # any rank between those below and those not above is the candidate's own
            low = -math.inf if candidate == 0 else sum(value < candidate for value in inside)
            high = math.inf if candidate == 9 else sum(value <= candidate for value in inside)
            assert score == near(-max(low - target, target - high))
    if found.lower is None or found.upper is None:
        assert not interval
    else:
        assert found.lower <= found.value <= found.upper


@settings(max_examples=200)
@given(st.lists(st.integers(0, 6), max_size=25), st.integers(0, 6), st.floats(0, 1), st.booleans(), st.integers(0, 3))
def test_a_row_more_moves_no_score_of_a_quantile_by_more_than_its_sensitivity(
    values: list[int], other: int, share: float, interval: bool, sampling: int
) -> None:
    """Brute force over neighbours, whose count for the sample is drawn alike."""

    class Alike(Exact):
        def discrete_laplace(self, values: Any, sensitivity: int, epsilon: float) -> Any:
            return np.full_like(np.asarray(values), 40)

    asked = []
    for rows in (values, [*values, other]):
        noise: Any = Alike()
        how = Drawing(1.0, noise, 1, 0.9, sampling)
        noisy_quantiles(np.array(rows, float), [share], 0, 6, how, whole=True, interval=interval)
        asked.append(noise.asked)
    for (one, sensitivity, _), (two, _, _) in zip(*asked, strict=True):
        moved = np.abs(np.subtract(one, two, where=np.array(one) != np.array(two), out=np.zeros(len(one))))
        assert moved.max() <= sensitivity + 1e-9


def test_a_median_of_values_that_many_have_is_nearly_always_right() -> None:
    """2,000 ages at epsilon .1: the values beside the median score 50 ranks less than it, not 25."""
    values = np.clip(np.rint(np.random.default_rng(1).normal(62, 16, 2_000)), 0, 120)
    true = np.quantile(values, 0.5, method="inverted_cdf")
    noise = SeededNoise(0)
    found = [
        noisy_quantiles(values, [0.5], 0, 120, Drawing(0.1, noise, 1, 0.95), whole=True)[0].value for _ in range(400)
    ]
    assert np.mean(np.abs(np.array(found) - true)) < 0.15


@pytest.mark.parametrize(
    ("high", "whole", "step"), [(10, False, 0.01), (1000, False, 1), (10**6, True, 1000), (9, True, 1)]
)
def test_an_interval_of_a_quantile_has_the_values_that_are_rounded_to_its_candidate(
    high: float, whole: bool, step: float
) -> None:
    """With nearly no noise the interval is as wide as what is read as one candidate: of whole numbers, that alone."""
    assert np.diff(quantile_candidates(0, high, whole=whole)[:2]).item() == pytest.approx(step)
    value = high * 0.37 if high > 9 else 3.0
    how = Drawing(1e7, SeededNoise(1), 1, 0.95)
    (found,) = noisy_quantiles(np.full(100, value), [0.5], 0, high, how, whole=whole, interval=True)
    assert found.lower is not None
    assert found.upper is not None
    assert (found.lower <= value <= found.upper) is True
    assert found.upper - found.lower == pytest.approx(0 if high == 9 else step)


@pytest.mark.parametrize("sampling", [1, 2])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_with_hardly_any_noise_an_interval_of_a_quantile_is_that_of_its_sample(share: float, sampling: int) -> None:
    """Half of what may be missed is the sample's: the ends are the quantiles of shares z sqrt(q (1 - q) / n) away."""
    values = np.random.default_rng(0).permutation(10_000) / 100
    how = Drawing(1e7, SeededNoise(1), 1, 0.9, sampling)
    (found,) = noisy_quantiles(values, [share], 0, 100, how, whole=False)
    away = norm.ppf((1 + 0.95) / 2) * math.sqrt(share * (1 - share) * sampling / 10_000)
    assert (found.lower, found.upper) == (near_cell(100 * (share - away)), near_cell(100 * (share + away)))


def test_values_above_the_last_whole_number_in_bounds_count_as_it() -> None:
    how = Drawing(1e7, SeededNoise(1), 1, 0.95)
    found = noisy_quantiles(np.array([2.9, 2.6, 1.2, 0.3, 9.0]), [0.1, 0.9], 0.2, 2.9, how, whole=True)
    assert [own.value for own in found] == [1, 2]


def test_a_quantile_among_one_candidate_is_that_one() -> None:
    (found,) = noisy_quantiles(
        np.zeros(9), [0.5], 0.6, 1.5, Drawing(1.0, SeededNoise(0), 1, 0.95), whole=True, interval=True
    )
    assert found.value == 1.0


SHARES_OF = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.45, 0.5, 0.75, 0.9, 1.0]), min_size=2, max_size=6, unique=True)


@settings(max_examples=150)
@given(st.lists(st.integers(0, 9), max_size=40), st.integers(0, 9), SHARES_OF, st.integers(0, 99))
def test_of_each_level_of_a_split_a_row_moves_one_part_by_its_sensitivity(
    values: list[int], other: int, shares: list[float], seed: int
) -> None:
    """Brute force over neighbours with the same answers so far: in each level one choice at most differs, by no more
    than its sensitivity; the levels together cost epsilon."""

    class Following(SeededNoise):
        """Draws the choices of one table, and repeats them for its neighbour."""

        def __init__(self, known: list[int]) -> None:
            super().__init__(seed)
            self.known, self.asked, self.drawn = list(known), [], []  # type: ignore[var-annotated]

        def choose(self, scores: Any, sensitivity: float, epsilon: float) -> int:
            place = self.known.pop(0) if self.known else super().choose(scores, sensitivity, epsilon)
            self.asked.append((np.array(scores), sensitivity, epsilon))
            self.drawn.append(place)
            return place

    first = Following([])
    told = noisy_quantiles(np.array(values, float), shares, 0, 9, Drawing(1.5, first, 1, 0.9), whole=True)
    second = Following(first.drawn)
    noisy_quantiles(np.array([*values, other], float), shares, 0, 9, Drawing(1.5, second, 1, 0.9), whole=True)
    assert [own.value for own in told] == sorted(own.value for own in told)
    spent: dict[float, float] = {}
    for (one, sensitivity, epsilon), (two, _, _) in zip(first.asked, second.asked, strict=True):
        moved = float(np.abs(one - two).max())
        assert moved <= sensitivity + 1e-9
        spent[epsilon] = spent.get(epsilon, 0.0) + epsilon * (moved > 0)
    levels = split_epsilon(1.5, [1.0] * len(shares).bit_length())
    assert sum(spent.values()) <= sum(levels) + 1e-9  # in each level one part moves, whatever their number


@settings(max_examples=100)
@given(st.lists(st.integers(0, 4), max_size=60), SHARES_OF, st.sampled_from([1, 2]))
def test_several_quantiles_are_those_of_splitting_rows_one_by_one(
    values: list[int], shares: list[float], distance: int
) -> None:
    """The paper's recursion over a list of rows: which cuts are offered, with which scores, sensitivities and costs."""
    turn: dict[int, int] = {}
    rows = []  # eight slots a value, dealt so that any number of rows is spread evenly
    for value in sorted(values):
        turn[value] = turn.get(value, -1) + 1
        rows.append(8 * value + (0, 4, 2, 6, 1, 5, 3, 7)[turn[value] % 8])
    expected, found = [], {}

    def search(own: list[float], start: int, stop: int, low: float, high: float, level: int) -> None:
        if not own:
            return
        middle = len(own) // 2
        inside = (own[middle] - low) / (high - low)
        below = [sum(start <= row < cut for row in rows) for cut in range(start, stop + 1)]
        scores = [-abs(n - inside * below[-1]) for n in below]
        expected.append((scores, max(inside, 1 - inside) * distance, level))
        cut = start + int(np.argmax(scores))
        # a cut between two values belongs to the one on the side of the middle
        found[own[middle]] = min(cut // 8, 4) if own[middle] < 0.5 else max(cut - 1, 0) // 8
        search(own[middle + 1 :], cut, stop, own[middle], high, level + 1)
        search(own[:middle], start, cut, low, own[middle], level + 1)

    search(sorted(shares), 0, 40, 0.0, 1.0, 0)
    noise: Any = Exact()
    told = noisy_quantiles(np.array(values, float), shares, 0, 4, Drawing(1.5, noise, distance, 0.9), whole=True)
    assert [own.value for own in told] == sorted(found.values())
    costs = 1 + max(level for *_, level in expected)
    for (scores, sensitivity, epsilon), (own, moved, _) in zip(
        sorted(noise.asked, key=lambda asked: (len(asked[0]), asked[0].tolist())),
        sorted(expected, key=lambda asked: (len(asked[0]), asked[0])),
        strict=True,
    ):
        assert scores.tolist() == near(own)
        assert sensitivity == near(moved)
        assert epsilon == near(1.5 / costs)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("shares", [[0.5], [0.1, 0.5, 0.9]])
@pytest.mark.parametrize("interval", [True, False])
def test_what_quantiles_are_chosen_among_is_told_before(whole: bool, shares: list[float], interval: bool) -> None:
    """What is too much work is refused by this number; it is no less than what is scored, and not twice as much."""
    noise: Any = Exact()
    how = Drawing(1.0, noise, 1, 0.9)
    noisy_quantiles(np.arange(9.0), shares, 0, 9, how, whole=whole, interval=interval)
    scored = sum(len(scores) for scores, *_ in noise.asked)
    assert scored <= quantile_scores((0.0, 9.0), shares, whole=whole, interval=interval) + len(shares) < 2 * scored


def test_quartiles_are_found_where_values_repeat() -> None:
    """Six in ten are 0: dividing the rows at the median must not move the quartile above it."""
    values = np.concatenate([np.zeros(6000), np.arange(4000) % 100])
    found = noisy_quantiles(values, [0.5, 0.75, 0.95], 0, 100, Drawing(5.0, SeededNoise(0), 1, 0.95), whole=True)
    true = np.quantile(values, [0.5, 0.75, 0.95])
    assert [own.value for own in found] == pytest.approx(true.tolist(), abs=2)
    assert [own.value for own in noisy_quantiles(np.zeros(0), [0.2, 0.8], 3, 9, Drawing(1.0, SeededNoise(1), 1, 0.95))]


def test_several_quantiles_at_once_are_nearer_than_one_by_one() -> None:
    values = np.random.default_rng(0).normal(60, 15, 1500).clip(0, 120).round()
    shares = [0.1, 0.25, 0.5, 0.75, 0.9]
    true = np.quantile(values, shares, method="inverted_cdf")
    errors = np.zeros(2)
    for seed in range(60):
        noise = SeededNoise(seed)
        together = noisy_quantiles(values, shares, 0, 120, Drawing(0.2, noise, 1, 0.95), whole=True)
        alone = [noisy_quantiles(values, [own], 0, 120, Drawing(0.04, noise, 1, 0.95), whole=True)[0] for own in shares]
        for place, found in enumerate((together, alone)):
            errors[place] += float(np.abs(np.array([own.value for own in found]) - true).mean())
    assert errors[0] < 0.8 * errors[1]


@pytest.mark.parametrize("counts", [[3, 3], [0, 5, 2], [4, 4, 4, 1]])
@pytest.mark.parametrize("rows", [1, 2])
def test_odds_of_the_most_frequent_are_within_epsilon_with_half_the_noise(counts: list[int], rows: int) -> None:
    """All neighbours, exact odds of the first choice: counts move up together, so half the sensitivity is enough."""

    def chances(of: npt.NDArray[Any], sensitivity: float) -> npt.NDArray[Any]:
        taken = np.exp((of - of.max()) / (2 * sensitivity))
        result = np.zeros(len(of))
        orders = list(itertools.permutations(range(len(of))))
        for order in orders:
            left = 1 / len(orders)
            for own in order:
                result[own] += left * taken[own]
                left *= 1 - taken[own]
        return result

    noise: Any = Exact()
    noisy_top(np.array(counts), 1, Drawing(2.0, noise, rows, 0.95))
    (_, sensitivity, epsilon), _ = noise.asked
    assert epsilon == near(1.0)
    worst = 0.0
    for more in itertools.product(range(rows + 1), repeat=len(counts)):
        if sum(more) <= rows:
            ratio = chances(np.array(counts), sensitivity) / chances(np.array(counts) + np.array(more), sensitivity)
            worst = max(worst, float(np.abs(np.log(ratio)).max()))
    assert worst <= 1.0 + 1e-9


def test_a_variance_adds_up_distances_and_squares_and_counts_by_thirds() -> None:
    noise: Any = Exact()
    values = np.array([2.0, 4.0, 100.0, np.nan])
    found = noisy_moments(values, ["VARIANCE"], 2, 10, Drawing(3.0, noise, 1, 0.9))[0]
    (sums, reach, a), (squares, half, b), (count, one, c) = noise.asked
    assert (a, b, c) == (near(1.0), near(1.0), near(1.0))
    assert (sums[0] / 2**20 * 4, reach / 2**20 * 4) == (near(-4 - 2 + 4), near(4))
    assert (squares[0] / 2**20 * 8, half / 2**20 * 8) == (near(8 - 4 + 8), near(8))
    assert (count.tolist(), one) == ([3], 1)
    assert found.value == pytest.approx(np.var([2, 4, 10]), rel=1e-4)
    assert (found.lower, found.upper) == (0, 16)  # three rows may be none
    draw = np.random.default_rng(1).gamma(2, 2, 3000).clip(0, 20)
    inside = 0
    for seed in range(100):
        variance = noisy_moments(draw, ["VARIANCE"], 0, 20, Drawing(1.0, SeededNoise(seed), 1, 0.95))[0]
        root = noisy_moments(draw, ["SD"], 0, 20, Drawing(1.0, SeededNoise(seed), 1, 0.95))[0]
        assert [own**2 for own in root] == pytest.approx(list(variance))
        inside += variance.lower <= draw.var() <= variance.upper
    assert inside >= 95
    assert noisy_moments(np.zeros(0), ["VARIANCE"], 0, 4, Drawing(1.0, SeededNoise(0), 1, 0.95))[0].upper <= 4


def test_candidates_of_a_quantile() -> None:
    assert quantile_candidates(-1.5, 3, whole=True).tolist() == [-1, 0, 1, 2, 3]
    assert len(quantile_candidates(0, 199_999, whole=True)) == 200_000
    for low, high, whole in ((0, 200_000, True), (0, 9, False)):
        np.testing.assert_allclose(quantile_candidates(low, high, whole=whole), np.arange(1001) * (high - low) / 1000)
    with pytest.raises(ConfigError, match="too near"):
        quantile_candidates(1e15, 1e15 + 1, whole=False)
    for bounds in ((1, 1), (2, 1), (0, math.inf), (math.nan, 1), (0, 1e-300), (-1e290, 1e290)):
        with pytest.raises(ConfigError, match="the smaller first"):
            quantile_candidates(*bounds, whole=False)


def test_the_most_frequent_cost_half_for_the_choice_and_half_for_the_counts() -> None:
    noise: Any = Exact()
    found = noisy_top(np.array([5, 900, 3, 700]), 2, Drawing(3.0, noise, 2, 0.95))
    assert [(cell, estimate.value) for cell, estimate in found] == [(1, 900), (3, 700)]
    first, second, counts = noise.asked
    assert (first[0].tolist(), first[1], first[2]) == ([5, 900, 3, 700], 1, near(0.75))
    assert (second[0].tolist(), second[1], second[2]) == ([5, 3, 700], 1, near(0.75))
    assert (counts[0].tolist(), counts[1], counts[2]) == ([900, 700], 2, near(1.5))
    for number in (0, 5):
        with pytest.raises(ConfigError, match="4 values to choose from"):
            noisy_top(np.array([5, 900, 3, 700]), number, Drawing(1.0, noise, 1, 0.95))


@pytest.mark.parametrize(("low", "high"), [(0, 10), (-20, 10), (-5, 3)])
@pytest.mark.parametrize("whole", [True, False])
def test_a_sum_moves_by_the_greater_bound(low: float, high: float, whole: bool) -> None:
    noise: Any = Exact()
    values = np.array([1.0, 8.0, 50.0, -70.0, np.nan])
    most = max(abs(low), abs(high))
    found = noisy_sum(values, low, high, Drawing(0.5, noise, 3, 0.95), whole=whole)
    ((units, sensitivity, epsilon),) = noise.asked
    grid = 1.0 if whole else most / 2**20
    assert (sensitivity * grid, epsilon) == (near(3 * most), 0.5)
    assert units[0] * grid == found.value == pytest.approx(min(1, high) + min(8, high) + high + low, abs=4 * grid)
    half = discrete_half_width(int(sensitivity), 0.5, 1, 0.95) * grid
    assert (found.lower, found.upper) == (near(found.value - half), near(found.value + half))


def test_a_mean_adds_up_distances_from_the_middle_with_half_and_counts_with_half() -> None:
    noise: Any = Exact()
    found = noisy_moments(np.array([2.0, 4.0, 100.0, np.nan]), ["MEAN"], 2, 10, Drawing(2.0, noise, 1, 0.9))[0]
    (sums, sensitivity, half), (count, one, rest) = noise.asked
    assert (sums[0] / 2**20 * 4, sensitivity / 2**20 * 4, half) == (near(-4 - 2 + 4), near(4), near(1.0))
    assert (count.tolist(), one, rest) == ([3], 1, near(1.0))
    assert found.value == near(6 - 2 / 3)
    assert (found.lower, found.upper) == (2, 10)  # three rows may be none
    many = noisy_moments(np.full(10_000, 7.0), ["MEAN"], 2, 10, Drawing(2.0, Exact(), 1, 0.9))[0]  # type: ignore[arg-type]
    each = discrete_half_width(1, 1.0, 1, 0.95)
    away = discrete_half_width(2**20, 1.0, 1, 0.95) * 4 / 2**20
    ends = [6 + (10_000 + total) / (10_000 + rows) for total in (-away, away) for rows in (-each, each)]
    assert (many.value, many.lower, many.upper) == (near(7), near(min(ends)), near(max(ends)))


@pytest.mark.parametrize("distance", [1, 2])
def test_pairs_of_a_forest_are_chosen_by_their_distance_from_independence_less_the_noise(distance: int) -> None:
    generator = np.random.default_rng(3)
    cells = generator.integers(0, 60, (2, 3, 4))
    one_ways = [cells.sum(axis=tuple(set(range(3)) - {axis})).astype(float) for axis in range(3)]
    noise: Any = Exact()
    chosen = choose_pairs(
        one_ways, lambda pair: cells.sum(axis=tuple(set(range(3)) - set(pair))), 2.0, 3.0, noise, distance
    )
    alpha = math.exp(-3.0 / 2 / distance)
    deviation = math.sqrt(alpha) / (1 - alpha)  # of discrete Laplace noise the variance is 2 alpha / (1 - alpha)**2
    scores = {}
    for a, b in itertools.combinations(range(3), 2):
        both = cells.sum(axis=({0, 1, 2} - {a, b}).pop())
        even = np.outer(one_ways[a], one_ways[b]) / cells.sum()
        scores[a, b] = np.abs(both - even).sum() - deviation * both.size
    first, second = noise.asked
    assert first[0] == near([0, *scores.values()])
    assert (first[1:], second[1:]) == ((distance, near(1.0)),) * 2
    best = max(scores, key=lambda pair: scores[pair])
    left = [pair for pair in scores if pair != best]
    assert second[0] == near([0, *(scores[pair] for pair in left)])
    assert chosen == sorted([best, max(left, key=lambda pair: scores[pair])])


def test_a_forest_spends_its_shares_and_says_what_each_table_cost() -> None:
    cells = np.diag([500, 500, 500])[:, :, None] * np.array([1, 0])
    noise: Any = Exact()
    found = measure_forest(lambda axes: cells.sum(axis=tuple(set(range(3)) - set(axes))), 3, 9.0, noise, distance=2)
    first, choice, second = (9.0 * share / sum(SHARES) for share in SHARES)
    assert [axes for axes, _, _ in found] == [(0,), (1,), (2,), (0, 1)]
    assert [epsilon for _, _, epsilon in found] == [near(first / 3)] * 3 + [near(second)]
    assert [own for _, _, own in noise.asked] == [near(first / 3)] * 3 + [near(choice / 2)] * 2 + [near(second)]
    assert {sensitivity for _, sensitivity, _ in noise.asked} == {2}


def test_a_node_of_a_tree_grows_from_deviations_of_the_noise_and_more_with_many_symbols() -> None:
    for symbols in (1, 2, 4):
        assert growing_from(2.0, symbols, 1, 1.0) == near(2 * math.sqrt(2))
    for symbols in (5, 12, 1000):  # as many children of an empty node pass as with four
        passing = symbols * math.exp(-growing_from(2.0, symbols, 1, 1.0)) / 2
        assert passing == near(4 * math.exp(-2 * math.sqrt(2)) / 2)
        assert growing_from(2.0, symbols, 1, 1.0, paper=True) == near(2 * math.sqrt(2))
        assert growing_from(2.0, symbols, 3, 0.5) == near(6 * growing_from(2.0, symbols, 1, 1.0))


def test_the_value_of_a_person_is_of_what_is_known_and_nothing_where_nothing_is() -> None:
    frame = pd.DataFrame({"person": list("aabbcd"), "dose": [1.0, 4.0, np.nan, 6.0, np.nan, 2.0]})
    dimensions = (declare("dose", {"edges": [0, 5, 10]}),)
    expected = {"first": 1 + 6 + 2, "last": 4 + 6 + 2, "min": 9, "max": 12, "sum": 13, "mean": 2.5 + 6 + 2}
    for how, total in expected.items():
        unit = PrivacyUnit("person", max_rows=2)
        session = QuerySession(
            frame, dimensions, None, noise=SeededNoise(1), unit=unit, person="person", report_share=0.01
        )
        persons = session.table.by_person(how)
        assert persons.sum("dose", 1000.0, 0, 10).value == pytest.approx(total, abs=0.2), how
        assert persons.where("dose IS NULL").count(1000.0).value == 1, how


def test_units_say_whom_they_protect() -> None:
    assert str(PrivacyUnit()) == "row (one row), add-remove"
    assert str(PrivacyUnit("patient", "replace", 3)) == "patient (up to 3 rows), replace"


@pytest.mark.parametrize(
    ("method", "most", "over"),
    [
        ("cells", (4000, 5000), (4000, 5001)),
        ("cells-clamped", (4000, 50), (4000, 5001)),
        ("topdown", (4000, 50), (4000, 5001)),
        ("privelet", (4096, 4096), (4096, 8192)),
        ("dpcube", (4000, 5000), (4000, 5001)),
        ("dpcube-paper", (4000, 50), (4000, 5001)),
        ("diffgen", (300, 300, 300), None),
        ("even", (300, 300, 300), None),
        ("forest", (1000, 1000, 990), (1000, 1000, 998)),  # the columns and the two largest pairs: 2,000,000
        ("forest", (300, 300, 300), (2000, 999)),
        ("privtree", (300, 300, 300), None),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_paid(
    method: str, most: tuple[int, ...], over: tuple[int, ...] | None
) -> None:
    def plan(shape: tuple[int, ...]) -> Any:
        dimensions = [declare(f"c{axis}", {"range": [1, size]}) for axis, size in enumerate(shape)]
        return plan_cube(dimensions, 1.0, PrivacyUnit(), method=method)

    assert plan(most).shape == most
    if over is not None:
        with pytest.raises(ConfigError, match="too many"):
            plan(over)


@pytest.mark.parametrize(("method", "most"), [("forest", 50), ("adaptive", 200), ("privtree", 32), ("even", 32)])
def test_a_cube_has_so_many_columns(method: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if most > 50:  # what is rehearsed is the same as of fewer columns, and takes seconds
        monkeypatch.setattr("deid.dp.cube._rehearse", lambda *_: None)
    dimensions = [declare(f"c{axis}", {"values": ["x"]}) for axis in range(most + 1)]
    assert len(plan_cube(dimensions[:most], 1000.0, PrivacyUnit(), method=method).shape) == most
    with pytest.raises(ConfigError, match=f"{most + 1} columns are too many"):
        plan_cube(dimensions, 1000.0, PrivacyUnit(), method=method)


def test_an_answer_of_too_many_numbers_is_refused() -> None:
    dimensions = tuple(declare(name, {"range": [1, size]}) for name, size in (("a", 1000), ("b", 1001), ("c", 8)))
    frame = pd.DataFrame({"a": [1], "b": [1], "c": [1]})
    session = QuerySession(frame, dimensions, None, noise=SeededNoise(1), unit=PrivacyUnit(), report_share=0)
    assert len(session.query("SELECT HISTOGRAM(c) FROM t GROUP BY a", 1.0).rows) == 8000
    for asked in ("HISTOGRAM(b)", "QUANTILE(b, 0.5, 1, 180000)", "TOP(51, b)"):  # 540 and 51 million candidates
        with pytest.raises(ConfigError, match="too many numbers"):
            session.query(f"SELECT {asked} FROM t GROUP BY a", 1.0)


def test_intervals_of_a_forest_hold_its_counts(small: Any) -> None:
    frame, dimensions = small
    plan = plan_cube(dimensions, 1.0, PrivacyUnit(), method="forest", report_share=0)
    table = release_cube(frame, plan, ledger=None, noise=SeededNoise(3)).slice(["age"])
    assert (table["lower"] <= table["count"]).all()
    assert (table["count"] <= table["upper"]).all()
    inside = table["lower"] > 0
    assert inside.any()
    middle = (table["lower"] + table["upper"]) / 2
    assert middle[inside].to_numpy() == pytest.approx(table["count"][inside].to_numpy())


def test_what_is_made_with_test_noise_says_so_in_every_table(small: Any) -> None:
    frame, dimensions = small
    cube = release_cube(frame, plan_cube(dimensions, 1.0, PrivacyUnit()), ledger=None, noise=SeededNoise(3))
    assert NOT_PRIVATE in cube.slice(["age"])
    table = frame.assign(first=frame["age"], second=frame["age"])
    plan = plan_sequences(dimensions[1], ["first", "second"], 1.0, PrivacyUnit())
    assert NOT_PRIVATE in release_sequences(table, plan, ledger=None, noise=SeededNoise(3)).prefixes(1)


def test_a_vouched_bound_is_part_of_the_question() -> None:
    """So that a request whose bound was enforced is never answered with one that was not."""
    age, unit = declare("age", {"range": [0, 9]}), PrivacyUnit("patient")
    for plan in (
        lambda **bound: plan_sequences(age, ["a"], 1.0, unit, **bound),
        lambda **bound: plan_cube([age], 1.0, unit, **bound),
    ):
        assert plan(assert_bound=True).question()["bound"] == "asserted"
        assert "bound" not in plan(person="who").question()


@pytest.mark.parametrize(("name", "sampling", "power"), [("MEAN", 0, 1), ("VARIANCE", 0, 2), ("SD", 1, 4)])
def test_bounds_are_taken_up_to_the_widest_whose_powers_have_a_grid(name: str, sampling: int, power: int) -> None:
    how = Drawing(1.0, SeededNoise(0), 1, 0.9, sampling)
    widest = 1e290 ** (1 / power) * (1.0 if power != 2 else 2.0)  # of squares of the distances from the middle
    with np.errstate(all="ignore"):
        noisy_moments(np.zeros(2), [name], 0.0, widest * 0.99, how)
    with pytest.raises(ConfigError, match="bounds are two numbers"):
        noisy_moments(np.zeros(2), [name], 0.0, widest * 1.01, how)


def test_of_one_column_there_is_no_pair() -> None:
    measured = measure_forest(lambda _: np.array([3, 4]), 1, 1.0, SeededNoise(0))
    assert [axes for axes, _, _ in measured] == [(0,)]
    assert measured[0][2] <= 1.0
    assert choose_pairs([np.array([3.0, 4.0])], lambda _: np.zeros((2, 2), int), 1.0, 1.0, SeededNoise(0), 1) == []


def test_which_rows_of_a_person_are_kept_is_the_ledgers_own(tmp_path: Path) -> None:
    keys = {row_key(Ledger.create(tmp_path / name, 1.0, PrivacyUnit())) for name in ("one.db", "two.db")}
    assert len(keys) == 2
    assert all(len(key) == 16 for key in keys)
    assert row_key(None) == b""


@pytest.mark.parametrize(
    ("name", "sampling", "taken", "refused"),
    [("MEAN", 0, 289, (-292, 292)), ("VARIANCE", 0, 144, (-147, 147)), ("SD", 0, 144, (-147, 147)),
     ("MEAN", 1, 72, (-147, 147)), ("VARIANCE", 1, 36, (-72.3, 72.6)), ("SD", 1, 36, (-72.3, 72.6))],
)  # fmt: skip
def test_bounds_whose_powers_have_no_grid_are_refused_where_these_are_asked_for(
    name: str, sampling: int, taken: int, refused: tuple[float, float]
) -> None:
    noise: Any = Exact()
    how, values = Drawing(1.0, noise, 1, 0.9, sampling), np.array([0.0, 1.0])
    for high in (10.0**taken, 10.0**-taken):
        own = noisy_moments(values * high, [name], 0.0, high, how)[0]
        assert 0 <= own.lower <= own.value <= own.upper <= max(high, high * high)
    asked = len(noise.asked)
    for high in (10.0**power for power in refused):
        with np.errstate(all="raise"), pytest.raises(ConfigError, match="bounds are two numbers"):
            noisy_moments(values * high, [name], 0.0, high, how)
    assert len(noise.asked) == asked


def test_a_variance_is_known_as_well_whichever_end_the_values_are_near() -> None:
    noise: Any = Exact()
    for value in (1.0, 9.0):
        found = noisy_moments(np.full(10_000, value), ["VARIANCE"], 0, 10, Drawing(1.0, noise, 1, 0.9))[0]
        assert found.value == pytest.approx(0, abs=1e-3)
        assert (found.lower, found.upper) == (0, pytest.approx(0.089, abs=0.001))


def test_squares_of_a_sum_need_a_grid_where_an_interval_covers_sampling() -> None:
    noise: Any = Exact()
    for high in (1e200, 1e-200):
        assert noisy_sum(np.array([high]), 0.0, high, Drawing(1.0, noise, 1, 0.9)).value == near(high)
        with np.errstate(all="raise"), pytest.raises(ConfigError, match="bounds are two numbers"):
            noisy_sum(np.array([high]), 0.0, high, Drawing(1.0, noise, 1, 0.9, 1))


def test_bounds_of_a_sum_are_two_numbers_of_which_a_grid_can_be_made() -> None:
    noise: Any = Exact()
    for low, high in ((0.0, 9.5e289), (0.0, 1.1e-290), (-1.0, 1.0)):
        noisy_sum(np.array([0.5]), low, high, Drawing(1.0, noise, 1, 0.9))
    for low, high in ((0.0, 1.1e290), (0.0, 0.9e-290), (1.0, 1.0), (2.0, 1.0), (0.0, math.inf), (math.nan, 1.0)):
        with pytest.raises(ConfigError, match="bounds are two numbers"):
            noisy_sum(np.array([0.5]), low, high, Drawing(1.0, noise, 1, 0.9))
