"""The command convert: between any two formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson, progress
from deid.cli.run_manifest import begin, finish, inputs_of
from deid.cli.source_options import Encoding, MaxDocument, read_options


def _convert(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(metavar="IN", help="File or folder of any readable format.")],
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="New file (a name with the format's suffix) or else a new or empty folder."),
    ],
    format: Annotated[str, typer.Option("--format", metavar="F", help="Format to write (docs/formats.md lists them).")],
    from_format: Annotated[
        str | None, typer.Option("--from", metavar="F", help="Format of IN; told by suffix and content if not given.")
    ] = None,
    encoding: Encoding = "utf-8",
    output_encoding: Annotated[str, typer.Option(metavar="NAME", help="Encoding of OUT.")] = "utf-8",
    max_document: MaxDocument = "64M",
    map_to: Annotated[
        str | None,
        typer.Option("--map", metavar="SET", help="Map the labels to this label set; the losses are told."),
    ] = None,
    map_from: Annotated[
        str | None, typer.Option("--map-from", metavar="SET", help="Label set of IN, if its labels do not tell it.")
    ] = None,
    drop_unmapped: Annotated[
        bool, typer.Option("--drop-unmapped", help="Leave out spans whose label has no place in the target.")
    ] = False,
    any_label: Annotated[bool, typer.Option("--any-label", help="Accept labels outside the label sets.")] = False,
    text_field: Annotated[
        str | None, typer.Option("--text-field", metavar="NAME", help="Column or field of the text in IN.")
    ] = None,
    id_field: Annotated[
        str | None,
        typer.Option("--id-field", metavar="NAME", help="Column or field of the id in IN; empty: number the rows."),
    ] = None,
    spans_field: Annotated[
        str | None,
        typer.Option("--spans-field", metavar="NAME", help="Column or field of the annotations in IN; empty: none."),
    ] = None,
    summary_json: SummaryJson = None,
) -> None:
    """Convert documents from one format to another.

    Whatever the target cannot carry makes a document fail, rather than being lost; docs/formats.md says what each
    format carries.

    Example: deid convert corpus/xml corpus.jsonl --format jsonl
    """
    from deid.io.conversion import convert

    run = begin(context, target)
    summary = Summary("convert")
    options = read_options(encoding, any_label, text_field, id_field, spans_field, output_encoding, max_document)
    done = convert(
        source,
        target,
        format,
        from_format=from_format,
        options=options,
        map_to=map_to,
        map_from=map_from,
        drop_unmapped=drop_unmapped,
        watch=lambda items: progress(items, "converting"),
    )
    summary.documents = done.documents
    summary.failures = done.failures
    summary.categories = done.categories
    summary.notes = done.remarks
    summary.extra = {"from": done.source, "format": done.target, "dropped": dict(sorted(done.dropped.items()))}
    assert done.read is not None
    finish(run, summary, target, inputs=inputs_of(done.read), private=True, root=done.read.root, results=summary.extra)
    summary.finish(summary_json)
