"""The commands synthesize and fidelity: made-up rows from a release, and how good they are."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from deid.base.late import pd
from deid.cli import Summary, TableOutputOptions, argument, command, option, print_csv, tell
from deid.cli.paying import told_forecast, told_payment
from deid.dp.domain_options import DrawnRows, parse_slices
from deid.dp.options import DraftOptions, GaussianPayingOptions, JoinedTableOptions, UnitOptions


@command
def synthesize(
    told: Summary,
    *,
    release: Path = argument("What deid cube or deid sequences wrote.", metavar="RELEASE"),
    place: TableOutputOptions,
    asked: DrawnRows,
) -> None:
    """Draw made-up rows that have the counts of a release. This costs no budget.

    Writes a table, .csv or .parquet.

    Example: deid synthesize cube.parquet -o synthetic.csv
    """
    from deid.dp.synthetic import MadeUpRows, read_any_release

    out = place.begin(told, inputs=[("release", release)])
    made = MadeUpRows.drawn(read_any_release(release), asked)
    place.write(made.table)
    told.notes, told.extra = made.sentences(), made.as_dict()
    told.sign(out)


@command
def fidelity(
    told: Summary,
    *,
    source: JoinedTableOptions,
    synthetic: str = argument("What deid synthesize wrote.", metavar="SYNTHETIC"),
    release: Path = option(..., "The release that it was drawn from."),
    slices: tuple[str, ...] = option(
        ..., "Columns to compare over; may be given several times.", "--slice", metavar="A,B"
    ),
    paying: GaussianPayingOptions,
    whom: UnitOptions,
    draft: DraftOptions,
) -> None:
    """Say with noise how far made-up rows are from the true ones, slice by slice; prints CSV. This spends budget.

    Example: deid fidelity cases.csv synthetic.csv --release cube.parquet --slice year,death --epsilon 0.1
    --ledger study.ledger
    """
    from deid.dp.forecast import fidelity_sections
    from deid.dp.synthetic import dimensions_of, measure_fidelity, plan_fidelity, read_any_release
    from deid.table.table_files import read_table

    ledger = paying.open()
    terms = asdict(whom) | {"delta": paying.delta}
    dimensions, compared = dimensions_of(read_any_release(release)), parse_slices(slices)[0]
    if draft.dry_run:
        plan = plan_fidelity(dimensions, compared, paying.epsilon, source.protected(ledger), **terms)
        told_forecast(told, fidelity_sections(plan))
        return
    request, lines = measure_fidelity(
        whom.read(source, tell), read_table(synthetic, text=True), dimensions, compared, paying.epsilon, ledger=ledger,
        request=paying.request, noise=paying.noise, **terms,
    )  # fmt: skip
    print_csv(pd.DataFrame(lines), "%.4g")
    told_payment(told, paying, ledger)
    told.extra = {
        "epsilon": paying.epsilon, "request": request, "private": paying.noise.private, "slices": lines
    }  # fmt: skip
