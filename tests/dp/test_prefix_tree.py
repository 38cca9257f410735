"""Prefix trees, chains and their estimates."""

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
from scipy.stats import beta

from deid.base.errors import ConfigError
from deid.dp.costs import together
from deid.dp.domain import declare
from deid.dp.epsilon import split_epsilon
from deid.dp.markov_chain import MarkovChain, measure_chain
from deid.dp.noise import SeededNoise
from deid.dp.patterns import ever
from deid.dp.prefix_tree import PrefixTree, grow
from deid.dp.sequence_models import ChainModel, TreeModel
from deid.dp.sequences import plan_sequences, release_sequences
from deid.dp.tree_estimate import consistent, nonnegative_tree
from deid.dp.unit import PrivacyUnit

SEQUENCES = st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=20)


def codes_of(sequences: list[tuple[int, ...]], height: int = 3) -> npt.NDArray[np.int64]:
    return np.array(sequences, np.int64).reshape(-1, height)


class NoNoise:
    """Noise of a huge epsilon: what comes out is the truth."""

    private = False
    label = "none"

    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
        return np.asarray(values)

    def laplace(self, values: npt.ArrayLike, scale: float) -> Any:
        return np.asarray(values, float)

    def choose(self, scores: npt.ArrayLike, sensitivity: float, epsilon: float) -> int:
        return int(np.argmax(scores))


class Recording(SeededNoise):
    """Test noise that keeps what enters it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.entered: list[tuple[npt.NDArray[np.float64], float]] = []

    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
        self.entered.append((np.array(values, float), sensitivity / epsilon))
        return super().discrete_laplace(values, sensitivity, epsilon)

    def laplace(self, values: npt.ArrayLike, scale: float) -> Any:
        self.entered.append((np.array(values, float), scale))
        return super().laplace(values, scale)


@pytest.mark.parametrize("mode", ["improved", "paper"])
def test_a_threshold_of_nothing_grows_the_whole_tree(mode: str) -> None:
    tree = grow(codes_of([(0, 0, 0)] * 5), 3, [20.0] * 4, NoNoise(), threshold=0.0, mode=mode)
    assert [len(level.noisy) for level in tree.levels] == [1, 3, 9, 27]


@settings(max_examples=30)
@given(SEQUENCES, st.sampled_from(["improved", "paper"]))
def test_without_noise_all_prefix_counts_are_exact_to_the_height(sequences: list[tuple[int, ...]], mode: str) -> None:
    tree = grow(codes_of(sequences), 3, [20.0] * 4, NoNoise(), threshold=1e-9, mode=mode)
    model = TreeModel(tree, printed=mode == "paper")
    for length in (1, 2, 3):
        for prefix in np.ndindex(*[3] * length):
            true = sum(own[:length] == prefix for own in sequences)
            assert model.prefix(prefix, 0.95).count == pytest.approx(true)
        assert model.distribution(length).sum() == pytest.approx(len(sequences))


@settings(max_examples=50)
@given(SEQUENCES, st.tuples(*[st.integers(0, 2)] * 3), st.integers(0, 99), st.sampled_from(["improved", "paper"]))
def test_one_sequence_costs_at_most_epsilon_on_its_path(
    sequences: list[tuple[int, ...]], other: tuple[int, ...], seed: int, mode: str
) -> None:
    """With one noise stream the losses of a neighbour, level by level, add up to at most epsilon."""
    epsilons = split_epsilon(1.0, [1.0] * 4)
    first, second = Recording(seed), Recording(seed)
    grow(codes_of(sequences), 3, epsilons, first, threshold=0.3, mode=mode)
    grow(codes_of([*sequences, other]), 3, epsilons, second, threshold=0.3, mode=mode)
    loss = 0.0
    for (one, scale), (two, _) in zip(first.entered, second.entered, strict=False):
        if one.shape != two.shape:
            break  # an earlier answer differed: its neighbour was let go on another path
        loss += np.abs(one - two).sum() / scale
        assert np.abs(one - two).sum() <= 1
        if (one != two).any() and mode == "improved" and scale < 1 / epsilons[1] - 1e-6:
            break  # the leaf was counted again: nothing of this sequence is counted below
    assert loss <= 1.0 + 1e-6


def test_each_sequence_is_counted_at_each_depth_once_and_nothing_below_the_height() -> None:
    codes = codes_of([(0, 0, 0)] * 50 + [(1, 2, 0)] * 2)
    noise = Recording(3)
    tree = grow(codes, 3, split_epsilon(20.0, [1.0] * 4), noise)
    assert len(tree.levels) == 4
    assert not tree.levels[3].expanded.any()
    assert np.isnan(tree.levels[3].again).all()
    # one draw for each depth, one more for the leaves above the last depth; the few of (1, ...) go no deeper
    drawn = [len(values) for values, _ in noise.entered]
    leaves = [int((~level.expanded).sum()) for level in tree.levels[1:3]]
    assert drawn == [1, 3, leaves[0], len(tree.levels[2]), leaves[1], len(tree.levels[3])]


def test_no_true_count_is_reachable() -> None:
    """With noise that does not look, two different tables give the same release."""

    class Blind(NoNoise):
        def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
            return ((np.arange(np.size(values)) * 7) % 60).reshape(np.shape(values))

        def laplace(self, values: npt.ArrayLike, scale: float) -> Any:
            return (np.arange(np.size(values)) * 7.0) % 60

    level = declare("level", {"range": [0, 3]})
    frames = [
        pd.DataFrame(np.random.default_rng(seed).integers(0, 4, (100 * seed, 4)), columns=list("abcd"))
        for seed in (1, 2)
    ]
    for method in ("tree", "markov", "tree-paper"):
        plan = plan_sequences(level, list("abcd"), 1.0, PrivacyUnit(), method=method)
        one, two = (release_sequences(frame, plan, ledger=None, noise=Blind()) for frame in frames)
        assert one.to_frame().equals(two.to_frame())
        assert one.metadata == two.metadata


def test_paper_mode_spends_epsilon_and_not_eight_sevenths() -> None:
    plan = plan_sequences(
        declare("level", {"range": [0, 3]}), list("abcdefg"), 1.0, PrivacyUnit(), method="tree-paper", report_share=0
    )
    assert len(plan.depth_costs) == 8
    assert sum(plan.depth_costs) <= 1.0
    assert plan.depth_costs[0] == pytest.approx(1 / 8, abs=1e-8)


def test_paper_mode_is_floor_of_laplace_and_threshold_two_sd() -> None:
    tree = grow(codes_of([(0, 0, 0)] * 1000), 3, [0.5] * 4, SeededNoise(1), mode="paper")
    for level in tree.levels[1:3]:
        assert (level.noisy == np.floor(level.noisy)).all()
        assert (level.expanded == (level.noisy >= 2 * math.sqrt(2) / 0.5)).all()
    assert np.isnan(np.concatenate([level.again for level in tree.levels])).all()


def test_budget_below_a_leaf_counts_it_again() -> None:
    epsilons = split_epsilon(1.0, [0.1, 1, 1, 1])
    assert together(epsilons[2:]) == pytest.approx(2 / 3.1, abs=1e-6)
    assert together(epsilons[4:]) == 0
    for depth in range(4):
        assert sum(epsilons[: depth + 1]) + together(epsilons[depth + 1 :]) <= 1.0


def random_tree(seed: int) -> PrefixTree:
    rows = np.random.default_rng(seed).integers(0, 3, (200, 3)) ** 2 % 3
    return grow(rows.astype(np.int64), 3, split_epsilon(2.0, [0.2, 1, 1, 1]), SeededNoise(seed), threshold=3.0)


@pytest.mark.parametrize("seed", range(4))
def test_consistency_is_least_squares(seed: int) -> None:
    """Against the normal equations: parameters are the leaves, observations all nodes."""
    tree = random_tree(seed)
    values, variances = tree.measurements()
    sizes = [len(level) for level in tree.levels]
    starts = np.cumsum([0, *sizes])
    parent = {
        starts[d] + i: starts[d - 1] + p for d in range(1, len(sizes)) for i, p in enumerate(tree.levels[d].parents)
    }
    leaves = [n for n in range(starts[-1]) if n not in set(parent.values())]
    design = np.zeros((starts[-1], len(leaves)))
    for column, leaf in enumerate(leaves):
        node: int | None = leaf
        while node is not None:
            design[node, column] = 1
            node = parent.get(node)
    weights = 1 / np.concatenate(variances)
    covariance = np.linalg.inv(design.T @ (weights[:, None] * design))
    expected = design @ covariance @ design.T @ (weights * np.concatenate(values))
    found = consistent(tree)
    assert np.concatenate(found.values) == pytest.approx(expected)
    assert np.concatenate(found.variances) == pytest.approx(np.diag(design @ covariance @ design.T))
    asked = np.random.default_rng(seed).normal(size=len(leaves)) * (np.arange(len(leaves)) % 2)
    spread = np.zeros(starts[-1])
    spread[leaves] = asked
    by_depth = np.split(spread, starts[1:-1])
    assert found.sum_variance(by_depth) == pytest.approx(asked @ covariance @ asked)


@pytest.mark.parametrize("seed", range(4))
def test_nonnegative_counts_agree(seed: int) -> None:
    tree = random_tree(seed)
    counts = nonnegative_tree(tree, consistent(tree).values)
    for depth, level in enumerate(tree.levels):
        assert (counts[depth] >= 0).all()
        if depth:
            sums = np.bincount(level.parents, counts[depth], len(tree.levels[depth - 1]))
            grown = tree.levels[depth - 1].expanded
            assert sums[grown] == pytest.approx(counts[depth - 1][grown])


def test_intervals_of_sums_lie_around_the_unbiased_sum() -> None:
    """Without noise that is the true sum, at every length."""
    rows = np.random.default_rng(2).choice(3, (400, 3)).astype(np.int64)
    model = TreeModel(grow(rows, 3, [20.0] * 4, NoNoise(), threshold=1e-9))
    for length in (1, 2, 3):
        weights = np.random.default_rng(length).integers(0, 3, (3,) * length).astype(float)
        found = model.total(weights, 0.95)
        true = sum(weights[tuple(row[:length])] for row in rows)
        assert (found.lower + found.upper) / 2 == pytest.approx(true) == found.count


def test_intervals_cover_their_level() -> None:
    """95 % intervals of nodes and slope sums, over 60 trees; a false alarm has probability below 1e-6."""
    rows = np.random.default_rng(0).choice(3, (3000, 3), p=[0.6, 0.3, 0.1]).astype(np.int64)
    true = np.array([(rows[:, 0] == symbol).sum() for symbol in range(3)])
    weights = np.random.default_rng(1).integers(0, 2, (3, 3)).astype(float)
    both = sum(weights[a, b] for a, b in rows[:, :2])
    inside = total = 0
    for seed in range(60):
        model = TreeModel(grow(rows, 3, split_epsilon(0.5, [0.1, 1, 1, 1]), SeededNoise(seed)))
        for symbol in range(3):
            found = model.prefix([symbol], 0.95)
            inside += found.lower <= true[symbol] <= found.upper
        summed = model.total(weights, 0.95)
        inside += summed.lower <= both <= summed.upper
        total += 4
    assert beta.cdf(0.95, inside + 1, total - inside) < 1 - 1e-6 or inside / total >= 0.95
    assert inside / total >= 0.9


def test_below_a_leaf_the_answer_is_zero_and_at_most_the_leaf() -> None:
    rows = codes_of([(0, 0, 0)] * 500 + [(2, 1, 0)])
    model = TreeModel(grow(rows, 3, split_epsilon(1.0, [0.1, 1, 1, 1]), SeededNoise(0), threshold=5))
    below, leaf = model.prefix([2, 1, 0], 0.95), model.prefix([2], 0.95)
    assert (below.count, below.lower, below.below_noise_floor) == (0, 0, True)
    assert below.upper == leaf.upper >= 1
    assert not model.prefix([0, 0, 0], 0.95).below_noise_floor
    every = model.prefixes(3, 0.95)
    for place, prefix in enumerate(np.ndindex(3, 3, 3)):
        one = model.prefix(prefix, 0.95)
        assert (one.count, one.lower, one.upper) == pytest.approx(
            (every.count[place], every.lower[place], every.upper[place])
        )


def test_below_a_leaf_counts_can_be_predicted_from_its_ancestors() -> None:
    rows = codes_of([(0, 0, 0)] * 500 + [(0, 1, 2)] * 300 + [(1, 0, 0)] * 30)
    model = TreeModel(grow(rows, 3, split_epsilon(1.0, [0.1, 1, 1, 1]), SeededNoise(0), threshold=15))
    every = model.prefixes(3, 0.95, predict=True)
    below = 0
    for place, prefix in enumerate(np.ndindex(3, 3, 3)):
        depth, node = model.tree.find(prefix)
        one = model.prefix(prefix, 0.95, predict=True)
        assert one.count == pytest.approx(every.count[place])
        if depth < 3:
            below += 1
            leaf = model.node(depth, node, 0.95).count
            last = prefix[depth - 1 :]
            expected = leaf * np.prod([model.transitions[a, b] for a, b in itertools.pairwise(last)])
            assert one.count == pytest.approx(expected)
            assert model.prefix(prefix, 0.95).count == 0
    assert below
    assert every.count.sum() == pytest.approx(model.counts[1].sum())


def test_a_total_is_the_sum_of_the_distribution() -> None:
    model = TreeModel(random_tree(5))
    weights = np.random.default_rng(2).normal(size=(3, 3, 3))
    assert model.total(weights, 0.9).count == pytest.approx(float((model.distribution(3) * weights).sum()))
    assert model.distribution(3).sum(axis=2) == pytest.approx(model.distribution(2))


def test_an_end_has_no_children_and_is_not_a_level() -> None:
    rows = codes_of([(0, 0, 2)] * 300 + [(1, 2, 2)] * 200)  # symbol 2 is the end
    model = TreeModel(grow(rows, 3, split_epsilon(50.0, [1.0] * 4), SeededNoise(1), ends=True))
    assert model.distribution(2).shape == (2, 2)
    assert model.distribution(2)[0, 0] == pytest.approx(300, abs=2)
    assert model.distribution(2).sum() == pytest.approx(300, abs=2)
    assert model.distribution(3).sum() == pytest.approx(0, abs=2)
    assert model.prefix([1, 2], 0.95).count == pytest.approx(200, abs=2)
    for level in model.tree.levels[1:]:
        assert not level.expanded[(level.symbols == 2) | (level.noisy < 100)].any()


def test_a_markov_chain_is_recovered() -> None:
    generator = np.random.default_rng(4)
    step = np.array([[0.8, 0.2, 0.0], [0.1, 0.8, 0.1], [0.0, 0.5, 0.5]])
    rows = [generator.choice(3, 5000, p=[0.5, 0.3, 0.2])]
    for _ in range(3):
        rows.append((generator.random(5000)[:, None] > step[rows[-1]].cumsum(1)).sum(1).clip(0, 2))
    codes = np.stack(rows, axis=1).astype(np.int64)
    chain = measure_chain(codes, 3, 5.0, SeededNoise(0))
    model = ChainModel(chain, ends=False)
    true = np.bincount(np.ravel_multi_index(tuple(codes.T), (3,) * 4), minlength=81).reshape((3,) * 4)
    assert np.abs(model.distribution(4) - true).mean() < 8
    assert model.distribution(4).sum() == pytest.approx(5000, abs=20)
    assert model.prefix([0, 1], 0.95).count == pytest.approx(float(model.distribution(2)[0, 1]))
    assert sum(chain.costs) <= 5.0


@pytest.mark.parametrize("ends", [False, True])
def test_what_nobody_had_is_continued_by_nobody(ends: bool) -> None:
    """Of a chain whose second table has an empty row, against sums over all sequences one by one."""
    tables = (np.array([[4.0, 0, 2], [3, 0, 0], [0, 0, 5]]), np.array([[2.0, 4, 1], [0, 0, 0], [0, 1, 6]]))
    chain = MarkovChain(3, (1.0, 1.0), 1, tables)
    chain.__dict__.update(tables=tables, replicates=(tables,))
    model = ChainModel(chain, ends)
    chances = [np.divide(own, own.sum(1, keepdims=True), where=own.sum(1, keepdims=True) > 0, out=own * 0)
               for own in tables]  # fmt: skip
    every = np.einsum("ij,jk->ijk", tables[0].sum(1)[:, None] * chances[0], chances[1])
    levels = 2 if ends else 3
    assert model.distribution(3) == pytest.approx(every[:levels, :levels, :levels])
    for first, second, third in itertools.product(range(3), repeat=3):
        assert model.prefix([first, second, third], 0.9).count == pytest.approx(every[first, second, third])
    assert model.prefix([], 0.9).count == 14
    without = every[[0, 2]][:, [0, 2]]  # who never has 1
    had = [every[1].sum(), every.sum() - without.sum(), every.sum() - without[..., [0, 2]].sum()]
    assert [model.matching(ever([1], 3), length, 0.9).count for length in (1, 2, 3)] == pytest.approx(had)
    weights = np.arange(levels**3, dtype=float).reshape((levels,) * 3)
    found = model.total(weights, 0.9)
    assert (found.count, found.lower) == (pytest.approx((weights * every[:levels, :levels, :levels]).sum()),) * 2
    assert model.prefixes(2, 0.9).count == pytest.approx(tables[0][:levels, :levels].ravel())


def test_a_chain_of_one_period_is_a_histogram() -> None:
    chain = measure_chain(np.array([[0], [0], [1]], np.int64), 2, 100.0, SeededNoise(0))
    assert isinstance(chain, MarkovChain)
    assert ChainModel(chain, False).distribution(1) == pytest.approx([2, 1])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"columns": ["a", "a"]}, "named twice"),
        ({"method": "guess"}, "unknown method"),
        ({"weights": {4: 1.0}}, "length lies between"),
        ({"weights": {1: -1.0}}, "length lies between"),
        ({"threshold": -1}, "threshold"),
        ({"level": 1}, "level of an interval"),
        ({"unit": PrivacyUnit("doctor", "add-remove", 3)}, "no column says whose"),
        ({"epsilon": 0}, "epsilon must be positive"),
    ],
)
def test_bad_plans_are_refused(options: dict[str, Any], match: str) -> None:
    asked = {"columns": ["a", "b"], "epsilon": 1.0, "unit": PrivacyUnit()} | options
    with pytest.raises(ConfigError, match=match):
        plan_sequences(declare("level", {"range": [0, 3]}), **asked)


def test_weights_follow_the_asked_lengths() -> None:
    level = declare("level", {"range": [0, 3]})
    plan = plan_sequences(level, list("abcd"), 1.0, PrivacyUnit(), weights={2: 8.0, 3: 1.0})
    root, one, two, three, four = plan.depth_costs
    assert (root / two, one / two, four / two) == pytest.approx((0.1, 0.1, 0.1), rel=1e-6)
    assert three / two == pytest.approx(0.5, rel=1e-6)


def test_empirical_odds_of_neighbours_stay_within_epsilon() -> None:
    """Odds of each outcome on neighbours, from 4,000 runs each: Clopper-Pearson bounds of 1e-7 keep within e^epsilon.

    With some 30 outcomes a false alarm has probability below 1e-5.
    """
    sets = codes_of([(0, 1, 0), (0, 1, 1), (2, 0, 0)]), codes_of([(0, 1, 0), (0, 1, 1), (2, 0, 0), (0, 1, 1)])
    runs, epsilon = 4000, 0.9
    seen: list[dict[Any, int]] = [{}, {}]
    shares = split_epsilon(epsilon, [0.5, 1, 1, 1])
    for which, codes in enumerate(sets):
        noise = SeededNoise(11 + which)
        for _ in range(runs):
            tree = grow(codes, 3, shares, noise, threshold=0.5)
            # of the whole output, what says most: how far the path of the sequence goes, and its leaf's count
            depth, place = tree.find([0, 1, 1])
            level = tree.levels[depth]
            counted = level.noisy[place] if np.isnan(level.again[place]) else level.again[place]
            key = depth, int(np.clip(counted, -2, 5))
            seen[which][key] = seen[which].get(key, 0) + 1
    for key in set(seen[0]) | set(seen[1]):
        hits = [own.get(key, 0) for own in seen]
        for one, two in (hits, hits[::-1]):
            low = beta.ppf(1e-7, one, runs - one + 1) if one else 0.0
            high = beta.ppf(1 - 1e-7, two + 1, runs - two)
            assert low <= math.exp(epsilon) * high


def test_the_tree_beats_the_printed_one(shared_data: Path) -> None:
    """At epsilon 1 on the resampled file: at most .72 of the corrected printed tree, and so for chains on the other."""
    from deid.experiments.outcome import RunOptions
    from deid.experiments.sequences import compare_sequences

    level = declare("level", {"range": [0, 3]})
    for name, method, bar in (("resampled", "tree", 0.72), ("independent", "markov", 0.70)):
        path = shared_data / "dp" / f"sequences_{name}.csv"
        if not path.is_file():
            pytest.skip("the sequences are not beside this checkout")
        codes = pd.read_csv(path)[[f"q{number}" for number in range(1, 8)]].to_numpy(np.int64)
        found = compare_sequences(codes, level, RunOptions((1.0,)), methods=(method, "tree-paper"))
        errors = found.pivot(index="method", columns="length", values="error")
        assert np.exp(np.log(errors.loc[method] / errors.loc["tree-paper"]).mean()) <= bar
        assert (errors.loc[method] < errors.loc["even"]).all()
