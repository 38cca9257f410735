"""Published cells: how a released table writes general values, and what such a cell covers.

====================================  ================================================
``*``                                 suppressed: every value, also a missing one
a value                               itself
a value of the column's hierarchy     the leaves below it
``[20-29]``, ``[-5--2]``              numbers, both ends included
``[2001-01-05/2001-03-01]``           dates or date-times, both ends included; a date is its first moment
``{Female,Male}``                     these values; quoted as in CSV where a comma needs it
``80+``, ``<=19``                     in a column of numbers: this number and all above (below), and the codes of such
                                      open ends that lie in it (`deid.table.scalars.open_end`)
``610**``, ``NW*``                    values that begin so
empty                                 a missing value, only
====================================  ================================================

A cell that is a value of the column's hierarchy is read as that first. Methods write releases through the functions of
this module; verifiers, utility and risk read them.
"""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from deid.table.hierarchy import Hierarchy
from deid.table.microdata import SUPPRESSED, Microdata
from deid.table.scalars import EXACT, date_position, exact_number, open_end, plain_number

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_INTERVAL = re.compile(rf"\[\s*({_NUMBER})\s*[-–,]\s*({_NUMBER})\s*\]")
_DATES = re.compile(r"\[([^/\[\]]+)/([^/\[\]]+)\]")

Number = int | float


def format_interval(low: float | str, high: float | str) -> str:
    """Return ``[low-high]``, or the number itself when both are the same, or the same text.

    >>> format_interval(20, 29.5), format_interval("9007199254740993", "9007199254740995")
    ('[20-29.5]', '[9007199254740993-9007199254740995]')
    """
    return plain_number(low) if low == high else f"[{plain_number(low)}-{plain_number(high)}]"


def format_dates(low: str, high: str) -> str:
    """Return an interval of ISO dates or date-times, or the date itself when both are the same."""
    return low if low == high else f"[{low}/{high}]"


def format_set(values: Iterable[str]) -> str:
    """Return a set of values in the order of their characters, or the value itself when there is one.

    >>> format_set({"M", "F"})
    '{F,M}'
    """
    members = sorted(set(values))
    if len(members) == 1:
        return members[0]
    stream = io.StringIO(newline="")
    csv.writer(stream).writerow(members)  # what stands in the end of its line is quoted where it stands in a member
    return "{" + stream.getvalue().removesuffix("\r\n") + "}"


@dataclass(frozen=True, repr=False)
class _Cell:
    """A cell, read: at most one of the fields says what it covers; without any, only its own text."""

    text: str
    everything: bool = False
    bounds: tuple[Number, Number] | None = None
    members: frozenset[str] | None = None
    prefix: str | None = None


@functools.lru_cache(maxsize=65536)
def _read(text: str) -> _Cell:
    if text == SUPPRESSED:
        return _Cell(text, everything=True)
    if text.startswith("[") and text.endswith("]"):
        if found := _DATES.fullmatch(text):
            return _Cell(text, bounds=(date_position(found[1].strip()), date_position(found[2].strip())))
        if found := _INTERVAL.fullmatch(text):
            return _Cell(text, bounds=(exact_number(found[1]), exact_number(found[2])))
    if text.startswith("{") and text.endswith("}"):
        try:
            rows = list(csv.reader([text[1:-1]]))
        except csv.Error:  # no set of ours
            return _Cell(text)
        return _Cell(text, members=frozenset(rows[0] if rows else ()))
    if text.endswith("*"):
        return _Cell(text, prefix=text.rstrip("*"))
    return _Cell(text)


def is_general(text: str) -> bool:
    """Tell whether a cell is written as an interval, a set, a prefix or ``*``; labels of a hierarchy are not.

    >>> is_general("[20-29]"), is_general("610**"), is_general("61001")
    (True, True, False)
    """
    cell = _read(text)
    return cell.everything or cell.bounds is not None or cell.members is not None or cell.prefix is not None


def _position(text: str) -> Number:
    """Return a number or a date as a place on the line, NaN for other values."""
    place = date_position(text)
    return exact_number(text) if place != place else place


def _line(values: Sequence[str]) -> np.ndarray:
    """Return values as places on the line: floats, or objects where integers are beyond what floats tell apart."""
    positions = [_position(value) for value in values]
    exact = any(isinstance(place, int) and abs(place) >= EXACT for place in positions)
    return np.array(positions, dtype=object if exact else float)


def _open_bounds(text: str) -> tuple[Number, Number] | None:
    end = open_end(text)
    if end is None:
        return None
    number, side, out = end
    place = exact_number(number)
    if out:  # the number itself is left out: the next one on the line
        place = np.nextafter(place, side * np.inf) if abs(place) < EXACT else place + side
    return (place, np.inf) if side > 0 else (-np.inf, place)


def cover_table(published: Sequence[str], values: Sequence[str], hierarchy: Hierarchy | None = None) -> np.ndarray:
    """Tell which published cells cover which values.

    Parameters
    ----------
    published, values : sequence of str
        Distinct cells of a released column, and distinct values of an original one.
    hierarchy : Hierarchy, optional
        Hierarchy of the column.

    Returns
    -------
    bool array, shape (len(published) + 1, len(values) + 1)
        The last row and the last column are a missing cell and a missing value, so that a code of -1 finds them.
    """
    places = {value: place for place, value in enumerate(values)}
    positions = _line(values)
    leaf_ranges: dict[str, list[int]] = {}
    table = np.zeros((len(published) + 1, len(values) + 1), dtype=bool)
    table[-1, -1] = True
    for row, text in enumerate(published):
        cell = _read(text)
        if cell.everything or (hierarchy is not None and text == hierarchy.root):
            table[row] = True
            continue
        if text in places:
            table[row, places[text]] = True
        if hierarchy is not None and text in hierarchy:
            if not leaf_ranges:
                for value, place in places.items():
                    for above in hierarchy.chain(value) if value in hierarchy else ():
                        leaf_ranges.setdefault(above, []).append(place)
            table[row, leaf_ranges.get(text, [])] = True
        elif cell.bounds is not None:
            low, high = cell.bounds if positions.dtype == object else map(float, cell.bounds)
            table[row, :-1] |= ((positions >= low) & (positions <= high)).astype(bool)
        elif (bounds := _open_bounds(text)) is not None and (positions == positions).any():
            inside = (positions >= bounds[0]) & (positions <= bounds[1])
            ends = [_open_bounds(value) for value in values]
            inside |= [end is not None and end[0] >= bounds[0] and end[1] <= bounds[1] for end in ends]
            table[row, :-1] |= inside.astype(bool)
        elif cell.members is not None:
            table[row, [places[member] for member in cell.members if member in places]] = True
        elif cell.prefix is not None:
            table[row, [place for value, place in places.items() if value.startswith(cell.prefix)]] = True
    return table


def overlap_table(left: Sequence[str], right: Sequence[str], hierarchy: Hierarchy | None = None) -> np.ndarray:
    """Tell which cells of two released columns can hold one value.

    Returns
    -------
    bool array, shape (len(left) + 1, len(right) + 1)
        The last row and the last column are a missing cell.
    """
    # two cells meet exactly if both cover one of these: leaves, ends of intervals, members, prefixes, plain values
    points: dict[str, None] = {}
    for text in (*left, *right):
        cell = _read(text)
        if hierarchy is not None and text in hierarchy:
            points.update(dict.fromkeys(hierarchy.leaves(text)))
        elif cell.bounds is not None and "/" in text:
            points.update(dict.fromkeys(text[1:-1].split("/")))
        elif cell.bounds is not None:
            points.update(dict.fromkeys(map(plain_number, cell.bounds)))
        elif (end := _open_bounds(text)) is not None:
            points.update(dict.fromkeys((text, plain_number(min(end, key=abs)))))
        elif cell.members is not None:
            points.update(dict.fromkeys(cell.members))
        elif not cell.everything:
            points[text if cell.prefix is None else cell.prefix] = None
    universe = tuple(points)
    ours = cover_table(left, universe, hierarchy).astype(np.float32)
    theirs = cover_table(right, universe, hierarchy).astype(np.float32)
    return np.asarray(ours @ theirs.T > 0)


@dataclass(frozen=True, eq=False, repr=False)
class Domain:
    """What a column of an original table can hold: the yardstick for how general a published cell is.

    Parameters
    ----------
    values : tuple of str
        Distinct values of the original column.
    hierarchy : Hierarchy, optional
        Its hierarchy; the domain is then its leaves.
    low, high : float
        Least and greatest number (or day), NaN for nominal columns.
    whole : bool
        All values are whole numbers, so that an interval can be counted in points.
    """

    values: tuple[str, ...]
    hierarchy: Hierarchy | None
    low: float
    high: float
    whole: bool

    @classmethod
    def of(cls, table: Microdata, column: str) -> Domain:
        """Return the domain of a column of the original table."""
        values = table.codes(column).values
        low = high = float("nan")
        whole = False
        if table.kind(column) != "nominal":
            numbers = np.array([float(_position(value)) for value in values])
            if len(numbers):
                low, high = float(numbers.min()), float(numbers.max())
                whole = bool((numbers == np.round(numbers)).all())
        return cls(values, table.hierarchies.get(column), low, high, whole)

    @property
    def size(self) -> int:
        """Number of values: leaves of the hierarchy, else distinct values of the column."""
        return self.hierarchy.leaf_count(self.hierarchy.root) if self.hierarchy is not None else len(self.values)

    def interval(self, text: str) -> tuple[float, float]:
        """Return least and greatest number (or day) of a cell; NaN where it is no place on the line."""
        cell = _read(text)
        if cell.everything:
            return self.low, self.high
        if cell.bounds is not None:
            return cell.bounds
        leaves: Iterable[str] = [text]
        if self.hierarchy is not None and text in self.hierarchy:
            leaves = self.hierarchy.leaves(text)
        elif cell.members is not None:
            leaves = cell.members
        elif cell.prefix is not None:
            leaves = [value for value in self.values if value.startswith(cell.prefix)]
        places = [float(_position(leaf)) for leaf in leaves]
        return (min(places), max(places)) if places and not np.isnan(places).any() else (float("nan"), float("nan"))

    def _count(self, text: str) -> float:
        """Return the number of values of the domain that a cell covers."""
        cell = _read(text)
        if cell.everything:
            return self.size
        if self.hierarchy is not None and text in self.hierarchy:
            return self.hierarchy.leaf_count(text)
        if cell.members is not None:
            return len(cell.members)
        if cell.prefix is not None:
            domain = self.hierarchy.leaves() if self.hierarchy is not None else self.values
            return sum(value.startswith(cell.prefix) for value in domain)
        return 1

    def _shares(self, published: Sequence[str], less: int) -> np.ndarray:
        shares = np.zeros(len(published) + 1)  # the last is a missing cell: nothing is lost
        for place, text in enumerate(published):
            bounds = _read(text).bounds
            in_tree = self.hierarchy is not None and text in self.hierarchy
            if text == SUPPRESSED:
                shares[place] = 1.0
            elif bounds is not None and not in_tree:
                shares[place] = (bounds[1] - bounds[0]) / (self.high - self.low) if self.high > self.low else 0.0
            elif (count := self._count(text)) > 1:
                shares[place] = (count - less) / max(self.size - less, 1)
        return shares

    def penalty(self, published: Sequence[str]) -> np.ndarray:
        """Return the normalized certainty penalty of cells, 0 to 1 (Xu et al., KDD 2006).

        Width over range for intervals; otherwise values covered over all values, 0 where that is one value.

        Returns
        -------
        float array, shape (len(published) + 1,)
            The last is that of a missing cell.
        """
        return self._shares(published, 0)

    def loss(self, published: Sequence[str]) -> np.ndarray:
        """Return the loss metric of cells, 0 to 1 (Iyengar, KDD 2002): (values covered - 1) / (all values - 1).

        Returns
        -------
        float array, shape (len(published) + 1,)
            The last is that of a missing cell.
        """
        return self._shares(published, 1)
