"""How a release of sequences answers: a tree or a chain.

Both answer the count of one prefix, sums over many prefixes of one length (such as those that rise), and the whole
distribution of prefixes of one length. A tree answers 0 for a prefix below a leaf, because it cannot tell its count
from 0; in sums and distributions the leaf's count goes on by the shares of its last symbol elsewhere in the tree.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deid.base.arrays import BoolArray, FloatArray, IntArray
from deid.base.errors import ConfigError, require
from deid.dp.intervals import standard_half_width
from deid.dp.markov_chain import MarkovChain
from deid.dp.patterns import PatternAutomaton
from deid.dp.prefix_tree import PrefixTree
from deid.dp.tree_estimate import Consistent, consistent, nonnegative_tree

_MAX_PREFIXES = 4_000_000


@dataclass(frozen=True, slots=True)
class PrefixCount:
    """A count with the ends of its interval."""

    count: float
    lower: float
    upper: float
    below_noise_floor: bool
    """Whether the noise alone can make such a count of nothing."""


@dataclass(frozen=True, eq=False)
class PrefixCounts:
    """Counts of many prefixes with the ends of their intervals; arrays of shape (prefixes,)."""

    count: FloatArray
    lower: FloatArray
    upper: FloatArray
    below_noise_floor: BoolArray

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """Its arrays, in this order."""
        return self.count, self.lower, self.upper, self.below_noise_floor


def _deviations(level: float) -> float:
    """Return the half width of an interval in standard deviations: the wider of one Laplace draw's and the normal's."""
    return max(standard_half_width(1.0, level), standard_half_width(1000.0, level))


def _intervals(count: FloatArray, unbiased: FloatArray, half: FloatArray) -> PrefixCounts:
    lower, upper = np.maximum(unbiased - half, 0.0), np.maximum(unbiased + half, 0.0)
    return PrefixCounts(count, np.minimum(lower, count), np.maximum(upper, count), unbiased <= half)


def _interval(count: float, unbiased: float, half: float) -> PrefixCount:
    found = _intervals(np.array([count]), np.array([unbiased]), np.array([half]))
    return PrefixCount(count, float(found.lower[0]), float(found.upper[0]), bool(found.below_noise_floor[0]))


def check_length(length: int, height: int) -> None:
    """Refuse a length of sequences that a release does not have."""
    if not 1 <= length <= height:
        raise ConfigError(f"the release has no sequences of this length; its longest have {height}", "ask for less")


def _checked(symbols: int, length: int, height: int) -> None:
    check_length(length, height)
    require(symbols**length <= _MAX_PREFIXES, f"{symbols}**{length} prefixes are too many", "ask for a smaller length")


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A prefix tree with its best counts.

    Parameters
    ----------
    tree : PrefixTree
        What was measured.
    printed : bool
        Use the noisy counts as they are (Algorithm 6); otherwise consistent and non-negative ones.
    """

    tree: PrefixTree
    printed: bool = False
    caveat = "intervals cover the noise, not how the counts of leaves go on below them"

    @functools.cached_property
    def consistent(self) -> Consistent:
        """Least squares counts, unbiased."""
        return consistent(self.tree)

    @functools.cached_property
    def counts(self) -> tuple[FloatArray, ...]:
        """Counts of all nodes, by depth, as they are shown."""
        if self.printed:
            return tuple(level.noisy for level in self.tree.levels)
        return nonnegative_tree(self.tree, self.consistent.values)

    @functools.cached_property
    def _unbiased(self) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
        if self.printed:
            values, variances = self.tree.measurements()
            return tuple(values), tuple(variances)
        return self.consistent.values, self.consistent.variances

    @property
    def height(self) -> int:
        """The length of the longest prefixes."""
        return self.tree.height

    @property
    def levels(self) -> int:
        """How many symbols there are, without the end."""
        return self.tree.symbols - self.tree.ends

    def nodes(self, depth: int, level: float) -> PrefixCounts:
        """Return the counts of all nodes of a depth (0 is the root), with intervals of a level from 0 to 1."""
        values, variances = self._unbiased
        return _intervals(self.counts[depth], values[depth], _deviations(level) * np.sqrt(variances[depth]))

    def node(self, depth: int, place: int, level: float) -> PrefixCount:
        """Return the count of a node by its depth and its place there; ``level`` is that of the interval, 0 to 1."""
        values, variances = self._unbiased
        half = _deviations(level) * float(np.sqrt(variances[depth][place]))
        return _interval(float(self.counts[depth][place]), float(values[depth][place]), half)

    def prefix(self, prefix: Sequence[int], level: float, *, predict: bool = False) -> PrefixCount:
        """Return the count of a prefix: 0 below a leaf, and at most what the leaf may have.

        With ``predict`` it is predicted there from the noisy counts of its ancestors (Gardner 2012, chapter 6):
        the leaf's count, continued by the `transitions`.
        """
        depth, place = self.tree.find(prefix)
        found = self.node(depth, place, level)
        if depth == len(prefix):
            return found
        count = 0.0
        if predict and depth:  # a leaf is never the root
            shares = [self.transitions[last, symbol] for last, symbol in itertools.pairwise(prefix[depth - 1 :])]
            count = max(found.count, 0.0) * float(np.prod(shares))
        return PrefixCount(count, 0.0, found.upper, True)

    def prefixes(self, length: int, level: float, *, predict: bool = False) -> PrefixCounts:
        """Return `prefix` for all prefixes of a length, in the order of their symbols; shape (levels**length,).

        Raises
        ------
        ConfigError
            When the length is not from 1 to the height, or there are too many prefixes.
        """
        _checked(self.tree.symbols, length, self.height)
        symbols, half = self.tree.symbols, _deviations(level)
        values, variances = self._unbiased
        dense = _intervals(np.zeros(1), np.zeros(1), np.zeros(1))
        for depth in range(1, length + 1):
            nothing = np.zeros(len(dense.count) * symbols)
            upper = np.repeat(dense.upper, symbols)
            dense = PrefixCounts(nothing, nothing.copy(), upper, np.ones(len(nothing), bool))
            nodes = _intervals(self.counts[depth], values[depth], half * np.sqrt(variances[depth]))
            for whole, own in zip(dense.arrays, nodes.arrays, strict=True):
                whole[self.codes[depth]] = own
        kept = np.zeros((symbols,) * length, bool)
        kept[(slice(0, self.levels),) * length] = True
        found = PrefixCounts(*(own[kept.ravel()] for own in dense.arrays))
        return replace(found, count=self.distribution(length).ravel()) if predict else found

    @functools.cached_property
    def codes(self) -> tuple[IntArray, ...]:
        """The number of each node's prefix among those of its depth (the end counts as a symbol)."""
        codes = [np.zeros(1, np.int64)]
        for level in self.tree.levels[1:]:
            codes.append(codes[-1][level.parents] * self.tree.symbols + level.symbols)
        return tuple(codes)

    @functools.cached_property
    def transitions(self) -> FloatArray:
        """Shares of the next symbol by the last one, over all nodes with children; shape (symbols, symbols)."""
        sums = np.zeros((self.tree.symbols, self.tree.symbols))
        for depth in range(1, self.height):
            child = self.tree.levels[depth + 1]
            np.add.at(sums, (self.tree.levels[depth].symbols[child.parents], child.symbols), self.counts[depth + 1])
        sums = np.maximum(sums, 0.0)
        overall = sums.sum(axis=0) + 1e-9
        totals = sums.sum(axis=1, keepdims=True)
        return np.asarray(np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), overall / overall.sum()))

    def distribution(self, length: int) -> FloatArray:
        """Return counts of all prefixes of a length, in the order of their symbols; shape (levels,) * length."""
        _checked(self.tree.symbols, length, self.height)
        symbols = self.tree.symbols
        dense = self.counts[1].copy()
        for depth in range(1, length):
            # leaves go on by the shares of their last symbol, nodes with children by their children
            dense = (dense.reshape(-1, symbols)[:, :, None] * self.transitions).ravel()
            dense[self.codes[depth + 1]] = self.counts[depth + 1]
        kept = (slice(0, self.levels),) * length
        return np.asarray(np.maximum(dense, 0.0).reshape((symbols,) * length)[kept])

    def total(self, weights: FloatArray, level: float) -> PrefixCount:
        """Return a weighted sum over all prefixes of a length; ``weights`` has the shape of their `distribution`."""
        length, symbols = weights.ndim, self.tree.symbols
        _checked(self.levels, length, self.height)
        padded = np.zeros((symbols,) * length)
        padded[(slice(0, self.levels),) * length] = weights
        dense = padded.ravel()
        nodes = [np.zeros(len(own)) for own in self.tree.levels]
        for depth in range(length, 0, -1):
            ended = self.tree.levels[depth].expanded if depth < length else np.zeros(len(nodes[depth]), bool)
            nodes[depth] = np.where(ended, 0.0, dense[self.codes[depth]])
            if depth > 1:
                dense = (dense.reshape(-1, symbols, symbols) * self.transitions).sum(axis=2).ravel()
        return self._sum(float((self.distribution(length) * weights).sum()), nodes, level)

    def matching(self, pattern: PatternAutomaton, length: int, level: float) -> PrefixCount:
        """Return how many sequences a pattern accepts within their first periods.

        Below a leaf they go on by the `transitions`. A sequence that has ended is what it was.

        Raises
        ------
        ConfigError
            When the length is not from 1 to the height.
        """
        check_length(length, self.height)
        tree = self.tree
        chances = pattern.chances(self.transitions, length, ends=tree.ends)
        nodes = [np.zeros(len(own)) for own in tree.levels]
        states = np.zeros(1, np.int64)
        for depth, own in enumerate(tree.levels[: length + 1]):
            if depth:
                states = pattern.steps[states[own.parents], own.symbols]
                ended = ~own.expanded if depth < length else np.ones(len(own), bool)
                nodes[depth] = np.where(ended, chances[length - depth][states, own.symbols], 0.0)
        count = sum(float(own @ np.maximum(shown, 0.0)) for own, shown in zip(nodes, self.counts, strict=True))
        return self._sum(count, nodes, level)

    def _sum(self, count: float, nodes: Sequence[FloatArray], level: float) -> PrefixCount:
        """Return a count with the interval of a weighted sum of nodes, none of which lies above another."""
        values, variances = self._unbiased
        unbiased = sum(float(own @ value) for own, value in zip(nodes, values, strict=True))
        if self.printed:
            variance = sum(float(own**2 @ value) for own, value in zip(nodes, variances, strict=True))
        else:
            variance = self.consistent.sum_variance(nodes)
        return _interval(count, unbiased, _deviations(level) * float(np.sqrt(max(variance, 0.0))))


@dataclass(frozen=True, eq=False)
class ChainModel:
    """A Markov chain.

    Parameters
    ----------
    chain : MarkovChain
        What was measured.
    ends : bool
        Whether its last symbol is the end of a sequence.
    """

    chain: MarkovChain
    ends: bool
    caveat = "intervals cover the noise (bootstrap), not dependence on more than the last value"

    @property
    def height(self) -> int:
        """The length of the longest prefixes."""
        return self.chain.height

    @property
    def levels(self) -> int:
        """How many symbols there are, without the end."""
        return self.chain.symbols - self.ends

    def _bootstrapped(self, of: Callable[[Sequence[FloatArray]], float], level: float) -> PrefixCount:
        """Return a count of the tables with the interval that their replicates give."""
        count = of(self.chain.tables)
        errors = [abs(of(tables) - count) for tables in self.chain.replicates]
        return _interval(count, count, float(np.quantile(errors, level)))

    def _prefix(self, tables: Sequence[FloatArray], prefix: Sequence[int]) -> float:
        if len(prefix) == 0:
            return float(tables[0].sum())
        count = float(tables[0].sum(axis=1)[prefix[0]] if tables[0].ndim == 2 else tables[0][prefix[0]])
        for table, last, symbol in zip(tables, prefix[:-1], prefix[1:], strict=False):
            total = float(table[last].sum())
            count *= float(table[last, symbol]) / total if total > 0 else 0.0
        return count

    def _distribution(self, tables: Sequence[FloatArray], length: int) -> FloatArray:
        kept = slice(0, self.levels)
        result = (tables[0].sum(axis=1) if tables[0].ndim == 2 else tables[0])[kept]
        for table in tables[: length - 1]:
            totals = table.sum(axis=1, keepdims=True)
            shares = (table / np.where(totals > 0, totals, 1.0))[kept, kept]
            result = result[..., None] * shares
        return np.asarray(result)

    def prefix(self, prefix: Sequence[int], level: float, *, predict: bool = False) -> PrefixCount:
        """Return the count of a prefix of codes; ``predict`` changes nothing: a chain predicts all longer ones."""
        return self._bootstrapped(lambda tables: self._prefix(tables, prefix), level)

    def prefixes(self, length: int, level: float, *, predict: bool = False) -> PrefixCounts:
        """Return `prefix` for all prefixes of a length, in the order of their symbols; see `TreeModel.prefixes`."""
        count = self.distribution(length)
        errors = [np.abs(self._distribution(tables, length) - count).ravel() for tables in self.chain.replicates]
        return _intervals(count.ravel(), count.ravel(), np.quantile(errors, level, axis=0))

    def distribution(self, length: int) -> FloatArray:
        """Return counts of all prefixes of a length, in the order of their symbols; shape (levels,) * length."""
        _checked(self.levels, length, self.height)
        return self._distribution(self.chain.tables, length)

    def total(self, weights: FloatArray, level: float) -> PrefixCount:
        """Return a weighted sum over all prefixes of a length; ``weights`` has the shape of their `distribution`."""
        _checked(self.levels, weights.ndim, self.height)
        return self._bootstrapped(
            lambda tables: float((self._distribution(tables, weights.ndim) * weights).sum()), level
        )

    def _matching(self, tables: Sequence[FloatArray], pattern: PatternAutomaton, length: int) -> float:
        first = tables[0].sum(axis=1) if tables[0].ndim == 2 else tables[0]
        held = np.zeros((pattern.states, self.chain.symbols))
        held[pattern.steps[0], np.arange(self.chain.symbols)] = first
        for table in tables[: length - 1]:
            totals = table.sum(axis=1, keepdims=True)
            shares = table / np.where(totals > 0, totals, 1.0)
            moved = held @ shares
            held = np.zeros_like(held)
            for state in range(pattern.states):
                np.add.at(held, (pattern.steps[state], np.arange(self.chain.symbols)), moved[state])
        return float(held[-1].sum())

    def matching(self, pattern: PatternAutomaton, length: int, level: float) -> PrefixCount:
        """Return how many sequences a pattern accepts within their first periods; see `TreeModel.matching`."""
        check_length(length, self.height)
        return self._bootstrapped(lambda tables: self._matching(tables, pattern, length), level)


SequenceModel = TreeModel | ChainModel
