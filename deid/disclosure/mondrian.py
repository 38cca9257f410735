"""Mondrian: multidimensional recoding by cutting the table in two, and each part again (LeFevre et al. 2006).

All groups of one depth are cut at once: rows stand group by group, one sort by (group, code of the chosen column)
brings the rows of every cut together, and groups that can be cut no further leave. The cost is that of a few sorts a
depth, so it grows with n log n, and Python runs once a depth, not once a group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deid.base.arrays import BoolArray, FloatArray, IndexArray, IntArray
from deid.base.errors import ConfigError, require
from deid.disclosure.constraints import Constraint, require_feasible, smallest_group
from deid.disclosure.encoding import CodedColumn, CodedTable, Ints
from deid.disclosure.groups import Groups

MODES = ("strict", "relaxed")


@dataclass
class _Runs:
    """Rows that stand group by group, with their codes beside them."""

    rows: IndexArray
    codes: Ints  # [d, rows], so that a column is contiguous
    starts: IndexArray
    tried: BoolArray  # [groups, d] columns without an allowable cut

    def lengths(self) -> IndexArray:
        return np.diff(self.starts, append=len(self.rows))

    def keep(self, groups: BoolArray) -> _Runs:
        """Return the runs of some groups."""
        lengths = self.lengths()
        rows = np.repeat(groups, lengths)
        starts = np.concatenate([[0], np.cumsum(lengths[groups])[:-1]]) if groups.any() else np.zeros(0, dtype=np.intp)
        return _Runs(self.rows[rows], self.codes[:, rows], starts.astype(np.intp), self.tried[groups])


def mondrian(
    table: CodedTable,
    constraint: Constraint,
    *,
    mode: str = "strict",
    hierarchical: bool = True,
    target: Ints | None = None,
    stop_below: int = 0,
    disjoint: bool = False,
) -> IndexArray:
    """Partition a table into groups that satisfy a constraint.

    The widest column that has an allowable cut is cut: numbers and ordered values at the (lower) median into ``<=``
    and ``>``, columns with a hierarchy into the children of the value that covers the group.

    Parameters
    ----------
    table : CodedTable
        The table; rows may be weighted when ``mode`` is strict.
    constraint : Constraint
        What every group must satisfy.
    mode : str
        ``strict`` (rows equal in the cut column stay together) or ``relaxed`` (the median row's equals may be
        shared, so that parts are halves; LeFevre et al., section 3.2).
    hierarchical : bool
        Cut columns that have a hierarchy along it; otherwise at the median of its leaves' order.
    target : ndarray of int32 [n], optional
        Class label of each row: the cut with the greatest information gain is taken instead of the widest column
        (workload-aware Mondrian, LeFevre et al., KDD 2006, InfoGain Mondrian).
    stop_below : int
        Groups of fewer records than this are not cut further (0: cut as far as allowed).
    disjoint : bool
        Cut along a hierarchy only where every child suffices: children that stay together are published as the value
        above, which covers those that do not, too, and who else a published cell covers may matter.

    Returns
    -------
    ndarray of intp, shape [n]
        Group of each row.

    Raises
    ------
    ConfigError
        When not even the whole table satisfies the constraint.
    """
    require(mode in MODES, f"no mode {mode}", f"one of {', '.join(MODES)}")
    if mode == "relaxed" and table.weights is not None:
        raise ConfigError("relaxed cuts need one row a record", "do not collapse equal rows")
    require_feasible(table, constraint)
    least = max(2 * smallest_group(constraint), stop_below)
    weights = np.ones(len(table), dtype=np.int64) if table.weights is None else table.weights
    small: type = np.int16 if all(column.size < 2**15 for column in table.columns) else np.int32
    runs = _Runs(
        np.arange(len(table)),
        np.ascontiguousarray(table.codes.T.astype(small)),
        np.zeros(1, dtype=np.intp),
        np.zeros((1, len(table.columns)), dtype=bool),
    )
    classes = np.empty(len(table), dtype=np.intp)
    done = 0
    relaxed = mode == "relaxed"
    while len(runs.starts):
        size = np.add.reduceat(weights[runs.rows], runs.starts)
        low = np.minimum.reduceat(runs.codes, runs.starts, axis=1).T.astype(np.int32)
        high = np.maximum.reduceat(runs.codes, runs.starts, axis=1).T.astype(np.int32)
        worth = np.stack([column.loss(low[:, c], high[:, c]) for c, column in enumerate(table.columns)], axis=1)
        cuts = None
        if target is not None:  # the width decides where no cut tells the classes apart
            gain, cuts = _gains(runs, weights, target, least // 2, len(table.columns))
            worth = np.where(gain >= 0, gain + 1e-9 * worth, 0.0)
        worth[runs.tried] = 0.0
        chosen = np.argmax(worth, axis=1)
        alive = (worth[np.arange(len(chosen)), chosen] > 0) & (size >= least)
        if not alive.all():
            finished = np.repeat(~alive, runs.lengths())
            count = int(np.count_nonzero(~alive))
            numbers = np.repeat(np.arange(done, done + count), runs.lengths()[~alive])
            classes[runs.rows[finished]] = numbers
            done += count
            runs = runs.keep(alive)
            if not len(runs.starts):
                break
            chosen, low, high = chosen[alive], low[alive], high[alive]
            cuts = None if cuts is None else cuts[alive]
        cut_at = None if cuts is None else cuts[np.arange(len(chosen)), chosen]
        runs = _cut(runs, table, weights, constraint, chosen, low, high, cut_at, hierarchical, relaxed, disjoint)
    return classes


def _cut(
    runs: _Runs,
    table: CodedTable,
    weights: IntArray,
    constraint: Constraint,
    chosen: IndexArray,
    low: Ints,
    high: Ints,
    cut_at: Ints | None,
    hierarchical: bool,
    relaxed: bool,
    disjoint: bool,
) -> _Runs:
    """Cut every group along its chosen column; where a part fails, remember the column as tried."""
    lengths = runs.lengths()
    group = np.repeat(np.arange(len(lengths)), lengths)
    code = runs.codes[chosen[group], np.arange(len(group))].astype(np.int64)
    # one sort of packed keys: group, code, place
    bits = len(group).bit_length()
    code_bits = int(code.max()).bit_length()
    key = (((group << code_bits) | code) << bits) | np.arange(len(group))
    key.sort()
    place = key & ((1 << bits) - 1)
    code = (key >> bits) & ((1 << code_bits) - 1)
    rows = runs.rows[place]
    targeted = cut_at is not None
    if relaxed:
        half = (lengths + 1) // 2
        part = (np.arange(len(group)) - np.repeat(runs.starts, lengths) >= half[group]).astype(np.int64)
    else:
        if cut_at is None:
            cut_at = _medians(code, weights[rows], runs.starts, lengths)
            # everything is at or below the median: cut below it instead
            top = code[runs.starts + lengths - 1]
            cut_at = np.where(cut_at == top, cut_at - 1, cut_at)
        part = (code > cut_at[group]).astype(np.int64)
    along = np.zeros(len(lengths), dtype=bool)
    if hierarchical and not relaxed and not targeted:
        for c, column in enumerate(table.columns):
            here = chosen == c
            if column.tree is not None and here.any():
                along |= here & (not disjoint)
                inside = here[group]
                node = column.tree.common(low[:, c], high[:, c])[group[inside]]
                part[inside] = child_of(column, node, code[inside])
    starts = _edges(group, part)
    owner = group[starts]
    ok = constraint.satisfied(Groups(table, rows, starts))
    for _ in range(2):  # children that do not suffice stay together; where they still do not, the smallest joins them
        mixed = along & (np.bincount(owner, ok, minlength=len(lengths)) > 0)
        mixed &= np.bincount(owner, ~ok, minlength=len(lengths)) > 0
        if not mixed.any():
            break
        size = np.add.reduceat(weights[rows], starts)
        least = np.lexsort((size, ~ok, owner))
        first = np.unique(owner[least], return_index=True)[1]
        alone = np.bincount(owner, ~ok, minlength=len(lengths)) == 1
        rest = ~ok & mixed[owner]
        smallest = np.zeros(len(starts), dtype=bool)
        smallest[least[first]] = True
        rest |= smallest & (alone & mixed)[owner]
        counts = np.diff(starts, append=len(rows))
        part = np.where(np.repeat(rest, counts), -1, np.repeat(np.arange(len(starts)), counts))
        order = np.lexsort((part, group))
        rows, place, part = rows[order], place[order], part[order]
        starts = _edges(group, part)
        owner = group[starts]
        ok = constraint.satisfied(Groups(table, rows, starts))
    good = np.bincount(owner, ~ok, minlength=len(lengths)) == 0
    good &= np.bincount(owner, minlength=len(lengths)) > 1
    tried = runs.tried.copy()
    tried[np.flatnonzero(~good), chosen[~good]] = True
    # groups that were cut give their parts, the others stay whole
    begin = good[owner] | (starts == runs.starts[owner])
    starts, owner = starts[begin], owner[begin]
    tried[good] = False
    return _Runs(rows, runs.codes[:, place], starts, tried[owner])


def _edges(group: IndexArray, part: IntArray) -> IndexArray:
    """Return where a part of a group begins."""
    edge = np.empty(len(group), dtype=bool)
    edge[0] = True
    edge[1:] = (part[1:] != part[:-1]) | (group[1:] != group[:-1])
    return np.flatnonzero(edge)


def _medians(code: IntArray, weights: IntArray, starts: IndexArray, lengths: IndexArray) -> Ints:
    """Return the lower weighted median of each run of ascending codes."""
    above = np.cumsum(weights)
    before = above[starts] - weights[starts]
    half = before + (above[starts + lengths - 1] - before + 1) // 2
    return code[np.searchsorted(above, half)].astype(np.int32)


def child_of(column: CodedColumn, node: Ints, leaf: IntArray) -> Ints:
    """Return the child of each node that covers a leaf."""
    assert column.tree is not None
    child = np.full(len(node), -1, dtype=np.int32)
    found = np.zeros(len(node), dtype=bool)
    for row in column.tree.depths:
        at = row[leaf]
        take = found & (child < 0)
        child[take] = at[take]
        found |= at == node
    return np.where(child < 0, column.tree.depths[-1][leaf], child)


def _gains(runs: _Runs, weights: IntArray, target: Ints, least: int, columns: int) -> tuple[FloatArray, Ints]:
    """Return the best information gain [groups, d] of a cut ``<=`` that leaves ``least`` records, and where it is."""
    lengths = runs.lengths()
    group = np.repeat(np.arange(len(lengths)), lengths)
    first, last = runs.starts, runs.starts + lengths - 1
    hot = np.zeros((len(group), int(target.max()) + 2))
    hot[np.arange(len(group)), target[runs.rows]] = weights[runs.rows]
    hot[:, -1] = 0
    gains = np.zeros((len(lengths), columns))
    cuts = np.zeros((len(lengths), columns), dtype=np.int32)
    for c in range(columns):
        order = np.lexsort((runs.codes[c], group))
        code, counts = runs.codes[c][order], hot[order]
        sums = np.cumsum(counts, axis=0)
        base = (sums[first] - counts[first])[group]
        left, right = sums - base, sums[last][group] - sums
        edge = np.ones(len(group), dtype=bool)
        edge[:-1] = code[1:] != code[:-1]
        edge &= (left.sum(axis=1) >= least) & (right.sum(axis=1) >= least)
        gain = np.where(edge, _impurity(left + right) - _impurity(left) - _impurity(right), -1.0)
        gains[:, c] = np.maximum.reduceat(gain, first)
        best = np.flatnonzero(edge & (gain == gains[group, c]))
        owner, place = np.unique(group[best], return_index=True)
        cuts[owner, c] = code[best[place]]
    return gains, cuts


def _impurity(counts: FloatArray) -> FloatArray:
    """Return records times entropy of the labels, in nats."""
    total = counts.sum(axis=1)
    return total * np.log(np.maximum(total, 1)) - (counts * np.log(np.maximum(counts, 1))).sum(axis=1)
