"""Letters with accents mean the same as one character and as several, to all that reads notes."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid import Pipeline, build_recognizer, load_policy
from deid.base.keys import Key
from deid.document import Document, Span
from deid.pipeline.core import Settings
from deid.reading.accents import composed
from deid.reading.identity import name_key, name_words
from deid.replacement.policy import parse_policy, shipped_policies

KEY = Key(b"k" * 32)
NOTE = (
    "Patient: Zoë Müller-Núñez, seen on 3/14/2019 in Málaga.\r\nMrs. Müller-Núñez (MÜLLER-NÚÑEZ, élan@example.com)\r\n"
    "and Élodie Żółkiewska met Dr. José Peña.\rAnglès street; Ménière, café au lait spots. NÚÑEZ, José"
)
LETTERS = st.sampled_from([*"aeEzZq ,\n", "\r\n", "é", "Ü", "\u0301", "\u0308", "\u0337", "\u200b", "й", "ש", "\u05b7"])
RECOGNIZER = build_recognizer()


def apart(text: str) -> str:
    return unicodedata.normalize("NFD", text)


@pytest.mark.parametrize("name", shipped_policies())
def test_a_note_comes_out_the_same_however_its_accents_are_written(name: str) -> None:
    pipeline = Pipeline(RECOGNIZER, load_policy(name), KEY)
    plain, other = pipeline(Document("n", NOTE)), pipeline(Document("n", apart(NOTE)))
    assert len(plain.edits) > 4
    assert unicodedata.normalize("NFC", other.document.text) == plain.document.text
    assert [e.category for e in other.edits] == [e.category for e in plain.edits]


@pytest.mark.parametrize("operator", ["surrogate", "deid-tag"])
def test_no_accent_of_a_name_stays(operator: str) -> None:
    """Nor one with which no letter is written as one character."""
    policy = parse_policy({"default": {"operator": operator}}, "mine", Path())
    pipeline = Pipeline(None, policy, KEY, Settings(gold=True))
    for written, plain in (
        ("Q\u0337uorvath", "Quorvath"),
        (apart("Żółć"), "Żółć"),
        (apart("Peña Nuñez"), "Peña Nuñez"),
    ):
        new, same = (
            pipeline(Document("n", f"Met {n} today", (Span(4, 4 + len(n), "PATIENT"),))).document.text
            for n in (written, plain)
        )
        assert new == same
        assert not any(unicodedata.combining(c) for c in new)


def test_words_of_a_name_hold_their_accents() -> None:
    for word in ("Müller", "Żółć", "O’Néill", "मुंबई", "مُحَمَّد"):
        ((start, end, key),) = name_words(apart(word))
        assert (start, end, key) == (0, len(apart(word)), name_key(word))


@settings(max_examples=200)
@given(st.lists(LETTERS, max_size=12).map("".join))
def test_there_is_a_way_back_from_composed_text(text: str) -> None:
    normal = composed(text)
    whole = 0
    for at, character in enumerate(normal.text):
        span = normal.back(Span(at, at + 1, "X"))
        assert span.start == whole  # nothing between two characters belongs to neither
        assert unicodedata.normalize("NFC", text[span.start : span.end])[0] == character
        whole = span.end
        assert normal.ahead(span) == Span(at, at + 1, "X")
    assert whole == len(text)
