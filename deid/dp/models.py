"""What a release holds, and how it answers: measured tables, wavelet cells, boxes, or a forest.

All answer the same question: a table over some dimensions, with conditions on any, as counts with the ends of an
interval. Intervals speak of the noise. What a model gets wrong by itself (cells of a box that are not alike, dependence
that a forest cannot show) is in no interval; `caveat` says so.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deid.base.arrays import FloatArray, IntArray
from deid.base.errors import ConfigError
from deid.dp.boxes import Boxes
from deid.dp.costs import Cost, Rho, imitate, laplace_draws, variance_of
from deid.dp.forest import Forest, fit_forest
from deid.dp.intervals import discrete_half_width, half_width, standard_half_width
from deid.dp.marginals import Axes, query_weights
from deid.dp.nested import Nesting
from deid.dp.noise import laplace_scale, laplace_variance
from deid.dp.privelet import Wavelet, weight_sums

Chosen = Sequence[IntArray | None]
"""For each dimension of the cube the cells that count; None for all."""

_REPLICATES = 100
_SEED = 20121  # of the bootstrap, which is post-processing: it must be repeatable, not secret


class IntervalTable(NamedTuple):
    """A table with the ends of its intervals: float64 arrays of one shape, a dimension for each axis of the slice."""

    counts: FloatArray
    lower: FloatArray
    upper: FloatArray


class Moments(NamedTuple):
    """What is known of a table's numbers and their noise; float64 arrays of one shape, as those of `IntervalTable`."""

    counts: FloatArray
    unbiased: FloatArray
    """The counts before they were made non-negative."""
    variance: FloatArray
    """Of the noise of each."""
    draws: FloatArray
    """How many Laplace draws it is like (`deid.dp.intervals.half_width`)."""

    @classmethod
    def of(cls, counts: FloatArray, unbiased: FloatArray, variance: npt.ArrayLike, draws: npt.ArrayLike) -> Moments:
        """Return moments whose variance and draws may be one number for all."""
        whole = (np.array(np.broadcast_to(np.asarray(own, float), counts.shape)) for own in (variance, draws))
        return cls(counts, unbiased, *whole)

    def interval(self, level: float) -> IntervalTable:
        """Return the intervals of the noise."""
        half = half_width(self.variance, self.draws, level)
        return _between(self.counts, self.unbiased - half, self.unbiased + half)


@dataclass(frozen=True, eq=False)
class MarginalTable:
    """A measured marginal; its arrays have a dimension for each of ``axes``."""

    axes: Axes
    unbiased: FloatArray
    """The estimate that intervals are built around."""
    counts: FloatArray
    """What is shown: the same, or its projection onto non-negative counts."""
    cost: Cost
    """What it cost."""

    def variance(self, distance: int) -> float:
        """Return the variance of the noise of its cells, with that many rows between neighbours."""
        return variance_of(distance, self.cost)


def clamp_bias(distance: int, epsilon: float) -> float:
    """Return what clamping adds to an empty cell on average: alpha / (1 - alpha**2)."""
    alpha = math.exp(-1 / laplace_scale(distance, epsilon))
    return alpha / (1 - alpha**2)


def _between(counts: FloatArray, lower: FloatArray, upper: FloatArray) -> IntervalTable:
    """Use that counts are not negative, and never leave the shown count outside its interval."""
    lower, upper = np.maximum(lower, 0.0), np.maximum(upper, 0.0)
    return IntervalTable(counts, np.minimum(lower, counts), np.maximum(upper, counts))


def _cuboid(values: FloatArray, held: Axes, axes: Axes) -> FloatArray:
    """Sum out what is not asked, and put the rest in the asked order."""
    out = tuple(place for place, axis in enumerate(held) if axis not in axes)
    left = [axis for axis in held if axis in axes]
    return values.sum(axis=out).transpose([left.index(axis) for axis in axes])


def _chosen_cuboid(values: FloatArray, held: Axes, axes: Axes, chosen: Chosen) -> FloatArray:
    """Return `_cuboid` of the chosen cells alone; ``values`` may have some dimensions of the cube, ``held``."""
    for place, axis in enumerate(held):
        cells = chosen[axis]
        if cells is not None:
            values = np.take(values, cells, axis=place)
    return _cuboid(values, held, axes)


@dataclass(frozen=True, eq=False)
class TableModel:
    """Measured tables; answers what can be summed from one of them.

    Parameters
    ----------
    shape : tuple of int
        Cells of each dimension.
    tables : tuple of MarginalTable
        The tables; several have been reconciled and agree where they overlap.
    distance : int
        Rows between neighbours.
    clamped : bool
        Whether negative cells were set to 0 one by one, which adds to sums.
    """

    shape: tuple[int, ...]
    tables: tuple[MarginalTable, ...]
    distance: int
    clamped: bool = False

    @property
    def caveat(self) -> str:
        """What intervals leave out."""
        if self.clamped:
            return "negative cells were set to 0: sums are too high by up to the bias of clamping in every empty cell"
        return ""

    def _covering(self, axes: set[int]) -> MarginalTable:
        fitting = [table for table in self.tables if axes <= set(table.axes)]
        if not fitting:
            raise ConfigError(
                "the release holds no marginal over these dimensions",
                "name this slice before the release, or release by a method that models the whole cube",
            )
        return min(fitting, key=lambda table: table.counts.size)

    def counts(self, axes: Axes) -> FloatArray:
        """Return the counts over ``axes`` without intervals; a dimension for each axis, errors as those of `answer`."""
        table = self._covering(set(axes))
        return _cuboid(table.counts, table.axes, axes)

    def answer(self, axes: Axes, chosen: Chosen, level: float) -> IntervalTable:
        """Return a slice with intervals.

        Parameters
        ----------
        axes : tuple of int
            Dimensions of the answer, ascending.
        chosen : sequence of int64 array or None
            For each dimension of the cube the cells that count; None for all.
        level : float
            Level of the intervals, 0 to 1.

        Returns
        -------
        Answer
            One dimension for each axis, as long as its chosen cells.

        Raises
        ------
        ConfigError
            When the release holds no marginal over these dimensions.
        """
        table = self._covering({*axes, *(axis for axis, cells in enumerate(chosen) if cells is not None)})
        counts, unbiased = (_chosen_cuboid(own, table.axes, axes, chosen) for own in (table.counts, table.unbiased))
        half, summed = self._half_width(table, axes, chosen, level)
        bias = clamp_bias(self.distance, table.cost) if self.clamped and not isinstance(table.cost, Rho) else 0.0
        surplus = summed * bias
        return _between(counts, unbiased - half - surplus, unbiased + half)

    def moments(self, axes: Axes, chosen: Chosen) -> Moments:
        """Return a slice as it was measured, with the variance of its noise; arguments and errors as those of `answer`.

        Raises
        ------
        ConfigError
            Also when negative cells were set to 0, after which nothing is known of the noise of sums.
        """
        if self.clamped:
            raise ConfigError("negative cells were set to 0 one by one", "release by another method than cells-clamped")
        table = self._covering({*axes, *(axis for axis, cells in enumerate(chosen) if cells is not None)})
        counts, unbiased = (_chosen_cuboid(own, table.axes, axes, chosen) for own in (table.counts, table.unbiased))
        return Moments.of(counts, unbiased, *self._spread(table, axes, chosen))

    def _spread(self, table: MarginalTable, axes: Axes, chosen: Chosen) -> tuple[float, float]:
        """Return the variance of the noise of each number of a slice, and how many draws it is like."""
        measured = [(own.axes, own.variance(self.distance)) for own in self.tables]
        variance, draws = query_weights(measured, self.shape, table.axes, _query(self.shape, axes, table.axes, chosen))
        return float(variance), float(draws * laplace_draws(table.cost))

    def _half_width(self, table: MarginalTable, axes: Axes, chosen: Chosen, level: float) -> tuple[float, int]:
        weights = _query(self.shape, axes, table.axes, chosen)
        summed = round(math.prod(float(weight.sum()) for weight in weights))
        if len(self.tables) == 1 and not isinstance(table.cost, Rho):
            return discrete_half_width(self.distance, table.cost, summed, level), summed
        variance, draws = self._spread(table, axes, chosen)
        if isinstance(table.cost, Rho):  # sums of Gaussian draws are Gaussian, but for half a step of whole numbers
            return standard_half_width(math.inf, level) * math.sqrt(variance) + 0.5, summed
        return float(half_width(variance, draws, level)), summed


def _query(shape: Sequence[int], asked: Axes, held: Axes, chosen: Chosen) -> list[FloatArray]:
    """Return the weights of cells in one number of a slice, for each held dimension.

    All numbers along an asked dimension are taken to have the same noise: the first chosen cell stands for all.
    """
    weights = []
    for axis in held:
        weight = np.zeros(shape[axis])
        cells = chosen[axis]
        if axis in asked:
            weight[0] = 1.0
        else:
            weight[slice(None) if cells is None else cells] = 1.0
        weights.append(weight)
    return weights


class _ByMoments:
    """A model whose intervals follow from the variance of its noise."""

    def moments(self, axes: Axes, chosen: Chosen) -> Moments:
        """Return a slice with the variance of its noise; arguments as those of `TableModel.answer`."""
        raise NotImplementedError

    def answer(self, axes: Axes, chosen: Chosen, level: float) -> IntervalTable:
        """Return a slice with intervals; arguments as those of `TableModel.answer`."""
        return self.moments(axes, chosen).interval(level)


@dataclass(frozen=True, eq=False)
class WaveletModel(_ByMoments):
    """Cells whose noise was drawn on wavelet coefficients; answers every slice.

    Parameters
    ----------
    wavelet : Wavelet
        Which dimensions were transformed.
    cells : float64 array
        Noisy cells, of the cube's shape.
    epsilon : float
        What they cost.
    distance : int
        Rows between neighbours.
    """

    wavelet: Wavelet
    cells: FloatArray
    epsilon: float
    distance: int
    caveat = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of each dimension."""
        return self.wavelet.shape

    @property
    def tables(self) -> tuple[MarginalTable, ...]:
        """The cells as one table over all dimensions."""
        return (MarginalTable(tuple(range(self.cells.ndim)), self.cells, self.cells, self.epsilon),)

    def counts(self, axes: Axes) -> FloatArray:
        """Return the counts over ``axes`` without intervals; a dimension for each axis."""
        return _cuboid(self.cells, tuple(range(self.cells.ndim)), axes)

    def moments(self, axes: Axes, chosen: Chosen) -> Moments:
        """Return a slice with the variance of its noise; arguments as those of `TableModel.answer`."""
        every = tuple(range(self.cells.ndim))
        counts = _chosen_cuboid(self.cells, every, axes, chosen)
        # single cells of a transformed dimension have the same weights up to signs, so one stands for all
        second, fourth = weight_sums(self.wavelet, _query(self.shape, axes, every, chosen))
        sensitivity = self.wavelet.sensitivity * self.distance
        variance = second * laplace_variance(sensitivity, self.epsilon)
        return Moments.of(counts, counts, variance, second**2 / fourth)


@dataclass(frozen=True, eq=False)
class NestedModel(_ByMoments):
    """Cells of which some dimensions lie in outer levels, all of which were measured; answers every slice.

    Parameters
    ----------
    axes : tuple of int
        The dimensions whose cells lie in one another.
    nesting : Nesting
        How; cells of several dimensions are in the order of the first one's, then the next.
    unbiased, shown : float64 array
        Cells of the cube's shape that agree with all levels, before and after they were made non-negative.
    costs : tuple of Cost
        What each level cost, the total first.
    distance : int
        Rows between neighbours.
    """

    axes: Axes
    nesting: Nesting
    unbiased: FloatArray
    shown: FloatArray
    costs: tuple[Cost, ...]
    distance: int
    caveat = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of each dimension."""
        return self.shown.shape

    @property
    def tables(self) -> tuple[MarginalTable, ...]:
        """The cells as one table over all dimensions."""
        return (MarginalTable(tuple(range(self.shown.ndim)), self.unbiased, self.shown, self.costs[-1]),)

    def counts(self, axes: Axes) -> FloatArray:
        """Return the counts over ``axes`` without intervals; a dimension for each axis."""
        return _cuboid(self.shown, tuple(range(self.shown.ndim)), axes)

    def moments(self, axes: Axes, chosen: Chosen) -> Moments:
        """Return a slice with the variance of its noise; arguments as those of `TableModel.answer`."""
        every = tuple(range(self.shown.ndim))
        counts, unbiased = (_chosen_cuboid(own, every, axes, chosen) for own in (self.shown, self.unbiased))
        variances = [variance_of(self.distance, own) for own in self.costs]
        sizes = [self.shape[axis] if (own := chosen[axis]) is None else len(own) for axis in every]
        summed = math.prod(size for axis, size in enumerate(sizes) if axis not in axes and axis not in self.axes)
        asked = [axis for axis in self.axes if axis in axes]
        wanted = [np.arange(self.shape[axis]) if (own := chosen[axis]) is None else own for axis in self.axes]
        whole = [self.shape[axis] for axis in self.axes]
        if len(asked) == len(self.axes):
            single = self.nesting.cell_variances(variances).reshape(whole)[np.ix_(*wanted)]
        else:  # each number adds up cells of its own
            parts = [
                list(own[:, None]) if axis in asked else [own] for axis, own in zip(self.axes, wanted, strict=True)
            ]
            found = []
            for cells in itertools.product(*parts):
                weights = np.zeros(whole)
                weights[np.ix_(*cells)] = 1.0
                found.append(self.nesting.variance(weights.ravel(), variances))
            single = np.array(found).reshape([len(wanted[self.axes.index(axis)]) for axis in asked])
        # the dimensions of ``single`` are those of ``asked``, ascending; the slice's stand in its own order
        order = np.argsort([axes.index(axis) for axis in asked], kind="stable")
        own_shape = [counts.shape[place] if axis in asked else 1 for place, axis in enumerate(axes)]
        variance = single.transpose(order).reshape(own_shape)
        return Moments.of(counts, unbiased, variance * summed, laplace_draws(self.costs[-1]))


@dataclass(frozen=True, eq=False)
class BoxModel(_ByMoments):
    """Boxes with counts; answers every slice.

    Parameters
    ----------
    boxes : Boxes
        With the counts that are shown.
    unbiased : float64 array, shape (boxes,)
        The counts as drawn, which intervals are built around.
    """

    boxes: Boxes
    unbiased: FloatArray
    caveat = "intervals cover the noise of the boxes' counts, not that the cells of a box may differ"

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of each dimension."""
        return self.boxes.shape

    def counts(self, axes: Axes) -> FloatArray:
        """Return the counts over ``axes`` without intervals; a dimension for each axis."""
        return self.boxes.aggregate(axes, [None] * len(self.shape), self.boxes.counts)

    def moments(self, axes: Axes, chosen: Chosen) -> Moments:
        """Return a slice with the variance of its noise; arguments as those of `TableModel.answer`."""
        counts = self.boxes.aggregate(axes, chosen, self.boxes.counts)
        unbiased = self.boxes.aggregate(axes, chosen, self.unbiased)
        variance = self.boxes.aggregate(axes, chosen, self.boxes.variances, 2)
        fourth = self.boxes.aggregate(axes, chosen, self.boxes.variances**2, 4)
        return Moments.of(counts, unbiased, variance, variance**2 / np.maximum(fourth, 1e-300))


@dataclass(frozen=True, eq=False)
class ForestModel:
    """A forest of marginals; answers every slice.

    Parameters
    ----------
    forest : Forest
        The model that is shown.
    costs : mapping of axes to Cost
        What each table was measured with.
    distance : int
        Rows between neighbours.
    """

    forest: Forest
    costs: Mapping[Axes, Cost]
    distance: int
    caveat = "intervals cover noise (bootstrap), not dependence that the forest leaves out"

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of each dimension."""
        return self.forest.shape

    @property
    def tables(self) -> tuple[MarginalTable, ...]:
        """The tables of the forest, single columns first; nothing unbiased is left of them."""
        return tuple(MarginalTable(axes, own, own, self.costs[axes]) for axes, own in self.forest.tables.items())

    def counts(self, axes: Axes) -> FloatArray:
        """Return the counts over ``axes`` without intervals; a dimension for each axis."""
        return self.forest.aggregate(axes, [None] * len(self.shape))

    @functools.cached_property
    def _replicates(self) -> list[Forest]:
        """Forests as they would come out if this one were the truth."""
        generator = np.random.default_rng(_SEED)
        replicates = []
        for _ in range(_REPLICATES):
            measured = []
            for pair, table in self.forest.tables.items():
                cost = self.costs[pair]
                measured.append((pair, table + imitate(generator, table.shape, self.distance, cost), cost))
            replicates.append(fit_forest(measured, self.shape, self.distance))
        return replicates

    def answer(self, axes: Axes, chosen: Chosen, level: float) -> IntervalTable:
        """Return a slice, with intervals from a parametric bootstrap of the noise; see `TableModel.answer`."""
        counts, errors = self._errors(axes, chosen)
        # symmetric: non-negativity makes the errors lopsided, and differently so around the unknown truth
        half = np.quantile(np.abs(errors), level, axis=0)
        return _between(counts, counts - half, counts + half)

    def moments(self, axes: Axes, chosen: Chosen) -> Moments:
        """Return a slice with the variance of its noise, from the same bootstrap."""
        counts, errors = self._errors(axes, chosen)
        return Moments.of(counts, counts, np.asarray((errors**2).mean(axis=0)), math.inf)

    def _errors(self, axes: Axes, chosen: Chosen) -> tuple[FloatArray, FloatArray]:
        counts = self.forest.aggregate(axes, chosen)
        return counts, np.array([replicate.aggregate(axes, chosen) - counts for replicate in self._replicates])


Model = TableModel | WaveletModel | NestedModel | BoxModel | ForestModel
