"""Sequences: what people went through period by period, released as a prefix tree or a Markov chain.

Each row of a table is a sequence: its columns are the periods in their order, all with one declared domain of levels.
A release answers how many sequences begin with a prefix, and how many rise, stay or fall. Methods:

``tree``        a prefix tree with reused budget, made consistent (the default)
``markov``      pairs of neighbouring periods
``tree-paper``  Algorithm 6 of Gardner's dissertation (2012), to compare with
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deid.dp.budget import Ledger
from deid.dp.domain import Dimension
from deid.dp.epsilon import from_nano, split_epsilon, to_nano
from deid.dp.left_out import tell_left_out
from deid.dp.markov_chain import measure_chain
from deid.dp.noise import Noise, OpenDPNoise, laplace_variance
from deid.dp.payment import check_payer, pay
from deid.dp.prefix_tree import grow
from deid.dp.sequence_models import ChainModel, SequenceModel, TreeModel
from deid.dp.sequence_release import END, SequenceRelease
from deid.dp.unit import PrivacyUnit, bounded_rows
from deid.errors import ConfigError
from deid.microdata import check_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "METHODS",
    "LevelForecast",
    "SequencePlan",
    "forecast_levels",
    "measure_sequences",
    "plan_sequences",
    "release_sequences",
]

IntArray = npt.NDArray[np.int64]

METHODS = ("tree", "markov", "tree-paper")
"""Methods by name."""
_UNASKED = 0.1  # share of the root and of lengths that nobody asks for, beside 1: they guide the growth


@dataclass(frozen=True)
class SequencePlan:
    """What is to be released; holds nothing of the data.

    Parameters
    ----------
    dimension : Dimension
        The levels that a period can have.
    columns : tuple of str
        The periods, in their order.
    epsilon : float
        Cost of the whole release.
    unit : PrivacyUnit
        Whom it protects.
    method : str
        One of `METHODS`.
    weights : tuple of float
        For each length from 1, how much its queries matter.
    threshold : float
        A node gets children when its noisy count is at least so many standard deviations of its noise.
    ends : bool
        Sequences may end early; otherwise only complete ones count.
    level : float
        Level of the intervals.
    person : str, optional
        Column of the person, whose rows are bounded by ``unit.max_rows``.
    report_share : float
        Share of epsilon for telling what was left out; 0 tells nothing.
    """

    dimension: Dimension
    columns: tuple[str, ...]
    epsilon: float
    unit: PrivacyUnit
    method: str
    weights: tuple[float, ...]
    threshold: float = 2.0
    ends: bool = False
    level: float = 0.95
    person: str | None = None
    report_share: float = 0.0

    @property
    def height(self) -> int:
        """The length of the longest prefixes."""
        return len(self.columns)

    @property
    def symbols(self) -> int:
        """How many symbols there are, the end among them."""
        return len(self.dimension) + self.ends

    @property
    def _parts(self) -> tuple[float, ...]:
        if self.report_share:
            return split_epsilon(self.epsilon, (1 - self.report_share, self.report_share))
        return (from_nano(to_nano(self.epsilon)),)

    @property
    def measuring(self) -> float:
        """Epsilon of the measurements, without the report on what was left out."""
        return self._parts[0]

    @property
    def reporting(self) -> float | None:
        """Epsilon of the report on what was left out; None for no report."""
        return self._parts[1] if self.report_share else None

    @property
    def depth_epsilons(self) -> tuple[float, ...]:
        """What each depth of a tree spends, the root first.

        The printed algorithm shares evenly. Otherwise a length gets a share in proportion to the cube root of its
        weight, which is what minimizes the weighted sum of the variances.
        """
        if self.method == "tree-paper":
            return split_epsilon(self.measuring, [1.0] * (self.height + 1))
        most = max(self.weights)
        shares = [max(_UNASKED, (weight / most) ** (1 / 3)) for weight in self.weights]
        return split_epsilon(self.measuring, [_UNASKED, *shares])

    def question(self) -> dict[str, Any]:
        """Return all that defines the release, as JSON values."""
        return {
            "sequences": self.columns,
            "domain": {"name": self.dimension.name, **self.dimension.declaration},
            "method": self.method,
            "weights": self.weights,
            "threshold": self.threshold,
            "ends": self.ends,
            "level": self.level,
            "person": self.person,
            "report_share": self.report_share,
        }


def plan_sequences(
    dimension: Dimension,
    columns: Sequence[str],
    epsilon: float,
    unit: PrivacyUnit,
    *,
    method: str = "tree",
    weights: Mapping[int, float] | None = None,
    threshold: float = 2.0,
    ends: bool = False,
    level: float = 0.95,
    person: str | None = None,
    report_share: float | None = None,
) -> SequencePlan:
    """Check what is asked, without looking at the data.

    Parameters
    ----------
    weights : mapping of int to float, optional
        Lengths that will be asked, and how much each matters; all the same by default.

    Raises
    ------
    ConfigError
        When the parts do not fit together.
    """
    if not columns or len(set(columns)) < len(columns):
        raise ConfigError("periods are missing or named twice", "name each once, in order: --periods q1,q2,q3")
    if END in dimension.labels:
        raise ConfigError(f"a level may not be called {END}", "name it differently")
    if method not in METHODS:
        raise ConfigError("unknown method", f"use one of {', '.join(METHODS)}")
    if not 0 < level < 1:
        raise ConfigError("the level of an interval lies between 0 and 1", "for example: --level 0.95")
    if not 0 <= threshold < 1000:
        raise ConfigError("a threshold is a number of standard deviations, 0 or more", "for example: --threshold 2")
    if unit.max_rows > 1 and person is None:
        raise ConfigError(
            f"a {unit.name} may stand behind {unit.max_rows} rows, and no column says whose a row is",
            "name the column: --person COLUMN; rows beyond the bound are left out",
        )
    asked = dict(weights or {}) or dict.fromkeys(range(1, len(columns) + 1), 1.0)
    if any(not 1 <= length <= len(columns) or not 0 < weight < 1e9 for length, weight in asked.items()):
        raise ConfigError(
            f"a length lies between 1 and {len(columns)}, and its weight above 0", "for example: --length 3:2"
        )
    share = (0.05 if person is not None else 0.0) if report_share is None else report_share
    if not 0 <= share < 1:
        raise ConfigError("the share of the report lies between 0 and 1", "for example: --report-share 0.05")
    by_length = tuple(float(asked.get(length, 0.0)) for length in range(1, len(columns) + 1))
    plan = SequencePlan(
        dimension, tuple(columns), epsilon, unit, method, by_length, threshold, ends, level, person, share
    )
    if plan.symbols < 2:
        raise ConfigError("sequences need two levels", "declare the levels: --domain level=0..3")
    _ = plan.depth_epsilons  # an epsilon that is none is refused before anything is charged
    return plan


@dataclass(frozen=True, slots=True)
class LevelForecast:
    """What a depth of a tree costs, and how large its noise will be."""

    length: int
    epsilon: float
    noise: float
    """Standard deviation of the noise of one node."""
    threshold: float
    """Noisy counts from here on get children."""


def forecast_levels(plan: SequencePlan) -> list[LevelForecast]:
    """Say before spending how large the noise of a tree's nodes will be, before it is made consistent."""
    distance = plan.unit.distance
    return [
        LevelForecast(
            length,
            epsilon,
            laplace_variance(distance, epsilon) ** 0.5,
            plan.threshold * 2**0.5 * distance / epsilon,
        )
        for length, epsilon in enumerate(plan.depth_epsilons)
    ]


def _codes(frame: pd.DataFrame, plan: SequencePlan) -> tuple[IntArray, IntArray]:
    """Return the sequences that count, and what was left out: persons with too many rows, rows outside the domain."""
    check_columns(frame, [*plan.columns, *([plan.person] if plan.person is not None else [])])
    cut = 0
    if plan.person is not None:
        keep, cut = bounded_rows(frame[plan.person], plan.unit.max_rows)
        frame = frame[keep]
    codes = np.stack([plan.dimension.codes(frame[name]) for name in plan.columns], axis=1)
    if plan.ends:
        # a sequence ends before the first period that is missing or outside the domain
        ended = np.maximum.accumulate(codes < 0, axis=1)
        return np.where(ended, plan.symbols - 1, codes), np.array([cut, 0], np.int64)
    complete = (codes >= 0).all(axis=1)
    return codes[complete], np.array([cut, int((~complete).sum())], np.int64)


def measure_sequences(codes: IntArray, plan: SequencePlan, noise: Noise) -> SequenceModel:
    """Run a plan's method on sequences; the caller has charged for it.

    Parameters
    ----------
    codes : int64 array, shape (sequences, height)
        The level of each period; the number of levels stands for the end.
    """
    distance = plan.unit.distance
    if plan.method == "markov":
        return ChainModel(measure_chain(codes, plan.symbols, plan.measuring, noise, distance=distance), plan.ends)
    mode = "paper" if plan.method == "tree-paper" else "improved"
    tree = grow(
        codes,
        plan.symbols,
        plan.depth_epsilons,
        noise,
        distance=distance,
        threshold=plan.threshold,
        ends=plan.ends,
        mode=mode,
    )
    return TreeModel(tree, printed=mode == "paper")


_NOTES = {
    "tree": "counts are consistent (a prefix is the sum of its continuations) and were projected onto non-negative "
    "ones with the total held: nearly empty prefixes are biased upwards, the others downwards",
    "markov": "pairs of neighbouring periods were reconciled and projected onto non-negative counts",
    "tree-paper": "as printed in the dissertation, its two privacy errors corrected: counts are floors of real-valued "
    "noise, so they are too low by .5 on average, and a prefix is not the sum of its continuations",
}


def release_sequences(
    frame: pd.DataFrame,
    plan: SequencePlan,
    *,
    ledger: Ledger | None,
    request: str = "",
    purpose: str = "",
    noise: Noise | None = None,
) -> SequenceRelease:
    """Charge a ledger, measure sequences and return the release.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, a sequence a row.
    plan : SequencePlan
        What to release.
    ledger : Ledger or None
        What pays. May be None for test noise alone, which protects nobody.
    request, purpose : str
        For the ledger.
    noise : Noise, optional
        OpenDP's by default.

    Raises
    ------
    ConfigError
        When there is no ledger, or the ledger is for another unit, or a column is missing.
    BudgetExceeded
        When the budget does not suffice; nothing was charged.
    AlreadyReleased
        When this request was answered before.
    """
    noise = noise or OpenDPNoise()
    check_payer(ledger, noise)
    codes, left_out = _codes(frame, plan)
    told = purpose or f"sequences of {plan.height} periods by {plan.method}"
    pay(ledger, noise, plan.epsilon, request, unit=plan.unit, purpose=told, question=plan.question())
    model = measure_sequences(codes, plan, noise)
    metadata: dict[str, Any] = {
        "method": plan.method,
        "epsilon": plan.epsilon,
        "unit": plan.unit.name,
        "relation": plan.unit.relation,
        "max_rows": plan.unit.max_rows,
        "private": noise.private,
        "noise": noise.label,
        "level": plan.level,
        "weights": list(plan.weights),
        "threshold": plan.threshold,
        "request": request,
        "notes": [_NOTES[plan.method], model.caveat],
        "left_out": tell_left_out(left_out, plan.reporting, noise, unit=plan.unit, level=plan.level),
    }
    return SequenceRelease(plan.dimension, plan.columns, model, metadata)
