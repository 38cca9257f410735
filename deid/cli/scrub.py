"""The commands scrub and tag: notes in, scrubbed or annotated notes out."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary, SummaryJson, progress
from deid.cli.run_manifest import begin, finish, inputs_of, model_facts, policy_facts
from deid.cli.source_options import (
    Accept,
    Allow,
    AnyLabel,
    AsOf,
    Bias,
    DateField,
    Deny,
    Doubt,
    Encoding,
    Failed,
    FilesFrom,
    IdField,
    In,
    InFormat,
    Jobs,
    Keep,
    KeyFile,
    KnownColumn,
    KnownField,
    KnownTable,
    Language,
    MaxDocument,
    Model,
    OutputEncoding,
    PatientField,
    PatientPattern,
    PatientTable,
    PolicyName,
    Resume,
    Rules,
    SpansField,
    TextField,
    Timeout,
    Transformer,
    check_target,
    document_total,
    existing_key,
    fill_summary,
    job_count,
    keeps_ids,
    listed_source,
    read_day,
    read_options,
    read_people,
    run_note,
    site_lists,
    write_failed,
)

if TYPE_CHECKING:
    from deid.base.keys import Key
    from deid.replacement.vault import Vault


def _scrub(
    context: typer.Context,
    source: In,
    target: Annotated[Path | None, typer.Argument(metavar="OUT", help="New file or folder; same format as IN.")] = None,
    policy: PolicyName = None,
    model: Model = None,
    transformer: Transformer = None,
    rules: Rules = None,
    bias: Bias = None,
    doubt: Doubt = 0.0,
    language: Language = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="policy, or concept-match: block all that no nomenclature knows.")
    ] = "policy",
    gold: Annotated[
        bool, typer.Option("--gold", help="Replace the annotations that IN carries, instead of detecting.")
    ] = False,
    key_file: KeyFile = None,
    patients: PatientTable = None,
    patient_field: PatientField = None,
    patient_pattern: PatientPattern = None,
    known: KnownTable = None,
    known_column: KnownColumn = None,
    known_field: KnownField = None,
    keep: Keep = None,
    deny: Deny = None,
    allow: Allow = None,
    accept: Accept = None,
    as_of: AsOf = None,
    date_field: DateField = None,
    jobs: Jobs = 1,
    format: InFormat = None,
    encoding: Encoding = "utf-8",
    output_encoding: OutputEncoding = "",
    max_document: MaxDocument = "64M",
    timeout: Timeout = 600.0,
    any_label: AnyLabel = False,
    text_field: TextField = None,
    id_field: IdField = None,
    spans_field: SpansField = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show what would change in a few notes; write nothing.")
    ] = False,
    preview_count: Annotated[int, typer.Option(metavar="N", help="Notes to preview.")] = 3,
    edits: Annotated[
        Path | None, typer.Option(metavar="F", help="Write the edit log to F: offsets and categories, no text.")
    ] = None,
    vault: Annotated[
        str | None,
        typer.Option(metavar="VAULT", help="Keep the originals, encrypted, in a vault (deid vault init)."),
    ] = None,
    vault_key_file: Annotated[
        Path | None, typer.Option(metavar="F", help="Key of the vault, if it is another one.")
    ] = None,
    risk_report: Annotated[
        Path | None,
        typer.Option(metavar="F", help="Check the report of deid risk --expert-report and put it beside OUT."),
    ] = None,
    failed: Failed = None,
    files_from: FilesFrom = None,
    resume: Resume = False,
    summary_json: SummaryJson = None,
) -> None:
    """Replace the PHI in notes.

    Writes the same format as IN. Names of files, ids and other fields become keyed pseudonyms unless --keep names
    them. A document that fails is left out, and the exit status is 1.

    Example: deid scrub notes/ scrubbed/ --policy safe-harbor
    """
    from deid.base.errors import ConfigError
    from deid.io import scan
    from deid.pipeline import Settings, build_pipeline, scrub_files
    from deid.pipeline.batch import risk_report_beside

    if vault_key_file is not None and vault is None:
        raise ConfigError("--vault-key-file without --vault", "name the vault")
    if target is None and not preview:
        raise ConfigError("OUT is missing", "name a new file or folder, or look first with --preview")
    kept = frozenset(keep or ())
    options = read_options(
        encoding, any_label, text_field, id_field, spans_field, output_encoding, max_document, timeout
    )
    found = listed_source(scan(source, format, options), files_from)
    summary, workers = Summary("scrub"), job_count(jobs)
    if target is not None:
        check_target(summary, found, source, target, found.format, resume=resume)
    site = site_lists(deny, allow)
    people = read_people(patients, patient_field, patient_pattern, known, known_column, known_field)
    settings = Settings(
        gold=gold,
        keep_id=keeps_ids(kept, found),
        keep_fields=kept,
        patients=people.patients,
        date_field=date_field,
        as_of=read_day(as_of),
        language=language,
        known=people.known,
        originals=vault is not None,
        method=method,
    )
    key, created = _key(key_file, preview)
    pipeline = build_pipeline(
        key,
        settings,
        policy=policy,
        accept=accept or (),
        known=people.recognizer(language),
        site=site,
        model=model,
        rules=rules,
        bias=bias,
        transformer=transformer,
        doubt=doubt,
    )
    loaded, whole = pipeline.policy, method != "policy"
    if preview:
        from deid.cli.preview import show

        raise typer.Exit(show(pipeline.of_format(found.format), found, preview_count))
    assert target is not None
    run = begin(context, target, key)
    summary.notes += found.remarks()
    summary.places += [created] if created else []
    with _vault(vault, vault_key_file, key) as opened:
        report = scrub_files(
            found,
            target,
            pipeline,
            jobs=workers,
            keep_filename="filename" in kept,
            edit_log=edits,
            vault=opened,
            run=run_note(context, found, target, key.of_map(opened.map_version) if opened else key, resume=resume),
            risk_report=risk_report,
            watch=lambda items: progress(items, "scrubbing", document_total(found)),
        )
    fill_summary(summary, report, site)
    summary.notes += pipeline.notes
    if loaded.per_person and not whole and report.without_patient:
        summary.notes.append(
            f"{report.without_patient} documents without a patient: their replacements are consistent within each "
            "document only (--patients, --patient-field, --patient-pattern)"
        )
    summary.notes += people.note(report.unlisted)
    if report.collisions:
        summary.notes.append(
            f"{report.collisions} name words have another surrogate in one document than in the person's others, where "
            "theirs is an original of the document (a table of --known patients prevents it)"
        )
    if report.shared_names:
        summary.notes.append(
            f"{report.shared_names} surrogate names are also full names in these notes or the vault (a table of "
            "--known patients prevents it)"
        )
    if report.residual:
        summary.notes.append(
            f"{report.residual} replaced texts still stand elsewhere in their documents ({report.residual_documents} "
            "of them); look whether they are PHI: deid scrub --preview"
        )
    if report.unlabelled:
        summary.notes.append(f"{report.unlabelled} annotations were not written: the format has no label for them")
    summary.extra = {
        "policy": "" if whole else loaded.name,
        "method": method,
        "format": found.format.name,
        "residual": report.residual,
        "residual_documents": report.residual_documents,
        "without_patient": report.without_patient,
        "unlisted": report.unlisted,
        "collisions": report.collisions,
        "shared_names": report.shared_names,
        "map_version": report.map_version,
        **({"site_lists": report.effect.as_dict()} if site else {}),
    }
    beside = risk_report_beside(target) if risk_report is not None else None
    if beside is not None:
        summary.places.append(f"{beside} goes with the notes: it says under which assumptions the risk is how great")
    write_failed(summary, failed, target)
    finish(
        run,
        summary,
        target,
        inputs=inputs_of(found),
        root=found.root,
        beside={"edit log": edits, "risk report": beside},
        policy=None if whole else policy_facts(loaded),
        model=model_facts(pipeline.recognizer),
        results={name: value for name, value in summary.extra.items() if name != "policy"},
        notes=[note for note in summary.notes if note not in loaded.notes()],
    )
    summary.finish(summary_json)


def _tag(
    context: typer.Context,
    source: In,
    target: Annotated[Path, typer.Argument(metavar="OUT", help="New file or folder.")],
    model: Model = None,
    transformer: Transformer = None,
    rules: Rules = None,
    bias: Bias = None,
    doubt: Doubt = 0.0,
    span_probability: Annotated[
        float,
        typer.Option(
            metavar="P",
            help="Choose the model's spans by their own probability, each above P, not by the best labels: 0.4 finds "
            "most spans exactly.",
        ),
    ] = 0.0,
    threshold: Annotated[
        float | None, typer.Option(metavar="P", help="Leave out what the model is less sure of than P (0 to 1).")
    ] = None,
    language: Language = None,
    deny: Deny = None,
    allow: Allow = None,
    patients: PatientTable = None,
    patient_field: PatientField = None,
    patient_pattern: PatientPattern = None,
    known: KnownTable = None,
    known_column: KnownColumn = None,
    known_field: KnownField = None,
    format: Annotated[
        str | None,
        typer.Option(metavar="F", help="Format of OUT; by default meddocan for its labels, else i2b2-2014."),
    ] = None,
    from_format: Annotated[
        str | None, typer.Option("--from", metavar="F", help="Format of IN; told by its content if not given.")
    ] = None,
    jobs: Jobs = 1,
    encoding: Encoding = "utf-8",
    output_encoding: OutputEncoding = "",
    max_document: MaxDocument = "64M",
    timeout: Timeout = 600.0,
    any_label: AnyLabel = False,
    text_field: TextField = None,
    id_field: IdField = None,
    failed: Failed = None,
    files_from: FilesFrom = None,
    resume: Resume = False,
    summary_json: SummaryJson = None,
) -> None:
    """Annotate the PHI in notes, whatever annotations they carry.

    Writes one file a document with the same stem (or one file of records, for formats that hold many). The model's
    own labels are written, without mapping.

    Example: deid tag notes/ tagged/ --model en --format i2b2-2014
    """
    from dataclasses import replace

    from deid.detection.recognizers import build_recognizer
    from deid.io import FORMATS, CollectionFormat, scan
    from deid.io.reading import get_format
    from deid.phi import LABEL_SETS
    from deid.pipeline import tag_files

    reading = read_options(encoding, any_label, text_field, id_field, None, output_encoding, max_document, timeout)
    found = listed_source(scan(source, from_format, reading), files_from)
    site = site_lists(deny, allow)
    people = read_people(patients, patient_field, patient_pattern, known, known_column, known_field)
    recognizer = build_recognizer(
        model,
        rules=rules,
        bias=bias,
        threshold=threshold,
        language=language,
        known=people.recognizer(language),
        site=site,
        transformer=transformer,
        doubt=doubt,
        span_probability=span_probability,
    )
    labels = recognizer.categories
    if format is None:
        spanish = LABEL_SETS["meddocan"].labels.keys() - LABEL_SETS["i2b2-2014"].labels.keys()
        format = "meddocan" if labels & spanish else "i2b2-2014"
    chosen = get_format(format, FORMATS)
    summary = Summary("tag")
    check_target(summary, found, source, target, chosen, resume=resume)
    fits = not chosen.label_sets or all(any(c in LABEL_SETS[s] for s in chosen.label_sets) for c in labels)
    same = found.format.name == chosen.name
    options = replace(found.layout() if same else found.options, any_label=any_label or not fits)
    run = begin(context, target)
    summary.notes += found.remarks()
    into_folder = found if not isinstance(chosen, CollectionFormat) else replace(found, single=True)
    report = tag_files(
        found,
        target,
        recognizer,
        chosen,
        options=options,
        patients=people.patients,
        known=people.known,
        jobs=job_count(jobs),
        run=run_note(context, into_folder, target, None, resume=resume),
        watch=lambda items: progress(items, "tagging", document_total(found)),
    )
    fill_summary(summary, report, site)
    summary.notes += people.note(report.unlisted)
    summary.extra = {
        "recognizer": recognizer.name,
        "from": found.format.name,
        "format": chosen.name,
        "unlisted": report.unlisted,
        **({"site_lists": report.effect.as_dict()} if site else {}),
    }
    write_failed(summary, failed, target)
    finish(
        run,
        summary,
        target,
        inputs=inputs_of(found),
        private=True,
        root=found.root,
        model=model_facts(recognizer),
        results={name: value for name, value in summary.extra.items() if name != "recognizer"},
    )
    summary.finish(summary_json)


def _vault(place: str | None, key_file: Path | None, key: Key) -> AbstractContextManager[Vault | None]:
    """Open the vault, if one is asked for."""
    if place is None:
        return nullcontext()
    from deid.base.errors import ConfigError
    from deid.base.keys import load_key
    from deid.base.store import has_password
    from deid.replacement.vault import Vault

    if has_password(place):
        raise ConfigError(
            "the URL of the vault holds a password, which other users can read on the command line",
            "leave it out and use PGPASSWORD or ~/.pgpass",
        )
    return Vault.open(place, load_key(key_file, create=False)[0] if key_file else key)


def _key(path: Path | None, preview: bool) -> tuple[Key, str]:
    """Load the key; a preview writes nothing, so where there is none yet it looks with one that is thrown away."""
    import secrets

    from deid.base.keys import Key, load_key

    missing = existing_key(None) is None if path is None else not path.exists()
    if preview and missing:
        return Key(secrets.token_bytes(32)), ""
    return load_key(path)
