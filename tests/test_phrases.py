"""The compiled search for phrases finds what the Python one finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid import dictionaries
from deid.compiled import native
from deid.detection import fields
from deid.detection.view import view_of
from deid.dictionaries import Dictionary, PhraseMatcher

needs_native = pytest.mark.skipif(native is None, reason="the compiled module is not there")

WORDS = st.sampled_from(["a", "b", "c", ".", "", "\u00e9", "\ud800"])
PHRASES = st.lists(st.lists(WORDS, min_size=1, max_size=4).map("~".join), max_size=5).map(tuple)
LISTS = st.lists(st.tuples(PHRASES, PHRASES), max_size=5)
TEXTS = st.lists(st.tuples(WORDS, st.booleans(), st.booleans()), max_size=40)


def matcher_of(lists: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> PhraseMatcher:
    made = [Dictionary(f"list {n}", items, exceptions) for n, (items, exceptions) in enumerate(lists)]
    return PhraseMatcher(made, lambda phrase: phrase.split("~"))


def plainly(call: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dictionaries, "native", None)
        patch.setattr(fields, "native", None)
        return call()


@needs_native
@given(LISTS, TEXTS, st.booleans(), st.booleans(), st.integers(0, 5))
def test_both_routes_agree(lists, text, passes, longest_first, marked):
    matcher = matcher_of(lists)
    words, joined = [word for word, _, _ in text], bytes(j for _, j, _ in text)
    passed = bytes(p for _, _, p in text) if passes else None
    # two lists say the same of the words around them
    marks = tuple(str(n // 2) for n in range(min(marked, len(lists))))

    def scan() -> Any:
        return matcher.scan(words, joined, passed=passed, longest_first=longest_first, marks=marks)

    assert scan() == plainly(scan)


@needs_native
@given(st.lists(st.sampled_from(["Med.", " ", "Rec", ".", "\uff0e", "Number.", "\n", "e\u0301."]), max_size=20))
def test_both_routes_pass_over_the_same_full_stops(pieces):
    view = view_of("".join(pieces))
    assert fields._abbreviating(view) == plainly(lambda: fields._abbreviating(view))


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
def test_what_is_no_trie_and_what_are_no_words_is_refused():
    with pytest.raises(TypeError, match="no trie"):
        native.phrases({"a": 7}, 1, ["a"], b"\1", None, False, ())
    with pytest.raises(TypeError, match="words are texts"):
        native.phrases({}, 1, [7], b"\1", None, False, ())
    with pytest.raises(TypeError, match="marks are texts"):
        native.phrases({}, 1, ["a"], b"\1", None, False, (7,))
    for heads, lists, words, joined, marks in (
        ({"a": (2,)}, 1, ["a"], b"\1", ()),
        ({"a": (-1,)}, 1, ["a"], b"\1", ()),
        ({}, 1, ["a"], b"", ()),
        ({}, 0, ["a"], b"\1", ("one",)),
        ({}, -1, ["a"], b"\1", ()),
    ):
        with pytest.raises(ValueError, match=r"wanted|of no list"):
            native.phrases(heads, lists, words, joined, None, False, marks)
    with pytest.raises(ValueError, match="one length"):
        native.abbreviating(["."], [], [0], 5)
