"""The commands cube and slice: release a table of counts, and ask a released one."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.ledger_options import (
    AssertBound,
    BudgetName,
    LedgerPlace,
    Level,
    PersonColumn,
    ReportShare,
    RequestId,
    TestNoiseSeed,
    open_ledger,
    warn_of_rows_without_person,
)
from deid.cli.paid_release import pay_and_write, request_of, target_of
from deid.cli.run_manifest import begin, finish_paid
from deid.cli.table_options import Separator, SqlTable, Table

if TYPE_CHECKING:
    import pandas as pd

    from deid.dp.cube import CubePlan
    from deid.dp.domain import Dimension

__all__ = ["declared_dimensions", "named_slices"]

Dims = Annotated[str, typer.Option(metavar="A,B,...", help="Columns.")]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def declared_dimensions(
    table: Callable[[], pd.DataFrame], dims: str, domains: Path | None, flags: list[str]
) -> list[Dimension]:
    """Declare the columns; the table is read only for a column whose values a public source vouches for."""
    from deid.dp.domain import declare, parse_flag, read_domains
    from deid.table.microdata import check_columns

    declared: dict[str, dict[str, Any]] = dict(read_domains(domains)) if domains else {}
    declared |= dict(parse_flag(flag) for flag in flags)
    result = []
    for name in _names(dims):
        own = declared.get(name, {})
        public = own.get("from_data") is True and own.get("public_source")
        column = None
        if public:
            frame = table()
            check_columns(frame, [name])
            column = frame[name]
        result.append(declare(name, own, column))
    return result


def named_slices(texts: list[str]) -> tuple[list[list[str]], list[float]]:
    """Parse slices ``A,B:WEIGHT`` into columns and weights."""
    from deid.base.errors import ConfigError

    slices, weights = [], []
    for text in texts:
        names, _, weight = text.partition(":")
        try:
            weights.append(float(weight) if weight else 1.0)
        except ValueError:
            raise ConfigError("a --slice has a weight that is no number", "for example: --slice year,death:2") from None
        slices.append(_names(names))
    return slices, weights


def _dry_run(plan: CubePlan, wanted: float | None, summary: Summary) -> None:
    from dataclasses import asdict

    from deid.cli.tables import print_sections
    from deid.dp.forecast import epsilon_for, forecast
    from deid.evaluation.sections import Section

    lines = forecast(plan)
    rows = tuple(
        (line.slice, line.method, str(line.cells), f"{line.per_cell:.4g}", f"{line.per_slice:.4g}", f"{line.bias:.4g}")
        for line in lines
    )
    sections = [
        Section(
            f"Expected error at epsilon {plan.epsilon:g}, {plan.unit}",
            ("slice", "method", "numbers", "error a number", "error of the slice (L1)", "bias, at most"),
            rows,
            "Nothing was read and nothing was charged. privtree, forest and dpcube depend on the data and have no "
            "forecast. marginals is forecast before its counts are made non-negative, which lowers it.",
        )
    ]
    summary.extra = {
        "method": plan.method,
        "forecast": [asdict(line) | {"per_slice": line.per_slice} for line in lines],
    }
    if wanted is not None:
        needed = epsilon_for(plan, wanted)
        shown = tuple((name, "none" if value is None else f"{value:.4g}") for name, value in needed.items())
        sections.append(Section(f"Epsilon for an expected error of {wanted:g} a number", ("method", "epsilon"), shown))
        summary.extra["epsilon_needed"] = needed
    print_sections(sections)


def _cube(
    context: typer.Context,
    table: Table,
    dims: Dims,
    epsilon: Annotated[float, typer.Option(metavar="E", help="Cost of the release.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="F", help="Release: .parquet, .csv or .json.")
    ] = None,
    ledger: LedgerPlace = None,
    budget: BudgetName = "main",
    domains: Annotated[
        Path | None, typer.Option(metavar="F", help="Declared domains of the columns (TOML; docs/cube.md).")
    ] = None,
    domain: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=VALUES", help="Domain: A,B,C, LOW..HIGH or LOW..HIGH/WIDTH.")
    ] = None,
    slices: Annotated[
        list[str] | None,
        typer.Option("--slice", metavar="A,B[:WEIGHT]", help="A slice that will be asked; may be given several times."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="auto, or one of the methods in docs/cube.md: marginals, privtree, forest, cells, privelet, ..."
        ),
    ] = "auto",
    nonnegative: Annotated[
        bool, typer.Option(help="Project onto non-negative counts where that is a step of its own.")
    ] = True,
    level: Level = 0.95,
    person: PersonColumn = None,
    assert_bound: AssertBound = False,
    report_share: ReportShare = None,
    part: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=CELL", help="Only this part of the table; disjoint parts cost their maximum."),
    ] = None,
    request: RequestId = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Forecast the error without reading the table or charging.")
    ] = False,
    wanted_error: Annotated[
        float | None, typer.Option(metavar="X", help="With --dry-run: what epsilon this error a number needs.")
    ] = None,
    not_private_seed: TestNoiseSeed = None,
    separator: Separator = None,
    sql_table: SqlTable = None,
    summary_json: SummaryJson = None,
) -> None:
    """Release a data cube: counts over declared columns, with differential privacy.

    Example: deid cube visits.csv --dims age,year,death --domains domains.toml --slice year,death --epsilon 0.5
    --ledger study.ledger -o cube.parquet
    """
    from deid.dp.cube import plan_cube, release_cube
    from deid.dp.left_out import say_left_out
    from deid.dp.noise import OpenDPNoise, SeededNoise
    from deid.dp.release import write_release
    from deid.dp.unit import PrivacyUnit
    from deid.table.table_files import read_table

    payer = open_ledger(context, "ledger", ledger, budget) if ledger else None
    unit = payer.account().unit if payer else PrivacyUnit()
    named, weights = named_slices(slices or [])
    target = None if dry_run else target_of(output)
    own = "" if target is None else request_of(request, target, payer)
    read = functools.cache(lambda: read_table(table, separator=separator, table=sql_table, text=True))
    plan = plan_cube(
        declared_dimensions(read, dims, domains, domain or []),
        epsilon,
        unit,
        method=method,
        slices=named,
        weights=weights,
        nonnegative=nonnegative,
        level=level,
        person=person,
        report_share=report_share,
        assert_bound=assert_bound,
        part=[
            (declared_dimensions(read, column, domains, domain or [])[0], cell)
            for column, cell in (_condition(text) for text in part or [])
        ],
    )
    summary = Summary("cube")
    if dry_run:
        _dry_run(plan, wanted_error, summary)
        summary.finish(summary_json)
        return
    assert target is not None
    run = begin(context, target)
    noise = OpenDPNoise() if not_private_seed is None else SeededNoise(not_private_seed)
    frame = read()
    warn_of_rows_without_person(frame, person)
    if payer is None and not noise.private:
        summary.notes.append("no ledger: nothing was charged, because nothing is protected")
    released = pay_and_write(
        lambda: release_cube(frame, plan, ledger=payer, request=own, noise=noise),
        write_release,
        plan.epsilon,
        payer,
        own,
        target,
        summary,
    )
    if not noise.private:
        summary.notes.append(noise.label)
    summary.notes += [*released.metadata["notes"], *say_left_out(released.metadata["left_out"])] if released else []
    summary.extra |= {"method": plan.method, "epsilon": plan.epsilon, "private": noise.private, "request": own}
    if released:
        finish_paid(run, summary, target, released.metadata["notes"])
    summary.finish(summary_json)


def _condition(text: str) -> tuple[str, str]:
    """Parse ``COLUMN=CELLS``."""
    from deid.base.errors import ConfigError

    name, equals, cells = text.partition("=")
    if not equals or not name.strip():
        raise ConfigError("a condition is not of the form COLUMN=CELLS", "for example: --where age=60..69")
    return name.strip(), cells.strip()


def _slice(
    release: Annotated[Path, typer.Argument(help="A release that deid cube wrote.")],
    dims: Annotated[str, typer.Option(metavar="A,B,...", help="Columns of the table; none for the total.")] = "",
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=CELLS", help="Condition: A, A,B or A..B; may be given several times."),
    ] = None,
    level: Annotated[
        float | None, typer.Option(metavar="P", help="Level of the intervals; the release's by default.")
    ] = None,
    summary_json: SummaryJson = None,
) -> None:
    """Ask a released cube for a slice or a roll-up; prints CSV. This costs no budget.

    Example: deid slice cube.parquet --dims year --where death=1 --where age=60..69
    """
    from deid.dp.release import read_release

    conditions = dict(_condition(text) for text in where or [])
    cube = read_release(release)
    frame = cube.slice(_names(dims), conditions, level)
    sys.stdout.write(frame.to_csv(index=False, float_format="%.2f", lineterminator="\n"))
    summary = Summary("slice")
    summary.notes += [] if cube.private else [str(cube.metadata["noise"])]
    summary.notes += [cube.model.caveat] if cube.model.caveat else []
    summary.extra = {
        "method": cube.metadata["method"],
        "epsilon": cube.metadata["epsilon"],
        "private": cube.private,
        "level": level or cube.metadata["level"],
        "cells": len(frame),
    }
    summary.finish(summary_json)
