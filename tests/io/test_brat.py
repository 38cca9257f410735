"""brat standoff as others write it."""

from __future__ import annotations

import pytest

from deid.base.errors import DeidError, FormatError, OffsetError, OutputError
from deid.document import Document, Span
from deid.io import FORMATS, Options

FORMAT = FORMATS["brat"]


def parse(text: str, ann: str) -> Document:
    return FORMAT.read({".txt": text.encode(), ".ann": ann.encode()}, Options())


def test_annotations_attributes_and_notes() -> None:
    ann = (
        "T2\tDATE 4 8\t2012\n"
        "A1\tUncertain T2\n"
        "T1\tPATIENT 0 3\tAnn\n"
        "A2\tRole T1 mother of the child\n"
        "#1\tAnnotatorNotes T1\tcheck this\n"
        "R1\tBornIn Arg1:T1 Arg2:T2\n"
        "#2\tAnnotatorNotes R1\tsure?\n"
        "*\tEquiv T1 T2\n"
    )
    document = parse("Ann 2012", ann)
    assert document == Document(
        "",
        "Ann 2012",
        (
            Span(4, 8, "DATE", "T2", attributes=(("Uncertain", ""),)),
            Span(
                0,
                3,
                "PATIENT",
                "T1",
                attributes=(("Role", "mother of the child"), ("note.AnnotatorNotes", "check this")),
            ),
        ),
        {"brat": ["R1\tBornIn Arg1:T1 Arg2:T2", "#2\tAnnotatorNotes R1\tsure?", "*\tEquiv T1 T2"]},
    )
    assert FORMAT.read(FORMAT.write(document, Options()), Options()) == document


def test_line_breaks_in_an_annotation_are_blanks_in_the_ann_file() -> None:
    document = Document("", "Ann\r\nLee\tNg", (Span(0, 11, "PATIENT", "T1"),))
    parts = FORMAT.write(document, Options())
    assert parts[".ann"] == b"T1\tPATIENT 0 11\tAnn  Lee Ng\n"
    assert FORMAT.read(parts, Options()) == document
    assert parse("Ann\r\nLee\tNg", "T1\tPATIENT 0 11\tAnn Lee Ng\r\n").spans == document.spans


@pytest.mark.parametrize(
    ("ann", "error", "position"),
    [
        ("T1\tDATE 0 3;4 8\tAnn 2012\n", FormatError, ".ann line 1"),
        ("T1\tDATE 0 3\tAnn\nT1\tDATE 4 8\t2012\n", FormatError, ".ann line 2"),
        ("T1 DATE 0 3 Ann\n", FormatError, ".ann line 1"),
        ("T1\tDATE 0 3\tBob\n", OffsetError, ".ann line 1"),
        ("T1\tDATE 0 30\tAnn\n", OffsetError, ".ann line 1"),
        ("\n\nT1\tDATE 3 3\t\n", OffsetError, ".ann line 3"),
    ],
)
def test_wrong_annotations_are_refused_with_their_line(ann: str, error: type[DeidError], position: str) -> None:
    with pytest.raises(error) as caught:
        parse("Ann 2012", ann)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "document",
    [
        Document("", "Ann", (Span(0, 3, "MY LABEL"),)),
        Document("", "Ann", (Span(0, 3, "DATE", attributes=(("a b", "x"),)),)),
        Document("", "Ann", (Span(0, 3, "DATE", attributes=(("a", "x\ny"),)),)),
        Document("", "Ann", (), {"brat": ["T1\tDATE 0 3\tAnn"]}),
        Document("", "Ann", (), {"brat": "R1"}),
    ],
)
def test_what_brat_cannot_express_is_refused(document: Document) -> None:
    with pytest.raises(OutputError):
        FORMAT.write(document, Options())


def test_a_missing_half_is_refused() -> None:
    with pytest.raises(FormatError, match=r"\.ann file is missing"):
        FORMAT.read({".txt": b"Ann"}, Options())
