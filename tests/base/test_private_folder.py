"""Private folders: what killed processes left goes, what living ones hold stays."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import deid
from deid.base.files import clear_leftovers, part_folder
from deid.base.private_folder import PrivateFolder

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="locks and modes are those of POSIX")

KILLED = {
    "folder": """
folder = PrivateFolder()
(Path(folder.name) / "a").write_text("Ann Lee")
die()
""",
    "buckets": """
import numpy as np
from deid.base.buckets import Buckets
Buckets.held = 0
with Buckets(1) as buckets:
    buckets.add(np.arange(9, dtype=np.uint64)[:, None])
    die()
""",
    "annotation": """
from deid.annotation import loop
class Tagger:
    def save(self, folder):
        folder.mkdir()
        (folder / "weights").write_text("Ann Lee")
        die()
loop._packed(Tagger())
""",
    "linkage": """
import pandas as pd
from deid.linkage.model import _tables
with _tables(pd.DataFrame({"name": ["Ann Lee"]}), 1) as (connection, _):
    spilled = connection.execute("select current_setting('temp_directory')").fetchone()[0]
    (Path(spilled) / "spilled").write_text("Ann Lee")  # as DuckDB does when memory is short
    die()
""",
    "privacy": """
import pyarrow as pa, pyarrow.parquet as pq
from deid.cli.main import main
from deid.disclosure import disk_levels
def killed(path, roles, asked, folder, memory, table):
    (folder / "rows").write_text("Ann Lee")
    die()
disk_levels.assess_on_disk = killed
table = Path(os.environ["TMPDIR"]).parent / "t.parquet"
pq.write_table(pa.table({"age": [1, 1], "zip": [2, 2]}), table)
sys.argv = ["deid", "privacy", str(table), "--qi", "age,zip", "--memory", "512M"]
main()
""",
}
BEFORE = """
import os, signal, sys
from pathlib import Path
from deid.base.private_folder import PrivateFolder
def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("kind", KILLED)
def test_what_a_killed_process_left_goes_and_what_a_living_one_holds_stays(kind: str, place: Path) -> None:
    living = PrivateFolder()
    held = Path(living.name) / "held"
    held.write_text("Bob Ray")
    assert stat.S_IMODE(held.parent.stat().st_mode) == 0o700
    child = subprocess.run(
        [sys.executable, "-c", BEFORE + KILLED[kind]],
        env={**os.environ, "TMPDIR": str(place)}, check=False, timeout=60, capture_output=True,
    )  # fmt: skip
    assert child.returncode == -signal.SIGKILL, child.stderr
    (left,) = set(place.iterdir()) - {held.parent}
    assert any(left.rglob("*"))
    with PrivateFolder() as own:
        assert not left.exists()
        assert held.read_text() == "Bob Ray"
        assert set(place.iterdir()) == {held.parent, Path(own)}
    living.cleanup()
    assert not list(place.iterdir())


@pytest.mark.parametrize("deep", [False, True])
def test_the_hidden_folder_beside_an_output_goes_as_well(deep: bool, tmp_path: Path) -> None:
    script = """
from deid.base.files import part_folder
with part_folder(Path(sys.argv[1]) / "out") as part:
    (part / "below").mkdir()
    (part / "below" / "rows").write_text("Ann Lee")
    die()
"""
    child = subprocess.run([sys.executable, "-c", BEFORE + script, str(tmp_path)], check=False, timeout=60)
    assert child.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    with part_folder(tmp_path / "other") as living:
        (living / "rows").write_text("Bob Ray")
        assert not left.exists()
        left.mkdir()
        (left / "below").mkdir()
        (left / "below" / "rows").write_text("Ann Lee")
        assert clear_leftovers(tmp_path, deep=deep) == 1
        assert not left.exists()
        assert (living / "rows").read_text() == "Bob Ray"
    assert not list(tmp_path.iterdir())


def test_a_folder_lives_as_long_as_a_process_forked_from_its_own(place: Path) -> None:
    told, tell = os.pipe()
    wait, go = os.pipe()
    owner = os.fork()
    if owner == 0:  # makes a folder, forks one that goes on, and is killed
        folder = PrivateFolder()
        (Path(folder.name) / "a").write_text("Ann Lee")
        if os.fork() == 0:
            os.close(go)
            os.write(tell, b"x")
            os.read(wait, 1)  # until the test closes its end
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(tell)
    os.waitpid(owner, 0)
    assert os.read(told, 1) == b"x"
    (left,) = place.iterdir()
    PrivateFolder().cleanup()
    assert (left / "a").exists()
    os.close(go)
    assert os.read(told, 1) == b""  # the last one ends; its lock may go a moment behind its pipe
    until = time.monotonic() + 30
    while list(place.iterdir()) and time.monotonic() < until:
        PrivateFolder().cleanup()
    assert not list(place.iterdir())


def test_a_folder_goes_with_its_value_and_nobody_follows_a_link(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a").write_text("kept")
    (place / "deid-values-link").symlink_to(other)
    empty = place / "deid-values-empty"  # made this moment by a process that has not locked it yet
    empty.mkdir()
    folder: PrivateFolder | None = PrivateFolder()
    with pytest.warns(ResourceWarning):
        del folder
    assert {path.name for path in place.iterdir()} == {"deid-values-link", "deid-values-empty"}
    assert (other / "a").read_text() == "kept"


def test_nothing_else_makes_folders_among_the_temporary_files() -> None:
    package = Path(deid.__file__).parent
    made = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for call in re.findall(r"\b(?:TemporaryDirectory|mkdtemp)\([^\n]*", path.read_text("utf-8"))
        if "dir=" not in call
    }
    assert made == {"cli/report.py"}  # the page that it makes there is for the user to keep
