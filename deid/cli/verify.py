"""The commands explain, verify, map and audit: what a scrubbing finds, did, and may have missed."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, InputError, OutputError, told_as
from deid.base.files import atomic_files
from deid.cli import IN, KeyOptions, Summary, argument, command, option, place_of, print_sections
from deid.cli.notes import ListOptions, NotesRun
from deid.detection.options import RecognizerOptions
from deid.document import kept
from deid.io.formats import ReadingOptions
from deid.pipeline.facts import model_facts, policy_facts
from deid.pipeline.options import AuditOptions

_EDITS = "Edit log of deid scrub."


@command
def explain(
    told: Summary,
    *,
    source: Path = argument("File or folder of any readable format.", metavar="NOTE"),
    number: int = option(1, "Which document of NOTE.", minimum=1),
    at: tuple[str, ...] = option(
        (), "Explain each word there, also where nothing was found (repeatable).", metavar="START:END"
    ),
    show_text: bool = option(False, "Show the words too: PHI on your terminal (never in the JSON)."),
    policy: str | None = option(None, "Show what this policy does with each span, too.", metavar="NAME|F"),
    said: RecognizerOptions,
    reading: ReadingOptions,
) -> None:
    """Say why each span of a note was found, and what was proposed in vain.

    Shows offsets, categories, rules and figures; the text only with --show-text. The spans are those that deid scrub
    and deid tag find with the same options.

    Example: deid explain note.txt --at 120:135 --show-text
    """
    from deid.detection.explanation_tables import explanation_sections
    from deid.pipeline.known_people import recognizer_of
    from deid.replacement.policy import load_policy

    document = reading.scan(source).document(number)
    places = [_place(text, len(document.text)) for text in at]
    loaded = load_policy(policy) if policy else None
    recognizer = recognizer_of(said)
    explanation = recognizer.explain(document, places)
    print_sections(explanation_sections(explanation, document, loaded, show=show_text, asked=bool(places)))
    told.documents, told.extra = 1, explanation.as_dict()
    told.categories.update(item.span.category for item in explanation.spans)


def _place(text: str, length: int) -> tuple[int, int]:
    """Read START:END."""
    start, colon, end = text.partition(":")
    if not (colon and start.isdecimal() and end.isdecimal() and int(start) < int(end) <= length):
        raise ConfigError(
            "--at is no place in the note", f"START:END in characters from 0, such as 120:135; the note has {length}"
        )
    return int(start), int(end)


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
    from deid.reading.languages import foreign
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
    aligned = dict(sorted(result.aligned.items()))
    how = ", ".join(f"{count} by {name}" for name, count in aligned.items())
    others = dict(sorted(result.other_languages.items()))
    remarks = [f"replaced stretches were told: {how}"] if how else []
    remarks += [f"{sum(others.values())} {foreign(others)}"] if others else []
    facts: dict[str, Any] = {"looked": True, "policy": policy_facts(checked), "model": model_facts(recognizer)}
    try:
        run.finish(result, {"aligned": aligned, "other_languages": others}, remarks=remarks, **facts)
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
        with told_as(InputError("the file of spans cannot be read", "check path and rights", str(spans)), OSError):
            lines = stack.enter_context(spans.open("rb"))
        named = output is not None and str(output) != "-"
        stream = stack.enter_context(atomic_files([output]))[0] if output and named else sys.stdout.buffer
        for line in kept(move_spans(lines, edits, back=offsets == "original", key=key.existing()), told.failures):
            stream.write(line)
            moved += 1
    told.notes.append(f"{moved} spans moved to {offsets} offsets, {len(told.failures)} could not be moved")
    told.extra = {"spans": moved}


@command
def audit(
    told: Summary,
    *,
    out: Path = argument("Scrubbed notes: file or folder.", metavar="OUT"),
    asked: AuditOptions,
    key: KeyOptions,
    reading: ReadingOptions,
) -> None:
    """Bound what scrubbing missed: draw notes, read them, say what that shows.

    First with --sheet: it holds a row for each note that was drawn. Write into its column leaks how many identifiers
    were missed in the note, 0 for none, and into words how many words they have. Then with --marks and the same
    --sample, --strata and --seed. Both runs leave a manifest, so that no draw is thrown away unseen.

    Example: deid audit scrubbed/ --sample 300 --sheet sheet.csv
    """
    from deid.manifest import public_name
    from deid.pipeline.auditing import bound_leaks, draw_notes, read_marks, write_sheet

    told.begin(out, key.existing())
    source = replace(reading, any_label=True).scan(out)
    draw = draw_notes(source, asked.sample, by=asked.strata, seed=asked.seed)
    told.notes = [*source.remarks(), *draw.remarks()]
    types = {kind: kind if public_name(kind) else told.run.name(kind) for kind in draw.sizes}
    if asked.sheet is not None:
        write_sheet(asked.sheet, source, draw)
        told.notes.append(str(draw))
        told.places.append(f"{asked.sheet}: fill in leaks (and words), then: deid audit {out} --marks {asked.sheet}")
        told.extra = {"types": {types[kind]: [size, draw.drawn[kind]] for kind, size in draw.sizes.items()}}
    elif asked.marks is not None:
        audit = bound_leaks(source, draw, read_marks(asked.marks), asked.confidence)
        told.notes += audit.sentences()
        told.extra = {**audit.as_dict(), "types": {types[kind]: list(own) for kind, own in audit.types.items()}}
        print_sections([audit.section()])
    told.sign(out, looked=True)
