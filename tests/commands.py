"""Calls the command line: as a shell does, or in this process with what it says and raises."""

from __future__ import annotations

import sys

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
