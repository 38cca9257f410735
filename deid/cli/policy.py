"""The commands policy check and policy show."""

from __future__ import annotations

import typer

from deid.base.options import argument, option
from deid.cli.common import Summary
from deid.cli.option_groups import command

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
    from deid.phi import CATEGORIES, hipaa
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
    typer.echo(f"{loaded.name}: {loaded.description}")
    for category in CATEGORIES:
        typer.echo(f"  {category:<16}{hipaa(category) or '-':<3}{loaded.base[category]}")
    for condition, rules in loaded.overrides:
        typer.echo(f"  where {condition.field} is {' or '.join(sorted(condition.values))}:")
        for category, rule in rules.items():
            typer.echo(f"    {category:<14}{hipaa(category) or '-':<3}{rule}")
    told.notes = loaded.notes()
    told.extra = {"policy": loaded.name, "rules": {category: str(rule) for category, rule in loaded.base.items()}}
