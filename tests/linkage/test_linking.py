"""Who is who in a table: by exact rules, with what speaks against, and the same in whatever order rows come."""

from __future__ import annotations

import random

import pandas as pd
import pytest

from deid.base.errors import ConfigError, InputError
from deid.linkage.clustering import Edge, Facts, cluster, near
from deid.linkage.columns import kinds_of, read_records, sound
from deid.linkage.linking import LinkOptions, link_table

COLUMNS = ("name", "birth_date", "sex", "mrn", "phone")
ROWS = [
    ("Margaret Thornton", "1950-03-04", "F", "4711203", "617-555-0101"),
    ("Maggie Thornton", "03/04/1950", "F", None, "(617) 555-0101"),
    ("THORNTON, M.", "1950-04-03", "F", "4711203", None),
    ("Anna Berg", "1980-01-01", "F", "100200", "617-555-0199"),
    ("Maria Berg", "1980-01-01", "F", "100317", "617-555-0199"),
    ("John Hale", "1941-05-06", "M", None, "617-555-0111"),
    ("John Hale Jr.", "1970-09-12", "M", None, "617-555-0111"),
]


def table(rows: list[tuple[str | None, ...]], columns: tuple[str, ...] = COLUMNS) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns), dtype="string")


def groups(person: list[str]) -> set[frozenset[int]]:
    return {frozenset(i for i, own in enumerate(person) if own == one) for one in person}


def test_exact_rules_join_what_is_equal_and_keep_apart_what_contradicts() -> None:
    linked = link_table(table(ROWS), EXACT)
    assert groups(linked.person) == {
        frozenset({0, 1, 2}),
        frozenset({3}),
        frozenset({4}),
        frozenset({5}),
        frozenset({6}),
    }
    assert linked.refused == {"birth dates far apart": 1}
    assert linked.review[["row_a", "row_b"]].to_numpy().tolist() == [[6, 7]]


def test_the_order_of_rows_changes_nothing() -> None:
    person = link_table(table(ROWS), EXACT).person
    for seed in range(5):
        places = random.Random(seed).sample(range(len(ROWS)), len(ROWS))
        again = link_table(table([ROWS[i] for i in places]), EXACT).person
        assert again == [person[i] for i in places]


def test_ids_of_known_persons_stay_and_new_ones_go_on() -> None:
    old = table(ROWS[:1] + ROWS[3:4]).assign(person=["P7", "P3"])
    linked = link_table(table([*ROWS[1:3], ROWS[4]]), EXACT, known=old)
    assert linked.person == ["P7", "P7", "P8"]
    with pytest.raises(InputError, match="a known row without a person"):
        link_table(table(ROWS), EXACT, known=table(ROWS[:1]).assign(person=[None]))


def test_two_known_persons_never_become_one() -> None:
    old = table([ROWS[0], ROWS[0]]).assign(person=["P1", "P2"])
    linked = link_table(table(ROWS[:1]), EXACT, known=old)
    assert linked.person[0] in ("P1", "P2")
    assert set(linked.refused) == {"two known persons"}


def test_rows_that_were_of_one_person_stay_so() -> None:
    rows = table([("Ann Lee", None, None, None, None), ("Bo Ray", None, None, None, None)]).assign(person=["a", "a"])
    assert len(set(link_table(rows, EXACT).person)) == 1


def test_columns_that_say_nothing_are_left_out() -> None:
    rows = table(ROWS).assign(ward="W1", clinic=None, id=[str(i) for i in range(len(ROWS))], zip=None)
    assert kinds_of(rows) == {
        "name": "name", "birth_date": "birth", "sex": "sex", "mrn": "number", "phone": "phone",
    }  # fmt: skip
    assert kinds_of(rows.assign(id=list("7789991")), {"ward": "none"})["id"] == "number"
    with pytest.raises(ConfigError, match="no column tells who a row is of"):
        link_table(pd.DataFrame({"age": ["3"], "dx": ["flu"]}), EXACT)
    with pytest.raises(ConfigError, match="there is no kind 'nmae'"):
        kinds_of(rows, {"name": "nmae"})


def test_numbers_that_stand_for_none_join_nobody() -> None:
    rows = table([(f"{name} Berg", None, None, mrn, None) for name in ("Ann", "Bo") for mrn in ("000000", "99-99-99")])
    assert len(set(link_table(rows, EXACT).person)) == 4
    many = table([(f"P{i} Berg", None, None, "4711203", None) for i in range(60)])
    assert len(set(link_table(many, EXACT).person)) == 60


def test_cells_are_brought_to_one_form() -> None:
    rows = pd.DataFrame(
        {"surname": ["O'Neill", "Cruz-López"], "given_name": ["Peggy", "J."], "dob": ["31/12/1950", "1.2.1950"],
         "telephone": ["(617) 555-0101 x4", "12"], "maiden_name": ["Hart", None]}
    )  # fmt: skip
    records = read_records(rows, kinds_of(rows))
    assert records["full_given"].tolist() == ["margaret", "j"]
    assert records["families"].tolist() == [("hart", "oneill"), ("cruz", "lopez")]
    assert records["birth"].tolist() == ["19501231", "19500201"]
    assert records["phone"].tolist() == ["6175550101", None]
    assert sound("rupert") == sound("robert") != sound("rubin")


def test_one_slip() -> None:
    for a, b in (("4711203", "4711263"), ("4711203", "4712103"), ("4711203", "471203"), ("abc", "abcd")):
        assert near(a, b)
        assert near(b, a)
    assert not near("4711203", "4711322")


def test_the_heaviest_pairs_are_joined_first_and_no_chain_joins_what_contradicts() -> None:
    facts = [Facts(births=frozenset({"19400101"})), Facts(), Facts(births=frozenset({"19700912"}))]
    found = cluster(facts, [Edge(3.0, 0, 1), Edge(5.0, 1, 2)])
    assert found.person == [0, 1, 1]
    assert [why for _, why in found.refused] == ["birth dates far apart"]


EXACT = LinkOptions()
