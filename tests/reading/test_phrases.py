"""The compiled search for phrases finds what the Python one finds."""

from __future__ import annotations

import pickle
from array import array
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.compiled import native
from deid.reading.alphabet import page
from deid.reading.dictionaries import Dictionary
from deid.reading.lexicon import load_lexicon
from deid.reading.phrases import PhraseMatcher
from deid.reading.view import View, _describe, view_of, words_of

needs_native = pytest.mark.skipif(native is None, reason="the compiled module is not there")

WORDS = st.sampled_from(["a", "b", "c", ".", "", "\u00e9", "\ud800"])
PHRASES = st.lists(st.lists(WORDS, min_size=1, max_size=4).map("~".join), max_size=5).map(tuple)
LISTS = st.lists(st.tuples(PHRASES, PHRASES), max_size=5)
TEXTS = st.lists(st.tuples(WORDS, st.booleans(), st.booleans()), max_size=40)


def matcher_of(lists: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> PhraseMatcher:
    made = [Dictionary(f"list {n}", items, exceptions) for n, (items, exceptions) in enumerate(lists)]
    return PhraseMatcher(made, lambda phrase: phrase.split("~"))


@needs_native
@given(LISTS, TEXTS, st.booleans(), st.booleans(), st.integers(0, 5))
def test_both_routes_agree(lists, text, passes, longest_first, marked):
    matcher, plain = matcher_of(lists), matcher_of(lists)
    plain._compiled = None
    words, joined = [word for word, _, _ in text], bytes(j for _, j, _ in text)
    passed = bytes(p for _, _, p in text) if passes else None
    # two lists say the same of the words around them
    marks = tuple(str(n // 2) for n in range(min(marked, len(lists))))

    def scan(matcher: PhraseMatcher, ids: Any = None) -> Any:
        options = {"passed": passed, "longest_first": longest_first, "marks": marks}
        found, before, at = matcher.scan(words, joined, ids=ids, **options)
        return found, list(before.items()), list(at.items())  # the order counts too

    expected = scan(plain)
    assert scan(matcher) == expected
    numbers = array("i", map(sorted(set(words)).index, words)).tobytes()
    for era in (1, 1, 2):  # met for the first time, known, and forgotten
        assert scan(matcher, (era, numbers)) == expected


@needs_native
def test_numbers_of_words_say_the_same_as_the_words_in_every_era():
    lexicon, texts = load_lexicon("en"), ["Mr. Smith of New York", "of York New Smith Mr.", "Boston, the 3rd"]
    for text in texts:
        view = view_of(text)
        assert view.ids is not None
        plain = replace(view, ids=None)
        assert lexicon.of(view) == lexicon.of(plain)
    viewers = [native.Viewer(page, _describe) for _ in range(2)]
    matcher = matcher_of([(("new~york",), ()), (("york",), ())])
    for viewer in viewers * 2:
        for text in texts:
            view = View(text, *viewer.view(text))
            assert matcher.scan(view.folded, view.joined(), ids=view.ids) == matcher.scan(view.folded, view.joined())
    assert len({viewer.view("new york")[-1][0] for viewer in viewers}) == 2


def test_a_matcher_can_be_sent_to_another_process():
    matcher = PhraseMatcher([Dictionary("places", ("new york",))], words_of)
    assert pickle.loads(pickle.dumps(matcher)).match(["New", "York"]) == [(0, 2, "places")]


def test_words_that_are_passed_over_part_no_phrase():
    matcher = matcher_of([(("med~rec~no", "no"), ())])
    words = ["med", ".", "rec", ".", ".", "no", ".", "no"]
    passed = bytes(w == "." for w in words)
    assert matcher.scan(words, b"\1" * 8, passed=passed)[0] == [(0, 6, 0), (7, 8, 0)]
    assert matcher.scan(words, b"\1" * 8)[0] == [(5, 6, 0), (7, 8, 0)]


def test_marks_stand_before_and_at_words():
    matcher = matcher_of([(("x",), ()), (("seen~by", "by"), ()), (("by",), ())])
    found, before, at = matcher.scan(["x", "seen", "by"], b"\1\1\1", marks=("one", "two"))
    assert found == [(0, 1, 0)]
    assert before == {"one": {3}, "two": {3}}
    assert at == {"one": {1}, "two": {2}}


@needs_native
def test_what_are_no_words_and_no_numbers_of_words_is_refused():
    phrases = native.Phrases(1)
    phrases.add(["a"], 0)
    with pytest.raises(TypeError, match="words are texts"):
        phrases.scan([7], None, b"\1", None, False, ())
    with pytest.raises(TypeError, match="words are texts"):
        phrases.add(["a", 7], 0)
    for end in (-1, 2):
        with pytest.raises(ValueError, match="of no list"):
            phrases.add(["a"], end)
    with pytest.raises(ValueError, match="number of lists"):
        native.Phrases(-1)
    for joined, marks in ((b"", ()), (b"\1", ("x", "y"))):
        with pytest.raises(ValueError, match="wanted"):
            phrases.scan(["a"], None, joined, None, False, marks)
    number = array("i", [0]).tobytes()
    for ids in ((0, number), (1, b""), (1, array("i", [-1]).tobytes()), (1, array("i", [1 << 30]).tobytes())):
        with pytest.raises(ValueError, match="one number a word"):
            phrases.scan(["a"], ids, b"\1", None, False, ())
        with pytest.raises(ValueError, match="one number a word"):
            native.Lookup({}).of(["a"], b"\2", ids)
    for ids in (7, (1,), ("a", "b")):
        with pytest.raises(TypeError):
            phrases.scan(["a"], ids, b"\1", None, False, ())
    with pytest.raises(KeyError):
        native.Lookup({}).of(["a"], b"\2", (1, number))
    with pytest.raises(ValueError, match="as many kinds"):
        native.Lookup({}).of(["a"], b"", None)
