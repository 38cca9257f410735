"""Word and OpenDocument files in place: what was found is gone from every part, and nothing else is touched."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packages import MEMBERS, ODT, PNG, body, contents, document, docx, paragraph, part, run, scrub, zipped

from deid.base.errors import DeidError, FormatError
from deid.io import Options, scan
from deid.pipeline import Pipeline, scrub_files, verify_files
from deid.records.record import Record

PLANTED = (
    "Thornbury",
    "Thorn",
    "Eleanor",
    "Elea",
    "Quigg",
    "thornbury",
    "48291735",
    "555-0148",
    "2024-03-14",
    "03/14/2024",
)


def words(data: bytes, name: str = "word/document.xml") -> str:
    """Return the words of a part without markup."""
    return "".join(ET.fromstring(contents(data)[name]).itertext())


@pytest.mark.parametrize("members", [MEMBERS, ODT], ids=["docx", "odt"])
def test_nothing_planted_is_left_in_any_part(members: dict[str, str | bytes], surrogates: Pipeline) -> None:
    data = zipped(members)
    assert all(word.encode() in b"".join(contents(data).values()) for word in ("Thornbury", "Quigg", "2024-03-14"))
    written = scrub(surrogates, data)
    for name, content in contents(written).items():
        left = [word for word in PLANTED if word.encode() in content]
        assert not left, (name, left)
        if name.endswith((".xml", ".rels")):
            ET.fromstring(content)
    assert b"Thornbury" not in written, "nor in comments of members"
    assert list(contents(written)) == list(contents(data))


def test_one_person_has_one_name_in_all_parts(surrogates: Pipeline) -> None:
    written = contents(scrub(surrogates, zipped(MEMBERS)))
    given_, family = re.search(rb"Re: (\w+) ([\w-]+), MRN", written["word/header1.xml"]).groups()  # type: ignore[union-attr]
    assert given_ + b" " + family in written["docProps/custom.xml"]
    assert b'<w:t xml:space="preserve">' + given_ + b" " + family + b"</w:t>" in written["word/document.xml"]
    assert family in written["word/footer1.xml"]
    author = re.search(rb'w:author="([^"]+)"', written["word/comments.xml"]).group(1)  # type: ignore[union-attr]
    assert author in written["docProps/core.xml"]
    assert author in written["word/people.xml"]


def test_a_paragraph_is_one_text_over_its_runs(hiding: Pipeline, surrogates: Pipeline) -> None:
    found = document(docx(paragraph("Mrs. Elea", "nor Thorn", "bury") + paragraph("next")))
    assert found.text.splitlines() == ["Mrs. Eleanor Thornbury", "next"]
    text = words(scrub(surrogates, docx(paragraph("Seen: Mrs. Elea", "nor Thorn", "bury today."))))
    assert re.fullmatch(r"Seen: Mrs. [A-Z][a-z]+ [A-Z][\w-]+ today\.", text)


def test_breaks_cells_and_rows_part_words() -> None:
    cells = "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("Name", "Ann Lee"))
    found = document(
        docx(
            f"<w:p>{run('a')}<w:r><w:tab/><w:t>b</w:t><w:br/></w:r>{run('c')}</w:p><w:tbl><w:tr>{cells}</w:tr></w:tbl>"
        )
    )
    assert found.text == "a\tb\nc\nName\tAnn Lee"


def test_words_that_lose_their_neighbours_keep_their_blanks(surrogates: Pipeline) -> None:
    """Word drops blanks at the ends of a run that does not say that they stay."""
    inner = "<w:p><w:r><w:t>Seen by Dr. Bartho</w:t></w:r><w:r><w:t>lomew Quigg at home.</w:t></w:r></w:p>"
    written = contents(scrub(surrogates, docx(inner)))["word/document.xml"].decode()
    assert '<w:t xml:space="preserve"> at home.</w:t>' in written
    assert contents(scrub(surrogates, docx("<w:p><w:r><w:t>quiet</w:t></w:r></w:p>")))[
        "word/document.xml"
    ].decode() == body("<w:p><w:r><w:t>quiet</w:t></w:r></w:p>")


def test_deleted_words_are_read_in_the_paragraph_as_it_was(surrogates: Pipeline) -> None:
    deleted = (
        '<w:del w:id="1" w:author="Author"><w:r><w:delText xml:space="preserve">Thornbury</w:delText></w:r></w:del>'
    )
    inserted = f'<w:ins w:id="2" w:author="Author">{run("the patient")}</w:ins>'
    data = docx(f"<w:p>{run('Discussed with Mrs. ')}{deleted}{inserted}{run(' at length.')}</w:p>")
    assert document(data).text.splitlines()[:2] == [
        "Discussed with Mrs. the patient at length.",
        "Discussed with Mrs. Thornbury at length.",
    ]
    assert "Thornbury" not in words(scrub(surrogates, data))
    assert words(scrub(surrogates, data)).endswith("the patient at length.")


@pytest.mark.parametrize("members", [MEMBERS, ODT], ids=["docx", "odt"])
def test_what_is_kept_is_kept_to_the_byte(members: dict[str, str | bytes], keeping: Pipeline) -> None:
    """Members stay packed as they were; only the day on which they were saved goes."""
    data = zipped(members)
    written = scrub(keeping, data)
    assert contents(written) == contents(data)
    assert b"Thornbury" not in written.replace(PNG, b"") or members is MEMBERS
    with zipfile.ZipFile(BytesIO(written)) as archive:
        assert {info.date_time[:3] for info in archive.infolist()} == {(1980, 1, 1)}


def test_members_that_nothing_touches_stay_packed_as_they_were(hiding: Pipeline) -> None:
    data = zipped(MEMBERS)
    written = scrub(hiding, data)
    same = [name for name, content in contents(data).items() if contents(written)[name] == content]
    assert {"_rels/.rels", "[Content_Types].xml"} <= set(same)
    for name in same:
        assert _packed(data, name) == _packed(written, name)


def _packed(data: bytes, name: str) -> bytes:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        info = archive.getinfo(name)
    start = info.header_offset + 30 + len(name.encode())
    return data[start : start + info.compress_size]


def test_parts_are_equal_outside_of_what_was_replaced(surrogates: Pipeline) -> None:
    data = zipped(MEMBERS)
    found = document(data)
    written = scrub(surrogates, data)
    again = document(written)
    assert isinstance(found.record, Record)
    assert isinstance(again.record, Record)
    assert found.record.frames(again.record.source)
    broken = contents(written) | {"_rels/.rels": contents(written)["_rels/.rels"].replace(b"rId1", b"rId9")}
    other = document(zipped({**broken}))
    assert isinstance(other.record, Record)
    assert not found.record.frames(other.record.source)


def test_pictures_and_objects_are_blank_and_counted(surrogates: Pipeline) -> None:
    data = zipped(MEMBERS)
    found = document(data)
    assert found.record is not None
    assert found.record.unexamined >= 4, "a picture, an object, a thumbnail, data of a site"
    written = contents(scrub(surrogates, data))
    assert written["word/media/image1.png"].startswith(b"\x89PNG")
    assert len(written["word/media/image1.png"]) < 100
    assert written["word/embeddings/oleObject1.bin"] == b""


def test_fields_without_words_stay_and_links_do_not(surrogates: Pipeline) -> None:
    written = contents(scrub(surrogates, zipped(MEMBERS)))
    assert b' w:instr=" PAGE \\* MERGEFORMAT "' in written["word/document.xml"]
    assert b"HYPERLINK" not in written["word/document.xml"]
    assert b'Target="media/image1.png"' in written["word/_rels/document.xml.rels"]
    assert b"ehr.example" not in written["word/document.xml"]


def test_a_date_that_cannot_be_written_goes_with_its_attribute(hiding: Pipeline) -> None:
    """Word takes a file whose dates are no dates for damaged."""
    written = contents(scrub(hiding, zipped(MEMBERS)))
    assert b"w:date" not in written["word/comments.xml"]
    assert b"dcterms:created" not in written["docProps/core.xml"]


def test_names_of_programs_and_styles_stay(surrogates: Pipeline) -> None:
    styles = part(
        "styles",
        '<w:style w:styleId="Heading1"><w:name w:val="heading 1"/><w:basedOn w:val="Normal"/></w:style>'
        '<w:style w:type="paragraph" w:customStyle="1" w:styleId="a"><w:name w:val="Dr. Bartholomew Quigg"/></w:style>',
    )
    written = contents(scrub(surrogates, docx(paragraph("x"), **{"word/styles.xml": styles})))[
        "word/styles.xml"
    ].decode()
    assert '<w:name w:val="heading 1"/><w:basedOn w:val="Normal"/>' in written
    assert "Quigg" not in written


def test_ids_of_styles_of_a_site_are_new_and_lead_to_them(surrogates: Pipeline) -> None:
    """A program makes them of the name of the style: ThornburyLetter."""
    styles = part("styles", '<w:style w:styleId="ThornburyLetter"/><w:style w:styleId="BodyText2"/>')
    used = "".join(f'<w:p><w:pPr><w:pStyle w:val="{one}"/></w:pPr></w:p>' for one in ("ThornburyLetter", "BodyText2"))
    written = contents(scrub(surrogates, docx(used, **{"word/styles.xml": styles})))
    ids = re.findall(rb'styleId="(\w+)"', written["word/styles.xml"])
    assert re.findall(rb'pStyle w:val="(\w+)"', written["word/document.xml"]) == ids
    assert ids[1] == b"BodyText2"
    assert ids[0] != b"ThornburyLetter"


CHANGED = (
    '<text:tracked-changes><text:changed-region xml:id="ct94305911947712" text:id="ct94305911947712"><text:deletion>'
    "<office:change-info><dc:creator>Bartholomew Quigg</dc:creator><dc:date>2024-03-14T09:00:00</dc:date>"
    "</office:change-info><text:p>Mrs. Thornbury</text:p></text:deletion></text:changed-region></text:tracked-changes>"
    '<text:p>Seen<text:change text:change-id="ct94305911947712"/><text:bookmark text:name="Thornbury"/>'
    '<text:a xlink:href="#Thornbury">above</text:a>'
    '<text:bookmark-ref text:ref-name="Thornbury">x</text:bookmark-ref></text:p>'
)


@pytest.mark.parametrize("policy", ["hiding", "surrogates", "keeping"])
def test_what_refers_to_a_place_in_the_document_still_leads_there(policy: str, request: pytest.FixtureRequest) -> None:
    """LibreOffice shows deleted words at the head of the page where nothing refers to them or they have no date."""
    content = str(ODT["content.xml"])
    head, tail = content.split("<text:tracked-changes>")[0], content.split("</text:tracked-changes>")[1]
    pipeline = request.getfixturevalue(policy)
    written = contents(scrub(pipeline, zipped({**ODT, "content.xml": head + CHANGED + tail})))["content.xml"].decode()
    (change,) = set(re.findall(r'(?:xml:|text:|change-)id="(.+?)"', written))
    where = r'(?:bookmark text:name|ref-name)="(.+?)"|href="#(.+?)"'
    (place,) = {one or other for one, other in re.findall(where, written)}
    kept = policy == "keeping"
    assert (change == "ct94305911947712", place == "Thornbury") == (kept, kept)
    assert re.fullmatch("[A-Za-z]+[a-z0-9]*", change), "a name of XML"
    day = re.findall("<dc:date>(.+?)</dc:date></office:change-info>", written)
    assert day == {"hiding": ["1970-01-01T00:00:00"], "keeping": ["2024-03-14T09:00:00"]}.get(policy, day)
    assert len(day) == 1


@pytest.mark.parametrize(
    ("make", "member"),
    [
        (
            lambda: docx(
                '<w:p><w:bookmarkStart w:id="1" w:name="Thornbury"/><w:bookmarkEnd w:id="1"/></w:p>'
                '<w:p><w:hyperlink w:anchor="Thornbury"><w:r><w:t>above</w:t></w:r></w:hyperlink></w:p>'
            ),
            "word/document.xml",
        ),
        (lambda: b'<html><body><a name="Thornbury"></a><p id="Thornbury">x</p><a href="#Thornbury">above</a>', None),
    ],
    ids=["docx", "html"],
)
def test_links_lead_to_bookmarks(make: Callable[[], bytes], member: str | None, surrogates: Pipeline) -> None:
    written = scrub(surrogates, make())
    shown = contents(written)[member] if member else written
    found = re.findall(rb'(?:w:name|anchor|name|(?<!w:)\bid|href)="#?(\w{4,})"', shown)
    assert len(found) in (2, 3)
    assert len(set(found)) == 1
    assert found[0] != b"Thornbury"


REFUSED = {
    "macros": {"word/vbaProject.bin": b"x"},
    "controls that run programs": {"word/activeX/activeX1.bin": b"x"},
    "digital signature": {"_xmlsignatures/sig1.xml": "<x/>"},
    "another document": {"word/afchunk1.htm": "Thornbury"},
    "no line of the table": {"word/Thornbury.xml": "<x/>"},
    "leads out": {"../evil.xml": "<x/>"},
    "document type declaration": {"word/header1.xml": '<!DOCTYPE x [<!ENTITY a "Thornbury">]><x>&a;</x>'},
    "not well-formed": {"word/header1.xml": "<x>Thornbury"},
    "no text of its own": {"word/document.xml": ""},
}


@pytest.mark.parametrize("why", sorted(REFUSED))
def test_what_cannot_be_read_is_refused_with_the_reason(why: str) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        document(docx(paragraph("x"), **REFUSED[why]))
    assert "Thornbury" not in f"{caught.value} {caught.value!r}"


def test_macros_by_another_name_encryption_and_old_kinds_are_refused() -> None:
    types = MEMBERS["[Content_Types].xml"]
    assert isinstance(types, str)
    macros = types.replace("openxmlformats-officedocument.wordprocessingml.document", "ms-word.document.macroEnabled")
    with pytest.raises(FormatError, match="macros"):
        document(docx(paragraph("x"), **{"[Content_Types].xml": macros}))
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    with pytest.raises(FormatError, match="old kind"):
        document(ole)
    with pytest.raises(FormatError, match="encrypted"):
        document(ole + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(FormatError, match="PowerPoint"):
        document(zipped({"ppt/presentation.xml": "<x/>"}))
    with pytest.raises(FormatError, match="no workbook"):
        document(zipped({"xl/workbook.xml": "<x/>"}))
    signed = {**ODT, "META-INF/documentsignatures.xml": "<x/>"}
    with pytest.raises(FormatError, match="signature"):
        document(zipped(signed))
    with pytest.raises(FormatError, match="macros"):
        document(zipped({**ODT, "Basic/Standard/Module1.xml": "<x/>"}))


def test_bombs_are_refused_before_they_are_unpacked() -> None:
    zeros = bytes(8 << 20)
    with pytest.raises(FormatError, match="zip bombs"):
        document(docx(paragraph("x"), **{"word/media/image1.png": zeros}))
    with pytest.raises(FormatError, match="when unpacked"):
        document(docx(*[paragraph("x" * 900)] * 2000), Options(max_document=1 << 20))
    with pytest.raises(FormatError, match="members"):
        document(docx(paragraph("x"), **{f"word/header{n}.xml": "<x/>" for n in range(2001)}))
    lied = bytearray(docx(paragraph("x"), **{"word/media/image1.png": bytes(900_000)}))
    at = lied.rfind(b"word/media/image1.png") - 46 + 24
    lied[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(FormatError, match="damaged"):
        document(bytes(lied))
    with pytest.raises(FormatError, match="deep"):
        document(docx("<w:sdt>" * 500 + "</w:sdt>" * 500))
    with pytest.raises(FormatError, match="namespaces"):
        document(docx("".join(f'<w:p xmlns:a{n}="urn:x:{n}"/>' for n in range(2000))))


PIECES = st.sampled_from(
    [
        paragraph("Mrs. ", "Ann Smith"),
        paragraph("&amp;&lt;&#13;\r\n", "ü\U0001f600"),
        "<w:p><w:r><w:t>Dr. Lee</w:t><w:tab/><w:t/></w:r></w:p>",
        f'<w:p><w:del w:author="Dr. Lee">{run("Dr. Lee").replace("w:t", "w:delText")}</w:del>{run(" &quot;")}</w:p>',
        "<w:p><w:r><w:t><![CDATA[Ann <Smith>]]></w:t><!-- Ann Smith --></w:r></w:p>",
        "<w:tbl><w:tr><w:tc>" + paragraph("Dr. Lee") + "</w:tc><w:tc/></w:tr></w:tbl>",
        f"<w:p><w:r><w:pict><w:p>{run('Ann Smith')}</w:p></w:pict></w:r>{run('x')}</w:p>",
        "<x:y xmlns:x='urn:z' b='Dr. Lee'>Ann Smith<x:z/></x:y>",
        "<w:p><w:r><w:instrText> PAGE </w:instrText><w:instrText>Ann Smith</w:instrText></w:r></w:p>",
        '<w:docVars><w:docVar w:val="Dr. Lee"><w:p/></w:docVar></w:docVars>',
        "<w:p w:date='2024-03-14T01:02:03Z' w:x=\"Ann Smith\" w:author='Dr. &quot;Lee&quot;'/>",
    ]
)


@settings(max_examples=100)
@given(pieces=st.lists(PIECES, max_size=6))
def test_bytes_outside_of_places_are_untouched(pieces: list[str], hiding: Pipeline) -> None:
    """All words are replaced, all that nobody examined is gone; the rest is framed by the original."""
    data = docx(*pieces)
    found = document(data)
    record = found.record
    assert isinstance(record, Record)
    assert contents(record.replaced(found.text, [], keep_blocked=True).data) == contents(data)
    written = scrub(hiding, data)
    again = document(written).record
    assert isinstance(again, Record)
    assert record.frames(again.source)
    assert not [name for name in (b"Dr. Lee", b"Ann", b"Smith") if name in contents(written)["word/document.xml"]]


@settings(max_examples=150)
@given(data=st.data())
def test_bytes_outside_of_places_are_untouched_in_damaged_files(data: st.DataObject) -> None:
    """Cut anywhere, or with bytes overwritten, packed or not: something is read or refused, and nothing is quoted."""
    members = data.draw(st.sampled_from([MEMBERS, ODT]))
    packed = zipped(members, data.draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(4, len(packed) - 1))
        new = data.draw(st.sampled_from([b"", b"\0", b"<", b"&", b'"', b"\xff", b"PK\5\6", b"Zzyzx"]))
        packed = packed[:at] + new + packed[at + data.draw(st.sampled_from([0, len(new), 9])) :]
    try:
        found = document(packed)
    except DeidError as error:
        refusal: DeidError | None = error
    else:
        refusal = None
    if refusal is not None:
        assert refusal.hint
        assert not re.search("Zzyzx|Thornbury|Quigg", f"{refusal} {refusal!r}")
    elif isinstance(found.record, Record):
        assert contents(found.record.replaced(found.text, [], keep_blocked=True).data)


def test_a_folder_of_several_kinds_is_one_folder(surrogates: Pipeline, tmp_path: Path) -> None:
    """Documents and notes go together, one person has one name in all; what cannot be read is told, file by file."""
    inbox = tmp_path / "in"
    inbox.mkdir()
    (inbox / "letter.docx").write_bytes(zipped(MEMBERS))
    (inbox / "letter.odt").write_bytes(zipped(ODT))
    (inbox / "note.txt").write_text("Patient: Eleanor Thornbury, MRN 48291735.")
    (inbox / "scan.png").write_bytes(PNG)
    source = scan(inbox)
    assert source.format.name == "documents"
    report = scrub_files(source, tmp_path / "out", surrogates)
    assert (report.documents, [type(f.error) for f in report.failures]) == (3, [FormatError])
    assert sorted(path.suffix for path in (tmp_path / "out").iterdir()) == [".docx", ".odt", ".txt"]
    checked = verify_files(scan(inbox), scan(tmp_path / "out"), key=surrogates.key)
    assert checked.documents == 3
    assert len(checked.failures) == 1, "the picture"


def test_no_style_of_an_open_document_tells_a_name(surrogates: Pipeline) -> None:
    """A style that the site made has a new name wherever it is defined, built on and used; the program's own stay."""
    style = (
        '<office:styles><style:font-face style:name="Liberation Sans"/>'
        '<style:style style:name="Garcia_20_Lopez" style:display-name="Mrs. Eleanor Thornbury"/>'
        '<style:style style:name="Text_20_body" style:parent-style-name="Garcia_20_Lopez" style:family="paragraph">'
        '<style:map style:apply-style-name="Garcia_20_Lopez"/></style:style></office:styles>'
    )
    styles = str(ODT["styles.xml"]).replace("<office:master-styles>", f"{style}<office:master-styles>")
    content = str(ODT["content.xml"]).replace(
        "<text:p>Patient:", '<text:p text:style-name="Garcia_20_Lopez" text:class-names="Lopez">Patient:'
    )
    written = contents(scrub(surrogates, zipped({**ODT, "styles.xml": styles, "content.xml": content})))
    both = (written["styles.xml"] + written["content.xml"]).decode()
    assert not re.search("Garcia|Lopez|Thornbury", both)
    (new,) = set(re.findall(r'style:name="(id\w+)"', both))
    assert re.findall(r'([\w:-]+style-name)="(id\w+)"', both) == [
        (name, new) for name in ("style:parent-style-name", "style:apply-style-name", "text:style-name")
    ]
    assert both.count('style:name="Liberation Sans"') == both.count('style:name="Text_20_body"') == 1
    assert 'text:style-name="T1"' in both
