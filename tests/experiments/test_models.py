"""Models trained on a release, on made-up rows and on the original: fits are optimal, scores those of a plain count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from deid.base.errors import ConfigError, InputError
from deid.cli.main import app
from deid.disclosure.assessment import Requirements
from deid.disclosure.release import anonymize
from deid.experiments.cohorts import TablePair, count_cohorts, made_up_rows, parse_cohort
from deid.experiments.conclusions import compare_conclusions
from deid.experiments.models import ModelOptions, area, compare_models, concordance, hazards
from deid.table.microdata import Microdata

QUASI = ("age", "sex", "zip")
ROLES = dict.fromkeys(QUASI, "quasi-identifier") | dict.fromkeys(("dx", "cost", "days", "died"), "sensitive")


def patients(rows: int, seed: int) -> pd.DataFrame:
    """Outcomes that hang on age and sex, and one that hangs on nothing."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 90, rows), rng.choice(["F", "M"], rows)
    risk = 0.06 * (age - 55) + 0.8 * (sex == "M")
    time = np.round(rng.exponential(900 * np.exp(-0.5 * risk))) + 1
    censored = rng.integers(200, 3000, rows)
    return pd.DataFrame(
        {
            "age": age,
            "sex": sex,
            "zip": rng.choice(["a", "b", "c"], rows),
            "dx": np.where(rng.random(rows) < 1 / (1 + np.exp(-risk)), "yes", "no"),
            "cost": np.round(100 + 10 * age + rng.normal(0, 100, rows), 2),
            "days": np.minimum(time, censored),
            "died": (time <= censored).astype(int),
        }
    )


def of(frame: pd.DataFrame) -> Microdata:
    return Microdata(frame, ROLES)


def scores(found: pd.DataFrame, target: str, measure: str, model: str) -> tuple[float, float]:
    row = found[(found["target"] == target) & (found["measure"] == measure) & (found["model"] == model)].iloc[0]
    return float(row["original"]), float(row["released"])


def test_hazards_are_those_of_the_greatest_likelihood_and_ties_are_breslows() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 3))
    time = np.ceil(rng.exponential(6 * np.exp(-x[:, 0]))).astype(float)  # many ties
    event = (rng.random(80) < 0.7).astype(float)

    def minus_log_likelihood(weights: np.ndarray) -> float:
        total = 0.0
        for row in np.flatnonzero(event):
            risk_set = time >= time[row]
            total += x[row] @ weights - np.log(np.exp(x[risk_set] @ weights).sum())
        return float(-total + 1e-3 / 2 * weights @ weights)

    best = minimize(minus_log_likelihood, np.zeros(3), tol=1e-12).x
    assert hazards(x, time, event) == pytest.approx(best, abs=1e-4)


def test_concordance_counts_pairs() -> None:
    rng = np.random.default_rng(1)
    risk, time, event = rng.integers(0, 5, 40), rng.integers(1, 15, 40).astype(float), rng.integers(0, 2, 40)
    right = pairs = 0.0
    for i in range(40):
        for j in range(40):
            if event[i] and time[i] < time[j]:
                pairs += 1
                right += 1 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0
    assert concordance(risk.astype(float), time, event.astype(float)).value == pytest.approx(right / pairs)


def test_the_parts_of_rows_are_those_of_the_jackknife() -> None:
    """Leaving a row out moves a score by its part over the number of rows, up to second order."""
    rng = np.random.default_rng(4)
    rows = 300
    truth, time, event = rng.random(rows) < 0.3, rng.integers(1, 40, rows).astype(float), rng.random(rows) < 0.6
    risk = np.round(rng.normal(size=rows) + truth - time / 20, 1)  # with ties
    for score in (
        lambda kept: area(risk[kept], truth[kept]),
        lambda kept: concordance(risk[kept], time[kept], event[kept].astype(float)),
    ):
        whole = score(np.ones(rows, bool))
        assert whole.parts.mean() == pytest.approx(0, abs=1e-9)
        left = np.array([score(np.arange(rows) != out).value for out in range(rows)])
        jackknife = (rows - 1) * (whole.value - left)
        assert np.corrcoef(jackknife, whole.parts)[0, 1] > 0.999
        assert jackknife.std() == pytest.approx(whole.parts.std(), rel=0.03)
    assert area(risk, truth).value == pytest.approx(roc_auc_score(truth, risk))


def test_the_interval_of_a_change_holds_and_is_paired() -> None:
    """Two models of known scores, tried on samples: the true change lies inside in about 95 of 100."""
    rng, inside, widths = np.random.default_rng(0), [], []
    for _ in range(200):
        hidden, truth = rng.normal(size=400), rng.random(400) < 0.4
        one, two = truth + hidden, truth + hidden + 0.7 * rng.normal(size=400)
        change, lower, upper = area(one, truth).change_to(area(two, truth))
        assert lower <= change <= upper
        # the areas of normal scores that lie 1 apart
        inside.append(lower <= norm.cdf(1 / np.sqrt(2 * 1.49)) - norm.cdf(1 / np.sqrt(2)) <= upper)
        widths.append(upper - lower)
    assert 0.9 <= np.mean(inside) <= 0.99
    assert area(one, truth).change_to(area(one, truth)) == (0, 0, 0)


def test_an_outcome_of_two_numbers_is_a_class_as_that_of_two_words_is() -> None:
    tables = []
    for rows, seed in ((900, 1), (500, 2)):
        frame = patients(rows, seed)
        tables.append(frame.assign(died=(frame["dx"] == "yes").astype(int)))
    tables[1].loc[:5, "died"] = 7  # what the original does not have is not asked
    original, later = of(tables[0]), of(tables[1])
    published = anonymize(original, Requirements(k=5)).published
    found = compare_models(TablePair(original, published), ModelOptions(target="died,dx"), later)
    assert set(found["measure"]) == {"AUC", "accuracy"}
    for model in ("logistic regression", "boosted trees"):
        number, word = (scores(found, target, "AUC", model) for target in ("died", "dx"))
        assert number == pytest.approx(word, abs=0.01)
        assert number[0] > 0.7
    hidden = published.frame.assign(died="[0-1]")
    kinds = {"died": "numeric"}
    nothing = compare_models(
        TablePair(original, Microdata(hidden, ROLES, kinds=kinds)), ModelOptions(target="died"), later
    )
    assert scores(nothing, "died", "AUC", "logistic regression")[1] == pytest.approx(0.5, abs=0.05)


def test_ages_with_a_top_code_are_numbers_to_studies() -> None:
    """90+ is 90 in the original, and a cell that reaches beyond ends there; words would be left out as too many."""
    plain = patients(900, 1)
    coded = plain.assign(age=[f"{age}" if age < 85 else "85+" for age in plain["age"]])
    cut = plain.assign(age=plain["age"].clip(upper=85))
    pairs = []
    for frame in (coded, cut):
        table = Microdata(frame, ROLES)
        pairs.append(TablePair(table, anonymize(table, Requirements(k=5)).published))
    ages = pairs[0].column("age")
    assert pairs[0].original.kind("age") == "numeric"
    assert np.nanmax(ages.high) == 85
    ends = pairs[0].release.frame["age"]
    assert not ends.str.contains(r"\+").any()
    # each row's interval holds its age, in the order of the rows
    aligned = anonymize(Microdata(coded, ROLES), Requirements(k=5)).aligned()
    release = coded.assign(**{name: aligned[name] for name in QUASI})
    pair = TablePair(Microdata(coded, ROLES), Microdata(release, ROLES, kinds={"age": "nominal"}))
    column = pair.column("age")
    assert (column.low[column.codes] <= cut["age"]).all()
    assert (column.high[column.codes] >= cut["age"]).all()
    assert (column.low[column.codes] == column.high[column.codes]).any()
    old = parse_cohort(pair.original, "age>=70 and sex=F")
    least, greatest = pair.bounds(old)
    assert least <= ((cut["age"] >= 70) & (cut["sex"] == "F")).sum() <= greatest
    for said, model, measure in (("dx", "logistic regression", "AUC"), ("cost", "linear regression", "R2")):
        top, whole = (compare_models(own, ModelOptions(target=said)) for own in pairs)
        assert scores(top, said, measure, model)[0] == pytest.approx(scores(whole, said, measure, model)[0], abs=1e-6)
        assert scores(top, said, measure, model)[1] == pytest.approx(scores(whole, said, measure, model)[1], abs=0.05)
    found = compare_conclusions(pair, {"dx": frozenset(["yes"])})
    assert "age, per standard deviation" in set(found["of"])


def test_made_up_rows_with_a_top_code_are_numbers_too() -> None:
    coded, made = (
        Microdata(pd.DataFrame({"age": ages}), {"age": "quasi-identifier"})
        for ages in (["30", "40", ">89", "<18", ""], [">89", "35", "<18"])
    )
    pair = TablePair(coded, made_up_rows(coded, made), made_up=True)
    assert pair.original.numbers("age")[:4].tolist() == [30, 40, 90, 17]
    assert np.isnan(pair.original.numbers("age")[4])
    assert pair.chances(parse_cohort(pair.original, "age>=90")).tolist() == [1, 0, 0]
    assert pair.chances(parse_cohort(pair.original, "age<18")).tolist() == [0, 0, 1]


def test_columns_of_two_numbers_are_groups() -> None:
    """Where most have the greater one, nobody lies above the median."""
    frame = patients(900, 1).assign(zip=lambda own: np.where(own["sex"] == "M", 2, 1))
    frame["zip"] = np.where(np.arange(900) < 200, 2, frame["zip"])
    frame["sex"] = np.where(np.arange(900) % 10 < 7, 5, np.arange(900) % 3)  # most have the greatest of many
    table = of(frame)
    pair = TablePair(table, anonymize(table, Requirements(k=5)).published)
    found = compare_conclusions(pair, {"dx": frozenset(["yes"])}).set_index(["analysis", "of"])
    own, has = frame["zip"] == 2, frame["dx"] == "yes"
    odds = (own & has).sum() * (~own & ~has).sum() / ((own & ~has).sum() * (~own & has).sum())
    assert found.loc[("odds ratio", "zip=2"), "estimate_original"] == pytest.approx(odds)
    assert ("odds ratio", "sex at its greatest") in found.index
    assert ("logistic regression", "zip=2 against 1") in found.index


def test_a_gain_within_chance_is_not_divided_by() -> None:
    original = of(patients(300, 1))
    found = compare_models(
        TablePair(original, anonymize(original, Requirements(k=5)).published), ModelOptions(target="zip"),
        of(patients(200, 2)),
    )  # fmt: skip
    assert found["kept"].isna().all()


def test_a_release_keeps_what_it_tells_and_loses_what_it_hides() -> None:
    original, later = of(patients(900, 1)), of(patients(500, 2))
    said = ModelOptions(target="dx,cost", survival="days,died")
    fine = anonymize(original, Requirements(k=5)).published
    found = compare_models(TablePair(original, fine), said, later)
    assert set(found["target"]) == {"dx", "cost", "days"}
    for target, measure, model in (
        ("dx", "AUC", "logistic regression"),
        ("cost", "R2", "linear regression"),
        ("days", "concordance", "proportional hazards"),
    ):
        before, after = scores(found, target, measure, model)
        assert before > 0.6
        assert after == pytest.approx(before, abs=0.03)
    hidden = fine.frame.assign(age="*", sex="*")
    nothing = compare_models(
        TablePair(original, Microdata(hidden, ROLES, kinds={"age": "nominal", "sex": "nominal"})), said, later
    )
    assert scores(nothing, "cost", "R2", "linear regression")[1] < 0.1
    assert scores(nothing, "dx", "AUC", "logistic regression")[1] < 0.6
    assert (nothing.loc[nothing["measure"] == "AUC", "kept"] < 0.5).all()
    # a change that is no chance is told from one that may be
    change = found.set_index(["target", "model", "measure"])
    assert (change["lower"] <= change["change"]).all()
    assert change.loc[("cost", "linear regression", "R2"), "upper"] > -0.01
    lost = nothing.set_index(["target", "model", "measure"])
    assert (lost.loc[lost.index.get_level_values(2).isin(["AUC", "R2"]), "upper"] < 0).all()
    errors = lost.loc[("cost", "linear regression", "mean error")]
    assert errors["lower"] > 0


def test_rows_to_try_on_lack_values_and_have_others() -> None:
    """Columns of words stand for the original's values, whatever the other rows have."""
    original, later = of(patients(400, 1)), patients(300, 2)
    other = later.assign(zip=later["zip"].replace({"a": "elsewhere", "b": "c"}), dx=later["dx"].where(later.index > 9))
    found = compare_models(TablePair(original, original), ModelOptions(target="dx"), of(other))
    assert (found["original"] == found["released"]).all()
    assert scores(found, "dx", "AUC", "logistic regression")[0] > 0.7


def test_the_original_itself_keeps_all() -> None:
    original = of(patients(400, 5))
    found = compare_models(TablePair(original, original), ModelOptions(target="dx", survival="days,died"))
    assert (found["original"] == found["released"]).all()


def test_made_up_rows_stand_for_their_share() -> None:
    frame = patients(800, 3)
    truth = of(frame)
    drawn = frame.sample(2400, replace=True, random_state=1)
    low = drawn["age"] // 10 * 10
    drawn = drawn.assign(age=[f"{a}-{a + 9}" for a in low], zip=drawn["zip"].replace("c", "elsewhere"))
    rows = made_up_rows(truth, Microdata(drawn, ROLES, kinds={"age": "nominal"}))
    with pytest.raises(InputError, match="covers no value"):
        TablePair(truth, rows).column("zip")
    pair = TablePair(truth, rows, made_up=True)
    counts = count_cohorts(pair, [parse_cohort(truth, "sex=F")], ["women"]).iloc[0]
    assert counts["released"] == pytest.approx((drawn["sex"] == "F").sum() / 3)
    assert (counts["least"], counts["greatest"]) == (0, 800)
    found = compare_conclusions(pair, parse_cohort(truth, "dx=yes")).set_index(["analysis", "of"])
    effect = found.loc[("odds ratio", "sex=M")]
    assert effect["same"]
    # three times the rows do not make intervals narrower than the original's
    width = {side: np.log(effect[f"high_{side}"] / effect[f"low_{side}"]) for side in ("original", "released")}
    assert width["released"] == pytest.approx(width["original"], rel=0.1)
    regression = found.loc[("logistic regression", "sex=M against F")]
    spans = {side: regression[f"high_{side}"] - regression[f"low_{side}"] for side in ("original", "released")}
    assert spans["released"] == pytest.approx(spans["original"], rel=0.1)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (ModelOptions(), "nothing is to be predicted"),
        (ModelOptions(survival="days"), "needs two columns"),
        (ModelOptions(target="nothing"), "nothing"),
        (ModelOptions(target="one"), "has 1 values"),
        (ModelOptions(target="id"), "has 200 values"),
    ],
)
def test_what_cannot_be_asked_is_refused(said: ModelOptions, message: str) -> None:
    frame = patients(200, 1).assign(one="x", id=[f"i{i}" for i in range(200)])
    data = Microdata(frame, ROLES)
    with pytest.raises(ConfigError, match=message):
        compare_models(TablePair(data, data), said)


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    patients(400, 1).to_csv("p.csv", index=False)
    patients(300, 2).to_csv("later.csv", index=False)
    runner = CliRunner()
    made = runner.invoke(
        app,
        ["anonymize", "p.csv", "--qi", "age,sex,zip", "--sensitive", "dx,cost,days,died", "--k", "5",
         "--method", "mondrian", "--target", "dx,died", "-o", "r.csv"],
    )  # fmt: skip
    assert made.exit_code == 0, (made.output, made.exception)
    result = runner.invoke(
        app,
        ["experiment", "models", "p.csv", "r.csv", "--qi", "age,sex,zip", "--target", "dx", "--survival", "days,died",
         "--test", "later.csv", "--json", "s.json", "--plot", "m.svg"],
    )  # fmt: skip
    assert result.exit_code == 0, (result.output, result.exception)
    told = json.loads(Path("s.json").read_text())
    assert {row["model"] for row in told["rows"]} == {"logistic regression", "boosted trees", "proportional hazards"}
    assert told["settings"]["test"] is True
    assert Path("m.svg").read_bytes().startswith(b"<?xml")


def test_mondrian_tells_several_outcomes_apart() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.integers(0, 100, 400), "b": rng.integers(0, 100, 400)})
    frame["x"], frame["y"] = np.where(frame["a"] > 70, "u", "v"), np.where(frame["b"] > 30, "u", "v")
    data = Microdata(frame, {"a": "quasi-identifier", "b": "quasi-identifier", "x": "sensitive", "y": "sensitive"})

    def mixed(target: str | None) -> tuple[int, int]:
        published = anonymize(data, Requirements(k=20), "mondrian", target=target).published.frame
        groups = published.groupby(["a", "b"], observed=True)
        return int((groups["x"].nunique() > 1).sum()), int((groups["y"].nunique() > 1).sum())

    assert sum(mixed("x,y")) < min(sum(mixed(None)), sum(mixed("x")), sum(mixed("y")))


def test_trees_are_made_in_one_thread_in_a_process_that_begins_with_them() -> None:
    """Only threads of what is loaded can be limited: two made trees of twenty classes in fifteen times the CPU time."""
    program = """
import sys
import pandas as pd
from threadpoolctl import threadpool_info
from deid.experiments import models
from deid.experiments.cohorts import TablePair
from deid.table.microdata import Microdata

def classify(*given):
    import sklearn.ensemble
    print({own["num_threads"] for own in threadpool_info()})
    sys.exit()

assert "sklearn.ensemble" not in sys.modules
models._classify = classify
rows = pd.DataFrame({"age": [30, 40] * 20, "dx": ["yes", "no"] * 20})
data = Microdata(rows, {"age": "quasi-identifier", "dx": "sensitive"})
models.compare_models(TablePair(data, data), models.ModelOptions(target="dx"))
"""
    two = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
    ran = [sys.executable, "-c", program]
    done = subprocess.run(ran, capture_output=True, text=True, check=True, env=os.environ | two)
    assert done.stdout.strip() == "{1}"
