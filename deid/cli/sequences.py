"""The commands sequences and prefixes: release sequences of levels, and ask a release."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from deid.base.errors import ConfigError
from deid.cli import Summary, again, argument, column_names, command, option, print_csv, tell
from deid.cli.cube import INTERVALS, CubeOptions, tell_release
from deid.cli.paying import release_paid
from deid.dp.domain_options import DomainOptions
from deid.dp.options import GaussianPayingOptions, JoinedTableOptions, PaidReleaseOptions, ToldUnitOptions

if TYPE_CHECKING:
    from deid.dp.events import Events
    from deid.dp.sequences import SequencePlan

LEVEL = "level"
"""Name under which the domain of the periods is declared."""
_TREE, _EVENTS, _PATTERNS = "The tree", "Events", "For --ever and --then"


@dataclass(frozen=True, kw_only=True)
class SequenceOptions(DomainOptions):
    """Which columns are the periods of a sequence, and how sequences are measured."""

    PANEL: ClassVar[str] = _TREE
    periods: str | None = option(
        None, "Columns of the periods, in their order; declare --domain level=...", metavar="A,B,...", panel=""
    )
    events: str | None = option(
        None, "Instead, of a table with a row an event; declare the dates and --domain level=...",
        metavar="PERSON,DATE,VALUE", panel="",
    )  # fmt: skip
    every: str | None = option(None, "A period: year, quarter or month; else as the dates are declared.", panel=_EVENTS)
    absent: str | None = option(None, "Level of a period without an event; else it is missing.", panel=_EVENTS)
    several: str = option("last", "Of several events in a period: last, first, highest or lowest.", panel=_EVENTS)
    part: tuple[str, ...] = again(CubeOptions, "part", panel=_TREE)
    method: str = option("tree", "tree, markov or tree-paper (docs/sequences.md).")
    length: tuple[str, ...] = option(
        (), "A length that will be asked (repeatable); all the same by default.", "--asked-length", metavar="N[:WEIGHT]"
    )
    threshold: float = option(2.0, "Prefixes go on from so many standard deviations of noise.", "--grow-from")
    ends: bool = option(False, "Sequences may end early, at a missing value; else only complete ones count.")

    def plan(self, read: Any, epsilon: float, unit: Any, **whom: Any) -> SequencePlan:
        """Return the plan; see `plan_sequences`."""
        from deid.dp.domain_options import parse_lengths
        from deid.dp.sequences import plan_sequences

        if (self.periods is None) == (self.events is None):
            raise ConfigError("name the periods, or the columns of events", "--periods q1,q2 or --events id,date,value")
        periods = column_names(self.periods) if self.periods is not None else self._events(read)
        return plan_sequences(
            self.dimensions([LEVEL], read)[0], periods, epsilon, unit, method=self.method,
            weights=parse_lengths(self.length), threshold=self.threshold, ends=self.ends,
            part=self.parts(self.part, read), **whom,
        )  # fmt: skip

    @property
    def person(self) -> str | None:
        """The column of whose events are."""
        return self._names()[0] if self.events is not None else None

    def _names(self) -> list[str]:

        names = column_names(self.events or "")
        if len(names) != 3:
            raise ConfigError("events have three columns", "for example: --events patient,visit,level")
        return names

    def _events(self, read: Any) -> Events:
        from deid.dp.domain import declare
        from deid.dp.events import Events

        person, date, value = self._names()
        dates = self.dimensions([date], read)[0]
        if self.every is not None and "dates" in dates.declaration:
            dates = declare(date, {**dates.declaration, "by": self.every})
        return Events(person, dates, value, self.absent, self.several)


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
        None, "Of --ever: in the first N periods; of --then: at most N periods later.", panel=_PATTERNS
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
