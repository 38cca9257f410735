"""Error forecast: what a release will cost in accuracy, told without opening the table.

The error of `marginals`, `cells` and `cells-clamped` comes from noise alone, so its expectation follows from the
declared domains and epsilon. Methods that follow the data (`privtree`, `forest`, `dpcube`) have no such forecast, and
that of `even` is mostly its bias; they are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from deid.base.errors import require
from deid.base.reports import Section
from deid.dp.marginals import Axes, query_weights
from deid.dp.methods import CubePlan
from deid.dp.models import clamp_bias

_LARGEST = 300.0  # beyond, the noise's variance is no longer a number above 0


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
    if draws > 1e4:
        return math.sqrt(2 * variance / math.pi)
    log_ratio = math.lgamma(draws + 0.5) - math.lgamma(draws)
    return math.sqrt(2 * variance / (math.pi * draws)) * math.exp(log_ratio)


def _marginals(plan: CubePlan, axes: Axes) -> tuple[float, float] | None:
    if not plan.slices:
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
    return expected_deviation(variance, math.inf if plan.delta else draws), 0.0


def _summed(plan: CubePlan, axes: Axes) -> int:
    return math.prod(size for axis, size in enumerate(plan.shape) if axis not in axes)


def _cells(plan: CubePlan, axes: Axes) -> tuple[float, float]:
    summed = _summed(plan, axes)
    variance = plan.variance(plan.shares([1.0])[0])
    return expected_deviation(summed * variance, math.inf if plan.delta else summed), 0.0


def _cells_clamped(plan: CubePlan, axes: Axes) -> tuple[float, float] | None:
    if plan.delta:
        return None
    bias = _summed(plan, axes) * clamp_bias(plan.unit.distance, plan.measuring)
    return max(bias, _cells(plan, axes)[0]), bias


FORECASTS: dict[str, Callable[[CubePlan, Axes], tuple[float, float] | None]] = {
    "marginals": _marginals,
    "cells": _cells,
    "cells-clamped": _cells_clamped,
}
"""Methods with a forecast: expected absolute error and bias of one number, or None where they cannot answer."""


def _asked(plan: CubePlan) -> Sequence[Axes]:
    return plan.slices or [(axis,) for axis in range(len(plan.shape))]


def forecast(plan: CubePlan) -> list[Forecast]:
    """Forecast the named slices (or all single columns) by every method whose error does not depend on the data.

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
        for axes in _asked(plan):
            numbers = expected(plan, axes)
            if numbers is not None:
                cells = math.prod(plan.shape[axis] for axis in axes)
                result.append(Forecast(method, plan.names(axes), cells, *numbers))
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
        numbers = [FORECASTS[method](replace(plan, epsilon=epsilon), axes) for axes in _asked(plan)]
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
            f"Expected error at epsilon {plan.epsilon:g}{f', delta {plan.delta:g}' if plan.delta else ''}, {plan.unit}",
            lines,
            forms | {"error of the slice (L1)": "{0.per_slice:.4g}", "bias, at most": "{0.bias:.4g}"},
            "Nothing was read and nothing was charged. privtree, forest and dpcube depend on the data and have no "
            "forecast. marginals is forecast before its counts are made non-negative, which lowers it.",
        )
    ]
    told: dict[str, Any] = {"forecast": [asdict(line) | {"per_slice": line.per_slice} for line in lines]}
    if wanted is not None:
        told["epsilon_needed"] = needed = epsilon_for(plan, wanted)
        shown = [(name, "none" if value is None else f"{value:.4g}") for name, value in needed.items()]
        sections.append(Section(f"Epsilon for an expected error of {wanted:g} a number", ("method", "epsilon"), shown))
    return sections, told
