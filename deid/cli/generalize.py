"""The command generalize: t-plausible text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson, progress
from deid.cli.run_manifest import begin, finish, inputs_of
from deid.cli.source_options import (
    AnyLabel,
    Encoding,
    Failed,
    IdField,
    In,
    InFormat,
    Jobs,
    Keep,
    KeyFile,
    KnownColumn,
    KnownField,
    KnownTable,
    MaxDocument,
    OutputEncoding,
    PatientField,
    PatientPattern,
    PatientTable,
    SpansField,
    TextField,
    Timeout,
    check_target,
    document_total,
    job_count,
    keeps_ids,
    read_options,
    read_people,
    write_failed,
)


def _generalize(
    context: typer.Context,
    source: In,
    target: Annotated[Path, typer.Argument(metavar="OUT", help="New file or folder; same format as IN.")],
    t: Annotated[int, typer.Option("--t", metavar="T", help="So many original texts must be plausible.")],
    objective: Annotated[
        str, typer.Option(help="minimal: lose no more than T asks for; uniform: spread it over the words.")
    ] = "minimal",
    alpha: Annotated[
        float, typer.Option(metavar="A", help="For uniform: weight (0 to 1) of the whole text against the words.")
    ] = 0.5,
    search: Annotated[
        str, typer.Option(help="auto, best-first, branch-and-bound, greedy, or exhaustive (for checks).")
    ] = "auto",
    ontology: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="diseases, drugs, places, professions (all four by default), wordnet, or a CSV file (repeatable).",
        ),
    ] = None,
    gold: Annotated[
        bool, typer.Option("--gold", help="The annotations that IN carries are the sensitive words.")
    ] = False,
    every_word: Annotated[
        bool, typer.Option("--every-word", help="Leave no sensitive word as it is, even if T is reached without it.")
    ] = False,
    key_file: KeyFile = None,
    patients: PatientTable = None,
    patient_field: PatientField = None,
    patient_pattern: PatientPattern = None,
    known: KnownTable = None,
    known_column: KnownColumn = None,
    known_field: KnownField = None,
    keep: Keep = None,
    jobs: Jobs = 1,
    format: InFormat = None,
    encoding: Encoding = "utf-8",
    output_encoding: OutputEncoding = "",
    any_label: AnyLabel = False,
    text_field: TextField = None,
    id_field: IdField = None,
    spans_field: SpansField = None,
    failed: Failed = None,
    max_document: MaxDocument = "64M",
    timeout: Timeout = 600.0,
    summary_json: SummaryJson = None,
) -> None:
    """Replace sensitive terms by more general ones until T originals are plausible.

    Diseases, drugs, places and professions are generalized; names, dates and numbers are not: scrub first. What is
    --known of a note's patient is sensitive too; what no ontology has of it becomes its category. Notes that cannot
    reach T get the most general terms and are listed. Ids that deid scrub made stay, others and all other
    fields become keyed pseudonyms unless --keep names them.

    Example: deid generalize scrubbed/ general/ --t 96
    """
    from dataclasses import asdict

    from deid.base.keys import load_key
    from deid.io import scan
    from deid.pipeline.generalizing import generalize_files
    from deid.pipeline.naming import Naming
    from deid.replacement.ontology_files import SHIPPED
    from deid.replacement.t_plausibility import make_generalizer

    summary = Summary("generalize")
    kept = frozenset(keep or ())
    found = scan(
        source,
        format,
        read_options(encoding, any_label, text_field, id_field, spans_field, output_encoding, max_document, timeout),
    )
    check_target(summary, found, source, target, found.format, resume=False)
    generalizer = make_generalizer(
        t, objective=objective, alpha=alpha, search=search, ontologies=ontology or SHIPPED, every_word=every_word
    )
    people = read_people(patients, patient_field, patient_pattern, known, known_column, known_field)
    key, created = load_key(key_file)
    run = begin(context, target, key)
    naming = Naming(key, keeps_ids(kept, found), kept, people.patients.field_name)
    report = generalize_files(
        found,
        target,
        generalizer,
        naming,
        gold=gold,
        patients=people.patients,
        known=people.known,
        recognizer=people.recognizer(None),
        keep_filename="filename" in kept,
        jobs=job_count(jobs),
        watch=lambda items: progress(items, "generalizing", document_total(found)),
    )
    summary.documents, summary.failures = len(report.notes) - report.lost, report.failures
    summary.categories = report.categories
    summary.notes = [*found.remarks(), *people.note(report.unlisted)]
    summary.places += [created] if created else []
    if report.unscrubbed:
        summary.notes.append(
            f"{report.unscrubbed} notes have no ids of deid scrub: if they were not scrubbed, their names, dates and "
            "numbers are in OUT as they were (scrub first)"
        )
    if report.without_words:
        summary.notes.append(f"notes without a sensitive word, unchanged: {report.without_words}")
    if report.short:
        names = ", ".join(note.document for note in report.short[:10])
        summary.notes.append(
            f"notes below {t} plausible texts, with all words as general as can be: {len(report.short)} ({names}"
            + (", ...)" if len(report.short) > 10 else ")")
        )
    summary.extra = {
        "t": t,
        "objective": objective,
        "ontologies": [o.name for o in generalizer.ontologies],
        "without_words": report.without_words,
        "below_t": len(report.short),
        "unlisted": report.unlisted,
        "unscrubbed": report.unscrubbed,
        "plausible": [asdict(note) for note in report.notes],
    }
    counts = sorted(note.plausible for note in report.notes if note.words)
    if counts:
        summary.notes.append(
            f"plausible texts a note: at least {counts[0]}, median {counts[len(counts) // 2]}, at most {counts[-1]}"
        )
    write_failed(summary, failed, target)
    finish(
        run,
        summary,
        target,
        inputs=inputs_of(found),
        root=found.root,
        results={name: value for name, value in summary.extra.items() if name not in ("plausible", "ontologies")},
    )
    summary.finish(summary_json)
