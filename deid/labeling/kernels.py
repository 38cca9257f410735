"""The hot loops: compiled where `deid._native` was built, else their NumPy reference.

``DEID_KERNELS=labeller`` in the environment chooses the reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deid.base.compiled import native_for
from deid.labeling import reference

_native = native_for("labeller")


LARGEST_LABELS = 256
"""As many labels as the compiled labeller can tell apart."""
_MOST_APART = 340.0
"""Differences of scores up to which a product of two scaled messages is a normal double: e^-680 is, e^-709 is not."""


def labeller(**parts: Any) -> Any:
    """Return a compiled labeller, from text to labels in one call; None where there is none."""
    if _native is None or parts["labels"] > LARGEST_LABELS:
        return None
    return _native.Labeller(**parts)


def viterbi(emissions: np.ndarray, transition: np.ndarray) -> np.ndarray:
    """Return the best label ids; see `deid.labeling.reference.viterbi`."""
    n, size = emissions.shape
    if _native is None or n == 0:
        return reference.viterbi(emissions, transition)
    path = np.empty(n, dtype=np.int64)
    _native.viterbi(_doubles(emissions), _doubles(transition), n, size, path)
    return path


def marginals(emissions: np.ndarray, transition: np.ndarray) -> np.ndarray:
    """Return the labels' marginal probabilities; see `deid.labeling.reference.marginals`."""
    n, size = emissions.shape
    if _native is None or n == 0:
        return reference.marginals(emissions, transition)
    # the compiled loop multiplies probabilities: those of scores hundreds apart would underflow
    if not np.ptp(emissions, axis=1).max() + 2 * np.abs(transition).max() < _MOST_APART:
        return reference.marginals(emissions, transition)
    out = np.empty((n, size))
    _native.marginals(_doubles(emissions), _doubles(transition), n, size, out)
    return out


def epoch(*given: Any) -> float:
    """Take one pass of AdaGrad over the training stretches; arguments as those of `deid.labeling.reference.epoch`.

    Weights, sums of squares and transitions are changed in place.

    Returns
    -------
    float
        The loss of the pass.
    """
    if _native is None:
        return reference.epoch(*given)
    *arrays, rate, pull, drop, random = given
    return float(_native.epoch(*arrays, len(arrays[-1]), rate, pull, drop, random))


def _doubles(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=np.float64)
