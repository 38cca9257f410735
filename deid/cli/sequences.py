"""The commands sequences and prefixes: release sequences of levels, and ask a release."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from deid.cli.paid_release import pay_and_write, request_of, target_of
from deid.cli.run_manifest import begin, finish_paid
from deid.cli.table_options import Separator, SqlTable, Table, names_of

if TYPE_CHECKING:
    from deid.dp.sequences import SequencePlan

LEVEL = "level"
"""Name under which the domain of the periods is declared."""


def _weights(texts: list[str]) -> dict[int, float]:
    """Parse lengths ``N[:WEIGHT]``."""
    from deid.base.errors import ConfigError

    weights = {}
    for text in texts:
        length, _, weight = text.partition(":")
        try:
            weights[int(length)] = float(weight) if weight else 1.0
        except ValueError:
            raise ConfigError("a --length is not of the form N[:WEIGHT]", "for example: --length 3:2") from None
    return weights


def _dry_run(plan: SequencePlan, summary: Summary) -> None:
    from dataclasses import asdict

    from deid.cli.tables import print_sections
    from deid.dp.sequences import forecast_levels
    from deid.evaluation.sections import Section

    lines = forecast_levels(plan)
    rows = tuple((str(a.length), f"{a.epsilon:.4g}", f"{a.noise:.4g}", f"{a.threshold:.4g}") for a in lines)
    section = Section(
        f"Noise of a tree at epsilon {plan.epsilon:g}, {plan.unit}",
        ("length", "epsilon", "noise of a count (sd)", "continued from"),
        rows,
        "Nothing was read and nothing was charged. Making the counts consistent lowers the noise further.",
    )
    print_sections([section])
    summary.extra = {"method": plan.method, "levels": [asdict(line) for line in lines]}


def _sequences(
    context: typer.Context,
    table: Table,
    periods: Annotated[str, typer.Option(metavar="A,B,...", help="Columns of the periods, in their order.")],
    epsilon: Annotated[float, typer.Option(metavar="E", help="Cost of the release.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="F", help="Release: .parquet, .csv or .json.")
    ] = None,
    ledger: LedgerPlace = None,
    budget: BudgetName = "main",
    domains: Annotated[
        Path | None, typer.Option(metavar="F", help="Declared domain of [columns.level] (TOML; docs/cube.md).")
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(metavar="level=VALUES", help="Declared levels of a period: level=A,B,C or level=LOW..HIGH."),
    ] = None,
    method: Annotated[str, typer.Option(help="tree, markov or tree-paper (docs/sequences.md).")] = "tree",
    lengths: Annotated[
        list[str] | None,
        typer.Option(
            "--length", metavar="N[:WEIGHT]", help="A length that will be asked (repeatable); all the same by default."
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(metavar="X", help="Prefixes go on from so many standard deviations of noise.")
    ] = 2.0,
    ends: Annotated[
        bool, typer.Option("--ends", help="Sequences may end early, at a missing value; else only complete ones count.")
    ] = False,
    level: Level = 0.95,
    person: PersonColumn = None,
    assert_bound: AssertBound = False,
    report_share: ReportShare = None,
    request: RequestId = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how large the noise will be, without reading the table or charging.")
    ] = False,
    not_private_seed: TestNoiseSeed = None,
    separator: Separator = None,
    sql_table: SqlTable = None,
    summary_json: SummaryJson = None,
) -> None:
    """Release sequences, such as a doctor's quarters or a patient's visits, with differential privacy.

    Example: deid sequences doctors.csv --periods q1,q2,q3,q4 --domain level=0..3 --epsilon 1 --ledger d.ledger
    -o tree.parquet
    """
    from deid.dp.left_out import say_left_out
    from deid.dp.noise import OpenDPNoise, SeededNoise
    from deid.dp.sequence_release import write_sequences
    from deid.dp.sequences import plan_sequences, release_sequences
    from deid.dp.unit import PrivacyUnit
    from deid.table.table_files import read_table

    payer = open_ledger(context, "ledger", ledger, budget) if ledger else None
    target = None if dry_run else target_of(output)
    own = "" if target is None else request_of(request, target, payer)
    read = functools.cache(lambda: read_table(table, separator=separator, table=sql_table, text=True))
    plan = plan_sequences(
        declared_dimensions(read, LEVEL, domains, [domain] if domain else [])[0],
        names_of([periods]),
        epsilon,
        payer.account().unit if payer else PrivacyUnit(),
        method=method,
        weights=_weights(lengths or []),
        threshold=threshold,
        ends=ends,
        level=level,
        person=person,
        report_share=report_share,
        assert_bound=assert_bound,
    )
    summary = Summary("sequences")
    if dry_run:
        _dry_run(plan, summary)
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
        lambda: release_sequences(frame, plan, ledger=payer, request=own, noise=noise),
        write_sequences,
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


def _prefixes(
    release: Annotated[Path, typer.Argument(help="A release that deid sequences wrote.")],
    prefix: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Count the sequences that begin with these levels.")
    ] = None,
    length: Annotated[int | None, typer.Option(metavar="N", help="Count all prefixes of a length.")] = None,
    predict: Annotated[
        bool, typer.Option("--predict", help="Below a tree's leaves, answer what their ancestors let expect, not 0.")
    ] = False,
    slopes: Annotated[
        int | None, typer.Option(metavar="N", help="Count falling, steady and rising sequences over N periods.")
    ] = None,
    values: Annotated[
        str | None, typer.Option(metavar="X,Y,...", help="What the levels stand for, for --slopes; else 0,1,2,...")
    ] = None,
    step: Annotated[float, typer.Option(metavar="X", help="Slopes of less than X either way are zero.")] = 0.5,
    slope: Annotated[str, typer.Option(help="average or regression.")] = "average",
    level: Annotated[
        float | None, typer.Option(metavar="P", help="Level of the intervals; the release's by default.")
    ] = None,
    summary_json: SummaryJson = None,
) -> None:
    """Ask a release of sequences; prints CSV. This costs no budget.

    Example: deid prefixes tree.parquet --slopes 3
    """
    from deid.base.errors import ConfigError
    from deid.dp.sequence_release import read_sequences

    if sum(asked is not None for asked in (prefix, length, slopes)) != 1:
        raise ConfigError("ask one question", "one of --prefix 0,1 or --length 2 or --slopes 3")
    released = read_sequences(release)
    if prefix is not None:
        frame = released.prefix(names_of([prefix]), level, predict=predict)
    elif length is not None:
        frame = released.prefixes(length, level, predict=predict)
    else:
        assert slopes is not None
        try:
            numbers = [float(text) for text in values.split(",")] if values else None
        except ValueError:
            raise ConfigError("--values is no list of numbers", "for example: --values 0,1.5,4.5,7") from None
        frame = released.slopes(slopes, values=numbers, step=step, slope=slope, level=level)
    sys.stdout.write(frame.to_csv(index=False, float_format="%.2f", lineterminator="\n"))
    summary = Summary("prefixes")
    summary.notes += [] if released.private else [str(released.metadata["noise"])]
    summary.notes += [released.model.caveat] if slopes is not None else []
    summary.extra = {
        "method": released.metadata["method"],
        "epsilon": released.metadata["epsilon"],
        "private": released.private,
        "level": level or released.metadata["level"],
    }
    summary.finish(summary_json)
