"""The compiled routes that tell whether a text is read a second time equal the Python ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.compiled import native
from deid.reading import casing, misreading, normalize
from deid.reading.lexicon import load_lexicon

pytestmark = pytest.mark.skipif(native is None, reason="the compiled module is not there")

LEXICON = load_lexicon("en")
PIECES = ("Tbe", "aftcr", "Septcmber", "wcll", "hcr", "paticnt", "sbe", "O3/l4/2Ol9", "J0hnson", "B12", "1g91", "12")
SIGNS = ("617-S55-0l23", "555 O12 3456", "500mg", "antidisestablishmentarian", "\u2019", "'", "-", "\x1c", "\x85", "é")
SPACES = (" ", " ", " ", "\n", "\u00a0", "\u3000", "\u200b", "\U0001d400", "\uff21", "\u0430", "\u00bd", "\ud800")
TEXTS = st.lists(st.sampled_from([*PIECES, *SIGNS, *SPACES]) | st.text(max_size=4), max_size=40).map("".join)


def by_python(patch: pytest.MonkeyPatch) -> None:
    for module in (casing, misreading, normalize):
        patch.setattr(module, "native", None)


@settings(max_examples=300)
@given(TEXTS)
def test_what_may_be_misread(text):
    small, mixed = misreading._suspects(text, LEXICON)
    read = misreading.reading_of(text, LEXICON)
    with pytest.MonkeyPatch.context() as patch:
        by_python(patch)
        assert misreading._suspects(text, LEXICON) == (small, mixed)
        assert misreading.reading_of(text, LEXICON) == read


@settings(max_examples=200)
@given(TEXTS, st.integers(-3, 90))
def test_letters(text, stop):
    stop = max(stop, 0)
    found, how = casing._letters(text, stop), casing.uninformative_case(text)
    with pytest.MonkeyPatch.context() as patch:
        by_python(patch)
        assert casing._letters(text, stop) == found
        assert casing.uninformative_case(text) == how


@settings(max_examples=300)
@given(TEXTS)
def test_normalizing(text):
    odd, normal = normalize._odd(text), normalize.normalize(text)
    with pytest.MonkeyPatch.context() as patch:
        by_python(patch)
        assert sorted(normalize._odd(text)) == sorted(odd)
        assert normalize.normalize(text) == normal


def test_letters_are_counted_to_the_end_of_the_text_and_no_further():
    for text in ("aB1 ", "aBé Ñ", "aB\u0436 \u0416"):
        counted = [
            (sum(map(str.isalpha, part)), sum(map(str.islower, part)), sum(map(str.isupper, part)))
            for part in (text[:2], text, text)
        ]
        assert [casing._letters(text, stop) for stop in (2, len(text), len(text) + 9)] == counted


def test_a_reader_is_asked_once_a_word_and_passes_errors_on():
    asked = []

    def misread(word):
        asked.append(word)
        return word == "aftcr"

    reader = native.Reader(misread)
    assert reader.read("aftcr aftcr Words x-ray it's aftcrs") == (2, [])
    assert reader.read("aftcr, 1a") == (1, ["1a"])
    assert asked == ["aftcr", "Words", "aftcrs"]
    for beside in ("'", "-", "\u2019", "x", "7", "é"):
        assert reader.read(f"{beside}aftcr")[0] == reader.read(f"aftcr{beside}")[0] == 0, beside
    for beside in (",", "/", "_", "\u00bd"):
        assert reader.read(f"{beside}aftcr aftcr{beside}")[0] == 2, beside
    with pytest.raises(ZeroDivisionError):
        native.Reader(lambda word: 1 / 0).read("paticnt")
    with pytest.raises(TypeError):
        reader.read(b"bytes")
    with pytest.raises(RuntimeError):
        reader.__init__(misread)
