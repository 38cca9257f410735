"""What an experiment found, in the form in which all of them are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from deid.base.errors import require
from deid.base.files import check_folder, write_bytes
from deid.base.late import pd
from deid.base.options import option
from deid.base.plots import Figure, check_plot, write_plot
from deid.base.reports import Section, frame_records
from deid.dp.noise import SeededNoise

RUNS = "Runs"
TRUE_COUNTS = "Means over runs with seeded test noise. These figures compare with true counts: they are NOT private."
"""What stands below tables of errors that were computed from the truth."""


@dataclass(frozen=True)
class RunOptions:
    """How often methods run with test noise; seeds are seed, seed + 1, ..."""

    PANEL: ClassVar[str] = RUNS
    epsilons: Sequence[float] = option((0.1, 0.5, 1.0), "Epsilons.", metavar="E,E,...")
    runs: int = option(5, "Releases for each method and epsilon.")
    seed: int = option(0, "First seed of the test noise.", minimum=0)

    def __post_init__(self) -> None:
        require(bool(self.epsilons), "no epsilon is named", "for example: --epsilons 0.1,0.5")
        require(self.runs >= 1, "an experiment needs a run", "for example: --runs 10")

    def noises(self) -> list[SeededNoise]:
        """Return the noise of each run."""
        return [SeededNoise(self.seed + run) for run in range(self.runs)]


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


@dataclass(frozen=True)
class OutcomeOptions:
    """Where the outcome of an experiment goes beside standard output and ``--json``."""

    output: Path | None = option(None, "Write the rows as CSV.", "--output", "-o")
    report: Path | None = option(None, "Write tables and plot as a web page.")
    plot: Path | None = option(None, "Write the plot (.svg or .png).")

    def __post_init__(self) -> None:
        """Refuse a file that cannot be written before hours of training rather than after them."""
        check_plot(self.plot)
        for file in filter(None, (self.output, self.report)):
            check_folder(file)

    def write(self, outcome: Outcome) -> None:
        """Write what is asked for."""
        from deid.base.reports import write_page

        if self.output is not None:
            write_bytes(self.output, outcome.rows.to_csv(index=False).encode(), private=False, replace=True)
        if self.report is not None:
            write_page(self.report, outcome.title, outcome.sections, [outcome.draw()] if outcome.draw else [])
        write_plot(self.plot, outcome.draw)


@dataclass(frozen=True)
class Form:
    """How the figures of an experiment are shown: when it has run, and when they are read again from JSON.

    Parameters
    ----------
    title : str
        Of a page.
    sections : callable
        Makes tables of the figures, a row a measurement, and of all JSON values.
    draw : callable, optional
        Draws the plot of the same two.
    alt : str
        What the plot shows, in words.
    rows : str
        Name of the figures among the JSON values.
    """

    title: str
    sections: Callable[[pd.DataFrame, Mapping[str, Any]], Sequence[Section]]
    draw: Callable[[pd.DataFrame, Mapping[str, Any]], Figure] | None = None
    alt: str = ""
    rows: str = "rows"

    def outcome(self, frame: pd.DataFrame, **values: Any) -> Outcome:
        """Return figures, with further JSON values, as an outcome."""
        return self._outcome(frame, {**values, self.rows: frame_records(frame)})

    def again(self, values: Mapping[str, Any]) -> Outcome:
        """Return the outcome of JSON values.

        Raises
        ------
        KeyError, TypeError, ValueError
            And others, when they are not those of an outcome.
        """
        return self._outcome(frame_of(values[self.rows]), values)

    def _outcome(self, frame: pd.DataFrame, values: Mapping[str, Any]) -> Outcome:
        draw = self.draw
        drawn = None if draw is None else lambda: draw(frame, values)
        return Outcome(self.title, self.sections(frame, values), frame, values, drawn)


def frame_of(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return figures as a table of their JSON values, which `frame_records` made.

    Raises
    ------
    ValueError
        When there are none.
    """
    frame = pd.DataFrame(list(rows))
    if frame.empty:
        raise ValueError("no rows")
    frame[frame.columns[frame.isna().all()]] = float("nan")  # for None
    return frame
