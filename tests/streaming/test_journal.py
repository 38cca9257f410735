"""A run goes on where it was, and refuses to go on with something else."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import Feeder, records, totals
from recipes import KEY

from deid.base.errors import ConfigError
from deid.base.files import clear_leftovers
from deid.base.keys import Key
from deid.streaming import journal as journal_module
from deid.streaming.journal import Commit, Journal

Run = Callable[..., tuple[int, bytes, str]]
FILES = ("--input", "in", "--output", "out", "--journal", "j", "--dead", "d")
ABOUT = {"input": [3, 4, "x"], "options": "y"}


def start(path: Path, about: dict[str, object] | None = None, key: Key = KEY) -> Journal:
    return Journal(path, key, about or ABOUT, Commit(0, 0, 0, {}))


@pytest.fixture
def undisturbed(run: Run, tmp_path: Path) -> tuple[bytes, bytes]:
    """Output and dead letters of a run without a journal."""
    (tmp_path / "in").write_bytes(records(2000))
    assert run("--input", "in", "--output", "clean", "--dead", "clean-dead")[0] == 3
    return (tmp_path / "clean").read_bytes(), (tmp_path / "clean-dead").read_bytes()


def outputs(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "out").read_bytes(), (folder / "d").read_bytes()


def test_commits_come_back(tmp_path: Path) -> None:
    journal = start(tmp_path / "j")
    assert not journal.resumed
    for n in range(1, 4):
        journal.commit(Commit(n, 2 * n, 0, {"records": n}))
    journal.close()
    again = start(tmp_path / "j")
    assert again.resumed
    assert again.last == Commit(3, 6, 0, {"records": 3})
    again.close()
    assert (tmp_path / "j").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("lost", [1, 20, 60])
def test_a_torn_last_line_does_not_count(tmp_path: Path, lost: int) -> None:
    journal = start(tmp_path / "j")
    for n in (1, 2):
        journal.commit(Commit(n, n, 0, {}))
    journal.close()
    os.truncate(tmp_path / "j", (tmp_path / "j").stat().st_size - lost)
    again = start(tmp_path / "j")
    assert again.last.input == 1
    again.commit(Commit(5, 5, 0, {}))
    again.close()
    third = start(tmp_path / "j")
    assert third.last.input == 5
    third.close()


def test_a_changed_line_does_not_count(tmp_path: Path) -> None:
    journal = start(tmp_path / "j")
    journal.commit(Commit(1, 1, 0, {}))
    journal.close()
    (tmp_path / "j").write_text((tmp_path / "j").read_text().replace('"output": 1', '"output": 9'))
    again = start(tmp_path / "j")
    assert again.last.input == 0
    again.close()


def test_a_long_journal_begins_anew_and_stays_locked(tmp_path: Path) -> None:
    journal = start(tmp_path / "j")
    for n in range(400):
        journal.commit(Commit(n, n, 0, {"errors": "x" * 4000}))
    assert (tmp_path / "j").stat().st_size < 1_100_000
    with pytest.raises(ConfigError, match="in use"):
        start(tmp_path / "j")
    journal.close()
    again = start(tmp_path / "j")
    assert again.last.input == 399
    again.close()


@pytest.mark.parametrize(
    ("about", "key"),
    [
        ({"input": [3, 5, "x"], "options": "y"}, KEY),
        ({"input": [3, 4, "x"], "options": "z"}, KEY),
        (ABOUT, Key(b"o" * 32)),
    ],
)
def test_a_journal_of_something_else_is_refused(tmp_path: Path, about: dict[str, object], key: Key) -> None:
    start(tmp_path / "j").close()
    with pytest.raises(ConfigError):
        start(tmp_path / "j", about, key)
    start(tmp_path / "j").close()


def test_another_file_is_no_journal(tmp_path: Path) -> None:
    (tmp_path / "j").write_text('{"text": "Zebulon"}\n')
    with pytest.raises(ConfigError) as caught:
        start(tmp_path / "j")
    assert "Zebulon" not in str(caught.value)
    assert (tmp_path / "j").read_text() == '{"text": "Zebulon"}\n'


def cut_off(feeder: Feeder, folder: Path, *arguments: object, number: int = signal.SIGKILL) -> subprocess.Popen[bytes]:
    """Start a run, wait until a part is committed, and end it."""
    process = feeder(*arguments)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        lines = (folder / "j").read_bytes().splitlines() if (folder / "j").exists() else []
        if len(lines) > 2:
            break
        time.sleep(0.01)
    process.send_signal(number)
    process.communicate()
    return process


def test_a_killed_run_goes_on(feeder: Feeder, run: Run, tmp_path: Path, undisturbed: tuple[bytes, bytes]) -> None:
    (tmp_path / "in").write_bytes(records(6000))
    cut_off(feeder, tmp_path, *FILES)
    assert not (tmp_path / "out").exists()
    clear_leftovers(tmp_path)  # as a command does that writes something else into the folder
    size = (tmp_path / ".deid-feed-out").stat().st_size
    assert size > 0
    # what a crash of the machine can leave: more than was committed, and a torn last line
    with (tmp_path / ".deid-feed-out").open("ab") as part, (tmp_path / "d").open("ab") as dead:
        part.write(b"\0" * 5000)
        dead.write(b"torn")
    with (tmp_path / "j").open("ab") as journal:
        journal.write(b'{"input": 99')
    status, _, said = run(*FILES, "--jobs", 2)
    assert status == 3, said
    assert totals(said)["records"] == 5940
    assert totals(said)["errors"] == {"DetectionError": 60}
    lines = (tmp_path / "out").read_bytes().splitlines()
    assert lines[: undisturbed[0].count(b"\n")] == undisturbed[0].splitlines()
    assert len(lines) == len(set(lines)) == 5940
    assert (tmp_path / "d").read_bytes().startswith(undisturbed[1])
    assert (tmp_path / "d").read_bytes().count(b"\n") == 60
    assert not (tmp_path / ".deid-feed-out").exists()
    # done is done
    before = outputs(tmp_path)
    status, _, said = run(*FILES)
    assert (status, totals(said)["records"]) == (3, 5940)
    assert outputs(tmp_path) == before


@pytest.mark.slow
def test_a_stopped_run_goes_on(feeder: Feeder, run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(records(16_000))
    process = cut_off(feeder, tmp_path, *FILES, number=signal.SIGTERM)
    assert process.returncode == 143
    assert not (tmp_path / "out").exists()
    assert run(*FILES)[0] == 3
    assert len(set((tmp_path / "out").read_bytes().splitlines())) == 15_840


def test_a_crash_before_the_last_step_is_made_good(run: Run, tmp_path: Path, undisturbed: tuple[bytes, bytes]) -> None:
    run(*FILES)
    (tmp_path / "out").rename(tmp_path / ".deid-feed-out")
    assert run(*FILES)[0] == 3
    assert outputs(tmp_path) == undisturbed


@pytest.mark.slow
def test_a_full_disk_is_reported_and_made_good(run: Run, tmp_path: Path, undisturbed: tuple[bytes, bytes]) -> None:
    for limit in (50_000, 150_000):
        small = {"preexec_fn": lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))}
        status, _, said = run(*FILES, **small)
        assert status == 2
        assert "run the same command again" in said
    assert run(*FILES)[0] == 3
    assert outputs(tmp_path) == undisturbed


def test_other_inputs_and_options_are_refused(feeder: Feeder, run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(records(6000))
    cut_off(feeder, tmp_path, *FILES)
    status, _, said = run(*FILES, "--policy", "tag")
    assert (status, "other options" in said) == (2, True)
    os.utime(tmp_path / "in", (1, 1))
    status, _, said = run(*FILES)
    assert (status, "has changed" in said) == (2, True)


@pytest.mark.parametrize("lost", ["part", "letters"])
def test_an_output_that_is_gone_is_not_made_up(feeder: Feeder, run: Run, tmp_path: Path, lost: str) -> None:
    (tmp_path / "in").write_bytes(records(6000))
    cut_off(feeder, tmp_path, *FILES)
    (tmp_path / {"part": ".deid-feed-out", "letters": "d"}[lost]).unlink()
    status, _, said = run(*FILES)
    assert (status, "shorter" in said) == (2, True)
    assert not (tmp_path / "out").exists()


def test_letters_of_an_earlier_feed_stay(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"no json\n")
    (tmp_path / "d").write_bytes(b"earlier\n")
    assert run(*FILES)[0] == 3
    assert (tmp_path / "d").read_bytes().startswith(b"earlier\n{")


@pytest.mark.slow
def test_a_pipe_is_at_least_once_and_duplicates_can_be_told(feeder: Feeder, run: Run, tmp_path: Path) -> None:
    """The stream comes again from its beginning; what was committed is not written again, what was not may be."""
    data = b"".join(json.dumps({"text": f"Zebulon, number {n}"}).encode() + b"\n" for n in range(6000))
    once = run(data=data)[1].splitlines()
    with (tmp_path / "first").open("wb") as out:
        process = feeder("--journal", "j", stdin=subprocess.PIPE, stdout=out)
        assert process.stdin is not None
        process.stdin.write(data[: len(data) // 2])
        process.stdin.flush()
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            if (tmp_path / "j").exists() and (tmp_path / "j").read_bytes().count(b"\n") > 2:
                break
            time.sleep(0.01)
        process.kill()
        process.communicate()
    first = [json.loads(line) for line in (tmp_path / "first").read_bytes().splitlines()]
    status, out_again, said = run("--journal", "j", data=data)
    assert status == 0, said
    second = [json.loads(line) for line in out_again.splitlines()]
    assert 0 < len(second) < 6000
    ids = {record["id"]: record["text"] for record in [*first, *second]}
    assert len(ids) == 6000
    assert list(ids.values()) == [json.loads(line)["text"] for line in once]
    assert totals(said)["records"] == 6000
    # another stream, or one that is too short, is refused
    for other in (data.replace(b"Zebulon", b"Zebulom"), data[:5000]):
        assert run("--journal", "j", data=other)[0] == 2


def test_a_pipe_of_plain_text_has_no_journal(run: Run) -> None:
    status, _, said = run("--format", "plain", "--journal", "j", data=b"x\n")
    assert (status, "ids" in said) == (2, True)


def test_what_is_known_of_the_past_is_bounded_and_the_latest_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "_REMEMBERED", 3)
    known: dict[str, None] = {}
    for part in (["a", "b"], ["c", "d", "a"], ["e"]):
        journal_module.remember(known, part)
    assert len(known) == 3
    assert "e" in known
