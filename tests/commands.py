"""Calls the command line as a shell does."""

from __future__ import annotations

import sys

import pytest

from deid.cli.main import main


def call(*arguments: str) -> int:
    """Run ``deid`` with arguments; return its exit status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["deid", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
    return int(stopped.value.code or 0)
