"""Experiments on tables, codes, longitudinal records and one disease: worked examples, and what is so on any table."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from deid.base.errors import ConfigError
from deid.base.plots import image
from deid.cli.main import app
from deid.disclosure.same_disease import recode_same_disease
from deid.experiments.asking import ReleaseRuns, SafeHarborCuts, TrajectoryRuns
from deid.experiments.codes import plot_codes, support_curves, suppression_sweep
from deid.experiments.same_disease import plot_same_disease, same_disease_outcome
from deid.experiments.tables import FULL, PARTIAL, plot_tables, tables_outcome
from deid.experiments.trajectories import plot_trajectories, shape_of, trajectories_outcome
from deid.table.microdata import Microdata
from deid.trajectories.publishing import DiagnosisColumns, TrajectoryOptions, read_diagnoses, release_diagnoses
from deid.transactions.reading import read_codes

TABLES = Path(__file__).resolve().parents[2] / "corpora" / "tables"
PEOPLE = [("00101", d) for d in ("1927-07-15", "1927-05-28", "1927-10-26")] + [
    ("00202", d) for d in ("1935-01-02", "1935-02-03", "1935-10-24", "1935-05-13", "1935-09-26", "1935-09-26")
]


def people(rows: list[tuple[str, str]]) -> Microdata:
    frame = pd.DataFrame(rows, columns=["zip", "birth"])
    return Microdata(frame, dict.fromkeys(frame.columns, "quasi-identifier"), kinds={"zip": "nominal"})


def test_tables_1_and_2_of_the_same_disease_paper() -> None:
    patients = people([*PEOPLE[:4], PEOPLE[6], PEOPLE[7]])
    frame = same_disease_outcome(patients, people(PEOPLE), SafeHarborCuts("birth", "zip")).rows.set_index("release")
    fine, coarse = frame.loc["limited data set"], frame.loc["Safe Harbor"]
    assert (coarse["classes"], coarse["R"], coarse["Q"]) == (2, pytest.approx(0.75), pytest.approx(0.25))
    assert (coarse["max_r"], coarse["max_q"]) == (pytest.approx(1), pytest.approx(1 / 3))
    assert fine["Q"] == pytest.approx(5.5 / 6)  # five are one person for certain, the last is Helen or Irene
    assert frame.loc["generalized", "classes"] == 2
    assert frame.loc["generalized", "R_cut"] <= 0.75
    assert b"<svg" in image(plot_same_disease(frame.reset_index()))
    with pytest.raises(ConfigError):
        same_disease_outcome(patients, people(PEOPLE), SafeHarborCuts())


def test_cutting_stops_at_so_many_cells_and_counts_the_members_of_each() -> None:
    patients = people([*PEOPLE[:4], PEOPLE[6], PEOPLE[7]])
    risks = []
    for classes in (1, 2, 4):
        found = recode_same_disease(patients, people(PEOPLE), 1, prefixes=["zip"], classes=classes)
        sizes = Counter(found.cells.tolist())
        assert (len(found.members), found.members.sum()) == (classes, len(PEOPLE))
        assert found.cut_risk == pytest.approx(sum(n * n / found.members[cell] for cell, n in sizes.items()) / 6)
        risks.append(found.cut_risk)
    assert risks == sorted(risks)  # a cut never lowers the average risk


@pytest.fixture(scope="module")
def census() -> Microdata:
    frame = pd.read_csv(TABLES / "census" / "census.csv").iloc[:400, [0, 1, 4]]
    return Microdata(frame, dict.fromkeys(frame.columns, "quasi-identifier"))


def test_loss_grows_with_k_and_precision_lies_between_partial_and_full(census: Microdata) -> None:
    found = tables_outcome(census, ReleaseRuns("mondrian,bottom-up", (2, 8, 500), queries=200, precision="age"))
    frame = found.rows
    assert [(method, k) for method, k, _ in found.values["not_reached"]] == [("mondrian", 500), ("bottom-up", 500)]
    by = frame.set_index("method")
    assert by.loc[PARTIAL, "precision"] == 1
    for method in ("mondrian", "bottom-up"):
        own = by.loc[method]
        for name in ("ncp", "dm", "avg_re"):
            assert own[name].is_monotonic_increasing
        assert own["precision"].is_monotonic_decreasing
        assert own["precision"].between(by.loc[FULL, "precision"], 1).all()
    assert b"<svg" in image(plot_tables(frame))


def test_curves_of_support_count_persons() -> None:
    rows = pd.DataFrame({"person": [*"aabbcd"], "visit": [*"123456"], "code": ["1", "2", "1", "2", "1", "3"]})
    data = read_codes(rows, "code", person="person", visit="visit")
    curves = support_curves(data).set_index(["attacker", "records"])["share"]
    # all codes: a and b fit each other, c fits a, b and itself, d itself alone
    assert [curves["all codes of a person", n] for n in (1, 2, 5)] == [0.25, 0.75, 1.0]
    sweep = suppression_sweep(data, [0.0, 0.5, 0.75])
    assert sweep["codes_left"].tolist() == [3, 1, 0]
    assert sweep["unique"].tolist() == [0.25, 0.0, 0.0]
    assert b"<svg" in image(plot_codes(curves.reset_index(), sweep, pd.DataFrame({"method": ["km"]})))


def test_trajectories_lose_what_the_release_says() -> None:
    frame = pd.read_csv(TABLES / "trajectories" / "d4-sample.csv", dtype=str)
    files = {"code_hierarchy": str(TABLES / "trajectories" / "codes.csv")}
    data = read_diagnoses(frame, DiagnosisColumns(**files))
    assert shape_of(data) | {"persons": frame["person"].nunique(), "codes": 4} == shape_of(data)
    asked = TrajectoryRuns(ks=(2, 5), weights=(0.2, 0.8), methods="a-gs")
    compared = trajectories_outcome(frame, DiagnosisColumns(**files), asked).rows
    for row in compared.to_dict("records"):
        own = release_diagnoses(frame, TrajectoryOptions(**files, k=row["k"], weight=row["weight"])).figures
        assert (own["ilm"], own["alm"], own["average_relative_error"]) == (row["ilm"], row["alm"], row["avg_re"])
    assert b"<svg" in image(plot_trajectories(compared))


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.slow
def test_the_commands_print_tables_and_write_figures(tmp_path: Path) -> None:
    codes, disease = TABLES / "codes", TABLES / "same-disease"
    files = {name: tmp_path / name for name in ("r.json", "r.csv", "r.svg", "r.html")}
    places = ["--json", files["r.json"], "-o", files["r.csv"], "--plot", files["r.svg"], "--report", files["r.html"]]
    said = run(
        *("experiment", "codes", codes / "cohort.csv", "--codes", "code", "--person", "person", "--visit", "visit"),
        *("--phenotypes", codes / "cohort-diseases.txt", "--methods", "ugaclip,rbat", *places),
    ).stdout
    assert "all codes of a person" in said
    assert "rbat: not done" in said
    told = json.loads(files["r.json"].read_text())
    assert {study["disease"] for study in told["studies"]} == {f"disease {n}" for n in range(100, 105)}
    assert list(pd.read_csv(files["r.csv"])["method"]) == ["ugaclip"]
    assert "<svg" in files["r.svg"].read_text()
    said = run(
        *("experiment", "same-disease", disease / "patients.csv", "--population", disease / "population.csv"),
        *("--qi", "sex,birth,zip", "--dates", "birth", "--zips", "zip", "--json", files["r.json"]),
    ).stdout
    assert "Safe Harbor" in said
    rows = {row["release"]: row for row in json.loads(files["r.json"].read_text())["rows"]}
    assert rows["limited data set"]["R"] > 0.9 > rows["Safe Harbor"]["R"] > rows["Safe Harbor"]["Q"]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small tables and a release."""
    folder = tmp_path_factory.mktemp("tried")
    rows = [f"{20 + 7 * i % 60},{'FM'[i % 2]},{('high', 'low', 'low')[i % 3]}" for i in range(240)]
    (folder / "t.csv").write_text("\n".join(["age,sex,income", *rows]) + "\n")
    pd.DataFrame(PEOPLE, columns=["zip", "birth"]).to_csv(folder / "all.csv", index=False)
    pd.DataFrame(PEOPLE[:6], columns=["zip", "birth"]).to_csv(folder / "ill.csv", index=False)
    pd.read_csv(TABLES / "trajectories" / "d4-sample.csv", dtype=str).head(400).to_csv(folder / "d.csv", index=False)
    codes = pd.DataFrame({"person": [*"aabbccdd"], "visit": [*"12345678"], "code": [*"12121313"]})
    codes.to_csv(folder / "c.csv", index=False)
    run("anonymize", folder / "t.csv", "--qi", "age,sex", "--drop-rest", "--k", 5, "-o", folder / "k5.csv")
    run("anonymize", folder / "t.csv", "--qi", "age,sex,income", "--k", 5, "-o", folder / "all5.csv")
    return folder


CODES_TREE, AGES_TREE = (TABLES / "trajectories" / f"{name}.csv" for name in ("codes", "ages"))
AGAIN = {
    "tables": "t.csv --qi age,sex,income --methods mondrian --ks 2,500 --queries 50",
    "same-disease": "ill.csv --population all.csv --qi birth,zip --dates birth --zips zip",
    "trajectories": f"d.csv --code-hierarchy {CODES_TREE} --age-hierarchy {AGES_TREE} --methods a-gs --ks 2,3",
    "codes": "c.csv --codes code --person person --visit visit --k 2 --methods km,none",
    "conclusions": "t.csv all5.csv --qi age,sex,income --outcome income=high --queries 40 --need 20",
    "models": "t.csv all5.csv --qi age,sex,income --target income",
}


@pytest.mark.parametrize("name", AGAIN)
def test_a_result_opened_again_is_what_the_experiment_showed(name: str, tried: Path, tmp_path: Path) -> None:
    words = [str(tried / word) if word.endswith(".csv") else word for word in AGAIN[name].split()]
    pages = []
    run("experiment", name, *words, "--json", tmp_path / "x.json", "--report", tmp_path / "own.html")
    run("report", "open", tmp_path / "x.json", "-o", tmp_path / "again.html")
    for page in ("own", "again"):
        text = (tmp_path / f"{page}.html").read_text()
        plots = [base64.b64decode(plot).decode() for plot in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", text)]
        drawn = [re.sub(r"#?\b[pm][0-9a-f]{10}\b|(?<=\.\d\d)\d+", "", plot) for plot in plots]  # ids hash all digits
        pages.append((re.findall(r"<table>.*?</table>", text, re.DOTALL), drawn))
    assert pages[0] == pages[1]
    assert all(pages[0])
