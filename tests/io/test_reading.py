"""Reading files and folders: order, ids, what is skipped, what fails."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path

import pytest

from deid.base import spool
from deid.base.errors import (
    ConfigError,
    DeidError,
    DuplicateError,
    EncodingError,
    FormatError,
    InputError,
)
from deid.document import Document, Failure
from deid.io import FORMATS, Options, read, scan, write

NOTE = "<deIdi2b2><TEXT>Ann</TEXT><TAGS></TAGS></deIdi2b2>"
RECORDS = '<ROOT><RECORD ID="1"><TEXT>Ann</TEXT></RECORD></ROOT>'


def put(folder: Path, **files: str | bytes) -> Path:
    """Write files; in their names ``__`` stands for a slash and ``_dot_`` for a dot."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def test_documents_come_sorted_with_their_relative_path_as_id(tmp_path: Path) -> None:
    put(tmp_path, b_dot_txt="2", a__z_dot_txt="1", a_dot_txt="0", c_dot_x_dot_TXT="3")
    assert [(d.id, d.index, d.text) for d in read(tmp_path) if isinstance(d, Document)] == [
        ("a", 1, "0"),
        ("a/z", 2, "1"),
        ("b", 3, "2"),
        ("c.x", 4, "3"),
    ]


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    """A file that is skipped is a file that nobody scrubs."""
    put(tmp_path, a_dot_txt="x", b_dot_txt="x", README_dot_md="x", c_dot_pdf="x", d_dot_pdf="x", LICENSE="x")
    put(tmp_path, **{"_dot_DS_Store": "x", "_dot_git__config": "x", "note_dot_Smith": "x"})
    (tmp_path / "loop").symlink_to(tmp_path)
    source = scan(tmp_path)
    assert source.skipped == {
        "hidden": 2,
        ".md files": 1,
        ".pdf files": 2,
        ".*** files": 1,
        "files without suffix": 1,
        "links to folders": 1,
    }
    assert source.remarks() == [
        "not read, and not copied: 1 .*** files, 1 .md files, 2 .pdf files, 1 files without suffix, 2 hidden, "
        "1 links to folders (read were text files)"
    ]
    assert len(list(source.documents())) == 2


def test_what_is_no_file_fails_without_hanging(tmp_path: Path) -> None:
    put(tmp_path, a_dot_txt="x")
    os.mkfifo(tmp_path / "b.txt")
    (tmp_path / "c.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "d.txt").symlink_to("e.txt")
    (tmp_path / "e.txt").symlink_to("d.txt")
    first, *others = read(tmp_path)
    assert isinstance(first, Document)
    told = ["no regular file", "no such file", *["too many levels"] * 2]
    for failure, what in zip(others, told, strict=True):
        assert isinstance(failure, Failure)
        assert what in str(failure.error)


def test_a_folder_that_cannot_be_opened_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, a_dot_txt="x", closed__b_dot_txt="x")
    really = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "denied")
        return really(path)

    monkeypatch.setattr(os, "scandir", scandir)
    failure, document = read(tmp_path)
    assert isinstance(failure, Failure)
    assert isinstance(failure.error, InputError)
    assert isinstance(document, Document)


def test_two_files_of_one_id_are_a_failure(tmp_path: Path) -> None:
    put(tmp_path, a_dot_txt="x", a_dot_TXT="y", a_dot_text="z")
    first, *others = read(tmp_path)
    assert isinstance(first, Document)
    assert [type(item.error) for item in others if isinstance(item, Failure)] == [DuplicateError] * 2


def test_one_bad_file_stops_no_other(tmp_path: Path) -> None:
    put(tmp_path, a_dot_txt="fine", b_dot_txt="José".encode("cp1252"), c_dot_txt=b"\x7fELF" + bytes(50), d_dot_txt="")
    first, second, third, fourth = read(tmp_path)
    assert isinstance(first, Document)
    assert isinstance(second, Failure)
    assert isinstance(second.error, EncodingError)
    assert (second.index, second.path) == (2, str(tmp_path / "b.txt"))
    assert "cp1252" in str(second.error)
    assert isinstance(third, Failure)
    assert isinstance(third.error, FormatError)
    assert isinstance(fourth, Document)
    assert [d.text for d in read(tmp_path, encoding="cp1252") if isinstance(d, Document)] == ["fine", "José", ""]


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.txt", "plain", "text"),
        ("a.txt", "", "text"),
        ("a.txt", "START_OF_RECORD=1||||1||||\nx\n||||END_OF_RECORD\n", "physionet"),
        ("a.txt", "hello there".encode("utf-16"), "text"),
        ("a.note", "plain", "text"),
        ("a", "plain", "text"),
        ("a.xml", NOTE, "i2b2-2014"),
        ("a.xml", "\ufeff" + NOTE, "i2b2-2014"),
        ("a.xml", NOTE.encode("utf-16"), "i2b2-2014"),
        ("a.xml", NOTE.replace("deIdi2b2", "Mine"), "i2b2-2014"),
        ("a.xml", NOTE.replace("deIdi2b2", "MEDDOCAN"), "meddocan"),
        ("a.xml", RECORDS, "i2b2-2006"),
        ("a", RECORDS, "i2b2-2006"),
        ("a.sgml", "<age>5</age>", "hide"),
        ("a.sgml", "no tags", "hide"),
        ("a.csv", "id,text\n", "csv"),
        ("a.tsv", "id\ttext\n", "csv"),
        ("a.parquet", b"PAR1", "parquet"),
        ("a.jsonl", '{"text": "a"}', "jsonl"),
        ("a.json", '[{"text": "a"}]', "jsonl"),
        ("a.jsonl", '{"text": "a", "spans": []}', "jsonl"),
        ("a.jsonl", '{"text": "a", "spans": [], "_task_hash": 1}', "prodigy"),
        ("a.jsonl", '{"text": "a", "label": []}', "doccano"),
        ("a.jsonl", '{"text": "a", "entities": []}', "doccano"),
        ("a.json", '[{"data": {"text": "a"}, "annotations": []}]', "labelstudio"),
        ("a.jsonl", '{"text": "' + "x" * 100_000 + '"}', "jsonl"),
        ("a.jsonl", '{"id": 1, "data": {"text": "' + "x" * 100_000 + '"}, "annotations": []}', "labelstudio"),
        ("a.jsonl", '{"data": "x", "text": "a"}', "jsonl"),
    ],
)
def test_sniffing_a_file(tmp_path: Path, name: str, content: str | bytes, format: str) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert scan(tmp_path / name).format.name == format


def test_sniffing_a_folder_takes_what_most_files_are(tmp_path: Path) -> None:
    put(tmp_path, a_dot_xml=NOTE, b_dot_xml=NOTE, c_dot_txt="x", d_dot_csv="text\n")
    assert scan(tmp_path).format.name == "i2b2-2014"
    assert scan(tmp_path).skipped == {".txt files": 1, ".csv files": 1}


def test_sniffing_refuses_to_choose_between_equals(tmp_path: Path) -> None:
    put(tmp_path, a_dot_xml=NOTE, b_dot_txt="x")
    with pytest.raises(FormatError, match="--from"):
        scan(tmp_path)
    assert scan(tmp_path, "text").format.name == "text"


def test_text_beside_annotations_is_brat(tmp_path: Path) -> None:
    put(tmp_path, a_dot_txt="Ann", a_dot_ann="T1\tPATIENT 0 3\tAnn\n", sub__b_dot_txt="x", sub__b_dot_ann="")
    assert scan(tmp_path).format.name == "brat"
    assert scan(tmp_path / "a.txt").format.name == scan(tmp_path / "a.ann").format.name == "brat"
    assert [d.id for d in read(tmp_path / "a.ann", "brat") if isinstance(d, Document)] == ["a"]
    assert scan(tmp_path).skipped == {}
    assert [(d.id, len(d.spans)) for d in read(tmp_path) if isinstance(d, Document)] == [("a", 1), ("sub/b", 0)]


def test_half_a_brat_document_is_a_failure(tmp_path: Path) -> None:
    put(tmp_path, a_dot_txt="Ann", b_dot_ann="", c_dot_txt="x", c_dot_ann="")
    first, second, third = read(tmp_path, "brat")
    assert isinstance(first, Failure)
    assert "the .ann file is missing" in str(first.error)
    assert isinstance(second, Failure)
    assert "the .txt file is missing" in str(second.error)
    assert isinstance(third, Document)


@pytest.mark.parametrize("content", ["", "  ", "<deIdi2b2><TEXT>cut", "<x>"])
def test_a_damaged_file_of_a_known_suffix_fails_with_its_reason(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.xml").write_text(content)
    (failure,) = read(tmp_path / "a.xml")
    assert isinstance(failure, Failure)
    assert isinstance(failure.error, FormatError)


@pytest.mark.parametrize(
    ("place", "arguments", "error"),
    [
        ("nowhere", {}, InputError),
        ("empty", {}, FormatError),
        ("notes", {"format": "csv"}, FormatError),
        ("notes", {"format": "docx"}, ConfigError),
        ("notes", {"encoding": "klingon"}, ConfigError),
        ("notes", {"encoding": "rot13"}, ConfigError),
        ("photo.bin", {}, FormatError),
    ],
)
def test_what_the_user_named_wrongly_is_an_error_at_once(
    tmp_path: Path, place: str, arguments: dict[str, str], error: type[DeidError]
) -> None:
    put(tmp_path, notes__a_dot_txt="x", photo_dot_bin=b"\x89PNG\r\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises(error) as caught:
        read(tmp_path / place, **arguments)
    assert caught.value.hint


def test_records_without_ids_are_numbered(tmp_path: Path) -> None:
    """In a folder they are known by their file as well."""
    put(tmp_path, a_dot_jsonl='{"text": "x"}\n{bad\n{"text": "y", "id": "own"}\n', sub__b_dot_jsonl='{"text": "z"}\n')
    assert [d.id for d in read(tmp_path / "a.jsonl") if isinstance(d, Document)] == ["1", "own"]
    assert [d.id if isinstance(d, Document) else "-" for d in read(tmp_path)] == ["a/1", "-", "own", "sub/b/1"]
    assert [d.index for d in read(tmp_path)] == [1, 2, 3, 4]


@pytest.mark.parametrize("held", [1, 9])
def test_the_second_record_of_an_id_is_a_failure(held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where ids wait on disk."""
    monkeypatch.setattr(spool, "_MET", held)
    put(
        tmp_path,
        a_dot_jsonl='{"text": "x", "id": 1}\n{"text": "y", "id": "1"}\n',
        b_dot_jsonl='{"text": "z", "id": 1}\n',
    )
    first, second, third = read(tmp_path)
    assert isinstance(first, Document)
    assert all(isinstance(f, Failure) and isinstance(f.error, DuplicateError) for f in (second, third))
    assert [[type(d).__name__ for d in part.documents()] for _, part in scan(tmp_path).files()] == [
        ["Document", "Failure"],
        ["Document"],
    ]


def test_files_of_a_folder_can_be_taken_one_by_one(tmp_path: Path) -> None:
    put(tmp_path, a_dot_csv="id,text\n1,x\n", sub__b_dot_csv="id,text\n1,y\n")
    parts = dict(scan(tmp_path).files())
    assert list(parts) == ["a", "sub/b"]
    assert [d.text for d in parts["sub/b"].documents() if isinstance(d, Document)] == ["y"]


@pytest.mark.parametrize("name", ["jsonl", "csv", "i2b2-2006", "physionet", "parquet", "labelstudio"])
def test_collections_are_streamed(tmp_path: Path, name: str) -> None:
    """Ten million characters go through writer and reader, and a fraction of that is in memory at a time."""
    text = "x " * 2500
    place = tmp_path / f"all{FORMATS[name].suffixes[0]}"
    warm_up = tmp_path / f"one{FORMATS[name].suffixes[0]}"
    write([Document("1-1", text)], warm_up, name)
    assert len(list(read(warm_up))) == 1
    tracemalloc.start()
    try:
        written = write((Document(f"{n}-1", text[n % 7 :]) for n in range(2000)), place, name)
        assert sum(1 for item in read(place, name) if isinstance(item, Document)) == written.documents == 2000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6_000_000


def test_a_note_of_one_long_line_is_read(tmp_path: Path) -> None:
    long = "x1 " * 700_000
    put(tmp_path, a_dot_txt=long, b_dot_jsonl=json.dumps({"text": long}))
    for name in ("a.txt", "b.jsonl"):
        (document,) = read(tmp_path / name)
        assert isinstance(document, Document)
        assert document.text == long


def test_names_in_options_of_single_calls(tmp_path: Path) -> None:
    put(tmp_path, a_dot_csv="key,body\n1,x\n")
    (document,) = read(tmp_path / "a.csv", text_field="body", id_field="key")
    assert isinstance(document, Document)
    assert (document.id, document.text) == ("1", "x")
    assert scan(tmp_path / "a.csv", options=Options(text_field="body")).layout().columns == ("key", "body")
