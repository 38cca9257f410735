"""The commands budget init, show and history."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.ledger_options import VARIABLE, BudgetName, checked_place, open_ledger

if TYPE_CHECKING:
    from deid.dp.budget import Ledger

Place = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER",
        envvar=VARIABLE,
        show_envvar=False,
        help=f"File, or URL postgresql://user@host/database; else the variable {VARIABLE}.",
    ),
]


def _others(ledger: Ledger) -> list[str]:
    """Warn of further budgets in the same ledger: for one table they would add up."""
    others = ledger.others()
    if not others:
        return []
    return [
        f"this ledger also holds the budgets {', '.join(others)}: a budget must be for another table than theirs, or "
        "its total comes on top of theirs"
    ]


def _init(
    context: typer.Context,
    place: Place,
    epsilon: Annotated[float, typer.Option(metavar="E", help="All that may ever be spent on the table.")],
    unit: Annotated[str, typer.Option(metavar="NAME", help="Whom it protects: row, patient, doctor, ...")] = "row",
    relation: Annotated[
        str, typer.Option(help="Neighbouring tables differ by a unit that is missing (add-remove) or other (replace).")
    ] = "add-remove",
    max_rows: Annotated[
        int, typer.Option(min=1, metavar="K", help="Rows that one unit may stand behind; others are left out.")
    ] = 1,
    budget: BudgetName = "main",
    note: Annotated[str, typer.Option(metavar="TEXT", help="Which table it is for.")] = "",
    summary_json: SummaryJson = None,
) -> None:
    """Set up a budget: how much may be spent on a table, and whom it protects.

    Example: deid budget init study.ledger --epsilon 1 --unit patient --max-rows 3
    """
    from deid.dp.budget import Ledger
    from deid.dp.unit import PrivacyUnit

    whom = PrivacyUnit(unit, relation, max_rows)
    ledger = Ledger.create(checked_place(context, "place", place), epsilon, whom, budget=budget, note=note)
    summary = Summary("budget init")
    summary.notes += _others(ledger)
    ledger.close()
    summary.notes.append(f"budget {budget}: epsilon {epsilon:g} for each {whom}")
    summary.notes.append("the ledger and its total cannot be changed; keep it with the table, and use no other for it")
    summary.finish(summary_json)


def _show(context: typer.Context, place: Place, budget: BudgetName = "main", summary_json: SummaryJson = None) -> None:
    """Show what a budget has, what was spent, and whom it protects.

    Example: deid budget show study.ledger
    """
    from deid.dp.epsilon import NANO, show_nano

    ledger = open_ledger(context, "place", place, budget)
    account, person = ledger.account(), ledger.person()
    amounts = {name: getattr(account, name) for name in ("total", "spent", "remaining")}
    typer.echo(f"budget     {account.name}{f' ({account.note})' if account.note else ''}")
    typer.echo(f"protects   {account.unit}{f', by the column {person}' if person else ''}")
    for name, value in amounts.items():
        typer.echo(f"{name:<10} {show_nano(value)}")
    typer.echo(f"ledger     {ledger.id}")
    summary = Summary("budget show")
    summary.notes += _others(ledger)
    numbers = {name: value / NANO for name, value in amounts.items()}
    summary.extra = {"budget": account.name, "ledger": ledger.id, "person": person, **numbers, **asdict(account.unit)}
    summary.finish(summary_json)


def _history(
    context: typer.Context, place: Place, budget: BudgetName = "main", summary_json: SummaryJson = None
) -> None:
    """Print every charge as a JSON object a line: when, who, what for, how much, and whether it was answered.

    Example: deid budget history study.ledger
    """
    from deid.dp.epsilon import NANO

    lines = open_ledger(context, "place", place, budget).history()
    for line in lines:
        values = {
            "line": line.line,
            "time": line.time,
            "who": line.who,
            "request": line.request,
            "purpose": line.purpose,
            "part": "/".join(f"{partition}={part}" for partition, part in line.path),
            "epsilon": line.asked / NANO,
            "charged": line.charged / NANO,
            "answered": line.answer is not None,
        }
        typer.echo(json.dumps(values, ensure_ascii=False))
    summary = Summary("budget history")
    summary.extra = {"charges": len(lines), "charged": sum(line.charged for line in lines) / NANO}
    summary.finish(summary_json)
