"""Places that are one: a name of several elements, a paragraph of several pieces."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

import pytest
from samples import message
from samples import one as hl7

from deid.base.errors import FormatError, OutputError
from deid.document import Edit, Span
from deid.io.records import document
from deid.pipeline import Pipeline
from deid.records import ccda, fhir
from deid.records.record import TEXT, Change, Place, Record, assemble
from deid.records.tables import load_table


def written(raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return a place with its changes, without escapes."""
    for start, end, new in reversed(changes):
        raw = raw[:start] + new + raw[end:]
    return raw


SOURCE = "<Ann><Mary><Smith> saw <Lee><Wong> today"
"""Family name last; what the recognizers see begins with it."""


def record() -> Record:
    def place(word: str, kind: str, behind: str = "\n", *, joins: bool = False) -> Place:
        at = SOURCE.index(word)
        return Place(word, at, at + len(word), kind, word, written, behind=behind, joins=joins)

    places = [
        place("Lee", TEXT, "", joins=True),
        place("Wong", TEXT, " ", joins=True),
        place("today", TEXT),
        place("Smith", "PATIENT", "^", joins=True),
        place("Ann", "PATIENT", "^", joins=True),
        place("Mary", "PATIENT"),
    ]
    return assemble(SOURCE.encode(), SOURCE, "utf-8", places, known=(), patient=None, date=None)


def scrubbed(start: int, end: int, new: str) -> str:
    text = record().text
    edit = Edit(start, end, start, start + len(new), "PATIENT")
    return record().replaced(text[:start] + new + text[end:], [edit], keep_blocked=True).data.decode()


def test_what_is_one_is_one_span() -> None:
    assert record().text == "LeeWong today\nSmith^Ann^Mary"
    assert [(s.start, s.end) for s in record().spans()] == [(14, 28)]
    assert [(s.start, s.end) for s in record().inside([Span(3, 20, "X"), Span(15, 16, "Y")])] == [
        (3, 13),
        (14, 19),
        (15, 16),
    ]


@pytest.mark.parametrize(
    ("new", "out"),
    [
        ("Doe^Jane^Eve", "<Jane><Eve><Doe> saw <Lee><Wong> today"),
        ("[NAME]", "<><><[NAME]> saw <Lee><Wong> today"),
        ("A^B", "<><><A^B> saw <Lee><Wong> today"),
        ("A^B^C^D", "<><><A^B^C^D> saw <Lee><Wong> today"),
    ],
)
def test_a_replacement_is_shared_out_where_it_can_be(new: str, out: str) -> None:
    assert scrubbed(14, 28, new) == out


def test_pieces_of_a_paragraph_are_replaced_together() -> None:
    assert scrubbed(1, 5, "x") == SOURCE.replace("Lee", "Lx").replace("Wong", "ng")
    assert scrubbed(3, 13, "x y") == SOURCE.replace("Wong", "x").replace("today", "y")
    with pytest.raises(OutputError):
        scrubbed(9, 15, "x")


@pytest.mark.parametrize("standard", ["hl7v2", "fhir", "ccda"])
def test_documents_that_nobody_reads_are_counted_and_gone(standard: str, surrogates: Pipeline) -> None:
    """PDF, RTF and clinical documents in base64 are positions that nobody examined."""
    for mime, content in (
        ("application/pdf", "%PDF-1.7 Thornbury"),
        ("application/rtf", "{\\rtf1 Thornbury}"),
        ("application/xml", "<ClinicalDocument>Thornbury</ClinicalDocument>"),
    ):
        record, held = attachment(standard, mime, content.encode())
        assert record.unexamined == 1
        written = surrogates(document(record, "d")).document.record
        assert written is not None
        assert held not in written.data


@pytest.mark.parametrize("standard", ["hl7v2", "fhir", "ccda"])
def test_a_document_that_is_too_large_is_told_with_its_path(standard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deid.records.embedded.LARGEST", 3000)
    attachment(standard, "text/plain", b"x" * 3000)
    with pytest.raises(FormatError, match="larger than") as caught:
        attachment(standard, "text/plain", b"x" * 3003)
    path = {"hl7v2": "OBX-5.5", "fhir": "content[0].attachment.data", "ccda": "component/nonXMLBody/text"}[standard]
    assert caught.value.position.endswith(path)


def attachment(standard: str, mime: str, content: bytes) -> tuple[Record, bytes]:
    """Return a record with a document in base64, and that."""
    held = base64.b64encode(content)
    if standard == "hl7v2":
        kind = "TEXT" if mime == "text/plain" else mime.upper()
        return hl7(message(f"OBX|1|ED|1^Note^LN||A^{kind}^^Base64^{held.decode()}")), held
    if standard == "fhir":
        said = {"attachment": {"contentType": mime, "data": held.decode()}}
        data = json.dumps({"resourceType": "DocumentReference", "content": [said]}).encode()
        return fhir.read(data, load_table("fhir-r4")), held
    text = f'<text mediaType="{mime}" representation="B64">{held.decode()}</text>'
    body = f"<component><nonXMLBody>{text}</nonXMLBody></component>"
    source = f'<ClinicalDocument xmlns="urn:hl7-org:v3">{body}</ClinicalDocument>'
    return ccda.read(source.encode(), source, "utf-8", load_table("ccda")), held


def coded(standard: str, words: str, *, local: bool) -> bytes:
    """Return a record about Eleanor Thornbury with a code and its words."""
    if standard == "hl7v2":
        system = "99LOC" if local else "I9C"
        return message("PID|1||4711^^^H^MR||Thornbury^Eleanor", f"DG1|1||174.9^{words}^{system}")
    if standard == "fhir":
        coding = {"system": "https://h.example/c" if local else "http://hl7.org/fhir/sid/icd-9-cm", "display": words}
        person = {"resourceType": "Patient", "id": "p", "name": [{"family": "Thornbury", "given": ["Eleanor"]}]}
        code = {"coding": [{**coding, "code": "174.9"}], "text": words}
        subject = {"reference": "Patient/p"}
        condition = {"resourceType": "Condition", "subject": subject, "contained": [person], "code": code}
        return json.dumps(condition).encode()
    root = "1.2.3.4" if local else "2.16.840.1.113883.6.103"
    patient = "<patient><name><given>Eleanor</given><family>Thornbury</family></name></patient>"
    return (
        f'<ClinicalDocument xmlns="urn:hl7-org:v3"><code code="174.9" codeSystem="{root}" displayName="{words}"/>'
        f"<recordTarget><patientRole>{patient}</patientRole></recordTarget></ClinicalDocument>"
    ).encode()


def of(standard: str, data: bytes) -> Record:
    if standard == "hl7v2":
        return hl7(data)
    if standard == "fhir":
        return fhir.read(data, load_table("fhir-r4"))
    return ccda.read(data, data.decode(), "utf-8", load_table("ccda"))


@pytest.mark.parametrize("standard", ["hl7v2", "fhir", "ccda"])
def test_words_of_a_standards_code_are_no_persons(standard: str, surrogates: Pipeline) -> None:
    """But the record's own names, and what somebody typed beside them, are; of a local code all is read."""

    def scrubbed(words: str, *, local: bool = False) -> str:
        written = surrogates(document(of(standard, coded(standard, words, local=local)), "m")).document.record
        assert written is not None
        return written.data.decode()

    kept = ("MAL NEO COLON NEC", "CHRISTMAS FACTOR", "Parkinson disease")
    for words in kept:
        assert scrubbed(words).count(words) == (2 if standard == "fhir" else 1)
    for words in ("MAL NEO COLON NEC, THORNBURY", "seen by Dr. Bartholomew Quigg", "called 617-555-0142"):
        for local in (False, True):
            assert not any(word in scrubbed(words, local=local) for word in ("THORNBURY", "Quigg", "555-0142")), words
    assert "Quigg" not in scrubbed("Bartholomew Quigg, MD", local=True)
