"""A pytest plugin that tells which test executes which line: ``pytest -p map_of_tests`` in a copy of the checkout.

What a fixture of a module or session does counts for every test that asks for it, what an import does for none.
``MUTATION_MAP`` in the environment says where the map goes, ``MUTATION_FOLDER`` which folder is looked at.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

_ROOT = Path.cwd()
_LOOKED_AT = str(_ROOT / os.environ["MUTATION_FOLDER"] / "*")
_COVER = coverage.Coverage(data_file=None, config_file=False, include=[_LOOKED_AT])
_took: dict[str, float] = defaultdict(float)
_shared: dict[str, list[str]] = {}
_failed: set[str] = set()
_spawns: set[str] = set()
_now = [""]


def _audit(event: str, _: Any) -> None:
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn") and _now[0]:
        _spawns.add(_now[0])


_COVER.start()
sys.addaudithook(_audit)


def _place(definition: Any) -> str:
    return f"@{definition.baseid}::{definition.argname}"


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    names = getattr(item, "_fixtureinfo", None)
    definitions = [d for ds in names.name2fixturedefs.values() for d in ds] if names else []
    _shared[item.nodeid] = [_place(d) for d in definitions if d.scope != "function"]
    _now[0] = item.nodeid
    _COVER.switch_context(item.nodeid)
    begun = sum(os.times()[:4])
    yield
    _took[item.nodeid] += sum(os.times()[:4]) - begun
    _COVER.switch_context("")
    _now[0] = ""


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Iterator[None]:
    if fixturedef.scope == "function":
        yield
        return
    before = _now[0]
    _now[0] = _place(fixturedef)
    _COVER.switch_context(_now[0])
    yield
    _now[0] = before
    _COVER.switch_context(before)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)
    if report.skipped:
        _took.pop(report.nodeid, None)


def pytest_sessionfinish() -> None:
    _COVER.stop()
    data = _COVER.get_data()
    tests = sorted(_took)
    users: dict[str, list[int]] = defaultdict(list)
    for number, test in enumerate(tests):
        for place in _shared[test]:
            users[place].append(number)
        users[test].append(number)
    lines: dict[str, dict[int, list[int]]] = {}
    for file in data.measured_files():
        by_line = data.contexts_by_lineno(file)
        lines[str(Path(file).relative_to(_ROOT))] = {
            line: sorted({n for place in places for n in users.get(place, ())}) for line, places in by_line.items()
        }
    outside = sorted(
        {name.partition(".")[0] if "." not in name else name for name, module in list(sys.modules.items())
         if getattr(module, "__file__", None) and not str(module.__file__).startswith(str(_ROOT))}
    )  # fmt: skip
    result = {
        "tests": tests,
        "seconds": [_took[t] for t in tests],
        "failed": sorted(_failed),
        "spawns": [n for n, t in enumerate(tests) if t in _spawns or any(s in _spawns for s in _shared[t])],
        "lines": lines,
        "modules": outside,
    }
    Path(os.environ["MUTATION_MAP"]).write_text(json.dumps(result), encoding="utf-8")
