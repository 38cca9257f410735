"""Fixtures for all tests; corpora are found beside the checkout and skipped when absent."""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

# before NumPy is loaded, here and in what tests start: tests run side by side, and threads of one that wait for each
# other take the processor from the others
os.environ |= {name: os.environ.get(name, "1") for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}

import pytest
from hypothesis import settings
from postgresql_server import postgresql
from stored_tables import stored

__all__ = ["postgresql", "stored"]

# the same examples in every run, and no test fails because a machine is busy
settings.register_profile("deid", deadline=None, derandomize=True)
settings.load_profile("deid")

EXAMPLES = int(os.environ.get("DEID_EXAMPLES", "1"))
"""How many times the examples of every test with random input are tried, for a night: new ones then in every run."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Multiply the examples."""
    if EXAMPLES > 1:
        for test in {getattr(item, "obj", None) for item in items} - {None}:
            test = getattr(test, "__func__", test)
            chosen = getattr(test, "_hypothesis_internal_use_settings", None)
            if chosen is not None:
                more = settings(chosen, max_examples=EXAMPLES * chosen.max_examples, derandomize=False, database=None)
                test._hypothesis_internal_use_settings = more


def pytest_collection_finish() -> None:
    """Spare the collector of garbage what all tests share: thousands of tests, and the modules that they import."""
    gc.collect()
    gc.freeze()


ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with the development corpora, beside the checkout; tests that need it are skipped without it."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the development corpora are not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def _own_keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield names of folders that are not there yet: to make and number one for every test takes a second for 1,400."""
    parent = tmp_path_factory.mktemp("config", numbered=False)
    return (parent / str(n) for n in itertools.count())


@pytest.fixture(autouse=True)
def _own_key(_own_keys: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test a key folder of its own, so that no test reads or makes the user's key."""
    monkeypatch.delenv("DEID_KEY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(next(_own_keys)))
