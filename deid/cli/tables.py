"""Tables on standard output, for commands that measure."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deid.base.late import pd

if TYPE_CHECKING:
    from deid.base.reports import Section
    from deid.cli.common import Summary
    from deid.disclosure.out_of_core import DiskRelease
    from deid.disclosure.release import Release
    from deid.transactions.release import CodesRelease


def print_sections(sections: Iterable[Section]) -> None:
    """Print tables to standard output: with colours on a terminal, plain and unwrapped in a pipe."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 200)
    for section in sections:
        table = Table(box=SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
        for i, column in enumerate(section.columns):
            table.add_column(Text(column), justify="left" if i == 0 or not section.title else "right", no_wrap=i > 0)
        for row in section.rows:
            table.add_row(*map(Text, row))
        if section.title:
            console.print(Text(section.title, style="bold"))
        console.print(table)
        if section.note:
            console.print(Text(section.note, style="dim"), soft_wrap=not console.is_terminal)
        if section.title:
            console.print()


def print_rows(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a small table of texts without a title on standard output."""
    from deid.base.reports import Section

    print_sections([Section("", columns, rows)])


def tell_made(told: Summary, out: Path, made: Release | DiskRelease | CodesRelease, *besides: str) -> None:
    """Print what is released and lies there, tell the summary, and sign it; no results are the values ``besides``."""
    print_rows(("release", "value"), made.lines())
    told.notes = [*made.sentences(), *told.notes]
    told.extra = made.as_dict() | told.extra
    results = {name: value for name, value in told.extra.items() if name not in besides}
    told.sign(out, columns={name: str(fate) for name, fate in made.fates.items()}, results=results)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on standard error that something goes on, where that is a terminal; silently otherwise."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ..."):
        yield


def print_csv(frame: pd.DataFrame, style: str) -> None:
    """Print figures as CSV on standard output; ``style`` formats numbers that are not whole."""
    sys.stdout.write(frame.to_csv(index=False, float_format=style, lineterminator="\n"))
