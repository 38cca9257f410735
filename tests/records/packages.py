# ruff: noqa: E501  (markup, a line for what belongs together)
"""Office documents made by hand, with a name in every place that can hold one."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import replace
from io import BytesIO

import openpyxl

from deid.document import Document
from deid.io import Options
from deid.io.documents import read
from deid.pipeline import Pipeline

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_SPACES = (
    f'xmlns:w="{W}" xmlns:r="{R}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:w15="http://schemas.microsoft.com/office/word/2012/wordml" xmlns:o="urn:schemas-microsoft-com:office:office"'
)
PNG = b"\x89PNG\r\n\x1a\n" + b"Thornbury" * 9


def run(text: str, bold: bool = False) -> str:
    look = "<w:rPr><w:b/></w:rPr>" if bold else ""
    return f'<w:r w:rsidR="00A1B2C3">{look}<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*texts: str) -> str:
    return f"<w:p>{''.join(run(text, bool(n % 2)) for n, text in enumerate(texts))}</w:p>"


def body(*parts: str) -> str:
    return f"{_HEAD}<w:document {_SPACES}><w:body>{''.join(parts)}<w:sectPr/></w:body></w:document>"


def part(name: str, inner: str) -> str:
    return f"{_HEAD}<w:{name} {_SPACES}>{inner}</w:{name}>"


def rels(*links: tuple[str, str, str]) -> str:
    made = [
        f'<Relationship Id="rId{n}" Type="{R}/{kind}" Target="{target}"{mode}/>'
        for n, (kind, target, mode) in enumerate(links, 1)
    ]
    return (
        f'{_HEAD}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f"{''.join(made)}</Relationships>"
    )


EXTERNAL = ' TargetMode="External"'
CORE = (
    f'{_HEAD}<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><dc:title>Letter on Eleanor Thornbury</dc:title>'
    "<dc:creator>Bartholomew Quigg</dc:creator><cp:lastModifiedBy>Bartholomew Quigg</cp:lastModifiedBy>"
    '<dcterms:created xsi:type="dcterms:W3CDTF">2024-03-14T10:22:00Z</dcterms:created></cp:coreProperties>'
)
CUSTOM = (
    f'{_HEAD}<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/custom-properties" '
    'xmlns:vt="http://schemas.openxmlformats.org/officeDocument/2006/docPropsVTypes">'
    '<property fmtid="{D5CDD505-2E9C-101B-9397-08002B2CF9AE}" pid="2" name="Patient Name">'
    "<vt:lpwstr>Eleanor Thornbury</vt:lpwstr></property>"
    '<property fmtid="{D5CDD505-2E9C-101B-9397-08002B2CF9AE}" pid="3" name="MRN"><vt:i4>48291735</vt:i4></property>'
    "</Properties>"
)
ITEM = '<r:Case xmlns:r="http://hospital.example/case" owner="Thornbury"><r:Name>Eleanor Thornbury</r:Name></r:Case>'

DOCUMENT = body(
    paragraph("Patient: Elea", "nor Thorn", "bury was seen on 03/14/2024 by Dr. Bartholomew Quigg."),
    "<w:tbl><w:tr><w:tc>" + paragraph("Patient") + "</w:tc><w:tc>" + paragraph("Eleanor Thornbury") + "</w:tc></w:tr>"
    "<w:tr><w:tc>" + paragraph("Phone") + "</w:tc><w:tc>" + paragraph("(802) 555-0148") + "</w:tc></w:tr></w:tbl>",
    "<w:p><w:r><mc:AlternateContent><mc:Choice Requires=\"wps\"><w:drawing><wp:inline>"
    '<wp:docPr id="1" name="Picture 1" descr="Photograph of Mrs. Eleanor Thornbury"/><a:graphic><a:graphicData uri="x">'
    "<wps:wsp><wps:txbx><w:txbxContent>" + paragraph("Mrs. Eleanor ", "Thornbury, chosen") + "</w:txbxContent></wps:txbx></wps:wsp>"
    "</a:graphicData></a:graphic></wp:inline></w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape id=\"s1\" "
    'alt="Mrs. Eleanor Thornbury"><v:textbox><w:txbxContent>' + paragraph("Mrs. Eleanor Thornbury, fallen back")
    + "</w:txbxContent></v:textbox><v:textpath string=\"Dr. Bartholomew Quigg\"/></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>",
    '<w:p><w:r><w:t>Mrs. Eleanor</w:t></w:r><w:del w:id="7" w:author="Bartholomew Quigg" w:date="2024-03-14T09:00:00Z">'
    '<w:r><w:delText xml:space="preserve"> Thornbury</w:delText></w:r></w:del><w:ins w:id="8" w:author="Bartholomew Quigg" '
    'w:date="2024-03-14T09:01:00Z"><w:r><w:t xml:space="preserve"> Thornbury-Vance</w:t></w:r></w:ins>'
    "<w:r><w:t xml:space=\"preserve\"> went home.</w:t></w:r></w:p>",
    '<w:p><w:hyperlink r:id="rId1" w:tooltip="Chart of Eleanor Thornbury">' + run("chart") + "</w:hyperlink></w:p>",
    '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> HYPERLINK "http://ehr.example/Thorn</w:instrText></w:r>'
    '<w:r><w:instrText>bury" </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>' + run("here")
    + '<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>',
    '<w:p><w:fldSimple w:instr=" PAGE \\* MERGEFORMAT ">' + run("1") + "</w:fldSimple></w:p>",
    "<w:sdt><w:sdtPr><w:alias w:val=\"Mrs. Eleanor Thornbury\"/><w:dataBinding w:xpath=\"/r:Case/Thornbury\" w:storeItemID=\"{1}\"/></w:sdtPr>"
    "<w:sdtContent>" + paragraph("Seen by Dr. Bartholomew Quigg") + "</w:sdtContent></w:sdt>",
    '<w:p><w:bookmarkStart w:id="1" w:name="Mrs. Eleanor Thornbury"/><w:smartTag w:element="PersonName"><w:smartTagPr>'
    '<w:attr w:name="ProductID" w:val="Mrs. Eleanor Thornbury"/></w:smartTagPr>' + run("Mrs. Thornbury") + "</w:smartTag></w:p>",
    "<!-- Thornbury -->",
)  # fmt: skip
MEMBERS: dict[str, str | bytes] = {
    "[Content_Types].xml": f'{_HEAD}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>',
    "_rels/.rels": rels(("officeDocument", "word/document.xml", "")),
    "word/document.xml": DOCUMENT,
    "word/_rels/document.xml.rels": rels(
        ("hyperlink", "mailto:eleanor.thornbury@mail.example", EXTERNAL),
        ("attachedTemplate", "file:///C:/Users/thornbury/x.dotx", EXTERNAL),
        ("image", "media/image1.png", ""),
    ),
    "word/header1.xml": part("hdr", paragraph("Re: Eleanor Thornbury, MRN 48291735")),
    "word/footer1.xml": part("ftr", paragraph("Mrs. Thornbury, page 1")),
    "word/footnotes.xml": part(
        "footnotes", f'<w:footnote w:id="1">{paragraph("As told by Mrs. Thornbury")}</w:footnote>'
    ),
    "word/endnotes.xml": part("endnotes", f'<w:endnote w:id="1">{paragraph("Mr. Gerald Thornbury")}</w:endnote>'),
    "word/comments.xml": part(
        "comments",
        '<w:comment w:id="0" w:author="Bartholomew Quigg" w:initials="BQ" w:date="2024-03-14T09:02:00Z">'
        f"{paragraph('Ask Mrs. Thornbury.')}</w:comment>",
    ),
    "word/people.xml": f'{_HEAD}<w15:people {_SPACES}><w15:person w15:author="Bartholomew Quigg"><w15:presenceInfo '
    'w15:providerId="AD" w15:userId="S::quigg@h.example::1"/></w15:person></w15:people>',
    "word/settings.xml": part(
        "settings", '<w:zoom w:percent="100"/><w:docVars><w:docVar w:name="p" w:val="Thornbury"/></w:docVars>'
    ),
    "word/media/image1.png": PNG,
    "word/embeddings/oleObject1.bin": b"Thornbury" * 3,
    "docProps/core.xml": CORE,
    "docProps/custom.xml": CUSTOM,
    "docProps/app.xml": f'{_HEAD}<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties">'
    "<Application>Microsoft Office Word</Application><Manager>Bartholomew Quigg</Manager></Properties>",
    "docProps/thumbnail.jpeg": b"\xff\xd8\xffThornbury",
    "customXml/item1.xml": ITEM,
}  # fmt: skip

OFFICE = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
    for name, space in (("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("meta", "meta"),
                        ("style", "style"), ("config", "config"), ("svg", "svg-compatible"))
) + ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'  # fmt: skip
ODT: dict[str, str | bytes] = {
    "mimetype": "application/vnd.oasis.opendocument.text",
    "content.xml": f"{_HEAD}<office:document-content {OFFICE}><office:scripts><x/></office:scripts><office:body><office:text>"
    "<text:tracked-changes><text:changed-region><text:deletion><office:change-info><dc:creator>Bartholomew Quigg</dc:creator>"
    "<dc:date>2024-03-14T09:00:00</dc:date></office:change-info><text:p>Mrs. Thornbury</text:p></text:deletion></text:changed-region>"
    '</text:tracked-changes><text:h text:outline-level="1">Mrs. Eleanor Thornbury</text:h>'
    "<text:p>Patient: Elea<text:span text:style-name=\"T1\">nor Thorn</text:span>bury<text:s text:c=\"2\"/>was seen on 03/14/2024."
    "<office:annotation><dc:creator>Bartholomew Quigg</dc:creator><dc:date>2024-03-14T09:00:00</dc:date>"
    "<meta:creator-initials>BQ</meta:creator-initials><text:p>Ask Mrs. Thornbury.</text:p></office:annotation></text:p>"
    "<text:p><draw:frame draw:name=\"Mrs. Eleanor Thornbury\"><draw:text-box><text:p>Mrs. Eleanor Thornbury</text:p></draw:text-box>"
    "<svg:desc>Photograph of Mrs. Eleanor Thornbury</svg:desc></draw:frame></text:p>"
    '<text:p><text:a xlink:href="mailto:eleanor.thornbury@mail.example" office:title="Mrs. Thornbury">mail</text:a>'
    "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Mrs. Thornbury said so.</text:p></text:note-body>"
    "</text:note></text:p><table:table table:name=\"Table1\"><table:table-row><table:table-cell><text:p>Patient</text:p></table:table-cell>"
    "<table:table-cell><text:p>Eleanor Thornbury</text:p></table:table-cell></table:table-row></table:table>"
    "</office:text></office:body></office:document-content>",
    "styles.xml": f"{_HEAD}<office:document-styles {OFFICE}><office:master-styles><style:master-page style:name=\"Standard\">"
    "<style:header><text:p>Re: Eleanor Thornbury, MRN 48291735</text:p></style:header></style:master-page></office:master-styles>"
    "</office:document-styles>",
    "meta.xml": f"{_HEAD}<office:document-meta {OFFICE}><office:meta><meta:initial-creator>Bartholomew Quigg</meta:initial-creator>"
    "<dc:title>Letter on Eleanor Thornbury</dc:title><meta:creation-date>2024-03-14T08:00:00</meta:creation-date>"
    "<meta:user-defined meta:name=\"Patient Name\">Eleanor Thornbury</meta:user-defined></office:meta></office:document-meta>",
    "settings.xml": f"{_HEAD}<office:document-settings {OFFICE}><office:settings><config:config-item-set config:name=\"s\">"
    "<config:config-item config:name=\"PrinterName\" config:type=\"string\">Thornbury Wing 2</config:config-item>"
    "<config:config-item config:name=\"Zoom\" config:type=\"short\">100</config:config-item></config:config-item-set>"
    "</office:settings></office:document-settings>",
    "Thumbnails/thumbnail.png": PNG,
    "META-INF/manifest.xml": f"{_HEAD}<manifest:manifest xmlns:manifest=\"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0\">"
    '<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.text"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>',
}  # fmt: skip


def zipped(members: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of members, saved at a time that tells."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, (2024, 3, 14, 10, 22, 0))
            info.compress_type = zipfile.ZIP_STORED if name == "mimetype" else method
            info.comment = b"Thornbury"
            archive.writestr(info, content)
    return out.getvalue()


def docx(*paragraphs: str, **others: str | bytes) -> bytes:
    """Return a small document."""
    names = ("[Content_Types].xml", "_rels/.rels")
    return zipped({**{name: MEMBERS[name] for name in names}, "word/document.xml": body(*paragraphs), **others})


def contents(data: bytes) -> dict[str, bytes]:
    """Return the members of an archive, as another reader of archives has them."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def document(data: bytes, options: Options | None = None) -> Document:
    """Return the document of a file."""
    return read(data, options or Options())


def scrub(pipeline: Pipeline, data: bytes) -> bytes:
    """Return what a pipeline makes of a document in its own format."""
    written = pipeline(replace(document(data), id="d")).document.record
    assert written is not None
    return written.data


def workbook(**sheets: list[list[object]]) -> bytes:
    """Return a workbook of sheets of rows, all but the first one hidden."""
    book = openpyxl.Workbook()
    book.properties.creator = "Eleanor Thornbury"
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        sheet.sheet_state = "visible" if len(book.worksheets) == 1 else "hidden"
        for row in rows:
            sheet.append(row)
    stream = BytesIO()
    book.save(stream)
    return stream.getvalue()


def pdf(*pages: str, root: bytes = b"", page: bytes = b"", encrypt: bytes = b"", picture: bool = False) -> bytes:
    """Return a PDF file of pages of one line; ``root`` and ``page`` are more entries of the catalogue and of each page."""
    objects = [b"<</Type/Catalog/Pages 2 0 R%s>>" % root, b""]
    objects.append(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    objects.append(b"<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>"
                   b"stream\n\0\nendstream")  # fmt: skip
    kids = []
    drawn = b"/XObject<</I 4 0 R>>" if picture else b""
    for line in pages:
        stream = zlib.compress(b"BT /F 12 Tf 72 700 Td (" + line.encode() + b") Tj ET")
        objects.append(b"<</Filter/FlateDecode/Length %d>>stream\n" % len(stream) + stream + b"\nendstream")
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R/Resources<</Font<</F 3 0 R>>%s>>%s>>"
            % (len(objects), drawn, page)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(pages), b" ".join(kids))
    out = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + content + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, encrypt, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end
