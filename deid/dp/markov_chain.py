"""A Markov chain of sequences: the pairs of neighbouring periods, measured as tables that agree.

Each pair table costs a share of epsilon; the count of a prefix is the first pair's, continued by the shares of the
following ones. Where what comes next depends on the last value alone, this needs far fewer numbers than a tree. Where
it does not, no epsilon makes it right.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.dp.costs import Cost, draw, imitate, split_evenly, variance_of
from deid.dp.marginals import Axes, Marginal, fit
from deid.dp.noise import Noise

_REPLICATES = 100
_SEED = 20122  # of the bootstrap, which is post-processing


@dataclass(frozen=True, eq=False)
class MarkovChain:
    """Noisy tables of neighbouring periods; holds no true count.

    Parameters
    ----------
    symbols : int
        How many symbols there are.
    costs : tuple of Cost
        What each table was measured with.
    distance : int
        Rows between neighbours.
    noisy : tuple of float arrays, shape (symbols, symbols)
        As drawn; for sequences of length 1 one array of shape (symbols,).
    """

    symbols: int
    costs: tuple[Cost, ...]
    distance: int
    noisy: tuple[FloatArray, ...]

    @property
    def height(self) -> int:
        """The length of the sequences."""
        return len(self.noisy) + self.noisy[0].ndim - 1

    @property
    def _axes(self) -> list[Axes]:
        return [tuple(range(place, place + table.ndim)) for place, table in enumerate(self.noisy)]

    @functools.cached_property
    def tables(self) -> tuple[FloatArray, ...]:
        """The tables, made to agree and non-negative; of the shapes of ``noisy``."""
        return self._fit(self.noisy)

    def _fit(self, noisy: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
        measured = zip(self._axes, noisy, self.costs, strict=True)
        marginals = [Marginal(axes, table, variance_of(self.distance, own)) for axes, table, own in measured]
        fitted = fit(marginals, (self.symbols,) * self.height)
        return tuple(fitted[axes] for axes in self._axes)

    @functools.cached_property
    def replicates(self) -> tuple[tuple[FloatArray, ...], ...]:
        """Tables as they would come out if these were the truth (parametric bootstrap)."""
        generator = np.random.default_rng(_SEED)
        return tuple(
            self._fit(
                tuple(
                    table + imitate(generator, table.shape, self.distance, cost)
                    for table, cost in zip(self.tables, self.costs, strict=True)
                )
            )
            for _ in range(_REPLICATES)
        )


def measure_chain(codes: IntArray, symbols: int, cost: Cost, noise: Noise, *, distance: int = 1) -> MarkovChain:
    """Measure the pairs of neighbouring periods, each with the same share of a cost.

    Parameters
    ----------
    codes : int64 array, shape (sequences, length)
        The symbols of each sequence.
    symbols : int
        How many symbols there are.
    cost : Cost
        Of all tables together.
    noise, distance : Noise, int
        Source of noise, and rows between neighbours.

    Returns
    -------
    MarkovChain
        Noisy counts of the pairs, one table for each pair of neighbouring periods (of single symbols, where there is
        one period).
    """
    width = min(2, codes.shape[1])
    windows = codes.shape[1] - width + 1
    shares = split_evenly(cost, windows)
    noisy = []
    for start, share in enumerate(shares):
        cells = np.ravel_multi_index(tuple(codes[:, start : start + width].T), (symbols,) * width)
        counts = np.bincount(cells, minlength=symbols**width).reshape((symbols,) * width).astype(np.int64)
        noisy.append(draw(noise, counts, distance, share).astype(float))
    return MarkovChain(symbols, shares, distance, tuple(noisy))
