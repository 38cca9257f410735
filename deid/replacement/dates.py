"""Shift dates by a secret number of days a person, and write them as they were written.

The rules (docs/dates.md explains them):

- a full date moves by the person's offset, so that distances in all documents of a person stay;
- month and day without year move like a full date in the year that brings them nearest to the reference day, or else to
  the latest full date of the document (2001 when there is neither);
- month and year, or a month alone: the month of its 15th, moved; a season: its middle, moved;
- a year alone, or a decade: one step in the direction of the offset; a day of the month alone: within 28 days;
- a weekday: moved with the offset, so that it still fits its date; a holiday becomes the one nearest to its moved day;
- two numbers that can be day and month in either order: the order that the policy sets, else the one that other dates
  of the document show, else month first (day first in Spanish);
- a day or month that does not exist is read as the last one that does; ``00`` as not known;
- clock times and words around a date stay; a text that is no date becomes a tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deid.base.errors import ConfigError
from deid.document import Document, Span
from deid.replacement.date_shifts import shift_dates
from deid.replacement.permutation import Keyed, keyed_for
from deid.replacement.scope import Scope


@dataclass(frozen=True, slots=True)
class DateShift:
    """See `date_shift_operator`."""

    preserve_weekday: bool
    day_first: bool | None
    cap_age: int | None

    def __call__(self, document: Document, spans: Sequence[Span], scope: Scope) -> list[str]:
        """Return one shifted date a span."""
        return self.shift(document, spans, scope, keyed_for(scope.key, scope.person_scope))

    def shift(self, document: Document, spans: Sequence[Span], scope: Scope, keyed: Keyed) -> list[str]:
        """Return one shifted date a span, as a call does.

        ``keyed`` makes the choices of ``scope.person_scope``, so that a caller with many spans derives them once.
        """
        return shift_dates(document, spans, scope, keyed, self.preserve_weekday, self.day_first, self.cap_age)


def date_shift_operator(
    *, preserve_weekday: bool = False, day_first: bool | None = None, cap_age: int | None = None
) -> DateShift:
    """Return the operator that shifts dates.

    Parameters
    ----------
    preserve_weekday : bool
        Shift by whole weeks: dates keep their weekday. A weekday that stands alone would stay as it is, so it
        becomes a tag.
    day_first : bool, optional
        How to read ``3/4/2019``; without it, as the unambiguous dates of the document are written.
    cap_age : int, optional
        A date so long before the reference day that it makes somebody older than this is moved up to the youngest
        such age (89 under HIPAA's Safe Harbor, so that a birth date tells 90 and no more). Distances from such a date
        are not kept. Without a reference day nothing is capped.

    Returns
    -------
    DateShift
        An operator (see `deid.replacement.scope.Operator`) for spans of the category DATE.

    Raises
    ------
    ConfigError
        When ``cap_age`` is not a positive number.
    """
    if cap_age is not None and cap_age <= 0:
        raise ConfigError("cap_age is not positive", "write cap_age = 89")
    return DateShift(preserve_weekday, day_first, cap_age)
