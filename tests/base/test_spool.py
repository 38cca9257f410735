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

from deid.base.spool import DiskMap

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
