"""Options that commands on tables share: where the table is, and what its columns are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from deid.disclosure.schema import Schema
    from deid.table.microdata import Microdata

__all__ = [
    "Hierarchies",
    "IgnoreSuppressed",
    "Person",
    "PersonsAsGiven",
    "QuasiIdentifiers",
    "SchemaFile",
    "Sensitive",
    "Separator",
    "SqlTable",
    "Table",
    "gather_schema",
    "names_of",
    "open_beside",
    "open_microdata",
    "print_rows",
    "shown",
]

Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="CSV or Parquet file, SQLite file, or postgresql://user@host/database.")
]
QuasiIdentifiers = Annotated[
    list[str] | None,
    typer.Option("--qi", metavar="A,B", help="Columns that identify together (commas, repeatable)."),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option("--sensitive", metavar="A,B", help="Columns that must not become known of a person."),
]
Hierarchies = Annotated[
    list[str] | None,
    typer.Option("--hierarchy", metavar="COLUMN=FILE", help="Hierarchy of a column, a CSV of ARX's form (repeatable)."),
]
Person = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column that tells whose row it is; needed when rows are notes or visits."),
]
PersonsAsGiven = Annotated[
    bool, typer.Option("--persons-as-given", help="Persons who look alike are different ones; levels count them so.")
]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", metavar="FILE", help="Roles and hierarchies as deid schema writes them.")
]
Separator = Annotated[
    str | None, typer.Option(metavar="C", help="Separator of CSV; told by the first lines if not given.")
]
SqlTable = Annotated[str | None, typer.Option("--sql-table", metavar="NAME", help="Table of a database.")]
IgnoreSuppressed = Annotated[
    bool, typer.Option("--ignore-suppressed", help="Leave out rows with nothing but *; they are a class otherwise.")
]


def names_of(given: list[str] | None) -> list[str]:
    """Split the values of a repeatable option at commas."""
    return [name.strip() for part in given or () for name in part.split(",") if name.strip()]


def gather_schema(
    schema: Path | None,
    quasi_identifiers: list[str] | None,
    sensitive: list[str] | None = None,
    person: str | None = None,
    hierarchies: list[str] | None = None,
    *,
    drop: list[str] | None = None,
    publish: list[str] | None = None,
    each_row_a_person: bool = False,
    persons_as_given: bool = False,
) -> Schema:
    """Read the schema file, if any, and put what the command line says over it."""
    from dataclasses import replace

    from deid.base.errors import ConfigError
    from deid.disclosure.schema import Column, Schema, read_schema

    said = read_schema(schema) if schema is not None else Schema()
    columns = dict(said.columns)
    asked = Schema.of_roles(
        quasi_identifier=names_of(quasi_identifiers),
        sensitive=names_of(sensitive),
        dropped=names_of(drop),
        other=names_of(publish),
    )
    for name, column in asked.columns.items():
        columns[name] = replace(columns.get(name, column), role=column.role)
    for pair in hierarchies or ():
        name, equals, file = pair.partition("=")
        if not equals or not name or not file:
            raise ConfigError("--hierarchy is not of the form COLUMN=FILE", "for example: --hierarchy zip=zip.csv")
        columns[name] = replace(columns.get(name, Column(None)), hierarchy=Path(file))
    return Schema(
        columns,
        person or said.person,
        said.each_row_a_person or each_row_a_person,
        said.persons_as_given or persons_as_given,
    )


def open_microdata(
    place: str, schema: Schema, separator: str | None, table: str | None, *, published: bool = False
) -> Microdata:
    """Read a table, an original or a published one, and give it its roles."""
    from dataclasses import replace

    from deid.disclosure.schema import Column, apply_schema
    from deid.table.table_files import numbers_kept_as_text, read_table

    frame = read_table(place, separator=separator, table=table, exact=True)
    columns = dict(schema.columns)
    for name, kind in numbers_kept_as_text(frame).items():
        said = columns.get(name, Column(None))
        columns[name] = replace(said, kind=said.kind or kind)
    return apply_schema(frame, replace(schema, columns=columns), published=published)


def open_beside(place: str | None, release: Microdata, schema: Schema, separator: str | None) -> Microdata | None:
    """Read a population or an original table: the release's quasi-identifiers, as the schema describes them."""
    from deid.disclosure.schema import Schema as Said

    if place is None:
        return None
    columns = {name: schema.columns[name] for name in release.quasi_identifiers}
    return open_microdata(place, Said(columns), separator, None)


def shown(level: float | tuple[float, ...]) -> str:
    """Write a level for a person to read."""
    if isinstance(level, tuple):
        return ", ".join(map(shown, level))
    return f"{level:,.0f}" if float(level).is_integer() else f"{level:.4g}"


def print_rows(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a small table on standard output."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 200)
    table = RichTable(box=SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for column in columns:
        table.add_column(Text(column))
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
