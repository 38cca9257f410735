"""The composition attack: two releases of overlapping persons, each safe, disclose together.

Ganta, Kasiviswanathan, Smith (KDD 2008). Whoever knows a person's quasi-identifiers finds the classes that the person
can be in, in both releases; the sensitive value lies among the values of the first and among those of the second.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from deid.base.errors import require
from deid.disclosure.cells import overlap_table
from deid.disclosure.classes import EquivalenceClasses, ValueCounts, equivalence_classes, group_rows, value_counts
from deid.disclosure.consistency import compare_columns, matches
from deid.table.microdata import Microdata, check_columns, meaning


@dataclass(frozen=True)
class Composition:
    """What two releases disclose together.

    Parameters
    ----------
    targets : int
        Persons attacked: the known ones that both releases can contain, or, when none are known, the pairs of classes
        that a person can be in.
    candidates : tuple of float
        Mean number of sensitive values that remain for a target: by the first release, by the second, by both.
    disclosed : float
        Share of the targets with one value left by both releases.
    disclosed_before : float
        Share of the targets with one value left by one of the releases alone.
    rows : tuple of int
        Rows (from 0, at most ten) of the first release, or of the known persons, with such targets.
    """

    targets: int
    candidates: tuple[float, float, float]
    disclosed: float
    disclosed_before: float
    rows: tuple[int, ...]


def composition_attack(
    release: Microdata, other: Microdata, sensitive: str, known: Microdata | None = None
) -> Composition:
    """Intersect what two releases say.

    Parameters
    ----------
    release, other : Microdata
        Two releases with the sensitive column. Quasi-identifiers that both have are used to find a person in both.
    sensitive : str
        The column under attack.
    known : Microdata, optional
        Persons whose quasi-identifiers the attacker knows, ungeneralized; best the original table. Without it every
        pair of classes that a person could be in is a target, which bounds the risk from above.

    Returns
    -------
    Composition
        How many values remain for a target, and the share of targets with one; all zero where no person can be in both
        releases.

    Raises
    ------
    ConfigError
        When a column is missing, or the releases share no quasi-identifier.
    """
    shared = tuple(name for name in release.quasi_identifiers if name in other.quasi_identifiers)
    require(shared, "the releases have no quasi-identifier in common", "name the columns that both have")
    sides = (value_counts(release, sensitive), value_counts(other, sensitive))
    kinds = {release.kind(sensitive), other.kind(sensitive)}
    kind = kinds.pop() if len(kinds) == 1 else "nominal"
    said = [[meaning(value, kind) for value in side.values] for side in sides]
    places = {value: at for at, value in enumerate(dict.fromkeys(itertools.chain(*said)))}
    candidates = [
        _candidates(side, [places[value] for value in own], len(places)) for side, own in zip(sides, said, strict=True)
    ]
    if known is None:
        first, second = _pairs(release, other, shared, sides[0].classes, sides[1].classes)
        left, right = candidates[0][first], candidates[1][second]
        rows = sides[0].classes.first_rows[first]
    else:
        check_columns(known.frame, shared)
        left, right = (
            _of_persons(table, side.classes, known, candidate)
            for table, side, candidate in zip((release, other), sides, candidates, strict=True)
        )
        rows = np.arange(len(left))
    both = left & right
    counts = [side.sum(axis=1) for side in (left, right, both)]
    possible = counts[2] > 0  # an empty intersection: in one release alone, or no person can be in both classes
    if not possible.any():
        return Composition(0, (0.0, 0.0, 0.0), 0.0, 0.0, ())
    counts, rows = [side[possible] for side in counts], rows[possible]
    caught = counts[2] == 1
    return Composition(
        targets=len(rows),
        candidates=(float(counts[0].mean()), float(counts[1].mean()), float(counts[2].mean())),
        disclosed=float(caught.mean()),
        disclosed_before=float(((counts[0] == 1) | (counts[1] == 1)).mean()),
        rows=tuple(int(row) for row in np.unique(rows[caught])[:10]),
    )


def _candidates(counts: ValueCounts, places: list[int], size: int) -> np.ndarray:
    """Return which values, by their places, occur in which class; bool array, shape (classes, size)."""
    table = np.zeros((len(counts.classes), size), dtype=bool)
    table[counts.owners, np.array(places, dtype=np.int64)[counts.codes]] = True
    return table


def _pairs(
    release: Microdata, other: Microdata, shared: tuple[str, ...], ours: EquivalenceClasses, theirs: EquivalenceClasses
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of classes whose boxes meet."""
    tables, boxes, points = compare_columns(release, other, shared, ours.first_rows, theirs.first_rows, overlap_table)
    # classes can be the same on the shared columns: look at distinct boxes, then go back to classes
    of_class, count = group_rows([(box, len(table)) for box, table in zip(boxes, tables, strict=True)])
    distinct = np.unique(of_class, return_index=True)[1]
    found = [np.zeros(0, dtype=np.int64)] * count
    for box, inside in matches(tables, [box[distinct] for box in boxes], points):
        found[box] = inside
    partners = [found[number] for number in of_class]
    first = np.repeat(np.arange(len(ours)), [len(inside) for inside in partners])
    return first, np.concatenate(partners)


def _of_persons(
    release: Microdata, classes: EquivalenceClasses, known: Microdata, candidates: np.ndarray
) -> np.ndarray:
    """Return the values that each known person can have; bool array, shape (persons, values)."""
    names = tuple(name for name in release.quasi_identifiers if name in known.frame.columns)
    of_class = equivalence_classes(release, names).ids[classes.first_rows]
    distinct = np.unique(of_class, return_index=True)[1]
    merged = np.zeros((len(distinct), candidates.shape[1]), dtype=bool)
    np.logical_or.at(merged, of_class, candidates)
    possible = np.zeros((len(known), candidates.shape[1]), dtype=bool)
    for box, inside in matches(*compare_columns(release, known, names, classes.first_rows[distinct], slice(None))):
        possible[inside] |= merged[box]
    return possible
