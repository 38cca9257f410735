"""The compiled grammars and the C routes find what the plain routes do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SENTENCES = os.environ.get("DEID_SENTENCES", "100")
"""How many; .ci/run compares the routes on 5,000."""


@cache
def found(routes: str) -> list[str]:
    command = [sys.executable, str(Path(__file__).with_name("swapped.py")), SENTENCES]
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "DEID_KERNELS": routes, "PYTHONPATH": root}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("plain", ["grammar", "numpy"])
def test_the_routes_find_the_same_in_swapped_sentences(plain: str) -> None:
    assert found(plain) == found("")
    assert len(set(found(""))) == len(found("")) > 0
