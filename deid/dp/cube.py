"""Data cubes: counts over declared dimensions, released with differential privacy.

`release_cube` charges a ledger first, then draws noise, and returns a release that answers slices, roll-ups and any
cuboid by summation. How it measures is a method (`deid.dp.methods`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deid.dp.budget import Ledger
from deid.dp.domain import Dimension
from deid.dp.left_out import tell_left_out
from deid.dp.methods import METHODS, CubePlan, Rows, measure
from deid.dp.noise import Noise, OpenDPNoise
from deid.dp.payment import AlreadyReleased, check_payer, partition_name, pay
from deid.dp.release import CubeRelease
from deid.dp.unit import PrivacyUnit, bounded_rows
from deid.errors import ConfigError
from deid.microdata import check_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AlreadyReleased", "plan_cube", "release_cube", "rows_of"]

IntArray = npt.NDArray[np.int64]

_MAX_DENSE = 20_000_000
_FEW_CELLS = 200
_MANY_COLUMNS = 5


def plan_cube(
    dimensions: Sequence[Dimension],
    epsilon: float,
    unit: PrivacyUnit,
    *,
    method: str = "auto",
    slices: Sequence[Sequence[str]] = (),
    weights: Sequence[float] = (),
    nonnegative: bool = True,
    level: float = 0.95,
    person: str | None = None,
    report_share: float | None = None,
    part: Sequence[tuple[Dimension, str]] = (),
) -> CubePlan:
    """Check what is asked and choose the method, without looking at the data.

    ``auto`` is ``marginals`` where slices are named; otherwise ``cells`` for a cube of at most 200 cells, ``forest``
    from 5 columns on, and ``privtree``.

    Raises
    ------
    ConfigError
        When the parts do not fit together.
    """
    names = [dimension.name for dimension in dimensions]
    if not names:
        raise ConfigError("a cube needs a dimension", "name columns: --dims age,sex")
    if len(set(names)) < len(names):
        raise ConfigError("a dimension is named twice", "name each once")
    if not 0 < level < 1:
        raise ConfigError("the level of an interval lies between 0 and 1", "for example: --level 0.95")
    if unit.max_rows > 1 and person is None:
        raise ConfigError(
            f"a {unit.name} may stand behind {unit.max_rows} rows, and no column says whose a row is",
            "name the column: --person COLUMN; rows beyond the bound are left out",
        )
    named = []
    for one in slices:
        missing = [name for name in one if name not in names]
        if missing or not one:
            raise ConfigError("a slice names a column that is no dimension", f"the dimensions are {', '.join(names)}")
        named.append(tuple(sorted(names.index(name) for name in set(one))))
    if len(set(named)) < len(named):
        raise ConfigError("a slice is named twice", "name each once; a weight gives it more epsilon: year,death:2")
    if method == "auto":
        method = _choose_method(tuple(len(dimension) for dimension in dimensions), bool(named))
    if method not in METHODS:
        raise ConfigError("unknown method", f"use one of {', '.join(METHODS)}")
    if (method == "marginals") != bool(named):
        raise ConfigError(
            "slices are named for the method marginals, and for it alone",
            "name slices: --slice year,death; or leave the method to be chosen",
        )
    if named and len(weights or named) != len(named):
        raise ConfigError("not as many weights as slices", "give each slice a weight, or none")
    for own, cell in part:
        if cell not in own.labels:
            raise ConfigError(f"the domain of {own.name!r} has no such cell", "a part is one cell of a declared column")
    share = (0.05 if person is not None else 0.0) if report_share is None else report_share
    if not 0 <= share < 1:
        raise ConfigError("the share of the report lies between 0 and 1", "for example: --report-share 0.05")
    plan = CubePlan(
        tuple(dimensions),
        epsilon,
        unit,
        method,
        tuple(named),
        tuple(weights) or (1.0,) * len(named),
        nonnegative,
        level,
        person,
        share,
        tuple(part),
    )
    if METHODS[method].dense and math.prod(plan.shape) > _MAX_DENSE:
        raise ConfigError(
            f"{math.prod(plan.shape)} cells are too many to draw one by one",
            "use marginals, privtree or forest, or wider cells",
        )
    _ = plan.measuring  # an epsilon that is none is refused before anything is charged
    return plan


def _choose_method(shape: Sequence[int], named: bool) -> str:
    # by the declared domains alone: a choice by the data would have to be paid for
    if named:
        return "marginals"
    if math.prod(shape) <= _FEW_CELLS:
        return "cells"
    return "forest" if len(shape) >= _MANY_COLUMNS else "privtree"


def rows_of(frame: pd.DataFrame, dimensions: Sequence[Dimension]) -> Rows:
    """Return the rows of a table that lie in the declared domains.

    Raises
    ------
    ConfigError
        When the table lacks a column.
    """
    check_columns(frame, [dimension.name for dimension in dimensions])
    points = np.stack([dimension.codes(frame[dimension.name]) for dimension in dimensions], axis=1)
    return Rows(points[(points >= 0).all(axis=1)], tuple(len(dimension) for dimension in dimensions))


def _prepare(frame: pd.DataFrame, plan: CubePlan) -> tuple[Rows, IntArray]:
    """Return the rows that count, and what was left out: persons with too many rows, rows outside the domains."""
    cut = 0
    if plan.person is not None:
        check_columns(frame, [plan.person])
        keep, cut = bounded_rows(frame[plan.person], plan.unit.max_rows)
        frame = frame[keep]
    # after the bound: over all parts together a person stands behind no more rows than it allows
    for own, cell in plan.part:
        check_columns(frame, [own.name])
        frame = frame[own.codes(frame[own.name]) == own.labels.index(cell)]
    rows = rows_of(frame, plan.dimensions)
    return rows, np.array([cut, len(frame) - len(rows.points)], np.int64)


def release_cube(
    frame: pd.DataFrame,
    plan: CubePlan,
    *,
    ledger: Ledger | None,
    request: str = "",
    purpose: str = "",
    noise: Noise | None = None,
) -> CubeRelease:
    """Charge a ledger, measure a cube and return the release.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    plan : CubePlan
        What to release.
    ledger : Ledger or None
        What pays. May be None for test noise alone, which protects nobody.
    request : str
        Id of the request in the ledger.
    purpose : str
        For the ledger's history; what is released by default.
    noise : Noise, optional
        OpenDP's by default.

    Raises
    ------
    ConfigError
        When there is no ledger, or the ledger is for another unit, or a column is missing.
    BudgetExceeded
        When the budget does not suffice; nothing was charged.
    AlreadyReleased
        When this request was answered before.
    """
    noise = noise or OpenDPNoise()
    check_payer(ledger, noise)
    rows, left_out = _prepare(frame, plan)
    columns = ", ".join(dimension.name for dimension in plan.dimensions)
    pay(
        ledger,
        noise,
        plan.epsilon,
        request,
        unit=plan.unit,
        purpose=purpose or f"cube over {columns} by {plan.method}",
        question=plan.question(),
        path=[(partition_name(own), cell) for own, cell in plan.part],
    )
    model, notes = measure(rows, plan, noise)
    metadata: dict[str, Any] = {
        "method": plan.method,
        "epsilon": plan.epsilon,
        "unit": plan.unit.name,
        "relation": plan.unit.relation,
        "max_rows": plan.unit.max_rows,
        "private": noise.private,
        "noise": noise.label,
        "level": plan.level,
        "slices": [[plan.dimensions[axis].name for axis in axes] for axes in plan.slices],
        "part": [[own.name, cell] for own, cell in plan.part],
        "request": request,
        "notes": [*notes, *([model.caveat] if model.caveat else [])],
        "left_out": tell_left_out(
            left_out, plan.reporting, noise, unit=plan.unit, level=plan.level, of_part=bool(plan.part)
        ),
    }
    return CubeRelease(plan.dimensions, model, metadata)
