"""What a user says of columns: declared domains in files and flags, slices with weights, what is counted."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from deid.base.errors import ConfigError, require
from deid.base.files import read_toml
from deid.base.late import pd
from deid.base.options import again, column_names, named_value, option
from deid.base.plots import write_plot
from deid.dp.domain import TO_DECLARE, Dimension, declare
from deid.dp.options import PlotOptions
from deid.table.microdata import check_columns

if TYPE_CHECKING:
    from deid.dp.events import Events
    from deid.dp.methods import CubePlan
    from deid.dp.options import JoinedTableOptions
    from deid.dp.release import CubeRelease
    from deid.dp.sequence_release import SequenceRelease
    from deid.dp.sequences import SequencePlan

_FLAG_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:/(\d+))?(?:,\s*([^,]+?))?\s*")
_DAY = r"\d{4}-\d{2}-\d{2}"
_FLAG_DATES = re.compile(rf"({_DAY})\.\.({_DAY})(?:/(year|quarter|month))?", re.ASCII)


def parse_flag(text: str) -> tuple[str, dict[str, Any]]:
    """Parse ``COLUMN=A,B,C``, ``COLUMN=LOW..HIGH``, ``COLUMN=LOW..HIGH/WIDTH,ABOVE`` or ``COLUMN=DAY..DAY/quarter``.

    Returns
    -------
    column : str
        Name of the column.
    declaration : dict
        Its domain, as in a file of domains: ``values``, or ``range`` (whole numbers, both included), ``width``
        and ``above``, or ``dates`` (both included) and ``by``, a year if it is not said.

    Raises
    ------
    ConfigError
        When it is of another form.
    """
    name, values = named_value(text, "--domain", TO_DECLARE)
    match = _FLAG_RANGE.fullmatch(values)
    if match and ".." not in (match[4] or ""):
        found: dict[str, Any] = {"range": [int(match[1]), int(match[2])], "width": int(match[3] or 1)}
        return name, found | ({"above": match[4]} if match[4] else {})
    match = _FLAG_DATES.fullmatch(values)
    if match:
        return name, {"dates": [match[1], match[2]], "by": match[3] or "year"}
    if ".." in values:
        raise ConfigError(
            f"the domain of {name!r} is no range that is known",
            "0..84/5, 0..84/5,85+ or 2004-01-01..2021-12-31/year; values with two points go into a file (--domains)",
        )
    return name, {"values": [value.strip() for value in values.split(",")]}


def read_domains(path: Path) -> dict[str, dict[str, Any]]:
    """Return the declarations of a TOML file by column, each as `declare` takes it.

    Raises
    ------
    ConfigError
        When it cannot be read, is no TOML, or holds something else.
    """
    content = read_toml(path, "see docs/cube.md for its form")
    columns = content.get("columns")
    if (
        set(content) != {"columns"}
        or not isinstance(columns, dict)
        or not all(isinstance(c, dict) for c in columns.values())
    ):
        raise ConfigError(f"the file of domains {path} has other sections than [columns.NAME]", "see docs/cube.md")
    return columns


@dataclass(frozen=True)
class DomainOptions:
    """Declared domains of columns: in a file, and one by one."""

    domains: tuple[Path, ...] = option((), "Declared domains of the columns (TOML, docs/cube.md; repeatable).")
    domain: tuple[str, ...] = option(
        (), "Domain: A,B,C, LOW..HIGH, LOW..HIGH/WIDTH,ABOVE or DAY..DAY/month (repeatable).", metavar="COLUMN=VALUES"
    )

    def parts(self, texts: Iterable[str], table: Callable[[], pd.DataFrame]) -> list[tuple[Dimension, str]]:
        """Return parts ``COLUMN=CELL`` as declared columns and cells; see `dimensions`."""
        return [(self.dimensions([column], table)[0], cell) for column, cell in map(parse_condition, texts)]

    def declared(self) -> dict[str, dict[str, Any]]:
        """Return the declarations by column."""
        found: dict[str, dict[str, Any]] = {}
        for path in self.domains:
            found |= read_domains(path)
        return found | dict(parse_flag(flag) for flag in self.domain)

    def dimensions(self, names: Iterable[str], table: Callable[[], pd.DataFrame]) -> list[Dimension]:
        """Return the declared columns as dimensions.

        Parameters
        ----------
        names : iterable of str
            The columns, in the order wanted.
        table : callable
            Reads the table; called only for a column whose values a public source vouches for.

        Raises
        ------
        ConfigError
            When a column is not declared, or not in the table.
        """
        declared = self.declared()
        found = []
        for name in names:
            own = declared.get(name, {})
            column = None
            if own.get("from_data") is True and own.get("public_source"):
                frame = table()
                check_columns(frame, [name])
                column = frame[name]
            found.append(declare(name, own, column))
        return found


def parse_slices(texts: Iterable[str]) -> tuple[list[list[str]], list[float]]:
    """Parse slices ``A,B[:WEIGHT]``.

    Returns
    -------
    slices : list of list of str
        Columns of each slice.
    weights : list of float
        One a slice, 1 by default.

    Raises
    ------
    ConfigError
        When a weight is no number.
    """
    parsed = [_weighted(text, "--slice year,death:2") for text in texts]
    return [column_names(names) for names, _ in parsed], [weight for _, weight in parsed]


def parse_shares(texts: Iterable[str]) -> dict[str, float]:
    """Return weights by name, of texts ``NAME[:WEIGHT]``, 1 by default; errors as those of `parse_slices`."""
    return dict(_weighted(text, "--level-share state:2") for text in texts)


def parse_lengths(texts: Iterable[str]) -> dict[int, float]:
    """Return weights by length, of texts ``N[:WEIGHT]``, 1 by default; `ConfigError` where one is of another form."""
    shares = [_weighted(text, example := "--asked-length 3:2") for text in texts]
    if not all(length.isdecimal() for length, _ in shares):
        raise ConfigError("a length is no whole number", f"N[:WEIGHT], for example: {example}")
    return {int(length): weight for length, weight in shares}


def _weighted(text: str, example: str) -> tuple[str, float]:
    """Return name and weight of a text ``NAME[:WEIGHT]``."""
    name, _, written = text.partition(":")
    try:
        weight = float(written) if written else 1.0
    except ValueError:
        weight = math.nan
    require(0 < weight < math.inf, "a weight is no number above 0", f"for example: {example}")
    return name.strip(), weight


def parse_condition(text: str) -> tuple[str, str]:
    """Return column and cells of ``COLUMN=CELLS``.

    Raises
    ------
    ConfigError
        When it is of another form.
    """
    return named_value(text, "a condition", "for example: --where age=60..69")


@dataclass(frozen=True, kw_only=True)
class CubeOptions(DomainOptions):
    """What a cube counts, and how it is measured."""

    PANEL: ClassVar[str] = "What is counted"
    dims: str = option(..., "Columns.", metavar="A,B,...", panel="")
    slices: tuple[str, ...] = option(
        (), "A slice that will be asked; may be given several times.", "--slice", metavar="A,B[:WEIGHT]"
    )
    part: tuple[str, ...] = option(
        (), "Only this part of the table; disjoint parts cost their maximum.", metavar="COLUMN=CELL"
    )
    method: str = option(
        "auto", "auto, or one of the methods in docs/cube.md: marginals, adaptive, privtree, forest, cells, ..."
    )
    level_share: tuple[str, ...] = option(
        (), "Share of epsilon of a level, for a column whose cells lie in others; all is the total.",
        metavar="LEVEL:WEIGHT",
    )  # fmt: skip
    nonnegative: bool = option(True, "Project onto non-negative counts where that is a step of its own.")

    def plan(self, source: JoinedTableOptions, epsilon: float, unit: Any, **whom: Any) -> CubePlan:
        """Return the plan; see `plan_cube`, also for errors."""
        from deid.dp.counting import distinct_cells
        from deid.dp.cube import plan_cube

        named, weights = parse_slices(self.slices)
        dims = column_names(self.dims)
        asked = dict.fromkeys([*dims, *(column for column, _ in map(parse_condition, self.part))])
        public = [name for name in asked if self.declared().get(name, {}).get("from_data") is True]
        found = functools.cache(lambda: distinct_cells(source.read_batches(public), public))
        return plan_cube(
            self.dimensions(dims, found), epsilon, unit, method=self.method, slices=named,
            weights=weights, nonnegative=self.nonnegative, part=self.parts(self.part, found),
            level_shares=parse_shares(self.level_share), **whom,
        )  # fmt: skip


INTERVALS: Any = option(None, "Level of the intervals; the release's by default.", metavar="P")


@dataclass(frozen=True)
class CubeQuestion(PlotOptions):
    """What a released cube is asked, and the plot of the answer."""

    dims: str = option("", "Columns of the table; none for the total, or for one curve.", metavar="A,B,...")
    where: tuple[str, ...] = option(
        (), "Condition: A, A,B or A..B; may be given several times.", metavar="COLUMN=CELLS"
    )
    level: float | None = INTERVALS
    sampling: bool = option(False, "Intervals cover that the rows are a sample of others, not the noise alone.")

    @property
    def conditions(self) -> dict[str, str]:
        """The conditions by column."""
        return dict(map(parse_condition, self.where))


@dataclass(frozen=True)
class SliceQuestion(CubeQuestion):
    """A slice or a roll-up that a released cube is asked for."""

    share: str | None = option(None, "Tell the cells of this column as shares of their sum.", metavar="COLUMN")

    def ask(self, release: CubeRelease) -> pd.DataFrame:
        """Return the answer, and write its plot; see `deid.dp.release.CubeRelease.slice`, also for errors."""
        from deid.dp.plots import plot_bins

        dims = column_names(self.dims)
        frame = release.slice(dims, self.conditions, self.level, sampling=self.sampling, share=self.share)
        write_plot(self.plot, lambda: plot_bins(frame, "count" if self.share is None else "share", dims))
        return frame


@dataclass(frozen=True, kw_only=True)
class SurvivalQuestion(CubeQuestion):
    """Curves of survival that a released cube is asked for."""

    time: str = option(..., "Column of the time to the event, or to when a patient was last seen.", metavar="COLUMN")
    event: str = option(
        ..., "Column that tells which it was, and its cells that are the event.", metavar="COLUMN=CELLS"
    )
    sampling: bool = again(CubeQuestion, "sampling", True)

    def ask(self, release: CubeRelease) -> pd.DataFrame:
        """Return the curves, and write their plot; see `deid.dp.survival.survival`, also for errors."""
        from deid.dp.plots import plot_survival
        from deid.dp.survival import survival

        by = column_names(self.dims)
        frame = survival(
            release, self.time, *parse_condition(self.event), by=by, where=self.conditions, level=self.level,
            sampling=self.sampling,
        )  # fmt: skip
        write_plot(self.plot, lambda: plot_survival(frame, self.time, by))
        return frame


@dataclass(frozen=True)
class DrawnRows:
    """Which made-up rows are drawn from a release."""

    rows: int | None = option(None, "How many rows; as many as the release says by default.")
    seed: int = option(0, "Equal seeds give equal rows.", minimum=0)
    never: tuple[str, ...] = option(
        (), "Cells that no row may have together; may be given several times.", metavar="COLUMN=CELLS&COLUMN=CELLS"
    )


_SLOPES = "For --slopes"


@dataclass(frozen=True)
class PrefixQuestion:
    """What a release of sequences is asked.

    Raises
    ------
    ConfigError
        When it is not one question, or something is said of a question that is not asked.
    """

    prefix: str | None = option(None, "Count the sequences that begin with these levels.", metavar="A,B,...")
    length: int | None = option(None, "Count all prefixes of a length.")
    ever: str | None = option(None, "Count the sequences that have one of these levels ever.", metavar="A,B,...")
    then: str | None = option(None, "Count the sequences that have level A and later B.", metavar="A,B")
    within: int | None = option(
        None, "Of --ever: in the first N periods; of --then: at most N periods later.", panel="For --ever and --then"
    )
    slopes: int | None = option(None, "Count falling, steady and rising sequences over N periods.")
    predict: bool = option(False, "Below a tree's leaves, answer what their ancestors let expect, not 0.")
    values: Sequence[float] | None = option(
        None, "What the levels stand for; else 0,1,2,...", metavar="X,Y,...", panel=_SLOPES
    )
    step: float = option(0.5, "Slopes of less than X either way are zero.", panel=_SLOPES)
    slope: str = option("average", "average or regression.", panel=_SLOPES)
    level: float | None = INTERVALS

    def __post_init__(self) -> None:
        asked = (self.prefix, self.length, self.ever, self.then, self.slopes)
        hint = "one of --prefix 0,1, --length 2, --ever 3, --then 1,3 or --slopes 3"
        require(sum(one is not None for one in asked) == 1, "ask one question", hint)
        if self.within is not None and self.ever is None and self.then is None:
            raise ConfigError("--within says how far --ever or --then goes", "leave it out")

    @property
    def of_whole(self) -> bool:
        """Whether it is about whole sequences, not their beginnings."""
        return any(one is not None for one in (self.slopes, self.ever, self.then))

    def ask(self, release: SequenceRelease) -> pd.DataFrame:
        """Return the answer; see the methods of `deid.dp.sequence_release.SequenceRelease`, also for errors."""
        if self.slopes is not None:
            return release.slopes(self.slopes, values=self.values, step=self.step, slope=self.slope, level=self.level)
        if self.length is not None:
            return release.prefixes(self.length, self.level, predict=self.predict)
        if self.ever is not None:
            return release.ever(column_names(self.ever), self.within, self.level)
        if self.then is not None:
            pair = column_names(self.then)
            require(len(pair) == 2, "--then takes two levels", "for example: --then 1,3")
            return release.then(pair[0], pair[1], self.within, level=self.level)
        return release.prefix(column_names(self.prefix), self.level, predict=self.predict)


LEVEL = "level"
"""Name under which the domain of the periods is declared."""
_TREE, _EVENTS = "The tree", "Events"


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
        """Return the plan; see `plan_sequences`, also for errors."""
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
        require(len(names) == 3, "events have three columns", "for example: --events patient,visit,level")
        return names

    def _events(self, read: Any) -> Events:
        from deid.dp.events import Events

        person, date, value = self._names()
        dates = self.dimensions([date], read)[0]
        if self.every is not None and "dates" in dates.declaration:
            dates = declare(date, {**dates.declaration, "by": self.every})
        return Events(person, dates, value, self.absent, self.several)
