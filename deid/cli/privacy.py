"""The command privacy: the levels of protection that a published table reaches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import EXIT_FAILED, Summary, SummaryJson
from deid.cli.table_options import (
    Hierarchies,
    IgnoreSuppressed,
    Person,
    PersonsAsGiven,
    QuasiIdentifiers,
    SchemaFile,
    Sensitive,
    Separator,
    SqlTable,
    Table,
    gather_schema,
    open_beside,
    open_microdata,
    print_rows,
    shown,
)

if TYPE_CHECKING:
    from deid.disclosure.assessment import Finding


def _privacy(
    place: Table,
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Sensitive = None,
    person: Person = None,
    schema: SchemaFile = None,
    hierarchy: Hierarchies = None,
    k: Annotated[int | None, typer.Option("--k", help="Persons that every class must hold.")] = None,
    l: Annotated[int | None, typer.Option("--l", help="Distinct sensitive values in every class.")] = None,  # noqa: E741
    entropy_l: Annotated[float | None, typer.Option(help="Entropy l-diversity of every class.")] = None,
    c: Annotated[float | None, typer.Option("--c", help="Recursive (c,l)-diversity; l from --l, 2 by default.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Greatest share of a sensitive value in a class.")] = None,
    t: Annotated[float | None, typer.Option("--t", help="Greatest distance of a class from the whole table.")] = None,
    distance: Annotated[str, typer.Option(help="For --t: equal, ordered, or hierarchical.")] = "equal",
    beta: Annotated[float | None, typer.Option(help="Greatest relative gain of a sensitive value.")] = None,
    epsilon_m: Annotated[
        tuple[float, float] | None, typer.Option(metavar="E M", help="(E,M)-anonymity of numeric sensitive columns.")
    ] = None,
    range_diversity: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="W A", help="At most a share A of a class in a window of a share W of the range."),
    ] = None,
    guard: Annotated[
        tuple[str, float] | None,
        typer.Option(
            metavar="COLUMN P", help="Personalised privacy: guarding nodes, and the greatest chance of a breach."
        ),
    ] = None,
    population: Annotated[
        str | None, typer.Option(metavar="P", help="Table of the population, for --k-map and --presence.")
    ] = None,
    k_map: Annotated[int | None, typer.Option(help="Persons of the population that every row must match.")] = None,
    presence: Annotated[
        tuple[float, float] | None, typer.Option(metavar="LOW HIGH", help="Bounds of delta-presence.")
    ] = None,
    original: Annotated[
        str | None, typer.Option(metavar="O", help="Original table, for --kk; also names the kind of recoding.")
    ] = None,
    kk: Annotated[
        int | None, typer.Option(help="(k,k)-anonymity: rows and originals consistent with each other.")
    ] = None,
    ignore_suppressed: IgnoreSuppressed = False,
    persons_as_given: PersonsAsGiven = False,
    separator: Separator = None,
    table: SqlTable = None,
    summary_json: SummaryJson = None,
) -> None:
    """Tell which privacy models a published table meets, and at which level.

    The table is taken as it is, whoever made it. Prints the level that is reached and the rows (from 1) that keep it
    from being better. Exit status 1 when a level that was asked for is not reached.

    Example: deid privacy released.csv --qi age,sex,zip --sensitive disease --k 5 --l 3
    """
    from deid.disclosure.assessment import Requirements, assess
    from deid.disclosure.guards import check_published
    from deid.disclosure.recoding_scheme import classify_recoding
    from deid.manifest import results_of

    said = gather_schema(schema, quasi_identifiers, sensitive, person, hierarchy, persons_as_given=persons_as_given)
    release = open_microdata(place, said, separator, table, published=True)
    told = check_published(release, results_of(Path(place)))
    epsilon, m = epsilon_m or (None, None)
    width, window = range_diversity or (None, None)
    node, breach = guard or (None, None)
    asked = Requirements(
        k, l, entropy_l, c, alpha, t, distance, beta, epsilon, m, width, window, k_map, kk, presence, node, breach
    )
    originals = open_beside(original, release, said, separator)
    findings = assess(
        release,
        asked,
        population=open_beside(population, release, said, separator),
        originals=originals,
        suppressed="ignore" if ignore_suppressed else "class",
    )
    _print(findings)
    summary = Summary("privacy")
    summary.notes = told
    summary.extra = {"rows": len(release), "findings": [finding.as_dict() for finding in findings]}
    if originals is not None and len(originals) == len(release):
        recoding = classify_recoding(originals, release)
        summary.notes += [f"recoding, if both tables have the same rows in the same order: {recoding.scheme}"]
        summary.extra["recoding"] = recoding.scheme
    summary.finish(summary_json)
    if any(finding.failed for finding in findings):
        raise typer.Exit(EXIT_FAILED)


def _print(findings: list[Finding]) -> None:
    rows = [
        (
            finding.model + (f" of {finding.column}" if finding.column else ""),
            "-" if finding.asked is None else shown(finding.asked),
            shown(finding.verdict.level),
            "-" if finding.asked is None else "yes" if finding.verdict.ok else "NO",
            " ".join(str(row + 1) for row in finding.verdict.witness[:5]),
        )
        for finding in findings
    ]
    print_rows(("model", "asked", "reached", "met", "rows that decide"), rows)
