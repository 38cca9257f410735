from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from deid.disclosure.risk import population_risk
from deid.disclosure.same_disease import recode_same_disease
from deid.errors import ConfigError, InputError
from deid.microdata import Microdata

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
    assert found.risks.tolist() == [1, 1, 1, 0.5, 0.5, 0.5]
    assert found.average_risk == pytest.approx(0.75)
    release = Microdata(found.frame, ROLES, kinds={"zip": "nominal"})
    risk = population_risk(release, table(PEOPLE))
    assert (risk.instance.average, risk.journalist.average) == (pytest.approx(0.75), pytest.approx(0.25))


def test_small_cells_can_overlap_in_what_they_publish() -> None:
    found = recode_same_disease(table(PATIENTS), table(PEOPLE), 2, prefixes=["zip"])
    assert np.bincount(found.cells).min() >= 2
    release = Microdata(found.frame, ROLES, kinds={"zip": "nominal"})
    published = population_risk(release, table(PEOPLE)).instance.average
    assert published <= found.average_risk  # the risk within a cell is the cautious one


def test_larger_cells_lower_the_risk_on_average() -> None:
    rng = np.random.default_rng(3)
    risks = []
    people = [(f"0{rng.integers(1000, 1040)}", f"{rng.integers(1930, 1990)}-01-01") for _ in range(3000)]
    sick = [people[i] for i in rng.choice(3000, 150, replace=False)]
    for least in (2, 5, 10, 40):
        risks.append(recode_same_disease(table(sick), table(people), least, prefixes=["zip"]).average_risk)
    assert sorted(risks, reverse=True) == risks


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="cell of 9"):
        recode_same_disease(table(PATIENTS), table(PEOPLE), 9)
    with pytest.raises(InputError, match="more records than members"):
        recode_same_disease(table(PATIENTS), table(PEOPLE[:4]), 2)
