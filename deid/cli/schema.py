"""The command schema: proposes roles for the columns of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.table_options import Separator, SqlTable, Table


def _schema(
    place: Table,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a new file.")
    ] = None,
    separator: Separator = None,
    table: SqlTable = None,
    summary_json: SummaryJson = None,
) -> None:
    """Propose which columns of a table identify, and which are sensitive.

    Prints a schema in TOML with a reason for each role. Read it, correct it, then give it to the commands that release
    and check tables with --schema.

    Example: deid schema patients.csv --output patients.toml
    """
    from collections import Counter

    from deid.base.files import check_new_file, write_bytes
    from deid.disclosure.proposal import propose_schema
    from deid.disclosure.schema import format_schema
    from deid.table.microdata import Microdata
    from deid.table.table_files import numbers_kept_as_text, read_table

    if output is not None:
        check_new_file(output)
    frame = read_table(place, separator=separator, table=table, exact=True)
    found = propose_schema(Microdata(frame, {}, kinds=numbers_kept_as_text(frame)))
    text = format_schema(found)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_bytes(output, text.encode(), private=False)
    summary = Summary("schema")
    roles = Counter(column.role for column in found.columns.values())
    summary.notes = [f"proposed: {', '.join(f'{count} {role}' for role, count in roles.items())}; check every line"]
    summary.extra = {
        "person": found.person,
        "columns": {
            name: {"role": column.role, "kind": column.kind, "hierarchy": column.hierarchy, "reason": column.reason}
            for name, column in found.columns.items()
        },
    }
    summary.finish(summary_json)
