"""A text file that holds a record is read as one, or refused, unless the user says that it is text."""

from __future__ import annotations

import base64
import json
from io import BytesIO
from pathlib import Path

import pytest

from deid.base.errors import FormatError
from deid.base.keys import Key
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Failure
from deid.io import FORMATS, scan
from deid.io.formats import ReadingOptions
from deid.pipeline import build_pipeline, scrub_files, tag_files
from deid.pipeline.at_once import scrub_stream
from deid.pipeline.options import PipelineOptions

LETTER = base64.b64encode(b"Dear Dr. Lindqvist, your patient Zebulon Quartermain went home.")
CONTENTS = {
    "HL7 v2": b"MSH|^~\\&|A|B|C|D|20240102||ORU^R01|2|P|2.5\rOBX|1|ED|1^letter^L||^TEXT^PLAIN^Base64^" + LETTER + b"\r",
    "a resource of FHIR": b'{\n"resourceType":"DocumentReference","content":[{"attachment":{"data":"'
    + LETTER
    + b'"}}]}',
    "JSON": b'\xef\xbb\xbf{"mrn": 4711203, "ward": "Quendrith", "text": "Seen today."}\n',
    "a clinical document": b'<?xml version="1.0"?>\n<ClinicalDocument xmlns="urn:hl7-org:v3"><id/></ClinicalDocument>',
}
MAIL = b"From: a@example.org\nMessage-ID: <1@b>\nContent-Transfer-Encoding: base64\n\n" + LETTER
NOTE = b'She said:\nMSH|^~\\&| is how it begins, and {"a": 1} is JSON.\n'


def failures(place: Path, format: str | None = None) -> dict[str, str]:
    found = scan(place, format).documents()
    return {Path(one.path).name: str(one.error) for one in found if isinstance(one, Failure)}


RECORDS = ("HL7 v2", "a resource of FHIR", "a clinical document")


@pytest.mark.parametrize("beside", ["n.txt", "page.html"])
def test_in_a_folder_records_are_read_as_such_and_the_rest_fails_with_the_remedy(beside: str, tmp_path: Path) -> None:
    """Among notes; among documents of office programs all of them fail."""
    for number, content in enumerate(CONTENTS.values()):
        (tmp_path / f"{number}.txt").write_bytes(content)
    (tmp_path / "several.txt").write_bytes(2 * CONTENTS["HL7 v2"])
    for name in ("a", "b", "c", "d", "e", "f"):
        (tmp_path / f"{name}.txt").write_bytes(NOTE)
    (tmp_path / beside).write_bytes(NOTE if beside == "n.txt" else b"<html><body>Well.</body></html>")
    told = failures(tmp_path)
    alone = {f"{number}.txt" for number, kind in enumerate(CONTENTS) if beside == "n.txt" and kind in RECORDS}
    assert sorted(told) == sorted({*(f"{number}.txt" for number in range(len(CONTENTS))), "several.txt"} - alone)
    for number, kind in enumerate(CONTENTS):
        if f"{number}.txt" in told:
            assert f"begins as {kind} does" in told[f"{number}.txt"]
            assert "--from text" in told[f"{number}.txt"]
    read = {one.id: one for one in scan(tmp_path).documents() if isinstance(one, Document)}
    assert all(read[name.removesuffix(".txt")].record is not None for name in alone)
    assert failures(tmp_path, "text") == {}
    as_texts = {one.id: one for one in scan(tmp_path).as_texts().documents() if isinstance(one, Document)}
    assert beside == "page.html" or as_texts["0"].text == CONTENTS["HL7 v2"].decode()


@pytest.mark.parametrize("kind", CONTENTS)
def test_what_is_packed_in_one_of_a_file_or_of_standard_input_never_stays(kind: str, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_bytes(CONTENTS[kind])
    pipeline = build_pipeline(Key(b"k" * 32), PipelineOptions(model="none", policy="redact"))
    report = scrub_files(scan(tmp_path / "one.txt"), tmp_path / "out.txt", pipeline)
    if kind in RECORDS:
        assert report.documents == 1
        assert LETTER not in (tmp_path / "out.txt").read_bytes()
        assert isinstance(scrub_stream(BytesIO(CONTENTS[kind]), pipeline, ReadingOptions()), tuple)
    else:
        assert f"begins as {kind} does" in str(report.failures[0].error)
        with pytest.raises(FormatError, match=f"begins as {kind} does"):
            scrub_stream(BytesIO(CONTENTS[kind]), pipeline, ReadingOptions())
    for data, named in ((CONTENTS[kind], "text"), (NOTE, None)):
        assert isinstance(scrub_stream(BytesIO(data), pipeline, ReadingOptions(format=named)), tuple)


def test_what_is_tagged_and_converted_is_the_text_as_it_stands(tmp_path: Path) -> None:
    """Offsets are of the file that the user has."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_bytes(CONTENTS["HL7 v2"])
    recognizer = build_recognizer(RecognizerOptions(model="none"))
    tag_files(scan(tmp_path / "in"), tmp_path / "tagged.jsonl", recognizer, FORMATS["jsonl"])
    assert json.loads((tmp_path / "tagged.jsonl").read_text())["text"] == CONTENTS["HL7 v2"].decode()


def test_a_mail_among_many_notes_is_none_of_them(tmp_path: Path) -> None:
    """Of files of one suffix a few are looked into to tell the format."""
    for number in range(40):
        (tmp_path / f"{number:02d}.txt").write_bytes(MAIL if number == 3 else NOTE)
    found = [one for one in scan(tmp_path).documents() if isinstance(one, Document) and one.record is None]
    assert len(found) == 39
    assert {one.text for one in found} == {NOTE.decode()}
