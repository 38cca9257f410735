"""The commands records check and records show: what stands where in hospital records."""

from __future__ import annotations

from pathlib import Path

import typer

from deid.base.errors import ConfigError
from deid.base.options import argument, option
from deid.cli.common import Summary
from deid.cli.option_groups import command

_STANDARD = argument("Standard, such as hl7v2.", metavar="STANDARD")
_PLACES = option(None, "Your own lines over the shipped table.", metavar="F")


@command
def check(told: Summary, *, standard: str = _STANDARD, places: Path | None = _PLACES) -> None:
    """Check a table of what stands where in records.

    Exit status 2, and what to do, when a line names what the standard does not have, says what nothing can be done
    with, or contradicts another one.

    Example: deid records check hl7v2 --places ours.toml
    """
    from deid.records.tables import load_table

    table = load_table(standard, places)
    lines = sum(map(len, table.heads.values()))
    told.notes = [f"{table.name}: {lines} lines for {len(table.heads)} {table.section} hold together"]
    told.extra = {table.section: len(table.heads), "lines": lines}


@command
def show(
    told: Summary,
    *,
    standard: str = _STANDARD,
    name: str | None = argument("Segment, resource or data type; all names if none.", metavar="[NAME]", default=None),
    places: Path | None = _PLACES,
) -> None:
    """Show what is done with the fields of a segment or resource, or the components of a data type, and why.

    Example: deid records show hl7v2 PID
    """
    from deid.records.tables import KINDS, load_table

    table = load_table(standard, places)
    if name is None:
        typer.echo(f"{table.section}: {' '.join(sorted(table.heads))}")
        typer.echo(f"data types: {' '.join(sorted(table.types))}")
        typer.echo(
            f"kinds: {' '.join((*KINDS, *table.kinds))}, a category, a data type (with the category of its *), by N"
        )
        return
    lines = table.heads.get(name, table.types.get(name))
    if lines is None:
        raise ConfigError("the table has no such name", f"deid records show {standard} lists them all")
    between, wide, kind = (".", 24, 28) if table.named else ("-", 8, 20)
    for line in lines:
        for span in line.keys if table.named else (line.span,):
            typer.echo(f"{name}{between}{span:<{wide - 1}} {line.kind:<{kind}}{line.reason}")
    if name in table.heads:
        typer.echo("all else   blocked             no line names it: nobody examines it, and it is not passed on")
    told.extra = {"lines": {line.span: [line.kind, line.reason] for line in lines}}
