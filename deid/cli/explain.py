"""The command explain: why each span was found, and why nothing was found somewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.source_options import (
    Allow,
    AnyLabel,
    Bias,
    Deny,
    Encoding,
    IdField,
    KnownColumn,
    KnownField,
    KnownTable,
    Language,
    Model,
    PatientField,
    PatientPattern,
    PatientTable,
    Rules,
    TextField,
    read_options,
    read_people,
    site_lists,
)
from deid.cli.tables import print_sections, write_json

if TYPE_CHECKING:
    from deid.base.reports import Section
    from deid.detection.explanation import Explained, Explanation, Reason
    from deid.document import Document
    from deid.replacement.policy import Policy


def _explain(
    note: Annotated[Path, typer.Argument(metavar="NOTE", help="File or folder of any readable format.")],
    number: Annotated[int, typer.Option("--number", min=1, metavar="N", help="Which document of NOTE.")] = 1,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="START:END", help="Explain each word there, also where nothing was found (repeatable)."),
    ] = None,
    show_text: Annotated[
        bool, typer.Option("--show-text", help="Show the words too: PHI on your terminal (never in the JSON).")
    ] = False,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="Show what this policy does with each span, too.")
    ] = None,
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
    known_field: KnownField = None,
    format: Annotated[
        str | None, typer.Option(metavar="F", help="Format of NOTE; told by its content if not given.")
    ] = None,
    encoding: Encoding = "utf-8",
    any_label: AnyLabel = False,
    text_field: TextField = None,
    id_field: IdField = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="F", help="Write it as JSON to F.")] = None,
    summary_json: SummaryJson = None,
) -> None:
    """Say why each span of a note was found, and what was posted in vain.

    Shows offsets, categories, rules and figures; the text only with --show-text. The spans are those that deid scrub
    and deid tag find with the same options.

    Example: deid explain note.txt --at 120:135 --show-text
    """
    from deid.detection.recognizers import build_recognizer
    from deid.replacement.policy import load_policy

    document = _document(note, number, format, encoding, any_label, text_field, id_field)
    places = [_place(text, len(document.text)) for text in at or ()]
    loaded = load_policy(policy) if policy else None
    people = read_people(patients, patient_field, patient_pattern, known, known_column, known_field)
    recognizer = build_recognizer(
        model,
        rules=rules,
        bias=bias,
        language=language,
        known=people.recognizer(language),
        site=site_lists(deny, allow),
    )
    explanation = recognizer.explain(document, places)
    print_sections(_sections(explanation, document, loaded, show=show_text, asked=bool(places)))
    if json_file is not None:
        write_json(json_file, explanation.as_dict())
    summary = Summary("explain", documents=1)
    summary.categories.update(item.span.category for item in explanation.spans)
    summary.finish(summary_json)


def _document(
    path: Path,
    number: int,
    format: str | None,
    encoding: str,
    any_label: bool,
    text_field: str | None,
    id_field: str | None,
) -> Document:
    """Read one document."""
    from itertools import islice

    from deid.base.errors import ConfigError, DeidError, InputError
    from deid.document import Failure
    from deid.io import scan

    found = scan(path, format, read_options(encoding, any_label, text_field, id_field, None))
    item = next(islice(found.documents(), number - 1, None), None)
    if item is None:
        raise ConfigError(f"there is no document {number}", "--number counts the documents from 1", str(path))
    if isinstance(item, Failure):
        if isinstance(item.error, DeidError):
            raise item.error
        raise InputError("the document cannot be read", "look at its format and encoding", item.name)
    return item


def _place(text: str, length: int) -> tuple[int, int]:
    """Read START:END."""
    from deid.base.errors import ConfigError

    start, colon, end = text.partition(":")
    if not (colon and start.isdecimal() and end.isdecimal() and int(start) < int(end) <= length):
        raise ConfigError(
            "--at is no place in the note", f"START:END in characters from 0, such as 120:135; the note has {length}"
        )
    return int(start), int(end)


def _sections(
    explanation: Explanation, document: Document, policy: Policy | None, *, show: bool, asked: bool
) -> list[Section]:
    """Return the tables; ``show`` adds the words themselves."""
    from deid.base.reports import Section
    from deid.detection.explanation import FATES

    def shown(start: int, end: int) -> tuple[str, ...]:
        return (_printable(document.text[start:end]),) if show else ()

    words = ("text",) if show else ()
    operator = ("operator",) if policy is not None else ()
    rows = []
    for item in explanation.spans:
        span = item.span
        does: tuple[str, ...] = ()
        if policy is not None:
            category = policy.applied(span.category, span.also, document.metadata)
            does = (policy.rule(category, document.metadata).operator,)
        rows.append(
            (_offsets(span.start, span.end), span.category, _score(span.score), *does, *shown(span.start, span.end))
        )
    sections = [Section("Spans", ("offsets", "category", "score", *operator, *words), tuple(rows))]
    columns = (
        "offsets",
        "posted at",
        "by",
        "category",
        "posted",
        "raised to",
        "model's probability",
        "what became of it",
    )
    told = tuple(row for item in explanation.spans for row in _reason_rows(item))
    legend = "; ".join(f"{fate}: {meaning}" for fate, meaning in FATES.items())
    sections.append(Section("Why", columns, told, legend))
    if explanation.removed:
        out = tuple(row for item in explanation.removed for row in _reason_rows(item))
        sections.append(Section("Taken out by the allow list", columns, out))
    if explanation.loose:
        vain = tuple(_row("", r) for r in explanation.loose)
        sections.append(Section("Posted in vain", columns, vain))
    if asked:
        place = tuple(
            (
                _offsets(w.start, w.end),
                "" if w.probability is None else f"{w.probability:.4f}",
                w.category,
                ", ".join(w.lists) or "none",
                "yes" if w.protected else "no",
                *shown(w.start, w.end),
            )
            for w in explanation.words
        )
        heads = ("offsets", "model: PHI", "as", "word lists", "in a clinical phrase", *words)
        sections.append(Section("The words there", heads, place))
    return sections


def _reason_rows(item: Explained) -> list[tuple[str, ...]]:
    span = item.span
    rows = [_row(_offsets(span.start, span.end) if i == 0 else "", r) for i, r in enumerate(item.reasons)]
    if item.settled:
        rows.append(("", "", "consistency", span.category, "", "", "", "category of the same name elsewhere"))
    return rows


def _row(head: str, reason: Reason) -> tuple[str, ...]:
    by = reason.recognizer if reason.source in (reason.recognizer, "") else f"{reason.recognizer}: {reason.source}"
    return (
        head,
        _offsets(reason.start, reason.end),
        by,
        reason.category,
        _score(reason.posted),
        _score(reason.certainty),
        "" if reason.probability is None else f"{reason.probability:.4f}",
        reason.fate,
    )


def _offsets(start: int, end: int) -> str:
    return f"{start}:{end}"


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _printable(text: str) -> str:
    """Return text that cannot drive the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)
