"""The commands verify and map: what a scrubbing did, checked and carried over."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from deid.base.errors import ConfigError, InputError, OutputError
from deid.base.files import atomic_files
from deid.base.options import argument, option, place_of
from deid.cli.common import Summary
from deid.cli.notes import ListOptions, NotesRun, ReadingOptions
from deid.cli.option_groups import IN, KeyOptions, command
from deid.cli.run_manifest import model_facts, policy_facts
from deid.detection.options import RecognizerOptions
from deid.document import kept

_EDITS = "Edit log of deid scrub."


@command
def verify(
    told: Summary,
    *,
    source: Path | str = IN,
    scrubbed: Path | str = argument("What deid scrub wrote.", metavar="OUT", read=place_of),
    edits: Path | None = option(None, _EDITS),
    policy: str | None = option(
        None, "Policy of the run: what it keeps or generalizes may stay (surrogate).", metavar="NAME|F"
    ),
    detect: bool = option(True, "Look for PHI that is still there, where no edits are known."),
    date_field: str | None = option(
        None, "Column of a table's days, to be checked too.", "--date-field", "--date", repr=False
    ),
    said: RecognizerOptions,
    key: KeyOptions,
    listed: ListOptions,
    reading: ReadingOptions,
) -> None:
    """Check scrubbed notes against their originals.

    The text outside the replaced stretches must be identical, and none of these may hold its original. Exit status 1
    when something differs, or documents have no counterpart.

    Example: deid verify notes/ scrubbed/ --edits edits.jsonl
    """
    from deid.base.store import refuse_password
    from deid.io.database import TableSource
    from deid.pipeline import verify_files
    from deid.pipeline.known_people import recognizer_of
    from deid.replacement.policy import DEFAULT_POLICY, load_policy

    reading = replace(reading, any_label=True)
    run = NotesRun(told, source, reading, listed)
    if date_field is not None and not isinstance(run.found, TableSource):
        raise ConfigError("--date is a column of a database's table", "leave it out: dates in notes are found there")
    written = replace(run.reading, encoding=reading.output_encoding or reading.encoding)
    theirs = written.scan(refuse_password(str(scrubbed)))
    own = key.existing()
    run.begin(theirs.shown if isinstance(theirs, TableSource) else Path(scrubbed), own)
    checked = load_policy(policy or DEFAULT_POLICY)
    recognizer = None
    if detect and edits is None:
        recognizer = recognizer_of(said)
    result = verify_files(
        run.found, theirs, key=own, edit_log=edits, policy=checked, recognizer=recognizer, watch=run.watch("verifying")
    )
    told.take(result)
    if how := ", ".join(f"{count} by {name}" for name, count in sorted(result.aligned.items())):
        told.notes.append(f"replaced stretches were told: {how}")
    told.extra = {"aligned": dict(sorted(result.aligned.items()))}
    try:
        run.finish(looked=True, policy=policy_facts(checked), model=model_facts(recognizer))
    except OutputError as error:  # what was found is told all the same
        told.places.append(f"no manifest: {error}")


@command
def map_spans(
    told: Summary,
    *,
    spans: Path = argument('JSONL, a span a line: {"document", "start", "end", "label"}.', metavar="SPANS"),
    edits: Path = option(..., _EDITS),
    offsets: str = option(..., "scrubbed or original: whose offsets are wanted.", metavar="WHOSE"),
    output: Path | None = option(None, "Where to write; by default standard output.", "--output", "-o", dash=True),
    key: KeyOptions,
) -> None:
    """Move spans from original to scrubbed offsets, or back.

    Documents may be named as the scrubbed ones are or, with the key at hand, by their original ids.

    Example: deid map gold.jsonl --edits edits.jsonl --offsets scrubbed -o moved.jsonl
    """
    from deid.pipeline.edit_log import move_spans

    if offsets not in ("scrubbed", "original"):
        raise ConfigError("--offsets says neither scrubbed nor original", "say whose offsets are wanted")
    moved = 0
    with ExitStack() as stack:
        try:
            lines = stack.enter_context(spans.open("rb"))
        except OSError:
            raise InputError("the file of spans cannot be read", "check path and rights", str(spans)) from None
        named = output is not None and str(output) != "-"
        stream = stack.enter_context(atomic_files([output]))[0] if output and named else sys.stdout.buffer
        for line in kept(move_spans(lines, edits, back=offsets == "original", key=key.existing()), told.failures):
            stream.write(line)
            moved += 1
    told.notes.append(f"{moved} spans moved to {offsets} offsets, {len(told.failures)} could not be moved")
    told.extra = {"spans": moved}
