"""Values on disk: who may read them, and what killed processes leave."""

from __future__ import annotations

import operator
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base import spool
from deid.base.spool import DiskMap, TextSet, in_order

CHILD = """
import os, signal
from deid.base.spool import DiskMap
held = DiskMap([("a", 1)], int)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="locks and modes are those of POSIX")
def test_what_a_killed_process_left_goes_and_what_a_living_one_holds_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    living = DiskMap([("a", 1)], operator.index)
    (held,) = tmp_path.iterdir()
    assert stat.S_IMODE(held.stat().st_mode) == 0o700
    assert stat.S_IMODE((held / "values").stat().st_mode) == 0o600
    child = subprocess.run(
        [sys.executable, "-c", CHILD], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False, timeout=60
    )
    assert child.returncode == -signal.SIGKILL
    (left,) = set(tmp_path.iterdir()) - {held}
    (tmp_path / "deid-values-link").symlink_to(held)
    again = DiskMap([("b", 2)], operator.index)
    assert not left.exists()
    assert (living["a"], again["b"]) == (1, 2)
    del living, again
    assert [path.name for path in tmp_path.iterdir()] == ["deid-values-link"]


@given(st.lists(st.tuples(st.integers(0, 9), st.text(max_size=2)), max_size=60), st.integers(1, 5), st.booleans())
def test_values_are_sorted_on_disk_as_in_memory(values: list[tuple[int, str]], held: int, distinct: bool) -> None:
    """Those with the same key stay in the order in which they came."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "_SORTED", held)
        patch.setattr(spool, "_RUNS", 3)
        key = (lambda value: value) if distinct else operator.itemgetter(0)
        found = in_order(values, key, list, tuple, distinct=distinct)
        assert list(found) == sorted(set(values) if distinct else values, key=key)


def test_a_set_tells_what_it_met_from_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(spool, "_MET", 4)
    met = TextSet()
    assert not met
    names = ["b", "a", "", "\udcff", "a\0b", "é", "a", "c", "d", "b", "e"]
    for number, name in enumerate(names):
        assert (name in met) == (name in names[:number])
        met.add(name)
    assert met
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    del met
    assert list(tmp_path.iterdir()) == []
