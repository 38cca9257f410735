"""i2b2-2014 and MEDDOCAN XML as others write it, and what is refused."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from io import BytesIO

import pytest
from hypothesis import given, settings
from strategies import MARKUP, PLAIN, documents

from deid.base.errors import DeidError, EncodingError, FormatError, LabelError, OffsetError, OutputError
from deid.document import Document, Span
from deid.io import FORMATS, Options

FORMAT = FORMATS["i2b2-2014"]


def parse(content: str | bytes, options: Options | None = None) -> Document:
    return FORMAT.read({".xml": content.encode() if isinstance(content, str) else content}, options or Options())


def note(text: str, tags: str = "", root: str = "deIdi2b2") -> str:
    return f"<?xml version='1.0' encoding='UTF-8'?>\n<{root}>\n<TEXT>{text}</TEXT>\n<TAGS>{tags}</TAGS>\n</{root}>"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("<![CDATA[a < b & c]]>", "a < b & c"),
        ("a &lt; b &amp; c", "a < b & c"),
        ("a<![CDATA[ ]]]]><![CDATA[> ]]>b", "a ]]> b"),
        ("a\r\nb&#13;\nc", "a\nb\r\nc"),
        ("\n<![CDATA[x]]>\n", "\nx\n"),
        ("<![CDATA[\ufeffx]]>", "\ufeffx"),
        ("&#x1F600;&quot;&apos;", "😀\"'"),
        ("", ""),
    ],
)
def test_text_is_read_as_xml_says(written: str, read: str) -> None:
    """CDATA and escaped text are the same; bare CR LF is LF; a U+FEFF inside the text is text."""
    assert parse(note(written)).text == read


def test_tags_become_spans_in_file_order() -> None:
    tags = (
        '<DATE id="P1" start="4" end="8" text="2012" TYPE="DATE" comment="" />'
        '<NAME id="P0" start="0" end="3" text="Ann" TYPE="PATIENT" comment="mother" mark="x"/>'
    )
    assert parse(note("Ann 2012", tags)).spans == (
        Span(4, 8, "DATE", "P1"),
        Span(0, 3, "PATIENT", "P0", attributes=(("comment", "mother"), ("mark", "x"))),
    )


def test_an_unusual_element_is_kept() -> None:
    """The element is the group of the type; where a file has another one, it comes back when written."""
    document = parse(note("Ann", '<PHI id="1" start="0" end="3" TYPE="PATIENT"/>'))
    assert document.spans[0].attributes == (("<element>", "PHI"),)
    assert (
        b'<PHI id="1" start="0" end="3" text="Ann" TYPE="PATIENT" comment="" />'
        in (FORMAT.write(document, Options())[".xml"])
    )


def test_bom_and_declared_encoding_of_the_file_are_no_text() -> None:
    assert parse(b"\xef\xbb\xbf" + note("x").encode()).text == "x"
    latin = note("José").replace("UTF-8", "ISO-8859-1").encode("latin-1")
    assert parse(latin).text == "José"
    assert parse(note("José").replace("UTF-8", "UTF-16").encode("utf-16")).text == "José"


def test_white_space_in_a_text_attribute_is_normalized_as_xml_does() -> None:
    """A literal line end inside an attribute reaches us as a blank."""
    document = parse(note("Ann\nLee", '<NAME id="1" start="0" end="7" text="Ann\nLee" TYPE="PATIENT"/>'))
    assert document.spans == (Span(0, 7, "PATIENT", "1"),)


@pytest.mark.parametrize(
    ("tag", "error", "position"),
    [
        ('<NAME start="0" end="3" text="Bob" TYPE="PATIENT"/>', OffsetError, "line 4"),
        ('<NAME start="0" end="9" TYPE="PATIENT"/>', OffsetError, "line 4"),
        ('<NAME start="2" end="2" TYPE="PATIENT"/>', OffsetError, "line 4"),
        ('<NAME start="-1" end="2" TYPE="PATIENT"/>', OffsetError, "line 4"),
        ('<NAME start="x" end="2" TYPE="PATIENT"/>', OffsetError, "line 4"),
        ('<NAME start="0" end="3" TYPE="NICKNAME"/>', LabelError, "line 4"),
        ('<NAME start="0" end="3"/>', FormatError, "line 4"),
        ('<NAME start="0" end="3" TYPE="PATIENT"><B/></NAME>', FormatError, "line 4"),
        ('<NAME start="0" end="3" TYPE="PATIENT">Ann</NAME>', FormatError, "line 4"),
    ],
)
def test_wrong_annotations_are_refused_with_their_line(tag: str, error: type[DeidError], position: str) -> None:
    with pytest.raises(error) as caught:
        parse(note("Ann", tag))
    assert caught.value.position.startswith(position)
    assert caught.value.hint


@pytest.mark.parametrize(
    "content",
    [
        "",
        "   \n",
        "no xml",
        note("Ann")[:60],
        note("a & b"),
        note("a <b>c</b>"),
        note("a").replace("</TEXT>", "</TEXT><TEXT>b</TEXT>"),
        note("a").replace("<TAGS>", "lost text<TAGS>"),
        note("a").replace("<TAGS>", "<OTHER/><TAGS>"),
        "<deIdi2b2><TAGS/></deIdi2b2>",
        note("a\x00b"),
        note("a\x01b"),
        "\x1f\x8b\x08",
    ],
)
def test_malformed_files_are_refused(content: str) -> None:
    with pytest.raises(FormatError):
        parse(content)


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    "declaration",
    [
        BOMB,
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x SYSTEM "http://localhost/x.dtd">',
        '<!DOCTYPE x PUBLIC "-//W3C//DTD XHTML 1.0//EN" "x.dtd">',
        "<!DOCTYPE deIdi2b2>",
    ],
)
@pytest.mark.parametrize("name", ["i2b2-2014", "meddocan", "i2b2-2006"])
def test_document_type_declarations_are_refused(declaration: str, name: str) -> None:
    content = note("&a;").replace("<deIdi2b2>", f"{declaration}<deIdi2b2>").encode()
    read = FORMATS[name].read
    with pytest.raises(FormatError, match="entity bombs"):
        list(read({".xml": BytesIO(content)}, Options())) if name == "i2b2-2006" else read({".xml": content}, Options())


def test_wrong_bytes_name_the_encodings_that_fit() -> None:
    with pytest.raises(EncodingError, match=r"cp1252, latin-1") as caught:
        parse(note("José").encode("cp1252"))
    assert caught.value.position.startswith("byte ")
    assert parse(note("José").encode("cp1252"), Options(encoding="cp1252")).text == "José"


@pytest.mark.parametrize("character", ["\x00", "\x0c", "\ud800", "\uffff"])
def test_characters_that_xml_lacks_are_refused_with_their_offset(character: str) -> None:
    with pytest.raises(OutputError) as caught:
        FORMAT.write(Document("n", f"ab{character}c"), Options())
    assert caught.value.position == "offset 2"


@settings(max_examples=80)
@given(document=documents(PLAIN, MARKUP, ids=True, attributes=True))
def test_another_parser_reads_the_same(document: Document) -> None:
    """The standard library's ElementTree finds the text, the offsets and the types that were written."""
    root = ET.fromstring(FORMAT.write(document, Options())[".xml"])
    assert (root.findtext("TEXT") or "") == document.text
    tags = root.find("TAGS")
    assert tags is not None
    assert [(int(t.get("start", "")), int(t.get("end", "")), t.get("TYPE"), t.get("id", "")) for t in tags] == [
        (s.start, s.end, s.category, s.id) for s in document.spans
    ]
    assert [t.get("text") for t in tags] == [document.text[s.start : s.end] for s in document.spans]
