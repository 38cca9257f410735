"""Experiments on tables: methods of deid cube and deid sequences, and studies of a release."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

from deid.base.options import argument, option
from deid.cli.common import Summary
from deid.cli.option_groups import command
from deid.cli.sequences import LEVEL
from deid.cli.table_options import SchemaOptions, TableOptions
from deid.cli.tables import working
from deid.cli.training_options import OutcomeOptions
from deid.dp.domain import DomainOptions, parse_slices

if TYPE_CHECKING:
    from deid.experiments.outcome import Outcome

_RUNS = "Runs"


@dataclass(frozen=True)
class RunOptions:
    """How often methods run with test noise."""

    PANEL: ClassVar[str] = _RUNS
    epsilons: Sequence[float] = option((0.1, 0.5, 1.0), "Epsilons.", metavar="E,E,...")
    runs: int = option(5, "Releases for each method and epsilon.")
    seed: int = option(0, "First seed of the test noise.")


def _compare(told: Summary, places: OutcomeOptions, compare: Callable[[], Outcome]) -> None:
    """Run an experiment that compares with the truth, and say that its figures are not private."""
    places.check(told.said.json)
    told.notes = ["NOT PRIVATE: errors were computed from true counts"]
    with working("comparing"):
        outcome = compare()
    places.show(outcome, told)
    told.extra |= {"private": False, "rows": len(outcome.rows)}


@command
def dp(
    told: Summary,
    *,
    source: TableOptions,
    dims: str = option(..., "Columns.", metavar="A,B,..."),
    slices: tuple[str, ...] = option(
        ..., "A slice to compare on; may be given several times.", "--slice", metavar="A,B"
    ),
    domains: DomainOptions,
    methods: str = option(
        "marginals,privtree,forest,cells,cells-clamped,dpcube,dpcube-paper",
        "Methods of deid cube; even is always compared.",
        metavar="A,B,...",
        panel=_RUNS,
    ),
    thresholds: bool = option(
        False, "Sweep DPCube's gains and thresholds instead of methods.", "--sweep-thresholds", panel=_RUNS
    ),
    how: RunOptions,
    places: OutcomeOptions,
) -> None:
    """Compare methods of deid cube with the truth. The figures are NOT private.

    Example: deid experiment dp visits.csv --dims age,year,death --domains domains.toml --slice year,death --plot e.svg
    """
    from deid.dp.cube import rows_of
    from deid.experiments.dp import methods_outcome, thresholds_outcome
    from deid.table.microdata import column_names

    def compare() -> Outcome:
        read = functools.cache(source.read)
        dimensions = domains.dimensions(column_names(dims), read)
        asked = rows_of(read(), dimensions), dimensions, parse_slices(slices)[0]
        if thresholds:
            epsilon = how.epsilons[len(how.epsilons) // 2]
            return thresholds_outcome(*asked, epsilon=epsilon, runs=how.runs, seed=how.seed)
        names = column_names(methods)
        return methods_outcome(*asked, methods=names, epsilons=how.epsilons, runs=how.runs, seed=how.seed)

    _compare(told, places, compare)


@command
def sequences(
    told: Summary,
    *,
    source: TableOptions,
    periods: str = option(..., "Columns of the periods, in their order; declare --domain level=...", metavar="A,B,..."),
    domains: DomainOptions,
    methods: str = option(
        "tree,markov,tree-paper", "Methods; even and zero are always compared.", metavar="A,B,...", panel=_RUNS
    ),
    slopes: int | None = option(None, "Also count falling, steady and rising sequences over N periods.", panel=_RUNS),
    person: str | None = option(
        None, "Also show what protecting these persons costs, by row bounds.", metavar="COLUMN", panel=_RUNS
    ),
    bounds: Sequence[int] = option(
        (1, 2, 5, 10, 20), "Row bounds to try with --person.", metavar="K,K,...", panel=_RUNS
    ),
    how: RunOptions,
    places: OutcomeOptions,
) -> None:
    """Compare methods of deid sequences with the truth. The figures are NOT private.

    Example: deid experiment sequences doctors.csv --periods q1,q2,q3 --domain level=0..3 --slopes 3 --plot e.svg
    """
    from deid.experiments.sequences import sequences_outcome
    from deid.table.microdata import column_names

    def compare() -> Outcome:
        read = functools.cache(source.read)
        return sequences_outcome(
            read(), domains.dimensions([LEVEL], read)[0], column_names(periods), methods=column_names(methods),
            epsilons=how.epsilons, slopes=slopes, person=person, bounds=bounds, runs=how.runs, seed=how.seed,
        )  # fmt: skip

    _compare(told, places, compare)


@dataclass(frozen=True)
class StudyOptions:
    """What studies ask of a table."""

    PANEL: ClassVar[str] = "Studies"
    outcome: str = option(..., "Who has the outcome, as 'disease=asthma'.", metavar="QUERY", panel="")
    group: tuple[str, ...] = option((), "A group whose odds are asked (repeatable).", metavar="QUERY")
    cohort: tuple[str, ...] = option((), "A cohort to count, as 'age>=65 and sex=F' (repeatable).", metavar="QUERY")
    queries: int = option(1000, "Random cohorts of two conditions.", minimum=1)
    need: Sequence[int] = option((10, 30, 100, 300), "How many patients would be enough.", metavar="10,100")
    alpha: float = option(0.05, "A p-value below it is a finding.", metavar="P")
    seed: int = option(0, "Seed of the random cohorts.")


@command
def conclusions(
    told: Summary,
    *,
    source: TableOptions,
    release: str = argument("The anonymized table, in any order of rows.", metavar="RELEASE"),
    asked: StudyOptions,
    roles: SchemaOptions,
    places: OutcomeOptions,
) -> None:
    """Compare what a study concludes from a released table with what it concludes from the original.

    Are there enough patients for a trial, is an outcome independent of age, what are the odds of a group, what does a
    regression find: on both tables, with the share of decisions that stay the same.

    Example: deid experiment conclusions patients.csv released.csv --qi age,sex --outcome diagnosis=asthma
    """

    from deid.experiments.cohorts import TablePair
    from deid.experiments.conclusions import conclusions_outcome

    places.check(told.said.json)
    truth = roles.open(source.table, source)
    pair = TablePair(truth, roles.open(release, source, published=True))
    places.show(conclusions_outcome(pair, **asdict(asked)), told)
