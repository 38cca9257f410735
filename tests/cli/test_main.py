"""The frame of the command line: exit codes, withheld messages, and help that is complete and documented."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from deid.cli import main as frame
from deid.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name."""

    def walk(prefix: str, group: object) -> Iterator[tuple[str, Any]]:
        for name, command in group.commands.items():  # type: ignore[attr-defined]
            if hasattr(command, "commands"):
                yield from walk(f"{prefix}{name} ", command)
            else:
                yield prefix + name, command

    return walk("", typer.main.get_command(frame.app))


COMMANDS = dict(commands())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_an_example_and_a_machine_readable_summary(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert f"deid {name}" in command.help, "no example"
    assert any("--summary-json" in p.opts for p in command.params)
    assert all(p.help for p in command.params if p.param_type_name == "option")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_can_be_shown(name: str) -> None:
    arguments = [*name.split(), "--help"]
    shown = CliRunner().invoke(frame.app, arguments, env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.exception
    assert "Usage" in shown.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_described_in_the_docs(name: str) -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    assert f"deid {name}" in pages


def run(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(frame, "_narrowed", lambda _: fail)
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


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), 130), (typer.Abort(), 130)])
def test_interruption_has_its_exit_code(error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, error) == status


@pytest.mark.parametrize("times", range(3))
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


@pytest.mark.parametrize("name", sorted({name.split()[0] for name in COMMANDS}))
def test_a_command_alone_has_the_same_help(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Typer reads the options of the command that is asked for, not those of all."""
    monkeypatch.setenv("COLUMNS", "100")
    arguments = [name, "--help"]
    alone, whole = CliRunner().invoke(frame._narrowed(arguments), arguments), CliRunner().invoke(frame.app, arguments)
    assert alone.exit_code == whole.exit_code == 0
    assert alone.output == whole.output


@pytest.mark.parametrize("arguments", [[], ["--help"], ["scrap"], ["--version", "scrub"]])
def test_whatever_else_is_asked_is_asked_of_all_commands(arguments: list[str]) -> None:
    assert frame._narrowed(arguments) is frame.app


def test_version_loads_no_heavy_library() -> None:
    code = (
        "import sys, deid.cli.main; "
        "print([m for m in ('numpy','pandas','spacy','sklearn','scipy','matplotlib','pycrfsuite','pyarrow') "
        "if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_train_tag_evaluate_on_a_small_corpus(tmp_path: Path) -> None:
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

    def deid(*arguments: str) -> str:
        shown = subprocess.run(
            [sys.executable, "-m", "deid", *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert shown.returncode == 0, shown.stderr
        return shown.stdout

    deid("train", "train.jsonl", "--model", "m", "--iterations", "40", "--o-sampling", "0.8", "--seed", "1")
    deid("tag", "test.jsonl", "tagged", "--model", "m", "--format", "i2b2-2014")
    assert len(list((tmp_path / "tagged").glob("*.xml"))) == 10
    deid("evaluate", "test.jsonl", "tagged", "--json", "scores.json", "--html", "page.html")
    import json

    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["measures"]["strict"]["micro"]["f1"] > 0.9
    assert (tmp_path / "page.html").stat().st_mode & 0o077 == 0
    deid("model", "audit", "m")
    deid("model", "export", "m", "passed-on")
    assert (tmp_path / "passed-on" / "tagger.json").is_file()
