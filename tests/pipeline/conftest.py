"""Where the tests of tables of databases have theirs: in a folder of their own, where they work, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from databases import Places


@pytest.fixture(autouse=True)
def _manifests_of_servers_lie_there(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "postgresql" in request.fixturenames:
        monkeypatch.chdir(tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def places(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.chdir(tmp_path)
    return Places(tmp_path, request.getfixturevalue("postgresql")() if request.param == "postgresql" else None)


@pytest.fixture
def lite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.chdir(tmp_path)
    return Places(tmp_path, None)
