"""Small notes, and copies of them with every kind of mistake, for the tests of this room."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from deid.document import Document, Span
from deid.evaluation.cases import Cases, prepare
from deid.evaluation.pairing import pair_documents

Mark = tuple[int, int, str]


@pytest.fixture(scope="session")
def note() -> Callable[..., Document]:
    """Make a document from its id, its text and (start, end, category) triples."""

    def make(name: str, text: str, *marks: Mark) -> Document:
        return Document(name, text, tuple(Span(*mark) for mark in marks))

    return make


@pytest.fixture(scope="session")
def case_of() -> Callable[..., Cases]:
    """Make the cases of one text from the marks of both sides."""

    def make(text: str, gold: Sequence[Mark], system: Sequence[Mark]) -> Cases:
        sides = [[Document("x", text, tuple(Span(*mark) for mark in marks))] for marks in (gold, system)]
        return prepare(pair_documents(*sides).pairs)

    return make


@pytest.fixture(scope="session")
def spoil() -> Callable[..., list[Document]]:
    """Copy documents with spans lost, cut, grown, split, renamed and invented, the same for the same seed."""

    def make(documents: Sequence[Document], seed: int = 0, rate: float = 0.25) -> list[Document]:
        draw = random.Random(seed)
        return [_spoilt(document, draw, rate) for document in documents]

    return make


def _spoilt(document: Document, draw: random.Random, rate: float) -> Document:
    categories = sorted({span.category for span in document.spans}) or ["DATE"]
    spans: list[Span] = []
    for span in document.spans:
        fate = draw.random() / rate
        if fate < 0.25:
            continue
        if fate < 0.45:
            end = min(len(document.text), max(span.start + 1, span.end + draw.choice([-3, -2, -1, 1, 2, 3])))
            spans.append(replace(span, end=end))
        elif fate < 0.6:
            spans.append(replace(span, category=draw.choice(categories)))
        elif fate < 0.75 and len(span) > 4:
            middle = (span.start + span.end) // 2
            spans += [replace(span, end=middle), replace(span, start=middle)]
        elif fate < 0.9:
            spans.append(replace(span, start=max(0, span.start - draw.randint(1, 3))))
        else:
            spans.append(span)
    for _ in range(draw.randint(0, 3)):
        if len(document.text) > 20:
            start = draw.randrange(len(document.text) - 12)
            spans.append(Span(start, start + draw.randint(2, 10), draw.choice(categories)))
    unique = {(span.start, span.end, span.category): span for span in spans}
    return document.with_spans(unique[key] for key in sorted(unique))
