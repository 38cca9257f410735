"""Telling with noise how much of a table a release left out: rows beyond a person's bound, rows outside the domains."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from deid.dp.intervals import discrete_half_width
from deid.dp.noise import Noise
from deid.dp.unit import PrivacyUnit

__all__ = ["tell_left_out"]


def tell_left_out(
    left_out: npt.NDArray[np.int64],
    epsilon: float | None,
    noise: Noise,
    *,
    unit: PrivacyUnit,
    level: float,
    of_part: bool = False,
) -> dict[str, Any]:
    """Return what to write into a release about what it left out.

    Parameters
    ----------
    left_out : int64 array, shape (2,)
        Persons with too many rows, and rows outside the declared domains.
    epsilon : float or None
        What it may cost; None tells nothing.
    noise : Noise
        Source of noise.
    unit : PrivacyUnit
        Whom it protects.
    level : float
        Level of the interval.
    of_part : bool
        Whether the release is about a part of the table.
    """
    if epsilon is None:
        return {"told": False, "why": "rows outside the declared domains were left out; their number is private"}
    names: tuple[str, ...]
    if of_part:
        # a person with rows in several parts would be counted in each: parts could not be charged by their maximum
        names, values, sensitivity = ("rows_outside_domains",), left_out[1:], unit.distance
    else:
        # one unit is at most one person with too many rows, and stands behind at most max_rows of the rows
        names, values = ("persons_with_too_many_rows", "rows_outside_domains"), left_out
        sensitivity = unit.distance + unit.unit_distance
    drawn = noise.discrete_laplace(values, sensitivity, epsilon)
    told: dict[str, Any] = {"told": True, "epsilon": epsilon, **dict(zip(names, drawn.tolist(), strict=True))}
    return told | {"plus_minus": discrete_half_width(sensitivity, epsilon, 1, level)}
