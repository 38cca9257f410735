"""The command experiment robustness: the same notes in other writing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary, SummaryJson, progress
from deid.cli.source_options import AnyLabel, Bias, Encoding, Jobs, Language, Model, Rules, job_count, read_options
from deid.cli.tables import print_sections, write_json

if TYPE_CHECKING:
    from deid.evaluation.sections import Section
    from deid.experiments.robustness import Result

__all__ = ["experiment_robustness"]


def experiment_robustness(
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="Annotated file or folder of any readable format.")],
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Measure just this writing, beside clean (repeatable).")
    ] = None,
    model: Model = None,
    rules: Rules = None,
    bias: Bias = None,
    language: Language = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the noise and of the bootstrap.")] = 0,
    jobs: Jobs = 1,
    format: Annotated[
        str | None, typer.Option(metavar="F", help="Format of GOLD; told by its content if not given.")
    ] = None,
    encoding: Encoding = "utf-8",
    any_label: AnyLabel = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="F", help="Write all numbers as JSON to F.")
    ] = None,
    summary_json: SummaryJson = None,
) -> None:
    """Measure recall in capitals, small letters, scanner noise, other line ends, disguised characters.

    Example: deid experiment robustness gold/ --model en --jobs 2
    """
    from deid.detection.recognizers import build_recognizer
    from deid.experiments.robustness import PERTURBATIONS, measure_robustness
    from deid.io import scan

    found = scan(gold, format, read_options(encoding, any_label, None, None, None))
    result = measure_robustness(
        progress(found.documents(), "tagging"),
        build_recognizer(model, rules=rules, bias=bias, language=language),
        names=tuple(only) if only else tuple(PERTURBATIONS),
        seed=seed,
        jobs=job_count(jobs),
    )
    print_sections([_section(result)])
    values = {"documents": result.documents, "seed": seed, "perturbations": [row.as_dict() for row in result.rows]}
    if json_file is not None:
        write_json(json_file, values)
    summary = Summary("experiment robustness", documents=result.documents, failures=list(result.failures))
    summary.extra = {"perturbations": values["perturbations"]}
    summary.finish(summary_json)


def _section(result: Result) -> Section:
    from deid.evaluation.sections import Section

    rows = tuple(
        (
            row.name,
            f"{row.recall:.4f}",
            f"{row.precision:.4f}",
            f"{row.recall_fall:+.4f}",
            f"{row.recall_fall_interval[0]:+.4f} to {row.recall_fall_interval[1]:+.4f}",
            f"{row.precision_fall:+.4f}",
        )
        for row in result.rows
    )
    columns = ("writing", "recall", "precision", "recall falls by", "interval", "precision falls by")
    return Section("PHI words by writing", columns, rows)
