"""JSON Lines and its flavours as other tools write them; one bad line stops no other."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import DeidError, EncodingError, FormatError, LabelError, OffsetError, OutputError
from deid.document import Document, Span
from deid.io import FORMATS, Options
from deid.io import json_records as records_of

ANN = (Span(0, 3, "PATIENT"),)


def parse(content: str | bytes | list[Any], name: str = "jsonl", options: Options | None = None) -> list[Any]:
    if isinstance(content, list):
        content = "".join(json.dumps(record) + "\n" for record in content)
    data = content.encode() if isinstance(content, str) else content
    return list(FORMATS[name].read({".jsonl": BytesIO(data)}, options or Options()))


@pytest.mark.parametrize(
    "spans",
    [
        [[0, 3, "PATIENT"]],
        [{"start": 0, "end": 3, "label": "PATIENT"}],
        [{"start": 0, "end": 3, "type": "PATIENT"}],
        [{"start": 0, "end": 3, "category": "PATIENT"}],
        [{"start_offset": 0, "end_offset": 3, "label": "PATIENT", "text": "Ann"}],
    ],
)
def test_common_forms_of_spans_are_read(spans: list[Any]) -> None:
    assert parse([{"id": 1, "text": "Ann", "spans": spans}]) == [Document("1", "Ann", ANN)]


def test_more_about_a_span_is_kept_as_attributes() -> None:
    spans = [{"start": 0, "end": 3, "type": "PATIENT", "category": "NAME", "token": 4, "score": 0.5, "source": "x"}]
    (document,) = parse([{"id": "1", "text": "Ann", "spans": spans}])
    (span,) = document.spans
    assert span == Span(0, 3, "PATIENT", attributes=(("category", "NAME"), ("token", "4")))
    assert (span.score, span.source) == (0.5, "")


def test_other_fields_are_metadata_in_order() -> None:
    (document,) = parse('{"ward": 3, "note_text": "Ann", "note_id": "a", "z": null, "b": [1]}\n')
    assert document == Document("a", "Ann", (), {"ward": 3, "z": None, "b": [1]})
    assert list(document.metadata) == ["ward", "z", "b"]


def test_a_copy_is_laid_out_as_its_source() -> None:
    """Fields keep their names and their order."""
    content = b'{"ward": 3, "note_text": "Ann", "spans": [], "note_id": "a"}\n'
    format = FORMATS["jsonl"]
    options = format.layout({".jsonl": BytesIO(content)}, Options())
    (document,) = format.read({".jsonl": BytesIO(content)}, options)
    stream = BytesIO()
    sink = format.write({".jsonl": stream}, options)
    sink.add(document)
    sink.finish()
    assert stream.getvalue() == content


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{broken", FormatError),
        ("[1, 2]", FormatError),
        ('"text"', FormatError),
        ('{"id": 1}', FormatError),
        ('{"text": 5}', FormatError),
        ('{"text": "a", "text": "b"}', FormatError),
        ('{"text": "a", "x": NaN}', FormatError),
        ('{"text": "a", "id": [1]}', FormatError),
        ('{"text": "a", "spans": "none"}', FormatError),
        ('{"text": "a", "spans": [[0, 1]]}', FormatError),
        ('{"text": "a", "spans": [[0.0, 1, "X"]]}', FormatError),
        ('{"text": "a", "spans": [[0, 9, "X"]]}', OffsetError),
        ('{"text": "a", "spans": [[0, 1, ""]]}', LabelError),
        ('{"text": "a", "spans": [{"start": 0, "end": 1, "label": "X", "text": "b"}]}', OffsetError),
        ('{"text": "' + "[" * 20 + '", "x": ' + "[" * 100_000 + "}", FormatError),
        ('{"text": "a", "n": ' + "1" * 5000 + "}", FormatError),
    ],
)
def test_a_bad_line_stops_no_other(line: str, error: type[DeidError]) -> None:
    first, second, third = parse('{"text": "one"}\n' + line + '\n\n{"text": "three"}\n')
    assert first == Document("", "one")
    assert isinstance(second, error)
    assert second.position.startswith("line 2")
    assert third == Document("", "three")


def test_wrong_bytes_fail_their_line_only() -> None:
    first, second = parse('{"text": "José"}\n'.encode("cp1252") + b'{"text": "two"}\n')
    assert isinstance(first, EncodingError)
    assert (first.position, "cp1252" in first.hint) == ("line 1", True)
    assert second == Document("", "two")


def test_lines_end_at_line_feeds_only() -> None:
    content = '\ufeff{"text": "a\u2028b\u0085c"}\r\n{"text": "d"}'
    assert [d.text for d in parse(content)] == ["a\u2028b\u0085c", "d"]


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\x1f\x8b\x08", b"PAR1", b'{\n  "text": "a"\n}\n'])
def test_empty_and_binary_files_are_refused(content: bytes) -> None:
    with pytest.raises(FormatError):
        parse(content)


@pytest.mark.parametrize("layout", ["[{}]", "[\n{}\n]\n", "[ {} ]", '[{},\n{{"text": "two"}}]'])
def test_one_array_is_read_like_lines(layout: str) -> None:
    content = layout.format('{"text": "o]n,e", "x": {"y": [1]}}')
    found = parse(content)
    assert found[0] == Document("", "o]n,e", (), {"x": {"y": [1]}})
    assert [d.text for d in found[1:]] == (["two"] if "two" in layout else [])


def test_a_large_array_is_streamed() -> None:
    record = json.dumps({"text": "x" * 100_000})
    stream = BytesIO(f"[{','.join([record] * 50)}]".encode())
    reader = FORMATS["jsonl"].read({".jsonl": stream}, Options())
    assert isinstance(next(reader), Document)
    assert stream.tell() < 1_000_000
    assert sum(1 for _ in reader) == 49


def test_a_truncated_array_ends_in_an_error() -> None:
    first, error = parse('[{"text": "one"}, {"text": "tw')
    assert first == Document("", "one")
    assert isinstance(error, FormatError)
    assert error.position == "record 2"


def test_prodigy() -> None:
    record = {
        "text": "Ann",
        "_input_hash": 1,
        "answer": "accept",
        "spans": [{"start": 0, "end": 3, "label": "PATIENT"}],
    }
    assert parse([record], "prodigy") == [Document("", "Ann", ANN, {"_input_hash": 1, "answer": "accept"})]


def test_doccano() -> None:
    """Its older exports have triples under label, its newer ones objects under entities."""
    old = {"id": 7, "text": "Ann", "label": [[0, 3, "PATIENT"]], "Comments": []}
    new = {"id": 8, "text": "Ann", "entities": [{"id": 5, "label": "PATIENT", "start_offset": 0, "end_offset": 3}]}
    assert parse([old, new], "doccano") == [
        Document("7", "Ann", ANN, {"Comments": []}),
        Document("8", "Ann", (Span(0, 3, "PATIENT", "5"),)),
    ]


def task(*annotations: dict[str, Any]) -> dict[str, Any]:
    return {"id": 3, "data": {"text": "Ann Lee", "ward": "4"}, "annotations": list(annotations)}


def region(start: int, end: int, *labels: str) -> dict[str, Any]:
    value = {"start": start, "end": end, "text": "Ann Lee"[start:end], "labels": list(labels)}
    return {"id": "r1", "from_name": "label", "to_name": "text", "type": "labels", "value": value}


def test_label_studio() -> None:
    choice = {"id": "c", "from_name": "s", "to_name": "text", "type": "choices", "value": {"choices": ["x"]}}
    kept = {"result": [region(0, 3, "PATIENT", "DOCTOR"), choice], "was_cancelled": False}
    cancelled = {"result": [region(0, 7, "DATE")], "was_cancelled": True}
    spans = (Span(0, 3, "PATIENT", "r1"), Span(0, 3, "DOCTOR", "r1"))
    assert parse([task(kept, cancelled), task()], "labelstudio") == [
        Document("3", "Ann Lee", spans, {"ward": "4"}),
        Document("3", "Ann Lee", (), {"ward": "4"}),
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"text": "Ann"},
        task({"result": []}, {"result": []}),
        task({"result": [{"value": 1}]}),
        task({"result": [region(0, 3)]}),
        {"data": {"text": "Ann"}, "annotations": 5},
        {"data": {"text": "Ann"}, "annotations": [5]},
        {"data": {"text": "Ann"}, "annotations": [{"result": 5}]},
    ],
)
def test_label_studio_tasks_that_cannot_be_understood_are_refused(record: dict[str, Any]) -> None:
    (error,) = parse([record], "labelstudio")
    assert isinstance(error, FormatError)
    assert error.position == "line 1"


@pytest.mark.parametrize("name", ["jsonl", "prodigy", "doccano", "labelstudio"])
@pytest.mark.parametrize("field", ["text", "id"])
def test_metadata_never_overwrites_the_text_or_the_id(name: str, field: str) -> None:
    sink = FORMATS[name].write({".jsonl": BytesIO()}, Options())
    with pytest.raises(OutputError, match="has the name of"):
        sink.add(Document("1", "Ann", (), {field: "x"}))


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, b"x"])
def test_values_that_json_lacks_are_refused(value: object) -> None:
    sink = FORMATS["jsonl"].write({".jsonl": BytesIO()}, Options())
    with pytest.raises(OutputError, match="JSON"):
        sink.add(Document("1", "Ann", (), {"x": value}))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.sampled_from('aé\u2028\n"\\\U0001f600\ud800\udc00'), max_size=9),
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=9,
)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4), st.booleans())
def test_a_record_is_the_same_line_in_pieces_and_reads_back(record: dict[str, Any], ascii_only: bool) -> None:
    def line(most: int) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(records_of, "_LONG", most)
            try:
                return "".join(records_of.dumped(record, ascii_only=ascii_only))
            except OutputError as error:
                return error.what

    whole = line(1 << 20)
    assert [line(most) for most in (1, 2, 3)] == [whole] * 3
    if whole.endswith("\n"):
        assert json.loads(whole) == record
        assert len(whole.splitlines()) == 1
