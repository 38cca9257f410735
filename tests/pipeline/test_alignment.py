"""Finding what was replaced without an edit log."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.document import Document, Span, apply_edits
from deid.pipeline.alignment import _anchors, align_by_annotations, align_by_detection, align_by_text

_WORDS = st.lists(st.sampled_from(["a", "b", "the", "Smith", "x1", ",", "\n"]), min_size=1, max_size=30)


def test_annotations_find_their_originals() -> None:
    old, new = "Mr. John Smith saw Dr. Jo.", "Mr. [NAME] saw Dr. [NAME]."
    found = align_by_annotations(old, new, [Span(4, 10, "PATIENT"), Span(19, 25, "DOCTOR")])
    assert found is not None
    assert [(old[s.start : s.end], s.category) for s in found] == [("John Smith", "PATIENT"), ("Jo", "DOCTOR")]


@pytest.mark.parametrize(
    "new", ["Mr. [NAME] saw Mr. [NAME].", "Mr. [NAME] saw Dr. [NAME]!", "Mx. [NAME] saw Dr. [NAME].", "Mr. John Smith"]
)
def test_text_that_differs_between_annotations_is_seen(new: str) -> None:
    spans = [Span(new.index("["), new.index("]") + 1, "X"), Span(19, 25, "X")] if "[" in new else [Span(4, 8, "X")]
    assert align_by_annotations("Mr. John Smith saw Dr. Jo.", new, spans) is None


def test_a_text_without_annotations_is_the_same_or_cannot_be_explained() -> None:
    assert align_by_annotations("seen today", "seen today", []) == []
    assert align_by_annotations("seen today", "seen", []) is None


def test_the_originals_own_annotations_decide_where_several_places_fit() -> None:
    old, new = "A A A", "A [X] A"
    found = align_by_annotations(old, new, [Span(2, 5, "X")], [Span(2, 3, "X")])
    assert found is not None
    assert (found[0].start, found[0].end) == (2, 3)
    old, new = "A 1 B 2 B 3 C", "A [X] B [Y] C"
    spans = [Span(2, 7, "X"), Span(10, 11, "Y")]
    found = align_by_annotations(old, new, [Span(2, 5, "X"), Span(8, 11, "Y")], spans)
    assert found is not None
    assert [(s.start, s.end) for s in found] == [(2, 7), (10, 11)]


@given(_WORDS, st.data())
def test_every_replacement_can_be_aligned(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    spans = [Span(a, b, "X") for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    document, _ = apply_edits(Document("d", text), [(s, "[X]") for s in spans])
    found = align_by_annotations(text, document.text, document.spans)
    assert found is not None
    rebuilt = apply_edits(Document("d", text), [(Span(s.start, s.end, "X"), "[X]") for s in found])[0]
    assert rebuilt.text == document.text


def test_far_into_a_long_note_as_little_is_taken_for_changed_as_in_its_beginning() -> None:
    """No word of the stretch is there once: it is compared word by word, wherever it stands."""
    old, new = "b b a b a b b a", "b b a b a a b b"
    before = " ".join(f"word{n}" for n in range(1000))
    assert _check(f"{before} {old}", f"{before} {new}") == _check(old, new) == 2


@given(_WORDS, _WORDS)
def test_comparison_explains_any_two_texts(old_words: list[str], new_words: list[str]) -> None:
    """Outside the stretches the texts agree, so replacing the stretches turns the one into the other."""
    old, new = " ".join(old_words), " ".join(new_words)
    _check(old, new)


def _check(old: str, new: str) -> int:
    read = written = changed = 0
    for stretch in align_by_text(old, new):
        assert old[read : stretch.start] == new[written : stretch.new_start]
        read, written = stretch.end, stretch.new_end
        changed += stretch.end - stretch.start
    assert old[read:] == new[written:]
    return changed


def test_comparison_finds_few_changes_in_a_long_text() -> None:
    """20,000 tokens with 200 replaced: the stretches hold little more than those, and it takes no quadratic time."""
    rng = random.Random(7)
    words = [rng.choice(["pain", "fever", "cough", "no", "left", "the", "a", "of", "with"]) for _ in range(10_000)]
    for n in range(0, 10_000, 50):
        words[n] = f"Name{n}"
    old = " ".join(words)
    new = " ".join("[NAME]" if word.startswith("Name") else word for word in words)
    assert _check(old, new) <= sum(len(word) for word in words if word.startswith("Name")) * 1.1


def test_behind_the_last_word_that_is_there_once_as_little_is_taken_for_changed() -> None:
    common = "the a of no left " * 200
    assert _check(f"x1 Quince {common} y1", f"x2 Quince {common} y2") == 4
    assert _check(f"x1 {common} Quince {common} y1", f"x2 {common} Quince {common} y2") == 4


def test_comparison_of_texts_without_anything_in_common() -> None:
    assert _check("a " * 3000, "b\n" * 3000) == 6000


@pytest.mark.parametrize(
    ("old", "new", "stretch"),
    [
        ("a", "a b a", (1, 1, 1, 5)),
        ("a b a", "a", (1, 5, 1, 1)),
        ("a a", "a a a", (3, 3, 3, 5)),
        ("", "a", (0, 0, 0, 1)),
        (". .a b", ". b", (2, 5, 2, 2)),
    ],
)
def test_what_begins_and_ends_alike_is_counted_once(old: str, new: str, stretch: tuple[int, int, int, int]) -> None:
    (found,) = align_by_text(old, new)
    assert (found.start, found.end, found.new_start, found.new_end) == stretch


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("a1b", "a[X]b", [(1, 2)]),
        ("ab", "a[X]b", None),  # there was nothing to replace
        ("1", "[X]", [(0, 1)]),
        ("", "[X]", None),
        ("1b2", "[X]b[X]", [(0, 1), (2, 3)]),
        ("1bb2", "[X]b[X]", [(0, 1), (2, 4)]),
        ("b2", "[X]b[X]", None),
        ("bb2", "[X]b[X]", [(0, 1), (2, 3)]),
        ("1b", "[X]b[X]", None),
        ("a1b2a", "a[X]b[X]a", [(1, 2), (3, 4)]),
        ("a12a", "a[X][X]a", [(1, 2), (2, 3)]),
        ("a1a", "a[X][X]a", None),
        ("aba", "a[X]a", [(1, 2)]),
        ("aa", "a[X]a", None),
        ("a", "a[X]a", None),  # what it begins with is not what it ends with
    ],
)
def test_each_annotation_stands_for_something_of_the_original(
    old: str, new: str, found: list[tuple[int, int]] | None
) -> None:
    starts = [at for at in range(len(new)) if new.startswith("[X]", at)]
    told = align_by_annotations(old, new, [Span(at, at + 3, "X") for at in starts])
    assert (told and [(one.start, one.end) for one in told]) == found
    assert told is None or [(one.new_start, one.new_end) for one in told] == [(at, at + 3) for at in starts]


@pytest.mark.parametrize(
    ("old", "spans", "new", "found"),
    [
        ("seen Ann here", [(5, 8)], "seen Zoe here", [(5, 8)]),
        ("seen Ann here", [(5, 8)], "seen  here", [(5, 5)]),
        ("seen Ann here", [(5, 8)], "seen here", None),
        ("seen Ann here", [(5, 8)], "met Zoe here", None),
        ("Ann, Bo", [(0, 3), (5, 7)], "Zoe, Al", [(0, 3), (5, 7)]),
        ("Ann, Bo", [(0, 3), (5, 7)], "Zoe, Al, Vi", [(0, 7), (5, 11)]),  # either may have two words
        ("Ann Bo here", [(0, 3), (4, 6)], "Zoe here", None),  # a blank stands between two
        ("AnnBo", [(0, 3), (3, 5)], "ZoeAl", [(0, 5), (0, 5)]),
        ("Ann", [(0, 3)], "", [(0, 0)]),
        ("seen", [], "seen", []),
        ("seen", [], "seen.", None),
    ],
)
def test_what_a_recognizer_finds_tells_what_may_stand_in_its_place(
    old: str, spans: list[tuple[int, int]], new: str, found: list[tuple[int, int]] | None
) -> None:
    told = align_by_detection(old, new, [Span(a, b, "X") for a, b in spans])
    assert (told and [(one.new_start, one.new_end) for one in told]) == found
    assert told is None or [(one.start, one.end, one.category) for one in told] == [(a, b, "X") for a, b in spans]


@pytest.mark.parametrize(
    ("old", "new", "stretches"),
    [
        ("Ann, Bo came", "Zoe, Al came", [(0, 7, 0, 7)]),  # what stands between them is no text that stayed
        ("Ann and Bo came", "Zoe and Al came", [(0, 3, 0, 3), (8, 10, 8, 10)]),
        ("Ann came", "came", [(0, 4, 0, 0)]),
        ("came", "Ann came", [(0, 0, 0, 4)]),
        ("came Ann", "came", [(4, 8, 4, 4)]),
        ("", "", []),
        ("Ann", "", [(0, 3, 0, 0)]),
        ("a 1 b 2 c", "a 3 b 4 c", [(2, 3, 2, 3), (6, 7, 6, 7)]),
        ("a 1-2 c", "a 3-4 c", [(2, 5, 2, 5)]),
    ],
)
def test_comparison_tells_which_stretches_were_replaced(
    old: str, new: str, stretches: list[tuple[int, int, int, int]]
) -> None:
    assert [(s.start, s.end, s.new_start, s.new_end) for s in align_by_text(old, new)] == stretches


@given(st.permutations(range(7)), st.permutations(range(7)))
def test_anchors_are_a_longest_row_of_what_stands_in_the_same_order(old: list[int], new: list[int]) -> None:
    """Against every choice of words that both texts hold once."""
    words = [[f"w{n}" for n in text] for text in (old, new)]
    anchors = _anchors(*words, (0, 7, 0, 7), 1)
    assert all(words[0][i] == words[1][j] for i, j in anchors)
    assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(anchors))
    orders = [[new.index(n) for n in chosen] for size in range(8) for chosen in itertools.combinations(old, size)]
    assert len(anchors) == max(len(order) for order in orders if order == sorted(order))
