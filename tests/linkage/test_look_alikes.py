"""Persons that look alike, against a count by hand, and against populations of which the truth is known."""

from __future__ import annotations

import itertools
import random

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from split_patients import SLIPS, again, population, table

from deid.base import spool
from deid.base.buckets import Buckets
from deid.base.errors import ConfigError
from deid.linkage import look_alikes
from deid.linkage.look_alikes import (
    LookAlikes,
    candidate_pairs,
    check_persons,
    count_look_alikes,
    look_alike,
    person_records,
)


def frame(*rows: tuple[str, ...], columns: tuple[str, ...] = ("name", "birth_date")) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(columns))


def test_given_and_family_name_in_each_others_column_are_one_person() -> None:
    columns = ("given", "family", "birth_date")
    assert (
        pairs_of(frame(("John", "Abernathy", "1960-05-06"), ("Abernathy", "John", "1960-05-06"), columns=columns)) == 1
    )
    assert (
        pairs_of(frame(("John", "Abernathy", "1960-05-06"), ("Abernathy", "Ann", "1960-05-06"), columns=columns)) == 0
    )
    assert (
        pairs_of(frame(("John", "Abernathy", "1960-05-06"), ("Abernathy", "John", "1971-02-06"), columns=columns)) == 0
    )


def pairs_of(rows: pd.DataFrame) -> int:
    found = count_look_alikes(rows)
    assert found is not None
    return found.pairs


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Margaret Thornton", "1952-03-14"), ("Maggie Thornton", "1952-03-14")),
        (("Margaret Thornton", "1952-03-14"), ("Margaret Thorton", "1952-03-14")),
        (("Margaret Thornton", "1952-03-14"), ("THORNTON, MARGARET", "03/14/1952")),
        (("John Abernathy", "1960-05-06"), ("Abernathy", "1960-05-06")),
        (("John Abernathy", "1960-05-06"), ("J. Abernathy", "1960-05-06")),
        (("John Abernathy", "1960-05-06"), ("John Abernathy", "1960-06-05")),
        (("John Abernathy", "1960-05-06"), ("Jonh Abernathy", "1960-05-06")),
        (("John Abernathy", "1960-05-06"), ("John Abernathy", "1960-05-16")),
        (("John Abernathy", "1960-05-06"), ("John Abernathy", "")),
        (("John Abernathy", "1960-05-06"), ("Abernathy John", "1960-05-06")),
        (("Maggie Thornton", "1952-03-14"), ("Thornton Margaret", "1952-03-14")),
    ],
)
def test_who_may_be_one_person(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert pairs_of(frame(one, other)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("John Abernathy", "1960-05-06"), ("John Abernathy", "1985-11-20")),  # father and son
        (("Anna Abernathy", "1960-05-06"), ("Louise Abernathy", "1960-05-06")),  # twins
        (("Ann Lee", "1960-05-06"), ("Amy Lee", "1960-05-06")),
        (("John Abernathy", "1960-05-06"), ("John Ostrander", "1960-05-06")),
    ],
)
def test_who_is_not(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert pairs_of(frame(one, other)) == 0


def test_a_telephone_number_or_an_address_stands_for_a_birth_date() -> None:
    columns = ("patient name", "telephone", "street", "zip")
    rows = [
        ("Margaret Thornton", "(617) 555-0123", "", ""),
        ("Maggie Thornton", "617.555.0123", "", ""),
        ("Henry Thornton", "617-555-0123", "", ""),
        ("Ivo Vandermeer", "", "12 Long Lane", "02139"),
        ("Ivo Vandermer", "", "12 LONG LANE", "02139-1234"),
        ("Ivo Vandermeer", "", "12 Long Lane", "90210"),
    ]
    assert pairs_of(frame(*rows, columns=columns)) == 2


def test_columns_are_known_by_their_names() -> None:
    rows = [("Thornton", "Margaret", "03/14/1952"), ("Thornton", "Peggy", "14.03.1952")]
    assert pairs_of(frame(*rows, columns=("Last Name", "first_name", "DOB"))) == 1
    assert pairs_of(frame(*rows, columns=("Nom", "Prénom", "Date de naissance"))) == 1
    assert pairs_of(frame(*rows, columns=("Zuname", "Vorname", "Geb.-Datum"))) == 1
    assert count_look_alikes(frame(("30", "flu"), columns=("age", "dx"))) is None


def test_rows_of_one_person_are_not_compared() -> None:
    rows = frame(*[("Margaret Thornton", "1952-03-14")] * 3, ("Maggie Thornton", "1952-03-14")).assign(
        person=["P1", "P1", "P1", "P2"]
    )
    found = count_look_alikes(rows, "person")
    assert found is not None
    assert (found.persons, found.pairs) == (2, 1)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["John Abernathy", "Jon Abernathy", "Johnny Abernethy", "J. Abernathy", "Mary Ostrander"]),
            st.sampled_from(["1960-05-06", "1960-06-05", "1960-05-16", "1906-05-06", "1985-11-20", ""]),
            st.sampled_from(["", "617-555-0123", "617-555-9999"]),
        ),
        min_size=2,
        max_size=12,
    )
)
def test_blocks_lose_no_pair(rows: list[tuple[str, str, str]]) -> None:
    """Every pair that looks alike is among those of a common block."""
    records = person_records(frame(*rows, columns=("name", "birth_date", "phone"))) or []
    found = {(i, j) for some in candidate_pairs(records) for i, j in some.tolist()}
    for i, j in itertools.combinations(range(len(records)), 2):
        if records[i].person != records[j].person and look_alike(records[i], records[j]):
            assert (i, j) in found


TOLD = st.tuples(
    st.sampled_from(["P1", "P2", "P3", *map(str, range(20))]),
    st.sampled_from(["John Abernathy", "Jon Abernathy; J. Abernathy", "Johnny Abernethy", "Mary Ostrander", "Cy", ""]),
    st.sampled_from(["1960-05-06", "1960-06-05", "1960-05-16", "1985-11-20", ""]),
    st.sampled_from(["", "617-555-0123", "617-555-9999; 6175550123"]),
    st.sampled_from(["", "7", "8"]),
)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(TOLD, min_size=1, max_size=25), st.integers(1, 9), st.randoms())
def test_the_count_is_that_of_all_pairs_in_memory_and_on_disk(
    told: list[tuple[str, ...]], some: int, chance: random.Random
) -> None:
    """Whatever the order of the rows, and into how many parts they are cut."""
    rows = frame(*told, columns=("person", "name", "birth_date", "phone", "mrn"))
    records = person_records(rows, "person") or []
    alike = {
        frozenset((a.person, b.person))
        for a, b in itertools.combinations(records, 2)
        if a.person != b.person and look_alike(a, b)
    }
    found = count_look_alikes(rows, "person")
    assert found is not None
    assert (found.persons, found.pairs) == (len({row[0] for row in told}), len(alike))
    chance.shuffle(told)
    rows = frame(*told, columns=("person", "name", "birth_date", "phone", "mrn"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "_SORTED", 3)
        patch.setattr(look_alikes, "_AT_ONCE", 4)
        patch.setattr(Buckets, "held", 0)
        assert count_look_alikes((rows[n : n + some] for n in range(0, len(rows), some)), "person") == found


def test_sixty_patients_who_come_twice_are_found() -> None:
    found = count_look_alikes(table(60, 60))
    assert found is not None
    assert found.persons == 120
    assert 0.45 < found.share <= 0.5


@pytest.mark.parametrize("slip", SLIPS)
def test_every_way_to_be_written_twice_is_found(slip: str) -> None:
    random_of = random.Random(3)
    rows = population(40, 5)
    found = pd.DataFrame([*rows, *(again(row, slip, random_of) for row in rows)], columns=list("nbspazd")).set_axis(
        ["name", "birth_date", "sex", "phone", "street", "zip", "dx"], axis=1
    )
    assert pairs_of(found) >= 38


@pytest.mark.parametrize(("persons", "split"), [(3000, 0), (3000, 15), (3000, 90)])
def test_the_estimate_is_near_the_truth_in_a_population(persons: int, split: int) -> None:
    found = count_look_alikes(table(persons, split))
    assert found is not None
    assert found.split == pytest.approx(split, abs=4)


def test_chance_is_taken_off_where_names_and_birthdays_are_few() -> None:
    """Thirty-two names: hundreds of look-alikes, none of whom is split."""
    random_of = random.Random(4)
    given = ["John", "Mary", "Peter", "Louise"]
    family = ["Abernathy", "Ostrander", "Quarrymane", "Vandermeer", "Tillbrook", "Ashgrove", "Pellingham", "Thornton"]
    rows = [
        (
            f"{random_of.choice(given)} {random_of.choice(family)}",
            f"{random_of.randint(1920, 1999)}-{random_of.randint(1, 12):02}-{random_of.randint(1, 28):02}",
        )
        for _ in range(3000)
    ]
    found = count_look_alikes(frame(*rows))
    assert found is not None
    assert found.pairs > 150
    assert found.share < 0.01


def test_the_order_of_rows_changes_nothing() -> None:
    rows = table(400, 30)
    mixed = rows.sample(frac=1, random_state=1).reset_index(drop=True)
    assert count_look_alikes(rows) == count_look_alikes(mixed)


def test_levels_by_person_are_refused_unless_somebody_answers_for_them() -> None:
    check_persons(None, as_given=False)
    check_persons(LookAlikes(1000, 12, 12, 3.0), as_given=False)
    split = LookAlikes(1000, 12, 12, 1.0)
    with pytest.raises(ConfigError, match="--persons-as-given"):
        check_persons(split, as_given=False)
    check_persons(split, as_given=True)
    assert LookAlikes.from_dict(split.as_dict()) == split


def test_a_name_of_thousands_does_not_take_forever() -> None:
    """Four thousand rows of one name without a birth date: blocks are looked through by neighbours."""
    found = count_look_alikes(frame(*[("John Smith",)] * 4_000, columns=("name",)))
    assert found is not None
    assert found.pairs < 4_000 * 51
