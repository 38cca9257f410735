"""The command query: ask a table one question, with differential privacy."""

from __future__ import annotations

import functools
from dataclasses import asdict
from pathlib import Path

from deid.base.plots import write_plot
from deid.cli import Summary, argument, command, option, print_csv, tell
from deid.cli.paying import told_forecast, told_payment
from deid.dp.domain_options import DomainOptions
from deid.dp.options import DraftOptions, GaussianPayingOptions, JoinedTableOptions, PlotOptions, ToldUnitOptions


@command
def query(
    told: Summary,
    *,
    source: JoinedTableOptions,
    query: str = argument("Such as: SELECT COUNT(*) WHERE age >= 60 (docs/dp-queries.md).", metavar="QUERY"),
    paying: GaussianPayingOptions,
    domains: DomainOptions,
    output: Path | None = option(
        None,
        "Write the answer to a new file, with its manifest, instead of printing it: .csv or .parquet.",
        "--output",
        "-o",
    ),
    whom: ToldUnitOptions,
    draft: DraftOptions,
    drawn: PlotOptions,
) -> None:
    """Ask a table one question, with differential privacy; prints CSV.

    Example: deid query visits.csv "SELECT MEAN(los) WHERE sex = 'F' GROUP BY year" --domains domains.toml --epsilon 0.1
    --ledger study.ledger
    """
    from deid.dp.forecast import query_sections
    from deid.dp.plan import say_left_out
    from deid.dp.plots import plot_bins
    from deid.dp.query_answer import NUMBERS
    from deid.dp.query_language import parse_query
    from deid.dp.session import QuerySession
    from deid.table.table_writing import check_new_table, write_table

    parse_query(query)  # a mistake in it is told before the table is read
    ledger = paying.open()
    read = functools.cache(lambda: whom.read(source, tell))
    dimensions = domains.dimensions(domains.declared(), read)
    terms = {"delta": paying.delta, **asdict(whom)}
    if draft.dry_run:
        empty = QuerySession.rehearsal(dimensions, source.protected(ledger), **terms)
        told_forecast(told, query_sections(empty.check(query, paying.epsilon)))
        return
    if output is not None:
        check_new_table(output)
        told.begin(output)
    session = QuerySession(read(), dimensions, ledger, noise=paying.noise, **terms)
    answer = session.query(query, paying.epsilon, request=paying.request)
    told_payment(told, paying, ledger)
    told.notes += say_left_out(answer.left_out)
    told.extra = {"person": whom.person, **answer.as_dict()}
    frame = answer.to_frame()
    names = [name for name in frame.columns if name not in NUMBERS]
    write_plot(drawn.plot, lambda: plot_bins(frame, "value", names))
    if output is None:
        print_csv(frame, "%.6g")
    else:
        write_table(frame, output)
        told.sign_paid(output, say_left_out(answer.left_out))
