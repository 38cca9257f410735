# ruff: noqa: E501  (markup, a line for what belongs together)
"""A name planted where an adversary, a program or a habit puts one in pages, RTF, e-mail and Word files: none is left."""

from __future__ import annotations

import pytest
from packages import contents, docx, paragraph, part, scrub

from deid.pipeline import Pipeline

NAME = "Mrs. Eleanor Thornbury"
HTML = {
    "meta": f'<meta name="patient" content="{NAME}">',
    "name of meta": '<meta name="thornbury" content="x">',
    "Open Graph": f'<meta property="og:title" content="{NAME}">',
    "title": f"<title>{NAME}</title>",
    "alt": f'<img alt="{NAME}">',
    "data": '<p data-name="Thornbury" data-thornbury=1>x',
    "hidden": f'<input type=hidden name=thornbury value="{NAME}">',
    "id": '<p id=thornbury><a name="Thornbury">',
    "anchor": '<a href="#thornbury">x</a>',
    "mail": '<a href="mailto:thornbury@mail.example?subject=Thornbury&cc=thornbury@x.example">x</a>',
    "JSON": '<script type="application/ld+json">{"name": "Thornbury"}</script>',
    "sources": '<img srcset="thornbury.png 2x" src=thornbury.png longdesc="thornbury">',
    "comment": "<!-- Thornbury --><!-- [if mso]>Thornbury<![endif]-->",
    "list": f'<datalist><option value="{NAME}" label="{NAME}"></datalist>',
    "drawing": f"<svg><text>{NAME}</text><title>{NAME}</title></svg>",
    "declaration": "<!DOCTYPE thornbury><?thornbury x?><![CDATA[Thornbury]]>",
    "template": f"<template>{NAME}</template><noscript>{NAME}</noscript><textarea>{NAME}</textarea>",
    "frame": f"<iframe srcdoc='<p>{NAME}'>{NAME}</iframe>",
    "namespace": '<html xmlns:t="urn:thornbury">',
    "tag": "<thornbury>x</thornbury>",
    "handler": "<p onclick=\"f('Thornbury')\">",
    "sheet": "<style>p:after{content:'Thornbury'} /* Thornbury */ @import 'thornbury.css';</style>",
    "aria": f'<p aria-label="{NAME}">',
    "font": "<font face=Thornbury>x</font><p style=\"font-family:'Thornbury Hand', serif\">x<p style='font-family : Thornbury'>x",
    "fonts of a sheet": "<style>p{font-family:Thornbury, serif} @font-face{font-family: Thornbury Hand}</style>",
}
RTF = {
    "bookmark": r"{\*\bkmkstart Thornbury}",
    "style": r"{\stylesheet{\s1 Thornbury;}}",
    "list": r"{\*\listtable{\list{\listname Thornbury;}Thornbury}}{\*\listoverridetable Thornbury}",
    "shape": r"{\shp{\*\shpinst{\sp{\sn Thornbury}{\sv Thornbury}}}}",
    "colours": r"{\colortbl;Thornbury;}",
    "sittings": r"{\*\rsidtbl Thornbury}",
    "remark": r"{\*\atnref Thornbury}{\*\atrfstart Thornbury}{\*\atnid Thornbury}{\*\atnauthor Thornbury}",
    "formulas": r"{\*\mmathPr Thornbury}{\*\wgrffmtfilter Thornbury}",
    "styles": r"{\*\latentstyles{\lsdlockedexcept Thornbury;}}{\*\defchp Thornbury}{\*\defpap Thornbury}",
    "merge field": r"{\field{\*\fldinst MERGEFIELD Thornbury}{\fldrslt x}}",
    "mail merge": r"{\*\mailmerge{\mmconnectstr Thornbury}}{\*\docvar{Thornbury}{Thornbury}}",
    "page style": r"{\*\pgdsctbl{\pgdsc0 Thornbury;}}",
    "info": r"{\info{\title Thornbury}{\author Thornbury}{\doccomm Thornbury}{\*\company Thornbury}{\hlinkbase Thornbury}}",
    "properties": r"{\*\userprops{\propname Thornbury}\proptype30{\staticval Thornbury}}",
    "object": r"{\object{\*\objname Thornbury}{\*\objdata 54}}",
    "markup": r"{\*\xmlopen\xmlns1{\factoidname Thornbury}}",
    "hidden": r"{\v Thornbury }{\deleted Thornbury }",
    "programs": r"{\*\generator Thornbury;}{\object{\*\objclass Thornbury.1}}",
}
MAIL = {
    name: f"{name}: {value}"
    for name, value in {
        "Received": "from thornbury by x; Thu, 14 Mar 2024 10:22:00 +0100",
        "X-Mailer": "Thornbury",
        "List-Id": "<thornbury.example>",
        "DKIM-Signature": "v=1; d=thornbury.example; s=thornbury",
        "In-Reply-To": "<a@thornbury>",
        "Organization": "Thornbury",
        "Importance": "thornbury",
        "MIME-Version": "1.0 (Thornbury)",
        "Content-Description": NAME,
        "To": "undisclosed-recipients:;, Thornbury <x@y.example>",
        "Cc": "Thornbury Family: a@b.example;, c@d.example (Thornbury)",
        "Content-Type": 'text/plain; name*0="Thorn"; name*1="hornbury"; thornbury=1; format=thornbury; type="thornbury"',
        "Content-Disposition": "inline; filename*=utf-8''Thornbury",
        "Content-Location": "http://thornbury/",
        "Date": "Thu, 14 Mar 2024 10:22:00 +0100 (Thornbury)",
        "Resent-Date": "Thornbury 14 Mar 2024Thornbury",
        "Content-Language": "thornbury",
        "Thornbury": "x",
    }.items()
}
WORD = {
    "word/glossary/document.xml": part("glossaryDocument", f'<w:docParts><w:docPart><w:docPartPr><w:name w:val="{NAME}"/></w:docPartPr><w:docPartBody>{paragraph(NAME)}</w:docPartBody></w:docPart></w:docParts>'),
    "word/settings.xml": part("settings", '<w:mailMerge><w:connectString w:val="Data Source=Thornbury"/><w:query w:val="Thornbury"/></w:mailMerge><w:docVars><w:docVar w:name="a" w:val="Thornbury"/></w:docVars><w:rsids><w:rsidRoot w:val="00A1B2C3"/></w:rsids>'),
    "word/numbering.xml": part("numbering", f'<w:abstractNum><w:name w:val="Thornbury"/><w:lvl><w:lvlText w:val="{NAME} %1"/></w:lvl></w:abstractNum>'),
    "word/webSettings.xml": part("webSettings", '<w:div w:id="1"><w:name w:val="Thornbury"/></w:div>'),
    "word/charts/chart1.xml": f'<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><c:f>Thornbury!$A$1</c:f><c:strCache><c:pt idx="0"><c:v>{NAME}</c:v></c:pt></c:strCache><a:t>{NAME}</a:t></c:chartSpace>',
    "word/comments.xml": part("comments", f'<w:comment w:author="Thornbury" w:initials="Thornbury">{paragraph(NAME)}</w:comment>'),
    "docProps/app.xml": '<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties"><TitlesOfParts>Thornbury</TitlesOfParts><Template>Thornbury.dotx</Template><Manager>Thornbury</Manager><HyperlinkBase>http://thornbury/</HyperlinkBase></Properties>',
}  # fmt: skip
BODY = {
    "control": '<w:sdt><w:sdtPr><w:tag w:val="Thornbury"/><w:placeholder><w:docPart w:val="Thornbury"/></w:placeholder><w:comboBox><w:listItem w:displayText="Thornbury" w:value="Thornbury"/></w:comboBox></w:sdtPr></w:sdt>',
    "merge field": '<w:p><w:fldSimple w:instr=" MERGEFIELD Thornbury "/></w:p>',
    "form": '<w:ffData><w:name w:val="Thornbury"/><w:default w:val="Thornbury"/><w:helpText w:val="Thornbury"/></w:ffData>',
    "right": '<w:permStart w:ed="clinic\\Thornbury" w:id="1"/>',
    "names of a site's own": '<w:smartTag w:uri="urn:thornbury:x" w:element="x"/><a:ext uri="http://thornbury.example/x"/>',
    "unknown": "<x:y xmlns:x='urn:z' b='Thornbury'>Thornbury</x:y>",
}
SEEN = f"{NAME} was seen."


@pytest.mark.parametrize("where", HTML)
def test_none_is_left_in_a_page(where: str, surrogates: Pipeline) -> None:
    written = scrub(surrogates, f"<html><body>{HTML[where]}\n<p>{SEEN}".encode())
    assert b"hornbury" not in written


@pytest.mark.parametrize("where", RTF)
def test_none_is_left_in_rtf(where: str, surrogates: Pipeline) -> None:
    assert b"hornbury" not in scrub(surrogates, rf"{{\rtf1\ansi {RTF[where]} {SEEN}\par}}".encode())


@pytest.mark.parametrize("where", MAIL)
def test_none_is_left_in_a_message(where: str, surrogates: Pipeline) -> None:
    written = scrub(surrogates, f"From: a@b.example\nMessage-ID: <1@x>\n{MAIL[where]}\n\n{SEEN}\n".encode())
    assert b"hornbury" not in written
    assert b"14 Mar" not in written


@pytest.mark.parametrize("where", [*WORD, *BODY])
def test_none_is_left_in_a_word_file(where: str, surrogates: Pipeline) -> None:
    data = docx(paragraph(SEEN), BODY.get(where, ""), **{where: WORD[where]} if where in WORD else {})
    assert not [name for name, content in contents(scrub(surrogates, data)).items() if b"hornbury" in content]
