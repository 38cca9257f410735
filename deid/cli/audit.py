"""The command audit: what scrubbing missed at most, told from a sample that somebody read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from deid.base.errors import ConfigError
from deid.base.options import argument, option
from deid.cli.common import Summary
from deid.cli.notes import ReadingOptions
from deid.cli.option_groups import KeyOptions, command


@command
def audit(
    told: Summary,
    *,
    out: Path = argument("Scrubbed notes: file or folder.", metavar="OUT"),
    sample: int = option(300, "Notes to draw, at least."),
    sheet: Path | None = option(None, "Write the notes that are drawn to F, a CSV to fill in."),
    marks: Path | None = option(None, "The sheet, filled in: state the bound."),
    strata: str | None = option(None, "Draw by type of note: a column or field, or folder.", metavar="FIELD"),
    seed: int = option(0, "Another seed draws other notes."),
    confidence: float = option(0.95, "Confidence of the bound.", metavar="P"),
    key: KeyOptions,
    reading: ReadingOptions,
) -> None:
    """Bound what scrubbing missed: draw notes, read them, say what that shows.

    First with --sheet: it holds a row for each note that was drawn. Write into its column leaks how many identifiers
    were missed in the note, 0 for none, and into words how many words they have. Then with --marks and the same
    --sample, --strata and --seed. Both runs leave a manifest, so that no draw is thrown away unseen.

    Example: deid audit scrubbed/ --sample 300 --sheet sheet.csv
    """
    from deid.base.reports import Section
    from deid.cli.tables import print_sections
    from deid.manifest import public_name
    from deid.pipeline.auditing import bound_leaks, draw_notes, read_marks, write_sheet

    if (sheet is None) == (marks is None):
        raise ConfigError("either --sheet or --marks", "write the sheet first, then give it filled in")
    told.begin(out, key.existing())
    source = replace(reading, any_label=True).scan(out)
    draw = draw_notes(source, sample, by=strata, seed=seed)
    told.notes = source.remarks()
    if draw.unreadable:
        told.notes.append(f"{draw.unreadable} notes could not be read, so nothing is said of them")
    drawn = draw.drawn
    types = {kind: kind if public_name(kind) else told.run.name(kind) for kind in draw.sizes}
    if sheet is not None:
        write_sheet(sheet, source, draw)
        told.notes.append(f"{drawn.total()} of {draw.total} notes are drawn, of {len(draw.sizes)} types")
        told.places.append(f"{sheet}: fill in leaks (and words), then: deid audit {out} --marks {sheet}")
        told.extra = {"types": {types[kind]: [size, drawn[kind]] for kind, size in draw.sizes.items()}}
    else:
        assert marks is not None
        audit = bound_leaks(source, draw, read_marks(marks), confidence)
        told.notes += audit.sentences()
        told.extra = {
            **audit.as_dict(),
            "types": {types[kind]: list(values) for kind, values in audit.types.items()},
        }
        rows = tuple(
            (kind, f"{n:,}", str(r), str(bad), f"{bound:.2%}") for kind, (n, r, bad, bound) in audit.types.items()
        )
        print_sections([Section("Notes with a leak", ("type", "notes", "read", "with a leak", "at most"), rows)])
    told.sign(out, looked=True)
