"""Hierarchies made from the values of a column: intervals, dates, prefixes, diagnosis codes.

Every builder takes the column's distinct values as text, as `Microdata.codes` has them, and returns a `Hierarchy` over
them. Values that a builder cannot place are an error that shows none of them. Files in ARX's form are read by
`deid.table.hierarchy.read_hierarchy`.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from math import isnan
from typing import Any

import numpy as np

from deid.base.errors import ConfigError, InputError, require
from deid.base.resources import resource_folder
from deid.table.hierarchy import Hierarchy, hierarchy_from_rows, read_hierarchy
from deid.table.scalars import date_position

ROOT = "*"
_MOST_DIGITS = 20
"""Digits before the point of a number that is divided exactly."""
_WHOLE_VALUES = 10_000
"""Up to so many whole numbers a hierarchy holds the ones between the column's too, so that it fits other rows."""


def _numbers(values: Sequence[str]) -> list[Decimal]:
    try:
        numbers = [Decimal(value) for value in values]
    except InvalidOperation:
        numbers = [Decimal("NaN")]
    if not all(number.is_finite() and number.adjusted() < _MOST_DIGITS for number in numbers):
        raise InputError(
            "a value is not a number, or has too many digits", "use another kind of hierarchy, or correct the value"
        )
    return numbers


def _resolution(numbers: Sequence[Decimal]) -> Decimal:
    """Return the unit of the last decimal place that any number has: 1 for whole numbers."""
    places = max((-int(number.normalize().as_tuple().exponent) for number in numbers), default=0)
    return Decimal(1).scaleb(-max(places, 0))


def _span(low: Decimal, high: Decimal, single: str) -> str:
    """Return an interval, or the one value in it as it is written."""
    return single if low == high else f"[{low:f}-{high:f}]"


def _domain(values: Sequence[str]) -> tuple[list[str], list[Decimal], Decimal]:
    """Return texts and numbers of a numeric column in order, and their resolution."""
    if not values:
        raise InputError("no value to build a hierarchy of", "name a column with values")
    numbers = _numbers(values)
    unit = _resolution(numbers)
    pairs = list(zip(numbers, values, strict=True))
    low, high = min(numbers), max(numbers)
    if unit == 1 and high - low < _WHOLE_VALUES:
        held = set(numbers)
        pairs += [(Decimal(n), str(n)) for n in range(int(low), int(high) + 1) if Decimal(n) not in held]
    pairs.sort()
    return [text for _, text in pairs], [number for number, _ in pairs], unit


def intervals(
    values: Sequence[str], widths: Sequence[float] = (5, 10, 20), origin: float = 0, name: str = "intervals"
) -> Hierarchy:
    """Build intervals of stated widths.

    Parameters
    ----------
    values : sequence of str
        Numbers. When all are whole, the whole numbers between them belong to the hierarchy too (up to 10,000).
    widths : sequence of float
        Width of each level, each a multiple of the one before.
    origin : float
        Where an interval begins.
    name : str
        Name of the hierarchy, also in errors.

    Returns
    -------
    Hierarchy
        Levels ``[20-24]``, ``[20-29]``, ... (both ends included, at the resolution of the values), ``*``.

    Raises
    ------
    ConfigError
        When the widths are not nested, or finer than the values.
    """
    texts, numbers, unit = _domain(values)
    steps = [Decimal(str(width)) for width in widths]
    nested = all(wide % narrow == 0 and wide > narrow for narrow, wide in itertools.pairwise(steps))
    if not steps or steps[0] < unit or not nested:
        raise ConfigError(
            "the widths are not nested", "each must be a multiple of the one before, such as 5, 10, 20", name
        )
    start = Decimal(str(origin))
    rows = []
    for text, number in zip(texts, numbers, strict=True):
        row = [text]
        for step in steps:
            low = start + (number - start) // step * step
            if low > number:  # Decimal's division truncates towards zero
                low -= step
            row.append(_span(low, low + step - unit, text))
        rows.append((*row, ROOT))
    return hierarchy_from_rows(rows, name)


def automatic(
    values: Sequence[str],
    counts: Sequence[int] | None = None,
    method: str = "quantile",
    groups: int = 16,
    name: str = "automatic",
) -> Hierarchy:
    """Build nested intervals for numbers without stating widths.

    Parameters
    ----------
    values : sequence of str
        Numbers.
    counts : sequence of int, optional
        Rows of each value, for quantiles; one each by default.
    method : str
        ``quantile``: intervals of about equally many rows; ``equal``: of equal width.
    groups : int
        Intervals of the finest level, a power of two; every level above joins two neighbours.
    name : str
        Name of the hierarchy, also in errors.

    Returns
    -------
    Hierarchy
        Intervals reach from the least to the greatest value in them.

    Raises
    ------
    ConfigError
        When ``groups`` is no power of two, or there is no such method.
    InputError
        When a value is no number.
    """
    if groups < 2 or groups & (groups - 1):
        raise ConfigError("the number of groups is no power of two", "give 4, 8, 16 or 32", name)
    if method not in ("quantile", "equal"):
        raise ConfigError(f"there is no method {method!r}", "choose quantile or equal", name)
    texts, numbers, _ = _domain(values)
    line = np.array([float(number) for number in numbers])
    if method == "equal":
        width = float(line[-1] - line[0]) or 1.0
        finest = np.minimum((line - line[0]) / width * groups, groups - 1).astype(int)
    else:
        weight = dict(zip(values, counts or itertools.repeat(1, len(values)), strict=True))
        rows_of = np.array([weight.get(text, 0) for text in texts], dtype=float)
        middle = np.cumsum(rows_of) - rows_of / 2  # a value goes where its middle row does
        finest = np.minimum(middle / rows_of.sum() * groups, groups - 1).astype(int)
    chains: list[list[str]] = [[text] for text in texts]
    while groups > 1:
        for _, members in itertools.groupby(range(len(texts)), key=lambda i: int(finest[i])):
            inside = list(members)
            label = _span(numbers[inside[0]], numbers[inside[-1]], texts[inside[0]])
            for i in inside:
                chains[i].append(label)
        finest, groups = finest // 2, groups // 2
    return hierarchy_from_rows(([*chain, ROOT] for chain in chains), name)


def dates(values: Sequence[str], years: Sequence[int] = (5, 10), name: str = "dates") -> Hierarchy:
    """Build day, month, year and ranges of years for ISO dates and date-times.

    Parameters
    ----------
    values : sequence of str
        Dates of the form YYYY-MM-DD, with or without a time of day (``2020-01-31T09:15``).
    years : sequence of int
        Widths of the ranges of years, each a multiple of the one before.
    name : str
        Name of the hierarchy, also in errors.

    Returns
    -------
    Hierarchy
        Levels ``1927-07-15``, ``1927-07``, ``1927``, ``[1925-1929]``, ``[1920-1929]``, ``*``; below them the times.

    Raises
    ------
    ConfigError
        When the ranges of years are not nested.
    InputError
        When a value is no date.
    """
    if any(width < 2 for width in years) or any(wide % narrow for narrow, wide in itertools.pairwise(years)):
        raise ConfigError("the ranges of years are not nested", "each must be a multiple of the one before", name)
    rows = []
    for value in values:
        if isnan(date_position(value)):
            raise InputError("a value is no date", "write dates as YYYY-MM-DD", name)
        year = int(value[:4])
        ranges = [f"[{year // width * width}-{year // width * width + width - 1}]" for width in years]
        time = (value,) if len(value) > 10 else ()
        rows.append((*time, value[:10], value[:7], value[:4], *ranges, ROOT))
    return hierarchy_from_rows(rows, name)


def prefixes(values: Sequence[str], keep: Sequence[int] | None = None, name: str = "prefixes") -> Hierarchy:
    """Build truncations from the right, as for ZIP codes: 61802, 6180*, 618**, ..., ``*``.

    Parameters
    ----------
    values : sequence of str
        Codes, such as ZIP codes; shorter ones are filled up with ``*`` where they are cut.
    keep : sequence of int, optional
        Characters that are kept at each level, descending; one less at each level by default. 5 and 3 for ZIP codes
        and ZIP3.
    name : str
        Name of the hierarchy, also in errors.

    Returns
    -------
    Hierarchy
        A level for each length, and ``*``.

    Raises
    ------
    ConfigError
        When the lengths do not descend.
    InputError
        When there is no value.
    """
    if not values:
        raise InputError("no value to build a hierarchy of", "name a column with values", name)
    longest = max(map(len, values))
    kept = list(range(longest - 1, 0, -1)) if keep is None else list(keep)
    if any(b >= a for a, b in itertools.pairwise(kept)) or any(n < 1 for n in kept):
        raise ConfigError("the lengths of the prefixes do not descend", "for example 4, 3, 2", name)
    rows = [[value, *(value[:n].ljust(longest, "*") for n in kept if n < len(value)), ROOT] for value in values]
    return hierarchy_from_rows(rows, name)


_DETAIL = {"icd-9-cm": re.compile(r"\.?\d{1,2}"), "icd-10-cm": re.compile(r"\.?[0-9A-Z]{1,4}")}
"""What follows the category of a code."""


@functools.cache
def _categories(system: str) -> Hierarchy:
    return read_hierarchy(resource_folder("dictionaries") / "hierarchies" / system / "hierarchy.csv", system)


def _codes(values: Sequence[str], system: str) -> Hierarchy:
    """Cut codes to their category, character by character, then go up the categories' tree."""
    categories = _categories(system)
    rows: dict[str, list[str]] = {}
    unknown = 0
    for value in values:
        if value in categories:  # a category, a block or a chapter
            rows[value] = list(categories.chain(value))
            continue
        width = 4 if system == "icd-9-cm" and value.startswith("E") else 3
        if value[:width] not in categories or not _DETAIL[system].fullmatch(value[width:]):
            unknown += 1
            continue
        cuts = [value[:n] for n in range(len(value), width, -1)]
        rows[value] = [cut for cut in cuts if not cut.endswith(".")] + list(categories.chain(value[:width]))
    if unknown:
        raise InputError(
            f"{unknown} of {len(values)} values are no codes of {system}",
            "write codes as 401.1 or E11.65 (the dot may be left out), or name another hierarchy",
        )
    # a row may begin with an inner value of another one: the tree is the same
    return Hierarchy(
        system, {child: parent for chain in rows.values() for child, parent in itertools.pairwise(_distinct(chain))}
    )


def _distinct(chain: Sequence[str]) -> list[str]:
    return [value for value, _ in itertools.groupby(chain)]


def icd_10_cm(values: Sequence[str]) -> Hierarchy:
    """Return the tree of ICD-10-CM above the codes given: E11.65, E11.6, E11, E08-E13, E00-E89, ``*``."""
    return _codes(values, "icd-10-cm")


def icd_9_cm(values: Sequence[str]) -> Hierarchy:
    """Return the tree of ICD-9-CM above the codes given: 401.1, 401, 401-405, 390-459, ``*``."""
    return _codes(values, "icd-9-cm")


BUILDERS: dict[str, Callable[..., Hierarchy]] = {
    "intervals": intervals,
    "automatic": automatic,
    "dates": dates,
    "prefixes": prefixes,
    "icd-10-cm": icd_10_cm,
    "icd-9-cm": icd_9_cm,
}
"""Builders by name, as configuration files name them; their parameters are the other keys."""


def build_hierarchy(kind: str, values: Sequence[str], **options: Any) -> Hierarchy:
    """Return a hierarchy over values by the name of its builder; ``options`` are the builder's parameters.

    Raises
    ------
    ConfigError
        When there is no such builder, or it has no such option.
    """
    require(kind in BUILDERS, f"there is no kind of hierarchy {kind!r}", f"choose one of {', '.join(BUILDERS)}")
    try:
        return BUILDERS[kind](values, **options)
    except TypeError:
        raise ConfigError(
            f"a hierarchy of kind {kind!r} has other options",
            f"look at deid.table.hierarchy_builders.{BUILDERS[kind].__name__}",
        ) from None
