"""Zero-concentrated differential privacy (zCDP): what many releases cost together when a small delta is accepted.

A mechanism is rho-zCDP when its Rényi divergence of every order a between neighbours is at most rho * a (Bun and
Steinke 2016, definition 1.1). Rhos add up, also when what is asked next depends on answers and so do its costs (lemma
2.3 there; Feldman and Zrnic 2021, "Individual privacy accounting via a Rényi filter", theorem 4.3). A pure epsilon
costs epsilon**2 / 2 (proposition 1.4), Gaussian noise of standard deviation s on numbers that move by D in L2 costs
D**2 / (2 s**2) (proposition 1.6; the discrete Gaussian: Canonne, Kamath and Steinke 2020, theorem 4).

Disjoint parts of a table cost their most expensive one, as with pure epsilon: of the d rows between neighbours a share
a lies in one part and b in another, a + b <= 1, where every mechanism of this package loses a times (b times) what it
loses for d rows in L1, in L2 or in pure epsilon; so rho falls to a**2 rho1 + b**2 rho2, no more than the greater one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from deid.base.errors import require
from deid.dp.epsilon import NANO, to_nano

_ORDERS = 1 + np.geomspace(1e-3, 1e7, 4001)
_SLACK = 1e-9  # relative; of floating point, always against the user


def check_delta(delta: float) -> float:
    """Return a delta.

    Raises
    ------
    ConfigError
        When it is not above 0 and below .1.
    """
    require(1e-30 <= delta < 0.1, "delta is a small probability, above 0 and below 0.1", "for example: --delta 1e-6")
    return delta


def _log_delta(rho: float, epsilon: float) -> float:
    """Return the logarithm of a delta for which rho-zCDP implies (epsilon, delta)-DP.

    Canonne, Kamath and Steinke 2020, corollary 13: the bound holds for every order above 1, so that of the best of many
    holds.
    """
    above = _ORDERS - 1
    logs = above * (_ORDERS * rho - epsilon) - np.log(above) + _ORDERS * (np.log(above) - np.log(_ORDERS))
    return float(logs.min())


@functools.lru_cache(maxsize=4096)
def rho_of(epsilon: float, delta: float) -> float:
    """Return the greatest rho, rounded down, that implies (epsilon, delta)-DP.

    Raises
    ------
    ConfigError
        When delta is none, or epsilon is not positive.
    """
    to_nano(epsilon)
    wanted = math.log(check_delta(delta))
    low, high = 0.0, float(epsilon)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _log_delta(middle, float(epsilon)) <= wanted else (low, middle)
    require(low > 0, "epsilon is too small for this delta", "give more epsilon")
    return low * (1 - _SLACK)


def epsilon_of(rho: float, delta: float) -> float:
    """Return an epsilon, rounded up, for which rho-zCDP implies (epsilon, delta)-DP; 0 for a rho of 0."""
    if rho <= 0:
        return 0.0
    wanted = math.log(check_delta(delta))
    low, high = 0.0, rho + 2 * math.sqrt(rho * -wanted)  # Bun and Steinke 2016, proposition 1.3
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if _log_delta(rho, middle) <= wanted else (middle, high)
    return high * (1 + _SLACK)


def nano_rho_of_pure(epsilon: float | str) -> int:
    """Return what a pure epsilon costs, in nano-rhos, rounded up."""
    nanos = to_nano(epsilon)
    return -(-nanos * nanos // (2 * NANO))


def split_rho(rho: float, weights: Sequence[float]) -> tuple[float, ...]:
    """Return the parts of a rho in the proportion of ``weights``; their sum is at most it."""
    whole = sum(weights)
    return tuple(rho * weight / whole * (1 - _SLACK) for weight in weights)
