"""A vault whose writer was killed, or in whose place an older copy is put: nothing released is unknown to it.

Law: what left the process (a note, a line of originals) stands on a step of the vault that is noted beside the keys. So
whichever copy lies in the vault's place, it has all that was released, or is refused; killed at whatever moment.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import attempt, run

from deid.base.errors import StoreError
from deid.base.keys import Key
from deid.base.noted import furthest, note_progress, noted, noted_place
from deid.replacement.vault import Entry, Vault

KEY = Key(b"k" * 32)
KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from deid.base import noted
from deid.base.keys import Key
from deid.replacement import vault as vaults
from deid.replacement.vault import Entry, Vault
from deid.replacement.vault_rows import VaultState
moment, at, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
place, step = Path("vault.db"), -1
def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)
def dying(own, when):
    return lambda *arguments, **options: die() if step == at and moment == when else own(*arguments, **options)
VaultState.save = dying(VaultState.save, "before the commit")
vaults.note_progress = dying(vaults.note_progress, "behind the commit")
noted.os.pwrite = dying(os.pwrite, "before the line")
with Vault.open(place, Key(b"k" * 32)) as vault:
    for step in range(6):
        Path(f"copy{step}").mkdir()
        for path in place.parent.glob("vault.db*"):
            shutil.copy2(path, f"copy{step}")
        if what == "entries":
            vault.record_all([Entry("patient:1", "PATIENT", f"Ann {step}", f"surrogate {step}")])
        elif what == "look-ups":
            vault.lookup("nobody", who="me", why="recall")
        else:
            vault.forget({f"patient:{step}"}, who="me", why="asked")
        with open("released", "a") as stream:
            stream.write(f"{step}\\n")
        if step == at and moment == "behind the release":
            die()
"""


@pytest.fixture(autouse=True)
def _of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEID_KEY", "6b" * 32)


def restore(copy: Path) -> None:
    for path in Path().glob("vault.db*"):
        path.unlink()
    for path in copy.iterdir():
        shutil.copy2(path, path.name)


@pytest.mark.parametrize("what", ["entries", "look-ups", "forgetting"])
@pytest.mark.parametrize("moment", ["before the commit", "behind the commit", "before the line", "behind the release"])
def test_a_copy_that_lacks_what_was_released_is_refused(moment: str, what: str) -> None:
    at = 3
    with Vault.create("vault.db", KEY, who="me") as vault:
        vault.record_all([Entry(f"patient:{n}", "PATIENT", f"Bob {n}", f"other {n}") for n in range(9)])
    command = [sys.executable, "-c", KILLED, moment, str(at), what]
    assert subprocess.run(command, check=False, timeout=120).returncode == -signal.SIGKILL
    newest = Path("newest")
    newest.mkdir()
    for path in Path().glob("vault.db*"):
        shutil.copy2(path, newest)
    released = len(Path("released").read_text().split())
    assert released == at + (moment == "behind the release")
    with Vault.open("vault.db", KEY) as vault:  # the newest one holds all, and is whole
        vault.verify()
        for step in range(released):
            if what == "entries":
                assert vault.is_original(f"Ann {step}")
            elif what == "forgetting":
                assert not vault.is_original(f"Bob {step}")
        lines = [line.action for line in vault.audit()]
    assert lines.count({"look-ups": "reidentify", "forgetting": "forget"}.get(what, "none")) >= released * (
        what != "entries"
    )
    for copy in range(at + 1):
        restore(Path(f"copy{copy}"))
        if copy < released:
            with pytest.raises(StoreError, match="an older copy lies in its place"):
                Vault.open("vault.db", KEY)
    restore(newest)
    Vault.open("vault.db", KEY).close()


KILLED_SCRUB = """
import os, signal, sys
from deid.cli.main import main
from deid.pipeline import files
own, count = files.Output.write, 0
def write(*arguments):
    global count
    count += 1
    done = own(*arguments)
    if count == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
files.Output.write = write
sys.argv[0] = "deid"
main()
"""


def test_a_run_does_not_go_on_with_a_vault_of_before_it() -> None:
    """What it had released would be unknown for good: documents that are there are not scrubbed again."""
    Path("notes").mkdir()
    for n in range(6):
        Path("notes", f"{n}.txt").write_text(f"Mr. Zebulon Quarter{'abcdef'[n]}main was seen on 3/14/2019.")
    run("vault", "init", "vault.db")
    asked = ("scrub", "notes", "out", "--model", "none", "--vault", "vault.db", "--keep", "filename")
    shutil.copytree(".", "copy0", ignore=lambda _, names: [n for n in names if not n.startswith("vault.db")])
    done = subprocess.run([sys.executable, "-c", KILLED_SCRUB, *asked], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    newest = Path("newest")
    newest.mkdir()
    for path in Path().glob("vault.db*"):
        shutil.copy2(path, newest)
    restore(Path("copy0"))
    with pytest.raises(StoreError, match="an older copy lies in its place"):
        attempt(*asked, "--resume")
    restore(newest)
    run(*asked, "--resume")
    with Vault.open("vault.db", KEY) as vault:
        names = [f"Zebulon Quarter{letter}main" for letter in "abcdef"]
        assert vault.originals_among(names) == {*names}


@pytest.mark.parametrize("step", ["close", "forget", "rotate"])
def test_a_cut_of_power_behind_what_is_done_once_does_not_bring_an_older_copy_back(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many steps wait for no disk; what ends a run, or nobody repeats, does. The disk has what was last put there."""
    disk = [b""]
    monkeypatch.setattr("os.fsync", lambda _: disk.append(noted_place("vaults").read_bytes()))
    vault = Vault.create("vault.db", KEY, who="me")
    if step != "close":
        vault.record("patient:1", "PATIENT", "Ann", "Eve")
    Path("copy").mkdir()
    for path in Path().glob("vault.db*"):
        shutil.copy2(path, "copy")
    if step == "forget":
        vault.forget(["patient:1"], who="me", why="asked")
    elif step == "rotate":
        vault.rotate(Key(b"o" * 32), who="me", why="lost")
    else:
        vault.record("patient:1", "PATIENT", "Ann", "Eve")
        assert noted_place("vaults").read_bytes() != disk[-1]
        vault.close()
    left = disk[-1]
    vault.close()
    noted_place("vaults").write_bytes(left)
    restore(Path("copy"))
    with pytest.raises(StoreError, match="an older copy lies in its place"):
        Vault.open("vault.db", KEY)


WRITER = """
import sys
from deid.base.keys import Key
from deid.replacement.vault import Entry, Vault
with Vault.open("vault.db", Key(b"k" * 32)) as vault:
    for n in range(60):
        vault.record_all([Entry(f"patient:{sys.argv[1]}", "PATIENT", f"{sys.argv[1]} {n}", f"surrogate {n}")])
        print(n, flush=True)
"""


def test_of_two_writers_one_of_whom_is_killed_the_furthest_is_noted() -> None:
    Vault.create("vault.db", KEY, who="me").close()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, name], stdout=subprocess.PIPE, text=True)
        for name in ("Ann", "Bob")
    ]
    assert writers[0].stdout is not None
    for _ in range(20):
        writers[0].stdout.readline()
    writers[0].kill()
    said = [len(writer.communicate(timeout=120)[0].split()) for writer in writers]
    with Vault.open("vault.db", KEY) as vault:
        entries = vault.verify().entries
    assert entries >= 20 + said[0] + 60
    assert furthest(noted("vaults"), {}, "lines", "entries") == (1, entries)
    assert len(noted_place("vaults").read_text().splitlines()) < 10


def test_what_is_noted_only_grows_and_takes_few_lines() -> None:
    for counts in ((1, 9), (1, 10), (1, 5), (2, 3), (2, 1000), (1, 2000)):
        note_progress("vaults", {"vault": "a"}, {"lines": counts[0], "entries": counts[1]}, on_disk=False)
    lines = noted_place("vaults").read_text().splitlines()
    assert json.loads(lines[-1]) == {"vault": "a", "lines": 2, "entries": 1000}
    assert len(lines) == 3  # one a number of figures
    with noted_place("vaults").open("a") as stream:
        stream.write('{"vault": "a", "li')  # a process that was killed wrote so far
    note_progress("vaults", {"vault": "b"}, {"lines": 1, "entries": 1}, on_disk=True)
    note_progress("vaults", {"vault": "a"}, {"lines": 2, "entries": 1001}, on_disk=True)
    found = {of: furthest(noted("vaults"), {"vault": of}, "lines", "entries") for of in "abc"}
    assert found == {"a": (2, 1001), "b": (1, 1), "c": (0, 0)}


def test_two_vaults_in_turn_keep_their_lines() -> None:
    """Two feeds of a site, each with a vault of its own, write for years."""
    for step in range(1, 400):
        for vault in "ab":
            note_progress("vaults", {"vault": vault}, {"lines": 1, "entries": step}, on_disk=False)
    assert len(noted_place("vaults").read_text().splitlines()) == 6  # one a vault and a number of figures
    assert {furthest(noted("vaults"), {"vault": of}, "lines", "entries") for of in "ab"} == {(1, 399)}
