"""Encrypted spans can be read again by the key's owner, and by nobody else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.document import Document, Span
from deid.replacement.encryption import decrypt_text, encrypt
from deid.replacement.scope import Scope

KEY, OTHER = Key(b"k" * 32), Key(b"o" * 32)


def token(text: str, document: str = "d", key: Key = KEY, category: str = "PATIENT") -> str:
    return encrypt()(Document(document, text), [Span(0, len(text), category)], Scope(key, document))[0]


@given(st.text(st.characters(), min_size=1, max_size=80))
def test_round_trip(text: str) -> None:
    assert decrypt_text(f"seen by {token(text)} today", KEY) == f"seen by {text} today"


def test_same_run_same_bytes_other_place_other_bytes() -> None:
    assert token("Smith") == token("Smith")
    assert token("Smith") != token("Smith", document="e")


def test_length_is_hidden() -> None:
    assert len(token("Al")) == len(token("Bartholomew"))


def test_wrong_key_and_altered_tokens_are_refused() -> None:
    sealed = token("Smith")
    with pytest.raises(ConfigError) as caught:
        decrypt_text(sealed, OTHER)
    assert "Smith" not in str(caught.value)
    with pytest.raises(ConfigError):
        decrypt_text(re.sub("NAME", "DATE", sealed), KEY)
    middle = len(sealed) // 2
    flipped = "A" if sealed[middle] != "A" else "B"
    with pytest.raises(ConfigError):
        decrypt_text(sealed[:middle] + flipped + sealed[middle + 1 :], KEY)
