"""Options of all commands that spend from a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd

    from deid.dp.budget import Ledger

__all__ = [
    "VARIABLE",
    "AssertBound",
    "BudgetName",
    "LedgerPlace",
    "Level",
    "PersonColumn",
    "ReportShare",
    "RequestId",
    "TestNoiseSeed",
    "checked_place",
    "open_ledger",
    "warn_of_rows_without_person",
]

VARIABLE = "DEID_LEDGER"

LedgerPlace = Annotated[
    str | None,
    typer.Option(
        metavar="LEDGER",
        envvar=VARIABLE,
        show_envvar=False,
        help=f"What pays (deid budget init); else the variable {VARIABLE}.",
    ),
]
BudgetName = Annotated[str, typer.Option("--budget", metavar="NAME", help="Budget, where a database holds several.")]
PersonColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Whose row it is; rows beyond the budget's bound are left out.")
]
AssertBound = Annotated[
    bool,
    typer.Option(
        "--assert-bound",
        help="Instead of --person: vouch that no unit has more rows than the budget says. The release tells so.",
    ),
]
ReportShare = Annotated[
    float | None,
    typer.Option(metavar="P", help="Share of epsilon for telling what was left out (.02)."),
]
Level = Annotated[float, typer.Option(metavar="P", help="Level of the intervals.")]
RequestId = Annotated[
    str | None, typer.Option(metavar="ID", help="Id of the request: the same one is never charged twice.")
]
TestNoiseSeed = Annotated[
    int | None, typer.Option(metavar="N", help="Use repeatable test noise. PROTECTS NOBODY; what comes out says so.")
]


def checked_place(context: typer.Context, parameter: str, place: str) -> str:
    """Return a ledger's place; a password in it must come from the environment, not from the command line."""
    from deid.base.errors import ConfigError
    from deid.base.store import has_password

    source = context.get_parameter_source(parameter)
    if has_password(place) and (source is None or source.name != "ENVIRONMENT"):
        raise ConfigError(
            "the URL holds a password, which other users can read on the command line",
            f"leave it out and use PGPASSWORD or ~/.pgpass, or give the whole URL in the variable {VARIABLE}",
        )
    return place


def open_ledger(context: typer.Context, parameter: str, place: str, budget: str) -> Ledger:
    """Open the ledger that an option or argument names."""
    from deid.dp.budget import Ledger

    return Ledger.open(checked_place(context, parameter, place), budget=budget)


def warn_of_rows_without_person(frame: pd.DataFrame, person: str | None) -> None:
    """Say on standard error, and nowhere else, how many rows do not say whose they are: the number is exact."""
    from deid.dp.unit import rows_without_person

    missing = rows_without_person(frame, person) if person is not None else 0
    if missing:
        typer.echo(
            f"{missing} rows have no {person} and are left out: nothing says whose they are. This number is exact, so "
            "keep it in the house",
            err=True,
        )
