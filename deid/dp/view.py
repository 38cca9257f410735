"""Parts and other shapes of a session's table, which answer: see `deid.dp.session`."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deid.base.arrays import IntArray
from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.dp.accounts import Part
from deid.dp.budget import Ledger
from deid.dp.costs import Cost, split
from deid.dp.domain import Dimension
from deid.dp.measuring import PERSON, Asking, Measure
from deid.dp.noise import Noise, SeededNoise, laplace_scale
from deid.dp.payment import AlreadyReleased, partition_name, row_key, table_mark
from deid.dp.plan import Terms
from deid.dp.query_answer import QueryAnswer
from deid.dp.query_columns import (
    QueryColumn,
    column_values,
    declared_cells,
    evaluate_condition,
    evaluate_value,
)
from deid.dp.query_language import (
    PERSON_VALUES,
    ColumnRef,
    Condition,
    Query,
    columns_of,
    drawn_together,
    parse_condition,
    parse_value,
)
from deid.table.cell_text import row_hashes

_MAX_PARTS = 10_000
_MAX_NUMBERS = 1_000_000
_MAX_CANDIDATES = 50_000_000


@dataclass(frozen=True, eq=False)
class CheckedQuery:
    """A query that can be answered; nothing of the data was looked at, and nothing was charged.

    Parameters
    ----------
    view : TableView
        The rows that it is about.
    query : Query
        What is asked of them.
    terms : Terms
        Whom its answer protects, and what it tells beside.
    epsilon : float
        What is spent on all of it.
    cost : Cost
        What its numbers cost.
    reporting : float or None
        What it costs to tell how many rows lie outside the domains of ``named``; None where that is not told.
    groups : tuple of Dimension
        What it is grouped by.
    named : frozenset of str
        The declared columns that it names.
    """

    view: TableView
    query: Query
    terms: Terms
    epsilon: float
    cost: Cost
    reporting: float | None
    groups: tuple[Dimension, ...]
    named: frozenset[str]

    @property
    def aggregates(self) -> tuple[Query, ...]:
        """All that is asked of the rows, one after the other."""
        return (self.query, *self.query.others)

    def measures(self, noise: Noise, cost: Cost | None = None) -> list[tuple[tuple[int, ...], Measure]]:
        """Return how the `aggregates` are answered, all together for a cost, by default that of the query.

        Returns
        -------
        list of (tuple of int, Measure)
            The places of those that are drawn at once, which an answer has a row each for, and how that is done.

        Raises
        ------
        ConfigError
            When a column, bounds or cells are not declared, or a number is out of its range.
        """
        asked = [replace(own, group_by=self.query.group_by) for own in self.aggregates]
        whole = self.cost if cost is None else cost
        units = drawn_together(asked)
        shares = split(whole, [float(len(own)) for own in units]) if self.query.others else (whole,)
        measures = [
            (own, self.view._measure([asked[place] for place in own], share, noise))
            for own, share in zip(units, shares, strict=True)
        ]
        if self.query.others and any(own.labelled for _, own in measures):
            raise ConfigError("HISTOGRAM and TOP have answers of their own", "ask them in queries of their own")
        return measures


class QuerySource:
    """What all views of a table share: noise, what pays, whom answers protect, and marks that tell tables apart."""

    def __init__(self, frame: pd.DataFrame, ledger: Ledger | None, noise: Noise, terms: Terms) -> None:
        self.ledger = ledger
        self.noise = noise
        self.terms = terms
        self._source = frame

    @functools.cached_property
    def mark(self) -> str:
        """What tells whether parts are of the same table (`deid.dp.payment.table_mark`)."""
        return table_mark(self._source, self.terms.person, self.ledger)

    @functools.cached_property
    def order_mark(self) -> str:
        """The same for the order of the rows: who is first in it decides what a person's value is."""
        hashes = row_hashes(self._source, row_key(self.ledger)).astype(">u8")
        return hashlib.blake2b(hashes.tobytes(), digest_size=16).hexdigest()


@dataclass(frozen=True, eq=False)
class TableView:
    """A part or another shape of a session's table. Made by `deid.dp.session.QuerySession.table` and by other views."""

    _session: QuerySource
    _frame: pd.DataFrame
    _columns: Mapping[str, QueryColumn]
    _distance: int
    _path: tuple[Part, ...]
    _made: tuple[str, ...]
    """How the view was made, in words that tell any two different ones apart."""
    _person: str | None
    _rows: pd.DataFrame | None
    """The rows of the same parts of the table, before any filter: those that may have cells outside the domains.
    None where they are not known."""
    _named: frozenset[str]
    """The declared columns that were used to make the view."""

    def __repr__(self) -> str:
        return f"View({', '.join(self._made) or 'table'})"

    def where(self, condition: str) -> TableView:
        """Return the view of the rows for which a condition holds, such as ``age >= 60 AND sex = 'F'``.

        Raises
        ------
        ConfigError
            When the condition cannot be read, or names a column that is not declared.
        """
        return self._where(parse_condition(condition))

    def _where(self, condition: Condition) -> TableView:
        keep = evaluate_condition(condition, self._frame, self._columns)
        made, named = (*self._made, f"where {condition}"), self._named | columns_of(condition)
        return replace(self, _frame=self._frame[keep], _made=made, _named=named)

    def select(self, name: str, value: str, low: float, high: float) -> TableView:
        """Return a view with one more column of numbers: ``select("hours", "minutes / 60", 0, 24)``.

        Parameters
        ----------
        name : str
            Name of the new column.
        value : str
            Arithmetic over declared columns.
        low, high : float
            Bounds; values outside are moved to them.

        Raises
        ------
        ConfigError
            When there is such a column, the value cannot be read or is no number, or the bounds are not in order.
        """
        require(name not in self._frame, f"there is a column {name!r} already", "name the computed column differently")
        parsed = parse_value(value)
        computed = evaluate_value(parsed, self._frame, self._columns)
        if computed.dtype == object or not low < high:
            raise ConfigError("a computed column holds numbers, between two bounds", "give a low and a higher bound")
        columns = {**self._columns, name: QueryColumn(True, (low, high), None)}
        frame = self._frame.assign(**{name: np.clip(computed.astype(float), low, high)})
        made = (*self._made, f"select {name} = {value} in {low}..{high}")
        return replace(self, _frame=frame, _columns=columns, _made=made, _named=self._named | columns_of(parsed))

    def partition(self, column: str) -> dict[str, TableView]:
        """Divide by the cells of a declared column: all parts together cost as much as the most expensive one.

        Returns
        -------
        dict of str to TableView
            One for each declared cell, also for empty ones.
        """
        dimension = declared_cells(ColumnRef(column, 1), self._columns)
        codes = dimension.codes(self._frame[column])
        name = self._partition(dimension)
        # which rows belong to a part of persons depends on how persons were made: what they left out is not told
        rows = None if self._of_persons else self._rows
        whose = None if rows is None else dimension.codes(rows[column])
        return {
            label: replace(
                self,
                _frame=self._frame[codes == place],
                _rows=None if rows is None or whose is None else rows[whose == place],
                _path=(*self._path, (name, label)),
                _made=(*self._made, f"part {name}={label}"),
            )
            for place, label in enumerate(dimension.labels)
        }

    def _partition(self, dimension: Dimension) -> str:
        """Name a partition. Rows fall in the same parts in every view of rows; what a person's value is depends on how
        persons were made, so partitions of persons are the same only when they were made alike.
        """
        name = partition_name(dimension, self._session.mark)
        if not self._of_persons:
            return name
        made = json.dumps([*self._made[: self._of_persons], self._session.order_mark])
        return f"{name}#person{hashlib.sha256(made.encode()).hexdigest()[:16]}"

    @property
    def _of_persons(self) -> int:
        """How many steps made persons of rows; 0 where the view holds rows."""
        return max((place + 1 for place, step in enumerate(self._made) if step.startswith("by_person")), default=0)

    def by_person(self, how: str = "first") -> TableView:
        """Return a view with one row of each person.

        Parameters
        ----------
        how : str
            A person's value of a column of numbers: first, last, min, max, sum or mean; of other columns it is the
            first one, or the last. After ``sum`` a column has no declared bounds any more.

        Raises
        ------
        ConfigError
            When no column says whose a row is, or there is no such value of a person.
        """
        require(self._person is not None, "no column says whose a row is", "name the column: --person COLUMN")
        require(how in PERSON_VALUES, "unknown value of a person", f"use one of {', '.join(PERSON_VALUES)}")
        numeric = {name for name, own in self._columns.items() if own.numeric}
        frame = self._frame.assign(
            **{name: column_values(self._frame[name], self._columns[name]) for name in sorted(numeric)}
        )
        others = how if how in ("first", "last") else "first"
        options: dict[str, Any] = {"min_count": 1} if how == "sum" else {}
        grouped = frame.groupby(PERSON, sort=False, observed=True)
        parts = {
            name: grouped[name].agg(how, **options) if name in numeric else grouped[name].agg(others)
            for name in self._columns
        }
        table = pd.DataFrame(parts).reset_index()
        columns = {
            name: replace(own, bounds=None, dimension=None) if how == "sum" and own.numeric else own
            for name, own in self._columns.items()
        }
        distance = self._distance if self._path else min(self._distance, self._session.terms.unit.unit_distance)
        made = (*self._made, f"by_person {how}")
        return replace(self, _frame=table, _columns=columns, _distance=distance, _made=made)

    def count(self, epsilon: float, *, request: str | None = None) -> QueryAnswer:
        """Return a noisy count of rows (of persons, after `by_person`); ``request`` as that of `Session.query`."""
        return self.ask(Query("COUNT"), epsilon, request)

    def count_persons(self, epsilon: float, *, request: str | None = None) -> QueryAnswer:
        """Return a noisy count of the persons who have a row; ``request`` as that of `Session.query`."""
        return self.ask(Query("PERSONS"), epsilon, request)

    def sum(
        self, value: str, epsilon: float, low: float | None = None, high: float | None = None, **options: Any
    ) -> QueryAnswer:
        """Add up a column or computed value.

        Parameters
        ----------
        value : str
            Name of a declared column, or arithmetic over some.
        epsilon : float
            Cost.
        low, high : float, optional
            Bounds; values outside are moved to them. The declared ones by default.
        **options
            ``request``, as that of `Session.query`.

        Returns
        -------
        QueryAnswer
            One row. Missing values count as nothing.

        Raises
        ------
        ConfigError
            When the value cannot be read, is no number or has no bounds; nothing was charged.
        BudgetExceeded
            When it costs too much; nothing was charged.
        """
        return self.ask(Query("SUM", parse_value(value), None, low, high), epsilon, **options)

    def mean(
        self, value: str, epsilon: float, low: float | None = None, high: float | None = None, **options: Any
    ) -> QueryAnswer:
        """Return the noisy mean of a column or computed value; arguments and errors as those of `sum`."""
        return self.ask(Query("MEAN", parse_value(value), None, low, high), epsilon, **options)

    def quantile(
        self,
        value: str,
        share: float,
        epsilon: float,
        low: float | None = None,
        high: float | None = None,
        *,
        interval: bool = False,
        **options: Any,
    ) -> QueryAnswer:
        """Choose a quantile of a column or computed value; the other arguments as those of `sum`.

        Parameters
        ----------
        share : float
            Which quantile, 0 to 1.
        interval : bool
            Whether to spend half of epsilon on an interval.

        Returns
        -------
        QueryAnswer
            One row: the quantile, with an interval if that was asked.
        """
        query = Query("QUANTILE", parse_value(value), share, low, high, interval=interval)
        return self.ask(query, epsilon, **options)

    def quantiles(
        self,
        value: str,
        shares: Sequence[float],
        epsilon: float,
        low: float | None = None,
        high: float | None = None,
        *,
        interval: bool = False,
        **options: Any,
    ) -> QueryAnswer:
        """Choose several quantiles at once, which costs less than one by one; arguments as those of `quantile`.

        Returns
        -------
        QueryAnswer
            A row a share, ascending.
        """
        query = Query("QUANTILES", parse_value(value), None, low, high, shares=tuple(shares), interval=interval)
        return self.ask(query, epsilon, **options)

    def variance(
        self, value: str, epsilon: float, low: float | None = None, high: float | None = None, **options: Any
    ) -> QueryAnswer:
        """Return the noisy variance of a column or computed value; arguments and errors as those of `sum`."""
        return self.ask(Query("VARIANCE", parse_value(value), None, low, high), epsilon, **options)

    def median(self, value: str, epsilon: float, **options: Any) -> QueryAnswer:
        """Return the noisy median; arguments as those of `sum`, with ``low`` and ``high`` among the options."""
        return self.quantile(value, 0.5, epsilon, **options)

    def histogram(self, column: str, epsilon: float, **options: Any) -> QueryAnswer:
        """Return a noisy count of every declared cell of a column; ``request`` as that of `Session.query`."""
        return self.ask(Query("HISTOGRAM", ColumnRef(column, 1)), epsilon, **options)

    def top(self, column: str, number: int, epsilon: float, **options: Any) -> QueryAnswer:
        """Choose the most frequent cells of a column, and count them.

        Parameters
        ----------
        column : str
            A declared column.
        number : int
            How many cells, from 1.
        epsilon : float
            Cost: half of it for the choices, half for the counts.
        **options
            ``request``, as that of `Session.query`.

        Returns
        -------
        QueryAnswer
            A row a cell, in the order of the choice.
        """
        return self.ask(Query("TOP", ColumnRef(column, 1), number), epsilon, **options)

    def of_query(self, query: Query) -> tuple[TableView, Query]:
        """Return the view that a query asks, beside the query."""
        view = self if query.where is None else self._where(query.where)
        return (view if query.per_person is None else view.by_person(query.per_person)), query

    def _measure(self, asked: Sequence[Query], cost: Cost, noise: Noise) -> Measure:
        """Check what is asked, without looking at a row, and return how to answer it."""
        session, apart = self._session, None
        query, *others = asked
        if self._person is not None:
            # a person with rows in several parts is counted in each of them
            parted = self._path or query.group_by
            apart = self._distance if parted else min(self._distance, session.terms.unit.unit_distance)
        rows = 1 if self._of_persons else session.terms.unit.max_rows
        asking = Asking(self._columns, self._distance, apart, session.terms.level, cost, noise, rows)
        return asking.measure(query, self._frame.iloc[:0], others)

    def _check_size(self, parts: int, measures: Sequence[Measure]) -> None:
        require(parts <= _MAX_PARTS, "GROUP BY has too many parts", "group by fewer columns, or declare wider cells")
        numbers, candidates = (sum(getattr(own, name) for own in measures) for name in ("numbers", "candidates"))
        if parts * numbers > _MAX_NUMBERS or parts * candidates > _MAX_CANDIDATES:
            raise ConfigError(
                "the answer would have too many numbers", "group by fewer columns, or declare wider cells"
            )

    def _outside(self, named: frozenset[str]) -> IntArray:
        """Return what is to be told: rows with a cell outside its domain, in the columns that are asked."""
        assert self._rows is not None
        outside = np.zeros(len(self._rows), bool)
        for name in sorted(named):
            dimension = self._columns[name].dimension
            assert dimension is not None
            outside |= dimension.codes(self._rows[name]) < 0
        return np.array([0, int(outside.sum())], np.int64)

    @property
    def _declared(self) -> dict[str, Dimension]:
        """The columns with declared cells, by name."""
        return {name: own.dimension for name, own in self._columns.items() if own.dimension is not None}

    def checked(self, query: Query, epsilon: float) -> CheckedQuery:
        """Refuse what cannot be answered, or not at this epsilon, before anything is charged."""
        named = (self._named | columns_of(query)) & set(self._declared)
        terms = self._session.terms
        if not named or self._rows is None:
            terms = replace(terms, report_share=0.0)
        measuring, reporting = terms.split(epsilon)
        groups = tuple(declared_cells(reference, self._columns) for reference in query.group_by)
        checked = CheckedQuery(self, query, terms, epsilon, measuring, reporting, groups, named)
        measures = [own for _, own in checked.measures(self._session.noise)]
        names = [own.name for own in groups]
        labelled = measures[0].labelled
        if len({*names, *(columns_of(query.value) if labelled else ())}) < len(names) + labelled:
            raise ConfigError("a column is named twice", "group by each column once, and by none that is counted")
        own_columns = {"aggregate"} if query.others else set()
        own_columns |= {"share"} if any(own.shares for own in (query, *query.others)) else set()
        if own_columns & set(names):
            raise ConfigError("the answer has a column of that name itself", "rename the column that is grouped by")
        self._check_size(math.prod(len(own) for own in groups), measures)
        # what this epsilon is too small for is met here, on no rows and with noise that costs nothing
        for _, rehearsed in checked.measures(SeededNoise(0)):
            rehearsed.answer(rehearsed.read(self._frame.iloc[:0]))
        if reporting is not None:
            laplace_scale(terms.unit.distance, reporting)
        return checked

    def ask(self, query: Query, epsilon: float, request: str | None = None) -> QueryAnswer:
        """Charge a query and answer it; arguments and errors as those of `deid.dp.session.QuerySession.query`."""
        session = self._session
        checked = self.checked(query, epsilon)
        terms = checked.terms
        own = request or secrets.token_hex(8)
        question = {
            "made": self._made,
            "query": query.described(),
            "declared": {name: dict(dimension.declaration) for name, dimension in self._declared.items()},
            "person": self._person,
            **terms.questioned("level", *(["report_share"] if terms.report_share else [])),
        }
        try:
            receipt = terms.pay(
                session.ledger, session.noise, epsilon, own, purpose=query.aggregate.lower(), question=question,
                path=self._path,
            )  # fmt: skip
            answer: dict[str, Any] = {"rows": self._answers(checked)}
            outside = self._outside(checked.named) if checked.reporting is not None else np.zeros(2, np.int64)
            answer["left_out"] = terms.left_out(outside, checked.reporting, session.noise, of_part=True)
        except AlreadyReleased as before:
            answer, receipt = json.loads(before.answer), before.receipt
            if isinstance(answer, list):  # recorded by an older version
                answer = {"rows": answer, "left_out": {"told": False}}
        else:
            if session.ledger is not None:
                answer = json.loads(session.ledger.answer(own, json.dumps(answer)))
        rows, noise = tuple(answer["rows"]), session.noise
        return QueryAnswer(
            rows, epsilon, own, terms.level, noise.label, noise.private, terms.bound, answer["left_out"], receipt,
            terms.delta,
        )  # fmt: skip

    def _answers(self, checked: CheckedQuery) -> list[dict[str, Any]]:
        """Answer all aggregates, one after the other; where there are several, rows say of which they are."""
        found: dict[int, list[dict[str, Any]]] = {}
        for places, measure in checked.measures(self._session.noise):
            rows = self._grouped(checked.groups, measure)
            found |= {place: rows[turn :: len(places)] for turn, place in enumerate(places)}
        asked = checked.aggregates
        if len(asked) == 1:
            return found[0]
        return [{"aggregate": own.label(), **row} for place, own in enumerate(asked) for row in found[place]]

    def _grouped(self, groups: Sequence[Dimension], measure: Measure) -> list[dict[str, Any]]:
        """Answer for every part: the parts are disjoint, so all together cost what one does."""
        values = measure.read(self._frame)
        if not groups:
            return measure.answer(values)
        shape = [len(own) for own in groups]
        codes = np.stack([own.codes(self._frame[own.name]) for own in groups])
        inside = (codes >= 0).all(axis=0)
        cells = np.ravel_multi_index(tuple(codes[:, inside]), shape)
        names = [own.name for own in groups]
        labels = (dict(zip(names, own, strict=True)) for own in itertools.product(*(own.labels for own in groups)))
        if measure.counted is not None:  # the noise of all parts is drawn at once
            answers = measure.counted(np.bincount(cells, minlength=math.prod(shape)))
            return [{**label, **row} for label, row in zip(labels, answers, strict=True)]
        order = np.argsort(cells, kind="stable")  # once for all parts, whose values then stand together
        values = values[inside][order]
        ends = np.searchsorted(cells[order], np.arange(math.prod(shape) + 1))
        rows = []
        for place, label in enumerate(labels):
            rows += [{**label, **row} for row in measure.answer(values[ends[place] : ends[place + 1]])]
        return rows
