"""What the cells of a column are: texts, or numbers where nothing is lost by it."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from deid.base.late import pd
from deid.table.cell_text import cell_text, text_column
from deid.table.scalars import EXACT, is_plain_number

_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")


def read_as_text(name: str, as_text: Collection[str] | bool) -> bool:
    """Tell whether a column is read as text whatever its cells are: all are, or those that are named."""
    return as_text if isinstance(as_text, bool) else name in as_text


def typed_array(cells: list[Any]) -> Any:
    """Return a column of a database as an Arrow array, as text where its values have several types."""
    import pyarrow

    try:
        return pyarrow.array(cells)
    except (pyarrow.ArrowException, ValueError, TypeError):
        return pyarrow.array(texts(cells), pyarrow.string())


def texts(cells: list[Any]) -> list[str | None]:
    """Return cells as Python writes them; missing ones stay missing."""
    return [None if cell is None else str(cell) for cell in cells]


def loose_array(cells: list[Any]) -> Any:
    """Return a column of a sheet, where every cell has a type of its own: numbers if all are, else texts."""
    import pyarrow

    there = [cell for cell in cells if cell is not None]
    if there and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in there):
        if all(abs(cell) < EXACT and cell == int(cell) for cell in there):
            return pyarrow.array([None if cell is None else int(cell) for cell in cells])
        return pyarrow.array([None if cell is None else float(cell) for cell in cells])
    return pyarrow.array([cell if isinstance(cell, str) else cell_text(cell) for cell in cells], pyarrow.string())


def narrowed(found: Any, as_text: Collection[str] | bool, exact: bool) -> pd.DataFrame:
    """Turn an Arrow table into a frame: text becomes categorical, text of plain numbers becomes numbers."""
    import pyarrow

    columns: dict[str, Any] = {}
    for name, column in zip(found.column_names, found.columns, strict=True):
        kind = column.type
        if read_as_text(name, as_text) or _is_bytes(kind):
            columns[name] = text_column(_one_by_one(column))
            continue
        if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
            column = column.dictionary_encode()
        elif pyarrow.types.is_decimal(kind):
            column = column.cast(pyarrow.string()).dictionary_encode() if exact else column.cast(pyarrow.float64())
        if pyarrow.types.is_integer(kind) and column.null_count and exact:
            series = column.to_pandas(types_mapper=lambda _: pd.Int64Dtype())
        else:
            series = column.to_pandas()
        if isinstance(series.dtype, pd.CategoricalDtype):
            series = _numbers(_without_empty(series), exact)
        columns[name] = series
    return pd.DataFrame(columns)


def _is_bytes(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _one_by_one(column: Any) -> pd.Series:
    """Return a column of Arrow so that no cell depends on another one: whole numbers with gaps are no floats."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pyarrow.types.is_floating(column.type):
        return column.to_pandas()
    try:
        coded = column.dictionary_encode().combine_chunks()
    except pyarrow.ArrowException:  # lists and structures
        return pd.Series(_cells(column), dtype=object)
    if isinstance(coded, pyarrow.ChunkedArray):  # of no chunk, or of several that could not be joined
        return pd.Series(_cells(column), dtype=object)
    places = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    distinct = text_column(pd.Series(_cells(coded.dictionary), dtype=object))
    codes = np.append(distinct.cat.codes.to_numpy(), -1)
    return pd.Series(pd.Categorical.from_codes(codes[places], distinct.cat.categories))


def _cells(column: Any) -> list[Any]:
    """Return the cells of a column of Arrow; those that Python has no value for, as the year 38504, as texts."""
    import pyarrow

    def value(cell: Any) -> Any:
        try:
            return cell.as_py()
        except (ValueError, OverflowError):
            return str(cell.cast(pyarrow.string()))

    try:
        return column.to_pylist()
    except (ValueError, OverflowError):
        return [value(cell) for cell in column]


def _without_empty(series: pd.Series) -> pd.Series:
    return series.cat.remove_categories([""]) if "" in series.cat.categories else series


def _numbers(series: pd.Series, exact: bool) -> pd.Series:
    """Return a categorical column as numbers when every value is written as one would write that number."""
    texts = list(series.cat.categories)
    if not texts or not all(isinstance(text, str) and _PLAIN_NUMBER.fullmatch(text) for text in texts):
        return series
    codes = series.cat.codes.to_numpy()
    whole = not any("." in text for text in texts)
    complete = codes.min(initial=0) >= 0
    if exact and any((str(int(text)) if whole else repr(float(text))) != text for text in texts):
        return series
    if whole and (complete or exact):
        numbers = pd.Series(np.array([*map(int, texts), 0], dtype=np.int64)[codes], index=series.index)
        return numbers if complete else numbers.astype("Int64").mask(codes < 0)
    return pd.Series(np.array([*map(float, texts), np.nan])[codes], index=series.index)


def numbers_kept_as_text(frame: pd.DataFrame) -> dict[str, str]:
    """Return the kind ``numeric`` of every column that `read_table` kept as text only to lose nothing: 2.50."""
    return {
        name: "numeric"
        for name in frame.columns
        if isinstance(frame[name].dtype, pd.CategoricalDtype)
        and len(frame[name].cat.categories)
        and all(isinstance(text, str) and is_plain_number(text) for text in frame[name].cat.categories)
    }
