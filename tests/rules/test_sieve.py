"""The sieve loses no match: what it lets through equals a scan of the whole text."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.compiled import native
from deid.rules.catalogue import load_catalogue
from deid.rules.patterns import Haystack, holds_word, words_expression
from deid.rules.programs import Do
from deid.rules.sieve import needs_tables, sieve_tables

needs_native = pytest.mark.skipif(native is None, reason="the compiled module is not there")

LANGUAGES = ("de", "en", "es", "fr", "nl")
CATALOGUE = load_catalogue("en")
CASES = [
    case.replace("[[", "").replace("]]", "")
    for pattern in CATALOGUE.patterns
    for case in (*pattern.match, *pattern.no_match)
]
PIECES = st.sampled_from(CASES) | st.sampled_from(
    ["\n", " ", "\t", "\u017f", "\u212a", "\u2019", "é", "\x1c", ".", "1", "\U0001f642", "\U0001d400"]
)


@needs_native
@settings(max_examples=120)
@given(st.lists(PIECES, max_size=12), st.integers(0, 20), st.sampled_from([str, str.upper, str.lower, str.title]))
def test_the_shipped_patterns_find_what_a_scan_of_the_whole_text_finds(pieces, cut, case):
    text = case("".join(pieces)[cut:])
    sieved = CATALOGUE.search(text)
    haystack = Haystack(text)
    assert sieved == [span for pattern in CATALOGUE.patterns for span in pattern.find(haystack)]


@pytest.mark.parametrize("case", [str, str.upper, "\U0001f642 {}".format, "{} \u03b1".format])
def test_without_a_sieve_the_same_is_found(case):
    plain = dataclasses.replace(CATALOGUE, sieves=())
    for text in map(case, CASES[::9]):
        assert plain.search(text) == CATALOGUE.search(text)


def sieve_of(expression: str, ignore_case: bool = False) -> Any:
    """Return the sieve of one expression."""
    return native.Sieve(*sieve_tables([(expression, ignore_case)]), *needs_tables([()]))


def places_of(sieve: Any, text: str) -> list[int]:
    """Return the places that are left for the first expression."""
    return sieve.places(text).get(0, [])


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
    r"(?m)(?<=^[ ]{0,2}(?:-[ ])?|(?<=[.,])[ ])[a-z]{1,3}(?=[ ]?[0-9])",
    r"[a-z][a-z'-]{0,18}(?:(?=[ ]1)[ ][0-9])?(?=[ ]a|,|$)",
    r"(?:an|at|b|cue|(?<=[ ])d|i[sk]|)[0-9K](?!an|at|be|cab|d)",
]
ALPHABET = st.text(alphabet="abcdjnxyzqukvsi KSage019-.@\n\t\x1c\u017f\u212a\u0131é\U0001f642", max_size=40)


@needs_native
@pytest.mark.parametrize("ignore_case", [False, True])
@pytest.mark.parametrize("expression", EXPRESSIONS)
@settings(max_examples=20)
@given(text=ALPHABET)
def test_every_match_starts_at_a_place_that_passes(expression, ignore_case, text):
    sieve = sieve_of(expression, ignore_case)
    places = set(places_of(sieve, text))
    flags = regex.IGNORECASE if ignore_case else 0
    starts = {m.start() for m in regex.finditer(expression, text, flags=flags, overlapped=True) if m.end() > m.start()}
    assert starts <= places


@needs_native
def test_behind_a_word_of_any_length_the_next_one_tells():
    sieve = sieve_of(r"(?<![a-z])[a-z]{1,999}(?=[ ](?:went|came))")
    text = "one came, two stay, " + "x" * 63 + " went, " + "z" * 99 + " went"
    assert places_of(sieve, text) == [text.index(word) for word in ("one", "xx", "zz")]


@needs_native
def test_the_sieve_spares_all_places_of_plain_prose():
    text = "The patient was seen in clinic today and is doing well on the present dose of medication. " * 50
    assert CATALOGUE.sieves[0][0].places(text) == {}


@needs_native
def test_what_is_not_understood_passes_everywhere():
    sieve = sieve_of(r"(?(1)a|b)")
    assert sieve.places("xyz") == {0: [0, 1, 2]}
    assert sieve.places("") == {}
    for asked, text in ((sieve, b"xyz"), (sieve, 1), (sieve, None), (native.Sieve.__new__(native.Sieve), "xyz")):
        with pytest.raises(ValueError, match="a text is wanted"):
            asked.places(text)


@needs_native
def test_tables_of_another_size_are_refused():
    good = (*sieve_tables([("a", False)]), *needs_tables([("a",)]))
    for number, table in enumerate(good):
        if isinstance(table, bytes):
            wrong = (*good[:number], table[:-1], *good[number + 1 :])
            with pytest.raises(ValueError, match=r"size|programs"):
                native.Sieve(*wrong)
    with pytest.raises(ValueError, match="number"):
        native.Sieve(*good[:-2], *needs_tables([("b",), ("c",)]))


NEEDS = [
    ("@",),
    ("ab", "bcd"),
    (),
    ("abcde", "été"),
    ("aaaa",),
    ("cab", "-"),
    ("é",),
    ("σ", "kb"),
    ("ς", "aé-"),
    ("ǫ",),
]


@needs_native
@settings(max_examples=300)
@given(st.text("abcdeA@-éÉ\u0130kK\u212aΣǪ", max_size=40), st.permutations(NEEDS))
def test_what_patterns_need_is_found_at_once_as_one_by_one(text, asked):
    sieve = native.Sieve(*sieve_tables([(".", False)] * len(asked)), *needs_tables(asked))
    one_by_one = {n for n, needs in enumerate(asked) if not needs or any(need in text.lower() for need in needs)}
    assert sieve.places(text).keys() == (one_by_one if text else set())


WORDS = ("ab", "b a", "(a", "_a", "a_", "é", "b)", "a1", "kk", "A", "a\u2019b")


@needs_native
@settings(max_examples=1000)
@given(
    st.lists(
        st.sampled_from([*WORDS, "a", "B", "_", "1", " ", ".", "\u2019", "\u2022", "\xa0", "\u212a", "ß"]), max_size=8
    ).map("".join),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(tuple),
    st.integers(0, 12),
    st.integers(0, 12),
)
def test_words_are_found_as_their_expression_finds_them(text, words, start, length):
    expected = words_expression(words).search(text, start, start + length) is not None
    assert holds_word(words, text, start, start + length) == expected


@needs_native
@pytest.mark.parametrize("word", ["", "é", "a\u2019b", "日", b"ab", 1, None])
def test_words_that_letters_cannot_be_compared_to_one_by_one_are_refused(word):
    with pytest.raises(ValueError, match="ASCII"):
        native.Words(("ab", word))


@needs_native
@pytest.mark.parametrize("given", [(b"ab", 0, 1), ("ab", 0), ("ab", 0, "1"), ("ab", 0, 1, 2)])
def test_words_are_looked_for_in_a_text_between_two_places(given):
    with pytest.raises(TypeError):
        native.Words(("ab",)).hold(*given)
    with pytest.raises(TypeError):
        native.Words.__new__(native.Words).hold("ab", 0, 1)


@needs_native
@pytest.mark.parametrize(
    "code",
    [
        [Do.FORTH, 0],  # no end
        [Do.FORTH, 1, Do.ACCEPT],  # a set that is not there
        [Do.FORTH, -1, Do.ACCEPT],
        [Do.RUN, 0, 1],  # cut off
        [Do.JUMP, 1, Do.ACCEPT],  # into an instruction
        [Do.SPLIT, 9, Do.ACCEPT],
        [Do.HOLDS, -1, Do.ACCEPT],
        [99, Do.ACCEPT],
    ],
)
def test_programs_that_would_run_astray_are_refused(code):
    rows, lines, _, _, sets = sieve_tables([("a", False)])
    starts = np.array([0, len(code)], np.int32).tobytes()
    with pytest.raises(ValueError, match="programs"):
        native.Sieve(rows, lines, np.array(code, np.int32).tobytes(), starts, sets, (), b"")
    everything = b"\xff" * len(sets)
    code = [Do.FORTH, 0, Do.ACCEPT]
    with pytest.raises(ValueError, match="programs"):  # it would read beyond the end
        native.Sieve(rows, lines, np.array(code, np.int32).tobytes(), starts, everything, (), b"")


@needs_native
@pytest.mark.parametrize(
    ("expression", "text", "places"),
    [
        (r"[a-z]{1,9}@[a-z]{1,9}", "nobody@home, nobody at home", [0, 1, 2, 3, 4, 5]),
        (r"(?<![a-z])[a-z]{1,20}@[a-z]", "nobody@home, nobody at home", [0]),
        (r"\b(?:one|two)[ ]days?\b(?![ ]ago|[ ]later)", "one day, two days ago, two days hence, one daylight", [0, 23]),
        (r"[0-9]{2}(?<=\b(?:age|aged)[ ][0-9]{2})(?![0-9])", "age 44, page 55, aged 666, aged 77", [4, 32]),
        (r"(?:ab){2,3}c(?=[^x]*z)", "ababc z ababababc z", [0, 10, 12]),
        (r"(?m)^x$", "x\nyx\nx", [0, 5]),
    ],
)
def test_programs_tell_failing_places_at_once(expression, text, places):
    sieve = sieve_of(expression)
    assert places_of(sieve, text) == places


PARTS = st.recursive(
    st.sampled_from(
        [
            "a",
            "b",
            "[ab]",
            "[^a]",
            "\\w",
            "\\s",
            "\\d",
            "[^\\W\\d]",
            ".",
            "k",
            "\u212a",
            "é",
            "^",
            "$",
            "\\b",
            "\\Z",
            "\\n",
        ]
    ),
    lambda part: st.one_of(
        st.lists(part, min_size=1, max_size=3).map("".join),
        st.lists(part, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(part, st.sampled_from(["?", "*", "+", "{1,2}", "{2}", "{2,}", "??", "*?", "?+", "*+", "{1,2}+"])).map(
            lambda both: f"(?:{both[0]}){both[1]}"
        ),
        st.tuples(st.sampled_from(["=", "!", "<=", "<!", ">", "i:"]), part).map(lambda both: f"(?{both[0]}{both[1]})"),
    ),
    max_leaves=8,
)


@needs_native
@settings(max_examples=300)
@given(PARTS, st.booleans(), st.text(alphabet="abkAK1 \n\x1cé\u212a", max_size=12))
def test_no_program_fails_where_its_expression_matches(expression, ignore_case, text):
    compiled = regex.compile(expression, regex.IGNORECASE if ignore_case else 0)
    sieve = sieve_of(expression, ignore_case)
    places = set(places_of(sieve, text))
    for place in range(len(text)):
        found = compiled.match(text, place)
        assert place in places or found is None or found.end() == place


@needs_native
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_shipped_pattern_is_tried_at_few_places_of_notes(language):
    """One expression that the sieve cannot read would be tried at every character, and cost as much as all others."""
    cases = [case for own in LANGUAGES for p in load_catalogue(own).patterns for case in (*p.match, *p.no_match)]
    text = "\n".join(cases)
    catalogue = load_catalogue(language)
    tried = {catalogue.patterns[number].name: len(at) for number, at in catalogue.sieves[0][0].places(text).items()}
    assert sum(tried.values()) > 20  # it is the sieve that is asked
    assert {name: count for name, count in tried.items() if count > len(text) / 10} == {}
