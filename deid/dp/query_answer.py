"""The answer to a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deid.base.errors import require
from deid.base.late import pd
from deid.dp.release_files import NOT_PRIVATE

NUMBERS = frozenset({"value", "lower", "upper", NOT_PRIVATE})
"""Columns of an answer that say nothing of what it is about."""


@dataclass(frozen=True, eq=False)
class QueryAnswer:
    """An answer to a question about a table, with its intervals and its cost.

    Parameters
    ----------
    rows : tuple of dict
        Each with ``value``, ``lower`` and ``upper``, and the cell that it is about.
    epsilon : float
        Cost.
    request : str
        Id in the ledger.
    level : float
        Level of the intervals.
    noise : str
        What drew the noise; says when it does not protect.
    private : bool
        Whether it does.
    bound : str
        How the unit's bound is ensured: ``enforced`` or ``asserted``.
    left_out : mapping
        How many rows have a cell outside the declared domains, with noise (`deid.dp.plan.Terms.left_out`).
    ledger : mapping or None
        Id, budget and line of the charge.
    delta : float
        With Gaussian noise: the answer by itself is (epsilon, delta)-DP. 0 for Laplace noise.
    """

    rows: tuple[Mapping[str, Any], ...]
    epsilon: float
    request: str
    level: float
    noise: str
    private: bool
    bound: str
    left_out: Mapping[str, Any]
    ledger: Mapping[str, Any] | None
    delta: float = 0.0

    def _one(self) -> Mapping[str, Any]:
        require(len(self.rows) == 1, "the answer has several rows", "use to_frame()")
        return self.rows[0]

    @property
    def value(self) -> float:
        """The number, of an answer with one row."""
        return float(self._one()["value"])

    @property
    def lower(self) -> float:
        """The lower end of its interval."""
        return float(self._one()["lower"])

    @property
    def upper(self) -> float:
        """The upper end of its interval."""
        return float(self._one()["upper"])

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values: what it cost and what it says of itself, but for its rows, whose number is told."""
        names = ("epsilon", "bound", "ledger", "left_out", "request", "level", "private")
        cost = {"delta": self.delta} if self.delta else {}
        return {**{name: getattr(self, name) for name in names}, **cost, "rows": len(self.rows)}

    def to_frame(self) -> pd.DataFrame:
        """Return all rows as a table."""
        frame = pd.DataFrame(list(self.rows))
        return frame if self.private else frame.assign(**{NOT_PRIVATE: self.noise})
