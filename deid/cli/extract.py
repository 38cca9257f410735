"""``deid extract`` and ``deid write-back``: from notes to a table of persons, and from a published table back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary, SummaryJson, progress
from deid.cli.run_manifest import begin, finish, inputs_of
from deid.cli.source_options import (
    Allow,
    AnyLabel,
    AsOf,
    Bias,
    DateField,
    Deny,
    Encoding,
    Failed,
    IdField,
    In,
    InFormat,
    Jobs,
    KnownColumn,
    KnownTable,
    Language,
    MaxDocument,
    Model,
    PatientField,
    PatientPattern,
    PatientTable,
    Rules,
    SpansField,
    TextField,
    Timeout,
    document_total,
    job_count,
    read_day,
    read_options,
    read_people,
    site_lists,
    write_failed,
)

if TYPE_CHECKING:
    from deid.detection import Recognizer
    from deid.detection.known import KnownRecognizer

_POLICY = """description = "What the anonymized table publishes; everything else is taken out."

[default]
operator = "redact"
"""
_PUBLISHED = ("DATE", "AGE", "LOCATION", "PROFESSION", "NAME", "ID", "CONTACT")


def _extract(
    context: typer.Context,
    source: In,
    target: Annotated[Path, typer.Argument(metavar="VIEW", help="New table: .csv, .tsv or .parquet.")],
    by: Annotated[str, typer.Option(metavar="person|note", help="What a row is.")] = "person",
    rounds: Annotated[
        int, typer.Option(metavar="N", help="Most rounds: each looks for what the one before learnt of a person.")
    ] = 2,
    join: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Structured table to join: CSV, Parquet, SQLite file or postgresql:// URL."),
    ] = None,
    on: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the view and the joined table.")] = "mrn",
    join_sql_table: Annotated[str | None, typer.Option(metavar="NAME", help="Table of a database to join.")] = None,
    gold: Annotated[bool, typer.Option("--gold", help="Use the documents' own annotations; detect nothing.")] = False,
    model: Model = None,
    rules: Rules = None,
    bias: Bias = None,
    language: Language = None,
    deny: Deny = None,
    allow: Allow = None,
    patients: PatientTable = None,
    patient_field: PatientField = None,
    patient_pattern: PatientPattern = None,
    known: KnownTable = None,
    known_column: KnownColumn = None,
    date_field: DateField = None,
    as_of: AsOf = None,
    jobs: Jobs = 1,
    format: InFormat = None,
    encoding: Encoding = "utf-8",
    any_label: AnyLabel = False,
    text_field: TextField = None,
    id_field: IdField = None,
    spans_field: SpansField = None,
    failed: Failed = None,
    max_document: MaxDocument = "64M",
    timeout: Timeout = 600.0,
    summary_json: SummaryJson = None,
) -> None:
    """Make a table of persons (or notes) from the PHI of notes: the identifier view.

    One column an attribute, with ISO dates, ages, codes of states; VIEW.provenance.csv beside it says where each value
    stands. Both hold PHI (mode 0600). Notes belong to one person by --patients and the like, else by an equal record
    number, or an equal name and birth date; how many persons look alike is said. Then: deid schema VIEW, deid anonymize
    VIEW.

    Example: deid extract notes/ view.csv --join patients.csv --on mrn
    """
    from deid.detection.recognizers import build_recognizer
    from deid.extraction.view import join_table, provenance_path
    from deid.io import scan
    from deid.joint.extracting import extract_files
    from deid.pipeline.files import require_annotations
    from deid.table.linkage import count_look_alikes
    from deid.table.microdata import check_columns
    from deid.table.table_files import check_new_table, read_table

    for path in (target, provenance_path(target)):
        check_new_table(path)
    run = begin(context, target)
    found = scan(
        source,
        format,
        read_options(
            encoding, any_label, text_field, id_field, spans_field, max_document=max_document, timeout=timeout
        ),
    )
    if gold:
        require_annotations(found, "extract", "detect")
    table = None
    if join is not None:
        table = read_table(join, table=join_sql_table, text=True)
        check_columns(table, [on])
    people = read_people(patients, patient_field, patient_pattern, known, known_column)
    site = site_lists(deny, allow)

    def recognizer(items: KnownRecognizer | None) -> Recognizer | None:
        if gold:
            return None
        return build_recognizer(model, rules=rules, bias=bias, language=language, known=items, site=site)

    result = extract_files(
        found,
        recognizer,
        by=by,
        rounds=rounds,
        patients=people.patients,
        known=people.known,
        language=language or "en",
        date_field=date_field,
        as_of=read_day(as_of),
        jobs=job_count(jobs),
        watch=lambda items: progress(items, "extracting", document_total(found)),
    )
    view, unmatched = result.view, 0
    if table is not None:
        view, unmatched = join_table(view, table, on)
    view.write(target)
    summary = Summary("extract", documents=result.documents, failures=result.failures, notes=found.remarks())
    persons = int(view.frame["person"].nunique())
    summary.places.append(f"{len(view.frame)} rows, {persons} persons, {result.rounds} rounds; {target} holds PHI")
    summary.notes += [
        f"{column}: {count} rows with values that disagree" for column, count in sorted(view.conflicts.items())
    ]
    alike = count_look_alikes(view.frame, "person")
    if alike is not None and alike.pairs:
        summary.notes.append(f"{alike}; name who is who with --patients, or correct the view, before levels count them")
    if join is not None:
        summary.notes.append(f"{unmatched} rows have no partner in the joined table")
    filled = {c: int(view.frame[c].notna().sum()) for c in view.frame.columns[2:]}
    summary.extra = {
        "rows": len(view.frame),
        "persons": persons,
        "rounds": result.rounds,
        "conflicts": dict(sorted(view.conflicts.items())),
        "filled": filled,
        "unmatched": unmatched,
        "look_alikes": None if alike is None else alike.as_dict(),
    }
    write_failed(summary, failed)
    finish(
        run,
        summary,
        target,
        inputs=inputs_of(found),
        beside={"provenance": provenance_path(target)},
        private=True,
        root=found.root,
        results=summary.extra,
    )
    summary.finish(summary_json)


def _write_back(
    context: typer.Context,
    view: Annotated[Path, typer.Argument(metavar="VIEW", help="Table of deid extract, with its provenance beside it.")],
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="What deid anonymize --aligned wrote.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="New folder for the policy and its values.")],
    on: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of both that tells rows apart; else their order does.")
    ] = None,
    summary_json: SummaryJson = None,
) -> None:
    """Make the policy that writes a published table's values back into the notes.

    OUT/policy.toml and OUT/values.csv say what stands where: 56 becomes [50-59] when the table publishes that. Values
    that are suppressed, and all other PHI, are taken out. RELEASE has the view's rows in their order, as deid anonymize
    --aligned writes them, or --on tells them apart. Then: deid scrub notes/ out/ --policy OUT/policy.toml

    Example: deid write-back view.csv aligned.csv published/
    """
    from deid.base.errors import OutputError
    from deid.base.files import check_new_file, write_bytes
    from deid.extraction import published_values, read_view
    from deid.extraction.view import provenance_path
    from deid.table.table_files import read_table, write_table

    check_new_file(target)
    run = begin(context, target)
    values = published_values(read_view(view), read_table(release), on=on)
    try:
        target.mkdir(mode=0o700)
    except OSError as error:
        raise OutputError(f"the folder cannot be made ({error.strerror})", "name a new folder", str(target)) from None
    write_table(values, target / "values.csv")
    lines = "".join(
        f'\n[categories.{category}]\noperator = "published-value"\nvalues = "values.csv"\n' for category in _PUBLISHED
    )
    write_bytes(target / "policy.toml", (_POLICY + lines).encode())
    summary = Summary("write-back")
    summary.places.append(f"{len(values)} places get a published value; use: deid scrub --policy {target}/policy.toml")
    summary.extra = {"places": len(values)}
    inputs = [("view", view), ("provenance", provenance_path(view)), ("release", release)]
    finish(run, summary, target, inputs=inputs, private=True, results=summary.extra)
    summary.finish(summary_json)
