"""The command experiment conclusions: what a study finds in a released table, and in the original."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.experiment_output import check_outputs, numbers
from deid.cli.table_options import (
    Hierarchies,
    QuasiIdentifiers,
    SchemaFile,
    Separator,
    gather_schema,
    open_microdata,
)
from deid.cli.tables import print_sections, write_json

if TYPE_CHECKING:
    import pandas as pd

    from deid.evaluation.sections import Section

__all__ = ["experiment_conclusions"]


def experiment_conclusions(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The table as it was.")],
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="The anonymized table, in any order of rows.")],
    outcome: Annotated[str, typer.Option(metavar="QUERY", help="Who has the outcome, as 'disease=asthma'.")],
    quasi_identifiers: QuasiIdentifiers = None,
    schema: SchemaFile = None,
    hierarchy: Hierarchies = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="QUERY", help="A group whose odds are asked (repeatable).")
    ] = None,
    cohort: Annotated[
        list[str] | None, typer.Option(metavar="QUERY", help="A cohort to count, as 'age>=65 and sex=F' (repeatable).")
    ] = None,
    queries: Annotated[int, typer.Option(metavar="N", help="Random cohorts of two conditions.")] = 1000,
    need: Annotated[str, typer.Option(metavar="10,100", help="How many patients would be enough.")] = "10,30,100,300",
    level: Annotated[float, typer.Option(metavar="P", help="A p-value below it is a finding.")] = 0.05,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the random cohorts.")] = 0,
    separator: Separator = None,
    html: Annotated[Path | None, typer.Option(metavar="F", help="Write a web page with tables and plot.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="F", help="Write the plot, .svg or .png.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="F", help="Write all numbers as JSON.")] = None,
    summary_json: SummaryJson = None,
) -> None:
    """Compare what a study concludes from a released table with what it concludes from the original.

    Are there enough patients for a trial, is an outcome independent of age, what are the odds of a group, what does a
    regression find: on both tables, with the share of decisions that stay the same.

    Example: deid experiment conclusions patients.csv released.csv --qi age,sex --outcome diagnosis=asthma
    """
    from deid.base.errors import ConfigError
    from deid.base.files import write_bytes
    from deid.base.plots import check_image, image
    from deid.disclosure.queries import random_queries
    from deid.experiments.cohorts import TablePair, count_cohorts, feasibility, parse_cohort
    from deid.experiments.conclusions import compare_conclusions
    from deid.experiments.page import write_page
    from deid.experiments.plots import plot_conclusions

    check_outputs(html, json_file, plot=plot)
    needs = numbers(need, int, "--need")
    if queries < 1 or not 0 < level < 1:
        raise ConfigError("--queries is less than 1, or --level is no probability", "for example: --level 0.05")
    said = gather_schema(schema, quasi_identifiers, hierarchies=hierarchy)
    truth = open_microdata(original, said, separator, None)
    if not truth.quasi_identifiers:
        raise ConfigError("no column is a quasi-identifier", "name the anonymized columns with --qi")
    pair = TablePair(truth, open_microdata(release, said, separator, None, published=True))
    groups = [(text, parse_cohort(truth, text)) for text in group or ()]
    findings = compare_conclusions(pair, parse_cohort(truth, outcome), groups, level=level)
    drawn = random_queries(truth, queries, seed=seed)
    counts = count_cohorts(pair, drawn, [f"random {n}" for n in range(1, len(drawn) + 1)])
    asked = count_cohorts(pair, [parse_cohort(truth, text) for text in cohort or ()], cohort or ())
    feasible = feasibility(counts, needs)
    held = ((counts["least"] <= counts["original"]) & (counts["original"] <= counts["greatest"])).mean()
    facts: dict[str, Any] = {
        "same": float(findings["same"].mean()),
        "overlap": float(findings["overlap"].mean()),
        "cohorts": len(counts),
        "median_error": float(counts["error"].median()),
        "bounds_held": float(held),
    }
    sections = [
        *([_section("Cohorts", asked)] if len(asked) else []),
        _section(
            "Are there enough patients?",
            feasible,
            f"{len(counts)} random cohorts; median relative error {facts['median_error']:.3f}; the bounds held for "
            f"{held:.1%}. Settled: the bounds decide. Right: the estimate says what the original says.",
        ),
        _section(
            f"Conclusions about {outcome}",
            findings,
            f"{facts['same']:.1%} of {len(findings)} decisions at p < {level:g} are the same; intervals overlap by "
            f"{facts['overlap']:.2f} on average.",
        ),
    ]
    print_sections(sections)
    if html is not None:
        write_page(html, "Conclusions from a release", sections, plot_conclusions(findings, counts))
    if plot is not None:
        write_bytes(plot, image(plot_conclusions(findings, counts), check_image(plot)), private=False, replace=True)
    if json_file is not None:
        frames = {"feasibility": feasible, "conclusions": findings, "asked": asked}
        write_json(json_file, facts | {name: _records(frame) for name, frame in frames.items()})
    summary = Summary("experiment conclusions")
    summary.extra = facts | {"feasibility": _records(feasible), "conclusions": len(findings)}
    summary.finish(summary_json)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    import json

    # pandas writes what is undefined as null, which Python's own encoder would write as NaN
    found: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", double_precision=15))
    return found


def _section(title: str, frame: pd.DataFrame, note: str = "") -> Section:
    from deid.evaluation.sections import Section

    def shown(value: object) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            return "" if value != value else f"{value:.4g}"
        return str(value)

    names = tuple(name.replace("_original", "").replace("_", " ") for name in frame.columns)
    rows = tuple(tuple(shown(value) for value in row) for row in frame.itertuples(index=False))
    return Section(title, names, rows, note)
