"""Confidence intervals of released numbers, from the noise that was drawn.

A number of a release is a known linear combination of independent Laplace draws. One draw has exact quantiles; so has a
sum of a few equal ones (by convolution). Other combinations get the symmetric law with the same variance and kurtosis:
a sum of m Laplace draws, for real m, is the variance-gamma law, and m follows from the weights. It is exact for one
draw and for equal weights, and becomes the normal law as m grows.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from deid.base.arrays import FloatArray
from deid.base.errors import ConfigError
from deid.dp.noise import laplace_scale

_LEVELS = 0.01, 0.999999
_CONVOLVED = 30
_STRATA = 4000  # of the gamma law; the widths are right to three digits


def check_level(level: float) -> float:
    """Return the level of an interval.

    Raises
    ------
    ConfigError
        When it is not between .01 and .999999, within which all quantiles can be computed.
    """
    if not _LEVELS[0] <= level <= _LEVELS[1]:
        raise ConfigError(
            "the level of an interval lies between 0 and 1, from .01 to .999999", "for example: --level 0.95"
        )
    return level


@functools.lru_cache(maxsize=512)
def discrete_half_width(sensitivity: int, epsilon: float, draws: int, level: float) -> float:
    """Return the least a such that a sum of discrete Laplace draws lies in [-a, a] with probability ``level``.

    Exact up to 30 draws (one by its closed form, more by convolution), normal above.

    Parameters
    ----------
    sensitivity, epsilon
        Those of each draw.
    draws : int
        How many are added up.
    level : float
        Such as .95.
    """
    scale = laplace_scale(sensitivity, epsilon)
    alpha = math.exp(-1 / scale)
    if alpha == 0.0:  # epsilon is so large that there is no noise
        return 0.0
    if draws == 1:  # P(|X| > a) = 2 alpha**(a + 1) / (1 + alpha)
        return float(max(0, math.ceil(math.log((1 - level) * (1 + alpha) / 2, alpha) - 1 - 1e-9)))
    if draws > _CONVOLVED or scale > 3000:
        return standard_half_width(float(draws), level) * math.sqrt(draws * 2 * alpha / (1 - alpha) ** 2)
    reach = math.ceil(scale * (draws + 40))
    steps = np.arange(-reach, reach + 1)
    one = (1 - alpha) / (1 + alpha) * alpha ** np.abs(steps)
    size = 1 << (2 * reach * draws + draws).bit_length()
    spectrum = np.fft.rfft(np.concatenate([one[reach:], np.zeros(size - len(one)), one[:reach]]))
    law = np.fft.irfft(spectrum**draws, size)
    inside = law[0] + 2 * np.cumsum(law[1 : size // 2])
    return 0.0 if law[0] >= level else float(1 + np.argmax(inside >= level))


@functools.lru_cache(maxsize=4096)
def standard_half_width(draws: float, level: float) -> float:
    """Return the half width, in standard deviations, for a sum of ``draws`` (1 or more) equal Laplace draws."""
    from scipy.optimize import brentq
    from scipy.special import erfc, gammaincinv
    from scipy.stats import norm

    if draws > 200:
        return float(norm.ppf((1 + level) / 2))
    if draws <= 1:
        return -math.log(1 - level) / math.sqrt(2)
    # Laplace = normal with an exponential variance, so the sum is normal with a gamma(draws) variance
    variances = gammaincinv(draws, (np.arange(_STRATA) + 0.5) / _STRATA) / draws
    deviations = np.sqrt(2 * np.maximum(variances, 1e-300))
    return float(brentq(lambda a: erfc(a / deviations).mean() - (1 - level), 1e-6, 60))


_GRID = np.concatenate([np.linspace(1, 4, 25), np.geomspace(4.3, 200, 25)])


def half_width(variance: npt.ArrayLike, draws: npt.ArrayLike, level: float) -> FloatArray:
    """Return half widths of intervals for combinations of Laplace draws.

    Parameters
    ----------
    variance : array
        Variance of each combination.
    draws : array
        Effective number of draws of each: with draws of variance v_i, ``sum(v_i)**2 / sum(v_i**2)``.
    level : float
        Such as .95.

    Returns
    -------
    float64 array
        Half widths, of the shape of ``variance``.
    """
    table = [standard_half_width(float(n), level) for n in _GRID]
    return np.asarray(np.interp(np.asarray(draws, float), _GRID, table) * np.sqrt(np.asarray(variance, float)))
