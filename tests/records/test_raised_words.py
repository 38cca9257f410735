"""Marks of notes and exponents, which stand behind a word without a blank, in every kind of document with a look."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest
from packages import ODT, OFFICE, contents, document, docx, run, zipped

from deid.io.records import document as of_record
from deid.pipeline import Pipeline
from deid.records import ccda, fhir
from deid.records.record import Record
from deid.records.tables import load_table

LINE = (
    *(("Mrs. Eleanor Thornbury", "1"), (" was seen on 03/14/2024", "2"), (" by Dr. Bartholomew Quigg", "*")),
    *(
        (", (802) 555-0148", "[3]"),
        (", MRN 48291735", "4"),
        (", WBC 4.5 x10", "9"),
        ("/L, next on May 5", "th"),
        (", 2024.", ""),
    ),
)
READ = (
    "Mrs. Eleanor Thornbury 1 was seen on 03/14/2024 2 by Dr. Bartholomew Quigg *, (802) 555-0148 [3], MRN 48291735 4, "
    "WBC 4.5 x10 9/L, next on May 5th, 2024."
)


def marked(begin: str, end: str) -> str:
    return "".join(f"{said}{begin}{mark}{end}" if mark else said for said, mark in LINE)


def _docx() -> Record | None:
    begin = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>'
    return document(
        docx("<w:p>" + "".join(run(s) + f"{begin}{m}</w:t></w:r>" * bool(m) for s, m in LINE) + "</w:p>")
    ).record


def _odt(begin: str, end: str) -> Record | None:
    style = '<style:style style:name="T9"><style:text-properties style:text-position="super 58%"/></style:style>'
    content = (
        f"<office:document-content {OFFICE}><office:automatic-styles>{style}</office:automatic-styles><office:body>"
        f"<office:text><text:p>{marked(begin, end)}</text:p></office:text></office:body></office:document-content>"
    )
    return document(zipped({**ODT, "content.xml": content})).record


def _ccda() -> Record:
    section = f"<section><text>{marked('<sup>', '</sup>')}</text></section>"
    body = f"<component><structuredBody><component>{section}</component></structuredBody></component>"
    text = f'<ClinicalDocument xmlns="urn:hl7-org:v3">{body}</ClinicalDocument>'
    return ccda.read(text.encode(), text, "utf-8", load_table("ccda"))


def _fhir(*, inside: bool) -> Record:
    page = f'<div xmlns="http://www.w3.org/1999/xhtml">{marked("<sup>", "</sup>")}</div>'
    said: dict[str, object] = {"resourceType": "DocumentReference", "text": {"div": page}}
    if inside:
        data = base64.b64encode(page.encode()).decode()
        said = {"resourceType": "Binary", "contentType": "text/html", "data": data}
    return fhir.read(json.dumps(said).encode(), load_table("fhir-r4"))


def _rtf(begin: str, end: str) -> Record | None:
    return document(("{\\rtf1\\ansi " + marked(begin, end) + "\\par}").encode()).record


def _html(begin: str, end: str) -> Record | None:
    return document(f"<html><body><p>{marked(begin, end)}</p></body></html>".encode()).record


NOTE = '<text:note text:note-class="footnote"><text:note-citation>'
NOTED = "</text:note-citation><text:note-body><text:p>a remark</text:p></text:note-body></text:note>"
KINDS: dict[str, Callable[[], Record | None]] = {
    "docx": _docx,
    "odt": lambda: _odt('<text:span text:style-name="T9">', "</text:span>"),
    "odt, notes": lambda: _odt(NOTE, NOTED),
    "rtf": lambda: _rtf("{\\super ", "}"),
    "rtf, words": lambda: _rtf("\\super ", "\\nosupersub "),
    "html": lambda: _html("<sup>", "</sup>"),
    "html, links": lambda: _html('<sup><a href="#n">', "</a></sup>"),
    "ccda": _ccda,
    "fhir": lambda: _fhir(inside=False),
    "fhir, data": lambda: _fhir(inside=True),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_is_no_part_of_the_word_before_it(kind: str) -> None:
    record = KINDS[kind]()
    assert record is not None
    assert READ in record.text


@pytest.mark.parametrize("kind", ["html", "docx", "odt, notes"])
def test_what_a_mark_follows_is_replaced_and_an_exponent_stays(kind: str, surrogates: Pipeline) -> None:
    record = KINDS[kind]()
    assert record is not None
    new = surrogates(of_record(record, "m")).document.text
    for secret in ("Thornbury", "03/14/2024", "Quigg", "555-0148", "48291735"):
        assert secret not in new
    assert "WBC 4.5 x10 9/L" in new


def test_the_value_of_a_cell_follows_what_it_shows(surrogates: Pipeline) -> None:
    cells = "".join(
        f'<table:table-cell office:value-type="float" office:value="{n}"><text:p>{s}{n}</text:p></table:table-cell>'
        for s, n in (("MRN ", "48291735"), ("", "12.45"))
    )
    content = (
        f"<office:document-content {OFFICE}><office:body><office:text><table:table><table:table-row>{cells}"
        "</table:table-row></table:table></office:text></office:body></office:document-content>"
    )
    written = surrogates(document(zipped({**ODT, "content.xml": content}))).document.record
    assert written is not None
    out = contents(written.data)["content.xml"].decode()
    assert "48291735" not in out
    assert 'office:value="12.45"' in out
