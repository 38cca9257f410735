"""Tables and notes of the same patients, released together."""

import datetime
import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError, InputError
from deid.base.keys import Key, load_key
from deid.cli.main import app
from deid.disclosure.assessment import Requirements
from deid.disclosure.privacy import k_anonymity
from deid.document import Document
from deid.joint.plan import read_plan
from deid.joint.release import JointReport, _withholding, release_jointly
from deid.joint.view import _join, load_table, verify_join
from deid.pipeline import Pipeline, Scrubbed
from deid.pipeline.options import PipelineOptions
from deid.replacement.policy import load_policy
from deid.table.microdata import Microdata

PLAN = """model = "none"
k = 2

[notes]
path = "notes"
patients = "notes.csv"

[tables.patients]
path = "patients.csv"
patient = "mrn"
[tables.patients.columns]
name = { role = "identifier", category = "PATIENT" }
sex = "quasi-identifier"
zip = { role = "quasi-identifier", kind = "nominal", hierarchy = { kind = "prefixes" } }
email = "identifier"

[tables.visits]
path = "visits.csv"
patient = "pid"
[tables.visits.columns]
date = { role = "other", category = "DATE" }
age = { role = "quasi-identifier", category = "AGE" }
diagnosis = "sensitive"
comment = "free-text"
"""
NAMES = ("Zelda Quarrymane", "Bob Ostrander", "Mara Tillbrook", "Ivo Vandermeer", "Lena Ashgrove", "Oskar Pellingham")
KEY = Key(bytes(range(32)))


def write_case(folder: Path, plan: str = PLAN) -> Path:
    """Write six patients, twelve visits and six notes."""
    (folder / "notes").mkdir()
    patients, visits, notes = [], [], []
    for i, name in enumerate(NAMES):
        number, age = 4410000 + i * 37, 30 + 7 * i
        zip_code = None if i == 3 else f"0213{i % 3}"
        patients.append((number, name, "FM"[i % 2], zip_code, f"p{i}@mail.example"))
        for v in range(2):
            day = f"2019-0{1 + i}-{10 + 7 * v}"
            comment = f"{name} came on {day}; call {name.split()[1]} again. MRN {number}."
            visits.append((number, day, age, ("asthma", "flu", "gout")[(i + v) % 3], comment))
        (folder / "notes" / f"n{i}.txt").write_text(
            f"Patient: {name}\nMRN: {number}\nDate of visit: 2019-0{1 + i}-10\n{name} is a {age}-year-old patient.\n"
        )
        notes.append((f"n{i}", number))
    pd.DataFrame(patients, columns=["mrn", "name", "sex", "zip", "email"]).to_csv(folder / "patients.csv", index=False)
    frame = pd.DataFrame(visits, columns=["pid", "date", "age", "diagnosis", "comment"])
    frame.to_csv(folder / "visits.csv", index=False)
    pd.DataFrame(notes, columns=["document", "patient"]).to_csv(folder / "notes.csv", index=False)
    (folder / "plan.toml").write_text(plan)
    return folder / "plan.toml"


def days(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("joint")
    report = release_jointly(read_plan(write_case(folder)), folder / "out", KEY)
    assert report.left_out == {"patients": ["email"]}
    return folder / "out"


def test_a_patient_is_one_person_in_tables_and_notes(released: Path) -> None:
    """Pseudonym, surrogate name and surrogate number of a patient are the same everywhere; no original is left."""
    patients = pd.read_csv(released / "patients.csv").set_index("mrn")
    visits = pd.read_csv(released / "visits.csv")
    notes = pd.read_csv(released / "notes.csv").set_index("patient")["document"]
    assert sorted(patients.index) == sorted(set(visits["pid"])) == sorted(notes.index)
    assert len(set(patients["name"])) == len(NAMES)
    for patient, name in patients["name"].items():
        text = (released / "notes" / f"{notes[patient]}.txt").read_text()
        assert text.startswith(f"Patient: {name}\n")
        number = re.search(r"MRN: (\d+)", text)
        assert number is not None
        for comment in visits.loc[visits["pid"] == patient, "comment"]:
            assert comment.startswith(f"{name} came on ")
            assert f"call {name.split()[-1]} again. MRN {number[1]}." in comment
    everything = "".join(p.read_text() for p in released.rglob("*") if p.is_file())
    for name in NAMES:
        assert not any(word in everything for word in name.split())
    assert not re.search(r"44100\d\d|441\d{4}", everything)
    assert "@mail" not in everything


def test_columns_that_leave_as_they_are_are_named(tmp_path: Path) -> None:
    plan = PLAN.replace('name = { role = "identifier", category = "PATIENT" }', 'name = "other"')
    report = release_jointly(read_plan(write_case(tmp_path, plan)), tmp_path / "out", KEY)
    assert "published as they are, without protection: name (patients)" in report.remarks


@pytest.mark.parametrize("generalized", [True, False])
def test_an_experts_report_is_of_what_is_generalized(tmp_path: Path, generalized: bool) -> None:
    """A release by a policy that needs an expert has a signed report of its join; without a join there is none."""
    plan = f'policy = "expert"\n{PLAN}'
    if not generalized:
        plan = plan.replace('"quasi-identifier"', '"other"').replace("k = 2\n", "")
    report = release_jointly(read_plan(write_case(tmp_path, plan)), tmp_path / "out", KEY)
    assert not report.failures
    assert len(list((tmp_path / "out" / "notes").iterdir())) == len(NAMES)
    assert (tmp_path / "out" / "risk-report.json").exists() is generalized


def test_dates_keep_their_distances_over_tables_and_notes(released: Path) -> None:
    visits = pd.read_csv(released / "visits.csv")
    notes = pd.read_csv(released / "notes.csv").set_index("patient")["document"]
    for patient, rows in visits.groupby("pid"):
        shown = sorted(map(days, rows["date"]))
        assert (shown[1] - shown[0]).days == 7
        text = (released / "notes" / f"{notes[patient]}.txt").read_text()
        assert days(text.partition("Date of visit: ")[2][:10]) == shown[0]
        for day, comment in zip(rows["date"], rows["comment"], strict=True):
            assert f"came on {day};" in comment
    assert "2019-01-10" not in set(visits["date"])


def test_k_holds_on_the_join_and_not_only_in_each_table(released: Path) -> None:
    joined = pd.read_csv(released / "patients.csv").merge(
        pd.read_csv(released / "visits.csv"), left_on="mrn", right_on="pid"
    )
    roles = dict.fromkeys(("sex", "zip", "age"), "quasi-identifier")
    assert k_anonymity(Microdata(joined, roles, person="mrn", kinds=dict.fromkeys(roles, "nominal")), 2).ok
    ages = pd.read_csv(released / "visits.csv").groupby("pid")["age"].nunique()
    assert (ages == 1).all()
    for note in (released / "notes").iterdir():  # what the tables generalize, the notes do not tell
        assert "is a [AGE]-year-old" in note.read_text()
    assert released.stat().st_mode & 0o777 == 0o700


def test_what_tables_generalize_no_note_tells_whatever_a_policy_says_of_some_notes(tmp_path: Path) -> None:
    own = (
        'allow = ["AGE"]\n[default]\noperator = "surrogate"\n[[when]]\nfield = "filename"\nvalues = ["n0", "n0.txt"]\n'
    )
    (tmp_path / "own.toml").write_text(f'{own}[when.categories.AGE]\noperator = "keep"\n')
    plan = write_case(tmp_path, f'policy = "{tmp_path}/own.toml"\n{PLAN}')
    policy = load_policy(str(tmp_path / "own.toml"))
    withheld = _withholding(policy, {"AGE"})
    for name in ("n0", "n1"):
        assert withheld.rule("AGE", {"filename": name}).operator == "redact"
        assert withheld.rule("DATE", {"filename": name}) == policy.rule("DATE", {"filename": name})
    assert policy.rule("AGE", {"filename": "n0"}).operator == "keep"
    release_jointly(read_plan(plan), tmp_path / "out", KEY)
    assert all("[AGE]-year-old" in note.read_text() for note in (tmp_path / "out" / "notes").iterdir())


def test_separate_releases_would_not_protect_the_join(tmp_path: Path) -> None:
    """What the joint release is for: each table alone is 2-anonymous as it stands, their join is not."""
    write_case(tmp_path)
    a = pd.DataFrame({"mrn": [*"abcd"], "sex": ["F", "F", "M", "M"]})
    b = pd.DataFrame({"mrn": [*"abcd"], "age": [30, 40, 30, 40]})
    a.to_csv(tmp_path / "a.csv", index=False)
    b.to_csv(tmp_path / "b.csv", index=False)
    (tmp_path / "two.toml").write_text(
        'model = "none"\nk = 2\n'
        '[tables.a]\npath = "a.csv"\npatient = "mrn"\ncolumns = { sex = "quasi-identifier" }\n'
        '[tables.b]\npath = "b.csv"\npatient = "mrn"\ncolumns = { age = "quasi-identifier" }\n'
    )
    release_jointly(read_plan(tmp_path / "two.toml"), tmp_path / "two", KEY)
    joined = pd.read_csv(tmp_path / "two" / "a.csv").merge(pd.read_csv(tmp_path / "two" / "b.csv"), on="mrn")
    assert joined.groupby(["sex", "age"]).size().min() >= 2


def two_tables(folder: Path, b: pd.DataFrame) -> Path:
    """Write a plan of two tables that both have the patients' sex."""
    a = pd.DataFrame({"mrn": [*"abcd"], "sex": ["F", "F", "M", "M"], "age": [30, 30, 40, 40]})
    plan = 'model = "none"\nk = 2\n'
    for name, frame in (("a", a), ("b", b)):
        frame.to_csv(folder / f"{name}.csv", index=False)
        columns = ", ".join(f'{column} = "quasi-identifier"' for column in frame.columns[1:])
        plan += f'[tables.{name}]\npath = "{name}.csv"\npatient = "mrn"\ncolumns = {{ {columns} }}\n'
    (folder / "plan.toml").write_text(plan)
    return folder / "plan.toml"


def test_what_one_table_lacks_of_a_patient_the_other_says(tmp_path: Path) -> None:
    plan = two_tables(tmp_path, pd.DataFrame({"mrn": [*"abcef"], "sex": ["F", None, "M", "F", "F"]}))
    plan.write_text(plan.read_text().replace('age = "quasi-identifier"', 'age = "other"'))
    release_jointly(read_plan(plan), tmp_path / "out", KEY)
    assert pd.read_csv(tmp_path / "out" / "b.csv")["sex"].tolist().count("F") == 4
    assert (pd.read_csv(tmp_path / "out" / "a.csv").groupby("sex").size() == 2).all()


def test_tables_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    plan = two_tables(tmp_path, pd.DataFrame({"mrn": [*"abcd"], "sex": ["F", "M", "M", "M"]}))
    with pytest.raises(DeidError, match="1 patients have several values") as refused:
        release_jointly(read_plan(plan), tmp_path / "out", KEY)
    assert "sex" in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_levels_of_patients_whom_no_column_tells_apart_are_refused(tmp_path: Path) -> None:
    plan = two_tables(tmp_path, pd.DataFrame({"mrn": [*"abcd"], "sex": ["F", "F", "M", "M"]}))
    plan.write_text(plan.read_text().replace("quasi-identifier", "other"))
    with pytest.raises(DeidError, match="no column is a quasi-identifier"):
        release_jointly(read_plan(plan), tmp_path / "out", KEY)
    plan.write_text(plan.read_text().replace("k = 2\n", ""))
    release_jointly(read_plan(plan), tmp_path / "out", KEY)
    assert pd.read_csv(tmp_path / "out" / "b.csv")["sex"].tolist().count("F") == 2


def test_several_values_of_a_patient_are_one_of_their_own(tmp_path: Path) -> None:
    plan = read_plan(write_case(tmp_path, PLAN.replace('comment = "free-text"', 'comment = "sensitive"')))
    tables = {name: load_table(name, table) for name, table in plan.tables.items()}
    tables["visits"].frame["comment"] = ["said once"] * 3 + [None] * 9
    people = sorted({*tables["visits"].patients, "0"})  # "0" is in no table
    data = _join(tables, people)
    assert data is not None
    both = ["asthma; flu", "flu; gout", "asthma; gout"] * 2
    assert data.frame["diagnosis (visits)"].fillna("").tolist() == ["", *both]
    assert data.frame["comment (visits)"].fillna("").tolist() == ["", "said once", "said once", "", "", "", ""]
    assert data.frame["age"].dropna().tolist() == [30 + 7 * i for i in range(6)]


def test_diversity_is_checked_on_patients_with_several_values(tmp_path: Path) -> None:
    report = release_jointly(
        read_plan(write_case(tmp_path, PLAN.replace("k = 2", "k = 2\nl = 2"))), tmp_path / "out", KEY
    )
    found = {f.model: f.verdict.level for f in report.findings}
    assert found["distinct l-diversity"] >= 2


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('email = "identifier"\n', "", "nothing is said of the columns 'email'"),
        ('sex = "quasi', 'sxe = "quasi', "did you mean 'sex'"),
        ('email = "identifier"', 'email = { category = "EMAIL" }', "column 'email' of .* has no role"),
        ("k = 2", "k = 2\ngold = true", "gold"),
        ('"quasi-identifier"', '"other"', "no column is a quasi-identifier"),
        ('patient = "pid"', 'patient = "pids"', "did you mean 'pid'"),
        ('category = "AGE"', 'category = "AEG"', "unknown category 'AEG'.*'AGE'"),
        ('date = { role = "other", category = "DATE" }', 'date = "quasi-identifier"', "6 patients have several values"),
        ("k = 2", "k = 7", "no release of these 6 records"),
        ("k = 2", "", "nothing is asked for"),
        ("k = 2", 'k = "two"', "k is no number"),
        ("k = 2", "k = 2\ndistance = 3", "distance is no text"),
        ("k = 2", "k = 2\nepsilon_m = [1, true]", "epsilon_m is no number"),
        ("k = 2", "k = 2\nmethod = 3", "method is not of type str"),
        ("k = 2", "k = 2\ntables.extra = 3", "not a TOML table"),
        ("k = 2", "kk = 2", "unknown setting 'kk'"),
        ('path = "notes"', 'path = "notes"\npatient = "x"', "unknown setting 'patient'"),
        ('patients = "notes.csv"\n', "", "whom a note is about"),
        ('path = "visits.csv"', 'path = "visit.csv"', "cannot be read"),
        ('path = "notes"', 'path = "nowhere"', "nowhere"),
        ("[tables.visits]", "[tables.manifest]", "cannot be called"),
        ("[tables.patients.columns]", "[tables.patients.columns]\nmrn = 'identifier'", "names the patient"),
    ],
)
def test_what_cannot_be_released_is_refused_and_nothing_is_written(
    tmp_path: Path, old: str, new: str, word: str
) -> None:
    plan = write_case(tmp_path, PLAN.replace(old, new))
    with pytest.raises(DeidError, match=word) as refused:
        release_jointly(read_plan(plan), tmp_path / "out", KEY)
    assert not any(part in str(refused.value) for part in ("Zelda", "Ostrander", "4410000", "asthma"))
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".deid-part-*"))


@pytest.mark.parametrize(
    "said",
    [
        {"gold": True}, {"keep": frozenset({"ward"})}, {"method": "concept-match"}, {"patient_field": "mrn"},
        {"patients": Path("notes.csv")}, {"known": Path("known.csv")}, {"known_field": ("mrn",)},
    ],
    ids=str,
)  # fmt: skip
def test_options_that_leave_texts_as_they_are_or_say_what_the_plan_says_are_refused(
    said: dict[str, Any], tmp_path: Path
) -> None:
    """Also of whoever calls the library: the tables alone would be released as the plan says, and no note."""
    plan = read_plan(write_case(tmp_path))
    with pytest.raises(ConfigError, match="no options of a joint release"):
        replace(plan, options=PipelineOptions(**said))


def test_a_note_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    plan = write_case(tmp_path)
    (tmp_path / "notes" / "n5.txt").write_bytes(b"\xff\xfe\xff")
    result = CliRunner().invoke(app, ["release", str(plan), str(tmp_path / "out"), "--key-file", str(tmp_path / "key")])
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)  # it was told, and is no crash
    assert "nothing was written" in result.output
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".deid-part-*"))


def test_replaced_texts_that_still_stand_elsewhere_are_counted_in_cells_and_in_notes(tmp_path: Path) -> None:
    plan = write_case(tmp_path)
    visits = pd.read_csv(tmp_path / "visits.csv")
    visits.loc[[0, 3], "comment"] = "Mrs. Foley came; the foley bag was emptied."
    visits.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "notes" / "n0.txt").write_text("Mrs. Foley has a foley catheter.\n")
    report = release_jointly(read_plan(plan), tmp_path / "out", KEY)
    assert report.residual == 3
    assert "3 replaced texts still stand elsewhere in their note or cell" in report.sentences()
    assert report.as_dict(read_plan(plan))["residual"] == 3


def test_a_cell_that_cannot_be_scrubbed_is_named_and_one_without_text_stays_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = write_case(tmp_path)
    visits = pd.read_csv(tmp_path / "visits.csv")
    visits.loc[1, ["comment", "date"]] = None
    visits.to_csv(tmp_path / "visits.csv", index=False)
    release_jointly(read_plan(plan), tmp_path / "out", KEY)
    written = pd.read_csv(tmp_path / "out" / "visits.csv")
    assert written["comment"].isna().sum() == written["date"].isna().sum() == 1
    assert written.loc[written["comment"].isna(), "date"].isna().all()

    own = Pipeline.__call__

    def stumbling(self: Pipeline, document: Document | str) -> Scrubbed:
        if isinstance(document, Document) and document.id == "visits/comment/4":
            raise InputError("it stumbles")
        return own(self, document)

    monkeypatch.setattr(Pipeline, "__call__", stumbling)
    report = release_jointly(read_plan(plan), tmp_path / "again", KEY)
    assert [failure.name for failure in report.failures] == ["table 'visits', column 'comment', row 4"]
    assert "nothing was written, because something failed" in report.sentences()
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("way", [" {}", "{} ", "0{}", "00{} "])
def test_ids_of_one_patient_written_in_several_ways_are_refused(way: str, tmp_path: Path) -> None:
    """Each would be a person of its own, and k would be of persons that are none."""
    plan = write_case(tmp_path)
    visits = pd.read_csv(tmp_path / "visits.csv", dtype=str)
    visits.loc[0, "pid"] = way.format(visits.loc[0, "pid"])
    visits.to_csv(tmp_path / "visits.csv", index=False)
    with pytest.raises(ConfigError, match=r"1 ids of persons.*say persons_as_given = true") as raised:
        release_jointly(read_plan(plan), tmp_path / "out", KEY)
    assert visits.loc[0, "pid"].strip() not in str(raised.value)
    assert not (tmp_path / "out").exists()
    plan.write_text("persons_as_given = true\n" + plan.read_text())
    with suppress(DeidError):  # the tables may lack of the new one what the plan asks for
        assert release_jointly(read_plan(plan), tmp_path / "out", KEY).persons


def test_patients_who_look_alike_are_refused_unless_they_are_said_to_be_different_ones(tmp_path: Path) -> None:
    """Each comes twice, under two ids: of k patients of a table half as many would be persons."""
    rows = [(f"{n}-{m}", f"Ann{'abcdefghijklmnopqrstuvwxyz'[n]} Thornton", f"19{n + 40}-03-04", "FM"[n % 2])
            for n in range(20) for m in range(2)]  # fmt: skip
    pd.DataFrame(rows, columns=["pid", "name", "birth_date", "sex"]).to_csv(tmp_path / "people.csv", index=False)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'k = 2\n[tables.people]\npath = "people.csv"\npatient = "pid"\n[tables.people.columns]\n'
        'name = "dropped"\nbirth_date = "dropped"\nsex = "quasi-identifier"\n'
    )
    with pytest.raises(ConfigError, match="look alike"):
        release_jointly(read_plan(plan), tmp_path / "out", KEY)
    assert not (tmp_path / "out").exists()
    plan.write_text("persons_as_given = true\n" + plan.read_text())
    report = release_jointly(read_plan(plan), tmp_path / "out", KEY)
    assert report.persons == 40
    assert "pairs of 40 persons look alike" in " ".join(report.remarks)


def test_the_same_key_gives_the_same_release(tmp_path: Path, released: Path) -> None:
    plan = write_case(tmp_path)
    (tmp_path / "key").write_text(KEY.secret.hex())
    (tmp_path / "key").chmod(0o600)
    assert load_key(tmp_path / "key")[0].secret == KEY.secret
    result = CliRunner().invoke(app, ["release", str(plan), str(tmp_path / "out"), "--key-file", str(tmp_path / "key")])
    assert result.exit_code == 0, result.output
    for name in ("patients.csv", "visits.csv", "notes.csv"):
        assert (tmp_path / "out" / name).read_bytes() == (released / name).read_bytes()


def test_what_is_left_out_is_told_by_table() -> None:
    report = JointReport(columns={"stays": {"mrn": "left out", "age": "generalized", "note": "left out"}, "labs": {}})
    assert report.left_out == {"stays": ["mrn", "note"]}
    assert "table stays: left out: mrn, note" in report.sentences()


def test_a_patient_with_two_published_cells_is_refused(tmp_path: Path) -> None:
    """Each table alone may have the level, but who joins them knows more of the patient."""
    write_case(tmp_path)
    plan = read_plan(tmp_path / "plan.toml")
    tables = {name: load_table(name, table) for name, table in plan.tables.items()}
    frames = {name: table.frame.copy() for name, table in tables.items()}
    frames["visits"]["age"] = "30-69"
    frames["patients"]["zip"] = frames["patients"]["sex"] = "*"
    joined, _ = verify_join(plan.asked, tables, frames)
    assert k_anonymity(joined, 2).ok
    for missing in (None, float("nan")):  # of both visits of the first two patients
        gaps = frames["visits"].assign(age=[missing] * 4 + ["30-69"] * 8)
        assert k_anonymity(verify_join(plan.asked, tables, frames | {"visits": gaps})[0], 2).ok
    frames["visits"].loc[1, "age"] = "30"
    with pytest.raises(DeidError, match="two published cells"):
        verify_join(plan.asked, tables, frames)


def test_closeness_counts_steps_of_the_columns_hierarchy(tmp_path: Path) -> None:
    """Half of the patients have asthma, half the flu: all are of the lung, so that the halves are near each other."""
    own = 'diagnosis = { role = "sensitive", hierarchy = "tree.csv" }'
    plan = read_plan(write_case(tmp_path, PLAN.replace('diagnosis = "sensitive"', own)))
    (tmp_path / "tree.csv").write_text("asthma;lung;disease\nflu;lung;disease\ngout;joint;disease\n")
    tables = {name: load_table(name, table) for name, table in plan.tables.items()}
    frames = {name: table.frame.copy() for name, table in tables.items()}
    frames["patients"]["zip"] = frames["patients"]["sex"] = "*"
    frames["visits"]["age"] = ["30-49"] * 6 + ["50-69"] * 6
    frames["visits"]["diagnosis"] = ["asthma"] * 6 + ["flu"] * 6
    found = {}
    for distance in ("hierarchical", "equal"):
        _, findings = verify_join(Requirements(k=2, t=0.95, distance=distance), tables, frames)
        found[distance] = next(finding.verdict.level for finding in findings if "closeness" in finding.model)
    assert found == {"hierarchical": 0.25, "equal": 0.5}
    frames["visits"]["diagnosis"] = ["asthma"] * 6 + ["gout"] * 6
    with pytest.raises(DeidError, match="do not reach t-closeness"):
        verify_join(Requirements(k=2, t=0.3, distance="hierarchical"), tables, frames)


def test_an_identifier_is_looked_for_in_notes_by_its_category_alone(tmp_path: Path) -> None:
    """What a table says of a patient is found in the notes; a column without a category says no identifier."""
    plan = PLAN.replace('email = "identifier"', 'email = { role = "identifier", category = "IDNUM" }')
    for name, text in (("with", plan), ("without", PLAN)):
        folder = tmp_path / name
        folder.mkdir()
        path = write_case(folder, text)
        table = pd.read_csv(folder / "patients.csv")
        table["email"] = ["quokka", None, *table["email"][2:]]  # of one nothing is known
        table.to_csv(folder / "patients.csv", index=False)
        (folder / "notes" / "n0.txt").write_text("Patient: Zelda Quarrymane\nMRN: 4410000\nHer word is quokka.\n")
        release_jointly(read_plan(path), folder / "out", KEY)
    notes = {
        name: "".join(p.read_text() for p in (tmp_path / name / "out" / "notes").iterdir())
        for name in ("with", "without")
    }
    assert "quokka" not in notes["with"]
    assert "Her word is quokka." in notes["without"]


def test_a_field_says_whom_a_note_is_about(tmp_path: Path) -> None:
    path = write_case(
        tmp_path, PLAN.replace('path = "notes"\npatients = "notes.csv"', 'path = "notes.jsonl"\npatient_field = "who"')
    )
    rows = [{"id": f"n{i}", "text": f"{name} is well.", "who": str(4410000 + i * 37)} for i, name in enumerate(NAMES)]
    rows.append({"id": "n9", "text": "All are well.", "who": ""})  # about nobody
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    release_jointly(read_plan(path), tmp_path / "out", KEY)
    names = dict(zip(*pd.read_csv(tmp_path / "out" / "patients.csv")[["mrn", "name"]].T.to_numpy(), strict=True))
    who = dict(pd.read_csv(tmp_path / "out" / "notes.csv").to_numpy())
    (file,) = (tmp_path / "out" / "notes").iterdir()
    *lines, last = map(json.loads, file.read_text().splitlines())
    for line in lines:
        assert line["text"] == f"{names[who[line['id']]]} is well."
    assert (last["text"], pd.isna(who[last["id"]]), len(lines)) == ("All are well.", True, 6)


@pytest.mark.parametrize("how", ["patients", "patient_field"])
def test_notes_and_tables_write_a_patients_id_in_one_way(tmp_path: Path, how: str) -> None:
    """Else the notes have another pseudonym and another shift of dates than the rows of the same person."""
    plan = write_case(tmp_path)
    given = pd.read_csv(tmp_path / "notes.csv", dtype=str).assign(patient=lambda frame: "0" + frame["patient"])
    if how == "patients":
        given.to_csv(tmp_path / "notes.csv", index=False)
    else:
        texts = [(tmp_path / "notes" / f"{name}.txt").read_text() for name in given["document"]]
        rows = zip(given["document"], given["patient"], texts, strict=True)
        lines = [json.dumps({"id": one, "patient": patient, "text": text}) for one, patient, text in rows]
        (tmp_path / "notes.jsonl").write_text("\n".join(lines) + "\n")
        said = plan.read_text().replace('"notes"', '"notes.jsonl"')
        plan.write_text(said.replace('patients = "notes.csv"', 'patient_field = "patient"'))
    with pytest.raises(ConfigError, match=r"6 ids of persons.*say persons_as_given = true"):
        release_jointly(read_plan(plan), tmp_path / "out", KEY)
    assert not (tmp_path / "out").exists()
    plan.write_text("persons_as_given = true\n" + plan.read_text())
    release_jointly(read_plan(plan), tmp_path / "out", KEY)
    assert (tmp_path / "out" / "notes.csv").is_file()


def test_the_manifest_of_a_release_says_what_was_asked_and_what_became_of_each_column(tmp_path: Path) -> None:
    plan = read_plan(write_case(tmp_path, PLAN.replace("k = 2", "k = 2\nl = 2")))
    told = release_jointly(plan, tmp_path / "out", KEY).as_dict(plan)
    assert told["asked"] == {"k": 2, "l": 2, "distance": "equal"}
    assert told["tables"]["patients"]["left_out"] == ["email"]
    assert told["tables"]["patients"]["roles"]["sex"] == "quasi-identifier"
    assert told["persons"] == len(NAMES)
