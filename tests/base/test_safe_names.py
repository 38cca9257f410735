"""Names in messages carry no PHI."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.safe_names import safe_name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("note-17.txt", "note-17.txt"),
        ("bad_encoding.xml", "bad_encoding.xml"),
        ("Smith_John_1960-03-12.xml", "***_***_***-***-***.xml"),
        ("MRN4711823.txt", "******.txt"),
        ("note-1960-03.txt", "note-***-***.txt"),
        ("", "(no name)"),
        ("tab\there.txt", "tab?***.txt"),
    ],
)
def test_words_that_describe_files_stay_and_the_rest_is_masked(name: str, shown: str) -> None:
    assert safe_name(name) == shown


def test_the_ordinal_tells_which_one() -> None:
    assert safe_name("Rossi.txt", 12) == "***.txt (#12)"


@given(name=st.text(max_size=30))
def test_no_unknown_word_and_no_long_number_survives(name: str) -> None:
    assert safe_name(name).isprintable()
    assert "rossi" not in safe_name(name + "_rossi").lower()
    assert "48213" not in safe_name(name + " 48213")
