"""Columns of a declared schema, and the evaluation of conditions and values over them, row by row.

Whatever is computed for a row depends on that row alone, so a filter changes no more rows than its input did. Values
that cannot be computed (text where a number is declared, a division by zero) are missing; a comparison with a missing
value is false. Nothing fails because of what a cell holds: an error would tell something about it.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deid.base.arrays import BoolArray, FloatArray
from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.base.nearest import nearest
from deid.dp.domain import Dimension, cell_number
from deid.dp.query_language import (
    Between,
    Both,
    ColumnRef,
    Condition,
    InList,
    Literal,
    Missing,
    Not,
    Predicate,
    Value,
)
from deid.table.cell_text import text_column
from deid.table.scalars import plain_number

Computed = FloatArray | npt.NDArray[np.object_]
"""Numbers with nan, or texts with None."""

_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, eq=False)
class QueryColumn:
    """A declared column.

    Parameters
    ----------
    numeric : bool
        Whether its values are numbers.
    bounds : (float, float) or None
        The declared ones, of numbers.
    dimension : Dimension or None
        Its cells; computed columns have none.
    """

    numeric: bool
    bounds: tuple[float, float] | None
    dimension: Dimension | None

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers by declaration."""
        return self.dimension is not None and "range" in self.dimension.declaration

    @classmethod
    def of(cls, dimension: Dimension) -> QueryColumn:
        """Return the column that a domain declares."""
        for form in ("range", "edges"):
            if form in dimension.declaration:
                ends = dimension.declaration[form]
                highest = dimension.above[1] if dimension.above else float(ends[-1])
                return cls(True, (float(ends[0]), highest), dimension)
        return cls(False, None, dimension)


def find_column(reference: ColumnRef, columns: Mapping[str, QueryColumn]) -> QueryColumn:
    """Return a declared column.

    Raises
    ------
    ConfigError
        Names the position and the nearest column.
    """
    if reference.name not in columns:
        raise ConfigError(
            f"no column {reference.name!r} is declared (character {reference.position})",
            nearest(reference.name, columns, "declared are") if columns else f"say: --domain {reference.name}=A,B,C",
        )
    return columns[reference.name]


def declared_cells(reference: ColumnRef, columns: Mapping[str, QueryColumn]) -> Dimension:
    """Return the declared cells of a column (`ConfigError` where it was computed and has none)."""
    dimension = find_column(reference, columns).dimension
    if dimension is None:
        raise ConfigError(f"the column {reference.name!r} has no declared cells", "use a column of the table")
    return dimension


def column_values(series: pd.Series, column: QueryColumn) -> Computed:
    """Return a column's values, shape (rows,): numbers with nan, or texts (labels of declared cells) with None."""
    if series.dtype == np.float64:  # computed, or its texts would be read as the same numbers
        numbers = series.to_numpy(np.float64)
        return np.where(np.isfinite(numbers), numbers, np.nan)
    texts = text_column(series)
    distinct: Computed
    written, dimension = list(texts.cat.categories), column.dimension
    assert dimension is not None  # a computed column is one of numbers
    coded = dimension.is_missing(written)
    if column.numeric:
        label, least = dimension.above or ("", None)
        found = [
            None if missing else least if least is not None and text == label else cell_number(text)
            for text, missing in zip(written, coded, strict=True)
        ]
        distinct = np.array([*(np.nan if number is None else number for number in found), np.nan])
    else:
        distinct = np.array([*dimension.name_cells(written), None], object)
        distinct[:-1][coded] = None
    return distinct[texts.cat.codes.to_numpy()]


def value_bounds(value: Value, columns: Mapping[str, QueryColumn]) -> tuple[float, float, bool] | None:
    """Return the declared bounds of a bare column, and whether it holds whole numbers; None for computed values."""
    if not isinstance(value, ColumnRef):
        return None
    column = find_column(value, columns)
    return column.bounds and (*column.bounds, column.whole)


def evaluate_value(value: Value, frame: pd.DataFrame, columns: Mapping[str, QueryColumn]) -> Computed:
    """Compute a value for every row.

    Parameters
    ----------
    value : Value
        The parsed expression.
    frame : pandas.DataFrame
        The rows.
    columns : mapping of str to QueryColumn
        The declared columns.

    Returns
    -------
    float64 or object array, shape (rows,)
        Numbers with nan where one is missing or not finite (a division by 0); texts with None where one is missing.

    Raises
    ------
    ConfigError
        When a column is not declared, or arithmetic is done with texts.
    """
    if isinstance(value, Literal):
        kind: Any = object if isinstance(value.value, str) else np.float64
        return np.full(len(frame), value.value, kind)
    if isinstance(value, ColumnRef):
        column = find_column(value, columns)
        return column_values(frame[value.name], column)
    left, right = (evaluate_value(own, frame, columns) for own in (value.left, value.right))
    if left.dtype == object or right.dtype == object:
        raise ConfigError(
            f"{value.sign!r} at character {value.position} needs numbers on both sides",
            "declare the column as a range or by edges",
        )
    with np.errstate(all="ignore"):
        result: FloatArray = {
            "+": operator.add,
            "-": operator.sub,
            "*": operator.mul,
            "/": operator.truediv,
        }[value.sign](left, right)
    return np.where(np.isfinite(result), result, np.nan)


def _checked_literal(value: Value, other: Value, columns: Mapping[str, QueryColumn]) -> Value:
    """Fit a literal to the column that it is compared with: texts of a declared list must be in it."""
    if not isinstance(value, Literal) or not isinstance(other, ColumnRef):
        return value
    column = find_column(other, columns)
    if column.numeric:
        if column.dimension and column.dimension.above and value.value == column.dimension.above[0]:
            raise ConfigError(
                f"{value.value!r} is a cell of numbers (character {value.position})",
                f"ask for it by {other.name} >= {column.dimension.above[1]:g}",
            )
        return value
    text = value.value if isinstance(value.value, str) else plain_number(value.value)
    declared = column.dimension
    assert declared is not None, "what is computed is a number"
    if declared.is_missing([text]).any():
        raise ConfigError(
            f"{text!r} is what is missing in {other.name!r} (character {value.position})",
            f"ask for it by {other.name} IS NULL",
        )
    if "dates" not in declared.declaration and text not in declared.labels:
        raise ConfigError(
            f"the domain of {other.name!r} has no such value (character {value.position})",
            nearest(text, declared.labels, "its values are"),
        )
    return Literal(text, value.position)


def _pair(left: Value, right: Value, frame: pd.DataFrame, columns: Mapping[str, QueryColumn]) -> tuple[Any, Any]:
    left, right = _checked_literal(left, right, columns), _checked_literal(right, left, columns)
    one, two = evaluate_value(left, frame, columns), evaluate_value(right, frame, columns)
    if (one.dtype == object) != (two.dtype == object):
        raise ConfigError(
            f"a number is compared with a text at character {right.position}",
            "texts stand in 'single quotes', numbers in none",
        )
    return one, two


def _present(values: Any) -> BoolArray:
    return np.array([own is not None for own in values]) if values.dtype == object else ~np.isnan(values)


def _compare(
    sign: str, left: Value, right: Value, frame: pd.DataFrame, columns: Mapping[str, QueryColumn]
) -> BoolArray:
    one, two = _pair(left, right, frame, columns)
    both = _present(one) & _present(two) if len(one) else np.zeros(0, bool)
    result = np.zeros(len(one), bool)
    result[both] = _COMPARE[sign](one[both], two[both]).astype(bool)
    return result


def evaluate_condition(condition: Condition, frame: pd.DataFrame, columns: Mapping[str, QueryColumn]) -> BoolArray:
    """Tell for every row whether a condition holds, bool array of shape (rows,).

    A comparison with a missing value does not hold, so that its negation does.

    Raises
    ------
    ConfigError
        When a column is not declared, a value is not in its domain, or a number is compared with a text.
    """
    match condition:
        case Predicate(sign, left, right):
            return _compare(sign, left, right, frame, columns)
        case InList(value, among):
            result = np.zeros(len(frame), bool)
            for literal in among:
                result |= _compare("=", value, literal, frame, columns)
            return result
        case Between(value, low, high):
            return _compare(">=", value, low, frame, columns) & _compare("<=", value, high, frame, columns)
        case Missing(value):
            values = evaluate_value(value, frame, columns)
            return ~_present(values) if len(values) else np.zeros(0, bool)
        case Not(inner):
            return ~evaluate_condition(inner, frame, columns)
        case Both(word, one, two):
            first, second = (evaluate_condition(own, frame, columns) for own in (one, two))
            return first & second if word == "AND" else first | second
