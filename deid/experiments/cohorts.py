"""Cohort feasibility: are there enough patients? Counts on an original table and on its release, with bounds.

A released cell can meet a condition for certain, perhaps, or not; so a count has a least and a greatest value, and an
estimate between them that takes the values of a cell as equally likely (LeFevre et al. 2006).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.disclosure.options import SchemaOptions
from deid.disclosure.queries import PublishedColumn, Query, closed_ends
from deid.table.microdata import Microdata, check_columns
from deid.table.options import TableOptions

_SPAN = re.compile(r"^(-?[0-9.]+)-(-?[0-9.]+)$")
_CONDITION = re.compile(r"\s*(.+?)\s*(<=|>=|=|<|>)\s*(.+?)\s*")


def parse_cohort(table: Microdata, text: str) -> Query:
    """Return a query such as ``age>=65 and sex=F and diagnosis=asthma|copd`` as conditions by column.

    Numbers and ISO dates can be compared; values of other columns are listed with ``|`` between.

    Raises
    ------
    ConfigError
        When it is of another form, or asks about a column or value that the table does not have.
    """
    query: dict[str, tuple[float, float] | frozenset[str]] = {}
    for part in re.split(r"\s+and\s+", text.strip()):
        found = _CONDITION.fullmatch(part)
        if not found:
            raise ConfigError("a query is not of the form COLUMN=VALUE", "for example: 'age>=65 and sex=F'")
        name, sign, value = found.groups()
        check_columns(table.frame, [name])
        if table.kind(name) == "nominal":
            values = frozenset(part.strip() for part in value.split("|"))
            if sign != "=" or not values & set(table.codes(name).values):
                what = f"the query asks {name!r} for values that it does not have"
                raise ConfigError(what, "columns of words are asked with = and |")
            query[name] = values
            continue
        number = _number(value, table.kind(name) == "date", name)
        step = np.inf if sign in ("<", ">") else number
        low, high = {
            "=": (number, number),
            ">=": (number, np.inf),
            "<=": (-np.inf, number),
            ">": (float(np.nextafter(number, step)), np.inf),
            "<": (-np.inf, float(np.nextafter(number, -step))),
        }[sign]
        before = query.get(name, (-np.inf, np.inf))
        assert isinstance(before, tuple)
        query[name] = (max(low, before[0]), min(high, before[1]))
    return query


def _number(text: str, date: bool, name: str) -> float:
    try:
        return float(np.datetime64(text, "D").astype(np.int64)) if date else float(text)
    except ValueError:
        what = "ISO date" if date else "number"
        raise ConfigError(f"the query compares {name!r} with no {what}", "for example: 'age>=65'") from None


@dataclass(frozen=True, eq=False)
class TablePair:
    """An original table and its release, ready for queries.

    Columns of numbers with open ends, such as ages up to 89 and 90+, are columns of numbers here
    (`deid.disclosure.queries.closed_ends`).

    Parameters
    ----------
    original : Microdata
        Ungeneralized, with hierarchies.
    release : Microdata
        Published rows, in any order. Rows of the original that are missing in it count as possible.
    made_up : bool
        The rows are of nobody, and any number of them: each stands for its share of the original's rows, and no cell
        bounds a count.
    """

    original: Microdata
    release: Microdata
    made_up: bool = False
    _columns: dict[str, PublishedColumn] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def opened(cls, table: TableOptions, release: str, roles: SchemaOptions, *, made_up: bool) -> TablePair:
        """Read a table, and its release or rows of nobody."""
        truth, rows = roles.open(table.table, table), roles.open(release, table, published=True)
        return cls(truth, made_up_rows(truth, rows) if made_up else rows, made_up)

    def __post_init__(self) -> None:
        original, release = closed_ends(self.original, self.release)
        object.__setattr__(self, "original", original)
        object.__setattr__(self, "release", release)

    def column(self, name: str) -> PublishedColumn:
        """Return a published column, made ready once."""
        if name not in self._columns:
            check_columns(self.original.frame, [name])
            check_columns(self.release.frame, [name])
            self._columns[name] = PublishedColumn.of(self.original, self.release, name, made_up=self.made_up)
        return self._columns[name]

    @property
    def weight(self) -> float:
        """How many rows of the original a published row stands for."""
        return len(self.original) / len(self.release) if self.made_up else 1.0

    def members(self, query: Query) -> np.ndarray:
        """Tell which rows of the original a query returns; bool array of shape (rows,)."""
        found = np.ones(len(self.original), dtype=bool)
        for name, condition in query.items():
            if isinstance(condition, frozenset):
                coded = self.original.codes(name)
                found &= np.array([*(value in condition for value in coded.values), False])[coded.codes]
            else:
                line = self.original.numbers(name)
                found &= (line >= condition[0]) & (line <= condition[1])
        return found

    def chances(self, query: Query) -> np.ndarray:
        """Return the chance of each published row that a query returns it; float array of shape (rows,)."""
        chance = np.ones(len(self.release))
        for name, condition in query.items():
            chance *= self.column(name).share(condition)
        return chance

    def bounds(self, query: Query) -> tuple[int, int]:
        """Return the least and the greatest number of rows that a query can return."""
        if self.made_up:
            return 0, len(self.original)
        certain = np.ones(len(self.release), dtype=bool)
        possible = certain.copy()
        for name, condition in query.items():
            column = self.column(name)
            certain &= column.certain(condition)
            possible &= column.share(condition) > 0
        return int(certain.sum()), int(possible.sum()) + max(len(self.original) - len(self.release), 0)


def made_up_rows(original: Microdata, rows: Microdata) -> Microdata:
    """Return rows of nobody as cells of a release: where the original has numbers, ``10-19`` is ``[10-19]``."""
    columns = {}
    for name in rows.frame.columns:
        if name in original.frame.columns and original.kind(name) == "numeric":
            texts = rows.frame[name].astype(object)
            columns[name] = [_SPAN.sub(r"[\1-\2]", cell) if isinstance(cell, str) else cell for cell in texts]
    return replace(rows, frame=rows.frame.assign(**columns), kinds={**rows.kinds, **dict.fromkeys(columns, "nominal")})


def count_cohorts(pair: TablePair, queries: Sequence[Query], names: Sequence[str]) -> pd.DataFrame:
    """Count cohorts on both tables.

    Parameters
    ----------
    pair : TablePair
    queries : sequence of Query
    names : sequence of str
        What to call them.

    Returns
    -------
    pandas.DataFrame
        cohort, original (count), released (estimate), least, greatest, error: |released - original| / original, NaN
        where the original has none.
    """
    rows = []
    for name, query in zip(names, queries, strict=True):
        actual = int(pair.members(query).sum())
        estimate = float(pair.chances(query).sum()) * pair.weight
        rows.append(
            (name, actual, estimate, *pair.bounds(query), abs(estimate - actual) / actual if actual else np.nan)
        )
    return pd.DataFrame(rows, columns=["cohort", "original", "released", "least", "greatest", "error"])


def feasibility(counts: pd.DataFrame, needs: Sequence[int]) -> pd.DataFrame:
    """Ask of every cohort whether it has enough patients.

    Parameters
    ----------
    counts : pandas.DataFrame
        Of `count_cohorts`.
    needs : sequence of int
        Numbers of patients.

    Returns
    -------
    pandas.DataFrame
        A row a number: ``enough``, share of cohorts with that many in the original; ``settled``, share whose bounds
        decide it; ``right``, share whose estimate gives the original's answer; ``wrongly_yes`` and ``wrongly_no``.
    """
    rows = []
    for need in needs:
        truth, says = counts["original"] >= need, counts["released"] >= need
        settled = (counts["least"] >= need) | (counts["greatest"] < need)
        rows.append((need, *(float(v.mean()) for v in (truth, settled, truth == says, says & ~truth, truth & ~says))))
    return pd.DataFrame(rows, columns=["need", "enough", "settled", "right", "wrongly_yes", "wrongly_no"])
