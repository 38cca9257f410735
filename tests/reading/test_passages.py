"""Where a second reading differs in few lines, only what lies around them is read again."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from deid.detection import Ensemble, RuleRecognizer
from deid.document import Document, Span
from deid.reading.passages import Passage, passages

RULES = RuleRecognizer.load("en")
PLAIN = "The patient is well today and walks without help.\n"


def whole(text: str, other: str) -> list[Passage]:
    return [Passage(0, len(text), ((0, len(text)),))]


def test_lines_around_a_misread_number_are_read_again() -> None:
    text = 40 * PLAIN + "Date of birth:\nO3/l4/2Ol9\n" + 40 * PLAIN + "seen 04/12/2Ol9\n" + 40 * PLAIN
    other = text.replace("O3/l4/2Ol9", "03/14/2019").replace("04/12/2Ol9", "04/12/2019")
    first, second = passages(text, other)
    assert other[first.start : first.end] == 7 * PLAIN + "Date of birth:\n03/14/2019\n" + 8 * PLAIN
    assert other[second.start : second.end] == 8 * PLAIN + "seen 04/12/2019\n" + 8 * PLAIN
    at = text.index("O3")
    assert first.back(Span(at - first.start, at - first.start + 10, "DATE")) == Span(at, at + 10, "DATE")
    assert first.back(Span(0, 3, "PATIENT")) is None


def test_a_table_is_read_from_its_head() -> None:
    rows = "".join(f"{n}\tJones\t2019\n" for n in range(30))
    text = 90 * PLAIN + "MRN\tName\tYear\n" + rows + "l2O456\tJones\t2019\n" + 90 * PLAIN
    (passage,) = passages(text, text.replace("l2O456", "120456"))
    assert text[passage.start : passage.end].startswith(PLAIN + "MRN\t")


def test_a_text_that_differs_in_many_places_or_in_case_is_read_whole() -> None:
    text = 20 * PLAIN + 20 * "on O3/l4/2Ol9\n"
    assert passages(text, text.replace("O3/l4/2Ol9", "03/14/2019")) == whole(text, text)
    quiet = (50 * PLAIN).lower() + "by jones\n"
    assert passages(quiet, quiet.replace("jones", "Jones")) == whole(quiet, quiet)


@given(st.lists(st.sampled_from([PLAIN, "on O3/l4/2Ol9\n", "a\tb\n", "\n", "\r", "x"]), max_size=80))
def test_passages_hold_what_differs_and_do_not_touch(lines: list[str]) -> None:
    text = "".join(lines)
    other = text.replace("O3/l4/2Ol9", "03/14/2019")
    found = passages(text, other)
    assert all(a.end < b.start for a, b in pairwise(found))
    kept = [place for p in found for place in p.kept]
    assert all(any(a <= i < b for a, b in kept) for i, (x, y) in enumerate(zip(text, other, strict=True)) if x != y)
    assert all(p.start <= a <= b <= p.end for p in found for a, b in p.kept)


def test_the_same_is_found_as_in_a_second_reading_of_the_whole(monkeypatch) -> None:
    head = "Patient: Quillandra Voskavec\nDate of birth:\nO3/l4/1961\nPhone: 617-S55-0l23\n"
    text = head + 60 * PLAIN + "Mr. Voskavec was seen by Dr. J0hnson on O4/l2/2Ol9.\n" + 60 * PLAIN
    recognizer = Ensemble((RULES,))
    found = recognizer.find(Document("n", text))
    assert {"O3/l4/1961", "617-S55-0l23", "J0hnson", "O4/l2/2Ol9"} <= {text[s.start : s.end] for s in found}
    monkeypatch.setattr("deid.reading.passages.passages", whole)
    assert recognizer.find(Document("n", text)) == found
