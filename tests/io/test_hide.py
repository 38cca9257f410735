"""HIDE's inline SGML as others write it."""

from __future__ import annotations

import pytest

from deid.base.errors import FormatError, OffsetError, OutputError
from deid.document import Document, Span
from deid.io import FORMATS, Options

FORMAT = FORMATS["hide"]


def parse(content: str) -> Document:
    return FORMAT.read({".sgml": content.encode()}, Options())


def test_tags_become_spans() -> None:
    assert parse("A <age>56</age> year old, <name>Ng &amp; Lee</name>\r\n") == Document(
        "", "A 56 year old, Ng & Lee\r\n", (Span(2, 4, "age"), Span(15, 23, "name"))
    )


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("BP < 120 & > 80", "BP < 120 & > 80"),
        ("&lt;b&gt; &quot;&apos;", "<b> \"'"),
        ("&#233;&#xe9;&#x1F600;", "éé😀"),
        ("AT&T; &unknown; &#xD800; &#99999999;", "AT&T; &unknown; &#xD800; &#99999999;"),
        ("a &amp;lt; b", "a &lt; b"),
    ],
)
def test_references_and_bare_signs(written: str, text: str) -> None:
    assert parse(written).text == text


@pytest.mark.parametrize(
    ("content", "position"),
    [
        ("one\n<age>56", "line 2"),
        ("56</age>", "line 1"),
        ("<a><b>x</a></b>", "line 1"),
        ("\n\n<INAUDIBLE/>", "line 3"),
        ('<age value="5">5</age>', "line 1"),
    ],
)
def test_broken_markup_is_refused_with_its_line(content: str, position: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse(content)
    assert caught.value.position == position


def test_an_empty_annotation_is_refused() -> None:
    with pytest.raises(OffsetError):
        parse("<age></age>")


def test_a_label_that_is_no_element_name_is_refused() -> None:
    with pytest.raises(OutputError):
        FORMAT.write(Document("", "56", (Span(0, 2, "my age"),)), Options())


def test_long_text_without_an_end_is_read_once() -> None:
    """Looking at each position once takes a moment; looking at each pair of positions would take hours."""
    assert len(parse("<" + "a" * 300_000 + " " + "<b" * 300_000).text) == 900_002
