"""What is written is read back as it was, or is not written at all: for every format, over nasty documents."""

from __future__ import annotations

from dataclasses import replace

import pytest
from formats import through
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import HOSTILE, MARKUP, PLAIN, documents, json_values

from deid.base.errors import LabelError, OutputError
from deid.document import Document, Span
from deid.io import FORMATS, Options

STANDOFF = ["i2b2-2014", "meddocan", "jsonl", "prodigy", "doccano", "labelstudio", "csv", "parquet", "docbin"]
INLINE = ["i2b2-2006", "hide"]
JSON_LIKE = ["jsonl", "prodigy", "labelstudio"]


def unique(found: list[Document]) -> list[Document]:
    return [replace(document, id=f"{number}.{document.id}") for number, document in enumerate(found)]


@pytest.mark.parametrize("name", STANDOFF)
@settings(max_examples=60)
@given(collection=st.lists(documents(PLAIN, MARKUP), min_size=1, max_size=3).map(unique))
def test_standoff_formats_carry_every_printable_text_and_any_overlap(name: str, collection: list[Document]) -> None:
    assert through(FORMATS[name], collection) == collection


@pytest.mark.parametrize("name", INLINE)
@settings(max_examples=100)
@given(collection=st.lists(documents(PLAIN, MARKUP, overlapping=False), min_size=1, max_size=3).map(unique))
def test_inline_formats_carry_every_printable_text(name: str, collection: list[Document]) -> None:
    assert through(FORMATS[name], collection) == collection


@settings(max_examples=150)
@given(collection=st.lists(documents(PLAIN, MARKUP), min_size=1, max_size=3).map(unique))
def test_physionet_carries_text_offsets_and_types(collection: list[Document]) -> None:
    assert through(FORMATS["physionet"], collection) == collection


@settings(max_examples=150)
@given(document=documents(PLAIN, MARKUP))
def test_brat_carries_text_and_spans_and_numbers_spans_without_ids(document: Document) -> None:
    numbered = document.with_spans(replace(span, id=f"T{n}") for n, span in enumerate(document.spans, 1))
    assert through(FORMATS["brat"], [document]) == [numbered]


@settings(max_examples=150)
@given(document=documents(PLAIN, MARKUP, ["\x00", "\x0b", "\x7f"]))
def test_text_carries_every_text_that_does_not_look_binary(document: Document) -> None:
    bare = document.with_spans(())
    assert through(FORMATS["text"], [bare]) == [bare]


@pytest.mark.parametrize("name", ["i2b2-2014", "meddocan", "jsonl", "labelstudio", "parquet", "csv", "docbin"])
@settings(max_examples=40)
@given(document=documents(PLAIN, ids=True, attributes=True))
def test_ids_and_attributes_of_spans_are_carried(name: str, document: Document) -> None:
    assert through(FORMATS[name], [document]) == [document]


@settings(max_examples=100)
@given(document=documents(PLAIN, ids=True, attributes=True, overlapping=False))
def test_i2b2_2006_carries_ids_and_attributes_of_spans(document: Document) -> None:
    assert through(FORMATS["i2b2-2006"], [document]) == [document]


@pytest.mark.parametrize("name", [*JSON_LIKE, "parquet", "docbin"])
@settings(max_examples=40)
@given(
    document=documents(
        PLAIN, metadata=st.dictionaries(st.text("kxyz é", min_size=1, max_size=4), json_values(), max_size=3)
    )
)
def test_metadata_of_any_json_value_is_carried(name: str, document: Document) -> None:
    assert through(FORMATS[name], [document]) == [document]


@settings(max_examples=100)
@given(
    document=documents(
        PLAIN, MARKUP, metadata=st.dictionaries(st.text(min_size=1, max_size=4), st.text(max_size=5), max_size=3)
    )
)
def test_csv_carries_metadata_of_text(document: Document) -> None:
    assert through(FORMATS["csv"], [document]) == [document]


@settings(max_examples=100)
@given(document=documents(PLAIN, MARKUP, HOSTILE))
def test_jsonl_carries_all_of_unicode(document: Document) -> None:
    """Only a high surrogate right before a low one is refused: JSON makes one character of them."""
    pair = any(a in "\ud800" and b in "\udc00" for a, b in zip(document.text, document.text[1:], strict=False))
    if pair:
        with pytest.raises(OutputError):
            through(FORMATS["jsonl"], [document])
    else:
        assert through(FORMATS["jsonl"], [document]) == [document]


@pytest.mark.parametrize("name", ["text", "brat", "hide", "i2b2-2006", "i2b2-2014", "jsonl", "csv", "physionet"])
@pytest.mark.parametrize("encoding", ["cp1252", "iso8859-1", "utf-16", "utf-16-le", "utf-8-sig", "utf-32"])
def test_other_encodings_carry_what_they_can_express(name: str, encoding: str) -> None:
    spans = () if name == "text" else (Span(0, 4, "PATIENT", "T1" if name == "brat" else ""),)
    document = Document("n", "José\r\nß 1/2\n", spans)
    assert (
        through(FORMATS[name], [document, replace(document, id="m")][: 1 if name == "text" else 2], Options(encoding))[
            0
        ]
        == document
    )


@pytest.mark.parametrize("name", ["text", "brat", "hide", "i2b2-2006", "i2b2-2014", "csv", "physionet"])
def test_characters_outside_the_encoding_are_refused(name: str) -> None:
    with pytest.raises(OutputError) as caught:
        through(FORMATS[name], [Document("n", "ab→")], Options("cp1252"))
    assert "→" not in str(caught.value)


@pytest.mark.parametrize("name", ["i2b2-2006", "hide"])
def test_inline_formats_carry_nested_and_refuse_crossing_annotations(name: str) -> None:
    nested = Document("n", "Dr. Ann Lee, MD", (Span(0, 15, "DOCTOR"), Span(4, 7, "PATIENT"), Span(8, 11, "PATIENT")))
    assert through(FORMATS[name], [nested]) == [nested]
    crossing = Document("n", "Ann Lee", (Span(0, 4, "DOCTOR"), Span(2, 7, "DOCTOR")))
    with pytest.raises(OutputError, match="overlap") as caught:
        through(FORMATS[name], [crossing])
    assert caught.value.position == "offset 2"


@pytest.mark.parametrize("name", ["i2b2-2006", "physionet", "i2b2-2014", "meddocan"])
def test_closed_formats_refuse_other_labels_unless_told(name: str) -> None:
    document = Document("n", "Ann", (Span(0, 3, "MY_LABEL"),))
    with pytest.raises(LabelError, match="--any-label") as caught:
        through(FORMATS[name], [document])
    assert caught.value.position == "offset 0"
    assert through(FORMATS[name], [document], Options(any_label=True)) == [document]
