"""How a cube is measured: the methods, by name.

``marginals``     the named slices, each measured once and reconciled; the best by far for what is named
``topdown``       every level of a column whose cells lie in one another, such as counties in states
``privtree``      a partition that follows the data; for few columns, nothing named
``forest``        one-way and chosen two-way marginals; for many columns, nothing named
``adaptive``      single columns, then the pairs that a model of what is known gets most wrong; for made-up rows
``cells``         every cell, as drawn: unbiased, but sums of many cells are noisy
``cells-clamped`` every cell, negative ones set to 0: looks tidy, sums are far too high in a sparse cube
``privelet``      wavelets of ordered columns: sums over long ranges have little noise
``diffgen``       columns are halved by noisy choices, the groups counted
``dpcube``        cells choose a partition, boxes are counted again
``dpcube-paper``  the same as printed in the dissertation
``even``          the total, spread evenly: what every other method must beat
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.dp.adaptive import adaptive_pairs, measure_adaptive
from deid.dp.boxes import Boxes, simplex
from deid.dp.costs import Cost, draw, split, variance_of
from deid.dp.diffgen import diffgen
from deid.dp.domain import Dimension, count_cells
from deid.dp.dpcube import dpcube
from deid.dp.forest import Measured, fit_forest, measure_forest
from deid.dp.marginals import Axes, Marginal, choose_cuboids, least_squares, nonnegative
from deid.dp.models import BoxModel, ForestModel, MarginalTable, Model, NestedModel, TableModel, WaveletModel
from deid.dp.nested import Nesting, chained
from deid.dp.noise import Noise, laplace_variance
from deid.dp.plan import ReleasePlan
from deid.dp.privelet import Wavelet, privelet
from deid.dp.privtree import privtree

MAX_DENSE = 20_000_000
"""Cells that are drawn one by one."""
LARGEST_PAIR = 100_000
"""Cells of a pair of columns that ``adaptive`` may choose."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table as cells of a cube.

    Parameters
    ----------
    points : int64 array, shape (points, dimensions)
        The cell of each row, or each cell that has rows.
    shape : tuple of int
        Cells of each dimension.
    weights : int64 array, shape (points,), optional
        Rows of each point; one by default.
    """

    points: IntArray
    shape: tuple[int, ...]
    weights: IntArray | None = None

    @property
    def total(self) -> int:
        """Number of rows."""
        return len(self.points) if self.weights is None else int(self.weights.sum())

    def counts(self, axes: Axes | None = None) -> IntArray:
        """Return the true marginal over ``axes``, all by default; a dimension for each axis."""
        axes = tuple(range(len(self.shape))) if axes is None else axes
        codes = [self.points[:, axis] for axis in axes]
        return count_cells(codes, [self.shape[axis] for axis in axes], self.weights)


@dataclass(frozen=True, kw_only=True)
class CubePlan(ReleasePlan):
    """A cube that is to be released; holds nothing of the data.

    Parameters
    ----------
    dimensions : tuple of Dimension
        Columns with declared domains.
    slices : tuple of axes
        The named slices, for ``marginals``, one of `METHODS`.
    weights : tuple of float
        Their shares of epsilon, in any scale; of ``topdown`` those of the total, the outer levels and the cells.
    nonnegative : bool
        Whether to project onto non-negative counts, for methods where that is a step of its own.
    """

    dimensions: tuple[Dimension, ...]
    slices: tuple[Axes, ...]
    weights: tuple[float, ...]
    nonnegative: bool

    def variance(self, share: Cost) -> float:
        """Return the variance of the noise of a table that costs ``share`` (`measured`)."""
        return variance_of(self.unit.distance, share)

    def draw(self, noise: Noise, counts: IntArray, share: Cost) -> FloatArray:
        """Return true counts with the noise of ``share``: a row touches one cell (`deid.dp.costs`)."""
        return draw(noise, counts, self.unit.distance, share).astype(float)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of each dimension."""
        return tuple(len(dimension) for dimension in self.dimensions)

    @property
    def nested(self) -> Axes:
        """The dimensions whose cells lie in outer levels; if there is none the first one, all in the total."""
        return tuple(axis for axis, own in enumerate(self.dimensions) if own.outer) or (0,)

    @property
    def nesting(self) -> Nesting:
        """How the cells of `nested` lie in one another."""
        return chained([self.dimensions[axis].nesting for axis in self.nested])

    def measured(self) -> list[tuple[Axes, Cost]]:
        """Return the slices that ``marginals`` measures, each with its share; the other named ones follow by summing.

        Where weights differ, the user has decided, and every named slice is measured.
        """
        decided = len(set(self.weights)) > 1
        chosen = self.slices if decided else choose_cuboids(self.slices, self.shape)
        return list(zip(chosen, self.shares(self.weights[: len(chosen)]), strict=True))

    def shares(self, weights: Sequence[float]) -> tuple[Cost, ...]:
        """Divide what there is for measuring."""
        return split(self.measuring, weights) if len(weights) > 1 else (self.measuring,)

    def question(self) -> dict[str, Any]:
        """Return all that defines the release, as JSON values."""
        return {
            "domains": [own.declared for own in self.dimensions],
            "method": self.method,
            "slices": self.slices,
            "weights": self.weights,
            "nonnegative": self.nonnegative,
            **self.questioned("level", "person", "report_share"),
            "part": [[own.name, own.declaration, cell] for own, cell in self.part],
        }

    def names(self, axes: Axes) -> str:
        """Return a slice as its columns, for people."""
        return " x ".join(self.dimensions[axis].name for axis in axes) or "total"


Run = Callable[[Rows, CubePlan, Noise], tuple[Model, list[str]]]
"""Measures: returns what was drawn, and notes on it."""


def _reconciled(measured: Sequence[Measured], plan: CubePlan) -> tuple[TableModel, list[str]]:
    """Make measured tables agree, and non-negative where that is asked."""
    distance = plan.unit.distance
    marginals = [Marginal(axes, table, plan.variance(own)) for axes, table, own in measured]
    fitted = least_squares(marginals, plan.shape)
    unbiased = {axes: fitted.table(axes) for axes, _, _ in measured}
    variances = [(marginal.axes, marginal.variance) for marginal in marginals]
    shown = nonnegative(fitted, variances) if plan.nonnegative else unbiased
    tables = tuple(MarginalTable(axes, unbiased[axes], shown[axes], own) for axes, _, own in measured)
    notes = ["slices were reconciled by inverse-variance least squares, which is unbiased"]
    if plan.nonnegative:
        notes.append(
            "counts were projected onto non-negative ones with the total held: cells that are nearly empty are biased "
            "upwards, the others downwards; the column unbiased is before this step"
        )
    return TableModel(plan.shape, tables, distance), notes


def _marginals(rows: Rows, plan: CubePlan, noise: Noise) -> tuple[Model, list[str]]:
    measured = [(axes, plan.draw(noise, rows.counts(axes), own), own) for axes, own in plan.measured()]
    model, notes = _reconciled(measured, plan)
    if len(measured) < len(plan.slices):
        of = "; ".join(plan.names(axes) for axes, _, _ in measured)
        notes.insert(1, f"measured, the others being sums of these: {of}")
    return model, notes


def _adaptive(rows: Rows, plan: CubePlan, noise: Noise) -> tuple[Model, list[str]]:
    pairs = adaptive_pairs(plan.shape, LARGEST_PAIR)
    measured = measure_adaptive(rows.counts, plan.shape, pairs, plan.measuring, noise, distance=plan.unit.distance)
    model, notes = _reconciled(measured, plan)
    chosen = ", ".join(plan.names(axes) for axes, _, _ in measured if len(axes) == 2) or "none"
    notes.append(f"pairs chosen by the exponential mechanism: {chosen}")
    return model, notes


def _cells(rows: Rows, plan: CubePlan, noise: Noise) -> tuple[Model, list[str]]:
    axes = tuple(range(len(plan.shape)))
    (share,) = plan.shares([1.0])
    drawn = plan.draw(noise, rows.counts(), share)
    table = MarginalTable(axes, drawn, drawn, share)
    return TableModel(plan.shape, (table,), plan.unit.distance), ["counts are as drawn: unbiased, some are negative"]


def _topdown(rows: Rows, plan: CubePlan, noise: Noise) -> tuple[Model, list[str]]:
    axes, shares, nesting = plan.nested, plan.shares(plan.weights), plan.nesting
    true = np.moveaxis(rows.counts(), axes, range(len(axes)))
    levels = nesting.levels(true.reshape(nesting.sizes[-1], -1).astype(float))
    measured = [
        plan.draw(noise, np.rint(own).astype(np.int64), share) for own, share in zip(levels, shares, strict=True)
    ]
    found = nesting.estimate(measured, [plan.variance(share) for share in shares])
    shown = nesting.nonnegative(found) if plan.nonnegative else found
    tables = [np.moveaxis(own.reshape(true.shape), range(len(axes)), axes) for own in (found, shown)]
    notes = ["levels were reconciled by inverse-variance least squares, which is unbiased"]
    if plan.nonnegative:
        notes.append(
            "counts were projected onto non-negative ones from the top down: cells that are nearly empty are biased "
            "upwards, the others downwards; the column unbiased is before this step"
        )
    return NestedModel(axes, nesting, tables[0], tables[1], shares, plan.unit.distance), notes


def _cells_clamped(rows: Rows, plan: CubePlan, noise: Noise) -> tuple[Model, list[str]]:
    model, _ = _cells(rows, plan, noise)
    assert isinstance(model, TableModel)
    table = model.tables[0]
    clamped = np.maximum(table.counts, 0.0)
    model = replace(model, tables=(replace(table, unbiased=clamped, counts=clamped),), clamped=True)
    return model, [f"{model.caveat}; slices and roll-ups of sparse cubes are unusable"]


def wavelet_of(plan: CubePlan) -> Wavelet:
    """Return which columns ``privelet`` transforms: the ordered ones."""
    return Wavelet(plan.shape, tuple(dimension.ordered for dimension in plan.dimensions))


def _privelet(rows: Rows, plan: CubePlan, noise: Noise) -> tuple[Model, list[str]]:
    wavelet = wavelet_of(plan)
    cells = privelet(rows.counts(), wavelet, plan.pure, noise, distance=plan.unit.distance)
    model = WaveletModel(wavelet, cells, plan.pure, plan.unit.distance)
    return model, ["counts are as drawn: unbiased, some are negative"]


def _box_model(boxes: Boxes, *, project: bool) -> tuple[Model, list[str]]:
    notes = [f"boxes are spread over their cells by: {boxes.spread}"]
    shown = boxes
    if project:
        counts = simplex(boxes.counts, float(boxes.counts.sum()))
        shown = replace(boxes, counts=counts)
        notes.append(
            "box counts were projected onto non-negative ones with the total held: nearly empty boxes are biased "
            "upwards, the others downwards; the column unbiased is before this step"
        )
    return BoxModel(shown, boxes.counts), notes


def _of_points(find: Callable[..., Boxes]) -> Run:
    """Return what releases the boxes that are found by the places of rows."""

    def run(rows: Rows, plan: CubePlan, noise: Noise) -> tuple[Model, list[str]]:
        boxes = find(rows.points, rows.shape, plan.pure, noise, distance=plan.unit.distance, weights=rows.weights)
        return _box_model(boxes, project=plan.nonnegative)

    return run


def _dpcube(rows: Rows, plan: CubePlan, noise: Noise, **how: Any) -> tuple[Model, list[str]]:
    boxes = dpcube(rows.counts(), plan.pure, noise, distance=plan.unit.distance, **how)
    return _box_model(boxes, project=plan.nonnegative and not how)


def _even(rows: Rows, plan: CubePlan, noise: Noise) -> tuple[Model, list[str]]:
    distance = plan.unit.distance
    total = noise.discrete_laplace(np.array([rows.total]), distance, plan.pure).astype(float)
    whole = np.zeros((1, len(plan.shape)), np.int64), np.array([plan.shape], np.int64)
    boxes = Boxes(plan.shape, *whole, total, np.array([laplace_variance(distance, plan.pure)]))
    return _box_model(boxes, project=False)


def _forest(rows: Rows, plan: CubePlan, noise: Noise) -> tuple[Model, list[str]]:
    distance = plan.unit.distance
    measured = measure_forest(rows.counts, len(rows.shape), plan.measuring, noise, distance=distance)
    forest = fit_forest(measured, plan.shape, distance)
    pairs = ", ".join(plan.names(pair) for pair in forest.pairs) or "none"
    notes = [
        f"pairs chosen by the exponential mechanism: {pairs}",
        "tables were reconciled and projected onto non-negative counts with the total held: nearly empty cells are "
        "biased upwards, the others downwards",
    ]
    return ForestModel(forest, {axes: cost for axes, _, cost in measured}, distance), notes


@dataclass(frozen=True)
class Method:
    """A way to measure a cube."""

    run: Run
    dense: bool
    """Draws noise for every cell of the cube."""


METHODS: Mapping[str, Method] = {
    "marginals": Method(_marginals, False),
    "topdown": Method(_topdown, True),
    "privtree": Method(_of_points(privtree), False),
    "forest": Method(_forest, False),
    "adaptive": Method(_adaptive, False),
    "cells": Method(_cells, True),
    "cells-clamped": Method(_cells_clamped, True),
    "privelet": Method(_privelet, True),
    "diffgen": Method(_of_points(diffgen), False),
    "dpcube": Method(_dpcube, True),
    "dpcube-paper": Method(partial(_dpcube, mode="paper"), True),
    "even": Method(_even, False),
}
"""Methods by name."""


def measure(rows: Rows, plan: CubePlan, noise: Noise) -> tuple[Model, list[str]]:
    """Run a plan's method on rows; the caller has charged for it.

    Parameters
    ----------
    rows : Rows
        The cells of the rows.
    plan : CubePlan
        What to release.
    noise : Noise
        Source of noise.

    Returns
    -------
    (Model, list of str)
        The numbers, and what the post-processing did.
    """
    return METHODS[plan.method].run(rows, plan, noise)
