"""PhysioNet's record files as others write them."""

from __future__ import annotations

from io import BytesIO

import pytest

from deid.base.errors import DeidError, EncodingError, FormatError, LabelError, OffsetError, OutputError
from deid.document import Document, Span
from deid.io import FORMATS, Options

FORMAT = FORMATS["physionet"]
TEXT = (
    "START_OF_RECORD=1||||1||||\nMr Lee seen 1/2\n||||END_OF_RECORD\n\n"
    "START_OF_RECORD=1||||2||||\n\nno names\n\n||||END_OF_RECORD\n\n"
)
PHI = "Patient 1\tNote 1\n3\t3\t6\n12\t12\t15\nPatient 1\tNote 2\n"
PHRASE = "1\t1\t3\t6\tPTName\tLee\n1\t1\t12\t15\tDate\t1/2\n"


def parse(text: str | bytes, phi: str | None = PHI, phrase: str | None = PHRASE) -> list[Document | DeidError]:
    content = {".txt": text, ".phi": phi, ".phrase": phrase}
    streams = {k: BytesIO(v.encode() if isinstance(v, str) else v) for k, v in content.items() if v is not None}
    return list(FORMAT.read(streams, Options()))


def test_offsets_and_types_are_joined() -> None:
    assert parse(TEXT) == [
        Document("1-1", "Mr Lee seen 1/2", (Span(3, 6, "PTName"), Span(12, 15, "Date"))),
        Document("1-2", "\nno names\n"),
    ]


def test_offsets_without_types_are_other() -> None:
    first, _ = parse(TEXT, phrase=None)
    assert isinstance(first, Document)
    assert first.spans == (Span(3, 6, "Other"), Span(12, 15, "Other"))


def test_without_offsets_there_are_no_spans() -> None:
    assert [d.spans for d in parse(TEXT, None, None) if isinstance(d, Document)] == [(), ()]


def test_side_files_may_have_another_order_and_separators() -> None:
    text = TEXT.replace("||||1||||\n", "||||1||||\n", 1)
    phi = "Patient 1 Note 2\n\nPatient 1 Note 1\n3 3 6\n12 12 15\n"
    phrase = "1 1 12 15 Date 1/2\n1 1 3 6 PTName Lee\n"
    assert parse(text, phi, phrase) == parse(TEXT)


def test_crlf_files_have_crlf_text() -> None:
    (document,) = parse(b"START_OF_RECORD=1||||1||||\r\nMr Lee\r\nwell\r\n||||END_OF_RECORD\r\n", None, None)
    assert document == Document("1-1", "Mr Lee\r\nwell")


@pytest.mark.parametrize(
    ("phi", "phrase", "error"),
    [
        (PHI.replace("15", "99"), None, OffsetError),
        (PHI, PHRASE.replace("PTName", "Planet"), LabelError),
        (PHI, PHRASE.replace("Lee", "Ann"), OffsetError),
        (PHI.replace("3\t3\t6\n", ""), PHRASE, OffsetError),
        (PHI.replace("3\t3\t6", "three"), None, FormatError),
        (PHI, "1 1 3\n", FormatError),
    ],
)
def test_wrong_annotations_fail_their_record(phi: str, phrase: str | None, error: type[DeidError]) -> None:
    assert isinstance(parse(TEXT, phi, phrase)[0], error)


def test_behind_a_broken_line_no_record_passes_as_unannotated() -> None:
    """What the rest of the side file says is unknown, so the records after it fail too."""
    text = TEXT.replace("=1||||2||||", "=2||||1||||")
    phi = "Patient 1\tNote 1\n3\t3\t6\noops\nPatient 2\tNote 1\n1\t1\t3\n"
    assert [type(item) for item in parse(text, phi, None)] == [FormatError, FormatError]


def test_annotations_of_a_record_that_is_not_there_are_told() -> None:
    *documents, error = parse(TEXT, PHI + "Patient 9\tNote 1\n1\t1\t2\n")
    assert [d.id for d in documents if isinstance(d, Document)] == ["1-1", "1-2"]
    assert isinstance(error, FormatError)
    assert error.position == ".phi line 5"


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        (TEXT.replace("\n||||END_OF_RECORD", "", 1), ["line 1", None]),
        (TEXT[: TEXT.rindex("||||END")], [None, "line 5"]),
        ("Dear colleague,\nlost\n" + TEXT, ["line 1", None, None]),
    ],
)
def test_broken_records_stop_no_other(text: str, positions: list[str | None]) -> None:
    found = parse(text, None, None)
    assert [item.position if isinstance(item, DeidError) else None for item in found] == positions


def test_wrong_bytes_fail_their_record_only() -> None:
    first, second = parse(TEXT.replace("Lee", "Léo").encode("latin-1"), None, None)
    assert isinstance(first, EncodingError)
    assert first.position == "line 2"
    assert "latin-1" in first.hint
    assert isinstance(second, Document)


@pytest.mark.parametrize("identifier", ["7-12", "7", "aci-7", "a|b", "|", "x y", "7-", "-7", "1-2-3"])
def test_every_other_id_is_kept(identifier: str) -> None:
    streams = {suffix: BytesIO() for suffix in (".txt", ".phi", ".phrase")}
    sink = FORMAT.write(streams, Options())
    document = Document(identifier, "Mr Lee", (Span(3, 6, "PTName"),))
    sink.add(document)
    sink.finish()
    assert list(FORMAT.read({k: BytesIO(v.getvalue()) for k, v in streams.items()}, Options())) == [document]


@pytest.mark.parametrize(
    "document",
    [
        Document("1-1", "a\n||||END_OF_RECORD\nb"),
        Document("1-1", "a\nSTART_OF_RECORD=9||||9||||\nb"),
        Document("a||||b", "a"),
        Document("a\nb", "a"),
    ],
)
def test_text_and_ids_that_look_like_the_frame_are_refused(document: Document) -> None:
    sink = FORMAT.write({suffix: BytesIO() for suffix in (".txt", ".phi", ".phrase")}, Options())
    with pytest.raises(OutputError):
        sink.add(document)
