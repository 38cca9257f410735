"""Options of all commands that spend from a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from deid.dp.budget import Ledger

__all__ = [
    "VARIABLE",
    "BudgetName",
    "LedgerPlace",
    "Level",
    "PersonColumn",
    "RequestId",
    "TestNoiseSeed",
    "checked_place",
    "open_ledger",
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
Level = Annotated[float, typer.Option(metavar="P", help="Level of the intervals.")]
RequestId = Annotated[
    str | None, typer.Option(metavar="ID", help="Id of the request: the same one is never charged twice.")
]
TestNoiseSeed = Annotated[
    int | None, typer.Option(metavar="N", help="Use repeatable test noise. PROTECTS NOBODY; what comes out says so.")
]


def checked_place(context: typer.Context, parameter: str, place: str) -> str:
    """Return a ledger's place; a password in it must come from the environment, not from the command line."""
    from deid.errors import ConfigError
    from deid.store import has_password

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
