"""Kill -9 at random moments: the output is complete, without duplicates, in order, the same as of a quiet run."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Feeder, alive, children, records, totals

Run = Callable[..., tuple[int, bytes, str]]
FILES = ("--input", "in", "--output", "out", "--journal", "j", "--dead", "d")


def kill_at_random(feeder: Feeder, run: Run, folder: Path, count: int, kills: int, seed: int = 20_261_121) -> None:
    """Run over ``count`` records, killed ``kills`` times, some of them before anything is committed."""
    (folder / "in").write_bytes(records(count))
    (folder / "nothing").write_bytes(b"")
    begun = time.monotonic()
    run("--input", "nothing")
    start = time.monotonic() - begun
    assert run("--input", "in", "--output", "clean", "--dead", "clean-dead", "--jobs", 2)[0] == 3
    work = time.monotonic() - begun - 2 * start
    rng = random.Random(seed)
    most = done = 0
    while done < kills:
        process = feeder(*FILES, "--jobs", rng.choice((1, 2)), stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.05, start + 1.5 * work / kills))
        if process.poll() is not None:
            break  # a machine that is faster now than before
        workers = children(process.pid)
        process.kill()
        process.communicate()
        done += 1
        most = max(most, (folder / "j").read_bytes().count(b"\n") if (folder / "j").exists() else 0)
        end = time.monotonic() + 20
        while any(map(alive, workers)):
            assert time.monotonic() < end, "a worker outlived its parent"
            time.sleep(0.01)
    assert done >= kills // 2
    assert most > 3, "all kills came before anything was committed"
    status, _, said = run(*FILES, "--jobs", 2)
    assert status == 3, said
    assert (folder / "out").read_bytes() == (folder / "clean").read_bytes()
    assert (folder / "d").read_bytes() == (folder / "clean-dead").read_bytes()
    assert totals(said)["records"] == count - count // 100


def test_a_few_kills(feeder: Feeder, run: Run, tmp_path: Path) -> None:
    kill_at_random(feeder, run, tmp_path, 15_000, 4)


@pytest.mark.slow
def test_25_kills_over_100_000_records(feeder: Feeder, run: Run, tmp_path: Path) -> None:
    kill_at_random(feeder, run, tmp_path, 100_000, 25)
