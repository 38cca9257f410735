"""What diagrams are drawn from: confusion counted word by word, reliability counted span by span."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.document import Document, Span
from deid.evaluation import ScoringSettings, evaluate
from deid.evaluation.cases import Case
from deid.evaluation.diagrams import NONE, confusion, reliability

TEXT = "Ann Lee, MRN 12-34, seen by Dr. O'Hara on May_3 at St. Mary's."
CATEGORIES = ("A", "B", "C")
spans = st.lists(
    st.tuples(st.integers(0, len(TEXT) - 1), st.integers(1, 12), st.sampled_from(CATEGORIES)), max_size=6
).map(lambda told: tuple(sorted({Span(a, min(a + n, len(TEXT)), c) for a, n, c in told})))


def first_category(word: re.Match[str], side: tuple[Span, ...]) -> int:
    for i, category in ((CATEGORIES.index(s.category), s) for s in side):
        if category.start < word.end() and category.end > word.start():
            return i
    return len(CATEGORIES)


@settings(max_examples=80)
@given(spans, spans)
def test_every_word_is_counted_once_by_the_first_span_of_either_side(gold, system) -> None:
    counted = confusion([Case(Document("d", TEXT), gold, system, system)], CATEGORIES)
    expected = np.zeros((4, 4), dtype=int)
    for word in re.finditer(r"[^\W_]+", TEXT):
        expected[first_category(word, gold), first_category(word, system)] += 1
    assert (counted == expected).all()


def test_confusion_of_an_evaluation_adds_up_to_its_words() -> None:
    gold = [Document("d", TEXT, (Span(0, 7, "A"), Span(13, 18, "B")))]
    told = evaluate(
        gold, [gold[0].with_spans((Span(0, 3, "A"), Span(4, 7, "B")))], settings=ScoringSettings(resamples=0)
    )
    values = told.as_dict()["confusion"]
    assert values["labels"] == ["A", "B", NONE]
    assert values["words"][:2] == [[1, 1, 0], [0, 0, 2]]
    assert sum(map(sum, values["words"])) == len(re.findall(r"[^\W_]+", TEXT))
    assert told.as_dict()["reliability"] == []


def test_reliability_counts_spans_by_their_score_and_whether_they_are_exactly_right() -> None:
    gold = (Span(0, 7, "A"), Span(13, 18, "B"))
    system = (
        Span(0, 7, "A", score=0.95), Span(13, 18, "C", score=0.91), Span(20, 24, "A", score=0.1),
        Span(25, 27, "A", score=0.0), Span(28, 31, "A", score=1.0), Span(32, 33, "A"),
    )  # fmt: skip
    parts = reliability([Case(Document("d", TEXT), gold, system, system)])
    assert [(p.above, p.upto, p.spans) for p in parts] == [(0.0, 0.1, 2), (0.9, 1.0, 3)]
    assert [p.right for p in parts] == pytest.approx([0.0, 1 / 3])
    assert [p.score for p in parts] == pytest.approx([0.05, (0.95 + 0.91 + 1.0) / 3])
