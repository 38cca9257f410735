"""E-mail in place: headers, texts in their encodings, attached documents; what cannot be read is refused."""

from __future__ import annotations

import base64
import csv
import datetime
import email
import email.policy
import io
import quopri
import re
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packages import MEMBERS, PNG, contents, document, pdf, scrub, workbook, zipped

import deid.io.sheets
from deid.base.errors import DeidError, FormatError
from deid.io import records
from deid.pipeline import Pipeline
from deid.records import hl7v2
from deid.records.record import Record
from deid.records.tables import load_table

HEADERS = b"""Return-Path: <eleanor.thornbury@mail.example>
Received: from thornbury.example by mx.example; Thu, 14 Mar 2024 10:22:00 +0100
Message-ID: <1234.thornbury@mail.example>
Date: Thu, 14 Mar 2024 10:22:00 +0100
From: "Thornbury, Eleanor" <eleanor.thornbury@mail.example>
To: =?utf-8?q?Bartholomew_Quigg?= <quigg@clinic.example>, Harriet Lowell
 <lowell@clinic.example>
Subject: =?utf-8?b?""" + base64.b64encode("Befund für Mrs. Eleanor Thornbury".encode()) + b"""?=
X-Thornbury: Thornbury
MIME-Version: 1.0
"""  # fmt: skip
PLAIN = "Dear Dr. Quigg,\nMrs. Eleanor Thornbury = 76, was seen on 03/14/2024 für 5 °C.\n"
HTML = '<html><p class=x>Mrs. Elea<b>nor</b> Thornbury was seen.<img alt="Mrs. Thornbury" src="cid:1"></html>\n'


def part(kind: str, encoding: str, body: bytes, more: str = "") -> bytes:
    return f'Content-Type: {kind}; name="Thornbury"{more}\nContent-Transfer-Encoding: {encoding}\n\n'.encode() + body


def mixed(*parts: bytes) -> bytes:
    inner = b"".join(b"--b1\n" + one + b"\n" for one in parts)
    return HEADERS + b'Content-Type: multipart/mixed; boundary="b1"\n\nThornbury\n' + inner + b"--b1--\nThornbury\n"


def base64d(data: bytes) -> bytes:
    return base64.encodebytes(data)


MESSAGE = mixed(
    part("text/plain", "base64", base64d(PLAIN.encode("latin-1")), "; charset=iso-8859-1"),
    part("text/html", "quoted-printable", HTML.replace("=", "=3D").replace("Thornbury w", "Thorn=\nbury w").encode()),
    b"Content-ID: <1@thornbury.example>\n" + part("image/png", "base64", base64d(PNG)),
    part("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "base64", base64d(zipped(MEMBERS))),
    b"Content-Type: message/rfc822\n\nFrom: Eleanor Thornbury <e@x.example>\n\nMrs. Eleanor Thornbury, again.\n",
)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_nothing_planted_is_left_in_any_part(end: bytes, surrogates: Pipeline) -> None:
    data = MESSAGE.replace(b"\n", end)
    written = scrub(surrogates, data)
    found = email.message_from_bytes(written, policy=email.policy.default)
    shown = [written.decode(), str(found["subject"]), str(found["to"])]
    leaves = [one for one in found.walk() if not one.is_multipart()]
    assert len(leaves) == 5
    shown += [one.get_payload(decode=True).decode("latin-1") for one in leaves]  # type: ignore[union-attr]
    inside = contents(leaves[3].get_payload(decode=True))  # type: ignore[arg-type]
    shown += [content.decode("latin-1") for content in inside.values()]
    for word in ("hornbury", "Quigg", "quigg", "Lowell", "lowell", "14 Mar", "03/14/2024", "48291735", "Thu,"):
        assert not [text for text in shown if word in text], word
    assert leaves[0].get_content().endswith(" für 5 °C.\n")
    assert str(found["subject"]).startswith("Befund für Mrs. ")
    assert leaves[2].get_payload(decode=True) == b""
    assert document(data).record.unexamined >= 2, "a picture, and a header that nobody knows"  # type: ignore[union-attr]


def test_one_person_has_one_name_in_headers_parts_and_what_is_attached(surrogates: Pipeline) -> None:
    written = scrub(surrogates, MESSAGE)
    found = email.message_from_bytes(written, policy=email.policy.default)
    family, given_ = str(found["from"]).split('"')[1].split(", ")
    leaves = [one for one in found.walk() if not one.is_multipart()]
    assert f"Mrs. {given_} {family} = 76" in leaves[0].get_content()
    assert f"Mrs. {given_} {family}<b></b> was seen." in " ".join(leaves[1].get_content().split())
    inside = contents(leaves[3].get_payload(decode=True))  # type: ignore[arg-type]
    assert f"Re: {given_} {family}, MRN" in inside["word/header1.xml"].decode()


def test_what_is_kept_is_kept(keeping: Pipeline) -> None:
    """Nothing is encoded anew where nothing was replaced; an attached archive loses its days alone."""
    data = mixed(
        part("text/plain", "quoted-printable", b"a=20b=\nc =E4", "; charset=latin-1"),
        part("text/html", "7bit", b"<p>x"),
    )
    assert scrub(keeping, data) == data, "what parts it, too"
    written = email.message_from_bytes(scrub(keeping, MESSAGE), policy=email.policy.default)
    (inside,) = [one for one in written.walk() if one.get_content_subtype().startswith("vnd.")]
    assert contents(inside.get_payload(decode=True)) == contents(zipped(MEMBERS))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (mixed(part("application/pdf", "base64", base64d(b"%PDF-1.4"))), "attachment 1: .*PDF"),
        (mixed(part("image/png", "base64", base64d(PNG))), "attachment 1: .* no text but PNG"),
        (
            mixed(part("text/plain", "7bit", b"x"), part("text/csv", "7bit", b'a,b\n1,2\n"Thornbury')),
            "attachment 1, row 3: .*quotes do not close",
        ),
        (mixed(part("application/x-thornbury", "7bit", b"x")), "attachment 1: .*no line of the table"),
        (
            mixed(part("application/msword", "base64", base64d(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"))),
            "attachment 1: .*old kind",
        ),
        (
            mixed(part("application/zip", "base64", base64d(zipped({**MEMBERS, "word/vbaProject.bin": "x"})))),
            "1: .* macros",
        ),
        (mixed(part("text/plain", "base64", base64d(b"{\\rtf1 Thorn"))), "attachment 1, byte 12: .*cut off"),
        (HEADERS + b"Content-Type: multipart/thornbury; boundary=a\n\n--a\n\nx\n--a--\n", "no line of the table"),
        (mixed(part("application/octet-stream", "base64", base64d(b"MZ"))), "cannot be read in it"),
        (mixed(part("application/zip", "base64", base64d(zipped({"x": "y"})))), "no text but a zip archive"),
        (HEADERS + b"Content-Type: multipart/signed; boundary=a\n\n--a\n\nx\n--a--\n", "signed"),
        (HEADERS + b"Content-Type: multipart/mixed; boundary=a\n\n--a\n\nThornbury\n", "cut off"),
        (HEADERS + b"Content-Type: multipart/mixed\n\nThornbury\n", "what parts them"),
        (mixed(part("text/plain", "base64", b"%%%")), "no base64"),
        (mixed(part("text/plain", "uuencode", b"x")), "not known"),
        (mixed(part("text/plain", "8bit", b"\xff", "; charset=utf-8")), "not in the character set"),
        (mixed(part("text/plain", "8bit", b"\xff", "; charset=thornbury")), "not known"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(DeidError, match=why) as caught:
        document(data)
    assert "hornbury" not in f"{caught.value} {caught.value!r}"


def test_notes_that_begin_as_letters_do_are_no_messages() -> None:
    for note in (b"From: Dr. Lee\nTo: Dr. Ann\nSubject: Smith\n\nSeen.", b"Date: 03/14/2024\nMRN: 4711\n"):
        assert document(note).record is None


HL7 = (
    b"MSH|^~\\&|LAB|NORTH|EHR|NORTH|20240314102200||ORU^R01|1|P|2.5\r"
    b"PID|1||48291735^^^NORTH^MR||Thornbury^Eleanor||19470619|F\rOBX|1|TX|1^Note||Mrs. Thornbury was seen.||||||F\r"
)
FHIR = (
    b'{"resourceType": "Patient", "id": "thornbury", "name": [{"family": "Thornbury", "given": ["Eleanor"]}],\n'
    b' "birthDate": "1947-06-19"}\n'
)
RTF = b"{\\rtf1\\ansi Mrs. Eleanor Thornb\\'75ry was seen on 03/14/2024.\\par}"
CDA = (Path(__file__).parents[2] / "corpora/records/ccda/visit.xml").read_bytes()
MAIL = mixed(part("application/rtf", "base64", base64d(RTF)), part("text/plain", "7bit", PLAIN.encode()[:60]))
WITH_ALL = mixed(
    part("text/plain", "7bit", b"Mrs. Eleanor Thornbury, as attached."),
    part("application/octet-stream", "base64", base64d(HL7)),
    part("application/fhir+json", "quoted-printable", FHIR.replace(b"=", b"=3D")),
    part("application/msword", "quoted-printable", quopri.encodestring(RTF)),
    part("text/html", "base64", base64d(HTML.encode())).replace(
        b"Content-Transfer", b'Content-Disposition: attachment; filename="Thornbury.html"\nContent-Transfer'
    ),
    part("text/xml", "base64", base64d(CDA)),
    part("application/octet-stream", "base64", base64d(MAIL)),
    part("application/octet-stream", "base64", base64d(PLAIN.encode())).replace(b"Thornbury", b"Thornbury.txt"),
)


def test_attached_files_of_each_kind_are_read_as_what_they_are(surrogates: Pipeline) -> None:
    """By what they hold, whatever is said of them; so a person of a message of HL7 has that name in the letter too."""
    written = scrub(surrogates, WITH_ALL)
    before, after = (email.message_from_bytes(data, policy=email.policy.default) for data in (WITH_ALL, written))
    old, new = ([p.get_payload(decode=True) for p in one.walk() if not p.is_multipart()] for one in (before, after))
    assert len(old) == len(new) == 8
    inner = [p.get_payload(decode=True) for p in email.message_from_bytes(new[6]).walk() if not p.is_multipart()]  # type: ignore[arg-type]
    for word in (b"hornbury", b"48291735", b"19470619", b"1947-06-19", b"03/14/2024", b"--b1"):
        assert not [n for n, content in enumerate((written, *new, *inner)) if word in content], word  # type: ignore[operator]
    family, given_ = re.search(rb"MR\|\|(\w+)\^(\w+)\|", new[1]).groups()  # type: ignore[arg-type,union-attr]
    assert f"Mrs. {given_.decode()} {family.decode()}, as attached.".encode() == new[0].strip()  # type: ignore[union-attr]
    assert b"%b %b was seen" % (given_, family) in re.sub(rb"\\\\'(..)", lambda m: bytes.fromhex(m[1].decode()), new[3])  # type: ignore[arg-type]
    assert new[1].startswith(HL7[:9])  # type: ignore[union-attr]
    assert new[1].count(b"\r") == 3  # type: ignore[union-attr]
    found, again = document(WITH_ALL).record, document(written).record
    assert isinstance(found, Record)
    assert isinstance(again, Record)
    assert found.frames(again.source)
    assert found.patient == "48291735"


def test_what_parts_a_message_is_named_anew_and_the_same_everywhere(surrogates: Pipeline) -> None:
    inner = b'Content-Type: multipart/alternative; boundary="----=_NextPart_01DA75F1.THORNBURY"\n\n'
    inner += b"------=_NextPart_01DA75F1.THORNBURY\n\nx\n------=_NextPart_01DA75F1.THORNBURY--\n"
    written = scrub(surrogates, mixed(inner, part("text/plain", "7bit", b"y", "; x=THORNBURY; charset=utf-8")))
    assert b"THORNBURY" not in written
    assert b"01DA75F1" not in written, "programs write the time of day there"
    found = email.message_from_bytes(written)
    assert [p.get_content_type() for p in found.walk()] == [
        "multipart/mixed", "multipart/alternative", "text/plain", "text/plain"
    ]  # fmt: skip
    assert [p.get_payload() for p in found.walk() if not p.is_multipart()] == ["x", "y"]


def test_attached_messages_of_two_patients_stay_two_people(surrogates: Pipeline) -> None:
    other = HL7.replace(b"48291735", b"55512345").replace(b"Eleanor", b"Philippa")
    data = mixed(*[part("application/hl7-v2", "base64", base64d(one)) for one in (HL7, other)])
    record = document(data).record
    assert isinstance(record, Record)
    numbers = [m.span() for m in re.finditer("48291735|55512345", record.text)]
    assert {record.patient_at(*span) for span in numbers} == {"48291735", "55512345"}
    alone = surrogates(records.document(hl7v2.read(HL7, load_table("hl7v2")), "d")).document.record
    assert alone is not None
    written = email.message_from_bytes(scrub(surrogates, data))
    assert written.get_payload(0).get_payload(decode=True) == alone.data, "as in a file of its own"  # type: ignore[union-attr]


def test_parts_in_parts_end_somewhere() -> None:
    data = HEADERS + b"Content-Type: message/rfc822\n\n" * 50
    with pytest.raises(FormatError, match="too deep"):
        document(data)


_PIECES = """From: | Smith | <Smith@x.y> | "Smith, Ann" | =?utf-8?q?Smith?= | =?latin-1?b?U21pdGg=?= | Date: | Subject:
X-Smith: | Content-Type: | text/html | multipart/mixed; boundary=b | ; charset=utf-8 | --b | --b-- | <p>Smith</p> | ,
( | Smith; | 4 May 2024"""
PIECES = st.sampled_from([*_PIECES.replace("\n", " | ").split(" | "), " ", "\n", "\n ", "\n\n", "\r\n"])


@settings(max_examples=150)
@given(pieces=st.lists(PIECES, max_size=14))
def test_bytes_outside_of_places_are_untouched(pieces: list[str], hiding: Pipeline) -> None:
    data = ("From: a@b.c\nMIME-Version: 1.0\n" + "".join(pieces)).encode()
    try:
        found = document(data).record
    except DeidError:
        found = None
    if not isinstance(found, Record):
        return
    assert found.replaced(found.text, [], keep_blocked=True).data == data
    written = scrub(hiding, data)
    assert b"mith" not in written
    assert b"U21pdGg" not in written
    again = document(written).record
    assert isinstance(again, Record)
    assert found.frames(again.source)


ROWS = (
    'Name;MRN;"Seen ""on""";Remark\r\n'
    'Eleanor Thornbury;48291735;03/14/2024;"Mrs. ""Ellie"" Thornbury; well"\r\n'
    ";;;\r\n"
    "Harriet Lowell;48291736;03/15/2024;\r\n"
)


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable", "8bit"])
def test_an_attached_table_goes_cell_by_cell(surrogates: Pipeline, encoding: str) -> None:
    """Read behind the names of its columns, written with its signs, quotes and line ends, names as in the letter."""
    raw = ROWS.encode()
    content = {"base64": base64d(raw), "8bit": raw, "quoted-printable": quopri.encodestring(raw)}[encoding]
    letter = part("text/plain", "7bit", b"Mrs. Eleanor Thornbury, MRN 48291735, is in the table.\n")
    written = scrub(surrogates, mixed(letter, part("text/csv", encoding, content)))
    leaves = [*email.message_from_bytes(written, policy=email.policy.default).walk()]
    text = leaves[1].get_content()
    got = leaves[2].get_payload(decode=True).decode()  # type: ignore[union-attr]
    assert not re.search("Thornbury|Eleanor|Lowell|Harriet|4829173[56]|03/1[45]/2024", got)
    rows = list(csv.reader(io.StringIO(got, newline=""), delimiter=";"))
    assert [len(row) for row in rows] == [4] * 4
    assert rows[0] == ["Name", "MRN", 'Seen "on"', "Remark"]
    assert rows[2] == [""] * 4
    assert rows[1][3].startswith("Mrs. ")
    assert rows[1][3].endswith("; well")
    assert f"Mrs. {rows[1][0]}, MRN {rows[1][1]}," in text
    assert got.splitlines(keepends=True)[0] == ROWS.splitlines(keepends=True)[0]


def test_a_table_without_anything_to_replace_stays_as_it_is(keeping: Pipeline) -> None:
    table = part("text/tab-separated-values", "7bit", b"a\tb\n1")
    data = mixed(part("text/csv", "7bit", b'a,"b ""c"""\n1,\n,"2"\n'), table)
    assert scrub(keeping, data) == data


def test_an_attached_pdf_file_goes_as_its_text(surrogates: Pipeline) -> None:
    pytest.importorskip("pypdf")
    file = pdf("Patient: Eleanor Thornbury, MRN 48291735", "Seen on 03/14/2024.")
    letter = part("text/plain", "7bit", b"Mrs. Eleanor Thornbury was seen.\n")
    rows = part("text/csv", "quoted-printable", quopri.encodestring(ROWS.encode()))
    written = scrub(surrogates, mixed(letter, part("application/pdf", "base64", base64d(file))))
    assert b"PDF" not in written
    assert b"application/pdf" not in written
    found = [*email.message_from_bytes(written, policy=email.policy.default).walk()][2]
    text = found.get_payload(decode=True).decode("utf-8-sig")  # type: ignore[union-attr]
    assert found.get_content_type() == "text/plain"
    assert text.startswith("=== page 1 of 2 ===\nPatient: ")
    assert not re.search("Thornbury|48291735|03/14/2024", text)
    data = mixed(letter, part("application/pdf", "base64", base64d(file)), rows)
    before, again = document(data).record, document(scrub(surrogates, data)).record
    assert isinstance(before, Record)
    assert isinstance(again, Record)
    assert before.frames(again.source), "which verify looks at"
    with pytest.raises(FormatError, match=r"picture.*attachment 1, page 1|attachment 1, page 1.*picture"):
        document(mixed(part("application/octet-stream", "base64", base64d(pdf("", picture=True)))))


def rewritten(data: bytes, new: dict[str, bytes]) -> bytes:
    """Return a package with other members, or more."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name in dict.fromkeys((*old.namelist(), *new)):
            made.writestr(name, new[name] if name in new else old.read(name))
    return stream.getvalue()


XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
LETTER = part("text/plain", "7bit", b"Mrs. Eleanor Thornbury, MRN 48291735, is in the table.\n")
PEOPLE: list[list[object]] = [
    ["Name", "MRN", "Seen", "Well", "Remark", "mmol/l"],
    ["Eleanor Thornbury", 48291735, datetime.datetime(2024, 3, 14), True, 'Mrs. Thornbury, "well";\nhome', 4.25],
    [None, None, None, None, None, None],
    ["Harriet Lowell", 48291736, datetime.datetime(2024, 3, 15, 10, 30), False, "of Mrs. Lowell", 5.0],
]


@pytest.mark.parametrize("kind", [XLSX, "application/octet-stream"])
def test_an_attached_workbook_goes_as_its_tables(surrogates: Pipeline, kind: str) -> None:
    """Cells of all types and of hidden sheets, behind the names of their columns; nothing else of it is left."""
    book = workbook(People=PEOPLE, Thornbury=[["Patient", "Ward"], ["Thornbury, Eleanor", 7]])
    written = scrub(surrogates, mixed(LETTER, part(kind, "base64", base64d(book)), part("text/plain", "7bit", b"bye")))
    leaves = [*email.message_from_bytes(written, policy=email.policy.default).walk()]
    got = leaves[2].get_payload(decode=True).decode("utf-8-sig")  # type: ignore[union-attr]
    assert leaves[2].get_content_type() == "text/plain"
    assert b"spreadsheet" not in written
    assert not re.search("Thornbury|Eleanor|Lowell|Harriet|4829173[56]|2024-03-1[45]", got)
    first, rest = got.split("=== sheet 2 of 2: ")
    mark, table = first.split("\r\n", 1)
    assert re.fullmatch("=== sheet 1 of 2: .+ ===", mark)
    rows = list(csv.reader(io.StringIO(table, newline="")))
    assert rows[0] == PEOPLE[0]
    assert [len(row) for row in rows] == [6, 6, 6]
    assert [(row[3], row[5]) for row in rows[1:]] == [("True", "4.25"), ("False", "5")]
    assert re.fullmatch("[0-9]{8}", rows[1][1])
    days = [datetime.date.fromisoformat(row[2][:10]) for row in rows[1:]]
    assert days[1] - days[0] == datetime.timedelta(1)
    assert f"Mrs. {rows[1][0]}, MRN {rows[1][1]}," in leaves[1].get_content()
    assert re.fullmatch('.+ ===\r\nPatient,Ward\r\n"[^",]+, [^",]+",[0-9]\r\n', rest)
    data = mixed(LETTER, part(kind, "base64", base64d(book)))
    before, again = document(data).record, document(scrub(surrogates, data)).record
    assert isinstance(before, Record)
    assert isinstance(again, Record)
    assert before.frames(again.source), "which verify looks at"


def test_values_alone_are_read_and_read_again_alike(keeping: Pipeline) -> None:
    """A formula goes as what it showed; a cell cannot end a table, or begin another; verify reads what was written."""
    cell = 'x,"y"\r\n=== sheet 2 of 2: z ===\r\n'
    book = workbook(Sheet=[["a", "b"], [cell, 2]], More=[["c", "d"], ["e", "f"]])
    with zipfile.ZipFile(io.BytesIO(book)) as package:
        sheet = package.read("xl/worksheets/sheet1.xml")
    shown = sheet.replace(b"<v>2</v>", b"<f>1+1</f><v>2</v>")
    assert shown != sheet
    data = mixed(part(XLSX, "base64", base64d(rewritten(book, {"xl/worksheets/sheet1.xml": shown}))))
    written = scrub(keeping, data)
    assert document(written).text == document(data).text
    assert scrub(keeping, written) == written
    got = [*email.message_from_bytes(written, policy=email.policy.default).walk()][1].get_payload(decode=True)
    assert isinstance(got, bytes)
    rows = list(csv.reader(io.StringIO(got.decode("utf-8-sig"), newline="")))
    assert rows[:3] == [["=== sheet 1 of 2: Sheet ==="], ["a", "b"], [cell, "2"]]
    assert rows[3:] == [["=== sheet 2 of 2: More ==="], ["c", "d"], ["e", "f"]]
    assert "a: x" in document(data).text
    assert "c: e" in document(data).text


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("xl/vbaProject.bin", b"x", "macros"),
        ("xl/embeddings/oleObject1.bin", b"x", "another document inside"),
        ("xl/comments1.xml", b"<x/>", "remarks"),
        ("xl/charts/chart1.xml", b"<x/>", "charts"),
        ("xl/pivotCache/pivotCacheRecords1.xml", b"<x/>", "pivot"),
        ("xl/externalLinks/externalLink1.xml", b"<x/>", "data of other files"),
        ("xl/thornbury.xml", b"<x/>", "not known"),
        ("xl/styles.xml", b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', ""),
        ("xl/worksheets/sheet1.xml", b"<x", ""),
        ("xl/sharedStrings.xml", b"<sst>" + b" " * (3 << 20) + b"</sst>", "zip bombs"),
        ("xl/worksheets/sheet1.xml", b"<f>", "merged"),
        ("xl/worksheets/sheet1.xml", b"<e>", "error"),
        ("xl/worksheets/sheet1.xml", b"<far>", "goes on for more"),
    ],
)
def test_a_workbook_that_is_more_than_cells_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, why: str
) -> None:
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    cells = {
        b"<f>": '<sheetData/><mergeCells><mergeCell ref="A1:B1"/></mergeCells>',
        b"<e>": '<sheetData><row r="1"><c r="A1" t="e"><v>Thornbury</v></c></row></sheetData>',
        b"<far>": '<sheetData><row r="900000"><c r="A900000"><v>1</v></c></row></sheetData>',
    }.get(content)
    made = content if cells is None else f'<worksheet xmlns="{space}">{cells}</worksheet>'.encode()
    monkeypatch.setattr(deid.io.sheets, "_MOST_STEPS", 1000)
    data = mixed(part(XLSX, "base64", base64d(rewritten(workbook(A=[["a"]]), {name: made}))))
    with pytest.raises(FormatError, match=f"attachment 1.*{why}") as told:
        document(data)
    assert "thornbury" not in str(told.value).lower()
