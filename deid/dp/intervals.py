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
from deid.dp.noise import gaussian_scale, laplace_scale

_LEVELS = 0.01, 0.999999
_CONVOLVED = 30
_SMOOTH = 1e4  # the standard deviation from which a discrete Gaussian is a normal one
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
    inside = law[0] + 2 * np.cumsum(law[1:])
    return 0.0 if law[0] >= level else float(1 + np.argmax(inside >= level))


@functools.lru_cache(maxsize=512)
def gaussian_half_width(sensitivity: int, rho: float, level: float) -> float:
    """Return the least a such that a discrete Gaussian draw lies in [-a, a] with probability ``level``.

    Exact up to a standard deviation of 10,000, normal above; arguments as those of `discrete_half_width`.
    """
    scale = gaussian_scale(sensitivity, rho)
    if scale > _SMOOTH:
        return standard_half_width(math.inf, level) * scale
    steps = np.arange(math.ceil(12 * scale) + 2)
    law = np.exp(-(steps.astype(float) ** 2) / (2 * scale * scale))
    inside = (law[0] + 2 * np.concatenate([[0.0], np.cumsum(law[1:])])) / (law[0] + 2 * law[1:].sum())
    return float(np.argmax(inside >= level))


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


def sampled(
    counts: FloatArray, variance: FloatArray, draws: FloatArray, level: float, *, rows: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Return intervals that cover the noise of counts and that the rows are a sample: of the count to be expected.

    A count of independent rows is taken as Poisson, so its variance is its mean m; where one person may have up to
    ``rows`` of them, it is at most ``rows`` times that. With noise of variance v the interval holds all m with
    abs(count - m) <= z sqrt(rows m + v) (a score interval, as Wilson's of 1927, which holds for small counts, too).
    z comes from the law of the sum of both, of which only the noise has a kurtosis (`half_width`).

    Parameters
    ----------
    counts, variance, draws : float array of one shape
        Unbiased counts, the variance of their noise, and how many draws it is like.
    level : float
        Such as .95.
    rows : int
        Rows of one person, at most.

    Returns
    -------
    (float64 array, float64 array)
        The ends, not negative.
    """
    z = deviations(rows * np.maximum(counts, 0.0), variance, draws, level)
    middle = counts + rows * z**2 / 2
    half = z * np.sqrt(np.maximum(rows * counts + variance + (rows * z) ** 2 / 4, 0.0))
    return np.maximum(middle - half, 0.0), np.maximum(middle + half, 0.0)


def deviations(normal: FloatArray, variance: FloatArray, draws: FloatArray, level: float) -> FloatArray:
    """Return half widths, in standard deviations, of what is normal, of one variance, beside noise of another.

    Parameters
    ----------
    normal, variance, draws : float array of one shape
        The variance of what is normal, that of the noise, and how many Laplace draws the noise is like.
    level : float
        Such as .95.
    """
    whole, excess = (normal + variance) ** 2, variance**2 / draws
    like = np.divide(whole, excess, out=np.full(whole.shape, np.inf), where=excess > 0)
    return half_width(np.ones(whole.shape), like, level)


def shares_interval(
    part: FloatArray, whole: FloatArray, variances: tuple[FloatArray, FloatArray, FloatArray], draws: FloatArray,
    level: float, *, rows: int = 1, sampling: bool = True,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Return intervals of the share that a part is of a whole, both with noise.

    They hold all p for which part - p * whole is no further from 0 than its law allows (Fieller 1954): its variance is
    that of the noise, a - 2 p c + p**2 b, and, of independent rows, whole * p * (1 - p) (as Wilson 1927 has it), at
    most ``rows`` times that where one person may have as many. Where the whole cannot be told from 0, any share may be.

    Parameters
    ----------
    part, whole : float array of one shape
        Unbiased counts.
    variances : three float arrays
        Of the noise of the part (a), of the whole (b), and their covariance (c).
    draws, level, rows
        As those of `sampled`.
    sampling : bool
        Whether to cover that the rows are a sample, or the noise alone.

    Returns
    -------
    (float64 array, float64 array)
        The ends, from 0 to 1.
    """
    of_part, of_whole, both = variances
    spread = rows * np.maximum(whole, 0.0) * float(sampling)
    share = np.clip(part / np.where(whole == 0, 1.0, whole), 0.0, 1.0)
    noise = np.maximum(of_part - 2 * share * both + share**2 * of_whole, 0.0)
    z = deviations(spread * share * (1 - share), noise, draws, level)
    lower, upper = _fieller(part, whole, of_part, spread - 2 * both, of_whole - spread, of_whole, z)
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


def mean_interval(
    total: float, count: float, of_total: float, of_count: float, spread: float, draws: float, level: float, rows: int
) -> tuple[float, float]:
    """Return the interval of a mean of independent rows, of which total and count are known with noise.

    It holds all m for which total - m * count is no further from 0 than its law allows (Fieller 1954): its variance is
    that of the noise of both, and count * ``spread`` of the rows, at most ``rows`` times that where one person may have
    as many. Without ends where the count cannot be told from 0.

    Parameters
    ----------
    total, count : float
        With noise of the variances ``of_total`` and ``of_count``.
    spread : float
        Variance of the values.
    draws, level, rows
        As those of `sampled`.
    """
    mean, normal = total / max(count, 1.0), rows * max(count, 0.0) * spread
    arrays = [np.array([own]) for own in (normal, of_total + mean**2 * of_count, draws)]
    z = deviations(arrays[0], arrays[1], arrays[2], level)
    part, whole, constant, square = (np.array([own]) for own in (total, count, of_total + normal, of_count))
    lower, upper = _fieller(part, whole, constant, np.zeros(1), square, square, z)
    return float(lower[0]), float(upper[0])


def _fieller(
    part: FloatArray, whole: FloatArray, constant: FloatArray, linear: FloatArray, square: FloatArray,
    of_whole: FloatArray, z: FloatArray,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Return the least and the greatest p with (part - p whole)**2 <= z**2 (constant + linear p + square p**2).

    Infinite where the whole, with noise of the variance ``of_whole``, cannot be told from 0.
    """
    first = whole**2 - z**2 * square
    second = 2 * part * whole + z**2 * linear
    root = np.sqrt(np.maximum(second**2 - 4 * first * (part**2 - z**2 * constant), 0.0))
    known = (first > 0) & (whole > z * np.sqrt(of_whole))
    divisor = 2 * np.where(known, first, 1.0)
    lower, upper = (np.where(known, (second + sign * root) / divisor, sign * np.inf) for sign in (-1, 1))
    return lower, upper
