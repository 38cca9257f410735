"""E-mail in place: headers, texts in their encodings, attached documents; what cannot be read is refused."""

from __future__ import annotations

import base64
import email
import email.policy
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from packages import MEMBERS, PNG, contents, document, scrub, zipped

from deid.base.errors import DeidError, FormatError
from deid.pipeline import Pipeline
from deid.records.record import Record

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
    part("image/png", "base64", base64d(PNG)),
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
    assert scrub(keeping, data) == data
    written = email.message_from_bytes(scrub(keeping, MESSAGE), policy=email.policy.default)
    (inside,) = [one for one in written.walk() if one.get_content_subtype().startswith("vnd.")]
    assert contents(inside.get_payload(decode=True)) == contents(zipped(MEMBERS))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (mixed(part("application/pdf", "base64", base64d(b"%PDF-1.4"))), "cannot be read in it"),
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
    assume(not re.search(rb"(?i)(?:boundary|charset)=[^;]{0,40}smith", data))  # what parts the message stays
    try:
        found = document(data).record
    except DeidError:
        found = None
    if not isinstance(found, Record):
        return
    assert found.replaced(found.text, [], keep_blocked=True).data == data
    written = scrub(hiding, data)
    # text/htmlSmith is a kind of content, as the headers have them
    assert b"mith" not in re.sub(rb"(?i)\b[a-z]{1,12}/[a-z0-9.+-]*smith[a-z0-9.+-]*", b"", written)
    assert b"U21pdGg" not in written
    again = document(written).record
    assert isinstance(again, Record)
    assert found.frames(again.source)
