"""What a text holds: many originals at once are answered as one after the other."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.compiled import native
from deid.replacement import containment
from deid.replacement.containment import finder, held, holds, is_whole

PIECES = (
    "ann",
    "smith",
    "annsmith",
    "3",
    "2012",
    " ",
    " ",
    "-",
    ",",
    "_",
    "'",
    "é",
    "ß",
    "\n",
    "¼",
    "\u0173",
    "\U0001f600",
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=8)
STRINGS = st.lists(TEXTS.filter(bool), max_size=20, unique=True)


@settings(max_examples=300)
@given(TEXTS, STRINGS)
def test_many_originals_are_found_as_single_ones(text, strings):
    folded = text.casefold()
    wanted = {original.strip().casefold() for original in strings} - {""}
    assert held(folded, wanted) == {original for original in wanted if holds(folded, original)}


@settings(max_examples=200)
@given(TEXTS, STRINGS, st.integers(1, 9))
def test_a_text_folded_piece_by_piece_holds_what_it_holds_as_a_whole(text, strings, piece):
    wanted = {original.strip().casefold() for original in strings}
    wanted = {original for original in wanted if any(map(str.isalnum, original))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(containment, "_PIECE", piece)
        assert held(text, wanted) == {original for original in wanted if holds(text, original)}


@settings(max_examples=300)
@given(TEXTS, STRINGS)
def test_places(text, strings):
    expected = [(s, at) for at in range(len(text)) for s in strings if text[at : at + len(s)] == s]
    assert finder(strings).places(text) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(containment, "native", None)
        assert finder(strings).places(text) == expected


@given(TEXTS, st.sampled_from(PIECES))
def test_a_whole_word(text, word):
    places = [at for at in range(len(text)) if text.startswith(word, at) and is_whole(text, at, word)]
    assert places == [m.start() for m in re.finditer(rf"(?=(?<!\w){re.escape(word)}(?!\w))", text)]


@pytest.mark.skipif(native is None, reason="the compiled module is not there")
def test_a_finder_refuses_what_is_no_string():
    for strings in (["a", ""], ["a", 1], 5):
        with pytest.raises(TypeError):
            native.Finder(strings)
    with pytest.raises(TypeError, match="text"):
        native.Finder(["a"]).places(b"a")
    assert native.Finder(()).places("a") == []


@pytest.mark.parametrize("compiled", [native, None])
def test_where_strings_stand(compiled, monkeypatch):
    monkeypatch.setattr(containment, "native", compiled)
    assert finder(["ab", "b", "c"]).places("abcab") == [("ab", 0), ("b", 1), ("c", 2), ("ab", 3), ("b", 4)]
    assert finder(["x"]).places("abc") == finder([]).places("abc") == []


@pytest.mark.parametrize("piece", [1, 2, 3, 4, 5, 6, 7, 30])
def test_a_word_at_the_edge_of_a_piece_is_alone_only_if_it_is(piece, monkeypatch):
    monkeypatch.setattr(containment, "_PIECE", piece)
    words = ["smith", "field", "smithfield", "h", "jones"]
    assert held("Smithfield", words) == {"smithfield"}
    assert held("Dr Smith of field-h", words) == {"smith", "field", "h"}
    assert held("Jonesmith Jones", words) == {"jones"}


@pytest.mark.parametrize(
    ("text", "original", "told"),
    [("--", "--", True), (" -- ", "--", True), ("a --", "--", False), ("--", " ", False), ("Ann's", "ANN", True)],
)
def test_signs_are_held_where_they_are_all(text, original, told):
    assert holds(text, original) is told
