"""The commands scrub and tag: notes in, scrubbed or annotated notes out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.keys import WorkOptions
from deid.cli import Summary, argument, command, option, place_of
from deid.cli.notes import AgainOptions, NotesRun
from deid.cli.option_groups import IN, IN_OR_STDIN
from deid.detection.options import RecognizerOptions
from deid.document import Failure
from deid.io.formats import ReadingOptions
from deid.pipeline.facts import facts_of, model_facts
from deid.pipeline.options import PipelineOptions, ScrubTarget, TableTarget, VaultKeeping

if TYPE_CHECKING:
    from deid.pipeline import Pipeline


@command
def scrub(
    told: Summary,
    *,
    source: Path | str = IN_OR_STDIN,
    target: Path | str | None = argument(
        "New file or folder; same format as IN.", metavar="OUT", default=None, read=place_of
    ),
    into: ScrubTarget,
    said: PipelineOptions,
    work: WorkOptions,
    keeping: VaultKeeping,
    again: AgainOptions,
    reading: ReadingOptions,
) -> int | None:
    """Replace the PHI in notes.

    Writes the same format as IN; names of files, ids and other fields become keyed pseudonyms unless --keep names
    them. What fails is left out, and the exit status is 1 (3 for records such as messages, and for rows). With - a note
    goes from standard input to output.

    Example: deid scrub notes/ scrubbed/ --policy safe-harbor
    """
    from deid.pipeline import build_pipeline, scrub_files
    from deid.pipeline.batch import risk_report_beside

    if str(source) == "-":
        into.check_alone(target, keeping.vault, again != AgainOptions())
        _scrub_stdin(told, build_pipeline(told.key(work.key_file), said), reading)
        return None
    target = into.checked(target, omop=reading.omop)
    run = NotesRun(told, source, reading, again)
    if isinstance(target, Path) and run.rows is None:
        run.into(target)
    jobs = work.processes
    key = into.key(work.key_file) or told.key(work.key_file)
    pipeline = build_pipeline(key, said, originals=keeping.vault is not None)
    if target is None or into.preview:
        from deid.cli.preview import show

        return show(pipeline.of_format(run.found.format), run.found, into.preview_count)
    rows = run.into_rows(target, key, spans=into.note_nlp) if run.rows or isinstance(target, str) else None
    run.begin(key=key)
    with keeping.opened(key) as opened:
        report = scrub_files(
            run.found,
            run.output,
            pipeline,
            jobs=jobs,
            edit_log=into.edits,
            vault=opened,
            run=run.note(key.of_map(opened.map_version) if opened else key),
            risk_report=into.risk_report,
            watch=run.watch("scrubbing"),
        )
    site, policy = getattr(pipeline.recognizer, "site", None), pipeline.applied
    remarks = [*report.remarks(site, per_person=policy is not None and policy.per_person), *pipeline.notes]
    figures: dict[str, Any] = {"policy": policy.name if policy else "", "method": said.method}
    figures |= {"format": run.found.format.name, **report.counts(site)}
    if rows is not None:
        remarks += rows.remarks()
        figures |= {"columns": rows.source.plan.told(), "emptied": dict(sorted(rows.emptied.items()))}
    beside = risk_report_beside(run.place) if into.risk_report is not None else None
    if beside is not None:
        told.places.append(f"{beside} goes with the notes: it says under which assumptions the risk is how great")
    kept = [note for note in (*told.notes, *remarks) if note not in pipeline.policy.notes()]
    return run.finish(
        report, figures, "policy", remarks=remarks, beside={"risk report": beside}, notes=kept, **facts_of(pipeline)
    )


def _scrub_stdin(told: Summary, pipeline: Pipeline, reading: ReadingOptions) -> None:
    """Scrub the one note of standard input; nothing of it comes out when that fails."""
    from deid.pipeline.at_once import scrub_stream
    from deid.reading.languages import foreign

    done = scrub_stream(sys.stdin.buffer, pipeline, reading)
    if isinstance(done, Failure):
        told.failures.append(done)
        return
    written, result = done
    sys.stdout.buffer.write(written)
    told.documents = 1
    told.categories.update(edit.category for edit in result.edits)
    if result.other_language:
        told.notes.append(f"1 {foreign({result.other_language: 1})}")
    told.notes += pipeline.notes


@command
def tag(
    told: Summary,
    *,
    source: Path | str = IN,
    target: Path | None = argument("New file or folder.", metavar="OUT", default=None),
    into: TableTarget,
    to: str | None = option(
        None, "Format of OUT; by default meddocan for its labels, else i2b2-2014.", "--to", metavar="F"
    ),
    said: RecognizerOptions,
    work: WorkOptions,
    again: AgainOptions,
    reading: ReadingOptions,
) -> int | None:
    """Annotate the PHI in notes, whatever annotations they carry.

    Writes one file a document with the same stem (or one file of records, for formats that hold many). The model's
    own labels are written, without mapping.

    Example: deid tag notes/ tagged/ --model en --to i2b2-2014
    """
    from deid.io import CollectionFormat
    from deid.pipeline import tag_files
    from deid.pipeline.files import tagged_format, tagged_options
    from deid.pipeline.known_people import read_people, recognizer_of

    run = NotesRun(told, source, reading, again)
    people = read_people(said)
    recognizer = recognizer_of(said, people)
    chosen = tagged_format(to, recognizer.categories)
    place = into.place(target)
    if target is not None:
        run.into(target, chosen)
    elif place is not None:
        run.into_rows(place, told.key(work.key_file), notes=False, spans=True)
    run.begin()
    report = tag_files(
        run.found,
        run.output,
        recognizer,
        chosen,
        options=tagged_options(run.found, chosen, reading),
        people=people,
        jobs=work.processes,
        run=run.note(single=run.found.single or isinstance(chosen, CollectionFormat)),
        watch=run.watch("tagging"),
    )
    figures: dict[str, Any] = {"recognizer": recognizer.name, "from": run.found.format.name, "to": chosen.name}
    figures |= {"unlisted": report.unlisted, "other_languages": dict(sorted(report.other_languages.items()))}
    figures |= {"site_lists": report.effect.as_dict()} if recognizer.site else {}
    remarks, model = report.remarks(recognizer.site), model_facts(recognizer)
    return run.finish(report, figures, "recognizer", remarks=remarks, private=True, model=model)
