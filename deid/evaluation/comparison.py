"""How sure the figures are: bootstrap over documents, and paired tests of two systems.

The document is the unit that is drawn: spans of one note depend on each other. Everything works on counts for each
document, so that resampling is one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from deid.base.errors import ConfigError

LEVEL = 0.95
"""Level of all confidence intervals."""

_BLOCK = 4_000_000  # entries of a matrix of random draws that are held at a time

Statistic = Callable[[np.ndarray], np.ndarray]
"""From counts of shape (..., k) to values of shape (...); NaN where undefined, which counts as 0 in totals."""


def _blocks(documents: int, draws: int) -> Iterator[int]:
    step = max(1, _BLOCK // max(1, documents))
    for first in range(0, draws, step):
        yield min(step, draws - first)


def resampled_totals(counts: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Sum counts over documents that are drawn with replacement.

    Parameters
    ----------
    counts : ndarray of shape (n_documents, k)
    resamples : int
    seed : int

    Returns
    -------
    ndarray of shape (resamples, k)
        Equal seeds draw equal documents, whatever the counts are.
    """
    documents = len(counts)
    random = np.random.default_rng(seed)
    share = np.full(documents, 1 / documents)
    values = counts.astype(float)
    return np.concatenate(
        [random.multinomial(documents, share, size=size) @ values for size in _blocks(documents, resamples)]
    )


def intervals(values: np.ndarray) -> np.ndarray:
    """Return the percentile interval of values of shape (resamples, ...): low and high, of shape (2, ...)."""
    tail = 100 * (1 - LEVEL) / 2
    return np.percentile(values, [tail, 100 - tail], axis=0)


@dataclass(frozen=True, slots=True)
class Difference:
    """Two systems on the same documents: their values, the difference, and how sure it is."""

    a: float
    b: float
    difference: float
    """a minus b."""
    low: float
    high: float
    """Bootstrap interval of the difference."""
    p_randomization: float
    """Two-sided approximate randomization: how often swapping the systems in random documents differs as much."""
    t: float | None
    """Paired t over documents, None where it is not defined: fewer than two pairs, or pairs that differ alike."""
    p_t: float | None
    documents: int
    t_documents: int
    """Documents with a value in both systems, the pairs of the t-test."""


def compare_statistics(
    a: np.ndarray, b: np.ndarray, statistic: Statistic, *, resamples: int, permutations: int, seed: int
) -> Difference:
    """Compare a figure of two systems.

    Parameters
    ----------
    a, b : ndarray of shape (n_documents, k)
        Counts of each system for the same documents in the same order.
    statistic : callable
        The figure that follows from summed counts; applied to single documents it gives the t-test's pairs.
    resamples, permutations, seed : int

    Returns
    -------
    Difference

    Notes
    -----
    Approximate randomization after Noreen 1989: p is (1 + number of permutations with at least the observed
    difference) / (1 + permutations).
    """

    def of_totals(totals: np.ndarray) -> np.ndarray:
        return np.nan_to_num(statistic(totals), nan=0.0)

    whole_a, whole_b = (float(of_totals(side.sum(axis=0))) for side in (a, b))
    both = resampled_totals(np.concatenate([a, b], axis=1), resamples, seed)
    low, high = intervals(of_totals(both[:, : a.shape[1]]) - of_totals(both[:, a.shape[1] :]))
    singles = np.stack([statistic(a), statistic(b)])
    singles = singles[:, ~np.isnan(singles).any(axis=0)]
    t, p_t = _paired_t(singles[0] - singles[1])
    return Difference(
        whole_a,
        whole_b,
        whole_a - whole_b,
        float(low),
        float(high),
        _randomization(a, b, of_totals, permutations, seed),
        t,
        p_t,
        len(a),
        singles.shape[1],
    )


def _randomization(a: np.ndarray, b: np.ndarray, statistic: Statistic, permutations: int, seed: int) -> float:
    random = np.random.default_rng(seed)
    observed = abs(float(statistic(a.sum(axis=0)) - statistic(b.sum(axis=0))))
    change = (b - a).astype(float)
    extreme = 0
    for size in _blocks(len(a), permutations):
        moved = random.integers(0, 2, size=(size, len(a))) @ change
        swapped = statistic(a.sum(axis=0) + moved) - statistic(b.sum(axis=0) - moved)
        extreme += int((np.abs(swapped) >= observed - 1e-12).sum())  # sums of floats in another order
    return (1 + extreme) / (1 + permutations)


def _paired_t(differences: np.ndarray) -> tuple[float | None, float | None]:
    """Return t and two-sided p of differences against 0; None for fewer than two, or all the same and not 0."""
    if len(differences) < 2:
        return None, None
    t, p = _t_and_p(differences[np.newaxis])
    return (float(t[0]), float(p[0])) if np.isfinite(t[0]) else (None, None)


def _t_and_p(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return t and p of each row; a row of zeros has t 0 and p 1, a row of one other value t infinite and p 0."""
    from scipy.stats import t as student

    n = differences.shape[1]
    mean = differences.mean(axis=1)
    error = differences.std(axis=1, ddof=1) / np.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)
    return t, 2 * student.sf(np.abs(t), n - 1)


def subset_ttest(f1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Test feature subsets against the full set over the folds of a cross-validation.

    Parameters
    ----------
    f1 : ndarray of shape (n_subsets, n_folds)
        F1 of each subset in each fold; the last row is the full set, the others are tested against it.

    Returns
    -------
    (ndarray, ndarray), each of shape (n_subsets - 1,)
        t = mean(d) / (sd(d) / sqrt(n_folds)) of d = subset - full set, and the two-sided p with n_folds - 1
        degrees of freedom.

    Raises
    ------
    ConfigError
        When there are fewer than two rows or two folds.
    """
    f1 = np.asarray(f1, dtype=float)
    if f1.ndim != 2 or min(f1.shape) < 2:
        raise ConfigError("a paired test needs at least two feature sets and two folds", "raise the number of folds")
    return _t_and_p(f1[:-1] - f1[-1])
