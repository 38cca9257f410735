from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from deid.base.errors import ConfigError, InputError
from deid.disclosure.risk import population_risk
from deid.disclosure.same_disease import _common as label_of
from deid.disclosure.same_disease import recode_same_disease
from deid.table.microdata import Microdata

ROLES = {"zip": "quasi-identifier", "birth": "quasi-identifier"}
PEOPLE = [
    ("00101", "1927-07-15"),
    ("00101", "1927-05-28"),
    ("00101", "1927-10-26"),
    ("00202", "1935-01-02"),
    ("00202", "1935-02-03"),
    ("00202", "1935-10-24"),
    ("00202", "1935-05-13"),
    ("00202", "1935-09-26"),
    ("00202", "1935-09-26"),
]


def table(rows: list[tuple[str, str]]) -> Microdata:
    return Microdata(pd.DataFrame(rows, columns=["zip", "birth"]), ROLES, kinds={"zip": "nominal"})


PATIENTS = [*PEOPLE[:3], PEOPLE[3], PEOPLE[6], PEOPLE[8]]


def test_the_worked_example() -> None:
    found = recode_same_disease(table(PATIENTS), table(PEOPLE), 3, prefixes=["zip"])
    assert found.frame["zip"].tolist() == ["00101"] * 3 + ["00202"] * 3
    assert found.frame["birth"].tolist() == ["[1927-01-01/1927-12-31]"] * 3 + ["[1935-01-01/1935-12-31]"] * 3
    assert found.risk.r.tolist() == [1, 0.5]
    assert found.risk.instance.average == found.cut_risk == pytest.approx(0.75)
    release = Microdata(found.frame, ROLES, kinds={"zip": "nominal"})
    risk = population_risk(release, table(PEOPLE))
    assert (risk.instance.average, risk.journalist.average) == (pytest.approx(0.75), pytest.approx(0.25))


@pytest.mark.parametrize("least", [1, 2, 3])
def test_the_risk_is_that_of_what_is_published(least: int) -> None:
    rng = np.random.default_rng(least)
    people = [
        (f"0{rng.integers(1000, 1012)}", f"{rng.integers(1930, 1950)}-{rng.integers(1, 13):02}-01") for _ in range(600)
    ]
    sick = [people[i] for i in rng.choice(600, 30, replace=False)]
    found = recode_same_disease(table(sick), table(people), least, prefixes=["zip"])
    assert np.bincount(found.cells).min() >= least
    rows = list(zip(found.frame["zip"], found.frame["birth"], strict=True))

    def matches(row: tuple[str, str], person: tuple[str, str]) -> bool:
        code, birth = row[0].rstrip("*"), row[1].strip("[]").split("/")
        return person[0].startswith(code) and birth[0] <= person[1] <= birth[-1]

    risks = [rows.count(row) / sum(matches(row, person) for person in people) for row in rows]
    assert found.risk.instance.average == pytest.approx(np.mean(risks))
    assert found.risk.instance.highest == pytest.approx(max(risks))


def test_a_cell_may_hold_the_only_one_of_the_population_who_is_there() -> None:
    """Whoever asks for cells of one gets them, and is told that this one is surely ill."""
    people = [("00101", "1930-01-01"), *[("00101", f"{year}-01-01") for year in (1950, 1951, 1952)]]
    found = recode_same_disease(table([people[0], people[2]]), table(people), 1)
    assert found.cells.tolist() == [0, 1]
    assert found.risk.r[0] == 1


def test_visits_of_one_person_count_once() -> None:
    persons = ["a", "a", "b", "c", "d", "e"]  # two visits of one patient
    roles = ROLES | {"id": "identifier"}
    frame = pd.DataFrame(PATIENTS, columns=["zip", "birth"]).assign(id=persons)
    found = recode_same_disease(
        Microdata(frame, roles, person="id", kinds={"zip": "nominal"}), table(PEOPLE), 3, prefixes=["zip"]
    )
    assert found.risk.r.tolist() == [2 / 3, 0.5]  # of three persons two are ill, of six three


def test_larger_cells_lower_the_risk_on_average() -> None:
    rng = np.random.default_rng(3)
    risks = []
    people = [(f"0{rng.integers(1000, 1040)}", f"{rng.integers(1930, 1990)}-01-01") for _ in range(3000)]
    sick = [people[i] for i in rng.choice(3000, 150, replace=False)]
    for least in (1, 2, 5, 10):
        risks.append(recode_same_disease(table(sick), table(people), least, prefixes=["zip"]).risk.instance.average)
    assert sorted(risks, reverse=True) == risks


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="cell of 9"):
        recode_same_disease(table(PATIENTS), table(PEOPLE), 9)
    with pytest.raises(InputError, match="more records than members"):
        recode_same_disease(table(PATIENTS), table(PEOPLE[:4]), 2)


@pytest.mark.parametrize(
    ("values", "kind", "common"),
    [
        (["M", "F"], "nominal", "{F,M}"),
        (["7", "7"], "numeric", "7"),
        (["7", "9.5", "10"], "numeric", "[7-10]"),
        (["01234", "01299", "01277"], "prefix", "012**"),
        (["01234", "91234"], "prefix", "*"),
        (["1930-03-01", "1934-02-02"], "date", "[1930-01-01/1934-12-31]"),
    ],
)
def test_a_cell_has_the_most_detailed_label_that_fits_all(values: list[str], kind: str, common: str) -> None:
    assert label_of(sorted(set(values)), kind) == common
