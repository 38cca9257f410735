"""Persons who are others of the table: no level counts them twice without somebody answering for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from split_patients import table

from deid.base.errors import ConfigError

ROLES = ("--qi", "birth_date,sex", "--sensitive", "diagnosis")
OF_RELEASE = ("--qi", "birth_date,sex", "--sensitive", "diagnosis", "--k", 2)


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    """Sixty patients, each of whom comes twice."""
    table(60, 60).to_csv(tmp_path / "patients.csv", index_label="person")
    return tmp_path / "patients.csv"


def test_a_class_of_one_human_is_not_certified(patients: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    asked = ("anonymize", patients, *ROLES, "--drop-rest", "--k", 2, "-o", out)
    with pytest.raises(ConfigError, match=r"60 pairs of 120 persons look alike.*--persons-as-given"):
        run(*asked)
    assert not out.exists()
    page = tmp_path / "page.html"
    assert "60 pairs of 120 persons look alike" in run(*asked, "--persons-as-given", "--report", page)
    told = json.loads((tmp_path / "out.csv.manifest.json").read_text())["run"]["results"]
    assert (told["look_alikes"]["pairs"], told["persons_as_given"]) == (60, True)
    assert "look alike" in page.read_text()


@pytest.mark.parametrize("command", ["privacy", "risk"])
def test_verifiers_know_it_from_the_table_or_from_the_manifest_beside_it(
    patients: Path, tmp_path: Path, command: str
) -> None:
    out = tmp_path / "out.csv"
    run("anonymize", patients, *ROLES, "--drop-rest", "--k", 2, "--persons-as-given", "-o", out)
    more = OF_RELEASE if command == "privacy" else OF_RELEASE[:4]
    for place in (out, patients):
        with pytest.raises(ConfigError, match="look alike"):
            run(command, place, *more)
    assert "60 pairs of 120 persons look alike" in run(command, out, *more, "--persons-as-given")
    out.write_text(out.read_text() + "1950-01-01,F,flu\n1950-01-01,F,gout\n")  # another file than the manifest's
    assert "look alike" not in run(command, out, *more)


def test_maps_of_releases_refuse_them_too(patients: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="look alike"):
        run("ru-map", patients, *ROLES, "--ks", "2", "--methods", "mondrian", "-o", tmp_path / "map.svg")


def test_a_few_in_a_large_population_are_told_and_do_not_refuse(tmp_path: Path) -> None:
    table(1500, 6).to_csv(tmp_path / "p.csv", index_label="person")
    output = run("anonymize", tmp_path / "p.csv", *ROLES, "--drop-rest", "--k", 5, "-o", tmp_path / "o.csv")
    assert "persons look alike" in output


@pytest.mark.parametrize("command", ["privacy", "risk"])
def test_a_column_that_repeats_like_a_persons_is_told(tmp_path: Path, command: str) -> None:
    rows = "".join(f"{n // 6},{30 + n // 6},F\n" for n in range(24))
    (tmp_path / "visits.csv").write_text("mrn,age,sex\n" + rows)
    output = run(command, tmp_path / "visits.csv", "--qi", "age,sex")
    assert "several rows share a value of 'mrn'" in output
    assert "share a value" not in run(command, tmp_path / "visits.csv", "--qi", "age,sex", "--person", "mrn")


def test_no_release_of_codes_counts_a_person_twice(patients: Path, tmp_path: Path) -> None:
    out = tmp_path / "codes.csv"
    asked = ("codes", "anonymize", patients, "--codes", "diagnosis", "--method", "km", "--k", 2, "--m", 1, "-o", out)
    with pytest.raises(ConfigError, match=r"60 pairs of 120 persons look alike.*--persons-as-given"):
        run(*asked)
    assert not out.exists()
    run(*asked, "--persons-as-given")
    told = json.loads((tmp_path / "codes.csv.manifest.json").read_text())["run"]["results"]
    assert told["persons_as_given"] is True
