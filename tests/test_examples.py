"""The examples in the docstrings of all modules give what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import deid

PACKAGE = Path(deid.__file__).parent
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_give_what_they_show(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name.removesuffix(".__init__")))
    assert result.failed == 0


def test_examples_are_found() -> None:
    assert len(WITH_EXAMPLES) > 15
