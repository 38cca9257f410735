"""What a release says of itself agrees: versions, bounds of dependencies, locks, citation, scripts."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import deid

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def locked(name: str) -> dict[str, str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==([^\s]+)", text, re.MULTILINE))


def test_one_version_everywhere() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert PROJECT["version"] == deid.__version__ == cited[1]
    assert re.search(rf"^## {re.escape(deid.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_every_dependency_has_an_upper_bound() -> None:
    extras = PROJECT["optional-dependencies"]
    used = [text for name in extras if name not in ("dev", "dictionaries", "release") for text in extras[name]]
    asked = [Requirement(text) for text in (*PROJECT["dependencies"], *used)]
    assert len(used) > 10
    assert [one.name for one in asked if not any(s.operator in ("<", "<=", "==", "~=") for s in one.specifier)] == []


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_locks_hold_every_dependency_within_its_bounds(name: str) -> None:
    versions, wanted = locked(name), list(map(Requirement, PROJECT["dependencies"]))
    if name == "requirements-dev.lock":
        extras = {extra: list(map(Requirement, texts)) for extra, texts in PROJECT["optional-dependencies"].items()}
        for one in extras["dev"]:
            wanted += [r for extra in one.extras for r in extras[extra]] if one.name == PROJECT["name"] else [one]
    asked = {canonicalize_name(r.name): r.specifier for r in wanted}
    assert {
        one: versions.get(one)
        for one, bounds in asked.items()
        if one not in versions or not bounds.contains(versions[one])
    } == {}


def test_the_lock_names_a_hash_of_each_and_no_place() -> None:
    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==\S+ --hash=sha256:[0-9a-f]{64}", line)] == []
    for name in ("requirements.lock", "requirements-dev.lock"):
        assert "://" not in (ROOT / name).read_text()
        assert "file:" not in (ROOT / name).read_text()


def test_a_changed_wheel_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "some.whl").write_bytes(b"wheel")
    digest = subprocess.run(["sha256sum", "some.whl"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    (tmp_path / "SHA256SUMS").write_text(digest)
    (tmp_path / "some.whl").write_bytes(b"other")
    run = [ROOT / "scripts" / "wheelhouse", "install", tmp_path, tmp_path / "venv"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "some.whl" in done.stdout + done.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize("name", ["wheelhouse", "build_wheels", "sbom", "audit_packages", "docs", "setup"])
def test_scripts_are_bash_that_can_be_read_and_run(name: str) -> None:
    script = ROOT / "scripts" / name
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(script)], check=True)
