"""What grammars ask of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from scenes import NOTES, scene_in

from deid.reading.lexicon import classes_of
from deid.reading.view import LOWER, MIXED, TITLE, UPPER
from deid.rules.word_classes import CUE_BITS, cues_of

PERSON = classes_of("given", "last")
LED = classes_of("title", "title_doctor", "relation", "credential", "city", "state")


@given(NOTES)
def test_questions_of_one_word_are_answered_as_the_lists_say(text):
    scene = scene_in(text)
    view = scene.view
    for i in range(-2, len(scene) + 2):
        inside = 0 <= i < len(scene)
        assert scene.word(i) == (view.folded[i] if inside else "")
        assert scene.has(i, PERSON) == (inside and bool(scene.classes[i] & PERSON))
        assert scene.says(i, "and") == (inside and view.folded[i] in scene.vocabulary.words["and"])
        assert scene.is_word(i) == (inside and view.kinds[i] in (LOWER, TITLE, UPPER, MIXED))
        small = scene.lowercase_text and inside and view.kinds[i] == LOWER
        assert scene.capital(i) == (inside and (view.kinds[i] in (TITLE, UPPER, MIXED) or small))
        for name in CUE_BITS:
            assert scene.cued(i, cues_of(name)) == (i in scene.cues_before[name])
        assert scene.cued_at_all(i) == any(i in places for places in scene.cues_before.values())
        if inside:
            assert scene.case_uninformative(i) == bool(scene.lowercase_text or view.uppercase_line[i])


@given(NOTES)
def test_words_of_a_kind_are_all_of_them_in_order(text):
    scene = scene_in(text)
    words = range(len(scene))
    begun = {i for i, held in scene.phrases.items() for _, bits in held if bits & LED}
    assert scene.of_class(LED) == [i for i in words if scene.has(i, LED)]
    assert scene.of_phrase(LED) == [i for i in words if scene.has(i, LED) or i in begun]
    assert scene.unlisted(LOWER) == [i for i in words if not scene.classes[i] and scene.kinds[i] == LOWER]
    assert scene.capitals == [i for i in words if scene.capital(i)]
    assert scene.written(frozenset(("john", ","))) == [i for i in words if scene.word(i) in ("john", ",")]


@given(NOTES)
def test_words_are_of_one_line_where_nothing_but_a_space_is_between(text):
    scene = scene_in(text)
    for i in range(-1, len(scene) + 1):
        if not 0 < i < len(scene):
            assert not scene.same_line(i)
            continue
        gap = scene.gap(i)
        if "\n" in gap:
            assert scene.same_line(i) == (scene.breaks[i] == 1 and bool(scene.wrapped[i]))
        else:
            assert scene.same_line(i) == (len(gap) < 2 and gap != "\t")


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("a Foley catheter was", ["foley", "catheter"]),
        ("Parkinson's disease progressed", ["parkinson", "'", "s", "disease"]),
        ("lives in New York with", []),
        ("fever", []),
    ],
)
def test_the_words_of_clinical_phrases_are_protected(text, inside):
    scene = scene_in(text)
    assert [scene.word(i) for i in range(len(scene)) if scene.protected[i]] == inside


def test_unknown_names_are_an_error():
    seen = scene_in("Dear Mary")
    for ask in (lambda: seen.says(0, "nothing"), lambda: classes_of("nothing"), lambda: cues_of("nothing")):
        with pytest.raises(KeyError):
            ask()


def test_a_text_is_lower_case_when_hardly_a_word_begins_with_a_capital():
    assert scene_in("seen with mary today, J B").lowercase_text
    assert not scene_in("Seen with Mary today").lowercase_text
    assert not scene_in("12 , 13").lowercase_text
    many = "seen in clinic " * 10  # of 31 words, one is more than 3 in a hundred
    assert not scene_in(f"{many}Mary").lowercase_text
    assert scene_in(f"{many}{many}Mary").lowercase_text


def test_the_span_of_words_has_a_rounded_certainty():
    scene = scene_in("Dear Mary Quimby,")
    span = scene.span(1, 3, "PATIENT", "name.full", 0.123456)
    assert (span.start, span.end, span.category, span.source, span.score) == (
        *(5, 16, "PATIENT", "rule:name.full", 0.1235),
    )


def test_a_possessive_is_an_apostrophe_and_an_s():
    scene = scene_in("Mary's wife, Mary\u2019s son; Mary' and s")
    assert [i for i in range(len(scene)) if scene.possessive(i)] == [1, 6]
