"""A text file that holds records is never read as text, unless the user says so."""

from __future__ import annotations

import base64
from io import BytesIO
from pathlib import Path

import pytest

from deid.base.errors import FormatError
from deid.base.keys import Key
from deid.document import Document, Failure
from deid.io import scan
from deid.io.formats import ReadingOptions
from deid.pipeline import build_pipeline
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


@pytest.mark.parametrize("beside", ["n.txt", "page.html"])
def test_in_a_folder_they_fail_with_the_remedy(beside: str, tmp_path: Path) -> None:
    """Among notes, and among documents of office programs."""
    for number, content in enumerate(CONTENTS.values()):
        (tmp_path / f"{number}.txt").write_bytes(content)
    for name in ("a", "b", "c", "d", "e", "f"):
        (tmp_path / f"{name}.txt").write_bytes(NOTE)
    (tmp_path / beside).write_bytes(NOTE if beside == "n.txt" else b"<html><body>Well.</body></html>")
    told = failures(tmp_path)
    assert sorted(told) == [f"{number}.txt" for number in range(len(CONTENTS))]
    for text, kind in zip((told[name] for name in sorted(told)), CONTENTS, strict=True):
        assert f"begins as {kind} does" in text
        assert "--from text" in text
    assert failures(tmp_path, "text") == {}


@pytest.mark.parametrize("kind", CONTENTS)
def test_one_of_a_file_or_of_standard_input_fails(kind: str, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_bytes(CONTENTS[kind])
    (told,) = failures(tmp_path / "one.txt").values()
    assert f"begins as {kind} does" in told
    pipeline = build_pipeline(Key(b"k" * 32), PipelineOptions(model="none", policy="redact"))
    with pytest.raises(FormatError, match=f"begins as {kind} does"):
        scrub_stream(BytesIO(CONTENTS[kind]), pipeline, ReadingOptions())
    for data, named in ((CONTENTS[kind], "text"), (NOTE, None)):
        assert isinstance(scrub_stream(BytesIO(data), pipeline, ReadingOptions(format=named)), tuple)


def test_a_mail_among_many_notes_is_none_of_them(tmp_path: Path) -> None:
    """Of files of one suffix a few are looked into to tell the format."""
    for number in range(40):
        (tmp_path / f"{number:02d}.txt").write_bytes(MAIL if number == 3 else NOTE)
    found = [one for one in scan(tmp_path).documents() if isinstance(one, Document) and one.record is None]
    assert len(found) == 39
    assert {one.text for one in found} == {NOTE.decode()}
