"""Sharing records of patients with one disease (Liu et al. 2015; ACM JDIQ 7(4), 2016).

Whoever is in the table has the disease, so what must not become likely is that a person of the population is in it:
the instance-disclosure risk r = n / N of a cell with n records and N members of the population. The table and its
population are cut together where the average of r falls most, down to ``least`` records a cell.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import FloatArray, IndexArray
from deid.base.errors import InputError, require
from deid.base.late import pd
from deid.disclosure.cells import format_dates, format_interval, format_set
from deid.disclosure.risk import PopulationRisk, population_risk
from deid.table.microdata import SUPPRESSED, Microdata, check_columns


@dataclass(frozen=True, eq=False, repr=False)
class SameDisease:
    """A recoded table.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table with general quasi-identifiers.
    cells : ndarray of intp, shape [n]
        Cell of each record.
    members : ndarray of intp, shape [cells]
        Members of the population that the cuts put into each cell. Others may match what a cell publishes, and some
        of these need not.
    risk : PopulationRisk
        Risk of what is published, against the population: R is ``risk.instance.average``. Records of two cells that
        publish the same values are one class in it, and members of the population match what a cell publishes, not
        the cut that made it.
    """

    frame: pd.DataFrame
    cells: IndexArray
    members: IndexArray
    risk: PopulationRisk

    @property
    def cut_risk(self) -> float:
        """R by the cells of the cuts, sum of n^2 / N over n: what the algorithm looks at, not what readers can use."""
        sizes = np.bincount(self.cells, minlength=len(self.members))
        return float((sizes * sizes / self.members).sum() / sizes.sum())


def recode_same_disease(
    data: Microdata, population: Microdata, least: int, *, prefixes: Sequence[str] = (), classes: int | None = None
) -> SameDisease:
    """Recode the quasi-identifiers of a table of patients who all have one disease.

    Parameters
    ----------
    data : Microdata
        The patients.
    population : Microdata
        Everybody who could be meant, the patients included, with the same quasi-identifiers.
    least : int
        Records that every cell keeps, at least.
    prefixes : sequence of str
        Columns published as their longest common beginning (ZIP codes); dates become day, year or span of years,
        numbers intervals, other columns sets.
    classes : int, optional
        Stop at so many cells; the cell whose cut raises the risk least is cut first.

    Returns
    -------
    SameDisease
        The recoded table, with the cell of each row and the risk against the population.

    Raises
    ------
    ConfigError
        When there are fewer records than ``least``, or the population lacks a column.
    InputError
        When a cell has more records than members of the population: they are no part of it.
    """
    names = data.quasi_identifiers
    check_columns(population.frame, names)
    check_columns(data.frame, prefixes)
    require(len(data) >= least, f"{len(data)} records cannot fill a cell of {least}", "ask for smaller cells")
    for name in names:
        if data.frame[name].isna().any():
            raise InputError("a missing quasi-identifier", "fill it in, or remove the row", f"column {name!r}")
    own, others = _ranks(data, population, names)
    parts = _cut(own, others, least, len(data) if classes is None else classes)
    cells, members = np.zeros(len(data), dtype=np.intp), np.zeros(len(parts), dtype=np.intp)
    for done, (rows, people) in enumerate(parts):
        cells[rows], members[done] = done, len(people)
    columns = {}
    for name in names:
        texts = np.array(data.codes(name).values, dtype=object)[data.codes(name).codes]
        kind = "prefix" if name in prefixes else data.kind(name)
        labels = [_common(sorted(set(texts[cells == cell])), kind) for cell in range(len(parts))]
        columns[name] = np.array(labels, dtype=object)[cells]
    frame = data.frame.assign(**columns)
    published = Microdata(
        frame[list(names)].assign(**({data.person: data.frame[data.person]} if data.person is not None else {})),
        dict.fromkeys(names, "quasi-identifier"),
        person=data.person,
        kinds=dict.fromkeys(names, "nominal"),
    )
    return SameDisease(frame, cells, members, population_risk(published, population))


def _cut(own: FloatArray, others: FloatArray, least: int, classes: int) -> list[tuple[IndexArray, IndexArray]]:
    """Cut patients and population together; return rows and members of each cell, in the order of the cuts' values.

    A cut never lowers the sum of n^2 / N (Cauchy and Schwarz); the one that raises it least comes first.
    """
    waiting: list[tuple[float, tuple[int, ...], IndexArray, IndexArray, tuple[int, float]]] = []
    done: list[tuple[tuple[int, ...], IndexArray, IndexArray]] = []

    def look(path: tuple[int, ...], rows: IndexArray, members: IndexArray) -> None:
        if len(members) < len(rows):
            raise InputError(
                "a cell has more records than members of the population",
                "every record must describe a member of the population",
                position=f"row {int(rows[0]) + 1}",
            )
        cut = _best_cut(own[rows], others[members], least)
        if cut is None:
            done.append((path, rows, members))
        else:
            raised = cut[0] * len(rows) - len(rows) ** 2 / len(members)
            heapq.heappush(waiting, (raised, path, rows, members, cut[1:]))

    look((), np.arange(len(own)), np.arange(len(others)))
    while waiting and len(waiting) + len(done) < classes:
        _, path, rows, members, (column, value) = heapq.heappop(waiting)
        below, below_too = own[rows, column] <= value, others[members, column] <= value
        look((*path, 0), rows[below], members[below_too])
        look((*path, 1), rows[~below], members[~below_too])
    done += [(path, rows, members) for _, path, rows, members, _ in waiting]
    return [(rows, members) for _, rows, members in sorted(done, key=lambda cell: cell[0])]


def _ranks(data: Microdata, population: Microdata, names: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Return the values of both tables as comparable numbers, column by column."""
    own, others = np.empty((len(data), len(names))), np.empty((len(population), len(names)))
    for c, name in enumerate(names):
        if data.kind(name) == "nominal":
            a, b = data.codes(name), population.codes(name)
            order = {text: rank for rank, text in enumerate(sorted({*a.values, *b.values}))}
            own[:, c] = np.array([order[text] for text in a.values])[a.codes]
            others[:, c] = np.array([*(order[text] for text in b.values), np.nan])[b.codes]
        else:
            own[:, c], others[:, c] = data.numbers(name), population.numbers(name)
    return own, others


def _best_cut(own: FloatArray, others: FloatArray, least: int) -> tuple[float, int, float] | None:
    """Return average risk, column and value of the cut ``<=`` with the least risk; ties: column order, smallest cut."""
    best: tuple[float, int, float] | None = None
    for column in range(own.shape[1]):
        values, counts = np.unique(own[:, column], return_counts=True)
        left = np.cumsum(counts)[:-1]
        right = len(own) - left
        around = np.searchsorted(np.sort(others[:, column]), values[:-1], side="right")
        allowed = (left >= least) & (right >= least) & (around > 0) & (len(others) > around)
        if not allowed.any():
            continue
        risk = np.full(len(left), np.inf)
        a, b = left[allowed], right[allowed]
        inside, outside = around[allowed], len(others) - around[allowed]
        risk[allowed] = (a * (a / inside) + b * (b / outside)) / len(own)
        place = int(np.argmin(risk))
        if best is None or risk[place] < best[0] - 1e-12:
            best = (float(risk[place]), column, float(values[place]))
    return best


def _common(values: Sequence[str], kind: str) -> str:
    """Return the most detailed common value of a cell."""
    if len(values) == 1:
        return values[0]
    if kind == "prefix":
        first, last = values[0], values[-1]  # sorted: what these two share, all share
        common = first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]
        return common + "*" * (max(map(len, values)) - len(common)) if common else SUPPRESSED
    if kind == "date":
        first, last = values[0][:4], values[-1][:4]
        return format_dates(f"{first}-01-01", f"{last}-12-31")
    if kind == "numeric":
        numbers = [float(value) for value in values]
        return format_interval(min(numbers), max(numbers))
    return format_set(values)
