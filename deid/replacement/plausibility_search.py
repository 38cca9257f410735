"""Choose how far each sensitive word is generalized so that at least t texts are plausible.

Every word has a chain: itself, then ever more general terms, each with the number of base words that it
stands for. A choice takes one level of each chain; the text that results could have come from the product of
the chosen counts. Among the choices whose product is at least t two objectives pick one:

``minimal``
    the smallest product, so that no more is lost than t asks for;
``uniform``
    every word carries about the same share of the uncertainty. With entropies H_i = log2 count_i of n words
    and the target T = log2 t: ``alpha |sum H_i - T| + (1 - alpha)/n sum |H_i - T/n|``. The original paper's
    formula could not be read; this is a reconstruction from its description.

Ties go to fewer changed words, then to the lexicographically smaller tuple of levels. Products are exact
integers, and entropies are integers in units of 2**-40 bit, so that all searches agree to the last tie on
every machine.

The problem is NP-hard. `exhaustive` is the oracle; `best_first` (minimal only) and `branch_and_bound` are
exact too; `greedy` is fast and never better. Exact searches stop with `SearchLimit` instead of running for
hours.

Sources: Jiang, Murugesan, Clifton and Si, "t-Plausibility: semantic preserving text sanitization", CSE 2009;
Anandan et al., Transactions on Data Privacy 5, 2012.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from deid.base.errors import ConfigError, require

OBJECTIVES = ("minimal", "uniform")
_UNIT = 1 << 40  # entropies are integers in units of 2**-40 bit
_ALPHA_UNIT = 1 << 20
_Key = tuple[int, int, tuple[int, ...]]  # cost, changed words, levels: what the best choice minimizes


class SearchLimit(ConfigError):
    """An exact search would need more states than allowed; holds the best choice that it saw, none if empty."""

    def __init__(self, best: tuple[int, ...] = ()) -> None:
        super().__init__("the exact search needs more states than allowed", "allow more, or take the search greedy")
        self.best = best


@dataclass(frozen=True, slots=True)
class Chain:
    """What one word may be replaced by, most specific first."""

    labels: tuple[str, ...] = field(repr=False)
    """The terms; the first stands for "unchanged" where the word may stay."""
    counts: tuple[int, ...]
    """Base words that each term stands for; never falls along the chain."""

    def __post_init__(self) -> None:
        falls = any(a > b for a, b in itertools.pairwise(self.counts))
        if not self.counts or len(self.labels) != len(self.counts) or self.counts[0] < 1 or falls:
            raise ConfigError(
                "a chain of terms whose counts fall, or are missing",
                "a more general term must stand for at least as many words",
            )


@dataclass(frozen=True, slots=True)
class Choice:
    """A level for every word."""

    levels: tuple[int, ...]
    plausible: int
    """Product of the chosen counts: the number of plausible texts."""
    cost: float
    """Value of the objective in bits: log2 of the product (minimal), or the cost of `uniform`."""
    optimal: bool
    """Whether no choice is better."""


class Problem:
    """Chains, threshold and objective, with the sums and products that the bounds need.

    Parameters
    ----------
    chains : sequence of Chain
        One for each distinct sensitive word.
    t : int
        At least so many texts must be plausible.
    objective : str
        ``minimal`` or ``uniform``.
    alpha : float
        Weight in 0..1 of the whole text's excess against the words' evenness; for ``uniform``.
    """

    def __init__(self, chains: Sequence[Chain], t: int, objective: str = "minimal", alpha: float = 0.5) -> None:
        require(t >= 1, "t is smaller than 1", "give the number of texts that must be plausible, such as 96")
        require(objective in OBJECTIVES, f"unknown objective {objective!r}", "known: " + ", ".join(OBJECTIVES))
        require(0 <= alpha <= 1, "alpha is outside 0..1", "1 looks at the whole text only, 0 at the words only")
        self.counts = [chain.counts for chain in chains]
        self.n = len(self.counts)
        self.t = t
        self.minimal = objective == "minimal"
        self.target = round(math.log2(t) * _UNIT)
        self.entropies = [[round(math.log2(c) * _UNIT) for c in counts] for counts in self.counts]
        self.alpha = round(alpha * _ALPHA_UNIT)
        # what the words from i on can add at least and at most
        self.lowest = _suffixes([counts[0] for counts in self.counts], 1, int.__mul__)
        self.highest = _suffixes([counts[-1] for counts in self.counts], 1, int.__mul__)
        self.lowest_entropy = _suffixes([h[0] for h in self.entropies], 0, int.__add__)
        least = [min(map(self.unevenness, h)) for h in self.entropies]
        self.least_uneven = _suffixes(least, 0, int.__add__)

    @property
    def feasible(self) -> bool:
        """Whether any choice reaches t."""
        return self.highest[0] >= self.t

    def unevenness(self, entropy: int) -> int:
        """Return n times the distance of a word's entropy from its even share."""
        return abs(self.n * entropy - self.target)

    def uniform_cost(self, entropy: int, uneven: int) -> int:
        """Return the cost of `uniform` as an integer, in units of 2**-60 / n**2 bit."""
        excess = max(0, entropy - self.target)
        return self.alpha * self.n * self.n * excess + (_ALPHA_UNIT - self.alpha) * uneven

    def plausible(self, levels: Sequence[int]) -> int:
        """Return the number of plausible texts of a choice."""
        return math.prod(counts[level] for counts, level in zip(self.counts, levels, strict=True))

    def key(self, levels: tuple[int, ...]) -> _Key:
        """Return what orders the feasible choices."""
        changed = sum(1 for level in levels if level)
        if self.minimal:
            return self.plausible(levels), changed, levels
        chosen = [h[level] for h, level in zip(self.entropies, levels, strict=True)]
        return self.uniform_cost(sum(chosen), sum(map(self.unevenness, chosen))), changed, levels

    def choice(self, levels: tuple[int, ...], *, optimal: bool) -> Choice:
        """Return the result for ``levels``."""
        plausible = self.plausible(levels)
        if self.minimal:
            cost = math.log2(plausible)
        else:
            cost = self.key(levels)[0] / (_UNIT * _ALPHA_UNIT * max(1, self.n * self.n))
        return Choice(levels, plausible, cost, optimal)


def _suffixes(values: Sequence[int], neutral: int, join: Callable[[int, int], int]) -> list[int]:
    """Return the running total of ``values`` from each position to the end; one longer than ``values``."""
    return list(itertools.accumulate(reversed(values), join, initial=neutral))[::-1]


def exhaustive(problem: Problem, limit: int) -> tuple[int, ...]:
    """Return the best choice of levels, found by trying every one: the oracle of the tests.

    Raises
    ------
    SearchLimit
        When there are more choices (the product of the chains' lengths) than ``limit``.
    """
    if math.prod(len(counts) for counts in problem.counts) > limit:
        raise SearchLimit
    everything = itertools.product(*(range(len(counts)) for counts in problem.counts))
    return min((levels for levels in everything if problem.plausible(levels) >= problem.t), key=problem.key)


def best_first(problem: Problem, limit: int) -> tuple[int, ...]:
    """Return the best choice of levels: visited by ascending product, the first that reaches t. For ``minimal`` only.

    Each choice is reached in one way only: words are raised from the last to the first. Of states with one
    product those are dropped that have fewer words left to raise and are no better otherwise, so that the
    number of states is bounded by the distinct products below the optimum, not by the choices.

    Raises
    ------
    ConfigError
        When the objective is not ``minimal``.
    SearchLimit
        When more states are needed than ``limit``.
    """
    if not problem.minimal:
        raise ConfigError("best-first search needs the objective minimal", "use branch-and-bound for uniform")
    counts, t = problem.counts, problem.t
    ceiling = problem.plausible(greedy(problem, limit))
    # tops[i]: by how much the words before i can multiply a product in which they are unchanged
    bottoms = list(itertools.accumulate((c[0] for c in counts), int.__mul__, initial=1))
    tops = list(itertools.accumulate((c[-1] for c in counts), int.__mul__, initial=1))
    start = (0,) * problem.n
    heap: list[tuple[int, int, tuple[int, ...], int]] = [(problem.lowest[0], 0, start, problem.n)]
    reached: dict[int, list[tuple[int, int, tuple[int, ...]]]] = {}
    states = 0
    while heap:
        product, changed, levels, free = heapq.heappop(heap)
        if product >= t:
            return levels
        for word in range(free):
            rest = product // counts[word][0]
            for level in range(1, len(counts[word])):
                new = rest * counts[word][level]
                if new > ceiling:
                    break
                if new // bottoms[word] * tops[word] < t:
                    continue  # even with all words before it at the top
                state = (*levels[:word], level, *levels[word + 1 :])
                others = reached.setdefault(new, [])
                if any(c <= changed + 1 and f >= word and (c <= changed or s <= state) for c, f, s in others):
                    continue
                others.append((changed + 1, word, state))
                heapq.heappush(heap, (new, changed + 1, state, word))
                states += 1
        if states > limit:
            raise SearchLimit
    raise AssertionError("a feasible problem has a first feasible choice")


def branch_and_bound(problem: Problem, limit: int) -> tuple[int, ...]:
    """Return the best choice of levels: word by word, depth first, without branches that cannot reach t or be best.

    Of two branches that agree in everything that later words can see, only the better one is followed.

    Raises
    ------
    SearchLimit
        When more states are needed than ``limit``; holds the best choice so far.
    """
    n, t, minimal = problem.n, problem.t, problem.minimal
    best = greedy(problem, limit)
    best_key = problem.key(best)
    seen: dict[tuple[int, int, int], tuple[int, int, tuple[int, ...]]] = {}
    stack: list[tuple[int, int, int, int, tuple[int, ...]]] = [(1, 0, 0, 0, ())]
    visited = 0
    while stack:
        product, entropy, uneven, changed, levels = stack.pop()
        word = len(levels)
        if product * problem.highest[word] < t:
            continue
        if minimal:
            bound = max(t, product * problem.lowest[word])
        else:
            # the rest must make up for what is missing, which costs evenness when it is more than its share
            missing = n * (problem.target - entropy) - (n - word) * problem.target
            bound = problem.uniform_cost(
                entropy + problem.lowest_entropy[word], uneven + max(problem.least_uneven[word], missing)
            )
        if (bound, changed, (*levels, *(0,) * (n - word))) > best_key:
            continue
        if word == n:
            best, best_key = levels, problem.key(levels)
            continue
        state = (word, product, entropy)
        rank = ((_ALPHA_UNIT - problem.alpha) * uneven, changed, levels)  # evenness that has no weight orders nothing
        if seen.setdefault(state, rank) < rank:
            continue
        seen[state] = rank
        visited += 1
        if visited > limit:
            raise SearchLimit(best)
        for level in reversed(range(len(problem.counts[word]))):
            more = problem.entropies[word][level]
            stack.append(
                (
                    product * problem.counts[word][level],
                    entropy + more,
                    0 if minimal else uneven + problem.unevenness(more),
                    changed + (level > 0),
                    (*levels, level),
                )
            )
    return best


def greedy(problem: Problem, limit: int) -> tuple[int, ...]:
    """Return a choice of levels that reaches t, one word raised by one level at a time: O(n h log n).

    ``minimal`` raises the word whose count grows by the smallest factor, ``uniform`` the one with the least
    entropy. ``limit`` is not needed.
    """
    levels = [0] * problem.n
    product = problem.lowest[0]

    def step(word: int) -> tuple[float, int]:
        counts, level = problem.counts[word], levels[word]
        return (counts[level + 1] / counts[level] if problem.minimal else counts[level], word)

    heap = [step(word) for word, counts in enumerate(problem.counts) if len(counts) > 1]
    heapq.heapify(heap)
    while product < problem.t:
        _, word = heapq.heappop(heap)
        counts = problem.counts[word]
        levels[word] += 1
        product = product // counts[levels[word] - 1] * counts[levels[word]]
        if levels[word] + 1 < len(counts):
            heapq.heappush(heap, step(word))
    return tuple(levels)


SEARCHES: dict[str, Callable[[Problem, int], tuple[int, ...]]] = {
    "exhaustive": exhaustive,
    "best-first": best_first,
    "branch-and-bound": branch_and_bound,
    "greedy": greedy,
}
"""Searches by name: from a feasible problem and the largest number of states to the levels."""


def choose(problem: Problem, search: str = "auto", limit: int = 100_000) -> Choice | None:
    """Choose a level for every word.

    Parameters
    ----------
    problem : Problem
    search : str
        A key of `SEARCHES`; ``auto`` tries best-first (for minimal), then branch-and-bound, and takes the
        best choice seen, no worse than greedy's, where both exceed the limit (``Choice.optimal`` tells).
    limit : int
        States that an exact search may visit.

    Returns
    -------
    Choice or None
        None when even the most general terms stand for fewer than t texts.

    Raises
    ------
    ConfigError
        When the search is unknown, does not fit the objective, or exceeds the limit.
    """
    if search != "auto" and search not in SEARCHES:
        raise ConfigError(f"unknown search {search!r}", "known: auto, " + ", ".join(SEARCHES))
    if not problem.feasible:
        return None
    if search != "auto":
        try:
            return problem.choice(SEARCHES[search](problem, limit), optimal=search != "greedy")
        except SearchLimit:
            raise ConfigError(
                f"{search} search needs more than {limit} states for {problem.n} words", "use the search auto or greedy"
            ) from None
    if problem.minimal:
        with suppress(SearchLimit):
            return problem.choice(best_first(problem, limit), optimal=True)
    try:
        return problem.choice(branch_and_bound(problem, limit), optimal=True)
    except SearchLimit as stopped:
        return problem.choice(stopped.best, optimal=False)
