"""Models that compare a published table with other records: a population, or the original rows.

A record is *consistent* with a published row when every published quasi-identifier covers the record's
(`deid.disclosure.cells`). Published boxes may overlap, as local recoding makes them, so that consistency is counted and
not looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deid.base.errors import InputError, require
from deid.disclosure.cells import cover_table
from deid.disclosure.classes import EquivalenceClasses, Verdict, equivalence_classes, group_rows
from deid.disclosure.privacy import least
from deid.table.hierarchy import Hierarchy
from deid.table.microdata import Microdata, check_columns


@dataclass(frozen=True, eq=False)
class Consistency:
    """Which records and published rows go together, counted.

    Parameters
    ----------
    classes : EquivalenceClasses
        EquivalenceClasses of the published table.
    records : int64 array, shape (classes,)
        Records consistent with each class.
    rows : int64 array, shape (records,)
        Published rows consistent with each record.
    presence : float array, shape (records,)
        Sum over the consistent classes of their persons divided by their records: how likely the record is among
        the published ones (at most 1).
    """

    classes: EquivalenceClasses
    records: np.ndarray
    rows: np.ndarray
    presence: np.ndarray


class Compared(NamedTuple):
    """Columns of published boxes beside those of points: which value meets which cell, and the codes of both."""

    tables: list[np.ndarray]
    boxes: list[np.ndarray]
    points: list[np.ndarray]


def compare_columns(
    release: Microdata,
    records: Microdata,
    names: Sequence[str],
    boxes: np.ndarray,
    points: np.ndarray | slice,
    meet: Callable[[Sequence[str], Sequence[str], Hierarchy | None], np.ndarray] = cover_table,
) -> Compared:
    """Return some columns of two tables for `matches`.

    Parameters
    ----------
    release, records : Microdata
        Where the boxes are, and the points.
    names : sequence of str
        The columns, which both have.
    boxes, points : int array
        The rows to take of each.
    meet : callable
        Tells which cells meet which values: `cover_table`, or `overlap_table` where the points are boxes, too.
    """
    compared = Compared([], [], [])
    for name in names:
        ours, theirs = release.codes(name), records.codes(name)
        hierarchy = release.hierarchies.get(name, records.hierarchies.get(name))
        compared.tables.append(meet(ours.values, theirs.values, hierarchy))
        compared.boxes.append(ours.codes[boxes])
        compared.points.append(theirs.codes[points])
    return compared


def consistent_records(release: Microdata, records: Microdata) -> Consistency:
    """Count the records consistent with every published class, and the published rows consistent with every record.

    Parameters
    ----------
    release : Microdata
        The published table; its quasi-identifiers and hierarchies are used.
    records : Microdata
        Ungeneralized records, such as a population register: one row a person, with the same columns.

    Returns
    -------
    Consistency
        Counts by class and by record.

    Raises
    ------
    ConfigError
        When the records lack a quasi-identifier of the release, or the release has no row.
    """
    names = release.quasi_identifiers
    check_columns(records.frame, names)
    classes = equivalence_classes(release)
    require(len(classes), "the release has no class", "name a table with rows")
    theirs = [records.codes(name) for name in names]
    of_record, count = group_rows([(column.codes, len(column.values)) for column in theirs])
    first = np.unique(of_record, return_index=True)[1]
    compared = compare_columns(release, records, names, classes.first_rows, first)
    disjoint = all((table.sum(axis=0) <= 1).all() for table in compared.tables)
    weights = np.bincount(of_record, minlength=count)
    sums, seen, presence = (_disjoint if disjoint else _overlapping)(compared, weights, classes)
    return Consistency(classes, sums, seen[of_record], np.minimum(presence, 1.0)[of_record])


_Counts = tuple[np.ndarray, np.ndarray, np.ndarray]


def _disjoint(compared: Compared, weights: np.ndarray, classes: EquivalenceClasses) -> _Counts:
    """Count where every value is covered by at most one cell of its column: recode the records, then group."""
    columns = []
    for table, box, point in zip(*compared, strict=True):
        cell = np.where(table.any(axis=0), table.argmax(axis=0), len(table))[point]  # what no cell covers is none
        columns.append((np.concatenate([np.where(box < 0, len(table) - 1, box), cell]), len(table) + 1))
    ids, count = group_rows(columns)
    of_class, of_point = ids[: len(classes)], ids[len(classes) :]
    number = np.full(count, -1, dtype=np.int64)
    number[of_class] = np.arange(len(classes))
    of_point = number[of_point]
    held = of_point >= 0
    sums = np.bincount(of_point[held], weights=weights[held], minlength=len(classes)).astype(np.int64)
    seen = np.where(held, classes.sizes[of_point], 0)
    presence = np.where(held, classes.persons[of_point] / np.maximum(sums[of_point], 1), 0.0)
    return sums, seen, presence


def _overlapping(compared: Compared, weights: np.ndarray, classes: EquivalenceClasses) -> _Counts:
    """Count what every box covers, box by box."""
    sums = np.zeros(len(classes), dtype=np.int64)
    seen = np.zeros(len(weights), dtype=np.int64)
    presence = np.zeros(len(weights))
    for mine, left in matches(*compared):
        total = int(weights[left].sum())
        sums[mine] = total
        seen[left] += classes.sizes[mine]
        presence[left] += classes.persons[mine] / total
    return sums, seen, presence


def matches(
    tables: Sequence[np.ndarray], boxes: Sequence[np.ndarray], points: Sequence[np.ndarray]
) -> Iterator[tuple[int, np.ndarray]]:
    """Find the points in every box by descending column by column.

    Boxes that share a cell share the points that it lets through, so that most of them are looked at once.

    Parameters
    ----------
    tables : sequence of bool array, shape (cells + 1, values + 1)
        For each column, which cell lets which value through; the last of each are those of code -1.
    boxes, points : sequence of int array
        For each column, the cell of every box and the value of every point. No two boxes are the same.

    Yields
    ------
    box : int
        Number of a box with a point; boxes without any do not occur.
    inside : int64 array
        Numbers of the points in it.
    """
    order = sorted(range(len(tables)), key=lambda i: (float(tables[i].mean()), i))  # selective columns first
    stack = [(0, np.arange(len(boxes[0])), np.arange(len(points[0])))]
    while stack:
        depth, mine, left = stack.pop()
        if depth == len(order):
            yield int(mine[0]), left
            continue
        i = order[depth]
        cells = boxes[i][mine]
        there = points[i][left]
        sorting = np.argsort(cells, kind="stable")
        cuts = np.flatnonzero(np.diff(cells[sorting])) + 1
        for group in np.split(sorting, cuts):
            through = left[tables[i][cells[group[0]], there]]
            if len(through):
                stack.append((depth + 1, mine[group], through))


def match_population(release: Microdata, population: Microdata) -> Consistency:
    """Like `consistent_records`, for a population that the published persons belong to.

    Parameters
    ----------
    release : Microdata
        The published table.
    population : Microdata
        One row a person, ungeneralized, the published persons included.

    Returns
    -------
    Consistency
        Counts by class and by member of the population.

    Raises
    ------
    InputError
        When a class has fewer records in the population than in the release: it cannot be its population.
    """
    found = consistent_records(release, population)
    missing = np.flatnonzero(found.records < found.classes.persons)
    if len(missing):
        row = found.classes.rows(int(missing[0]))[0] + 1
        raise InputError(
            f"{len(missing)} classes have fewer records in the population than in the release",
            "the population must contain every published person, one row each, in the same coding",
            "population",
            f"class of row {row} of the release",
        )
    return found


def k_map(release: Microdata, population: Microdata, k: int) -> Verdict:
    """Verify k-map (Sweeney 2001): every published row matches at least k records of the population.

    Parameters and errors as those of `match_population`.

    Returns
    -------
    Verdict
        Level: the least number of records that match a class; witness: rows of that class.
    """
    require(k >= 1, "k must be at least 1", "for example k = 2")
    found = match_population(release, population)
    return least(found.records, k, found.classes)


def one_k_anonymity(release: Microdata, originals: Microdata, k: int) -> Verdict:
    """Verify (1,k)-anonymity (Gionis, Mazza, Tassa, ICDE 2008): each original is consistent with k published rows.

    Parameters and errors as those of `consistent_records`, with the original table as the records.

    Returns
    -------
    Verdict
        Level: the least number of published rows consistent with an original; witness: that original's row.
    """
    require(k >= 1, "k must be at least 1", "for example k = 2")
    found = consistent_records(release.with_suppressed, originals)
    worst = int(np.argmin(found.rows))
    return Verdict(bool(found.rows[worst] >= k), float(found.rows[worst]), (worst,))


def k1_anonymity(release: Microdata, originals: Microdata, k: int) -> Verdict:
    """Verify (k,1)-anonymity (the same paper): each published row is consistent with k originals.

    Parameters and errors as those of `consistent_records`, with the original table as the records.

    Returns
    -------
    Verdict
        Level: the least number of originals consistent with a published row; witness: rows of its class.
    """
    require(k >= 1, "k must be at least 1", "for example k = 2")
    found = consistent_records(release.with_suppressed, originals)
    return least(found.records, k, found.classes)


def kk_anonymity(release: Microdata, originals: Microdata, k: int) -> Verdict:
    """Verify (k,k)-anonymity (the same paper): (1,k) and (k,1) both hold; arguments and errors as theirs.

    Returns
    -------
    Verdict
        The one of the two with the smaller level.
    """
    both = (one_k_anonymity(release, originals, k), k1_anonymity(release, originals, k))
    return min(both, key=lambda verdict: verdict.level)


def delta_presence(release: Microdata, population: Microdata, low: float, high: float) -> Verdict:
    """Verify delta-presence (Nergiz, Atzori, Clifton, SIGMOD 2007).

    For every record of the population the chance that it is in the release, published persons over matching records of
    its class, lies between ``low`` and ``high``. Where classes overlap, the chances of a record's classes are added.

    Parameters
    ----------
    release, population : Microdata
        The published table, and one row a person of the population, ungeneralized, the published persons included.
    low, high : float
        Least and greatest chance allowed, 0 <= low <= high <= 1.

    Returns
    -------
    Verdict
        Level: least and greatest chance; witness: a row of the population.

    Raises
    ------
    ConfigError
        When the bounds are not from 0 to 1, in order, or the population lacks a quasi-identifier.
    InputError
        When a class has fewer records in the population than in the release.
    """
    require(0 <= low <= high <= 1, "the bounds of presence are not from 0 to 1, in order", "for example 0 and 0.5")
    chance = match_population(release, population).presence
    least_row, most_row = int(np.argmin(chance)), int(np.argmax(chance))
    level = (float(chance[least_row]), float(chance[most_row]))
    slack = 1e-12
    too_low = level[0] < low - slack
    return Verdict(not too_low and level[1] <= high + slack, level, (least_row if too_low else most_row,))
