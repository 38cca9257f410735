"""Kill -9 at random moments: the output is complete, without duplicates, in order, the same as of a quiet run."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import alive
from processes import Feeder, children, records, totals

Run = Callable[..., tuple[int, bytes, str]]
FILES = ("--input", "in", "--output", "out", "--journal", "j", "--dead", "d")


def commits(folder: Path) -> int:
    """Return how many lines the journal has."""
    return (folder / "j").read_bytes().count(b"\n") if (folder / "j").exists() else 0


def kill_at_random(feeder: Feeder, run: Run, folder: Path, count: int, kills: int, seed: int = 20_261_121) -> None:
    """Run over ``count`` records, killed ``kills`` times: while it starts, works, commits."""
    (folder / "in").write_bytes(records(count, 400))
    assert run("--input", "in", "--output", "clean", "--dead", "clean-dead", "--jobs", 2)[0] == 3
    rng = random.Random(seed)
    resumed = done = 0
    while done < kills:
        before = commits(folder)
        process = feeder(*FILES, "--jobs", rng.choice((1, 2)), stderr=subprocess.DEVNULL)
        if rng.random() < 0.2:
            time.sleep(rng.uniform(0.05, 0.5))  # in the middle of starting
        else:
            while commits(folder) == before and process.poll() is None:
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.1))
        if process.poll() is not None:
            break  # so little is left that this run came to the end
        workers = children(process.pid)
        process.kill()
        process.communicate()
        done += 1
        resumed += commits(folder) > before > 0
        end = time.monotonic() + 300
        while any(map(alive, workers)):
            assert time.monotonic() < end, "a worker outlived its parent"
            time.sleep(0.01)
    assert done >= kills // 2
    assert resumed, "no run went on from another one's commits"
    status, _, said = run(*FILES, "--jobs", 2)
    assert status == 3, said
    assert (folder / "out").read_bytes() == (folder / "clean").read_bytes()
    assert (folder / "d").read_bytes() == (folder / "clean-dead").read_bytes()
    assert totals(said)["records"] == count - count // 100


def test_a_few_kills(feeder: Feeder, run: Run, tmp_path: Path) -> None:
    kill_at_random(feeder, run, tmp_path, 9000, 4)


@pytest.mark.night
def test_25_kills_over_100_000_records(feeder: Feeder, run: Run, tmp_path: Path) -> None:
    kill_at_random(feeder, run, tmp_path, 100_000, 25)
