"""Agreement of annotators, against worked examples and other people's programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from deid.document import Document, Span
from deid.evaluation.agreement import agreement, cohen_kappa, disputes, krippendorff_alpha

# Krippendorff 2011, data of section D: four observers, twelve units, some values missing
OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3),
    (0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0),
)


def test_alpha_of_the_published_example_is_743() -> None:
    counts = np.array([[column.count(label) for label in range(1, 6)] for column in zip(*OBSERVERS, strict=True)])
    assert krippendorff_alpha(counts) == pytest.approx(0.743, abs=0.0005)


def test_alpha_by_hand_for_two_observers_without_gaps() -> None:
    """Ten units of Krippendorff 2011, section A: 0 1 0 0 0 0 0 0 1 0 and 1 1 1 0 0 1 0 0 0 0 agree to .095."""
    first, second = (0, 1, 0, 0, 0, 0, 0, 0, 1, 0), (1, 1, 1, 0, 0, 1, 0, 0, 0, 0)
    counts = np.array([[[a, b].count(label) for label in (0, 1)] for a, b in zip(first, second, strict=True)])
    assert krippendorff_alpha(counts) == pytest.approx(0.095, abs=0.0005)
    assert krippendorff_alpha(counts[:0]) is None
    assert krippendorff_alpha(np.array([[2, 0], [2, 0], [0, 1]])) is None  # the unit with one value does not count


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60))
def test_kappa_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    table = np.zeros((4, 4), dtype=np.int64)
    for a, b in pairs:
        table[a, b] += 1
    first, second = zip(*pairs, strict=True)
    kappa = cohen_kappa(table)
    if len({*first, *second}) == 1:
        assert kappa is None
    else:
        assert kappa == pytest.approx(cohen_kappa_score(first, second))


TEXT = "Ann Lee came on 2012 to Dr. Fox"


def _document(*spans: Span, id: str = "a") -> Document:
    return Document(id, TEXT, spans)


NAME, DATE, DOCTOR = Span(0, 7, "NAME"), Span(16, 20, "DATE"), Span(28, 31, "NAME")


def test_figures_of_two_annotators_by_hand() -> None:
    """Nine tokens (the point is one): one side marks Ann Lee, 2012 and Fox, the other Ann and 2012."""
    layers = {"eva": [_document(NAME, DATE, DOCTOR)], "paul": [_document(Span(0, 3, "NAME"), DATE)]}
    told = agreement(layers)
    (pair,) = told.pairs
    assert (pair.documents, pair.tokens, pair.spans) == (1, 9, (3, 2))
    assert pair.f1 == pytest.approx(2 * 1 / 5)
    assert pair.overlap == pytest.approx(4 / 5)
    assert pair.by_category["NAME"] == (0.0, 3)
    eva, paul = [1, 1, 0, 0, 2, 0, 0, 0, 1], [1, 0, 0, 0, 2, 0, 0, 0, 0]
    assert pair.kappa == pytest.approx(cohen_kappa_score(eva, paul))
    assert (told.documents, told.tokens) == (1, 9)
    # n = 18; 2 * 2 ordered pairs differ; labels: none 12, NAME 4, DATE 2
    assert told.alpha == pytest.approx(1 - 17 * 4 / (18**2 - 12**2 - 4**2 - 2**2))


def test_agreement_is_over_what_both_annotated() -> None:
    same = [_document(NAME, DATE, id=id) for id in "abc"]
    told = agreement({"eva": same[:2], "paul": same[1:], "ina": same[:1]})
    assert [(pair.annotators, pair.documents, pair.f1, pair.kappa) for pair in told.pairs] == [
        (("eva", "paul"), 1, 1.0, 1.0),
        (("eva", "ina"), 1, 1.0, 1.0),
    ]
    assert (told.documents, told.alpha) == (2, 1.0)
    assert agreement({"eva": same}).alpha is None


def test_disputes_stand_side_by_side() -> None:
    layers = {"eva": [_document(NAME, DATE, DOCTOR)], "paul": [_document(Span(0, 3, "NAME"), Span(4, 7, "NAME"), DATE)]}
    first, second = disputes(layers)
    assert (first.start, first.end) == (0, 7)
    assert first.spans == {"eva": (NAME,), "paul": (Span(0, 3, "NAME"), Span(4, 7, "NAME"))}
    assert second.spans == {"eva": (DOCTOR,), "paul": ()}
    assert TEXT not in repr(first)
    assert not disputes({"eva": layers["eva"]})
