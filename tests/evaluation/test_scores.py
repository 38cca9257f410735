"""Span and token measures against hand-worked examples and independent implementations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.document import Document, Span
from deid.evaluation.cases import Case, prepare
from deid.evaluation.pairing import pair_documents
from deid.evaluation.scores import (
    Score,
    prf,
    score_overlap,
    score_span_only,
    score_strict,
    score_tokens,
    score_words,
    touched,
)
from deid.labeling.schemes import spans_to_labels
from deid.reading.tokenization import tokenize

hide = partial(tokenize, scheme="hide")
#       0         1         2         3
#       0123456789012345678901234567890123456789
TEXT = "Dr. Ann Lee saw Bob Ray on 3 May 2020."
GOLD = [(4, 11, "DOCTOR"), (16, 23, "PATIENT"), (27, 37, "DATE")]


def _counts(score: Score) -> tuple[int, int, int, int]:
    return score.found, score.gold, score.right, score.system


def test_score_of_counts() -> None:
    score = Score(found=3, gold=4, right=3, system=5)
    assert (score.precision, score.recall) == (0.6, 0.75)
    assert score.f1 == pytest.approx(2 * 0.6 * 0.75 / 1.35)
    assert Score(0, 0, 0, 0).f1 == 0.0


def test_prf_of_an_array_equals_the_scores_of_its_rows() -> None:
    rows = np.array([[3, 4, 3, 5], [0, 0, 0, 0], [0, 2, 0, 3], [2, 2, 3, 3]])
    for row, found in zip(rows, prf(rows), strict=True):
        score = Score(*row)
        assert tuple(found) == pytest.approx((score.precision, score.recall, score.f1))


def test_strict_wants_start_end_and_category(case_of) -> None:
    system = [(4, 11, "PATIENT"), (16, 23, "PATIENT"), (27, 36, "DATE"), (0, 2, "DOCTOR")]
    table = score_strict(case_of(TEXT, GOLD, system).cases, ("DATE", "DOCTOR", "PATIENT"))
    assert {label: _counts(score) for label, score in table.by_label().items()} == {
        "DATE": (0, 1, 0, 1),
        "DOCTOR": (0, 1, 0, 1),
        "PATIENT": (1, 1, 1, 2),
    }
    assert _counts(table.micro()) == (1, 3, 1, 4)
    assert _counts(table.micro({"PATIENT", "DATE"})) == (1, 2, 1, 3)


def test_span_only_forgives_the_category(case_of) -> None:
    system = [(4, 11, "PATIENT"), (4, 11, "DOCTOR"), (27, 36, "DATE")]
    assert _counts(score_span_only(case_of(TEXT, GOLD, system).cases).micro()) == (1, 3, 1, 2)


def test_overlap_counts_each_side_for_itself(case_of) -> None:
    """One gold span that two system spans share is found once, and both of them are right."""
    system = [(4, 7, "DOCTOR"), (8, 11, "PATIENT"), (12, 15, "DATE")]
    cases = case_of(TEXT, GOLD, system).cases
    assert _counts(score_overlap(cases).micro()) == (1, 3, 2, 3)
    table = score_overlap(cases, ("DATE", "DOCTOR", "PATIENT"))
    assert _counts(table.by_label()["DOCTOR"]) == (1, 1, 1, 1)
    assert _counts(table.by_label()["PATIENT"]) == (0, 1, 0, 1)


def test_touching_is_sharing_a_character() -> None:
    spans = [Span(2, 4, "A"), Span(3, 9, "A"), Span(5, 6, "A")]
    starts, ends = np.array([0, 0, 8, 9, 6]), np.array([2, 3, 9, 12, 7])
    assert touched(starts, ends, spans).tolist() == [False, True, True, False, True]


def test_words_are_phi_when_a_span_touches_them(case_of) -> None:
    """``Ann Lee`` found as ``An``: one word of two; ``2020`` is reached from its last digit."""
    cases = case_of(TEXT, GOLD, [(4, 6, "DOCTOR"), (36, 38, "DATE"), (12, 15, "AGE")]).cases
    assert _counts(score_words(cases).micro()) == (2, 7, 2, 3)


def test_begin_and_intermediate_labels_of_the_dissertation(case_of) -> None:
    """A date whose first token is missed: the second becomes Begin, so only the rest of it is right.

    ``3 May 2020`` is B I I I I with its two spaces, the system's ``May 2020`` is O O B I I.
    """
    cases = case_of(TEXT, GOLD, [(4, 11, "DOCTOR"), (29, 37, "DATE")]).cases
    token, merged, negatives = score_tokens(cases, ("DATE", "DOCTOR", "PATIENT"), hide)
    assert {label: _counts(score) for label, score in token.by_label().items()} == {
        "B-DATE": (0, 1, 0, 1),
        "I-DATE": (2, 4, 2, 2),
        "B-DOCTOR": (1, 1, 1, 1),
        "I-DOCTOR": (2, 2, 2, 2),
        "B-PATIENT": (0, 1, 0, 0),
        "I-PATIENT": (0, 2, 0, 0),
    }
    assert _counts(merged.by_label()["DATE"]) == (3, 5, 3, 3)
    # 12 tokens are not white space: Dr . Ann Lee saw Bob Ray on 3 May 2020 . ; wrong are Bob, Ray, 3 and May
    assert _counts(negatives.micro()) == (8, 12, 8, 12)
    assert negatives.micro().precision == negatives.micro().recall


def _documents(draw_text: str = "ab1 -\n") -> st.SearchStrategy[tuple[Document, Document]]:
    marks = st.lists(
        st.tuples(st.integers(0, 24), st.integers(1, 6), st.sampled_from(["AGE", "DATE", "PATIENT"])), max_size=5
    )

    def build(text: str, gold: list, system: list) -> tuple[Document, Document]:
        sides = []
        for side in (gold, system):
            spans = {(s, min(s + n, len(text)), c) for s, n, c in side if s < len(text)}
            sides.append(Document("x", text, tuple(Span(*mark) for mark in sorted(spans))))
        return sides[0], sides[1]

    return st.builds(build, st.text(draw_text, min_size=1, max_size=25), marks, marks)


def _case(pair: tuple[Document, Document]) -> tuple[Case, ...]:
    return prepare(pair_documents([pair[0]], [pair[1]]).pairs).cases


@given(_documents())
def test_overlap_equals_looking_at_every_pair(pair) -> None:
    (case,) = _case(pair)
    found = sum(any(g.overlaps(s) for s in case.system) for g in case.gold)
    right = sum(any(s.overlaps(g) for g in case.gold) for s in case.system)
    assert _counts(score_overlap([case]).micro()) == (found, len(case.gold), right, len(case.system))


@given(_documents())
def test_token_scores_equal_scikit_learn_on_the_labels(pair) -> None:
    """The labels are those that the tagger is trained on; scikit-learn scores them independently."""
    from sklearn.metrics import accuracy_score, multilabel_confusion_matrix

    (case,) = _case(pair)
    categories = ("AGE", "DATE", "PATIENT")
    for scheme in ("default", "hide"):
        tokens = tokenize(case.document.text, scheme)
        gold, system = (
            np.array(spans_to_labels(side, tokens.starts, tokens.ends)) for side in (case.gold, case.system)
        )
        token, merged, negatives = score_tokens([case], categories, partial(tokenize, scheme=scheme))
        for table, cut in ((token, 0), (merged, 2)):
            names = list(table.labels)
            sides = [[label[cut:] for label in side] for side in (gold, system)]
            for name, matrix in zip(names, multilabel_confusion_matrix(*sides, labels=[*names, "Z"])[:-1], strict=True):
                (_, fp), (fn, tp) = matrix
                assert _counts(table.by_label()[name]) == (tp, tp + fn, tp, tp + fp)
        solid = ~tokens.spaces
        if solid.any():
            assert negatives.micro().f1 == pytest.approx(accuracy_score(gold[solid], system[solid]))


def test_strict_equals_seqeval_where_spans_lie_on_token_borders(case_of) -> None:
    from seqeval.metrics import f1_score, precision_score, recall_score
    from seqeval.scheme import IOB2

    tokens = hide(TEXT)
    system = [(4, 11, "DOCTOR"), (16, 19, "PATIENT"), (20, 23, "PATIENT"), (27, 37, "AGE"), (12, 15, "DATE")]
    cases = case_of(TEXT, GOLD, system)
    labels = [
        [spans_to_labels([Span(*mark) for mark in marks], tokens.starts, tokens.ends)] for marks in (GOLD, system)
    ]
    score = score_strict(cases.cases, cases.categories).micro()
    options = {"mode": "strict", "scheme": IOB2}
    assert score.precision == pytest.approx(precision_score(*labels, **options))
    assert score.recall == pytest.approx(recall_score(*labels, **options))
    assert score.f1 == pytest.approx(f1_score(*labels, **options))


def test_overlapping_spans_give_one_label_to_each_token(case_of) -> None:
    cases = case_of(TEXT, [(4, 11, "DOCTOR"), (8, 11, "PATIENT")], [(4, 11, "DOCTOR")]).cases
    token, _, _ = score_tokens(cases, ("DOCTOR", "PATIENT"), hide)
    assert token.micro().f1 == 1.0
