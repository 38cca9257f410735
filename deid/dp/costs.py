"""What a measurement costs, and the noise that it buys: a pure epsilon buys Laplace noise, a rho Gaussian noise.

Mechanisms take a `Cost` and never ask which it is: `split` divides it, `draw` adds its noise to whole numbers,
`variance_of` and `half_width_of` say how large that is, `choosing` is the epsilon that a choice may spend of it.

Privacy. Let d rows be added or removed between neighbours, and let them lie in disjoint cells (groups, nodes of one
depth of a tree), d_g of them in cell g, so that the d_g add up to d at most.

* Numbers that a row moves by at most s in one cell move by s * d_g there: s * d in L1, and in L2, too, because the
  root of the sum of (s d_g)**2 is at most s * d. So one sensitivity serves both laws: discrete Laplace noise of scale
  s d / epsilon is epsilon-DP (Dwork and Roth 2014, theorem 3.6), discrete Gaussian noise of scale s d / sqrt(2 rho)
  is rho-zCDP (Canonne, Kamath and Steinke 2020, theorem 4), whatever the number of cells.
* A choice of pure epsilon is epsilon**2 / 2-zCDP (Bun and Steinke 2016, proposition 1.4), so a rho pays for one of
  epsilon sqrt(2 rho); in a cell it loses (d_g / d) of its epsilon, hence (d_g / d)**2 of that rho, and over all cells
  no more than rho.
* Rhos of measurements that follow one another add up, also when what is measured next, and for how much, depends on
  what was drawn, as long as the sum over every course of events is at most rho (Feldman and Zrnic 2021, theorem 4.3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deid.base.arrays import FloatArray, IntArray
from deid.dp.epsilon import from_nano, split_epsilon, to_nano
from deid.dp.intervals import discrete_half_width, gaussian_half_width
from deid.dp.noise import Noise, gaussian_variance, laplace_variance
from deid.dp.zcdp import split_rho


@dataclass(frozen=True, slots=True)
class Rho:
    """A cost in zero-concentrated privacy (`deid.dp.zcdp`). No number, so that none is taken for an epsilon.

    Parameters
    ----------
    value : float
        The rho, above 0.
    """

    value: float


Cost = float | Rho
"""A pure epsilon, or a rho."""


def draw(noise: Noise, values: npt.ArrayLike, sensitivity: int, cost: Cost) -> IntArray:
    """Return whole numbers with the noise that ``cost`` buys; see `deid.dp.noise.Noise` and the module."""
    if isinstance(cost, Rho):
        return noise.discrete_gaussian(values, sensitivity, cost.value)
    return noise.discrete_laplace(values, sensitivity, cost)


def variance_of(sensitivity: int, cost: Cost) -> float:
    """Return the variance of what `draw` adds."""
    return gaussian_variance(sensitivity, cost.value) if isinstance(cost, Rho) else laplace_variance(sensitivity, cost)


def imitate(generator: np.random.Generator, shape: tuple[int, ...], sensitivity: int, cost: Cost) -> FloatArray:
    """Return continuous noise of the law and variance of what `draw` adds, for a bootstrap (post-processing)."""
    deviation = math.sqrt(variance_of(sensitivity, cost))
    if isinstance(cost, Rho):
        return generator.normal(0.0, deviation, shape)
    return generator.laplace(0.0, math.sqrt(deviation**2 / 2), shape)


def laplace_draws(cost: Cost) -> float:
    """Return how many Laplace draws a draw is like, for `deid.dp.intervals`; a Gaussian one is like infinitely many."""
    return math.inf if isinstance(cost, Rho) else 1.0


def half_width_of(sensitivity: int, cost: Cost, level: float) -> float:
    """Return the least a such that what `draw` adds lies in [-a, a] with probability ``level``."""
    if isinstance(cost, Rho):
        return gaussian_half_width(sensitivity, cost.value, level)
    return discrete_half_width(sensitivity, cost, 1, level)


def split(cost: Cost, weights: Sequence[float]) -> tuple[Cost, ...]:
    """Return the parts of a cost in the proportion of ``weights``; their sum is at most it, whatever the rounding.

    Raises
    ------
    ConfigError
        When a weight is not positive, or a part of an epsilon would fall below a nano-epsilon.
    """
    if isinstance(cost, Rho):
        return tuple(map(Rho, split_rho(cost.value, weights)))
    return split_epsilon(cost, weights)


def split_evenly(cost: Cost, parts: int) -> tuple[Cost, ...]:
    """Return so many parts of a cost, all alike; see `split`."""
    return split(cost, (1.0,) * parts)


def together(costs: Sequence[Cost]) -> Cost:
    """Return what several costs of one kind are together, rounded down; an epsilon of 0 for none."""
    if costs and isinstance(costs[0], Rho):
        return Rho(math.fsum(own.value for own in costs if isinstance(own, Rho)) * (1 - 1e-12))
    nanos = sum(to_nano(own, up=False) for own in costs if not isinstance(own, Rho))
    return from_nano(nanos) if nanos else 0.0


def choosing(cost: Cost) -> float:
    """Return the pure epsilon of a choice that costs ``cost``, rounded down.

    Raises
    ------
    ConfigError
        When it would fall below a nano-epsilon.
    """
    return from_nano(to_nano(math.sqrt(2 * cost.value), up=False)) if isinstance(cost, Rho) else cost


def told(cost: Cost) -> dict[str, float]:
    """Return a cost as a JSON value: ``{"epsilon": E}`` or ``{"rho": R}``."""
    return {"rho": cost.value} if isinstance(cost, Rho) else {"epsilon": cost}


def cost_of(value: Mapping[str, float]) -> Cost:
    """Return the cost that `told` wrote; a rho counts where both stand, as releases of older versions have it.

    Raises
    ------
    KeyError, ValueError
        When it is none.
    """
    return Rho(float(value["rho"])) if "rho" in value else float(value["epsilon"])
