"""Full-domain recoding: every column is published at one level of its hierarchy, rows that still stand out are dropped.

The level vectors form a lattice. Three searches: `optimal_levels` looks at vectors in the order of their loss and tags
whole parts of the lattice by what it has seen (predictive tagging, as OLA, El Emam et al. 2009, and Flash, Kohlmayer et
al. 2012); `incognito` (LeFevre et al. 2005) returns every minimal and non-minimal solution, built from subsets of the
columns; `greedy_levels` climbs from below as Datafly does (Sweeney 1998), for tables with many columns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deid.base.arrays import BoolArray, FloatArray
from deid.base.errors import ConfigError
from deid.disclosure.constraints import All, Constraint, DistinctL, KAnonymity
from deid.disclosure.cuts import halves
from deid.disclosure.encoding import CodedColumn, CodedTable, Ints, class_ids
from deid.disclosure.groups import groups_of
from deid.disclosure.numeric_models import EpsilonM, RangeDiversity
from deid.disclosure.population_models import KMap, OfRows

Levels = tuple[int, ...]

MAX_NODES = 200_000
"""Lattices with more level vectors are searched greedily."""


@dataclass(frozen=True, eq=False)
class FullDomain:
    """A full-domain recoding.

    Parameters
    ----------
    levels : tuple of int
        Level of each column, 0 for values as they are.
    suppressed : ndarray of bool, shape [n]
        Rows whose class violates the constraint.
    loss : float
        Certainty penalty averaged over cells, suppressed cells counted as 1.
    """

    levels: Levels
    suppressed: BoolArray
    loss: float


@dataclass(frozen=True, eq=False)
class _Column:
    """One column at each of its levels."""

    groups: Ints  # [levels, codes] number of the published value of each code
    sizes: tuple[int, ...]  # published values of each level
    loss: FloatArray  # [levels, codes]


def level_ranges(column: CodedColumn, level: int) -> tuple[Ints, Ints]:
    """Return the range that each code is published as at a level: least and greatest codes, each of shape (codes,)."""
    if column.tree is not None:
        node = column.tree.levels[min(level, len(column.tree.levels) - 1)]
        return column.tree.first[node], column.tree.last[node] - 1
    depths = halves(column)
    row = depths[max(len(depths) - 1 - level, 0)]
    _, first, inverse, count = np.unique(row, return_index=True, return_inverse=True, return_counts=True)
    return first[inverse].astype(np.int32), (first + count - 1)[inverse].astype(np.int32)


def _height(column: CodedColumn) -> int:
    return len(column.tree.levels) if column.tree is not None else len(halves(column))


def _column(column: CodedColumn) -> _Column:
    groups, sizes, loss = [], [], []
    for level in range(_height(column)):
        low, high = level_ranges(column, level)
        _, number = np.unique(low.astype(np.int64) * (column.size + 1) + high, return_inverse=True)
        groups.append(number)
        sizes.append(int(number.max()) + 1)
        loss.append(column.loss(low, high))
    return _Column(np.array(groups, dtype=np.int32), tuple(sizes), np.array(loss))


@dataclass
class _Search:
    """A table, its constraint, and what is known of its lattice."""

    table: CodedTable
    constraint: Constraint
    max_suppressed: float
    released: BoolArray | None = None  # the rows whose loss counts, and that may be suppressed; all by default
    columns: list[_Column] = field(init=False)

    def __post_init__(self) -> None:
        self.columns = [_column(column) for column in self.table.columns]

    @property
    def allowed(self) -> float:
        """Records that may be suppressed."""
        return self.max_suppressed * float(self.weights.sum()) + 1e-9

    @property
    def heights(self) -> Levels:
        return tuple(len(column.sizes) - 1 for column in self.columns)

    @cached_property
    def weights(self) -> FloatArray:
        """Records of each row that are released."""
        weights = np.ones(len(self.table)) if self.table.weights is None else self.table.weights.astype(np.float64)
        return weights if self.released is None else weights * self.released

    def violating(self, levels: Levels, which: Sequence[int] | None = None) -> BoolArray:
        """Return the rows in classes that violate the constraint, for the columns ``which`` at their levels."""
        which = range(len(levels)) if which is None else which
        chosen = [(self.columns[c], level, self.table.codes[:, c]) for c, level in zip(which, levels, strict=True)]
        codes = np.stack([column.groups[level][code] for column, level, code in chosen], axis=1)
        ids, index = class_ids(codes, [column.sizes[level] for column, level, _ in chosen])
        if isinstance(self.constraint, KAnonymity) and self.table.persons is None and self.released is None:
            return (np.bincount(ids, self.weights) < self.constraint.k)[ids]
        return ~self.constraint.satisfied(groups_of(self.table, ids, len(index)))[ids]

    def enough(self, violating: BoolArray) -> bool:
        if not self.max_suppressed:
            return not violating.any()  # members without a row, too, whom nothing would heal
        return float(self.weights[violating].sum()) <= self.allowed

    def loss(self, levels: Levels, violating: BoolArray) -> float:
        """Return the loss with the violating rows suppressed."""
        cells = np.zeros(len(self.table))
        for c, level in enumerate(levels):
            cells += self.columns[c].loss[level][self.table.codes[:, c]]
        cells[violating] = len(levels)
        return float(cells @ self.weights) / (float(self.weights.sum()) * len(levels))

    def level_loss(self) -> list[FloatArray]:
        """Return for each column the loss of each level, averaged over all cells of the table."""
        total = float(self.weights.sum()) * len(self.columns)
        return [column.loss[:, self.table.codes[:, c]] @ self.weights / total for c, column in enumerate(self.columns)]

    def result(self, levels: Levels) -> FullDomain:
        violating = self.violating(levels)
        return FullDomain(levels, violating, self.loss(levels, violating))

    def require(self) -> None:
        """Refuse a constraint that not even the top of the lattice reaches."""
        if not self.enough(self.violating(self.heights)):
            raise ConfigError(
                f"no full-domain recoding reaches {self.constraint} with so few rows suppressed",
                "ask for less, or allow more suppression",
            )


def _inherits(constraint: Constraint, allowed: float) -> bool:
    """Tell whether generalizing further never makes more rows violate.

    Then what holds for a vector holds for all above it. With nothing suppressed every model here is such; with
    suppression a violating class may join a good one, which only models that extra rows cannot break survive.
    """
    if isinstance(constraint, All):
        return all(_inherits(part, allowed) for part in constraint.parts)
    if isinstance(constraint, OfRows):
        return _inherits(constraint.inner, allowed)
    if isinstance(constraint, EpsilonM | RangeDiversity):
        return False
    return allowed < 1 or isinstance(constraint, KAnonymity | DistinctL | KMap)


def lattice_size(table: CodedTable) -> int:
    """Return the number of level vectors."""
    return math.prod(map(_height, table.columns))


def optimal_levels(
    table: CodedTable, constraint: Constraint, max_suppressed: float = 0.0, *, released: BoolArray | None = None
) -> FullDomain:
    """Return the full-domain recoding with the least loss.

    Parameters
    ----------
    table : CodedTable
        The table; equal rows are best collapsed before.
    constraint : Constraint
        What every published class must satisfy.
    max_suppressed : float
        Share of the records (0 to 1) that may be suppressed.
    released : bool array, shape [n], optional
        The rows that are published: only their loss counts, and only they are suppressed. The others are members of a
        population (`deid.disclosure.population_models`); where rows may be suppressed, a group of members alone must
        satisfy the constraint.

    Raises
    ------
    ConfigError
        When the lattice has more than `MAX_NODES` vectors, or nothing in it suffices.

    Notes
    -----
    The loss of the levels alone bounds the loss of a recoding from below (a suppressed cell loses most), so the search
    ends where that bound passes the best recoding found. A binary search on a path upwards through unknown vectors
    decides many at a time.
    """
    if lattice_size(table) > MAX_NODES:
        raise ConfigError(
            f"the lattice has more than {MAX_NODES} level vectors", "use greedy, mondrian or local instead"
        )
    search = _Search(table, constraint, max_suppressed, released)
    search.require()
    by_level = search.level_loss()
    shape = tuple(height + 1 for height in search.heights)
    bound = np.zeros(shape)
    for axis, loss in enumerate(by_level):
        bound += loss.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    known = np.zeros(shape, dtype=np.int8)  # 1 reaches the constraint, -1 does not
    inherits = _inherits(constraint, search.allowed)
    best: FullDomain | None = None

    def decide(levels: Levels) -> bool:
        nonlocal best
        violating = search.violating(levels)
        good = search.enough(violating)
        known[levels] = 1 if good else -1
        if inherits:
            if good:
                known[tuple(slice(level, None) for level in levels)] = 1
            else:
                known[tuple(slice(None, level + 1) for level in levels)] = -1
        if good and (best is None or bound[levels] < best.loss):
            loss = search.loss(levels, violating)
            if best is None or loss < best.loss:
                best = FullDomain(levels, violating, loss)
        return good

    for flat in np.argsort(bound, axis=None, kind="stable"):
        levels = tuple(int(level) for level in np.unravel_index(flat, shape))
        if best is not None and bound[levels] >= best.loss:
            return best
        if known[levels] == -1:
            continue
        path = list(_path_up(levels, known, bound)) if inherits else [levels]
        first, last = 0, len(path) - 1
        while first <= last:
            middle = (first + last) // 2
            if decide(path[middle]):
                last = middle - 1
            else:
                first = middle + 1
    assert best is not None  # the top was shown to suffice
    return best


def _path_up(levels: Levels, known: NDArray[np.int8], bound: FloatArray) -> Iterator[Levels]:
    """Walk upwards through undecided vectors, along the least rise of the loss."""
    yield levels
    while True:
        above = [
            (*levels[:c], levels[c] + 1, *levels[c + 1 :]) for c in range(len(levels)) if levels[c] + 1 < known.shape[c]
        ]
        above = [vector for vector in above if known[vector] == 0]
        if not above:
            return
        levels = min(above, key=lambda vector: float(bound[vector]))
        yield levels


def incognito(table: CodedTable, constraint: Constraint, max_suppressed: float = 0.0) -> list[Levels]:
    """Return all level vectors that reach a constraint, in lexicographic order (LeFevre et al. 2005).

    Subsets of one column, two columns, ... are searched; a vector is looked at only when all its parts over smaller
    subsets have passed, and what lies above a vector that passes is not looked at any more.

    Raises
    ------
    ConfigError
        When the lattice is too large, or the constraint cannot be decided on subsets of the columns.
    """
    search = _Search(table, constraint, max_suppressed)
    if not _inherits(constraint, search.allowed):
        raise ConfigError(
            f"Incognito cannot prune by {constraint} when rows may be suppressed",
            "allow no suppression, or search for the optimal levels",
        )
    if lattice_size(table) > MAX_NODES:
        raise ConfigError(f"the lattice has more than {MAX_NODES} level vectors", "use greedy, mondrian or local")
    passed: dict[tuple[int, ...], set[Levels]] = {(): {()}}
    columns = range(len(table.columns))
    for count in range(1, len(columns) + 1):
        for which in itertools.combinations(columns, count):
            good: set[Levels] = set()
            parts = [(passed[which[:i] + which[i + 1 :]], i) for i in range(count)]
            vectors = itertools.product(*(range(search.heights[c] + 1) for c in which))
            for levels in sorted(vectors, key=sum):
                if any(levels[:i] + levels[i + 1 :] not in survivors for survivors, i in parts):
                    continue
                below = ((*levels[:i], levels[i] - 1, *levels[i + 1 :]) for i in range(count) if levels[i])
                if any(vector in good for vector in below) or search.enough(search.violating(levels, which)):
                    good.add(levels)
            passed[which] = good
    return sorted(passed[tuple(columns)])


def incognito_levels(table: CodedTable, constraint: Constraint, max_suppressed: float = 0.0) -> FullDomain:
    """Return the recoding with the least loss among those that `incognito` finds; parameters and errors as its.

    Raises
    ------
    ConfigError
        Also when no level vector suffices.
    """
    search = _Search(table, constraint, max_suppressed)
    search.require()
    by_level = search.level_loss()
    best: FullDomain | None = None
    bounds = {
        levels: sum(float(loss[level]) for loss, level in zip(by_level, levels, strict=True))
        for levels in incognito(table, constraint, max_suppressed)
    }
    for levels in sorted(bounds, key=lambda found: (bounds[found], found)):
        if best is not None and bounds[levels] >= best.loss:
            break
        found = search.result(levels)
        best = found if best is None or found.loss < best.loss else best
    assert best is not None  # the top was shown to suffice
    return best


def greedy_levels(
    table: CodedTable, constraint: Constraint, max_suppressed: float = 0.0, *, released: BoolArray | None = None
) -> FullDomain:
    """Return a full-domain recoding found by raising the column with the most values first (Datafly).

    Afterwards levels are lowered again, the most lossy first, as long as the constraint stays within reach.

    Raises
    ------
    ConfigError
        When not even the highest levels suffice.
    """
    search = _Search(table, constraint, max_suppressed, released)
    search.require()
    levels = [0] * len(search.columns)
    distinct = [
        [len(np.unique(column.groups[level][table.codes[:, c]])) for level in range(len(column.sizes))]
        for c, column in enumerate(search.columns)
    ]
    while not search.enough(search.violating(tuple(levels))):
        levels[max(range(len(levels)), key=lambda c: (distinct[c][levels[c]], -c))] += 1
    by_level = search.level_loss()
    best = search.result(tuple(levels))
    for c in sorted(range(len(levels)), key=lambda c: -by_level[c][levels[c]]):
        while levels[c]:
            trial = (*levels[:c], levels[c] - 1, *levels[c + 1 :])
            violating = search.violating(trial)
            if not search.enough(violating):
                break
            levels[c] -= 1
            loss = search.loss(trial, violating)
            if loss < best.loss:
                best = FullDomain(trial, violating, loss)
    return best
