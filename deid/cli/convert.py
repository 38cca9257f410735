"""The command convert: between any two formats."""

from __future__ import annotations

from pathlib import Path

from deid.base.options import argument, option
from deid.cli.common import Summary
from deid.cli.notes import NotesRun, ReadingOptions
from deid.cli.option_groups import IN, command


@command
def convert(
    told: Summary,
    *,
    source: Path | str = IN,
    target: Path = argument("New file (a name with the format's suffix) or else a new or empty folder.", metavar="OUT"),
    to: str = option(..., "Format to write (docs/formats.md lists them).", metavar="F"),
    map: str | None = option(None, "Map the labels to this label set; the losses are told.", metavar="SET"),
    map_from: str | None = option(None, "Label set of IN, if its labels do not tell it.", metavar="SET"),
    drop_unmapped: bool = option(False, "Leave out spans whose label has no place in the target."),
    reading: ReadingOptions,
) -> int | None:
    """Convert documents from one format to another.

    Whatever the target cannot carry makes a document fail, rather than being lost; docs/formats.md says what each
    format carries.

    Example: deid convert corpus/xml corpus.jsonl --to jsonl
    """
    from deid.io import conversion

    run = NotesRun(told, source, reading)
    run.begin(target)
    done = conversion.convert(
        source,
        target,
        to,
        from_format=reading.format,
        options=reading,
        map_to=map,
        map_from=map_from,
        drop_unmapped=drop_unmapped,
        watch=run.watch("converting"),
    )
    told.take(done)
    told.notes = done.remarks
    told.extra = {"from": done.source, "to": done.target, "dropped": dict(sorted(done.dropped.items()))}
    run.finish(private=True)
    return run.status
