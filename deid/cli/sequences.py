"""The commands sequences and prefixes: release sequences of levels, and ask a release."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from deid.base.errors import ConfigError
from deid.cli import Summary, argument, column_names, command, option, print_csv, tell
from deid.cli.cube import INTERVALS, tell_release
from deid.cli.paying import release_paid
from deid.dp.domain_options import SequenceOptions
from deid.dp.options import GaussianPayingOptions, JoinedTableOptions, PaidReleaseOptions, ToldUnitOptions


@command
def sequences(
    told: Summary,
    *,
    source: JoinedTableOptions,
    asked: SequenceOptions,
    paying: GaussianPayingOptions,
    whom: ToldUnitOptions,
    place: PaidReleaseOptions,
) -> None:
    """Release sequences, such as a doctor's quarters or a patient's visits, with differential privacy.

    Example: deid sequences doctors.csv --periods q1,q2,q3,q4 --domain level=0..3 --epsilon 1 --ledger d.ledger
    -o tree.parquet
    """
    from deid.dp.forecast import sequence_sections
    from deid.dp.sequence_release import write_sequences
    from deid.dp.sequences import release_sequences

    if whom.person is None:
        whom = replace(whom, person=asked.person)
    read = functools.cache(lambda: whom.read(source, tell))
    release_paid(
        told, source, paying, whom, place, functools.partial(asked.plan, read), sequence_sections, lambda plan: read(),
        release_sequences, write_sequences,
    )  # fmt: skip


@command
def prefixes(
    told: Summary,
    *,
    release: Path = argument("A release that deid sequences wrote.", metavar="RELEASE"),
    prefix: str | None = option(None, "Count the sequences that begin with these levels.", metavar="A,B,..."),
    length: int | None = option(None, "Count all prefixes of a length."),
    ever: str | None = option(None, "Count the sequences that have one of these levels ever.", metavar="A,B,..."),
    then: str | None = option(None, "Count the sequences that have level A and later B.", metavar="A,B"),
    within: int | None = option(
        None, "Of --ever: in the first N periods; of --then: at most N periods later.", panel="For --ever and --then"
    ),
    slopes: int | None = option(None, "Count falling, steady and rising sequences over N periods."),
    predict: bool = option(False, "Below a tree's leaves, answer what their ancestors let expect, not 0."),
    values: Sequence[float] | None = option(
        None, "What the levels stand for; else 0,1,2,...", metavar="X,Y,...", panel="For --slopes"
    ),
    step: float = option(0.5, "Slopes of less than X either way are zero.", panel="For --slopes"),
    slope: str = option("average", "average or regression.", panel="For --slopes"),
    level: float | None = INTERVALS,
) -> None:
    """Ask a release of sequences; prints CSV. This costs no budget.

    Example: deid prefixes tree.parquet --slopes 3
    """
    from deid.dp.sequence_release import read_sequences

    if sum(asked is not None for asked in (prefix, length, ever, then, slopes)) != 1:
        raise ConfigError("ask one question", "one of --prefix 0,1, --length 2, --ever 3, --then 1,3 or --slopes 3")
    if within is not None and ever is None and then is None:
        raise ConfigError("--within says how far --ever or --then goes", "leave it out")
    released = read_sequences(release)
    if slopes is not None:
        frame = released.slopes(slopes, values=values, step=step, slope=slope, level=level)
    elif length is not None:
        frame = released.prefixes(length, level, predict=predict)
    elif ever is not None:
        frame = released.ever(column_names(ever), within, level)
    elif then is not None:
        pair = column_names(then)
        if len(pair) != 2:
            raise ConfigError("--then takes two levels", "for example: --then 1,3")
        frame = released.then(pair[0], pair[1], within, level=level)
    else:
        frame = released.prefix(column_names(prefix or ""), level, predict=predict)
    print_csv(frame, "%.2f")
    tell_release(told, released, level, caveat=any(own is not None for own in (slopes, ever, then)))
