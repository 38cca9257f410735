"""The commands anonymize and ru-map: a table that can be released, and the map of what could be."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.run_manifest import begin, finish, tables_of
from deid.cli.table_options import (
    Hierarchies,
    Person,
    PersonsAsGiven,
    QuasiIdentifiers,
    SchemaFile,
    Sensitive,
    Separator,
    SqlTable,
    Table,
    gather_schema,
    names_of,
    open_microdata,
    print_rows,
    shown,
)

if TYPE_CHECKING:
    from deid.disclosure.release import Release

Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="A,B", help="Columns that are left out, such as identifiers.")
]
Publish = Annotated[
    list[str] | None,
    typer.Option("--publish", metavar="A,B", help="Columns that are published as they are, without protection."),
]
Suppression = Annotated[
    float, typer.Option(metavar="P", help="Share of rows that full-domain methods and --scheme may suppress.")
]
Single = Annotated[
    bool, typer.Option("--each-row-a-person", help="Rows that share an identifier are different persons all the same.")
]
Rounds = Annotated[
    int | None, typer.Option(metavar="N", help="Effort of local recoding: more rounds lose less; by default 1 to 5.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of local recoding.")]


def _anonymize(
    context: typer.Context,
    place: Table,
    out: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="Released table, CSV or Parquet.")],
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Sensitive = None,
    person: Person = None,
    schema: SchemaFile = None,
    drop: Drop = None,
    publish: Publish = None,
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
    method: Annotated[
        str,
        typer.Option(
            help="auto, local, mondrian, relaxed, optimal, greedy, bottom-up, top-down, hybrid, mdav, kk, cells or "
            "records."
        ),
    ] = "auto",
    suppression: Suppression = 0.0,
    rounds: Rounds = None,
    seed: Seed = 0,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Class labels that Mondrian's cuts should tell apart.")
    ] = None,
    scheme: Annotated[
        Path | None, typer.Option("--scheme", metavar="F", help="Recode as an earlier release, by its scheme.")
    ] = None,
    save_scheme: Annotated[
        Path | None, typer.Option(metavar="F", help="Keep the recoding as a scheme, for rows to come.")
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="F", help="Write a report as a web page.")] = None,
    aligned: Annotated[
        Path | None,
        typer.Option(metavar="F", help="Keep the published cells in the order of TABLE, for deid write-back. Private."),
    ] = None,
    drop_rest: Annotated[
        bool, typer.Option("--drop-rest", help="Leave out all columns of which nothing is said.")
    ] = False,
    each_row_a_person: Single = False,
    persons_as_given: PersonsAsGiven = False,
    separator: Separator = None,
    table: SqlTable = None,
    summary_json: SummaryJson = None,
) -> None:
    """Make a table that can be released with a stated protection.

    Every column must be spoken of: quasi-identifiers are generalized until what is asked for holds, sensitive columns
    and those of --publish leave as they are, identifiers, free text and those of --drop do not. Verifiers that know
    only the result must pass it, otherwise nothing is written. OUT.manifest.json lies beside the release.

    Example: deid anonymize patients.csv --qi age,sex,zip --sensitive disease --drop mrn --k 5 --l 2 -o released.csv
    """
    from deid.base.files import check_new_file, write_bytes
    from deid.disclosure.assessment import Requirements
    from deid.disclosure.guards import drop_unnamed, fates_of
    from deid.disclosure.methods import MethodOptions
    from deid.disclosure.release import anonymize
    from deid.disclosure.release_report import write_report
    from deid.disclosure.scheme import apply_scheme, read_scheme, scheme_of
    from deid.table.table_files import check_new_table, write_table

    for path in (out, aligned):
        if path is not None:
            check_new_table(path)
    for path in (save_scheme, report):
        if path is not None:
            check_new_file(path)
    run = begin(context, out)
    said = gather_schema(
        schema, quasi_identifiers, sensitive, person, hierarchy,
        drop=drop, publish=publish, each_row_a_person=each_row_a_person, persons_as_given=persons_as_given,
    )  # fmt: skip
    data = open_microdata(place, said, separator, table)
    if drop_rest:
        data = drop_unnamed(data)
    asked = Requirements(
        k, l, entropy_l, c, alpha, t, distance, beta, *(epsilon_m or (None, None)), *(range_diversity or (None, None))
    )
    if scheme is not None:
        options = MethodOptions(suppression or 1.0, rounds, seed)
        release = apply_scheme(read_scheme(scheme), data, asked, options)
    else:
        release = anonymize(data, asked, method, MethodOptions(suppression, rounds, seed), target=target)
    write_table(release.table(), out)
    command = shlex.join(["deid", *sys.argv[1:]])
    if aligned is not None:
        write_table(release.aligned(), aligned)
    if save_scheme is not None:
        write_bytes(save_scheme, scheme_of(release).to_json().encode())
    if report is not None:
        write_report(report, release, command)
    _print(release)
    summary = Summary("anonymize")
    summary.notes = _notes(release)
    if aligned is not None:
        summary.places.append(f"{aligned} ties the release to the rows of the table: it must not leave the house")
    summary.extra = release.as_dict()
    beside = {"aligned": aligned, "scheme": save_scheme}
    fates = {name: f"{what.fate} ({what.role})" for name, what in fates_of(release.original).items()}
    told = {name: value for name, value in summary.extra.items() if name != "columns"}
    finish(run, summary, out, inputs=tables_of(place), beside=beside, columns=fates, results=told)
    summary.finish(summary_json)


def _notes(release: Release) -> list[str]:
    from deid.disclosure.guards import fates_of, told_of

    fates = fates_of(release.original).items()
    plain = [name for name, what in fates if what.fate == "unaltered"]
    gone = [name for name, what in fates if what.fate == "dropped" and what.role != "free-text"]
    texts = [name for name, what in fates if what.role == "free-text"]
    notes = [f"published as they are, without protection: {', '.join(plain)}"] if plain else []
    notes += [f"left out: {', '.join(gone)}"] if gone else []
    notes += [told_of(release.original)] if release.original.look_alikes and release.original.look_alikes.pairs else []
    notes += [f"free text is left out, scrub it first: {', '.join(texts)}"] if texts else []
    return notes


def _print(release: Release) -> None:
    before, after = release.risks
    rows = [
        ("method", release.method),
        ("rows published, suppressed", f"{len(release.rows):,}, {release.suppressed:,}"),
        *((f"level of {name}", str(level)) for name, level in release.levels.items()),
        *(
            (f.model + (f" of {f.column}" if f.column else ""), f"{shown(f.verdict.level)} (asked: {shown(f.asked)})")
            for f in release.findings
            if f.asked is not None
        ),
        ("loss: NCP, classes", f"{release.loss.ncp:.4f}, {release.loss.classes:,}"),
        ("linked rightly, before and after", "{:.2%}, {:.2%}".format(*release.linked_by_all)),
        ("... by the quasi-identifiers alone", f"{before.marketer:.2%}, {after.marketer:.2%}"),
    ]
    print_rows(("release", "value"), rows)


def _ru_map(
    place: Table,
    out: Annotated[Path, typer.Option("-o", "--output", metavar="PLOT", help="Plot, .svg or .png.")],
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Sensitive = None,
    person: Person = None,
    schema: SchemaFile = None,
    drop: Drop = None,
    hierarchy: Hierarchies = None,
    k: Annotated[str, typer.Option("--k", metavar="2,5", help="Values of k.")] = "2,5,10,25,50",
    l: Annotated[int | None, typer.Option("--l", help="Distinct sensitive values in every class.")] = None,  # noqa: E741
    method: Annotated[str, typer.Option(metavar="A,B", help="Methods, see deid anonymize.")] = "local,mondrian,optimal",
    suppression: Suppression = 0.05,
    min_utility: Annotated[
        float | None, typer.Option(metavar="U", help="Choose the least risk with at least this utility (1 - NCP).")
    ] = None,
    max_risk: Annotated[
        float | None, typer.Option(metavar="R", help="Choose the greatest utility with at most this average risk.")
    ] = None,
    rounds: Rounds = None,
    each_row_a_person: Single = False,
    persons_as_given: PersonsAsGiven = False,
    separator: Separator = None,
    table: SqlTable = None,
    summary_json: SummaryJson = None,
) -> None:
    """Map risk and utility of many releases of a table, with the Pareto front and choices; releases nothing.

    Example: deid ru-map patients.csv --qi age,sex,zip --k 2,5,10 --max-risk 0.05 --min-utility 0.8 -o map.svg
    """
    from dataclasses import asdict

    from deid.base.errors import ConfigError
    from deid.base.files import check_new_file, write_bytes
    from deid.base.plots import check_image, image
    from deid.disclosure.assessment import Requirements
    from deid.disclosure.frontier import choose, frontier, map_releases, plot_map
    from deid.disclosure.methods import MethodOptions

    kind = check_image(out)
    check_new_file(out)
    try:
        ks = [int(part) for part in k.split(",")]
    except ValueError:
        raise ConfigError("--k is no list of numbers", "for example: --k 2,5,10") from None
    said = gather_schema(
        schema, quasi_identifiers, sensitive, person, hierarchy,
        drop=drop, each_row_a_person=each_row_a_person, persons_as_given=persons_as_given,
    )  # fmt: skip
    data = open_microdata(place, said, separator, table)
    points, failures = map_releases(data, names_of([method]), ks, MethodOptions(suppression, rounds), Requirements(l=l))
    choices = choose(points, least_utility=min_utility, greatest_risk=max_risk)
    front = frontier(points)
    write_bytes(out, image(plot_map(points, choices), kind), private=False)
    print_rows(
        ("method", "k", "utility", "risk", "Pareto"),
        [(p.method, str(p.k), f"{p.utility:.4f}", f"{p.risk:.4f}", "yes" if p in front else "") for p in points],
    )
    summary = Summary("ru-map")
    summary.notes = [f"{name}, k = {size}: not reached: {error.what}" for name, size, error in failures]
    for choice in choices:
        found = choice.point
        told = "none is good enough" if found is None else f"{found.method}, k = {found.k}"
        summary.notes.append(f"{choice.strategy}: {told}")
    summary.extra = {
        "points": [asdict(point) for point in points],
        "front": [asdict(point) for point in front],
        "choices": [asdict(choice) for choice in choices],
    }
    summary.finish(summary_json)
