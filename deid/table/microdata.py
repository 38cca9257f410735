"""Microdata: a table whose rows describe persons, with the role that each of its columns plays in disclosure.

The roles are the field's (Samarati 2001; Machanavajjhala 2006): an *identifier* names a person alone,
*quasi-identifiers* do so together with what others know, *sensitive* values must not become known of a person,
*free-text* is to be scrubbed, *dropped* columns are left out whatever they are, *other* columns are none of these.

Missing values have one meaning everywhere. NA (None, NaN, an empty cell) says that nothing was recorded. As a
quasi-identifier it is a value of its own: it equals NA alone, and only NA and ``*`` cover it. As a sensitive value it
is no value: its row counts for the size of a class and adds nothing to its diversity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np

from deid.base.errors import ConfigError, FormatError, InputError, require
from deid.base.late import pd
from deid.base.nearest import check_named
from deid.table.cell_text import as_read, cell_text
from deid.table.hierarchy import Hierarchy
from deid.table.hierarchy_builders import automatic
from deid.table.scalars import date_position, exact_number, misread_form, open_end, plain_number

ROLES = ("identifier", "quasi-identifier", "sensitive", "free-text", "dropped", "other")
"""What a column can be."""

KINDS = ("numeric", "nominal", "date")
"""What the values of a column can be."""

NA_CODE = -1
"""Code of a missing value."""

SUPPRESSED = "*"
"""A published cell that says nothing; stands for every value, also where no hierarchy has it."""

_ONE_TYPE = ("string", "empty", "integer", "floating", "mixed-integer-float", "boolean", "date", "datetime64")
"""What is inferred of columns of which equal cells have equal texts."""

_GENERAL = ("*", "[", "{")  # how a cell that is not an original value can end or begin


@dataclass(frozen=True, repr=False)
class Codes:
    """A column as numbers.

    Parameters
    ----------
    codes : int32 array, shape (rows,)
        Place of each row's value in ``values``; `NA_CODE` where it is missing.
    values : tuple of str
        The distinct values as text; numbers, dates and texts declared as such in their order, others in that of their
        characters.
    """

    codes: np.ndarray
    values: tuple[str, ...]


_UNPAIRED = re.compile("[\ud800-\udfff]")


def check_columns(frame: pd.DataFrame, asked: Iterable[str]) -> None:
    """Refuse columns that the table does not have, or has twice.

    Raises
    ------
    ConfigError
        Names the first one, and the nearest name that there is.
    FormatError
        When two columns have the name.
    """
    check_named(frame.columns, asked := list(asked))
    twice = set() if frame.columns.is_unique else set(frame.columns[frame.columns.duplicated()])
    for column in filter(twice.__contains__, asked):
        raise FormatError(f"two columns are called {column!r}", "rename one of them")


def check_names(frame: pd.DataFrame) -> None:
    """Refuse a table whose columns are not all called by texts of their own.

    Raises
    ------
    FormatError
        When a name is no text, or two columns have it.
    """
    if any(not isinstance(name, str) or not name for name in frame.columns):
        raise FormatError("a column has no name", "give every column a name that is text")
    check_columns(frame, frame.columns)


@dataclass(frozen=True, eq=False)
class Microdata:
    """A table with roles. Its frame must not be changed afterwards.

    Parameters
    ----------
    frame : pandas.DataFrame
        The rows.
    roles : mapping of str to str
        Role of each column, one of `ROLES`; columns that are not named are ``other`` where a table is only looked at,
        and have to be named before it is released (`deid.disclosure.guards`).
    hierarchies : mapping of str to Hierarchy
        By column. Every value of the column must be in it, leaf or inner value; intervals, sets and prefixes of a
        published table (`deid.disclosure.cells`) may stand beside them. A quasi-identifier of numbers and codes of
        open ends, such as ages with ``90+``, gets an automatic one where none is given.
    person : str, optional
        Column that tells whose row it is, for tables with several rows a person. Without it every row is a person.
    kinds : mapping of str to str
        Kind of columns whose values do not tell it, one of `KINDS`: ``nominal`` for codes that are digits, for
        instance. By default numbers are numeric, ISO dates and date-times are dates, all other columns are nominal.
    each_row_a_person : bool
        States that rows which share an identifier are different persons all the same.
    persons_as_given : bool
        States that persons who look alike are different ones all the same.
    linked : bool
        States that the persons were told apart by comparing all that is known of them (``deid link``).
    ignore_suppressed : bool
        States that rows of which all quasi-identifiers are suppressed say nothing: classes leave them out.

    Raises
    ------
    ConfigError
        When a column is misspelt or missing, a role or a kind is none, or a person column is named although every row
        is said to be a person.
    InputError
        When the table is empty, has two columns of one name, a quasi-identifier mixes numbers and words, or a value
        is not in its hierarchy. Names column and row, never the value.
    """

    frame: pd.DataFrame
    roles: Mapping[str, str]
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    person: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    each_row_a_person: bool = False
    persons_as_given: bool = False
    linked: bool = False
    ignore_suppressed: bool = False
    _codes: dict[str, Codes] = field(default_factory=dict, init=False, repr=False)
    _meanings: dict[str, Codes] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_names(self.frame)
        require(len(self.frame), "the table has no rows", "name a table with rows", kind=InputError)
        check_columns(self.frame, [*self.roles, *self.hierarchies, *self.kinds])
        if self.person is not None:
            check_columns(self.frame, [self.person])
            if self.each_row_a_person:
                raise ConfigError(
                    f"column {self.person!r} names the persons, and every row is said to be one", "say one of the two"
                )
            if self.codes(self.person).codes.min() == NA_CODE:
                row = int(np.argmin(self.codes(self.person).codes)) + 1
                raise InputError("a row without a person", "fill it in, or remove the row", position=f"row {row}")
        for column, role in self.roles.items():
            _check_choice("role", column, role, ROLES)
        for column, kind in self.kinds.items():
            _check_choice("kind", column, kind, KINDS)
        own = {
            column: automatic(self.codes(column).values, name=column)
            for column in self.quasi_identifiers
            if column not in {*self.hierarchies, *self.kinds} and has_open_ends(self.codes(column).values)
        }
        if own:
            object.__setattr__(self, "hierarchies", {**self.hierarchies, **own})
        for column in (*self.quasi_identifiers, *self.sensitive):
            self._check_values(column)

    def __repr__(self) -> str:
        return f"Microdata({len(self.frame)} rows, roles={dict(self.roles)!r}, person={self.person!r})"

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def arranged(self, order: np.ndarray) -> Microdata:
        """Return the table with its rows in another order: ``order`` has each row once."""
        other = replace(self, frame=self.frame.iloc[order].reset_index(drop=True))
        other._codes.update({name: Codes(own.codes[order], own.values) for name, own in self._codes.items()})
        return other

    def with_columns(self, names: Sequence[str]) -> Microdata:
        """Return the table with its columns in another order: ``names`` has each column once."""
        if list(names) == list(self.frame.columns):
            return self
        other = replace(self, frame=self.frame[list(names)])
        other._codes.update(self._codes)
        return other

    @property
    def with_suppressed(self) -> Microdata:
        """The table whose suppressed rows count, as a class like any other."""
        return replace(self, ignore_suppressed=False) if self.ignore_suppressed else self

    def having(self, role: str) -> tuple[str, ...]:
        """Return the columns of a role, in the table's order."""
        return tuple(name for name in self.frame.columns if self.roles.get(name, "other") == role)

    @property
    def unnamed(self) -> tuple[str, ...]:
        """Columns of which nobody has said a role, in the table's order."""
        return tuple(name for name in self.frame.columns if name not in self.roles and name != self.person)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """Columns that identify together, in the table's order."""
        return self.having("quasi-identifier")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Columns with sensitive values, in the table's order."""
        return self.having("sensitive")

    def kind(self, column: str) -> str:
        """Return ``numeric``, ``date`` or ``nominal``, as stated or as the values tell it."""
        from pandas.api import types

        if column in self.kinds:
            return self.kinds[column]
        series = self.frame[column]
        if types.is_bool_dtype(series):
            return "nominal"
        if types.is_numeric_dtype(series):
            return "numeric"
        if types.is_datetime64_any_dtype(series):
            return "date"
        values = self.codes(column).values
        if values and not any(np.isnan(date_position(value)) for value in values):
            return "date"
        return "nominal"

    def codes(self, column: str) -> Codes:
        """Return a column as numbers; computed once.

        Raises
        ------
        InputError
            When the column holds an infinite number, a list, or a text that is no Unicode.
        """
        if column not in self._codes:
            self._codes[column] = _encode(self.frame[column], column, self.kinds.get(column))
        return self._codes[column]

    def meanings(self, column: str) -> Codes:
        """Return a column as numbers, one for all values that a reader takes for the same; computed once.

        Diversity is of what cells say: *flu*, *Flu* and *flu* with a blank behind it are one disease, *2.5* and *2.50*
        one number of a numeric column. Cells of blanks are missing. Errors as those of `codes`.
        """
        if column not in self._meanings:
            self._meanings[column] = _merged(self.codes(column), self.kind(column))
        return self._meanings[column]

    def texts(self, column: str) -> list[str | None]:
        """Return the cells of a column as text, None where a value is missing; errors as those of `codes`."""
        coded = self.codes(column)
        return [None if code == NA_CODE else coded.values[code] for code in coded.codes.tolist()]

    def numbers(self, column: str) -> np.ndarray:
        """Return the numbers of a numeric column, or the days since 1970-01-01 of a column of dates or date-times.

        Returns
        -------
        float64 array, shape (rows,)
            NaN where the value is missing.

        Raises
        ------
        InputError
            When a value is neither; names its row.
        """
        coded = self.codes(column)
        table = np.full(len(coded.values) + 1, np.nan)  # the last place is that of NA_CODE
        date = self.kind(column) == "date"
        for place, text in enumerate(coded.values):
            number = date_position(text) if date else exact_number(text)
            if number != number:
                what = "a date of the form YYYY-MM-DD" if date else "a number"
                raise self._fault(column, place, f"not {what}", "correct the value, or state another kind")
            table[place] = number
        return table[coded.codes]

    def _fault(self, column: str, place: int, what: str, hint: str) -> InputError:
        row = int(np.argmax(self.codes(column).codes == place)) + 1
        return InputError(what, hint, f"column {column!r}", f"row {row}")

    def _check_values(self, column: str) -> None:
        hierarchy = self.hierarchies.get(column)
        if hierarchy is None and self.kinds.get(column) == "nominal":
            return  # any text will do: spares the coding of a column that nobody asks for
        values = self.codes(column).values
        if hierarchy is not None:
            for place, value in enumerate(values):
                if value not in hierarchy and not _is_general(value):
                    raise self._fault(
                        column,
                        place,
                        "a value is not in the column's hierarchy",
                        "add it to the hierarchy, or correct the value",
                    )
        elif column in self.kinds:
            if not any(map(_is_general, values)):
                self.numbers(column)
        elif self.roles[column] == "quasi-identifier" and self.kind(column) == "nominal":
            odd = numbers_and_words(values)
            if odd is not None:
                raise self._fault(
                    column,
                    odd,
                    misread_form(values) or "a column of numbers and words",
                    f"correct the value, or state the column's kind: numeric or nominal (for {column!r})",
                )


def numbers_and_words(values: Sequence[str]) -> int | None:
    """Return the place of the first of the fewer, where some values are numbers and some are words.

    General values and codes of open ends (90+) are neither.
    Codes such as 250 and V10 are nominal, an age "forty" is a mistake: only the user can tell.
    """
    plain = [place for place, value in enumerate(values) if not _is_general(value) and open_end(value) is None]
    numbers = [place for place in plain if _is_number(values[place])]
    words = sorted(set(plain) - set(numbers))
    return min(numbers if len(numbers) < len(words) else words) if numbers and words else None


def has_open_ends(values: Sequence[str]) -> bool:
    """Tell whether a column is of numbers and codes of open ends, at least one of each: 34, 35, 90+."""
    open_ended = sum(open_end(value) is not None for value in values)
    return 0 < open_ended < len(values) and sum(map(_is_number, values)) == len(values) - open_ended


def _check_choice(what: str, column: str, value: str, known: tuple[str, ...]) -> None:
    require(value in known, f"the {what} {value!r} of column {column!r} is none", f"choose one of {', '.join(known)}")


def _is_general(value: str) -> bool:
    return value.endswith(_GENERAL[0]) or value.startswith(_GENERAL[1:])


def _is_number(value: str) -> bool:
    number = exact_number(value)
    return number == number


def _encode(series: pd.Series, column: str, kind: str | None) -> Codes:
    """Factorize a column; work on values, not rows, wherever that is possible."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy().astype(np.int64)
        distinct: Any = list(series.cat.categories)
    else:
        try:
            codes, distinct = _distinct(series)
        except (TypeError, NotImplementedError):  # lists, sets, dictionaries, arrays
            raise _odd("a cell holds several values", column) from None
    if not all(map(pd.api.types.is_scalar, distinct)):
        raise _odd("a cell holds several values", column)
    numbers = [isinstance(v, (int, float, np.number)) and not isinstance(v, (bool, np.bool_)) for v in distinct]
    numeric = bool(distinct) and all(numbers)
    if numeric and not _are_finite(distinct):
        raise _odd("an infinite number, or one that is too large", column)
    texts = [_text(value) for value in distinct]
    if any(map(_UNPAIRED.search, texts)):
        raise _odd("a text that is no Unicode", column)
    present = [i for i, text in enumerate(texts) if text]  # an empty text is a missing value
    if isinstance(series.dtype, pd.CategoricalDtype):  # categories can be without rows
        used = np.bincount(codes[codes >= 0], minlength=len(texts)) > 0
        present = [i for i in present if used[i]]
    keys = distinct if numeric else _order(texts, present, kind) or texts
    order = sorted(present, key=lambda i: keys[i])
    values: list[str] = []
    table = np.full(len(texts) + 1, NA_CODE, dtype=np.int32)  # the last place is that of NA_CODE
    for i in order:
        if not values or values[-1] != texts[i]:
            values.append(texts[i])
        table[i] = len(values) - 1
    return Codes(table[codes], tuple(values))


def _distinct(series: pd.Series) -> tuple[np.ndarray, list[Any]]:
    """Return the place of each cell's value, -1 where it is missing, and the distinct values.

    Of cells of several types, or of decimals and times, a value is told by its type and its text: to a dictionary 1 and
    True are the same, 1.0 and 1.00, one o'clock here and noon there, and the first row would decide for all.
    """
    if series.dtype != object or pd.api.types.infer_dtype(series) in _ONE_TYPE:
        codes, uniques = pd.factorize(series, sort=False)
        return codes, list(uniques.to_numpy() if series.dtype.kind == "f" else uniques)  # an index would widen float32
    cells = series.to_numpy(object)
    missing = series.isna().to_numpy()
    told = [None if gone else f"{type(cell).__name__} {_text(cell)}" for cell, gone in zip(cells, missing, strict=True)]
    codes, _ = pd.factorize(np.array(told, object), sort=False)
    _, first = np.unique(codes[codes >= 0], return_index=True)
    return codes, cells[codes >= 0][first].tolist()


def meaning(text: str, kind: str) -> str | float:
    """Return what a value says, by the kind of its column; equal for values of one meaning (`Microdata.meanings`)."""
    number = exact_number(text) if kind == "numeric" else date_position(text) if kind == "date" else float("nan")
    return number if number == number else as_read(text)


def _merged(own: Codes, kind: str) -> Codes:
    """Return codes with one for all values of one meaning, the first of them; see `Microdata.meanings`."""
    places: dict[Any, int] = {}
    values: list[str] = []
    table = np.full(len(own.values) + 1, NA_CODE, dtype=np.int32)  # the last place is that of NA_CODE
    for at, text in enumerate(own.values):
        said = meaning(text, kind)
        if said == "":
            continue
        if said not in places:
            places[said] = len(values)
            values.append(text)
        table[at] = places[said]
    return own if len(values) == len(own.values) else Codes(table[own.codes], tuple(values))


def _odd(what: str, column: str) -> InputError:
    return InputError(what, "correct the value, or remove it", f"column {column!r}")


def _are_finite(values: Sequence[Any]) -> bool:
    try:
        return bool(np.isfinite(np.asarray(values, dtype=float)).all())
    except OverflowError:  # a whole number of hundreds of digits
        return False


def _order(texts: Sequence[str], present: Sequence[int], kind: str | None) -> dict[int, Any] | None:
    """Return the ranks of texts that are numbers, by their kind, or dates; None where some are not, such as [20-29]."""
    if kind == "nominal" or not present:
        return None
    position = exact_number if kind == "numeric" else date_position
    ranks: dict[int, Any] = {}
    for i in present:
        place = position(texts[i])
        if place != place:
            return None
        ranks[i] = place, texts[i]
    return ranks


def _text(value: Any) -> str:
    """Return a value as text: whole numbers without a point, dates in ISO form."""
    if isinstance(value, str):
        return value
    if isinstance(value, (float, np.floating)):
        return plain_number(str(value))  # of 32 bits 0.1 is 0.1
    if isinstance(value, bytes | Decimal):
        return cell_text(value) or ""
    if hasattr(value, "isoformat"):
        return str(value.isoformat()).removesuffix("T00:00:00")
    return str(value)
