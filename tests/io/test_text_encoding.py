"""Bytes and text: nothing is guessed, what fits is named, what is no text is refused."""

from __future__ import annotations

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError, DeidError, EncodingError, FormatError, OutputError
from deid.io.encoding import check_encoding, decode, encode, lines, would_fit


@pytest.mark.parametrize(
    ("data", "fitting"),
    [
        ("José, 3/4".encode("cp1252"), ["cp1252", "latin-1", "iso8859-15"]),
        ("quote “x”".encode("cp1252"), ["cp1252"]),
        ("Grüße aus Köln, heute".encode("utf-16"), ["utf-16"]),
        ("Grüße aus Köln, heute".encode("utf-16-be"), ["utf-16-be"]),
        ("Grüße aus Köln, heute".encode("utf-32"), ["utf-32"]),
        ("Grüße".encode(), ["utf-8", "cp1252"]),
    ],
)
def test_encodings_that_would_fit_are_named(data: bytes, fitting: list[str]) -> None:
    assert [name for name in would_fit(data) if name in fitting] == fitting
    if "utf-8" not in fitting:
        with pytest.raises(EncodingError) as caught:
            decode(data, "utf-8")
        assert fitting[0] in caught.value.hint


def test_wide_text_of_plain_letters_is_not_taken_for_utf_8() -> None:
    """UTF-16 without a BOM is valid UTF-8 full of NUL."""
    data = "Patient seen in clinic today.".encode("utf-16-le")
    assert data.decode("utf-8")
    with pytest.raises(EncodingError, match="utf-16-le"):
        decode(data, "utf-8")
    assert decode(data, "utf-16-le") == "Patient seen in clinic today."


@pytest.mark.parametrize(
    "data",
    [
        b"\x1f\x8b\x08rest",
        b"PK\x03\x04rest",
        b"%PDF-1.7\n",
        b"\x89PNG\r\n\x1a\n",
        b"\x7fELF\x02",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b"\x00\x01\x02\x03" * 20,
        bytes(range(32)) + b"\xff" * 10,
    ],
)
def test_binary_content_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match="no text"):
        decode(data, "utf-8")


def test_a_few_control_characters_are_text() -> None:
    assert decode(b"a\x00b\x0c\x1b[1m", "utf-8") == "a\x00b\x0c\x1b[1m"


@given(
    text=st.text(max_size=60), encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "cp437"])
)
def test_what_is_encoded_is_decoded_the_same(text: str, encoding: str) -> None:
    try:
        data = encode(text, encoding)
    except OutputError as error:
        assert error.position  # noqa: PT017
        return
    assert decode(data, encoding) == text


@pytest.mark.parametrize(
    "name", ["klingon", "rot13", "base64", "hex", "unicode_escape", "idna", "undefined", "", "utf-7"]
)
def test_names_that_are_no_text_encoding_are_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        check_encoding(name)


@pytest.mark.parametrize(
    ("given_name", "name"), [("UTF8", "utf-8"), ("latin-1", "iso8859-1"), ("Windows-1252", "cp1252")]
)
def test_names_are_made_canonical(given_name: str, name: str) -> None:
    assert check_encoding(given_name) == name


def test_lines_end_at_line_feeds_and_fail_alone() -> None:
    found = list(lines(BytesIO(b"a\rb\r\n\xff\nc\x0bd"), "utf-8"))
    assert found[0] == (1, "a\rb\r\n")
    assert isinstance(found[1][1], DeidError)
    assert found[2] == (3, "c\x0bd")


def test_lines_of_wide_encodings_are_cut_after_decoding() -> None:
    assert list(lines(BytesIO("a\u0a00\nb".encode("utf-16")), "utf-16")) == [(1, "a\u0a00\n"), (2, "b")]
