"""How a query is measured: what is read of each row, and how the rows of a part are answered with noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deid.base.arrays import IntArray
from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.dp.aggregates import (
    Bounded,
    Drawing,
    Estimate,
    check_shares,
    noisy_count,
    noisy_counts,
    noisy_distinct,
    noisy_quantiles,
    noisy_sum,
    noisy_top,
    quantile_scores,
)
from deid.dp.costs import Cost
from deid.dp.domain import Dimension, count_cells
from deid.dp.moments import noisy_moments
from deid.dp.noise import Noise
from deid.dp.query_columns import QueryColumn, declared_cells, evaluate_value, value_bounds
from deid.dp.query_language import ColumnRef, Query, Value

PERSON = "\0person"
"""Column of whose a row is; no column of a table is called so."""


@dataclass(frozen=True)
class Measure:
    """How a question is answered.

    Parameters
    ----------
    read : callable
        From the rows of a table to what is asked of each: array, shape (rows,).
    answer : callable
        From such values to the rows of an answer, with noise.
    numbers : int
        How many numbers an answer has.
    candidates : int
        Among how many candidates something is chosen, all choices together.
    """

    read: Callable[[pd.DataFrame], npt.NDArray[Any]]
    answer: Callable[[npt.NDArray[Any]], list[dict[str, Any]]]
    numbers: int
    candidates: int = 0
    labelled: bool = False
    """Whether the rows of an answer name cells of the column that is asked."""
    counted: Callable[[IntArray], list[dict[str, Any]]] | None = None
    """From the numbers of rows of disjoint parts to an answer of one row for each, where that is all that is asked."""
    even: Callable[[int], npt.NDArray[Any]] = np.zeros
    """Of a number of rows, what ``read`` would return of as many that are spread evenly over what is declared."""
    by_rows: bool = False
    """Whether its error depends on how many rows there are."""


def _row(estimate: Estimate | Bounded, cell: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {**(cell or {}), **estimate._asdict()}


@dataclass(frozen=True, eq=False)
class Asking:
    """Of what a query is asked, and with what it is answered.

    Parameters
    ----------
    columns : mapping of str to QueryColumn
        The declared columns.
    distance : int
        Rows between neighbours.
    apart : int or None
        Persons between neighbours; None where no column says whose a row is.
    level : float
        Level of the intervals, 0 to 1.
    cost : Cost
        Of the numbers.
    noise : Noise
        Source of noise.
    rows : int
        Rows of one person, at most.
    """

    columns: Mapping[str, QueryColumn]
    distance: int
    apart: int | None
    level: float
    cost: Cost
    noise: Noise
    rows: int = 1

    def measure(self, query: Query, empty: pd.DataFrame, others: Sequence[Query] = ()) -> Measure:
        """Check what is asked, and return how to answer it.

        Parameters
        ----------
        query : Query
            What is asked; its condition and its parts are the caller's.
        others : sequence of Query
            What is drawn with it (`deid.dp.query_language.drawn_together`); an answer has a row for each.
        empty : pandas.DataFrame
            The table without its rows.

        Raises
        ------
        ConfigError
            When a column, bounds or cells are not declared, or a number is out of its range.
        """
        how = self._drawing(query)
        wanted = tuple(own.aggregate for own in (query, *others))
        query = next((own for own in (query, *others) if own.aggregate != "VALUES"), query)  # which has no bounds
        if query.aggregate == "PERSONS":
            apart = self.apart
            if apart is None:
                raise ConfigError("no column says whose a row is", "name the column: --person COLUMN")
            of_persons = replace(how, distance=apart, sampling=min(how.sampling, 1))
            return Measure(
                lambda frame: frame[PERSON].cat.codes.to_numpy() if len(frame) else np.zeros(0, np.int64),
                lambda persons: [_row(noisy_count(len(np.unique(persons)), of_persons))],
                1,
                even=np.arange,
            )
        if query.aggregate == "COUNT":
            return Measure(
                lambda frame: np.zeros(len(frame)),
                lambda rows: [_row(noisy_count(len(rows), how))],
                1,
                counted=lambda numbers: [_row(own) for own in noisy_counts(numbers, how)],
            )
        assert query.value is not None
        if query.aggregate in ("HISTOGRAM", "TOP", "DISTINCT"):
            assert isinstance(query.value, ColumnRef)
            return self._cells(query, declared_cells(query.value, self.columns))
        if wanted == ("VALUES",):
            return self._number_of(query, query.value, empty)
        return self._numeric(query, query.value, empty, wanted)

    def _drawing(self, query: Query) -> Drawing:
        return Drawing(self.cost, self.noise, self.distance, self.level, self.rows if query.sampling else 0)

    def _number_of(self, query: Query, value: Value, empty: pd.DataFrame) -> Measure:
        evaluate_value(value, empty, self.columns)
        how = self._drawing(query)
        return Measure(
            lambda frame: ~np.asarray(pd.isna(evaluate_value(value, frame, self.columns)), bool),
            lambda there: [_row(noisy_count(int(there.sum()), how))],
            1,
            even=lambda rows: np.ones(rows, bool),
        )

    def _cells(self, query: Query, dimension: Dimension) -> Measure:
        how = self._drawing(query)

        def read(frame: pd.DataFrame) -> npt.NDArray[Any]:
            return dimension.codes(frame[dimension.name])

        def counts(codes: npt.NDArray[Any]) -> IntArray:
            return count_cells([codes[codes >= 0]], [len(dimension)])

        def even(rows: int) -> npt.NDArray[Any]:
            return np.arange(rows) % len(dimension)

        def label(cell: int) -> dict[str, str]:
            return {dimension.name: dimension.labels[cell]}

        if query.aggregate == "DISTINCT":

            def distinct(codes: npt.NDArray[Any]) -> list[dict[str, Any]]:
                return [_row(noisy_distinct(counts(codes), how))]

            return Measure(read, distinct, 1, even=even)

        if query.aggregate == "TOP":
            number = int(query.number or 0)
            if number != query.number:
                raise ConfigError("how many values are chosen is a whole number", "for example: TOP(3, diagnosis)")

            def top(codes: npt.NDArray[Any]) -> list[dict[str, Any]]:
                chosen = noisy_top(counts(codes), number, how)
                return [_row(found, label(cell)) for cell, found in chosen]

            return Measure(read, top, number, number * len(dimension), True, even=even, by_rows=True)

        def histogram(codes: npt.NDArray[Any]) -> list[dict[str, Any]]:
            found = noisy_counts(counts(codes), how)
            return [_row(own, label(cell)) for cell, own in enumerate(found)]

        return Measure(read, histogram, len(dimension), 0, True, even=even)

    def _numeric(self, query: Query, value: Value, empty: pd.DataFrame, wanted: tuple[str, ...]) -> Measure:
        how = self._drawing(query)
        declared = value_bounds(value, self.columns)
        low, high, whole = query.low, query.high, declared is not None and declared[2]
        if low is None or high is None:
            if declared is None:
                raise ConfigError("the value has no declared bounds", f"give them: {query.aggregate}(value, low, high)")
            low, high = declared[0], declared[1]
        elif not float(low).is_integer() or not float(high).is_integer():
            whole = False
        bounds = low, high
        require(bounds[0] < bounds[1], "bounds are two numbers, the smaller first", "for example: SUM(dose, 0, 500)")
        if evaluate_value(value, empty, self.columns).dtype == object:
            raise ConfigError(f"{query.aggregate} needs numbers", "declare the column as a range or by edges")
        shares = check_shares(query.shares or (0.5 if query.aggregate == "MEDIAN" else query.number or 0.0,))
        choosing = query.aggregate in ("MEDIAN", "QUANTILE", "QUANTILES")

        def read(frame: pd.DataFrame) -> npt.NDArray[Any]:
            return evaluate_value(value, frame, self.columns).astype(float)

        def answer(values: npt.NDArray[Any]) -> list[dict[str, Any]]:
            if wanted == ("SUM",):
                return [_row(noisy_sum(values, *bounds, how, whole=whole))]
            if not choosing:
                return [*map(_row, noisy_moments(values, wanted, *bounds, how, whole=whole))]
            chosen = noisy_quantiles(values, shares, *bounds, how, whole=whole, interval=query.interval)
            if not query.shares:
                return [_row(chosen[0])]
            return [_row(own, {"share": f"{share:g}"}) for share, own in zip(shares, chosen, strict=True)]

        def even(rows: int) -> npt.NDArray[Any]:
            values = bounds[0] + (np.arange(rows) + 0.5) / max(rows, 1) * (bounds[1] - bounds[0] + whole)
            return np.floor(values) if whole else values

        scores = quantile_scores(bounds, shares, whole=whole, interval=query.interval) if choosing else 0
        by_rows = wanted != ("SUM",) or bool(how.sampling)
        return Measure(read, answer, len(shares) if choosing else len(wanted), scores, even=even, by_rows=by_rows)
