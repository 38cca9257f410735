"""Experiments on tables: what methods of anonymization and of differential privacy cost, and studies of a release."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deid.cli import Summary, again, argument, column_names, command, option
from deid.cli.training_options import OutcomeOptions
from deid.disclosure.options import RoleOptions, SchemaOptions
from deid.dp.domain_options import LEVEL, DomainOptions, parse_slices
from deid.experiments.asking import ReleaseRuns, SafeHarborCuts, SequenceRuns, TrajectoryRuns
from deid.experiments.conclusions import StudyOptions
from deid.experiments.models import ModelOptions
from deid.experiments.outcome import RUNS, RunOptions
from deid.table.options import TableOptions
from deid.trajectories.publishing import DiagnosisColumns
from deid.transactions.asking import CodesAsked

if TYPE_CHECKING:
    from deid.experiments.cohorts import TablePair
    from deid.experiments.outcome import Outcome

_RELEASE = argument("The anonymized table, or made-up rows, in any order of rows.", metavar="RELEASE")


@dataclass(frozen=True)
class ComparedCodes(CodesAsked):
    """What is asked of releases of codes by several methods."""

    method: str = "km"


def _compare(told: Summary, places: OutcomeOptions, compare: Callable[[], Outcome]) -> None:
    """Run an experiment that compares with the truth, and say that its figures are not private."""
    told.notes = ["NOT PRIVATE: errors were computed from true counts"]
    outcome = places.run(told, "comparing", compare)
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
    histogram: bool = option(False, "Show the counts of every bin of the slices, and their slopes.", panel=RUNS),
    how: RunOptions,
    places: OutcomeOptions,
) -> None:
    """Compare methods of deid cube with the truth. The figures are NOT private.

    Example: deid experiment dp visits.csv --dims age,year,death --domains domains.toml --slice year,death --plot e.svg
    """
    from deid.base.reports import frame_records
    from deid.dp.counting import rows_of
    from deid.experiments.dp import BINS, COMPARED, SWEPT, compare_methods, histograms, sweep_thresholds

    def compare() -> Outcome:
        read = functools.cache(source.read)
        dimensions = domains.dimensions(column_names(dims), read)
        asked = rows_of(read(), dimensions), dimensions, parse_slices(slices)[0]
        if thresholds:
            return SWEPT.outcome(sweep_thresholds(*asked, how))
        if histogram:
            bins, slopes = histograms(*asked, how, methods=column_names(methods))
            return BINS.outcome(bins, slopes=frame_records(slopes))
        return COMPARED.outcome(compare_methods(*asked, how, methods=column_names(methods)))

    _compare(told, places, compare)


@command
def sequences(
    told: Summary,
    *,
    source: TableOptions,
    periods: str = option(..., "Columns of the periods, in their order; declare --domain level=...", metavar="A,B,..."),
    domains: DomainOptions,
    asked: SequenceRuns,
    how: RunOptions,
    places: OutcomeOptions,
) -> None:
    """Compare methods of deid sequences with the truth. The figures are NOT private.

    Example: deid experiment sequences doctors.csv --periods q1,q2,q3 --domain level=0..3 --trends 2,3 --plot e.svg
    """

    from deid.experiments.sequences import sequences_outcome

    def compare() -> Outcome:
        read = functools.cache(source.read)
        level = domains.dimensions([LEVEL], read)[0]
        return sequences_outcome(read(), level, column_names(periods), how, asked)

    _compare(told, places, compare)


def _pair(source: TableOptions, place: str, roles: SchemaOptions, made_up: bool) -> TablePair:
    """Return an original and its release, or rows of nobody, ready for questions."""
    from deid.experiments.cohorts import TablePair, made_up_rows

    truth, release = roles.open(source.table, source), roles.open(place, source, published=True)
    return TablePair(truth, made_up_rows(truth, release) if made_up else release, made_up)


@command
def conclusions(
    told: Summary,
    *,
    source: TableOptions,
    release: str = _RELEASE,
    asked: StudyOptions,
    made_up: bool = again(ModelOptions, "made_up", panel=""),
    roles: SchemaOptions,
    places: OutcomeOptions,
) -> None:
    """Compare what a study concludes from a released table with what it concludes from the original.

    Are there enough patients for a trial, is an outcome independent of age, what are the odds of a group, what does a
    regression find: on both tables, with the share of decisions that stay the same.

    Example: deid experiment conclusions patients.csv released.csv --qi age,sex --outcome diagnosis=asthma
    """

    from deid.experiments.conclusions import conclusions_outcome

    places.show(conclusions_outcome(_pair(source, release, roles, made_up), asked), told)


@command
def models(
    told: Summary,
    *,
    source: TableOptions,
    release: str = _RELEASE,
    asked: ModelOptions,
    roles: SchemaOptions,
    places: OutcomeOptions,
) -> None:
    """Compare models trained on released or made-up rows with models trained on the original.

    Classifiers of words, and of 0 and 1; regressions of numbers; survival by proportional hazards; all are tried on the
    same original rows.

    Example: deid experiment models patients.csv released.csv --qi age,sex,zip --target disease,cost --test later.csv
    """

    from deid.experiments.models import models_outcome

    pair = _pair(source, release, roles, asked.made_up)
    others = None if asked.test is None else roles.open(str(asked.test), source)
    places.run(told, "training", models_outcome, pair, asked, others)


@command
def tables(
    told: Summary,
    *,
    source: TableOptions,
    roles: RoleOptions,
    asked: ReleaseRuns,
    places: OutcomeOptions,
) -> None:
    """Compare methods of deid anonymize over k: loss, error of counts, precision of queries, risk, time.

    Example: deid experiment tables census.csv --schema schema.toml --ks 2,5,10 --precision age --plot census.svg
    """
    from deid.experiments.tables import tables_outcome

    places.run(told, "making releases", tables_outcome, roles.open(source.table, source), asked)


@command
def same_disease(
    told: Summary,
    *,
    source: TableOptions,
    roles: SchemaOptions,
    population: str = option(..., "Everybody who could be meant: the same columns.", metavar="P"),
    cuts: SafeHarborCuts,
    places: OutcomeOptions,
) -> None:
    """Compare risks of records of one disease: as they are, by Safe Harbor, generalized against a population.

    Example: deid experiment same-disease patients.csv --population people.csv --qi birth,zip --dates birth --zips zip
    """
    from deid.experiments.same_disease import same_disease_outcome

    patients, people = (roles.open(place, source) for place in (source.table, population))
    places.run(told, "comparing", same_disease_outcome, patients, people, cuts)


@command
def codes(
    told: Summary,
    *,
    source: TableOptions,
    asked: ComparedCodes,
    methods: str = option("ugaclip,cba,aclip", "Methods of deid codes anonymize.", metavar="A,B", panel=RUNS),
    places: OutcomeOptions,
) -> None:
    """Attack diagnosis codes, suppress rare ones, and compare releases by several methods.

    Example: deid experiment codes cohort.csv --codes code --person person --visit visit --phenotypes diseases.txt
    """
    from deid.experiments.codes import codes_outcome
    from deid.manifest import persons_linked

    frame = source.read()
    linked = persons_linked(source.table, asked.person)
    places.run(told, "comparing", codes_outcome, frame, asked, column_names(methods), linked=linked)


@command
def trajectories(
    told: Summary,
    *,
    source: TableOptions,
    columns: DiagnosisColumns,
    asked: TrajectoryRuns,
    places: OutcomeOptions,
) -> None:
    """Compare releases of longitudinal records over k, methods and weights of codes.

    Example: deid experiment trajectories diagnoses.csv --person mrn --code icd --ks 2,5,10 --plot loss.svg
    """
    from deid.experiments.trajectories import trajectories_outcome

    places.run(told, "comparing", trajectories_outcome, source.read(), columns, asked)
