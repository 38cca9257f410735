"""The commands sequences and prefixes: release sequences of levels, and ask a release."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

from deid.cli import Summary, argument, command, print_csv, tell
from deid.cli.cube import tell_release
from deid.cli.paying import release_paid
from deid.dp.domain_options import PrefixQuestion, SequenceOptions
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
    asked: PrefixQuestion,
) -> None:
    """Ask a release of sequences; prints CSV. This costs no budget.

    Example: deid prefixes tree.parquet --slopes 3
    """
    from deid.dp.sequence_release import read_sequences

    released = read_sequences(release)
    print_csv(asked.ask(released), "%.2f")
    tell_release(told, released, asked.level, caveat=asked.of_whole)
