"""Searching for models that compare a release with its population: k-map and delta-presence.

The rows of the table and the members of the population are cut together, by Mondrian (LeFevre et al. 2006), or by one
level a column (`deid.disclosure.full_domain`), as delta-presence was first searched for. A group
of both satisfies k-map when it has no row or k members of the population, delta-presence when its rows over its members
lie between the bounds. What a row publishes covers the members of its group too. Groups are disjoint ranges, so that a
member matches the rows of its own group alone, and both models survive merging: members add up, and a ratio of sums
lies between the ratios.

For k-map alone groups need not be disjoint: a row whose cells speak of members of other groups, too, matches more than
the k of its own. So local recoding (`deid.disclosure.local_recoding`) of rows and members together satisfies k-map, and
a row may take the least general cells of any group of k members that covers it. Presence, a ratio, both may break, and
it is not searched for so.

What is found is proved by `deid.disclosure.consistency`, which matches published cells with the population and knows
nothing of groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from deid.base.arrays import BoolArray, FloatArray, IndexArray
from deid.base.errors import ConfigError, InputError, require
from deid.base.late import pd
from deid.disclosure.constraints import All, Constraint
from deid.disclosure.encoding import CodedColumn, CodedTable, boxes, class_ids, encode
from deid.disclosure.full_domain import MAX_NODES, greedy_levels, lattice_size, level_ranges, optimal_levels
from deid.disclosure.groups import Groups
from deid.disclosure.local_recoding import group_loss, local_recoding
from deid.disclosure.mondrian import mondrian
from deid.disclosure.recoding import publish
from deid.table.microdata import NA_CODE, Microdata, check_columns

Search = Literal["mondrian", "local", "optimal", "greedy"]
"""How rows and members are divided; the last two by one level of the hierarchy a column."""
_MOST_PAIRS = 500_000_000  # of rows and groups
_AT_ONCE = 1 << 22
_MEMBERSHIP = ""
"""Name of the column that tells rows of the table (1) from members of the population (0); no other column has it."""


def _counts(groups: Groups) -> tuple[FloatArray, FloatArray]:
    """Return [groups] members of the population, and rows (or persons) of the table."""
    group, own, counts = groups.histogram(_MEMBERSHIP)
    rows = np.bincount(group, counts * own, minlength=len(groups)).astype(np.float64)
    return np.bincount(group, counts, minlength=len(groups)) - rows, rows


@dataclass(frozen=True)
class KMap:
    """Every published row matches ``k`` members of the population (Sweeney 2001); of a table as `joined` codes it."""

    k: int

    def __post_init__(self) -> None:
        require(self.k >= 1, f"{self.k}-map", "ask for at least 1")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether it has k members, or no row."""
        members, rows = _counts(groups)
        return (members >= self.k) | (rows == 0)

    def __str__(self) -> str:
        return f"{self.k}-map"


@dataclass(frozen=True)
class Presence:
    """A member is in the table with a chance of ``low`` to ``high`` (Nergiz et al. 2007); of a table of `joined`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        ordered = 0 <= self.low <= self.high <= 1
        require(ordered, "the bounds of presence are not from 0 to 1, in order", "for example 0 and 0.5")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether rows over members lie between the bounds."""
        members, rows = _counts(groups)
        chance = rows / np.maximum(members, 1)
        return (members > 0) & (chance >= self.low - 1e-12) & (chance <= self.high + 1e-12)

    def __str__(self) -> str:
        return f"presence of {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class OfRows:
    """Another model, of the rows of the table alone: members of the population do not count."""

    inner: Constraint

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether its rows satisfy the model, or there are none."""
        own = groups.table.sensitive[_MEMBERSHIP][1][groups.rows] == 1
        group = groups.group[own]
        result = np.ones(len(groups), dtype=bool)
        if len(group):
            starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
            result[group[starts]] = self.inner.satisfied(Groups(groups.table, groups.rows[own], starts))
        return result

    def __str__(self) -> str:
        return str(self.inner)


def joined(data: Microdata, population: Microdata) -> tuple[Microdata, CodedTable]:
    """Return the rows of a table above the members of its population, and their codes.

    Sensitive values of members are missing; each member is a person of its own.

    Parameters
    ----------
    data : Microdata
        The table.
    population : Microdata
        One row a person, ungeneralized, with the quasi-identifiers of the table.

    Raises
    ------
    ConfigError
        When the population lacks a quasi-identifier, or names persons.
    InputError
        When the population is smaller than the table, or has a value that a hierarchy of the table has not.
    """
    names = data.quasi_identifiers
    check_columns(population.frame, names)
    if population.person is not None:
        raise ConfigError("a population has one row a person", "leave out its person column")
    if len(population) < len(data) and data.person is None:
        raise InputError(
            f"{len(data)} rows, and {len(population)} members of the population", "the table must be a part of it"
        )

    def texts(table: Microdata, name: str) -> np.ndarray:
        coded = table.codes(name)
        return np.array([*coded.values, None], dtype=object)[coded.codes]

    try:
        both = Microdata(
            pd.DataFrame({name: np.concatenate([texts(data, name), texts(population, name)]) for name in names}),
            dict.fromkeys(names, "quasi-identifier"),
            {name: tree for name, tree in data.hierarchies.items() if name in names},
            kinds={name: data.kind(name) for name in names},
        )
    except InputError as error:
        raise InputError(error.what, error.hint, "table and population together", error.position) from None
    own, coded = encode(data), encode(both)
    more = len(population)
    sensitive = {
        name: (column, np.concatenate([codes, np.full(more, NA_CODE, dtype=codes.dtype)]))
        for name, (column, codes) in own.sensitive.items()
    }
    membership = np.concatenate([np.ones(len(data), np.int32), np.zeros(more, np.int32)])
    sensitive[_MEMBERSHIP] = CodedColumn(_MEMBERSHIP, ("0", "1")), membership
    persons = own.persons
    if persons is not None:
        first = int(persons.max(initial=-1)) + 1
        persons = np.concatenate([persons, np.arange(first, first + more, dtype=persons.dtype)])
    return both, CodedTable(coded.columns, coded.codes, sensitive, persons)


def recode_with_population(
    data: Microdata, population: Microdata, constraint: Constraint, searches: Sequence[Search]
) -> tuple[pd.DataFrame, str]:
    """Recode the quasi-identifiers of a table so that its rows and its population satisfy a constraint.

    Parameters
    ----------
    data, population : Microdata
        As for `joined`.
    constraint : Constraint
        Made of `KMap`, `Presence` and `OfRows`.
    searches : sequence of Search
        What is tried; the result whose rows lose least is taken, the first one of equals.

    Returns
    -------
    frame : pandas.DataFrame
        The table with general quasi-identifiers.
    str
        Which of the searches it is from.

    Raises
    ------
    ConfigError
        When not even all rows and members as one group satisfy the constraint.
    """
    both, coded = joined(data, population)
    count, parts = len(data), constraint.parts if isinstance(constraint, All) else (constraint,)
    found = {search: _classes(coded, constraint, search) for search in searches}
    if "local" in searches:
        _require_members(coded, count)
        if all(isinstance(own, KMap) for own in parts):
            least = max(own.k for own in parts if isinstance(own, KMap))
            found = {search: _least_general(coded, classes, count, least) for search, classes in found.items()}
    best = min(searches, key=lambda search: float(_losses(coded, found[search], count).sum()))
    frame = publish(both, coded, found[best]).iloc[:count]
    cells = {name: pd.Categorical(frame[name].to_numpy(dtype=object)) for name in data.quasi_identifiers}
    return data.frame.assign(**cells), best


def _classes(coded: CodedTable, constraint: Constraint, search: Search) -> IndexArray:
    """Return the group of each row and member."""
    if search == "local":
        return np.unique(local_recoding(coded, constraint), return_inverse=True)[1].astype(np.intp)
    small, ids = coded.collapse()
    if search == "mondrian":
        return mondrian(small, constraint, disjoint=True)[ids]
    if lattice_size(small) > MAX_NODES:
        search = "greedy"
    levels = {"optimal": optimal_levels, "greedy": greedy_levels}[search](small, constraint).levels
    ranges = [level_ranges(column, level)[0] for column, level in zip(coded.columns, levels, strict=True)]
    firsts = np.stack([first[coded.codes[:, c]] for c, first in enumerate(ranges)], axis=1)
    return class_ids(firsts, [column.size for column in coded.columns])[0]


def _losses(coded: CodedTable, classes: IndexArray, rows: int) -> FloatArray:
    """Return the certainty penalty of the first rows."""
    return group_loss(coded, classes)[classes[:rows]]


def _least_general(coded: CodedTable, classes: IndexArray, rows: int, k: int) -> IndexArray:
    """Move each of the first rows into the least general group of k members or more that covers it, its own at worst.

    For k-map alone: whom else a group has does not matter, and its members stay where they are.
    """
    groups = int(classes.max()) + 1
    if rows * groups > _MOST_PAIRS:
        return classes
    low, high = boxes(coded.codes, classes, groups)
    penalty = group_loss(coded, classes)
    enough = np.bincount(classes[rows:], minlength=groups) >= k
    order = np.flatnonzero(enough)[np.argsort(penalty[enough], kind="stable")]
    covered = [column.covers(low[order, c], high[order, c]) for c, column in enumerate(coded.columns)]
    moved = classes.copy()
    step = max(1, _AT_ONCE // max(len(order), 1))
    for begin in range(0, rows, step):
        part = coded.codes[begin : min(begin + step, rows)]
        inside = np.ones((len(part), len(order)), dtype=bool)
        for c, (first, last) in enumerate(covered):
            inside &= (part[:, c, None] >= first) & (part[:, c, None] <= last)
        moved[begin : begin + len(part)] = order[np.argmax(inside, axis=1)]
    return np.unique(moved, return_inverse=True)[1].astype(np.intp)


def _require_members(coded: CodedTable, rows: int) -> None:
    """Refuse rows whose values no member has: where groups overlap, no count of theirs would tell."""
    ids, _ = class_ids(coded.codes, [column.size for column in coded.columns])
    if not np.isin(ids[:rows], ids[rows:]).all():
        raise InputError("a row has values that no member of the population has", "the table must be a part of it")
