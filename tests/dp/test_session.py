"""Sessions: composition, sensitivity, intervals, answers."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recording import RecordingNoise
from scipy.stats import beta
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError
from deid.cli.main import app
from deid.dp import QuerySession
from deid.dp.aggregates import Drawing, noisy_quantiles, noisy_sum, noisy_top
from deid.dp.budget import BudgetExceeded, Ledger
from deid.dp.domain import declare
from deid.dp.epsilon import NANO
from deid.dp.moments import noisy_moments
from deid.dp.noise import SeededNoise
from deid.dp.plan import say_left_out
from deid.dp.query_answer import QueryAnswer
from deid.dp.query_language import parse_query
from deid.dp.unit import PrivacyUnit
from deid.dp.view import TableView

DIMENSIONS = (
    declare("age", {"range": [0, 100]}),
    declare("sex", {"values": ["F", "M"]}),
    declare("ward", {"values": ["a", "b", "c", "d"]}),
    declare("dose", {"edges": [0, 5, 10]}),
)


def visits(rows: int = 1200) -> pd.DataFrame:
    generator = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "age": generator.integers(0, 101, rows),
            "sex": generator.choice(["F", "M"], rows),
            "ward": generator.choice(["a", "b", "c", "d"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "dose": generator.random(rows) * 10,
            "patient": [f"p{number % 400}" for number in range(rows)],
        }
    )


def asked(frame: pd.DataFrame, unit: PrivacyUnit | None = None, noise: Any = None, **options: Any) -> QuerySession:
    return QuerySession(frame, DIMENSIONS, None, noise=noise or SeededNoise(5), unit=unit, **options)


def with_ledger(tmp_path: Path, epsilon: float = 1.0, unit: PrivacyUnit | None = None) -> tuple[QuerySession, Ledger]:
    ledger = Ledger.create(tmp_path / "l.db", epsilon, unit or PrivacyUnit())
    person = "patient" if unit else None
    return QuerySession(visits(), DIMENSIONS, ledger, person=person, noise=SeededNoise(1)), ledger


def spent(ledger: Ledger) -> float:
    return ledger.account().spent / NANO


def test_half_and_half_and_no_more(tmp_path: Path) -> None:
    session, ledger = with_ledger(tmp_path)
    session.table.count(0.5)
    session.table.where("sex = 'F'").count(0.5)  # a filter is no partition: its cost is added
    with pytest.raises(BudgetExceeded):
        session.table.count(0.1)
    assert spent(ledger) == 1.0


def test_parts_cost_their_maximum_and_never_their_sum(tmp_path: Path) -> None:
    session, ledger = with_ledger(tmp_path)
    parts = session.table.partition("ward")
    assert list(parts) == ["a", "b", "c", "d"]
    for part in parts.values():
        part.count(0.5)
    assert spent(ledger) == 0.5
    parts["a"].count(0.2)
    assert spent(ledger) == 0.7
    parts["b"].where("sex = 'F'").sum("age", 0.2)
    assert spent(ledger) == 0.7
    session.table.where("age > 50").partition("ward")["c"].count(0.2)  # the same partition of another view
    assert spent(ledger) == 0.7
    for inner in parts["d"].partition("sex").values():
        inner.count(0.2)
    assert spent(ledger) == 0.7


def test_whole_tables_and_other_partitions_are_never_charged_as_parts(tmp_path: Path) -> None:
    session, ledger = with_ledger(tmp_path, 5.0)
    session.table.partition("ward")["a"].count(0.5)
    session.table.count(0.5)
    assert spent(ledger) == 1.0
    session.table.partition("sex")["F"].count(0.5)
    assert spent(ledger) == 1.5


def test_persons_fall_into_other_parts_than_their_rows(tmp_path: Path) -> None:
    """The first visit of a patient may be in ward a, another one in ward b: these parts are not disjoint."""
    session, ledger = with_ledger(tmp_path, 5.0, PrivacyUnit("patient", "add-remove", 3))
    session.table.partition("ward")["a"].count(0.5)
    session.table.by_person().partition("ward")["b"].count(0.5)
    assert spent(ledger) == 1.0
    session.table.by_person("last").partition("ward")["c"].count(0.5)
    assert spent(ledger) == 1.5
    session.table.by_person().partition("ward")["c"].count(0.5)
    assert spent(ledger) == 1.5


def test_parts_of_a_table_in_another_order_are_the_same_parts(tmp_path: Path) -> None:
    """Of persons they are others: which row of a person is the first hangs on the order."""
    unit = PrivacyUnit("patient", "add-remove", 3)
    ledger = Ledger.create(tmp_path / "l.db", 5.0, unit)
    for number, (frame, ward) in enumerate(((visits(), "a"), (visits()[::-1], "b"))):
        session = QuerySession(frame, DIMENSIONS, ledger, noise=SeededNoise(5), unit=unit, person="patient")
        session.table.partition("ward")[ward].count(0.5)
        assert spent(ledger) == 0.5 + 0.5 * number
        session.table.by_person().partition("ward")[ward].count(0.5)
        assert spent(ledger) == 1.0 + number * 0.5


def test_noise_fits_rows_persons_and_parts() -> None:
    unit = PrivacyUnit("patient", "add-remove", 3)
    noise = RecordingNoise()
    table = asked(visits(), unit, noise, person="patient").table
    table.count(1.0)
    table.by_person().count(1.0)
    table.partition("ward")["a"].by_person().count(1.0)  # a patient may be in three wards
    table.count_persons(1.0)
    table.partition("ward")["a"].count_persons(1.0)
    assert [sensitivity for *_, sensitivity, _ in noise.entered] == [3, 1, 3, 1, 3]
    replaced = RecordingNoise()
    asked(visits(), PrivacyUnit("patient", "replace", 3), replaced, person="patient").table.by_person().count(1.0)
    assert replaced.entered[0][2] == 2


def test_one_person_is_counted_once_however_the_id_is_written() -> None:
    frame = visits(6).assign(patient=["7", "7.0", " 7", "8", None, "8"])
    session = asked(frame, PrivacyUnit("patient", max_rows=3), person="patient", report_share=0)
    assert session.query("SELECT COUNT(PERSONS)", 1e7).value == 2
    assert session.query("SELECT COUNT(*)", 1e7).value == 5


def test_more_groups_than_can_be_told_are_refused() -> None:
    columns = [declare(name, {"range": [0, 100]}) for name in "ab"]
    session = QuerySession.rehearsal(columns, PrivacyUnit())
    assert session.check("SELECT COUNT(*) GROUP BY a", 1.0)
    with pytest.raises(ConfigError, match="GROUP BY has too many parts"):
        session.check("SELECT COUNT(*) GROUP BY a, b", 1.0)


def test_questions_that_differ_are_described_differently() -> None:
    texts = ["COUNT(*)", "COUNT(*) WITH SAMPLING", "MEDIAN(a)", "MEDIAN(a) WITH INTERVAL", "MEDIAN(a) WITH SAMPLING",
             "COUNT(*), MEDIAN(a)", "COUNT(*) GROUP BY a", "MEAN(a, 0, 1)", "MEAN(a)"]  # fmt: skip
    assert len({parse_query(f"SELECT {text}").described() for text in texts}) == len(texts)


def test_what_was_left_out_is_told_in_words() -> None:
    told = {"told": True, "plus_minus": 2.5, "persons_with_too_many_rows": 3, "rows_outside_domains": 4,
            "persons_outside_domains": 5}  # fmt: skip
    assert say_left_out(told) == [
        "persons who lost rows to the bound, with noise: 3 (plus or minus 2.5)",
        "rows with a cell outside the declared domains, with noise: 4 (plus or minus 2.5)",
        "persons with an event outside the declared domains, with noise: 5 (plus or minus 2.5)",
    ]
    assert say_left_out({"told": True, "plus_minus": 1.0}) == say_left_out({"told": False}) == []


def test_counting_persons_by_group_counts_them_in_each_group() -> None:
    frame = pd.DataFrame(
        {"age": 1, "sex": "F", "ward": ["a", "b", "a", "b"], "dose": 1.0, "patient": ["p", "p", "q", "q"]}
    )
    noise = RecordingNoise()
    session = asked(frame, PrivacyUnit("patient", "add-remove", 2), noise, person="patient")
    answer = session.query("SELECT COUNT(PERSONS) GROUP BY ward", 100.0)
    assert [row["value"] for row in answer.rows] == [2, 2, 0, 0]
    assert {sensitivity for *_, sensitivity, _ in noise.entered} == {2}


ROW = st.tuples(
    st.integers(-5, 120), st.sampled_from("FM"), st.sampled_from("abcd"), st.floats(-1, 12), st.sampled_from("pqr")
)
QUERIES = (
    "SELECT COUNT(*) WHERE age > 20",
    "SELECT COUNT(PERSONS) WHERE age > 20",
    "SELECT COUNT(PERSONS) GROUP BY ward",
    "SELECT SUM(age)",
    "SELECT SUM(dose * 2 - 3, -4, 9) GROUP BY ward, sex",
    "SELECT SUM(dose, 0, 12) PER PERSON SUM",
    "SELECT MEAN(dose) WHERE sex = 'F'",
    "SELECT MEAN(age) PER PERSON MAX GROUP BY ward",
    "SELECT MEDIAN(age) GROUP BY sex",
    "SELECT QUANTILE(dose, 0.9)",
    "SELECT HISTOGRAM(ward) PER PERSON",
    "SELECT TOP(2, ward) GROUP BY sex",
)


@settings(max_examples=80)
@given(st.sampled_from(QUERIES), st.lists(ROW, max_size=8), st.lists(ROW, min_size=1, max_size=2), st.integers(0, 9))
def test_neighbours_cost_at_most_epsilon(query: str, rows: list[Any], own: list[Any], seed: int) -> None:
    """A person with two rows more: the losses of all that enters the noise add up to at most epsilon."""
    columns = ["age", "sex", "ward", "dose", "patient"]
    added = [(*row[:4], "new") for row in own]
    unit = PrivacyUnit("patient", "add-remove", 2)
    entered = []
    for table in (rows, [*rows, *added]):
        noise = RecordingNoise(seed)
        frame = pd.DataFrame(table, columns=columns).astype({"age": float, "dose": float})
        asked(frame, unit, noise, person="patient").query(query, 1.0)
        entered.append(noise.entered)
    loss = 0.0
    for (kind, one, sensitivity, epsilon), (_, two, *_) in zip(*entered, strict=True):
        if one.shape != two.shape:
            break
        with np.errstate(invalid="ignore"):
            moved = np.nan_to_num(np.abs(one - two))
        loss += (moved.max(initial=0) if kind == "choose" else moved.sum()) / sensitivity * epsilon
        if kind == "choose" and "TOP" in query and moved.any():
            break  # what is chosen next depends on what was chosen here
    assert loss <= 1.0 + 1e-6


def test_no_noise_leads_to_the_truth() -> None:
    """With a huge epsilon answers are those of pandas; the ages of the lecture: three of four are below 40."""
    ages = pd.DataFrame({"age": [20, 23, 25, 40], "sex": list("MFMF"), "ward": "a", "dose": 1.0})
    assert asked(ages).query("SELECT COUNT(*) WHERE age < 40", 100.0).value == 3
    frame = visits()
    session = asked(frame)
    assert session.query("SELECT SUM(age)", 1e6).value == frame["age"].sum()
    assert session.query("SELECT MEAN(dose)", 1e4).value == pytest.approx(frame["dose"].mean(), abs=1e-3)
    assert session.query("SELECT MEDIAN(age)", 1e4).value == frame["age"].median()
    for share in (0, 0.05, 0.33, 0.9, 1):
        found = session.query(f"SELECT QUANTILE(age, {share})", 1e6).value
        assert found in {frame["age"].quantile(share, interpolation=how) for how in ("lower", "higher")}
    for together in ("COUNT(dose * 2), MEAN(dose * 2, 5, 15)", "MEAN(dose * 2, 5, 15), COUNT(dose * 2)"):
        found = [row["value"] for row in session.query(f"SELECT {together}", 1e6).rows]
        assert max(found) == 1200
        assert min(found) == pytest.approx((frame["dose"] * 2).clip(5, 15).mean(), abs=1e-3)
    assert session.query("SELECT VARIANCE(dose)", 1e6).value == pytest.approx(frame["dose"].var(), rel=1e-3)
    assert session.query("SELECT SD(dose)", 1e6).value == pytest.approx(frame["dose"].std(), rel=1e-3)
    assert session.query("SELECT COUNT(DISTINCT ward)", 1e4).value == 4
    grouped = session.query("SELECT COUNT(*) GROUP BY sex, ward", 100.0).to_frame().set_index(["sex", "ward"])["value"]
    assert grouped.to_dict() == frame.groupby(["sex", "ward"]).size().to_dict()
    top = session.query("SELECT TOP(2, ward)", 1000.0).to_frame()
    assert top["ward"].tolist() == ["a", "b"]
    assert top["value"].tolist() == frame["ward"].value_counts().head(2).tolist()
    hours = session.table.select("doubled", "dose * 2", 0, 20)
    assert hours.mean("doubled", 1e4).value == pytest.approx(2 * frame["dose"].mean(), abs=1e-2)
    persons = asked(frame, PrivacyUnit("patient", "add-remove", 3), person="patient")
    total = frame.groupby("patient")["dose"].sum()
    assert persons.query("SELECT SUM(dose, 0, 30) PER PERSON SUM", 1e4).value == pytest.approx(total.sum(), abs=0.1)


@pytest.mark.parametrize("kind", ["sum", "mean", "median", "ninety"])
def test_intervals_cover_their_level(kind: str) -> None:
    """At least 95 % of 300 intervals; below 89 % by chance with probability under 1e-4."""
    values = np.random.default_rng(0).random(500) ** 2 * 10
    inside = 0
    for seed in range(300):
        noise = SeededNoise(seed)
        if kind == "sum":
            found, true = noisy_sum(values, 0, 10, Drawing(0.5, noise, 1, 0.95)), values.sum()
        elif kind == "mean":
            found, true = noisy_moments(values, ["MEAN"], 0, 10, Drawing(0.5, noise, 1, 0.95))[0], values.mean()
        else:
            share = 0.5 if kind == "median" else 0.9
            found = noisy_quantiles(values, [share], 0, 10, Drawing(1.0, noise, 1, 0.95), interval=True)[0]
            true = float(np.quantile(values, share, method="inverted_cdf"))
        inside += found.lower <= true <= found.upper
        assert found.lower <= found.value <= found.upper
    assert inside / 300 >= 0.89


def test_sums_of_huge_whole_numbers_do_not_overflow() -> None:
    values = np.full(50_000, 1e15)
    found = noisy_sum(values, 0, 1e15, Drawing(10.0, SeededNoise(0), 1, 0.95), whole=True)
    assert found.value == pytest.approx(5e19, rel=1e-3)


def test_several_aggregates_share_one_epsilon() -> None:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"age": draw.integers(0, 50, 4000), "sex": draw.choice(["F", "M"], 4000)}).astype("string")
    columns = [declare("age", {"range": [0, 99]}), declare("sex", {"values": ["F", "M"]})]
    session = QuerySession(frame, columns, None, noise=SeededNoise(1), report_share=0)
    text = "SELECT COUNT(*), MEAN(age), SD(age), QUARTILES(age), COUNT(DISTINCT age) GROUP BY sex"
    answer = session.query(text, 50.0)
    told = answer.to_frame()
    assert answer.epsilon == 50.0
    ages = frame["age"].astype(int)
    for sex in ("F", "M"):
        own = ages[frame["sex"] == sex]
        found = told[told["sex"] == sex].set_index("aggregate")["value"]
        true = [len(own), own.mean(), own.std(ddof=0), *own.quantile([0.25, 0.5, 0.75]), 50]
        assert found.tolist() == pytest.approx(true, abs=1.5)
    assert told["share"].dropna().tolist() == ["0.25", "0.5", "0.75"] * 2
    for wrong, message in (
        ("SELECT COUNT(*), TOP(1, sex)", "answers of their own"),
        ("SELECT QUANTILES(age, (0.5, 2))", "between 0 and 1"),
        ("SELECT QUANTILES(age, 0.5)", r"'0.5' at character"),
        ("SELECT MEDIAN(age) WITH", "ends too early"),
        ("SELECT VARIANCE(sex)", "no declared bounds"),
    ):
        with pytest.raises(ConfigError, match=message):
            session.query(wrong, 1.0)


@given(
    st.permutations(["SUM(los)", "MEAN(los)", "VARIANCE(los)", "SD(los)", "COUNT(los)", "COUNT(*)", "MEDIAN(los)"]),
    st.sampled_from(["", " WITH SAMPLING"]), st.sampled_from(["", " GROUP BY sex"]), st.sampled_from([0.02, 0.5, 5.0]),
    st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_answers_that_follow_from_one_another_agree(
    asked: list[str], how: str, groups: str, epsilon: float, seed: int
) -> None:
    draw = np.random.default_rng(5)
    lengths = pd.Series(draw.integers(0, 40, 600)).astype("string").mask(draw.random(600) < 0.2)
    frame = pd.DataFrame({"los": lengths, "sex": draw.choice(["F", "M"], 600)}).astype("string")
    columns = [declare("los", {"range": [0, 60]}), declare("sex", {"values": ["F", "M"]})]
    session = QuerySession(frame, columns, None, noise=SeededNoise(seed), report_share=0)
    told = session.query(f"SELECT {', '.join(asked)}{how}{groups}", epsilon).to_frame()
    assert list(dict.fromkeys(told["aggregate"])) == asked
    for _, own in told.groupby("sex") if groups else [("", told)]:
        found = own.set_index("aggregate")[["value", "lower", "upper"]]
        for end in ("value", "lower", "upper"):
            assert found[end]["SD(los)"] ** 2 == pytest.approx(found[end]["VARIANCE(los)"])
        count = max(found["value"]["COUNT(los)"], 0)
        assert found["value"]["SUM(los)"] == pytest.approx(found["value"]["MEAN(los)"] * count)
        ends = found.dropna()
        assert (ends["lower"] <= ends["value"].clip(lower=0)).all()
        assert (ends["upper"] >= ends["value"]).all()
        if epsilon == 5.0:
            assert found["value"]["COUNT(los)"] == pytest.approx(lengths.notna().sum() / (2 if groups else 1), abs=45)


@pytest.mark.parametrize("how", ["", " WITH SAMPLING"])
def test_what_is_drawn_once_has_less_noise_than_what_is_drawn_apart(how: str) -> None:
    frame = pd.DataFrame({"los": np.arange(900) % 61}).astype("string")
    session = QuerySession(frame, [declare("los", {"range": [0, 60]})], None, noise=SeededNoise(3), report_share=0)
    together = session.query(f"SELECT VARIANCE(los), MEAN(los), SD(los){how}", 0.3).to_frame().set_index("aggregate")
    apart = {name: session.query(f"SELECT {name}{how}", 0.1).rows[0] for name in together.index}
    for name, own in apart.items():
        ends = together.loc[name]
        assert ends["lower"] <= {"VARIANCE(los)": 310, "MEAN(los)": 29.8, "SD(los)": 17.6}[name] <= ends["upper"]
        assert ends["upper"] - ends["lower"] < own["upper"] - own["lower"]
    # with other bounds, or of another value, nothing is shared
    rows = session.query("SELECT SD(los), VARIANCE(los, 0, 30), MEAN(los * 2, 0, 120)", 0.3).rows
    assert rows[0]["value"] ** 2 != pytest.approx(rows[1]["value"])


def test_a_number_of_values_is_counted_without_bounds_and_of_texts_too() -> None:
    frame = pd.DataFrame({"sex": ["F", None, "M", ""] * 50, "los": ["3", "4", None, "x"] * 50}).astype("string")
    columns = [declare("sex", {"values": ["F", "M"]}), declare("los", {"range": [0, 9]})]
    session = QuerySession(frame, columns, None, noise=SeededNoise(0), report_share=0)
    assert [session.query(f"SELECT COUNT({name})", 50.0).value for name in ("sex", "los", "los * 2")] == pytest.approx(
        [100, 100, 100], abs=1
    )


def test_quantiles_of_nothing_stay_in_bounds() -> None:
    (found,) = noisy_quantiles(np.array([np.nan]), [0.5], 2, 8, Drawing(1.0, SeededNoise(0), 1, 0.95), interval=True)
    assert 2 <= found.lower <= found.value <= found.upper <= 8
    assert noisy_moments(np.zeros(0), ["MEAN"], 2, 8, Drawing(1.0, SeededNoise(0), 1, 0.95))[0].upper <= 8


def test_the_most_frequent_are_chosen_without_repetition() -> None:
    chosen = [cell for cell, _ in noisy_top(np.array([5, 900, 3, 700]), 4, Drawing(1.0, SeededNoise(0), 1, 0.95))]
    assert chosen[:2] == [1, 3]
    assert sorted(chosen) == [0, 1, 2, 3]


def test_odds_of_choices_and_counts_of_neighbours_stay_within_epsilon() -> None:
    """From 6,000 runs each, Clopper-Pearson bounds of 1e-7: a false alarm has probability below 1e-4."""
    one = np.array([1.0, 2.0, 3.0, 3.0])
    two = np.array([1.0, 2.0, 3.0, 3.0, 9.0])
    runs, epsilon = 6000, 1.0
    seen: list[dict[float, int]] = [{}, {}]
    for which, values in enumerate((one, two)):
        noise = SeededNoise(7 + which)
        for _ in range(runs):
            found = noisy_quantiles(values, [0.5], 0, 10, Drawing(epsilon, noise, 1, 0.95), whole=True)[0].value
            seen[which][found] = seen[which].get(found, 0) + 1
    for key in seen[0].keys() | seen[1].keys():
        hits = [own.get(key, 0) for own in seen]
        for a, b in (hits, hits[::-1]):
            low = beta.ppf(1e-7, a, runs - a + 1) if a else 0.0
            high = beta.ppf(1 - 1e-7, b + 1, runs - b)
            assert low <= math.exp(epsilon) * high


def test_a_request_is_answered_once(tmp_path: Path) -> None:
    session, ledger = with_ledger(tmp_path)
    first = session.query("SELECT COUNT(*)", 0.3, request="r")
    again = session.query("SELECT COUNT(*)", 0.3, request="r")
    assert (first.rows, spent(ledger)) == (again.rows, 0.3)
    with pytest.raises(ConfigError, match="another question"):
        session.query("SELECT COUNT(*) WHERE age > 3", 0.3, request="r")


def test_mistakes_cost_nothing(tmp_path: Path) -> None:
    session, ledger = with_ledger(tmp_path)
    for query, match in (
        ("SELECT SUM(dose * 2)", "no declared bounds"),
        ("SELECT SUM(sex)", "no declared bounds"),
        ("SELECT SUM(sex, 0, 1)", "needs numbers"),
        ("SELECT MEAN(age, 9, 3)", "the smaller first"),
        ("SELECT SD(age, -1e200, 1e200)", "bounds are two numbers"),
        ("SELECT VARIANCE(age, 0, 1e160)", "bounds are two numbers"),
        ("SELECT TOP(9, ward)", "4 values to choose from"),
        ("SELECT TOP(0, ward)", "4 values to choose from"),
        ("SELECT TOP(1.5, ward)", "a whole number"),
        ("SELECT QUANTILE(age, 2)", "between 0 and 1"),
        ("SELECT COUNT(*) GROUP BY wrad", "did you mean 'ward'"),
        ("SELECT COUNT(PERSONS)", "whose a row is"),
        ("SELECT COUNT(*) PER PERSON", "whose a row is"),
    ):
        with pytest.raises(ConfigError) as caught:
            session.query(query, 0.1)
        assert match in f"{caught.value} {caught.value.hint}"
    assert spent(ledger) == 0


def test_a_share_too_small_for_what_is_told_of_left_out_rows_costs_nothing(tmp_path: Path) -> None:
    unit = PrivacyUnit("patient", max_rows=10**9)
    ledger = Ledger.create(tmp_path / "l.db", 1.0, unit)
    options = {"person": "patient", "noise": SeededNoise(1)}
    with pytest.raises(ConfigError, match="epsilon is too small"):
        QuerySession(visits(), DIMENSIONS, ledger, report_share=1e-8, **options).query("SELECT COUNT(age)", 0.3)
    assert spent(ledger) == 0
    QuerySession(visits(), DIMENSIONS, ledger, report_share=0.1, **options).query("SELECT COUNT(age)", 0.3)


@pytest.mark.parametrize(("query", "reported"), [("COUNT(*)", False), ("COUNT(age)", True), ("HISTOGRAM(ward)", True)])
def test_a_question_about_no_column_pays_for_no_report_of_rows_outside_it(query: str, reported: bool) -> None:
    def half(share: float) -> float:
        session = QuerySession(visits(), DIMENSIONS, None, noise=SeededNoise(1), report_share=share)
        row = session.query(f"SELECT {query}", 1.0).rows[0]
        return row["upper"] - row["lower"]

    assert (half(0.9) > half(0)) is reported


def test_a_part_of_persons_pays_for_no_report_as_which_rows_are_of_it_is_not_told() -> None:
    def half(share: float) -> float:
        unit = PrivacyUnit("patient", "add-remove", 3)
        session = asked(visits(), unit, person="patient", report_share=share)
        row = session.table.by_person().partition("ward")["a"].sum("age", 1.0).rows[0]
        return row["upper"] - row["lower"]

    assert half(0.9) == half(0)


def test_a_computed_column_holds_numbers_between_two_bounds() -> None:
    table = asked(visits()).table
    for name, value, low, high, match in (
        ("half", "age / 2", 50, 0, "between two bounds"),
        ("half", "age / 2", 5, 5, "between two bounds"),
        ("half", "sex", 0, 50, "between two bounds"),
        ("age", "age / 2", 0, 50, "already"),
    ):
        with pytest.raises(ConfigError, match=match):
            table.select(name, value, low, high)


def test_a_session_needs_a_ledger_and_a_person(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs a ledger"):
        QuerySession(visits(), DIMENSIONS, None)
    ledger = Ledger.create(tmp_path / "l.db", 1.0, PrivacyUnit("patient", "add-remove", 2))
    with pytest.raises(ConfigError, match="no column says whose"):
        QuerySession(visits(), DIMENSIONS, ledger)
    session = QuerySession(visits(), DIMENSIONS, ledger, person="patient", noise=SeededNoise(0))
    assert session.table.count(0.9).value == pytest.approx(800, abs=60)
    assert session.remaining == pytest.approx(0.1)


def test_what_a_cell_holds_never_fails() -> None:
    frame = pd.DataFrame(
        {"age": ["x", None, "1e999", "-3"], "sex": [None, "?", "F", 3], "ward": "a", "dose": ["", "nan", "inf", "2"]}
    )
    session = asked(frame)
    for query in (
        "SELECT SUM(age)",
        "SELECT MEAN(dose / age, 0, 1)",
        "SELECT COUNT(*) WHERE sex = 'F' AND age < 5",
        "SELECT HISTOGRAM(sex)",
        "SELECT MEDIAN(dose) GROUP BY sex",
    ):
        session.query(query, 1.0)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEID_LEDGER", raising=False)
    visits().to_csv("visits.csv", index=False)
    runner = CliRunner()

    def deid(*arguments: str) -> str:
        result = runner.invoke(app, arguments)
        if isinstance(result.exception, DeidError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    deid("budget", "init", "l.db", "--epsilon", "1", "--unit", "patient", "--max-rows", "3")
    options = ("--domain", "age=0..100", "--domain", "sex=F,M", "--ledger", "l.db", "--person", "patient")
    out = deid("query", "visits.csv", "SELECT COUNT(*) GROUP BY sex", "--epsilon", "0.5", *options)
    assert pd.read_csv(io.StringIO(out)).columns.tolist() == ["sex", "value", "lower", "upper"]
    out = deid("query", "visits.csv", "SELECT COUNT(PERSONS)", "--epsilon", "0.5", *options)
    assert pd.read_csv(io.StringIO(out))["value"][0] == pytest.approx(400, abs=40)
    with pytest.raises(BudgetExceeded):
        deid("query", "visits.csv", "SELECT COUNT(*)", "--epsilon", "0.1", *options)
    with pytest.raises(ConfigError, match="character 8"):
        deid("query", "missing.csv", "SELECT FOO(*)", "--epsilon", "0.1", *options)
    shown = deid("query", "visits.csv", "SELECT COUNT(*)", "--epsilon", "1", *options[:4], "--not-private-seed", "1")
    assert "NOT PRIVATE" in shown


def test_a_quantile_of_values_that_stand_apart_from_nought_is_where_they_are() -> None:
    """The steps between candidates count from the lower bound, whatever that is."""
    values = np.array([103.0] * 60 + [107.0] * 40)
    for whole, near in ((True, 0.0), (False, 0.2)):
        found = noisy_quantiles(values, [0.1, 0.5, 0.9], 100, 110, Drawing(300.0, SeededNoise(3), 1, 0.95), whole=whole)
        assert [one.value for one in found] == pytest.approx([103, 103, 107], abs=near)


@pytest.mark.parametrize(
    ("query", "called"),
    [
        ("COUNT(*)", lambda table: table.count(2.0)),
        ("COUNT(PERSONS)", lambda table: table.count_persons(2.0)),
        ("SUM(age)", lambda table: table.sum("age", 2.0)),
        ("MEAN(age + dose, 0, 50)", lambda table: table.mean("age + dose", 2.0, 0, 50)),
        ("VARIANCE(age, 10, 60)", lambda table: table.variance("age", 2.0, 10, 60)),
        ("MEDIAN(age, 10, 60)", lambda table: table.median("age", 2.0, low=10, high=60)),
        (
            "QUANTILE(age, 0.9, 0, 80) WITH INTERVAL",
            lambda table: table.quantile("age", 0.9, 2.0, 0, 80, interval=True),
        ),
        ("QUANTILES(age, (0.1, 0.9))", lambda table: table.quantiles("age", (0.1, 0.9), 2.0)),
        ("HISTOGRAM(ward)", lambda table: table.histogram("ward", 2.0)),
        ("TOP(2, ward)", lambda table: table.top("ward", 2, 2.0)),
    ],
)
def test_a_method_of_a_view_asks_what_its_words_ask(query: str, called: Callable[[TableView], QueryAnswer]) -> None:
    answer, words = (
        how(asked(visits(), PrivacyUnit("patient", "add-remove", 3), person="patient"))
        for how in (lambda one: called(one.table), lambda one: one.query(f"SELECT {query}", 2.0))
    )
    assert answer.rows == words.rows
    assert answer.epsilon == words.epsilon == 2.0


def test_columns_of_an_answer_have_names_of_their_own() -> None:
    for query in ("HISTOGRAM(sex) GROUP BY sex", "TOP(1, sex) GROUP BY sex", "COUNT(*) GROUP BY sex, sex"):
        with pytest.raises(ConfigError, match="named twice"):
            asked(visits()).check(f"SELECT {query}", 1.0)
    for name, query in (("aggregate", "COUNT(*), SUM(age)"), ("share", "QUANTILES(age, (0.1, 0.9))")):
        own = (*DIMENSIONS, declare(name, {"values": ["F", "M"]}))
        session = QuerySession(visits().assign(**{name: "F"}), own, None, noise=SeededNoise(5))
        assert session.check(f"SELECT COUNT(*) GROUP BY {name}", 1.0)
        with pytest.raises(ConfigError, match="rename the column"):
            session.check(f"SELECT {query} GROUP BY {name}", 1.0)
    with pytest.raises(ConfigError, match="may not be called"):
        QuerySession(
            visits().assign(lower=1), (*DIMENSIONS, declare("lower", {"range": [0, 9]})), None, noise=SeededNoise(5)
        )
