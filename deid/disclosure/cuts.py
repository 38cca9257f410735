"""Trees along which columns are cut or generalized: hierarchies, and halves of halves of ordered values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deid.base.arrays import FloatArray
from deid.disclosure.encoding import CodedColumn, HierarchyTree, Ints


@dataclass(frozen=True, eq=False)
class Cuts:
    """A hierarchy as cuts need it: what is below each node."""

    tree: HierarchyTree
    depths: Ints  # [depth + 1, codes] node above each code
    depth_of: Ints  # [nodes]
    place: Ints  # [nodes] number of the node among its parent's children
    loss: FloatArray  # [nodes]
    children: Ints  # all children, parent after parent
    first_child: Ints  # [nodes] where a node's children begin
    widest: int  # greatest number of children

    @classmethod
    def build(cls, tree: HierarchyTree) -> Cuts:
        """Return a hierarchy with the parent-and-child arrays that cuts walk along."""
        depths = tree.depths
        count = int(depths.max()) + 1
        depth_of = np.zeros(count, dtype=np.int32)
        parent = np.full(count, -1, dtype=np.int32)
        low = np.zeros(count, dtype=np.int32)
        high = np.zeros(count, dtype=np.int32)
        codes = np.arange(depths.shape[1], dtype=np.int32)
        for depth in range(len(depths) - 1, -1, -1):  # upwards: last is the least depth of a repeated leaf
            row = depths[depth]
            depth_of[row] = depth
            high[row] = codes  # ascending, so the last one stays
            low[row[::-1]] = codes[::-1]
            if depth:
                parent[row] = depths[depth - 1]
        parent[0] = -1
        order = np.lexsort((low, parent))
        order = order[parent[order] >= 0]
        first_child = np.searchsorted(parent[order], np.arange(count)).astype(np.int32)
        place = np.zeros(count, dtype=np.int32)
        place[order] = np.arange(len(order)) - first_child[parent[order]]
        return cls(
            tree,
            depths,
            depth_of,
            place,
            tree.loss[tree.common(low, high)],
            order.astype(np.int32),
            first_child,
            int(place.max(initial=0)) + 1,
        )

    def common(self, low: Ints, high: Ints) -> Ints:
        """Return the lowest node that covers each range of codes (both ends included), shape as ``low``."""
        return self.tree.common(low, high)


def halves(column: CodedColumn) -> Ints:
    """Return a binary tree over ordered codes: numbers are halved at the middle of their range, others by count.

    A missing value, the last code, is cut off first.

    Returns
    -------
    int32 array, shape (depth + 1, codes)
        Number of the node above each code at each depth, the root first; a single code repeats its node.
    """
    rows = [np.zeros(column.size, dtype=np.int32)]
    number = 1
    parts = [(0, column.size)]
    missing = column.size > 1 and column.values[-1] is None
    while any(end - begin > 1 for begin, end in parts):
        row = rows[-1].copy()
        smaller: list[tuple[int, int]] = []
        for begin, end in parts:
            if end - begin < 2:
                continue
            if missing and end == column.size:
                middle = end - 1
            elif column.numbers is not None:
                half = (column.numbers[begin] + column.numbers[end - 1]) / 2
                middle = begin + int(np.searchsorted(column.numbers[begin:end], half, side="right"))
                middle = min(max(middle, begin + 1), end - 1)
            else:
                middle = (begin + end) // 2
            for part in ((begin, middle), (middle, end)):
                row[slice(*part)] = number
                number += 1
                smaller.append(part)
        rows.append(row)
        parts = smaller
    return np.array(rows)
