"""The loop between extraction and linking: what is known of a person is looked for in each of its notes."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError
from deid.cli.main import app
from deid.detection.known import Known, KnownRecognizer
from deid.document import Document, Span
from deid.extraction import build_view, note_facts
from deid.extraction.view import NoteFacts, confidences, link_notes
from deid.io import scan
from deid.joint.extracting import extract_files
from deid.linkage.clustering import similar_names
from deid.pipeline.options import ViewOptions

NOTES = {
    "a": "Patient: Zelda Quarrymane\nDOB: 3/4/1950   MRN: 5512345\nShe is well.\n",
    "b": "MRN: 5512345\nIt was Quarymanne, and quarrymane had no pain.\n",
    "c": "MRN: 9987654\nOstrandre and Bobby came; ostrander was well.\n",
}
RULES = ViewOptions(model="none")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    for name, text in NOTES.items():
        (tmp_path / "notes" / f"{name}.txt").write_text(text)
    return tmp_path / "notes"


def names(places: pd.DataFrame, document: str) -> set[str]:
    own = places[(places["document"] == document) & (places["column"] == "name")]
    return {NOTES[document][int(a) : int(b)] for a, b in zip(own["start"], own["end"], strict=True)}


@pytest.mark.parametrize(("said", "language"), [(None, "en"), ("nl", "nl"), ("auto", "en"), ("auto:de", "de")])
def test_a_language_without_cues_is_refused_before_a_note_is_read(
    said: str | None, language: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(asked: str) -> None:
        raise ConfigError(f"no cues for {asked}", "name another language")

    monkeypatch.setattr("deid.joint.extracting.load_cues", none)
    with pytest.raises(ConfigError, match=f"no cues for {language}"):
        extract_files(scan(notes), replace(RULES, language=said))


def test_a_name_of_one_note_is_found_in_another_as_it_is_misspelt_there(notes: Path) -> None:
    once = extract_files(scan(notes), replace(RULES, rounds=1)).view.provenance
    again = extract_files(scan(notes), replace(RULES, rounds=3))
    assert names(once, "b") == set()
    assert names(again.view.provenance, "b") == {"Quarymanne", "quarrymane"}
    assert [(one.persons, one.new > 0) for one in again.rounds] == [(2, True), (2, True), (2, False)]
    assert again.rounds[1].documents == 1


def test_rows_of_a_joined_table_tell_what_their_persons_are_called(notes: Path, tmp_path: Path) -> None:
    table = tmp_path / "patients.csv"
    table.write_text("record_number,given,family,dx\n9987654,Robert,Ostrander,flu\n777,Zoe,Nobody,gout\n")
    view = tmp_path / "view.csv"
    asked = ["extract", str(notes), str(view), "--model", "none", "--by", "note", "--json", str(tmp_path / "s.json")]
    renamed = table.read_text().replace("record_number", "mrn")
    table.write_text(renamed)
    result = CliRunner().invoke(app, [*asked, "--join", str(table), "--on", "mrn"])
    assert result.exit_code == 0, result.output
    assert names(pd.read_csv(tmp_path / "view.provenance.csv", dtype=str), "c") == {"Ostrandre", "Bobby", "ostrander"}
    assert "round 2: " in result.stderr
    rounds = json.loads((tmp_path / "s.json").read_text())["rounds"]
    assert rounds[1]["new"] >= 3
    assert not any(word in result.output for word in ("Ostrand", "9987654", "Bobby"))


def test_a_table_that_is_joined_has_its_key(tmp_path: Path) -> None:
    assert RULES.joined() == (None, "")
    for head, said, on in (("mrn,name", None, "mrn"), ("id,name", None, ""), ("id,mrn", "id", "id")):
        (tmp_path / "t.csv").write_text(f"{head}\n007,b\n")
        table, key = replace(RULES, join=str(tmp_path / "t.csv"), on=said).joined()
        assert key == on
        assert table is not None
        assert table.iloc[0, 0] == "007"
    with pytest.raises(ConfigError, match="no column 'name'"):
        replace(RULES, join=str(tmp_path / "t.csv"), on="name").joined()


def test_misspellings_are_those_of_the_model_only_where_it_is_said() -> None:
    text = "Mr. Quarrymane saw Quarymanne. Then Quarrymame, Thornton and Quarter came."
    known = {"d": (Known("PATIENT", "Zelda Quarrymane"),)}

    def found(recognizer: KnownRecognizer) -> list[str]:
        return [text[s.start : s.end] for s in recognizer.find(Document("d", text))]

    assert (
        found(KnownRecognizer(known))
        == ["Quarrymane", "Quarrymame"][: 1 + ("Quarrymame" in found(KnownRecognizer(known)))]
    )
    assert found(KnownRecognizer(known, alike=similar_names)) == ["Quarrymane", "Quarymanne", "Quarrymame"]


def facts(name: str, text: str, **scores: float) -> NoteFacts:
    spans = []
    for said, score in scores.items():
        category, _, value = said.partition("__")
        value = value.replace("_", " ")
        spans.append(Span(text.index(value), text.index(value) + len(value), category, score=score))
    return NoteFacts(name, note_facts(Document(name, text), spans))


def test_a_number_of_low_confidence_joins_no_notes_and_its_place_tells_so() -> None:
    told = {"PATIENT__Ann_Lee": 0.97}, {"PATIENT__Bo_Ray": 0.97}
    texts = "Ann Lee, MRN 5512345", "Bo Ray, MRN 5512345"
    for score, persons in ((0.97, 1), (0.6, 2)):
        both = [facts(t[:3], t, **own, MEDICALRECORD__5512345=score) for t, own in zip(texts, told, strict=True)]
        assert len(set(link_notes(both).notes)) == persons
    view = build_view(both, by="note")
    assert confidences(view)[["name", "mrn"]].to_numpy().tolist() == [[0.97, 0.6], [0.97, 0.6]]


def test_what_the_other_notes_of_a_person_contradict_is_less_sure(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for number, day in enumerate(("3/4/1950", "3/4/1950", "4/3/1950")):
        text = f"Patient: Zelda Quarrymane\nDOB: {day}   MRN: 5512345\nShe is well.\n"
        (tmp_path / "notes" / f"{number}.txt").write_text(text)
    made = extract_files(scan(tmp_path / "notes"), RULES)
    births = made.view.provenance.query("column == 'birth_date'").set_index("document")["confidence"]
    assert births["2"] < 0.4 < 0.8 < births["0"] == births["1"]
    assert made.contradicted == {"birth_date": 1}
    assert made.view.frame["birth_date"].tolist() == ["1950-03-04"]


def test_a_year_of_two_digits_is_read_by_the_note_s_date_else_by_the_stated_one(tmp_path: Path) -> None:
    text = "Admitted on 3/14/25 with a cough. Patient: Zelda Quarrymane"
    days = {"a": "2031-08-01", "b": None}
    lines = [json.dumps({"id": name, "seen": day, "text": text}) for name, day in days.items()]
    (tmp_path / "notes.jsonl").write_text("\n".join(lines) + "\n")
    said = replace(RULES, by="note", date_field="seen", as_of=datetime.date(2014, 5, 1))
    frame = extract_files(scan(tmp_path / "notes.jsonl"), said).view.frame
    assert frame["admission_date"].tolist() == ["2025-03-14", "1925-03-14"]


def test_a_patient_who_is_known_is_no_other_one_whatever_the_notes_say(notes: Path, tmp_path: Path) -> None:
    table = tmp_path / "patients.csv"
    table.write_text("document,patient\na,7\nb,8\n")
    made = extract_files(scan(notes), ViewOptions(model="none", patients=table, by="note"))
    assert made.view.frame["person"].tolist() == ["P1", "P2", "P3"]


def test_who_is_known_is_the_patient_however_often_others_are_named(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    text = "Mr. Bob Ostrander called. Mr. Bob Ostrander came with Ms. Ann Quarrymane. Mr. Bob Ostrander left.\n"
    (tmp_path / "notes" / "a.txt").write_text(text)
    (tmp_path / "patients.csv").write_text("document,patient\na,7\n")
    (tmp_path / "known.csv").write_text('id,name\n7,"Quarrymane, Ann"\n')
    asked = replace(RULES, patients=tmp_path / "patients.csv", rounds=1)
    found = [extract_files(scan(tmp_path / "notes"), own).view.frame["name"].tolist()
             for own in (asked, replace(asked, known=tmp_path / "known.csv"))]  # fmt: skip
    assert found == [["Bob Ostrander"], ["Ann Quarrymane"]]


def test_the_model_links_notes_that_no_exact_rule_does(tmp_path: Path) -> None:
    pytest.importorskip("splink")
    (tmp_path / "notes").mkdir()
    for name, who, day in (("a", "Margaret Quarrymane", "3/4/1950"), ("b", "Peggy Quarrymame", "4/3/1950")):
        text = f"Patient: {who}\nDOB: {day}\nPhone: (617) 555-0142\nAddress: 14 Oldmarket Rd, Salem, MA 01970\n"
        (tmp_path / "notes" / f"{name}.txt").write_text(text)
    asked = (replace(RULES, by="note", rounds=1, link=link) for link in ("exact", "model"))
    persons = [extract_files(scan(tmp_path / "notes"), own).view.frame["person"].nunique() for own in asked]
    assert persons == [2, 1]


def test_a_doubtful_name_is_not_made_sure_by_a_surer_part_of_it() -> None:
    """The longest name is the note's, but not where it is a guess: a misspelling would tell two persons apart."""
    text = "Zelda Quarymanne came. Quarrymane is well."
    spans = [Span(0, 16, "PATIENT", score=0.72), Span(23, 33, "PATIENT", score=0.97)]
    found = note_facts(Document("n", text), spans, known=spans)
    assert [(f.value, f.confidence) for f in found if f.column == "name"] == [
        ("Quarrymane", 0.72),
        ("Quarrymane", 0.97),
    ]
    unsure = note_facts(Document("n", text), spans[:1], known=spans)
    assert [(f.value, f.confidence) for f in unsure if f.column == "name"] == [("Zelda Quarymanne", 0.72)]


def test_what_a_table_says_of_a_patient_is_looked_for_in_what_is_linked_to_a_note_of_his(tmp_path: Path) -> None:
    """A note whose patient nobody named is his by its number; by itself it does not tell that *oddname* is a name."""
    (tmp_path / "notes").mkdir()
    text = {"a": "Patient: Zelda Quarrymane\nMRN: 5512345\nShe is well.\n", "b": "MRN: 5512345\nSaid oddname again.\n"}
    for name, content in text.items():
        (tmp_path / "notes" / f"{name}.txt").write_text(content)
    (tmp_path / "patients.csv").write_text("document,patient\na,7\n")
    (tmp_path / "known.csv").write_text("id,maiden\n7,Oddname\n8,Nobody\n")
    said = ViewOptions(
        model="none",
        patients=tmp_path / "patients.csv",
        known=tmp_path / "known.csv",
        known_column=("maiden=PATIENT",),
    )
    found = [extract_files(scan(tmp_path / "notes"), replace(said, rounds=n)).view.provenance for n in (1, 2)]
    names = [
        {text["b"][int(a) : int(b)] for a, b in zip(own["start"], own["end"], strict=True)}
        for own in (p[(p["document"] == "b") & (p["column"] == "name")] for p in found)
    ]
    assert names == [set(), {"oddname"}]
