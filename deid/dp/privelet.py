"""Privelet: noise on Haar wavelet coefficients, for sums over ranges of ordered columns.

Xiao, Wang and Gehrke, "Differential privacy via wavelet transforms", 2010. Drawn cell by cell, a sum over a range of
length m has noise of variance O(m); drawn on wavelet coefficients it is O(log(m)**3). Ordered dimensions are
transformed, unordered ones are drawn as they are (the paper's Privelet+ with them in S_A).

The paper's weighted real coefficients are here their integer multiples: a coefficient is the sum of the left half
of a block less that of the right half, and the first is the total. Its weights then become one scale for all, one row
changes 1 + log2(m) coefficients of a dimension by 1 each, and the exact discrete Laplace can be used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.dp.noise import Noise


@dataclass(frozen=True)
class Wavelet:
    """Which dimensions are transformed.

    Parameters
    ----------
    shape : tuple of int
        Cells of each dimension.
    transformed : tuple of bool
        For each dimension, whether it is.
    """

    shape: tuple[int, ...]
    transformed: tuple[bool, ...]

    @property
    def padded(self) -> tuple[int, ...]:
        """Coefficients along each dimension: the next power of two where it is transformed."""
        return tuple(
            1 << (size - 1).bit_length() if own else size
            for size, own in zip(self.shape, self.transformed, strict=True)
        )

    @property
    def sensitivity(self) -> int:
        """Coefficients that one row changes by one each."""
        return math.prod(
            size.bit_length() if own else 1 for size, own in zip(self.padded, self.transformed, strict=True)
        )


def forward(values: IntArray, axis: int) -> IntArray:
    """Return total and half differences along an axis whose length is a power of two, coarse ones first; same shape."""
    rest = np.moveaxis(values, axis, 0)
    details = []
    while len(rest) > 1:
        details.append(rest[0::2] - rest[1::2])
        rest = rest[0::2] + rest[1::2]
    return np.moveaxis(np.concatenate([rest, *reversed(details)]), 0, axis)


def inverse(coefficients: FloatArray, axis: int) -> FloatArray:
    """Return the values along an axis whose total and half differences `forward` made; same shape."""
    values = np.moveaxis(coefficients, axis, 0)
    known = values[:1]
    while len(known) < len(values):
        detail = values[len(known) : 2 * len(known)]
        finer = np.empty((2 * len(known), *known.shape[1:]))
        finer[0::2], finer[1::2] = (known + detail) / 2, (known - detail) / 2
        known = finer
    return np.moveaxis(known, 0, axis)


def privelet(counts: IntArray, wavelet: Wavelet, epsilon: float, noise: Noise, *, distance: int = 1) -> FloatArray:
    """Return noisy cells whose sums over ranges have little noise.

    Parameters
    ----------
    counts : int64 array
        The cube.
    wavelet : Wavelet
        Which dimensions are transformed.
    epsilon, noise, distance
        Cost, source of noise, and rows between neighbours.

    Returns
    -------
    float64 array
        Noisy cells, of the shape of ``counts``; they may be negative.
    """
    padding = [(0, large - size) for size, large in zip(wavelet.shape, wavelet.padded, strict=True)]
    coefficients = np.pad(counts, padding)
    axes = [axis for axis, own in enumerate(wavelet.transformed) if own]
    for axis in axes:
        coefficients = forward(coefficients, axis)
    values = noise.discrete_laplace(coefficients, wavelet.sensitivity * distance, epsilon).astype(float)
    for axis in axes:
        values = inverse(values, axis)
    return values[tuple(map(slice, wavelet.shape))]


def _adjoint(weights: FloatArray) -> FloatArray:
    """Return the weights of coefficients in a weighted sum of the values that `inverse` makes of them."""
    details, rest = [], weights
    while len(rest) > 1:
        details.append((rest[0::2] - rest[1::2]) / 2)
        rest = (rest[0::2] + rest[1::2]) / 2
    return np.concatenate([rest, *reversed(details)])


def weight_sums(wavelet: Wavelet, chosen: Sequence[FloatArray]) -> tuple[float, float]:
    """Return the sums of squares and of fourth powers of the coefficients' weights in a product query.

    Parameters
    ----------
    wavelet : Wavelet
        Which dimensions are transformed.
    chosen : sequence of float arrays
        For each dimension the weight of each cell in the sum.
    """
    second = fourth = 1.0
    for weight, large, own in zip(chosen, wavelet.padded, wavelet.transformed, strict=True):
        used = np.pad(weight, (0, large - len(weight)))
        if own:
            used = _adjoint(used)
        second *= float((used**2).sum())
        fourth *= float((used**4).sum())
    return second, fourth
