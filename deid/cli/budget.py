"""The commands budget init, show and history."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from deid.base.errors import ConfigError
from deid.cli import Summary, argument, command, option, store_of
from deid.dp.options import VARIABLE
from deid.dp.unit import PrivacyUnit

if TYPE_CHECKING:
    from deid.dp.budget import Ledger

LEDGER = argument(
    f"File, or URL postgresql://user@host/database; else the variable {VARIABLE}.",
    metavar="LEDGER",
    read=store_of,
    default=None,
    variable=VARIABLE,
)
BUDGET = option("main", "Budget, where a ledger holds several.", metavar="NAME")


def _open(place: str | None, budget: str) -> Ledger:
    from deid.dp.budget import Ledger

    return Ledger.open(_place(place), budget=budget)


def _place(place: str | None) -> str:
    if place is None:
        raise ConfigError("no ledger is named", f"give its file or URL, or the variable {VARIABLE}")
    return place


def _others(ledger: Ledger) -> list[str]:
    """Warn of further budgets in the same ledger: for one table they would add up."""
    others = ledger.others()
    if not others:
        return []
    return [
        f"this ledger also holds the budgets {', '.join(others)}: a budget must be for another table than theirs, or "
        "its total comes on top of theirs"
    ]


@command
def init(
    told: Summary,
    *,
    place: str | None = LEDGER,
    epsilon: float = option(..., "All that may ever be spent on the table.", metavar="E"),
    whom: PrivacyUnit,
    delta: float = option(
        0.0,
        "Accept that with this probability more is lost: many releases cost less, Gaussian noise is allowed.",
        metavar="D",
    ),
    keys_delta: float = option(
        0.0, "Accept as much more for values that deid keys finds in the data, all of them together.", metavar="D"
    ),
    budget: str = BUDGET,
    note: str = option("", "Which table it is for.", metavar="TEXT"),
) -> None:
    """Set up a budget: how much may be spent on a table, and whom it protects.

    Example: deid budget init study.ledger --epsilon 1 --unit patient --max-rows 3
    """
    from deid.dp.budget import Ledger

    ledger = Ledger.create(_place(place), epsilon, whom, budget=budget, note=note, delta=delta, keys_delta=keys_delta)
    told.notes = _others(ledger)
    ledger.close()
    said = f"epsilon {epsilon:g}{f' at delta {delta:g}' if delta else ''}"
    said += f" (and delta {keys_delta:g} for values that are found)" if keys_delta else ""
    told.notes.append(f"budget {budget}: {said} for each {whom}")
    told.notes.append("the ledger and its total cannot be changed; keep it with the table, and use no other for it")


@command
def show(told: Summary, *, place: str | None = LEDGER, budget: str = BUDGET) -> None:
    """Show what a budget has, what was spent, and whom it protects.

    Example: deid budget show study.ledger
    """
    ledger = _open(place, budget)
    account, person = ledger.account(), ledger.person()
    note = f" ({account.note})" if account.note else ""
    by = f", by the column {person}" if person else ""
    lines = [("budget", account.name + note), ("protects", f"{account.unit}{by}"), *account.lines()]
    for name, shown in (*lines, ("ledger", ledger.id)):
        typer.echo(f"{name:<10} {shown}")
    told.notes = _others(ledger)
    told.extra = {"ledger": ledger.id, "person": person, **account.as_dict()}


@command
def history(told: Summary, *, place: str | None = LEDGER, budget: str = BUDGET) -> None:
    """Print every charge as a JSON object a line: when, who, what for, how much, and whether it was answered.

    Example: deid budget history study.ledger
    """
    from deid.dp.epsilon import NANO

    ledger = _open(place, budget)
    lines, cost = ledger.history(), "rho" if ledger.account().delta else "epsilon"
    for line in lines:
        typer.echo(json.dumps(line.as_dict(cost), ensure_ascii=False))
    charged = sum(line.charged for line in lines) / NANO
    told.extra = {"charges": len(lines), "charged": charged}
