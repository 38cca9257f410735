# ruff: noqa: E501  (markup, a line for what belongs together)
"""RTF in place: words in whatever they are written, between control words as they are."""

from __future__ import annotations

import re

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from packages import document, scrub
from striprtf.striprtf import rtf_to_text

from deid.base.errors import FormatError
from deid.pipeline import Pipeline
from deid.records.record import Record

LETTER = r"""{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fnil\fcharset204 Arial Cyr;}}
{\colortbl;\red0\green0\blue0;}{\stylesheet{\s0 Normal;}{\s1 Heading 1;}{\s2 Dr. Bartholomew Quigg;}}
{\*\revtbl {Unknown;}{Bartholomew Quigg;}}{\*\generator Word 16;}
{\info{\title Letter on Eleanor Thornbury}{\author Bartholomew Quigg}{\operator Bartholomew Quigg}
{\creatim\yr2024\mo3\dy14\hr9}{\*\company Thornbury Clinic}}{\*\userprops {\propname Patient Name}\proptype30
{\staticval Eleanor Thornbury}}{\*\thornbury Thornbury}{\*\xmlnstbl {\xmlns1 Thornbury}}
{\header Re: Eleanor Thornbury, MRN 48291735\par}
\pard\plain\f0 Mrs. Elea{\b nor Thorn}bury, seen on\revised\revdttm-1693454321  03/14/2024 for 5\'b0C by
Dr. Bartho\-lomew Qu\'edgg{\footnote\pard As told by Mrs. Thornbury}.\par
\trowd\cellx1000\cellx2000 Patient\cell Eleanor Thornbury\cell\row
fam\u237?lia\uc2\u8217\'92\'27\uc1 s \{x\}\tab D\u8211- {\f1\'c8\'e2\'e0\'ed}\line end\par
{\field{\*\fldinst {HYPERLINK "http://ehr.example/Thornbury"}}{\fldrslt {\ul here}}} {\field{\*\fldinst PAGE }{\fldrslt 1}}
{\*\atnid BQ}{\*\atnauthor Bartholomew Quigg}{\*\annotation Ask Mrs. Thornbury.{\*\atndate 1234}}
{\pict\pngblip 54686f726e62757279}{\object{\*\objdata 5468}{\result Mrs. Thornbury}}{\shp{\*\shpinst{\sp{\sn wzDescription}
{\sv Photograph of Mrs. Eleanor Thornbury}}{\shptxt Mrs. Eleanor Thornbury\par}}}\bin9 Thornbury}
Thornbury"""


def test_nothing_planted_is_left_and_the_rest_is_as_it_was(surrogates: Pipeline) -> None:
    data = LETTER.replace("\n", "\r\n").encode("ascii")
    written = scrub(surrogates, data)
    for word in (b"Thorn", b"Quigg", b"Elea", b"Bartho", b"48291735", b"03/14/2024", b"yr2024", b"5468", b"1693454321"):
        assert word not in written, word
    assert b"{\\fonttbl{\\f0\\fswiss\\fcharset0 Arial;}{\\f1\\fnil\\fcharset204 Arial Cyr;}}" in written
    assert b"{\\s0 Normal;}{\\s1 Heading 1;}{\\s2 Dr. " in written
    assert b"\\tab D\\u8211- {\\f1" in written
    assert b"{\\*\\fldinst PAGE }" in written
    assert b"{\\pict" not in written
    found, again = document(data).record, document(written).record
    assert isinstance(found, Record)
    assert isinstance(again, Record)
    assert found.frames(again.source)
    assert found.unexamined >= 4, "a picture, an object, binary data, a group that nobody knows"


def test_words_are_read_as_readers_show_them() -> None:
    lines = document(LETTER.encode("ascii")).text.split("\n")
    assert "Patient\tEleanor Thornbury" in lines
    assert "Mrs. Eleanor Thornbury, seen on 03/14/2024 for 5°C byDr. Bartholomew Quígg." in lines
    assert "Patient Name: Eleanor Thornbury" in lines
    assert "família’s {x}\tD– Иван" in lines


@pytest.mark.parametrize(("charset", "word"), [(128, "東京"), (238, "Łódź"), (161, "Αθήνα"), (134, "北京市")])
def test_code_pages_are_those_of_fonts(charset: int, word: str) -> None:
    codec = {128: "cp932", 238: "cp1250", 161: "cp1253", 134: "cp936"}[charset]
    escaped = "".join(f"\\'{byte:02x}" for byte in word.encode(codec))
    data = f"{{\\rtf1\\ansi{{\\fonttbl{{\\f0\\fcharset{charset} x;}}}}\\f0 {escaped}\\plain \\'e9}}".encode()
    assert document(data).text == f"{word}é"


def test_new_words_never_become_part_of_a_control_word(surrogates: Pipeline) -> None:
    """Nor do they lose a letter to those that older readers skip behind a Unicode character."""
    for before in ("\\b\\'c9", "\\uc0\\u201", "\\uc0\\u201 ", "{\\b}\\'c9", "\\emdash\\'c9"):
        data = f"{{\\rtf1\\ansi Mrs. {before}lise Thornbury, 76, was seen by Dr. Bartholomew Quigg.}}".encode()
        written = scrub(surrogates, data)
        shown = rtf_to_text(written.decode("ascii"))
        assert re.search(r"Mrs\. .{0,3}?[A-Z]\w+ [A-Z][\w-]+, 76, was seen by Dr\. [A-Z]\w+ [A-Z]\w+\.", shown), (
            before,
            shown,
        )
        assert "Thornbury" not in shown


def test_letters_beyond_ascii_are_written_as_unicode() -> None:
    data = b"{\\rtf1\\ansi x Ann y{\\uc0 Ann}}"
    found = document(data).record
    assert isinstance(found, Record)
    places = [place for place in found.places if "Ann" in place.text]
    new = [place.encode(data.decode()[place.start : place.end], place, [(place.text.index("Ann"), place.text.index("Ann") + 3, "Zoë\U0001f600{")])  # type: ignore[misc]
           for place in places]  # fmt: skip
    assert new == ["x Zo\\u235?\\u-10179?\\u-8704?\\{ y", "Zo\\u235 \\u-10179 \\u-8704 \\{"]
    assert "Zoë" in rtf_to_text("{\\rtf1\\ansi " + str(new[0]) + "}")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{\\rtf1 {Thornbury}", "cut off"),
        (b"{\\rtf1 Thornbury\\", "cut off"),
        (b"{\\rtf1 " + b"{" * 500 + b"}" * 501, "too deep"),
        (b"{\\rtf1 {\\pict {Thornbury}", "cut off"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(FormatError, match=why) as caught:
        document(data)
    assert "Thornbury" not in f"{caught.value} {caught.value!r}"


_PIECES = r"""Smith | {\b Smith} | \b | \i0 | \'e9 | \u233? | \u233 | \uc0 | \uc2 | \par | \tab | \cell | \row | {\*\x Smith} | \- | \~ | \{
{\author Smith} | {\*\atnid Smith} | {\header Smith} | {\field{\*\fldinst Smith}{\fldrslt Smith}} | \emdash | {\pict 53} | {\s1 Smith;}
{\info | {\*\revtbl | {\fonttbl{\f1\fcharset128 | }} | {\sv Smith} | \bin5 Smith | {\title | } | { | \'82 | \'a0"""
PIECES = st.sampled_from([*_PIECES.replace("\n", " | ").split(" | "), " ", "\r\n"])


@settings(max_examples=200)
@given(pieces=st.lists(PIECES, max_size=12))
def test_bytes_outside_of_places_are_untouched(pieces: list[str], hiding: Pipeline) -> None:
    text = "{\\rtf1\\ansi{\\fonttbl{\\f1\\fcharset128 x;}}" + "".join(pieces)
    data = (text + "}" * max(text.count("{") - text.count("\\{") - text.count("}"), 0)).encode()
    try:
        found = document(data).record
    except FormatError:
        return
    assert isinstance(found, Record)
    assert found.replaced(found.text, [], keep_blocked=True).data == data
    written = scrub(hiding, data)
    # names of fonts, and words of RTF such as \\parSmith
    kept = regex.sub(rb"(?s)\\fonttbl((?:[^{}\\]|\\.|\{(?1)\})*)|\\[A-Za-z]+", b"", written)
    assert b"mith" not in kept
    again = document(written).record
    assert isinstance(again, Record)
    assert found.frames(again.source)
