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


def kill_at_random(
    feeder: Feeder, run: Run, folder: Path, count: int, kills: int, longest: float, seed: int = 20_261_121
) -> None:
    """Run over ``count`` records, killed ``kills`` times, some of them before anything is committed."""
    (folder / "in").write_bytes(records(count))
    assert run("--input", "in", "--output", "clean", "--dead", "clean-dead", "--jobs", 2)[0] == 3
    rng = random.Random(seed)
    places = set()
    done = 0
    while done < kills:
        process = feeder(*FILES, "--jobs", rng.choice((1, 2)), stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.05, longest))
        assert process.poll() is None, "the run ended before all kills: give it more records"
        workers = children(process.pid)
        process.kill()
        process.communicate()
        done += 1
        lines = (folder / "j").read_bytes().count(b"\n") if (folder / "j").exists() else 0
        places.add(lines)
        end = time.monotonic() + 20
        while any(map(alive, workers)):
            assert time.monotonic() < end, "a worker outlived its parent"
            time.sleep(0.01)
        assert not (folder / "out").exists()
    assert len(places) > 2, "all kills came before the first commit"
    status, _, said = run(*FILES, "--jobs", 2)
    assert status == 3, said
    assert (folder / "out").read_bytes() == (folder / "clean").read_bytes()
    assert (folder / "d").read_bytes() == (folder / "clean-dead").read_bytes()
    assert totals(said)["records"] == count - count // 100


def test_a_few_kills(feeder: Feeder, run: Run, tmp_path: Path) -> None:
    kill_at_random(feeder, run, tmp_path, 30_000, 5, 1.6)


@pytest.mark.slow
def test_25_kills_over_100_000_records(feeder: Feeder, run: Run, tmp_path: Path) -> None:
    kill_at_random(feeder, run, tmp_path, 100_000, 25, 1.5)
