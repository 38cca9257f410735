"""Institutions, departments, streets and other places by template."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.reading.identity import name_key
from deid.replacement.institutions import TEMPLATES, initials_of, learn_states, replace_by_template
from deid.replacement.pools import phrase_key, states
from tests.replacement.making import make_choices


@pytest.mark.parametrize(
    ("category", "text", "pattern"),
    [
        ("HOSPITAL", "Massey Memorial Hospital", r"[A-Z]\w+ Memorial Hospital"),
        ("HOSPITAL", "St. Mary's Medical Center", r"St\. [A-Z]\w+'s Medical Center"),
        ("HOSPITAL", "WHITFIELD GENERAL HOSPITAL", r"[A-Z]+ GENERAL HOSPITAL"),
        ("HOSPITAL", "Hospital Universitario de Cruces", r"Hospital Universitario de \w+"),
        ("HOSPITAL", "KBH", r"[A-Z]{3}"),
        ("HOSPITAL", "General Hospital", r"[A-Z]\w+ Hospital"),
        ("ORGANIZATION", "Hanover Elementary School", r"[A-Z]\w+ Elementary School"),
        ("ORGANIZATION", "Smith & Sons, Inc.", r"[A-Z]\w+ & Sons, Inc\."),
        ("DEPARTMENT", "4 West", r"\d (?:North|South|East)"),
        ("DEPARTMENT", "Department of Cardiology", r"Department of [A-Z][A-Za-z ]+"),
        ("DEPARTMENT", "Tower 7B", r"Tower \d[A-Z]"),
        ("STREET", "123 Oak St Apt 4", r"\d{3} [A-Z]\w+ St Apt \d"),
        ("STREET", "1 W. 42nd Street", r"\d W\. \d\d(?:st|nd|rd|th) Street"),
        ("STREET", "C/ Jacinto Benavente 19, 4º D", r"C/ \w+ \w+ \d\d, \dº [A-Z]"),
        ("LOCATION-OTHER", "Lake Champlain", r"Lake [A-Z]\w+"),
        ("LOCATION-OTHER", "Midwest", r"[A-Z][\w -]+"),
    ],
)
def test_templates(category: str, text: str, pattern: str) -> None:
    for scope in range(12):
        new = replace_by_template(make_choices(f"p{scope}"), category, text, {}, {})
        assert re.fullmatch(pattern, new), new
        assert text.casefold() not in new.casefold()


def test_endings_of_ordinals_agree() -> None:
    for scope in range(60):
        new = replace_by_template(make_choices(f"p{scope}"), "STREET", "22nd Street", {}, {})
        number, ending = re.fullmatch(r"(\d\d)(\w\w) Street", new).groups()  # type: ignore[union-attr]
        expected = "th" if number[0] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(number[1], "th")
        assert ending == expected


def test_places_and_persons_in_names_follow_them() -> None:
    choices = make_choices()
    known = {"boston": "Dayton", "new york": "Ohio"}
    assert replace_by_template(choices, "HOSPITAL", "Boston Medical Center", known, {}) == "Dayton Medical Center"
    assert replace_by_template(choices, "HOSPITAL", "NEW YORK CLINIC", known, {}) == "OHIO CLINIC"
    named = replace_by_template(choices, "HOSPITAL", "Whitfield Clinic", {}, {})
    assert named == f"{choices.names.replace('Whitfield')} Clinic"


def test_states_in_names_become_their_surrogates() -> None:
    known: dict[str, str] = {}
    learn_states(make_choices(), "North Carolina Heart Institute", known)
    assert set(known) == {"north carolina"}
    assert known["north carolina"] in {s.name for s in states()} - {"North Carolina"}
    learn_states(make_choices(), "Whitfield Clinic", known)
    assert len(known) == 1


def test_initials_follow_the_full_name() -> None:
    assert initials_of("Boston Medical Center") == "BMC"
    assert initials_of("Hospital of the Good Shepherd") == "HGS"
    assert initials_of("KBH") == ""
    assert replace_by_template(make_choices(), "HOSPITAL", "BMC", {}, {"BMC": "DMC"}) == "DMC"


@pytest.mark.parametrize("category", sorted(TEMPLATES))
def test_further_steps_change_more(category: str) -> None:
    text = "North Lake Street Hospital Department"
    steps = {replace_by_template(make_choices(), category, text, {}, {}, step) for step in range(1, 5)}
    assert len(steps) > 1


@pytest.mark.parametrize("category", sorted(TEMPLATES))
def test_without_letters_and_digits_there_is_no_surrogate(category: str) -> None:
    assert replace_by_template(make_choices(), category, "--", {}, {}) == ""


@given(st.text("aB \t'É-.1", max_size=12))
def test_phrases_are_compared_by_the_keys_of_their_words(text: str) -> None:
    assert phrase_key(text) == " ".join(filter(None, map(name_key, text.split())))
