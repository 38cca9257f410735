"""Patients who are to be looked for: a feed whose notes cannot say whom they are about is refused at its start."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid.cli.main import app

MESSAGE = (
    "MSH|^~\\&|SYS|CLINIC|EHR|CLINIC|20240312094500||ORU^R01|M-1|P|2.5.1\r"
    "PID|1||123456^^^HOSP^MR\rOBX|1|TX|8251-1^Note^LN||was zyxquell in ward 4?||||||F\r"
)


@pytest.fixture
def known(tmp_path: Path) -> list[str]:
    path = tmp_path / "known.csv"
    path.write_text("patient_id,family\n123456,Zyxquell\n")
    return ["--model", "none", "--policy", "redact", "--known", str(path)]


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*arguments])
    return result.exit_code, f"{result.stderr}{result.exception}"


def filtered(folder: Path, data: str, *arguments: str) -> tuple[int, str, str]:
    source, target = folder / "in", folder / "out"
    source.write_text(data)
    target.unlink(missing_ok=True)
    status, error = run("filter", *arguments, str(source), "--output", str(target))
    return status, target.read_text() if target.exists() else "", error


@pytest.mark.parametrize("said", [[], ["--from", "plain"], ["--from", "ndjson"], ["--from", "whole"]])
@pytest.mark.parametrize("data", ["was zyxquell there?\nwas he?\n", '{"text": "was zyxquell there?"}\n'])
def test_notes_that_cannot_say_whose_they_are_are_refused_at_once(
    known: list[str], said: list[str], data: str, tmp_path: Path
) -> None:
    status, out, error = filtered(tmp_path, data, *said, *known)
    assert status not in (0, 3)
    assert not out
    assert error.count("--known needs to know whom a document is about") == 1
    assert "--patient-field" in error


def test_notes_that_say_it_and_records_are_taken(known: list[str], tmp_path: Path) -> None:
    note = '{"who": 123456, "text": "was zyxquell in?"}\n'
    status, out, error = filtered(tmp_path, note, *known, "--patient-field", "who")
    assert status == 0, error
    assert "was [NAME] in?" in out
    for said in ([], ["--from", "hl7v2"]):
        status, out, error = filtered(tmp_path, MESSAGE, *known, *said)
        assert status == 0, error
        assert "was [NAME] in ward 4?" in out


def test_a_file_of_notes_in_a_watched_folder_stands_aside(known: list[str], tmp_path: Path) -> None:
    inbox, outbox = tmp_path / "in", tmp_path / "out"
    inbox.mkdir()
    (inbox / "a.txt").write_text("was zyxquell there?")
    (inbox / "b.hl7").write_text(MESSAGE)
    watch = ["watch", str(inbox), str(outbox), "--once", "--settle", "0", *known]
    status, error = run(*watch)
    assert status == 3
    assert "failed: a.txt: --known needs to know whom" in error
    assert [path.name for path in (inbox / "failed").iterdir()] == ["a.txt"]
    assert ["[NAME] in" in path.read_text() for path in outbox.iterdir()] == [True]
    assert run(*watch, "--from", "whole")[0] != 3  # said at the start, whatever the folder holds
