"""Confidence bounds of shares, exact ones, and what words of the same notes are worth as evidence.

Clopper and Pearson's bound (1934) is exact for a binomial share, and valid when nothing is missed, where a bootstrap
would promise a share of 0 or 1. Words of one note are not independent (a name that is missed once is missed again), so
the number of words is divided by the design effect that the notes show (Korn and Graubard, "Confidence intervals for
proportions with small expected number of positive counts estimated from survey data", Survey Methodology 24, 1998).
"""

from __future__ import annotations

import numpy as np


def lower_bound(found: float, total: float, confidence: float) -> float:
    """Return Clopper and Pearson's one-sided lower bound of a share.

    Parameters
    ----------
    found, total : float
        Hits and trials; may be fractions.
    confidence : float
        Probability that the share is not below the bound, 0 to 1.

    Returns
    -------
    float
        0 to 1; 0 without trials.

    Examples
    --------
    >>> round(lower_bound(299, 299, 0.95), 4)
    0.99
    """
    from scipy.stats import beta

    if total <= 0 or found <= 0:
        return 0.0
    return float(beta.ppf(1 - confidence, found, total - found + 1))


def upper_bound(found: float, total: float, confidence: float) -> float:
    """Return Clopper and Pearson's one-sided upper bound of a share; arguments as `lower_bound`, 1 without trials.

    Examples
    --------
    >>> round(upper_bound(0, 300, 0.95), 4)
    0.0099
    """
    return 1.0 if total <= 0 else 1.0 - lower_bound(total - found, total, confidence)


def design_effect(words: np.ndarray, found: np.ndarray) -> float:
    """Return the variance of a share of words over notes (linearized ratio) over that of independent words.

    Parameters
    ----------
    words, found : ndarray of shape (notes,)
        Words of each note, and those that count.

    Returns
    -------
    float
        At least 1; 1 where all words count, or none, because nothing shows it then.
    """
    total, documents = words.sum(), len(words)
    share = found.sum() / total if total else 1.0
    if share in (0.0, 1.0) or documents < 2:
        return 1.0
    residuals = (found - share * words) / total
    variance = documents / (documents - 1) * float((residuals**2).sum())
    return max(1.0, variance * float(total) / (share * (1 - share)))


def effective_words(words: float, effect: float, documents: int, confidence: float) -> float:
    """Return how many independent words the words of some notes are worth.

    Parameters
    ----------
    words : float
    effect : float
        The design effect, which is an estimate itself: hence Korn and Graubard's ratio of t quantiles.
    documents : int
    confidence : float
    """
    from scipy.stats import t

    if documents < 2 or words <= 1:
        return words / effect
    ratio = t.ppf(confidence, words - 1) / t.ppf(confidence, documents - 1)
    return min(float(words), words / effect * float(ratio) ** 2)
