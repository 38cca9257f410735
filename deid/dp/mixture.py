"""A mixture of products, fitted to noisy tables: the distribution that made-up rows are drawn from.

Each row belongs to one of a few components, within which columns are independent. Such a model has a table over any
columns in closed form, so it can be fitted to any set of overlapping tables, of any number of columns, without ever
building the cube; and with few components it cannot follow the noise (latent structure analysis: Lazarsfeld and Henry
1968; fitting distributions to private answers by gradients: Aydore and others, "Differentially private query release
through adaptive projection", 2021; Liu, Vietri and Wu, "Iterative methods for private synthetic data", 2021).

What is minimized is the squared distance between its tables and the noisy ones, each in the measure of its own noise,
plus a price for dependence: the information, in nats, that the component has about the columns. Without noise the price
is nothing; where noise is strong the columns of rows stay independent rather than being tied by chance.

Fitting uses published numbers alone: it is post-processing and costs no budget.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.dp.marginals import Axes, Marginal, single_columns

_COMPONENTS = 50
_PRICE = 40.0  # of a nat of dependence, in log likelihood; measured on Adult, see docs/synthetic-data.md
_WORK = 4e9  # multiplications, a few seconds: larger tables get fewer rounds
_ROUNDS = 400
_STARTS = 3
_LEAST_ROUNDS = 20
_SPREAD = 0.5  # of the random start, in log odds
_SEED = 1968
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Mixture:
    """A distribution over the cells of a cube.

    Parameters
    ----------
    weights : float array, shape (components,)
        Share of rows of each component.
    columns : tuple of float arrays, each of shape (cells, components)
        For each dimension the distribution over its cells within each component.
    """

    weights: FloatArray
    columns: tuple[FloatArray, ...]

    def table(self, axes: Axes) -> FloatArray:
        """Return the probabilities over ``axes``, a dimension for each of them."""
        half = _halves(axes, [len(own) for own in self.columns])
        first, second = (_products([self.columns[axis] for axis in part]) for part in (axes[:half], axes[half:]))
        return np.asarray((first * self.weights) @ second.T).reshape([len(self.columns[axis]) for axis in axes])

    def draw(self, rows: int, generator: np.random.Generator) -> dict[int, IntArray]:
        """Draw the cells of rows: components and cells as often as they are probable, up to rounding.

        Returns
        -------
        dict of int to int64 array
            For each dimension the cell of each row.
        """
        component = apportion(self.weights, rows, generator)
        return {axis: apportion_groups(component, own.T, generator) for axis, own in enumerate(self.columns)}


def apportion(weights: FloatArray, rows: int, generator: np.random.Generator) -> IntArray:
    """Draw a place for each of ``rows``, each place as often as its weight says, up to rounding; in random order."""
    weights = np.maximum(weights, 0.0)
    if weights.sum() <= 0:
        weights = np.ones_like(weights)
    edges = np.cumsum(weights) / weights.sum()
    points = (generator.random() + np.arange(rows)) / max(rows, 1)
    return generator.permutation(np.searchsorted(edges, points, "right").clip(0, len(weights) - 1)).astype(np.int64)


def apportion_groups(groups: IntArray, weights: FloatArray, generator: np.random.Generator) -> IntArray:
    """Draw a place for each row by the weights of its group; ``weights`` has shape (groups, places)."""
    drawn = np.zeros(len(groups), np.int64)
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(len(weights) + 1))
    for group in np.unique(groups):
        rows = order[starts[group] : starts[group + 1]]
        drawn[rows] = apportion(weights[group], len(rows), generator)
    return drawn


def _halves(axes: Axes, sizes: Sequence[int]) -> int:
    """Return after how many axes to cut a table into two factors of similar size."""
    products = list(itertools.accumulate((sizes[axis] for axis in axes), operator.mul, initial=1))
    return min(range(len(products)), key=lambda cut: products[cut] + products[-1] // products[cut])


def _products(parts: Sequence[FloatArray]) -> FloatArray:
    """Return the products of columns within each component: shape (cells of all parts, components)."""
    if not parts:
        return np.ones((1, 1))
    result = parts[0]
    for own in parts[1:]:
        result = (result[:, None, :] * own[None, :, :]).reshape(-1, own.shape[1])
    return result


def _pull_back(gradient: FloatArray, parts: Sequence[FloatArray]) -> list[FloatArray]:
    """Return the gradients of each of the parts, given that of `_products` of them."""
    if len(parts) < 2:
        return [gradient] * len(parts)
    rest = _products(parts[:-1])
    cube = gradient.reshape(len(rest), len(parts[-1]), -1)
    last = np.asarray((cube * rest[:, None, :]).sum(axis=0))
    return [*_pull_back(np.asarray((cube * parts[-1][None, :, :]).sum(axis=1)), parts[:-1]), last]


@dataclass(frozen=True, eq=False)
class _Task:
    """The function that is minimized, over logarithms of weights and of columns."""

    tables: Sequence[Marginal]
    sizes: tuple[int, ...]
    total: float
    components: int

    def unpack(self, point: FloatArray) -> Mixture:
        weights = _softmax(point[: self.components])
        columns = np.split(point[self.components :].reshape(-1, self.components), np.cumsum(self.sizes)[:-1])
        return Mixture(weights, tuple(_softmax(own) for own in columns))

    def __call__(self, point: FloatArray) -> tuple[float, FloatArray]:
        mixture, total = self.unpack(point), self.total
        for_weights = np.zeros(self.components)
        for_columns = [np.zeros_like(own) for own in mixture.columns]
        loss = 0.0
        for table in self.tables:
            axes = table.axes
            half = _halves(axes, self.sizes)
            parts = [[mixture.columns[axis] for axis in part] for part in (axes[:half], axes[half:])]
            first, second = map(_products, parts)
            weighted = first * mixture.weights
            residual = total * (weighted @ second.T) - table.values.reshape(len(first), -1)
            loss += float((residual**2).sum()) / (2 * table.variance)
            slope = residual * (total / table.variance)
            inner = slope @ second
            for_weights += (first * inner).sum(axis=0)
            pulled = [*_pull_back(inner * mixture.weights, parts[0]), *_pull_back(slope.T @ weighted, parts[1])]
            for axis, own in zip(axes, pulled, strict=True):
                for_columns[axis] += own
        for axis, own in enumerate(mixture.columns):
            # relative entropy of each component's column to that of all rows; what the latter changes cancels
            ratio = np.log(np.maximum(own, _TINY) / np.maximum(own @ mixture.weights, _TINY)[:, None])
            apart = (own * ratio).sum(axis=0)
            loss += _PRICE * float(mixture.weights @ apart)
            for_weights += _PRICE * apart
            for_columns[axis] += _PRICE * mixture.weights * ratio
        slopes = [mixture.weights * (for_weights - mixture.weights @ for_weights)]
        slopes += [
            (own * (slope - (own * slope).sum(axis=0))).ravel()
            for own, slope in zip(mixture.columns, for_columns, strict=True)
        ]
        scale = min(table.variance for table in self.tables) / total
        return loss * scale, np.concatenate(slopes) * scale


def _softmax(logarithms: FloatArray) -> FloatArray:
    powers = np.exp(logarithms - logarithms.max(axis=0))
    return np.asarray(powers / powers.sum(axis=0))


def column_counts(tables: Sequence[Marginal], sizes: Sequence[int], total: float) -> list[FloatArray]:
    """Return what tables say on average of each column by itself: counts above 0; even ones of what no table holds."""
    singles = single_columns(tables, sizes)
    even = [np.full(size, total / size) for size in sizes]
    means = [singles[axis].values if axis in singles else own for axis, own in enumerate(even)]
    return [np.maximum(mean, 1e-3 * own) for mean, own in zip(means, even, strict=True)]


def _start(task: _Task, which: int) -> FloatArray:
    """Return where fitting starts: columns by themselves, as the tables say on average, each component a bit apart."""
    generator = np.random.default_rng([_SEED, which])
    components = task.components
    logarithms = np.log(np.concatenate(column_counts(task.tables, task.sizes, task.total)))
    columns = logarithms[:, None] + _SPREAD * generator.normal(size=(sum(task.sizes), components))
    return np.concatenate([np.zeros(components), columns.ravel()])


def fit_mixture(
    tables: Sequence[Marginal],
    shape: Sequence[int],
    *,
    total: float,
    rounds: int = _ROUNDS,
    starts: int = _STARTS,
) -> Mixture:
    """Fit a mixture to noisy tables: the mean of several fits, which differ in where they start and in what noise they
    follow.

    Tables may have been reconciled by least squares (`deid.dp.marginals.least_squares`): the squared distance to these
    and that to the measured ones differ by a constant.

    Parameters
    ----------
    tables : sequence of Marginal
        Noisy tables, which may have negative counts, with the variance of the noise of their cells.
    shape : sequence of int
        Cells of each dimension of the cube; one that no table holds comes out even.
    total : float
        Number of rows, as published; at least 1 is taken.
    rounds : int
        Most steps of the minimization (L-BFGS); very large tables get fewer.
    starts : int
        How many fits.

    Returns
    -------
    Mixture
        The same for the same numbers.
    """
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    sizes = tuple(shape)
    components = min(_COMPONENTS, math.prod(sizes))  # as many as there are cells can show any distribution
    task = _Task(tables, sizes, max(total, 1.0), components)
    work = 6.0 * components * starts * sum(table.values.size for table in tables)
    affordable = max(min(rounds, int(_WORK / max(work, 1.0))), min(rounds, _LEAST_ROUNDS))
    fits = []
    with threadpool_limits(1):  # the matrices are small: threads wait for one another ten times as long as they work
        for which in range(starts):
            found: Any = minimize(
                task, _start(task, which), jac=True, method="L-BFGS-B", options={"maxiter": affordable}
            )
            fits.append(task.unpack(np.asarray(found.x)))
    weights = np.concatenate([own.weights for own in fits]) / starts
    return Mixture(
        weights, tuple(np.concatenate([own.columns[axis] for own in fits], axis=1) for axis in range(len(sizes)))
    )
