"""Experiments on linkage, with made-up persons whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from deid.base.errors import ConfigError
from deid.cli import JOBS, Summary, column_names, command, job_count, option
from deid.cli.training_options import OutcomeOptions


def _rate(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name.replace("-", "_"), float(number)
    except ValueError:
        raise ConfigError(f"{text!r} is not of the form NAME=X", "for example: last-typo=0.1") from None


@command
def linkage(
    told: Summary,
    *,
    sizes: Sequence[int] = option((10_000,), "Mentions.", metavar="N,..."),
    methods: str = option("record-number,exact,model", "record-number, exact or model.", metavar="NAME,..."),
    thresholds: Sequence[float] = option((0.5, 0.9, 0.95, 0.99), "Probabilities of a pair.", metavar="P,..."),
    rates: tuple[tuple[str, float], ...] = option(
        (), "A rate of the mentions (docs/linkage.md; repeatable).", metavar="NAME=X", read=_rate
    ),
    runs: int = option(1, "Tables of each size.", minimum=1),
    seed: int = option(0, "Seed of the first table."),
    resamples: int = option(200, "Bootstrap draws of persons for intervals.", minimum=0),
    jobs: int = JOBS,
    places: OutcomeOptions,
) -> None:
    """Make mentions of made-up persons with stated errors, link them, and score the persons found.

    Example: deid experiment linkage --sizes 10000,100000 --methods exact,model --thresholds 0.9,0.95 --plot curve.svg
    """

    from deid.base.nearest import nearest
    from deid.experiments.linkage import linkage_outcome
    from deid.experiments.mentions import Rates

    for name, _ in rates:
        if name not in (known := [one.name for one in fields(Rates)]):
            raise ConfigError(f"there is no rate {name!r}", nearest(name, known))
    places.run(
        told, "linking", linkage_outcome, sizes, methods=column_names(methods), thresholds=thresholds,
        rates=Rates(**dict(rates)), runs=runs, seed=seed, resamples=resamples, threads=job_count(jobs),
    )  # fmt: skip


@command
def private_linkage(
    told: Summary,
    *,
    persons: int = option(5000, "Persons at the first site; half are at the second."),
    thresholds: Sequence[float] = option((0.7, 0.75, 0.8, 0.85, 0.9), "Dice coefficients of a pair.", metavar="X,..."),
    harden: tuple[str, ...] = option(
        (), "Only: none, fold, balance, 'fold, balance', salt or 'salt, fold, balance' (repeatable).", metavar="HOW"
    ),
    runs: int = option(1, "Populations."),
    seed: int = option(0, "Seed of the first population."),
    places: OutcomeOptions,
) -> None:
    """Match keyed filters of two sites with every hardening, and attack them without the key.

    Example: deid experiment private-linkage --persons 5000 --harden none --harden salt
    """
    from deid.experiments.private_linkage import HARDENINGS, private_linkage_outcome

    kinds = harden or tuple(HARDENINGS)
    places.run(told, "matching", private_linkage_outcome, persons, thresholds, hardenings=kinds, runs=runs, seed=seed)
