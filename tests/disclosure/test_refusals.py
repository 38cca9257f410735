"""What cannot be asked is refused, in words that say what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_tables import microdata

from deid.base.errors import DeidError
from deid.base.keys import Key
from deid.disclosure.assessment import Requirements, assess, read_guard, read_pair
from deid.disclosure.closeness import t_closeness
from deid.disclosure.clustering import bottom_up
from deid.disclosure.consistency import k1_anonymity, k_map, one_k_anonymity
from deid.disclosure.constraints import KAnonymity
from deid.disclosure.encoding import encode
from deid.disclosure.exclusion import exclusion_attack
from deid.disclosure.expert_report import read_report
from deid.disclosure.frontier import map_releases
from deid.disclosure.local_recoding import local_recoding
from deid.disclosure.methods import MethodOptions
from deid.disclosure.mondrian import mondrian
from deid.disclosure.numeric_models import EpsilonM, RangeDiversity
from deid.disclosure.population_search import joined
from deid.disclosure.queries import average_relative_error, query_precision
from deid.disclosure.randomization import posteriors
from deid.disclosure.release import anonymize, constraint_of
from deid.disclosure.same_disease import recode_same_disease
from deid.disclosure.schema import Column, Schema, format_schema
from deid.disclosure.scheme import Scheme, apply_scheme, read_scheme
from deid.disclosure.utility import classification_metric
from deid.table.hierarchy import hierarchy_from_rows

ROWS = [(20 + i, "FM"[i % 2], ("flu", "cold", "gout")[i % 3]) for i in range(12)]
PLAIN = microdata(ROWS, "age sex disease.")
TABLE = microdata(ROWS, "age sex disease!")
NOBODY = microdata(ROWS, "age. sex. disease.")
CODED = replace(encode(TABLE), weights=np.full(len(ROWS), 2))
TREE = hierarchy_from_rows([("flu", "lungs", "*"), ("cold", "lungs", "*"), ("gout", "joints", "*")], "disease")


def table_of(disease: str) -> object:
    return microdata([*ROWS, (40, "F", disease)], "age sex disease!", hierarchies={"disease": TREE})


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a pair of words": (lambda: read_pair("10;2"), "is not two numbers"),
    "a pair of three": (lambda: read_pair("1,2,3"), "is not two numbers"),
    "a guard without a number": (lambda: read_guard("guarding"), "COLUMN=P"),
    "levels of sensitive values without any": (lambda: assess(PLAIN, Requirements(k=2, l=2)), "no column is sensitive"),
    "a search for them": (lambda: anonymize(PLAIN, Requirements(k=2, l=2)), "no column is sensitive"),
    "(k,k) without originals": (lambda: assess(TABLE, Requirements(kk=2)), "needs the original records"),
    "a map without a population": (lambda: assess(TABLE, Requirements(k_map=2)), "need a population"),
    "a release that nothing identifies": (lambda: anonymize(NOBODY, Requirements(k=2)), "no quasi-identifier"),
    "k that the table cannot reach": (lambda: anonymize(TABLE, Requirements(k=13)), "13-anonymity"),
    "a method of no name": (lambda: anonymize(TABLE, Requirements(k=2), "mondrain"), "mondrian"),
    "processes of less than none": (lambda: MethodOptions(jobs=-1), "jobs must be at least 1"),
    "guards by a method that does not search for them": (
        lambda: anonymize(TABLE, Requirements(k=2, guard=("sex", 0.5)), "local"),
        "does not search for guards",
    ),
    "guards of persons with several rows": (
        lambda: anonymize(
            microdata([(*row, i // 2) for i, row in enumerate(ROWS)], "age sex disease! id.", person="id"),
            Requirements(k=2, guard=("sex", 0.5)),
            "mondrian",
        ),
        "every row is a person",
    ),
    "guards of nothing": (
        lambda: anonymize(PLAIN, Requirements(k=2, guard=("sex", 0.5)), "mondrian"),
        "no column is sensitive",
    ),
    "one disease of persons with several rows": (
        lambda: anonymize(
            microdata([(*row, i // 2) for i, row in enumerate(ROWS)], "age sex disease. id.", person="id"),
            Requirements(k=2),
            "same-disease",
            population=PLAIN,
        ),
        "one row a person",
    ),
    "a map of none": (lambda: k_map(TABLE, TABLE, 0), "k must be at least 1"),
    "(1,0)-anonymity": (lambda: one_k_anonymity(TABLE, TABLE, 0), "k must be at least 1"),
    "(0,1)-anonymity": (lambda: k1_anonymity(TABLE, TABLE, 0), "k must be at least 1"),
    "clusters of collapsed rows": (lambda: bottom_up(CODED, KAnonymity(2)), "one row a record"),
    "local recoding of collapsed rows": (lambda: local_recoding(CODED, KAnonymity(2)), "one row a record"),
    "relaxed cuts of collapsed rows": (lambda: mondrian(CODED, KAnonymity(2), mode="relaxed"), "one row a record"),
    "m below 1": (lambda: EpsilonM(1, 0.5, "age"), "at least 1"),
    "a width above 1": (lambda: RangeDiversity(1.5, 0.5, "age"), "between 0 and 1"),
    "a share of nothing": (lambda: RangeDiversity(0.1, 0, "age"), "between 0 and 1"),
    "a prior of other values": (lambda: posteriors(np.eye(3), np.array([0.5, 0.5])), "do not fit"),
    "a prior that adds up to more": (lambda: posteriors(np.eye(2), np.array([0.5, 0.6])), "not a distribution"),
    "chances below 0": (lambda: posteriors(np.array([[2.0, -1], [0, 1]]), np.array([0.5, 0.5])), "not a distribution"),
    "a query of what is published as it is": (
        lambda: average_relative_error(TABLE, TABLE, [{"disease": frozenset({"flu"})}]),
        "no quasi-identifier",
    ),
    "a query of no column": (lambda: average_relative_error(TABLE, TABLE, [{"aeg": (1.0, 2.0)}]), "no column 'aeg'"),
    "a query that nothing answers": (
        lambda: average_relative_error(TABLE, TABLE, [{"age": (1.0, 2.0)}]),
        "no query has",
    ),
    "above a word": (lambda: query_precision(TABLE, TABLE, "sex"), "not numeric"),
    "a label of no hierarchy": (
        lambda: average_relative_error(
            TABLE,
            microdata([("old", *row[1:]) for row in ROWS], "age sex disease!", kinds={"age": "nominal"}),
            [{"age": (20.0, 30.0)}],
        ),
        "covers no value of the original",
    ),
    "distances to what is no leaf": (
        lambda: t_closeness(table_of("lungs"), "disease", 0.5, "hierarchical"),
        "no leaf of its hierarchy",
    ),
    "a population of visits": (
        lambda: joined(
            PLAIN, microdata([(*row, i) for i, row in enumerate(ROWS)], "age sex disease. id.", person="id")
        ),
        "one row a person",
    ),
    "a population of fewer": (lambda: joined(PLAIN, microdata(ROWS[:5], "age sex disease.")), "part of it"),
    "a scheme of other columns": (
        lambda: apply_scheme(Scheme(("age",), (("*",),)), TABLE, Requirements(k=2)),
        "the scheme recodes age",
    ),
    "a scheme that is nowhere": (lambda: read_scheme(Path("no") / "such.json"), "cannot be read"),
    "a map of what no method reaches": (lambda: map_releases(TABLE, ["mondrian"], [13]), "no method reached anything"),
    "a map of no method": (lambda: map_releases(TABLE, [], [2]), "name methods and k"),
    "a map by rows of a class": (lambda: constraint_of(TABLE, Requirements(k_map=2)), "by the method mondrian alone"),
    "guards by rows of a class": (
        lambda: constraint_of(TABLE, Requirements(guard=("disease", 0.5))),
        "by the method mondrian alone",
    ),
    "a population of other values": (
        lambda: joined(PLAIN, microdata([("x", *row[1:]) for row in ROWS], "age sex disease.")),
        "table and population together",
    ),
    "one disease of who has no age": (
        lambda: recode_same_disease(microdata([*ROWS, (None, "F", "flu")], "age sex disease."), PLAIN, 2),
        "a missing quasi-identifier",
    ),
    "one disease of fewer than a cell": (lambda: recode_same_disease(PLAIN, PLAIN, 13), "12 records cannot fill"),
    "a schema of a hierarchy in memory": (
        lambda: format_schema(Schema({"disease": Column("sensitive", hierarchy=TREE)})),
        "no place in a schema file",
    ),
    "a release of more rows than there were": (lambda: classification_metric(TABLE, "sex", 11), "more rows"),
    "a label that is no column": (lambda: classification_metric(TABLE, "sexe"), "no column 'sexe'"),
    "an attack on rows that nothing speaks of": (
        lambda: exclusion_attack(TABLE, TABLE, "disease", rows=np.zeros(0, int)),
        "no row of the release",
    ),
    "epsilon below 0": (lambda: EpsilonM(-1, 2, "age"), "at least 0"),
    "a report that is nowhere": (lambda: read_report(Path("no") / "such.html", Key(bytes(32))), "cannot be read"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name: str) -> None:
    ask, said = REFUSED[name]
    with pytest.raises(DeidError) as caught:
        ask()
    assert said in str(caught.value)


def test_rows_that_stand_for_several_reach_what_single_rows_do() -> None:
    """Collapsed rows are one row a record to the methods that take them."""
    single = encode(microdata([row for row in ROWS for _ in range(2)], "age sex disease!"))
    groups = [np.bincount(mondrian(table, KAnonymity(4)), table.weights) for table in (single, CODED)]
    assert sorted(groups[0]) == sorted(groups[1])
    assert groups[0].min() >= 4
