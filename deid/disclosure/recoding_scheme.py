"""Which recoding model an output follows, in the words of LeFevre et al. (SIGMOD 2005, ICDE 2006).

From the strictest to the loosest: *full-domain* (a column's values all go to one level of its hierarchy), *global* (one
map for each column), *multidimensional* (one map on whole vectors of quasi-identifiers) and *local* (rows with equal
originals may be published differently).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.errors import InputError
from deid.disclosure.classes import group_rows, suppressed_rows
from deid.table.hierarchy import Hierarchy
from deid.table.microdata import NA_CODE, SUPPRESSED, Microdata, check_columns

SCHEMES = ("full-domain", "global", "multidimensional", "local")
"""Recoding models, the strictest first."""


@dataclass(frozen=True)
class TableRecoding:
    """How a table was recoded.

    Parameters
    ----------
    scheme : str
        The strictest of `SCHEMES` that explains the output.
    levels : dict of str to int or None
        Level of each column that has one (0: unchanged), None for the others.
    suppressed : int
        Rows of which nothing but ``*`` is left; they are no part of the classification.
    """

    scheme: str
    levels: dict[str, int | None]
    suppressed: int


def classify_recoding(original: Microdata, release: Microdata, rows: Sequence[int] | None = None) -> TableRecoding:
    """Tell which recoding model turns one table into the other.

    Parameters
    ----------
    original, release : Microdata
        Tables with the same quasi-identifiers.
    rows : sequence of int, optional
        Row of the original table (from 0) for each published row; by default the tables have the same rows in the
        same order.

    Raises
    ------
    InputError
        When the rows do not fit together.
    """
    names = release.quasi_identifiers
    check_columns(original.frame, names)
    places = np.arange(len(release)) if rows is None else np.asarray(rows, dtype=np.int64)
    fits = len(places) == len(release) and (rows is not None or len(original) == len(release))
    if not fits or (len(places) and not (places.min() >= 0 and places.max() < len(original))):
        raise InputError("the tables have different rows", "give the original row of each published row")
    before = [original.codes(name) for name in names]
    after = [release.codes(name) for name in names]
    gone = suppressed_rows(release)
    kept = np.flatnonzero(~gone)
    levels: dict[str, int | None] = {}
    single = True
    for name, old, new in zip(names, before, after, strict=True):
        pairs = {(int(a), int(b)) for a, b in zip(*_distinct(old.codes[places[kept]], new.codes[kept]), strict=True)}
        one_map = len({a for a, _ in pairs}) == len(pairs)
        single &= one_map
        texts = [(_text(old.values, a), _text(new.values, b)) for a, b in pairs]
        levels[name] = _level(texts, original.hierarchies.get(name)) if one_map else None
    if single:
        scheme = "full-domain" if all(level is not None for level in levels.values()) else "global"
    else:
        vectors, count = group_rows([(column.codes[places[kept]], len(column.values)) for column in before])
        outputs, _ = group_rows([(column.codes[kept], len(column.values)) for column in after])
        scheme = "multidimensional" if len(_distinct(vectors, outputs)[0]) == count else "local"
    return TableRecoding(scheme, levels, int(gone.sum()))


def _distinct(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct pairs of two columns of codes."""
    room = int(b.max(initial=0)) + 2
    keys = np.unique((a.astype(np.int64) + 1) * room + b + 1)
    return keys // room - 1, keys % room - 1


def _text(values: tuple[str, ...], code: int) -> str | None:
    return None if code == NA_CODE else values[code]


def _level(pairs: list[tuple[str | None, str | None]], hierarchy: Hierarchy | None) -> int | None:
    """Return the level that all pairs (value, published value) agree with, None where there is none."""
    pairs = [pair for pair in pairs if pair[0] is not None or pair[1] not in (None, SUPPRESSED)]
    if all(old == new for old, new in pairs):
        return 0
    if hierarchy is None:
        return 1 if all(new == SUPPRESSED for _, new in pairs) else None
    for level in range(1, hierarchy.height + 1):
        if all(old is not None and old in hierarchy and hierarchy.generalize(old, level) == new for old, new in pairs):
            return level
    top = hierarchy.height
    return top if all(new in (SUPPRESSED, hierarchy.root) for _, new in pairs) else None
