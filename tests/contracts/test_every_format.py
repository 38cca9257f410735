"""What every format keeps: what it wrote it reads back or has refused, and no file breaks it or is quoted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from formats import SECRET, read_all, silent, through, written
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import HOSTILE, MARKUP, PLAIN, documents

from deid.base.errors import DeidError, OutputError
from deid.document import Document, Span
from deid.io import FORMATS

NOTES = [name for name, format in FORMATS.items() if not format.of_records]
"""What is read from a record can be written there alone: tests/records."""
INLINE = ("i2b2-2006", "hide")


@pytest.mark.parametrize("name", [name for name in NOTES if name != "text"])
@settings(max_examples=60)
@given(document=documents(PLAIN, MARKUP, HOSTILE))
def test_nothing_is_ever_read_back_differently(name: str, document: Document) -> None:
    """What a format cannot carry it refuses; brat numbers its spans and inline formats sort theirs."""
    refusal = None
    try:
        (back,) = through(FORMATS[name], [document])
    except OutputError as error:
        refusal = error
    if refusal is not None:
        assert refusal.position or "surrogate" in refusal.what or "spaCy" in refusal.what
        return
    assert isinstance(back, Document)
    spans = [replace(span, id="") for span in back.spans]
    expected = list(document.spans)
    if name in INLINE:
        expected.sort(key=lambda span: (span.start, -span.end))
    assert (back.id, back.text, spans) == (document.id, document.text, expected)


@pytest.mark.parametrize("name", [name for name in NOTES if name != "text"])
@pytest.mark.parametrize("span", [(3, 3), (2, 9), (-1, 2), (2, 1)])
def test_spans_outside_the_text_are_never_written(name: str, span: tuple[int, int]) -> None:
    with pytest.raises(DeidError, match="does not lie in the text"):
        through(FORMATS[name], [Document("n", "Ann", (Span(*span, "PATIENT"),))])


@pytest.mark.parametrize("name", NOTES)
def test_an_empty_document_is_a_document(name: str) -> None:
    assert through(FORMATS[name], [Document("n", "")]) == [Document("n", "")]


@pytest.mark.parametrize("name", NOTES)
@settings(max_examples=60)
@given(data=st.data())
def test_damaged_files_give_documents_or_silent_errors(name: str, data: st.DataObject) -> None:
    """Cut anywhere, or with a stretch overwritten: something is read or refused, and no message quotes the file."""
    format = FORMATS[name]
    parts = written(format)
    suffix = data.draw(st.sampled_from(sorted(parts)))
    content = parts[suffix]
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(len(content), start + 12)))
    filling = data.draw(
        st.sampled_from([b"", b"\xff", b"\x00", SECRET.encode(), b"<", b"&x;", b"9", b'"', b"\n", b"[{"])
    )
    cut = data.draw(st.booleans())
    parts[suffix] = content[:start] if cut else content[:start] + filling + content[end:]
    for item in read_all(format, parts):
        if isinstance(item, DeidError):
            assert silent(item)
            assert item.hint
        else:
            assert isinstance(item, Document)


@pytest.mark.parametrize("name", list(FORMATS))
@settings(max_examples=30)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_documents_or_errors(name: str, content: bytes) -> None:
    format = FORMATS[name]
    for item in read_all(format, dict.fromkeys((format.suffixes[0], *format.companions), content)):
        assert isinstance(item, Document | DeidError)
