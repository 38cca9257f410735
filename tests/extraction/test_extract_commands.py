"""The commands extract and write-back, and the rounds between them."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import attempt
from stored_tables import KINDS, Stored
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError, DetectionError
from deid.cli.main import app
from deid.extraction import cues
from deid.io import scan
from deid.joint import extracting
from deid.joint.extracting import WrittenView, extract_files
from deid.pipeline.options import ViewOptions
from deid.reading.languages import foreign

NOTES = {
    "a": "Patient: Zelda Quarrymane\nDOB: 3/4/1950   MRN: 5512345\nDate of service: 6/7/2019\n"
    "The patient is a 69-year-old woman.\n",
    "b": "MRN: 5512345\nFollow-up visit on 7/8/2019. quarrymane zelda is doing well. She is a 69 year old woman.\n",
    "c": "Patient: Bob Ostrander\nDOB: 1/2/1980   MRN: 9987654\nDate of service: 6/9/2019\nHe is a 39-year-old man.\n",
}


def write_notes(folder: Path) -> Path:
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


def filled(view: Path) -> dict[str, int]:
    """Count the rows of a view that have a value, by column behind those that say whose they are."""
    counts: dict[str, int] = pd.read_csv(view, dtype=str).iloc[:, 2:].notna().sum().to_dict()
    return counts


def test_notes_become_a_table_and_a_release_goes_back_into_them(tmp_path: Path) -> None:
    """The whole path: extract, publish, write back; the notes say what the table says, and no identifier is left."""
    notes = write_notes(tmp_path / "notes")
    status, _ = attempt("extract", notes, tmp_path / "view.csv", "--model", "none", "--json", tmp_path / "s.json")
    assert status == 0
    view = pd.read_csv(tmp_path / "view.csv", dtype=str)
    assert view["mrn"].tolist() == ["5512345", "9987654"]
    assert view["notes"].tolist() == ["2", "1"]
    assert view["sex"].tolist() == ["female", "male"]
    assert view["birth_date"].tolist() == ["1950-03-04", "1980-01-02"]
    assert json.loads((tmp_path / "s.json").read_text())["persons"] == 2
    release = pd.DataFrame({"age": ["60-69", "*"], "birth_date": ["1950", "*"]})
    release.to_csv(tmp_path / "release.csv", index=False)
    assert attempt("write-back", tmp_path / "view.csv", tmp_path / "release.csv", tmp_path / "back")[0] == 0
    status, _ = attempt(
        *("scrub", notes, tmp_path / "out", "--model", "none", "--policy", tmp_path / "back" / "policy.toml"),
        *("--key-file", tmp_path / "key", "--keep", "filename", "--keep", "id"),
    )
    assert status == 0
    text = (tmp_path / "out" / "a.txt").read_text()
    assert "[60-69]-year-old woman" in text
    assert "DOB: 1950" in text
    other = (tmp_path / "out" / "c.txt").read_text()
    assert "39" not in other
    assert not any(word in text + other for word in ("Zelda", "Ostrander", "5512345", "6/7/2019"))


def test_a_release_of_the_view_is_written_back_by_its_aligned_copy(tmp_path: Path) -> None:
    """The release itself is sorted and refused; its aligned copy puts every person's published cell into the notes."""
    notes = tmp_path / "notes"
    notes.mkdir()
    ages = {"a": 71, "b": 34, "c": 75, "d": 31, "e": 73, "f": 36}
    for name, age in ages.items():
        (notes / f"{name}.txt").write_text(
            f"MRN: 77{ord(name)}21\nThe patient is a {age}-year-old woman. Her son is 12 years old.\n"
        )
    at = {name: tmp_path / name for name in ("view.csv", "release.csv", "aligned.csv", "back", "out", "key")}
    assert attempt("extract", notes, at["view.csv"], "--model", "none")[0] == 0
    status, _ = attempt(
        *("anonymize", at["view.csv"], "--qi", "age,sex", "--drop-rest", "--k", 3),
        *("-o", at["release.csv"], "--aligned", at["aligned.csv"]),
    )
    assert status == 0
    assert list(pd.read_csv(at["release.csv"])) == ["sex", "age"]
    assert at["aligned.csv"].stat().st_mode & 0o777 == 0o600
    with pytest.raises(DeidError, match=r"row 1.*'age' is not true") as refused:
        attempt("write-back", at["view.csv"], at["release.csv"], tmp_path / "no")
    assert "71" not in str(refused.value)
    assert not (tmp_path / "no").exists()
    assert attempt("write-back", at["view.csv"], at["aligned.csv"], at["back"])[0] == 0
    status, _ = attempt(
        *("scrub", notes, at["out"], "--model", "none", "--policy", at["back"] / "policy.toml"),
        *("--key-file", at["key"], "--keep", "filename", "--keep", "id"),
    )
    assert status == 0
    for name, age in ages.items():
        text = (at["out"] / f"{name}.txt").read_text()
        assert ("[71-75]-year-old" if age > 70 else "[31-36]-year-old") in text
        assert "77" not in text
        assert "12" not in text  # the son's age is not of the table


def test_rows_that_are_notes_need_their_person(tmp_path: Path) -> None:
    """Two notes of one woman are not two women, even where the column that tells it is left out."""
    notes = write_notes(tmp_path / "notes")
    attempt("extract", notes, tmp_path / "view.csv", "--model", "none", "--by", "note")
    base = ("anonymize", tmp_path / "view.csv", "--qi", "sex", "--drop-rest", "-o", tmp_path / "release.csv")
    with pytest.raises(DeidError, match="share a value of 'person'"):
        attempt(*base, "--k", 2)
    assert attempt(*base, "--k", 2, "--person", "person")[0] == 0
    assert set(pd.read_csv(tmp_path / "release.csv")["sex"]) == {"{female,male}"}


def test_a_second_round_finds_what_the_first_learnt(tmp_path: Path) -> None:
    """The name that one note gives behind its label is looked for in the person's other note, where it stands bare."""
    notes = write_notes(tmp_path / "notes")
    for rounds in (1, 2):
        attempt("extract", notes, tmp_path / f"{rounds}.csv", "--model", "none", "--rounds", rounds)
    names = []
    for rounds in (1, 2):
        places = pd.read_csv(tmp_path / f"{rounds}.provenance.csv", dtype=str)
        names.append(len(places[(places["document"] == "b") & (places["column"] == "name")]))
    assert names == [0, 1]


def test_rounds_end_when_nothing_new_is_found(tmp_path: Path) -> None:
    notes = write_notes(tmp_path / "notes")
    options = ViewOptions(model="none")
    done = [extract_files(scan(notes), replace(options, rounds=rounds)) for rounds in (1, 2, 3, 9)]
    # the second finds what the first taught, the third nothing more
    assert [len(one.rounds) for one in done] == [1, 2, 3, 3]
    assert [one.new > 0 for one in done[3].rounds] == [True, True, False]
    assert [one.documents for one in done] == [3] * 4
    assert done[1].view.provenance.equals(done[3].view.provenance)
    with pytest.raises(DeidError, match="at least 1"):
        extract_files(scan(notes), replace(options, rounds=0))


@pytest.mark.parametrize("calls", [{0}, {4}, {1, 5}], ids=["first", "second", "one-each"])
def test_a_note_that_fails_in_one_round_is_looked_at_in_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: set[int]
) -> None:
    """A note may take too long on a busy machine once; what stands behind it is compared with itself."""
    notes = write_notes(tmp_path / "notes")
    made, read = itertools.count(), extracting.note_facts

    def facts(*given: Any, **more: Any) -> Any:
        if next(made) in calls:
            raise DetectionError("took too long")
        return read(*given, **more)

    monkeypatch.setattr(extracting, "note_facts", facts)
    done = extract_files(scan(notes), ViewOptions(model="none", rounds=2))
    assert len(done.rounds) == 2
    assert done.documents == 3 - (max(calls) > 2)
    assert len(done.failures) == 3 - done.documents


def test_what_cannot_be_done_says_so(tmp_path: Path) -> None:
    notes = write_notes(tmp_path / "notes")
    (tmp_path / "there.csv").write_text("x")
    table = tmp_path / "joined.csv"
    table.write_text("mrn,ssn\n1,2\n")
    for arguments, word in (
        (("extract", notes, tmp_path / "there.csv"), "exists already"),
        (("extract", notes, tmp_path / "v.csv", "--by", "visit", "--model", "none"), "note or a person"),
        (("extract", notes, tmp_path / "w.csv", "--rounds", "0", "--model", "none"), "at least 1"),
        (("extract", notes, tmp_path / "w.txt", "--model", "none"), "written as .csv"),
        (("extract", notes, tmp_path / "no" / "w.csv", "--model", "none"), "no folder for this file"),
        (
            ("extract", notes, tmp_path / "w.csv", "--language", "pt"),
            "no rules for the language .*: de, en, es, fr, nl",
        ),
        (("extract", notes, tmp_path / "w.csv", "--language", "auto:xx"), "no rules for the language"),
        (("extract", notes, tmp_path / "w.csv", "--gold"), "no document carries an annotation"),
        (
            ("extract", notes, tmp_path / "w.csv", "--model", "none", "--join", table, "--on", "mnr"),
            "did you mean 'mrn'",
        ),
        (("extract", notes, tmp_path / "w.csv", "--model", "none", "--join", table, "--on", "ssn"), "no note tells"),
        (("write-back", tmp_path / "none.csv", tmp_path / "there.csv", tmp_path / "o"), "provenance .* is missing"),
    ):
        with pytest.raises(DeidError, match=word):
            attempt(*arguments)


def test_a_language_without_cues_is_refused_before_any_note_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every note would fail by itself."""
    (tmp_path / "dictionaries" / "attributes" / "nl").mkdir(parents=True)
    monkeypatch.setattr(cues, "resource_folder", tmp_path.joinpath)
    cues._load.cache_clear()
    with pytest.raises(ConfigError, match="no attribute cues for the language 'en'"):
        extract_files(scan(write_notes(tmp_path / "notes")), ViewOptions(model="none"))


def test_of_notes_that_agree_there_is_nothing_to_remark(tmp_path: Path) -> None:
    done = extract_files(scan(write_notes(tmp_path / "notes")), ViewOptions(model="none", rounds=1))
    assert done.write(tmp_path / "v.csv").remarks() == []


def test_rounds_contradictions_partners_and_other_languages_are_remarked(tmp_path: Path) -> None:
    done = extract_files(scan(write_notes(tmp_path / "notes")), ViewOptions(model="none", rounds=1))
    rounds = tuple(
        replace(done.rounds[0], new=new, documents=3, persons=persons) for new, persons in ((9, 5), (2, 4), (1, 3))
    )
    told = replace(done, rounds=rounds, contradicted={"sex": 2}, other_languages={"fr": 1, "nl": 3})
    assert WrittenView(told, {}, 0, None, linked=7, unmatched=2).remarks() == [
        f"4 {foreign({'fr': 1, 'nl': 3})}",
        "round 2: 2 more places of identifiers in 3 notes, 5 -> 4 persons",
        "round 3: 1 more places of identifiers in 3 notes, 4 -> 3 persons",
        "sex: 2 values that other notes of their person contradict, of lower confidence now",
        "joined table: 7 rows have their partner by linking, 2 have none",
    ]


def test_persons_who_look_alike_and_notes_that_disagree_are_told(tmp_path: Path) -> None:
    """Another letter in a surname, with the same birth date, makes a second person, which is said."""
    notes = write_notes(tmp_path / "notes")
    (notes / "e.txt").write_text("He is well.\n")
    (notes / "d.txt").write_text("Patient: Bob Ostrender\nDOB: 1/2/1980   MRN: 9987645\nHe is well.\n")
    (notes / "f.txt").write_text("Patient: Bob Ostrander\nDOB: 1/3/1980   MRN: 9987654\nSex: female\n")
    result = CliRunner().invoke(
        app,
        ["extract", str(notes), str(tmp_path / "v.csv"), "--model", "none", "--json", str(tmp_path / "s.json")],
    )
    assert "1 pairs of 4 persons look alike" in result.stderr
    assert "1 rows tell neither name nor record number" in result.stderr
    told = json.loads((tmp_path / "s.json").read_text())
    assert told["look_alikes"]["pairs"] == 1
    assert (told["linked"], told["unmatched"]) == (0, 0)  # nothing is joined
    assert {"birth_date", "sex"} <= told["conflicts"].keys()
    assert told["filled"] == filled(tmp_path / "v.csv")
    for column, count in told["conflicts"].items():
        assert f"{column}: {count} rows with values that disagree" in result.stderr


@pytest.mark.parametrize("stored", KINDS, indirect=True)
def test_joined_cells_stay_as_they_are_whatever_other_rows_hold(tmp_path: Path, stored: Stored) -> None:
    notes = write_notes(tmp_path / "notes")
    rows = [("5512345", "250.00", "1.50"), ("9987654", "401.10", "01")]
    seen = []
    for number, more in enumerate(([], [("1112223", "V58.11", "x")], [(None, "1e5", "-")])):
        place, *table = stored(("mrn", "dx", "dose"), [*rows, *more])
        view = tmp_path / f"v{number}.csv"
        asked = ("--join", place, *(f"--join-sql-table={name}" for name in table), "--on", "mrn")
        assert attempt("extract", notes, view, "--model", "none", *asked)[0] == 0
        seen.append(pd.read_csv(view, dtype=str)[["dx", "dose"]].to_numpy().tolist())
    assert seen == [[["250.00", "1.50"], ["401.10", "01"]]] * 3


def test_a_joined_table_is_of_the_persons_that_linking_finds(tmp_path: Path) -> None:
    """A key decides; where a note has none, or the table, name and birth date do; rows of one person may agree."""
    notes = write_notes(tmp_path / "notes")
    (notes / "d.txt").write_text("Patient: Ostrander, Robert\nDOB: 1/2/1980\nHe is well.\n")
    (notes / "e.txt").write_text("Patient: Vera Tindle\nDOB: 9/8/1960\nShe is well.\n")
    table = tmp_path / "patients.csv"
    table.write_text(
        "mrn,person,name,birth_date,race,dx\n5512345,x,Zelda Quarrymane,1950-03-04,A,gout\n"
        '9987654,y,Robert Ostrander,1980-01-02,B,flu\n,z,"Tindle, Vera",1960-09-08,C,flu\n'
        ",z,Vera Tindle,1960-09-08,C,gout\n1,w,Zoe Nobody,1990-01-01,D,gout\n"
    )
    asked = ("--model", "none", "--join", table, "--json", tmp_path / "s.json")
    for by, linked in (("note", 2), ("person", 1)):
        assert attempt("extract", notes, tmp_path / f"{by}.csv", "--by", by, *asked)[0] == 0
        told = json.loads((tmp_path / "s.json").read_text())
        assert (told["linked"], told["unmatched"]) == (linked, 0)
        assert told["filled"] == filled(tmp_path / f"{by}.csv")
    seen = pd.read_csv(tmp_path / "note.csv", dtype=str).set_index("document")
    assert seen["race"].to_dict() == {"a": "A", "b": "A", "c": "B", "d": "B", "e": "C"}
    assert seen["mrn"].to_dict()["d"] == "9987654"
    assert seen["dx"].isna().to_dict() == {"a": False, "b": False, "c": False, "d": False, "e": True}
    assert not {"w", "x", "y", "z"} & set(seen["person"])
    nameless = tmp_path / "keyless.csv"
    table.rename(nameless)
    nameless.write_text("\n".join(line.partition(",")[2] for line in nameless.read_text().splitlines()))
    assert attempt("extract", notes, tmp_path / "v.csv", "--model", "none", "--join", nameless)[0] == 0
    assert pd.read_csv(tmp_path / "v.csv", dtype=str)["race"].tolist() == ["A", "B", "C"]
