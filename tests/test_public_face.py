"""The names that `import deid` offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import deid


def test_every_public_name_is_there_and_sorted() -> None:
    assert deid.__all__ == sorted(deid.__all__)
    for name in deid.__all__:
        assert getattr(deid, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = deid.nothing


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, deid; print('numpy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
