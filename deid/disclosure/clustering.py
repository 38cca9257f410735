"""Clustering: groups of rows that are alike, instead of cuts of the domain (Xu et al., KDD 2006).

The distance is the certainty penalty of what a union would publish. Both methods compare every row with every group, so
their cost grows with the square of the table; `hybrid` clusters inside the parts that Mondrian makes (Loukides and
Shao 2011), so that its cost grows with the table.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import BoolArray, FloatArray, IndexArray
from deid.base.errors import require
from deid.disclosure.constraints import Constraint, KAnonymity, require_feasible, smallest_group
from deid.disclosure.encoding import CodedColumn, CodedTable, Ints
from deid.disclosure.groups import Groups
from deid.disclosure.mondrian import mondrian

_TABLE = 2048
"""Columns with at most so many codes get a table of the loss of every range."""


class BoxLoss:
    """The loss of boxes of codes, looked up column by column."""

    def __init__(self, columns: tuple[CodedColumn, ...]) -> None:
        self._loss: list[Callable[[Ints, Ints], FloatArray]] = []
        for column in columns:
            if column.size > _TABLE:
                self._loss.append(column.loss)
                continue
            low, high = np.divmod(np.arange(column.size**2, dtype=np.int32), column.size)
            table = np.zeros(column.size**2)
            ordered = low <= high
            table[ordered] = column.loss(low[ordered], high[ordered])
            self._loss.append(_Lookup(table, column.size))

    def loss(self, low: Ints, high: Ints) -> FloatArray:
        """Return the certainty penalty of a row of each box [boxes, d], summed over columns."""
        total = self._loss[0](low[:, 0], high[:, 0])
        for c in range(1, len(self._loss)):
            total = total + self._loss[c](low[:, c], high[:, c])
        return total

    def joined(self, low: Ints, high: Ints, lows: Ints, highs: Ints) -> FloatArray:
        """Return the certainty penalty of a row of the union of one box with each of several.

        Parameters
        ----------
        low, high : int32 array, shape (columns,) or (boxes, columns)
            Least and greatest codes of the one box.
        lows, highs : int32 array, shape (boxes, columns)
            Those of the others.

        Returns
        -------
        float array, shape (boxes,)
            Penalties, summed over columns.
        """
        return self.loss(np.minimum(low, lows), np.maximum(high, highs))


@dataclass(frozen=True, eq=False)
class _Lookup:
    table: FloatArray
    size: int

    def __call__(self, low: Ints, high: Ints) -> FloatArray:
        return self.table[low * np.int64(self.size) + high]


@dataclass
class _Work:
    """A table while it is clustered."""

    table: CodedTable
    constraint: Constraint
    boxes: BoxLoss
    k: int

    @classmethod
    def of(cls, table: CodedTable, constraint: Constraint) -> _Work:
        require(table.weights is None, "clustering needs one row a record", "do not collapse equal rows")
        require_feasible(table, constraint)
        return cls(table, constraint, BoxLoss(table.columns), smallest_group(constraint))

    def good(self, rows: list[int]) -> bool:
        if isinstance(self.constraint, KAnonymity) and self.table.persons is None:
            return len(rows) >= self.k
        return bool(self.constraint.satisfied(Groups(self.table, np.array(rows), np.zeros(1, dtype=np.intp)))[0])

    def penalty(self, rows: list[int]) -> float:
        """Return the penalty of a group: rows times the loss of a row."""
        codes = self.table.codes[rows]
        return len(rows) * float(self.boxes.loss(codes.min(axis=0)[None], codes.max(axis=0)[None])[0])


def _classes(groups: list[list[int]], rows: int) -> IndexArray:
    classes = np.empty(rows, dtype=np.intp)
    for number, members in enumerate(sorted(groups, key=min)):
        classes[members] = number
    return classes


def bottom_up(table: CodedTable, constraint: Constraint) -> IndexArray:
    """Merge groups until all satisfy the constraint; quadratic.

    Every group that does not, in the order of the input, joins the group whose penalty rises least by it; groups of 2k
    rows and more are split again.

    Returns
    -------
    ndarray of intp, shape [n]
        Group of each row.

    Raises
    ------
    ConfigError
        When not even the whole table satisfies the constraint.
    """
    work = _Work.of(table, constraint)
    return _classes(_merge(work, [[row] for row in range(len(table))]), len(table))


def _merge(work: _Work, groups: list[list[int]]) -> list[list[int]]:
    """Merge groups until all are good, then split the large ones; all of them together are good."""
    codes = work.table.codes
    low = np.array([codes[g].min(axis=0) for g in groups])
    high = np.array([codes[g].max(axis=0) for g in groups])
    size = np.array([len(g) for g in groups], dtype=np.float64)
    alive = np.ones(len(groups), dtype=bool)
    good = [work.good(g) for g in groups]
    while not all(good[g] for g in np.flatnonzero(alive)):
        keep = np.flatnonzero(alive)  # forget the groups that are gone, so that later rounds are short
        low, high, size, alive = low[keep], high[keep], size[keep], alive[keep]
        groups, good = [groups[g] for g in keep], [good[g] for g in keep]
        for g in range(len(groups)):
            if not alive[g] or good[g]:
                continue
            cost = (size[g] + size) * work.boxes.joined(low[g], high[g], low, high) - size * work.boxes.loss(low, high)
            cost[~alive] = np.inf
            cost[g] = np.inf
            other = int(np.argmin(cost))
            groups[g] = groups[g] + groups[other]
            groups[other] = []
            alive[other] = False
            low[g], high[g] = np.minimum(low[g], low[other]), np.maximum(high[g], high[other])
            size[g] += size[other]
            good[g] = work.good(groups[g])
    result: list[list[int]] = []
    for g in np.flatnonzero(alive).tolist():
        result.extend(_split(work, groups[g]))
    return result


def _split(work: _Work, rows: list[int]) -> list[list[int]]:
    """Split a group of 2k rows and more at its farthest rows, again and again, into groups that are good."""
    if len(rows) < 2 * work.k or work.k < 2:
        return [rows]
    codes = work.table.codes[rows]
    first, second = _farthest(work, codes)
    near_first = work.boxes.joined(codes[first], codes[first], codes, codes)
    near_second = work.boxes.joined(codes[second], codes[second], codes, codes)
    order = np.lexsort((np.arange(len(rows)), near_first - near_second))
    wanted = int(np.count_nonzero(near_first <= near_second))
    cut = min(max(wanted, work.k), len(rows) - work.k)
    parts = [sorted(rows[i] for i in order[:cut]), sorted(rows[i] for i in order[cut:])]
    if not all(map(work.good, parts)) or sum(map(work.penalty, parts)) > work.penalty(rows) + 1e-9:
        return [rows]
    return [small for part in parts for small in _split(work, part)]


def _farthest(work: _Work, codes: Ints) -> tuple[int, int]:
    """Return two rows that are far apart: the farthest from the first one, the farthest from that, three times."""
    first = second = 0
    for _ in range(3):
        first = second
        second = int(np.argmax(work.boxes.joined(codes[first], codes[first], codes, codes)))
        first, second = second, int(np.argmax(work.boxes.joined(codes[second], codes[second], codes, codes)))
    return (first, second) if first != second else (0, len(codes) - 1)


def top_down(table: CodedTable, constraint: Constraint) -> IndexArray:
    """Split the table at two far rows, and each part again, until parts have at most k rows; then mend small parts.

    The other rows go, in the order of the input, to the side whose penalty rises less: comparing the penalties
    themselves would send rows to the smaller side, however unlike it is. Sides are brought up to date
    after every row at first, then after blocks of rows that double, for speed: they hardly grow any more.

    Returned value and errors are those of `bottom_up`.
    """
    work = _Work.of(table, constraint)
    groups: list[list[int]] = []
    stack = [np.arange(len(table))]
    while stack:
        rows = stack.pop()
        codes = table.codes[rows]
        if len(rows) <= max(work.k, 1) or (codes == codes[0]).all():
            groups.append(rows.tolist())
            continue
        left = _sides(work, codes)
        stack.extend((rows[~left], rows[left]))
    return _classes(_mend(work, groups), len(table))


def _sides(work: _Work, codes: Ints) -> BoolArray:
    """Return which rows go to the side of the first of two far rows."""
    first, second = _farthest(work, codes)
    left = np.zeros(len(codes), dtype=bool)
    left[first] = True
    low = np.array([codes[first], codes[second]])
    high = low.copy()
    size = np.ones(2)
    rest = np.array([row for row in range(len(codes)) if row not in (first, second)], dtype=np.intp)
    at, step = 0, 1
    while at < len(rest):
        block = rest[at : at + step]
        own = codes[block]
        before = size * work.boxes.loss(low, high)
        rise = [(size[s] + 1) * work.boxes.joined(low[s], high[s], own, own) - before[s] for s in (0, 1)]
        mine = rise[0] < rise[1]
        left[block] = mine
        for side, members in enumerate((own[mine], own[~mine])):
            if len(members):
                low[side] = np.minimum(low[side], members.min(axis=0))
                high[side] = np.maximum(high[side], members.max(axis=0))
                size[side] += len(members)
        at += step
        if at >= 32:
            step = min(2 * step, 4096)
    return left


def _mend(work: _Work, groups: list[list[int]]) -> list[list[int]]:
    """Make every group good: join the cheapest other, or take the missing rows from one that can spare them."""
    codes = work.table.codes
    low = np.array([codes[g].min(axis=0) for g in groups])
    high = np.array([codes[g].max(axis=0) for g in groups])
    size = np.array([len(g) for g in groups])
    for g in sorted(range(len(groups)), key=lambda g: (len(groups[g]), g)):
        while size[g] and not work.good(groups[g]):
            union = (size[g] + size) * work.boxes.joined(low[g], high[g], low, high)
            own = size * work.boxes.loss(low, high)
            rise = np.where(size > 0, union - own, np.inf)
            rise[g] = np.inf
            other = int(np.argmin(rise))
            taken = _spare(work, groups, size, rise, g, work.k - len(groups[g]))
            if taken is not None and taken[0] < rise[other]:
                _, giver, rows = taken
                groups[g] = groups[g] + rows
                groups[giver] = [row for row in groups[giver] if row not in set(rows)]
                changed = [g, giver]
            else:
                groups[g] = groups[g] + groups[other]
                groups[other] = []
                size[other] = 0
                changed = [g]
            for h in changed:
                size[h] = len(groups[h])
                low[h], high[h] = codes[groups[h]].min(axis=0), codes[groups[h]].max(axis=0)
    return [small for g in groups if g for small in _split(work, g)]


def _spare(
    work: _Work, groups: list[list[int]], size: IndexArray, rise: FloatArray, g: int, missing: int
) -> tuple[float, int, list[int]] | None:
    """Return the cheapest way to take ``missing`` rows from one of the nearest groups that stay good without them."""
    best: tuple[float, int, list[int]] | None = None
    if missing < 1:
        return None
    codes = work.table.codes
    low, high = codes[groups[g]].min(axis=0), codes[groups[g]].max(axis=0)
    for giver in np.argsort(np.where(size >= work.k + missing, rise, np.inf), kind="stable")[:3].tolist():
        if giver == g or size[giver] < work.k + missing:
            continue
        own = codes[groups[giver]]
        nearest = np.argsort(work.boxes.joined(low, high, own, own), kind="stable")[:missing]
        rows = [groups[giver][i] for i in nearest]
        left = [row for row in groups[giver] if row not in set(rows)]
        if not work.good(left):
            continue
        cost = work.penalty(groups[g] + rows) + work.penalty(left) - work.penalty(groups[giver])
        if best is None or cost < best[0]:
            best = (cost, giver, rows)
    return best


def hybrid(table: CodedTable, constraint: Constraint) -> IndexArray:
    """Cut the table by Mondrian into parts of 20 times the smallest group, at least 100 rows, and cluster inside each.

    Parameters
    ----------
    table : CodedTable
        The table, one row a record.
    constraint : Constraint
        What every group must satisfy.

    Returned value and errors are those of `bottom_up`.
    """
    work = _Work.of(table, constraint)
    coarse = mondrian(table, constraint, stop_below=max(20 * work.k, 100))
    order = np.argsort(coarse, kind="stable")
    edges = np.flatnonzero(np.diff(coarse[order], prepend=-1, append=len(table)))
    groups: list[list[int]] = []
    for begin, end in itertools.pairwise(edges.tolist()):
        groups.extend(_merge(work, [[row] for row in order[begin:end].tolist()]))
    return _classes(groups, len(table))
