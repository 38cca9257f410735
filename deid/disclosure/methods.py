"""Methods that make a table releasable, by name: each turns a coded table and a constraint into what is published."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from deid.base.arrays import BoolArray, IndexArray
from deid.base.errors import ConfigError, require
from deid.base.nearest import nearest
from deid.base.options import option
from deid.disclosure.clustering import bottom_up, hybrid, top_down
from deid.disclosure.constraints import Constraint, KAnonymity
from deid.disclosure.encoding import CodedTable, Ints, boxes, class_ids
from deid.disclosure.full_domain import (
    MAX_NODES,
    FullDomain,
    greedy_levels,
    incognito_levels,
    lattice_size,
    level_ranges,
    optimal_levels,
)
from deid.disclosure.gathering import gather
from deid.disclosure.groups import groups_of
from deid.disclosure.kk_anonymity import kk_anonymity
from deid.disclosure.local_recoding import local_recoding, mean_loss
from deid.disclosure.mondrian import mondrian
from deid.disclosure.perturbation import microaggregation_groups
from deid.disclosure.recoding import EVERYTHING

Region = tuple[Ints, Ints]
HOW = "How it is done"
_LOCAL_ROWS = 2_000_000
_LARGE = 300_000
_CLUSTER_ROWS = 2_000


@dataclass(frozen=True)
class MethodOptions:
    """What methods can be told beside the constraint.

    ``seed`` chooses the columns of the rounds of local recoding; with ``hierarchical`` Mondrian cuts columns that have
    a hierarchy along it, not at the median. ``jobs`` processes find what one finds.
    """

    PANEL: ClassVar[str] = HOW
    suppression: float = option(0.0, "Share of rows that full-domain methods and --scheme may suppress.", metavar="P")
    rounds: int | None = option(None, "Effort of local recoding: more rounds lose less; by default 1 to 5.")
    seed: int = option(0, "Seed of local recoding.", minimum=0)
    hierarchical: bool = True
    jobs: int = option(1, "Processes; 0 for one a core. Local recoding of more than 200,000 rows, and --memory.")

    def __post_init__(self) -> None:
        if not 0 <= self.suppression <= 1:
            raise ConfigError(f"a share of {self.suppression:g} to suppress", "give a number from 0 to 1, such as 0.05")
        if self.rounds is not None and self.rounds < 0:
            raise ConfigError("rounds below 0", "0 is the least")
        require(self.seed >= 0, "a seed below 0", "0 is the least")
        require(self.jobs >= 0, "the number of jobs must be at least 1", "such as --jobs 2; 0 for one a core")


@dataclass(frozen=True)
class MapOptions(MethodOptions):
    """What the map is drawn of."""

    ks: Sequence[int] = option((2, 5, 10, 25, 50), "Values of k.", metavar="N,...")
    l: int | None = option(None, "Distinct sensitive values in every class.")  # noqa: E741
    suppression: float = option(0.05, "Share of rows that full-domain methods may suppress.", metavar="P", panel=HOW)
    methods: str = option("local,mondrian,optimal", "Methods, see deid anonymize.", metavar="A,B", panel=HOW)
    min_utility: float | None = option(
        None, "Choose the least risk with at least this utility (1 - NCP).", metavar="U", panel="Choices"
    )
    max_risk: float | None = option(
        None, "Choose the greatest utility with at most this average risk.", metavar="R", panel="Choices"
    )


@dataclass(frozen=True, eq=False)
class Recoding:
    """What a method found.

    Parameters
    ----------
    classes : ndarray of intp, shape [n]
        Group of each row.
    suppressed : ndarray of bool, shape [n], optional
        Rows that are suppressed.
    regions : list of (low, high), optional
        By column, the range of codes [groups] that each group publishes; by default the least one.
    levels : mapping of str to int
        Level of each column, for full-domain recoding.
    overlapping : bool
        Published cells of different rows overlap instead of being equal, as for (k,k)-anonymity.
    """

    classes: IndexArray
    suppressed: BoolArray | None = None
    regions: list[Region] | None = None
    levels: Mapping[str, int] = field(default_factory=dict)
    overlapping: bool = False


def _mondrian(table: CodedTable, constraint: Constraint, options: MethodOptions, target: Ints | None) -> Recoding:
    if target is not None:
        return Recoding(mondrian(table, constraint, target=target))
    small, ids = table.collapse()
    return Recoding(mondrian(small, constraint, hierarchical=options.hierarchical)[ids])


def _relaxed(table: CodedTable, constraint: Constraint, options: MethodOptions, target: Ints | None) -> Recoding:
    return Recoding(mondrian(table, constraint, mode="relaxed", hierarchical=False, target=target))


def _local(table: CodedTable, constraint: Constraint, options: MethodOptions, target: Ints | None) -> Recoding:
    found = local_recoding(table, constraint, rounds=options.rounds, seed=options.seed, jobs=options.jobs)
    return Recoding(found)


def _full_domain(
    search: Callable[[CodedTable, Constraint, float], FullDomain],
    table: CodedTable,
    constraint: Constraint,
    options: MethodOptions,
    target: Ints | None,
) -> Recoding:
    small, ids = table.collapse()
    found = search(small, constraint, options.suppression)
    regions = []
    for c, (column, level) in enumerate(zip(table.columns, found.levels, strict=True)):
        low, high = level_ranges(column, level)
        regions.append((low[small.codes[:, c]], high[small.codes[:, c]]))
    levels = {column.name: level for column, level in zip(table.columns, found.levels, strict=True)}
    return Recoding(ids, found.suppressed[ids], regions, levels)


def _cells(table: CodedTable, constraint: Constraint, options: MethodOptions, target: Ints | None) -> Recoding:
    """Value suppression: local recoding where a cell is either as it was or ``*``."""
    flat = CodedTable(
        tuple(column.flat() for column in table.columns), table.codes, table.sensitive, table.persons, table.weights
    )
    classes = local_recoding(flat, constraint, rounds=options.rounds, seed=options.seed, jobs=options.jobs)
    low, high = boxes(table.codes, classes, int(classes.max()) + 1)
    regions = []
    for c in range(len(table.columns)):
        general = low[:, c] != high[:, c]
        regions.append((np.where(general, EVERYTHING, low[:, c]), np.where(general, EVERYTHING, high[:, c])))
    return Recoding(classes, None, regions)


def _records(table: CodedTable, constraint: Constraint, options: MethodOptions, target: Ints | None) -> Recoding:
    """Record suppression: rows of classes that violate the constraint are dropped, all others stay as they are."""
    ids, index = class_ids(table.codes, [column.size for column in table.columns])
    bad = ~constraint.satisfied(groups_of(table, ids, len(index)))[ids]
    if bad.sum() > options.suppression * len(table) + 1e-9:
        raise ConfigError(
            f"{constraint} needs {bad.mean():.1%} of the rows suppressed, {options.suppression:.1%} may be",
            "allow more suppression, or generalize: local, mondrian",
        )
    return Recoding(ids, bad)


def _kk(table: CodedTable, constraint: Constraint, options: MethodOptions, target: Ints | None) -> Recoding:
    if not isinstance(constraint, KAnonymity):
        raise ConfigError("(k,k)-anonymity takes no other model beside k", "ask for k alone, or use local")
    low, high = kk_anonymity(table, constraint.k)
    regions = [(low[:, c], high[:, c]) for c in range(len(table.columns))]
    return Recoding(np.arange(len(table)), None, regions, overlapping=True)


def _mdav(table: CodedTable, constraint: Constraint, options: MethodOptions, target: Ints | None) -> Recoding:
    if not isinstance(constraint, KAnonymity) or table.persons is not None:
        raise ConfigError("microaggregation takes k alone, and one row a person", "use local or mondrian")
    points = table.codes / np.maximum(table.codes.max(axis=0), 1)
    return Recoding(microaggregation_groups(points, constraint.k).astype(np.intp))


def _gather(table: CodedTable, constraint: Constraint, options: MethodOptions, target: Ints | None) -> Recoding:
    if not isinstance(constraint, KAnonymity) or table.persons is not None:
        raise ConfigError("r-gather takes k alone, and one row a person", "use local or mondrian")
    return Recoding(gather(table, constraint.k).classes)


Method = Callable[[CodedTable, Constraint, MethodOptions, "Ints | None"], Recoding]

METHODS: dict[str, Method] = {
    "local": _local,
    "mondrian": _mondrian,
    "relaxed": _relaxed,
    "optimal": functools.partial(_full_domain, optimal_levels),
    "greedy": functools.partial(_full_domain, greedy_levels),
    "bottom-up": lambda table, constraint, options, target: Recoding(bottom_up(table, constraint)),
    "top-down": lambda table, constraint, options, target: Recoding(top_down(table, constraint)),
    "hybrid": lambda table, constraint, options, target: Recoding(hybrid(table, constraint)),
    "mdav": _mdav,
    "kk": _kk,
    "cells": _cells,
    "records": _records,
    "incognito": functools.partial(_full_domain, incognito_levels),
    "r-gather": _gather,
}
"""All methods by name. local: local recoding along hierarchies; mondrian, relaxed: multidimensional cuts; optimal,
greedy, incognito: full-domain levels; bottom-up, top-down, hybrid: clustering; mdav: groups of microaggregation,
generalized; kk: (k,k)-anonymity; cells, records: suppression only; r-gather: clusters around centres."""


def recode_best(table: CodedTable, constraint: Constraint, options: MethodOptions) -> tuple[str, Recoding]:
    """Return the method with the least loss among those that suit the size of the table, and what it found.

    Mondrian for very large tables, else local recoding; for small ones clustering is tried too.
    """
    names = ["local"] if _rows_of_eight(len(table), len(table.columns)) <= _LOCAL_ROWS else ["mondrian"]
    if len(table) <= _CLUSTER_ROWS:
        names += ["bottom-up", "hybrid"]
    found = {name: recode(table, constraint, name, options) for name in names}
    best = min(names, key=lambda name: mean_loss(table, found[name].classes))
    return best, found[best]


def _rows_of_eight(rows: int, columns: int) -> float:
    """Return how many rows of eight columns cost as much as these."""
    return rows * max(columns, 8) / 8


def said_of_size(rows: int, columns: int) -> str:
    """Return what must be said where the size of a table decides between two methods: what the other one would give.

    >>> said_of_size(30_000, 8)
    ''
    """
    size = _rows_of_eight(rows, columns)
    if size <= _LARGE:
        return ""
    if size <= _LOCAL_ROWS:
        return (
            f"auto took local recoding for {rows:,} rows: about {20 * size / 1e6:.0f} s of a core, --jobs shares them; "
            "--method mondrian takes a fifth of that and loses two to four times as much"
        )
    return (
        f"auto took mondrian for {rows:,} rows; --method local loses a half to a quarter of that, in about "
        f"{20 * size / 1e6 / 60:.0f} minutes of a core and {0.6 * size / 1e6:.0f} GB (--jobs shares the time)"
    )


def recode(
    table: CodedTable, constraint: Constraint, method: str, options: MethodOptions, target: Ints | None = None
) -> Recoding:
    """Run a method, and suppress what still violates the constraint once suppressed rows are gone.

    Models that compare a class with the table change their mind when rows leave the table.

    Parameters
    ----------
    table : CodedTable
        The original table.
    constraint : Constraint
        What every class must fulfil.
    method : str
        One of `METHODS`; ``optimal`` becomes ``greedy`` where the lattice is too large.
    options : MethodOptions
        Share that may be suppressed, effort and seed.
    target : int32 array, shape (rows,), optional
        Class labels, for Mondrian's cuts.

    Returns
    -------
    Recoding
        Class of each row, and the rows to suppress.

    Raises
    ------
    ConfigError
        When there is no such method, when it does not take the constraint, or when nothing reaches the constraint.
    """
    require(method in METHODS, f"there is no method {method!r}", nearest(method, METHODS, "the methods are"))
    if method == "optimal" and lattice_size(table) > MAX_NODES:
        method = "greedy"
    for share in (options.suppression, options.suppression / 4, 0.0):
        found = METHODS[method](table, constraint, replace(options, suppression=share), target)
        settled = _settle(table, constraint, found, options.suppression)
        if settled is not None:
            return settled
    raise ConfigError(f"too many rows would be suppressed for {constraint}", "ask for less, or use the method local")


def _settle(table: CodedTable, constraint: Constraint, found: Recoding, share: float) -> Recoding | None:
    """Suppress classes that fail once the suppressed rows are gone; None when more than a share would be."""
    if found.suppressed is None or not found.suppressed.any() or isinstance(constraint, KAnonymity):
        return found
    suppressed = found.suppressed.copy()
    while True:
        kept = np.flatnonzero(~suppressed)
        if not len(kept) or suppressed.sum() > share * len(table) + 1e-9:
            return None
        numbers, classes = np.unique(found.classes[kept], return_inverse=True)
        bad = ~constraint.satisfied(groups_of(table.take(kept), classes, len(numbers)))
        if not bad.any():
            return Recoding(found.classes, suppressed, found.regions, found.levels, found.overlapping)
        suppressed[kept[bad[classes]]] = True
