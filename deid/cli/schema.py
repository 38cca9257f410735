"""The command schema: proposes roles for the columns of a table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import typer

from deid.base.files import check_new_file, write_bytes
from deid.cli import Summary, command, option
from deid.table.options import TableOptions


@command
def schema(
    told: Summary,
    *,
    source: TableOptions,
    output: Path | None = option(None, "Write it to a new file.", "--output", "-o"),
) -> None:
    """Propose which columns of a table identify, and which are sensitive.

    Prints a schema in TOML with a reason for each role. Read it, correct it, then give it to the commands that release
    and check tables with --schema.

    Example: deid schema patients.csv --output patients.toml
    """

    from deid.disclosure.proposal import propose_schema
    from deid.disclosure.schema import format_schema, read_microdata

    if output is not None:
        check_new_file(output)
        told.begin(output, inputs=source.files())
    found = propose_schema(read_microdata(source.table, separator=source.sep, table=source.sql))
    text = format_schema(found)
    roles = Counter(str(column.role) for column in found.columns.values())
    told.notes = [f"proposed: {', '.join(f'{count} {role}' for role, count in roles.items())}; check every line"]
    told.extra = {
        "person": found.person,
        "columns": {
            name: {"role": column.role, "kind": column.kind, "hierarchy": column.hierarchy, "reason": column.reason}
            for name, column in found.columns.items()
        },
    }
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_bytes(output, text.encode(), private=False)
        fates = {name: f"proposed: {column.role}" for name, column in found.columns.items()}
        told.sign(output, columns=fates)
