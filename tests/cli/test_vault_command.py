"""deid vault: init, reidentify, rotate, audit."""

from __future__ import annotations

import json
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from commands import attempt, full_disk

from deid.base.errors import StoreError
from deid.base.keys import load_key
from deid.cli.main import main
from deid.replacement.vault import Entry, Vault

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command as users do: status, standard output, standard error."""

    def call(*arguments: object, **environment: str) -> tuple[int, str, str]:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["deid", "vault", *map(str, arguments)])
            for name, value in environment.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as stopped:
                main()
        output, error = capsys.readouterr()
        return int(stopped.value.code or 0), output, error

    return call


@pytest.fixture
def folder(tmp_path: Path, run: Run) -> Path:
    status, _, error = run("init", tmp_path / "vault.db", "--key-file", tmp_path / "old.key", "--who", "keeper")
    assert status == 0, error
    with Vault.open(tmp_path / "vault.db", load_key(tmp_path / "old.key", create=False)[0]) as vault:
        vault.record_all(
            [
                Entry("patient:1", "PATIENT", "Annabel Smithson", "Jane Ahmad"),
                Entry("patient:2", "PATIENT", "Bobby Tables", "Jane Ahmad"),
            ]
        )
    return tmp_path


def test_init_makes_private_files_and_says_so(folder: Path, run: Run) -> None:
    assert {f.name: f.stat().st_mode & 0o777 for f in folder.iterdir()} == {"vault.db": 0o600, "old.key": 0o600}
    status, _, error = run("init", folder / "vault.db", "--key-file", folder / "old.key")
    assert status == 2
    assert "already" in error


def test_reidentify_prints_originals_and_leaves_lines(folder: Path, run: Run) -> None:
    options = ("--key-file", folder / "old.key", "--why", "recall", "--who", "Dr. E")
    status, output, error = run("reidentify", folder / "vault.db", "Jane Ahmad", *options)
    assert status == 0
    assert [json.loads(line)["original"] for line in output.splitlines()] == ["Annabel Smithson", "Bobby Tables"]
    assert "Annabel" not in error
    (folder / "wanted.txt").write_text("Jane Ahmad\tpatient:2\nnobody\n")
    status, output, error = run("reidentify", folder / "vault.db", "--lines", folder / "wanted.txt", *options)
    assert status == 1
    assert [json.loads(line)["original"] for line in output.splitlines()] == ["Bobby Tables"]
    assert "1 of 2 were not found" in error
    status, output, _ = run("audit", folder / "vault.db", "--key-file", folder / "old.key", "--json", folder / "s.json")
    assert status == 0
    lines = [json.loads(line) for line in output.splitlines()]
    assert [(x["action"], x["who"], x["why"], x["found"]) for x in lines[1:]] == [
        ("reidentify", "Dr. E", "recall", 2),
        ("reidentify", "Dr. E", "recall", 1),
        ("reidentify", "Dr. E", "recall", 0),
    ]
    assert "Annabel" not in output
    assert json.loads((folder / "s.json").read_text())["entries"] == 2


def test_reidentify_needs_a_reason_and_the_key(folder: Path, run: Run) -> None:
    status, output, error = run("reidentify", folder / "vault.db", "Jane Ahmad", "--key-file", folder / "old.key")
    assert (status, output) == (2, "")
    assert "who and why" in error
    status, output, error = run("reidentify", folder / "vault.db", "Jane Ahmad", "--why", "x", DEID_KEY="ab" * 32)
    assert (status, output) == (2, "")
    assert "not this vault's" in error
    status, output, error = run("reidentify", folder / "vault.db", "x", "--why", "x", "--key-file", folder / "none.key")
    assert (status, output) == (2, "")
    assert not (folder / "none.key").exists()


def test_rotate_changes_the_key(folder: Path, run: Run) -> None:
    status, _, error = run(
        "rotate", folder / "vault.db", "--key-file", folder / "old.key", "--new-key-file", folder / "new.key"
    )
    assert status == 0, error
    assert (folder / "new.key").stat().st_mode & 0o777 == 0o600
    assert run("audit", folder / "vault.db", "--key-file", folder / "old.key")[0] == 2
    assert run("audit", folder / "vault.db", "--key-file", folder / "new.key")[0] == 0


def test_a_run_stops_when_the_vault_gets_another_key_and_goes_on_with_that(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, old, new = folder / "vault.db", folder / "old.key", folder / "new.key"
    (folder / "notes").mkdir()
    for number in range(6):
        (folder / "notes" / f"{number}.txt").write_text(f"Seen by Dr. Alan Chen on 3/14/2019, MRN 471120{number}.")
    record, calls = Vault.record_all, []

    def recording(self: Vault, entries: Iterable[Entry]) -> int:
        calls.append(1)
        if len(calls) == 3:
            with Vault.open(vault, load_key(old, create=False)[0]) as other:
                other.rotate(load_key(new)[0], who="keeper", why="yearly")
        return record(self, entries)

    monkeypatch.setattr(Vault, "record_all", recording)
    keys = ("--vault", vault, "--key-file", folder / "key")
    said = ("scrub", folder / "notes", folder / "out", "--model", "none", *keys)
    with pytest.raises(StoreError, match="another key"):
        attempt(*said, "--vault-key-file", old)
    assert len(list((folder / "out").glob("*.txt"))) == 2
    assert attempt(*said, "--vault-key-file", new, "--resume")[0] == 0
    assert len(list((folder / "out").glob("*.txt"))) == 6
    with Vault.open(vault, load_key(new, create=False)[0]) as opened:
        assert opened.verify().entries == 2 + 6 * 3


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the limit of a file's size is one of POSIX")
def test_a_disk_that_fills_midway_leaves_the_vault_with_one_key_and_every_entry(folder: Path, run: Run) -> None:
    """However much of the new rows could be written: the exit status says which key it has, and no entry is lost."""
    vault, old, new = folder / "vault.db", folder / "old.key", folder / "new.key"
    with Vault.open(vault, load_key(old, create=False)[0]) as opened:
        opened.record_all(Entry(f"patient:{n % 7}", "PATIENT", f"Name {n}", f"Other {n}") for n in range(250))
    whole = vault.read_bytes()
    seen = set()
    for part in (0.1, 0.3, 0.6, 0.9, 1.1, 1.5, 3):
        vault.write_bytes(whole)
        new.unlink(missing_ok=True)
        with full_disk(int(part * len(whole))):
            status, _, error = run("rotate", vault, "--key-file", old, "--new-key-file", new)
        seen.add(status)
        assert (status == 0) == ("created a new key" in error and "252 entries have the new key" in error), error
        fits, fails = (new, old) if status == 0 else (old, new)
        with Vault.open(vault, load_key(fits, create=False)[0]) as opened:
            assert opened.verify().entries == 252
        if fails.exists():
            assert run("audit", vault, "--key-file", fails)[0] == 2
        assert {path.name for path in folder.iterdir()} <= {"vault.db", "old.key", "new.key"}
    assert seen == {0, 2}
    vault.write_bytes(whole)
    with full_disk(len(whole) // 2):
        assert run("rotate", vault, "--key-file", old, "--new-key-file", new)[0] == 2
    assert run("rotate", vault, "--key-file", old, "--new-key-file", new)[0] == 0  # the same command, with more room


def test_audit_fails_when_something_was_altered(folder: Path, run: Run) -> None:
    with sqlite3.connect(folder / "vault.db") as connection:
        connection.execute("DELETE FROM deid_vault_entry WHERE id = 1")
    connection.close()
    status, output, error = run("audit", folder / "vault.db", "--key-file", folder / "old.key")
    assert (status, output) == (2, "")
    assert "removed" in error


def test_password_is_refused_on_the_command_line_only(folder: Path, run: Run) -> None:
    url = "postgresql://me:hush@127.0.0.1:1/db?connect_timeout=2"
    status, _, error = run("audit", url, "--key-file", folder / "old.key")
    assert status == 2
    assert "PGPASSWORD" in error
    assert "hush" not in error
    status, _, error = run("audit", "--key-file", folder / "old.key", DEID_VAULT=url)
    assert status == 2
    assert "cannot be reached" in error
    assert "hush" not in error
