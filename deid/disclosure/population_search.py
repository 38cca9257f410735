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
from typing import Literal

import numpy as np

from deid.base.arrays import BoolArray, FloatArray, IndexArray
from deid.base.errors import InputError, require
from deid.base.late import pd
from deid.disclosure.constraints import All, Constraint
from deid.disclosure.encoding import CodedColumn, CodedTable, boxes, class_ids, encode
from deid.disclosure.full_domain import MAX_NODES, greedy_levels, lattice_size, level_ranges, optimal_levels
from deid.disclosure.local_recoding import group_loss, local_recoding
from deid.disclosure.mondrian import mondrian
from deid.disclosure.population_models import MEMBERSHIP, KMap, Presence
from deid.disclosure.recoding import publish
from deid.table.microdata import NA_CODE, Microdata, check_columns

Search = Literal["mondrian", "local", "optimal", "greedy"]
"""How rows and members are divided; the last two by one level of the hierarchy a column."""
_MOST_PAIRS = 500_000_000  # of rows and groups
_AT_ONCE = 1 << 22


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
    require(population.person is None, "a population has one row a person", "leave out its person column")
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
    sensitive[MEMBERSHIP] = CodedColumn(MEMBERSHIP, ("0", "1")), membership
    persons = own.persons
    if persons is not None:
        first = int(persons.max(initial=-1)) + 1
        persons = np.concatenate([persons, np.arange(first, first + more, dtype=persons.dtype)])
    return both, CodedTable(coded.columns, coded.codes, sensitive, persons)


def recode_with_population(
    data: Microdata, population: Microdata, constraint: Constraint, searches: Sequence[Search], suppression: float = 0.0
) -> tuple[pd.DataFrame, IndexArray, str]:
    """Recode the quasi-identifiers of a table so that its rows and its population satisfy a constraint.

    Parameters
    ----------
    data, population : Microdata
        As for `joined`.
    constraint : Constraint
        Made of `KMap`, `Presence` and `OfRows`.
    searches : sequence of Search
        What is tried; the result whose rows lose least is taken, the first one of equals.
    suppression : float
        Share of the rows that ``optimal`` and ``greedy`` may suppress. None where a presence has a lower bound: members
        whose rows are gone would be known to be absent.

    Returns
    -------
    frame : pandas.DataFrame
        The rows that are kept, with general quasi-identifiers.
    rows : intp array
        Which these are.
    str
        Which of the searches it is from.

    Raises
    ------
    ConfigError
        When not even all rows and members as one group satisfy the constraint.
    """
    both, coded = joined(data, population)
    count, parts = len(data), constraint.parts if isinstance(constraint, All) else (constraint,)
    allowed = 0.0 if any(isinstance(own, Presence) and own.low for own in parts) else suppression
    found = {search: _classes(coded, constraint, search, allowed) for search in searches}
    if "local" in searches:
        _require_members(coded, count)
        if all(isinstance(own, KMap) for own in parts):
            least = max(own.k for own in parts if isinstance(own, KMap))
            found = {
                search: (_least_general(coded, classes, count, least), gone)
                for search, (classes, gone) in found.items()
            }
    best = min(searches, key=lambda search: float(_losses(coded, found[search][0], count).sum()))
    classes, gone = found[best]
    rows = np.flatnonzero(~gone[:count])
    frame = publish(both, coded, classes).iloc[rows]
    cells = {name: pd.Categorical(frame[name].to_numpy(dtype=object)) for name in data.quasi_identifiers}
    return data.frame.iloc[rows].assign(**cells), rows, best


def _classes(
    coded: CodedTable, constraint: Constraint, search: Search, suppression: float
) -> tuple[IndexArray, BoolArray]:
    """Return the group of each row and member, and which of them are suppressed."""
    none = np.zeros(len(coded), dtype=bool)
    if search == "local":
        return np.unique(local_recoding(coded, constraint), return_inverse=True)[1].astype(np.intp), none
    small, ids = coded.collapse()
    if search == "mondrian":
        return mondrian(small, constraint, disjoint=True)[ids], none
    if lattice_size(small) > MAX_NODES:
        search = "greedy"
    find = {"optimal": optimal_levels, "greedy": greedy_levels}[search]
    found = find(small, constraint, suppression, released=small.sensitive[MEMBERSHIP][1] == 1)
    ranges = [level_ranges(column, level)[0] for column, level in zip(coded.columns, found.levels, strict=True)]
    firsts = np.stack([first[coded.codes[:, c]] for c, first in enumerate(ranges)], axis=1)
    return class_ids(firsts, [column.size for column in coded.columns])[0], found.suppressed[ids]


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
