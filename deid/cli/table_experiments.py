"""Experiments on tables: methods of deid cube and deid sequences, and studies of a release."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from deid.base.options import argument, option
from deid.cli.common import Summary
from deid.cli.option_groups import command
from deid.cli.sequences import LEVEL
from deid.cli.table_options import SchemaOptions, TableOptions
from deid.cli.tables import working
from deid.cli.training_options import OutcomeOptions
from deid.dp.domain import DomainOptions, parse_slices
from deid.experiments.conclusions import StudyOptions
from deid.experiments.outcome import RUNS, RunOptions

if TYPE_CHECKING:
    from deid.experiments.outcome import Outcome


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
        panel=RUNS,
    ),
    thresholds: bool = option(
        False, "Sweep DPCube's gains and thresholds instead of methods.", "--sweep-thresholds", panel=RUNS
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
            return thresholds_outcome(*asked, how)
        return methods_outcome(*asked, how, methods=column_names(methods))

    _compare(told, places, compare)


@command
def sequences(
    told: Summary,
    *,
    source: TableOptions,
    periods: str = option(..., "Columns of the periods, in their order; declare --domain level=...", metavar="A,B,..."),
    domains: DomainOptions,
    methods: str = option(
        "tree,markov,tree-paper", "Methods; even and zero are always compared.", metavar="A,B,...", panel=RUNS
    ),
    slopes: int | None = option(None, "Also count falling, steady and rising sequences over N periods.", panel=RUNS),
    person: str | None = option(
        None, "Also show what protecting these persons costs, by row bounds.", metavar="COLUMN", panel=RUNS
    ),
    bounds: Sequence[int] = option(
        (1, 2, 5, 10, 20), "Row bounds to try with --person.", metavar="K,K,...", panel=RUNS
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
            read(), domains.dimensions([LEVEL], read)[0], column_names(periods), how, methods=column_names(methods),
            slopes=slopes, person=person, bounds=bounds,
        )  # fmt: skip

    _compare(told, places, compare)


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
    places.show(conclusions_outcome(pair, asked), told)
