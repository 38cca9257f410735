"""Tokenizers cover the text exactly and cut where PHI ends."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.reading.tokenization import tokenize

SCHEMES = ("default", "hide", "spacy:en", "spacy:es")


@pytest.mark.parametrize("scheme", SCHEMES)
@given(text=st.text(max_size=80))
def test_tokens_join_to_the_text_and_offsets_agree(scheme: str, text: str) -> None:
    tokens = tokenize(text, scheme)
    assert "".join(tokens.strings) == text
    assert [text[s:e] for s, e in zip(tokens.starts, tokens.ends, strict=True)] == tokens.strings
    assert all(tokens.strings), "an empty token"
    assert [bool(s) for s in tokens.spaces] == [s.isspace() for s in tokens.strings]


@given(text=st.text(max_size=80))
def test_hide_is_the_split_of_the_dissertation(text: str) -> None:
    assert tokenize(text, "hide").strings == [t for t in re.split(r"(\W)", text) if t]


def test_hide_splits_the_sample_id() -> None:
    assert tokenize("SH-02-22222", "hide").strings == ["SH", "-", "02", "-", "22222"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("R2D2_x", ["R", "2", "D", "2", "_", "x"]),
        ("Jose\u0301 5\u00ba", ["Jose\u0301", " ", "5", "\u00ba"]),
        ("a\r\n\tb", ["a", "\r\n\t", "b"]),
        ("O'Neil-Smith", ["O", "'", "Neil", "-", "Smith"]),
        ("\ufeffAna\u200b", ["\ufeff", "Ana", "\u200b"]),
        ("\U0001f600Bob", ["\U0001f600", "Bob"]),
        ("", []),
    ],
)
def test_default_separates_letters_digits_and_punctuation(text: str, tokens: list[str]) -> None:
    assert tokenize(text).strings == tokens


def test_unknown_scheme_is_refused() -> None:
    with pytest.raises(ConfigError, match="known: default, hide, spacy"):
        tokenize("x", "words")
    with pytest.raises(ConfigError, match="spaCy knows no language"):
        tokenize("x", "spacy:klingon")
