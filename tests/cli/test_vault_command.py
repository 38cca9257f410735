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
from deid.base.noted import noted_place
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

    def recording(self: Vault, entries: Iterable[Entry], **said: bool) -> int:
        calls.append(1)
        if len(calls) == 3:
            with Vault.open(vault, load_key(old, create=False)[0]) as other:
                other.rotate(load_key(new)[0], who="keeper", why="yearly")
        return record(self, entries, **said)

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
        noted_place("vaults").unlink()
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
    noted_place("vaults").unlink()
    with full_disk(len(whole) // 2):
        assert run("rotate", vault, "--key-file", old, "--new-key-file", new)[0] == 2
    assert run("rotate", vault, "--key-file", old, "--new-key-file", new)[0] == 0  # the same command, with more room


@pytest.mark.parametrize("since", ["entry", "look-up", "forget"])
@pytest.mark.parametrize("name", ["reidentify", "rotate", "audit", "forget", "scrub"])
def test_an_older_copy_in_the_place_of_a_vault_is_refused_by_every_command(folder: Path, name: str, since: str) -> None:
    """It lacks originals that were kept since, look-ups that were made, and has persons who were forgotten."""
    vault, key = folder / "vault.db", folder / "old.key"
    (folder / "notes").mkdir()
    (folder / "notes" / "a.txt").write_text("Seen by Dr. Alan Chen on 3/14/2019.")
    older = vault.read_bytes()
    with Vault.open(vault, load_key(key, create=False)[0]) as opened:
        if since == "entry":
            opened.record("patient:3", "PATIENT", "Zed Quine", "Al Bundy")
        elif since == "look-up":
            opened.lookup("Jane Ahmad", who="me", why="recall")
        else:
            opened.forget({"patient:1"}, who="me", why="asked")
    vault.write_bytes(older)
    commands = {
        "reidentify": ("vault", "reidentify", vault, "Jane Ahmad", "--why", "recall", "--key-file", key),
        "rotate": ("vault", "rotate", vault, "--key-file", key, "--new-key-file", folder / "new.key"),
        "audit": ("vault", "audit", vault, "--key-file", key),
        "forget": ("forget", "1", "--in-vault", vault, "--why", "asked", "--key-file", key),
        "scrub": ("scrub", folder / "notes", folder / "out", "--model", "none", "--vault", vault, "--key-file", key),
    }
    with pytest.raises(StoreError, match="an older copy lies in its place"):
        attempt(*commands[name])
    assert vault.read_bytes() == older
    lines = [line for line in noted_place("vaults").read_text().splitlines() if "vault" not in line]
    noted_place("vaults").write_text("".join(lines))  # what the hint says, where the newest one is lost
    assert attempt(*commands[name])[0] == 0


def test_a_run_stops_when_a_person_is_forgotten_and_the_vault_does_not_learn_him_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, key, notes = folder / "vault.db", folder / "old.key", folder / "notes"
    notes.mkdir()
    for number in range(6):
        (notes / f"{number}.txt").write_text(f"Seen by Dr. Alan Chen{number} on 3/14/2019, MRN 471120{number}.")
    (folder / "patients.csv").write_text("document,patient\n" + "".join(f"{n},p{n % 2}\n" for n in range(6)))
    record, calls = Vault.record_all, []

    def recording(self: Vault, entries: Iterable[Entry], **said: bool) -> int:
        calls.append(1)
        if len(calls) == 4:
            assert attempt("forget", "p0", "--in-vault", vault, "--why", "asked", "--key-file", key)[0] == 0
        return record(self, entries, **said)

    monkeypatch.setattr(Vault, "record_all", recording)
    keys = ("--vault", vault, "--key-file", key, "--model", "none", "--patients", folder / "patients.csv")
    with pytest.raises(StoreError, match="a person was forgotten meanwhile"):
        attempt("scrub", notes, folder / "out", *keys)
    with Vault.open(vault, load_key(key, create=False)[0]) as opened:
        assert not opened.originals_among([f"471120{n}" for n in (0, 2, 4)])
    for number in (0, 2, 4):
        (notes / f"{number}.txt").unlink()
    assert attempt("scrub", notes, folder / "again", *keys)[0] == 0
    with Vault.open(vault, load_key(key, create=False)[0]) as opened:
        opened.verify()
        assert {e.scope_id for e in opened.scoped("patient:p1", who="me", why="test")} == {"patient:p1"}
        assert not opened.scoped("patient:p0", who="me", why="test")


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
