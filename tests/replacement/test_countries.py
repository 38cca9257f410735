"""No spelling of a country is the surrogate of another spelling of it."""

from __future__ import annotations

import pytest

from deid.base.keys import Key
from deid.document import Document, Span
from deid.replacement.policy import load_policy
from deid.replacement.pools import countries, country_index, phrase_key, same_country
from deid.replacement.replacer import Replacer
from deid.replacement.scope import Scope

REPLACER = Replacer(load_policy("surrogate"))
SCOPES = [Scope(Key(bytes([i]) * 32), "n") for i in range(4)]
NAMES = sorted({name for group in countries() for name in group if phrase_key(name) in same_country()})


@pytest.mark.parametrize("name", NAMES)
def test_another_spelling_of_a_country_does_not_hide_it(name: str) -> None:
    text = f"born in {name}"
    for scope in SCOPES:
        new = REPLACER(Document("n", text), [Span(8, len(text), "COUNTRY")], scope).document.text[8:]
        assert phrase_key(new) not in same_country()[phrase_key(name)]


@pytest.mark.parametrize("name", sorted({name for group in countries() for name in group}))
def test_every_country_has_a_surrogate(name: str) -> None:
    """*United States* had none: all others of its group were itself, or shared a word with it."""
    text = f"born in {name}"
    for scope in SCOPES:
        new = REPLACER(Document("n", text), [Span(8, len(text), "COUNTRY")], scope).document.text[8:]
        assert "[" not in new
        assert phrase_key(new) in country_index()


def test_the_two_years_of_a_school_year_stay_neighbours() -> None:
    for scope in SCOPES:
        text = REPLACER(Document("n", "in 2018-19"), [Span(3, 10, "DATE")], scope).document.text
        assert int(text[8:]) == (int(text[3:7]) + 1) % 100
