"""What a ledger tells: the state of a budget, and its charges."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from deid.dp.epsilon import NANO, from_nano, show_nano
from deid.dp.unit import PrivacyUnit
from deid.dp.zcdp import epsilon_of

Part = tuple[str, str]
"""A partition of the table and one of its parts: a column (or another name for the split) and a declared value."""


@dataclass(frozen=True, slots=True)
class Account:
    """The state of a budget; amounts in nano-epsilons, or in nano-rhos where it has a delta."""

    name: str
    total: int
    spent: int
    unit: PrivacyUnit
    note: str
    created: str
    """UTC, ISO 8601."""
    delta: float = 0.0
    """Above 0 where the budget counts rhos (`deid.dp.zcdp`): all of it is (epsilon, delta)-DP."""
    keys_delta: float = 0.0
    """What all lists of values that are found by a threshold may add to that delta (`deid.dp.keys`)."""
    keys_spent: float = 0.0
    """What they have."""

    @property
    def remaining(self) -> int:
        """What is left, in nano-epsilons or nano-rhos."""
        return self.total - self.spent

    def epsilon(self, nanos: int) -> float:
        """Return an amount as an epsilon: with a delta, that of one release with Gaussian noise."""
        return epsilon_of(nanos / NANO, self.delta) if self.delta else nanos / NANO

    @property
    def amounts(self) -> dict[str, int]:
        """What it has, has spent and has left, in nano-epsilons or nano-rhos."""
        return {"total": self.total, "spent": self.spent, "remaining": self.remaining}

    def lines(self) -> list[tuple[str, str]]:
        """Return the amounts, and the deltas, for a terminal."""
        shown = [
            (name, f"epsilon {self.epsilon(own):.6g}, rho {show_nano(own)}" if self.delta else show_nano(own))
            for name, own in self.amounts.items()
        ]
        shown += [("delta", f"{self.delta:g}")] if self.delta else []
        return shown + ([("keys", f"delta {self.keys_delta:g}, {self.keys_spent:g} spent")] if self.keys_delta else [])

    def as_dict(self) -> dict[str, Any]:
        """Return the state as JSON values, amounts as epsilons and rhos."""
        keys = {"keys_delta": self.keys_delta, "keys_spent": self.keys_spent} if self.keys_delta else {}
        rhos = {f"rho_{name}": own / NANO for name, own in self.amounts.items()}
        return {
            **keys,
            "budget": self.name,
            **{name: self.epsilon(own) for name, own in self.amounts.items()},
            **({"delta": self.delta, **rhos} if self.delta else {}),
            **asdict(self.unit),
        }

    def left(self) -> str:
        """Return what is left as text: exactly, or as what one release with Gaussian noise may cost."""
        if self.delta:
            left, total = (self.epsilon(own) for own in (self.remaining, self.total))
            return f"epsilon {left:.4g} of {total:.4g} at delta {self.delta:g} is left"
        return f"{show_nano(self.remaining)} of {show_nano(self.total)} is left"


@dataclass(frozen=True, slots=True)
class Charge:
    """A line of the ledger."""

    request: str
    line: int
    """1, 2, ... in the order of the charges."""
    asked: int
    """The question's own cost, in the budget's nano-epsilons or nano-rhos."""
    charged: int
    """What it added to the spent total: less than ``asked`` where other disjoint parts had spent more already."""
    path: tuple[Part, ...]
    purpose: str
    who: str
    time: str
    """UTC, ISO 8601."""
    answer: str | None
    """What was answered, as recorded; None while it is being worked on, or when the work was interrupted."""

    @property
    def epsilon(self) -> float:
        """What noise may be drawn with, of a budget without delta: the cost as a number, rounded down."""
        return from_nano(self.asked)

    def as_dict(self, cost: str) -> dict[str, Any]:
        """Return the line as JSON values; ``cost`` is what the budget counts, epsilon or rho."""
        named = {name: getattr(self, name) for name in ("line", "time", "who", "request", "purpose")}
        part = "/".join(f"{partition}={part}" for partition, part in self.path)
        amounts = {cost: self.asked / NANO, "charged": self.charged / NANO}
        return {**named, "part": part, **amounts, "answered": self.answer is not None}
