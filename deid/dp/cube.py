"""Data cubes: counts over declared dimensions, released with differential privacy.

`release_cube` charges a ledger first, then draws noise, and returns a release that answers slices, roll-ups and any
cuboid by summation. How it measures is a method (`deid.dp.methods`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.dp.adaptive import adaptive_pairs
from deid.dp.budget import Ledger
from deid.dp.counting import count_rows
from deid.dp.domain import Dimension, check_part
from deid.dp.methods import LARGEST_PAIR, MAX_DENSE, METHODS, CubePlan, Rows, measure, wavelet_of
from deid.dp.nested import Nesting, chained
from deid.dp.noise import Noise, OpenDPNoise, SeededNoise, laplace_scale
from deid.dp.payment import check_payer, mark_of, part_path, row_key
from deid.dp.plan import Terms, check_free
from deid.dp.release import RESERVED, CubeRelease
from deid.dp.unit import PrivacyUnit

GAUSSIAN = ("marginals", "topdown", "forest", "adaptive", "cells")
"""Methods that can draw Gaussian noise."""
_MAX_RECONCILED = 400_000_000
_MAX_FOREST = 2_000_000  # the bootstrap of its intervals holds each cell a hundred times
_SUBSET_CELLS = 100_000  # as many cells take the time that a subset takes anyway
_MOST_COLUMNS = {"marginals": 200, "adaptive": 200, "forest": 50}  # an einsum has names for 52
_MOST_AXES = 32  # of an array
_MANY_COLUMNS = 5
REGIMES = ((5_000, "cells"), (15_000, "dpcube"), (45_000, "forest"))
"""Up to how many cells x rows between neighbours / epsilon a method is chosen; `scripts/bench/bench_auto.py`."""


def plan_cube(
    dimensions: Sequence[Dimension],
    epsilon: float,
    unit: PrivacyUnit,
    *,
    method: str = "auto",
    slices: Sequence[Sequence[str]] = (),
    weights: Sequence[float] = (),
    nonnegative: bool = True,
    part: Sequence[tuple[Dimension, str]] = (),
    level_shares: Mapping[str, float] | None = None,
    **terms: Any,
) -> CubePlan:
    """Check what is asked and choose the method, without looking at the data.

    ``auto`` is ``marginals`` where slices are named and ``forest`` from 5 columns on. Where the cells of a column lie
    in one another it is ``topdown``, or ``cells`` where outer cells hold few of them. Else it goes by the noise that
    cells would have, cells x rows between neighbours / epsilon (`REGIMES`), and beyond by the order of the domains
    (docs/cube.md says how well that does).

    Parameters
    ----------
    dimensions : sequence of Dimension
        Columns with declared domains.
    epsilon : float
        Cost of the whole release.
    unit : PrivacyUnit
        Whom it protects.
    method : str
        A key of `METHODS`, or ``auto``.
    slices : sequence of sequence of str
        Names of the columns of each slice, for ``marginals`` alone.
    weights : sequence of float
        Shares of epsilon of the slices, in any scale; equal by default.
    nonnegative : bool
        Whether to project onto non-negative counts, for methods where that is a step of its own.
    part : sequence of (Dimension, str)
        Only the rows in these cells.
    level_shares : mapping of str to float, optional
        Shares of epsilon of the levels of ``topdown``, in any scale; 1 by default. ``all`` is the total, the cells
        themselves have the name of their column.
    terms
        Level, person, report, bound and delta: see `deid.dp.plan.Terms.checked`. A delta, for Gaussian noise, is for
        the methods in `GAUSSIAN`.

    Returns
    -------
    CubePlan
        What `release_cube` runs.

    Raises
    ------
    ConfigError
        When the parts do not fit together, nothing ensures the bound, or the cube is too large for the method.
    """
    names = [dimension.name for dimension in dimensions]
    require(names, "a cube needs a dimension", "name columns: --dims age,sex")
    require(len(set(names)) >= len(names), "a dimension is named twice", "name each once")
    settled = vars(Terms.checked(unit, **terms))
    named = []
    for one in slices:
        missing = [name for name in one if name not in names]
        if missing or not one:
            raise ConfigError("a slice names a column that is no dimension", f"the dimensions are {', '.join(names)}")
        named.append(tuple(sorted(names.index(name) for name in set(one))))
    if len(set(named)) < len(named):
        raise ConfigError("a slice is named twice", "name each once; a weight gives it more epsilon: year,death:2")
    if method == "auto" and level_shares:
        method = "topdown"
    elif method == "auto":
        method = _choose_method(dimensions, bool(named), settled["unit"].distance / max(epsilon, 1e-9))
    require(method in METHODS, "unknown method", f"use one of {', '.join(METHODS)}")
    if (method == "marginals") != bool(named):
        raise ConfigError(
            "slices are named for the method marginals, and for it alone",
            "name slices: --slice year,death; or leave the method to be chosen",
        )
    if named and len(weights or named) != len(named):
        raise ConfigError("not as many weights as slices", "give each slice a weight, or none")
    if method == "topdown":
        weights = _level_weights(dimensions, level_shares or {})
    elif level_shares:
        raise ConfigError("only topdown divides epsilon by levels", "leave out --level-share, or use --method topdown")
    if settled["delta"] and method not in GAUSSIAN:
        raise ConfigError(f"{method} draws no Gaussian noise", f"name slices, or use {', '.join(GAUSSIAN)}")
    plan = CubePlan(
        dimensions=tuple(dimensions),
        epsilon=epsilon,
        method=method,
        slices=tuple(named),
        weights=tuple(weights) or (1.0,) * len(named),
        nonnegative=nonnegative,
        part=check_part(part),
        **settled,
    )
    _check_size(plan)
    _rehearse(plan)
    return plan


def _level_weights(dimensions: Sequence[Dimension], shares: Mapping[str, float]) -> tuple[float, ...]:
    nested = [own for own in dimensions if own.outer] or list(dimensions[:1])
    names = [[*own.outer, own.name] for own in nested]
    steps = range(max(map(len, names)))
    levels = ["all", *(" x ".join(own[min(step, len(own) - 1)] for own in names) for step in steps)]
    if not set(shares) <= set(levels):
        raise ConfigError("a share is for a level that there is not", f"the levels are {', '.join(levels)}")
    weights = tuple(float(shares.get(level, 1.0)) for level in levels)
    if not all(1e-6 <= weight <= 1e6 for weight in weights):
        raise ConfigError("a level's share is a number above 0", "for example: --level-share state:2")
    return weights


def _check_size(plan: CubePlan) -> None:
    """Refuse what would need too much memory or time, or could not be written, before anything is charged.

    Raises
    ------
    ConfigError
        Says what is too large.
    """
    shape, method = plan.shape, plan.method
    check_free(
        [name for own in plan.dimensions for name in (own.name, *own.outer)], RESERVED, "a dimension", "a release"
    )
    most = _MOST_COLUMNS.get(method, _MOST_AXES)
    if len(shape) > most:
        others = ", ".join(f"{name} {own}" for name, own in _MOST_COLUMNS.items())
        raise ConfigError(f"{len(shape)} columns are too many for {method}, which takes {most}", f"{others}")
    if METHODS[method].dense:
        padded = wavelet_of(plan).padded if method == "privelet" else shape
        if math.prod(padded) > MAX_DENSE:
            raise ConfigError(
                f"{math.prod(padded)} cells are too many to draw one by one",
                "use marginals, privtree or forest, or wider cells",
            )
    cells = [math.prod(shape[axis] for axis in axes) for axes in plan.slices]
    # reconciling goes through all subsets of a slice's columns, many times
    work = sum(2 ** len(axes) * (own + _SUBSET_CELLS) for axes, own in zip(plan.slices, cells, strict=True))
    if sum(cells) > MAX_DENSE or work > _MAX_RECONCILED:
        raise ConfigError(
            f"the slices have {sum(cells)} cells, too many to draw and to reconcile",
            "name slices of fewer columns, or declare wider cells",
        )
    if method == "adaptive":
        pairs_cells = sum(shape[a] * shape[b] for a, b in adaptive_pairs(shape, LARGEST_PAIR))
        if pairs_cells > MAX_DENSE:
            raise ConfigError(
                f"the pairs of columns have {pairs_cells} cells, too many to choose from",
                "declare wider cells, leave a wide column out, or name slices",
            )
    if method == "forest":
        cells_held = _forest_cells(shape)
        if cells_held > _MAX_FOREST:
            raise ConfigError(
                f"the pairs of columns have up to {cells_held} cells, too many for a forest",
                "declare wider cells, leave a wide column out, or name slices",
            )


def _forest_cells(shape: Sequence[int]) -> int:
    """Return how many cells the tables of a forest have at most."""
    pairs = sorted((a * b for a, b in itertools.combinations(shape, 2)), reverse=True)
    return sum(shape) + sum(pairs[: len(shape) - 1])


def _rehearse(plan: CubePlan) -> None:
    """Run a plan on no rows and one cell, with test noise: an epsilon too small for what is asked is refused here."""
    if plan.method == "topdown":
        for share in plan.shares(plan.weights):
            plan.variance(share)
        plan.rehearse_report()
        return
    few = tuple(replace(own, labels=own.labels[:1]) for own in plan.dimensions)
    small = replace(plan, dimensions=few, nonnegative=False)
    distance = plan.unit.distance
    for _, share in plan.measured() if plan.method == "marginals" else ():
        plan.variance(share)
    if plan.method == "privelet":
        laplace_scale(wavelet_of(plan).sensitivity * distance, plan.pure)
    measure(Rows(np.zeros((0, len(small.shape)), np.int64), small.shape), small, SeededNoise(0))
    plan.rehearse_report()


def _choose_method(dimensions: Sequence[Dimension], named: bool, noise: float) -> str:
    # by the declared domains and epsilon alone: a choice by the data would have to be paid for
    if named:
        return "marginals"
    if len(dimensions) >= _MANY_COLUMNS:
        return "forest"
    nested = [own.nesting for own in dimensions if own.outer]
    if nested:
        return "topdown" if _levels_pay(chained(nested)) else "cells"
    cells = math.prod(len(own) for own in dimensions)
    regime = next((own for most, own in REGIMES if cells * noise <= most), "")
    if regime in ("cells", "dpcube"):
        return regime
    ordered = math.prod(len(own) for own in dimensions if own.ordered)
    if _forest_cells([len(own) for own in dimensions]) > _MAX_FOREST:
        return "privtree"
    return regime or ("privtree" if ordered**2 > cells else "forest")


def _levels_pay(nesting: Nesting) -> bool:
    """Return whether measured levels are nearer than sums of cells, in the geometric mean over the levels.

    Each of L levels gets an equal part of epsilon: its noise is L times a cell's, that of a sum the root of its cells.
    """
    sums = [nesting.sizes[-1] / size for size in nesting.sizes]
    return math.prod(sums) > len(sums) ** (2 * len(sums))


def release_cube(
    table: pd.DataFrame | Iterable[pd.DataFrame],
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
    table : pandas.DataFrame, or iterable of them
        The table, or batches of its rows (`deid.table.table_files.read_batches`).
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

    Returns
    -------
    CubeRelease
        Noisy counts, with all that is needed to read them.

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
    batches = [table] if isinstance(table, pd.DataFrame) else table
    counted = count_rows(batches, plan, row_key(ledger), marked=bool(plan.part) and ledger is not None)
    columns = ", ".join(dimension.name for dimension in plan.dimensions)
    path = part_path(plan.part, mark_of(counted.mark, plan.person))
    receipt = plan.charge(ledger, noise, request, purpose or f"cube over {columns} by {plan.method}", path)
    model, notes = measure(counted.rows, plan, noise)
    own = {
        "slices": [[plan.dimensions[axis].name for axis in axes] for axes in plan.slices],
        "part": [[dimension.name, cell] for dimension, cell in plan.part],
        "notes": [*notes, *([model.caveat] if model.caveat else [])],
        "left_out": plan.tell_left_out(counted.left_out, noise),
    }
    return CubeRelease(plan.dimensions, model, plan.metadata(noise, receipt, request, own))
