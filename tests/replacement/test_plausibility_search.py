"""The searches over levels: exact ones equal the exhaustive oracle, greedy is feasible and never better."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.replacement.plausibility_search import SEARCHES, Chain, Problem, SearchLimit, choose

EXACT = [("minimal", "best-first"), ("minimal", "branch-and-bound"), ("uniform", "branch-and-bound")]


def chain(*counts: int) -> Chain:
    return Chain(tuple(f"g{n}" for n in range(len(counts))), counts)


@st.composite
def chains(draw: st.DrawFn) -> list[Chain]:
    """Small products of chains; few distinct counts, so that ties are frequent."""
    steps = st.lists(st.sampled_from([1, 2, 2, 3, 4, 6, 50]), max_size=3)
    return [
        chain(*(math.prod(s[:n]) * start for n in range(len(s) + 1)))
        for s, start in draw(st.lists(st.tuples(steps, st.sampled_from([1, 1, 1, 3])), max_size=5))
    ]


def test_96_fixture() -> None:
    """The four factors 4 * 4 * 3 * 2: t = 96 takes one step each, t = 97 has to climb."""
    sentence = [chain(1, 4, 23), chain(1, 4, 31), chain(1, 3, 13), chain(1, 2, 11)]
    for search in ("exhaustive", "best-first", "branch-and-bound"):
        choice = choose(Problem(sentence, 96), search)
        assert choice is not None
        assert (choice.levels, choice.plausible) == ((1, 1, 1, 1), 96)
        higher = choose(Problem(sentence, 97), search)
        assert higher is not None
        assert higher.plausible >= 97
        assert max(higher.levels) > 1
    one_step = [Chain(c.labels[:2], c.counts[:2]) for c in sentence]
    assert choose(Problem(one_step, 96)) is not None
    assert choose(Problem(one_step, 97)) is None


@pytest.mark.parametrize(("objective", "search"), EXACT)
@given(chains=chains(), t=st.integers(1, 400), alpha=st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_exact_search_equals_the_oracle(objective: str, search: str, chains: list[Chain], t: int, alpha: float) -> None:
    problem = Problem(chains, t, objective, alpha)
    assert choose(problem, search) == choose(problem, "exhaustive")


def test_of_choices_that_are_as_plausible_the_one_that_changes_fewest_words_is_found() -> None:
    """2 * 30 and 3 * 4 * 5 are 60; the search comes upon the three words first."""
    problem = Problem([chain(1, 2), chain(1, 30), chain(1, 3), chain(1, 4), chain(1, 5)], 60)
    for search in ("exhaustive", "best-first", "branch-and-bound"):
        choice = choose(problem, search)
        assert choice is not None
        assert choice.levels == (1, 1, 0, 0, 0)


def test_evenness_without_weight_orders_nothing() -> None:
    """4 * 3 and 12 * 1 are as good; the one that changes fewer words comes first, however uneven it is."""
    problem = Problem([chain(1, 2, 4, 12), chain(1, 3), chain(1)], 7, "uniform", alpha=1.0)
    for search in ("exhaustive", "branch-and-bound"):
        choice = choose(problem, search)
        assert choice is not None
        assert choice.levels == (3, 0, 0)


@pytest.mark.parametrize("objective", ["minimal", "uniform"])
@given(chains=chains(), t=st.integers(1, 400))
def test_greedy_is_feasible_and_never_better(objective: str, chains: list[Chain], t: int) -> None:
    problem = Problem(chains, t, objective)
    oracle, quick = choose(problem, "exhaustive"), choose(problem, "greedy")
    if oracle is None or quick is None:
        assert oracle is quick
        return
    assert quick.plausible >= t
    assert problem.key(quick.levels) >= problem.key(oracle.levels)
    assert oracle.optimal
    assert not quick.optimal


@given(chains=chains(), t=st.integers(1, 400), alpha=st.sampled_from([0.0, 0.3, 1.0]))
def test_cost_is_the_stated_formula(chains: list[Chain], t: int, alpha: float) -> None:
    """Recomputed in floating point from the definition, for every feasible choice's winner."""
    choice = choose(Problem(chains, t, "uniform", alpha), "exhaustive")
    if choice is None or not chains:
        return
    entropies = [math.log2(c.counts[level]) for c, level in zip(chains, choice.levels, strict=True)]
    target, n = math.log2(t), len(chains)
    expected = alpha * abs(sum(entropies) - target) + (1 - alpha) / n * sum(abs(h - target / n) for h in entropies)
    assert choice.cost == pytest.approx(expected, abs=1e-5)
    assert choice.plausible == math.prod(c.counts[level] for c, level in zip(chains, choice.levels, strict=True))


def test_uniform_spreads_what_minimal_puts_on_one_word() -> None:
    words = [chain(1, 16, 64), chain(1, 5, 64), chain(1, 5, 64)]
    minimal, uniform = choose(Problem(words, 16)), choose(Problem(words, 16, "uniform", 0.2))
    assert minimal is not None
    assert uniform is not None
    assert minimal.levels == (1, 0, 0)
    assert uniform.levels == (0, 1, 1)


def test_ties_go_to_fewer_changed_words_then_to_smaller_levels() -> None:
    assert choose(Problem([chain(1, 2), chain(1, 2), chain(1, 4)], 4)).levels == (0, 0, 1)  # type: ignore[union-attr]
    assert choose(Problem([chain(1, 4), chain(1, 4)], 4)).levels == (0, 1)  # type: ignore[union-attr]


def test_too_many_states_are_refused_unless_the_search_is_auto() -> None:
    words = [chain(1, 2 + n, 50 + 7 * n, 900 + 11 * n) for n in range(30)]
    problem = Problem(words, 10**12)
    for search in ("exhaustive", "best-first", "branch-and-bound"):
        with pytest.raises(ConfigError, match="states"):
            choose(problem, search, limit=50)
        with pytest.raises(SearchLimit):
            SEARCHES[search](problem, 50)
    choice, quick = choose(problem, limit=50), choose(problem, "greedy")
    assert choice is not None
    assert quick is not None
    assert not choice.optimal
    assert 10**12 <= choice.plausible <= quick.plausible


@pytest.mark.parametrize(
    "arguments",
    [{"t": 0}, {"t": 5, "objective": "best"}, {"t": 5, "objective": "uniform", "alpha": 1.5}],
)
def test_wrong_parameters_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Problem([chain(1, 2)], **arguments)  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        choose(Problem([chain(1, 2)], 2), "annealing")
    with pytest.raises(ConfigError):
        choose(Problem([chain(1, 2)], 2, "uniform"), "best-first")
    with pytest.raises(ConfigError):
        chain(3, 2)
