"""The command schema: proposes roles for the columns of a table."""

from __future__ import annotations

from pathlib import Path

import typer

from deid.base.options import option
from deid.cli.common import Summary
from deid.cli.option_groups import SummaryOptions, command
from deid.cli.run_manifest import begin, finish
from deid.cli.table_options import TableOptions


@command
def schema(
    *,
    context: typer.Context,
    source: TableOptions,
    output: Path | None = option(None, "Write it to a new file.", "--output", "-o", metavar="F"),
    said: SummaryOptions,
) -> None:
    """Propose which columns of a table identify, and which are sensitive.

    Prints a schema in TOML with a reason for each role. Read it, correct it, then give it to the commands that release
    and check tables with --schema.

    Example: deid schema patients.csv --output patients.toml
    """
    from collections import Counter

    from deid.base.files import check_new_file, write_bytes
    from deid.disclosure.proposal import propose_schema
    from deid.disclosure.schema import format_schema, read_microdata

    if output is not None:
        check_new_file(output)
    run = begin(context, output) if output is not None else None
    found = propose_schema(read_microdata(source.table, separator=source.sep, table=source.sql))
    text = format_schema(found)
    roles = Counter(str(column.role) for column in found.columns.values())
    summary = Summary("schema")
    summary.notes = [f"proposed: {', '.join(f'{count} {role}' for role, count in roles.items())}; check every line"]
    summary.extra = {
        "person": found.person,
        "columns": {
            name: {"role": column.role, "kind": column.kind, "hierarchy": column.hierarchy, "reason": column.reason}
            for name, column in found.columns.items()
        },
    }
    if output is None or run is None:
        typer.echo(text, nl=False)
    else:
        write_bytes(output, text.encode(), private=False)
        told = {name: f"proposed: {column.role}" for name, column in found.columns.items()}
        finish(run, summary, output, inputs=source.files(), columns=told)
    summary.finish(said)
