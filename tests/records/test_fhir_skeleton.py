"""The table of FHIR has a line for every element that the definitions of R4 and R5 have, and for no other."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "fhir_skeleton"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("fhir.resources")
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_table_has_every_element() -> None:
    result = run("--check")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "108 resources" in result.stdout
    assert result.stdout.endswith(" 0 wrong\n")


def test_lines_to_begin_with_are_lines_of_a_table() -> None:
    found = tomllib.loads(run("AdverseEvent").stdout)["resources"]["AdverseEvent"]
    assert found["note"] == ["Annotation", "notes"]
    assert found["suspectEntity"]["causality"]["author"][0] == "Reference"
    assert found["occurrence[x]"][0] == "typed"
