"""Commands that measure: evaluate, compare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deid.cli.common import Summary, SummaryJson, progress
from deid.cli.source_options import Encoding
from deid.cli.tables import print_sections, write_json

if TYPE_CHECKING:
    from deid.document import Document, Failure
    from deid.evaluation import ScoringSettings

_Gold = Annotated[Path, typer.Argument(metavar="GOLD", help="Annotated file or folder of any readable format.")]
_Json = Annotated[Path | None, typer.Option("--json", metavar="F", help="Write all numbers as JSON to F.")]
_Labels = Annotated[
    str, typer.Option(metavar="A,B", help="Score only these categories (after --map); other spans are left out.")
]
_Map = Annotated[
    str | None,
    typer.Option(
        "--map",
        metavar="SET",
        help="Map the labels of both sides to i2b2-2014, i2b2-2006, physionet, meddocan, hide or hipaa.",
    ),
]
_Tokenizer = Annotated[str, typer.Option(help="Tokens of the Begin/Intermediate table: default, hide or spacy.")]
_Resamples = Annotated[int, typer.Option(min=0, metavar="N", help="Bootstrap resamples of the intervals; 0 for none.")]
_Seed = Annotated[int, typer.Option(metavar="N", help="Seed of all draws.")]
_Format = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help="Format of all inputs; told by itself when left out.")
]
_AnyLabel = Annotated[bool, typer.Option("--any-label", help="Accept labels outside the format's label set.")]


def _evaluate(
    gold: _Gold,
    system: Annotated[Path, typer.Argument(metavar="SYSTEM", help="The system's annotations of the same documents.")],
    json_file: _Json = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="F", help="Write a page that shows every mistake in its context (holds PHI)."),
    ] = None,
    labels: _Labels = "",
    map_to: _Map = None,
    sentences: Annotated[
        Path | None,
        typer.Option(
            "--sentences",
            metavar="FILE",
            help="Sentences of each document for MEDDOCAN's leak score: tab-separated id, part, sentences.",
        ),
    ] = None,
    tokenizer: _Tokenizer = "default",
    resamples: _Resamples = 1000,
    seed: _Seed = 0,
    format_name: _Format = None,
    encoding: Encoding = "utf-8",
    any_label: _AnyLabel = False,
    summary_json: SummaryJson = None,
) -> None:
    """Score a system's annotations against gold annotations.

    Documents are matched by id. One that is missing in SYSTEM, or has another text there, counts as one in which
    nothing was found. Example: deid evaluate corpus/test tagged --json scores.json --html mistakes.html
    """
    from deid.base.errors import ConfigError
    from deid.evaluation import evaluate
    from deid.evaluation.official import read_sentences
    from deid.evaluation.page import write_page
    from deid.evaluation.sections import evaluation_sections

    settings = _settings(labels, map_to, tokenizer, resamples, seed)
    counts = None
    if sentences is not None:
        try:
            counts = read_sentences(sentences)
        except ConfigError as error:
            raise error.at(str(sentences)) from None
    summary = Summary("evaluate")
    sides = [_read(path, format_name, encoding, any_label) for path in (gold, system)]
    evaluation = evaluate(*sides, settings=settings, sentences=counts)
    print_sections(evaluation_sections(evaluation))
    numbers = evaluation.as_dict()
    if json_file is not None:
        write_json(json_file, numbers)
    if html is not None:
        write_page(evaluation, html)
        summary.notes.append(f"{html} shows texts of notes: it contains PHI (mode 0600)")
    summary.documents = len(evaluation.pairing.pairs)
    summary.failures = list(evaluation.pairing.failures)
    _note_documents(summary, "SYSTEM", numbers["documents"]["missing"], numbers["documents"]["extra"])
    summary.extra = {
        "measures": {name: measure["micro"] for name, measure in numbers["measures"].items()},
        "leaks": {name: value for name, value in numbers["leaks"].items() if name != "by_category"},
        "compared": numbers["documents"],
    }
    summary.finish(summary_json)


def _compare(
    gold: _Gold,
    a: Annotated[Path, typer.Argument(metavar="A", help="One system's annotations of the same documents.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The other system's annotations.")],
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Figure to compare (repeatable), such as strict.f1, word.recall, leaks."),
    ] = None,
    json_file: _Json = None,
    labels: _Labels = "",
    map_to: _Map = None,
    tokenizer: _Tokenizer = "default",
    resamples: Annotated[int, typer.Option(min=1, metavar="N", help="Bootstrap resamples of the intervals.")] = 1000,
    permutations: Annotated[
        int, typer.Option(min=1, metavar="N", help="Swaps of the approximate randomization test.")
    ] = 10_000,
    seed: _Seed = 0,
    format_name: _Format = None,
    encoding: Encoding = "utf-8",
    any_label: _AnyLabel = False,
    summary_json: SummaryJson = None,
) -> None:
    """Compare two systems on the same gold documents, with intervals and paired tests over documents.

    Example: deid compare corpus/test tagged-old tagged-new --metric strict.f1 --metric leaks
    """
    from deid.evaluation import compare
    from deid.evaluation.sections import comparison_section
    from deid.evaluation.systems import DEFAULT_METRICS

    settings = _settings(labels, map_to, tokenizer, resamples, seed)
    summary = Summary("compare")
    documents = [list(_read(path, format_name, encoding, any_label)) for path in (gold, a, b)]
    comparison = compare(*documents, metrics=metric or DEFAULT_METRICS, settings=settings, permutations=permutations)
    print_sections([comparison_section(comparison)])
    if json_file is not None:
        write_json(json_file, comparison.as_dict())
    summary.documents = len(comparison.a.pairing.pairs)
    for side, evaluation in (("A", comparison.a), ("B", comparison.b)):
        known = {id(failure) for failure in summary.failures}  # failures of GOLD are met twice
        summary.failures += [failure for failure in evaluation.pairing.failures if id(failure) not in known]
        _note_documents(summary, side, evaluation.pairing.names("missing"), evaluation.pairing.extra)
    summary.extra = {"compared": comparison.as_dict()}
    summary.finish(summary_json)


def _settings(labels: str, map_to: str | None, tokenizer: str, resamples: int, seed: int) -> ScoringSettings:
    from deid.evaluation import ScoringSettings

    chosen = tuple(label.strip() for label in labels.split(",") if label.strip())
    return ScoringSettings(tokenizer, chosen, map_to, resamples, seed)


def _read(path: Path, format_name: str | None, encoding: str, any_label: bool) -> Iterator[Document | Failure]:
    from deid import io

    return progress(io.read(path, format_name, encoding=encoding, any_label=any_label), "reading")


def _note_documents(summary: Summary, side: str, missing: Any, extra: Any) -> None:
    for names, what in (
        (missing, f"missing in {side} and counted as empty"),
        (extra, f"only in {side} and not scored"),
    ):
        if names:
            shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            summary.notes.append(f"{len(names)} documents are {what}: {shown}")
