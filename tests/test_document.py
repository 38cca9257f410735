"""Documents, spans, edits."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import OffsetError
from deid.document import Document, Span, apply_edits, check_spans, resolve_overlaps


@st.composite
def spans_over(draw: st.DrawFn, length: int = 20) -> list[Span]:
    pairs = draw(st.lists(st.tuples(st.integers(0, length - 1), st.integers(1, 6), st.sampled_from("AB")), max_size=6))
    return [Span(start, min(start + size, length), category) for start, size, category in pairs]


@given(spans=spans_over())
def test_resolved_spans_are_disjoint_and_cover_the_same_characters(spans: list[Span]) -> None:
    merged = resolve_overlaps(spans)
    assert all(a.end <= b.start for a, b in itertools.pairwise(merged))
    assert {i for s in merged for i in range(s.start, s.end)} == {i for s in spans for i in range(s.start, s.end)}
    assert resolve_overlaps(reversed(spans)) == merged


def test_the_union_takes_the_category_of_its_longest_member() -> None:
    merged = resolve_overlaps([Span(0, 4, "B"), Span(2, 9, "A"), Span(8, 10, "B"), Span(10, 12, "C")])
    assert merged == (Span(0, 10, "A"), Span(10, 12, "C"))


@given(spans=spans_over(), new=st.lists(st.text(max_size=4), min_size=6, max_size=6))
def test_text_outside_the_edits_is_unchanged_and_offsets_lead_to_the_new_text(
    spans: list[Span], new: list[str]
) -> None:
    document = Document("d", "abcdefghijklmnopqrst", tuple(spans))
    chosen = list(zip(resolve_overlaps(spans), new, strict=False))
    edited, edits = apply_edits(document, chosen)
    read = written = 0
    for edit, (span, text) in zip(edits, chosen, strict=True):
        assert edited.text[written : edit.new_start] == document.text[read : edit.start]
        assert edited.text[edit.new_start : edit.new_end] == text
        assert (edit.start, edit.end, edit.category) == (span.start, span.end, span.category)
        read, written = edit.end, edit.new_end
    assert edited.text[written:] == document.text[read:]
    assert [edited.text[s.start : s.end] for s in edited.spans] == [text for _, text in chosen if text]


def test_of_spans_of_one_length_the_earlier_names_the_union_then_the_alphabet() -> None:
    """The order in which recognizers are asked tells nothing: the same note is always labelled the same."""
    chained = [Span(0, 4, "Z"), Span(2, 6, "A"), Span(5, 9, "B")]
    same = [Span(0, 4, "Z"), Span(0, 4, "A"), Span(0, 4, "M")]
    longer = [Span(0, 4, "A"), Span(1, 6, "Z"), Span(5, 10, "B")]
    for spans, expected in ((chained, Span(0, 9, "Z")), (same, Span(0, 4, "A")), (longer, Span(0, 10, "Z"))):
        for order in itertools.permutations(spans):
            assert resolve_overlaps(order) == (expected,)


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(OffsetError, match="overlap"):
        apply_edits(Document("d", "abcdef"), [(Span(0, 3, "A"), "x"), (Span(2, 4, "A"), "y")])


@pytest.mark.parametrize("span", [Span(-1, 2, "A"), Span(2, 2, "A"), Span(3, 2, "A"), Span(0, 7, "A")])
def test_spans_outside_the_text_are_refused(span: Span) -> None:
    with pytest.raises(OffsetError, match=r"does not lie in the text of 6 characters"):
        check_spans(6, [span], "note")


def test_a_message_about_a_span_tells_no_label_that_somebody_made_up() -> None:
    with pytest.raises(OffsetError) as refused:
        check_spans(6, [Span(0, 7, "SMITH_JOHN")], "note")
    assert "SMITH" not in str(refused.value)


def test_a_document_shows_counts_not_content() -> None:
    document = Document("Smith_John", "Mr. John Smith", (Span(4, 14, "PATIENT"),), {"mrn": "4711"}, index=3)
    for shown in (repr(document), str(document), document.name):
        assert not any(word in shown for word in ("Smith", "John", "4711"))
    assert "(#3)" in document.name
