"""Epsilons as integers: budgets are kept in nano-epsilons, so that sums are exact and nothing is lost to rounding.

A number that the user writes is taken as written (0.1 is one tenth, not the binary fraction next to it). A charge is
rounded up to whole nano-epsilons and the noise for it is drawn with a floating-point epsilon rounded down, so the loss
is never above the charge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from deid.base.errors import ConfigError, require, told_as

NANO = 10**9
"""Nano-epsilons in one epsilon."""


def to_nano(epsilon: float | str, *, up: bool = True) -> int:
    """Return an epsilon in nano-epsilons, rounded up (a charge) or down (a total).

    Raises
    ------
    ConfigError
        When it is no positive finite number, or too small or too large to account for.
    """
    with told_as(ConfigError("epsilon is no number", "write a number such as 0.5"), ValueError, ZeroDivisionError):
        exact = Fraction(str(epsilon)) * NANO
    if exact <= 0 or exact > 2**62:
        raise ConfigError("epsilon must be positive", "write a number such as 0.5")
    nanos = math.ceil(exact) if up else math.floor(exact)
    require(nanos != 0, "epsilon is smaller than a nano-epsilon", "write a number such as 0.5")
    return nanos


def from_nano(nanos: int) -> float:
    """Return the greatest floating-point number that is not above ``nanos`` nano-epsilons."""
    value = nanos / NANO
    return value if Fraction(value) * NANO <= nanos else math.nextafter(value, 0.0)


def payable(epsilon: float | str) -> float:
    """Return what noise may be drawn with when ``epsilon`` is charged: never above the charge."""
    return from_nano(to_nano(epsilon))


def show_nano(nanos: int) -> str:
    """Return nano-epsilons (1e-9 each) written as an epsilon, exactly: ``500000000`` as ``0.5``."""
    whole, rest = divmod(nanos, NANO)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


def split_epsilon(epsilon: float, weights: Sequence[float]) -> tuple[float, ...]:
    """Return the parts of an epsilon in the proportion of ``weights``; their sum is at most it, whatever the rounding.

    Raises
    ------
    ConfigError
        When a weight is not positive, or a part would fall below a nano-epsilon.
    """
    if not weights or any(not (math.isfinite(weight) and weight > 0) for weight in weights):
        raise ConfigError("the shares of a budget must be positive", "leave out what is to get nothing")
    total, weight_sum = to_nano(epsilon, up=False), sum(map(Fraction, weights))
    parts = [int(total * Fraction(weight) / weight_sum) for weight in weights]
    if min(parts) == 0:
        raise ConfigError("a share of the budget is smaller than a nano-epsilon", "give more epsilon or fewer shares")
    return tuple(map(from_nano, parts))
