"""How many of the sample's records are unique in the population that it was drawn from, when only the sample is known.

Hoshino (Journal of Official Statistics 17(4), 2001) applies Pitman's sampling formula, a distribution of class sizes
with parameters theta and alpha, to microdata. The parameters are fitted to the sample's class sizes by maximum
likelihood; since the model holds for every size of sample alike, it extends to the population. There, the next person
drawn joins a class of j persons with probability (j - alpha) / (n + theta), so that one of N persons stays alone with
probability Gamma(theta + alpha + N - 1) Gamma(theta + 1) / (Gamma(theta + alpha) Gamma(theta + N)).
"""

from __future__ import annotations

import numpy as np

from deid.base.errors import ConfigError

_DIGITS = 5
"""Significant digits of what is estimated: libraries and processors differ in later ones."""
_SEARCH = {"xatol": 1e-11}


def _negative_likelihood(
    logit: float, log_theta: float, classes: int, rows: int, sizes: np.ndarray, counts: np.ndarray
) -> float:
    from scipy.special import gammaln

    alpha, theta = 1 / (1 + np.exp(-logit)), np.exp(log_theta)
    new = (classes - 1) * np.log(alpha) + gammaln(theta / alpha + classes) - gammaln(theta / alpha + 1)
    joined = (counts * (gammaln(sizes - alpha) - gammaln(1 - alpha))).sum()
    return float(gammaln(theta + rows) - gammaln(theta + 1) - new - joined)


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
    from scipy.optimize import minimize_scalar

    sizes, counts = np.unique(np.asarray(class_sizes, dtype=np.int64), return_counts=True)
    rows, classes = int((sizes * counts).sum()), int(counts.sum())
    of = (classes, rows, sizes.astype(float), counts.astype(float))

    # one search inside of the other: searches in two dimensions go by products of matrices, which are other ones on
    # other processors, and on a flat likelihood they end elsewhere then
    def best_theta(logit: float) -> tuple[float, float]:
        found = minimize_scalar(
            lambda at: _negative_likelihood(logit, at, *of), bounds=(-12, 25), method="bounded", options=_SEARCH
        )
        return float(found.fun), float(found.x)

    found = minimize_scalar(lambda at: best_theta(at)[0], bounds=(-12, 12), method="bounded", options=_SEARCH)
    return _told(np.exp(best_theta(found.x)[1])), _told(1 / (1 + np.exp(-found.x)))


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
