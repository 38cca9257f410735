"""Named marginals: measure each once, make them agree, make them non-negative.

Measuring is one discrete Laplace draw for every cell of every marginal: one row touches one cell of each, so marginals
with shares of epsilon that add up to epsilon cost epsilon.

Making them agree is generalized least squares onto the marginals of a common table. It has a closed form: a marginal
over attributes M splits into one component for each subset S of M (sum over the rest, centre along each attribute of
S), these components are uncorrelated under noise of equal variance, and the S-component that two marginals share may
be averaged with inverse-variance weights independently of all others (the decomposition of Xiao, He, Zhang and Kifer,
"An optimal and scalable matrix mechanism for noisy marginals", 2023). The variance of the S-component that comes from a
marginal M is its cell variance times the number of cells summed over.

Non-negativity is a projection in the same metric (Dykstra's alternating projections), with the total held at its least
squares estimate, so the total stays unbiased; empty cells get a positive and full cells a negative bias.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import FloatArray

Axes = tuple[int, ...]
"""Dimensions, by their place in the cube, ascending."""

_ROUNDS = 400
_TOLERANCE = 1e-3  # negative counts that remain before the last step removes them


@dataclass(frozen=True, eq=False)
class Marginal:
    """A marginal with independent noise of one variance on its cells."""

    axes: Axes
    values: FloatArray
    """One axis for each of ``axes``."""
    variance: float


def single_columns(tables: Sequence[Marginal], shape: Sequence[int]) -> dict[int, Marginal]:
    """Return what tables say of each column by itself: the mean by inverse variance; nothing of what no table holds."""
    found = {}
    for axis, size in enumerate(shape):
        counts, weights = np.zeros(size), 0.0
        for table in tables:
            if axis in table.axes:
                weight = size / (table.variance * table.values.size)
                counts += weight * _marginalize(table.values, table.axes, (axis,))
                weights += weight
        if weights:
            found[axis] = Marginal((axis,), counts / weights, 1 / weights)
    return found


def closure(tables: Sequence[Axes]) -> list[Axes]:
    """Return all subsets of the tables' axes, smaller ones first."""
    subsets = {
        subset for axes in tables for size in range(len(axes) + 1) for subset in itertools.combinations(axes, size)
    }
    return sorted(subsets, key=lambda subset: (len(subset), subset))


def _marginalize(values: FloatArray, axes: Axes, onto: Axes) -> FloatArray:
    return values.sum(axis=tuple(place for place, axis in enumerate(axes) if axis not in onto))


def _centred(values: FloatArray) -> FloatArray:
    for axis in range(values.ndim):
        values = values - values.mean(axis=axis, keepdims=True)
    return values


def along(values: FloatArray, axes: Axes, onto: Axes) -> FloatArray:
    """Give ``values`` axes of length 1 where ``onto`` has more."""
    lengths = iter(values.shape)
    return values.reshape([next(lengths) if axis in axes else 1 for axis in onto])


@dataclass(frozen=True, eq=False)
class Components:
    """The least squares estimate by subset of attributes; each part has a dimension for each attribute."""

    shape: tuple[int, ...]
    """Cells of each dimension of the cube."""
    parts: dict[Axes, FloatArray]

    def table(self, axes: Axes) -> FloatArray:
        """Return the marginal over ``axes``, which must be within a measured one; a dimension for each axis."""
        total = np.zeros([self.shape[axis] for axis in axes])
        for size in range(len(axes) + 1):
            for subset in itertools.combinations(axes, size):
                cells = math.prod(self.shape[axis] for axis in axes if axis not in subset)
                total += along(self.parts[subset], subset, axes) / cells
        return total


def _cells(shape: Sequence[int], axes: Axes, without: Axes) -> int:
    return math.prod(shape[axis] for axis in axes if axis not in without)


def least_squares(marginals: Sequence[Marginal], shape: Sequence[int], total: float | None = None) -> Components:
    """Reconcile marginals by inverse-variance least squares.

    Parameters
    ----------
    marginals : sequence of Marginal
        As measured.
    shape : sequence of int
        Cells of each dimension of the cube.
    total : float, optional
        A total to hold; otherwise it is estimated too.

    Returns
    -------
    Components
        Marginals drawn from it agree wherever they overlap.
    """
    sums: dict[Axes, FloatArray] = {}
    weights: dict[Axes, float] = {}
    for marginal in marginals:
        for subset in closure([marginal.axes]):
            weight = 1 / (marginal.variance * _cells(shape, marginal.axes, subset))
            sums[subset] = sums.get(subset, 0.0) + weight * _marginalize(marginal.values, marginal.axes, subset)
            weights[subset] = weights.get(subset, 0.0) + weight
    parts = {subset: _centred(own / weights[subset]) for subset, own in sums.items()}
    if total is not None and () in parts:
        parts[()] = np.asarray(float(total))
    return Components(tuple(shape), parts)


def query_weights(
    tables: Sequence[tuple[Axes, float]], shape: Sequence[int], axes: Axes, chosen: Sequence[FloatArray]
) -> tuple[float, float]:
    """Return variance and effective draws of a product query after `least_squares`.

    Parameters
    ----------
    tables : sequence of (axes, variance)
        The measured marginals.
    shape : sequence of int
        Cells of each dimension.
    axes : tuple of int
        The table that is asked.
    chosen : sequence of float arrays
        For each of ``axes`` the weight of each of its cells in the sum (1 where it is added, 0 where not).

    Returns
    -------
    (float, float)
        Variance of the answer's noise; and ``sum(v)**2 / sum(v**2)`` over the independent draws in it.
    """
    second = fourth = 0.0
    shares: dict[Axes, float] = {}
    for subset in closure([axes]):
        inside = [(measured, variance) for measured, variance in tables if set(subset) <= set(measured)]
        shares[subset] = sum(1 / (variance * _cells(shape, measured, subset)) for measured, variance in inside)
    for measured, variance in tables:
        weights = np.zeros([shape[axis] for axis in measured])
        for subset in closure([axes]):
            if not set(subset) <= set(measured):
                continue
            factor = 1 / (variance * _cells(shape, measured, subset)) / shares[subset]
            part: FloatArray = np.asarray(1.0)
            for axis, weight in zip(axes, chosen, strict=True):
                if axis in subset:
                    part = np.multiply.outer(part, weight - weight.mean())
                else:
                    factor *= float(weight.mean())
            weights += factor * along(part, subset, measured)
        second += variance * float((weights**2).sum())
        fourth += variance**2 * float((weights**4).sum())
    return second, second**2 / fourth if fourth else 1.0


def choose_cuboids(slices: Sequence[Axes], shape: Sequence[int]) -> tuple[Axes, ...]:
    """Choose which of the named slices to measure; the others are summed from them.

    A slice that lies within another one need not be measured: what it would cost goes to the others. Slices are left
    out one by one as long as the greatest variance over all named slices falls (the aim of Ding, Winslett, Han and Li
    2011, "Differentially private data cubes"; the variance is that after least squares). Looks at the domains alone.

    Parameters
    ----------
    slices : sequence of tuple of int
        Dimensions of each named slice.
    shape : sequence of int
        Cells of each dimension.

    Returns
    -------
    tuple of tuple of int
        Those to measure, in the order of ``slices``.
    """

    def worst(measured: Sequence[Axes]) -> float:
        # an equal share for each of n slices: the noise's variance grows with n squared
        tables = [(axes, float(len(measured) ** 2)) for axes in measured]
        greatest = 0.0
        for axes in slices:
            table = min((own for own in measured if set(axes) <= set(own)), key=lambda own: _cells(shape, own, ()))
            chosen = [np.arange(shape[axis]) == 0 if axis in axes else np.ones(shape[axis]) for axis in table]
            greatest = max(greatest, query_weights(tables, shape, table, chosen)[0])
        return greatest

    measured, current = list(slices), math.inf
    while True:
        inner = [axes for axes in measured if any(set(axes) < set(other) for other in measured)]
        if not inner:
            return tuple(measured)
        current = min(current, worst(measured))
        least, dropped = min((worst([own for own in measured if own != axes]), axes) for axes in inner)
        if least >= current:
            return tuple(measured)
        current = least
        measured.remove(dropped)


def nonnegative(components: Components, tables: Sequence[tuple[Axes, float]]) -> dict[Axes, FloatArray]:
    """Project reconciled marginals onto those without negative counts that still agree and keep the total.

    Parameters
    ----------
    components : Components
        The least squares estimate.
    tables : sequence of (axes, variance)
        The measured marginals, whose inverse variances are the metric.

    Returns
    -------
    dict of axes to float array
        One table for each measured marginal: none below 0, equal where they overlap, with the same total.
    """
    shape = components.shape
    total = max(float(components.parts[()]), 0.0)
    distinct = list(dict.fromkeys(axes for axes, _ in tables))
    precision = {axes: sum(1 / variance for own, variance in tables if own == axes) for axes in distinct}
    current = {axes: components.table(axes) for axes in distinct}
    excess = {axes: np.zeros_like(current[axes]) for axes in distinct}
    for _ in range(_ROUNDS):
        clipped = {}
        for axes in distinct:
            moved = current[axes] + excess[axes]
            clipped[axes] = np.maximum(moved, 0.0)
            excess[axes] = moved - clipped[axes]
        agreed = least_squares([Marginal(axes, clipped[axes], 1 / precision[axes]) for axes in distinct], shape, total)
        current = {axes: agreed.table(axes) for axes in distinct}
        if min(float(table.min()) for table in current.values()) > -_TOLERANCE:
            break
    # mixed with as little of the uniform table as takes the last negative counts away: both agree with themselves
    share = 0.0
    for axes in distinct:
        even, least = total / current[axes].size, float(current[axes].min())
        if least < 0:
            share = max(share, 1.0 if even <= 0 else -least / (even - least))
    return {
        axes: np.maximum((1 - share) * current[axes] + share * total / current[axes].size, 0.0) for axes in distinct
    }


def fit(marginals: Sequence[Marginal], shape: Sequence[int]) -> dict[Axes, FloatArray]:
    """Return the tables that fit measured ones best and are not negative, by their axes."""
    return nonnegative(least_squares(marginals, shape), [(own.axes, own.variance) for own in marginals])
