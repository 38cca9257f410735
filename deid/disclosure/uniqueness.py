"""How many of the sample's records are unique in the population that it was drawn from, when only the sample is known.

Hoshino (Journal of Official Statistics 17(4), 2001) applies Pitman's sampling formula, a distribution of class sizes
with parameters theta and alpha, to microdata. The parameters are fitted to the sample's class sizes by maximum
likelihood; since the model holds for every size of sample alike, it extends to the population. There, the next person
drawn joins a class of j persons with probability (j - alpha) / (n + theta), so that one of N persons stays alone with
probability Gamma(theta + alpha + N - 1) Gamma(theta + 1) / (Gamma(theta + alpha) Gamma(theta + N)).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deid.base.errors import ConfigError

_DIGITS = 5
"""Significant digits of what is estimated: libraries and processors differ in later ones."""


def _slopes(theta: float, alpha: float, rows: int, classes: int, sizes: np.ndarray, counts: np.ndarray) -> list[float]:
    """Return how the likelihood rises with theta and with alpha."""
    from scipy.special import digamma

    new = np.arange(1, classes)
    by_theta = (1 / (theta + alpha * new)).sum() - (digamma(theta + rows) - digamma(theta + 1))
    by_alpha = (new / (theta + alpha * new)).sum() - (counts * (digamma(sizes - alpha) - digamma(1 - alpha))).sum()
    return [float(by_theta), float(by_alpha)]


def fit_pitman(class_sizes: np.ndarray) -> tuple[float, float]:
    """Fit Pitman's model to the sizes of a sample's classes.

    Parameters
    ----------
    class_sizes : int array
        Persons of each class.

    Returns
    -------
    theta, alpha : float
        theta > 0 and 0 < alpha < 1.
    """
    sizes, counts = np.unique(np.asarray(class_sizes, dtype=np.int64), return_counts=True)
    of = (int((sizes * counts).sum()), int(counts.sum()), sizes.astype(float), counts.astype(float))

    # where slopes are 0, one search inside of the other: a likelihood is too flat at its top for five digits, and where
    # it rises to an end of the range any place near there is as good, so that processors would differ
    def best_theta(alpha: float) -> float:
        return float(np.exp(_root(lambda at: _slopes(np.exp(at), alpha, *of)[0], -12, 25)))

    def slope(logit: float) -> float:
        alpha = 1 / (1 + np.exp(-logit))
        return _slopes(best_theta(alpha), alpha, *of)[1]

    alpha = float(1 / (1 + np.exp(-_root(slope, -12, 12))))
    return _told(best_theta(alpha)), _told(alpha)


def _root(slope: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling slope is 0, or the end that it points to; the upper one where all is level."""
    from scipy.optimize import brentq

    if slope(high) >= 0:
        return high
    if slope(low) <= 0:
        return low
    return float(brentq(slope, low, high, xtol=1e-12))


def _told(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def unique_share(class_sizes: np.ndarray, population: int) -> float:
    """Estimate the share of a population's persons who are unique in it by their quasi-identifiers.

    Parameters
    ----------
    class_sizes : int array
        Persons of each class of the sample.
    population : int
        Persons of the population; the sample is taken to be drawn from it at random.

    Returns
    -------
    float
        0 to 1, by Pitman's model (`fit_pitman`); counted, not estimated, where the sample is the population.

    Raises
    ------
    ConfigError
        When the population is smaller than the sample.
    """
    from scipy.special import gammaln

    rows = int(np.sum(class_sizes))
    if population < rows:
        raise ConfigError(f"a population of {population} is smaller than the sample of {rows}", "give its real size")
    if population == rows:
        return float((np.asarray(class_sizes) == 1).sum() / rows)
    theta, alpha = fit_pitman(class_sizes)
    stays_alone = (
        gammaln(theta + alpha + population - 1)
        + gammaln(theta + 1)
        - gammaln(theta + alpha)
        - gammaln(theta + population)
    )
    return _told(np.exp(stays_alone))
