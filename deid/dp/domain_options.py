"""What the command line says of columns: declared domains in files and flags, slices with weights, conditions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError
from deid.base.files import read_toml
from deid.base.late import pd
from deid.base.options import column_names, named_value, option
from deid.dp.domain import TO_DECLARE, Dimension, declare
from deid.table.microdata import check_columns

_FLAG_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:/(\d+))?")
_DAY = r"\d{4}-\d{2}-\d{2}"
_FLAG_DATES = re.compile(rf"({_DAY})\.\.({_DAY})(?:/(year|quarter|month))?", re.ASCII)


def parse_flag(text: str) -> tuple[str, dict[str, Any]]:
    """Parse ``COLUMN=A,B,C``, ``COLUMN=LOW..HIGH``, ``COLUMN=LOW..HIGH/WIDTH`` or ``COLUMN=DAY..DAY/quarter``.

    Returns
    -------
    column : str
        Name of the column.
    declaration : dict
        Its domain, as in a file of domains: ``values``, or ``range`` (whole numbers, both included) and ``width``, or
        ``dates`` (both included) and ``by``, a year if it is not said.

    Raises
    ------
    ConfigError
        When it is of another form.
    """
    name, values = named_value(text, "--domain", TO_DECLARE)
    match = _FLAG_RANGE.fullmatch(values)
    if match:
        low, high, width = match.groups()
        return name, {"range": [int(low), int(high)], "width": int(width or 1)}
    match = _FLAG_DATES.fullmatch(values)
    if match:
        return name, {"dates": [match[1], match[2]], "by": match[3] or "year"}
    return name, {"values": [value.strip() for value in values.split(",")]}


def read_domains(path: Path) -> dict[str, dict[str, Any]]:
    """Return the declarations of a TOML file by column, each as `declare` takes it.

    Raises
    ------
    ConfigError
        When it cannot be read, is no TOML, or holds something else.
    """
    content = read_toml(path, "see docs/cube.md for its form")
    columns = content.get("columns")
    if (
        set(content) != {"columns"}
        or not isinstance(columns, dict)
        or not all(isinstance(c, dict) for c in columns.values())
    ):
        raise ConfigError(f"the file of domains {path} has other sections than [columns.NAME]", "see docs/cube.md")
    return columns


@dataclass(frozen=True)
class DomainOptions:
    """Declared domains of columns: in a file, and one by one."""

    domains: tuple[Path, ...] = option((), "Declared domains of the columns (TOML, docs/cube.md; repeatable).")
    domain: tuple[str, ...] = option(
        (), "Domain: A,B,C, LOW..HIGH, LOW..HIGH/WIDTH or DAY..DAY/month (repeatable).", metavar="COLUMN=VALUES"
    )

    def parts(self, texts: Iterable[str], table: Callable[[], pd.DataFrame]) -> list[tuple[Dimension, str]]:
        """Return parts ``COLUMN=CELL`` as declared columns and cells; see `dimensions`."""
        return [(self.dimensions([column], table)[0], cell) for column, cell in map(parse_condition, texts)]

    def declared(self) -> dict[str, dict[str, Any]]:
        """Return the declarations by column."""
        found: dict[str, dict[str, Any]] = {}
        for path in self.domains:
            found |= read_domains(path)
        return found | dict(parse_flag(flag) for flag in self.domain)

    def dimensions(self, names: Iterable[str], table: Callable[[], pd.DataFrame]) -> list[Dimension]:
        """Return the declared columns as dimensions.

        Parameters
        ----------
        names : iterable of str
            The columns, in the order wanted.
        table : callable
            Reads the table; called only for a column whose values a public source vouches for.

        Raises
        ------
        ConfigError
            When a column is not declared, or not in the table.
        """
        declared = self.declared()
        found = []
        for name in names:
            own = declared.get(name, {})
            column = None
            if own.get("from_data") is True and own.get("public_source"):
                frame = table()
                check_columns(frame, [name])
                column = frame[name]
            found.append(declare(name, own, column))
        return found


def parse_slices(texts: Iterable[str]) -> tuple[list[list[str]], list[float]]:
    """Parse slices ``A,B[:WEIGHT]``.

    Returns
    -------
    slices : list of list of str
        Columns of each slice.
    weights : list of float
        One a slice, 1 by default.

    Raises
    ------
    ConfigError
        When a weight is no number.
    """
    parsed = [_weighted(text, "--slice year,death:2") for text in texts]
    return [column_names(names) for names, _ in parsed], [weight for _, weight in parsed]


def parse_shares(texts: Iterable[str]) -> dict[str, float]:
    """Return weights by name, of texts ``NAME[:WEIGHT]``, 1 by default; errors as those of `parse_slices`."""
    return dict(_weighted(text, "--level-share state:2") for text in texts)


def parse_lengths(texts: Iterable[str]) -> dict[int, float]:
    """Return weights by length, of texts ``N[:WEIGHT]``, 1 by default; `ConfigError` where one is of another form."""
    shares = [_weighted(text, example := "--asked-length 3:2") for text in texts]
    if not all(length.isdecimal() for length, _ in shares):
        raise ConfigError("a length is no whole number", f"N[:WEIGHT], for example: {example}")
    return {int(length): weight for length, weight in shares}


def _weighted(text: str, example: str) -> tuple[str, float]:
    """Return name and weight of a text ``NAME[:WEIGHT]``."""
    name, _, weight = text.partition(":")
    try:
        return name.strip(), float(weight) if weight else 1.0
    except ValueError:
        raise ConfigError("a weight is no number", f"for example: {example}") from None


def parse_condition(text: str) -> tuple[str, str]:
    """Return column and cells of ``COLUMN=CELLS``.

    Raises
    ------
    ConfigError
        When it is of another form.
    """
    return named_value(text, "a condition", "for example: --where age=60..69")
