"""What failed can be found and run again, and an interrupted run goes on; names that fit nothing are refused."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid.base.errors import ConfigError, OutputError
from deid.base.files import atomic_files, clear_leftovers
from deid.base.list_lines import list_line, read_list_line
from deid.base.resources import resource_folder
from deid.cli.main import app
from deid.io import scan
from deid.pipeline.resuming import RunNote, fingerprint, select_files

TEXT = "Seen by Dr. Alice Baker on 3 May 2019.\n"
RULES = ("--model", "none", "--policy", "redact")


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    error = result.exception
    return result.exit_code, result.output + (str(error) if error and not isinstance(error, SystemExit) else "")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text("ab" * 32)
    path.chmod(0o600)
    return path


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    for name in ("a", "b", "sub/c"):
        (folder / f"{name}.txt").write_text(TEXT)
    (folder / "bad.txt").write_bytes(b"\xff\xfe\x00bad")
    return folder


@pytest.mark.parametrize(
    ("command", "options"),
    [("scrub", RULES), ("tag", ("--model", "none")), ("tag", ("--model", "none", "--to", "brat"))],
)
def test_what_failed_is_listed_and_run_again(
    command: str, options: tuple[str, ...], notes: Path, key: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    options = (*options, "--key-file", str(key)) if command == "scrub" else options
    status, said = run(command, notes, out, *options)
    assert status == 1
    assert "OUT.failed" in said
    listed = tmp_path / "out.failed"
    assert listed.stat().st_mode & 0o777 == 0o600
    assert listed.read_text() == f"{notes / 'bad.txt'}\n"
    status, said = run(command, notes, out, *options)
    assert (status != 0, "--resume" in said) == (True, True)

    (notes / "bad.txt").write_text(TEXT)
    status, said = run(command, notes, tmp_path / "more", *options, "--files-from", listed)
    assert status == 0
    assert "1 documents, 0 failed" in said
    there = {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file() and not p.name.startswith(".")}
    status, said = run(command, notes, out, *options, "--resume")
    assert status == 0
    assert re.search(r"(?<![-\d])3 documents were there", said)
    assert not listed.exists()
    files = {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file()}
    assert there.items() <= files.items()
    anew = tmp_path / "anew"
    assert run(command, notes, anew, *options)[0] == 0
    assert not list(anew.glob(".*")), "a run that ended leaves no note of itself"
    assert {p.relative_to(out): p.read_bytes() for p in files} == {
        p.relative_to(anew): p.read_bytes() for p in anew.rglob("*") if p.is_file()
    }


def test_of_a_folder_of_several_kinds_each_file_that_is_there_is_left(key: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / "page.html").write_text(f"<html><body><p>{TEXT}</p></body></html>")
    (folder / "rich.rtf").write_text(f"{{\\rtf1 {TEXT}}}")
    (folder / "mail.eml").write_text(f"From: a@example.org\nSubject: round\n\n{TEXT}")
    (folder / "plain.txt").write_text(TEXT)
    (folder / "scan.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert run("scrub", folder, out, *RULES, "--key-file", key)[0] == 3
    there = {p: p.stat().st_mtime_ns for p in out.iterdir() if not p.name.startswith(".")}
    assert len(there) == 4
    status, said = run("scrub", folder, out, *RULES, "--key-file", key, "--resume")
    assert status == 3
    assert "4 documents were there" in said
    assert "0 documents, 1 failed" in said
    assert {p: p.stat().st_mtime_ns for p in there} == there


def test_another_run_does_not_go_on(notes: Path, key: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("scrub", notes, out, *RULES, "--key-file", key)
    for other in (("--policy", "tag"), ("--keep", "filename"), ("--encoding", "cp1252")):
        rules = RULES[:2] if other[0] == "--policy" else RULES
        status, said = run("scrub", notes, out, *rules, *other, "--key-file", key, "--resume")
        assert status != 0
        assert "other options" in said
        assert "--files-from" in said
    key.write_text("cd" * 32)
    assert "other options" in run("scrub", notes, out, *RULES, "--key-file", key, "--resume")[1]
    status, said = run("scrub", notes, tmp_path / "none", *RULES, "--key-file", key, "--resume")
    assert status != 0
    assert "no interrupted run" in said


def test_of_two_runs_into_one_folder_the_second_touches_nothing(
    notes: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one began, or began and ended, when this one had already found the folder to be free."""
    out = tmp_path / "out"
    begin = RunNote.begin
    for ended in (False, True):

        def late(self: RunNote, ended: bool = ended) -> int:
            monkeypatch.setattr(RunNote, "begin", begin)
            out.mkdir()
            (out / ("note.txt" if ended else ".deid-run")).write_text("of another")
            return self.begin()

        monkeypatch.setattr(RunNote, "begin", late)
        with pytest.raises(OutputError):
            app(["scrub", str(notes), str(out), "--model", "none", "--key-file", str(key)], standalone_mode=False)
        assert [path.read_text() for path in out.iterdir()] == ["of another"]
        assert not out.with_name("out.failed").exists()
        assert not out.with_name("out.manifest.json").exists()
        shutil.rmtree(out)


def test_a_run_with_other_numbers_does_not_go_on(notes: Path, key: Path, tmp_path: Path) -> None:
    """Two versions of the map in one folder would give a number two surrogates, and two numbers one."""
    out = tmp_path / "out"
    for version in ("map 2", "map 3"):
        key.write_text(f"{'ab' * 32}\n{version}\n")
        _, said = run("scrub", notes, out, *RULES, "--key-file", key, *(["--resume"] if out.exists() else []))
    assert "other options, another input, key or version" in said


def test_a_run_with_a_vault_goes_on(notes: Path, key: Path, tmp_path: Path) -> None:
    out, vault = tmp_path / "out", tmp_path / "vault.db"
    surrogates = ("--model", "none", "--policy", "surrogate", "--key-file", key)
    assert run("vault", "init", vault, "--key-file", key, "--why", "x")[0] == 0
    assert run("scrub", notes, out, *surrogates, "--vault", vault)[0] == 1
    (notes / "bad.txt").write_text(TEXT)
    status, said = run("scrub", notes, out, *surrogates, "--resume")
    assert "other options" in said
    status, said = run("scrub", notes, out, *surrogates, "--vault", vault, "--resume")
    assert (status, bool(re.search(r"(?<![-\d])3 documents were there", said))) == (0, True), said


def test_nobody_goes_on_with_a_run_that_is_at_work(notes: Path, key: Path, tmp_path: Path) -> None:
    """Both would write each note, and each would list as failed what the other wrote."""
    out = tmp_path / "out"
    command = ("scrub", notes, out, "--policy", "redact", "--key-file", key, "--model", "none")
    assert run(*command)[0] == 1
    with (out / ".deid-run").open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        said = run(*command, "--resume")[1]
    assert "another run is at work in the output" in said
    assert run(*command, "--resume")[0] == 1  # the bad note is still bad


def test_a_run_ends_whose_note_somebody_took_away(tmp_path: Path) -> None:
    run = RunNote(tmp_path / "out", "the options")
    run.begin()
    [note] = (tmp_path / "out").iterdir()
    note.unlink()
    run.end()
    run.close()
    assert not list((tmp_path / "out").iterdir())


def test_whoever_asks_for_a_folder_again_and_again_keeps_no_file_open(tmp_path: Path) -> None:
    """Such as a service whose users ask for the same one; the folder is free as soon as the other run lets it go."""
    out = tmp_path / "out"
    first = RunNote(out, "the options")
    first.begin()
    again, before = RunNote(out, "the options", resume=True), len(list(Path("/dev/fd").iterdir()))
    for _ in range(2):
        with pytest.raises(OutputError, match="another run is at work"):
            again.begin()
    assert len(list(Path("/dev/fd").iterdir())) == before
    first.close()
    again.begin()
    again.close()
    assert len(list(Path("/dev/fd").iterdir())) == before - 1


def test_a_run_with_a_model_trained_anew_does_not_go_on(notes: Path, key: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(resource_folder("models") / "en", model)
    out = tmp_path / "out"
    tagged = ("scrub", notes, out, "--policy", "redact", "--key-file", key, "--model", model)
    assert run(*tagged)[0] == 1
    (model / "note.txt").write_text("trained anew\n")
    assert "other options" in run(*tagged, "--resume")[1]


def test_records_are_run_again_by_their_ids(key: Path, tmp_path: Path) -> None:
    records = [{"id": "a\tb", "text": TEXT}, {"id": "c\\n", "text": "\ud800"}, {"text": 5, "id": "d"}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    source = scan(tmp_path / "in.jsonl")
    lines = "".join(list_line(str(tmp_path / "in.jsonl"), r["id"]) + "\n" for r in records[:2])
    (tmp_path / "list").write_text(lines)
    assert [d.id for d in select_files(source, tmp_path / "list").documents() if hasattr(d, "text")] == ["a\tb", "c\\n"]


@pytest.mark.parametrize("name", ["a\nb.txt", "b\r.txt", "c\td.txt", "e\\n.txt", "\udcff.txt", "x\u202e\u2028.txt"])
def test_files_of_any_name_that_failed_are_run_again(name: str, key: Path, tmp_path: Path) -> None:
    """Not another one whose name is a part of it."""
    notes, out = tmp_path / "in", tmp_path / "out"
    notes.mkdir()
    for other in ("a", "b.txt", "n.txt"):
        (notes / other).write_text(TEXT)
    (notes / name).write_bytes(b"\xff\xfe\x00Z")
    assert run("scrub", notes, out, "--key-file", key, "--model", "none")[0] == 1
    told = json.loads((tmp_path / "out.manifest.json").read_text())["run"]
    assert told["failures"][0]["file"] in told["inputs"]
    (notes / name).write_text(TEXT)
    only = ("--files-from", tmp_path / "out.failed", "--keep", "filename")
    status, said = run("scrub", notes, tmp_path / "again", "--key-file", key, "--model", "none", *only)
    assert status == 0, said
    assert [path.name for path in (tmp_path / "again").iterdir()] == [name]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), st.text(max_size=12))
def test_a_line_of_the_list_holds_any_name(path: str, identifier: str) -> None:
    line = list_line(path, identifier)
    assert not re.search("[\n\r]", line)
    assert read_list_line(line) == (path, identifier)


@pytest.mark.parametrize("content", ["", "nowhere.txt\n", "a.txt\tid\n"])
def test_a_list_that_fits_nothing_is_refused(content: str, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(content)
    with pytest.raises(ConfigError):
        select_files(scan(notes), tmp_path / "list")


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--keep", "wrad"), "did you mean 'ward'"),
        (("--patient-field", "patientid"), "did you mean 'patient_id'"),
        (("--date-field", "x"), "fields: 'ward', 'patient_id'"),
        (("--patients", "other.csv"), "no document of IN"),
    ],
)
def test_names_that_fit_no_document_are_refused(
    options: tuple[str, str], hint: str, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text(json.dumps({"id": "a", "text": TEXT, "ward": "W", "patient_id": "p"}) + "\n")
    Path("other.csv").write_text("document,patient\nz,p\n")
    status, said = run("scrub", "in.jsonl", "out.jsonl", *RULES, "--key-file", key, *options)
    assert status != 0
    assert hint in said
    assert not Path("out.jsonl").exists()


def test_documents_of_the_table_that_are_not_there_are_counted(notes: Path, key: Path, tmp_path: Path) -> None:
    (notes / "bad.txt").unlink()
    (tmp_path / "p.csv").write_text("document,patient\na.txt,p\nsub/c,q\nz,r\nzz.txt,r\n")
    said = run("scrub", notes, tmp_path / "out", *RULES, "--key-file", key, "--patients", tmp_path / "p.csv")[1]
    assert "2 documents of the table of patients are not in IN" in said


def test_part_files_of_killed_processes_are_removed_and_those_of_living_ones_are_not(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from deid.base.files import atomic_files\n"
        "with atomic_files([Path(sys.argv[1])]) as (s,):\n    s.write(b'x'); s.flush(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "f")], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    with atomic_files([tmp_path / "g"]) as (stream,):
        stream.write(b"y")
        stream.flush()
        assert clear_leftovers(tmp_path) == 1
    assert os.listdir(tmp_path) == ["g"]  # noqa: PTH208
    assert (tmp_path / "g").read_bytes() == b"y"


def test_a_run_tells_what_it_removed(notes: Path, key: Path, tmp_path: Path) -> None:
    (tmp_path / ".deid-part-xyz").write_bytes(b"of a killed run")
    said = run("scrub", notes, tmp_path / "out", *RULES, "--key-file", key)[1]
    assert "1 hidden part files that a killed run had left were removed" in said
    assert not (tmp_path / ".deid-part-xyz").exists()


def test_blank_lines_of_a_list_are_skipped_and_all_others_are_names(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.txt").write_text(TEXT)
    listed = tmp_path / "listed"
    listed.write_text(f"\n{folder / 'a.txt'}\n\n  \nc.txt\r\n")
    assert sorted(select_files(scan(folder), listed).names) == ["a.txt", "c.txt"]


@pytest.mark.parametrize("line", ["b.txt", "in/b.txt", "./in/b.txt", "in/../in/b.txt", "link/b.txt", "{}/in/b.txt"])
def test_a_list_names_a_file_by_any_path_that_leads_to_it(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    for name in ("a", "b"):
        Path("in", f"{name}.txt").write_text(TEXT)
    Path("link").symlink_to("in")
    Path("listed").write_text(line.format(tmp_path) + "\n")
    for root in (Path("in"), tmp_path / "in", Path("link")):
        if line != "in/b.txt" or root != Path("link"):
            assert select_files(scan(root), Path("listed")).names == ("b.txt",)


def test_a_run_knows_the_files_of_its_options_by_what_they_hold(tmp_path: Path) -> None:
    """The same list under another name is the same, another list under the same name is not; nothing of it is told."""
    one, other = tmp_path / "deny.txt", tmp_path / "elsewhere.txt"
    one.write_text("quorl\n")
    other.write_text("quorl\n")

    def told(**options: object) -> str:
        return fingerprint(options, lambda content: hashlib.blake2b(content, key=b"k").hexdigest())

    first = told(deny=(one, "missing"), jobs=2)
    assert first == told(jobs=2, deny=("missing", str(other)))
    assert first != told(deny=(one, "missing"), jobs=3)
    assert "quorl" not in first
    one.write_text("other\n")
    assert first != told(deny=(one, "missing"), jobs=2)
