"""Events in long format, a row an event (person, date, value), as sequences: one a person, however many events it has.

What a person's sequence is depends on the person's rows alone, in whatever order they stand. So one person more or less
is one sequence more or less, and noise fits one sequence, whatever the bound on rows is. A table with the same events
of another person's name would be another matter: whom events protect must be a person, not a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import BoolArray, IntArray
from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.dp.domain import Dimension
from deid.table.cell_text import text_column
from deid.table.microdata import check_columns

SEVERAL = ("last", "first", "highest", "lowest")
"""What counts of several events in one period."""


@dataclass(frozen=True)
class Events:
    """Where events stand, and how they become sequences.

    Parameters
    ----------
    person : str
        Column of the person.
    dates : Dimension
        Column of the date, declared with dates; its cells are the periods.
    value : str
        Column of what happened, with one of the declared levels.
    absent : str or None
        Level of a period without an event; None where such a period is missing.
    several : str
        Which of several events in a period counts: one of `SEVERAL`. Of the last (first) ones of equal date the one
        of the highest level; highest and lowest are by the order in which levels are declared.
    """

    person: str
    dates: Dimension
    value: str
    absent: str | None = None
    several: str = "last"

    def __post_init__(self) -> None:
        require(self.several in SEVERAL, "unknown choice among several events", f"use one of {', '.join(SEVERAL)}")
        if "dates" not in self.dates.declaration:
            raise ConfigError(
                f"the column {self.dates.name!r} has no declared dates",
                f'declare when periods begin and end: --domain "{self.dates.name}=2015-01-01..2016-12-31/quarter"',
            )
        if "missing" in self.dates.declaration:
            raise ConfigError("an event without a date is in no period", "declare dates without missing")
        if len({self.person, self.dates.name, self.value}) < 3:
            raise ConfigError("person, date and value are three columns", "for example: --events patient,visit,level")


@dataclass(frozen=True, eq=False)
class PersonSequences:
    """Sequences of persons.

    Parameters
    ----------
    codes : int64 array, shape (persons, periods)
        The level of each period, -1 where there is none.
    part : bool array, shape (persons,)
        Who belongs to the asked part.
    outside : bool array, shape (persons,)
        Who has an event with a date or value outside the declared domains.
    """

    codes: IntArray
    part: BoolArray
    outside: BoolArray


def sequences_of(
    frame: pd.DataFrame, events: Events, levels: Dimension, part: Sequence[tuple[Dimension, str]] = ()
) -> PersonSequences:
    """Return the sequence of each person who has a row.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, a row an event. Rows without a person are left out.
    events : Events
        Where they stand.
    levels : Dimension
        The levels, ``events.absent`` among them.
    part : sequence of (Dimension, str)
        The part that is asked for. A person belongs to one part alone, whatever the rows say: to the first of the
        declared cells that occurs in them.

    Returns
    -------
    PersonSequences

    Raises
    ------
    ConfigError
        When a column is missing.
    """
    check_columns(
        frame, [events.person, events.dates.name, events.value, *(name for own, _ in part for name in own.columns)]
    )
    owners = text_column(frame[events.person], key=True).cat.codes.to_numpy().astype(np.int64)
    known = owners >= 0
    frame = frame[known]
    persons, who = np.unique(owners[known], return_inverse=True)
    when, what = events.dates.codes(frame[events.dates.name]), levels.codes(frame[events.value])
    codes = np.full((len(persons), len(events.dates)), -1, np.int64)
    if events.absent is not None:
        codes[:] = levels.place(events.absent)
    inside = (when >= 0) & (what >= 0)
    order = _order(frame[events.dates.name], what, events.several)
    order = order[inside[order]]
    codes[who[order], when[order]] = what[order]  # the last one in the order stands
    outside = np.zeros(len(persons), bool)
    outside[who[~inside]] = True
    belongs = np.ones(len(persons), bool)
    for own, cell in part:
        first = np.full(len(persons), len(own))
        cells = own.codes(own.read(frame))
        np.minimum.at(first, who[cells >= 0], cells[cells >= 0])
        belongs &= first == own.place(cell)
    return PersonSequences(codes, belongs, outside)


def _order(dates: pd.Series, what: IntArray, several: str) -> IntArray:
    """Return the rows in such an order that of a person's events in a period the one that counts comes last."""
    if several == "highest":
        return np.argsort(what, kind="stable")
    if several == "lowest":
        return np.argsort(-what, kind="stable")
    texts = text_column(dates)
    ranks = np.zeros(len(texts.cat.categories) + 1, np.int64)  # the last of missing dates, which are in no period
    ranks[np.argsort(np.array(texts.cat.categories, object))] = np.arange(len(texts.cat.categories))
    days = ranks[texts.cat.codes.to_numpy()]
    return np.lexsort((what, days if several == "last" else -days))
