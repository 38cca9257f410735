"""Paying for a release or an answer before any noise is drawn, the same way everywhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from deid.dp.budget import Ledger, Part
from deid.dp.domain import Dimension
from deid.dp.noise import Noise
from deid.dp.unit import PrivacyUnit
from deid.errors import ConfigError, DeidError

__all__ = ["AlreadyReleased", "check_payer", "partition_name", "pay"]


class AlreadyReleased(DeidError):
    """The request was answered before; the recorded answer stands, and nothing was charged."""

    answer: str = ""
    """What the ledger recorded."""


def check_payer(ledger: Ledger | None, noise: Noise) -> None:
    """Refuse noise that protects without a ledger that pays for it.

    Raises
    ------
    ConfigError
        When there is no ledger; test noise, which protects nobody, needs none.
    """
    if ledger is None and noise.private:
        raise ConfigError("a release needs a ledger that pays for it", "run deid budget init, then use --ledger")


def pay(
    ledger: Ledger | None,
    noise: Noise,
    epsilon: float,
    request: str,
    *,
    unit: PrivacyUnit,
    purpose: str,
    question: dict[str, Any],
    path: Sequence[Part] = (),
) -> None:
    """Charge a ledger for a question; arguments as those of `Ledger.charge`.

    Raises
    ------
    ConfigError
        When there is no ledger, or it is for another unit.
    BudgetExceeded
        When the budget does not suffice; nothing was charged.
    AlreadyReleased
        When this request was answered before.
    """
    check_payer(ledger, noise)
    if ledger is None:
        return
    asked = question | {"noise": noise.private}
    charge = ledger.charge(epsilon, request, unit=unit, purpose=purpose, question=asked, path=path)
    if charge.answer is not None:
        before = AlreadyReleased("this request was answered before; nothing was charged", "use that answer")
        before.answer = charge.answer
        raise before


def partition_name(dimension: Dimension) -> str:
    """Name the way a dimension divides the table: cells of other widths overlap, and are another partition."""
    cells = json.dumps([dimension.labels, dict(dimension.declaration)], sort_keys=True)
    return f"{dimension.name}#{hashlib.sha256(cells.encode()).hexdigest()[:8]}"
