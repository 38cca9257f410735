"""Certainties stand in one file, each of them is used, and a site's mistake in it is told."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from deid.base.errors import ConfigError
from deid.rules import certainties as module
from deid.rules.certainties import certainties

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "dictionaries" / "patterns" / "certainties.toml"
TABLES = tomllib.loads(FILE.read_text(encoding="utf-8"))


def asked() -> dict[str, set[str]]:
    """Table -> the names that the module which reads it asks for."""
    found: dict[str, set[str]] = {}
    for room in ("rules", "detection"):
        for file in (ROOT / "deid" / room).glob("*.py"):
            code = file.read_text(encoding="utf-8")
            for table in re.findall(r'^_W.*= certainties\("(\w+)"\)', code, re.M):
                found[table] = {
                    n for asked in re.findall(r"_W\[([^\]]*)\]", code) for n in re.findall(r'"(\w+)"', asked)
                }
    return found


def test_the_file_holds_what_is_asked_for_and_nothing_else():
    assert asked() == {table: set(values) for table, values in TABLES.items()}


@pytest.mark.parametrize("number", ["1.5", "-0.1", "1", '"0.5"', "nan"])
def test_what_is_no_certainty_is_refused(number, monkeypatch):
    monkeypatch.setattr(module, "_tables", lambda: tomllib.loads(f"[names]\ntitle = {number}\n"))
    with pytest.raises(ConfigError, match="title"):
        certainties("names")


def test_an_unknown_table_is_refused():
    with pytest.raises(ConfigError, match="nothing"):
        certainties("nothing")
