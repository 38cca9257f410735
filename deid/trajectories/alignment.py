"""Alignment of two trajectories into the one that both are published as.

A-GS (Tamersoy and others 2012, Algorithm 2) is a global alignment: pairs stand side by side and are generalized to
their lowest common ancestors, or one is suppressed; order is kept and the loss is least. The baseline puts pairs of
equal places side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from deid.trajectories.trees import LocationTree

METHODS = ("a-gs", "baseline")

Pairs = np.ndarray
"""Nodes of codes and ages, int32 of shape (pairs, 2), ages ascending."""

_FINEST = 1000
"""Greatest denominator of a weight."""


@dataclass(frozen=True)
class Costs:
    """Both hierarchies, and what their leaves weigh."""

    codes: LocationTree
    ages: LocationTree
    weight: float = 0.5
    """Weight of the loss of codes, 0 to 1; that of ages is the rest."""

    @property
    def weights(self) -> tuple[int, int]:
        """Cost of a leaf of codes and of ages, as whole numbers in the ratio of w / leaves, so that ties stay ties."""
        share = Fraction(self.weight).limit_denominator(_FINEST)
        codes, rest = share.numerator, share.denominator - share.numerator
        return codes * self.ages.size, rest * self.codes.size


@dataclass(frozen=True, eq=False)
class Aligned:
    """Two trajectories in one: published pairs (int32, shape (pairs, 2)) and their places in both."""

    pairs: Pairs = field(repr=False)
    left: tuple[int, ...] = field(repr=False)
    """Place in the first trajectory of each published pair."""
    right: tuple[int, ...] = field(repr=False)
    """Place in the second one."""
    codes: int
    """Loss of codes, in leaves, unweighted."""
    ages: int


def _steps(x: Pairs, y: Pairs, costs: Costs) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the costs in leaves of generalizing every pair of pairs, and of suppressing each; last axis code, age."""
    both = np.stack(
        [costs.codes.pair_cost(x[:, None, 0], y[None, :, 0]), costs.ages.pair_cost(x[:, None, 1], y[None, :, 1])],
        axis=-1,
    )
    gone_x, gone_y = (
        np.stack([costs.codes.root_cost(t[:, 0]), costs.ages.root_cost(t[:, 1])], axis=-1) for t in (x, y)
    )
    return both, gone_x, gone_y, np.array(costs.weights, dtype=np.int64)


def alignment_tables(x: Pairs, y: Pairs, costs: Costs) -> tuple[np.ndarray, np.ndarray]:
    """Fill the tables of A-GS.

    Returns
    -------
    loss : int64 array, shape (len(x) + 1, len(y) + 1, 2)
        Leaves lost on the best way to each cell, of codes and of ages.
    way : int8 array, shape (len(x) + 1, len(y) + 1)
        Where the best way comes from: 0 both are generalized, 1 a pair of y is suppressed, 2 one of x; -1 the start.
    """
    both, gone_x, gone_y, weights = _steps(x, y, costs)
    m, n = len(x), len(y)
    loss = np.zeros((m + 1, n + 1, 2), dtype=np.int64)
    way = np.full((m + 1, n + 1), -1, dtype=np.int8)
    loss[1:, 0], way[1:, 0] = np.cumsum(gone_x, axis=0), 2
    loss[0, 1:], way[0, 1:] = np.cumsum(gone_y, axis=0), 1
    for h in range(1, m + 1):
        for j in range(1, n + 1):
            options = np.stack(
                [
                    loss[h - 1, j - 1] + both[h - 1, j - 1],
                    loss[h, j - 1] + gone_y[j - 1],
                    loss[h - 1, j] + gone_x[h - 1],
                ]
            )
            best = int(np.argmin(options @ weights))  # the first of equals: generalize before suppressing
            loss[h, j], way[h, j] = options[best], best
    return loss, way


def align(x: Pairs, y: Pairs, costs: Costs) -> Aligned:
    """Align two trajectories by A-GS.

    Parameters
    ----------
    x, y : int32 array, shape (pairs, 2)
        Nodes of codes and of ages.
    costs : Costs
        The hierarchies and their weights.

    Returns
    -------
    Aligned
        The joined trajectory of least weighted loss.
    """
    loss, way = alignment_tables(x, y, costs)
    h, j = len(x), len(y)
    left, right = [], []
    while h or j:
        step = way[h, j]
        if step == 0:
            h, j = h - 1, j - 1
            left.append(h)
            right.append(j)
        else:
            h, j = h - (step == 2), j - (step == 1)
    left.reverse()
    right.reverse()
    codes, ages = (int(v) for v in loss[-1, -1])
    return Aligned(_joined(x[left], y[right], costs), tuple(left), tuple(right), codes, ages)


def align_by_index(x: Pairs, y: Pairs, costs: Costs) -> Aligned:
    """Align two trajectories place by place (the baseline, Algorithm 1); what one has more is suppressed.

    Arguments as those of `align`.

    Returns
    -------
    Aligned
        The joined trajectory, as long as the shorter one.
    """
    count = min(len(x), len(y))
    both, gone_x, gone_y, _ = _steps(x, y, costs)
    places = np.arange(count)
    loss = both[places, places].sum(axis=0) + gone_x[count:].sum(axis=0) + gone_y[count:].sum(axis=0)
    same = tuple(range(count))
    return Aligned(_joined(x[:count], y[:count], costs), same, same, int(loss[0]), int(loss[1]))


def _joined(x: Pairs, y: Pairs, costs: Costs) -> Pairs:
    codes, ages = costs.codes.ancestors(x[:, 0], y[:, 0]), costs.ages.ancestors(x[:, 1], y[:, 1])
    return np.stack([codes, ages], axis=1).astype(np.int32).reshape(-1, 2)
