"""The command experiment dp."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.table_options import Separator, SqlTable, Table

if TYPE_CHECKING:
    import pandas as pd

    from deid.evaluation.sections import Section

__all__ = ["experiment_dp", "section_of"]


def section_of(frame: pd.DataFrame, title: str, note: str) -> Section:
    """Return a table of figures."""
    from deid.evaluation.sections import Section

    rows = tuple(
        tuple(f"{value:.5g}" if isinstance(value, float) else str(value) for value in row)
        for row in frame.itertuples(index=False)
    )
    return Section(title, tuple(frame.columns), rows, note)


def experiment_dp(
    table: Table,
    dims: Annotated[str, typer.Option(metavar="A,B,...", help="Columns.")],
    slices: Annotated[
        list[str], typer.Option("--slice", metavar="A,B", help="A slice to compare on; may be given several times.")
    ],
    domains: Annotated[Path | None, typer.Option(metavar="F", help="Declared domains of the columns (TOML).")] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUES", help="Domain: A,B,C, LOW..HIGH or LOW..HIGH/WIDTH."),
    ] = None,
    methods: Annotated[
        str, typer.Option(metavar="A,B,...", help="Methods of deid cube; even is always compared.")
    ] = "marginals,privtree,forest,cells,cells-clamped,dpcube,dpcube-paper",
    epsilons: Annotated[str, typer.Option(metavar="E,E,...", help="Epsilons.")] = "0.1,0.5,1",
    thresholds: Annotated[bool, typer.Option(help="Also sweep DPCube's gains and thresholds.")] = False,
    runs: Annotated[int, typer.Option(metavar="N", help="Releases for each method and epsilon.")] = 5,
    seed: Annotated[int, typer.Option(metavar="N", help="First seed of the test noise.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="F", help="Write the plot of epsilons to F (.svg or .png).")
    ] = None,
    threshold_plot: Annotated[
        Path | None, typer.Option(metavar="F", help="Write the plot of thresholds to F (.svg or .png).")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="F", help="Write all numbers as JSON to F.")
    ] = None,
    separator: Separator = None,
    sql_table: SqlTable = None,
    summary_json: SummaryJson = None,
) -> None:
    """Compare methods of deid cube with the truth. The figures are NOT private.

    Example: deid experiment dp visits.csv --dims age,year,death --domains domains.toml --slice year,death --plot e.svg
    """
    from deid.base.errors import ConfigError
    from deid.base.files import write_bytes
    from deid.base.plots import check_image, image
    from deid.cli.cube import declared_dimensions, named_slices
    from deid.cli.tables import print_sections, write_json
    from deid.dp.cube import rows_of
    from deid.experiments.dp import compare_methods, plot_methods, plot_thresholds, sweep_thresholds
    from deid.table.table_files import read_table

    try:
        values = [float(text) for text in epsilons.split(",")]
    except ValueError:
        raise ConfigError("--epsilons is no list of numbers", "for example: --epsilons 0.1,0.5,1") from None
    for path in (plot, threshold_plot):
        if path is not None:
            check_image(path)
    read = functools.cache(lambda: read_table(table, separator=separator, table=sql_table, text=True))
    dimensions = declared_dimensions(read, dims, domains, domain or [])
    named, _ = named_slices(slices)
    rows = rows_of(read(), dimensions)
    chosen = [name.strip() for name in methods.split(",") if name.strip()]
    compared = compare_methods(rows, dimensions, named, methods=chosen, epsilons=values, runs=runs, seed=seed)
    note = "Means over runs with seeded test noise. These figures compare with true counts: they are NOT private."
    sections = [section_of(compared, "Error by method and epsilon", note)]
    figures = {"methods": compared.to_dict("records")}
    if plot is not None:
        write_bytes(plot, image(plot_methods(compared), check_image(plot)), private=False, replace=True)
    if thresholds or threshold_plot is not None:
        swept = sweep_thresholds(rows, dimensions, named, epsilon=values[len(values) // 2], runs=runs, seed=seed)
        sections.append(section_of(swept, f"DPCube by gain and threshold, epsilon {values[len(values) // 2]:g}", note))
        figures["thresholds"] = swept.to_dict("records")
        if threshold_plot is not None:
            shown = image(plot_thresholds(swept), check_image(threshold_plot))
            write_bytes(threshold_plot, shown, private=False, replace=True)
    print_sections(sections)
    if json_file is not None:
        write_json(json_file, {"private": False, **figures})
    summary = Summary("experiment dp")
    summary.notes.append("NOT PRIVATE: errors were computed from true counts")
    summary.extra = {"private": False, "rows": len(compared)}
    summary.finish(summary_json)
