"""Hierarchies as arrays: nodes are numbers, and generalizing costs leaves.

The loss of generalizing a to b is ``LM(a, b) = (D(b) - D(a)) / leaves``, with D the number of leaves below a node and
D = 0 for a leaf (Tamersoy and others, IEEE TITB 2012, Definition 5; that a leaf counts 0 follows from its examples).
Losses are added as whole numbers of leaves, so that sums do not depend on their order and ties are ties.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from deid.table.hierarchy import Hierarchy

_TABLE = 1024
"""Number of nodes up to which costs of pairs are tabulated."""


@dataclass(frozen=True, eq=False)
class LocationTree:
    """A hierarchy in arrays, int32, one entry a node; node 0 is the root."""

    names: tuple[str, ...] = field(repr=False)
    parent: np.ndarray = field(repr=False)
    """Node above; of the root itself."""
    depth: np.ndarray = field(repr=False)
    leaves: np.ndarray = field(repr=False)
    """D: leaves below the node, 0 for a leaf."""
    size: int
    """Number of leaves of the hierarchy."""

    @cached_property
    def index(self) -> dict[str, int]:
        """Name -> node."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def table(self) -> np.ndarray:
        """Cost of every pair of nodes, int32 of shape (nodes * nodes,); empty for hierarchies that are too large."""
        count = len(self.names)
        if count > _TABLE:
            return np.empty(0, np.int32)
        a, b = (grid.ravel() for grid in np.indices((count, count)))
        return self.pair_cost(a, b).astype(np.int32)

    def ancestors(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the lowest common ancestors of arrays of nodes."""
        a, b = np.broadcast_arrays(a, b)
        a, b = a.copy(), b.copy()
        while (different := a != b).any():
            deeper = self.depth[a] >= self.depth[b]
            a = np.where(different & deeper, self.parent[a], a)
            b = np.where(different & ~deeper, self.parent[b], b)
        return a

    def pair_cost(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the leaves that generalizing two nodes to their lowest common ancestor costs, int64."""
        above = self.leaves[self.ancestors(a, b)].astype(np.int64)
        return 2 * above - self.leaves[a] - self.leaves[b]

    def root_cost(self, nodes: np.ndarray) -> np.ndarray:
        """Return the leaves that suppressing nodes costs, int64."""
        return self.leaves[0] - self.leaves[nodes].astype(np.int64)

    def chain(self, node: int) -> list[int]:
        """Return a node and those above it, upwards."""
        chain = [node]
        while chain[-1]:
            chain.append(int(self.parent[chain[-1]]))
        return chain

    def covers(self, above: int, node: int) -> bool:
        """Tell whether ``above`` is ``node`` or lies above it."""
        return above in self.chain(node)


def make_tree(hierarchy: Hierarchy) -> LocationTree:
    """Return a hierarchy in arrays, its values numbered from the root, 0."""
    names = sorted(hierarchy, key=lambda value: value != hierarchy.root)
    index = {name: i for i, name in enumerate(names)}
    above = [hierarchy.parent(name) for name in names]
    parent = np.array([index[p] if p is not None else 0 for p in above], dtype=np.int32)
    depth = np.array([len(hierarchy.chain(name)) - 1 for name in names], dtype=np.int32)
    leaves = np.array([hierarchy.leaf_count(n) if hierarchy.children(n) else 0 for n in names], dtype=np.int32)
    return LocationTree(tuple(names), parent, depth, leaves, hierarchy.leaf_count(hierarchy.root))
