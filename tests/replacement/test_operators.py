"""The operators that need no data: what they write, and what they refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.document import Document, Span
from deid.replacement.operators import OPERATORS, label_for
from deid.replacement.scope import Scope

KEY = Key(b"k" * 32)


def run(name: str, text: str, category: str = "PATIENT", *, scope: Scope | None = None, **parameters: object) -> str:
    """Replace a whole text."""
    operator = OPERATORS[name](**parameters)
    return operator(Document("d", text), [Span(0, len(text), category)], scope or Scope(KEY, "d"))[0]


def test_redact_writes_the_coarse_group() -> None:
    assert run("redact", "Smith", "DOCTOR") == "[NAME]"
    assert run("redact", "Boston", "CITY") == "[LOCATION]"
    assert run("tag", "Boston", "CITY") == "[CITY]"


def test_redact_mask_has_one_width_for_all() -> None:
    assert run("redact", "Al", style="mask") == run("redact", "Wolfeschlegelstein", style="mask") == "*****"
    assert run("redact", "Al", style="mask", width=3) == "***"
    assert run("redact", "Al", style="removed") == ""


@pytest.mark.parametrize("original", ["name", "Name ", "[NAME]"])
def test_a_label_never_holds_its_original(original: str) -> None:
    assert label_for("PATIENT", original) == "[***]"


@pytest.mark.parametrize("original", ["A", "Na", "AM"])
def test_a_label_does_not_tell_letters_of_its_original(original: str) -> None:
    """Another label for originals that happen to be letters of NAME would give them away."""
    assert label_for("PATIENT", original) == "[NAME]"


def test_mask_keeps_length_and_punctuation() -> None:
    assert run("mask", "O'Neil, J.") == "*'****, *."
    assert run("mask", "José 12", character="#") == "#### ##"
    assert run("mask", "--") == "*****"


@given(st.text(min_size=1))
def test_mask_shows_no_letter_or_digit(text: str) -> None:
    assert not any(c.isalnum() for c in run("mask", text))


def test_hash_is_keyed_and_counts_spellings_as_one() -> None:
    assert run("hash", "John  SMITH") == run("hash", "john smith")
    assert run("hash", "john smith") != run("hash", "john smith", scope=Scope(Key(b"o" * 32), "d"))
    assert run("hash", "john smith").startswith("NAME-")
    assert len(run("hash", "john smith", length=32)) == len("NAME-") + 32


def test_hash_within_a_person_or_document() -> None:
    one, other = Scope(KEY, "d1", "p"), Scope(KEY, "d2", "p")
    assert run("hash", "Smith", scope=one, within="person") == run("hash", "Smith", scope=other, within="person")
    assert run("hash", "Smith", scope=one, within="document") != run("hash", "Smith", scope=other, within="document")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("hash", {"length": 15}),
        ("hash", {"length": 65}),
        ("hash", {"within": "world"}),
        ("redact", {"style": "blank"}),
        ("redact", {"width": 0}),
        ("mask", {"character": "x"}),
        ("mask", {"character": "**"}),
    ],
)
def test_bad_values_are_refused(name: str, parameters: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        OPERATORS[name](**parameters)


def test_specs_check_names_and_types() -> None:
    with pytest.raises(ConfigError, match="no parameter 'colour'"):
        OPERATORS["redact"].check({"colour": "red"}, "policy x")
    with pytest.raises(ConfigError, match="a whole number"):
        OPERATORS["redact"].check({"width": True}, "policy x")
    OPERATORS["zip3"].check({"counts": "counts.csv"}, "policy x")
