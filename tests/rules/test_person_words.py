"""Names of persons: the compiled reader finds and weighs as the Python functions do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from scenes import NOTES, RULES, scene_in

from deid.base.compiled import native
from deid.reading.lexicon import CLASSES
from deid.reading.view import view_of
from deid.rules import names, person_words
from deid.rules.fields import PersonField, PersonLabel
from deid.rules.name_classes import READER
from deid.rules.names import find_names
from deid.rules.person_words import (
    clear,
    credential_follows,
    is_initial,
    name_word,
    read_last_first,
    read_run,
)
from deid.rules.scene import CUE_BITS, Scene

compiled_only = pytest.mark.skipif(native is None, reason="the compiled module is not there")


def found(text):
    scene = scene_in(text)
    labels = RULES.labels.find(view_of(text)).labels
    words = range(len(scene))
    yield [(s, s.source, s.score) for s in find_names(scene, labels)]
    yield [(clear(scene, i), is_initial(scene, i), credential_follows(scene, i)) for i in words]
    for relaxed in (False, True):
        yield [name_word(scene, i, relaxed) for i in words]
        yield [(read_run(scene, i, relaxed), read_last_first(scene, i, relaxed)) for i in words]
    # every candidate for which anything speaks
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names, "_LEAST", 1e-9)
        patch.setattr(names, "_LEAST_LOUD", 1e-9)
        yield [(s, s.source, s.score) for find in (names._free, names._initials) for s in find(scene)]
    yield names._values(scene, labels)


def both(text):
    compiled = list(found(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(person_words, "READER", None)
        patch.setattr(names, "READER", None)
        plain = list(found(text))
    return compiled, plain


@compiled_only
@settings(max_examples=500)
@given(NOTES)
def test_both_routes_find_the_same_names(text):
    compiled, plain = both(text)
    assert compiled == plain


@compiled_only
@pytest.mark.parametrize(
    "text",
    [
        "Mary \u201cMolly May\u201d Quimby (Ann) Rose 'Bo' J. B. C. D. O'Brien, Jr. reports",
        'Dean "Dee Dee" Dean "Lee Lee" Dean "Jo Jo" Dean "Al Al" Dean "Ed Ed" Quimby "Di Di" Quimby',
        "Quimby, J; Quimby, John A. B. C., MD and QUIMBY, ROSE, RN - Rose Smith (her aunt), Bo (wife)",
        "de la Rosa, van der Berg and D' Souza of St. Rose's Hospital; Bell's palsy, Weitlaner, Kelly, Balfour",
        "Sincerely,\n\nMary Quimby\nDear Rose,\nlives in Boston, MA\nnamed Lund-Browder is a 45 yo",
        "the patient mary quimby, a 45-year-old, seen with her son dean quimby and j. castlebury, md",
        "SEEN WITH MARY QUIMBY, MD AND ROSE PRICE\nPATIENT SMITH, JOHN A, MD",
        "Signed by JB, RN. J.B. reports; pt J.B.C. and A.B. -JB\nseen (2020) KQ\nRN: TK\nDr. MI / XY.",
        "Patient: Mary\nPatient: JB\nPatient: Dr. Rose\nPatient: 12\nPatient: Bo\nAttending\tQuimby\nMother\nRose",
        "",
    ],
)
def test_both_routes_read_what_is_rare_alike(text):
    compiled, plain = both(text)
    assert compiled == plain


@compiled_only
def test_the_reader_refuses_what_is_no_scene():
    scene, empty = scene_in("Mary Quimby"), Scene.__new__(Scene)
    assert READER.run(scene, 0) == (0, 2, [0, 1], [], False)
    assert READER.run(scene, 2) is READER.run(scene, -1) is READER.run(empty, 0) is None
    assert READER.free(empty, 0.0) == []
    for arguments in ((), (scene,), (1, 0), (scene, "x"), (scene, 0, 0, 0)):
        with pytest.raises(TypeError):
            READER.run(*arguments)
    assert READER.initials(empty, 0.0, 0.0) == []
    labels = [PersonLabel(PersonField("", "", (), strict), 0, end) for strict in (True, False) for end in (-5, 0, 2)]
    assert READER.values(empty, labels) == READER.values(scene, labels) == [-1] * 6
    for call in (lambda: READER.free(1, 0.0), lambda: READER.initials(1, 0.0, 0.0), lambda: READER.values(scene, 0)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(AttributeError):
        READER.values(scene, [1])
    with pytest.raises(KeyError):
        native.Persons(CLASSES, CUE_BITS, {}, "")


@compiled_only
def test_a_vocabulary_without_a_list_is_an_error(monkeypatch):
    scene = scene_in("seen with a b")
    monkeypatch.delitem(scene.vocabulary.words, "no_initial")
    with pytest.raises(KeyError):
        READER.is_initial(scene, 2)
    with pytest.raises(KeyError):
        READER.free(scene, 0.2)


def test_a_chain_of_initials_is_read_from_each_letter_no_further_than_initials_go(monkeypatch):
    """Thousands of letters with full stops take a step or four a letter, not one for each letter behind it."""
    looked = []
    monkeypatch.setattr(names, "READER", None)
    monkeypatch.setattr(names, "is_initial", lambda scene, i: looked.append(i) or is_initial(scene, i))
    scene = scene_in("A." * 1000)
    list(names._initials(scene))
    assert 1000 <= len(looked) <= 5000
