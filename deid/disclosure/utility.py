"""How much a published table lost: measures over its cells and classes.

All compare a release with the original table. Rows that were dropped, and rows of which nothing but ``*`` is left, are
suppressed: they count as lost whole. Measures over queries are in `deid.disclosure.queries`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deid.base.errors import InputError, require
from deid.disclosure.cells import Domain
from deid.disclosure.classes import EquivalenceClasses, equivalence_classes, suppressed_rows
from deid.table.microdata import Microdata, check_columns


def discernibility(sizes: np.ndarray, suppressed: int = 0) -> int:
    """Return DM (Bayardo and Agrawal, ICDE 2005): sum of squared class sizes, and all rows for each suppressed one.

    Parameters
    ----------
    sizes : int array
        Sizes of the classes that were kept.
    suppressed : int
        Rows that were not.
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    total = int(sizes.sum()) + suppressed
    return int((sizes**2).sum()) + total * suppressed


def average_class_size(rows: int, classes: int, k: int) -> float:
    """Return C_AVG (LeFevre et al., ICDE 2006): rows / (classes k), with k the privacy parameter asked for.

    Raises
    ------
    ConfigError
        When there is no class, or k is below 1.
    """
    require(classes and k >= 1, "no class, or k below 1", "C_AVG compares kept classes with the k that was asked for")
    return rows / (classes * k)


@dataclass(frozen=True)
class Loss:
    """Loss of a release against its original.

    Parameters
    ----------
    rows, suppressed, classes : int
        Rows of the original, those that were suppressed, classes of the others.
    dm : int
        Discernibility.
    c_avg : float
        Normalized average class size.
    ncp : float
        Normalized certainty penalty, mean over all cells with the columns' weights: 0 (nothing lost) to 1 (all).
    ncp_total : float
        The same, summed over rows and weighted columns.
    lm : float
        Iyengar's loss metric, mean over all cells.
    um : float
        Utility measure (Loukides and Shao 2007): mean over the classes of their summed weighted penalties, whatever
        their sizes. The source names it only; this is the reading chosen.
    columns : dict of str to float
        Normalized certainty penalty of each column.
    """

    rows: int
    suppressed: int
    classes: int
    dm: int
    c_avg: float
    ncp: float
    ncp_total: float
    lm: float
    um: float
    columns: dict[str, float]


def information_loss(original: Microdata, release: Microdata, k: int = 1) -> Loss:
    """Measure what a release lost.

    Parameters
    ----------
    original, release : Microdata
        The original's columns, kinds and hierarchies are the yardstick; the release's quasi-identifiers are measured.
    k : int
        The k that was asked for, for C_AVG.

    Returns
    -------
    Loss
        The measures; ``c_avg`` is infinite where every row was suppressed.

    Raises
    ------
    ConfigError
        When the original lacks a column of the release.
    InputError
        When the release has more rows than the original.
    """
    names = release.quasi_identifiers
    check_columns(original.frame, names)
    total = len(original)
    if len(release) > total:
        raise InputError("the release has more rows than the original", "name the table that it was made from")
    gone = suppressed_rows(release)
    suppressed = total - len(release) + int(gone.sum())
    classes = equivalence_classes(release)
    columns: dict[str, float] = {}
    lm = ncp_total = 0.0
    of_class = np.zeros(len(classes))
    for name in names:
        domain, coded = Domain.of(original, name), release.codes(name)
        penalty = domain.penalty(coded.values)[coded.codes]
        lost = float(penalty[~gone].sum()) + suppressed
        columns[name] = lost / total
        ncp_total += lost
        lm += (float(domain.loss(coded.values)[coded.codes][~gone].sum()) + suppressed) / total / len(names)
        of_class += penalty[classes.first_rows]
    kept = np.ones(len(classes), dtype=bool)
    kept[classes.ids[gone]] = False
    sizes = classes.sizes[kept]
    return Loss(
        rows=total,
        suppressed=suppressed,
        classes=len(sizes),
        dm=discernibility(sizes, suppressed),
        c_avg=average_class_size(total, len(sizes), k) if len(sizes) else float("inf"),
        ncp=ncp_total / (total * len(names)),
        ncp_total=ncp_total,
        lm=lm,
        um=float(of_class[kept].mean()) if len(sizes) else float(len(names)),
        columns=columns,
    )


def classification_metric(release: Microdata, label: str, rows: int | None = None) -> float:
    """Return CM (Iyengar, KDD 2002): the share of rows that are suppressed or not of their class's most frequent label.

    Parameters
    ----------
    release : Microdata
        The published table.
    label : str
        Column of the labels that a classifier is to predict.
    rows : int, optional
        Rows of the original table; the release's by default. The difference counts as suppressed.

    Raises
    ------
    ConfigError
        When the release lacks the column.
    InputError
        When the release has more rows than the original.

    Notes
    -----
    Where two labels are equally frequent in a class, the smaller one is its label; the measure does not depend on it.
    """
    check_columns(release.frame, [label])
    total = len(release) if rows is None else rows
    if total < len(release):
        raise InputError("the release has more rows than the original", "give the original's number of rows")
    classes = equivalence_classes(release)
    gone = suppressed_rows(release)
    best = _most_frequent(classes, release.codes(label).codes, ~gone)
    return (total - best) / total


def _most_frequent(classes: EquivalenceClasses, labels: np.ndarray, kept: np.ndarray) -> int:
    """Return how many kept rows have the most frequent label of their class."""
    size = int(labels.max()) + 2
    keys, counts = np.unique(classes.ids[kept] * size + labels[kept] + 1, return_counts=True)
    top = np.zeros(len(classes), dtype=np.int64)
    np.maximum.at(top, keys // size, counts)
    return int(top.sum())
