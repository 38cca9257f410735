"""Cohorts and conclusions of a release beside those of the original."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid.base.errors import DeidError
from deid.cli.main import app
from deid.disclosure.assessment import Requirements
from deid.disclosure.queries import random_queries
from deid.disclosure.release import anonymize
from deid.experiments.cohorts import TablePair, count_cohorts, feasibility, parse_cohort
from deid.experiments.conclusions import (
    EffectEstimate,
    chi_square,
    compare_conclusions,
    interval_overlap,
    logistic_regression,
    odds_ratio,
)
from deid.table.microdata import Microdata

ROLES = {"age": "quasi-identifier", "sex": "quasi-identifier", "disease": "sensitive"}


def people(count: int = 300, seed: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, count)
    sex = rng.choice(["F", "M"], count)
    sick = rng.random(count) < 1 / (1 + np.exp(-(age - 50) / 10 - (sex == "M")))
    return pd.DataFrame({"age": age, "sex": sex, "disease": np.where(sick, "asthma", "none")})


def pair_of(original: pd.DataFrame, release: pd.DataFrame) -> TablePair:
    kinds = {"age": "nominal"} if release["age"].dtype == object else {}
    return TablePair(Microdata(original, ROLES), Microdata(release, ROLES, kinds=kinds))


def test_a_count_lies_between_its_bounds_and_the_estimate_shares_cells_out() -> None:
    original = pd.DataFrame({"age": [20, 25, 29, 40, 44], "sex": [*"FFMMM"], "disease": [*"aabbb"]})
    release = pd.DataFrame(
        {
            "age": ["[20-29]", "[20-29]", "[20-29]", "[40-44]", "*"],
            "sex": [*"FF", "{F,M}", "M", "*"],
            "disease": [*"aabbb"],
        }
    )
    pair = pair_of(original, release)
    query = parse_cohort(pair.original, "age>=25 and age<=44 and sex=F")
    counts = count_cohorts(pair, [query], ["x"]).iloc[0]
    # half of 20-29 is in, [40-44] is; F for certain twice, with chance .5 in {F,M} and in *; * is 20-44: 20 of 25 ages
    assert counts["original"] == 1
    assert counts["released"] == pytest.approx(0.5 + 0.5 + 0.25 + 0 + 0.8 * 0.5)
    assert (counts["least"], counts["greatest"]) == (0, 4)
    old = parse_cohort(pair.original, "age>30")
    assert pair.bounds(old) == (1, 2)


@pytest.mark.parametrize("k", [2, 10])
def test_bounds_hold_on_every_random_cohort(k: int) -> None:
    original = Microdata(people(), ROLES)
    release = anonymize(original, Requirements(k=k), "mondrian")
    pair = TablePair(original, Microdata(release.table(), ROLES, kinds={"age": "nominal"}))
    queries = random_queries(original, 200, seed=1)
    counts = count_cohorts(pair, queries, [str(n) for n in range(200)])
    assert (counts["least"] <= counts["original"]).all()
    assert (counts["original"] <= counts["greatest"]).all()
    assert ((counts["least"] <= counts["released"] + 1e-9) & (counts["released"] <= counts["greatest"] + 1e-9)).all()
    # a settled cohort is settled rightly
    for need in (5, 50, 150):
        yes, no = counts["least"] >= need, counts["greatest"] < need
        assert (counts.loc[yes, "original"] >= need).all()
        assert (counts.loc[no, "original"] < need).all()
    found = feasibility(counts, [50]).iloc[0]
    assert found["right"] + found["wrongly_yes"] + found["wrongly_no"] == pytest.approx(1)
    assert found["right"] >= found["settled"]


def test_beginnings_and_sets_of_numbers_lie_on_the_line() -> None:
    original = pd.DataFrame({"age": [2012, 2099, 1011, 1017], "sex": [*"FFMM"], "disease": [*"abab"]})
    release = original.assign(age=["20**", "20**", "{1011,1017}", "{1011,1017}"])
    pair = pair_of(original, release)
    counts = count_cohorts(pair, [parse_cohort(pair.original, "age>=2000")], ["x"]).iloc[0]
    assert (counts["original"], counts["released"], counts["least"], counts["greatest"]) == (2, 2, 2, 2)
    outcome = parse_cohort(pair.original, "disease=a")
    assert set(compare_conclusions(pair, outcome)["analysis"]) >= {"chi-square"}


def test_rows_that_are_missing_widen_the_upper_bound() -> None:
    original = people(20)
    pair = pair_of(original, original.iloc[:15])
    query = parse_cohort(pair.original, "sex=F")
    least, greatest = pair.bounds(query)
    assert greatest - least == 5
    assert least <= int(pair.members(query).sum()) <= greatest


def test_the_original_itself_leads_to_the_same_conclusions() -> None:
    original = people()
    pair = pair_of(original, original.sample(frac=1, random_state=3))
    found = compare_conclusions(pair, parse_cohort(pair.original, "disease=asthma"))
    assert set(found["analysis"]) == {"chi-square", "odds ratio", "logistic regression"}
    assert found["same"].all()
    assert found["overlap"].dropna().to_numpy() == pytest.approx(1)
    assert found["estimate_released"].to_numpy() == pytest.approx(found["estimate_original"].to_numpy())
    age = found[(found["analysis"] == "logistic regression") & found["of"].str.startswith("age")].iloc[0]
    assert age["p_original"] < 1e-6


def test_a_release_that_says_nothing_finds_nothing() -> None:
    original = people()
    release = original.assign(age="*", sex="*")
    found = compare_conclusions(pair_of(original, release), parse_cohort(Microdata(original, ROLES), "disease=asthma"))
    tests = found[found["analysis"] == "chi-square"]
    assert (tests["p_original"] < 0.05).any()
    assert tests["p_released"].to_numpy() == pytest.approx(1)
    assert not found.loc[found["p_original"] < 0.05, "same"].any()


def test_estimates_agree_with_other_libraries() -> None:
    from scipy.stats import chi2_contingency
    from scipy.stats.contingency import odds_ratio as reference
    from sklearn.linear_model import LogisticRegression

    table = np.array([[30.0, 70.0], [12.0, 88.0]])
    found = odds_ratio(table)
    theirs = reference(table.astype(int), kind="sample")
    assert found.value == pytest.approx(theirs.statistic)
    interval = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert chi_square(table) == pytest.approx(chi2_contingency(table, correction=False)[:2])
    frame = people()
    predictors = np.column_stack([(frame["age"] - 50) / 10, frame["sex"] == "M"]).astype(float)
    outcome = (frame["disease"] == "asthma").to_numpy(dtype=float)
    ours = [e.value for e in logistic_regression(predictors, outcome)]
    model = LogisticRegression(C=1e10, tol=1e-10, max_iter=1000).fit(predictors, outcome)
    assert ours == pytest.approx(model.coef_[0].tolist(), rel=1e-4)
    doubled = logistic_regression(np.column_stack([predictors, predictors[:, 1]]), outcome)
    assert doubled[0].value == pytest.approx(ours[0])  # what is determined is found
    assert np.isnan([e.value for e in doubled[1:]]).all()
    told_apart = logistic_regression(outcome[:, None], outcome)
    assert np.isnan(told_apart[0].value)


@given(st.floats(-5, 5), st.floats(0.1, 5), st.floats(-5, 5), st.floats(0.1, 5))
def test_overlap_is_one_for_equal_intervals_only_and_negative_apart(a: float, u: float, b: float, v: float) -> None:
    one, two = EffectEstimate(a, a - u, a + u, 0.5), EffectEstimate(b, b - v, b + v, 0.5)
    assert interval_overlap(one, one) == pytest.approx(1)
    assert interval_overlap(one, two) == pytest.approx(interval_overlap(two, one))
    assert (interval_overlap(one, two) < 0) == (abs(a - b) > u + v)


def test_the_command_writes_tables_page_and_plot_and_refuses_what_it_cannot(tmp_path: Path) -> None:
    original = Microdata(people(), ROLES)
    people().to_csv(tmp_path / "o.csv", index=False)
    anonymize(original, Requirements(k=5), "mondrian").table().to_csv(tmp_path / "r.csv", index=False)
    base = ["experiment", "conclusions", str(tmp_path / "o.csv"), str(tmp_path / "r.csv"), "--qi", "age,sex"]
    good = [*base, "--queries", "50", "--cohort", "age>=60 and sex=F", "--json", str(tmp_path / "c.json")]
    good += ["--report", str(tmp_path / "c.html"), "--plot", str(tmp_path / "c.svg")]
    result = CliRunner().invoke(app, [*good, "--outcome", "disease=asthma"])
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "c.json").read_text())
    assert found["bounds_held"] == 1
    assert 0 < found["same"] <= 1
    assert len(found["asked"]) == 1
    assert "<svg" in (tmp_path / "c.svg").read_text()
    assert "Are there enough patients?" in (tmp_path / "c.html").read_text()
    for outcome, word in (
        ("disease=flu", "values that it does not have"),
        ("diseese=asthma", "did you mean 'disease'"),
        ("disease=asthma|none", "nobody, or everybody"),
        ("disease", "not of the form"),
        ("age>=old", "no number"),
    ):
        refused = CliRunner().invoke(app, [*base, "--outcome", outcome])
        assert isinstance(refused.exception, DeidError)
        assert word in str(refused.exception)
    (tmp_path / "r.csv").write_text("age,sex,disease\nyoung,F,asthma\n")
    refused = CliRunner().invoke(app, [*base, "--outcome", "disease=asthma"])
    assert "covers no value" in str(refused.exception)
    assert "young" not in str(refused.exception)
