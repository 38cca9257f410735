"""The commands records check and records show: what stands where in hospital records."""

from __future__ import annotations

from pathlib import Path

import typer

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
    lines = [line for found in table.segments.values() for line in found]
    told.notes = [f"{table.name}: {len(lines)} lines for {len(table.segments)} segments hold together"]
    told.extra = {"segments": len(table.segments), "lines": len(lines)}


@command
def show(
    told: Summary,
    *,
    standard: str = _STANDARD,
    name: str | None = argument("Segment or data type; all names if none.", metavar="[NAME]", default=None),
    places: Path | None = _PLACES,
) -> None:
    """Show what is done with the fields of a segment, or the components of a data type, and why.

    Example: deid records show hl7v2 PID
    """
    from deid.base.errors import ConfigError
    from deid.records.tables import KINDS, load_table

    table = load_table(standard, places)
    if name is None:
        typer.echo(f"segments: {' '.join(sorted(table.segments))}")
        typer.echo(f"data types: {' '.join(sorted(table.types))}")
        typer.echo(f"kinds: {' '.join(KINDS)}, a category, a data type (with the category of its *), by N")
        return
    lines = table.segments.get(name, table.types.get(name))
    if lines is None:
        raise ConfigError("the table has no such segment or data type", f"deid records show {standard} lists them all")
    for line in lines:
        typer.echo(f"{name}-{line.span:<8}{line.kind:<20}{line.reason}")
    if name in table.segments:
        typer.echo("all else   blocked             no line names it: nobody examines it, and it is not passed on")
    told.extra = {"lines": {line.span: [line.kind, line.reason] for line in lines}}
