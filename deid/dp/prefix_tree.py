"""Prefix trees: how many sequences begin with each prefix, counted only where there are enough.

A node at depth d stands for a prefix of length d; its count is the number of sequences that begin with it. Within a
depth every sequence is in one node, so the counts of a depth cost one share of epsilon together, and the shares of the
depths add up. A node whose noisy count passes a threshold gets children, others stay leaves: noise is drawn for the
children of passed nodes alone. The threshold grows with the logarithm of the number of symbols (`growing_from`): of an
empty node's children as many pass as there are symbols, times the chance of one, and beyond 34 symbols a tree over two
standard deviations would grow out of noise for ever. A tree that grows too large all the same goes on from the greatest
noisy counts alone.

`grow` has two modes. ``paper`` is Algorithm 6 of Gardner's dissertation (2012), after Chen, Fung, Desai and Sossou
(2012), as printed: the floor of a count with Laplace noise, equal shares, a threshold of two standard deviations, the
counts used as they are. Two errors of the printed algorithm break its guarantee and are corrected: it divides epsilon
by the height and then spends it at height + 1 depths, counting the root (here: by height + 1), and it adds nodes one
depth below the height that still carry true counts (here: no node lies below the height).

``improved`` draws discrete noise, takes any shares, and uses what a leaf's path has not spent: no sequence of a leaf
is counted again further down, so the shares of all deeper levels count the leaf a second time, much more precisely.

Privacy of ``improved``. Let d sequences come or go, d_n of them in node n. What a node of depth t is drawn with costs
its share c_t of a pure epsilon times d_n / d, of a rho times (d_n / d)**2 (`deid.dp.costs`); the second draw of a leaf
costs the sum of the shares below it, times the same. Count that as what the leaf would spend depth by depth: at every
depth t the nodes drawn there, and the leaves above it, have no sequence in common, so their d_n add up to d at most and
depth t costs c_t at most. This holds whatever was drawn before and decided where the tree grows, so all together cost
the sum of the shares: of epsilons by sequential composition, of rhos as `deid.dp.costs` says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import BoolArray, FloatArray, IntArray
from deid.dp.costs import Cost, Rho, draw, together, variance_of
from deid.dp.noise import Noise, laplace_scale

MAX_NODES = 1_000_000
"""Nodes of a depth, at most."""
_FEW_SYMBOLS = 4


@dataclass(frozen=True, eq=False)
class TreeLevel:
    """The nodes of one depth; the children of a node stand together, in the order of the symbols.

    Parameters
    ----------
    parents : int64 array, shape (nodes,)
        Place of each node's parent in the depth above.
    symbols : int64 array, shape (nodes,)
        The last symbol of each prefix.
    noisy : float64 array, shape (nodes,)
        Counts with noise.
    again : float64 array, shape (nodes,)
        The second counts of leaves; nan for nodes that have none.
    expanded : bool array, shape (nodes,)
        Which nodes have children.
    """

    parents: IntArray
    symbols: IntArray
    noisy: FloatArray
    again: FloatArray
    expanded: BoolArray

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.symbols)


@dataclass(frozen=True, eq=False)
class PrefixTree:
    """Noisy counts of prefixes; holds no true count.

    Parameters
    ----------
    symbols : int
        How many symbols there are, the end of a sequence among them.
    ends : bool
        Whether the last symbol is the end, which has no children.
    costs : tuple of Cost
        What each depth spent; the root first.
    distance : int
        Rows between neighbours.
    levels : tuple of Level
        The root, and one level for each depth.
    """

    symbols: int
    ends: bool
    costs: tuple[Cost, ...]
    distance: int
    levels: tuple[TreeLevel, ...]

    @property
    def height(self) -> int:
        """The length of the longest prefixes."""
        return len(self.levels) - 1

    def find(self, prefix: Sequence[int]) -> tuple[int, int]:
        """Return depth and place of the deepest node on the path of a prefix."""
        place = 0
        for depth, symbol in enumerate(prefix):
            level = self.levels[depth]
            if not level.expanded[place]:
                return depth, place
            # the children of expanded nodes follow one another in the order of their parents
            place = int(level.expanded[:place].sum()) * self.symbols + symbol
        return len(prefix), place

    def measurements(self) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return, for each depth, the best count of each node by itself and its variance, both of shape (nodes,)."""
        values, variances = [], []
        for depth, level in enumerate(self.levels):
            first = variance_of(self.distance, self.costs[depth])
            value, variance = level.noisy.astype(float), np.full(len(level), first)
            twice = ~np.isnan(level.again)
            if twice.any():
                second = variance_of(self.distance, together(self.costs[depth + 1 :]))
                value = np.where(twice, (level.noisy * second + np.nan_to_num(level.again) * first), value)
                value[twice] /= first + second
                variance[twice] = first * second / (first + second)
            values.append(value)
            variances.append(variance)
        return values, variances


def growing_from(threshold: float, symbols: int, distance: int, cost: Cost, *, paper: bool = False) -> float:
    """Return the noisy count from which a node gets children.

    ``threshold`` standard deviations of the noise, as printed; and more where there are more than four symbols, so
    that as many children of an empty node pass as with four: .12 at two standard deviations of Laplace noise, whose
    threshold rises by scale * ln(symbols / 4), and .09 of Gaussian noise.

    Parameters
    ----------
    threshold : float
        In standard deviations.
    symbols : int
        How many symbols there are.
    distance, cost
        Those of the depth's noise.
    paper : bool
        As printed.
    """
    if isinstance(cost, Rho):
        from scipy.stats import norm

        passing = norm.logsf(threshold) - math.log(max(symbols, _FEW_SYMBOLS) / _FEW_SYMBOLS)
        return float(norm.isf(math.exp(passing))) * math.sqrt(variance_of(distance, cost))
    more = 0.0 if paper else math.log(max(symbols, _FEW_SYMBOLS) / _FEW_SYMBOLS)
    return (threshold * math.sqrt(2) + more) * distance / cost


def _greatest(passed: BoolArray, noisy: FloatArray, most: int) -> BoolArray:
    """Keep the ``most`` greatest counts of those that passed; looks at noisy counts alone, so it costs nothing."""
    places = np.flatnonzero(passed)
    if len(places) > most:
        passed[places[np.argsort(-noisy[places], kind="stable")[most:]]] = False
    return passed


def grow(
    codes: IntArray,
    symbols: int,
    costs: Sequence[Cost],
    noise: Noise,
    *,
    distance: int = 1,
    threshold: float = 2.0,
    ends: bool = False,
    mode: str = "improved",
) -> PrefixTree:
    """Grow a tree.

    Parameters
    ----------
    codes : int64 array, shape (sequences, height)
        The symbols of each sequence, 0 to symbols - 1. With ``ends``, the last symbol follows the end of a sequence.
    symbols : int
        How many symbols there are.
    costs : sequence of Cost
        What each depth spends, the root first; they add up to the cost of the tree.
    noise, distance : Noise, int
        Source of noise, and rows between neighbours.
    threshold : float
        A node gets children from so many standard deviations of the noise, and more (`growing_from`).
    ends : bool
        Whether the last symbol is the end of a sequence.
    mode : str
        ``improved`` or ``paper``; see above.

    Returns
    -------
    PrefixTree
    """
    height = len(costs) - 1
    levels: list[TreeLevel] = []
    # of each sequence: its place in the depth above, -1 when it is in no node
    member = np.zeros(len(codes), np.int64)
    parents, symbol_of = np.array([-1]), np.array([-1])
    counts = np.array([len(codes)], np.int64)
    for depth in range(height + 1):
        cost = costs[depth]
        if mode == "paper":
            assert not isinstance(cost, Rho)
            noisy = np.floor(noise.laplace(counts, laplace_scale(distance, cost)))
        else:
            noisy = draw(noise, counts, distance, cost).astype(float)
        passed = noisy >= growing_from(threshold, symbols, distance, cost, paper=mode == "paper")
        if depth == 0:
            passed[:] = True
        if depth == height:
            passed[:] = False
        if ends:
            passed &= symbol_of != symbols - 1
        passed = _greatest(passed, noisy, MAX_NODES // symbols)
        again = np.full(len(counts), np.nan)
        if mode != "paper" and depth < height and not passed.all():
            again[~passed] = draw(noise, counts[~passed], distance, together(costs[depth + 1 :]))
        levels.append(TreeLevel(parents, symbol_of, noisy, again, passed))
        if depth == height:
            break
        grown = np.flatnonzero(passed)
        place = np.full(len(counts) + 1, -1)  # the last entry serves sequences that are in no node
        place[grown] = np.arange(len(grown)) * symbols
        first = place[member]
        member = np.where(first >= 0, first + codes[:, depth], -1)
        counts = np.bincount(member[member >= 0], minlength=len(grown) * symbols).astype(np.int64)
        parents, symbol_of = np.repeat(grown, symbols), np.tile(np.arange(symbols), len(grown))
    return PrefixTree(symbols, ends, tuple(costs), distance, tuple(levels))
