"""The command experiment sequences."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.table_options import Separator, SqlTable, Table, names_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["experiment_sequences"]


def _wide(frame: pd.DataFrame, by: list[str], across: str) -> pd.DataFrame:
    """Put the errors of all lengths, or classes, beside one another."""
    wide = frame.pivot_table(index=by, columns=across, values="error", sort=False)
    return wide.rename(columns=str).reset_index()


def experiment_sequences(
    table: Table,
    periods: Annotated[str, typer.Option(metavar="A,B,...", help="Columns of the periods, in their order.")],
    domains: Annotated[
        Path | None, typer.Option(metavar="F", help="Declared domain of [columns.level] (TOML; docs/cube.md).")
    ] = None,
    domain: Annotated[
        str | None, typer.Option(metavar="level=VALUES", help="Declared levels: level=A,B,C or level=LOW..HIGH.")
    ] = None,
    methods: Annotated[
        str, typer.Option(metavar="A,B,...", help="Methods; even and zero are always compared.")
    ] = "tree,markov,tree-paper",
    epsilons: Annotated[str, typer.Option(metavar="E,E,...", help="Epsilons.")] = "0.1,0.5,1",
    slopes: Annotated[
        int | None, typer.Option(metavar="N", help="Also count falling, steady and rising sequences over N periods.")
    ] = None,
    person: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Also show what protecting these persons costs, by row bounds.")
    ] = None,
    bounds: Annotated[str, typer.Option(metavar="K,K,...", help="Row bounds to try with --person.")] = "1,2,5,10,20",
    runs: Annotated[int, typer.Option(metavar="N", help="Releases for each method and epsilon.")] = 5,
    seed: Annotated[int, typer.Option(metavar="N", help="First seed of the test noise.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="F", help="Write the plot of errors by length to F (.svg or .png).")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="F", help="Write all numbers as JSON to F.")
    ] = None,
    separator: Separator = None,
    sql_table: SqlTable = None,
    summary_json: SummaryJson = None,
) -> None:
    """Compare methods of deid sequences with the truth. The figures are NOT private.

    Example: deid experiment sequences doctors.csv --periods q1,q2,q3 --domain level=0..3 --slopes 3 --plot e.svg
    """
    import numpy as np
    import pandas as pd

    from deid.base.errors import ConfigError
    from deid.base.files import write_bytes
    from deid.base.plots import check_image, image
    from deid.cli.cube import declared_dimensions
    from deid.cli.dp_experiment import section_of
    from deid.cli.sequences import LEVEL
    from deid.cli.tables import print_sections, write_json
    from deid.experiments.sequences import compare_sequences, compare_trends, plot_sequences, unit_cost
    from deid.table.microdata import check_columns
    from deid.table.table_files import read_table

    try:
        values = [float(text) for text in epsilons.split(",")]
        limits = [int(text) for text in bounds.split(",")]
    except ValueError:
        raise ConfigError("--epsilons or --bounds is no list of numbers", "for example: --epsilons 0.1,0.5,1") from None
    if plot is not None:
        check_image(plot)
    read = functools.cache(lambda: read_table(table, separator=separator, table=sql_table, text=True))
    level = declared_dimensions(read, LEVEL, domains, [domain] if domain else [])[0]
    names = names_of([periods])
    check_columns(read(), [*names, *([person] if person else [])])
    codes = np.stack([level.codes(read()[name]) for name in names], axis=1)
    complete = np.asarray((codes >= 0).all(axis=1))
    codes = codes[complete]
    chosen = names_of([methods])
    note = "Means over runs with seeded test noise. These figures compare with true counts: they are NOT private."
    compared = compare_sequences(codes, level, methods=chosen, epsilons=values, runs=runs, seed=seed)
    shown = _wide(compared, ["method", "epsilon"], "length")
    sections = [section_of(shown, "Mean error of a prefix query, by length", note)]
    figures = {"lengths": compared.to_dict("records")}
    if slopes is not None:
        trends = compare_trends(codes, level, methods=chosen, epsilons=values, lengths=[slopes], runs=runs, seed=seed)
        title = f"Error of the counts of falling, steady and rising sequences over {slopes} periods"
        sections.append(section_of(_wide(trends, ["method", "epsilon", "slope"], "class"), title, note))
        figures["slopes"] = trends.to_dict("records")
    if person is not None:
        cost = unit_cost(
            codes, read().loc[complete, person], level, bounds=limits, epsilon=values[-1], runs=runs, seed=seed
        )
        title = f"Error of shares in percent points by rows of a person that count, epsilon {values[-1]:g}"
        row = cost[cost["max_rows"] == limits[0]].assign(max_rows="row alone", rows=len(codes))
        both = [_wide(cost, ["max_rows", "rows"], "length")]
        both.append(_wide(row.assign(error=row["row_error"]), ["max_rows", "rows"], "length"))
        sections.append(section_of(pd.concat(both), title, note))
        figures["unit"] = cost.to_dict("records")
    if plot is not None:
        write_bytes(plot, image(plot_sequences(compared), check_image(plot)), private=False, replace=True)
    print_sections(sections)
    if json_file is not None:
        write_json(json_file, {"private": False, **figures})
    summary = Summary("experiment sequences")
    summary.notes.append("NOT PRIVATE: errors were computed from true counts")
    summary.extra = {"private": False, "rows": len(compared)}
    summary.finish(summary_json)
