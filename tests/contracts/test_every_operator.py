"""What every operator keeps: never what it was given, one text a span, the same under the same key."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.keys import Key
from deid.document import Document, Span
from deid.phi import CATEGORIES
from deid.replacement.containment import holds
from deid.replacement.operators import OPERATORS
from deid.replacement.scope import Scope

KEY, OTHER = Key(b"k" * 32), Key(b"o" * 32)
MADE = {name: spec for name, spec in OPERATORS.items() if name not in ("generalize", "published-value")}
"""All that need no table of their own."""
TEXTS = ("Mary Smith", "3/14/2019", "4711203", "Boston", "617-555-0142", "02139", "92", "---", "Ünal Ç.", "\U0001f600")


def replaced(name: str, key: Key, *spans: tuple[str, str]) -> list[str]:
    text = "; ".join(original for original, _ in spans)
    places, at = [], 0
    for original, category in spans:
        places.append(Span(at, at + len(original), category))
        at += len(original) + 2
    return list(
        MADE[name](**({"t": 4} if name == "t-plausible" else {}))(Document("d", text), places, Scope(key, "d", "p"))
    )


def categories(name: str) -> list[str]:
    return sorted(MADE[name].only) or list(CATEGORIES)


@pytest.mark.parametrize("name", MADE)
@settings(max_examples=30)
@given(data=st.data())
def test_no_operator_writes_what_it_was_given(name: str, data: Any) -> None:
    text = data.draw(st.sampled_from(TEXTS) | st.text(min_size=1, max_size=12))
    (new,) = replaced(name, KEY, (text, data.draw(st.sampled_from(categories(name)))))
    if not MADE[name].may_repeat and not MADE[name].leaves_part:
        assert not holds(new, text)


@pytest.mark.parametrize("name", MADE)
def test_a_key_gives_one_text_a_span_and_always_the_same(name: str) -> None:
    for category in categories(name):
        spans = [(text, category) for text in TEXTS]
        new = replaced(name, KEY, *spans)
        assert len(new) == len(spans)
        assert replaced(name, KEY, *spans) == new


@pytest.mark.parametrize("name", ["hash", "encrypt", "surrogate", "date-shift"])
def test_another_key_gives_others(name: str) -> None:
    spans = (
        [("Mary Smith", "PATIENT"), ("4711203", "MEDICALRECORD")] if name != "date-shift" else [("3/14/2019", "DATE")]
    )
    assert replaced(name, KEY, *spans) != replaced(name, OTHER, *spans)
