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


def _negative_likelihood(
    parameters: np.ndarray, classes: int, rows: int, sizes: np.ndarray, counts: np.ndarray
) -> float:
    from scipy.special import gammaln

    alpha = 1 / (1 + np.exp(-parameters[0]))
    theta = np.exp(parameters[1])
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
    from scipy.optimize import minimize

    sizes, counts = np.unique(np.asarray(class_sizes, dtype=np.int64), return_counts=True)
    rows, classes = int((sizes * counts).sum()), int(counts.sum())
    start = (0.0, float(np.log(max(classes, 2) / np.log(max(rows, 3)))))
    found = minimize(
        _negative_likelihood,
        start,
        args=(classes, rows, sizes.astype(float), counts.astype(float)),
        method="L-BFGS-B",
        bounds=[(-12, 12), (-12, 25)],
    )
    return float(np.exp(found.x[1])), float(1 / (1 + np.exp(-found.x[0])))


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
    return float(np.exp(stays_alone))
