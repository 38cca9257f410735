"""What an experiment found, in the form in which all of them are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deid.base.late import pd
from deid.base.plots import Figure
from deid.base.reports import Section, frame_records


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an experiment found, to be printed, drawn and written.

    Parameters
    ----------
    title : str
        Of a page.
    sections : sequence of Section
        Its tables.
    rows : DataFrame
        Its figures, a row a measurement.
    values : mapping of str to Any
        JSON values: settings and figures.
    draw : callable, optional
        Draws the plot.
    """

    title: str
    sections: Sequence[Section]
    rows: pd.DataFrame
    values: Mapping[str, Any]
    draw: Callable[[], Figure] | None = None

    @classmethod
    def of_frame(
        cls,
        title: str,
        frame: pd.DataFrame,
        section: Section,
        settings: Mapping[str, Any],
        draw: Callable[[pd.DataFrame], Figure] | None = None,
    ) -> Outcome:
        """Return the outcome that is one table."""
        values = {"settings": settings, "rows": frame_records(frame)}
        return cls(title, [section], frame, values, None if draw is None else lambda: draw(frame))
