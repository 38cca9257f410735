"""The filter as a process: order, dead letters, stopping, starving, and no process left behind."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import random
import resource
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from commands import alive
from processes import Feeder, children, records, totals
from recipes import KEY, BrokenRecipe, WordRecipe

from deid.base.errors import ConfigError, DeidError, DetectionError, ModelError
from deid.streaming.crew import Crew
from deid.streaming.framing import delimited
from deid.streaming.work import Shape

Run = Callable[..., tuple[int, bytes, str]]
NAME = b"Zebulon Quartermain"
PLANTED = (b"Zebulon", b"Quartermain")


def wait_until(condition: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def letters(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def expected() -> bytes:
    """What the records give, scrubbed one by one in this process."""
    from deid.streaming.records import CONTENTS, Fields

    pipeline = WordRecipe().pipeline()
    lines = []
    for line in records(2000).splitlines():
        with contextlib.suppress(DetectionError):
            lines.append(CONTENTS["json"](line, 5, pipeline, Fields())[0] + b"\n")
    return b"".join(lines)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("way", ["pipe", "files", "journal"])
def test_one_by_one_and_together_is_the_same(run: Run, tmp_path: Path, expected: bytes, jobs: int, way: str) -> None:
    data = records(2000)
    (tmp_path / "in").write_bytes(data)
    if way == "pipe":
        status, out, said = run("--jobs", jobs, "--dead", "dead", data=data)
    else:
        extra = ("--journal", "j") if way == "journal" else ()
        status, _, said = run("--input", "in", "--output", "out", "--jobs", jobs, "--dead", "dead", *extra)
        out = (tmp_path / "out").read_bytes()
        assert (tmp_path / "out").stat().st_mode & 0o077 == 0
    assert status == 3, said
    assert out == expected
    assert totals(said)["records"] == 1980
    assert totals(said)["errors"] == {"DetectionError": 20}
    assert totals(said)["spans"] == {"DATE": 1980, "PATIENT": 1980}
    assert (tmp_path / "dead").stat().st_mode & 0o077 == 0
    found = letters(tmp_path / "dead")
    assert [set(letter) for letter in found] == [{"offset", "length", "hmac", "error"}] * 20
    for letter, line in zip(found, data.splitlines()[99::100], strict=True):
        assert data[letter["offset"] : letter["offset"] + letter["length"]] == line
        assert letter["hmac"] == hmac.new(KEY.derive("dead-letter").secret, line, hashlib.sha256).hexdigest()
    assert not list(tmp_path.glob(".*"))


def test_records_of_every_kind(run: Run, tmp_path: Path) -> None:
    one, two = NAME + b" a", b"b " + NAME
    assert run("--format", "plain", data=one + b"\n\n" + two)[1] == b"[NAME] a\n\nb [NAME]"
    assert run("--format", "plain", "--delimiter", "form-feed", data=one + b"\f" + two)[1] == b"[NAME] a\fb [NAME]"
    assert run("--format", "plain", "--delimiter", "<<>>", data=one + b"<<>>" + two)[1] == b"[NAME] a<<>>b [NAME]"
    assert run("--format", "whole", data=one + b"\n" + two)[1] == b"[NAME] a\nb [NAME]"
    prefixed = b"".join(struct.pack(">I", len(r)) + r for r in (one, b"", two))
    assert run("--format", "prefixed", data=prefixed)[1] == b"\0\0\0\x08[NAME] a\0\0\0\0\0\0\0\x08b [NAME]"


def test_an_empty_stream_gives_an_empty_stream(run: Run, tmp_path: Path) -> None:
    assert run(data=b"")[:2] == (0, b"")
    (tmp_path / "in").write_bytes(b"")
    assert run("--input", "in", "--output", "out")[0] == 0
    assert (tmp_path / "out").read_bytes() == b""


def test_bytes_that_are_no_text_are_kept_aside(run: Run, tmp_path: Path) -> None:
    noise = random.Random(3).randbytes(300_000)
    status, out, _ = run("--format", "plain", "--dead", "d", data=NAME + b"\n\xff" + NAME + b"\nnul \0 stays\n")
    assert (status, out) == (3, b"[NAME]\nnul \0 stays\n")
    assert [(x["offset"], x["error"]) for x in letters(tmp_path / "d")] == [(20, "EncodingError")]
    for kind in ("plain", "prefixed"):
        status, out, said = run("--format", kind, "--max-record", "100000", data=noise)
        assert status == 3, said
        assert len(out.strip()) < 20  # a handful of records of a few bytes can be text


def test_a_record_that_is_too_long_is_left_out(run: Run, tmp_path: Path) -> None:
    data = NAME + b"\n" + b"x" * 3_000_000 + b"\n" + NAME + b"\n" + b"y" * 1500 + b"\n" + NAME
    for extra in ((), ("--input", "in", "--output", "out")):
        (tmp_path / "in").write_bytes(data)
        (tmp_path / "d").unlink(missing_ok=True)
        status, out, _ = run("--format", "plain", "--max-record", 1000, "--dead", "d", *extra, data=data)
        assert status == 3
        assert (out or (tmp_path / "out").read_bytes()) == b"[NAME]\n[NAME]\n[NAME]"
        assert [(x["offset"], x["length"]) for x in letters(tmp_path / "d")] == [(20, 3_000_000), (3_000_041, 1500)]


def test_a_record_that_kills_or_stalls_its_worker_costs_itself_alone(run: Run, tmp_path: Path) -> None:
    lines = [NAME + b" %d\n" % n for n in range(40)]
    lines[7], lines[20], lines[33] = b"KILL\n", b"SLOW\n", b"BUG " + NAME + b"\n"
    status, out, said = run("--format", "plain", "--timeout", 0.4, "--jobs", 2, "--dead", "d", data=b"".join(lines))
    assert status == 3, said
    assert out == b"".join(b"[NAME] %d\n" % n for n in range(40) if n not in (7, 20, 33))
    assert totals(said)["errors"] == {"WorkerDied": 1, "RecordTimeout": 1, "ValueError": 1}
    assert totals(said)["restarts"] >= 3
    assert not any(word in said.encode() for word in PLANTED)
    assert [x["offset"] for x in letters(tmp_path / "d")] == [
        b"".join(lines).index(x) for x in (b"KILL", b"SLOW", b"BUG")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("slow", [0, 1])
def test_each_of_two_records_that_were_sent_together_is_asked_for_again(run: Run, tmp_path: Path, slow: int) -> None:
    """Time ran out for both: the one that stalls is left out, whichever it is, and the other comes out."""
    lines = [NAME + b" %d\n" % n for n in range(2)]
    lines[slow] = b"SLOW\n"
    (tmp_path / "in").write_bytes(b"".join(lines))
    status, _, said = run("--format", "plain", "--timeout", 0.4, "--input", "in", "--output", "out")
    assert status == 3, said
    assert (tmp_path / "out").read_bytes() == b"[NAME] %d\n" % (1 - slow)
    assert totals(said)["errors"] == {"RecordTimeout": 1}
    assert totals(said)["records"] == 1


def test_a_record_that_two_workers_had_in_hand_when_somebody_killed_them_comes_out(run: Run, tmp_path: Path) -> None:
    """One after the other: what the first left was in the hands of the second when that one died."""
    text = NAME + b" TWICE " + bytes(tmp_path / "deaths") + b" saw " + NAME + b"\n"
    status, out, said = run("--format", "plain", "--jobs", 2, data=text)
    assert (status, totals(said)["restarts"]) == (0, 2)
    assert out.startswith(b"[NAME] TWICE ")
    assert out.endswith(b"saw [NAME]\n")


def test_a_worker_that_somebody_kills_costs_nothing(feeder: Feeder, tmp_path: Path, expected: bytes) -> None:
    process = feeder("--jobs", 2, stdin=subprocess.PIPE, stdout=(tmp_path / "out").open("wb"))
    assert process.stdin is not None
    data = records(2000)
    process.stdin.write(data[: len(data) // 3])
    process.stdin.flush()
    wait_until(lambda: (tmp_path / "out").stat().st_size > 0)
    for child in children(process.pid):
        os.kill(child, signal.SIGKILL)
    _, said = process.communicate(data[len(data) // 3 :], timeout=300)
    assert process.returncode == 3
    same = (tmp_path / "out").read_bytes() == expected  # pytest takes minutes to show where long texts differ
    assert same
    assert totals(said.decode())["restarts"] == 2


def test_a_record_comes_out_before_the_next_comes_in(feeder: Feeder) -> None:
    process = feeder("--format", "plain", stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    for n in range(3):
        process.stdin.write(NAME + b" %d\n" % n)
        process.stdin.flush()
        assert process.stdout.readline() == b"[NAME] %d\n" % n
    process.stdin.close()
    assert process.wait(300) == 0


def test_what_cannot_be_written_is_not_read(feeder: Feeder) -> None:
    """A reader that stalls stalls the writer: what is under way has a bound."""
    process = feeder("--format", "plain", "--jobs", 2, stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    written = 0

    def write() -> None:
        nonlocal written
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            while written < 40_000_000:
                written += process.stdin.write(b"x" * 9_999 + b"\n")

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    process.stdout.read(1)
    before = -1
    while before != written:
        before = written
        time.sleep(1)
    assert 0 < written < 8_000_000
    process.kill()
    process.stdout.close()
    thread.join(300)
    process.wait()


def test_a_downstream_that_closes_early_ends_all(feeder: Feeder) -> None:
    """Not even another record must come in for the filter to notice."""
    process = feeder("--jobs", 2, stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(records(200))
    process.stdin.flush()
    assert process.stdout.readline().startswith(b'{"id"')
    started = children(process.pid)
    assert len(started) == 2
    process.stdout.close()
    assert process.wait(300) == 141
    wait_until(lambda: not any(map(alive, started)))


def test_workers_do_not_outlive_their_parent(feeder: Feeder) -> None:
    process = feeder("--format", "plain", "--jobs", 2, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"SLOW\n")
    process.stdin.flush()
    wait_until(lambda: len(children(process.pid)) == 2)
    started = children(process.pid)
    time.sleep(1)  # one of them is in the middle of the record
    process.kill()
    process.wait()
    wait_until(lambda: not any(map(alive, started)))


@pytest.mark.parametrize(
    ("number", "expected_status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_a_request_to_end_drains_what_was_read(feeder: Feeder, number: int, expected_status: int) -> None:
    process = feeder("--format", "plain", stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"".join(NAME + b" %d\n" % n for n in range(500)) + b"unfinished " + NAME)
    process.stdin.flush()
    first = process.stdout.readline()
    for target in [process.pid, *children(process.pid)]:  # as a terminal or systemd does
        with suppress(ProcessLookupError):  # a worker may have ended by then
            os.kill(target, number)
    rest = process.stdout.read()
    assert process.wait(300) == expected_status
    assert first + rest == b"".join(b"[NAME] %d\n" % n for n in range(500))


@pytest.mark.slow
def test_an_unfinished_output_file_vanishes_when_stopped(feeder: Feeder, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"SLOW\n" + (b"x" * 9999 + b"\n") * 400)
    process = feeder("--format", "plain", "--input", "in", "--output", "out", "--timeout", 1)
    wait_until(lambda: len(list(tmp_path.glob(".deid-part-*"))) == 1)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 143, said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


def _read_by(process: int, path: Path, count: int) -> bool:
    """Tell whether a process has read so many bytes of a file."""
    opened = Path(f"/proc/{process}/fd")
    numbers = [fd.name for fd in opened.iterdir() if fd.is_symlink() and fd.readlink() == path]
    places = (Path(f"/proc/{process}/fdinfo/{number}").read_text().split()[1] for number in numbers)
    return any(int(place) >= count for place in places)


@pytest.mark.slow
def test_a_request_to_end_behind_the_end_changes_nothing(feeder: Feeder, tmp_path: Path) -> None:
    """All is read when the signal comes, so all is written."""
    (tmp_path / "in").write_bytes(b"SLOW\n" + NAME + b"\n")
    process = feeder("--format", "plain", "--input", "in", "--output", "out", "--timeout", 1)
    wait_until(lambda: len(list(tmp_path.glob(".deid-part-*"))) == 1)
    wait_until(lambda: _read_by(process.pid, tmp_path / "in", (tmp_path / "in").stat().st_size))
    time.sleep(0.5)  # it has seen the end, too
    process.send_signal(signal.SIGTERM)
    assert process.wait(300) == 3
    process.communicate()
    assert (tmp_path / "out").read_bytes() == b"[NAME]\n"


@pytest.mark.slow
def test_outputs_that_cannot_be_written_are_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(records(50))
    (tmp_path / "there").write_bytes(b"mine")
    with Path("/dev/full").open("wb") as full:
        for arguments, streams in (
            (("--output", "/dev/full"), {}),
            ((), {"stdout": full}),
            (("--output", "no/folder"), {}),
            (("--output", "there"), {}),
            (("--output", "in"), {}),
            (("--output", "out", "--dead", "no/folder"), {}),
            (("--output", "out", "--dead", "/dev/full", "--input", "poison"), {}),
        ):
            (tmp_path / "poison").write_bytes(b"no json\n")
            status, _, said = run("--input", "in", *arguments, **streams)
            assert status == 2, (arguments, said)
            assert said.startswith("error: ")
    assert (tmp_path / "there").read_bytes() == b"mine"
    assert not (tmp_path / "out").exists()
    for missing in ("nothing", "."):
        assert run("--input", missing)[0] == 2


def test_a_full_disk_leaves_no_torn_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(records(2000))
    small = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))}
    status, _, said = run("--input", "in", "--output", "out", **small)
    assert status == 2
    assert "cannot be written" in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


@pytest.mark.slow
def test_an_input_that_shrinks_is_an_error(feeder: Feeder, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"SLOW\n" + NAME + b"\n" + b"x" * 600_000)
    process = feeder("--format", "plain", "--input", "in", "--output", "out", "--timeout", 3)
    wait_until(lambda: _read_by(process.pid, tmp_path / "in", 20))
    (worker,) = children(process.pid)
    os.kill(worker, signal.SIGSTOP)  # it has answered nothing yet, however busy the machine is
    os.truncate(tmp_path / "in", 10)
    os.kill(worker, signal.SIGCONT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 2, said
    assert "changed" in said.decode()
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("how", "error"), [("error", ModelError), ("bug", DeidError), ("die", DetectionError)])
def test_a_recipe_that_fails_to_load_is_told_once(how: str, error: type[DeidError]) -> None:
    with Crew(BrokenRecipe(how), Shape(delimited("line")), 2) as crew:
        with pytest.raises(error) as caught:
            crew.wait_ready()
        assert "Zebulon" not in str(caught.value)


def test_a_crew_needs_a_worker_and_a_recipe_that_travels() -> None:
    with pytest.raises(ConfigError):
        Crew(WordRecipe(), Shape(delimited("line")), 0)
    with pytest.raises(ConfigError):
        Crew(lambda: None, Shape(delimited("line")), 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("encoding", ["utf-16", "no-such", "cp037"])
def test_encodings_in_which_delimiters_are_others_are_refused(encoding: str) -> None:
    with pytest.raises(ConfigError):
        Shape(delimited("line"), encoding=encoding).fields()
