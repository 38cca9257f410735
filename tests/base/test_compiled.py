"""Objects that the compiled module makes are those that the class itself would make."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.compiled import native, quick
from deid.document import Document, Edit, Span


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Pair:
    left: object
    right: object = None
    note: object = dataclasses.field(default="", compare=False)


@quick
@dataclasses.dataclass(frozen=True, slots=True, order=True)
class QuickPair:
    left: object
    right: object = None
    note: object = dataclasses.field(default="", compare=False)


class Sub(Span):
    __slots__ = ()


def said(cls, values, named):
    """What an object is, or why there is none."""
    try:
        made = cls(*values, **named)
    except TypeError as error:
        return str(error).replace("QuickPair", "Pair")
    return dataclasses.astuple(made), hash(made), repr(made).replace("QuickPair", "Pair")


VALUES = st.lists(st.integers() | st.text(max_size=2), max_size=5)
NAMED = st.dictionaries(st.sampled_from(["left", "right", "note", "other"]), st.integers(), max_size=4)


@given(VALUES, NAMED)
def test_a_call_says_the_same(values, named):
    assert said(QuickPair, values, named) == said(Pair, values, named)


def test_a_span_is_an_ordinary_frozen_data_class():
    span = Span(3, 7, "DATE", source="rule:x", score=0.5)
    assert span == Span(3, 7, "DATE") == dataclasses.replace(span, score=None) != Span(3, 8, "DATE")
    assert hash(span) == hash(Span(3, 7, "DATE"))
    assert pickle.loads(pickle.dumps(span)).score == copy.copy(span).score == 0.5
    assert sorted([Span(4, 5, "A"), span]) == [span, Span(4, 5, "A")]
    assert (span.id, span.source, span.attributes) == ("", "rule:x", ())
    assert isinstance(Sub(1, 2, "X"), Sub)
    assert Edit(1, 2, 3, 4, "X") == Edit(start=1, end=2, new_start=3, new_end=4, category="X")
    with pytest.raises(dataclasses.FrozenInstanceError):
        span.start = 4  # type: ignore[misc]


@pytest.mark.skipif(native is None, reason="the compiled module is not there")
def test_a_class_that_cannot_be_made_so_is_refused():
    @dataclasses.dataclass
    class Open:
        left: int

    with pytest.raises(TypeError, match="slots"):
        quick(Open)
    with pytest.raises(TypeError, match="slots"):
        native.quicken(Pair, ("left", "nothing"), {})
    with pytest.raises(TypeError, match="slots"):
        native.quicken(Sub, ("start",), {})


def test_a_document_may_leave_out_what_a_factory_makes():
    note = Document("n", "text", index=3)
    assert (note.spans, note.metadata, note.index) == ((), {}, 3)
    assert note.metadata is not Document("n", "text").metadata
    other = note.with_text("other")
    assert (other.id, other.text, other.index, other.metadata) == ("n", "other", 3, note.metadata)
    marked = note.with_spans([Span(0, 4, "DATE")])
    assert marked.with_text(marked.text) is marked
    assert marked.with_text("other").spans == ()
