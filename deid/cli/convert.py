"""The commands convert and generalize: notes in another format, or with more general terms."""

from __future__ import annotations

from pathlib import Path

from deid.cli import IN, OUT, Summary, WorkOptions, command
from deid.cli.notes import NEW_OUT, ListOptions, NotesRun
from deid.io.formats import ConversionOptions, ReadingOptions
from deid.pipeline.options import GeneralizeOptions


@command
def convert(
    told: Summary,
    *,
    source: Path | str = IN,
    target: Path = NEW_OUT,
    asked: ConversionOptions,
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
    done = conversion.convert(source, target, asked, reading, watch=run.watch("converting"))
    told.notes = []  # what the reading said stands among what was done
    figures = {"from": done.source, "to": done.target, "dropped": dict(sorted(done.dropped.items()))}
    return run.finish(done, figures, remarks=done.remarks, private=True)


@command
def generalize(
    told: Summary,
    *,
    source: Path | str = IN,
    target: Path = OUT,
    asked: GeneralizeOptions,
    work: WorkOptions,
    listed: ListOptions,
    reading: ReadingOptions,
) -> None:
    """Replace sensitive terms by more general ones until T originals are plausible.

    Diseases, drugs, places and professions are generalized; names, dates and numbers are not: scrub first. What is
    --known of a note's patient is sensitive too; what no ontology has of it becomes its category. Notes that cannot
    reach T get the most general terms and are listed. Ids that deid scrub made stay, others and all other
    fields become keyed pseudonyms unless --keep names them.

    Example: deid generalize scrubbed/ general/ --plausible 96
    """
    from deid.pipeline.generalizing import generalize_files

    run = NotesRun(told, source, reading, listed)
    run.into(target)
    ontologies = [own.name for own in asked.generalizer().ontologies]  # refused before anything is made
    key = told.key(work.key_file)
    run.begin(key=key)
    report = generalize_files(run.found, target, asked, key, jobs=work.processes, watch=run.watch("generalizing"))
    figures = {"t": asked.t, "objective": asked.objective, "ontologies": ontologies, **report.counts()}
    run.finish(report, figures, "plausible", "ontologies", remarks=report.remarks())
