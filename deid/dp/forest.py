"""A forest of two-way marginals: a small model of many columns.

Part of epsilon measures all one-way marginals, part chooses pairs of columns by the exponential mechanism, the rest
measures the chosen pairs. The model is the product of a forest: each column depends on its neighbour alone. Any slice
follows by summation, without ever building the cube. It does well where dependence is mostly between pairs; what
depends on three columns at once it cannot show.

The score of a pair is how far its true table lies from the product of the noisy one-ways in L1, less the error that
measuring it would cause. The product is public by then, and one row changes one cell of the true table, so one row
changes a score by at most 1. "No further pair" is a candidate of score 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.dp.costs import Cost, choosing, draw, split, split_evenly, variance_of
from deid.dp.marginals import Axes, Marginal, fit
from deid.dp.noise import Noise

Measured = tuple[Axes, FloatArray, Cost]
"""Dimensions, noisy counts and cost of a table."""
SHARES = (0.25, 0.15, 0.6)
"""Shares of the cost for one-ways, choice and pairs of up to nine columns."""
_COLUMNS = 9  # from which single columns get more


def single_share(columns: int) -> float:
    """Return the share of the cost for single columns, so that each of many does not get less than one of nine does."""
    first = SHARES[0]
    return max(first, columns / (columns + _COLUMNS * (1 / first - 1)))


@dataclass(frozen=True, eq=False)
class Forest:
    """Marginals that agree, over single columns and over the pairs of a forest.

    Parameters
    ----------
    shape : tuple of int
        Cells of each dimension.
    tables : mapping of axes to float array
        A dimension for each axis; without negative counts, all with the same total.
    """

    shape: tuple[int, ...]
    tables: Mapping[Axes, FloatArray]

    @property
    def pairs(self) -> list[Axes]:
        """The forest's edges."""
        return [axes for axes in self.tables if len(axes) == 2]

    def aggregate(self, axes: Sequence[int], chosen: Sequence[IntArray | None]) -> FloatArray:
        """Sum the product of the tables over a slice; arguments as those of `deid.dp.boxes.Boxes.aggregate`.

        Returns
        -------
        float array
            One dimension for each axis, as long as its chosen cells; 0 everywhere where the total is 0.
        """
        total = float(self.tables[(0,)].sum())
        wanted = [
            np.arange(size) if cells is None else np.asarray(cells)
            for size, cells in zip(self.shape, chosen, strict=True)
        ]
        shape = [len(wanted[axis]) for axis in axes]
        if total <= 0:
            return np.zeros(shape)
        operands: list[object] = []
        seen: set[int] = set()
        for axis in range(len(self.shape)):
            if axis in seen:
                continue
            operands += [self.tables[(axis,)][wanted[axis]] / total, [axis]]
            stack = [axis]
            seen.add(axis)
            while stack:  # walk the tree from its first column: each other column given its neighbour
                parent = stack.pop()
                for pair in self.pairs:
                    if parent in pair and not set(pair) <= seen:
                        child = pair[0] if pair[1] == parent else pair[1]
                        joint = self.tables[pair] if pair[0] == parent else self.tables[pair].T
                        given = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
                        operands += [given[np.ix_(wanted[parent], wanted[child])], [parent, child]]
                        seen.add(child)
                        stack.append(child)
        result = np.einsum(*operands, list(axes), optimize="greedy")  # type: ignore[call-overload]
        return np.asarray(result * total)


def as_marginals(measured: Sequence[Measured], distance: int) -> list[Marginal]:
    """Return measured tables with the variance of their noise, by the rows between neighbours."""
    return [Marginal(axes, values, variance_of(distance, cost)) for axes, values, cost in measured]


def choose_pairs(
    one_ways: Sequence[FloatArray],
    two_way: Callable[[Axes], IntArray],
    cost: Cost,
    measuring: Cost,
    noise: Noise,
    distance: int,
) -> list[Axes]:
    """Choose the pairs of a forest, one by one, by the exponential mechanism.

    Parameters
    ----------
    one_ways : sequence of float arrays
        The noisy one-way marginals.
    two_way : callable
        Returns the true table of a pair.
    cost : Cost
        For all choices together.
    measuring : Cost
        What there is to measure the pairs with afterwards, for their expected error.
    noise : Noise
        Source of noise.
    distance : int
        Rows between neighbours, which is the sensitivity of a score.
    """
    columns = len(one_ways)
    if columns < 2:
        return []
    each = choosing(split_evenly(cost, columns - 1)[0])
    deviation = math.sqrt(variance_of(distance, split_evenly(measuring, columns - 1)[0]) / 2)
    masses = [np.maximum(table, 0.0) for table in one_ways]
    total = max(float(np.mean([table.sum() for table in masses])), 1.0)
    shares = [table / max(float(table.sum()), 1e-300) for table in masses]
    scores = {}
    for pair in itertools.combinations(range(columns), 2):
        even = total * np.outer(shares[pair[0]], shares[pair[1]])
        scores[pair] = float(np.abs(two_way(pair) - even).sum()) - deviation * even.size
    group = list(range(columns))
    chosen: list[Axes] = []
    for _ in range(columns - 1):
        open_pairs = [pair for pair in scores if group[pair[0]] != group[pair[1]]]
        place = noise.choose([0.0, *(scores[pair] for pair in open_pairs)], distance, each)
        if place == 0:
            continue
        first, second = open_pairs[place - 1]
        chosen.append((first, second))
        joined = group[second]
        group = [group[first] if own == joined else own for own in group]
    return sorted(chosen)


def measure_forest(
    counts: Callable[[Axes], IntArray],
    columns: int,
    cost: Cost,
    noise: Noise,
    *,
    distance: int = 1,
) -> list[Measured]:
    """Measure one-ways, choose pairs, measure them.

    Parameters
    ----------
    counts : callable
        Returns the true marginal over some axes.
    columns : int
        How many dimensions there are.
    cost : Cost
        Of all steps together.
    noise, distance : Noise, int
        Source of noise, and rows between neighbours.

    Returns
    -------
    list of (axes, float array, Cost)
        Noisy tables, with the cost of each.
    """
    single = single_share(columns)
    later = (1 - single) / (1 - SHARES[0])
    first, choice, second = split(cost, (single, SHARES[1] * later, SHARES[2] * later))
    measured: list[Measured] = []
    for axis, share in enumerate(split_evenly(first, columns)):
        table = draw(noise, counts((axis,)), distance, share)
        measured.append(((axis,), table.astype(float), share))
    pairs = choose_pairs([table for _, table, _ in measured], counts, choice, second, noise, distance)
    for pair, share in zip(pairs, split_evenly(second, len(pairs)) if pairs else (), strict=True):
        measured.append((pair, draw(noise, counts(pair), distance, share).astype(float), share))
    return measured


def fit_forest(measured: Sequence[Measured], shape: tuple[int, ...], distance: int) -> Forest:
    """Make measured tables agree and non-negative (`deid.dp.marginals`).

    Parameters
    ----------
    measured : sequence of (axes, float array, Cost)
        Dimensions, noisy counts and cost of each table.
    shape : tuple of int
        Cells of each dimension.
    distance : int
        Rows between neighbours, for the variance of the noise.

    Returns
    -------
    Forest
        The tables, all with the same total.
    """
    return Forest(shape, fit(as_marginals(measured, distance), shape))
