"""The signed report for an expert determination."""

import dataclasses
import json
from pathlib import Path

import pandas as pd
import pytest
from commands import attempt
from small_tables import microdata

from deid.base.errors import ConfigError, DeidError, FormatError, InputError
from deid.base.keys import Key
from deid.disclosure.expert_report import assumptions, check_report, read_report, sign_report
from deid.disclosure.options import ExpertOptions

KEY = Key(bytes(range(32)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the WISP example: six patients of two classes, and their population of nine."""
    zips = ["00101"] * 3 + ["00202"] * 6
    days = ["1927-07-15", "1927-05-28", "1927-10-26", "1935-01-02", "1935-02-03", "1935-10-24"]
    days += ["1935-05-13", "1935-09-26", "1935-09-26"]
    population = pd.DataFrame({"zip": zips, "dob": days})
    population.to_csv(tmp_path / "population.csv", index=False)
    (tmp_path / "release.csv").write_text(
        "zip,dob,drug\n" + "00101,[1927-01-01/1927-12-31],a\n" * 3 + "00202,[1935-01-01/1935-12-31],b\n" * 3
    )
    (tmp_path / "key").write_text(KEY.secret.hex())
    (tmp_path / "key").chmod(0o600)
    return tmp_path


def test_the_report_holds_the_measures_of_the_published_example(folder: Path) -> None:
    """q, Q, r, R of Liu et al. 2015, tables 1 and 2, with the assumptions; and it can be checked."""
    status, _ = attempt(
        *("risk", folder / "release.csv", "--qi", "zip,dob", "--sensitive", "drug"),
        *("--population", folder / "population.csv", "--expert-report", folder / "report.json"),
        *("--assume", "Recipients sign.", "--policy", "expert", "--key-file", folder / "key"),
    )
    assert status == 0
    content = json.loads((folder / "report.json").read_text())
    found = content["measures"]
    assert found["k"] == 3
    assert found["l"] == {"drug": 1}
    assert (found["q"], found["r"]) == pytest.approx((1 / 3, 1.0))
    assert (found["Q"], found["R"]) == pytest.approx((0.25, 0.75))
    assert content["assumptions"][-1] == "Recipients sign."
    assert any("zip, dob" in sentence for sentence in content["assumptions"])
    assert content["policy"]["categories"]["DATE"] == "year-only"
    check = ("risk", folder / "release.csv", "--check-report", folder / "report.json", "--key-file", folder / "key")
    assert attempt(*check)[0] == 0
    (folder / "release.csv").write_text((folder / "release.csv").read_text() + "00101,*,c\n")
    status, output = attempt(*check)
    assert status == 1
    assert "about another table" in output


def test_what_is_said_of_no_report_is_refused() -> None:
    for said in ({"assume": ("Recipients sign.",)}, {"policy": "expert"}):
        with pytest.raises(ConfigError, match="are for the report"):
            ExpertOptions(**said)  # type: ignore[arg-type]
        for report in ("expert_report", "check_report"):
            assert ExpertOptions(**said, **{report: Path("r.json")})  # type: ignore[arg-type]
    assert ExpertOptions()


def test_without_a_population_the_attacker_knows_who_is_in_the_table(folder: Path) -> None:
    attempt(
        *("risk", folder / "release.csv", "--qi", "zip,dob"),
        *("--expert-report", folder / "report.json", "--key-file", folder / "key"),
    )
    found = json.loads((folder / "report.json").read_text())["measures"]
    assert (found["q"], found["Q"], found["r"], found["R"]) == pytest.approx((1 / 3, 1 / 3, 1, 1))


def test_any_change_and_any_other_key_is_noticed() -> None:
    content = {"kind": "risk report for an expert determination, 45 CFR 164.514(b)(1)", "sha256": {}, "k": 5}
    signed = sign_report(content, KEY)
    assert check_report(json.dumps(signed), KEY, {}) == []
    assert check_report(json.dumps(dict(reversed(signed.items()))), KEY, {}) == []  # order says nothing
    assert check_report(json.dumps(signed | {"k": 6}), KEY, {}) == ["the report was altered after it was signed"]
    assert check_report(json.dumps(signed | {"more": 1}), KEY, {}) == ["the report was altered after it was signed"]
    assert check_report(json.dumps(signed), Key(bytes(32)), {}) == ["the report was signed with another key"]
    other = json.dumps(sign_report(content | {"kind": "a manifest"}, KEY))  # what this key signs elsewhere
    for text in ("", "[]", "{}", json.dumps(content), json.dumps({"kind": 1}), other):
        with pytest.raises(FormatError, match="signed risk report"):
            check_report(text, KEY, {})


def test_a_signed_report_is_read_from_its_file_unless_it_was_altered(tmp_path: Path) -> None:
    content = {"kind": "risk report for an expert determination, 45 CFR 164.514(b)(1)", "sha256": {}, "k": 5}
    signed, place = sign_report(content, KEY), tmp_path / "report.json"
    place.write_text(json.dumps(signed), encoding="utf-8")
    assert read_report(place, KEY) == place.read_bytes()
    place.write_text(json.dumps(signed | {"k": 6}), encoding="utf-8")
    with pytest.raises(InputError, match="altered"):
        read_report(place, KEY)
    place.write_text("[]", encoding="utf-8")
    with pytest.raises(FormatError, match=r"report\.json"):
        read_report(place, KEY)


def test_the_expert_policy_takes_the_report_along(folder: Path) -> None:
    attempt(
        *("risk", folder / "release.csv", "--qi", "zip,dob"),
        *("--expert-report", folder / "report.json", "--key-file", folder / "key"),
    )
    (folder / "notes").mkdir()
    (folder / "notes" / "a.txt").write_text("Seen on 3 May 2019.\n")
    scrub = ("scrub", folder / "notes", folder / "out", "--model", "none", "--key-file", folder / "key")
    with pytest.raises(DeidError, match="expert's determination"):
        attempt(*scrub, "--risk-report", folder / "report.json")
    with pytest.raises(DeidError, match="signed risk report"):
        attempt(*scrub, "--policy", "expert", "--risk-report", folder / "release.csv")
    assert not (folder / "out").exists()
    assert attempt(*scrub, "--policy", "expert", "--risk-report", folder / "report.json")[0] == 0
    assert (folder / "out.risk-report.json").read_bytes() == (folder / "report.json").read_bytes()


def test_a_joint_release_under_the_expert_policy_brings_its_own(folder: Path) -> None:
    pd.DataFrame({"id": [*"abcd"], "sex": [*"FFMM"], "drug": [*"xyxy"]}).to_csv(folder / "t.csv", index=False)
    (folder / "plan.toml").write_text(
        'policy = "expert"\nmodel = "none"\nk = 2\n[tables.t]\npath = "t.csv"\npatient = "id"\n'
        'columns = { sex = "quasi-identifier", drug = "sensitive" }\n'
    )
    assert attempt("release", folder / "plan.toml", folder / "out", "--key-file", folder / "key")[0] == 0
    report = folder / "out" / "risk-report.json"
    content = json.loads(report.read_text())
    assert content["measures"]["k"] == 2
    assert content["measures"]["l"] == {"drug (t)": 2}
    status, _ = attempt("risk", folder / "out" / "t.csv", "--check-report", report, "--key-file", folder / "key")
    assert status == 0


def test_the_report_says_what_its_measures_take_for_granted() -> None:
    """A board must read who the attacker is taken to be, and what was not counted; no sentence too many."""
    table = microdata([(30, "a", "HIV", "x"), (30, "a", "Flu", "x")], "age sex disease! ward.")
    alone, beside = (" ".join(assumptions(table, population)) for population in (False, True))
    assert "taken to know who is in the table" in alone
    assert "taken to know who is in the table" not in beside
    assert "The population table holds every person" in beside
    assert "The population table holds every person" not in alone
    for said in (alone, beside):
        assert "age, sex" in said
        assert "ward" in said
        assert "Every row is another person." in said
        assert "not counted" not in said
    assert "Rows of suppressed cells alone are not counted." in assumptions(
        dataclasses.replace(table, ignore_suppressed=True), True
    )
    persons = " ".join(assumptions(microdata([(30, "p1")], "age who.", person="who"), False))
    assert "Rows of one person have one value of who" in persons
    assert "tell nothing about who a person is" not in persons


def test_nothing_is_asserted_of_a_column_that_nobody_named() -> None:
    table = microdata([(30, "a", "x", "n1"), (30, "a", "y", "n2")], "age sex ward. name.")
    unnamed = dataclasses.replace(table, roles={name: table.roles[name] for name in ("age", "sex", "ward")})
    harmless = next(s for s in assumptions(unnamed, False) if "tell nothing about who" in s)
    assert "ward" in harmless
    assert "name" not in harmless
    assert any("Nothing was said" in s and "name" in s for s in assumptions(unnamed, False))
    assert not any("Nothing was said" in s for s in assumptions(table, False))
