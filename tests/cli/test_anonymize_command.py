from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import attempt
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError
from deid.cli.main import app
from deid.disclosure import methods
from deid.disclosure.methods import METHODS, Recoding

ROWS = 150
OPTIONS = ["--qi", "age,sex,zip", "--sensitive", "disease", "--drop", "mrn", "--k", "4"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "mrn": [f"M{i:04}" for i in range(ROWS)],
            "age": rng.integers(20, 80, ROWS),
            "sex": rng.choice(["F", "M"], ROWS),
            "zip": rng.choice(["02139", "02140", "10027", "10031"], ROWS),
            "disease": rng.choice(["flu", "cold", "asthma"], ROWS),
            "ward": "x",
        }
    )
    path = tmp_path / "patients.csv"
    frame.to_csv(path, index=False)
    return path


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, DeidError):
        return 2, result.stdout, str(result.exception)
    return result.exit_code, result.stdout, result.stderr


def test_a_release_its_manifest_report_and_scheme(table: Path, tmp_path: Path) -> None:
    out, report, scheme = tmp_path / "released.csv", tmp_path / "report.html", tmp_path / "scheme.json"
    code, stdout, stderr = run(
        "anonymize", table, *OPTIONS, "--l", 2, "-o", out, "--report", report, "--save-scheme", scheme
    )
    assert code == 0, stderr
    assert "k-anonymity" in stdout
    assert "ward" in stderr  # published as it is
    released = pd.read_csv(out, dtype=str)
    assert list(released.columns) == ["age", "sex", "zip", "disease", "ward"]
    assert len(released) == ROWS
    assert released.groupby(["age", "sex", "zip"]).size().min() >= 4
    assert released.groupby(["age", "sex", "zip"])["disease"].nunique().min() >= 2
    content = json.loads((tmp_path / "released.csv.manifest.json").read_text())["run"]
    assert hashlib.sha256(table.read_bytes()).hexdigest() not in json.dumps(content)  # a plain one could be tried
    assert len(content["inputs"]) == 1
    assert content["outputs"] == {"OUT": f"sha256:{hashlib.sha256(out.read_bytes()).hexdigest()}"}
    assert content["columns"].keys() == set(pd.read_csv(table).columns)
    assert content["results"]["asked"]["k"] == 4
    assert content["results"]["findings"][0]["level"] >= 4
    assert content["results"]["loss"]["ncp"] > 0
    assert content["options"]["k"] == 4
    page = report.read_text()
    assert "linked rightly" in page
    # the same answers from the file: of the rows that "age > n" or "age < n" can return, those that truly meet it
    told = float(page.split("precision of queries on age</td>")[1].split("</td>")[0].rpartition(">")[2])
    assert 0.5 < told < 1
    error = float(page.split("average relative error (AvgRE)</td>")[1].split("</td>")[0].rpartition(">")[2])
    assert 0 < error < 2
    fates = {name: what.split()[0] for name, what in content["columns"].items()}
    assert fates == {
        **dict.fromkeys(("age", "sex", "zip"), "generalized"),
        "mrn": "dropped", "disease": "published", "ward": "unaltered",
    }  # fmt: skip
    for name in content["columns"]:
        assert f">{name}<" in page
    assert page.count("<img") == 2
    for page_or_manifest in (page, json.dumps(content)):
        assert "M0001" not in page_or_manifest
        assert "02139" not in page_or_manifest
    more = tmp_path / "more.csv"
    code, _, stderr = run("anonymize", table, *OPTIONS, "--scheme", scheme, "-o", more)
    assert code == 0, stderr
    assert set(pd.read_csv(more, dtype=str)["zip"]) <= set(released["zip"])


def test_a_rejected_release_is_never_written(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(coded, constraint, options, target):
        classes = METHODS["mondrian"](coded, constraint, options, target).classes.copy()
        classes[7] = classes.max() + 1
        return Recoding(classes)

    monkeypatch.setitem(methods.METHODS, "broken", broken)
    out = tmp_path / "released.csv"
    code, _, message = run(
        "anonymize", table, *OPTIONS, "--method", "broken", "-o", out, "--report", tmp_path / "r.html"
    )
    assert code == 2
    assert "verifier rejects" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["patients.csv"]


def test_rows_that_are_notes_need_a_person(table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table, dtype=str)
    frame["mrn"] = [f"M{i // 3}" for i in range(ROWS)]
    frame.to_csv(table, index=False)
    out = tmp_path / "released.csv"
    code, _, message = run("anonymize", table, *OPTIONS, "-o", out)
    assert code == 2
    assert "--person mrn" in message
    assert not out.exists()
    code, _, message = run("anonymize", table, *OPTIONS, "--person", "mrn", "-o", out)
    assert code == 0, message
    assert "mrn" not in pd.read_csv(out).columns
    assert run("anonymize", table, *OPTIONS, "--each-row-a-person", "-o", tmp_path / "two.csv")[0] == 0


def test_numbers_and_dates_of_other_forms_are_told(table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table, dtype=str).assign(size=[f"{i % 5 + 1},5" for i in range(ROWS)], seen="31.12.2020")
    frame.to_csv(table, index=False, sep=";")
    asked = ["--qi", "size,seen", "--sensitive", "disease", "--drop-rest", "--k", "2", "-o"]
    code, _, message = run("anonymize", table, *asked, tmp_path / "released.csv")
    assert code == 0, message
    assert "column 'size' holds numbers with a decimal comma" in message
    assert "column 'seen' holds dates that are not written YYYY-MM-DD" in message
    frame.assign(size=[f"{i % 5 + 1}{',5' * (i % 2)}" for i in range(ROWS)]).to_csv(table, index=False, sep=";")
    code, _, message = run("anonymize", table, *asked, tmp_path / "two.csv")
    assert (code, "numbers with a decimal comma" in message) == (2, True)


def test_columns_are_named_or_left_out(table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table, dtype=str).assign(name=["Ann Smith", "Bo Ray"] * (ROWS // 2), visits=range(ROWS))
    frame.to_csv(table, index=False)
    out = tmp_path / "released.csv"
    base = ["--qi", "age,sex,zip", "--k", "4", "-o"]
    code, _, message = run("anonymize", table, *base, out)
    assert code == 2
    for told in ("'mrn' (identifier?)", "'name' (identifier?)", "'disease' (sensitive?)", "'visits'", "--publish"):
        assert told in message
    assert "Smith" not in message
    assert [path.name for path in tmp_path.iterdir()] == ["patients.csv"]
    code, _, message = run("anonymize", table, *base, out, "--drop", "name,mrn", "--publish", "visits,disease")
    assert code == 0, message
    assert "left out: mrn, name" in message
    assert "without protection: disease, ward, visits" in message
    assert list(pd.read_csv(out).columns) == ["age", "sex", "zip", "disease", "ward", "visits"]
    rest, page = tmp_path / "rest.csv", tmp_path / "rest.html"
    code, _, message = run("anonymize", table, *base, rest, "--drop-rest", "--report", page)
    assert code == 0, message
    assert list(pd.read_csv(rest).columns) == ["age", "sex", "zip"]
    columns = json.loads((tmp_path / "rest.csv.manifest.json").read_text())["run"]["columns"]
    assert columns["name"] == "dropped (dropped)"
    assert page.read_text().count(">dropped<") == 10
    code, _, message = run("anonymize", table, *base, tmp_path / "x.csv", "--drop", "age")
    assert code == 2
    assert "'age' has two roles" in message


def test_a_hierarchy_alone_gives_no_role(table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table, dtype=str)
    file = tmp_path / "mrn.csv"
    file.write_text("".join(f"{value};*\n" for value in frame["mrn"]))
    code, _, message = run(
        *("anonymize", table, "--qi", "age,sex,zip", "--sensitive", "disease", "--k", 4),
        *("--hierarchy", f"mrn={file}", "-o", tmp_path / "o.csv"),
    )
    assert code == 2
    assert "nothing is said of the columns 'mrn'" in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--qi", "agee"], "no column 'agee'. Hint: did you mean 'age'?"),
        (["--k", 200], "can reach 200-anonymity"),
        (["--l", 4], "can reach distinct 4-diversity of disease"),
        (["--method", "mondrien"], "did you mean 'mondrian'?"),
        (["--hierarchy", "zip"], "--hierarchy zip=zip.csv"),
        (["--method", "records"], "suppressed"),
        (["--suppression", 2], "from 0 to 1"),
        (["--t", 3], "t must lie"),
        (["--distance", "ordered"], "no t-closeness"),
        (["--population", "patients.csv"], "looks at a population"),
        (["--prefix", "zip"], "only the method same-disease"),
        (["--target", "disease"], "only Mondrian's cuts look at a target"),
        (["--scheme", "s.json", "--method", "local"], "leave out one of it, --scheme"),
        (["--scheme", "s.json", "--target", "disease"], "leave out one of it, --scheme"),
        (["--scheme", "s.json", "--prefix", "zip"], "leave out one of it, --scheme"),
        (["--scheme", "s.json", "--population", "patients.csv"], "leave out one of it, --scheme"),
        (["--scheme", "s.json", "--rules-left", 2], "leave out one of it, --scheme"),
    ],
)
def test_bad_input_is_told_and_writes_nothing(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: list[object], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "released.csv"
    options = OPTIONS[: OPTIONS.index("--k")] if "--k" in change else OPTIONS
    code, _, text = run("anonymize", table, *options, *change, "-o", out)
    assert code == 2
    assert message in text
    assert [path.name for path in tmp_path.iterdir()] == ["patients.csv"]


def test_a_value_outside_its_hierarchy_is_told_by_row_not_by_value(table: Path, tmp_path: Path) -> None:
    file = tmp_path / "zip.csv"
    file.write_text("02139;021;*\n02140;021;*\n10027;100;*\n")
    code, _, message = run("anonymize", table, *OPTIONS, "--hierarchy", f"zip={file}", "-o", tmp_path / "o.csv")
    assert code == 2
    assert "not in the column's hierarchy" in message
    assert "row " in message
    assert "10031" not in message


def test_a_bad_hierarchy_is_told_by_its_column(table: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "sex.csv", tmp_path / "zip.csv"
    good.write_text("F;*\nM;*\n")
    bad.write_text("02139;021;*\n02139;022;*\n")
    trees = ["--hierarchy", f"sex={good}", "--hierarchy", f"zip={bad}"]
    code, _, message = run("anonymize", table, *OPTIONS, *trees, "-o", tmp_path / "o.csv")
    assert code == 2
    assert "the hierarchy of column 'zip'" in message
    assert "line 2" in message


def test_an_existing_file_is_not_replaced(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "released.csv"
    out.write_text("mine")
    code, _, message = run("anonymize", table, *OPTIONS, "-o", out)
    assert code == 2
    assert "exists already" in message
    assert out.read_text() == "mine"


def test_the_map_of_risk_and_utility(table: Path, tmp_path: Path) -> None:
    plot, summary = tmp_path / "map.svg", tmp_path / "summary.json"
    code, stdout, stderr = run(
        *("ru-map", table, "--qi", "age,sex,zip", "--ks", "2,10", "--methods", "local,mondrian"),
        *("--max-risk", 0.2, "--min-utility", 0.999, "-o", plot, "--json", summary),
    )
    assert code == 0, stderr
    assert stdout.count("mondrian") == 2
    assert plot.read_text().startswith("<?xml")
    content = json.loads(summary.read_text())
    assert len(content["points"]) == 4
    assert content["choices"][2]["point"] is None
    assert "none is good enough" in stderr


@pytest.mark.parametrize("cells", [["Seen by Dr. Walters"] * 4, ["seen", "", "seen", ""], [4711203] * 4])
def test_a_column_of_one_value_that_may_tell_of_somebody_needs_a_word(cells: list[object], tmp_path: Path) -> None:
    """Free text, a mark that some rows lack, a number; a site's code and a unit go out without one."""
    (tmp_path / "t.csv").write_text(
        "age,site,unit,remark\n" + "".join(f"{30 + n % 2},B12,mg/m2,{cell}\n" for n, cell in enumerate(cells))
    )
    asked = ("anonymize", tmp_path / "t.csv", "--k", "2", "--qi", "age", "--each-row-a-person", "-o")
    with pytest.raises(ConfigError, match=r"nothing is said of the columns 'remark' \([a-z-]+\?\)\."):
        attempt(*asked, tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
    for name, said in (("b.csv", "--publish"), ("c.csv", "--drop")):
        assert attempt(*asked, tmp_path / name, said, "remark")[0] == 0
    assert "B12,mg/m2" in (tmp_path / "c.csv").read_text()
