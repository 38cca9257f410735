"""Longitudinal records as arrays: from a long table of persons, codes and ages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from deid.base.errors import InputError, require, told_as
from deid.base.late import pd
from deid.base.nearest import nearest
from deid.table.cell_text import as_read, text_list
from deid.table.hierarchy import Hierarchy
from deid.table.microdata import check_columns
from deid.trajectories.alignment import Pairs
from deid.trajectories.trees import LocationTree, make_tree

_ZEROS = re.compile(r"\.0+$")


@dataclass(frozen=True, eq=False)
class Trajectories:
    """One trajectory a person.

    Parameters
    ----------
    people : tuple of str
        Who they are.
    pairs : int32 array, shape (all pairs, 2)
        Nodes of codes and of ages, person after person, ages ascending.
    bounds : int64 array, shape (people + 1,)
        Where each trajectory begins and ends.
    codes, ages : LocationTree
        The hierarchies.
    sensitive : tuple of str
        What the sensitive value of each person says (`deid.table.cell_text.as_read`), for l-diversity; a text is
        empty where nothing is recorded, the tuple when there is no such column.
    """

    people: tuple[str, ...] = field(repr=False)
    pairs: Pairs = field(repr=False)
    bounds: np.ndarray = field(repr=False)
    codes: LocationTree
    ages: LocationTree
    sensitive: tuple[str, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.people)

    def values(self, places: Iterable[int]) -> set[str]:
        """Return the distinct sensitive values that are recorded of persons at some places."""
        return {self.sensitive[place] for place in places} - {""}

    def trajectory(self, place: int) -> Pairs:
        """Return the trajectory at a place, int32 of shape (pairs, 2): nodes of codes and of ages."""
        return self.pairs[self.bounds[place] : self.bounds[place + 1]]


def make_trajectories(
    histories: Mapping[str, Sequence[tuple[str, str]]],
    codes: Hierarchy,
    ages: Hierarchy,
    *,
    own_leaf: bool = False,
    sensitive: Mapping[str, str] | None = None,
) -> Trajectories:
    """Encode histories.

    Parameters
    ----------
    histories : mapping
        Person -> (code, age) pairs; put in the order of ages, pairs of one age stay in their order.
    codes, ages : Hierarchy
    own_leaf : bool
        Codes outside the hierarchy become leaves below its root; otherwise they are an error.
    sensitive : mapping, optional
        Person -> sensitive value.

    Returns
    -------
    Trajectories
        The pairs as nodes of both hierarchies, person after person.

    Raises
    ------
    InputError
        When there is no history, an age is no number, or a value is not in its hierarchy (names the nearest code).
    """
    require(histories, "no history", "name a table with a person, a code and an age a row", kind=InputError)
    unknown = {code for history in histories.values() for code, _ in history if code not in codes}
    if unknown and not own_leaf:
        code = min(unknown)
        raise InputError(
            f"{len(unknown)} codes are not in the hierarchy, such as {code!r}",
            f"{nearest(code, codes)} or let them be leaves of their own",
        )
    if unknown:
        codes = Hierarchy(codes.name, {**codes.parents, **dict.fromkeys(sorted(unknown), codes.root)})
    code_tree, age_tree = make_tree(codes), make_tree(ages)
    rows: list[tuple[int, int]] = []
    bounds = [0]
    for place, history in enumerate(histories.values(), 1):
        with told_as(InputError("an age is no number", "correct it", "", f"person {place}"), ValueError):
            numbers = [float(age) for _, age in history]
        if any(not 0 <= n < float("inf") for n in numbers):
            raise InputError("an age is negative or missing", "correct it", "", f"person {place}")
        for i in sorted(range(len(history)), key=numbers.__getitem__):
            code, age = history[i]
            if age not in age_tree.index:
                raise InputError("an age is not in its hierarchy", "add it to the hierarchy", "", f"person {place}")
            rows.append((code_tree.index[code], age_tree.index[age]))
        bounds.append(len(rows))
    return Trajectories(
        tuple(histories),
        np.array(rows, dtype=np.int32).reshape(-1, 2),
        np.array(bounds, dtype=np.int64),
        code_tree,
        age_tree,
        tuple(as_read(sensitive[p]) for p in histories) if sensitive else (),
    )


def trajectories_of_table(
    table: pd.DataFrame,
    codes: Hierarchy,
    ages: Hierarchy,
    *,
    person: str,
    code: str,
    age: str,
    sensitive: str | None = None,
    own_leaf: bool = False,
) -> Trajectories:
    """Return the trajectories of a long table: one row a diagnosis, with columns for the person, the code and the age.

    The order of rows tells nothing and changes nothing: codes of one age are put in their own order, persons in that of
    their histories.

    Raises
    ------
    ConfigError
        When a column is missing.
    InputError
        When a cell is empty, a person has two sensitive values, or `make_trajectories` cannot encode a cell; names the
        row.
    """
    check_columns(table, [person, code, age, *([sensitive] if sensitive else [])])
    columns = [text_list(table[name], key=name == person) for name in (person, code, age)]
    for name, cells in zip((person, code, age), columns, strict=True):
        if "" in cells:
            position = f"row {cells.index('') + 1}"
            raise InputError(f"an empty cell in column {name!r}", "fill it in, or remove the row", "", position)
    histories: dict[str, list[tuple[str, str]]] = {}
    for row, (who, what, when) in enumerate(zip(*columns, strict=True), 1):
        year = age_text(when)
        if year not in ages:
            hint = "correct it, or add it to the hierarchy of ages"
            raise InputError("an age is no number, negative, or not in its hierarchy", hint, position=f"row {row}")
        histories.setdefault(who, []).append((what, year))
    values = values_of_persons(table, person, sensitive) if sensitive else dict.fromkeys(histories, "")
    for history in histories.values():
        history.sort()
    people = sorted(histories, key=lambda who: (histories[who], values[who], who))
    return make_trajectories(
        {who: histories[who] for who in people}, codes, ages, own_leaf=own_leaf, sensitive=values if sensitive else None
    )


def values_of_persons(table: pd.DataFrame, person: str, column: str) -> dict[str, str]:
    """Return the value of a column of each person, empty where no row of theirs has one.

    Parameters
    ----------
    table : pandas.DataFrame
        The rows.
    person, column : str
        Columns of the person and of the value.

    Raises
    ------
    InputError
        When a person has two values; names the row.
    """
    values: dict[str, str] = {}
    people = text_list(table[person], key=True)
    for row, (who, value) in enumerate(zip(people, text_list(table[column]), strict=True), 1):
        if value and values.setdefault(who, value) != value:
            raise InputError(
                "a person has two values",
                "the column must say one thing a person: correct it, or leave it out",
                f"column {column!r}",
                f"row {row}",
            )
    return {who: values.get(who, "") for who in people}


def age_text(cell: str) -> str:
    """Return an age without the decimals that a whole number of years need not have: ``45.0`` is ``45``."""
    return _ZEROS.sub("", cell)


def suppress_repeats(data: Trajectories, k: int) -> tuple[Trajectories, int]:
    """Remove repetitions of codes until every number of repetitions of a code is held by ``k`` trajectories.

    The rarest count of a code is lowered by one first (its last occurrence goes), as in Tamersoy and others, AMIA 2010;
    a single occurrence always stays, for what is rarer than that is the alignment's work.

    Returns
    -------
    Trajectories
    int
        Pairs that were removed.
    """
    held: dict[int, Counter[int]] = {}
    own = [Counter(data.trajectory(i)[:, 0].tolist()) for i in range(len(data))]
    for counts in own:
        for code, count in counts.items():
            held.setdefault(code, Counter())[count] += 1
    lowered: dict[int, dict[int, int]] = {}
    for code, counts in held.items():
        steps = lowered.setdefault(code, {})
        for count in range(max(counts), 1, -1):
            if 0 < counts[count] < k:
                counts[count - 1] += counts.pop(count)
                steps[count] = count - 1
    chosen = np.ones(len(data.pairs), dtype=bool)
    for i, counts in enumerate(own):
        start = int(data.bounds[i])
        seen: Counter[int] = Counter()
        for offset, code in enumerate(data.trajectory(i)[:, 0].tolist()):
            seen[code] += 1
            chosen[start + offset] = seen[code] <= _settled(lowered[code], counts[code])
    bounds = np.concatenate([[0], np.cumsum(chosen)])[data.bounds]
    return replace(data, pairs=data.pairs[chosen], bounds=bounds.astype(np.int64)), int((~chosen).sum())


def _settled(steps: Mapping[int, int], count: int) -> int:
    """Follow a count to where it was lowered to."""
    while count in steps:
        count = steps[count]
    return count
