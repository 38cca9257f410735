"""Helpers: start the feeder, look at its processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join((str(HERE), str(HERE.parent)))}
sys.path.insert(0, str(HERE))

Feeder = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def feeder(tmp_path: Path) -> Feeder:
    """Return a function that starts the filter of `feeder.py`; streams are pipes unless given."""

    def start(*arguments: object, **streams: Any) -> subprocess.Popen[bytes]:
        given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        return subprocess.Popen(
            [sys.executable, str(HERE / "feeder.py"), *map(str, arguments)], cwd=tmp_path, env=ENVIRONMENT, **given
        )

    return start


@pytest.fixture
def run(feeder: Feeder) -> Callable[..., tuple[int, bytes, str]]:
    """Return a function that runs the filter to its end: status, output, what was said."""

    def call(*arguments: object, data: bytes | None = None, **streams: Any) -> tuple[int, bytes, str]:
        if data is not None:
            streams["stdin"] = subprocess.PIPE
        process = feeder(*arguments, **streams)
        out, said = process.communicate(data, timeout=300)
        return process.returncode, out or b"", said.decode()

    return call


def totals(said: str) -> dict[str, Any]:
    """Return the counts that the feeder printed."""
    return json.loads(said.splitlines()[-1])  # type: ignore[no-any-return]


def children(process: int) -> list[int]:
    """Return the processes that a process started."""
    return [int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def alive(process: int) -> bool:
    """Tell whether a process runs (one that ended and was not fetched yet does not)."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def records(count: int, longer: int = 0) -> bytes:
    """Return NDJSON records with something to replace in each; one in a hundred cannot be processed."""
    lines = []
    for n in range(count):
        text = "FAIL" if n % 100 == 99 else f"Zebulon Quartermain, seen {n % 28 + 1}/3/2019, number {n}. {'-' * longer}"
        lines.append(json.dumps({"id": f"n{n}", "text": text, "ward": n % 7}) + "\n")
    return "".join(lines).encode()
