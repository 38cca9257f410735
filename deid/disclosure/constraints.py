"""What a search must keep: privacy models, evaluated for many groups of rows at once.

These are the tests that methods use while they search; they see codes, not the published table, and prove nothing
about a release. The proof is the verifiers' (`deid.disclosure.privacy`), which know nothing of this module.

Every model here survives merging: when two groups satisfy it, so does their union (the monotonicity of Machanavajjhala
et al. 2006 and Li et al. 2007). So does every combination by `All` and `AnyOf` that the models are put in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from deid.base.arrays import BoolArray, FloatArray
from deid.base.errors import ConfigError, require
from deid.disclosure.encoding import CodedTable
from deid.disclosure.groups import Groups
from deid.table.cell_text import as_read

_CHUNK = 1 << 22
"""Cells of the dense tables that ordered and hierarchical distances work on at a time."""


class Constraint(Protocol):
    """A privacy model with its parameters."""

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether it satisfies the model."""
        ...

    def __str__(self) -> str: ...


def _positive(value: float, name: str) -> None:
    require(math.isfinite(value) and value >= 1, f"{name} must be at least 1", f"for example {name} = 2")


@dataclass(frozen=True)
class KAnonymity:
    """At least ``k`` records, or persons, share a class (Sweeney 2002)."""

    k: int

    def __post_init__(self) -> None:
        _positive(self.k, "k")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether it has k members."""
        return groups.sizes >= self.k

    def __str__(self) -> str:
        return f"{self.k}-anonymity"


@dataclass(frozen=True)
class DistinctL:
    """At least ``l`` different sensitive values (Machanavajjhala et al. 2006)."""

    l: float  # noqa: E741  (the model's own symbol)
    column: str

    def __post_init__(self) -> None:
        _positive(self.l, "l")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether it has l values."""
        if groups.table.persons is not None:
            distinct = groups.own_values(self.column)
        else:
            distinct = np.bincount(groups.histogram(self.column)[0], minlength=len(groups))
        return (distinct >= self.l) | (distinct == 0)  # where nothing is known, nothing can be disclosed

    def __str__(self) -> str:
        return f"distinct {self.l:g}-diversity of {self.column}"


@dataclass(frozen=True)
class EntropyL:
    """Entropy of the sensitive values at least ln ``l``."""

    l: float  # noqa: E741
    column: str

    def __post_init__(self) -> None:
        _positive(self.l, "l")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether its entropy suffices."""
        share = groups.share(self.column)
        entropy = groups.sums(self.column, -share * np.log(share))
        return (entropy >= math.log(self.l) - 1e-9) | (groups.totals(self.column) == 0)

    def __str__(self) -> str:
        return f"entropy {self.l:g}-diversity of {self.column}"


@dataclass(frozen=True)
class RecursiveL:
    """Recursive (c, l)-diversity: the most frequent value is rarer than c times the l-th and rarer ones together."""

    c: float
    l: int  # noqa: E741
    column: str

    def __post_init__(self) -> None:
        _positive(self.l, "l")
        require(self.c > 0, "c must be above 0", "for example c = 2")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether r_1 < c (r_l + ... + r_m)."""
        group, _, counts = groups.histogram(self.column)
        order = np.lexsort((-counts, group))
        group, counts = group[order], counts[order]
        rank = np.arange(len(group)) - np.searchsorted(group, group)
        most = np.bincount(group, np.where(rank == 0, counts, 0.0), minlength=len(groups))
        rest = np.bincount(group, np.where(rank >= self.l - 1, counts, 0.0), minlength=len(groups))
        return (most < self.c * rest) | (most == 0)

    def __str__(self) -> str:
        return f"recursive ({self.c:g},{self.l})-diversity of {self.column}"


@dataclass(frozen=True, repr=False)
class AlphaK:
    """No sensitive value (or none of ``values``) is more frequent than ``alpha`` in a class (Wong et al. 2006)."""

    alpha: float
    column: str
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(0 < self.alpha <= 1, "alpha must be above 0 and at most 1", "for example alpha = 0.5")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether no value is too frequent."""
        group, value, counts = groups.histogram(self.column)
        over = counts / groups.people(self.column)[group] > self.alpha + 1e-12
        if self.values:
            names = groups.table.sensitive[self.column][0].values
            wanted = set(map(as_read, self.values))
            over &= np.array([as_read(str(name)) in wanted for name in names])[value]
        return np.bincount(group, over, minlength=len(groups)) == 0

    def __str__(self) -> str:
        return f"alpha {self.alpha:g} of {self.column}"


@dataclass(frozen=True)
class BetaLikeness:
    """(p_s - q_s) / q_s of no sensitive value is above ``beta`` (Cao and Karras 2012, basic)."""

    beta: float
    column: str

    def __post_init__(self) -> None:
        require(self.beta >= 0, "beta must be at least 0", "for example beta = 1")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether no value is too much more frequent than in the table."""
        group, value, _ = groups.histogram(self.column)
        overall = _distribution(groups.table, self.column)[value]
        over = groups.share(self.column) > overall * (1 + self.beta) + 1e-12
        return np.bincount(group, over, minlength=len(groups)) == 0

    def __str__(self) -> str:
        return f"{self.beta:g}-likeness of {self.column}"


@dataclass(frozen=True)
class TCloseness:
    """Earth mover's distance of a class's sensitive values to the table's at most ``t`` (Li et al. 2007).

    ``ground`` is ``equal`` (all values equally far), ``ordered`` (by rank) or ``hierarchical`` (by the column's tree).
    """

    t: float
    column: str
    ground: str = "equal"

    def __post_init__(self) -> None:
        require(0 <= self.t <= 1, "t must lie between 0 and 1", "for example t = 0.3")
        require(self.ground in _GROUNDS, f"no ground distance {self.ground}", f"one of {', '.join(_GROUNDS)}")

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether it is close enough."""
        return self.distance(groups) <= self.t + 1e-9

    def distance(self, groups: Groups) -> FloatArray:
        """Return the earth mover's distance of each group from the table, float array of shape (groups,)."""
        return _GROUNDS[self.ground](groups, self.column)

    def __str__(self) -> str:
        return f"{self.t:g}-closeness ({self.ground} distance) of {self.column}"


def _distribution(table: CodedTable, column: str) -> FloatArray:
    everything = Groups(table, np.arange(len(table)), np.zeros(1, dtype=np.intp))
    _, value, _ = everything.histogram(column)
    overall = np.zeros(table.sensitive[column][0].size)
    overall[value] = everything.share(column)
    return overall


def _equal(groups: Groups, column: str) -> FloatArray:
    # half of sum |p - q| is the sum of p - q over the values where it is positive, all of which occur
    overall = _distribution(groups.table, column)[groups.histogram(column)[1]]
    return groups.sums(column, np.maximum(groups.share(column) - overall, 0.0))


def _in_chunks(groups: Groups, column: str, distance: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Apply ``distance`` to rows p - q of [groups, values], a bounded number at a time."""
    overall = _distribution(groups.table, column)
    group, value, _ = groups.histogram(column)
    share = groups.share(column)
    step = max(1, _CHUNK // len(overall))
    result = np.empty(len(groups))
    for begin in range(0, len(groups), step):
        end = min(begin + step, len(groups))
        part = slice(*np.searchsorted(group, [begin, end]))
        dense = np.tile(-overall, (end - begin, 1))
        dense[group[part] - begin, value[part]] += share[part]
        result[begin:end] = distance(dense)
    return np.where(groups.totals(column) > 0, result, 0.0)


def _ordered(groups: Groups, column: str) -> FloatArray:
    coded = groups.table.sensitive[column][0]
    occurring = np.flatnonzero(_distribution(groups.table, column))
    names = [str(coded.values[code]) for code in occurring]
    try:
        keys: Sequence[object] = [float(name) for name in names]
    except ValueError:
        keys = names if coded.numbers is None else coded.numbers[occurring].tolist()
    order = occurring[sorted(range(len(keys)), key=keys.__getitem__)]  # type: ignore[arg-type]
    steps = max(len(order) - 1, 1)
    return _in_chunks(groups, column, lambda rows: np.abs(np.cumsum(rows[:, order], axis=1)).sum(axis=1) / steps)


def _hierarchical(groups: Groups, column: str) -> FloatArray:
    tree = groups.table.sensitive[column][0].tree
    if tree is None:
        raise ConfigError(f"column {column} has no hierarchy", "give one, or use the equal or the ordered distance")
    depths, first, last = tree.depths, tree.first, tree.last
    # height of a node: the greatest distance to a leaf below it
    path_length = np.array([len(dict.fromkeys(path)) for path in depths.T.tolist()])
    height = {}
    parts: dict[int, list[int]] = {}
    for depth, row in enumerate(depths[:-1]):
        for node in dict.fromkeys(row.tolist()):
            below = depths[depth + 1, first[node] : last[node]]
            if last[node] - first[node] > 1 and node not in parts:
                parts[node] = list(dict.fromkeys(below.tolist()))
                height[node] = int(path_length[first[node] : last[node]].max()) - 1 - depth
    top = height.get(0, 1)

    def distance(rows: FloatArray) -> FloatArray:
        sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)], axis=1)
        total = np.zeros(len(rows))
        for node, children in parts.items():
            extra = sums[:, last[children]] - sums[:, first[children]]
            up = np.maximum(extra, 0.0).sum(axis=1)
            total += height[node] / top * np.minimum(up, up - extra.sum(axis=1))
        return total

    return _in_chunks(groups, column, distance)


_GROUNDS: dict[str, Callable[[Groups, str], FloatArray]] = {
    "equal": _equal,
    "ordered": _ordered,
    "hierarchical": _hierarchical,
}


@dataclass(frozen=True)
class All:
    """All of several models."""

    parts: tuple[Constraint, ...]

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether it satisfies every model."""
        ok = np.ones(len(groups), dtype=bool)
        for part in self.parts:
            if not ok.any():
                break
            ok &= part.satisfied(groups)
        return ok

    def __str__(self) -> str:
        return " and ".join(map(str, self.parts))


@dataclass(frozen=True)
class AnyOf:
    """At least one of several models, the same one for a whole class or not."""

    parts: tuple[Constraint, ...]

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether it satisfies some model."""
        ok = np.zeros(len(groups), dtype=bool)
        for part in self.parts:
            ok |= part.satisfied(groups)
        return ok

    def __str__(self) -> str:
        return "(" + " or ".join(map(str, self.parts)) + ")"


def closeness_in(constraint: Constraint) -> TCloseness | None:
    """Return the t-closeness among the models that must all hold, None when there is not exactly one."""
    found = [part for part in _leaves(constraint) if isinstance(part, TCloseness)]
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True, eq=False, repr=False)
class Guarded:
    """No row's guarded values are inferred with a chance above ``breach`` (Xiao and Tao 2006).

    Does not survive merging: a row that guards nothing may come to one that does. Searches that cut from the top, and
    ask of every part, keep it all the same.

    Parameters
    ----------
    breach : float
        Greatest chance allowed.
    column : str
        The sensitive column; no row may belong to a person with others.
    guards : str
        Name under which the table has each row's guarding node, coded.
    overlap : float64 array, shape (values, nodes)
        Share of the leaves below each value that lie below each node.
    """

    breach: float
    column: str
    guards: str
    overlap: FloatArray

    def satisfied(self, groups: Groups) -> BoolArray:
        """Tell for each group whether the share of guarded values is small enough for all who guard them."""
        group, value, counts = groups.histogram(self.column)
        total = np.maximum(groups.people(self.column), 1)
        holder, node, _ = groups.histogram(self.guards)
        chance = np.empty((len(groups), self.overlap.shape[1]))
        for at in range(self.overlap.shape[1]):
            chance[:, at] = np.bincount(group, counts * self.overlap[value, at], minlength=len(groups)) / total
        bad = chance[holder, node] > self.breach + 1e-12
        return np.bincount(holder, bad, minlength=len(groups)) == 0

    def __str__(self) -> str:
        return f"personalised privacy of {self.column} at {self.breach:g}"


def smallest_group(constraint: Constraint) -> int:
    """Return a size below which no group can satisfy the constraint (1 when k-anonymity is no part of it)."""
    if isinstance(constraint, KAnonymity):
        return math.ceil(constraint.k)
    if isinstance(constraint, All):
        return max(map(smallest_group, constraint.parts), default=1)
    if isinstance(constraint, AnyOf):
        return min(map(smallest_group, constraint.parts), default=1)
    return 1


def _leaves(constraint: Constraint) -> Iterable[Constraint]:
    return constraint.parts if isinstance(constraint, All) else (constraint,)


def require_feasible(table: CodedTable, constraint: Constraint) -> None:
    """Refuse a table that does not satisfy the constraint even as one class.

    Raises
    ------
    ConfigError
        Names the models that cannot be reached.
    """
    whole = Groups(table, np.arange(len(table)), np.zeros(1, dtype=np.intp))
    failing = [part for part in _leaves(constraint) if not part.satisfied(whole)[0]]
    if failing:
        people = "persons" if table.persons is not None else "records"
        raise ConfigError(
            f"no release of these {int(whole.sizes[0])} {people} can reach " + " and ".join(map(str, failing)),
            "ask for less, or add records: not even the table as one class satisfies it",
        )
