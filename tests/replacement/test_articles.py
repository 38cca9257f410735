"""Indefinite articles before replaced words."""

from __future__ import annotations

import pytest

from deid.document import Document, Span, apply_edits
from deid.replacement.articles import agree, article_for


def rewritten(text: str, old: str, new: str) -> str:
    start = text.index(old)
    document = Document("d", text)
    return apply_edits(document, agree(document, [(Span(start, start + len(old), "PROFESSION"), new)]))[0].text


@pytest.mark.parametrize(
    ("words", "article"),
    [
        ("nurse user urologist university European hotel one-time ukulele uterine", "a"),
        (
            "engineer actor hour honest heir orderly umpire opioid uninsured umbrella MRI ECG X-ray 8-year 18 80",
            "an",
        ),
        ("CT PET UTI 1-year 10 100 [CITY] (nurse)", "a"),
        ("[AGE] (engineer) 11-year", "an"),
    ],
)
def test_article_for(words: str, article: str) -> None:

    assert {w: article_for(w) for w in words.split()} == dict.fromkeys(words.split(), article)


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("He is an engineer.", "engineer", "manager", "He is a manager."),
        ("He is a lawyer.", "lawyer", "artist", "He is an artist."),
        ("A lawyer came.", "lawyer", "artist", "An artist came."),
        ("An engineer came.", "engineer", "manager", "A manager came."),
        ("AN ENGINEER CAME.", "ENGINEER", "MANAGER", "A MANAGER CAME."),
        ("a\nlawyer", "lawyer", "artist", "an\nartist"),
        ("He is a baker.", "baker", "cook", "He is a cook."),
        ("Vitamin-a lawyer", "lawyer", "artist", "Vitamin-a artist"),
        ("USA lawyer", "lawyer", "artist", "USA artist"),
        ("the lawyer", "lawyer", "artist", "the artist"),
        ("a lawyer", "lawyer", "", "a "),
        ("a lawyer", "lawyer", "***", "a ***"),
    ],
)
def test_agree(text: str, old: str, new: str, expected: str) -> None:
    assert rewritten(text, old, new) == expected


def test_article_inside_a_replaced_span_is_left_to_it() -> None:
    """A span that ends in an article is replaced as it is; the next span does not reach into it."""
    document = Document("d", "type a engineer")
    pairs = [(Span(0, 6, "OTHER"), "X"), (Span(7, 15, "PROFESSION"), "actor")]
    assert agree(document, pairs) == pairs


def test_replacements_in_any_order_come_back_by_position() -> None:
    document = Document("d", "seen by an engineer and an actor")
    pairs = [(Span(11, 19, "PROFESSION"), "teacher"), (Span(27, 32, "PROFESSION"), "pilot")]
    agreed = [(Span(8, 19, "PROFESSION"), "a teacher"), (Span(24, 32, "PROFESSION"), "a pilot")]
    assert agree(document, pairs) == agree(document, reversed(pairs)) == agreed
