"""Declared domains: the values that a column can take, known before the data are seen.

A release tells a number for every cell of the product of its domains, empty or not, so the domains themselves must not
come from the table: a clinic that is listed because one patient went there is a disclosure. Every dimension is
therefore declared, in a file (TOML) or as a flag::

    [columns.sex]
    values = ["F", "M"]

    [columns.age]                      # whole numbers, cells of one year (or of `width` years)
    range = [0, 129]

    [columns.lactate]                  # numbers, half-open cells [0, 2), [2, 4), [4, 20)
    edges = [0, 2, 4, 20]

    [columns.admitted]                 # ISO dates, cells of a year, a quarter or a month
    dates = ["2015-01-01", "2019-12-31"]
    by = "quarter"

    [columns.county]                   # cells that lie in one another, as deep as is wanted; rows have the innermost
    tree = { Idaho = ["Ada", "Boise"], Utah = ["Cache", "Rich"] }
    within = ["state"]                 # what the outer ones are called, outermost first
    paired = true                      # these are columns of the table, too; names are unique in their outer cell alone

    [columns.clinic]                   # read from the data: only where the values are public anyway
    from_data = true
    public_source = "the hospital's public list of clinics, 2024"

Cells and declared values are compared as texts (`deid.table.cell_text`): ``1`` and ``01`` are two values. A cell
``1.0`` is the value ``1`` where that is declared and ``1.0`` is not: programs write whole numbers so in a column with
gaps. Ranges, edges and dates read the text as a number or a date.

Rows with a value outside its domain (or none) belong to no cell and are left out, or moved to the nearest cell where
``outside = "clip"`` is declared for an ordered column. Either depends on the row alone. So that one empty cell does not
cost the row, a column may have a further cell, the last one, for what is missing::

    [columns.systolic]
    range = [70, 230]
    width = 10
    missing = "unknown"                # the further cell: rows where nothing stands
    missing_codes = ["999"]            # and rows where one of these does, whatever the domain says of it

and one of numbers a cell for all that is above, before that of what is missing::

    [columns.age]
    range = [0, 84]
    width = 5
    above = "85+"                      # rows where this stands, and those with 85 or more
"""

from __future__ import annotations

import bisect
import datetime
import functools
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deid.base.arrays import BoolArray, IntArray
from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.dp.nested import Nesting
from deid.table.cell_text import cell_text, text_column, whole_number
from deid.table.microdata import check_columns

_DECLARATIONS = ("values", "range", "edges", "dates", "tree", "from_data")
_MISSING = {"missing", "missing_codes"}
_OPTIONS = {
    "values": {"ordered", "source"} | _MISSING,
    "range": {"above", "width", "outside", "source"} | _MISSING,
    "edges": {"above", "outside", "source"} | _MISSING,
    "dates": {"by", "outside", "source"} | _MISSING,
    "tree": {"within", "paired", "source"},
    "from_data": {"public_source", "values"} | _MISSING,
}
_PATH = "/"  # between the cells of a path
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_MAX_CELLS = 10_000_000
_MAX_WHOLE = 2**53  # whole numbers are floats somewhere on their way
TO_DECLARE = 'declare it: --domain "COLUMN=A,B,C", --domain "COLUMN=0..129", or a file with --domains'
"""What to do about a column without a domain."""
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, eq=False)
class OuterLevel:
    """A level in which the cells of a column lie, such as the states of counties.

    Parameters
    ----------
    labels : tuple of str
        Its cells.
    of : int64 array, shape (cells of the column,)
        In which of them each cell of the column lies.
    """

    labels: tuple[str, ...]
    of: IntArray


@dataclass(frozen=True)
class Dimension:
    """A column of the cube with its declared cells.

    Parameters
    ----------
    name : str
        The column.
    labels : tuple of str
        Its cells, in their order.
    ordered : bool
        Whether neighbouring cells mean neighbouring values.
    declaration : mapping
        The declaration as it stood in the file, for the metadata of releases.
    """

    name: str
    labels: tuple[str, ...]
    ordered: bool
    declaration: Mapping[str, Any]

    def __post_init__(self) -> None:
        require(self.labels, f"the domain of {self.name!r} has no values", TO_DECLARE)
        if len(set(self.labels)) < len(self.labels):
            raise ConfigError(f"the domain of {self.name!r} has a value twice", "write every value once")
        try:
            "".join((self.name, *self.labels)).encode()
        except UnicodeEncodeError:  # from an argument in another encoding: no release could be written
            raise ConfigError("a declared column or value is not valid text", "write it in UTF-8") from None

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.labels)

    @property
    def declared(self) -> dict[str, Any]:
        """Its name and declaration as JSON values; `declared_again` makes it of them."""
        return {"name": self.name, **self.declaration}

    @functools.cached_property
    def outer(self) -> dict[str, OuterLevel]:
        """The levels in which its cells lie, outermost first, by name; none where it was declared without."""
        if "tree" not in self.declaration:
            return {}
        paths = _paths(self.declaration["tree"])
        result = {}
        for depth, name in enumerate(self.declaration["within"]):
            labels = tuple(dict.fromkeys(path[: depth + 1] for path in paths))
            places = {label: place for place, label in enumerate(labels)}
            of = np.array([places[path[: depth + 1]] for path in paths], np.int64)
            result[name] = OuterLevel(tuple(label[-1] for label in labels), of)
        return result

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that say in which cell a row lies: its own, and outer ones where it is paired."""
        return (*(self.declaration["within"] if self.declaration.get("paired") else ()), self.name)

    def read(self, frame: pd.DataFrame) -> pd.Series:
        """Return of each row what `codes` takes: the column, or the outer cells and its own, ``Idaho/Ada``.

        Raises
        ------
        ConfigError
            When the table lacks a column.
        """
        check_columns(frame, self.columns)
        if len(self.columns) == 1:
            return frame[self.name]
        return _joined([text_column(frame[name]) for name in self.columns])

    def unread(self, labels: pd.Series) -> dict[str, pd.Series]:
        """Return the columns of a table of which `read` makes labels of cells."""
        if len(self.columns) == 1:
            return {self.name: labels}
        paths = dict(zip(self.labels, _paths(self.declaration["tree"]), strict=True))
        return {name: labels.map(lambda label, at=at: paths[label][at]) for at, name in enumerate(self.columns)}

    @property
    def nesting(self) -> Nesting:
        """How its cells lie in one another: in the total, the outer levels, and one by one."""
        levels = [own.of for own in self.outer.values()]
        first = [np.unique(own, return_index=True)[1] for own in levels]
        parents = [np.zeros(len(first[0]) if first else len(self), np.int64)]
        parents += [above[own] for above, own in zip(levels, first[1:], strict=False)]
        return Nesting((*parents, *levels[-1:]))

    @property
    def source(self) -> str:
        """Where the domain comes from."""
        return str(self.declaration.get("public_source") or self.declaration.get("source") or "declared")

    @property
    def above(self) -> tuple[str, float] | None:
        """The cell of all numbers above a range, and the least of these, which its name stands for."""
        if "above" not in self.declaration:
            return None
        ends = self.declaration["range"] if "range" in self.declaration else self.declaration["edges"]
        return str(self.declaration["above"]), float(ends[-1]) + ("range" in self.declaration)

    @property
    def missing(self) -> int:
        """The cell of what is missing, the last one; -1 where it was declared without."""
        return len(self) - 1 if "missing" in self.declaration else -1

    @property
    def in_order(self) -> int:
        """How many cells, the first ones, follow one another as their values do; 0 where none do."""
        apart = (self.above is not None) + ("missing" in self.declaration)
        return len(self) - apart if self.ordered else 0

    def is_missing(self, texts: Sequence[str]) -> BoolArray:
        """Say which texts mean that the value is missing, its cell's name among them; shape (texts,)."""
        if "missing" not in self.declaration:
            return np.zeros(len(texts), bool)
        coded = [cell_text(own) or "" for own in self.declaration.get("missing_codes", ())]
        locate = _label_locator([*coded, self.labels[self.missing]])
        return np.array([locate(text) >= 0 for text in texts], bool)

    def codes(self, column: pd.Series) -> IntArray:
        """Return the cell of each row, -1 for rows that belong to none; shape (rows,)."""
        texts = text_column(column)
        locate, missing = _locator(self), self.missing
        written = list(texts.cat.categories)
        cells = [
            missing if coded else locate(text) for text, coded in zip(written, self.is_missing(written), strict=True)
        ]
        # the last one serves empty cells
        return np.array([*cells, missing], np.int64)[texts.cat.codes.to_numpy()]

    def select(self, text: str) -> IntArray:
        """Return the cells that a condition names, ascending: ``A``, ``A,B``, or ``A..B`` where the column is ordered.

        Raises
        ------
        ConfigError
            When it names a cell that there is not.
        """
        text = text.strip()
        if ".." in text and self.ordered and text not in self.labels:
            first, last = (self._place(part.strip()) for part in text.split("..", 1))
            require(first <= last, f"an empty range of {self.name!r}", "write the smaller value first")
            return np.arange(first, last + 1)
        if text in self.labels:
            return np.array([self._place(text)])
        return np.unique([self._place(part.strip()) for part in text.split(",")])

    def name_cells(self, texts: Sequence[str]) -> list[str]:
        """Return the declared value that each text names, and the text itself where it names none."""
        if "dates" in self.declaration:
            return list(texts)
        locate = _label_locator(self.labels)
        return [text if (place := locate(text)) < 0 else self.labels[place] for text in texts]

    def place(self, text: str) -> int:
        """Return the cell that a label names, -1 for none; ``1.0`` names ``1`` where there is no ``1.0``."""
        return _label_locator(self.labels)(cell_text(text) or "")

    def _place(self, label: str) -> int:
        place = self.place(label)
        if place < 0:
            shown = ", ".join(self.labels[:3]) + (", ..." if len(self.labels) > 3 else "")
            raise ConfigError(
                f"the domain of {self.name!r} has no such cell", f"its cells are {shown} ({len(self)} in all)"
            )
        return place


def declare(name: str, declaration: Mapping[str, Any], column: pd.Series | None = None) -> Dimension:
    """Make a dimension from its declaration.

    Parameters
    ----------
    name : str
        The column.
    declaration : mapping
        One of the forms in this module's description.
    column : pandas.Series, optional
        The data, which are looked at only for ``from_data`` with a public source.

    Raises
    ------
    ConfigError
        When the declaration is of no known form, or is to be read from data that no public source vouches for.
    """
    forms = [form for form in _DECLARATIONS if form in declaration]
    if forms == ["values", "from_data"]:  # a release keeps what was read, beside where it came from
        forms = ["from_data"]
    require(len(forms) == 1, f"the column {name!r} has no declared domain", TO_DECLARE)
    form = forms[0]
    unknown = set(declaration) - {form} - _OPTIONS[form]
    if unknown:
        raise ConfigError(
            f"the domain of {name!r} has an unknown entry {sorted(unknown)[0]!r}",
            f"beside {form}: {', '.join(sorted(_OPTIONS[form]))}",
        )
    if declaration.get("outside", "drop") not in ("drop", "clip"):
        raise ConfigError(f"the domain of {name!r} has another outside than drop or clip", 'write outside = "clip"')
    try:
        made = _with_above(_FORMS[form](name, declaration, column))
        return made if "missing" not in declaration and "missing_codes" not in declaration else _with_missing(made)
    except (TypeError, ValueError):
        raise ConfigError(f"the domain of {name!r} is not of the form it claims", TO_DECLARE) from None


def declared_again(declared: Mapping[str, Any]) -> Dimension:
    """Return the dimension of a release, from what `Dimension.declared` said there."""
    return declare(declared["name"], {key: value for key, value in declared.items() if key != "name"})


def _with_above(made: Dimension) -> Dimension:
    """Return a dimension with a further cell for all numbers above, where one is declared."""
    if made.above is None:
        return made
    label = made.declaration["above"]
    if not isinstance(label, str) or cell_text(label) != label:
        raise ConfigError(f"the cell above the range of {made.name!r} has no name", 'write above = "85+"')
    if (number := cell_number(label)) is not None and number < made.above[1]:
        raise ConfigError(f"the name of the cell above the range of {made.name!r} lies in it", 'write above = "85+"')
    return replace(made, labels=(*made.labels, label))


def _with_missing(made: Dimension) -> Dimension:
    """Return a dimension with a further cell for what is missing."""
    label, written = made.declaration.get("missing"), made.declaration.get("missing_codes", [])
    if not isinstance(label, str) or cell_text(label) != label:
        raise ConfigError(f"the cell of what is missing in {made.name!r} has no name", 'write missing = "unknown"')
    if not isinstance(written, list) or not all(map(cell_text, written)):
        raise ConfigError(f"the codes of what is missing in {made.name!r} are no list", 'write missing_codes = ["99"]')
    whole = replace(made, labels=(*made.labels, label))
    if "values" in made.declaration and whole.is_missing(made.labels).any():
        raise ConfigError(
            f"a code of what is missing in {made.name!r} is a declared value, too", "leave it out of the values"
        )
    return whole


def _values(name: str, declaration: Mapping[str, Any], _: object) -> Dimension:
    labels = _labels(name, declaration["values"])
    return Dimension(name, labels, bool(declaration.get("ordered", False)), dict(declaration))


def _labels(name: str, values: Sequence[object]) -> tuple[str, ...]:
    labels = []
    for value in values:
        label = cell_text(value)
        if label is None:
            raise ConfigError(
                f"the domain of {name!r} has an empty value",
                'empty cells are in none; missing = "unknown" in a file (--domains) gives them one',
            )
        labels.append(label)
    return tuple(labels)


def _range(name: str, declaration: Mapping[str, Any], _: object) -> Dimension:
    low, high = (int(value) for value in declaration["range"])
    width = int(declaration.get("width", 1))
    if high < low or width < 1 or max(abs(low), abs(high)) > _MAX_WHOLE:
        raise ValueError
    if (high - low) // width >= _MAX_CELLS:
        raise ConfigError(
            f"the domain of {name!r} has {(high - low) // width + 1:,} cells, too many to hold",
            f"declare wider cells, as {low}..{high}/{width * 1000}, or the range that values can have",
        )
    starts = range(low, high + 1, width)
    labels = tuple(str(at) if width == 1 else f"{at}-{min(at + width - 1, high)}" for at in starts)
    return Dimension(name, labels, True, dict(declaration))


def _edges(name: str, declaration: Mapping[str, Any], _: object) -> Dimension:
    edges = [float(value) for value in declaration["edges"]]
    if len(edges) < 2 or any(a >= b for a, b in itertools.pairwise(edges)) or not all(map(math.isfinite, edges)):
        raise ValueError
    labels = tuple(f"[{a:g},{b:g})" for a, b in itertools.pairwise(edges))
    return Dimension(name, labels, True, dict(declaration))


def _dates(name: str, declaration: Mapping[str, Any], _: object) -> Dimension:
    first, last = (datetime.date.fromisoformat(str(value)) for value in declaration["dates"])
    by = declaration.get("by", "year")
    require(by in _MONTHS, f"the periods of {name!r} are none that is known", f"take {', '.join(_MONTHS)}")
    if last < first:
        raise ValueError
    start, end = (_months(day) // _MONTHS[by] for day in (first, last))
    stored = dict(declaration) | {"dates": [first.isoformat(), last.isoformat()]}
    return Dimension(name, tuple(_period(number, by) for number in range(start, end + 1)), True, stored)


def _from_data(name: str, declaration: Mapping[str, Any], column: pd.Series | None) -> Dimension:
    if declaration["from_data"] is not True or not str(declaration.get("public_source", "")).strip():
        raise ConfigError(
            f"the domain of {name!r} would be read from the data, which discloses every value that occurs",
            "list the values; or name, as public_source, where anybody can look them up",
        )
    if "values" in declaration:
        labels = _labels(name, declaration["values"])
    elif column is None:
        raise ConfigError(f"the domain of {name!r} cannot be known without the data", "list its values")
    else:
        coded = {cell_text(own) for own in declaration.get("missing_codes", ())}
        labels = tuple(sorted(set(text_column(column).dropna().unique()) - coded))
    return Dimension(name, labels, False, dict(declaration) | {"values": list(labels)})


def _tree(name: str, declaration: Mapping[str, Any], _: object) -> Dimension:
    within = declaration.get("within")
    if not isinstance(within, list) or not within or not all(isinstance(own, str) and own for own in within):
        raise ConfigError(f"the domain of {name!r} does not say what its outer cells are", 'write within = ["state"]')
    require(len({name, *within}) > len(within), f"two levels of {name!r} have one name", "name each differently")
    paths = _paths(declaration["tree"])
    if any(len(path) != len(within) + 1 for path in paths):
        raise ConfigError(
            f"the tree of {name!r} is not {len(within) + 1} levels deep everywhere", "write as many as within names"
        )
    paired = declaration.get("paired", False)
    if not isinstance(paired, bool):
        raise ValueError
    cells = [_PATH.join(path) if paired else path[-1] for path in paths]
    made = Dimension(name, _labels(name, cells), False, dict(declaration))
    for level, own in made.outer.items():
        if len(set(own.labels)) < len(own.labels):
            raise ConfigError(f"the level {level!r} of {name!r} has a value twice", "write every value once")
    return made


def _joined(columns: Sequence[pd.Series]) -> pd.Series:
    """Return the texts of columns, row by row, with a slash between; missing where one is."""
    texts = pd.DataFrame({place: column.cat.codes for place, column in enumerate(columns)})
    there = (texts >= 0).all(axis=1)
    found = texts[there].drop_duplicates()
    parts = [[own.cat.categories[code] for code in found[place]] for place, own in enumerate(columns)]
    found["text"] = [_PATH.join(path) for path in zip(*parts, strict=True)]
    whole = texts.merge(found, how="left", on=list(range(len(columns))))["text"]
    return pd.Series(whole.to_numpy(object), index=columns[0].index, dtype="string")


def _paths(tree: object) -> list[tuple[str, ...]]:
    """Return the way from the outermost to each cell of a tree; `ValueError` where it is none."""
    if isinstance(tree, Mapping):
        return [(str(label).strip(), *path) for label, below in tree.items() for path in _paths(below)]
    if not isinstance(tree, Sequence) or isinstance(tree, str) or not tree:
        raise ValueError
    if any(isinstance(own, Mapping | list) for own in tree):
        raise ValueError
    return [(str(own),) for own in tree]


_FORMS: dict[str, Callable[[str, Mapping[str, Any], pd.Series | None], Dimension]] = {
    "values": _values,
    "range": _range,
    "edges": _edges,
    "dates": _dates,
    "tree": _tree,
    "from_data": _from_data,
}


def _months(day: datetime.date) -> int:
    return day.year * 12 + day.month - 1


def _period(number: int, by: str) -> str:
    if by == "year":
        return f"{number:04d}"
    if by == "quarter":
        return f"{number // 4:04d}-Q{number % 4 + 1}"
    return f"{number // 12:04d}-{number % 12 + 1:02d}"


def _locator(dimension: Dimension) -> Callable[[str], int]:
    """Return the function from a value's text to its cell."""
    declaration, count = dimension.declaration, len(dimension) - ("missing" in dimension.declaration)
    clip = declaration.get("outside") == "clip"

    top = dimension.above

    def number_of(text: str) -> float | None:
        return top[1] if top and text == top[0] else cell_number(text)

    def inside(place: float) -> int:
        if clip:
            return int(min(max(place, 0), count - 1))
        if top and place >= count:
            return count - 1
        return int(place) if 0 <= place < count else -1

    if "range" in declaration:
        low, high = (int(value) for value in declaration["range"])
        width = int(declaration.get("width", 1))

        def by_range(text: str) -> int:
            number = number_of(text)
            if number is None or number != math.floor(number):
                return -1
            return inside((number - low) // width if number <= high else count)

        return by_range
    if "edges" in declaration:
        edges = [float(value) for value in declaration["edges"]]

        def by_edges(text: str) -> int:
            number = number_of(text)
            return -1 if number is None else inside(bisect.bisect_right(edges, number) - 1)

        return by_edges
    if "dates" in declaration:
        first, last = (datetime.date.fromisoformat(str(value)) for value in declaration["dates"])
        months = _MONTHS[declaration.get("by", "year")]

        def by_date(text: str) -> int:
            try:
                day = datetime.date.fromisoformat(text[:10])
            except ValueError:
                return -1
            if not clip and not first <= day <= last:
                return -1
            return inside(_months(day) // months - _months(first) // months)

        return by_date
    return _label_locator(dimension.labels)


def _label_locator(labels: Sequence[str]) -> Callable[[str], int]:
    places = {label: place for place, label in enumerate(labels)}

    def by_label(text: str) -> int:
        place = places.get(text)
        return places.get(whole_number(text) or "", -1) if place is None else place

    return by_label


def cell_number(text: str) -> float | None:
    """Return the finite number that a cell's text is, in decimal or exponential form; None for other texts."""
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def count_cells(codes: Sequence[IntArray], shape: Sequence[int], weights: IntArray | None = None) -> IntArray:
    """Count rows by cell.

    Parameters
    ----------
    codes : sequence of int arrays, shape (rows,)
        The cell of each row in each dimension, none of them -1.
    shape : sequence of int
        The number of cells of each dimension.
    weights : int array, shape (rows,), optional
        How many times each row counts.

    Returns
    -------
    int64 array of that shape

    Raises
    ------
    ConfigError
        When there is no dimension, or the table has too many cells to be held.
    """
    size = math.prod(shape)
    require(shape, "a table of counts needs a dimension", "name at least one column")
    require(size <= 50 * _MAX_CELLS, f"{size} cells are too many to hold", "take fewer dimensions, or wider cells")
    flat = np.ravel_multi_index([np.asarray(code) for code in codes], tuple(shape))
    return np.bincount(flat, weights, minlength=size).reshape(tuple(shape)).astype(np.int64)


def check_part(part: Sequence[tuple[Dimension, str]]) -> tuple[tuple[Dimension, str], ...]:
    """Return a part of a table, its cells by their labels.

    Raises
    ------
    ConfigError
        When a column has no such cell.
    """
    for own, cell in part:
        if own.place(cell) < 0:
            raise ConfigError(f"the domain of {own.name!r} has no such cell", "a part is one cell of a declared column")
    return tuple((own, own.labels[own.place(cell)]) for own, cell in part)


def rows_in_part(frame: pd.DataFrame, part: Sequence[tuple[Dimension, str]]) -> BoolArray:
    """Say which rows lie in all cells of a part, bool array of shape (rows,); `ConfigError` for a missing column."""
    inside = np.ones(len(frame), bool)
    for own, cell in part:
        inside &= own.codes(own.read(frame)) == own.place(cell)
    return inside
