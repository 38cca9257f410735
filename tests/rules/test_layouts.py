"""Tables and places are looked for only where something speaks for one, and nothing is lost by that."""

from __future__ import annotations

import regex
from hypothesis import given
from hypothesis import strategies as st

from deid.detection import RuleRecognizer
from deid.reading.passages import rows
from deid.rules.institutions import find_institutions
from deid.rules.places import find_places

ROW = regex.compile(r"(?m)^(.*[\t|].*)$")
RULES = RuleRecognizer.load("en")
PIECES = st.sampled_from(
    [
        *("Springfield", ", ", "OH", "Boston", "lives in ", "MERCY", "Mercy", "admitted to ", "seen at ", "St. "),
        *("\n", " ", "Ohio", "Reading", "Salem", "(", "45501", "the ", "Georgia", "Vincent's", "mobile", "\r\n"),
    ]
)


@given(st.text(alphabet="ab\t|\n", max_size=40))
def test_lines_with_separators_are_those_of_the_expression(text: str) -> None:
    assert list(rows(text)) == [found.span(1) for found in ROW.finditer(text)]


@given(st.lists(PIECES, max_size=14).map("".join), st.sampled_from([0.0, 0.3, 0.5, 0.62, 0.9]))
def test_places_below_the_least_certainty_are_all_that_is_left_out(text: str, least: float) -> None:
    _, scene = RULES.analyse(text)
    sure, every = find_places(scene, least), find_places(scene)
    assert [s for s in every if (s.score or 0.0) >= least] == [s for s in sure if (s.score or 0.0) >= least]


@given(st.lists(PIECES, max_size=14).map("".join))
def test_what_is_found_has_an_extent(text: str) -> None:
    _, scene = RULES.analyse(text)
    assert all(s.start < s.end for s in [*find_institutions(scene), *find_places(scene)])


def test_tables_are_read_whatever_ends_their_lines() -> None:
    lines = ["Name\tMRN\tProvider", "Ann Smith\t1234567\tBob Jones", ""]
    found = [
        [(text[s.start : s.end], s.source) for s in RULES.find_in(text)]
        for text in map(str.join, ("\n", "\r\n"), [lines] * 2)
    ]
    assert found[0] == found[1]
    assert ("1234567", "rule:id.mrn") in found[0]


def test_a_hospital_in_capitals_behind_a_verb_is_found_whole() -> None:
    text = "The patient was admitted to MERCY for care of her leg."
    assert [text[s.start : s.end] for s in RULES.find_in(text)] == ["MERCY"]
