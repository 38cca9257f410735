"""The table of known patients: reading it, and what its mistakes look like."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

import pytest

from deid import Pipeline, build_recognizer, load_policy
from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.detection.known import Known, KnownRecognizer
from deid.detection.options import PeopleOptions
from deid.document import Document
from deid.io import scan
from deid.pipeline.known_people import KnownPeople, column_meaning, read_known_people, read_people
from deid.pipeline.patients import Patients

HEADER = "Patient_ID,Given,Middle,Family,MRN,Birth Date,phone,Home Phone,Town\n"
ROWS = "7,Robert,Q,Wexler-Long,0012,1960-03-04,617-555-0143,617-555-0144,New Haven\n8,Rose,,Foley,4455,,,,\n"
EXPECTED = {
    "7": {
        Known("PATIENT", "Wexler-Long, Robert Q"),
        Known("MEDICALRECORD", "0012"),
        Known("DATE", "1960-03-04"),
        Known("PHONE", "617-555-0143"),
        Known("PHONE", "617-555-0144"),
        Known("CITY", "New Haven"),
    },
    "8": {Known("PATIENT", "Foley, Rose"), Known("MEDICALRECORD", "4455")},
}


def table(folder: Path, text: str, name: str = "known.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def sets(people: KnownPeople) -> dict[str, set[Known]]:
    return {patient: set(known) for patient, known in people.identifiers.items()}


def test_columns_are_known_by_their_names(tmp_path: Path) -> None:
    assert sets(read_known_people(table(tmp_path, HEADER + ROWS))) == EXPECTED
    assert column_meaning("Date of Birth") == "DATE"
    assert column_meaning("Location-Other") == "LOCATION-OTHER"
    assert column_meaning("shoe size") is None


@pytest.mark.parametrize("delimiter", ["\t", ";"])
def test_other_separators(tmp_path: Path, delimiter: str) -> None:
    text = (HEADER + ROWS).replace(",", delimiter)
    assert sets(read_known_people(table(tmp_path, text, "known.tsv"))) == EXPECTED


def test_json_lines_and_parquet(tmp_path: Path) -> None:
    import pandas as pd

    lines = '{"patient": 7, "name": "Quill, Ann", "dob": null}\n\n{"patient": 7, "phone": "617-555-0143"}\n'
    with pytest.raises(ConfigError, match="row 2: a column that the first row lacks"):
        read_known_people(table(tmp_path, lines, "known.jsonl"))
    expected = {"7": {Known("PATIENT", "Quill, Ann"), Known("DATE", "1960-03-04")}}
    rows = [{"patient": 7, "name": "Quill, Ann", "dob": "1960-03-04"}, {"patient": 7, "name": None}]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    assert sets(read_known_people(table(tmp_path, text, "known.jsonl"))) == expected
    frame = pd.DataFrame({"patient": [7.0], "name": ["Quill, Ann"], "dob": [datetime.date(1960, 3, 4)]})
    frame.to_parquet(tmp_path / "known.parquet")
    assert sets(read_known_people(tmp_path / "known.parquet")) == expected


def test_the_user_can_name_columns(tmp_path: Path) -> None:
    path = table(tmp_path, "nr,id,vorname,what\n1,x,Anna,7\n")
    people = read_known_people(path, {"nr": "id", "vorname": "given", "what": "none"})
    assert sets(people) == {"1": {Known("PATIENT", "Anna")}}
    assert people.names("1") == ("Anna",)
    assert people.names("2") == people.names(None) == ()
    path = table(tmp_path, "id,nr,vorname\nx,1,Anna\n", "second.csv")  # whatever a column before it is called
    assert sets(read_known_people(path, {"nr": "id", "vorname": "given"})) == {"1": {Known("PATIENT", "Anna")}}


def test_full_names_are_keys_without_short_forms(tmp_path: Path) -> None:
    people = read_known_people(table(tmp_path, 'id,name\n1,Bob Miller\n2,"MILLER, Ann Q."\n3,Prince\n'))
    assert people.people == {"robert miller", "ann miller"}


@pytest.mark.parametrize(
    ("text", "columns", "says"),
    [
        ("id,name,shoe size\n1,Smithson,43\n", {}, "column 3, 'shoe size', holds is not known"),
        ("nr,shoe size\n1,43\n", {"nr": "id"}, "column 2, 'shoe size', holds is not known"),
        ("Smithson,1960-03-04\nQuill,1961-01-01\n", {}, r"column 1, \*+, holds is not known"),
        ("name\nSmithson\n", {}, "no column holds the patient's id"),
        ("id,name\n1,Smithson\n,Quill\n", {}, "row 2: the patient's id is missing"),
        ("id,name,dob\n1,Smithson,1960-13-04\n", {}, "row 1: a date cannot be read"),
        ("id,name\n1,Smithson,Quill\n", {}, "row 1: 3 cells instead of 2"),
        ('id,name\n1,"Smithson\n', {}, "no CSV"),
        ("id,name\n", {}, "holds no row"),
        ("id,name\n1,Smithson\n", {"nam": "PATIENT"}, "no column 'nam'"),
        ("id,name\n1,Smithson\n", {"name": "NAME"}, "cannot be 'NAME'"),
    ],
)
def test_mistakes_are_named_without_any_value(tmp_path: Path, text: str, columns: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as error:
        read_known_people(table(tmp_path, text), columns)
    assert "known.csv" in str(error.value)
    assert not any(value in str(error.value) for value in ("Smithson", "Quill", "1960"))


@pytest.mark.parametrize(
    ("name", "content"), [("k.csv", b"id,name\n1,\xff\n"), ("k.parquet", b"x"), ("k.jsonl", b"[]")]
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    for path in (tmp_path / name, tmp_path / "missing.csv"):
        with pytest.raises(ConfigError):
            read_known_people(path)


def test_the_recognizer_looks_for_the_documents_patient(tmp_path: Path) -> None:
    people = read_known_people(table(tmp_path, HEADER + ROWS))
    recognizer = people.recognizer(Patients(field_name="who"), {"nurse": "DOCTOR"}, None)
    text = "Wexler, MRN 0012; Foley; nurse Quill"
    for who, expected in (("7", ["Wexler", "0012", "Quill"]), ("8", ["Foley", "Quill"]), ("9", ["Quill"])):
        document = Document("n", text, metadata={"who": who, "nurse": "Quill"})
        assert [text[s.start : s.end] for s in recognizer.find(document)] == expected
    assert "Wexler" not in repr(people)


@pytest.mark.parametrize("policy", ["surrogate", "redact", "limited-data-set"])
@pytest.mark.parametrize(
    "name", ["Jan Gray", "May Hill", "April Ray", "June Fox", "August Egan", "Gray, Jan", "May March"]
)
def test_the_name_of_a_known_person_is_no_date(name: str, policy: str) -> None:
    given, family = re.findall(r"\w+", name)[:: -1 if "," in name else 1]
    text = f"Patient: {name}. Seen on 2019-06-03. {name} came today; call {family} again.\nI told {given} to rest.\n"
    recognizer = build_recognizer(known=KnownRecognizer({"n": (Known("PATIENT", name),)}))
    scrubbed = Pipeline(recognizer, load_policy(policy), Key(b"k" * 32))(Document("n", text))
    taken = {text[e.start : e.end] for e in scrubbed.edits if e.category in ("PATIENT", "DOCTOR")}
    assert taken == {name, family, given}
    assert not set(re.findall(r"\w+", name)) & set(re.findall(r"\w+", scrubbed.document.text))
    assert ("2019-06-03" in scrubbed.document.text) is (policy == "limited-data-set")


def test_a_month_beside_a_number_is_a_date_whatever_a_patient_is_called() -> None:
    text = "Patient: April Ray.\nSeen in April 2019, and on April 5.\n"
    found = build_recognizer(known=KnownRecognizer({"n": (Known("PATIENT", "April Ray"),)})).find(Document("n", text))
    assert [(text[s.start : s.end], s.category) for s in found] == [
        ("April Ray", "PATIENT"),
        ("April 2019", "DATE"),
        ("April 5", "DATE"),
    ]


def test_two_columns_of_given_names_are_one_name(tmp_path: Path) -> None:
    path = table(tmp_path, "mrn,a,b,last name\n1,Mary,Ann,Poole\n2,Mary,,Poole\n")
    people = read_known_people(path, {"mrn": "id", "a": "given", "b": "given"})
    assert sets(people) == {"1": {Known("PATIENT", "Poole, Mary Ann")}, "2": {Known("PATIENT", "Poole, Mary")}}


def test_whose_identifiers_a_note_may_hold_must_be_told(tmp_path: Path) -> None:
    """A record says it itself, an empty note holds none; without a table nobody is looked for."""
    people = read_known_people(table(tmp_path, HEADER + ROWS))
    recognizer = people.recognizer(Patients(), {}, None)
    with pytest.raises(ConfigError, match="patient"):
        recognizer.find(Document("n", "Wexler"))
    assert recognizer.find(Document("", "")) == []
    path = table(
        tmp_path,
        "MSH|^~\\&|A|B|C|D|20240312||ORU^R01|1|P|2.5\rPID|1||7^^^H^MR||Long^Rob\rNTE|1||Seen: Wexler\r",
        "m.hl7",
    )
    (message,) = scan(path).documents()
    assert isinstance(message, Document)
    assert "Wexler" in [message.text[s.start : s.end] for s in recognizer.find(message)]
    alone = KnownPeople().recognizer(Patients(), {"nurse": "DOCTOR"}, None)
    assert len(alone.find(Document("n", "nurse Quill", metadata={"nurse": "Quill"}))) == 1


def test_fields_that_hold_a_part_of_a_name_hold_a_patients_name() -> None:
    said = ("given", "last=family", "m=middle", "doc=DOCTOR", "phone")
    assert read_people(PeopleOptions(known_field=said)).fields == {
        "given": "PATIENT", "last": "PATIENT", "m": "PATIENT", "doc": "DOCTOR", "phone": "PHONE",
    }  # fmt: skip
    for wrong in ("shoe", "doc=NURSE", "who=id", "doc="):
        with pytest.raises(ConfigError, match="not known"):
            read_people(PeopleOptions(known_field=(wrong,)))


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("Patient ID", "id"), ("__MRN__", "MEDICALRECORD"), ("given-name", "given"), ("last name", "family"),
        ("D.O.B.", None), ("dob", "DATE"), ("CITY", "CITY"), ("health plan", "HEALTHPLAN"), ("", None),
    ],
)  # fmt: skip
def test_what_a_column_holds_is_told_by_its_name_in_any_writing(name: str, meaning: str | None) -> None:
    assert column_meaning(name) == meaning


@pytest.mark.parametrize(
    ("cell", "read"),
    [(7, "7"), (7.0, "7"), (7.5, "7.5"), (" 7 ", "7"), ("07", "07"), (None, ""), (float("nan"), ""), ("", "")],
)
def test_a_cell_is_read_as_a_table_shows_it(cell: object, read: str, tmp_path: Path) -> None:
    line = json.dumps({"id": 1, "mrn": cell, "name": "Quill"})
    found = read_known_people(table(tmp_path, f"{line}\n", "known.jsonl")).identifiers["1"]
    assert {known.value for known in found if known.category == "MEDICALRECORD"} == ({read} if read else set())


@pytest.mark.parametrize("cell", [True, False, [7], {"a": 7}])
def test_a_cell_that_is_neither_text_nor_number_is_refused(cell: object, tmp_path: Path) -> None:
    line = json.dumps({"id": 1, "mrn": cell})
    with pytest.raises(ConfigError, match="row 1: a cell that is neither"):
        read_known_people(table(tmp_path, f"{line}\n", "known.jsonl"))


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("Rose,Ann,Foley", "Foley, Rose Ann"), ("Rose,,Foley", "Foley, Rose"), (",Ann,Foley", "Foley, Ann"),
        (",,Foley", "Foley"), ("Rose,,", "Rose"), ("Rose,Ann,", "Rose Ann"), (",,", None),
    ],
)  # fmt: skip
def test_parts_of_a_name_are_one_name(row: str, name: str | None, tmp_path: Path) -> None:
    people = read_known_people(table(tmp_path, f"id,given,middle,family,mrn\n1,{row},4\n"))
    assert sets(people)["1"] - {Known("MEDICALRECORD", "4")} == ({Known("PATIENT", name)} if name else set())
    assert people.names("1") == ((name,) if name else ())


def test_of_several_columns_of_ids_the_first_is_the_patients_unless_the_user_says(tmp_path: Path) -> None:
    path = table(tmp_path, "patient_id,id,name\n1,x,Quill\n")
    assert list(read_known_people(path).identifiers) == ["1"]
    assert list(read_known_people(path, {"id": "id"}).identifiers) == ["x"]
    assert list(read_known_people(path, {"patient_id": "none"}).identifiers) == ["x"]
