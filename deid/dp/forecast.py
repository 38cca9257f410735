"""Error forecast: what a release or an answer will cost in accuracy, told without opening the table.

Cubes: the error of `marginals`, `cells` and `cells-clamped` comes from noise alone, so its expectation follows from the
declared domains and epsilon. Methods that follow the data (`privtree`, `forest`, `dpcube`) have no such forecast, and
that of `even` is mostly its bias; they are left out.

Queries are rehearsed: the mechanism itself answers many times, with test noise, about made-up rows that are spread
evenly over what is declared. Where the error depends on the number of rows, it is told for several.

Sequences and fidelity: the noise of each number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from deid.base.arrays import IntArray
from deid.base.errors import require
from deid.base.reports import Section
from deid.dp.costs import Cost, half_width_of, laplace_draws, told, variance_of
from deid.dp.domain import OuterLevel
from deid.dp.keys import KeysPlan
from deid.dp.marginals import Axes, query_weights
from deid.dp.methods import MAX_DENSE, CubePlan
from deid.dp.models import NestedModel, clamp_bias
from deid.dp.noise import SeededNoise, laplace_variance
from deid.dp.plan import Terms
from deid.dp.prefix_tree import growing_from
from deid.dp.sequences import SequencePlan
from deid.dp.synthetic import FidelityPlan
from deid.dp.view import CheckedQuery

_LARGEST = 300.0  # beyond, the noise's variance is no longer a number above 0
_ROWS = (100, 1_000, 10_000)  # of made-up tables
_NOTHING = "Nothing was read and nothing was charged."
Rolled = tuple[int, OuterLevel] | None
"""The dimension that is asked by a level in which its cells lie, and the level; None where none is."""
_CERTAIN = 1e9  # an epsilon at which noise is 0
_REHEARSALS = 300
_DRAWS = 200_000  # of all rehearsals of an aggregate


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected error of one method on one slice."""

    method: str
    slice: str
    cells: int
    per_cell: float
    """Expected absolute error of one number of the slice."""
    bias: float
    """Part of it that does not average out; at most, reached where all cells summed are empty."""

    @property
    def per_slice(self) -> float:
        """Expected L1 error of the slice."""
        return self.per_cell * self.cells


def expected_deviation(variance: float, draws: float) -> float:
    """Return E|X| of a sum of ``draws`` equal Laplace draws with a variance: variance-gamma law, in closed form."""
    from scipy.special import poch

    root = 1.0 if math.isinf(draws) else float(poch(draws, 0.5)) / math.sqrt(draws)
    return math.sqrt(2 * variance / math.pi) * root


def _draws(cost: Cost, draws: float) -> float:
    return draws * laplace_draws(cost)


def _marginals(plan: CubePlan, axes: Axes, rolled: Rolled) -> tuple[float, float] | None:
    if rolled is not None or not plan.slices:
        return None
    tables = [(own, plan.variance(share)) for own, share in plan.measured()]
    covering = [own for own, _ in tables if set(axes) <= set(own)]
    if not covering:
        return None
    table = min(covering, key=lambda own: math.prod(plan.shape[axis] for axis in own))
    weights = []
    for axis in table:
        weight = np.ones(plan.shape[axis])
        if axis in axes:
            weight = np.zeros(plan.shape[axis])
            weight[0] = 1.0
        weights.append(weight)
    variance, draws = query_weights(tables, plan.shape, table, weights)
    return expected_deviation(variance, _draws(plan.measuring, draws)), 0.0


def _sums(plan: CubePlan, axes: Axes, rolled: Rolled) -> list[int]:
    """Return how many cells a number of the slice adds up: of an outer level those of each of its cells."""
    others = math.prod(size for axis, size in enumerate(plan.shape) if axis not in axes)
    if rolled is None:
        return [others]
    axis, level = rolled
    return [int(own) * others // plan.shape[axis] for own in np.bincount(level.of)]


def _cells(plan: CubePlan, axes: Axes, rolled: Rolled) -> tuple[float, float] | None:
    if math.prod(plan.shape) > MAX_DENSE:
        return None
    variance, sums = plan.variance(plan.shares([1.0])[0]), _sums(plan, axes, rolled)
    return float(np.mean([expected_deviation(own * variance, _draws(plan.measuring, own)) for own in sums])), 0.0


def _cells_clamped(plan: CubePlan, axes: Axes, rolled: Rolled) -> tuple[float, float] | None:
    drawn = None if plan.delta else _cells(plan, axes, rolled)
    if drawn is None:
        return None
    bias = float(np.mean(_sums(plan, axes, rolled))) * clamp_bias(plan.unit.distance, plan.pure)
    return max(bias, drawn[0]), bias


def _topdown(plan: CubePlan, axes: Axes, rolled: Rolled) -> tuple[float, float] | None:
    set_levels = plan.method == "topdown"
    if not set_levels and (not any(own.outer for own in plan.dimensions) or math.prod(plan.shape) > MAX_DENSE):
        return None
    none, costs = np.zeros(plan.shape), plan.shares(plan.weights if set_levels else [1.0] * len(plan.nesting.sizes))
    model = NestedModel(plan.nested, plan.nesting, none, none, costs, plan.unit.distance)
    chosen: list[list[IntArray | None]] = [[None] * len(plan.shape)]
    if rolled is not None:
        axis, level = rolled
        cells = (np.flatnonzero(level.of == number) for number in range(len(level.labels)))
        chosen = [[own if place == axis else None for place in range(len(plan.shape))] for own in cells]
    variances = [float(model.moments(axes, own).variance.mean()) for own in chosen]
    return float(np.mean([expected_deviation(own, math.inf) for own in variances])), 0.0


FORECASTS: dict[str, Callable[[CubePlan, Axes, Rolled], tuple[float, float] | None]] = {
    "marginals": _marginals,
    "topdown": _topdown,
    "cells": _cells,
    "cells-clamped": _cells_clamped,
}
"""Methods with a forecast: expected absolute error and bias of one number, or None where they cannot answer."""


def _asked(plan: CubePlan) -> list[tuple[str, int, Axes, Rolled]]:
    """Return what is forecast: name, how many numbers, dimensions, and the level for which one of them is asked."""
    if plan.slices:
        return [(plan.names(axes), math.prod(plan.shape[axis] for axis in axes), axes, None) for axes in plan.slices]
    asked: list[tuple[str, int, Axes, Rolled]] = []
    for axis, own in enumerate(plan.dimensions):
        asked += [(name, len(level.labels), (), (axis, level)) for name, level in own.outer.items()]
        asked.append((own.name, len(own), (axis,), None))
    return asked


def forecast(plan: CubePlan) -> list[Forecast]:
    """Forecast the named slices, or all single columns and the levels in which their cells lie, by every method whose
    error does not depend on the data.

    Parameters
    ----------
    plan : CubePlan
        Its method does not matter. ``marginals`` is forecast before projection onto non-negative counts, which
        lowers the error where many cells are empty.

    Returns
    -------
    list of Forecast
        One for each method and slice; methods that cannot answer a slice are left out.
    """
    result = []
    for method, expected in FORECASTS.items():
        for name, cells, axes, rolled in _asked(plan):
            numbers = expected(plan, axes, rolled)
            if numbers is not None:
                result.append(Forecast(method, name, cells, *numbers))
    return result


def epsilon_for(plan: CubePlan, error: float) -> dict[str, float | None]:
    """Return, by method, the least epsilon whose expected error in every asked slice is at most ``error`` a number.

    Parameters
    ----------
    plan : CubePlan
        What is to be released; its epsilon and method do not matter.
    error : float
        Expected error of a number in rows, above 0.

    Returns
    -------
    dict of str to float or None
        None where no epsilon up to 300 is enough; methods that cannot answer are left out.

    Raises
    ------
    ConfigError
        When the error is not above 0.
    """
    require(error > 0, "the wanted error must be positive", "for example: --wanted-error 5")

    def worst(method: str, epsilon: float) -> float | None:
        anew = replace(plan, epsilon=epsilon)
        numbers = [FORECASTS[method](anew, axes, rolled) for _, _, axes, rolled in _asked(plan)]
        known = [number[0] for number in numbers if number is not None]
        return max(known) if len(known) == len(numbers) else None

    result: dict[str, float | None] = {}
    for method in FORECASTS:
        if worst(method, plan.epsilon) is None:
            continue
        low, high = 1e-6, _LARGEST
        if (worst(method, high) or 0.0) > error:
            result[method] = None
            continue
        for _ in range(80):  # the error falls as epsilon grows
            middle = math.sqrt(low * high)
            low, high = (low, middle) if (worst(method, middle) or 0.0) <= error else (middle, high)
            if high / low < 1.0005:
                break
        result[method] = math.ceil(high * 1e4) / 1e4
    return result


def forecast_sections(plan: CubePlan, wanted: float | None = None) -> tuple[list[Section], dict[str, Any]]:
    """Return forecasts as tables and as JSON values.

    Parameters
    ----------
    plan : CubePlan
    wanted : float, optional
        An error a number, for which the epsilon that it needs is told.
    """
    lines = forecast(plan)
    forms = {"slice": "{0.slice}", "method": "{0.method}", "numbers": "{0.cells}", "error a number": "{0.per_cell:.4g}"}
    sections = [
        Section.of(
            f"Expected error at {_spent(plan.epsilon, plan)}",
            lines,
            forms | {"error of the slice (L1)": "{0.per_slice:.4g}", "bias, at most": "{0.bias:.4g}"},
            f"{_NOTHING} privtree, forest and dpcube depend on the data and have no "
            "forecast. marginals is forecast before its counts are made non-negative, which lowers it.",
        )
    ]
    told: dict[str, Any] = {"forecast": [asdict(line) | {"per_slice": line.per_slice} for line in lines]}
    if wanted is not None:
        told["epsilon_needed"] = needed = epsilon_for(plan, wanted)
        shown = [(name, "none" if value is None else f"{value:.4g}") for name, value in needed.items()]
        sections.append(Section(f"Epsilon for an expected error of {wanted:g} a number", ("method", "epsilon"), shown))
    return sections, told


@dataclass(frozen=True, slots=True)
class LevelForecast:
    """What a depth of a tree costs, and how large its noise will be."""

    length: int
    cost: dict[str, float]
    """Its epsilon, or its rho."""
    noise: float
    """Standard deviation of the noise of one node."""
    threshold: float
    """Noisy counts from here on get children."""


def forecast_levels(plan: SequencePlan) -> list[LevelForecast]:
    """Return, for each depth, how large the noise of a tree's nodes will be before it is made consistent.

    Looks at the plan alone; nothing is spent.
    """
    distance = plan.distance
    return [
        LevelForecast(
            length,
            told(cost),
            variance_of(distance, cost) ** 0.5,
            growing_from(plan.threshold, plan.symbols, distance, cost, paper=plan.method == "tree-paper"),
        )
        for length, cost in enumerate(plan.depth_costs)
    ]


def sequence_sections(plan: SequencePlan) -> tuple[list[Section], dict[str, Any]]:
    """Return `forecast_levels` as a table and as JSON values."""
    lines = forecast_levels(plan)
    section = Section(
        f"Noise of a tree at {_spent(plan.epsilon, plan)}",
        ("length", *lines[0].cost, "noise of a count (sd)", "continued from"),
        [(str(a.length), *(f"{own:.4g}" for own in a.cost.values()), f"{a.noise:.4g}", f"{a.threshold:.4g}")
         for a in lines],
        f"{_NOTHING} Making the counts consistent lowers the noise further.",
    )  # fmt: skip
    levels = [{"length": a.length, **a.cost, "noise": a.noise, "threshold": a.threshold} for a in lines]
    return [section], {"levels": levels}


def _spent(epsilon: float, terms: Terms) -> str:
    """Return what is spent and whom it protects, for people."""
    return f"epsilon {epsilon:g}{f', delta {terms.delta:g}' if terms.delta else ''}, {terms.unit}"


@dataclass(frozen=True, slots=True)
class AnswerForecast:
    """Expected error of one aggregate of a query, in one group."""

    aggregate: str
    rows: int | None
    """Rows of the group; None where the error does not depend on them."""
    numbers: int
    error: float
    """Expected absolute error of a number."""
    plus_minus: float | None
    """Half of an interval's length, in the mean; None where none is told."""


def forecast_query(checked: CheckedQuery) -> list[AnswerForecast]:
    """Forecast an answer by rehearsing it; see the module.

    Parameters
    ----------
    checked : CheckedQuery
        Of a session over any table, also over an empty one (`deid.dp.session.QuerySession.check`).

    Returns
    -------
    list of AnswerForecast
        For each aggregate one, or one for each of 100, 1,000 and 10,000 rows.
    """
    noise = SeededNoise(0)
    asked, result = checked.aggregates, dict[int, list[AnswerForecast]]()
    for (places, measure), (_, sure) in zip(checked.measures(noise), checked.measures(noise, _CERTAIN), strict=True):
        runs = min(max(_DRAWS // (measure.numbers + measure.candidates), 5), _REHEARSALS)
        for rows in _ROWS if measure.by_rows else _ROWS[-1:]:
            values = measure.even(rows)
            truth = sure.answer(values)
            answers = [measure.answer(values) for _ in range(runs)]
            for turn, place in enumerate(places):
                true = np.array([row["value"] for row in truth[turn :: len(places)]], float)
                drawn = [answer[turn :: len(places)] for answer in answers]
                errors = [np.abs(np.array([row["value"] for row in own], float) - true).mean() for own in drawn]
                halves = [(row["upper"] - row["lower"]) / 2 for own in drawn for row in own if row["lower"] is not None]
                half = float(np.mean(halves)) if halves else None
                shown = rows if measure.by_rows else None
                line = AnswerForecast(asked[place].label(), shown, len(true), float(np.mean(errors)), half)
                result.setdefault(place, []).append(line)
    return [line for place in range(len(asked)) for line in result[place]]


def query_sections(checked: CheckedQuery) -> tuple[list[Section], dict[str, Any]]:
    """Return `forecast_query` as a table and as JSON values."""
    lines = forecast_query(checked)
    groups = math.prod(len(own) for own in checked.groups)
    section = Section.of(
        f"Expected error at {_spent(checked.epsilon, checked.terms)}",
        [asdict(line) | {"rows": "any" if line.rows is None else f"{line.rows:,}"} for line in lines],
        {
            "aggregate": "{aggregate}",
            f"rows{' of a group' if checked.groups else ''}": "{rows}",
            "numbers": "{numbers}",
            "error a number": "{error:.4g}",
            "interval, plus or minus": "{plus_minus:.4g}",
        },
        f"{_NOTHING} {f'The same holds in each of {groups} groups. ' if checked.groups else ''}Rehearsed on made-up "
        "rows that are spread evenly over the declared values; the interval is the mean one.",
    )
    return [section], {"forecast": [asdict(line) for line in lines], "groups": groups}


def fidelity_sections(plan: FidelityPlan) -> tuple[list[Section], dict[str, Any]]:
    """Return how large the noise of each slice's distance will be, as a table and as JSON values."""
    distance, lines = plan.terms.unit.distance, []
    for names, share in zip(plan.slices, plan.shares, strict=True):
        half = half_width_of(distance, share, plan.terms.level)
        error = expected_deviation(variance_of(distance, share), laplace_draws(share))
        own = {"slice": " x ".join(names), "cells": plan.cells(names), **told(share), "error": error, "half": half}
        lines.append(own)
    unit = "rho" if plan.terms.delta else "epsilon"
    forms = {"slice": "{slice}", "cells": "{cells}", unit: f"{{{unit}:.4g}}", "error of the distance": "{error:.4g}"}
    title = f"Noise of a comparison, {plan.terms.unit}"
    section = Section.of(title, lines, forms | {"interval, plus or minus": "{half:.4g}"}, _NOTHING)
    return [section], {"forecast": lines}


def keys_sections(plan: KeysPlan) -> tuple[list[Section], dict[str, Any]]:
    """Return from how many rows on values are found, as a table and as JSON values."""
    told = {"threshold": plan.threshold, "found_from": plan.found_from}
    error = expected_deviation(laplace_variance(plan.unit.distance, plan.pure), 1)
    section = Section(
        f"Values found at epsilon {plan.epsilon:g}, delta {plan.keys_delta:g}, {plan.unit}",
        ("threshold", f"found from, with probability {plan.level:g}", "error of a count"),
        [(str(plan.threshold), f"{plan.found_from} rows", f"{error:.4g}")],
        _NOTHING,
    )
    return [section], told | {"error": error}
