"""What every recognizer keeps: spans of the text, sorted, of its categories; the same again, and in a process."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import pytest
from fakes import WordRecognizer
from hypothesis import given, settings
from strategies import HOSTILE, MARKUP, PLAIN, documents

from deid import build_recognizer, load_model
from deid.detection import Ensemble, Recognizer, RuleRecognizer
from deid.detection.known import Known, KnownRecognizer
from deid.detection.options import RecognizerOptions
from deid.document import Document, Span

NOTES = [
    Document("a", "Seen by Dr. Alice Baker on 3 May 2019. MRN: 4711203, age 93, Springfield, IL 62704."),
    Document("b", "Patient: BAKER, ROSE\r\nDOB 03/04/1960; call (217) 555-0142.\r\n"),
    Document("c", ""),
]
PERSON = (Known("PATIENT", "Rose Baker"), Known("DATE", "1960-03-04"), Known("MEDICALRECORD", "4711203"))
MADE: dict[str, Callable[[], Recognizer]] = {
    "rules": RuleRecognizer.load,
    "known": lambda: KnownRecognizer({"a": PERSON, "b": PERSON}, id_of=_id_of),
    "model": load_model,
    "model and rules": build_recognizer,
    "rules alone": lambda: build_recognizer(RecognizerOptions(model="none")),
    "ensemble": lambda: Ensemble((RuleRecognizer.load(), WordRecognizer())),
}


def _id_of(document: Document) -> str:
    return document.id


made = cache(lambda name: MADE[name]())


def _found(name: str) -> list[list[Span]]:
    return [made(name).find(note) for note in NOTES]


def check(recognizer: Recognizer, document: Document) -> None:
    spans = recognizer.find(document)
    assert all(0 <= s.start < s.end <= len(document.text) and s.source for s in spans)
    assert {s.category for s in spans} <= recognizer.categories
    assert all(one.start <= other.start for one, other in pairwise(spans))
    assert recognizer.find(document) == spans


@pytest.mark.parametrize("name", MADE)
@settings(max_examples=10)
@given(document=documents(PLAIN, MARKUP, HOSTILE))
def test_spans_lie_in_the_text_sorted_and_come_again(name: str, document: Document) -> None:
    check(made(name), document)
    for note in NOTES:
        check(made(name), note)


@pytest.mark.parametrize("name", MADE)
def test_annotations_of_a_document_are_not_looked_at(name: str) -> None:
    for note in NOTES:
        found = made(name).find(note)
        assert made(name).find(Document(note.id, note.text, tuple(found[:1]))) == found


@pytest.mark.parametrize("name", MADE)
def test_threads_and_processes_find_the_same(name: str) -> None:
    expected = _found(name)
    assert any(expected)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(made(name).find, NOTES * 4)) == expected * 4
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_found, (name,)) == expected
