"""What all releases that are paid for share: a plan that holds nothing of the data, its payment, what is told of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deid.base.arrays import IntArray
from deid.dp.budget import Ledger, Part
from deid.dp.intervals import check_level
from deid.dp.left_out import check_share, split_report, tell_left_out
from deid.dp.noise import Noise, SeededNoise
from deid.dp.payment import pay
from deid.dp.unit import PrivacyUnit, check_bound


def plan_terms(
    unit: PrivacyUnit,
    *,
    level: float = 0.95,
    person: str | None = None,
    report_share: float | None = None,
    assert_bound: bool = False,
) -> dict[str, Any]:
    """Check the terms that all plans have, and return them as fields of `ReleasePlan`.

    Parameters
    ----------
    unit : PrivacyUnit
        Whom the release protects.
    level : float
        Level of the intervals, 0 to 1.
    person : str, optional
        Column of the person, whose rows are bounded by ``unit.max_rows``.
    report_share : float, optional
        Share of epsilon for telling what was left out; 0 tells nothing.
    assert_bound : bool
        Vouch for the bound on a unit's rows instead of naming the person.

    Raises
    ------
    ConfigError
        When a number is out of its range, or nothing ensures the bound.
    """
    level, bound = check_level(level), check_bound(unit, person, assert_bound)
    return {"unit": unit, "level": level, "person": person, "report_share": check_share(report_share), "bound": bound}


@dataclass(frozen=True, kw_only=True)
class ReleasePlan(ABC):
    """What is to be released; holds nothing of the data.

    Parameters
    ----------
    epsilon : float
        Cost of the whole release.
    unit : PrivacyUnit
        Whom it protects.
    method : str
        How it is measured.
    level : float
        Level of the intervals.
    person : str, optional
        Column of the person, whose rows are bounded by ``unit.max_rows``.
    report_share : float
        Share of epsilon for telling what was left out; 0 tells nothing.
    bound : str
        How the unit's bound is ensured: ``enforced`` or ``asserted`` (`deid.dp.unit.check_bound`).
    """

    epsilon: float
    unit: PrivacyUnit
    method: str
    level: float = 0.95
    person: str | None = None
    report_share: float = 0.0
    bound: str = "enforced"

    @property
    def measuring(self) -> float:
        """Epsilon of the measurements, without the report on what was left out."""
        return split_report(self.epsilon, self.report_share)[0]

    @property
    def reporting(self) -> float | None:
        """Epsilon of the report on what was left out; None for no report."""
        return split_report(self.epsilon, self.report_share)[1]

    @abstractmethod
    def question(self) -> dict[str, Any]:
        """Return all that defines the release, as JSON values."""

    def questioned(self) -> dict[str, Any]:
        """Return what a question says of the fields that all plans have."""
        return {
            "level": self.level,
            "person": self.person,
            "report_share": self.report_share,
            **({"bound": "asserted"} if self.bound == "asserted" else {}),
        }

    def tell_left_out(self, left_out: IntArray, noise: Noise, *, of_part: bool = False) -> dict[str, Any]:
        """Return what a release says of what it left out; see `deid.dp.left_out.tell_left_out`."""
        unit, level, persons = self.unit, self.level, self.person is not None
        return tell_left_out(left_out, self.reporting, noise, unit=unit, level=level, persons=persons, of_part=of_part)

    def rehearse_report(self) -> None:
        """Draw the report with test noise: an epsilon too small for it is refused here."""
        self.tell_left_out(np.zeros(2, np.int64), SeededNoise(0))

    def pay(
        self, ledger: Ledger | None, noise: Noise, request: str, purpose: str, path: Sequence[Part] = ()
    ) -> dict[str, Any] | None:
        """Charge a ledger for the release; see `deid.dp.payment.pay`."""
        unit, person, asked = self.unit, self.person, self.question()
        return pay(
            ledger, noise, self.epsilon, request, unit=unit, purpose=purpose, question=asked, path=path, person=person
        )

    def metadata(
        self, noise: Noise, receipt: Mapping[str, Any] | None, request: str, own: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return what a release says of itself, as JSON values.

        Parameters
        ----------
        noise : Noise
            What drew its numbers.
        receipt : mapping, optional
            Of the charge.
        request : str
            Id of the request.
        own : mapping
            What this kind of release says beside: its settings, ``notes``, ``left_out``.
        """
        return {
            "method": self.method,
            "epsilon": self.epsilon,
            "unit": self.unit.name,
            "relation": self.unit.relation,
            "max_rows": self.unit.max_rows,
            "bound": self.bound,
            "person": self.person,
            "ledger": receipt,
            "private": noise.private,
            "noise": noise.label,
            "level": self.level,
            "request": request,
            **own,
        }
