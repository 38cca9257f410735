"""Commands that measure: evaluate, compare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.errors import ConfigError, told_of
from deid.cli import Summary, argument, command, option, print_sections, progress
from deid.cli.notes import MISTAKES
from deid.evaluation.evaluation import ScoringSettings
from deid.experiments.gold import GOLD
from deid.io.formats import ReadingOptions

if TYPE_CHECKING:
    from deid.document import Document, Failure


@command
def evaluate(
    told: Summary,
    *,
    gold: Path = GOLD,
    system: Path = argument("The system's annotations of the same documents.", metavar="SYSTEM"),
    report: Path | None = MISTAKES,
    sentences: Path | None = option(
        None, "Sentences of each document for MEDDOCAN's leak score: tab-separated id, part, sentences."
    ),
    settings: ScoringSettings,
    reading: ReadingOptions,
) -> None:
    """Score a system's annotations against gold annotations.

    Documents are matched by id. One that is missing in SYSTEM, or has another text there, counts as one in which
    nothing was found.

    Example: deid evaluate corpus/test tagged --json scores.json --report mistakes.html
    """
    from deid.evaluation import evaluate as score
    from deid.evaluation.official import read_sentences
    from deid.evaluation.page import write_page
    from deid.evaluation.sections import evaluation_sections

    counts = None
    if sentences is not None:
        with told_of(str(sentences), ConfigError):
            counts = read_sentences(sentences)
    evaluation = score(*(_read(path, reading) for path in (gold, system)), settings=settings, sentences=counts)
    figures = evaluation.as_dict()
    print_sections(evaluation_sections(figures))
    compared = figures.pop("documents")
    told.documents, told.failures = len(evaluation.pairing.pairs), list(evaluation.pairing.failures)
    if report is not None:
        write_page(evaluation, report)
        told.notes.append(f"{report} shows texts of notes: it contains PHI (mode 0600)")
    _note_documents(told, "SYSTEM", compared["missing"], compared["extra"])
    told.extra = {**figures, "compared": compared}


@command
def compare(
    told: Summary,
    *,
    gold: Path = GOLD,
    a: Path = argument("One system's annotations of the same documents.", metavar="A"),
    b: Path = argument("The other system's annotations.", metavar="B"),
    metric: tuple[str, ...] = option((), "Figure to compare (repeatable), such as strict.f1, word.recall, leaks."),
    permutations: int = option(10_000, "Swaps of the approximate randomization test.", minimum=1),
    settings: ScoringSettings,
    reading: ReadingOptions,
) -> None:
    """Compare two systems on the same gold documents, with intervals and paired tests over documents.

    Example: deid compare corpus/test tagged-old tagged-new --metric strict.f1 --metric leaks
    """
    from deid.evaluation import compare as compare_systems
    from deid.evaluation.sections import comparison_section
    from deid.evaluation.systems import DEFAULT_METRICS

    documents = [list(_read(path, reading)) for path in (gold, a, b)]
    comparison = compare_systems(
        *documents, metrics=metric or DEFAULT_METRICS, settings=settings, permutations=permutations
    )
    print_sections([comparison_section(comparison)])
    told.documents, told.extra = len(comparison.a.pairing.pairs), {"compared": comparison.as_dict()}
    for side, evaluation in (("A", comparison.a), ("B", comparison.b)):
        known = {id(failure) for failure in told.failures}  # failures of GOLD are met twice
        told.failures += [failure for failure in evaluation.pairing.failures if id(failure) not in known]
        _note_documents(told, side, evaluation.pairing.names("missing"), evaluation.pairing.extra)


def _read(path: Path, reading: ReadingOptions) -> Iterator[Document | Failure]:
    return progress(reading.scan(path).documents(), "reading")


def _note_documents(summary: Summary, side: str, missing: Any, extra: Any) -> None:
    for names, what in (
        (missing, f"missing in {side} and counted as empty"),
        (extra, f"only in {side} and not scored"),
    ):
        if names:
            shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            summary.notes.append(f"{len(names)} documents are {what}: {shown}")
