"""The grammars of names, places, institutions and occupations find these candidates with these certainties."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from candidates import found

CASES = tomllib.loads(Path(__file__).with_name("candidates.toml").read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:40].replace("\n", " "))
def test_candidates(case: dict) -> None:
    assert found(case["text"]) == case["found"]
