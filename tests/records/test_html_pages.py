"""Pages of HTML in place, as browsers read them; the text of PDF files."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packages import document, pdf, scrub

from deid.base.errors import EncodingError, FormatError
from deid.io import Options, scan
from deid.pipeline import Pipeline, scrub_files, verify_files
from deid.records.record import Record

PAGE = """<!DOCTYPE html>
<html lang=en><head><meta charset="utf-8"><meta name="author" content="Dr. Bartholomew Quigg">
<title>Letter on Eleanor Thornbury</title><style>p { color: red } /* Thornbury */</style>
<script>var p = "<b>Thornbury</b>"</script></head>
<body class=MsoNormal onload="f('Thornbury')" data-patient="Thornbury"><!-- Thornbury -->
<table><tr><td>Patient<td>Eleanor Thornbury<tr><td>MRN</td><td>48291735</td></tr></table>
<p title=it's>Mrs. Elea<b>nor Thorn</b>bury &amp; her husband
 G&eacute;rald Thornbury were seen on 03/14/2024.<img src="file:///C:/thornbury.png" alt='Mrs. Eleanor Thornbury'>
<a href="mailto:eleanor.thornbury&#64;mail.example?subject=Thornbury">mail</a> <a href=#top>up</a>
<thornbury>odd</thornbury> <a href=tel:+1-802-555-0148>call</a></p thornbury>
<p>a < b, 5 > 3 &copy right &unknown; end <b title="Thornbury"""


def test_nothing_planted_is_left_and_the_rest_is_as_it_was(surrogates: Pipeline) -> None:
    written = scrub(surrogates, PAGE.encode()).decode()
    for word in ("hornbury", "Quigg", "48291735", "555-0148", "03/14/2024", "Eleanor", "rald"):
        assert word not in written, word
    assert "<style>p { color: red } </style>\n<script></script>" in written
    assert " <a href=#top>up</a>\nodd <a href=tel:" in written
    assert "<p>a < b, 5 > 3 &copy right &unknown; end " in written
    assert "</td></tr></table>\n<p title=it's>Mrs. " in written
    found, again = document(PAGE.encode()).record, document(written.encode()).record
    assert isinstance(found, Record)
    assert isinstance(again, Record)
    assert found.frames(again.source)
    assert document(written.encode()).text.count("\n") == document(PAGE.encode()).text.count("\n")
    assert not re.search(r" (?=\n)", document(written.encode()).text), "nor does a blank come or go where a tag went"


def test_words_are_read_as_browsers_show_them() -> None:
    lines = document(PAGE.encode()).text.split("\n")
    assert "Patient\tEleanor Thornbury" in lines
    assert "Mrs. Eleanor Thornbury & her husband  Gérald Thornbury were seen on 03/14/2024. mail up odd call" in lines
    assert "a < b, 5 > 3 © right &unknown; end" in document(PAGE.encode()).text


def test_encodings_are_those_that_pages_say(surrogates: Pipeline) -> None:
    head = "<html><head><meta http-equiv=Content-Type content='text/html; charset=windows-1252'></head>"
    page = f"{head}<p>Mr. Jos\xe9 M\xfcller"
    written = scrub(surrogates, page.encode("cp1252"))
    assert b"M\xfcller" not in written
    assert written.startswith(page[:70].encode())
    with pytest.raises(EncodingError):
        document(b"<html><p>Jos\xe9 M\xfcller")
    assert "M\xfcller" in document(b"<html><p>Jos\xe9 M\xfcller", Options(encoding="utf-8,cp1252")).text
    for mark in ("utf-16", "utf-8-sig"):
        assert "Müller" in document(page.replace("windows-1252", "utf-16").encode(mark)).text


_PIECES = """<p> | </p> | <b title= | " | ' | > | < | / | = | Smith | <!-- | --> | --!> | <! | <?x | &amp;
&#83;mith | &Smith; | <td> | <tr> | </table x> | <script> | </script> | <style> | </style > | <title> | <br/>
<Smith> | p{color:red} | <a href=mailto:Smith@x.y?Smith> | <img alt='Smith'/alt=Smith> | <p class=Smith id='Smith'>"""
PIECES = st.sampled_from([*_PIECES.replace("\n", " | ").split(" | "), " ", "\n"])


class Shown(HTMLParser):
    """Another reader of pages: what it takes for words and values."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        self.found.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [tag, *(name for name, _ in attrs), *(value or "" for _, value in attrs)]

    def handle_comment(self, data: str) -> None:
        self.found.append(data)


@settings(max_examples=200)
@given(pieces=st.lists(PIECES, max_size=14))
def test_bytes_outside_of_places_are_untouched(pieces: list[str], hiding: Pipeline) -> None:
    """However a page is written, each word of it is seen; the rest is framed by the original."""
    data = "".join(["<html>", *pieces]).encode()
    found = document(data).record
    assert isinstance(found, Record)
    assert found.replaced(found.text, [], keep_blocked=True).data == data
    written = scrub(hiding, data)
    assert b"mith" not in written.lower().replace(b"&smith;", b"")
    again = document(written).record
    assert isinstance(again, Record)
    assert found.frames(again.source)
    shown = Shown()
    shown.feed(written.decode())
    shown.close()
    assert not re.search("smith(?!;)", "\n".join(shown.found), re.IGNORECASE)


def test_pdf_files_are_read_with_marks_before_pages(surrogates: Pipeline) -> None:
    found = document(pdf("Seen by Dr. Bartholomew Quigg.", "Second page of the letter"))
    assert found.record is None
    assert found.text == (
        "=== page 1 of 2 ===\nSeen by Dr. Bartholomew Quigg.\n\n=== page 2 of 2 ===\nSecond page of the letter\n"
    )
    scrubbed = surrogates(replace(found, id="d")).document.text
    assert "Quigg" not in scrubbed
    assert scrubbed.startswith("=== page 1 of 2 ===\nSeen by Dr. ")


def test_forms_and_remarks_of_pdf_files_are_text(surrogates: Pipeline) -> None:
    fields = (
        b"/Annots[<</Subtype/Widget/FT/Tx/T(patient)/V(Quigg, Bartholomew)>>"
        b"<</Subtype/Widget/FT/Btn/AS/Yes/Parent<</T(smoker)/V/Yes>>>><</Subtype/Widget/FT/Btn/T(ward)/V/Off>>"
        b"<</Subtype/Widget/FT/Ch/TU(Allergies)/T(f3)/V[(nuts)(eggs)]>><</Subtype/Widget/FT/Sig/T(s)/V<</Name(Q)>>>>"
        b"<</Subtype/Text/Contents(Potassium 6.9, call Dr. Quigg)>><</Subtype/Link/Contents(a link)>>]"
    )
    found = document(pdf("Seen in clinic today.", page=fields))
    assert found.text == (
        "=== page 1 of 1 ===\nSeen in clinic today.\npatient: Quigg, Bartholomew\nsmoker: Yes\nAllergies: nuts, eggs\n"
        "Potassium 6.9, call Dr. Quigg\n"
    )
    scrubbed = surrogates(replace(found, id="d")).document.text
    assert "Quigg" not in scrubbed
    assert "Potassium 6.9" in scrubbed
    alone = document(pdf("", page=b"/Annots[<</Subtype/Widget/T(name)/V(Bartholomew)>>]"))
    assert "name: Bartholomew" in alone.text


def test_pdf_files_without_text_are_refused() -> None:
    for data, why in (
        (pdf("", ""), "has no text"),
        (pdf("A whole page of words", "x", picture=True), "a page is a picture"),
        (pdf("", page=b"/Annots[<</Subtype/Text/Contents(A remark on a scan)>>]", picture=True), "a page is a picture"),
        (pdf("words", root=b"/AcroForm<</XFA(x)/Fields[]>>"), "a program"),
        (pdf("words", page=b"/Annots[<</Subtype/FileAttachment/FS<</F(Thornbury.txt)>>>>]"), "attached"),
        (
            pdf(
                "words",
                root=b"/Names<</EmbeddedFiles<</Names[(Thornbury.txt)<</Type/Filespec/F(Thornbury.txt)"
                b"/EF<</F 4 0 R>>>>]>>>>",
            ),
            "attached",
        ),
        (pdf("words", encrypt=b"/Encrypt<</Filter/Standard/V 1/R 2/O(x)/U(y)/P -4>>"), "encrypted|damaged"),
        (b"%PDF-1.4\nThornbury", "damaged"),
        (pdf("words of a page")[:300], "damaged|no text"),
    ):
        with pytest.raises(FormatError, match=why) as caught:
            document(data)
        assert "Thornbury" not in str(caught.value)


STYLED = """<html><head><style>
.note-garcia-lopez, #Garcia li.lopez4:hover { color: red; font-family: "Garcia", Arial, 'Times New Roman' }
@media print { p.MsoNormal { mso-style-name: "Nota Lopez"; --lopez: 3px; margin: var(--lopez) }
[title="Garcia"] { top: 0 } }
@page WordSection1 { size: 8in 11in }
</style></head><body class="note-garcia-lopez  big4 MsoNormal h4471203"><div class=WordSection1 id=Garcia>
<p class='lopez4 Garcia_Lopez'>Fever since Monday.<p class="&#76;&#105;">x
<p class="note header col-md-6 xl65">y</body></html>"""


def test_no_class_tells_a_name_and_style_sheets_still_find_theirs(surrogates: Pipeline, tmp_path: Path) -> None:
    written = scrub(surrogates, STYLED.encode()).decode()
    for word in ("garcia", "lopez", "4471203", "&#76;"):
        assert word not in written.lower(), word
    for kept in (
        " big4 MsoNormal ",
        "<div class=WordSection1 ",
        "@page WordSection1 { size: 8in 11in }",
        "p.MsoNormal {",
    ):
        assert kept in written
    assert "Arial, 'Times New Roman' }" in written
    assert '<p class="note header col-md-6 xl65">' in written
    found = re.search(r"\.(\w+), #(\w+) li\.(\w+):hover {", written)
    assert found
    assert f'<body class="{found[1]}  big4' in written
    assert f"id={found[2]}>" in written
    assert f"<p class='{found[3]} " in written
    assert written == scrub(surrogates, STYLED.encode()).decode()


def test_verify_sees_a_class_that_stayed(surrogates: Pipeline, tmp_path: Path) -> None:
    inbox, out = tmp_path / "in", tmp_path / "out"
    inbox.mkdir()
    (inbox / "page.html").write_text(STYLED)
    scrub_files(scan(inbox), out, surrogates)
    checked = verify_files(scan(inbox), scan(out), key=surrogates.key)
    assert (checked.documents, checked.failures) == (1, [])
    (page,) = out.glob("*.html")
    page.write_text(re.sub(r'(<body class=")\w+', r"\1note-garcia-lopez", page.read_text()))
    assert verify_files(scan(inbox), scan(out), key=surrogates.key).failures


@pytest.mark.parametrize("piece", ["-", "a", ".a{", "{", "x:y", '"', "--a", "/*", "font:'"])
def test_a_hostile_style_sheet_costs_no_more_than_its_length(surrogates: Pipeline, piece: str) -> None:
    page = f"<html><style>p{{{piece * 40_000}}}</style><p>Fever."
    assert scrub(surrogates, page.encode()).decode().endswith("<p>Fever.")
