"""The command reproduce: the papers' tables and figures on the data of the checkout, with a verdict for each."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

import deid
from deid.base.errors import ConfigError
from deid.cli import EXIT_FAILED, JOBS, Summary, argument, command, job_count, option, print_sections

CHECKOUT = Path(deid.__file__).resolve().parents[1] / "corpora"
"""The data of a checkout; an installation has none."""


@command
def reproduce(
    told: Summary,
    *,
    item: str | None = argument("Which; all if none is named. --list names them.", metavar="ITEM", default=None),
    quick: bool = option(False, "Fewer runs, folds and values: minutes for all."),
    output: Path | None = option(
        None, "Write tables, plots, commands' output and one page into this folder.", "--output", "-o"
    ),
    data: Path | None = option(None, "Folder of data as scripts/build_tables.py makes it; else that of the checkout."),
    jobs: int = JOBS,
    names: bool = option(False, "Name the items and end.", "--list"),
) -> int:
    """Reproduce what the papers printed: commands, figures beside the printed ones, and whether each finding holds.

    The data are made up in the shapes that the papers tell, so figures differ; findings are judged by a stated
    criterion. Exit status 1 when a command fails, not when a finding does not hold.

    Example: deid reproduce --quick -o reproduced
    """
    from deid.experiments.reproduce import chosen
    from deid.experiments.reproducing import Runs, working_folder, write_reproduced

    items = chosen(item)
    if names:
        for one in items:
            typer.echo(f"{one.name:<24}{one.source}")
        return 0
    place = data or CHECKOUT
    if any(one.commands for one in items) and not (place / "tables").is_dir():
        raise ConfigError("there are no data to reproduce with", "name the folder corpora of a checkout with --data F")
    with working_folder(output) as folder:
        runs = Runs(folder, place.resolve(), quick, job_count(jobs), sys.stderr.write, quiet=told.said.quiet)
        shown = []
        for one in items:
            shown.append(runs.reproduce(one))
            print_sections(shown[-1].sections)
        if output is not None:
            write_reproduced(folder, shown)
            told.places.append(f"wrote {output}")
    told.notes, told.extra = runs.sentences(shown), runs.as_dict(shown)
    return EXIT_FAILED if runs.failed else 0
