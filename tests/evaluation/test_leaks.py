"""What would stay readable, against hand-worked examples and a count of single characters."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from deid.document import Document, Span
from deid.evaluation.cases import Case
from deid.evaluation.leaks import CategoryLeaks, find_leaks

TEXT = "Ann Lee, MRN 12-34, saw O'Neil."
#       0   4    9   13  16     24
GOLD = [(0, 7, "PATIENT"), (13, 18, "MEDICALRECORD"), (24, 30, "DOCTOR")]


def test_what_no_span_touches_is_left(case_of) -> None:
    """``Ann Lee`` is hidden by two spans of another category, ``12-34`` in half, ``O'Neil`` not at all."""
    cases = case_of(TEXT, GOLD, [(0, 3, "DOCTOR"), (4, 7, "HOSPITAL"), (13, 14, "DATE")])
    leaks = find_leaks(cases.cases, cases.categories)
    assert leaks.words.tolist() == [6]
    assert leaks.words_left.tolist() == [3]  # 34, O, Neil
    assert leaks.characters.tolist() == [15]
    assert leaks.characters_left.tolist() == [8]  # 2, 3, 4 and ONeil
    assert leaks.by_category == {
        "DOCTOR": CategoryLeaks(words=2, words_left=2, spans=1, hidden=0, untouched=1),
        "MEDICALRECORD": CategoryLeaks(words=2, words_left=1, spans=1, hidden=0, untouched=0),
        "PATIENT": CategoryLeaks(words=2, words_left=0, spans=1, hidden=1, untouched=0),
    }


def test_a_document_is_clean_when_every_word_is_touched(case_of) -> None:
    clean = case_of(TEXT, GOLD, [(0, 30, "OTHER")]).cases[0]
    empty = case_of("No names here", [], []).cases[0]
    leaky = case_of(TEXT, GOLD, []).cases[0]
    found = find_leaks([clean, empty, leaky], ("DOCTOR", "MEDICALRECORD", "PATIENT"))
    assert found.clean.tolist() == [True, True, False]
    numbers = found.as_dict()
    assert (numbers["documents_clean"], numbers["documents"]) == (2, 3)
    assert numbers["phi_words_left_per_document"] == 2.0
    # "MRN" and "saw" of the clean document; 3 of 19 words
    assert (numbers["false_alarms"], numbers["words"]) == (2, 19)
    assert numbers["false_alarms_per_1000_words"] == 1000 * 2 / 19
    assert (numbers["spans_hidden"], numbers["spans_untouched"]) == (3, 3)


def test_a_span_without_letters_is_hidden_only_when_touched(case_of) -> None:
    gold = [(2, 4, "IDNUM")]
    for system, hidden in (([], 0), ([(3, 4, "IDNUM")], 1)):
        cases = case_of("a -- b", gold, system)
        assert find_leaks(cases.cases, cases.categories).by_category["IDNUM"].hidden == hidden


_spans = st.lists(st.tuples(st.integers(0, 19), st.integers(1, 8)), max_size=5).map(
    lambda marks: tuple(sorted({Span(start, min(start + size, 20), "A") for start, size in marks}))
)


@given(st.text("ab1_ -é", min_size=20, max_size=20), _spans, _spans)
def test_leaks_equal_a_count_of_single_characters(text, gold, system) -> None:
    def inside(spans: tuple[Span, ...], offset: int) -> bool:
        return any(span.start <= offset < span.end for span in spans)

    leaks = find_leaks([Case(Document("x", text), gold, system, system)], ("A",))
    letters = [i for i, character in enumerate(text) if character.isalnum()]
    assert leaks.characters.tolist() == [sum(inside(gold, i) for i in letters)]
    assert leaks.characters_left.tolist() == [sum(inside(gold, i) and not inside(system, i) for i in letters)]
    words = [range(*match.span()) for match in re.finditer(r"[^\W_]+", text)]
    phi = [word for word in words if any(inside(gold, i) for i in word)]
    assert leaks.words.tolist() == [len(phi)]
    assert leaks.words_left.tolist() == [sum(not any(inside(system, i) for i in word) for word in phi)]
    if gold:
        bare = [[i for i in range(span.start, span.end) if i in letters] for span in gold]
        met = [any(inside(system, i) for i in range(span.start, span.end)) for span in gold]
        found = leaks.by_category["A"]
        assert found.hidden == sum(
            touched and all(inside(system, i) for i in offsets) for touched, offsets in zip(met, bare, strict=True)
        )
        assert found.untouched == met.count(False)
