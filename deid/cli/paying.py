"""What commands share that spend from a budget: a forecast, what was paid, and a release that is paid for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.cli import Summary, print_sections, working
from deid.dp.options import (
    GaussianPayingOptions,
    JoinedTableOptions,
    PaidReleaseOptions,
    PayingOptions,
    ToldUnitOptions,
)

if TYPE_CHECKING:
    from deid.base.reports import Section
    from deid.dp.budget import Ledger


def told_forecast(told: Summary, forecast: tuple[list[Section], dict[str, Any]]) -> None:
    """Print what a dry run found."""
    sections, figures = forecast
    told.extra |= figures
    print_sections(sections)


def told_payment(told: Summary, paying: PayingOptions, ledger: Ledger | None, word: str = "cost") -> None:
    """Say what was paid, and that test noise protects nobody."""
    if ledger is not None:
        told.notes.append(f"{word} epsilon {paying.epsilon:g}; {ledger.account().left()}")
    elif not paying.noise.private:
        told.notes.append("no ledger: nothing was charged, because nothing is protected")
    if not paying.noise.private:
        told.notes.append(paying.noise.label)


def release_paid(
    told: Summary,
    source: JoinedTableOptions,
    paying: GaussianPayingOptions,
    whom: ToldUnitOptions,
    place: PaidReleaseOptions,
    plan_of: Callable[..., Any],
    forecast: Callable[[Any], tuple[list[Section], dict[str, Any]]],
    table: Callable[[Any], Any],
    release: Callable[..., Any],
    write: Callable[[Any, Path], None],
) -> None:
    """Plan a release, and forecast it or pay for it and write it; nothing is charged for what cannot be written.

    Parameters
    ----------
    told : Summary
    source, paying, whom, place
        What the user said.
    plan_of : callable
        Gets epsilon, the unit, and the fields of ``whom``; returns the plan.
    table : callable
        Reads what a plan is about.
    forecast, release, write : callable
        Of the library: of a plan its tables; of table and plan the release; of a release its file.
    """
    from deid.dp.payment import check_target, request_id, write_paid
    from deid.dp.plan import say_left_out

    ledger = paying.open()
    target = None if place.dry_run else check_target(place.output)
    own = "" if target is None else request_id(paying.request, target, ledger)
    plan = plan_of(paying.epsilon, source.protected(ledger), delta=paying.delta, **asdict(whom))
    told.extra["method"] = plan.method
    if target is None:
        told_forecast(told, forecast(plan))
        return
    told.begin(target)
    noise = paying.noise
    with working("measuring"):
        released = write_paid(
            lambda: release(table(plan), plan, ledger=ledger, request=own, noise=noise), write, target, own, ledger
        )
    told.extra |= {"epsilon": plan.epsilon, "private": noise.private, "request": own}
    if released is None:
        told.notes.append("this request was answered before; the release is there, and nothing was charged")
    else:
        told_payment(told, paying, ledger, "charged")
        told.notes += [*released.metadata["notes"], *say_left_out(released.metadata["left_out"])]
        told.sign_paid(target, released.metadata["notes"])
