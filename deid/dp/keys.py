"""Values that occur, where none are declared: those with enough rows are released by a threshold, with their counts.

Rare codes cannot all be declared, and a list of those that occur would disclose whoever has one alone. Each value that
occurs gets its noisy count, and is released when that reaches a threshold t. Korolova, Kenthapadi, Mishra and Ntoulas
(2009, "Releasing search queries and clicks privately") and Wilson and others (2020, "Differentially private SQL with
bounded user contribution") show that this is (epsilon, delta)-private; here for discrete noise and several rows a unit:

A unit that comes adds r rows of values that were in nobody's rows, k_1 + ... + k_n = r, and s rows of other values,
r + s <= m. Noise is discrete Laplace of scale b >= m / epsilon. As long as none of the new values is released, what is
said is that of the other values, which s rows change by a factor of at most e^(s/b); that one is, has at most the
probability q = P(k_1 + X >= t) + ... + P(k_n + X >= t). Hence both P(D' in S) <= e^(s/b) P(D in S) + q and
P(D in S) <= e^(s/b) (P(D' in S) + q): (epsilon, delta)-private for delta = the greatest e^(s/b) q over r and all ways
of dividing it. P(k + X >= t) / k is greatest for k = 1 or k = r, which gives `log_delta`. A unit that is replaced goes
and another comes, each with half of epsilon: delta (1 + e^(epsilon/2)).

What is found may be declared like any other domain: that it came from a release costs nothing more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.errors import require
from deid.base.files import write_bytes
from deid.base.late import pd
from deid.dp.budget import Ledger
from deid.dp.intervals import discrete_half_width
from deid.dp.noise import Noise, OpenDPNoise, laplace_scale
from deid.dp.payment import AlreadyReleased, row_key
from deid.dp.plan import ReleasePlan, Terms, check_free
from deid.dp.release_files import NOT_PRIVATE
from deid.dp.unit import PrivacyUnit, bounded_rows
from deid.dp.zcdp import check_delta
from deid.table.cell_text import text_column
from deid.table.microdata import check_columns

_MOST_ROWS = 100_000  # of a unit


def log_delta(unit: PrivacyUnit, epsilon: float, threshold: float) -> float:
    """Return the logarithm of the delta of releasing values whose noisy counts reach a threshold.

    Parameters
    ----------
    unit : PrivacyUnit
        Whom it protects.
    epsilon : float
        What the noise costs.
    threshold : float
        Above the rows that a unit stands behind.
    """
    scale = laplace_scale(unit.distance, epsilon)
    rows = np.arange(1, unit.max_rows + 1, dtype=float)
    # of r rows, in logarithms: all in values of their own, or in one
    apart, together = np.log(rows) + 1 / scale, rows / scale
    worst = float(((unit.max_rows - rows) / scale + np.maximum(apart, together)).max())
    found = worst - threshold / scale - math.log1p(math.exp(-1 / scale))
    return found + (float(np.logaddexp(0.0, epsilon / 2)) if unit.relation == "replace" else 0.0)


def threshold_for(unit: PrivacyUnit, epsilon: float, delta: float) -> int:
    """Return the least threshold of that delta; arguments as those of `log_delta`.

    Raises
    ------
    ConfigError
        When a number is out of its range.
    """
    check_delta(delta)
    require(unit.max_rows <= _MOST_ROWS, f"more than {_MOST_ROWS} rows a unit hide nothing", "bound them: --max-rows")
    excess = log_delta(unit, epsilon, 0.0) - math.log(delta)
    threshold = math.ceil(excess * laplace_scale(unit.distance, epsilon))  # above the rows of a unit, as delta is small
    while log_delta(unit, epsilon, threshold) > math.log(delta) - 1e-12:  # rounding
        threshold += 1
    return threshold


@dataclass(frozen=True, kw_only=True)
class KeysPlan(ReleasePlan):
    """Values of a column that are to be found; holds nothing of the data.

    Parameters
    ----------
    column : str
        The column.
    keys_delta : float
        With what probability more than epsilon may be lost.
    """

    column: str
    keys_delta: float

    @property
    def threshold(self) -> int:
        """The noisy count from which a value is released."""
        return threshold_for(self.unit, self.pure, self.keys_delta)

    @property
    def found_from(self) -> int:
        """How many rows a value needs to be released with the probability ``level``."""
        # a noisy count falls below the true one by as much with half the probability that it lies outside
        return self.threshold + math.ceil(discrete_half_width(self.unit.distance, self.pure, 1, 2 * self.level - 1))

    def question(self) -> dict[str, Any]:
        """Return all that defines the release, as JSON values."""
        return {"keys": self.column, "delta": self.keys_delta, **self.questioned("level", "person")}


def plan_keys(column: str, epsilon: float, delta: float, unit: PrivacyUnit, **terms: Any) -> KeysPlan:
    """Check what is asked, without looking at the data.

    Parameters
    ----------
    column : str
        The column whose values are to be found.
    epsilon : float
        Cost.
    delta : float
        With what probability more may be lost: far below 1 / the number of units.
    unit : PrivacyUnit
        Whom it protects.
    terms
        Level, person and bound: see `deid.dp.plan.Terms.checked`.

    Raises
    ------
    ConfigError
        When a number is out of its range, or nothing ensures the bound.
    """
    settled = vars(Terms.checked(unit, report_share=0.0, **terms))
    plan = KeysPlan(column=column, keys_delta=check_delta(delta), epsilon=epsilon, method="threshold", **settled)
    require(plan.threshold > 0, "the threshold is none", "give more epsilon")
    return plan


@dataclass(frozen=True, eq=False)
class FoundKeys:
    """Values that were found.

    Parameters
    ----------
    plan : KeysPlan
        How.
    rows : tuple of mapping
        Each with the value by the column's name, and ``count``, ``lower``, ``upper``; in the order of the values.
    request : str
        Id in the ledger.
    receipt : mapping or None
        Of the charge.
    noise : str
        What drew the noise.
    private : bool
        Whether it protects.
    """

    plan: KeysPlan
    rows: tuple[Mapping[str, Any], ...]
    request: str
    receipt: Mapping[str, Any] | None
    noise: str
    private: bool

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values: what was asked, what it cost, and how many values were found."""
        plan = {name: getattr(self.plan, name) for name in ("epsilon", "keys_delta", "threshold", "bound", "person")}
        return {**plan, "values": len(self.rows), "request": self.request, "private": self.private}

    def to_frame(self) -> pd.DataFrame:
        """Return the values as a table."""
        frame = pd.DataFrame(list(self.rows), columns=[self.plan.column, "count", "lower", "upper"])
        return frame if self.private else frame.assign(**{NOT_PRIVATE: self.noise})

    def write_domain(self, path: Path) -> None:
        """Write the values as a file of domains (`deid.dp.domain`), for `deid cube` and `deid query`."""
        plan, labels = self.plan, [str(row[self.plan.column]) for row in self.rows]
        ledger = "" if self.receipt is None else f", ledger {self.receipt['id']} line {self.receipt['line']}"
        source = (
            f"found by a threshold of {plan.threshold}, epsilon {plan.epsilon:g}, delta {plan.keys_delta:g}{ledger}"
        )
        source += "" if self.private else f"; {self.noise}"
        text = "[columns]\n"
        if labels:
            values = ", ".join(map(_toml, labels))
            text += f"{_toml(plan.column)} = {{ values = [{values}], source = {_toml(source)} }}\n"
        write_bytes(path, text.encode(), private=False)


def _toml(text: str) -> str:
    """Return a text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def find_keys(
    frame: pd.DataFrame, plan: KeysPlan, *, ledger: Ledger | None, request: str, noise: Noise | None = None
) -> FoundKeys:
    """Charge a ledger, and find the values of a column that have enough rows.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table. Missing cells have no value.
    plan : KeysPlan
        What to find.
    ledger, request, noise
        See `deid.dp.cube.release_cube`, as for errors. The ledger must allow for a delta.

    Returns
    -------
    FoundKeys
        When the request was answered before, that answer.
    """
    noise = noise or OpenDPNoise()
    check_columns(frame, [plan.column])
    check_free([plan.column], ("count", "lower", "upper", NOT_PRIVATE), "a column", "an answer")
    if plan.person is not None:
        frame = frame[bounded_rows(frame, plan.person, plan.unit.max_rows, row_key(ledger)).keep]
    texts = text_column(frame[plan.column])
    codes = texts.cat.codes.to_numpy()
    counts = np.bincount(codes[codes >= 0], minlength=len(texts.cat.categories)).astype(np.int64)
    there = np.flatnonzero(counts)
    order = sorted(there.tolist(), key=lambda place: str(texts.cat.categories[place]))
    threshold = plan.threshold
    try:
        receipt = plan.pay(
            ledger, noise, plan.epsilon, request, purpose=f"values of {plan.column} by a threshold",
            question=plan.question(), keys_delta=plan.keys_delta,
        )  # fmt: skip
        drawn = noise.discrete_laplace(counts[order], plan.unit.distance, plan.pure)
        half = discrete_half_width(plan.unit.distance, plan.pure, 1, plan.level)
        rows = [
            {plan.column: str(texts.cat.categories[place]), "count": int(own), "lower": max(own - half, 0.0),
             "upper": float(own + half)}
            for place, own in zip(order, drawn.tolist(), strict=True) if own >= threshold
        ]  # fmt: skip
    except AlreadyReleased as before:
        rows, receipt = json.loads(before.answer), before.receipt
    else:
        if ledger is not None:
            rows = json.loads(ledger.answer(request, json.dumps(rows)))
    return FoundKeys(plan, tuple(rows), request, receipt, noise.label, noise.private)
