"""Costs of aligning one trajectory with many: compiled where the module was built, else in NumPy."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from deid.base.compiled import native_for
from deid.trajectories import reference
from deid.trajectories.alignment import Costs, Pairs


def _load() -> Any:
    try:
        return importlib.import_module("deid._alignment") if native_for("alignment") is not None else None
    except ImportError:
        return None


_compiled = _load()

BACKEND = "numpy" if _compiled is None else "native"
"""Which one runs."""


def alignment_costs(
    x: Pairs, pairs: Pairs, bounds: np.ndarray, active: np.ndarray, costs: Costs, by_index: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return what aligning a trajectory with each of many costs.

    Parameters
    ----------
    x : int32 array, shape (pairs, 2)
        The trajectory.
    pairs : int32 array, shape (all pairs, 2)
        The others, one after the other.
    bounds : int64 array, shape (trajectories + 1,)
        Where each begins and ends.
    active : uint8 array, shape (trajectories,)
        Which are of interest; the costs of others are 0.
    costs : Costs
    by_index : bool
        Align by the baseline instead of A-GS.

    Returns
    -------
    codes, ages : int64 array, shape (trajectories,)
        Loss in leaves, unweighted.
    """
    if _compiled is None:
        return reference.alignment_costs(x, pairs, bounds, active, costs, by_index)
    codes, ages = np.zeros(len(active), dtype=np.int64), np.zeros(len(active), dtype=np.int64)
    trees = [a for t in (costs.codes, costs.ages) for a in (t.parent, t.depth, t.leaves, t.table)]
    columns = [np.ascontiguousarray(t[:, k]) for t in (x, pairs) for k in (0, 1)]
    _compiled.costs(*trees, *columns, bounds, active, *costs.weights, by_index, codes, ages)
    return codes, ages
