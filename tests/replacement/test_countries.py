"""No spelling of a country is the surrogate of another spelling of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deid.base.errors import OutputError
from deid.base.keys import Key
from deid.document import Document, Span
from deid.pipeline.verification import verify_document
from deid.replacement.policy import load_policy, parse_policy
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


ADDRESS = "12 Oak Street, Boston, MA 02115, US"
PARTS = (("12 Oak Street", "STREET"), ("Boston", "CITY"), ("MA", "STATE"), ("02115", "ZIP"), ("US", "COUNTRY"))


def replaced(text: str, *parts: tuple[str, str], policy: str = "surrogate") -> str:
    at, spans = 0, []
    for part, category in parts:
        at = text.index(part, at)
        spans.append(Span(at, at + len(part), category))
        at += len(part)
    return Replacer(load_policy(policy))(Document("n", text), spans, SCOPES[0]).document.text


def test_the_country_of_an_american_address_is_that_of_its_new_state() -> None:
    """*Bangor, ME 04668, UK* is nowhere."""
    new = replaced(ADDRESS, *PARTS)
    assert new.endswith(", US")
    assert "Boston" not in new
    text = f"{ADDRESS}. Born in the United States, lived in Canada."
    new = replaced(text, *PARTS, ("United States", "COUNTRY"), ("Canada", "COUNTRY"))
    assert ". Born in the United States, lived in " in new
    assert "Canada" not in new


def test_an_address_in_one_field_has_the_country_of_the_fields_beside_it() -> None:
    text = "Boston, MA 02115, US. 12 Oak Street, Boston, MA 02115, US"
    parts = (*PARTS[1:], ("12 Oak Street, Boston, MA 02115, US", "STREET"))
    assert re.fullmatch(r"(.*, US)\. .* \1", replaced(text, *parts))


def test_a_policy_that_redacts_countries_leaves_none_in_an_address_in_one_field() -> None:
    policy = parse_policy(
        {"default": {"operator": "surrogate"}, "categories": {"COUNTRY": {"operator": "redact"}}}, "own", Path()
    )
    text = "Boston, MA 02115, US. 12 Oak Street, Boston, MA 02115, US"
    spans, at = [], 0
    for part, category in (*PARTS[1:], ("12 Oak Street, Boston, MA 02115, US", "STREET")):
        at = text.index(part, at)
        spans.append(Span(at, at + len(part), category))
        at += len(part)
    assert "US" not in Replacer(policy)(Document("n", text), spans, SCOPES[0]).document.text


def test_without_an_american_address_the_country_is_another() -> None:
    assert "US" not in replaced("Born in the US.", ("US", "COUNTRY"))
    assert "US" not in replaced("Toronto, Ontario, US", ("Toronto", "CITY"), ("Ontario", "STATE"), ("US", "COUNTRY"))
    # a state that no surrogate replaces tells no country
    assert replaced(ADDRESS, *PARTS, policy="redact").endswith("[LOCATION]")


def test_verify_takes_the_country_that_stays_for_no_leak() -> None:
    original = Document("n", ADDRESS, tuple(Span(ADDRESS.index(p), ADDRESS.index(p) + len(p), c) for p, c in PARTS))
    new = REPLACER(original, original.spans, SCOPES[0]).document
    verify_document(original, new, policy=load_policy("surrogate"))
    with pytest.raises(OutputError):
        verify_document(original, new, policy=load_policy("redact"))
