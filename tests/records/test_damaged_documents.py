"""Documents cut, overwritten and swollen anywhere: read or refused in little memory, with a reason that quotes nothing.

Damage is drawn from a seed. As a program it damages more of them, and says what became of each kind:
``PYTHONPATH=. python tests/records/test_damaged_documents.py 14000``.
"""

from __future__ import annotations

import random
import re
import resource
import sys
import zipfile
from collections import Counter
from email.message import EmailMessage
from io import BytesIO

import openpyxl
import pytest

from deid.base.errors import DeidError
from deid.io import Options
from deid.io.documents import read
from deid.records.record import Record
from tests.records.packages import MEMBERS, ODT, docx, paragraph, pdf, zipped

RTF = (
    rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\author Quigg}}\f0 Patient: Eleanor \b Thorn\b0 bury,"
    rb" M\'fcller\par\trowd\cellx100 MRN 48291735\cell\row{\*\xx Thornbury}\u8364?\bin4 abcd}"
)
HTML = (
    b"<!DOCTYPE html><html><head><title>Eleanor Thornbury</title><style>p{}</style></head><body><p>Mrs. <b>Thorn</b>"
    b"bury &amp; co<br/><a href='mailto:t@x.example'>x</a><table><tr><td>MRN<td>48291735</table><!-- Thornbury -->"
    b"</body></html>"
)
SIGNS = (b"<", b"&", b'"', b"\0", b"{", b"\\", b"}", b"\xff\xfe", b"Zzyzx", b"=?utf-8?q?", b"--")
NEW = (*SIGNS, b"<p>" * 200, b"{" * 300, b"<w:p>" * 300, b"9" * 40)
QUOTED = re.compile("Zzyzx|Thornbury|Quigg|48291735")
MEMORY = 256 << 10
"""Kilobytes that reading may add to those of the process."""


def _mail(attached: bytes, name: str) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"] = "Quigg <q@h.example>", "thornbury@mail.example"
    mail["Subject"] = "Eleanor Thornbury, MRN 48291735"
    mail.set_content("Mrs. Eleanor Thornbury was seen on 03/14/2024.\n")
    mail.add_alternative("<p>Mrs. <b>Thornbury</b></p>", subtype="html")
    mail.add_attachment("Thornbury", filename="a.txt")
    mail.add_attachment(attached, maintype="application", subtype="octet-stream", filename=name)
    return mail.as_bytes()


def _workbook() -> bytes:
    book, out = openpyxl.Workbook(), BytesIO()
    assert book.active is not None
    for row in (["Patient", "Born"], ["Eleanor Thornbury", "1950-01-02"], ["Gerald Thornbury", 48291735]):
        book.active.append(row)
    book.save(out)
    return out.getvalue()


WHOLE = {
    "docx": zipped(MEMBERS),
    "odt": zipped(ODT),
    "rtf": RTF,
    "html": HTML,
    "eml": _mail(docx(paragraph("Patient: Eleanor Thornbury")), "thornbury.docx"),
    "pdf": pdf("Patient: Eleanor Thornbury", "MRN 48291735"),
    "xlsx": _workbook(),
}


def _overwritten(data: bytes, draw: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(draw.randint(1, 6)):
        at, kind = draw.randrange(len(made) + 1), draw.random()
        if kind < 0.25:
            del made[at : at + draw.randint(1, 30)]
        elif kind < 0.5:
            made[at:at] = draw.choice(NEW)
        elif kind < 0.8:
            made[at : at + 1] = bytes([draw.randrange(256)])
        elif kind < 0.9:
            del made[at:]
        else:
            made[at:at] = made[max(0, at - 400) : at] * draw.randint(1, 50)
    return bytes(made)


def damaged(kind: str, number: int) -> bytes:
    """Return a document of a kind with damage: of the file, or of a member of the archive that it is."""
    draw, data = random.Random(f"{kind} {number}"), WHOLE[kind]
    if kind not in ("docx", "odt", "xlsx") or draw.random() < 0.4:
        return _overwritten(data, draw)
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as archive, zipfile.ZipFile(out, "w", draw.choice([0, 8])) as made:
        bad = draw.choice(archive.namelist())
        for name in archive.namelist():
            content = archive.read(name)
            made.writestr(name, _overwritten(content, draw) if name == bad else content)
    return out.getvalue()


def outcome(kind: str, data: bytes) -> str:
    """Return what became of a document; a refusal has a hint and quotes nothing."""
    try:
        found = read(data, Options())
        if not isinstance(found.record, Record):
            return "read as text"
        written = found.record.replaced(found.text, [], keep_blocked=True).data
    except DeidError as error:
        refusal = error
    else:
        return "read in place" if written else "lost"
    assert refusal.hint
    assert not QUOTED.search(f"{refusal} {refusal!r}")
    return "refused"


@pytest.mark.parametrize("kind", sorted(WHOLE))
def test_damaged_documents_are_read_or_refused(kind: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert outcome(kind, WHOLE[kind]) != "refused"
    told = Counter(outcome(kind, damaged(kind, number)) for number in range(150))
    assert told["refused"]
    assert not told["lost"]
    assert told["read in place"] + told["read as text"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY


if __name__ == "__main__":
    for kind in WHOLE:
        told = Counter(outcome(kind, damaged(kind, number)) for number in range(int(sys.argv[1])))
        print(kind, dict(told), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, "MB at most")
