"""The command query: ask a table one question, with differential privacy."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.cube import declared_dimensions
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
from deid.cli.table_options import Separator, SqlTable, Table


def _query(
    context: typer.Context,
    table: Table,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="Such as: SELECT COUNT(*) WHERE age >= 60 (docs/dp-queries.md).")
    ],
    epsilon: Annotated[float, typer.Option(metavar="E", help="Cost of the answer.")],
    ledger: LedgerPlace = None,
    budget: BudgetName = "main",
    domains: Annotated[
        Path | None, typer.Option(metavar="F", help="Declared domains of the columns (TOML; docs/cube.md).")
    ] = None,
    domain: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=VALUES", help="Domain: A,B,C, LOW..HIGH or LOW..HIGH/WIDTH.")
    ] = None,
    level: Level = 0.95,
    person: PersonColumn = None,
    assert_bound: AssertBound = False,
    report_share: ReportShare = None,
    request: RequestId = None,
    not_private_seed: TestNoiseSeed = None,
    separator: Separator = None,
    sql_table: SqlTable = None,
    summary_json: SummaryJson = None,
) -> None:
    """Ask a table one question, with differential privacy; prints CSV.

    Example: deid query visits.csv "SELECT MEAN(los) WHERE sex = 'F' GROUP BY year" --domains domains.toml --epsilon 0.1
    --ledger study.ledger
    """
    from deid.dp.domain import parse_flag, read_domains
    from deid.dp.left_out import say_left_out
    from deid.dp.noise import OpenDPNoise, SeededNoise
    from deid.dp.query_language import parse_query
    from deid.dp.session import Session
    from deid.table.table_files import read_table

    parse_query(query)  # a mistake in it is told before the table is read
    payer = open_ledger(context, "ledger", ledger, budget) if ledger else None
    declared = list(read_domains(domains)) if domains else []
    declared += [name for name, _ in map(parse_flag, domain or []) if name not in declared]
    read = functools.cache(lambda: read_table(table, separator=separator, table=sql_table, text=True))
    noise = OpenDPNoise() if not_private_seed is None else SeededNoise(not_private_seed)
    dimensions = declared_dimensions(read, ",".join(declared), domains, domain or [])
    warn_of_rows_without_person(read(), person)
    session = Session(
        read(),
        dimensions,
        payer,
        person=person,
        noise=noise,
        level=level,
        assert_bound=assert_bound,
        report_share=report_share,
    )
    answer = session.query(query, epsilon, request=request)
    sys.stdout.write(answer.to_frame().to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    summary = Summary("query")
    if payer is None:
        summary.notes.append("no ledger: nothing was charged, because nothing is protected")
    else:
        summary.notes.append(f"cost epsilon {epsilon:g}; {payer.account().left()}")
    if not noise.private:
        summary.notes.append(noise.label)
    summary.notes += say_left_out(answer.left_out)
    summary.extra = {
        "epsilon": epsilon,
        "bound": answer.bound,
        "person": person,
        "ledger": answer.ledger,
        "left_out": answer.left_out,
        "request": answer.request,
        "level": level,
        "private": answer.private,
        "rows": len(answer.rows),
    }
    summary.finish(summary_json)
