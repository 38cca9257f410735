"""Each mistake is listed once, with its kind and its context."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from deid.document import Document, Span
from deid.evaluation.cases import Case, keys
from deid.evaluation.mistakes import context, find_mistakes

TEXT = "Dr. Ann Lee saw Bob Ray on 3 May 2020 in Rome, aged 50."
GOLD = [(4, 11, "DOCTOR"), (16, 23, "PATIENT"), (27, 37, "DATE"), (41, 45, "CITY"), (52, 54, "AGE")]
SYSTEM = [(4, 11, "DOCTOR"), (16, 19, "PATIENT"), (27, 37, "AGE"), (40, 46, "HOSPITAL"), (0, 2, "DOCTOR")]


def test_each_kind_of_mistake_is_told(case_of) -> None:
    found = find_mistakes(case_of(TEXT, GOLD, SYSTEM).cases)
    assert [(m.kind, m.category, m.start, m.end) for m in found] == [
        ("spurious", "DOCTOR", 0, 2),
        ("boundary", "PATIENT", 16, 23),
        ("category", "DATE", 27, 37),
        ("boundary and category", "CITY", 40, 46),
        ("missed", "AGE", 52, 54),
    ]


def test_a_gold_span_that_was_split_is_two_mistakes(case_of) -> None:
    """The larger part is its partner, the other part is wrong by itself."""
    found = find_mistakes(case_of(TEXT, [GOLD[2]], [(27, 28, "DATE"), (29, 37, "DATE")]).cases)
    assert [(m.kind, m.system.start) for m in found if m.system] == [("boundary", 27), ("boundary", 29)]
    assert all(m.gold == Span(27, 37, "DATE") for m in found)


def test_context_marks_what_each_side_said(case_of) -> None:
    (mistake,) = find_mistakes(case_of(TEXT, [(4, 11, "DOCTOR")], [(8, 15, "DOCTOR")]).cases)
    pieces = context(mistake, width=5)
    assert [(piece.text, piece.gold, piece.system) for piece in pieces] == [
        ("Dr. ", False, False),
        ("Ann ", True, False),
        ("Lee", True, True),
        (" saw", False, True),
        (" Bob ", False, False),
    ]


def test_context_stops_at_the_ends_of_the_text(case_of) -> None:
    (mistake,) = find_mistakes(case_of("Bob", [(0, 3, "PATIENT")], []).cases)
    assert [piece.text for piece in context(mistake)] == ["Bob"]


_marks = st.lists(st.tuples(st.integers(0, 19), st.integers(1, 8), st.sampled_from("AB")), max_size=6).map(
    lambda marks: tuple(sorted({Span(start, min(start + size, 20), name) for start, size, name in marks}))
)


@given(_marks, _marks)
def test_every_wrong_span_of_either_side_is_in_a_mistake(gold, system) -> None:
    """Each gold span that is not exact is told once; each wrong system span at least once; nothing right is told."""
    case = Case(Document("x", "x" * 20), gold, system, system)
    exact = keys(gold) & keys(system)
    found = find_mistakes([case])
    wrong_gold = [span for span in gold if (span.start, span.end, span.category) not in exact]
    wrong_system = [span for span in system if (span.start, span.end, span.category) not in exact]
    told = Counter(m.gold for m in found if m.gold in wrong_gold)
    assert set(told) == set(wrong_gold)
    assert {m.system for m in found} >= set(wrong_system)
    assert all(m.gold in wrong_gold or m.system in wrong_system for m in found)
    missed = sum(not any(g.overlaps(s) for s in system) for g in gold)
    spurious = sum(not any(s.overlaps(g) for g in gold) for s in system)
    kinds = Counter(m.kind for m in found)
    assert (kinds["missed"], kinds["spurious"]) == (missed, spurious)
