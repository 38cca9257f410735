"""The commands filter and watch: a feed of records, or of files, scrubbed as it comes."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import EXIT_LEFT_OUT, Summary, SummaryJson
from deid.cli.source_options import (
    Accept,
    Allow,
    AsOf,
    Bias,
    DateField,
    Deny,
    Encoding,
    IdField,
    Jobs,
    Keep,
    KeyFile,
    KnownColumn,
    KnownField,
    KnownTable,
    Language,
    Model,
    OutputEncoding,
    PatientField,
    PatientTable,
    PolicyName,
    Rules,
    TextField,
    job_count,
    read_day,
    read_people,
    site_lists,
    size_of,
)

if TYPE_CHECKING:
    from deid.base.keys import Key
    from deid.streaming.proof import Proof
    from deid.streaming.totals import Totals
    from deid.streaming.work import PipelineRecipe, Shape

FORMATS = {
    "plain": "text",
    "ndjson": "json",
    "whole": "text",
    "length-prefixed": "text",
    "length-prefixed-json": "json",
}
"""Format of records -> what is in one."""

Format = Annotated[
    str | None,
    typer.Option(
        metavar="F",
        help="plain, ndjson, whole, length-prefixed or length-prefixed-json; ndjson if the input begins as a JSON "
        "object does, else plain (filter) or whole (watch).",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(metavar="D", help="Behind each plain record: line (default), blank-line, form-feed, nul, or a text."),
]
MaxRecord = Annotated[str, typer.Option(metavar="SIZE", help="Leave out longer records: bytes, or with K, M, G.")]
Timeout = Annotated[float, typer.Option(metavar="S", help="Leave out records that take longer than S seconds.")]
ManifestFile = Annotated[
    Path | None,
    typer.Option("--manifest", metavar="F", help="Write a signed manifest to F (F.2, F.3 when it is there already)."),
]
ManifestEvery = Annotated[
    int, typer.Option(metavar="N", help="Write a manifest after every N records too, for feeds without an end.", min=0)
]
Metrics = Annotated[
    int | None, typer.Option(metavar="PORT", help="Answer /metrics and /health on 127.0.0.1; 0 for any free port.")
]


def _filter(
    context: typer.Context,
    source: Annotated[
        Path | None, typer.Option("--input", metavar="F", help="Read F instead of standard input.")
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--output", metavar="F", help="Write a new file F instead of standard output.")
    ] = None,
    format: Format = None,
    delimiter: Delimiter = None,
    text_field: TextField = None,
    id_field: IdField = None,
    patient_field: PatientField = None,
    date_field: DateField = None,
    keep: Keep = None,
    policy: PolicyName = None,
    model: Model = None,
    rules: Rules = None,
    bias: Bias = None,
    language: Language = None,
    key_file: KeyFile = None,
    patients: PatientTable = None,
    known: KnownTable = None,
    known_column: KnownColumn = None,
    known_field: KnownField = None,
    deny: Deny = None,
    allow: Allow = None,
    accept: Accept = None,
    as_of: AsOf = None,
    encoding: Encoding = "utf-8",
    output_encoding: OutputEncoding = "",
    jobs: Jobs = 1,
    dead_letters: Annotated[
        Path | None,
        typer.Option(metavar="F", help="Note records that were left out in F: offset, length, keyed hash, error."),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(metavar="F", help="Note progress in F, so that the same command goes on after a crash."),
    ] = None,
    max_record: MaxRecord = "4M",
    timeout: Timeout = 600.0,
    metrics_port: Metrics = None,
    manifest: ManifestFile = None,
    manifest_every: ManifestEvery = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing when all went well.")] = False,
    summary_json: SummaryJson = None,
) -> None:
    """Replace the PHI in a stream of records.

    Records come out in order, each as soon as it is done. One that fails is left out, never passed on, and the exit
    status is 3; 143, 130 and 129 after SIGTERM, Ctrl-C and SIGHUP, when what was read is written; 141 when nobody
    reads the output.

    Example: deid filter --format ndjson --text-field note.text --dead-letters dead.jsonl < notes.ndjson > out.ndjson
    """
    from deid.base.errors import ConfigError
    from deid.base.keys import load_key
    from deid.streaming.crew import Crew
    from deid.streaming.filtering import Feed, filter_feed
    from deid.streaming.stopping import Stop
    from deid.streaming.totals import Totals
    from deid.streaming.writing import is_file

    if target is None and str(summary_json) == "-":
        raise ConfigError("the summary and the records cannot both go to standard output", "name a file")
    key, created = load_key(key_file)
    recipe = _recipe(
        key, policy, accept, model, rules, bias, language, patients, patient_field, known, known_column, known_field,
        deny, allow, keep, date_field, as_of,
    )  # fmt: skip
    files = source is not None and source.is_file() and is_file(target)
    shape = _shape(
        format,
        "plain",
        delimiter,
        text_field,
        id_field,
        recipe,
        known_field,
        encoding,
        output_encoding,
        max_record,
        timeout,
        add_id=journal is not None and not files,
    )
    totals = Totals(tell=_tell, note=None if quiet else _tell)
    proof = _proof(context, manifest, manifest_every, recipe, totals)
    feed = Feed(source, target, dead_letters, journal, recipe.fingerprint(), proof)
    with ExitStack() as stack:
        stop = stack.enter_context(Stop())
        if created:
            sys.stderr.write(f"{created}\n")
        _serve(stack, metrics_port, totals)
        crew = stack.enter_context(Crew(recipe, shape, job_count(jobs)))
        complete = filter_feed(feed, crew, shape, key, totals, stop)
        notes = crew.notes
    summary = _summary("filter", totals, notes)
    if proof is not None:
        proof.finish(source, target, complete=complete)
        summary.places += [f"manifest: {place}" for place in proof.places[-1:]]
    if not complete:
        summary.notes.append(_stopped(feed.journal is not None, target))
    unmet = _tell_unmet(summary, totals)
    summary.finish(summary_json, quiet=quiet and not totals.failed and complete and not unmet)
    raise typer.Exit(EXIT_LEFT_OUT if complete and (totals.failed or unmet) else 0 if complete else stop.status)


def _watch(
    context: typer.Context,
    inbox: Annotated[Path, typer.Argument(metavar="INBOX", help="Folder that files come into.")],
    outbox: Annotated[Path, typer.Argument(metavar="OUTBOX", help="Folder for the results; made if missing.")],
    format: Format = None,
    delimiter: Delimiter = None,
    text_field: TextField = None,
    id_field: IdField = None,
    patient_field: PatientField = None,
    date_field: DateField = None,
    keep: Keep = None,
    policy: PolicyName = None,
    model: Model = None,
    rules: Rules = None,
    bias: Bias = None,
    language: Language = None,
    key_file: KeyFile = None,
    patients: PatientTable = None,
    known: KnownTable = None,
    known_column: KnownColumn = None,
    known_field: KnownField = None,
    deny: Deny = None,
    allow: Allow = None,
    accept: Accept = None,
    as_of: AsOf = None,
    encoding: Encoding = "utf-8",
    output_encoding: OutputEncoding = "",
    jobs: Jobs = 1,
    poll: Annotated[float, typer.Option(metavar="S", help="Seconds between looks at the inbox.")] = 1.0,
    settle: Annotated[
        float, typer.Option(metavar="S", help="A file is complete when it has not changed for S seconds.")
    ] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Take the files that are there, then end.")] = False,
    max_record: MaxRecord = "4M",
    timeout: Timeout = 600.0,
    metrics_port: Metrics = None,
    manifest: ManifestFile = None,
    manifest_every: ManifestEvery = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Tell failures only.")] = False,
    summary_json: SummaryJson = None,
) -> None:
    """Replace the PHI in files as they come into a folder.

    Results appear in OUTBOX whole, under pseudonyms (--keep filename keeps the names). Inputs then move to INBOX/done,
    or to INBOX/failed when something was left out. Files whose names begin with a dot or end in .part or .tmp are left.

    Example: deid watch inbox outbox --format ndjson --policy safe-harbor
    """
    from deid.base.errors import ConfigError
    from deid.base.keys import load_key
    from deid.streaming.crew import Crew
    from deid.streaming.stopping import Stop
    from deid.streaming.totals import Totals
    from deid.streaming.watching import Folders, watch

    if poll <= 0 or settle < 0:
        raise ConfigError("--poll must be above 0, --settle not below", "they are seconds")
    folders = Folders(inbox, outbox, "filename" in (keep or ()), settle)
    folders.check()
    key, created = load_key(key_file)
    recipe = _recipe(
        key, policy, accept, model, rules, bias, language, patients, patient_field, known, known_column, known_field,
        deny, allow, keep, date_field, as_of,
    )  # fmt: skip
    shape = _shape(
        format,
        "whole",
        delimiter,
        text_field,
        id_field,
        recipe,
        known_field,
        encoding,
        output_encoding,
        max_record,
        timeout,
    )
    totals = Totals(tell=_tell, note=None if quiet else _tell)
    proof = _proof(context, manifest, manifest_every, recipe, totals)
    failed = 0
    with ExitStack() as stack:
        stop = stack.enter_context(Stop())
        if created:
            sys.stderr.write(f"{created}\n")
        _serve(stack, metrics_port, totals)
        crew = stack.enter_context(Crew(recipe, shape, job_count(jobs)))
        crew.wait_ready()  # what cannot be loaded is told now, not when the first file comes
        for seen in watch(folders, crew, shape, key, totals, stop, poll=poll, once=once, proof=proof):
            failed += seen.failed
            if seen.error is not None:
                sys.stderr.write(f"failed: {seen.error}\n")
            elif seen.failed or not quiet:
                sys.stderr.write(f"{'failed in part' if seen.failed else 'done'}: {seen.name}\n")
        notes = crew.notes
    summary = _summary("watch", totals, notes)
    if proof is not None:
        proof.finish(None, outbox, complete=once)
        summary.places += [f"manifest: {place}" for place in proof.places[-1:]]
    summary.extra["failed_files"] = failed
    unmet = _tell_unmet(summary, totals)
    summary.finish(summary_json, quiet=quiet and not failed and not unmet)
    raise typer.Exit(EXIT_LEFT_OUT if failed or unmet else 0)


def _recipe(
    key: Key,
    policy: str | None,
    accept: list[str] | None,
    model: str | None,
    rules: bool | None,
    bias: str | None,
    language: str | None,
    patients: Path | None,
    patient_field: str | None,
    known: Path | None,
    known_column: list[str] | None,
    known_field: list[str] | None,
    deny: list[Path] | None,
    allow: list[Path] | None,
    keep: list[str] | None,
    date_field: str | None,
    as_of: str | None,
) -> PipelineRecipe:
    from deid.streaming.work import PipelineRecipe

    # tables load libraries that the process which reads and writes does without
    named = patients or known or known_column or known_field
    people = read_people(patients, patient_field, None, known, known_column, known_field) if named else None
    tables = [*(path for path in (patients, known) if path), *(deny or ()), *(allow or ())]
    return PipelineRecipe(
        key,
        policy,
        tuple(accept or ()),
        model,
        rules,
        bias,
        language,
        people.patients if people else None,
        patient_field,
        people.known if people else None,
        people.recognizer(language) if people else None,
        site_lists(deny, allow) if deny or allow else None,
        tuple(tables),
        (*(known_column or ()), *(known_field or ())),
        frozenset(keep or ()),
        date_field,
        read_day(as_of),
    )


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _shape(
    format: str | None,
    default: str,
    delimiter: str | None,
    text_field: str | None,
    id_field: str | None,
    recipe: PipelineRecipe,
    known_field: list[str] | None,
    encoding: str,
    output_encoding: str,
    max_record: str,
    timeout: float,
    *,
    add_id: bool = False,
) -> Shape:
    from dataclasses import replace

    from deid.base.errors import ConfigError
    from deid.streaming.framing import Framing, Prefixed, delimited, whole
    from deid.streaming.work import Shape

    given = format or default
    if given not in FORMATS:
        raise ConfigError("there is no such format of records", f"formats: {', '.join(FORMATS)}")
    if delimiter is not None and given != "plain":
        raise ConfigError(f"--format {given} has no delimiter of your own", "leave out --delimiter")
    if timeout <= 0:
        raise ConfigError("--timeout must be above 0", "it is in seconds")
    content = FORMATS[given]
    fields = {n for n in (recipe.patient_field, recipe.date_field, *(recipe.keep - {"filename", "id"})) if n}
    fields |= {text.rpartition("=")[0] or text for text in known_field or ()}
    open_ended = format is None and delimiter is None
    if content == "text" and not open_ended and (text_field or id_field or fields or "id" in recipe.keep):
        raise ConfigError(f"records of --format {given} have no fields", "use --format ndjson")
    if content == "json" and {n.lower().replace("-", "") for n in (encoding, output_encoding) if n} != {"utf8"}:
        raise ConfigError("JSON is UTF-8", "leave out --encoding and --output-encoding")
    framing: Framing
    if given.startswith("length-prefixed"):
        framing = Prefixed()
    else:
        framing = whole() if given == "whole" else delimited("line" if delimiter is None else delimiter)
    shape = Shape(
        framing,
        content,
        text_field,
        id_field,
        frozenset(fields),
        add_id,
        encoding,
        output_encoding,
        size_of(max_record, "--max-record"),
        timeout,
    )
    if not open_ended:
        return shape
    named = shape.named_fields | (recipe.keep & {"id"})  # that an id is kept is said of records with fields alone
    return replace(shape, named_fields=named, if_json=replace(shape, framing=delimited("line"), content="json"))


def _proof(
    context: typer.Context, manifest: Path | None, every: int, recipe: PipelineRecipe, totals: Totals
) -> Proof | None:
    """Begin the manifests of a feed, if they are asked for."""
    from deid.base.errors import ConfigError

    if manifest is None:
        if every:
            raise ConfigError("--manifest-every without --manifest", "name the file of the manifest")
        return None
    from deid.cli.run_manifest import begin, model_facts, policy_facts
    from deid.streaming.proof import Proof

    pipeline = recipe.pipeline()
    facts = {"policy": policy_facts(pipeline.policy), "model": model_facts(pipeline.recognizer)}
    return Proof(lambda: begin(context, manifest, recipe.key, manifest), facts, totals, every)


def _serve(stack: ExitStack, port: int | None, totals: Totals) -> None:
    if port is None:
        return
    from deid.streaming.metrics import serve_metrics

    chosen = stack.enter_context(serve_metrics(port, totals))
    sys.stderr.write(f"metrics: http://127.0.0.1:{chosen}/metrics\n")
    sys.stderr.flush()


def _summary(command: str, totals: Totals, notes: list[str]) -> Summary:
    from collections import Counter

    summary = Summary(command, totals.records, left_out=totals.failed, categories=Counter(totals.spans))
    summary.notes = [*notes, *(f"left out: {count} {error}" for error, count in sorted(totals.errors.items()))]
    summary.extra = {
        "errors": dict(sorted(totals.errors.items())),
        "bytes_read": totals.read,
        "bytes_written": totals.written,
        "worker_restarts": totals.restarts,
    }
    return summary


def _tell_unmet(summary: Summary, totals: Totals) -> bool:
    """Say which fields of the options no record has had; tell whether there are any."""
    for name in sorted(totals.unmet or ()):
        summary.notes.append(f"no record has the field {name}, which an option names: look at its spelling")
    return bool(totals.unmet)


def _stopped(journal: bool, target: Path | None) -> str:
    if journal:
        return "stopped before the end; the same command goes on where it was"
    if target is not None and not target.exists():
        return "stopped before the end; nothing was left behind (--journal makes a run resumable)"
    return "stopped before the end; what was read is written"
