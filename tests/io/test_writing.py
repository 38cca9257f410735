"""Writing: places, modes, nothing by halves, nothing overwritten."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deid.base.errors import DuplicateError, FormatError, OutputError
from deid.document import Document, Failure, Span
from deid.io import FORMATS, Options, check_output, check_suffix, open_writer, read, scan, write

ANN = Document("a", "Ann", (Span(0, 3, "PATIENT", "T1"),))


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_folders_in_ids_are_folders(tmp_path: Path) -> None:
    found = write([ANN, replace(ANN, id="x/y/b.c")], tmp_path / "out", "brat")
    assert found.documents == 2
    assert files(tmp_path / "out") == ["a.ann", "a.txt", "x/y/b.c.ann", "x/y/b.c.txt"]
    assert [d.id for d in read(tmp_path / "out") if isinstance(d, Document)] == ["a", "x/y/b.c"]


@pytest.mark.parametrize(
    ("place", "format", "expected"),
    [
        ("out.xml", "i2b2-2014", ["out.xml"]),
        ("out", "i2b2-2014", ["out/a.xml"]),
        ("out.2024", "i2b2-2014", ["out.2024/a.xml"]),
        ("out.2024", "jsonl", ["out.2024/documents.jsonl"]),
        ("out.json", "labelstudio", ["out.json"]),
        ("out.TSV", "csv", ["out.TSV"]),
        ("out.jsonl", "jsonl", ["out.jsonl"]),
        ("out", "jsonl", ["out/documents.jsonl"]),
        ("out", "physionet", ["out/documents.phi", "out/documents.phrase", "out/documents.txt"]),
        ("new/deep/out.txt", "physionet", ["new/deep/out.phi", "new/deep/out.phrase", "new/deep/out.txt"]),
        ("out.txt", "brat", ["out.ann", "out.txt"]),
    ],
)
def test_a_place_with_a_suffix_of_the_format_is_a_file(
    tmp_path: Path, place: str, format: str, expected: list[str]
) -> None:
    write([ANN], tmp_path / place, format)
    assert files(tmp_path) == expected


def test_files_with_phi_are_for_their_owner_only(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write([ANN], tmp_path / "private", "i2b2-2014")
        write([ANN], tmp_path / "open", "i2b2-2014", private=False)
        write([ANN], tmp_path / "open.jsonl", "jsonl", private=False)
    finally:
        os.umask(old)
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in files(tmp_path)}
    assert modes == {"private/a.xml": 0o600, "open/a.xml": 0o644, "open.jsonl": 0o644}
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o700


def test_all_new_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    """Their names can carry PHI."""
    write([replace(ANN, id="x/y/a")], tmp_path / "new" / "out", "i2b2-2014")
    for folder in ("new", "new/out", "new/out/x", "new/out/x/y"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700


def test_a_tsv_file_has_tabs(tmp_path: Path) -> None:
    write([ANN], tmp_path / "out.tsv", "csv")
    assert (tmp_path / "out.tsv").read_text().startswith('"id"\t"text"\t"spans"\n')
    assert list(read(tmp_path / "out.tsv")) == [ANN]


@pytest.mark.parametrize("identifier", ["", "../a", "/a", "a//b", ".a", "a/.b", "a/..", "x" * 300, "a\0b", "\ud800"])
def test_ids_that_are_no_place_inside_the_folder_are_refused(tmp_path: Path, identifier: str) -> None:
    found = write([replace(ANN, id=identifier), ANN], tmp_path / "out", "brat")
    assert [type(f.error) for f in found.failures] == [OutputError]
    assert files(tmp_path) == ["out/a.ann", "out/a.txt"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").write_text("old")
    (tmp_path / "p.phi").write_text("old")
    assert isinstance(write([ANN], tmp_path / "out", "brat").failures[0].error, OutputError)
    assert isinstance(write([ANN], tmp_path / "p.txt", "physionet").failures[0].error, OutputError)
    assert files(tmp_path) == ["out/a.txt", "p.phi"]
    assert (tmp_path / "out" / "a.txt").read_text() == (tmp_path / "p.phi").read_text() == "old"


@pytest.mark.parametrize("place", ["out", "out.jsonl"])
def test_one_id_is_written_once(tmp_path: Path, place: str) -> None:
    found = write([ANN, ANN], tmp_path / place, "jsonl" if "." in place else "i2b2-2014")
    assert (found.documents, [type(f.error) for f in found.failures]) == (1, [DuplicateError])


def test_failures_in_the_stream_are_passed_on(tmp_path: Path) -> None:
    bad = Failure("x (#2)", FormatError("broken"), 2)
    unwritable = Document("b", "\x00", index=3)
    found = write([replace(ANN, index=1), bad, unwritable], tmp_path / "out", "i2b2-2014")
    assert found.documents == 1
    assert [(f.index, type(f.error)) for f in found.failures] == [(2, FormatError), (3, OutputError)]
    assert found.failures[1].path == "b"


def test_a_collection_whose_writing_is_broken_off_leaves_nothing(tmp_path: Path) -> None:
    def stream() -> Iterator[Document]:
        yield ANN
        raise RuntimeError("the pipeline broke")

    with pytest.raises(RuntimeError):
        write(stream(), tmp_path / "out.jsonl", "jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_collection_without_documents_is_not_written(tmp_path: Path) -> None:
    found = write([replace(ANN, text="\ud800", spans=())], tmp_path / "out.csv", "csv")
    assert len(found.failures) == 1
    assert list(tmp_path.iterdir()) == []


def test_unwritable_documents_leave_no_trace_in_a_collection(tmp_path: Path) -> None:
    write([ANN, Document("b", "\x00"), replace(ANN, id="c")], tmp_path / "out.xml", "i2b2-2006")
    assert [d.id for d in read(tmp_path / "out.xml") if isinstance(d, Document)] == ["a", "c"]


FULL_DISK = """
import resource, sys
from pathlib import Path
from deid.document import Document
from deid.base.errors import OutputError
from deid.io import write
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # writing beyond it fails like a full disk
stream = [Document(str(n), "x" * (200_000 if n == 2 else 10)) for n in (1, 2, 3)]
try:
    found = write(stream, sys.argv[1], sys.argv[2])
    print(found.documents, [(f.path, type(f.error).__name__) for f in found.failures])
except OutputError as error:
    print("nothing", error.what)
"""


def run_out_of_space(place: Path, format: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(place), format], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("format", ["text", "brat", "i2b2-2014"])
def test_a_document_that_finds_no_space_leaves_nothing_and_stops_no_other(tmp_path: Path, format: str) -> None:
    assert run_out_of_space(tmp_path / "out", format) == "2 [('2', 'OutputError')]"
    assert {Path(name).stem for name in files(tmp_path)} == {"1", "3"}
    assert not [name for name in files(tmp_path) if Path(name).name.startswith(".")]


@pytest.mark.parametrize("format", ["jsonl", "csv", "i2b2-2006", "physionet", "parquet", "docbin"])
def test_a_collection_that_finds_no_space_leaves_nothing(tmp_path: Path, format: str) -> None:
    """Compressed formats may fit all the same, and are whole then."""
    place = tmp_path / f"out{FORMATS[format].suffixes[0]}"
    said = run_out_of_space(place, format)
    if format in ("parquet", "docbin") and said.startswith("3 "):
        assert len(list(read(place))) == 3
        return
    assert said.startswith("nothing cannot write (file too large)")
    assert list(tmp_path.iterdir()) == []


def test_check_output(tmp_path: Path) -> None:
    source = tmp_path / "in"
    (source / "sub").mkdir(parents=True)
    (source / "a.txt").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(source)
    (tmp_path / "hard.txt").hardlink_to(source / "a.txt")
    for good in ("new", "empty", "new.txt", "in2", "deep/new"):
        check_output(source, tmp_path / good)
    for bad in ("in", "in/out", "in/sub/deep/out", "in/../in/out", "full", "link/out", "link", ".", "hard.txt"):
        with pytest.raises(OutputError):
            check_output(source, tmp_path / bad)
    for bad in ("in/a.txt", "hard.txt", "full"):
        with pytest.raises(OutputError):
            check_output(source / "a.txt", tmp_path / bad)
    check_output(source / "a.txt", source / "b.txt")
    with pytest.raises(OutputError, match="goes back from a folder that is not there"):
        check_output(source, tmp_path / "missing" / ".." / "out")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no place where nobody can write")
def test_a_place_that_cannot_be_written_to_is_known_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        check_output(tmp_path, Path("/proc/out"))


@pytest.mark.parametrize(
    ("source", "format", "good", "bad"),
    [
        ("a.txt", "text", ["b.txt", "b.text", "b", "b.v2"], ["b.csv", "b.note", "b.TXT.pdf"]),
        ("r.jsonl", "jsonl", ["s.jsonl", "s.ndjson", "s", "s.2"], ["s.csv", "s.txt", "s.foo"]),
        ("r.jsonl", "i2b2-2014", ["s", "s.xml"], ["s.jsonl"]),
        (".", "text", ["out", "out.2019", "out.new"], ["out.txt", "out.csv", "out.PDF"]),
        (".", "jsonl", ["out", "out.jsonl"], ["out.txt"]),
    ],
)
def test_a_suffix_of_the_output_means_a_format_or_is_refused(
    source: str, format: str, good: list[str], bad: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x")
    if source != ".":
        (tmp_path / "r.jsonl").write_text('{"id": "a", "text": "x"}\n')
    found = scan(tmp_path / source)
    for name in good:
        check_suffix(found.single, found.format, tmp_path / name, FORMATS[format])
    for name in bad:
        with pytest.raises(OutputError):
            check_suffix(found.single, found.format, tmp_path / name, FORMATS[format])


def test_a_writer_takes_documents_one_by_one(tmp_path: Path) -> None:
    with open_writer(tmp_path / "out", "text", Options(encoding="cp1252")) as writer:
        writer.write(Document("a", "José"))
        assert (tmp_path / "out" / "a.txt").read_bytes() == b"Jos\xe9"
        with pytest.raises(OutputError, match="drop the annotations"):
            writer.write(replace(ANN, id="b"))
