"""What is found again: the compiled module tells the same as Python."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deid.base.compiled import native
from deid.detection import find_again
from deid.detection.numbers import plain_scene
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Span
from deid.reading.lexicon import load_lexicon
from deid.reading.view import view_of

needs_native = pytest.mark.skipif(native is None, reason="the compiled module is not there")

PIECES = st.sampled_from(["Ann", "ann", "Smith", "J", " ", "\n\n", ",", ".", "-", "12", "\u00e9\u0301", "O'Brien"])
PLACES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6)


@needs_native
@given(st.lists(PIECES, max_size=30), PLACES, PLACES)
def test_both_routes_tell_the_same(pieces, taken, places):
    text = "".join(pieces)
    marked = bytearray(len(text))
    for start, end in taken:
        stop = min(end, len(text))
        marked[start:stop] = b"\1" * max(0, stop - start)
    places = [(min(p), max(p)) for p in places]
    view = view_of(text)
    told = find_again._elsewhere(view, marked, places)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(find_again, "native", None)
        assert find_again._elsewhere(view, marked, places) == told


WORDS = st.sampled_from(["ann", "lee", ".", "j", "ann lee", "7"])


@given(
    st.lists(st.sampled_from(["ann ", "lee\n", "lee\n\n", ". ", "j ", "7"]), max_size=30),
    PLACES,
    st.lists(st.lists(WORDS, min_size=1, max_size=3), max_size=8),
)
def test_seeds_are_found_wherever_their_words_stand(pieces, taken, sequences):
    text = "".join(pieces)
    marked = bytearray(len(text))
    for start, end in taken:
        stop = min(end, len(text))
        marked[start:stop] = b"\1" * max(0, stop - start)
    seeds, wanted = find_again.Seeds(), []
    for sequence in map(tuple, sequences):
        seeds.add(sequence, Span(0, 1, "DOCTOR"))
        wanted += [] if sequence in wanted else [sequence]
    view = view_of(text)
    found = [(index, seed[1]) for index, seed in find_again._repeated(view, marked, seeds)]
    assert found == [
        (index, sequence)
        for index in range(len(view.folded))
        for sequence in wanted
        if tuple(view.folded[index : index + len(sequence)]) == sequence
        if all(lines < 2 for lines in view.breaks[index + 1 : index + len(sequence)])
        if not all(marked[view.starts[index] : view.ends[index + len(sequence) - 1]])
    ]


@needs_native
def test_words_and_places_that_make_no_sense_are_refused():
    taken = bytearray(4)
    for starts, ends in (([0], [5]), ([2], [1]), ([-1], [1])):
        with pytest.raises(ValueError, match="in order"):
            native.elsewhere(["a"], starts, ends, taken, [])
    with pytest.raises(ValueError, match="in order"):
        native.elsewhere(["a", "b"], [2, 0], [3, 1], taken, [])
    for starts, ends in (([], [1]), ([0], []), ((0,), [1]), ([0], ["1"])):
        with pytest.raises((ValueError, TypeError)):
            native.elsewhere(["a"], starts, ends, taken, [])
    with pytest.raises(TypeError, match="texts"):
        native.elsewhere([1], [0], [1], taken, [])
    for place in (7, ("a", "b"), (1,)):
        with pytest.raises(TypeError):
            native.elsewhere(["a"], [0], [1], taken, [place])


def test_single_long_words_of_names_alone_are_looked_for_by_sound():
    seeds = find_again.Seeds()
    for words, category in (
        (("quillandra",), "PATIENT"), (("vosk",), "PATIENT"), (("vosks",), "DOCTOR"), (("springfield",), "CITY"),
        (("quilla7",), "PATIENT"), (("rosalind", "quimby"), "PATIENT"),
    ):  # fmt: skip
        seeds.add(words, Span(0, 9, category))
    assert {word for held in seeds.sounding().values() for word, _ in held} == {"quillandra", "vosks"}


@pytest.mark.parametrize(("length", "kind"), [(8, "clear"), (9, "acronym"), (30, "acronym")])
def test_a_word_in_capitals_less_than_half_as_long_as_an_institution_is_its_acronym(length, kind):
    scene = plain_scene("She was seen at UQMC today by the doctor.", load_lexicon("en"))
    assert find_again._weigh(scene, 4, 5, Span(0, length, "HOSPITAL")) == find_again._W[kind]
    assert find_again._weigh(scene, 3, 4, Span(0, length, "HOSPITAL")) == 0.0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mr. Smith came. Smith's wife called.", True),
        ("Mr. Smith came. Smith's fracture of the wrist.", False),
        ("Mr. Smith came. Smith called.", True),
        ("Mr. Parkinson came. Parkinson's daughter called.", True),
        ("Mr. Parkinson came. Parkinson's disease.", False),
        ("Dr. Baker came. Baker\u2019s mother waits.", True),
        ("Dr. Baker came. Baker's cyst.", False),
        ("Dr. Foley came. Foley in place.", False),
    ],
)
def test_a_name_that_is_an_eponym_is_found_again_where_it_is_a_persons(text: str, found: bool) -> None:
    again = text.rindex(text.split()[1])
    spans = build_recognizer(RecognizerOptions(model="none")).find(Document("1", text))
    assert (again in {span.start for span in spans}) == found


@pytest.mark.parametrize(("number", "times"), [("4711", 2), ("471", 1), ("47112", 2)])
def test_a_number_of_four_digits_is_found_again_without_its_label(number: str, times: int) -> None:
    """Fewer are too often something else."""
    text = f"MRN: {number}\nThe sample {number} was drawn.\n"
    rules = build_recognizer(RecognizerOptions(model="none"))
    found = [span for span in rules.find(Document("n", text)) if text[span.start : span.end] == number]
    assert len({span.start for span in found}) == times


@given(st.text("abé-. \u00a01_'!\n\u00b2\u2019?", max_size=30))
@example("that's L-I-N-D")
@example("it\u2019s S-I-L-V-E-\u00b2\u2019 and a-b-c?")
@example("L. I. N\u00a0")
@example("it is L I N D")
@example("a-b-c")
@example("it is a. b. c. d")
@example("x'a b c")
@example("a b_c d e")
def test_what_is_spelt_letter_by_letter_is_never_passed_over(text: str) -> None:
    spelt = [found.span() for found in find_again._SPELT_OUT.finditer(text)]
    view = view_of(text)
    assert [found.span() for found in find_again._spelt(text, view.starts, view.ends)] == spelt
