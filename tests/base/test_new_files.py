"""Nothing is ever overwritten, whenever it came: two writers of one new file."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run as run_deid

from deid.base.errors import OutputError
from deid.base.files import atomic_files, write_bytes


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("count", [1, 2])
def test_what_came_while_a_file_was_written_stays(
    links: bool, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On file systems without links, too; and of several files none appears."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    paths = [tmp_path / f"new{n}" for n in range(count)]

    def write_late() -> None:
        with atomic_files(paths) as streams:
            for stream in streams:
                stream.write(b"late")
            paths[-1].write_bytes(b"first")

    with pytest.raises(OutputError, match=rf"{paths[0].name}: the file to write exists already"):
        write_late()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {paths[-1].name: b"first"}
    write_bytes(tmp_path / "other", b"x")
    write_bytes(paths[-1], b"anew", replace=True)
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == [b"anew", b"x"]
    assert all(path.stat().st_mode & 0o777 == 0o600 and path.stat().st_nlink == 1 for path in tmp_path.iterdir())


@pytest.mark.parametrize("command", ["scrub", "tag", "convert", "filter"])
def test_of_two_commands_with_one_new_file_one_writes_it(command: str, tmp_path: Path) -> None:
    """And its manifest speaks of it, whoever was the faster one."""
    (tmp_path / "in.jsonl").write_text('{"id": "1", "text": "Seen by Dr. Alice Baker."}\n')
    (tmp_path / "key").write_text("ab" * 32)
    (tmp_path / "key").chmod(0o600)
    options = {
        "scrub": ["in.jsonl", "out.jsonl", "--model", "none", "--key-file", "key"],
        "tag": ["in.jsonl", "out.jsonl", "--model", "none", "--to", "jsonl"],
        "convert": ["in.jsonl", "out.jsonl", "--to", "jsonl"],
        "filter": ["in.jsonl", "-o", "out.jsonl", "--model", "none", "--key-file", "key"],
    }[command]
    line = [sys.executable, "-m", "deid", command, *options, "-q"]
    runs = [subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [run.communicate()[1] for run in runs]
    # 1: it was there only when the last document was to be written, which failed of it
    assert sum(run.returncode == 0 for run in runs) == 1, said
    assert all(run.returncode in (0, 1, 2) for run in runs), said
    assert all("exists already" in told for run, told in zip(runs, said, strict=True) if run.returncode)
    if command != "filter":
        run_deid("manifest", "verify", tmp_path / "out.jsonl")
