"""``deid trajectories``: release longitudinal records of codes and ages."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.run_manifest import begin, finish, tables_of


def _anonymize(
    context: typer.Context,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="CSV, Parquet or SQL: one row a diagnosis.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="New table: .csv, .tsv or .parquet.")],
    k: Annotated[int, typer.Option("--k", metavar="N", help="How often each published trajectory occurs.")] = 5,
    person: Annotated[str, typer.Option(metavar="COLUMN", help="Whose diagnosis it is.")] = "person",
    code: Annotated[str, typer.Option(metavar="COLUMN", help="The diagnosis code.")] = "code",
    age: Annotated[str, typer.Option(metavar="COLUMN", help="The age at the diagnosis.")] = "age",
    attach: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column to release beside each trajectory (DNA, for instance).")
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Sensitive column, one value a person.")
    ] = None,
    diversity: Annotated[
        int, typer.Option("--l", metavar="N", help="Distinct sensitive values of equal trajectories, at least.")
    ] = 1,
    code_hierarchy: Annotated[
        str, typer.Option(metavar="FILE|NAME", help="CSV in ARX's form, icd-10-cm, icd-9-cm or prefixes.")
    ] = "icd-10-cm",
    age_hierarchy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV in ARX's form; intervals of 5, 10, 20, 40 years.")
    ] = None,
    weight: Annotated[float, typer.Option(metavar="W", help="Weight of codes against ages, 0 to 1.")] = 0.5,
    method: Annotated[str, typer.Option(metavar="a-gs|baseline", help="How trajectories are joined.")] = "a-gs",
    repeats: Annotated[
        bool, typer.Option("--cut-repeats", help="First cut numbers of repetitions of a code that fewer than k have.")
    ] = False,
    own_leaf: Annotated[
        bool, typer.Option("--own-leaf", help="Codes outside the hierarchy are leaves of their own.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the one random choice.")] = 0,
    report: Annotated[Path | None, typer.Option(metavar="F", help="Write a page with levels, loss and a plot.")] = None,
    sql_table: Annotated[str | None, typer.Option(metavar="NAME", help="Table of a database.")] = None,
    summary_json: SummaryJson = None,
) -> None:
    """Release trajectories so that each occurs at least k times.

    Persons are clustered (MDAV'), the trajectories of a cluster are aligned, generalized and cut until they are equal
    (A-GS; Tamersoy and others 2012). The release is verified before it is written; persons become numbers, which do not
    depend on the order of TABLE. OUT.manifest.json lies beside it.

    Example: deid trajectories anonymize diagnoses.csv released.csv --k 5 --person mrn --code icd --age age
    """
    from deid.base.files import check_new_file
    from deid.table.cell_text import text_list
    from deid.table.hierarchy import read_hierarchy
    from deid.table.hierarchy_builders import BUILDERS, build_hierarchy
    from deid.table.microdata import check_columns
    from deid.table.table_files import check_new_table, read_table, write_table
    from deid.trajectories import anonymize_trajectories
    from deid.trajectories.measures import average_relative_error, loss_of
    from deid.trajectories.publishing import publish_trajectories
    from deid.trajectories.records import age_text, suppress_repeats, trajectories_of_table, values_of_persons

    check_new_table(target)
    run = begin(context, target)
    if report is not None:
        check_new_file(report)
    said = [person, code, age, *([attach] if attach else []), *([sensitive] if sensitive else [])]
    frame = read_table(table, table=sql_table, text=True)
    check_columns(frame, said)
    values = sorted({cell for cell in text_list(frame[code]) if cell})
    if code_hierarchy in BUILDERS:
        codes = build_hierarchy(code_hierarchy, values)
    else:
        codes = read_hierarchy(Path(code_hierarchy))
    years = sorted({age_text(cell) for cell in text_list(frame[age]) if cell})
    widths = [5, 10, 20, 40]
    ages = read_hierarchy(age_hierarchy) if age_hierarchy else build_hierarchy("intervals", years, widths=widths)
    data = trajectories_of_table(
        frame, codes, ages, person=person, code=code, age=age, sensitive=sensitive, own_leaf=own_leaf
    )
    cut = 0
    if repeats:
        data, cut = suppress_repeats(data, k)
    release = anonymize_trajectories(data, k, weight=weight, method=method, diversity=diversity, seed=seed)
    beside = (attach, values_of_persons(frame, person, attach)) if attach else None
    published, level = publish_trajectories(release, diversity, code=code, age=age, attached=beside)
    write_table(published, target)
    loss, (error, queries) = loss_of(release), average_relative_error(release)
    summary = Summary("trajectories anonymize")
    summary.extra = {
        "persons": len(data),
        "level": level,
        "clusters": len(release.clusters),
        "ilm": loss.ilm,
        "alm": loss.alm,
        "ilm_estimate": loss.ilm_estimate,
        "alm_estimate": loss.alm_estimate,
        "suppressed": loss.suppressed + cut,
        "pairs": loss.pairs + cut,
        "average_relative_error": error,
        "queries": queries,
    }
    summary.notes.append(
        f"{len(data)} persons in {len(release.clusters)} clusters; every trajectory occurs at least {level} times; "
        f"loss of codes {loss.ilm:.3f}, of ages {loss.alm:.3f}; {loss.suppressed + cut} of {loss.pairs + cut} pairs "
        f"suppressed; relative error of {queries} counts {error:.3f}"
    )
    fates = dict.fromkeys(frame.columns, "left out") | {code: "generalized", age: "generalized"}
    fates |= dict.fromkeys([attach] if attach else [], "published")
    finish(run, summary, target, inputs=tables_of(table), columns=fates, results=summary.extra)
    if report is not None:
        _write_report(report, summary.extra, [len(c.members) for c in release.clusters], k)
    summary.finish(summary_json)


def _write_report(path: Path, figures: dict[str, object], sizes: list[int], k: int) -> None:
    """Write the page of a release."""
    import base64

    from deid.base.plots import COLOURS, image, new_figure
    from deid.base.reports import write_html
    from deid.evaluation.sections import Section

    figure = new_figure(6, 3)
    axes = figure.subplots()
    axes.hist(sizes, bins=range(k, max(sizes) + 2), color=COLOURS[1])
    axes.set_xlabel("persons of a cluster")
    axes.set_ylabel("clusters")
    rows = tuple((n.replace("_", " "), f"{v:.4f}" if isinstance(v, float) else str(v)) for n, v in figures.items())
    command = " ".join(["deid", *map(shlex.quote, sys.argv[1:])])
    sections = (Section("Release", ("", "figure"), rows, f"Made by: {command}"),)
    plot = base64.b64encode(image(figure)).decode()
    write_html(path, "experiment.html", title="Release of trajectories", sections=sections, plot=plot)
