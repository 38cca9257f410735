"""Experiments on tables: what methods of anonymization and of differential privacy cost, and studies of a release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deid.cli import Summary, again, argument, column_names, command, option
from deid.cli.outcomes import run, show
from deid.disclosure.options import RoleOptions, SchemaOptions
from deid.experiments.asking import MethodRuns, ReleaseRuns, SafeHarborCuts, SequenceRuns, TrajectoryRuns
from deid.experiments.conclusions import StudyOptions
from deid.experiments.models import ModelOptions
from deid.experiments.outcome import RUNS, OutcomeOptions, RunOptions
from deid.table.options import TableOptions
from deid.trajectories.publishing import DiagnosisColumns
from deid.transactions.asking import CodesAsked

if TYPE_CHECKING:
    from deid.experiments.outcome import Outcome

_RELEASE = argument("The anonymized table, or made-up rows, in any order of rows.", metavar="RELEASE")


@dataclass(frozen=True)
class ComparedCodes(CodesAsked):
    """What is asked of releases of codes by several methods."""

    method: str = "km"


def _compare(told: Summary, places: OutcomeOptions, compare: Callable[[], Outcome]) -> None:
    """Run an experiment that compares with the truth, and say that its figures are not private."""
    told.notes = ["NOT PRIVATE: errors were computed from true counts"]
    outcome = run(told, places, "comparing", compare)
    told.extra |= {"private": False, "rows": len(outcome.rows)}


@command
def dp(
    told: Summary,
    *,
    source: TableOptions,
    asked: MethodRuns,
    how: RunOptions,
    places: OutcomeOptions,
) -> None:
    """Compare methods of deid cube with the truth. The figures are NOT private.

    Example: deid experiment dp visits.csv --dims age,year,death --domains domains.toml --slice year,death --plot e.svg
    """
    from deid.experiments.dp import dp_outcome

    _compare(told, places, lambda: dp_outcome(source.read(), asked, how))


@command
def sequences(
    told: Summary,
    *,
    source: TableOptions,
    asked: SequenceRuns,
    how: RunOptions,
    places: OutcomeOptions,
) -> None:
    """Compare methods of deid sequences with the truth. The figures are NOT private.

    Example: deid experiment sequences doctors.csv --periods q1,q2,q3 --domain level=0..3 --trends 2,3 --plot e.svg
    """
    from deid.experiments.sequences import sequences_outcome

    _compare(told, places, lambda: sequences_outcome(source.read(), asked, how))


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
    from deid.experiments.cohorts import TablePair
    from deid.experiments.conclusions import conclusions_outcome

    pair = TablePair.opened(source, release, roles, made_up=made_up)
    show(told, places, conclusions_outcome(pair, asked))


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
    from deid.experiments.cohorts import TablePair
    from deid.experiments.models import models_outcome

    pair = TablePair.opened(source, release, roles, made_up=asked.made_up)
    others = None if asked.test is None else roles.open(str(asked.test), source)
    run(told, places, "training", models_outcome, pair, asked, others)


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

    run(told, places, "making releases", tables_outcome, roles.open(source.table, source), asked)


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
    run(told, places, "comparing", same_disease_outcome, patients, people, cuts)


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
    run(told, places, "comparing", codes_outcome, frame, asked, column_names(methods), linked=linked)


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

    run(told, places, "comparing", trajectories_outcome, source.read(), columns, asked)
