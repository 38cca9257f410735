"""The best counts that follow from a tree's noisy ones: consistent, then non-negative.

A node is the sum of its children. Least squares under that constraint has a closed form in two passes over the tree
(Hay, Rastogi, Miklau and Suciu, "Boosting the accuracy of differentially private histograms through consistency",
2010), here for unequal variances and pruned trees: upwards, each count is averaged with the sum of its children by
inverse variance; downwards, what a parent differs from its children's sum is shared out in proportion to their
variances. The result is linear in the noise and unbiased. Afterwards each family of children is projected onto the
non-negative counts that add up to the parent, from the root down. Both are post-processing and cost nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import FloatArray
from deid.dp.boxes import simplex
from deid.dp.prefix_tree import PrefixTree


def _families(values: FloatArray, symbols: int) -> FloatArray:
    """Return a level's nodes by parent: shape (expanded parents, symbols)."""
    return values.reshape(-1, symbols)


@dataclass(frozen=True, eq=False)
class Consistent:
    """Least squares counts of a tree.

    Parameters
    ----------
    tree : PrefixTree
        The tree.
    values : tuple of float arrays, shape (nodes,) for each depth
        Each node the sum of its children.
    spread : tuple of float arrays, shape (nodes,) for each depth
        The variance of each node's estimate from its own subtree alone.
    """

    tree: PrefixTree
    values: tuple[FloatArray, ...]
    spread: tuple[FloatArray, ...]

    @functools.cached_property
    def variances(self) -> tuple[FloatArray, ...]:
        """The variance of each node's value, shape (nodes,) for each depth."""
        result = [self.spread[0]]
        for depth in range(self.tree.height):
            own = _families(self.spread[depth + 1], self.tree.symbols)
            sums = own.sum(1, keepdims=True)
            # given the parent, siblings vary within their sum; the parent's variance is shared out as its excess was
            parent = result[depth][self.tree.levels[depth].expanded][:, None]
            result.append((own - own**2 / sums + (own / sums) ** 2 * parent).ravel())
        return tuple(result)

    def sum_variance(self, weights: Sequence[FloatArray]) -> float:
        """Return the variance of a weighted sum of values.

        Parameters
        ----------
        weights : sequence of float arrays, shape (nodes,) for each depth
            Weights of nodes none of which lies above another with a weight.
        """
        # given a node's value, the sum over its subtree is slope * value plus something of a variance of its own
        slopes, inner = np.asarray(weights[-1], float), 0.0
        for depth in range(self.tree.height - 1, -1, -1):
            own = _families(self.spread[depth + 1], self.tree.symbols)
            below = _families(slopes, self.tree.symbols)
            sums = own.sum(1)
            inner += float((below**2 * own).sum() - ((below * own).sum(1) ** 2 / sums).sum())
            slopes = np.array(weights[depth], float)
            slopes[self.tree.levels[depth].expanded] += (below * own).sum(1) / sums
        return inner + float(slopes[0] ** 2 * self.spread[0][0])


def consistent(tree: PrefixTree) -> Consistent:
    """Return the least squares counts of a tree."""
    mixed, spread = tree.measurements()
    for depth in range(tree.height - 1, -1, -1):
        grown = tree.levels[depth].expanded
        sums = _families(mixed[depth + 1], tree.symbols).sum(1)
        sum_variances = _families(spread[depth + 1], tree.symbols).sum(1)
        own = spread[depth][grown]
        mixed[depth][grown] = (mixed[depth][grown] * sum_variances + sums * own) / (own + sum_variances)
        spread[depth][grown] = own * sum_variances / (own + sum_variances)
    for depth in range(tree.height):
        children, shares = _families(mixed[depth + 1], tree.symbols), _families(spread[depth + 1], tree.symbols)
        excess = mixed[depth][tree.levels[depth].expanded] - children.sum(1)
        mixed[depth + 1] = (children + shares / shares.sum(1, keepdims=True) * excess[:, None]).ravel()
    return Consistent(tree, tuple(mixed), tuple(spread))


def nonnegative_tree(tree: PrefixTree, values: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
    """Project consistent counts onto non-negative ones, each node still the sum of its children; the root is kept.

    Parameters
    ----------
    tree : PrefixTree
        Its form.
    values : sequence of float64 array, shape (nodes of the depth,)
        Consistent counts by depth; a negative root becomes 0.

    Returns
    -------
    tuple of float64 array
        The projected counts, of the same shapes.
    """
    result = [np.maximum(values[0], 0.0)]
    for depth in range(tree.height):
        totals = result[depth][tree.levels[depth].expanded]
        families = _families(values[depth + 1], tree.symbols)
        projected = [simplex(family, float(total)) for family, total in zip(families, totals, strict=True)]
        result.append(np.concatenate(projected) if projected else np.zeros(0))
    return tuple(result)
