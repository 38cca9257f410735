"""Hierarchies made from the values of a column: intervals, dates, prefixes, diagnosis codes.

Every builder takes the column's distinct values as text, as `Microdata.codes` has them, and returns a `Hierarchy` over
them. Values that a builder cannot place are an error that shows none of them. Files in ARX's form are read by
`deid.table.hierarchy.read_hierarchy`.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from deid.base.errors import ConfigError, InputError, require
from deid.base.resources import resource_folder
from deid.table.hierarchy import Hierarchy, hierarchy_from_rows, read_hierarchy
from deid.table.scalars import date_position, open_end

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


@dataclass(frozen=True, order=True, repr=False)
class _Place:
    """A value of a numeric column on the line: a number, or the open end that a top or bottom code begins."""

    number: Decimal
    side: int
    """1: this number and all above; -1: and all below; 0: itself."""
    text: str


def _domain(values: Sequence[str]) -> tuple[list[_Place], Decimal]:
    """Return the values of a numeric column in order, and the resolution of their numbers.

    A code that leaves its number out (``>89``) begins at the next number of that resolution.
    """
    require(values, "no value to build a hierarchy of", "name a column with values", kind=InputError)
    ends = [open_end(value) or (value, 0, False) for value in values]
    numbers = _numbers([number for number, _, _ in ends])
    unit = _resolution(numbers)
    places = [
        _Place(number + side * unit * out, side, value)
        for value, number, (_, side, out) in zip(values, numbers, ends, strict=True)
    ]
    held = {place.number for place in places if not place.side}
    if held and unit == 1 and max(held) - min(held) < _WHOLE_VALUES:
        between = range(int(min(held)), int(max(held)) + 1)
        places += [_Place(Decimal(n), 0, str(n)) for n in between if Decimal(n) not in held]
    return sorted(places), unit


def _label(low: Decimal, high: Decimal, sides: frozenset[int], single: str) -> str:
    """Return what holds for all members: an interval, the one value in it as it is written, or an open end."""
    if sides >= {-1, 1}:
        return ROOT
    if sides:
        return f"{low:f}+" if 1 in sides else f"<={high:f}"
    return single if low == high else f"[{low:f}-{high:f}]"


def _labels(places: Sequence[_Place], groups: Sequence[int], ends: Sequence[tuple[Decimal, Decimal]]) -> list[str]:
    """Return the label of each value's group on one level; groups that an open end reaches into become one with it.

    Parameters
    ----------
    places : sequence of _Place
        The values, in order.
    groups : sequence of int
        The group of each, ascending.
    ends : sequence of (low, high)
        The least and greatest number of each value's group.
    """
    top = min((group for place, group in zip(places, groups, strict=True) if place.side > 0), default=None)
    bottom = max((group for place, group in zip(places, groups, strict=True) if place.side < 0), default=None)
    first = ends[groups.index(top)][0] if top is not None else Decimal(0)
    last = ends[groups.index(bottom)][1] if bottom is not None else Decimal(0)
    found = []
    for place, group, (low, high) in zip(places, groups, ends, strict=True):
        above, below = top is not None and group >= top, bottom is not None and group <= bottom
        sides = frozenset([1] * above + [-1] * below)
        found.append(_label(first if above else low, last if below else high, sides, place.text))
    return found if top is None or bottom is None or top > bottom else [ROOT] * len(found)


def intervals(
    values: Sequence[str], widths: Sequence[float] = (5, 10, 20), origin: float = 0, name: str = "intervals"
) -> Hierarchy:
    """Build intervals of stated widths.

    Parameters
    ----------
    values : sequence of str
        Numbers. When all are whole, the whole numbers between them belong to the hierarchy too (up to 10,000).
        Codes of open ends (`deid.table.scalars.open_end`), such as ``90+``, may stand among them.
    widths : sequence of float
        Width of each level, each a multiple of the one before.
    origin : float
        Where an interval begins.
    name : str
        Name of the hierarchy, also in errors.

    Returns
    -------
    Hierarchy
        Levels ``[20-24]``, ``[20-29]``, ... (both ends included, at the resolution of the values), ``*``. With the
        interval in which a top code begins, all above it is one open interval, ``80+``; with a bottom code, ``<=19``.

    Raises
    ------
    ConfigError
        When the widths are not nested, or finer than the values.
    """
    places, unit = _domain(values)
    steps = [Decimal(str(width)) for width in widths]
    nested = all(wide % narrow == 0 and wide > narrow for narrow, wide in itertools.pairwise(steps))
    if not steps or steps[0] < unit or not nested:
        raise ConfigError(
            "the widths are not nested", "each must be a multiple of the one before, such as 5, 10, 20", name
        )
    start = Decimal(str(origin))
    levels = [[place.text for place in places]]
    for step in steps:
        wholes = [int((place.number - start) // step) for place in places]
        groups = [n - (start + n * step > place.number) for n, place in zip(wholes, places, strict=True)]
        lows = [start + group * step for group in groups]
        levels.append(_labels(places, groups, [(low, low + step - unit) for low in lows]))
    return hierarchy_from_rows(([*chain, ROOT] for chain in zip(*levels, strict=True)), name)


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
        Numbers, and codes of open ends, as for `intervals`.
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
        Intervals reach from the least to the greatest value in them; with a code of an open end they are open.

    Raises
    ------
    ConfigError
        When ``groups`` is no power of two, or there is no such method.
    InputError
        When a value is no number.
    """
    if groups < 2 or groups & (groups - 1):
        raise ConfigError("the number of groups is no power of two", "give 4, 8, 16 or 32", name)
    require(method in ("quantile", "equal"), f"there is no method {method!r}", "choose quantile or equal", name)
    places, _ = _domain(values)
    line = np.array([float(place.number) for place in places])
    if method == "equal":
        width = float(line[-1] - line[0]) or 1.0
        finest = np.minimum((line - line[0]) / width * groups, groups - 1).astype(int)
    else:
        weight = dict(zip(values, counts or itertools.repeat(1, len(values)), strict=True))
        rows_of = np.array([weight.get(place.text, 0) for place in places], dtype=float)
        middle = np.cumsum(rows_of) - rows_of / 2  # a value goes where its middle row does
        finest = np.minimum(middle / rows_of.sum() * groups, groups - 1).astype(int)
    levels = [[place.text for place in places]]
    while groups > 1:
        ends = []
        for _, members in itertools.groupby(range(len(places)), key=lambda i: int(finest[i])):
            inside = list(members)
            ends += [(places[inside[0]].number, places[inside[-1]].number)] * len(inside)
        levels.append(_labels(places, finest.tolist(), ends))
        finest, groups = finest // 2, groups // 2
    return hierarchy_from_rows(([*chain, ROOT] for chain in zip(*levels, strict=True)), name)


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
        if math.isnan(date_position(value)):
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
    require(values, "no value to build a hierarchy of", "name a column with values", name, kind=InputError)
    longest = max(map(len, values))
    kept = list(range(longest - 1, 0, -1)) if keep is None else list(keep)
    if any(b >= a for a, b in itertools.pairwise(kept)) or any(n < 1 for n in kept):
        raise ConfigError("the lengths of the prefixes do not descend", "for example 4, 3, 2", name)
    rows = [[value, *(value[:n].ljust(longest, "*") for n in kept if n < len(value)), ROOT] for value in values]
    return hierarchy_from_rows(rows, name)


_DETAIL = {"icd-9-cm": re.compile(r"\.?\d{1,2}"), "icd-10-cm": re.compile(r"\.?[0-9A-Z]{1,4}")}
"""What follows the category of a code."""


@functools.cache
def categories_of(system: str) -> Hierarchy:
    """Return the shipped tree of a system's categories, ``icd-9-cm`` or ``icd-10-cm``."""
    return read_hierarchy(resource_folder("dictionaries") / "hierarchies" / system / "hierarchy.csv", system)


def _codes(values: Sequence[str], system: str) -> Hierarchy:
    """Cut codes to their category, character by character, then go up the categories' tree."""
    categories = categories_of(system)
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
    chains = ([value for value, _ in itertools.groupby(chain)] for chain in rows.values())
    return Hierarchy(system, {child: parent for chain in chains for child, parent in itertools.pairwise(chain)})


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
