"""The commands verify and map: what a scrubbing did, checked and carried over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson, progress
from deid.cli.run_manifest import begin, finish, inputs_of, model_facts, policy_facts
from deid.cli.source_options import (
    Encoding,
    IdField,
    In,
    KeyFile,
    MaxDocument,
    Model,
    OutputEncoding,
    SpansField,
    TextField,
    existing_key,
    read_options,
    write_failed,
)

EditLog = Annotated[Path | None, typer.Option("--edits", metavar="F", help="Edit log of deid scrub.")]


def _verify(
    context: typer.Context,
    source: In,
    scrubbed: Annotated[Path, typer.Argument(metavar="OUT", help="What deid scrub wrote.")],
    key_file: KeyFile = None,
    edits: EditLog = None,
    policy: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Policy of the run: what it keeps or generalizes may stay (surrogate)."),
    ] = None,
    model: Model = None,
    detect: Annotated[
        bool,
        typer.Option("--detect/--no-detect", help="Look for PHI that is still there, where no edits are known."),
    ] = True,
    format: Annotated[
        str | None, typer.Option(metavar="F", help="Format of both; told by content if not given.")
    ] = None,
    encoding: Encoding = "utf-8",
    output_encoding: OutputEncoding = "",
    text_field: TextField = None,
    id_field: IdField = None,
    spans_field: SpansField = None,
    failed: Annotated[
        Path | None, typer.Option("--failed", metavar="F", help="Write the real paths of what failed to F.")
    ] = None,
    max_document: MaxDocument = "64M",
    summary_json: SummaryJson = None,
) -> None:
    """Check scrubbed notes against their originals.

    The text outside the replaced stretches must be identical, and none of these may hold its original. Exit status 1
    when something differs, or documents have no counterpart.

    Example: deid verify notes/ scrubbed/ --edits edits.jsonl
    """
    from deid.base.errors import OutputError
    from deid.detection.recognizers import build_recognizer
    from deid.io import scan
    from deid.pipeline import verify_files
    from deid.replacement.policy import DEFAULT_POLICY, load_policy

    options = read_options(encoding, True, text_field, id_field, spans_field, max_document=max_document)
    written = replace(options, encoding=output_encoding or encoding)
    ours, theirs = scan(source, format, options), scan(scrubbed, format, written)
    key = existing_key(key_file)
    run = begin(context, scrubbed, key)
    summary = Summary("verify", notes=ours.remarks())
    checked = load_policy(policy or DEFAULT_POLICY)
    recognizer = build_recognizer(model) if detect and edits is None else None
    result = verify_files(
        ours,
        theirs,
        key=key,
        edit_log=edits,
        policy=checked,
        recognizer=recognizer,
        watch=lambda items: progress(items, "verifying"),
    )
    summary.documents, summary.failures, summary.categories = result.documents, result.failures, result.stretches
    if how := ", ".join(f"{count} by {name}" for name, count in sorted(result.aligned.items())):
        summary.notes.append(f"replaced stretches were told: {how}")
    summary.extra = {"aligned": dict(sorted(result.aligned.items()))}
    write_failed(summary, failed)
    try:
        finish(
            run,
            summary,
            scrubbed,
            inputs=inputs_of(ours),
            looked=True,
            root=ours.root,
            policy=policy_facts(checked),
            model=model_facts(recognizer),
            results=summary.extra,
        )
    except OutputError as error:  # what was found is told all the same
        summary.places.append(f"no manifest: {error}")
    summary.finish(summary_json)


def _map(
    spans: Annotated[
        Path, typer.Argument(metavar="SPANS", help='JSONL, a span a line: {"document", "start", "end", "label"}.')
    ],
    edits: Annotated[Path, typer.Option("--edits", metavar="F", help="Edit log of deid scrub.")],
    to: Annotated[str, typer.Option("--to", help="scrubbed or original: whose offsets are wanted.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="F", help="Where to write; by default standard output.")
    ] = None,
    key_file: KeyFile = None,
    summary_json: SummaryJson = None,
) -> None:
    """Move spans from original to scrubbed offsets, or back.

    Documents may be named as the scrubbed ones are or, with the key at hand, by their original ids.

    Example: deid map gold.jsonl --edits edits.jsonl --to scrubbed --out moved.jsonl
    """
    import sys
    from contextlib import ExitStack

    from deid.base.errors import ConfigError, InputError
    from deid.base.files import atomic_files
    from deid.document import Failure
    from deid.pipeline.edit_log import move_spans

    if to not in ("scrubbed", "original"):
        raise ConfigError("--to says neither scrubbed nor original", "say whose offsets are wanted")
    summary = Summary("map")
    moved = 0
    with ExitStack() as stack:
        try:
            lines = stack.enter_context(spans.open("rb"))
        except OSError:
            raise InputError("the file of spans cannot be read", "check path and rights", str(spans)) from None
        stream = stack.enter_context(atomic_files([out]))[0] if out else sys.stdout.buffer
        for item in move_spans(lines, edits, back=to == "original", key=existing_key(key_file)):
            if isinstance(item, Failure):
                summary.failures.append(item)
            else:
                stream.write(item)
                moved += 1
    summary.notes.append(f"{moved} spans moved to {to} offsets, {len(summary.failures)} could not be moved")
    summary.extra = {"spans": moved}
    summary.finish(summary_json)
