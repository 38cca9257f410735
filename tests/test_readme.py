"""The Python of the README runs and prints what the README says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_there_are_blocks() -> None:
    assert len(BLOCKS) == 2


@pytest.mark.parametrize("block", BLOCKS)
def test_block_prints_what_it_says(block: str) -> None:
    said = re.findall(r"^# Out: (.*)$", block, flags=re.MULTILINE)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "README.md", "exec"), {})
    assert printed.getvalue().splitlines() == said


def test_every_page_that_is_linked_exists() -> None:
    root = Path(__file__).resolve().parents[1]
    links = re.findall(r"\]\(((?!https?:)[^)#]+)\)", README)
    assert links
    assert [link for link in links if not (root / link).exists()] == []
