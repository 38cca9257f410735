"""The frame of the command line: exit codes, withheld messages, and help that is complete and documented."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from commands import call
from commands import run as run_deid

from deid.base.errors import ConfigError
from deid.cli import main as frame
from deid.cli.commands import COMMANDS as PANELS
from deid.cli.commands import load

ROOT = Path(__file__).resolve().parents[2]


ROWS = {name: row for rows in PANELS.values() for name, row in rows.items() if row[0]}


@cache
def command_of(name: str) -> Any:
    return load(name.split()[-1], ROWS[name][0])


@pytest.mark.parametrize("name", ROWS)
def test_every_command_has_help_an_example_and_a_machine_readable_summary(name: str) -> None:
    command = command_of(name)
    assert command.help
    assert f"deid {name}" in command.help, "no example"
    assert any({"--json"} & set(p.opts) for p in command.params)
    assert all(p.help for p in command.params if p.param_type_name == "option")


@pytest.mark.parametrize("name", ROWS)
def test_every_command_is_described_in_the_docs(name: str) -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    assert f"deid {name}" in pages


def run(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(frame, "app", fail)
    with pytest.raises(SystemExit) as caught:
        frame.main()
    return int(caught.value.code or 0)


def test_a_known_error_is_shown_with_its_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, ConfigError("no such thing", "use another")) == 2
    assert capsys.readouterr().err == "error: no such thing. Hint: use another\n"


def test_a_bug_says_where_and_never_what(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, ValueError("invalid literal: 'John Smith'")) == 70
    shown = capsys.readouterr().err
    assert "ValueError at" in shown
    assert "Smith" not in shown


def test_an_end_of_file_in_python_itself_is_a_bug_and_no_interruption(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as of a module whose compiled form was cut short; typer takes it for somebody who wants to end."""

    def cut(*_: object) -> None:
        raise EOFError("marshal data too short, near John Smith")

    monkeypatch.setattr("deid.replacement.policy.load_policy", cut)
    assert call("policy", "show", "redact") == 70
    shown = capsys.readouterr().err
    assert "EOFError at" in shown
    assert "Smith" not in shown


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), 130), (typer.Abort(), 130)])
def test_interruption_has_its_exit_code(error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, error) == status


@pytest.mark.parametrize("times", [0, *(pytest.param(n, marks=pytest.mark.night) for n in (1, 2))])
def test_a_reader_that_goes_away_ends_every_command_as_the_signal_would(times: int) -> None:
    for arguments in (["policy", "show", "safe-harbor"], ["filter", "--model", "none", "--policy", "redact", "-q"]):
        command = subprocess.Popen(
            [sys.executable, "-m", "deid", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "DEID_KEY": "ab" * 32},
        )
        assert command.stdin is not None
        assert command.stdout is not None
        command.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            command.stdin.write(b"Seen by Dr. Baker.\n" * 50_000)
            command.stdin.close()
        assert command.wait(60) == 141


def test_version_and_wrong_usage() -> None:
    shown = subprocess.run([sys.executable, "-m", "deid", "--version"], capture_output=True, text=True, check=False)
    assert shown.returncode == 0
    assert shown.stdout.startswith("deid ")
    wrong = subprocess.run([sys.executable, "-m", "deid", "scrap"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "No such command" in wrong.stderr


def test_the_help_page_has_a_panel_a_task_and_loads_no_command() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from deid.cli.main import app; "
        "sys.stderr.write(CliRunner().invoke(app, ['--help']).output); "
        "print([m for m in ('deid.cli.scrub', 'deid.cli.cube', 'numpy') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
    places = [shown.stderr.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)
    assert all(f"│ {name} " in shown.stderr for rows in PANELS.values() for name in rows if " " not in name)


def test_a_shell_completes_commands_and_options() -> None:
    def completed(*words: str) -> list[str]:
        shell = {"_DEID_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(("deid", *words))}
        shell["COMP_CWORD"] = str(len(words))
        shown = subprocess.run(
            [sys.executable, "-c", "import sys; sys.argv[0] = 'deid'; from deid.cli.main import main; main()"],
            capture_output=True,
            text=True,
            env={**os.environ, **shell},
            check=False,
        )
        return shown.stdout.split()

    assert completed("vau") == ["vault"]
    assert "reidentify" in completed("vault", "re")
    assert "--policy" in completed("scrub", "--pol")


def test_version_loads_no_heavy_library() -> None:
    code = (
        "import sys, deid.cli.main; "
        "print([m for m in ('numpy','pandas','spacy','sklearn','scipy','matplotlib','pycrfsuite','pyarrow') "
        "if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_train_tag_evaluate_on_a_small_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The researcher's path: train on annotated notes, tag others, score."""
    lines = []
    for i in range(30):
        name, day = f"Ana Ruiz{'abcdefgh'[i % 8]}", f"{i % 27 + 1}/{i % 11 + 1}/2014"
        text = f"Patient: {name}. Seen on {day} for cough."
        lines.append(
            f'{{"id": "n{i}", "text": "{text}", "spans": [{{"start": 9, "end": {9 + len(name)}, "label": "PATIENT"}}, '
            f'{{"start": {19 + len(name)}, "end": {19 + len(name) + len(day)}, "label": "DATE"}}]}}\n'
        )
    (tmp_path / "train.jsonl").write_text("".join(lines[:20]))
    (tmp_path / "test.jsonl").write_text("".join(lines[20:]))

    monkeypatch.chdir(tmp_path)
    run_deid("train", "train.jsonl", "-o", "m", "--iterations", "40", "--o-sampling", "0.8", "--seed", "1")
    run_deid("tag", "test.jsonl", "tagged", "--model", "m", "--to", "i2b2-2014")
    assert len(list((tmp_path / "tagged").glob("*.xml"))) == 10
    run_deid("evaluate", "test.jsonl", "tagged", "--json", "scores.json", "--report", "page.html")
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["measures"]["strict"]["micro"]["f1"] > 0.9
    assert (tmp_path / "page.html").stat().st_mode & 0o077 == 0
    assert "from fewer than 3 documents" in run_deid("model", "audit", "m")
    run_deid("model", "export", "m", "-o", "passed-on")
    assert (tmp_path / "passed-on" / "tagger.json").is_file()
    run_deid("train", "train.jsonl", "-o", "few", "--iterations", "5", "--group-pattern", "^n1|^n")
    assert "0 strings are stored, 0 of them from fewer than 3 patients" in run_deid("model", "audit", "few")


@pytest.mark.parametrize(
    ("closed", "arguments", "status"),
    [
        (">&-", "scrub notes out --model none", 0),
        (">&-", "policy show redact", 2),
        (">&-", "filter notes/a.txt --model none", 2),
        ("2>&-", "scrub none out --model none", 2),
        ("<&-", "filter --model none --from plain", 0),
    ],
)
def test_a_standard_stream_that_is_closed(tmp_path: Path, closed: str, arguments: str, status: int) -> None:
    """What does not need it goes on, what does fails, and no file gets what is meant for it."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("Seen by Dr. Alice Baker.")
    command = f"{shlex.quote(sys.executable)} -W ignore -m deid {arguments} {closed}"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert done.returncode == status, done.stderr
    assert b"internal" not in done.stderr
    assert b"Exception" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("arguments", [["policy", "show", "surrogate"], ["--version"]])
def test_a_full_disk_behind_standard_output_is_told(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr(sys, "stdout", full)
        monkeypatch.setattr(sys, "argv", ["deid", *arguments])
        with pytest.raises(SystemExit) as ended:
            frame.main()
        with contextlib.suppress(OSError):
            full.close()
    assert ended.value.code == 2
    assert "error: cannot write (no space left on device)" in capsys.readouterr().err
