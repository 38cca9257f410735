"""Calls the command line: as a shell does, or in this process with what it says and raises; also on a full disk."""

from __future__ import annotations

import contextlib
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid.cli.main import app, main


def call(*arguments: str) -> int:
    """Run ``deid`` with arguments; return its exit status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["deid", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
    return int(stopped.value.code or 0)


def attempt(*arguments: object, data: bytes | None = None) -> tuple[int, str]:
    """Run ``deid`` with arguments and standard input; return its exit status and all that it says.

    What the library raises is raised.
    """
    result = CliRunner().invoke(app, list(map(str, arguments)), input=data)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def run(*arguments: object, status: int = 0, data: bytes | None = None) -> str:
    """Run ``deid`` as `attempt` does; return all that it says, when its exit status is the one expected."""
    found, said = attempt(*arguments, data=data)
    assert found == status, said
    return said


@contextlib.contextmanager
def full_disk(room: int = 20) -> Iterator[None]:
    """Let no file grow above some bytes: the limit of a file's size stands for the disk.

    With 20, what is tried before the work passes, and no result does. Processes that are started meanwhile have it too.
    Python writes no compiled form of a module meanwhile: it takes one that was cut short for whole.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "dont_write_bytecode", True)
            patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def alive(process: int) -> bool:
    """Tell whether a process runs (one that ended and was not fetched yet does not)."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
