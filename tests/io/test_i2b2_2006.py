"""i2b2-2006 inline XML as others write it: records are read one by one, and one bad record stops no other."""

from __future__ import annotations

from io import BytesIO

import pytest

from deid.base.errors import DeidError, FormatError, LabelError, OffsetError
from deid.document import Document, Span
from deid.io import FORMATS, Options


def parse(content: str, options: Options | None = None) -> list[Document | DeidError]:
    return list(FORMATS["i2b2-2006"].read({".xml": BytesIO(content.encode())}, options or Options()))


def test_phi_elements_become_spans() -> None:
    content = (
        '<?xml version="1.0"?>\n<ROOT>\n<RECORD ID="641">\n<TEXT>\n<PHI TYPE="ID">123</PHI>\nMr. '
        '<PHI TYPE="PATIENT">Ng &amp; Lee</PHI>, BP &lt; 140\n</TEXT>\n</RECORD>\n</ROOT>\n'
    )
    assert parse(content) == [
        Document("641", "123\nMr. Ng & Lee, BP < 140", (Span(0, 3, "ID"), Span(8, 16, "PATIENT")))
    ]


@pytest.mark.parametrize(
    ("written", "text"),
    [("\na\n", "a"), ("a", "a"), ("\na", "\na"), ("a\n", "a\n"), ("\n\na\n\n", "\na\n"), ("\n", "\n"), ("", "")],
)
def test_one_line_break_at_both_ends_is_layout(written: str, text: str) -> None:
    (document,) = parse(f'<ROOT><RECORD ID="1"><TEXT>{written}</TEXT></RECORD></ROOT>')
    assert isinstance(document, Document)
    assert document.text == text


def test_a_line_break_inside_an_annotation_is_text() -> None:
    (document,) = parse('<ROOT><RECORD ID="1"><TEXT><PHI TYPE="DATE">\n1</PHI>\n</TEXT></RECORD></ROOT>')
    assert document == Document("1", "\n1\n", (Span(0, 2, "DATE"),))


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ('<RECORD ID="2"><TEXT><PHI TYPE="PLANET">x</PHI></TEXT></RECORD>', LabelError),
        ('<RECORD ID="2"><TEXT><PHI>x</PHI></TEXT></RECORD>', FormatError),
        ('<RECORD ID="2"><TEXT><B>x</B></TEXT></RECORD>', FormatError),
        ('<RECORD ID="2"><TEXT><PHI TYPE="DATE"></PHI></TEXT></RECORD>', OffsetError),
        ('<RECORD ID="2"></RECORD>', FormatError),
        ('<RECORD ID="2"><TEXT>a</TEXT><TEXT>b</TEXT></RECORD>', FormatError),
        ('<RECORD ID="2"><OTHER>lost</OTHER><TEXT>b</TEXT></RECORD>', FormatError),
        ('<RECORD ID="2">lost<TEXT>b</TEXT></RECORD>', FormatError),
    ],
)
def test_a_bad_record_stops_no_other(record: str, error: type[DeidError]) -> None:
    good = '<RECORD ID="{}"><TEXT>fine</TEXT></RECORD>'
    first, second, third = parse(f"<ROOT>\n{good.format(1)}\n{record}\n{good.format(3)}</ROOT>")
    assert first == Document("1", "fine")
    assert isinstance(second, error)
    assert second.position.startswith("line 3")
    assert third == Document("3", "fine")


def test_records_before_the_end_of_a_truncated_file_are_read() -> None:
    content = b'<ROOT><RECORD ID="1"><TEXT>fine</TEXT></RECORD><RECORD ID="2"><TEXT>cut'
    reader = FORMATS["i2b2-2006"].read({".xml": BytesIO(content)}, Options())
    assert next(reader) == Document("1", "fine")
    with pytest.raises(FormatError, match="truncated"):
        next(reader)


def test_records_are_streamed() -> None:
    """The first record comes before the rest of the file is read."""
    record = '<RECORD ID="{}"><TEXT>' + "x" * 1000 + "</TEXT></RECORD>\n"
    stream = BytesIO(("<ROOT>" + "".join(record.format(n) for n in range(2000)) + "</ROOT>").encode())
    reader = FORMATS["i2b2-2006"].read({".xml": stream}, Options())
    assert next(reader) == Document("0", "x" * 1000)
    assert stream.tell() < len(stream.getvalue()) / 4
