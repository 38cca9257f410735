"""Sequences: what people went through period by period, released as a prefix tree or a Markov chain.

Each row of a table is a sequence: its columns are the periods in their order, all with one declared domain of levels.
Events in long format, a row an event, become sequences of persons (`deid.dp.events`).
A release answers how many sequences begin with a prefix, how many have a level ever or one then another
(`deid.dp.patterns`), and how many rise, stay or fall. Methods:

``tree``        a prefix tree with reused budget, made consistent (the default)
``markov``      pairs of neighbouring periods
``tree-paper``  Algorithm 6 of Gardner's dissertation (2012), to compare with
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deid.base.arrays import IntArray
from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.dp.budget import Ledger
from deid.dp.costs import Cost, split, split_evenly, variance_of
from deid.dp.domain import Dimension, check_part, rows_in_part
from deid.dp.events import Events, sequences_of
from deid.dp.markov_chain import measure_chain
from deid.dp.noise import Noise, OpenDPNoise
from deid.dp.payment import check_payer, part_path, row_key, table_mark
from deid.dp.plan import ReleasePlan, Terms, check_free
from deid.dp.prefix_tree import MAX_NODES, grow
from deid.dp.sequence_models import ChainModel, SequenceModel, TreeModel
from deid.dp.sequence_release import END, RESERVED, SequenceRelease
from deid.dp.unit import PrivacyUnit, bounded_rows
from deid.table.cell_text import text_column
from deid.table.microdata import check_columns

METHODS = ("tree", "markov", "tree-paper")
"""Methods by name."""
_MAX_CHAIN = 2_000_000  # the bootstrap of a chain's intervals holds each pair a hundred times
_UNASKED = 0.1  # share of the root and of lengths that nobody asks for, beside 1: they guide the growth


@dataclass(frozen=True, kw_only=True)
class SequencePlan(ReleasePlan):
    """Sequences that are to be released; holds nothing of the data.

    Parameters
    ----------
    dimension : Dimension
        The levels that a period can have.
    columns : tuple of str
        The periods, in their order.
    weights : tuple of float
        For each length from 1, how much its queries matter.
    threshold : float
        A node gets children when its noisy count is at least so many standard deviations of its noise, and more the
        more levels there are (`deid.dp.prefix_tree.growing_from`).
    ends : bool
        Sequences may end early; otherwise only complete ones count.
    events : Events or None
        Where events stand that are to become sequences, in a table in long format.
    """

    dimension: Dimension
    columns: tuple[str, ...]
    weights: tuple[float, ...]
    threshold: float = 2.0
    ends: bool = False
    events: Events | None = None

    @property
    def of_persons(self) -> bool:
        """See `ReleasePlan.of_persons`."""
        return self.events is not None

    @property
    def distance(self) -> int:
        """Sequences added or removed between neighbours: of events, one a person, however many rows it has."""
        return self.unit.distance if self.events is None else self.unit.unit_distance

    @property
    def height(self) -> int:
        """The length of the longest prefixes."""
        return len(self.columns)

    @property
    def symbols(self) -> int:
        """How many symbols there are, the end among them."""
        return len(self.dimension) + self.ends

    @property
    def depth_costs(self) -> tuple[Cost, ...]:
        """What each depth of a tree spends, the root first.

        The printed algorithm shares evenly. Otherwise a length gets a share in proportion to the cube root of its
        weight, which is what minimizes the weighted sum of the variances; of a rho, whose inverse the variance is, the
        square root.
        """
        if self.method == "tree-paper":
            return split_evenly(self.pure, self.height + 1)
        most, root = max(self.weights), 1 / 2 if self.delta else 1 / 3
        shares = [max(_UNASKED, (weight / most) ** root) for weight in self.weights]
        return split(self.measuring, [_UNASKED, *shares])

    def question(self) -> dict[str, Any]:
        """Return all that defines the release, as JSON values."""
        return {
            "sequences": self.columns,
            "domain": self.dimension.declared,
            "method": self.method,
            "weights": self.weights,
            "threshold": self.threshold,
            "ends": self.ends,
            **self._source(),
            **self.questioned("level", "person", "report_share"),
        }

    def _source(self) -> dict[str, Any]:
        """Return which sequences it is about, where it is not all rows of a table, as JSON values."""
        found: dict[str, Any] = {}
        if self.events is not None:
            own = self.events
            plain = {"value": own.value, "absent": own.absent, "several": own.several}
            found["events"] = {"person": own.person, "dates": own.dates.declared, **plain}
        if self.part:
            found["part"] = [[own.name, own.declaration, cell] for own, cell in self.part]
        return found


def plan_sequences(
    dimension: Dimension,
    columns: Sequence[str] | Events,
    epsilon: float,
    unit: PrivacyUnit,
    *,
    method: str = "tree",
    weights: Mapping[int, float] | None = None,
    threshold: float = 2.0,
    ends: bool = False,
    part: Sequence[tuple[Dimension, str]] = (),
    **terms: Any,
) -> SequencePlan:
    """Check what is asked, without looking at the data.

    Parameters
    ----------
    dimension : Dimension
        The levels that a period can have.
    columns : sequence of str, or Events
        The periods, in their order; or where events stand in a table in long format.
    epsilon : float
        Cost of the whole release.
    unit : PrivacyUnit
        Whom it protects.
    method : str
        One of `METHODS`.
    weights : mapping of int to float, optional
        Lengths that will be asked, and how much each matters; all the same by default.
    threshold : float
        A node gets children when its noisy count is at least so many standard deviations of its noise, at least 0.
    ends : bool
        Sequences may end early; otherwise only complete ones count.
    part : sequence of (Dimension, str)
        Only the sequences in these cells.
    terms
        Level, person, report and bound: see `deid.dp.plan.Terms.checked`.

    Returns
    -------
    SequencePlan
        What `release_sequences` runs.

    Raises
    ------
    ConfigError
        When the parts do not fit together, nothing ensures the bound, or the model would be too large.
    """
    events = columns if isinstance(columns, Events) else None
    if events is not None:
        columns = events.dates.labels
        terms["person"] = _owner(events, unit, terms.get("person"))
        if events.absent is not None and dimension.place(events.absent) < 0:
            raise ConfigError("the level of a period without an event is no declared level", "declare it with others")
    assert not isinstance(columns, Events)
    if not columns or len(set(columns)) < len(columns):
        raise ConfigError("periods are missing or named twice", "name each once, in order: --periods q1,q2,q3")
    if len(dimension.columns) > 1:
        raise ConfigError("levels of a period stand in one column", "leave out paired from the declaration")
    require(END not in dimension.labels, f"a level may not be called {END}", "name it differently")
    require(method in METHODS, "unknown method", f"use one of {', '.join(METHODS)}")
    if not 0 <= threshold < 1000:
        raise ConfigError("a threshold is a number of standard deviations, 0 or more", "for example: --grow-from 2")
    settled = vars(Terms.checked(unit, **terms))
    if settled["delta"] and method == "tree-paper":
        raise ConfigError("the printed tree draws no Gaussian noise", "leave out --gaussian, or use --method tree")
    asked = dict(weights or {}) or dict.fromkeys(range(1, len(columns) + 1), 1.0)
    if any(not 1 <= length <= len(columns) or not 0 < weight < 1e9 for length, weight in asked.items()):
        raise ConfigError(
            f"a length lies between 1 and {len(columns)}, and its weight above 0", "for example: --length 3:2"
        )
    by_length = tuple(float(asked.get(length, 0.0)) for length in range(1, len(columns) + 1))
    plan = SequencePlan(
        dimension=dimension,
        columns=tuple(columns),
        epsilon=epsilon,
        method=method,
        weights=by_length,
        threshold=threshold,
        ends=ends,
        events=events,
        part=check_part(part),
        **settled,
    )
    require(plan.symbols >= 2, "sequences need two levels", "declare the levels: --domain level=0..3")
    _check_size(plan)
    _rehearse(plan)
    return plan


def _owner(events: Events, unit: PrivacyUnit, person: str | None) -> str:
    """Return the column of whose events are."""
    if unit.name == "row":
        raise ConfigError(
            "events become sequences of persons, and the budget protects rows", "run: deid budget init --unit patient"
        )
    if person not in (None, events.person):
        raise ConfigError("two columns say whose an event is", "leave out --person: --events names it first")
    return events.person


def _check_size(plan: SequencePlan) -> None:
    """Refuse what would need too much memory, or could not be written, before anything is charged."""
    check_free(plan.columns, RESERVED, "a period", "a release")
    chain = plan.symbols ** min(2, plan.height) * max(1, plan.height - 1)
    if plan.method == "markov" and chain > _MAX_CHAIN:
        raise ConfigError(f"{chain} pairs of levels are too many for a chain", "declare fewer levels, or use tree")
    if plan.method != "markov" and plan.symbols > MAX_NODES:
        raise ConfigError(f"{plan.symbols} levels are too many for a tree", "declare fewer levels")


def _rehearse(plan: SequencePlan) -> None:
    """Refuse an epsilon that is too small for what is asked; a chain divides it into fewer parts than a tree."""
    for cost in plan.depth_costs:
        variance_of(plan.distance, cost)
    plan.rehearse_report()


def _codes(frame: pd.DataFrame, plan: SequencePlan, key: bytes) -> tuple[IntArray, IntArray]:
    """Return the sequences that count, and what was left out: persons with too many rows, rows outside the domain."""
    cut = 0
    if plan.events is not None:
        found = sequences_of(frame, plan.events, plan.dimension, plan.part)
        codes, outside = found.codes[found.part], found.outside[found.part]
    else:
        check_columns(frame, plan.columns)
        if plan.person is not None:
            bounded = bounded_rows(frame, plan.person, plan.unit.max_rows, key)
            frame, cut = frame[bounded.keep], bounded.cut
        frame = frame[rows_in_part(frame, plan.part)]
        codes = np.stack([plan.dimension.codes(frame[name]) for name in plan.columns], axis=1)
        present = np.stack([text_column(frame[name]).notna().to_numpy() for name in plan.columns], axis=1)
        outside = np.asarray(((codes < 0) & present).any(axis=1))
    if plan.ends:
        # a sequence ends before the first period that is missing or outside the domain
        ended = np.maximum.accumulate(codes < 0, axis=1)
        return np.where(ended, plan.symbols - 1, codes), np.array([cut, int(outside.sum())], np.int64)
    complete = (codes >= 0).all(axis=1)
    return codes[complete], np.array([cut, int((outside | ~complete).sum())], np.int64)


def measure_sequences(codes: IntArray, plan: SequencePlan, noise: Noise) -> SequenceModel:
    """Run a plan's method on sequences; the caller has charged for it.

    Parameters
    ----------
    codes : int64 array, shape (sequences, height)
        The level of each period; the number of levels stands for the end.
    plan : SequencePlan
        What to release.
    noise : Noise
        Source of noise.

    Returns
    -------
    TreeModel or ChainModel
        The noisy counts, and how they answer.
    """
    distance = plan.distance
    if plan.method == "markov":
        return ChainModel(measure_chain(codes, plan.symbols, plan.measuring, noise, distance=distance), plan.ends)
    mode = "paper" if plan.method == "tree-paper" else "improved"
    costs, threshold, ends = plan.depth_costs, plan.threshold, plan.ends
    tree = grow(codes, plan.symbols, costs, noise, distance=distance, threshold=threshold, ends=ends, mode=mode)
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
    ledger, request, purpose, noise
        See `deid.dp.cube.release_cube`, as for errors.

    Returns
    -------
    SequenceRelease
        Noisy counts, with all that is needed to read them.
    """
    noise = noise or OpenDPNoise()
    check_payer(ledger, noise)
    codes, left_out = _codes(frame, plan, row_key(ledger))
    told = purpose or f"sequences of {plan.height} periods by {plan.method}"
    # parts of persons are others than parts of rows, with which they overlap
    mark = (
        table_mark(frame, plan.person, ledger) + (" of events" if plan.events is not None else "") if plan.part else ""
    )
    path = part_path(plan.part, mark)
    receipt = plan.charge(ledger, noise, request, told, path)
    model = measure_sequences(codes, plan, noise)
    own = {
        "weights": list(plan.weights),
        "threshold": plan.threshold,
        "notes": [_NOTES[plan.method], model.caveat],
        **plan._source(),
        "left_out": plan.tell_left_out(left_out, noise),
    }
    return SequenceRelease(plan.dimension, plan.columns, model, plan.metadata(noise, receipt, request, own))
