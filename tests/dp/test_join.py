"""Two tables of the same persons: joined as a database would, and a person more changes that person's rows alone."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_dp_commands import deid

from deid.base.errors import ConfigError
from deid.dp.join import joining
from deid.dp.unit import bounded_rows

CELL = st.sampled_from(["", "a", "1.0", "é", 'x,"y"'])
VISITS = st.lists(st.tuples(CELL, CELL), max_size=4)
RECORDS = st.lists(st.tuples(CELL), max_size=3)


def tables(persons: list[tuple[list[Any], list[Any]]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    visits = [(f"p{who}", *row) for who, (own, _) in enumerate(persons) for row in own]
    records = [(f"p{who}", *row) for who, (_, own) in enumerate(persons) for row in own]
    return (pd.DataFrame(visits, columns=["id", "ward", "x"], dtype="string"),
            pd.DataFrame(records, columns=["id", "sex"], dtype="string"))  # fmt: skip


@settings(max_examples=40)
@given(st.lists(st.tuples(VISITS, RECORDS), max_size=4), st.tuples(VISITS, RECORDS), st.randoms())
def test_a_person_more_changes_no_row_of_another(persons: list[Any], more: Any, order: Any) -> None:
    """The sensitivity by brute force: of the rows that count, at most the bound differs."""
    seen = []
    for own in (persons, [*persons, more]):
        first, second = tables(own)
        rows = list(range(len(second)))
        order.shuffle(rows)
        joined = joining(second.iloc[rows], "id")(first)
        kept = joined[bounded_rows(joined, "id", 2).keep]
        seen.append([tuple(row) for row in kept.fillna("-").to_numpy().tolist()])
    assert [row for row in seen[1] if row[0] != f"p{len(persons)}"] == seen[0]
    assert len(seen[1]) - len(seen[0]) <= 2


def test_it_is_the_join_of_a_database() -> None:
    first = pd.DataFrame({"id": ["1", "2", "2", "", "9"], "sex": ["?"] * 5, "n": list("abcde")}, index=[4, 4, 1, 0, 7])
    second = pd.DataFrame({"sex": ["F", "M", "X"], "id": ["2.0", "1", ""], "age": ["7", "8", "9"]})
    found = joining(second, "id")(first)
    assert found.columns.tolist() == ["id", "sex", "n", "joined.sex", "age"]
    oracle = first.merge(second.assign(id=["2", "1", "-"]), "left", "id")
    assert found["joined.sex"].fillna("").tolist() == oracle["sex_y"].fillna("").tolist()
    assert found["age"].fillna("").tolist() == oracle["age"].fillna("").tolist()
    assert found.index.tolist() == first.index.tolist()
    assert joining(second.iloc[:0], "id")(first)["age"].isna().all()
    assert len(joining(second, "id")(first.iloc[:0])) == 0
    with pytest.raises(ConfigError, match="already"):
        joining(second.rename(columns={"age": "joined.sex"}), "id")(first)
    with pytest.raises(ConfigError):
        joining(second, "who")


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    visits = pd.DataFrame({"id": [str(n % 300) for n in range(900)], "ward": ["a", "b", "c"] * 300})
    visits.to_csv("visits.csv", index=False)
    pd.DataFrame({"id": range(300), "sex": ["F", "M", "M"] * 100}).to_csv("patients.csv", index=False)
    deid("budget", "init", "l.db", "--epsilon", "60", "--unit", "patient", "--max-rows", "3")
    asked = ("--join", "patients.csv", "--person", "id", "--ledger", "l.db", "--epsilon", "10", "--domain", "sex=F,M",
             "--domain", "ward=a,b,c")  # fmt: skip
    shown = deid("query", "visits.csv", "SELECT COUNT(*) WHERE ward != 'a' GROUP BY sex", *asked)
    counts = pd.read_csv(io.StringIO(shown))["value"].tolist()
    assert counts == pytest.approx([0, 600], abs=10)  # women are in ward a
    deid("cube", "visits.csv", "--dims", "sex,ward", "--method", "cells", *asked, "-o", "c.csv")
    cube = pd.read_csv(io.StringIO(deid("slice", "c.csv", "--dims", "sex")))
    assert cube["count"].tolist() == pytest.approx([300, 600], abs=20)
    assert "rows" in deid("query", "none.csv", "SELECT MEAN(age)", *asked, "--domain", "age=0..9", "--dry-run")
    with pytest.raises(ConfigError, match="joined by the person"):
        deid(
            "query", "visits.csv", "SELECT COUNT(*)", *asked[:2], "--epsilon", "1", "--ledger", "l.db", "--assert-bound"
        )
    deid("budget", "init", "r.db", "--epsilon", "1")
    with pytest.raises(ConfigError, match="protects single ones"):
        deid("cube", "visits.csv", "--dims", "sex", *asked[:4], "--ledger", "r.db", *asked[6:], "-o", "d.csv")
