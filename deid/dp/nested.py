"""Counts of a hierarchy, such as counties in states: every level measured, then made to agree.

Top-down releases (Abowd and others 2022, "The 2020 census disclosure avoidance system TopDown algorithm") measure the
total, the states and the counties, each level with a share of epsilon, because a sum of noisy counties has more noise
than a noisy state. A row lies in one node of each level, so the shares add up. Least squares makes each node the sum
of its children, in two passes as `deid.dp.tree_estimate` does for prefix trees (Hay and others 2010), here for families
of any size and many cells at once: the arrays of a level have shape (nodes, cells), and variances one number a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.dp.boxes import simplex


@dataclass(frozen=True, eq=False)
class Nesting:
    """How the nodes of levels lie in one another.

    Parameters
    ----------
    parents : tuple of int64 array
        For each level but the first, the parent of each node in the level above. The first level has one node, the last
        level the cells of the column. Every node but those has children.
    """

    parents: tuple[IntArray, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has, the first level first."""
        return (1, *map(len, self.parents))

    def up(self, values: FloatArray, depth: int) -> FloatArray:
        """Add up the nodes of the level ``depth`` by their parents."""
        total = np.zeros((self.sizes[depth - 1], *values.shape[1:]))
        np.add.at(total, self.parents[depth - 1], values)
        return total

    def levels(self, cells: FloatArray) -> list[FloatArray]:
        """Return the sums of the last level's values in all levels, the first level first."""
        result = [cells]
        for depth in range(len(self.parents), 0, -1):
            result.append(self.up(result[-1], depth))
        return result[::-1]

    def spread(self, variances: Sequence[float]) -> list[FloatArray]:
        """Return the variance of each node's estimate from its own subtree alone, by level.

        Parameters
        ----------
        variances : sequence of float
            Of the noise of each level.
        """
        result = [np.full(self.sizes[-1], float(variances[-1]))]
        for depth in range(len(self.parents), 0, -1):
            below = self.up(result[-1], depth)
            own = variances[depth - 1]
            result.append(own * below / (own + below))
        return result[::-1]

    def estimate(self, measured: Sequence[FloatArray], variances: Sequence[float]) -> FloatArray:
        """Return the least squares values of the last level, shape (nodes, cells); all others are sums of them.

        Parameters
        ----------
        measured : sequence of float64 array, shape (nodes, cells)
            Of each level, the first one first.
        variances : sequence of float
            Of the noise of each level.
        """
        spread = self.spread(variances)
        mixed = [np.asarray(own, float) for own in measured]
        for depth in range(len(self.parents), 0, -1):
            sums, below = self.up(mixed[depth], depth), self.up(spread[depth], depth)[:, None]
            own = variances[depth - 1]
            mixed[depth - 1] = (mixed[depth - 1] * below + sums * own) / (own + below)
        for depth, parents in enumerate(self.parents, 1):
            excess = mixed[depth - 1] - self.up(mixed[depth], depth)
            shares = spread[depth] / self.up(spread[depth], depth)[parents]
            mixed[depth] = mixed[depth] + shares[:, None] * excess[parents]
        return mixed[-1]

    def variance(self, weights: FloatArray, variances: Sequence[float]) -> float:
        """Return the variance of a weighted sum of `estimate`, in one cell; ``weights`` are those of the last level."""
        spread, slopes, inner = self.spread(variances), np.asarray(weights, float), 0.0
        for depth in range(len(self.parents), 0, -1):
            own = spread[depth]
            sums, weighted = self.up(own, depth), self.up(slopes * own, depth)
            # given the node's value, the sum over its subtree is slope * value and something of a variance of its own
            inner += float((slopes**2 * own).sum() - (weighted**2 / sums).sum())
            slopes = weighted / sums
        return inner + float(slopes[0] ** 2 * spread[0][0])

    def cell_variances(self, variances: Sequence[float]) -> FloatArray:
        """Return the variance of each value of the last level, shape (nodes,)."""
        spread = self.spread(variances)
        result = spread[0]
        for depth, parents in enumerate(self.parents, 1):
            own, sums = spread[depth], self.up(spread[depth], depth)[parents]
            result = own - own**2 / sums + (own / sums) ** 2 * result[parents]
        return result

    def nonnegative(self, cells: FloatArray) -> FloatArray:
        """Return non-negative values of the last level: from the top down, each family is projected onto its sum."""
        levels = self.levels(cells)
        shown = np.maximum(levels[0], 0.0)
        for depth, parents in enumerate(self.parents, 1):
            order = np.argsort(parents, kind="stable")
            ends = np.searchsorted(parents[order], np.arange(self.sizes[depth - 1] + 1))
            below = np.zeros_like(levels[depth])
            for node, totals in enumerate(shown):
                family = order[ends[node] : ends[node + 1]]
                for cell, total in enumerate(totals):
                    below[family, cell] = simplex(levels[depth][family, cell], float(total))
            shown = below
        return shown


def chained(nestings: Sequence[Nesting]) -> Nesting:
    """Return how the cells of several columns together lie in one another, all columns a level finer at each step.

    Of counties in states and of codes in chapters the levels are the total, states x chapters, and counties x codes; a
    column with fewer levels stays at its cells. Nodes of a level are in the order of the first column's, then the next.
    """
    depth = max(len(own.parents) for own in nestings)
    levels = []
    for at in range(depth):
        parents, size = np.zeros(1, np.int64), 1
        for own in nestings:
            last = at >= len(own.parents)
            mine = np.arange(own.sizes[-1]) if last else own.parents[at]
            above = own.sizes[-1] if last else own.sizes[at]
            parents, size = (parents[:, None] * above + mine).ravel(), size * above
        levels.append(parents)
    return Nesting(tuple(levels))
