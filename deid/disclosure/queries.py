"""What a published table answers: relative error of counts, and precision of what a query returns.

Ages with a top code, 90+, are numbers to a query (`closed_ends`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deid.base.errors import ConfigError, InputError, require
from deid.disclosure.cells import Domain, cover_table
from deid.disclosure.classes import equivalence_classes
from deid.table.microdata import SUPPRESSED, Codes, Microdata, check_columns, has_open_ends
from deid.table.scalars import exact_number, open_end, plain_number

Query = Mapping[str, "tuple[float, float] | frozenset[str]"]
"""A box, by column: an interval (both ends included) of numbers, or of dates as days since 1970-01-01; a set of nominal
values. It asks how many rows lie in it."""


def closed_ends(original: Microdata, release: Microdata) -> tuple[Microdata, Microdata]:
    """Make columns of numbers with open ends, such as ages up to 89 and 90+, columns of numbers in both tables.

    An open end becomes the first number that it means, and a published cell reaches no further.

    Parameters
    ----------
    original, release : Microdata
        A table, and what was published of it.

    Returns
    -------
    (Microdata, Microdata)
        Both; columns of other kinds, and those whose kind was said, are as they were.
    """
    for name in original.frame.columns:
        if name in original.kinds or original.kind(name) != "nominal":
            continue
        coded = original.codes(name)
        if not has_open_ends(coded.values):
            continue
        numbers = np.array([_first_number(text) for text in coded.values])
        if name in release.frame.columns:
            release = _with(release, name, _closed(release.codes(name), coded.values, numbers, original, name))
        original = _with(original, name, np.array([*numbers, np.nan])[coded.codes])
    return original, release


def _first_number(text: str) -> float:
    """Return a number, or the first that an open end means: 90 of 90+, and of >89."""
    end = open_end(text)
    if end is None:
        return float(exact_number(text))
    number, side, out = end
    return float(exact_number(number)) + side * out


def _with(table: Microdata, name: str, column: Any) -> Microdata:
    """Return a table with another column, of which nothing is known but its values."""
    hierarchies = {key: own for key, own in table.hierarchies.items() if key != name}
    kinds = {key: own for key, own in table.kinds.items() if key != name}
    return replace(table, frame=table.frame.assign(**{name: column}), hierarchies=hierarchies, kinds=kinds)


def _closed(
    cells: Codes, values: Sequence[str], numbers: np.ndarray, original: Microdata, name: str
) -> list[str | None]:
    """Return published cells with intervals in place of open ends and of labels."""
    covers = cover_table(cells.values, values, original.hierarchies.get(name))[:-1, :-1]
    texts: list[str | None] = []
    for text, covered in zip(cells.values, covers, strict=True):
        number = exact_number(text)
        if text == SUPPRESSED or text.startswith("[") or number == number or not covered.any():
            texts.append(text)
            continue
        low, high = (plain_number(float(own)) for own in (numbers[covered].min(), numbers[covered].max()))
        texts.append(low if low == high else f"[{low}-{high}]")
    texts.append(None)
    return [texts[code] for code in cells.codes]


def random_queries(table: Microdata, count: int = 1000, *, seed: int = 0) -> list[Query]:
    """Draw boxes over two quasi-identifiers of a table, drawn at random.

    Parameters
    ----------
    table : Microdata
        The original table.
    count : int
        Queries.
    seed : int
        Seed of the generator.

    Returns
    -------
    list of Query
        Intervals between two values drawn uniformly from the column's range; of nominal columns each value with
        chance one half, at least one. None where no quasi-identifier has a value.
    """
    table, _ = closed_ends(table, table)
    rng = np.random.default_rng(seed)
    names = [name for name in table.quasi_identifiers if table.codes(name).values]
    domains = {name: Domain.of(table, name) for name in names}
    queries: list[Query] = []
    for _ in range(count if names else 0):
        query: dict[str, tuple[float, float] | frozenset[str]] = {}
        for place in sorted(rng.choice(len(names), min(2, len(names)), replace=False)):
            name = names[place]
            domain = domains[name]
            if np.isnan(domain.low):
                chosen = rng.random(len(domain.values)) < 0.5
                chosen[rng.integers(len(domain.values))] = True
                query[name] = frozenset(value for value, take in zip(domain.values, chosen, strict=True) if take)
            else:
                ends = np.sort(rng.uniform(domain.low, domain.high, 2))
                query[name] = (float(ends[0]), float(ends[1]))
        queries.append(query)
    return queries


@dataclass(frozen=True, eq=False, repr=False)
class PublishedColumn:
    """A published column, ready for many queries."""

    codes: np.ndarray
    """[n] Cell of each row, or of each class."""
    low: np.ndarray  # [cells] interval of each cell, NaN for a missing one (the last) and for those off the line
    high: np.ndarray
    covers: np.ndarray  # [cells, values]
    values: tuple[str, ...]
    whole: bool
    suppressed: np.ndarray  # [cells]

    @classmethod
    def of(
        cls,
        original: Microdata,
        release: Microdata,
        name: str,
        rows: np.ndarray | None = None,
        *,
        made_up: bool = False,
    ) -> PublishedColumn:
        """Return a column of a release with what queries need: the interval of each cell and the values that it covers.

        Parameters
        ----------
        original, release : Microdata
        name : str
            A column of both.
        rows : int array, optional
            Rows of the release that count; all by default.
        made_up : bool
            The release has rows of nobody: words and numbers that no row of the original has meet no condition for
            words, and are numbers all the same.

        Raises
        ------
        InputError
            When a cell covers no value of the original column, and is no number or date either (a made-up row may
            have a number that the original lacks).
        """
        domain, coded = Domain.of(original, name), release.codes(name)
        bounds = np.array([*(domain.interval(text) for text in coded.values), (np.nan, np.nan)])
        covers = cover_table(coded.values, domain.values, domain.hierarchy)[:, :-1]  # no query asks for NA
        known = covers[:-1].any(axis=1) | ~np.isnan(bounds[:-1, 0])
        if made_up:
            known |= np.isnan(domain.low)
        if not known.all():
            raise InputError(
                "a published cell covers no value of the original",
                "name the hierarchy that its label is of, or the original that it was made from",
                f"column {name!r}",
            )
        stars = np.array([*(text == SUPPRESSED for text in coded.values), False])
        codes = coded.codes if rows is None else coded.codes[rows]
        return cls(codes, bounds[:, 0], bounds[:, 1], covers, domain.values, domain.whole, stars)

    def middles(self) -> np.ndarray:
        """Return for each row (shape [n]) the middle of its cell, NaN where it has none."""
        return np.asarray((self.low + self.high) / 2, dtype=np.float64)[self.codes]

    def certain(self, condition: tuple[float, float] | frozenset[str]) -> np.ndarray:
        """Tell for each row (shape [n]) whether its cell meets a condition whatever the value was.

        A suppressed cell does not: its value may have been missing.
        """
        return np.asarray((self.share(condition) > 1 - 1e-12) & ~self.suppressed[self.codes])

    def share(self, condition: tuple[float, float] | frozenset[str]) -> np.ndarray:
        """Return the share of each row's cell that meets a condition, 0 to 1, shape [n].

        Parameters
        ----------
        condition : (float, float) or frozenset of str
            Least and greatest number, both included, or values.
        """
        if isinstance(condition, frozenset):
            wanted = np.array([value in condition for value in self.values])
            covered = np.maximum(self.covers.sum(axis=1), 1)
            return np.asarray((self.covers & wanted).sum(axis=1) / covered)[self.codes]
        low, high = np.maximum(self.low, condition[0]), np.minimum(self.high, condition[1])
        if self.whole:
            points = np.floor(high) - np.ceil(low) + 1
            share = points / (np.floor(self.high) - np.ceil(self.low) + 1)
        else:
            width = self.high - self.low
            share = np.where(width > 0, (high - low) / np.where(width > 0, width, 1), (high >= low).astype(float))
        return np.asarray(np.clip(np.nan_to_num(share), 0.0, 1.0))[self.codes]


def average_relative_error(
    original: Microdata, release: Microdata, queries: Sequence[Query]
) -> tuple[float, np.ndarray]:
    """Return the average relative error of count queries (LeFevre et al., 2006; Loukides and Gkoulalas-Divanis 2012).

    A class of n rows is estimated to have n times the product of the shares of its cells that the query covers; whole
    numbers are counted as points, other numbers as lengths.

    Returns
    -------
    mean : float
        Over the queries that have an answer in the original.
    errors : float array, shape (queries,)
        \\|actual - estimate\\| / actual; NaN where the actual count is 0.

    Raises
    ------
    ConfigError
        When a query names a column that is no quasi-identifier, or none has an answer.
    """
    original, release = closed_ends(original, release)
    classes = equivalence_classes(release)
    columns: dict[str, PublishedColumn] = {}
    for name in sorted({name for query in queries for name in query}):
        if name not in release.quasi_identifiers:
            check_columns(release.frame, [name])
            raise ConfigError(f"column {name!r} is no quasi-identifier", "ask about quasi-identifiers")
        columns[name] = PublishedColumn.of(original, release, name, classes.first_rows)
    originals = {name: (original.codes(name), _line(original, name)) for name in columns}
    errors = np.full(len(queries), np.nan)
    for number, query in enumerate(queries):
        actual = np.ones(len(original), dtype=bool)
        estimate = classes.sizes.astype(float)
        for name, condition in query.items():
            coded, line = originals[name]
            if isinstance(condition, frozenset):
                actual &= np.array([*(value in condition for value in coded.values), False])[coded.codes]
            else:
                actual &= (line >= condition[0]) & (line <= condition[1])
            estimate = estimate * columns[name].share(condition)
        if found := int(actual.sum()):
            errors[number] = abs(found - float(estimate.sum())) / found
    require(not np.isnan(errors).all(), "no query has an answer in the original", "ask wider queries")
    return float(np.nanmean(errors)), errors


def _line(table: Microdata, column: str) -> np.ndarray:
    return np.full(len(table), np.nan) if table.kind(column) == "nominal" else table.numbers(column)


def query_precision(
    original: Microdata, release: Microdata, column: str, *, queries: int = 10_000, seed: int = 0
) -> float:
    """Return the mean precision of queries "column > n" and "column < n" (Gardner's dissertation, section 5.1.2).

    A query returns the rows whose published cell can meet it: recall is 1, precision falls with generalization. Queries
    that return nothing are skipped.

    Parameters
    ----------
    original : Microdata
        The table that the release was made from.
    release : Microdata
        The published table.
    column : str
        Numeric column or column of dates.
    queries, seed : int
        Number of queries, n uniform over the column's range (over its whole numbers where it has only those).

    Raises
    ------
    ConfigError
        When the release lacks the column, or it is not numeric.
    InputError
        When the tables have different numbers of rows.
    """
    check_columns(release.frame, [column])
    if len(original) != len(release):
        raise InputError("the tables have different rows", "give both with the same rows in the same order")
    original, release = closed_ends(original, release)
    domain, coded = Domain.of(original, column), release.codes(column)
    require(not np.isnan(domain.low), f"column {column!r} is not numeric", "ask about a column of numbers or dates")
    true = original.numbers(column)
    bounds = np.array([*(domain.interval(text) for text in coded.values), (np.nan, np.nan)])
    low, high = bounds[coded.codes].T
    rng = np.random.default_rng(seed)
    if domain.whole:
        limits = rng.integers(int(domain.low), int(domain.high) + 1, queries).astype(float)
    else:
        limits = rng.uniform(domain.low, domain.high, queries)
    above = rng.random(queries) < 0.5
    precision = np.where(
        above, _precision(high, np.minimum(true, high), limits), _precision(-low, np.minimum(-true, -low), -limits)
    )
    told = precision[~np.isnan(precision)]
    return float(told.mean()) if len(told) else float("nan")


def _precision(reach: np.ndarray, true: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return the share of rows truly above each limit among those that reach above it; NaN where there is none."""
    counts = []
    for values in (true, reach):
        line = np.sort(values[~np.isnan(values)])
        counts.append(len(line) - np.searchsorted(line, limits, "right"))
    return np.where(counts[1] > 0, counts[0] / np.maximum(counts[1], 1), np.nan)
