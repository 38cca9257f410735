"""CSV and Parquet as others write them."""

from __future__ import annotations

import datetime
import decimal
from dataclasses import replace
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deid.base.errors import DeidError, EncodingError, FormatError, OffsetError, OutputError
from deid.document import Document, Span
from deid.io import FORMATS, Options


def read_csv(content: str | bytes, options: Options | None = None) -> list[Any]:
    data = content.encode() if isinstance(content, str) else content
    return list(FORMATS["csv"].read({".csv": BytesIO(data)}, options or Options()))


def read_parquet(columns: dict[str, Any], options: Options | None = None, rows: int = 2) -> list[Any]:
    stream = BytesIO()
    pq.write_table(pa.table(columns), stream, row_group_size=rows)
    return list(FORMATS["parquet"].read({".parquet": BytesIO(stream.getvalue())}, options or Options()))


def copy(name: str, content: bytes) -> bytes:
    """Write a table's rows again with the layout that it has."""
    format = FORMATS[name]
    key = format.suffixes[0]
    options = format.layout({key: BytesIO(content)}, Options())
    stream = BytesIO()
    sink = format.write({key: stream}, options)
    for document in format.read({key: BytesIO(content)}, options):
        assert isinstance(document, Document)
        sink.add(document if document.id else replace(document, id="1"))
    sink.finish()
    return stream.getvalue()


def test_csv_columns_become_text_id_and_metadata() -> None:
    content = 'ROW_ID,WARD,TEXT\n7,"3, east","Ann\r\n""Lee"""\n8,,\n'
    assert read_csv(content) == [
        Document("7", 'Ann\r\n"Lee"', (), {"WARD": "3, east"}),
        Document("8", "", (), {"WARD": ""}),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_separator_is_told_by_the_header(delimiter: str) -> None:
    content = delimiter.join(["id", "text", "a b"]) + "\r\n" + delimiter.join(["1", "x", "y"]) + "\r\n"
    assert read_csv("\ufeff" + content) == [Document("1", "x", (), {"a b": "y"})]


def test_a_comma_in_the_name_of_a_column_is_no_separator_where_a_tab_is() -> None:
    assert read_csv("ward, east\ttext\n3\tAnn, Lee\n") == [Document("", "Ann, Lee", (), {"ward, east": "3"})]


def test_csv_annotations_are_json() -> None:
    assert read_csv('text,spans\nAnn,"[[0, 3, ""PATIENT""]]"\n') == [Document("", "Ann", (Span(0, 3, "PATIENT"),))]


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("1,x", FormatError),
        ("1,x,[],y", FormatError),
        ("1,x,[[", FormatError),
        ('1,x,"[[0, 5, ""X""]]"', OffsetError),
    ],
)
def test_a_bad_row_stops_no_other(row: str, error: type[DeidError]) -> None:
    first, second, third = read_csv(f"id,text,spans\n0,a,\n{row}\n2,b,[]\n")
    assert (first, third) == (Document("0", "a"), Document("2", "b"))
    assert isinstance(second, error)
    assert second.position.startswith("line 3")


def test_wrong_bytes_fail_their_row_only() -> None:
    first, second = read_csv("id,text\n1,José\n2,b\n".encode("cp1252"))
    assert isinstance(first, EncodingError)
    assert (first.position, "cp1252" in first.hint) == ("line 2", True)
    assert second == Document("2", "b")


@pytest.mark.parametrize(
    "content", ["", " \n", "PAR1xxxx", "id,note_x\n1,a\n", "text,text\na,b\n", 'id,text\n1,"open\n2,b\n']
)
def test_csv_files_that_are_none_are_refused(content: str) -> None:
    with pytest.raises(FormatError):
        read_csv(content)


def test_columns_are_found_by_the_names_that_the_user_gives() -> None:
    content = "key,report_body,text\n1,Ann,other\n"
    assert read_csv(content, Options(text_field="report_body", id_field="key")) == [
        Document("1", "Ann", (), {"text": "other"})
    ]
    for options in (Options(text_field="nowhere"), Options(id_field="nowhere"), Options(spans_field="nowhere")):
        with pytest.raises(FormatError):
            read_csv(content, options)
    with pytest.raises(FormatError, match="did you mean 'report_body'"):
        read_csv(content, Options(text_field="report-body"))
    with pytest.raises(FormatError, match="'notes'") as found:
        read_csv(content, Options(text_field="notes"))
    assert "Ann" not in str(found.value)
    assert "report_body" not in str(found.value)  # a table without a header begins with a record


def test_a_long_cell_is_read() -> None:
    """The csv module alone stops at 131,072 characters."""
    assert read_csv("text\n" + "x" * 200_000 + "\n")[0].text == "x" * 200_000


def test_a_csv_copy_keeps_names_order_and_separator() -> None:
    content = b'"ward";"note_text";"x"\n"3";"Ann\r\n;";""\n'
    assert copy("csv", content) == content


def test_a_parquet_copy_keeps_names_and_order() -> None:
    stream = BytesIO()
    pq.write_table(pa.table({"ward": [3], "note_text": ["Ann"], "x": [True]}), stream)
    again = pq.read_table(BytesIO(copy("parquet", stream.getvalue())))
    assert again.to_pylist() == [{"ward": 3, "note_text": "Ann", "x": True}]
    assert again.column_names == ["ward", "note_text", "x"]


def test_parquet_values_without_a_json_form_come_as_text() -> None:
    (document,) = read_parquet(
        {
            "text": ["Ann"],
            "seen": [datetime.datetime(2012, 3, 4, 5, 6)],
            "born": [datetime.date(1960, 1, 2)],
            "cost": [decimal.Decimal("1.50")],
            "scan": [b"\x00\xff"],
            "tags": [["a", "b"]],
        }
    )
    assert document.metadata == {
        "seen": "2012-03-04T05:06:00",
        "born": "1960-01-02",
        "cost": "1.50",
        "scan": "AP8=",
        "tags": ["a", "b"],
    }


def test_parquet_rows_without_text_fail_alone() -> None:
    first, second, third = read_parquet({"id": [1, 2, 3], "text": ["a", None, "c"]})
    assert (first, third) == (Document("1", "a"), Document("3", "c"))
    assert isinstance(second, FormatError)
    assert second.position == "row 2"


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"x" * 100, b"id,text\n1,a\n"])
def test_parquet_files_that_are_none_are_refused(content: bytes) -> None:
    with pytest.raises(FormatError):
        list(FORMATS["parquet"].read({".parquet": BytesIO(content)}, Options()))


def test_a_truncated_parquet_file_is_refused() -> None:
    stream = BytesIO()
    pq.write_table(pa.table({"text": ["Ann"] * 100}), stream)
    with pytest.raises(FormatError):
        list(FORMATS["parquet"].read({".parquet": BytesIO(stream.getvalue()[:-20])}, Options()))


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_a_field_that_the_table_has_no_column_for_is_refused(name: str) -> None:
    sink = FORMATS[name].write({FORMATS[name].suffixes[0]: BytesIO()}, Options())
    sink.add(Document("1", "a", (), {"x": "y"}))
    sink.add(Document("2", "b"))
    with pytest.raises(OutputError, match="first one lacks"):
        sink.add(Document("3", "c", (), {"secret field": "y"}))


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_annotations_without_a_column_are_refused(name: str) -> None:
    sink = FORMATS[name].write({FORMATS[name].suffixes[0]: BytesIO()}, Options(spans_field=""))
    with pytest.raises(OutputError, match="no column for the annotations"):
        sink.add(Document("1", "Ann", (Span(0, 3, "PATIENT"),)))


def test_parquet_columns_change_no_type_between_batches() -> None:
    """The first batch decides a column's type; a value of another type later is refused, not bent."""
    sink = FORMATS["parquet"].write({".parquet": BytesIO()}, Options())
    for number in range(300):
        sink.add(Document(str(number), "a", (), {"x": number}))
    with pytest.raises(OutputError, match="another type"):
        sink.add(Document("300", "a", (), {"x": "three hundred"}))


@pytest.mark.parametrize("name", ["csv", "parquet"])
@pytest.mark.parametrize("metadata", [{"\ud800": "x"}, {"x": "\ud800"}])
def test_lone_surrogates_in_fields_are_refused(name: str, metadata: dict[str, str]) -> None:
    sink = FORMATS[name].write({FORMATS[name].suffixes[0]: BytesIO()}, Options())
    with pytest.raises(OutputError):
        sink.add(Document("1", "a", (), metadata))
