"""Local recoding with hierarchies: every group of rows gets the least general values that it can do with.

The table is split from the top: a group is cut along one column into the children of the value that covers it. Not
every child needs to be large enough: children that are not are pooled and keep the general value, and a pool that is
still too small takes rows from the largest child, or the smallest child whole. So one rare value does not keep a
common one general, which is what stops Mondrian with hierarchies early. Afterwards rows move to less general groups
that cover them anyway, and groups that became large enough are split again.

The cut that is taken has the greatest fall of the certainty penalty (Xu et al., KDD 2006) for the information it uses
up: fall / entropy^thrift, the entropy of the parts in bits. Groups can only be cut until k rows are left, so bits are
what a table has to spend. A thrift of 0 asks for the greatest fall at once; which is best depends on k, so two are
tried. Then, in rounds, the groups that publish the same in a few columns are put together and split anew with another
thrift; the new groups stay where they lose less (a large-neighbourhood search).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid.base.arrays import BoolArray, FloatArray, IndexArray
from deid.base.compiled import keep_arrays
from deid.base.errors import require
from deid.base.pool import Pool
from deid.disclosure.complementing import MAX_GROUPS, join_complements
from deid.disclosure.constraints import (
    Constraint,
    KAnonymity,
    TCloseness,
    closeness_in,
    require_feasible,
    smallest_group,
)
from deid.disclosure.cuts import Cuts
from deid.disclosure.encoding import CodedColumn, CodedTable, Ints, boxes, class_ids
from deid.disclosure.groups import Groups, groups_of

_THRIFT = (0.4, 1.1)
"""Exponents for the first split."""
_AGAIN = (0.5, 0.75, 1.0, 1.25, 1.5)
"""Exponents for splitting neighbourhoods anew."""
_ROWS_FOR_ALL = 200_000
"""With more rows only the first exponent is tried, and processes can share the work."""
_BATCHES = 3
"""Requests that a worker gets of one split: groups of several, so that all are done at nearly the same time."""


def local_recoding(
    table: CodedTable, constraint: Constraint, *, rounds: int | None = None, seed: int = 0, jobs: int = 1
) -> IndexArray:
    """Partition a table into groups that satisfy a constraint, with as little loss as the search finds.

    Parameters
    ----------
    table : CodedTable
        The table, one row a record.
    constraint : Constraint
        What every group must satisfy.
    rounds : int
        How often groups that share the values of some columns are put together and split anew; more rounds lose
        less and take longer. By default one to five (the smaller k, the less there is to gain and the longer they
        take), 15 for t-closeness.
    seed : int
        Decides the columns of a round.
    jobs : int
        Processes that split groups of a table of more than 200,000 rows; the result is the same with any number.

    Returns
    -------
    ndarray of intp, shape [n]
        Group of each row. Rows of equal values may be in different groups.

    Raises
    ------
    ConfigError
        When not even the whole table satisfies the constraint.
    """
    require(table.weights is None, "local recoding needs one row a record", "do not collapse equal rows")
    require_feasible(table, constraint)
    if len(table) <= _ROWS_FOR_ALL:
        return _search(_Splitter(table, constraint), rounds, seed)
    if jobs == 1:
        return _numbered(_search(_Splitter(table, constraint), rounds, seed))
    with Pool(functools.partial(_Splitter, table, constraint), jobs) as pool:
        return _numbered(_search(_Splitter(table, constraint, pool), rounds, seed))


def _search(split: _Splitter, rounds: int | None, seed: int) -> IndexArray:
    """Split from the top, then in rounds; see `local_recoding`."""
    table, constraint = split.table, split.constraint
    everyone = np.zeros(len(table), dtype=np.intp)
    least = smallest_group(constraint)
    first = _THRIFT if len(table) <= _ROWS_FOR_ALL and least >= 5 else _THRIFT[:1]
    floors: tuple[int, ...] = (least,)
    model = closeness_in(constraint)
    if model is not None:
        floors = (least, max(least, 50), max(least, 150))  # small parts are far from the table by chance
    if rounds is None:
        rounds = min(max(least // 5, 1), 5) if model is None else 15
    results = [split(exponent, everyone, floor) for exponent in first for floor in floors]
    if model is not None and model.ground == "equal":
        results += _by_complements(table, constraint, model, max(least, 10))
    classes = min(results, key=lambda found: mean_loss(table, found))
    loss = group_loss(table, classes)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        count = len(table.columns)
        columns = rng.choice(count, min(int(rng.integers(1, 4)), count), replace=False)
        again = _neighbours(table, classes, columns)
        exponent = float(rng.choice(_AGAIN))
        classes, loss = _better(table, again, classes, loss, split(exponent, again, int(rng.choice(floors))))
    # what moves where groups are equally good hangs on their numbers, which several processes give otherwise
    moved = _move(table, _numbered(classes) if len(table) > _ROWS_FOR_ALL else classes, constraint)
    return classes if moved is None else split(first[-1], moved, least)


class _Splitter:
    """Splits groups of a table; of a large one by its workers, each some of the groups.

    What becomes of a group does not depend on the others, so that many groups are split as one after the other is.
    """

    def __init__(self, table: CodedTable, constraint: Constraint, pool: Pool[Any, Any] | None = None) -> None:
        keep_arrays()  # in a worker, too
        self.table, self.constraint, self.pool = table, constraint, pool
        self.cuts = [None if column.tree is None else Cuts.build(column.tree) for column in table.columns]

    def __call__(self, *asked: Any) -> IndexArray:
        """Return the new groups of all rows; in a worker, of those of a request: thrift, least, rows, their groups."""
        if len(asked) == 1:
            return self._of_rows(*asked[0])
        thrift, within, least = asked
        if self.pool is None:
            return self._split(thrift, within, least)
        stop = len(self.table) // (2 * self.pool.jobs)
        coarse = self._split(thrift, within, least, stop=stop)
        # largest groups first, each to the batch that has the fewest rows
        sizes = np.bincount(coarse)
        filled = np.zeros(_BATCHES * self.pool.jobs)
        batch = np.empty(len(sizes), dtype=np.intp)
        for group in np.argsort(-sizes, kind="stable"):
            batch[group] = np.argmin(filled)
            filled[batch[group]] += sizes[group]
        rows_of = [np.flatnonzero(batch[coarse] == number).astype(np.int32) for number in range(len(filled))]
        rows_of = [rows for rows in rows_of if len(rows)]
        requests = ((thrift, least, rows, coarse[rows].astype(np.int32)) for rows in rows_of)
        classes = np.empty(len(self.table), dtype=np.intp)
        done = 0
        for rows, found in zip(rows_of, self.pool.in_order(requests), strict=True):
            classes[rows] = found + done
            done += int(found.max()) + 1
        return classes

    def _of_rows(self, thrift: float, least: int, rows: Ints, groups: Ints) -> IndexArray:
        within = np.zeros(len(self.table), dtype=np.intp)
        within[rows] = groups
        return self._split(thrift, within, least, rows=rows.astype(np.intp))

    def _split(
        self, thrift: float, within: IndexArray, least: int, *, rows: IndexArray | None = None, stop: int = 0
    ) -> IndexArray:
        """Cut the groups ``within`` as far as the constraint allows, into parts of at least so many rows.

        With ``rows`` (whole groups, ascending) only these are cut, and their classes are returned. Groups of fewer rows
        than ``stop`` stay as they are.
        """
        table, cuts, constraint = self.table, self.cuts, self.constraint
        plain = isinstance(constraint, KAnonymity) and table.persons is None
        classes = np.empty(len(table), dtype=np.intp)
        done = 0
        own = rows
        rows = np.argsort(within, kind="stable") if own is None else own[np.argsort(within[own], kind="stable")]
        codes = np.ascontiguousarray(table.codes.T[:, rows])
        starts = np.flatnonzero(np.diff(within[rows], prepend=-1))
        tried = np.zeros((len(starts), len(cuts)), dtype=bool)
        while len(starts):
            lengths = np.diff(starts, append=len(rows))
            group = np.repeat(np.arange(len(starts)), lengths)
            small = lengths < max(2 * least, stop)
            if small.any():
                gone = small[group]
                classes[rows[gone]] = done + (np.cumsum(small) - 1)[group[gone]]
                done += int(np.count_nonzero(small))
                rows, codes, tried, lengths = rows[~gone], codes[:, ~gone], tried[~small], lengths[~small]
                if not len(rows):
                    break
                starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
                group = np.repeat(np.arange(len(starts)), lengths)
            choice, places = _choose(table.columns, cuts, codes, starts, lengths, group, tried, least, thrift)
            dead = choice.column < 0
            if dead.any():
                gone = dead[group]
                classes[rows[gone]] = done + (np.cumsum(dead) - 1)[group[gone]]
                done += int(np.count_nonzero(dead))
            part = _parts(choice, places, group)
            bits = len(rows).bit_length()
            wide = max(2 if cut is None else cut.widest for cut in cuts) + 1
            key = (((group * wide + part)[~dead[group]]) << bits) | np.flatnonzero(~dead[group])
            key.sort()
            order = key & ((1 << bits) - 1)
            new = np.flatnonzero(np.diff(key >> bits, prepend=-1))
            rows, codes, group, part = rows[order], codes[:, order], group[order], part[order]
            if not plain and len(rows):
                rows, codes, group, part = _repair(table, constraint, rows, codes, group, part, wide)
                key = group * wide + part
                new = np.flatnonzero(np.diff(key, prepend=-1))
            owner = group[new]
            cut = np.bincount(owner, minlength=len(starts)) > 1
            tried[~cut & ~dead, choice.column[~cut & ~dead]] = True
            tried[cut] = False
            starts, tried = new, tried[owner]
        return classes if own is None else classes[own]


def _numbered(classes: IndexArray) -> IndexArray:
    """Number groups by their first rows, however they were found."""
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _by_complements(table: CodedTable, constraint: Constraint, model: TCloseness, least: int) -> list[IndexArray]:
    """Return partitions cut for k-anonymity alone whose groups were then joined until they are close enough."""
    found = []
    split = _Splitter(table, KAnonymity(least))
    for exponent in (0.5, 1.0):
        fine = split(exponent, np.zeros(len(table), dtype=np.intp), least)
        if int(fine.max()) < MAX_GROUPS:
            joined = join_complements(table, fine, model)
            if constraint.satisfied(groups_of(table, joined, int(joined.max()) + 1)).all():
                found.append(joined)
    return found


def _neighbours(table: CodedTable, classes: IndexArray, columns: IndexArray) -> IndexArray:
    """Return for each row the neighbourhood of its group: the groups that publish the same in some columns."""
    count = int(classes.max()) + 1
    low, high = boxes(table.codes[:, columns], classes, count)
    ranges: list[Ints] = []
    for place, c in enumerate(columns):
        ranges.extend(table.columns[c].covers(low[:, place], high[:, place]))
    ids, _ = class_ids(np.stack(ranges, axis=1), [table.columns[c].size for c in columns for _ in range(2)])
    return ids[classes]


def _better(
    table: CodedTable, within: IndexArray, old: IndexArray, old_loss: FloatArray, new: IndexArray
) -> tuple[IndexArray, FloatArray]:
    """Take the new groups of the neighbourhoods where they lose less; number all groups, and return their losses."""
    new_loss = group_loss(table, new)
    taken = np.bincount(within, new_loss[new]) < np.bincount(within, old_loss[old]) - 1e-9
    if not taken.any():
        return old, old_loss
    mixed = np.where(taken[within], new + len(old_loss), old)
    there, classes = np.unique(mixed, return_inverse=True)
    return classes.astype(np.intp), np.concatenate([old_loss, new_loss])[there]


def group_loss(table: CodedTable, classes: IndexArray) -> FloatArray:
    """Return the certainty penalty of one row of each group, summed over columns.

    Parameters
    ----------
    table : CodedTable
        The rows.
    classes : intp array, shape (rows,)
        Group of each row, 0 to groups - 1; every group must have a row.

    Returns
    -------
    float array, shape (groups,)
        Penalties, 0 to the number of columns.
    """
    low, high = boxes(table.codes, classes, int(classes.max()) + 1)
    loss = np.zeros(len(low))
    for c, column in enumerate(table.columns):
        loss += column.loss(low[:, c], high[:, c])
    return loss


def mean_loss(table: CodedTable, classes: IndexArray) -> float:
    """Return the normalized certainty penalty of publishing groups, averaged over cells (0 to 1); see `group_loss`."""
    size = np.bincount(classes, table.weights)
    return float(group_loss(table, classes) @ size) / (float(size.sum()) * len(table.columns))


@dataclass
class _Choice:
    """The best cut of each group so far."""

    score: FloatArray
    column: IndexArray
    biggest: IndexArray  # child that gives rows to the pool
    steal: IndexArray  # so many
    absorbed: IndexArray  # child that joins the pool whole, -1 for none


def _choose(
    columns: tuple[CodedColumn, ...],
    cuts: list[Cuts | None],
    codes: Ints,
    starts: IndexArray,
    lengths: IndexArray,
    group: IndexArray,
    tried: BoolArray,
    least: int,
    thrift: float,
) -> tuple[_Choice, list[NDArray[np.signedinteger]]]:
    """Find the best column of every group, and the child of each row in each column."""
    count = len(starts)
    nothing = np.full(count, -1, dtype=np.intp)
    choice = _Choice(np.zeros(count), nothing.copy(), nothing.copy(), np.zeros(count, dtype=np.intp), nothing.copy())
    places: list[NDArray[np.signedinteger]] = []
    for c, (column, cut) in enumerate(zip(columns, cuts, strict=True)):
        low = np.minimum.reduceat(codes[c], starts)
        high = np.maximum.reduceat(codes[c], starts)
        open_groups = (low != high) & (lengths >= 2 * least) & ~tried[:, c]
        if cut is None:
            part, score = _halve(column, codes[c], starts, lengths, group, low, high, least, thrift)
            places.append(part)
            _prefer(choice, np.where(open_groups, score, 0.0), c, nothing, nothing * 0, nothing)
            continue
        node = cut.common(low, high)
        below = np.minimum(cut.depth_of[node] + 1, len(cut.depths) - 1)
        place = cut.place[cut.depths[below[group], codes[c]]]
        g, child, number, pair_of = _pairs(group, place, count, cut.widest)
        penalty = cut.loss[node]
        fall = penalty[g] - cut.loss[cut.children[np.minimum(cut.first_child[node][g] + child, len(cut.children) - 1)]]
        alone = number >= least
        gain = np.bincount(g, np.where(alone, number * fall, 0.0), minlength=count)
        parts = np.bincount(g, alone, minlength=count)
        pooled = np.bincount(g, np.where(alone, 0, number), minlength=count).astype(np.intp)
        edge = np.searchsorted(g, np.arange(count))
        pair = np.arange(len(g))
        most = np.maximum.reduceat(np.where(alone, number, 0) * (len(g) + 1) + pair, edge) % (len(g) + 1)
        fewest = np.minimum.reduceat(np.where(alone, number, len(group) + 1) * (len(g) + 1) + pair, edge) % (len(g) + 1)
        missing = np.where((pooled > 0) & (pooled < least), least - pooled, 0)
        by_stealing = np.where(number[most] - missing >= least, gain - missing * fall[most], -1.0)
        by_absorbing = np.where((missing > 0) & (parts > 1), gain - number[fewest] * fall[fewest], -1.0)
        absorb = by_absorbing > by_stealing
        gain = np.maximum(by_stealing, by_absorbing)
        absorbed = np.where(absorb, number[fewest], 0)
        share = np.where(alone, number, 0) / lengths[g]
        pool = (pooled + np.where(absorb, absorbed, missing)) / lengths
        entropy = np.bincount(g, -share * np.log2(np.maximum(share, 1e-300)), minlength=count).astype(np.float64)
        entropy += -pool * np.log2(np.maximum(pool, 1e-300))
        allowed = open_groups & (gain > 1e-12) & (parts + (pooled > 0) - absorb >= 2)
        score = np.where(allowed, gain / lengths / np.maximum(entropy, 1e-9) ** thrift, 0.0)
        _prefer(choice, score, c, child[most], np.where(absorb, 0, missing), np.where(absorb, child[fewest], -1))
        places.append(np.where(alone[pair_of], place + 1, 0))
    return choice, places


def _prefer(
    choice: _Choice, score: FloatArray, column: int, biggest: IndexArray, steal: IndexArray, absorbed: IndexArray
) -> None:
    """Take a column's cut in the groups where it is better than the best so far."""
    better = score > choice.score
    choice.score[better] = score[better]
    choice.column[better] = column
    choice.biggest[better] = biggest[better]
    choice.steal[better] = steal[better]
    choice.absorbed[better] = absorbed[better]


def _halve(
    column: CodedColumn,
    codes: Ints,
    starts: IndexArray,
    lengths: IndexArray,
    group: IndexArray,
    low: Ints,
    high: Ints,
    least: int,
    thrift: float,
) -> tuple[IndexArray, FloatArray]:
    """Cut ordered values at the middle of each group's range, or where enough rows are left on both sides.

    Returns the part (1 or 2) of each row and the score of each group. Equal values may fall on both sides.
    """
    if column.numbers is None:
        middle = (low + high) // 2
    else:
        half = (column.numbers[low] + column.numbers[high]) / 2  # NaN, behind all numbers, where one is missing
        middle = np.where(np.isnan(half), column.size - 2, np.searchsorted(column.numbers, half, side="right") - 1)
    below = np.bincount(group, codes <= middle[group], minlength=len(starts)).astype(np.intp)
    cut = np.clip(below, np.minimum(least, lengths - 1), np.maximum(lengths - least, 1))
    bits = len(codes).bit_length()
    key = ((group * column.size + codes) << bits) | np.arange(len(codes))
    key.sort()
    order = key & ((1 << bits) - 1)
    ordered = codes[order]
    part = np.empty(len(codes), dtype=np.int64)
    part[order] = 1 + (np.arange(len(codes)) - starts[group] >= cut[group])
    left = column.loss(low, ordered[starts + cut - 1])
    right = column.loss(ordered[np.minimum(starts + cut, len(codes) - 1)], high)
    gain = column.loss(low, high) - (cut * left + (lengths - cut) * right) / lengths
    share = cut / lengths
    entropy = -(share * np.log2(share) + (1 - share) * np.log2(np.maximum(1 - share, 1e-300)))
    return part, np.where(gain > 1e-12, gain / np.maximum(entropy, 1e-9) ** thrift, 0.0)


def _pairs(
    group: IndexArray, place: Ints, groups: int, size: int
) -> tuple[IndexArray, IndexArray, IndexArray, IndexArray]:
    """Count the pairs (group, child) that occur, in their order; also return each row's pair."""
    key = group * size + place
    if groups * size <= 4 * len(key) + 1024:
        dense = np.bincount(key, minlength=groups * size)
        found = np.flatnonzero(dense)
        number = dense[found]
        dense[found] = np.arange(len(found))
        pair_of = dense[key]
    else:
        found, pair_of, number = np.unique(key, return_inverse=True, return_counts=True)
    return found // size, found % size, number, pair_of


def _parts(choice: _Choice, places: list[NDArray[np.signedinteger]], group: IndexArray) -> IndexArray:
    """Return the part of each row within its group: 0 for the pool, else 1 + child."""
    column = choice.column[group]
    part = np.zeros(len(group), dtype=np.int64)
    for c, place in enumerate(places):
        here = column == c
        part[here] = place[here]
    part[part == choice.absorbed[group] + 1] = 0
    giving = np.flatnonzero((choice.steal[group] > 0) & (part == choice.biggest[group] + 1))
    owner = group[giving]
    rank = np.arange(len(giving)) - np.searchsorted(owner, owner)
    part[giving[rank < choice.steal[owner]]] = 0
    return part


def _repair(
    table: CodedTable,
    constraint: Constraint,
    rows: IndexArray,
    codes: Ints,
    group: IndexArray,
    part: IndexArray,
    wide: int,
) -> tuple[IndexArray, Ints, IndexArray, IndexArray]:
    """Pool parts that fail the constraint; where the pool fails too, add the smallest part, or undo the cut."""
    for attempt in range(3):
        starts = np.flatnonzero(np.diff(group * wide + part, prepend=-1))
        bad = ~constraint.satisfied(Groups(table, rows, starts))
        if not bad.any():
            break
        owner = group[starts]
        lengths = np.diff(starts, append=len(rows))
        pooled = bad.copy()
        if attempt:  # a pool that fails is what is left to mend
            pooled |= np.isin(owner, owner[bad]) & (part[starts] == 0)
            good = np.flatnonzero(~pooled)
            smallest = good[np.lexsort((lengths[good], owner[good]))]
            _, first = np.unique(owner[smallest], return_index=True)
            pooled[smallest[first]] = np.isin(owner[smallest[first]], owner[bad])
        if attempt == 2:
            pooled = np.isin(owner, owner[bad])
        part = np.where(np.repeat(pooled, lengths), 0, part)
        order = np.argsort(group * wide + part, kind="stable")
        rows, codes, group, part = rows[order], codes[:, order], group[order], part[order]
    return rows, codes, group, part


def _move(table: CodedTable, classes: IndexArray, constraint: Constraint) -> IndexArray | None:
    """Move rows into less general groups that cover them; None when nothing can move.

    Groups are ordered by penalty and are bits of one word a code and a column: the bitwise and over a row's columns
    holds the groups that cover it, its first bit is the best of them.
    """
    count = int(classes.max()) + 1
    low, high = boxes(table.codes, classes, count)
    penalty = np.zeros(count)
    for c, column in enumerate(table.columns):
        penalty += column.loss(low[:, c], high[:, c])
        low[:, c], high[:, c] = column.covers(low[:, c], high[:, c])
    order = np.argsort(penalty, kind="stable")
    best = np.empty(len(table), dtype=np.intp)
    words = [_covering(column.size, low[order, c], high[order, c]) for c, column in enumerate(table.columns)]
    step = max(1, (1 << 24) // words[0].shape[1])
    for begin in range(0, len(table), step):
        part = table.codes[begin : begin + step]
        both = words[0][part[:, 0]]
        for c in range(1, len(words)):
            both &= words[c][part[:, c]]
        byte = np.argmax(both != 0, axis=1)
        value = both[np.arange(len(part)), byte]
        best[begin : begin + step] = order[byte * 8 + _FIRST_BIT[value]]
    gain = penalty[classes] - penalty[best]
    size = np.bincount(classes, minlength=count)
    spare = size - smallest_group(constraint)
    wish = np.flatnonzero(gain > 1e-12)
    wish = wish[np.lexsort((-gain[wish], classes[wish]))]
    owner = classes[wish]
    rank = np.arange(len(wish)) - np.searchsorted(owner, owner)
    everyone = np.bincount(owner, minlength=count) == size  # all its rows have a better place: the group dissolves
    target_stays = ~everyone[best[wish]]
    go = wish[((rank < spare[owner]) | everyone[owner]) & target_stays]
    if not len(go):
        return None
    moved = classes.copy()
    moved[go] = best[go]
    while True:  # take back what breaks a group; the partition that we came from is sound
        left, numbers = np.unique(moved, return_inverse=True)
        ok = constraint.satisfied(groups_of(table, numbers, len(left)))
        if ok.all():
            return numbers.astype(np.intp) if (moved != classes).any() else None
        broken = np.zeros(count, dtype=bool)
        broken[left[~ok]] = True
        back = (moved != classes) & (broken[moved] | broken[classes])
        if not back.any():
            return None
        moved[back] = classes[back]


_FIRST_BIT = np.array([8, *(7 - (value.bit_length() - 1) for value in range(1, 256))], dtype=np.intp)
"""Place of a byte's first bit, as `numpy.packbits` numbers them."""


def _covering(size: int, low: Ints, high: Ints) -> NDArray[np.uint8]:
    """Return for each code the groups that cover it, as bits [size, groups / 8]."""
    codes = np.arange(size)[:, None]
    step = max(1, (1 << 24) // max(len(low), 1))
    return np.concatenate(
        [
            np.packbits((codes[at : at + step] >= low) & (codes[at : at + step] <= high), axis=1)
            for at in range(0, size, step)
        ]
    )
