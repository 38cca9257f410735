"""A session: questions about a table, one by one, each paid for before it is answered.

After PINQ (McSherry 2009). A `Session` holds a table, a ledger, and declared columns; a `View` is a part of the table
or another shape of it. Views are made by `where` (a filter), `select` (a computed column), `partition` (disjoint parts,
which together cost as much as the most expensive one) and `by_person` (one row a person). Only aggregates answer, and
each charges the ledger first. An answer is recorded: the same request returns it again.

What one unit can change is kept with the view, in rows (`deid.dp.unit`). After `by_person` a person is one row, so the
noise shrinks. Inside a part it does not: a person may have rows in several parts, and would be one person in each.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deid.dp.aggregates import (
    Estimate,
    noisy_count,
    noisy_counts,
    noisy_mean,
    noisy_quantile,
    noisy_sum,
    noisy_top,
)
from deid.dp.budget import Ledger, Part
from deid.dp.domain import Dimension, count_cells
from deid.dp.noise import Noise, OpenDPNoise
from deid.dp.payment import AlreadyReleased, check_payer, partition_name, pay
from deid.dp.query_answer import QueryAnswer
from deid.dp.query_columns import QueryColumn, evaluate_condition, evaluate_value, find_column, value_bounds
from deid.dp.query_language import (
    PERSON_VALUES,
    ColumnRef,
    Condition,
    Query,
    Value,
    parse_condition,
    parse_query,
    parse_value,
)
from deid.dp.unit import PrivacyUnit, bounded_rows
from deid.errors import ConfigError
from deid.microdata import check_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["QueryAnswer", "Session", "View"]

_PERSON = " person"  # no column of a table is called so
_MAX_PARTS = 10_000

Measure = Callable[["pd.DataFrame"], list[dict[str, Any]]]
"""From rows to the rows of an answer."""


def _row(estimate: Estimate, **cell: str) -> dict[str, Any]:
    return {**cell, "value": estimate.value, "lower": estimate.lower, "upper": estimate.upper}


class Session:
    """A table that can be asked.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    dimensions : sequence of Dimension
        The columns that may be asked, with their declared domains.
    ledger : Ledger or None
        What pays, and says whom it protects. May be None for test noise alone.
    person : str, optional
        Column of the person; needed when a unit stands behind several rows, and for `View.by_person`. Rows beyond the
        bound are left out.
    noise : Noise, optional
        OpenDP's by default.
    level : float
        Level of the intervals.

    Raises
    ------
    ConfigError
        When a column is missing, or nothing says whose a row is.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        dimensions: Sequence[Dimension],
        ledger: Ledger | None,
        *,
        person: str | None = None,
        noise: Noise | None = None,
        level: float = 0.95,
        unit: PrivacyUnit | None = None,
    ) -> None:
        self.noise = noise or OpenDPNoise()
        check_payer(ledger, self.noise)
        self.ledger = ledger
        self.unit = ledger.account().unit if ledger is not None else (unit or PrivacyUnit())
        self.level = level
        if not 0 < level < 1:
            raise ConfigError("the level of an interval lies between 0 and 1", "for example: --level 0.95")
        if self.unit.max_rows > 1 and person is None:
            raise ConfigError(
                f"a {self.unit.name} may stand behind {self.unit.max_rows} rows, and no column says whose a row is",
                "name the column: --person COLUMN; rows beyond the bound are left out",
            )
        names = [dimension.name for dimension in dimensions]
        check_columns(frame, [*names, *([person] if person is not None else [])])
        kept = frame[names]
        if person is not None:
            keep, _ = bounded_rows(frame[person], self.unit.max_rows)
            # a row without a person is a person of its own
            owners = frame[person].astype(object)
            alone = np.array([f"{_PERSON}{number}" for number in range(len(frame))], object)
            kept = kept.assign(**{_PERSON: owners.where(owners.notna(), alone)})[keep]
        columns = {own.name: QueryColumn.of(own) for own in dimensions}
        self._all = View(self, kept, columns, self.unit.distance, (), (), person)

    @property
    def table(self) -> View:
        """The whole table."""
        return self._all

    @property
    def remaining(self) -> float:
        """What is left of the budget."""
        return self.ledger.account().remaining / 1e9 if self.ledger is not None else float("inf")

    def query(self, text: str, epsilon: float, *, request: str | None = None) -> QueryAnswer:
        """Answer a query in the language of `deid.dp.query_language`.

        Raises
        ------
        ConfigError
            When it cannot be read, or asks for what is not declared; nothing was charged.
        BudgetExceeded
            When it costs too much; nothing was charged.
        """
        return self._all._answer_query(parse_query(text), epsilon, request)


@dataclass(frozen=True, eq=False)
class View:
    """A part or another shape of a session's table; see the module. Made by `Session.table` and by other views."""

    _session: Session
    _frame: pd.DataFrame
    _columns: Mapping[str, QueryColumn]
    _distance: int
    _path: tuple[Part, ...]
    _made: tuple[str, ...]
    """How the view was made, in words that tell any two different ones apart."""
    _person: str | None

    def __repr__(self) -> str:
        return f"View({', '.join(self._made) or 'table'})"

    def where(self, condition: str) -> View:
        """Keep the rows for which a condition holds, such as ``age >= 60 AND sex = 'F'``."""
        return self._where(parse_condition(condition))

    def _where(self, condition: Condition) -> View:
        keep = evaluate_condition(condition, self._frame, self._columns)
        return replace(self, _frame=self._frame[keep], _made=(*self._made, f"where {condition}"))

    def select(self, name: str, value: str, low: float, high: float) -> View:
        """Add a computed column of numbers, moved into [low, high]: ``select("hours", "minutes / 60", 0, 24)``."""
        if name in self._frame:
            raise ConfigError(f"there is a column {name!r} already", "name the computed column differently")
        computed = evaluate_value(parse_value(value), self._frame, self._columns)
        if computed.dtype == object or not low < high:
            raise ConfigError("a computed column holds numbers, between two bounds", "give a low and a higher bound")
        columns = {**self._columns, name: QueryColumn(True, low, high, None)}
        frame = self._frame.assign(**{name: np.clip(computed.astype(float), low, high)})
        made = (*self._made, f"select {name} = {value} in {low}..{high}")
        return replace(self, _frame=frame, _columns=columns, _made=made)

    def partition(self, column: str) -> dict[str, View]:
        """Divide by the cells of a declared column: all parts together cost as much as the most expensive one.

        Returns
        -------
        dict of str to View
            One for each declared cell, also for empty ones.
        """
        dimension = self._dimension(ColumnRef(column, 1))
        codes = dimension.codes(self._frame[column])
        name = self._partition(dimension)
        return {
            label: replace(
                self,
                _frame=self._frame[codes == place],
                _path=(*self._path, (name, label)),
                _made=(*self._made, f"part {name}={label}"),
            )
            for place, label in enumerate(dimension.labels)
        }

    def _partition(self, dimension: Dimension) -> str:
        """Name a partition. Rows fall in the same parts in every view of rows; what a person's value is depends on how
        persons were made, so partitions of persons are the same only when they were made alike.
        """
        persons = [place for place, step in enumerate(self._made) if step.startswith("by_person")]
        if not persons:
            return partition_name(dimension)
        made = json.dumps(self._made[: persons[-1] + 1])
        return f"{partition_name(dimension)}#person{hashlib.sha256(made.encode()).hexdigest()[:8]}"

    def by_person(self, how: str = "first") -> View:
        """Make one row of each person.

        Parameters
        ----------
        how : str
            A person's value of a column of numbers: first, last, min, max, sum or mean; of other columns it is the
            first one, or the last. After ``sum`` a column has no declared bounds any more.
        """
        import pandas as pd

        if self._person is None:
            raise ConfigError("no column says whose a row is", "name the column: --person COLUMN")
        if how not in PERSON_VALUES:
            raise ConfigError("unknown value of a person", f"use one of {', '.join(PERSON_VALUES)}")
        numeric = {name for name, own in self._columns.items() if own.numeric}
        frame = self._frame.assign(
            **{name: pd.to_numeric(self._frame[name].astype(object), errors="coerce") for name in sorted(numeric)}
        )
        others = how if how in ("first", "last") else "first"
        options: dict[str, Any] = {"min_count": 1} if how == "sum" else {}
        grouped = frame.groupby(_PERSON, sort=False, observed=True)
        parts = {
            name: grouped[name].agg(how, **options) if name in numeric else grouped[name].agg(others)
            for name in self._columns
        }
        table = pd.DataFrame(parts).reset_index()
        columns = {
            name: replace(own, low=None, high=None, dimension=None) if how == "sum" and own.numeric else own
            for name, own in self._columns.items()
        }
        distance = self._distance if self._path else min(self._distance, self._session.unit.unit_distance)
        made = (*self._made, f"by_person {how}")
        return replace(self, _frame=table, _columns=columns, _distance=distance, _made=made)

    def count(self, epsilon: float, *, request: str | None = None) -> QueryAnswer:
        """Count rows (persons, after `by_person`)."""
        return self._ask(Query("COUNT"), epsilon, request)

    def count_persons(self, epsilon: float, *, request: str | None = None) -> QueryAnswer:
        """Count the persons who have a row."""
        return self._ask(Query("PERSONS"), epsilon, request)

    def sum(
        self, value: str, epsilon: float, low: float | None = None, high: float | None = None, **options: Any
    ) -> QueryAnswer:
        """Add up a column or computed value; bounds are the declared ones where none are given."""
        return self._ask(Query("SUM", parse_value(value), None, low, high), epsilon, **options)

    def mean(
        self, value: str, epsilon: float, low: float | None = None, high: float | None = None, **options: Any
    ) -> QueryAnswer:
        """Take the mean of a column or computed value."""
        return self._ask(Query("MEAN", parse_value(value), None, low, high), epsilon, **options)

    def quantile(
        self,
        value: str,
        share: float,
        epsilon: float,
        low: float | None = None,
        high: float | None = None,
        **options: Any,
    ) -> QueryAnswer:
        """Choose a quantile of a column or computed value."""
        return self._ask(Query("QUANTILE", parse_value(value), share, low, high), epsilon, **options)

    def median(self, value: str, epsilon: float, **options: Any) -> QueryAnswer:
        """Choose the median."""
        return self.quantile(value, 0.5, epsilon, **options)

    def histogram(self, column: str, epsilon: float, **options: Any) -> QueryAnswer:
        """Count the rows of every declared cell of a column."""
        return self._ask(Query("HISTOGRAM", ColumnRef(column, 1)), epsilon, **options)

    def top(self, column: str, number: int, epsilon: float, **options: Any) -> QueryAnswer:
        """Choose the most frequent cells of a column, and count them."""
        return self._ask(Query("TOP", ColumnRef(column, 1), number), epsilon, **options)

    def _dimension(self, reference: ColumnRef) -> Dimension:
        dimension = find_column(reference, self._columns).dimension
        if dimension is None:
            raise ConfigError(f"the column {reference.name!r} has no declared cells", "use a column of the table")
        return dimension

    def _answer_query(self, query: Query, epsilon: float, request: str | None) -> QueryAnswer:
        view = self if query.where is None else self._where(query.where)
        if query.per_person is not None:
            view = view.by_person(query.per_person)
        return view._ask(query, epsilon, request)

    def _measure(self, query: Query, epsilon: float) -> Measure:
        """Check what is asked, without looking at a row, and return how to answer it."""
        noise, distance, level = self._session.noise, self._distance, self._session.level
        if query.aggregate == "PERSONS":
            if self._person is None:
                raise ConfigError("no column says whose a row is", "name the column: --person COLUMN")
            # a person with rows in several parts is counted in each of them
            parted = self._path or query.group_by
            own = distance if parted else min(distance, self._session.unit.unit_distance)
            return lambda rows: [_row(noisy_count(rows[_PERSON].nunique(), epsilon, noise, own, level))]
        if query.aggregate == "COUNT":
            return lambda rows: [_row(noisy_count(len(rows), epsilon, noise, distance, level))]
        assert query.value is not None
        if query.aggregate in ("HISTOGRAM", "TOP"):
            assert isinstance(query.value, ColumnRef)
            dimension = self._dimension(query.value)
            if query.aggregate == "TOP":
                number = int(query.number or 0)
                if number != query.number or not 1 <= number <= len(dimension):
                    raise ConfigError(f"there are {len(dimension)} values to choose from", "ask for 1 or more, not all")
                return lambda rows: [
                    _row(found, **{dimension.name: dimension.labels[cell]})
                    for cell, found in noisy_top(_counts(rows, dimension), number, epsilon, noise, distance, level)
                ]
            return lambda rows: [
                _row(found, **{dimension.name: label})
                for label, found in zip(
                    dimension.labels,
                    noisy_counts(_counts(rows, dimension), epsilon, noise, distance, level),
                    strict=True,
                )
            ]
        return self._numeric(query, query.value, epsilon)

    def _numeric(self, query: Query, value: Value, epsilon: float) -> Measure:
        noise, distance, level = self._session.noise, self._distance, self._session.level
        declared = value_bounds(value, self._columns)
        low, high, whole = query.low, query.high, declared is not None and declared[2]
        if low is None or high is None:
            if declared is None:
                raise ConfigError("the value has no declared bounds", f"give them: {query.aggregate}(value, low, high)")
            low, high = declared[0], declared[1]
        elif not float(low).is_integer() or not float(high).is_integer():
            whole = False
        bounds = low, high
        if not bounds[0] < bounds[1]:
            raise ConfigError("bounds are two numbers, the smaller first", "for example: SUM(dose, 0, 500)")
        if evaluate_value(value, self._frame.iloc[:0], self._columns).dtype == object:
            raise ConfigError(f"{query.aggregate} needs numbers", "declare the column as a range or by edges")
        share = 0.5 if query.aggregate == "MEDIAN" else query.number
        if query.aggregate == "QUANTILE" and not 0 <= (share or 0) <= 1:
            raise ConfigError("a quantile's share lies between 0 and 1", "for example: QUANTILE(age, 0.9)")

        def measure(rows: pd.DataFrame) -> list[dict[str, Any]]:
            values = evaluate_value(value, rows, self._columns).astype(float)
            if query.aggregate == "SUM":
                found = noisy_sum(values, *bounds, epsilon, noise, distance, level, whole=whole)
            elif query.aggregate == "MEAN":
                found = noisy_mean(values, *bounds, epsilon, noise, distance, level)
            else:
                found = noisy_quantile(values, share or 0.0, *bounds, epsilon, noise, distance, level, whole=whole)
            return [_row(found)]

        return measure

    def _ask(self, query: Query, epsilon: float, request: str | None = None) -> QueryAnswer:
        session = self._session
        measure = self._measure(query, epsilon)
        groups = [self._dimension(reference) for reference in query.group_by]
        if int(np.prod([len(own) for own in groups] or [1])) > _MAX_PARTS:
            raise ConfigError("GROUP BY has too many parts", "group by fewer columns, or declare wider cells")
        own = request or secrets.token_hex(8)
        question = {
            "made": self._made,
            "query": repr(replace(query, where=None)),
            "declared": {name: dict(c.dimension.declaration) for name, c in self._columns.items() if c.dimension},
            "person": self._person,
            "level": session.level,
        }
        try:
            pay(
                session.ledger,
                session.noise,
                epsilon,
                own,
                unit=session.unit,
                purpose=query.aggregate.lower(),
                question=question,
                path=self._path,
            )
            rows = self._grouped(groups, measure)
        except AlreadyReleased as before:
            rows = json.loads(before.answer)
        else:
            if session.ledger is not None:
                rows = json.loads(session.ledger.answer(own, json.dumps(rows)))
        return QueryAnswer(tuple(rows), epsilon, own, session.level, session.noise.label, session.noise.private)

    def _grouped(self, groups: Sequence[Dimension], measure: Measure) -> list[dict[str, Any]]:
        """Answer for every part: the parts are disjoint, so all together cost what one does."""
        if not groups:
            return measure(self._frame)
        codes = np.stack([own.codes(self._frame[own.name]) for own in groups], axis=1)
        rows = []
        for cell in np.ndindex(*[len(own) for own in groups]):
            labels = {own.name: own.labels[place] for own, place in zip(groups, cell, strict=True)}
            part = self._frame[(codes == np.array(cell)).all(axis=1)]
            rows += [{**labels, **row} for row in measure(part)]
        return rows


def _counts(rows: pd.DataFrame, dimension: Dimension) -> Any:
    codes = dimension.codes(rows[dimension.name])
    return count_cells([codes[codes >= 0]], [len(dimension)])
