"""What a user says of experiments on tables and on linkage; light, so that a help page loads no experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from deid.base.errors import ConfigError, told_as
from deid.base.options import option
from deid.dp.domain_options import DomainOptions
from deid.experiments.outcome import RUNS


def _rate(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    with told_as(ConfigError(f"{text!r} is not of the form NAME=X", "for example: last-typo=0.1"), ValueError):
        return name.replace("-", "_"), float(number)


@dataclass(frozen=True)
class LinkageRuns:
    """Tables of mentions, and how they are linked; ``thresholds`` are for methods that have any."""

    sizes: Sequence[int] = option((10_000,), "Mentions.", metavar="N,...")
    methods: str = option("record-number,exact,model", "record-number, exact or model.", metavar="NAME,...")
    thresholds: Sequence[float] = option((0.5, 0.9, 0.95, 0.99), "Probabilities of a pair.", metavar="P,...")
    rates: tuple[tuple[str, float], ...] = option(
        (), "A rate of the mentions (docs/linkage.md; repeatable).", metavar="NAME=X", read=_rate
    )
    runs: int = option(1, "Tables of each size.", minimum=1)
    seed: int = option(0, "Seed of the first table.", minimum=0)
    resamples: int = option(200, "Bootstrap draws of persons for intervals.", minimum=0)


@dataclass(frozen=True)
class FilterRuns:
    """Populations, and what is tried on their filters."""

    persons: int = option(5000, "Persons at the first site; half are at the second.")
    thresholds: Sequence[float] = option((0.7, 0.75, 0.8, 0.85, 0.9), "Dice coefficients of a pair.", metavar="X,...")
    harden: tuple[str, ...] = option(
        (), "Only: none, fold, balance, 'fold, balance', salt or 'salt, fold, balance' (repeatable).", metavar="HOW"
    )
    runs: int = option(1, "Populations.")
    seed: int = option(0, "Seed of the first population.", minimum=0)


@dataclass(frozen=True)
class ReleaseRuns:
    """Which releases of a table are compared, and by which queries; see `compare_tables`."""

    PANEL: ClassVar[str] = RUNS
    methods: str = option("mondrian,bottom-up,top-down", "Methods, see deid anonymize.", metavar="A,B")
    ks: Sequence[int] = option((2, 5, 10, 25, 50), "Values of k.", metavar="N,...")
    queries: int = option(1000, "Random counts over two columns, for AvgRE.", minimum=1)
    precision: str | None = option(
        None, "Column of numbers: also measure the precision of queries on it.", metavar="COLUMN"
    )
    seed: int = option(0, "Seed of the queries.", minimum=0)


@dataclass(frozen=True)
class TrajectoryRuns:
    """Which releases of trajectories are compared; see `compare_trajectories`."""

    PANEL: ClassVar[str] = RUNS
    ks: Sequence[int] = option((2, 5, 10, 15), "Values of k.", metavar="N,...")
    weights: Sequence[float] = option((0.5,), "Weights of codes against ages.", metavar="W,...")
    methods: str = option("a-gs,baseline", "How trajectories are joined.", metavar="A,B")
    seed: int = option(0, "Seed of the one random choice.", minimum=0)


@dataclass(frozen=True)
class SafeHarborCuts:
    """What Safe Harbor cuts of a table."""

    dates: str = option("", "Columns that Safe Harbor cuts to years.", metavar="A,B")
    zips: str = option("", "Columns that Safe Harbor cuts to three digits.", metavar="A,B")


@dataclass(frozen=True, kw_only=True)
class MethodRuns(DomainOptions):
    """Which methods of cubes are compared, and on which slices; `thresholds` and `histogram` ask for other figures."""

    PANEL: ClassVar[str] = RUNS
    dims: str = option(..., "Columns.", metavar="A,B,...", panel="")
    slices: tuple[str, ...] = option(
        ..., "A slice to compare on; may be given several times.", "--slice", metavar="A,B", panel=""
    )
    methods: str = option(
        "marginals,privtree,forest,cells,cells-clamped,dpcube,dpcube-paper",
        "Methods of deid cube; even is always compared.",
        metavar="A,B,...",
    )
    thresholds: bool = option(False, "Sweep DPCube's gains and thresholds instead of methods.", "--sweep-thresholds")
    histogram: bool = option(False, "Show the counts of every bin of the slices, and their slopes.")


@dataclass(frozen=True, kw_only=True)
class SequenceRuns(DomainOptions):
    """What is compared of releases of sequences."""

    PANEL: ClassVar[str] = RUNS
    periods: str = option(
        ..., "Columns of the periods, in their order; declare --domain level=...", metavar="A,B,...", panel=""
    )
    methods: str = option("tree,markov,tree-paper", "Methods; even and zero are always compared.", metavar="A,B,...")
    trends: Sequence[int] = option(
        (), "Also count falling, steady and rising sequences over N periods.", metavar="N,..."
    )
    """See `compare_trends`."""
    draw: int = option(
        0, "Also show N sequences drawn at random as they are, and how many rise, fall and turn.", metavar="N",
        minimum=0,
    )  # fmt: skip
    person: str | None = option(None, "Also show what protecting these persons costs, by row bounds.", metavar="COLUMN")
    """See `unit_cost`, at the last epsilon."""
    bounds: Sequence[int] = option((1, 2, 5, 10, 20), "Row bounds to try with --person.", metavar="K,K,...")
