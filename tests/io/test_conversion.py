"""Converting between formats: documents arrive whole, labels are mapped, and what is lost is told."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from deid.base.errors import ConfigError, DeidError, LabelError, OutputError
from deid.document import Document, Span
from deid.io import FORMATS, read, write
from deid.io.conversion import convert
from deid.io.formats import ConversionOptions, ReadingOptions

NOTES = [
    Document("1-1", "Mr. Lee & Ann,\nseen 3/4 in José's ward", (Span(4, 7, "PATIENT"), Span(20, 23, "DATE"))),
    Document("2-1", "\ufeff😀 Dr. Ng", (Span(7, 9, "DOCTOR"),)),
    Document("3-1", "nothing"),
]


def documents(place: Path, format: str | None = None) -> list[Document]:
    found = list(read(place, format))
    assert all(isinstance(item, Document) for item in found)
    return [item for item in found if isinstance(item, Document)]


def bare(found: list[Document]) -> list[tuple[str, str, list[tuple[int, int, str]]]]:
    return [(d.id, d.text, [(s.start, s.end, s.category) for s in d.spans]) for d in found]


NOTES_FORMATS = [name for name, format in FORMATS.items() if not format.of_records]
"""Those that can be written from others."""


@pytest.mark.parametrize(("source", "target"), list(permutations(NOTES_FORMATS, 2)))
def test_between_any_two_formats(tmp_path: Path, source: str, target: str) -> None:
    """Ids, texts and annotations arrive; plain text has no annotations to give or to take."""
    notes = [note.with_spans(()) for note in NOTES] if source == "text" else NOTES
    assert write(notes, tmp_path / "in", source).documents == 3
    done = convert(tmp_path / "in", tmp_path / "out", ConversionOptions(target), ReadingOptions(format=source))
    assert (done.documents, done.failures) == (3, [])
    expected = [note.with_spans(()) for note in notes] if target == "text" else notes
    assert bare(documents(tmp_path / "out", target)) == bare(expected)
    assert done.dropped.total() == (3 if target == "text" and source != "text" else 0)
    assert bool(done.remarks) == bool(done.dropped)


def test_labels_are_mapped_where_the_target_is_closed(tmp_path: Path) -> None:
    note = Document("1", "Ann, Boston, 02115", (Span(0, 3, "PATIENT"), Span(5, 11, "CITY"), Span(13, 18, "ZIP")))
    write([note], tmp_path / "in.jsonl", "jsonl")
    done = convert(tmp_path / "in.jsonl", tmp_path / "out.xml", ConversionOptions("i2b2-2006"))
    assert [s.category for s in documents(tmp_path / "out.xml")[0].spans] == ["PATIENT", "LOCATION", "LOCATION"]
    assert any("CITY becomes LOCATION" in remark for remark in done.remarks)
    assert any("CITY, ZIP all become LOCATION" in remark for remark in done.remarks)
    assert done.categories == {"PATIENT": 1, "LOCATION": 2}


def test_a_label_without_a_place_fails_its_document_unless_it_may_be_dropped(tmp_path: Path) -> None:
    jobs = Document("1", "Ann, a nurse", (Span(0, 3, "PATIENT"), Span(7, 12, "PROFESSION")))
    write([jobs, replace(NOTES[2], id="2")], tmp_path / "in.jsonl", "jsonl")
    done = convert(tmp_path / "in.jsonl", tmp_path / "one.xml", ConversionOptions("i2b2-2006"))
    assert (done.documents, [type(f.error) for f in done.failures]) == (1, [LabelError])
    assert "--drop-unmapped" in str(done.failures[0].error)
    done = convert(tmp_path / "in.jsonl", tmp_path / "two.xml", ConversionOptions("i2b2-2006", drop_unmapped=True))
    assert (done.documents, done.dropped) == (2, {"PROFESSION": 1})
    assert [len(d.spans) for d in documents(tmp_path / "two.xml")] == [1, 0]


def test_labels_can_be_mapped_to_any_set(tmp_path: Path) -> None:
    write([Document("1", "Ann 56", (Span(0, 3, "name"), Span(4, 6, "age")))], tmp_path / "in", "hide")
    done = convert(tmp_path / "in", tmp_path / "out", ConversionOptions("i2b2-2014", map="i2b2-2014", map_from="hide"))
    assert [s.category for s in documents(tmp_path / "out")[0].spans] == ["PATIENT", "AGE"]
    assert any("name becomes PATIENT" in remark for remark in done.remarks)
    with pytest.raises(ConfigError):
        convert(tmp_path / "in", tmp_path / "out2", ConversionOptions("jsonl", map="klingon"))


def test_labels_of_ones_own_stay_on_request(tmp_path: Path) -> None:
    write([Document("1", "Ann", (Span(0, 3, "MY_OWN"),))], tmp_path / "in.jsonl", "jsonl")
    done = convert(tmp_path / "in.jsonl", tmp_path / "out", ConversionOptions("i2b2-2014"))
    assert [type(f.error) for f in done.failures] == [LabelError]
    assert "MY_OWN" not in " ".join([*done.remarks, str(done.failures[0].error)])
    convert(tmp_path / "in.jsonl", tmp_path / "own", ConversionOptions("i2b2-2014"), ReadingOptions(any_label=True))
    found = list(read(tmp_path / "own", any_label=True))
    assert [isinstance(item, Document) and item.spans for item in found] == [(Span(0, 3, "MY_OWN"),)]


def test_a_folder_of_collections_keeps_its_files(tmp_path: Path) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "a.csv").write_text("id,text\n1,x\n2\n")
    (tmp_path / "in" / "sub" / "b.csv").write_text("id,text\n1,y\n")
    done = convert(tmp_path / "in", tmp_path / "out", ConversionOptions("jsonl"))
    assert done.documents == 2
    assert [f.index for f in done.failures] == [2]
    assert sorted(str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*.*")) == [
        "a.jsonl",
        "sub/b.jsonl",
    ]


def test_the_same_format_keeps_the_names_of_its_fields(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('"ward","note"\n"3","x"\n')
    convert(tmp_path / "in.csv", tmp_path / "out.csv", ConversionOptions("csv"))
    assert (tmp_path / "out.csv").read_text() == '"ward","note"\n"3","x"\n'


def test_each_table_of_a_folder_keeps_its_own_columns(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    contents = {"a.csv": '"ward","note"\n"3","x"\n', "b.csv": '"text";"key"\n"y";"5"\n'}
    for name, content in contents.items():
        (tmp_path / "in" / name).write_text(content)
    convert(tmp_path / "in", tmp_path / "out", ConversionOptions("csv"))
    assert {name: (tmp_path / "out" / name).read_text() for name in contents} == contents


def test_output_is_utf_8_whatever_the_input(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes("José".encode("cp1252"))
    convert(tmp_path / "in.txt", tmp_path / "out.jsonl", ConversionOptions("jsonl"), ReadingOptions(encoding="cp1252"))
    assert "José" in (tmp_path / "out.jsonl").read_text("utf-8")


@pytest.mark.parametrize("target", ["in.jsonl", "in.jsonl/out", "full"])
def test_places_that_would_do_damage_are_refused(tmp_path: Path, target: str) -> None:
    write(NOTES, tmp_path / "in.jsonl", "jsonl")
    write(NOTES, tmp_path / "full", "text")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OutputError):
        convert(tmp_path / "in.jsonl", tmp_path / target, ConversionOptions("jsonl"))
    assert sorted(tmp_path.rglob("*")) == before


def test_many_documents_do_not_fit_one_file_of_one(tmp_path: Path) -> None:
    write(NOTES, tmp_path / "in.jsonl", "jsonl")
    done = convert(tmp_path / "in.jsonl", tmp_path / "out.xml", ConversionOptions("i2b2-2014"))
    assert (done.documents, len(done.failures)) == (1, 2)
    assert all(isinstance(f.error, DeidError) and "name a folder" in str(f.error) for f in done.failures)


def test_a_folder_of_documents_stays_a_folder(tmp_path: Path) -> None:
    write(NOTES, tmp_path / "in", "i2b2-2014")
    with pytest.raises(OutputError, match="name of a file"):
        convert(tmp_path / "in", tmp_path / "out.txt", ConversionOptions("text"))
    assert convert(tmp_path / "in", tmp_path / "out.v2", ConversionOptions("text")).documents == 3
    assert len(documents(tmp_path / "out.v2")) == 3
