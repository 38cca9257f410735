"""Noise: the one place where randomness that protects people is drawn.

Two backends have the same three mechanisms. `OpenDPNoise` is the only one that protects: exact samplers of OpenDP,
fed by the operating system's random numbers. `SeededNoise` draws the same laws from NumPy, for tests, benchmarks and
experiments that must be repeatable; its stream can be guessed and its floating point leaks (Mironov 2012), so whatever
it touches is marked not private: `Noise.private` is False and `Noise.label` says so, and both go into every release.

Mechanisms take a sensitivity and an epsilon, never a scale, so that no caller divides on its own: the scale is rounded
up until OpenDP itself confirms that the loss is at most epsilon.
"""

from __future__ import annotations

import functools
import importlib.metadata
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from deid.base.arrays import FloatArray, IntArray
from deid.base.errors import ConfigError, DeidError, require

_TAIL = 64  # |noise| exceeds 64 scales with probability e**-64
_GREATEST_SCALE = 2.0**55  # with the tail and any count still within 64 bits
_LEAST_VARIANCE = 1e-12  # that of a huge epsilon is 0 in floating point, and weights are its inverse


class Noise(Protocol):
    """A source of noise."""

    @property
    def private(self) -> bool:
        """Whether the noise protects, so that what it is added to may be published."""
        ...

    @property
    def label(self) -> str:
        """What to write into releases."""
        ...

    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> IntArray:
        """Return integers with discrete Laplace noise; epsilon-DP when the L1 sensitivity is right.

        The noise k has probability proportional to alpha**abs(k), alpha = exp(-epsilon / sensitivity) (Ghosh,
        Roughgarden, Sundararajan 2009).

        Parameters
        ----------
        values : int array
            True numbers; shape and order are kept.
        sensitivity : int
            Sum of the absolute changes between neighbours, above 0.
        epsilon : float
            Cost, above 0.

        Returns
        -------
        int64 array
            Noisy numbers, of the shape of ``values``.

        Raises
        ------
        ConfigError
            When epsilon or the sensitivity is not positive, or epsilon is too small.
        TypeError
            When ``values`` are not integers.
        """
        ...

    def discrete_gaussian(self, values: npt.ArrayLike, sensitivity: int, rho: float) -> IntArray:
        """Return integers with discrete Gaussian noise; rho-zCDP when the L2 sensitivity is right.

        The noise k has probability proportional to exp(-k**2 / (2 s**2)), s = sensitivity / sqrt(2 rho) (Canonne,
        Kamath and Steinke 2020, "The discrete Gaussian for differential privacy", theorem 4). Arguments and errors as
        those of `discrete_laplace`, in the measure of `deid.dp.zcdp`.
        """
        ...

    def laplace(self, values: npt.ArrayLike, scale: float) -> FloatArray:
        """Return numbers with continuous Laplace noise; for thresholds whose proof needs a density (PrivTree).

        Parameters
        ----------
        values : float array
            True numbers; shape and order are kept.
        scale : float
            Mean absolute noise, in the unit of the values, above 0.
        """
        ...

    def choose(self, scores: npt.ArrayLike, sensitivity: float, epsilon: float) -> int:
        """Return an index whose score is near the greatest, by the exponential mechanism's permute-and-flip form.

        It is the index of the greatest score after adding exponential noise with mean s = 2 * sensitivity / epsilon to
        each (McKenna and Sheldon 2020, "Permute-and-flip": never further from the greatest than a choice with
        probabilities proportional to exp(score / s), often half as far; Ding and others 2021: that it is the noisy
        maximum). ``sensitivity`` bounds how much one score can change between neighbours.

        Given the noise of all others, index t is chosen when its own noise is above some threshold. Between neighbours
        a threshold moves by at most 2 * sensitivity, so its probability, min(1, exp(-threshold / s)), changes by a
        factor of at most exp(epsilon). Where scores all move in one direction, a threshold moves by at most the
        sensitivity: such a caller gives half of it.

        Raises
        ------
        ConfigError
            When there is no score, or epsilon or the sensitivity is not positive.
        """
        ...


def laplace_scale(sensitivity: float, epsilon: float) -> float:
    """Return the least scale, up to rounding upwards, whose loss ``sensitivity / scale`` is at most epsilon.

    Raises
    ------
    ConfigError
        When epsilon or the sensitivity is not positive and finite, or epsilon so small that noise would overflow.
    """
    require(math.isfinite(epsilon) and epsilon > 0, "epsilon must be a positive number", "for example: --epsilon 0.5")
    scale = _bounded_scale(sensitivity, sensitivity / epsilon)
    # OpenDP rounds its quotient up: 1 / (1 / 0.7) would come out above 0.7 and be refused
    while Fraction(scale) * Fraction(epsilon) < Fraction(sensitivity):
        scale = math.nextafter(scale, math.inf)
    return scale


def _bounded_scale(sensitivity: float, scale: float) -> float:
    """Return the scale of noise for a sensitivity, if both can be."""
    if not (math.isfinite(sensitivity) and sensitivity > 0):
        raise ConfigError("the sensitivity must be a positive number", "bound what one unit can change")
    require(scale <= _GREATEST_SCALE, "epsilon is too small for what is asked", "give more epsilon")
    return scale


def laplace_variance(sensitivity: float, epsilon: float) -> float:
    """Return the variance of one discrete Laplace draw, 2 alpha / (1 - alpha)**2, at least 1e-12."""
    rate = 1 / laplace_scale(sensitivity, epsilon)
    return max(2 * math.exp(-rate) / math.expm1(-rate) ** 2, _LEAST_VARIANCE)


def gaussian_scale(sensitivity: float, rho: float) -> float:
    """Return the least scale, up to rounding upwards, whose loss ``sensitivity**2 / (2 scale**2)`` is at most rho.

    Raises
    ------
    ConfigError
        When rho or the sensitivity is not positive and finite, or rho so small that noise would overflow.
    """
    require(math.isfinite(rho) and rho > 0, "the cost must be a positive number", "for example: --epsilon 0.5")
    return _bounded_scale(sensitivity, sensitivity / math.sqrt(2 * rho) * (1 + 1e-12))


def gaussian_variance(sensitivity: float, rho: float) -> float:
    """Return the square of the scale, which the variance of a discrete Gaussian is hardly below; at least 1e-12."""
    return max(gaussian_scale(sensitivity, rho) ** 2, _LEAST_VARIANCE)


def _integers(values: npt.ArrayLike) -> IntArray:
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise TypeError("discrete noise needs integers")
    return np.ascontiguousarray(array, np.int64)


def _candidates(scores: npt.ArrayLike) -> FloatArray:
    values = np.asarray(scores, np.float64).ravel()
    require(values.size, "there is nothing to choose from", "give at least one candidate")
    return values


def _confirm(confirmed: bool) -> None:
    """Refuse to draw where the noise library does not say that the loss is at most what is paid."""
    said = "the noise library did not confirm the privacy loss"
    require(confirmed, said, "report this; nothing was released", kind=DeidError)


def _drawn(
    values: npt.ArrayLike, law: Callable[[str, Any], Any], scale: Any, sensitivity: float, cost: float
) -> IntArray:
    """Return integers with the noise of a law of the library, once it has confirmed what that costs."""
    array = _integers(values)
    largest = int(np.abs(array).max(initial=0)) + _TAIL * scale
    # numbers half as wide are twice as fast; OpenDP saturates instead of overflowing, so keep well inside
    narrow = largest < np.iinfo(np.int32).max
    measurement = law("i32" if narrow else "i64", scale)
    _confirm(measurement.map(sensitivity) <= cost)
    if not array.size:
        return array
    drawn = measurement(array.ravel().astype(np.int32 if narrow else np.int64))
    return np.asarray(drawn, np.int64).reshape(array.shape)


class OpenDPNoise:
    """Noise that protects: OpenDP's exact samplers (`make_laplace` on integers is the discrete Laplace)."""

    private = True

    @property
    def label(self) -> str:
        """Library and version."""
        return f"OpenDP {importlib.metadata.version('opendp')}"

    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> IntArray:
        """Return integers with discrete Laplace noise; see `Noise`. About 25,000 to 150,000 values a second.

        Raises
        ------
        DeidError
            When the library does not confirm that the loss is at most epsilon; nothing was drawn.
        """
        return _drawn(values, _laplace, laplace_scale(sensitivity, epsilon), sensitivity, epsilon)

    def discrete_gaussian(self, values: npt.ArrayLike, sensitivity: int, rho: float) -> IntArray:
        """Return integers with discrete Gaussian noise; see `Noise`. About 20,000 values a second.

        Raises
        ------
        DeidError
            When the library does not confirm that the loss is at most rho; nothing was drawn.
        """
        return _drawn(values, _gaussian, gaussian_scale(sensitivity, rho), float(sensitivity), rho)

    def laplace(self, values: npt.ArrayLike, scale: float) -> FloatArray:
        """Return numbers with continuous Laplace noise, drawn exactly on a grid of floating-point numbers; see `Noise`.

        Raises
        ------
        ConfigError
            When the scale is not positive and finite.
        """
        array = np.asarray(values, np.float64)
        if not (math.isfinite(scale) and scale > 0):  # OpenDP takes a scale of 0, which protects nothing
            raise ConfigError("the scale of noise must be a positive number", "give a positive epsilon")
        if not array.size:
            return array
        return np.asarray(_laplace("f64", scale)(array.ravel().tolist()), np.float64).reshape(array.shape)

    def choose(self, scores: npt.ArrayLike, sensitivity: float, epsilon: float) -> int:
        """Return an index near the greatest score; see `Noise`, also for errors."""
        scale = laplace_scale(2 * sensitivity, epsilon)
        values = _candidates(scores)
        measurement = _noisy_max(scale)
        _confirm(measurement.map(float(sensitivity)) <= epsilon)
        return int(measurement(values.tolist()))


@functools.lru_cache(maxsize=256)
def _laplace(atom: str, scale: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.atom_domain(T=atom, nan=False) if atom == "f64" else dp.atom_domain(T=atom)
    return dp.m.make_laplace(dp.vector_domain(domain), dp.l1_distance(T=atom), scale=scale)


@functools.lru_cache(maxsize=256)
def _gaussian(atom: str, scale: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T=atom)), dp.l2_distance(T="f64"), scale=scale)


@functools.lru_cache(maxsize=64)
def _noisy_max(scale: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.linf_distance(T="f64")
    # for pure epsilon OpenDP draws exponential noise
    return dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale)


class SeededNoise:
    """The same laws from a seeded generator, for tests and experiments. PROTECTS NOBODY.

    Parameters
    ----------
    seed : int
        Equal seeds give equal streams, also on neighbouring inputs.
    """

    private = False

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generator = np.random.default_rng(seed)

    @property
    def label(self) -> str:
        """Says that the noise does not protect."""
        return f"NOT PRIVATE: seeded test noise (seed {self._seed})"

    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> IntArray:
        """Return integers with discrete Laplace noise, as a difference of two geometric draws; see `Noise`."""
        array = _integers(values)
        success = -math.expm1(-1 / laplace_scale(sensitivity, epsilon))
        first = self._generator.geometric(success, array.shape)
        second = self._generator.geometric(success, array.shape)
        return np.asarray(array + first - second, np.int64)

    def discrete_gaussian(self, values: npt.ArrayLike, sensitivity: int, rho: float) -> IntArray:
        """Return integers with discrete Gaussian noise, by its probabilities; see `Noise`."""
        array = _integers(values)
        scale = gaussian_scale(sensitivity, rho)
        if scale > 1e5:  # the law is smooth on whole numbers
            return np.asarray(array + np.rint(self._generator.normal(0.0, scale, array.shape)), np.int64)
        reach = math.ceil(12 * scale) + 1
        steps = np.arange(-reach, reach + 1)
        chances = np.exp(-(steps.astype(float) ** 2) / (2 * scale * scale))
        return np.asarray(array + self._generator.choice(steps, array.shape, p=chances / chances.sum()), np.int64)

    def laplace(self, values: npt.ArrayLike, scale: float) -> FloatArray:
        """Return numbers with continuous Laplace noise; see `Noise`."""
        array = np.asarray(values, np.float64)
        return np.asarray(array + self._generator.laplace(0.0, scale, array.shape), np.float64)

    def choose(self, scores: npt.ArrayLike, sensitivity: float, epsilon: float) -> int:
        """Return an index near the greatest score; see `Noise`, also for errors."""
        values = _candidates(scores)
        noise = self._generator.exponential(laplace_scale(2 * sensitivity, epsilon), values.size)
        return int(np.argmax(values + noise))
