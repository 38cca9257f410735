"""What all releases that are paid for share: a plan that holds nothing of the data, its payment, what is told of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deid.base.arrays import IntArray
from deid.base.errors import require
from deid.dp.accounts import Part
from deid.dp.budget import Ledger
from deid.dp.costs import Cost, Rho, choosing, split
from deid.dp.domain import Dimension
from deid.dp.epsilon import payable, split_epsilon
from deid.dp.intervals import check_level, discrete_half_width
from deid.dp.noise import Noise, SeededNoise
from deid.dp.payment import AlreadyReleased, check_payer
from deid.dp.unit import PrivacyUnit, check_bound
from deid.dp.zcdp import check_delta, rho_of

REPORT_SHARE = 0.02
"""Share of epsilon that tells what was left out, unless the user says otherwise. A mistyped domain leaves out a lot."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Whom a release or an answer protects, and what it tells beside its numbers.

    Parameters
    ----------
    unit : PrivacyUnit
        Whom it protects.
    level : float
        Level of the intervals.
    person : str, optional
        Column of the person, whose rows are bounded by ``unit.max_rows``.
    report_share : float
        Share of epsilon for telling what was left out; 0 tells nothing.
    bound : str
        How the unit's bound is ensured: ``enforced`` or ``asserted`` (`deid.dp.unit.check_bound`).
    delta : float
        With Gaussian noise: what is released or answered is by itself (epsilon, delta)-DP. 0 for Laplace noise.
    """

    unit: PrivacyUnit
    level: float = 0.95
    person: str | None = None
    report_share: float = 0.0
    bound: str = "enforced"
    delta: float = 0.0

    @classmethod
    def checked(
        cls,
        unit: PrivacyUnit,
        *,
        level: float = 0.95,
        person: str | None = None,
        report_share: float | None = None,
        assert_bound: bool = False,
        delta: float = 0.0,
    ) -> Terms:
        """Return the terms that a user asks for.

        Parameters
        ----------
        unit : PrivacyUnit
            Whom the release protects.
        level : float
            Level of the intervals, 0 to 1.
        person : str, optional
            Column of the person, whose rows are bounded by ``unit.max_rows``.
        report_share : float, optional
            Share of epsilon for telling what was left out, `REPORT_SHARE` by default; 0 tells nothing.
        assert_bound : bool
            Vouch for the bound on a unit's rows instead of naming the person.
        delta : float
            Above 0 for Gaussian noise, which a budget with a delta pays for.

        Raises
        ------
        ConfigError
            When a number is out of its range, or nothing ensures the bound.
        """
        share = REPORT_SHARE if report_share is None else report_share
        require(0 <= share < 1, "the share of the report lies between 0 and 1", "for example: --report-share 0.05")
        bound = check_bound(unit, person, assert_bound)
        return Terms(
            unit=unit,
            level=check_level(level),
            person=person,
            report_share=share,
            bound=bound,
            delta=check_delta(delta) if delta else 0.0,
        )

    def questioned(self, *names: str) -> dict[str, Any]:
        """Return what a question says of the terms of these names, of Gaussian noise, and of a bound not enforced."""
        told = [*names, *(["delta"] if self.delta else [])]
        return {name: getattr(self, name) for name in told} | (
            {"bound": "asserted"} if self.bound == "asserted" else {}
        )

    def rho(self, epsilon: float) -> float | None:
        """Return what an epsilon costs where noise is Gaussian (`deid.dp.zcdp`); None where it costs itself."""
        return rho_of(epsilon, self.delta) if self.delta else None

    def split(self, epsilon: float) -> tuple[Cost, float | None]:
        """Return the cost of the measurements, and the epsilon of the report on what was left out: None for no report.

        A report is drawn with Laplace noise. Of a rho it has its share, as the pure epsilon which that pays for.
        """
        rho = self.rho(epsilon)
        if rho is None:
            if not self.report_share:
                return payable(epsilon), None
            own, told = split_epsilon(epsilon, (1 - self.report_share, self.report_share))
            return own, told
        if not self.report_share:
            return Rho(rho), None
        measuring, reporting = split(Rho(rho), (1 - self.report_share, self.report_share))
        return measuring, choosing(reporting)

    def left_out(
        self, left_out: IntArray, epsilon: float | None, noise: Noise, *, of_part: bool = False, persons: bool = False
    ) -> dict[str, Any]:
        """Return what to write into a release about what it left out.

        Parameters
        ----------
        left_out : int64 array, shape (2,)
            Persons with too many rows, and rows outside the declared domains.
        epsilon : float or None
            What it may cost; None tells nothing.
        noise : Noise
            Source of noise.
        of_part : bool
            Whether the release is about a part of the table, or persons are nothing that it tells of.
        persons : bool
            Whether it is persons, not rows, who lie outside.
        """
        if epsilon is None:
            return {"told": False, "why": "rows outside the declared domains were left out; their number is private"}
        names: tuple[str, ...]
        if persons:
            names, values, sensitivity = ("persons_outside_domains",), left_out[1:], self.unit.unit_distance
        elif of_part or self.person is None:
            # in a part, a person would be counted in each that has his rows: parts could not be charged by their
            # maximum
            names, values, sensitivity = ("rows_outside_domains",), left_out[1:], self.unit.distance
        else:
            # one unit is at most one person with too many rows, and stands behind at most max_rows of the rows
            names, values = ("persons_with_too_many_rows", "rows_outside_domains"), left_out
            sensitivity = self.unit.distance + self.unit.unit_distance
        drawn = noise.discrete_laplace(values, sensitivity, epsilon)
        told: dict[str, Any] = {"told": True, "epsilon": epsilon, **dict(zip(names, drawn.tolist(), strict=True))}
        return told | {"plus_minus": discrete_half_width(sensitivity, epsilon, 1, self.level)}

    def pay(
        self,
        ledger: Ledger | None,
        noise: Noise,
        epsilon: float,
        request: str,
        *,
        purpose: str,
        question: dict[str, Any],
        path: Sequence[Part] = (),
        keys_delta: float = 0.0,
    ) -> dict[str, Any] | None:
        """Charge a ledger for a question; arguments as those of `Ledger.charge`, ``keys_delta`` as its ``delta``.

        Whatever can be known to fail must have been tried before. Draw with `deid.dp.epsilon.payable`, or with parts of
        it.

        Returns
        -------
        dict or None
            What a release says of the charge (`Ledger.receipt`); None for test noise without a ledger.

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
            return None
        charge = ledger.charge(
            epsilon, request, unit=self.unit, purpose=purpose, question=question | {"noise": noise.private}, path=path,
            person=self.person, rho=self.rho(epsilon), delta=keys_delta,
        )  # fmt: skip
        receipt = ledger.receipt(charge)
        if charge.answer is not None:
            before = AlreadyReleased("this request was answered before; nothing was charged", "use that answer")
            before.answer, before.receipt = charge.answer, receipt
            raise before
        return receipt


@dataclass(frozen=True, kw_only=True)
class ReleasePlan(Terms, ABC):
    """What is to be released, and on which terms; holds nothing of the data.

    Parameters
    ----------
    epsilon : float
        Cost of the whole release.
    method : str
        How it is measured.
    part : tuple of (Dimension, str)
        Only what lies in these cells; parts of one column are disjoint, and paid for as such.
    """

    epsilon: float
    method: str
    part: tuple[tuple[Dimension, str], ...] = ()

    @property
    def measuring(self) -> Cost:
        """What the measurements cost, without the report on what was left out."""
        return self.split(self.epsilon)[0]

    @property
    def pure(self) -> float:
        """The same, of a method that draws no Gaussian noise."""
        measuring = self.measuring
        assert not isinstance(measuring, Rho)
        return measuring

    @abstractmethod
    def question(self) -> dict[str, Any]:
        """Return all that defines the release, as JSON values."""

    @property
    def of_persons(self) -> bool:
        """Whether it is persons, not rows, who lie outside the declared domains."""
        return False

    def tell_left_out(self, left_out: IntArray, noise: Noise) -> dict[str, Any]:
        """Return what the release says of what it left out; see `Terms.left_out`."""
        about = {"of_part": bool(self.part), "persons": self.of_persons}
        return self.left_out(left_out, self.split(self.epsilon)[1], noise, **about)

    def rehearse_report(self) -> None:
        """Draw the report with test noise: an epsilon too small for it is refused here."""
        self.tell_left_out(np.zeros(2, np.int64), SeededNoise(0))

    def charge(
        self, ledger: Ledger | None, noise: Noise, request: str, purpose: str, path: Sequence[Part] = ()
    ) -> dict[str, Any] | None:
        """Charge a ledger for the release; see `Terms.pay`."""
        return self.pay(ledger, noise, self.epsilon, request, purpose=purpose, question=self.question(), path=path)

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
            **({"rho": self.rho(self.epsilon), "delta": self.delta} if self.delta else {}),
            **own,
        }


def check_free(names: Iterable[str], taken: Collection[str], what: str, whose: str) -> None:
    """Refuse names that the numbers of a release or an answer have themselves.

    Parameters
    ----------
    names : iterable of str
    taken : collection of str
    what, whose : str
        What has the names, and what has the numbers, in words.
    """
    for name in sorted(names):
        require(name not in taken, f"{what} may not be called {name!r}", f"the numbers of {whose} are; rename it")


def say_left_out(told: Mapping[str, Any]) -> list[str]:
    """Return what a release says of what it left out (`Terms.left_out`) in words, for people."""
    if not told["told"]:
        return []
    about = f"(plus or minus {told['plus_minus']:g})"
    lines = []
    if "persons_with_too_many_rows" in told:
        lines.append(f"persons who lost rows to the bound, with noise: {told['persons_with_too_many_rows']} {about}")
    outside = {"rows_outside_domains": "rows with a cell", "persons_outside_domains": "persons with an event"}
    for name, whose in outside.items():
        if name in told:
            lines.append(f"{whose} outside the declared domains, with noise: {told[name]} {about}")
    return lines
