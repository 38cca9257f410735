"""What all commands on tables promise of their options: names with commas, pages without what was typed, manifests."""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError
from deid.base.options import column_names
from deid.cli.main import app
from deid.disclosure.options import SchemaOptions
from deid.manifest import manifest_path
from deid.manifest.content import read_manifest
from deid.table.options import TableOptions

TOWN = "city, state"
PLANTED = ("Zebulon", "Quartermain", "77812")
ROLES = ("--qi", f'"{TOWN}",age', "--sensitive", "dx", "--drop", '"name, first",mrn')
NOISE = ("--epsilon", "1", "--not-private-seed", "1")
TOWNS = f"{TOWN}=Ayr,Bath"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "Quartermain_77812.csv"
    with place.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow([TOWN, "age", "dx", "name, first", "mrn", "visit"])
        for n in range(40):
            rows.writerow([("Ayr", "Bath")[n % 2], 30 + n % 4, ("250.00", "401.9")[n % 2], f"Zeb{n}", n, 1])
    (tmp_path / "Zebulon.txt").write_text("250.00\n")
    return place


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, DeidError):
        return 2, str(result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize(
    "command",
    [
        ("anonymize", "IN", *ROLES, "--publish", "visit", "--k", "3", "-o", "out.csv"),
        ("anonymize", "IN", "--qi", "age", "--publish", f'"{TOWN}"', "--drop-rest", "--k", "3", "-o", "out.csv"),
        ("ru-map", "IN", "--qi", f'"{TOWN}",age', "--ks", "2", "--methods", "mondrian", "--each-row-a-person", "-o",
         "m.svg"),
        ("privacy", "IN", *ROLES[:4], "--k", "1"),
        ("risk", "IN", *ROLES[:2]),
        ("codes", "anonymize", "IN", "--codes", "dx", "--method", "relational", "--k", "2", "--qi", f'"{TOWN}"', "-o",
         "o.csv"),
        ("cube", "IN", "--dims", f'"{TOWN}",age', "--domain", TOWNS, "--domain", "age=30..33", *NOISE, "-o",
         "c.csv"),
        ("cube", "IN", "--dims", f'"{TOWN}"', "--slice", f'"{TOWN}":2', "--domain", TOWNS, *NOISE, "-o", "c.csv"),
        ("sequences", "IN", "--periods", f'"{TOWN}"', "--domain", "level=Ayr,Bath", *NOISE, "-o", "s.csv"),
        ("experiment", "dp", "IN", "--dims", f'"{TOWN}"', "--slice", f'"{TOWN}"', "--domain", TOWNS, "--methods",
         "cells",
         "--runs", "1"),
    ],
    ids=lambda command: " ".join(command[:2]),
)  # fmt: skip
def test_a_column_whose_name_holds_a_comma_can_be_named(table: Path, command: tuple[str, ...]) -> None:
    code, said = run(*(str(table) if word == "IN" else word for word in command))
    assert code == 0, said


def test_lists_of_names_are_split_as_csv_is() -> None:
    assert column_names("a,b", None, '"c, d", e', "") == ["a", "b", "c, d", "e"]
    with pytest.raises(ConfigError, match="odd quote"):
        column_names('"a,b')


@pytest.mark.parametrize(
    "command",
    [
        ("anonymize", "IN", *ROLES, "--publish", "visit", "--k", "3", "-o", "Zebulon.csv"),
        ("codes", "anonymize", "IN", "--codes", "dx", "--k", "2", "--privacy", "Zebulon.txt", "--method", "aclip",
         "-o", "Zebulon.csv"),
        ("trajectories", "anonymize", "IN", "--person", "mrn", "--code", "dx", "--code-hierarchy", "icd-9-cm", "--k",
         "2", "-o", "Zebulon.csv"),
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_a_page_says_how_it_was_made_and_not_what_was_typed(table: Path, command: tuple[str, ...]) -> None:
    code, said = run(*(str(table) if word == "IN" else word for word in command), "--report", "Zebulon.html")
    assert code == 0, said
    page = Path("Zebulon.html").read_text()
    assert "How it was made" in page
    assert "--k" in page
    assert not [word for word in PLANTED if word in page]
    assert not any(str(part) in page for part in table.parents[:2])


@pytest.mark.parametrize(
    ("command", "inputs"),
    [
        (("schema", "IN"), True),
        (("query", "IN", "SELECT COUNT(*) WHERE age >= 31", "--domain", "age=30..33", *NOISE), False),
    ],
    ids=["schema", "query"],
)
def test_what_is_written_instead_of_printed_is_proved(table: Path, command: tuple[str, ...], inputs: bool) -> None:
    out = Path("out.csv" if command[0] == "query" else "out.toml")
    code, said = run(*(str(table) if word == "IN" else word for word in command), "-o", out)
    assert code == 0, said
    told = read_manifest(manifest_path(out)).run
    assert told["command"] == command[0]
    assert (told["inputs"] == "withheld") is not inputs
    assert run("manifest", "verify", out)[0] == 0
    assert not [word for word in PLANTED if word in manifest_path(out).read_text()]
    out.write_text(out.read_text() + "\n")
    assert run("manifest", "verify", out)[0] == 1


def test_a_joint_release_refuses_persons_who_look_alike_and_names_every_column(tmp_path: Path) -> None:
    names = [(f"Quentin Abbott{'abcdefgh'[n % 8]}{'klmnop'[n // 8]}", n) for n in range(40)]
    with (tmp_path / "t.csv").open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["mrn", "name", "birth date", "age", "dx"])
        for name, n in names:
            for twice in range(2):
                rows.writerow([f"P{n}-{twice}", name, f"19{50 + n}-01-{n % 27 + 1:02}", 40 + n % 2, "flu"])
    plan = tmp_path / "plan.toml"
    table = (
        '[tables.t]\npath = "t.csv"\npatient = "mrn"\n'
        'columns = { name = "identifier", "birth date" = "dropped", age = "quasi-identifier", dx = "sensitive" }\n'
    )
    plan.write_text("k = 2\n" + table)
    code, said = run("release", plan, tmp_path / "out")
    assert code == 2
    assert "persons-as-given" in said.replace("_", "-")
    assert not (tmp_path / "out").exists()
    plan.write_text("k = 2\npersons_as_given = true\n" + table)
    code, said = run("release", plan, tmp_path / "out", "--json", tmp_path / "s.json")
    assert code == 0, said
    assert json.loads((tmp_path / "s.json").read_text())["left_out"] == {"t": ["name", "birth date"]}
    columns = read_manifest(manifest_path(tmp_path / "out")).run["columns"]
    assert columns == {
        "t.mrn": "replaced by a pseudonym", "t.name": "left out", "t.birth date": "left out", "t.age": "generalized",
        "t.dx": "published",
    }  # fmt: skip


def test_a_preview_takes_no_report_of_risk(table: Path) -> None:
    code, said = run("scrub", "Zebulon.txt", "--preview", "--risk-report", "r.json", "--model", "none")
    assert code == 2
    assert "--preview writes nothing" in said


def test_a_hierarchy_is_built_by_name_unless_a_file_has_it(table: Path) -> None:
    said = ("anonymize", table, "--qi", "dx", "--drop-rest", "--k", "12", "--method", "optimal", "-o")
    codes = ["250.00", "250.02", "401.1", "401.9"] * 10
    rows = table.read_text().splitlines()
    rows[1:] = [row.replace("250.00", c).replace("401.9", c) for row, c in zip(rows[1:], codes, strict=True)]
    table.write_text("\n".join(rows))
    assert run(*said, "built.csv", "--hierarchy", "dx=icd-9-cm")[0] == 0
    assert set(Path("built.csv").read_text().split()) == {"dx", "250.0", "401"}
    Path("icd-9-cm").write_text("".join(f"{code};all;*\n" for code in sorted(set(codes))))
    assert run(*said, "file.csv", "--hierarchy", "dx=icd-9-cm")[0] == 0
    assert set(Path("file.csv").read_text().split()) == {"dx", "all"}
    code, told = run(*said, "no.csv", "--hierarchy", "dx=icd-9")
    assert code == 2
    assert "hierarchy" in told


def test_the_table_of_a_database_is_that_of_the_place_that_is_asked_about(tmp_path: Path) -> None:
    """Another file, such as one of test rows, has no table of that name."""
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as lite, lite:
        for name, age in (("one", 30), ("two", 40)):
            lite.execute(f"CREATE TABLE {name} (age INTEGER)")
            lite.execute(f"INSERT INTO {name} VALUES ({age})")
    (tmp_path / "other.csv").write_text("age\n50\n")
    roles, asked = SchemaOptions(qi=("age",)), TableOptions(str(tmp_path / "t.db"), sql="two")
    places = (tmp_path / "t.db", tmp_path / "other.csv")
    assert [roles.open(str(place), asked).frame["age"].astype(str).tolist() for place in places] == [["40"], ["50"]]
