"""What grammars ask of a text: the compiled scene answers as the plain one does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from scenes import NOTES, scene_in

from deid.base.compiled import native
from deid.reading.lexicon import CLASSES, classes_of
from deid.reading.view import LOWER
from deid.rules import scene as module
from deid.rules.scene import PlainScene

compiled_only = pytest.mark.skipif(native is None, reason="the compiled module is not there")
PERSON = classes_of("given", "last")
CUES = ("naming", "closing", "lives")


def questions(scene):
    words = range(-2, len(scene) + 2)
    yield len(scene), scene.quiet, scene.classes, scene.phrases, scene.protected, scene.capitals()
    for ask in (scene.word, scene.is_word, scene.capital, scene.same_line):
        yield [ask(i) for i in words]
    yield [scene.blind(i) for i in range(len(scene))]
    yield [(scene.has(i, "given", "title"), scene.has_any(i, PERSON), scene.says(i, "and")) for i in words]
    yield [scene.cued(i, *CUES) for i in words]
    yield scene.of_class(PERSON), scene.of_phrase(PERSON), scene.unlisted(LOWER)
    yield scene.written((",",)), scene.written(frozenset(("john", "."))), scene.written({"mary": 1})
    yield scene.written((",",), True), scene.written(frozenset(("john", "mary", ".")), True)


@compiled_only
@settings(max_examples=300)
@given(NOTES)
def test_both_routes_answer_alike(text):
    seen = scene_in(text)
    plain = PlainScene(
        *(seen.view, seen.classes, seen.phrases, seen.cues_before, seen.cues_at, seen.quiet),
        *(seen.vocabulary, seen.letters, CLASSES, module.CUE_BITS, module._CLINICAL_PHRASE),
    )
    assert list(questions(seen)) == list(questions(plain))


@compiled_only
@pytest.mark.parametrize(
    "change",
    [
        {1: []},
        {2: {0: [(9, 1)]}},
        {2: {-1: [(1, 1)]}},
        {2: {2: [(2, 1)]}},
        {2: {0: [(1,)]}},
        {2: {0: 1}},
        {3: {"naming": {4}}},
        {4: {"naming": {-1}}},
        {4: {"naming": {"x"}}},
        {3: {"naming": 1}},
        {3: {"nothing": {0}}},
        {1: [1, "x", 1]},
        {0: None},
    ],
)
def test_what_does_not_fit_together_is_refused(change):
    seen = scene_in("Dear Mary ,")
    given = [seen.view, [0, 1, 0], {}, {}, {}, False, seen.vocabulary, seen.letters, CLASSES, module.CUE_BITS, 1]
    assert len(native.Scene(*given)) == 3
    for place, value in change.items():
        given[place] = value
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        native.Scene(*given)


@compiled_only
def test_a_scene_that_was_never_made_answers_without_harm():
    empty = native.Scene.__new__(native.Scene)
    assert (len(empty), empty.word(0), empty.capitals(), empty.written((",",))) == (0, "", [], [])
    assert not any((empty.cued(0), empty.has_any(0, 1), empty.same_line(0), empty.capital(0)))
    assert empty.of_phrase(1) == empty.unlisted(0) == []
    for ask in (
        lambda: empty.says(0, "and"),
        lambda: empty.cued(0, "naming"),
        lambda: empty.has(0, "given"),
        lambda: empty.blind(0),
    ):
        with pytest.raises((KeyError, IndexError)):
            ask()


def test_unknown_names_are_an_error():
    seen = scene_in("Dear Mary")
    with pytest.raises(KeyError):
        seen.says(0, "nothing")
    with pytest.raises(KeyError):
        seen.has(0, "nothing")
    with pytest.raises(KeyError):
        seen.cued(0, "nothing")


def test_a_text_is_quiet_when_hardly_a_word_begins_with_a_capital():
    assert scene_in("seen with mary today, J B").quiet
    assert not scene_in("Seen with Mary today").quiet
    assert not scene_in("12 , 13").quiet
