"""Spans to labels and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from deid.base.errors import ConfigError
from deid.document import Span
from deid.labeling.schemes import labels_to_spans, misaligned, spans_to_labels
from deid.reading.tokenization import tokenize

LABELS = ["O", "B-A", "I-A", "B-B", "I-B"]


@st.composite
def aligned(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, list[Span]]:
    """Tokens of one to three characters with gaps, and spans on their borders."""
    n = draw(st.integers(1, 12))
    starts = np.cumsum([draw(st.integers(3, 5)) for _ in range(n)])
    ends = starts + np.array([draw(st.integers(1, 3)) for _ in range(n)])
    spans: list[Span] = []
    i = 0
    while i < n:
        if draw(st.booleans()):
            j = draw(st.integers(i, n - 1))
            spans.append(Span(int(starts[i]), int(ends[j]), draw(st.sampled_from("AB"))))
            i = j
        i += 1
    return starts, ends, spans


@pytest.mark.parametrize("scheme", ["BIO", "BIOES"])
@given(case=aligned())
def test_spans_on_borders_come_back(scheme: str, case: tuple[np.ndarray, np.ndarray, list[Span]]) -> None:
    starts, ends, spans = case
    assert labels_to_spans(spans_to_labels(spans, starts, ends, scheme), starts, ends) == spans


@given(labels=st.lists(st.sampled_from(LABELS), max_size=12))
def test_any_label_sequence_decodes_as_seqeval_reads_it(labels: list[str]) -> None:
    starts = np.arange(len(labels)) * 2
    found = labels_to_spans(labels, starts, starts + 1)
    assert [(s.category, s.start // 2, s.end // 2) for s in found] == get_entities(labels)


def test_bioes_marks_ends_and_single_tokens() -> None:
    tokens = tokenize("Ana B Cruz saw Li")
    words = ~tokens.spaces
    spans = [Span(0, 10, "A"), Span(15, 17, "B")]
    labels = spans_to_labels(spans, tokens.starts[words], tokens.ends[words], "BIOES")
    assert labels == ["B-A", "I-A", "E-A", "O", "S-B"]


def test_a_cut_token_is_labelled_whole_and_reported() -> None:
    tokens = tokenize("una nieta")
    words = ~tokens.spaces
    cut = Span(0, 8, "A")
    assert spans_to_labels([cut], tokens.starts[words], tokens.ends[words]) == ["B-A", "I-A"]
    assert misaligned([cut, Span(0, 3, "A")], tokens.starts, tokens.ends) == [cut]


def test_overlapping_spans_are_merged_before_labelling() -> None:
    starts = np.array([0, 2, 4])
    assert spans_to_labels([Span(0, 3, "A"), Span(2, 5, "B")], starts, starts + 1) == ["B-A", "I-A", "I-A"]


def test_unknown_scheme_is_refused() -> None:
    with pytest.raises(ConfigError, match="known: BIO, BIOES"):
        spans_to_labels([], np.array([]), np.array([]), "BILOU")
