"""A pytest plugin for one fault: runs the tests in the order that is given, not in that of their files."""

from __future__ import annotations

import pytest

order: dict[str, int] = {}
"""Test -> its turn."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what has no turn, and sort the rest."""
    items[:] = sorted((i for i in items if i.nodeid in order), key=lambda i: order[i.nodeid])
