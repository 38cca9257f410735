"""The grammars of names, places, institutions and occupations find these candidates with these certainties."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from candidates import found

from deid.document import Document
from deid.rules.rules import RuleRecognizer

CASES = tomllib.loads(Path(__file__).with_name("candidates.toml").read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:40].replace("\n", " "))
def test_candidates(case: dict) -> None:
    assert found(case["text"]) == case["found"]


@pytest.mark.parametrize("text", ["{}", "{}\n", "x {}", "PV1 {}.", "{} x"])
@pytest.mark.parametrize("name", ["SMITH^JOHN", "SMITH^JOHN^A", "NGUYEN^MA", "JOHNSON^DO"])
def test_components_of_a_message_are_a_name_wherever_they_stand(text: str, name: str) -> None:
    spans = RuleRecognizer.load("en").find(Document("n", text.format(name)))
    assert (text.index("{"), text.index("{") + len(name)) in {(span.start, span.end) for span in spans}
