"""What a text holds: many originals at once are answered as one after the other."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from deid.replacement import containment
from deid.replacement.containment import has_word, held, holds

PIECES = ("ann", "smith", "annsmith", "3", "2012", " ", " ", "-", ",", "_", "'", "é", "ß", "\n", "¼")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
ORIGINALS = st.sets(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join), max_size=20)


@settings(max_examples=300)
@given(TEXTS, ORIGINALS)
def test_many_originals_are_found_as_single_ones(text, originals):
    folded = text.casefold()
    wanted = sorted({original.strip().casefold() for original in originals} - {""})
    expected = [original for original in wanted if holds(folded, original)]
    assert held(folded, wanted) == expected
    few, containment._FEW = containment._FEW, 0
    try:
        assert held(folded, wanted) == expected
    finally:
        containment._FEW = few


@given(TEXTS, st.sampled_from(PIECES) | TEXTS.filter(bool))
def test_a_whole_word(text, word):
    assert has_word(text, word) == bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text))
