"""Values that are ruled out: negative association rules of a table, and what they leave of its release's diversity.

Injector (Li and Li, ICDE 2008): whoever knows what never occurs together (men have no ovarian cancer) strikes values
from a class. Such rules are mined from the original, which holds what an attacker could know of any such table: X rules
out s where enough persons have X, and none of them has s. Enough are so many that, were X and s independent,
``expected`` of them or more would have s; with 5 a rule is there by chance with a probability of .7 %.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from deid.base.arrays import BoolArray, IntArray
from deid.base.errors import ConfigError, require
from deid.disclosure.classes import NONE_SENSITIVE, WITNESS_ROWS, Verdict, group_rows
from deid.disclosure.consistency import compare_columns, matches
from deid.disclosure.encoding import CodedColumn, CodedTable, encode
from deid.disclosure.full_domain import level_ranges
from deid.disclosure.groups import Groups
from deid.table.microdata import NA_CODE, Microdata, check_columns

_LEVELS = 12  # of a column at most
_AT_ONCE = 1 << 22


class Exclusion(NamedTuple):
    """What the rules of a table rule out.

    Parameters
    ----------
    rules : int
        How many rules; one with two conditions counts where neither alone rules the value out.
    ruled_out : bool array, shape (rows, values)
        Whether a value is ruled out for a row of the original.
    values : tuple of str
        The values of the sensitive column.
    """

    rules: int
    ruled_out: BoolArray
    values: tuple[str, ...]


@dataclass(frozen=True)
class ExclusionAttack:
    """What an attacker who knows persons and rules learns of them from a release.

    Parameters
    ----------
    rules : int
        How many were mined.
    persons : int
        Persons under attack: the rows of the original that some row of the release speaks of.
    least_before, least : int
        Fewest values that rows which match a person leave, without and with the rules.
    fewer : float
        Share of the persons for whom rules strike a value.
    disclosed_before, disclosed : float
        Share of the persons of whom one value is left, without and with the rules.
    rows : tuple of int
        Rows of the original (from 0, at most ten) with the fewest values left.
    """

    rules: int
    persons: int
    least_before: int
    least: int
    fewer: float
    disclosed_before: float
    disclosed: float
    rows: tuple[int, ...]


def _conditions(coded: CodedTable) -> Iterator[list[IntArray]]:
    """Yield for each column the codes of its rows at each level that tells rows apart, the finest first."""
    for c, column in enumerate(coded.columns):
        found: list[IntArray] = []
        for level in range(_LEVELS):
            groups = level_ranges(column, level)[0]
            if len(np.unique(groups)) < 2:
                break
            found.append(np.unique(groups[coded.codes[:, c]], return_inverse=True)[1].astype(np.int64))
        yield found


def mine_exclusions(original: Microdata, column: str, *, expected: float = 5.0) -> Exclusion:
    """Mine what one and two quasi-identifiers, at any level of their hierarchies, rule out of a sensitive column.

    Parameters
    ----------
    original : Microdata
        The table, ungeneralized; missing values have neither rules nor are they ruled out.
    column : str
        A sensitive column.
    expected : float
        How many rows with X would have the value at least, were both independent, for X to rule it out.

    Raises
    ------
    ConfigError
        When the column is missing, or ``expected`` is not above 0.
    """
    require(expected > 0, "a rule needs some rows that it surprises", "for example: --rules-expect 5")
    check_columns(original.frame, [column])
    sensitive = original.meanings(column)
    size, codes = len(sensitive.values), np.asarray(sensitive.codes)
    known = codes != NA_CODE
    require(known.any(), "the sensitive column is empty", "name another one with --sensitive")
    share = np.bincount(codes[known], minlength=size) / known.sum()
    ruled_out = np.zeros((len(original), size), dtype=bool)
    rules = 0

    def rule(conditions: IntArray) -> None:
        nonlocal rules
        groups, place = _groups(conditions)
        counts = np.bincount(place[known] * size + codes[known], minlength=groups * size).reshape(groups, size)
        found = (counts == 0) & (counts.sum(axis=1)[:, None] * share >= expected)
        # what fewer conditions, or wider ones, said of all rows of the group before is no rule of its own
        open_before = np.zeros((groups, size), dtype=bool)
        for value in np.flatnonzero(found.any(axis=0)):
            open_before[:, value] = np.bincount(place, ~ruled_out[:, value], minlength=groups) > 0
        rules += int((found & open_before).sum())
        ruled_out[found[place]] = True

    columns = list(_conditions(encode(original)))
    for levels in columns:
        for codes_of in reversed(levels):
            rule(codes_of)
    for one, other in itertools.combinations(columns, 2):
        for first, second in itertools.product(reversed(one), reversed(other)):
            rule(first * (int(second.max()) + 1) + second)
    return Exclusion(rules, ruled_out, tuple(sensitive.values))


def _groups(conditions: IntArray) -> tuple[int, IntArray]:
    values, place = np.unique(conditions, return_inverse=True)
    return len(values), place.astype(np.int64)


@dataclass(frozen=True, eq=False)
class ValuesLeft:
    """In every class each row has ``l`` values or more that no rule rules out for it; of a table of `with_profiles`.

    It survives merging: a larger class has all values of its parts.

    Parameters
    ----------
    l : int
        How many.
    column : str
        The sensitive column.
    profiles : str
        Column of the coded table that tells what is ruled out for each row.
    ruled_out : bool array, shape (profiles, values)
    """

    l: int  # noqa: E741  (the model's own symbol)
    column: str
    profiles: str
    ruled_out: BoolArray

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether all its rows have as many values left, or nothing is known in it."""
        group, value, _ = groups.histogram(self.column)
        whose, profile, _ = groups.histogram(self.profiles)
        fewest = np.full(len(groups), np.inf)
        step = max(1, _AT_ONCE // max(self.ruled_out.shape[1], 1))
        for begin in range(0, len(whose), step):
            own, out = whose[begin : begin + step], self.ruled_out[profile[begin : begin + step]]
            base = int(own[0])
            first, last = np.searchsorted(group, [base, int(own[-1]) + 1])
            held = np.zeros((int(own[-1]) + 1 - base, self.ruled_out.shape[1]), dtype=bool)
            held[group[first:last] - base, value[first:last]] = True
            np.minimum.at(fewest, own, (held[own - base] & ~out).sum(axis=1))
        return (fewest >= self.l) | (groups.totals(self.column) == 0)

    def __str__(self) -> str:
        return f"{self.l} values of {self.column} that no rule rules out"


def with_profiles(data: Microdata, coded: CodedTable, left: int) -> tuple[CodedTable, list[ValuesLeft]]:
    """Mine the rules of a table, and return it with what they rule out for each row, and what a search must keep.

    Raises
    ------
    ConfigError
        When rows are not persons, no column is sensitive, or ``left`` is below 1.
    """
    require(left >= 1, "at least one value is left", "for example: --rules-left 2")
    require(data.person is None, "rules are mined where every row is a person", "leave out --person, or --rules-left")
    require(data.sensitive, *NONE_SENSITIVE)
    more, kept = dict(coded.sensitive), []
    for column in data.sensitive:
        found = mine_exclusions(data, column)
        place = {value: at for at, value in enumerate(found.values)}
        ruled_out = np.column_stack((found.ruled_out, np.zeros(len(data), bool)))
        # what no row has, such as a missing value and values of the hierarchy alone, is the last: never ruled out
        order = [place.get(value or "", -1) for value in coded.sensitive[column][0].values]
        profiles, codes = np.unique(ruled_out[:, order], axis=0, return_inverse=True)
        name = f"\0rules of {column}"
        more[name] = CodedColumn(name, tuple(map(str, range(len(profiles))))), codes.ravel().astype(np.int32)
        kept.append(ValuesLeft(left, column, name, profiles))
    return replace(coded, sensitive=more), kept


def values_left(release: Microdata, original: Microdata, column: str, left: int, rows: IntArray) -> Verdict:
    """Verify that rules of the original leave each person ``left`` values of a column, by `exclusion_attack`.

    Parameters
    ----------
    rows : int array
        Rows of the original that were released.
    """
    found = exclusion_attack(release, original, column, rows=rows)
    return Verdict(found.least >= left, float(found.least), found.rows)


def exclusion_attack(
    release: Microdata, original: Microdata, column: str, *, expected: float = 5.0, rows: IntArray | None = None
) -> ExclusionAttack:
    """Attack a release by rules of its original: which values are left for each person.

    The attacker knows a person's quasi-identifiers, finds the rows that cover them, and strikes from their sensitive
    values what the rules rule out for the person. Parameters and errors as those of `mine_exclusions`.

    Parameters
    ----------
    release : Microdata
        The published table, with the sensitive column as it is.
    rows : int array, optional
        Rows of the original under attack; all by default.

    Raises
    ------
    ConfigError
        When a table lacks a column, or no row of the release speaks of a row of the original.
    """
    found = mine_exclusions(original, column, expected=expected)
    names = release.quasi_identifiers
    check_columns(original.frame, names)
    check_columns(release.frame, [column])
    ours = release.codes(column)
    place = dict(zip(original.texts(column), original.meanings(column).codes.tolist(), strict=True))
    own = np.array([place.get(value, -1) for value in ours.values] + [-1])[ours.codes]
    boxes, number = group_rows([(release.codes(name).codes, len(release.codes(name).values)) for name in names])
    points, count = group_rows([(original.codes(name).codes, len(original.codes(name).values)) for name in names])
    first_box, first_point = (np.unique(ids, return_index=True)[1] for ids in (boxes, points))
    held = np.zeros((number, len(found.values)), dtype=bool)
    held[boxes[own >= 0], own[own >= 0]] = True
    there = np.zeros((count, len(found.values)), dtype=bool)
    for box, left in matches(*compare_columns(release, original, names, first_box, first_point)):
        there[left] |= held[box]
    values = there[points]
    attacked = values.any(axis=1)
    if rows is not None:
        attacked &= np.isin(np.arange(len(attacked)), rows)
    if not attacked.any():
        raise ConfigError("no row of the release speaks of a row of that table", "name the table that it was made from")
    before = values.sum(axis=1)[attacked]
    after = (values & ~found.ruled_out).sum(axis=1)[attacked]
    who = np.flatnonzero(attacked)
    return ExclusionAttack(
        found.rules, len(who), int(before.min()), int(after.min()), float((after < before).mean()),
        float((before == 1).mean()), float((after <= 1).mean()),
        tuple(int(row) for row in who[after == after.min()][:WITNESS_ROWS]),
    )  # fmt: skip
