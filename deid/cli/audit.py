"""The command audit: what scrubbing missed at most, told from a sample that somebody read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.run_manifest import begin, finish
from deid.cli.source_options import Encoding, IdField, InFormat, KeyFile, TextField, existing_key, read_options


def _audit(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Scrubbed notes: file or folder.")],
    sample: Annotated[int, typer.Option(metavar="N", help="Notes to draw, at least.")] = 300,
    sheet: Annotated[
        Path | None, typer.Option("--sheet", metavar="F", help="Write the notes that are drawn to F, a CSV to fill in.")
    ] = None,
    marks: Annotated[
        Path | None, typer.Option("--marks", metavar="F", help="The sheet, filled in: state the bound.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="FIELD", help="Draw by type of note: a column or field, or folder."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed draws other notes.")] = 0,
    confidence: Annotated[float, typer.Option(metavar="P", help="Confidence of the bound.")] = 0.95,
    format: InFormat = None,
    encoding: Encoding = "utf-8",
    text_field: TextField = None,
    id_field: IdField = None,
    key_file: KeyFile = None,
    summary_json: SummaryJson = None,
) -> None:
    """Bound what scrubbing missed: draw notes, read them, say what that shows.

    First with --sheet: it holds a row for each note that was drawn. Write into its column leaks how many identifiers
    were missed in the note, 0 for none, and into words how many words they have. Then with --marks and the same
    --sample, --by and --seed. Both runs leave a manifest, so that no draw is thrown away unseen.

    Example: deid audit scrubbed/ --sample 300 --sheet sheet.csv
    """
    from deid.base.errors import ConfigError
    from deid.base.reports import Section
    from deid.cli.tables import print_sections
    from deid.io import scan
    from deid.manifest import public_name
    from deid.pipeline.auditing import bound_leaks, draw_notes, read_marks, write_sheet

    if (sheet is None) == (marks is None):
        raise ConfigError("either --sheet or --marks", "write the sheet first, then give it filled in")
    run = begin(context, out, existing_key(key_file))
    source = scan(out, format, read_options(encoding, True, text_field, id_field, None))
    draw = draw_notes(source, sample, by=by, seed=seed)
    summary = Summary("audit", notes=source.remarks())
    if draw.unreadable:
        summary.notes.append(f"{draw.unreadable} notes could not be read, so nothing is said of them")
    drawn = draw.drawn
    told = {kind: kind if public_name(kind) else run.name(kind) for kind in draw.sizes}
    if sheet is not None:
        write_sheet(sheet, source, draw)
        summary.notes.append(f"{drawn.total()} of {draw.total} notes are drawn, of {len(draw.sizes)} types")
        summary.places.append(f"{sheet}: fill in leaks (and words), then: deid audit {out} --marks {sheet}")
        summary.extra = {"types": {told[kind]: [size, drawn[kind]] for kind, size in draw.sizes.items()}}
    else:
        assert marks is not None
        audit = bound_leaks(source, draw, read_marks(marks), confidence)
        summary.notes += audit.sentences()
        types = {told[kind]: list(values) for kind, values in audit.types.items()}
        summary.extra = {**audit.as_dict(), "types": types}
        rows = tuple(
            (kind, f"{n:,}", str(r), str(bad), f"{bound:.2%}") for kind, (n, r, bad, bound) in audit.types.items()
        )
        print_sections([Section("Notes with a leak", ("type", "notes", "read", "with a leak", "at most"), rows)])
    finish(run, summary, out, looked=True, results=summary.extra)
    summary.finish(summary_json)
