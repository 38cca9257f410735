"""Perturbed sensitive values: the operator that perturbs them, and what its output gives away.

An operator is a matrix A with A[x, y] = Pr(y is published | x is true). The verifiers bound what anyone with a given
prior learns about any property of a value (a set of values), whatever is published.
"""

from __future__ import annotations

import numpy as np

from deid.base.errors import ConfigError, require
from deid.disclosure.classes import Verdict
from deid.disclosure.privacy import TOLERANCE

_EXACT_VALUES = 16  # up to so many values, all their subsets are tried


def uniform_operator(values: int, gamma: float) -> np.ndarray:
    """Return the operator of uniform perturbation over m values with amplification gamma.

    A value stays with probability gamma/(m-1+gamma) and becomes each other one with 1/(m-1+gamma): with 15,000 codes
    and gamma 5 a code stays intact with 3.3e-4, over a small domain of ten with .357 (Chaytor and Wang, PVLDB 2010).

    Returns
    -------
    float array, shape (values, values)

    Raises
    ------
    ConfigError
        When there is no value, or gamma is below 1.
    """
    if values < 1 or gamma < 1:
        raise ConfigError("uniform perturbation needs a value and gamma of at least 1", "for example gamma = 5")
    other = 1.0 / (values - 1 + gamma)
    operator = np.full((values, values), other)
    np.fill_diagonal(operator, gamma * other)
    return operator


def amplification(operator: np.ndarray) -> float:
    """Return gamma: the greatest ratio of the chances with which two values are published as the same one.

    Parameters
    ----------
    operator : float array, shape (values, outputs)
        Chance of each output by value; rows add up to 1.

    Returns
    -------
    float
        At least 1; infinite where some values alone can become an output.
    """
    top, bottom = operator.max(axis=0), operator.min(axis=0)
    reached = top > 0
    if (bottom[reached] == 0).any():
        return float("inf")
    return float((top[reached] / bottom[reached]).max()) if reached.any() else 1.0


def amplification_bound(rho1: float, rho2: float) -> float:
    """Return the greatest amplification that no rho1-to-rho2 breach is possible with, for any prior.

    Evfimievski, Gehrke, Srikant, PODS 2003: gamma <= rho2 (1 - rho1) / (rho1 (1 - rho2)).

    Raises
    ------
    ConfigError
        When not 0 < rho1 < rho2 < 1.
    """
    require(0 < rho1 < rho2 < 1, "rho1 and rho2 are not in order between 0 and 1", "for example 0.1 and 0.5")
    return rho2 * (1 - rho1) / (rho1 * (1 - rho2))


def posteriors(operator: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return Pr(x | y) by Bayes' rule.

    Parameters
    ----------
    operator : float array, shape (values, outputs)
    prior : float array, shape (values,)

    Returns
    -------
    float array, shape (outputs, values)
        Rows of outputs that cannot occur are the prior.

    Raises
    ------
    ConfigError
        When the operator's rows or the prior are no distributions, or do not fit together.
    """
    if operator.ndim != 2 or len(prior) != len(operator):
        raise ConfigError("operator and prior do not fit together", "give one row and one prior a value")
    for distribution in (operator, prior[None, :]):
        if (distribution < 0).any() or not np.allclose(distribution.sum(axis=1), 1.0):
            raise ConfigError("not a distribution", "probabilities are not negative and add up to 1")
    joint = operator.T * prior
    total = joint.sum(axis=1, keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1.0), prior)


def rho1_to_rho2(operator: np.ndarray, rho1: float, rho2: float, prior: np.ndarray | None = None) -> Verdict:
    """Verify that no property of prior probability at most rho1 gets a posterior above rho2 (upward breach).

    Parameters
    ----------
    operator : float array, shape (values, outputs)
    rho1, rho2 : float
        0 < rho1 < rho2 < 1.
    prior : float array, shape (values,), optional
        What is known before. Without it, the verdict holds for every prior (by the amplification).

    Returns
    -------
    Verdict
        With a prior: level is the greatest posterior of such a property, witness the output that gives it. All
        properties are tried for up to 16 values; for more, the level is an upper bound (properties may hold parts of
        a value), so that an ``ok`` is sound. Without: level is the operator's amplification.
    """
    bound = amplification_bound(rho1, rho2)
    if prior is None:
        gamma = amplification(operator)
        return Verdict(gamma <= bound * (1 + TOLERANCE), gamma, ())
    after = posteriors(operator, prior)
    levels = _exact(after, prior, rho1) if len(prior) <= _EXACT_VALUES else _bounded(after, prior, rho1)
    worst = int(np.argmax(levels))
    return Verdict(bool(levels[worst] <= rho2 * (1 + TOLERANCE)), float(levels[worst]), (worst,))


def _exact(after: np.ndarray, prior: np.ndarray, rho1: float) -> np.ndarray:
    subsets = (np.arange(2 ** len(prior))[:, None] >> np.arange(len(prior))) & 1
    allowed = subsets[subsets @ prior <= rho1 * (1 + TOLERANCE)]
    return np.asarray((after @ allowed.T).max(axis=1))


def _bounded(after: np.ndarray, prior: np.ndarray, rho1: float) -> np.ndarray:
    """Solve the relaxed knapsack: fill rho1 of prior with the values that gain most."""
    levels = np.zeros(len(after))
    for y, row in enumerate(after):
        gain = np.divide(row, prior, out=np.zeros(len(prior)), where=prior > 0)
        order = np.argsort(-gain, kind="stable")
        room = np.clip(rho1 - np.concatenate([[0.0], np.cumsum(prior[order])[:-1]]), 0.0, prior[order])
        levels[y] = float((gain[order] * room).sum())
    return levels


def delta_growth(operator: np.ndarray, prior: np.ndarray, delta: float) -> Verdict:
    """Verify Delta-growth (Tao et al., ICDE 2008): no property's posterior exceeds its prior by more than delta.

    Parameters
    ----------
    operator : float array, shape (values, outputs)
        Chance of each output by value.
    prior : float array, shape (values,)
        What is known before.
    delta : float
        Greatest growth allowed.

    Returns
    -------
    Verdict
        Level: the greatest growth of a property; witness: the output that gives it.

    Raises
    ------
    ConfigError
        When the operator's rows or the prior are no distributions, or do not fit together.
    """
    growth = np.maximum(posteriors(operator, prior) - prior, 0.0).sum(axis=1)
    worst = int(np.argmax(growth))
    return Verdict(bool(growth[worst] <= delta * (1 + TOLERANCE) + 1e-15), float(growth[worst]), (worst,))
