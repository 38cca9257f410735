"""Fixtures for all tests; corpora are found beside the checkout and skipped when absent."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# the same examples in every run, and no test fails because a machine is busy
settings.register_profile("deid", deadline=None, derandomize=True)
settings.load_profile("deid")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with the development corpora, beside the checkout; tests that need it are skipped without it."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the development corpora are not beside this checkout")
    return folder


@pytest.fixture(autouse=True)
def _own_key(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test a key folder of its own, so that no test reads or makes the user's key."""
    monkeypatch.delenv("DEID_KEY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
