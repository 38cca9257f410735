"""Binning of genotypes: values that are rare in a record, and combinations rare among records, are generalized.

Lin, Hewett and Altman, Using binning to maintain confidentiality of medical data (2002). Two bin sizes: within a record
every published value (but the root of the hierarchy) stands at ``within`` sites or more; every combination of the
protected sites, up to ``size`` of them at a time, is held by ``across`` records or more.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from deid.base.errors import ConfigError, InputError, require
from deid.table.hierarchy import Hierarchy


@dataclass(frozen=True)
class Binned:
    """Published genotypes."""

    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    """Published value of each record and site, sorted: their order says nothing of that of the originals."""
    order: tuple[int, ...] = field(repr=False)
    """Place of the original of each published record: not for publication."""
    raised: int
    """Cells that were generalized."""
    loss: float
    """Mean over the cells of (leaves below the published value - 1) / (leaves - 1)."""


def bin_genotypes(
    rows: Sequence[Sequence[str]],
    hierarchy: Hierarchy,
    *,
    within: int,
    across: int,
    protected: Sequence[int] | None = None,
    size: int = 2,
) -> Binned:
    """Generalize genotypes until both bin sizes hold; the order in which records are given changes nothing.

    Parameters
    ----------
    rows : sequence of sequence of str
        Genotype of each record (row) at each site; values of the hierarchy.
    hierarchy : Hierarchy
    within, across : int
        The bin sizes B and B'.
    protected : sequence of int, optional
        Sites whose combinations are protected; all by default.
    size : int
        Largest combination; their number grows with its power.

    Returns
    -------
    Binned
        The published genotypes, with what was raised and lost.

    Raises
    ------
    ConfigError
        When a bin size or the size of combinations is less than 1.
    InputError
        When there are fewer records than ``across``, records of unequal length, or a value outside the hierarchy.
    """
    _check_sizes(within, across, size)
    require(len(rows) >= across, f"fewer than {across} records", "lower the bin size, or add records", kind=InputError)
    if len({len(row) for row in rows}) > 1:
        raise InputError("records of unequal length", "give each record a value at every site")
    for number, row in enumerate(rows, 1):
        if any(value not in hierarchy for value in row):
            raise InputError("a genotype is not in the hierarchy", "add it, or correct it", "", f"record {number}")
    sites = list(range(len(rows[0])) if protected is None else protected)
    cells = [list(row) for row in rows]
    changed = True
    while changed:  # every round raises a cell, so it ends at the root at the latest
        changed = False
        for row in cells:
            changed |= _bin_within(row, hierarchy, within)
        changed |= _bin_across(cells, hierarchy, across, sites, size)
    raised = sum(a != b for new, old in zip(cells, rows, strict=True) for a, b in zip(new, old, strict=True))
    span = max(1, hierarchy.leaf_count(hierarchy.root) - 1)
    total = sum(hierarchy.leaf_count(value) - 1 for row in cells for value in row) / span
    order = tuple(sorted(range(len(cells)), key=cells.__getitem__))
    return Binned(tuple(tuple(cells[i]) for i in order), order, raised, total / max(1, sum(map(len, cells))))


def _check_sizes(within: int, across: int, size: int) -> None:
    if min(within, across, size) < 1:
        raise ConfigError("bin sizes and the size of combinations must be at least 1", "such as --within 3 --across 5")


def _bin_within(row: list[str], hierarchy: Hierarchy, least: int) -> bool:
    """Raise the rarest values of a record, one class at a time, until each stands at ``least`` sites."""
    changed = False
    while True:
        counts = Counter(value for value in row if value != hierarchy.root)
        rare = [value for value, count in counts.items() if count < least]
        if not rare:
            return changed
        value = min(rare, key=lambda v: (counts[v], hierarchy.level(v), v))
        above = hierarchy.parent(value) or hierarchy.root
        row[:] = [above if v == value else v for v in row]
        changed = True


def _combinations(sites: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    for length in range(1, min(size, len(sites)) + 1):
        yield from itertools.combinations(sites, length)


def _bin_across(cells: list[list[str]], hierarchy: Hierarchy, least: int, sites: Sequence[int], size: int) -> bool:
    """Join the rarest combinations of protected sites with the combination that is nearest."""
    changed = False
    for chosen in _combinations(sites, size):
        while True:
            held: dict[tuple[str, ...], list[int]] = defaultdict(list)
            for i, row in enumerate(cells):
                held[tuple(row[s] for s in chosen)].append(i)
            rare = [key for key, members in held.items() if len(members) < least]
            if not rare:
                break
            key = min(rare, key=lambda k: (len(held[k]), k))
            other = min((k for k in held if k != key), key=lambda k: (_cost(key, k, held, hierarchy), k))
            join = [hierarchy.lowest_common_ancestor(pair) for pair in zip(key, other, strict=True)]
            for i in (*held[key], *held[other]):
                for site, value in zip(chosen, join, strict=True):
                    cells[i][site] = value
            changed = True
    return changed


def _cost(
    key: tuple[str, ...], other: tuple[str, ...], held: dict[tuple[str, ...], list[int]], hierarchy: Hierarchy
) -> int:
    """Return how many leaves joining two combinations adds, over the records that hold them."""
    cost = 0
    for a, b in zip(key, other, strict=True):
        joined = hierarchy.leaf_count(hierarchy.lowest_common_ancestor((a, b)))
        cost += (joined - hierarchy.leaf_count(a)) * len(held[key])
        cost += (joined - hierarchy.leaf_count(b)) * len(held[other])
    return cost


def check_bins(
    rows: Sequence[Sequence[str]],
    root: str,
    *,
    within: int,
    across: int,
    protected: Sequence[int] | None = None,
    size: int = 2,
) -> tuple[bool, str]:
    """Verify published genotypes on their own.

    Parameters
    ----------
    rows : sequence of sequence of str
        Published value of each record (row) at each site; at least one record.
    root : str
        Root of the hierarchy: it may stand at any number of sites.
    within, across, protected, size
        As those of `bin_genotypes`.

    Returns
    -------
    bool
        Whether both bin sizes hold.
    str
        What does not, by place; empty if all holds.
    """
    _check_sizes(within, across, size)
    for number, row in enumerate(rows, 1):
        if any(count < within for value, count in Counter(row).items() if value != root):
            return False, f"record {number}: a value stands at fewer than {within} sites"
    sites = list(range(len(rows[0])) if protected is None else protected)
    for chosen in _combinations(sites, size):
        rarest = min(Counter(tuple(row[s] for s in chosen) for row in rows).values())
        if rarest < across:
            return False, f"sites {', '.join(str(s + 1) for s in chosen)}: a combination is held by {rarest} records"
    return True, ""
