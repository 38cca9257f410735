"""The compiled view of a text equals the Python one."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.compiled import native
from deid.reading import lexicon, view
from deid.reading.view import NUMBER, SIGN, TITLE, UPPER, view_of

NAMES = (
    "O'Brien",
    "Smith-Jones",
    "he'll",
    "they\u2019re",
    "l'l",
    "we've'x",
    "d'Ar\u0301co",
    "Cote d'Or",
    "d'or's",
    "JOHN",
    "McNeil",
    "x-",
    "-y",
)
SIGNS = (
    "12",
    "3.5",
    "\n",
    "\r\n",
    "\n\n",
    " ",
    "\t",
    "\u00a0",
    "\x1c",
    ".",
    "\uff0e",
    ":",
    "\u2122",
    "\u00bd",
    "\u24b6",
    "\u01c5",
    "\U0001f642",
    "\U0001d400",
)
LONG = "The patient, seen in clinic today, has been doing well since the last visit"
WORDS = st.sampled_from([*NAMES, *SIGNS, LONG])
TEXTS = st.lists(WORDS | st.text(max_size=6), max_size=30).map("".join)


@pytest.mark.skipif(native is None, reason="the compiled module is not there")
@settings(max_examples=300)
@given(TEXTS)
def test_both_routes_agree(text):
    compiled = view_of(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view, "_viewer", None)
        assert view_of(text) == compiled


@pytest.mark.skipif(native is None, reason="the compiled module is not there")
@settings(max_examples=100)
@given(TEXTS)
def test_both_routes_find_the_same_classes(text):
    words, seen = lexicon.load_lexicon("en"), view_of(text)
    compiled = words.of(seen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexicon, "native", None)
        assert words.of(seen) == compiled


def test_words_keep_their_inner_signs_and_know_their_lines():
    seen = view_of("JOHN O'BRIEN\nHe'll see Dr. Smith-Jones 12")
    assert seen.strings == ["JOHN", "O'BRIEN", "He", "'", "ll", "see", "Dr", ".", "Smith-Jones", "12"]
    assert list(seen.kinds[:4]) == [UPPER, UPPER, TITLE, SIGN]
    assert seen.kinds[-1] == NUMBER
    assert [s for s, short in zip(seen.strings, seen.abbreviating, strict=True) if short] == ["."]
    assert list(seen.breaks[:3]) == [2, 0, 1]
    assert list(map(bool, seen.uppercase_line)) == [True, True] + [False] * 8
    assert seen.folded[1] == "o'brien"


@pytest.mark.skipif(native is None, reason="the compiled module is not there")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\u03b1\u03b2\u03b3", ["\u03b1\u03b2\u03b3"]),
        ("\u0663\u0664", ["\u0663\u0664"]),
        ("\u03b1\u2026\u03b2", ["\u03b1", "\u2026", "\u03b2"]),
        ("\u03b1\u2019\u03b2\u03b3", ["\u03b1\u2019\u03b2\u03b3"]),
        ("\u03b1\u2019", ["\u03b1", "\u2019"]),
    ],
)
def test_a_text_without_a_latin_letter_is_read_to_its_end_and_no_further(text: str, words: list[str]) -> None:
    fresh = native.Viewer(view.page, view._describe)  # which knows no other alphabet yet
    assert fresh.view(text)[0] == words == view.words_of(text)


@pytest.mark.skipif(native is None, reason="the compiled module is not there")
def test_what_is_no_text_is_refused():
    fresh = native.Viewer(view.page, view._describe)
    for asked, text in ((fresh, b"ab"), (fresh, 1), (fresh, None), (native.Viewer.__new__(native.Viewer), "ab")):
        with pytest.raises(TypeError, match="a text is wanted"):
            asked.view(text)
    with pytest.raises(RuntimeError, match="made already"):
        fresh.__init__(view.page, view._describe)
    with pytest.raises(ZeroDivisionError):
        native.Viewer(view.page, lambda word: 1 / 0).view("ab")
    assert fresh.view("ab")[0] == ["ab"]


@pytest.mark.skipif(native is None, reason="the compiled module is not there")
def test_a_word_that_could_not_be_told_of_is_asked_for_again():
    numbers = iter([0])
    fresh = native.Viewer(view.page, lambda word: (view._describe(word), 1 / next(numbers, 1))[0])
    with pytest.raises(ZeroDivisionError):
        fresh.view("ab")
    assert fresh.view("ab")[3] == ["ab"]


@pytest.mark.skipif(native is None, reason="the compiled module is not there")
def test_words_are_remembered_from_text_to_text_until_they_are_too_many():
    fresh = native.Viewer(view.page, view._describe)

    def numbering(text: str) -> int:
        return fresh.view(text)[-1][0]

    words = ("".join(letters) for letters in itertools.product("abcdefghij", repeat=5))
    first = numbering(" ".join(itertools.islice(words, 60_000)))
    assert numbering("another") == first
    assert numbering("another aaaaa") == numbering("aaaaa") != first
    assert fresh.view("aaaaa another Another")[0] == ["aaaaa", "another", "Another"]


def test_nothing_is_seen_in_nothing():
    assert view_of("").strings == view_of(" \n").strings == []


@pytest.mark.parametrize("end", ["", ",", "-", *".:;!?"])
def test_a_line_goes_on_in_the_next_where_it_is_long_and_its_sentence_does_not_end(end: str) -> None:
    line = "the patient was seen in clinic and reports that the left knee pain" + end
    found = view_of(f"{line}\nImproved after rest")
    assert found.wrapped[found.strings.index("Improved")] == (end not in tuple(".:;!?"))
    assert not any(view_of(f"short line{end}\nImproved").wrapped)


@pytest.mark.parametrize(
    ("below", "goes_on"),
    [("S: well", False), ("S\u00a0: bien", False), ("Plan :x", False), ("S:1", True), ("S - well", True), ("S", True)],
)
def test_a_label_begins_a_line_of_its_own(below: str, goes_on: bool) -> None:
    found = view_of(f"the patient was seen in clinic this morning with Adaeze Okafor\n{below}")
    assert bool(found.wrapped[found.strings.index(below.split()[0].rstrip(":1"))]) == goes_on
