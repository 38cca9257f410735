"""A hierarchy of codes over the items of some transactions, as arrays.

Items are the leaves. Inner values without two branches below them are left out: to generalize to them gains nothing.
The codes of a cohort may all lie below one value: it says more than the root and stays.
A record may hold an inner value itself (401 beside 401.1); it is then one more leaf below that value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deid.base.arrays import IntArray
from deid.table.hierarchy import Hierarchy
from deid.transactions.transactions import Transactions, generalize

ROOT = "*"


@dataclass(frozen=True, eq=False)
class CodeTree:
    """A rooted tree whose first nodes are the items.

    Parameters
    ----------
    labels : tuple of str
        Name of each node: the items', then the inner ones', the root last.
    parent : tuple of int
        Parent of each node, -1 for the root.
    leaves : tuple of tuples of int
        Items below each node, ascending; an item's is itself.
    """

    labels: tuple[str, ...]
    parent: tuple[int, ...]
    leaves: tuple[tuple[int, ...], ...]

    @property
    def root(self) -> int:
        """The node above all."""
        return len(self.labels) - 1

    @cached_property
    def leaf_arrays(self) -> list[IntArray]:
        """The items below each node, as arrays."""
        return [np.array(leaves, dtype=np.int64) for leaves in self.leaves]

    @cached_property
    def sizes(self) -> IntArray:
        """Number of items below each node."""
        return np.array([len(leaves) for leaves in self.leaves])

    def chain(self, node: int) -> list[int]:
        """Return a node and the nodes above it, upwards."""
        found = [node]
        while self.parent[found[-1]] >= 0:
            found.append(self.parent[found[-1]])
        return found

    @property
    def top(self) -> int:
        """The lowest node above all items: the root, unless they lie in one branch."""
        children = self.children()
        node = self.root
        while len(children[node]) == 1:
            node = children[node][0]
        return node

    def children(self) -> list[list[int]]:
        """Return the nodes one step below each node."""
        below: list[list[int]] = [[] for _ in self.labels]
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                below[parent].append(node)
        return below

    def publish(self, data: Transactions, cut: NDArray[np.integer]) -> Transactions:
        """Return the records with each item replaced by a node.

        Parameters
        ----------
        data : Transactions
            Records over the tree's items.
        cut : int array, shape (items,)
            Node of each item, -1 where it is suppressed.
        """
        nodes = sorted({int(node) for node in cut if node >= 0}, key=lambda node: self.leaves[node])
        place = {node: i for i, node in enumerate(nodes)}
        image = np.array([place.get(int(node), -1) for node in cut], dtype=np.int64)
        return generalize(data, image, [self.labels[node] for node in nodes], self.members(data, nodes))

    def members(self, data: Transactions, nodes: list[int]) -> list[frozenset[str]]:
        """Return the codes that nodes stand for."""
        return [frozenset(data.labels[item] for item in self.leaves[node]) for node in nodes]


def code_tree(data: Transactions, hierarchy: Hierarchy | None = None) -> CodeTree:
    """Return the tree over the items; without a hierarchy all items lie below ``*``.

    Every label must be in the hierarchy, or lies below its root.
    """
    codes = data.labels
    root = hierarchy.root if hierarchy is not None else ROOT
    above: dict[str, list[str]] = {}
    for code in codes:
        chain: list[str] = []
        if hierarchy is not None and code in hierarchy:
            chain = list(hierarchy.chain(code))
            if not hierarchy.children(code):
                chain.pop(0)  # else the code itself is below the inner value of its name
        above[code] = chain or [root]
    below: dict[str, list[int]] = {}
    for item, code in enumerate(codes):
        for value in above[code]:
            below.setdefault(value, []).append(item)
    below.setdefault(root, [])
    # of a chain of values with the same items the lowest stays, also where it holds all; the root stays always
    named: dict[tuple[int, ...], str] = {}
    for code in codes:
        for value in above[code]:
            leaves = tuple(below[value])
            if value != root and len(leaves) > 1:
                named.setdefault(leaves, value)
    inner = sorted(named, key=lambda leaves: (len(leaves), leaves))
    labels = [*codes, *(named[leaves] for leaves in inner), root]
    leaves_of = [*((item,) for item in range(len(codes))), *inner, tuple(range(len(codes)))]
    parent = [-1] * len(labels)
    last = list(range(len(codes)))  # topmost node so far above each item
    for node in range(len(codes), len(labels)):
        for item in leaves_of[node]:
            if parent[last[item]] < 0 and last[item] != node:
                parent[last[item]] = node
            last[item] = node
    return CodeTree(tuple(labels), tuple(parent), tuple(leaves_of))
