"""Whom a document is about."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from commands import attempt

from deid.base.errors import ConfigError
from deid.document import Document
from deid.pipeline.patients import Listed, Patients, Writings, patient_id, read_patients
from deid.records.record import Record


def table(folder: Path, content: str) -> Path:
    path = folder / "patients.csv"
    path.write_text(content, encoding="utf-8-sig")
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_names_documents_with_or_without_suffix(tmp_path: Path, separator: str) -> None:
    path = table(tmp_path, f"document{separator}patient\nsub/n1.txt{separator}p1\nn.2{separator}p2\n")
    patients = Patients(read_patients(path))
    assert patients.of(Document("sub/n1", "")) == "p1"
    assert patients.of(Document("n.2", "")) == "p2"
    assert patients.of(Document("n3", "")) is None


def test_what_says_whose_a_note_is_is_asked_in_its_order() -> None:
    """The table, the field, the name of the file, the record, the text; what says nothing is passed over."""
    record = Record(b"", patient="5")
    note = Document("in/mrn-4.txt", "MRN 6", metadata={"who": "2", "none": " "}, record=record)
    ways = {"table": {"in/mrn-4": "1"}, "field_name": "who", "pattern": re.compile(r"mrn-(\d)"),
            "text": re.compile(r"MRN (\d)")}  # fmt: skip
    said = []
    while ways:
        said.append(Patients(**ways).of(note))
        del ways[next(iter(ways))]
    assert said == ["1", "2", "4", "5"]
    text = re.compile(r"MRN (\d)")
    for record in (None, Record(b"")):
        bare = replace(note, record=record)
        assert Patients(text=text).of(bare) == "6"
        assert Patients(field_name="none", text=text).of(bare) == "6"
        assert Patients(text=re.compile("PID"), pattern=re.compile("pid")).of(bare) is None
        assert Patients(pattern=re.compile(r"MRN-\d|-(\d)", re.IGNORECASE)).of(bare) == "mrn-4"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("document,person\nSmith,p1\n", "lacks the column"),
        ('document,patient\n"Smith' + "x" * 140_000, "no CSV|line 2"),
        ("document,patient\nSmith,\n", "line 2"),
        ("document,patient\nSmith,p1\nSmith,p2\n", "line 3"),
        ("document,patient\nSmith.txt,p1\nSmith,p2\n", "line 3"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        read_patients(table(tmp_path, content))
    assert "Smith" not in str(caught.value)


@pytest.mark.parametrize("other", ["04711", " 4711", "A-4711"])
@pytest.mark.parametrize("name", ["scrub", "filter", "watch", "extract", "tag"])
def test_a_table_that_writes_an_id_in_two_ways_is_refused_by_every_command(
    tmp_path: Path, name: str, other: str
) -> None:
    """One person would have two surrogates and two shifts of dates, or what is known of him is looked for in half."""
    (tmp_path / "notes").mkdir()
    for note in "ab":
        (tmp_path / "notes" / f"{note}.txt").write_text("Seen on 3/14/2019.")
    path = table(tmp_path, f"document,patient\na,4711\nb,{other}\n")
    places = {
        "filter": [tmp_path / "notes" / "a.txt", "--output", tmp_path / "o.txt", "--from", "whole", "--model", "none"],
        "watch": [tmp_path / "notes", tmp_path / "o", "--once", "--settle", "0", "--model", "none"],
        "extract": [tmp_path / "notes", tmp_path / "v.csv", "--model", "none"],
    }
    command = [name, *places.get(name, [tmp_path / "notes", tmp_path / "o", "--model", "none"]), "--patients", path]
    if other == "04711":
        with pytest.raises(ConfigError, match="1 ids of persons are written in several ways"):
            attempt(*command)
    else:  # blanks around an id are none of it
        assert attempt(*command)[0] == 0


def test_a_missing_or_binary_table(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        read_patients(tmp_path / "none.csv")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError):
        read_patients(tmp_path / "b.csv")


def test_field_and_pattern() -> None:
    patients = Patients({}, "mrn", re.compile(r"^pat(\d+)_"))
    assert patients.of(Document("x/pat17_note", "", metadata={"mrn": 5})) == "5"
    assert patients.of(Document("x/pat17_note", "", metadata={"mrn": ""})) == "17"
    assert patients.of(Document("pat17_/note", "")) is None
    assert Patients(pattern=re.compile(r"\d+")).of(Document("note-4", "")) == "4"


def test_listed_documents_are_met_by_name_with_or_without_suffix() -> None:
    listed = Listed(Patients(table={"a.txt": "1", "a": "1", "b": "2", "c.txt": "3", "c": "3"}))
    for name in ("a.txt", "b", "x"):
        listed.met(name)
    assert listed.missing() == 1
    listed.met("c")
    assert listed.missing() == 0
    listed = Listed(Patients(table={"a.b.txt": "1", "a.b": "1"}))
    listed.met("a.b")
    assert listed.missing() == 0


def test_ids_with_dots_are_of_their_own_patients(tmp_path: Path) -> None:
    """What stands behind the last dot of an id is a suffix only where it can be one; whole names go before."""
    patients = Patients(read_patients(table(tmp_path, "document,patient\n2.16.1,p1\n2.16.2,p2\nn.a,p3\n")))
    assert [patients.of(Document(name, "")) for name in ("2.16.1", "2.16.2", "2.16.3", "2.16", "n.a")] == [
        *("p1", "p2"), None, None, "p3"]  # fmt: skip
    patients = Patients({"n": "p1", "n.a": "p2"})
    assert patients.of(Document("n.a", "")) == "p2"


@pytest.mark.parametrize("line", [",7", "a.txt,", "  ,7", "a.txt,  "])
def test_a_line_without_document_or_patient_is_an_error(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError, match="without an id"):
        read_patients(table(tmp_path, f"document,patient\nb.txt,1\n{line}\n"))


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (7, "7"), (7.0, "7"), ("7", "7"), (" 7 ", "7"), ("7.0", "7"), ("", None), (" ", None), (None, None),
        (True, None), (False, None), ([7], None), ((7,), None), ({"a": 7}, None), ("p-7", "p-7"),
    ],
)  # fmt: skip
def test_an_id_of_a_patient_is_read_as_those_of_tables_are(value: object, read: str | None) -> None:
    assert patient_id(value) == read
    assert Patients(field_name="who").of(Document("n", "", metadata={"who": value})) == read


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        (r"pat(\d+)", "x/pat17", "17"), (r"pat\d+", "x/pat17", "pat17"), (r"pat(\d+)?", "x/pat", "pat"),
        (r"pat(\d*)", "x/pat", None), (r"x", "x/pat17", None), (r"^pat", "x/pat17", "pat"),
    ],
)  # fmt: skip
def test_the_first_group_of_a_pattern_is_the_id_else_all_of_it(pattern: str, name: str, found: str | None) -> None:
    assert Patients(pattern=re.compile(pattern)).of(Document(name, "")) == found
    assert Patients(text=re.compile(pattern)).of(Document("n", name.removeprefix("x/"))) == found


def test_patients_are_counted_whose_ids_are_written_in_several_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Writings()
    written.met([(1, 10), (2, 20), (1, 10)])
    assert len(written) == 0
    written.met([(1, 11), (1, 12), (2, 20)])
    assert len(written) == 1
    monkeypatch.setattr("deid.pipeline.patients._REMEMBERED", 2)
    few = Writings()
    few.met([(1, 10), (2, 20)])
    few.met([(1, 11)])
    assert len(few) == 1  # as many as are remembered
    few.met([(3, 30), (2, 21)])
    assert len(few) == 2
    few.met([(4, 40), (5, 50), (2, 22), (3, 31)])  # those of two others are forgotten
    assert len(few) == 2


def test_whether_anything_says_whose_a_note_is() -> None:
    assert not Patients().named
    for said in ({"table": {"a": "1"}}, {"field_name": "who"}, {"pattern": re.compile("x")}, {"text": re.compile("x")}):
        assert Patients(**said).named  # type: ignore[arg-type]
        Patients(**said).require_named()  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="whom a document is about"):
        Patients().require_named("n")
