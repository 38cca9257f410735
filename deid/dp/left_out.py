"""Telling with noise how much of a table a release left out: rows beyond a person's bound, rows outside the domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deid.base.arrays import IntArray
from deid.base.errors import require
from deid.dp.epsilon import payable, split_epsilon
from deid.dp.intervals import discrete_half_width
from deid.dp.noise import Noise
from deid.dp.unit import PrivacyUnit

REPORT_SHARE = 0.02
"""Share of epsilon that tells what was left out, unless the user says otherwise. A mistyped domain leaves out a lot."""


def check_share(share: float | None) -> float:
    """Return the share of epsilon for the report, the default for None.

    Raises
    ------
    ConfigError
        When it is not at least 0 and below 1.
    """
    share = REPORT_SHARE if share is None else share
    require(0 <= share < 1, "the share of the report lies between 0 and 1", "for example: --report-share 0.05")
    return share


def split_report(epsilon: float, share: float) -> tuple[float, float | None]:
    """Return the epsilon of the measurements, and that of the report on what was left out: None for no report."""
    if not share:
        return payable(epsilon), None
    measuring, reporting = split_epsilon(epsilon, (1 - share, share))
    return measuring, reporting


def tell_left_out(
    left_out: IntArray,
    epsilon: float | None,
    noise: Noise,
    *,
    unit: PrivacyUnit,
    level: float,
    persons: bool,
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
    persons : bool
        Whether rows were bounded by persons; otherwise only the rows are told.
    of_part : bool
        Whether the release is about a part of the table.
    """
    if epsilon is None:
        return {"told": False, "why": "rows outside the declared domains were left out; their number is private"}
    names: tuple[str, ...]
    if of_part or not persons:
        # in a part, a person would be counted in each that has his rows: parts could not be charged by their maximum
        names, values, sensitivity = ("rows_outside_domains",), left_out[1:], unit.distance
    else:
        # one unit is at most one person with too many rows, and stands behind at most max_rows of the rows
        names, values = ("persons_with_too_many_rows", "rows_outside_domains"), left_out
        sensitivity = unit.distance + unit.unit_distance
    drawn = noise.discrete_laplace(values, sensitivity, epsilon)
    told: dict[str, Any] = {"told": True, "epsilon": epsilon, **dict(zip(names, drawn.tolist(), strict=True))}
    return told | {"plus_minus": discrete_half_width(sensitivity, epsilon, 1, level)}


def say_left_out(told: Mapping[str, Any]) -> list[str]:
    """Return `tell_left_out` in words, for people."""
    if not told["told"]:
        return []
    about = f"(plus or minus {told['plus_minus']:g})"
    lines = []
    if "persons_with_too_many_rows" in told:
        lines.append(f"persons who lost rows to the bound, with noise: {told['persons_with_too_many_rows']} {about}")
    lines.append(f"rows with a cell outside the declared domains, with noise: {told['rows_outside_domains']} {about}")
    return lines
