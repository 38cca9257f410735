"""The distribution of greatest entropy that has noisy tables, over a junction tree: made-up rows of many columns.

Tables tie columns; columns that are tied, and those that a cycle of tables makes hang together, are the cliques of a
tree (triangulation and message passing: Lauritzen and Spiegelhalter 1988). The model is fitted by regularized maximum
entropy (Dudik, Phillips and Schapire, "Performance guarantees for regularized maximum entropy density estimation",
2004): of all distributions p the one with the least

    sum over tables of |total p(table) - noisy table|^2 / (2 variance) + price * information of p over a base,

whose base is the columns by themselves. It has one parameter for each cell of a table, and its dual is smooth and
convex: the logarithm of the normalization, less the parameters times the noisy shares, plus a multiple of the squares
of the parameters. Without a price it is the graphical model of private-pgm (McKenna, Sheldon and Miklau,
"Graphical-model based estimation and inference for differential privacy", 2019); the price keeps it from noise.

Fitting uses published numbers alone: it is post-processing and costs no budget.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deid.base.arrays import FloatArray
from deid.dp.marginals import Axes, Marginal, along
from deid.dp.mixture import column_counts

WIDEST = 200_000
"""Cells of all cliques together up to which a tree is narrow: one pass of messages takes some milliseconds."""
_PRICE = 40.0  # of a nat of dependence; of a column by itself 1
_ROUNDS = 400
_TIED = 0.1  # of the pairs of columns
_TINY = 1e-12


@dataclass(frozen=True)
class JunctionTree:
    """Cliques, each with the one before it on which it hangs.

    Parameters
    ----------
    cliques : tuple of tuple of int
        Dimensions of each, ascending.
    parents : tuple of int
        Place of the clique that holds the shared dimensions, before it in ``cliques``; -1 where it shares none.
    """

    cliques: tuple[Axes, ...]
    parents: tuple[int, ...]

    @staticmethod
    def of(tables: Sequence[Axes], shape: Sequence[int]) -> JunctionTree:
        """Return the tree of columns that tables tie: columns are eliminated, the smallest clique first."""
        beside: dict[int, set[int]] = {axis: {axis} for axis in range(len(shape))}
        for axes in tables:
            for axis in axes:
                beside[axis] |= set(axes)
        found: list[Axes] = []
        while beside:
            axis = min(beside, key=lambda own: (math.prod(shape[other] for other in beside[own]), own))
            tied = beside.pop(axis)
            for other in tied - {axis}:
                beside[other] = (beside[other] | tied) - {axis}
            if not any(tied <= set(own) for own in found):
                found.append(tuple(sorted(tied)))
        order: list[Axes] = []
        parents: list[int] = []
        while found:  # each where it shares most with one before: the tree has the running intersection property
            shares = [(max((len({*own} & {*other}) for other in order), default=0), own) for own in found]
            most, clique = max(shares)
            found.remove(clique)
            places = [place for place, other in enumerate(order) if len({*clique} & {*other}) == most]
            parents.append(places[0] if most else -1)
            order.append(clique)
        return JunctionTree(tuple(order), tuple(parents))

    def cells(self, shape: Sequence[int]) -> int:
        """Return how many cells all cliques have together."""
        return sum(math.prod(shape[axis] for axis in clique) for clique in self.cliques)


def few(tied: int, columns: int) -> bool:
    """Say whether tables tie so few pairs of columns that rows are better drawn from a junction tree than a mixture.

    Where they tie more, a mixture is nearer, for columns that nothing ties by itself hang together through the others;
    with many columns and few tables its components do not suffice for what is tied strongly (docs/synthetic-data.md).
    """
    return tied <= _TIED * columns * (columns - 1) / 2


def narrow(tables: Sequence[Axes], shape: Sequence[int]) -> bool:
    """Say whether rows are drawn from a junction tree: `few` pairs tied, and at most `WIDEST` cells in its cliques."""
    tied = {pair for axes in tables for pair in itertools.combinations(sorted(axes), 2)}
    return few(len(tied), len(shape)) and JunctionTree.of(tables, shape).cells(shape) <= WIDEST


def staying_narrow(tables: Sequence[Axes], shape: Sequence[int], pairs: Sequence[Axes]) -> list[Axes]:
    """Return those of further pairs after any one of which the cliques still have at most `WIDEST` cells."""
    tree = JunctionTree.of(tables, shape)
    root = list(range(len(tree.cliques)))
    for place, parent in enumerate(tree.parents):
        root[place] = place if parent < 0 else root[parent]
    part = {axis: root[place] for place, clique in enumerate(tree.cliques) for axis in clique}
    held = Counter[int]()
    for place, clique in enumerate(tree.cliques):
        held[root[place]] += math.prod(shape[axis] for axis in clique)

    def after(pair: Axes) -> int:
        """Return the cells with a pair: the parts that it ties are laid out anew, and all else stays."""
        tied = {part[axis] for axis in pair}
        number = {axis: n for n, axis in enumerate(axis for axis in range(len(shape)) if part[axis] in tied)}
        own = [tuple(number[axis] for axis in axes) for axes in (*tables, pair) if part[axes[0]] in tied]
        sizes = [shape[axis] for axis in number]
        return held.total() - sum(held[one] for one in tied) + JunctionTree.of(own, sizes).cells(sizes)

    return [pair for pair in pairs if after(pair) <= WIDEST]


@dataclass(frozen=True, eq=False)
class GraphicalModel:
    """A distribution over the cells of a cube, as the tables of a junction tree.

    Parameters
    ----------
    tree : JunctionTree
        Which columns are looked at together.
    beliefs : tuple of float arrays
        The probabilities of the cells of each clique; cliques agree where they overlap.
    parameters : tuple of float arrays
        Of each table that it was fitted to, from which another fit may start.
    """

    tree: JunctionTree
    beliefs: tuple[FloatArray, ...]
    parameters: tuple[FloatArray, ...]

    def table(self, axes: Axes) -> FloatArray:
        """Return the probabilities over ``axes``, a dimension for each of them, in ascending order of the axes."""
        return _table(self.tree, self.beliefs, axes)


def _onto(values: FloatArray, axes: Axes, kept: Axes) -> FloatArray:
    return np.asarray(values.sum(axis=tuple(place for place, axis in enumerate(axes) if axis not in kept)))


def _shared(first: Axes, second: Axes) -> Axes:
    return tuple(axis for axis in first if axis in second)


def _table(tree: JunctionTree, beliefs: Sequence[FloatArray], axes: Axes) -> FloatArray:
    wanted = _between(tree, axes)
    held: Axes = ()
    joint: FloatArray = np.ones(())
    for step, place in enumerate(wanted):
        clique = tree.cliques[place]
        later = {*axes, *(axis for other in wanted[step + 1 :] for axis in tree.cliques[other])}
        kept = tuple(axis for axis in clique if axis in later or axis in held)
        belief, shared = _onto(beliefs[place], clique, kept), _shared(kept, held)
        given = belief / np.maximum(along(_onto(belief, kept, shared), shared, kept), _TINY)
        both = tuple(sorted({*held, *kept}))
        joint = along(joint, held, both) * along(given, kept, both)
        held, joint = _shared(both, tuple(later)), _onto(joint, both, tuple(later))
    return joint


def _between(tree: JunctionTree, axes: Axes) -> list[int]:
    """Return cliques that hold ``axes`` and those between them, each after the one on which it hangs."""
    for place, clique in enumerate(tree.cliques):
        if set(axes) <= set(clique):
            return [place]
    wanted: set[int] = set()
    for axis in axes:
        place = next(place for place, clique in enumerate(tree.cliques) if axis in clique)
        while place >= 0 and place not in wanted:
            wanted.add(place)
            place = tree.parents[place]
    while True:  # from above, what only one other hangs on is left out
        for place in sorted(wanted):
            below = [own for own in wanted if tree.parents[own] == place]
            alone = tree.parents[place] not in wanted and len(below) == 1
            if alone and {*axes} & {*tree.cliques[place]} <= {*tree.cliques[below[0]]}:
                wanted.remove(place)
                break
        else:
            return sorted(wanted)


@dataclass(frozen=True, eq=False)
class _Dual:
    """The function that is minimized, over the parameters of all tables."""

    tree: JunctionTree
    tables: Sequence[Marginal]
    home: tuple[int, ...]
    """The clique that holds each table."""
    base: tuple[FloatArray, ...]
    """The logarithms of what is held of the columns of each clique that no clique before it has."""
    weights: FloatArray
    """Of the squares of the parameters of each table."""
    total: float

    def unpack(self, point: FloatArray) -> list[FloatArray]:
        ends = np.cumsum([table.values.size for table in self.tables])[:-1]
        return [own.reshape(table.values.shape) for own, table in zip(np.split(point, ends), self.tables, strict=True)]

    def beliefs(self, parameters: Sequence[FloatArray]) -> tuple[list[FloatArray], float]:
        """Return the probabilities of each clique, and the logarithm of the normalization."""
        tree, potentials = self.tree, [own.copy() for own in self.base]
        for place, table, own in zip(self.home, self.tables, parameters, strict=True):
            potentials[place] += along(own, table.axes, tree.cliques[place])
        normal = 0.0
        sent: list[FloatArray] = [np.ones(())] * len(potentials)
        for place in range(len(potentials) - 1, -1, -1):
            clique, parent = tree.cliques[place], tree.parents[place]
            highest = potentials[place].max()
            potentials[place] = np.exp(potentials[place] - highest)
            normal += float(highest)
            if parent < 0:
                whole = float(potentials[place].sum())
                normal += math.log(whole)
                potentials[place] /= whole
            else:
                shared = _shared(clique, tree.cliques[parent])
                sent[place] = np.maximum(_onto(potentials[place], clique, shared), 1e-300)
                potentials[parent] += along(np.log(sent[place]), shared, tree.cliques[parent])
        for place, (clique, parent) in enumerate(zip(tree.cliques, tree.parents, strict=True)):
            if parent < 0:
                continue
            shared = _shared(clique, tree.cliques[parent])
            wanted = _onto(potentials[parent], tree.cliques[parent], shared)
            potentials[place] *= along(wanted / sent[place], shared, clique)
        return potentials, normal

    def __call__(self, point: FloatArray) -> tuple[float, FloatArray]:
        parameters = self.unpack(point)
        beliefs, value = self.beliefs(parameters)
        slopes = []
        for place, table, own, weight in zip(self.home, self.tables, parameters, self.weights, strict=True):
            noisy = table.values / self.total
            value += float(weight * (own**2).sum() / 2 - (own * noisy).sum())
            slopes.append((_onto(beliefs[place], self.tree.cliques[place], table.axes) - noisy + weight * own).ravel())
        return value, np.concatenate(slopes)


def fit_graphical(
    tables: Sequence[Marginal],
    shape: Sequence[int],
    *,
    total: float,
    rounds: int = _ROUNDS,
    start: Sequence[FloatArray] = (),
) -> GraphicalModel:
    """Fit the distribution of greatest entropy to noisy tables whose junction tree is narrow (`narrow`).

    Parameters
    ----------
    tables, shape, total
        As those of `deid.dp.mixture.fit_mixture`.
    rounds : int
        Most steps of the minimization (L-BFGS).
    start : sequence of float array
        Parameters of the first tables of an earlier fit.

    Returns
    -------
    GraphicalModel
        The same for the same numbers.
    """
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    sizes, total = tuple(shape), max(total, 1.0)
    tree = JunctionTree.of([own.axes for own in tables], sizes)
    home = tuple(
        next(place for place, clique in enumerate(tree.cliques) if set(own.axes) <= set(clique)) for own in tables
    )
    by_itself = column_counts(tables, sizes, total)
    base, seen = [], set[int]()
    for clique in tree.cliques:
        potential = np.zeros([sizes[axis] for axis in clique])
        for axis in set(clique) - seen:
            potential += along(np.log(by_itself[axis] / by_itself[axis].sum()), (axis,), clique)
        seen |= set(clique)
        base.append(potential)
    weights = np.array([(_PRICE if len(own.axes) > 1 else 1.0) * own.variance / total**2 for own in tables])
    dual = _Dual(tree, tables, home, tuple(base), weights, total)
    first = [np.zeros(own.values.shape) for own in tables]
    first[: len(start)] = start
    begun = dual.beliefs(first)[0]
    curved = [
        _onto(begun[place], tree.cliques[place], own.axes) + weight
        for place, own, weight in zip(home, tables, weights, strict=True)
    ]
    scale = 1 / np.sqrt(np.concatenate([own.ravel() for own in curved]))  # each parameter by its own curvature

    def scaled(point: FloatArray) -> tuple[float, FloatArray]:
        value, slope = dual(point * scale)
        return value, slope * scale

    with threadpool_limits(1):  # as for the mixture, matrices are small
        found: Any = minimize(
            scaled, np.concatenate([own.ravel() for own in first]) / scale, jac=True, method="L-BFGS-B",
            options={"maxiter": rounds, "ftol": 1e-12, "gtol": 1e-7},
        )  # fmt: skip
    parameters = dual.unpack(np.asarray(found.x) * scale)
    return GraphicalModel(tree, tuple(dual.beliefs(parameters)[0]), tuple(parameters))
