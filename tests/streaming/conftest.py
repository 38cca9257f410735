"""Fixtures: start the feeder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processes import Feeder

HERE = Path(__file__).resolve().parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join((str(HERE), str(HERE.parent)))}


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
