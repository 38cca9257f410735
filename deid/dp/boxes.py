"""Partitions of a cube into boxes, each with one count that is spread over its cells.

Spreading is post-processing. ``even`` gives every cell of a box the same share. ``profile`` gives cells shares in
proportion to the product of the cube's one-way profiles, which are summed from the boxes themselves: boxes that are cut
at different places then sharpen one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import FloatArray, IntArray

_CHUNK = 1 << 22  # numbers held at a time


@dataclass(frozen=True, eq=False)
class Boxes:
    """Disjoint boxes that cover a cube.

    Parameters
    ----------
    shape : tuple of int
        Cells of each dimension.
    lows, highs : int64 arrays, shape (boxes, dimensions)
        First cell, and the cell after the last one.
    counts : float64 array, shape (boxes,)
        Estimated rows in each box.
    variances : float64 array, shape (boxes,)
        Variance of the noise in each count; draws of different boxes are independent.
    spread : str
        ``even`` or ``profile``.
    """

    shape: tuple[int, ...]
    lows: IntArray
    highs: IntArray
    counts: FloatArray
    variances: FloatArray
    spread: str = "even"

    def __len__(self) -> int:
        """Return the number of boxes."""
        return len(self.counts)

    def shares(self, axis: int) -> FloatArray:
        """Return the share of each box that lies in each cell of a dimension; shape (boxes, cells)."""
        places = np.arange(self.shape[axis])
        low, high = self.lows[:, axis, None], self.highs[:, axis, None]
        inside = (places >= low) & (places < high)
        shares = inside / (high - low)
        if self.spread == "profile":
            weights = inside * (np.maximum(self.counts, 0.0) @ shares)
            sums = weights.sum(axis=1, keepdims=True)
            shares = np.where(sums > 0, weights / np.where(sums > 0, sums, 1.0), shares)
        return np.asarray(shares)

    def aggregate(
        self, axes: Sequence[int], chosen: Sequence[IntArray | None], values: FloatArray, power: int = 1
    ) -> FloatArray:
        """Sum ``values`` of boxes over a slice, each box spread over its cells.

        Parameters
        ----------
        axes : sequence of int
            Dimensions of the result.
        chosen : sequence of int arrays or None
            For each dimension of the cube the cells that count, all by default.
        values : float array, shape (boxes,)
            What is summed.
        power : int
            Power of the boxes' shares: 1 for counts, 2 for variances of independent draws.

        Returns
        -------
        float array
            One dimension for each axis, as long as its chosen cells.
        """
        axes = list(axes)
        weights = values.astype(float)
        kept = []
        for axis in range(len(self.shape)):
            cells = chosen[axis]
            if axis in axes:
                share = self.shares(axis)
                kept.append((axes.index(axis), share if cells is None else share[:, cells]))
            elif cells is not None:
                weights = weights * self.shares(axis)[:, cells].sum(axis=1) ** power
        kept.sort(key=lambda entry: entry[0])
        tables = [table**power for _, table in kept]
        sizes = [table.shape[1] for table in tables]
        result = np.zeros(int(np.prod(sizes)))
        step = max(1, _CHUNK // max(1, result.size))
        for start in range(0, len(self), step):
            rows = slice(start, start + step)
            product = weights[rows, None]
            for table in tables[:-1]:
                product = (product[:, :, None] * table[rows, None, :]).reshape(len(product), -1)
            result += (product.T @ tables[-1][rows]).ravel() if tables else product.sum(axis=0)
        return result.reshape(sizes)


def simplex(values: FloatArray, total: float) -> FloatArray:
    """Return the nearest vector without negative entries whose sum is ``total`` (Held, Wolfe and Crowder 1974).

    Parameters
    ----------
    values : float array, shape (n,)
        Any numbers.
    total : float
        The sum; at most 0 gives zeros.
    """
    if total <= 0:
        return np.zeros_like(values)
    ordered = np.sort(values)[::-1]
    surplus = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    # the greatest value always stays; beside it a total of rounding is nothing
    last = max(np.flatnonzero(ordered > surplus), default=0)
    return np.maximum(values - surplus[last], 0.0)
