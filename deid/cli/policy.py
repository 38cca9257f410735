"""The commands policy and records: what is done with categories, and with the fields of hospital records."""

from __future__ import annotations

from pathlib import Path

import typer

from deid.cli import Summary, argument, command, option

_NAME = "Shipped policy, or a TOML file"
_ACCEPT = option((), "Accept that this stays readable (repeatable).", metavar="CATEGORY")


@command
def check(
    told: Summary, *, policy: str = argument(f"{_NAME}.", metavar="NAME|FILE"), accept: tuple[str, ...] = _ACCEPT
) -> None:
    """Check that a policy holds together and can be fulfilled.

    Exit status 2, and what to do, when it does not.

    Example: deid policy check my-policy.toml
    """
    from deid.replacement.policy import NOT_IN_TEXT, load_policy
    from deid.replacement.replacer import Replacer

    loaded = load_policy(policy, accept)
    Replacer(loaded)
    told.notes = [f"policy {loaded.name} holds together", *loaded.notes(), NOT_IN_TEXT]
    told.extra = {"policy": loaded.name, "readable": list(loaded.readable())}


@command
def show(
    told: Summary,
    *,
    policy: str | None = argument(f"{_NAME}; all shipped ones if none is named.", metavar="[NAME|FILE]", default=None),
    accept: tuple[str, ...] = _ACCEPT,
) -> None:
    """Show what a policy does with each category, or which policies and operators there are.

    Example: deid policy show safe-harbor
    """
    from deid.replacement.operators import OPERATORS
    from deid.replacement.policy import DEFAULT_POLICY, load_policy, shipped_policies

    if policy is None:
        typer.echo("policies")
        for name in shipped_policies():
            mark = " (default)" if name == DEFAULT_POLICY else ""
            typer.echo(f"  {name + mark:<24}{load_policy(name).description}")
        typer.echo("operators")
        for spec in OPERATORS.values():
            only = f" (for {', '.join(sorted(spec.only))})" if spec.only else ""
            typer.echo(f"  {spec.name:<24}{spec.says}{only}")
        told.extra = {"policies": list(shipped_policies()), "operators": list(OPERATORS)}
        return
    loaded = load_policy(policy, accept)
    typer.echo("\n".join(loaded.lines()))
    told.notes = loaded.notes()
    told.extra = {"policy": loaded.name, "rules": {category: str(rule) for category, rule in loaded.base.items()}}


_STANDARD = argument("Standard, such as hl7v2.", metavar="STANDARD")
_PLACES = option(None, "Your own lines over the shipped table.", metavar="F")


@command
def check_records(told: Summary, *, standard: str = _STANDARD, places: Path | None = _PLACES) -> None:
    """Check a table of what stands where in records.

    Exit status 2, and what to do, when a line names what the standard does not have, says what nothing can be done
    with, or contradicts another one.

    Example: deid records check hl7v2 --places ours.toml
    """
    from deid.records.tables import load_table

    table = load_table(standard, places)
    lines = sum(map(len, table.heads.values()))
    told.notes = [f"{table.name}: {lines} lines for {len(table.heads)} {table.section} hold together"]
    told.extra = {table.section: len(table.heads), "lines": lines}


@command
def show_records(
    told: Summary,
    *,
    standard: str = _STANDARD,
    name: str | None = argument("Segment, resource or data type; all names if none.", metavar="[NAME]", default=None),
    places: Path | None = _PLACES,
) -> None:
    """Show what is done with the fields of a segment or resource, or the components of a data type, and why.

    Example: deid records show hl7v2 PID
    """
    from deid.records.tables import load_table

    table = load_table(standard, places)
    typer.echo("\n".join(table.overview() if name is None else table.shown(name)))
    if name is not None:
        told.extra = {"lines": {line.span: [line.kind, line.reason] for line in table.lines(name)}}
