"""What noise is taken off tables before a model of rows is fitted to them.

A table is a sum of waves over its cells (discrete cosines): over a column whose cells have an order, slow ones are what
neighbours share; over another column all waves but the constant one are alike. Waves are shrunk in blocks, within each
of which a column's frequency at most doubles, by the share of the block's energy that noise cannot explain (James and
Stein 1961; in blocks: Efromovich and Pinsker, "A self-training algorithm of nonparametric filtering", 1984; Cai,
"Adaptive wavelet estimation: a block thresholding and oracle inequality approach", 1999). A block that holds no more
than noise would is gone: of ages by the year, little but their slow waves is left where epsilon is small.

Single columns are shrunk towards even counts, as all tables together say them. Of a table of several columns it is what
the product of these does not say, and of that the fast waves alone: the models price the rest themselves.

It costs no budget, and what it returns is nearer to the truth in the mean, but no longer unbiased: it is for made-up
rows, never for the counts of a release.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from deid.base.arrays import FloatArray
from deid.dp.boxes import simplex
from deid.dp.marginals import Marginal, single_columns

_FAST = 8
"""Half waves over a column from which on those of tables of several columns are shrunk: of 0, 4 and 8, chosen on Adult
and a registry (docs/synthetic-data.md)."""


def _blocks(size: int, in_order: bool) -> list[slice]:
    """Return the waves over a column that are shrunk together: the constant one, then frequencies that double."""
    doubling = itertools.takewhile(lambda at: at < size, (2**power for power in itertools.count()))
    edges = [0, *(doubling if in_order else [1][: size - 1]), size]
    return [slice(start, end) for start, end in itertools.pairwise(edges)]


def _shrink(values: FloatArray, in_order: Sequence[int], variance: float, fast: int) -> FloatArray:
    """Return values with the waves from ``fast`` half waves on shrunk; cells behind those in order stay as they are."""
    from scipy.fft import dctn, idctn

    within = tuple(slice(cells or None) for cells in in_order)
    waves = dctn(values[within], norm="ortho")
    for block in itertools.product(*map(_blocks, waves.shape, map(bool, in_order))):
        if max(own.start for own in block) >= fast:
            energy, noise = float((waves[block] ** 2).sum()), waves[block].size * variance
            waves[block] *= max(0.0, 1 - noise / energy) if energy > 0 else 0.0
    result = values.copy()
    result[within] = idctn(waves, norm="ortho")
    return result


def shrink_tables(
    tables: Sequence[Marginal], shape: Sequence[int], in_order: Sequence[int], *, total: float
) -> list[Marginal]:
    """Take noise off tables that made-up rows are to have.

    Parameters
    ----------
    tables : sequence of Marginal
        Noisy tables.
    shape : sequence of int
        Cells of each dimension of the cube.
    in_order : sequence of int
        How many cells of each dimension, its first ones, follow one another as their values do; 0 where none do.
    total : float
        Number of rows, as published; at least 1 is taken.

    Returns
    -------
    list of Marginal
        As many, over the same dimensions; single columns have no negative count and add up to the total.
    """
    total = max(total, 1.0)
    singles = {
        axis: simplex(_shrink(own.values, (in_order[axis],), own.variance, 1), total)
        for axis, own in single_columns(tables, shape).items()
    }
    found = []
    for table in tables:
        if len(table.axes) == 1:
            values = singles[table.axes[0]]
        else:
            product = total * functools.reduce(np.multiply.outer, [singles[axis] / total for axis in table.axes])
            order = [in_order[axis] for axis in table.axes]
            values = product + _shrink(table.values - product, order, table.variance, _FAST)
        found.append(Marginal(table.axes, values, table.variance))
    return found
