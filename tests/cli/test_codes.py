"""The commands ``deid codes anonymize`` and ``deid codes risk``, and the codes of ``deid risk``."""

from __future__ import annotations

import json
import random
import sqlite3
import stat
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from deid.base.errors import DeidError
from deid.cli.main import app
from deid.table import table_files

RUN = CliRunner()

LONG = """mrn,visit,sex,code
1,1,f,250.00
1,1,f,401.10
2,1,m,250.00
2,2,m,401.10
3,1,f,250.00
3,1,f,401.90
4,1,m,250.00
4,1,m,401.90
5,1,f,250.10
6,1,m,250.10
"""


def call(*arguments: object) -> Result:
    result = RUN.invoke(app, ["codes", *map(str, arguments)])
    if isinstance(result.exception, DeidError):
        raise result.exception
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def table(tmp_path: Path) -> Path:
    place = tmp_path / "visits.csv"
    place.write_text(LONG)
    return place


def test_a_release_with_manifest_and_report(table: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out.csv", tmp_path / "page.html"
    call(
        "anonymize", table, "--codes", "code", "--person", "mrn", "--visit", "visit", "--k", 2, "--m", 2,
        "--code-hierarchy", "icd-9-cm", "-o", out, "--report", page,
    )  # fmt: skip
    assert out.read_text() == "code\n250.00; 401.10\n250.00; 401.10\n250.00; 401.90\n250.00; 401.90\n250.10\n250.10\n"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    told = json.loads((tmp_path / "out.csv.manifest.json").read_text())["run"]["results"]
    assert told["findings"][0]["level"] == 2
    assert told["records"] == 6
    assert [attack["attacker"] for attack in told["attacks_before"]][-1] == "codes of one visit"
    text = page.read_text()
    assert "k^m-anonymity" in text
    assert text.count("data:image/svg+xml") == 2
    assert "250.00" not in text


def test_attacks_on_request(table: Path, tmp_path: Path) -> None:
    asked = ("anonymize", table, "--codes", "code", "--person", "mrn", "--k", 2, "--m", 1)
    for number, targets in ((0, []), (4, [4, 4])):
        out, told = tmp_path / f"{number}.csv", tmp_path / f"{number}.json"
        call(*asked, "-o", out, "--attacked", number, "--json", told, "--report", tmp_path / f"{number}.html")
        found = json.loads(told.read_text())["attacks_after"]
        assert [attack["targets"] for attack in found] == targets


def test_policies_from_visits_and_phenotypes(table: Path, tmp_path: Path) -> None:
    (tmp_path / "phenotypes.txt").write_text("hypertension: 401.*\ndiabetes: 250.*\n")
    result = call(
        "anonymize", table, "--codes", "code", "--person", "mrn", "--visit", "visit", "--k", 3, "--method", "cba",
        "--phenotypes", tmp_path / "phenotypes.txt", "-o", tmp_path / "out.csv",
    )  # fmt: skip
    assert "study of hypertension" in result.stdout
    assert "(401.10,401.90)" in (tmp_path / "out.csv").read_text()


def test_demographics_and_codes_together(table: Path, tmp_path: Path) -> None:
    call(
        "anonymize", table, "--codes", "code", "--person", "mrn", "--k", 3, "--method", "relational", "--qi", "sex",
        "--code-hierarchy", "icd-9-cm", "-o", tmp_path / "out.csv",
    )  # fmt: skip
    rows = (tmp_path / "out.csv").read_text().splitlines()
    assert rows[0] == "sex,code"
    assert sorted(row.split(",")[0] for row in rows[1:]) == ["f"] * 3 + ["m"] * 3


def test_visits_are_no_persons(tmp_path: Path) -> None:
    table = tmp_path / "visits.csv"
    table.write_text("PatNr,codes\n" + "".join(f"{n // 4},I10;E11\n" for n in range(8)))
    asked = ["codes", "anonymize", str(table), "--codes", "codes", "--k", "4", "-o"]
    refused = RUN.invoke(app, [*asked, str(tmp_path / "out.csv")])
    assert isinstance(refused.exception, DeidError)
    assert "--person PatNr" in str(refused.exception)
    assert not (tmp_path / "out.csv").exists()
    assert RUN.invoke(app, [*asked, str(tmp_path / "out.csv"), "--persons-as-given"]).exit_code == 0


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--codes", "kode"], "no column 'kode'.*'code'"),
        (["--codes", "code", "--k", 11, "--persons-as-given"], "fewer than k = 11"),
        (["--codes", "code", "--method", "relational", "--qi", "sex", "--person", "code"], "rows of a person differ"),
        (["--codes", "code", "--method", "rbat", "--persons-as-given"], "needs rules"),
        (
            ["--codes", "code", "--sensitive-codes", "250.0O", "--persons-as-given"],
            "no record has the code '250.0O'.*'250.00'",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(
    table: Path, tmp_path: Path, options: list[object], what: str
) -> None:
    with pytest.raises(DeidError, match=what):
        call("anonymize", table, *options, "-o", tmp_path / "out.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["visits.csv"]


def test_a_file_that_is_there_is_not_replaced(table: Path) -> None:
    with pytest.raises(DeidError, match="exists already"):
        call("anonymize", table, "--codes", "code", "-o", table)


def test_attacks_before_and_after(table: Path, tmp_path: Path) -> None:
    call("anonymize", table, "--codes", "code", "--person", "mrn", "--k", 3, "-o", tmp_path / "out.csv")
    asked = ["--codes", "code", "--person", "mrn", "--visit", "visit", "--m", 1, "--json", tmp_path / "s.json"]
    call("risk", table, "--released", tmp_path / "out.csv", *asked)
    found = json.loads((tmp_path / "s.json").read_text())
    assert found["the table"][0]["few"] == 1
    assert found["the table"][1]["unique"] == 0  # every code is held twice at least
    assert found["the release"][1]["median"] >= 3
    again = RUN.invoke(app, ["risk", str(table), "--codes", "code", "--person", "mrn"])
    assert "2 random codes of a person" in again.stdout


def test_two_step_linkage_needs_all_its_tables(table: Path, tmp_path: Path) -> None:
    voters = tmp_path / "voters.csv"
    voters.write_text("name,sex,zip\nx,f,1\ny,m,1\n")
    (tmp_path / "discharge.csv").write_text("sex,zip,code\nf,1,250.00;401.10\nm,2,250.10\n")
    with pytest.raises(DeidError, match="all three"):
        call("risk", table, "--codes", "code", "--register", voters)
    call(
        "risk", table, "--codes", "code", "--person", "mrn", "--register", voters, "--qi", "sex,zip",
        "--discharge", tmp_path / "discharge.csv", "--json", tmp_path / "s.json",
    )  # fmt: skip
    step = json.loads((tmp_path / "s.json").read_text())["the table"][-1]
    assert (step["attacker"], step["targets"], step["median"]) == ("register, then discharge records", 1, 2)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_codes_are_read_in_batches_as_they_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that are not looked at hold what would be read otherwise; rows of a person stand in several batches."""
    monkeypatch.setattr(table_files, "_BATCH", 7)
    monkeypatch.chdir(tmp_path)
    rng = random.Random(4)
    rows = [
        {
            "ward": "x" * n,
            "who": rng.choice(["7", "7.0", *"abcdefghij"]),
            "code": rng.choice(["a", "b", "b;c", "d", ""]),
        }
        for n in range(90)
    ]
    frame = pd.DataFrame(rows)
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet", index=False)
    with sqlite3.connect("t.db") as store:
        frame.to_sql("t", store, index=False)
    asked = ("--codes", "code", "--person", "who", "--k", "2", "--m", "2")
    for given in ((), ("--persons-as-given",)):
        made = []
        for place in (["t.csv"], ["t.parquet"], ["t.db", "--sql", "t"]):
            out = Path(f"{place[0]}{len(given)}.csv")
            assert call("anonymize", *place, *asked, *given, "-o", out, "--json", "s.json").exit_code == 0
            made.append(out.read_bytes())
            assert "left out: ward, who" in json.loads(Path("s.json").read_text())["notes"]
            assert call("risk", *place, *asked[:4], "--json", "r.json").exit_code == 0
            made.append(json.loads(Path("r.json").read_text())["the table"])
        assert made[0] == made[2] == made[4]
        assert made[1] == made[3] == made[5]
