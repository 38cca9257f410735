"""The commands sequences and prefixes: release sequences of levels, and ask a release."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from deid.base.errors import ConfigError
from deid.base.options import argument, option
from deid.cli.common import Summary
from deid.cli.cube import tell_release
from deid.cli.ledger_options import PaidReleaseOptions, PayingOptions, ToldUnitOptions, release_paid
from deid.cli.option_groups import command
from deid.cli.table_options import TableOptions
from deid.cli.tables import print_csv
from deid.dp.domain import DomainOptions

if TYPE_CHECKING:
    from deid.dp.sequences import SequencePlan

LEVEL = "level"
"""Name under which the domain of the periods is declared."""
_TREE = "The tree"


@dataclass(frozen=True, kw_only=True)
class SequenceOptions(DomainOptions):
    """Which columns are the periods of a sequence, and how sequences are measured."""

    PANEL: ClassVar[str] = _TREE
    periods: str = option(
        ..., "Columns of the periods, in their order; declare --domain level=...", metavar="A,B,...", panel=""
    )
    method: str = option("tree", "tree, markov or tree-paper (docs/sequences.md).")
    length: tuple[str, ...] = option(
        (), "A length that will be asked (repeatable); all the same by default.", "--asked-length", metavar="N[:WEIGHT]"
    )
    threshold: float = option(2.0, "Prefixes go on from so many standard deviations of noise.", "--grow-from")
    ends: bool = option(False, "Sequences may end early, at a missing value; else only complete ones count.")

    def plan(self, read: Any, epsilon: float, unit: Any, **whom: Any) -> SequencePlan:
        """Return the plan; see `plan_sequences`."""
        from deid.dp.sequences import parse_lengths, plan_sequences
        from deid.table.microdata import column_names

        return plan_sequences(
            self.dimensions([LEVEL], read)[0], column_names(self.periods), epsilon, unit, method=self.method,
            weights=parse_lengths(self.length), threshold=self.threshold, ends=self.ends, **whom,
        )  # fmt: skip


@command
def sequences(
    told: Summary,
    *,
    source: TableOptions,
    asked: SequenceOptions,
    paying: PayingOptions,
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

    read = functools.cache(lambda: whom.read(source))
    release_paid(
        told, paying, whom, place, functools.partial(asked.plan, read), sequence_sections, lambda plan: read(),
        release_sequences, write_sequences,
    )  # fmt: skip


@command
def prefixes(
    told: Summary,
    *,
    release: Path = argument("A release that deid sequences wrote.", metavar="RELEASE"),
    prefix: str | None = option(None, "Count the sequences that begin with these levels.", metavar="A,B,..."),
    length: int | None = option(None, "Count all prefixes of a length."),
    slopes: int | None = option(None, "Count falling, steady and rising sequences over N periods."),
    predict: bool = option(False, "Below a tree's leaves, answer what their ancestors let expect, not 0."),
    values: Sequence[float] | None = option(
        None, "What the levels stand for; else 0,1,2,...", metavar="X,Y,...", panel="For --slopes"
    ),
    step: float = option(0.5, "Slopes of less than X either way are zero.", panel="For --slopes"),
    slope: str = option("average", "average or regression.", panel="For --slopes"),
    level: float | None = option(None, "Level of the intervals; the release's by default.", metavar="P"),
) -> None:
    """Ask a release of sequences; prints CSV. This costs no budget.

    Example: deid prefixes tree.parquet --slopes 3
    """
    from deid.dp.sequence_release import read_sequences
    from deid.table.microdata import column_names

    if sum(asked is not None for asked in (prefix, length, slopes)) != 1:
        raise ConfigError("ask one question", "one of --prefix 0,1 or --length 2 or --slopes 3")
    released = read_sequences(release)
    if slopes is not None:
        frame = released.slopes(slopes, values=values, step=step, slope=slope, level=level)
    elif length is not None:
        frame = released.prefixes(length, level, predict=predict)
    else:
        frame = released.prefix(column_names(prefix), level, predict=predict)
    print_csv(frame, "%.2f")
    tell_release(told, released, level, caveat=slopes is not None)
