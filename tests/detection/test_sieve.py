"""The sieve loses no match: what it lets through equals a scan of the whole text."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.compiled import native
from deid.detection.catalogue import load_catalogue
from deid.detection.patterns import Haystack
from deid.detection.sieve import AFTER, BEFORE, places_table, starts_of

needs_native = pytest.mark.skipif(native is None, reason="the compiled module is not there")

CATALOGUE = load_catalogue("en")
CASES = [
    case.replace("[[", "").replace("]]", "")
    for pattern in CATALOGUE.patterns
    for case in (*pattern.match, *pattern.no_match)
]
PIECES = st.sampled_from(CASES) | st.sampled_from(
    ["\n", " ", "\t", "\u017f", "\u212a", "\u2019", "é", "\x1c", ".", "1"]
)


@needs_native
@settings(max_examples=120, deadline=None)
@given(st.lists(PIECES, max_size=12), st.integers(0, 20), st.sampled_from([str, str.upper, str.lower, str.title]))
def test_the_shipped_patterns_find_what_a_scan_of_the_whole_text_finds(pieces, cut, case):
    text = case("".join(pieces)[cut:])
    sieved = [span for _, spans in CATALOGUE.search(text) for span in spans]
    haystack = Haystack(text)
    assert sieved == [span for pattern in CATALOGUE.patterns for span in pattern.find(haystack)]


EXPRESSIONS = [
    r"\b(?:jan|feb|mar)\.? [0-9]{1,2}",
    r"(?<=[0-9]-)[a-c]+x?|q(?:u|v){2,3}z",
    r"(?<![A-Za-z])(?:on|at) (?P<value>[A-Z][a-z]+)",
    r"[^a-z\s]{2}(?!x)",
    r"(?i:[a-z])[0-9](?=[a-z])",
    r"(?m)^[ \t]*(k|s|i)\b",
    r"([a-z])\1[0-9]?",
    r"(?:[0-9]{1,3}(?<=age [0-9]{1,3})|x*yz)(?![0-9])",
    r"\w+@\w+",
    r"[\s.]?[0-9]{2}(?:st|nd)?\Z",
    r"(?>a|ab)++c",
    r"(?<!\s)\S\s",
]
ALPHABET = st.text(alphabet="abcdjnxyzqukvsi KSage019-.@\n\t\x1c\u017f\u212a\u0131é", max_size=40)


@needs_native
@pytest.mark.parametrize("ignore_case", [False, True])
@pytest.mark.parametrize("expression", EXPRESSIONS)
@settings(max_examples=60, deadline=None)
@given(text=ALPHABET)
def test_every_match_starts_at_a_place_that_passes(expression, ignore_case, text):
    sieve = native.Sieve(*places_table([starts_of(expression, ignore_case=ignore_case)]), BEFORE, AFTER)
    places = set(sieve.places(text, b"\1").get(0, ()))
    flags = regex.IGNORECASE if ignore_case else 0
    starts = {m.start() for m in regex.finditer(expression, text, flags=flags, overlapped=True) if m.end() > m.start()}
    assert starts <= places


@needs_native
def test_the_sieve_spares_nearly_all_places():
    text = "The patient was seen in clinic today and is doing well on the present dose of medication. " * 50
    asked = bytes([1]) * len(CATALOGUE.patterns)
    places = CATALOGUE.sieve.places(text, asked)
    # of so many places for each pattern
    assert sum(map(len, places.values())) < 0.01 * len(text) * len(CATALOGUE.patterns)


@needs_native
def test_what_is_not_understood_passes_everywhere():
    sieve = native.Sieve(*places_table([starts_of(r"(?(1)a|b)", ignore_case=False)]), BEFORE, AFTER)
    assert sieve.places("xyz", b"\1") == {0: [0, 1, 2]}
    assert sieve.places("xyz", b"\0") == {}
    assert sieve.places("", b"\1") == {}


@needs_native
def test_tables_of_another_size_are_refused():
    rows, ways, digits = places_table([starts_of("a", ignore_case=False)])
    for wrong in ((rows[:-8], ways, digits), (rows, ways[:-8], digits), (rows, ways, digits[:-1]), (b"", b"", b"")):
        with pytest.raises(ValueError, match="size"):
            native.Sieve(*wrong, BEFORE, AFTER)
    with pytest.raises(ValueError, match="one byte a pattern"):
        native.Sieve(rows, ways, digits, BEFORE, AFTER).places("abc", b"")
