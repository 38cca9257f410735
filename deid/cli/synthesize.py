"""The commands synthesize and fidelity: made-up rows from a release, and how good they are."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.cube import named_slices
from deid.cli.ledger_options import (
    AssertBound,
    BudgetName,
    LedgerPlace,
    Level,
    PersonColumn,
    RequestId,
    TestNoiseSeed,
    open_ledger,
    warn_of_rows_without_person,
)
from deid.cli.run_manifest import begin, finish
from deid.cli.table_options import Separator, SqlTable, Table

if TYPE_CHECKING:
    from deid.dp.domain import Dimension
    from deid.dp.release import CubeRelease
    from deid.dp.sequence_release import SequenceRelease

Release = Annotated[Path, typer.Argument(metavar="RELEASE", help="What deid cube or deid sequences wrote.")]


def _read(path: Path) -> CubeRelease | SequenceRelease:
    from deid.base.errors import FormatError
    from deid.dp.release import read_release
    from deid.dp.sequence_release import read_sequences

    try:
        return read_release(path)
    except FormatError:
        return read_sequences(path)


def _dimensions(release: CubeRelease | SequenceRelease) -> list[Dimension]:
    from dataclasses import replace

    from deid.dp.release import CubeRelease

    if isinstance(release, CubeRelease):
        return list(release.dimensions)
    return [replace(release.dimension, name=name) for name in release.columns]


def _synthesize(
    context: typer.Context,
    release: Release,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="F", help="Table: .csv or .parquet.")],
    rows: Annotated[
        int | None, typer.Option(metavar="N", help="How many rows; as many as the release says by default.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Equal seeds give equal rows.")] = 0,
    summary_json: SummaryJson = None,
) -> None:
    """Draw made-up rows that have the counts of a release. This costs no budget.

    Example: deid synthesize cube.parquet -o synthetic.csv
    """
    from deid.dp.synthetic import synthesize
    from deid.table.table_files import check_new_table, write_table

    check_new_table(output)
    run = begin(context, output)
    published = _read(release)
    table = synthesize(published, rows=rows, seed=seed)
    write_table(table, output)
    summary = Summary("synthesize")
    left_out = [own.name for own in _dimensions(published) if own.name not in table]
    summary.notes.append(f"{len(table)} rows of nobody; what the release does not show is not in them")
    if left_out:
        summary.notes.append(f"not in any measured table, so left out: {', '.join(left_out)}")
    if not published.private:
        summary.notes.append(str(published.metadata["noise"]))
    summary.extra = {"rows": len(table), "columns": list(table), "private": published.private}
    finish(run, summary, output, inputs=[("release", release)], results=summary.extra)
    summary.finish(summary_json)


def _fidelity(
    context: typer.Context,
    table: Table,
    synthetic: Annotated[str, typer.Argument(metavar="SYNTHETIC", help="What deid synthesize wrote.")],
    release: Annotated[Path, typer.Option(metavar="F", help="The release that it was drawn from.")],
    slices: Annotated[
        list[str], typer.Option("--slice", metavar="A,B", help="Columns to compare over; may be given several times.")
    ],
    epsilon: Annotated[float, typer.Option(metavar="E", help="Cost of the report.")],
    ledger: LedgerPlace = None,
    budget: BudgetName = "main",
    person: PersonColumn = None,
    assert_bound: AssertBound = False,
    level: Level = 0.95,
    request: RequestId = None,
    not_private_seed: TestNoiseSeed = None,
    separator: Separator = None,
    sql_table: SqlTable = None,
    summary_json: SummaryJson = None,
) -> None:
    """Say with noise how far made-up rows are from the true ones, slice by slice; prints CSV. This spends budget.

    Example: deid fidelity cases.csv synthetic.csv --release cube.parquet --slice year,death --epsilon 0.1
    --ledger study.ledger
    """
    import secrets
    from dataclasses import asdict

    import pandas as pd

    from deid.dp.noise import OpenDPNoise, SeededNoise
    from deid.dp.payment import AlreadyReleased
    from deid.dp.synthetic import check_fidelity
    from deid.dp.unit import PrivacyUnit
    from deid.table.table_files import read_table

    payer = open_ledger(context, "ledger", ledger, budget) if ledger else None
    published = _read(release)
    noise = OpenDPNoise() if not_private_seed is None else SeededNoise(not_private_seed)
    named, _ = named_slices(slices)
    own = request or secrets.token_hex(8)
    frame = read_table(table, separator=separator, table=sql_table, text=True)
    warn_of_rows_without_person(frame, person)
    try:
        lines = [
            asdict(line)
            for line in check_fidelity(
                frame,
                read_table(synthetic, text=True),
                _dimensions(published),
                named,
                epsilon,
                ledger=payer,
                unit=payer.account().unit if payer else PrivacyUnit(),
                person=person,
                request=own,
                noise=noise,
                level=level,
                assert_bound=assert_bound,
            )
        ]
    except AlreadyReleased as before:
        lines = json.loads(before.answer)
    else:
        if payer is not None:
            lines = json.loads(payer.answer(own, json.dumps(lines)))
    sys.stdout.write(pd.DataFrame(lines).to_csv(index=False, float_format="%.4g", lineterminator="\n"))
    summary = Summary("fidelity")
    if payer is not None:
        summary.notes.append(f"cost epsilon {epsilon:g}; {payer.account().left()}")
    if not noise.private:
        summary.notes.append(noise.label)
    summary.extra = {"epsilon": epsilon, "request": own, "private": noise.private, "slices": lines}
    summary.finish(summary_json)
