"""A folder of several kinds of documents about one patient, as a user scrubs it: one surrogate, one shift of dates."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commands import run
from packages import contents, docx, paragraph
from test_html_pages import pdf

SEEN = "Mrs. Eleanor Thornbury was seen on 03/14/2024."
HEAD = "MRN: 48291735"
HL7 = (
    "MSH|^~\\&|LAB|NORTH|EHR|NORTH|20240314102200||ORU^R01|1|P|2.5\r"
    f"PID|1||48291735^^^NORTH^MR||Thornbury^Eleanor||19470619|F\rOBX|1|TX|1^Note||{SEEN}||||||F\r"
)


def key(where: Path) -> Path:
    (where / "key").write_text("07" * 32 + "\n")
    (where / "key").chmod(0o600)
    return where / "key"


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in cells)}</w:tr>"


def folder(where: Path) -> Path:
    where.mkdir()
    table = f"<w:tbl>{row('Patient', 'Eleanor Thornbury')}{row('MRN', '48291735')}</w:tbl>"
    (where / "letter.docx").write_bytes(docx(table, paragraph("Mrs. Eleanor ", SEEN[13:])))
    (where / "report.pdf").write_bytes(pdf(f"{HEAD} {SEEN}"))
    (where / "note.txt").write_text(f"{HEAD}\n{SEEN}\n")
    (where / "mail.eml").write_text(f"From: a@b.example\nMIME-Version: 1.0\nSubject: x\n\n{HEAD}\n\n{SEEN}\n")
    (where / "other.txt").write_text(f"MRN: 11192735\n{SEEN}\n")
    return where


def said(out: Path) -> dict[str, str]:
    """Return name -> the sentence about the patient that stands there."""
    found = {}
    for path in out.iterdir():
        raw = path.read_bytes()
        text = contents(raw)["word/document.xml"] if path.suffix == ".docx" else raw
        plain = re.sub(r"<[^>]*>", "", text.decode())
        assert not re.search("Thornbury|Eleanor|48291735|03/14/2024", plain)
        found[path.name] = re.search(r"Mrs\. \w+ \w+ was seen on [0-9/]+\.", plain)[0]  # type: ignore[index]
    return found


def test_a_mixed_folder_of_one_patient_has_one_surrogate_and_one_shift(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "a.hl7").write_text(HL7, newline="")
    told = ("--key-file", key(tmp_path), "--patient-text", r"MRN[:\s]*([0-9]+)", "--keep", "filename")
    summary = run("scrub", folder(tmp_path / "in"), tmp_path / "out", *told)
    assert "without a patient" not in summary
    run("scrub", tmp_path / "m", tmp_path / "m-out", *told)
    found = said(tmp_path / "out")
    assert set(found) == {"letter.docx", "report.txt", "note.txt", "mail.eml", "other.txt"}
    other = found.pop("other.txt")
    assert len({*found.values(), *said(tmp_path / "m-out").values()}) == 1
    assert other not in found.values()


def test_what_is_known_of_a_patient_is_found_by_the_number_in_the_head(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,given,family,phone\n48291735,Zorbiana,Quellish,17 22 81 93\n")
    (tmp_path / "in").mkdir()
    text = "the zorbiana quellish file, reach at 17228193"
    (tmp_path / "in" / "a.docx").write_bytes(docx(paragraph(HEAD), paragraph(text)))
    (tmp_path / "in" / "b.docx").write_bytes(docx(paragraph("MRN: 11192735"), paragraph(text)))
    known = ("--known", tmp_path / "people.csv", "--patient-text", r"MRN[:\s]*([0-9]+)", "--policy", "redact")
    run("scrub", tmp_path / "in", tmp_path / "out", *known, "--keep", "filename", "--model", "none")
    first, second = (contents((tmp_path / "out" / f"{n}.docx").read_bytes())["word/document.xml"] for n in "ab")
    assert b"uellish" not in first
    assert b"17228193" not in first
    assert b"quellish" in second, "only whose number stands in the head"


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("CARE HEALTH SYSTEMS", "Care Health Systems"),
        ("BOULDER_PEDIATRICS", "Boulder Pediatrics"),
        ("Quorndale", "Quorndale"),
    ],
)
def test_an_institution_of_a_field_has_one_name_in_fields_and_text(tmp_path: Path, field: str, said: str) -> None:
    told = f"She goes to {said} again; the lab of any main clinic will do."
    message = f"{HL7}PV1|1|O|4W^1^2^{field}\rOBX|2|TX|1^Note||{told}||||||F\r".replace(
        "|LAB|NORTH|", "|LAB|Main Clinic|"
    )
    bundle = {
        "resourceType": "Bundle",
        "entry": [
            {"resource": {"resourceType": "Patient", "id": "p", "name": [{"family": "Thornbury"}]}},
            {"resource": {"resourceType": "Organization", "id": "o", "name": field.replace("_", " ")}},
            {"resource": {"resourceType": "DiagnosticReport", "id": "d", "conclusion": told}},
        ],
    }
    for name, content in (("a.hl7", message), ("b.json", json.dumps(bundle))):
        (tmp_path / name).write_text(content, newline="")
        run("scrub", tmp_path / name, tmp_path / f"out-{name}", "--key-file", key(tmp_path))
    lines = (tmp_path / "out-a.hl7").read_bytes().decode().split("\r")
    new = next(line for line in lines if line.startswith("PV1")).split("^")[3].lower().replace("_", " ")
    assert new != field.lower().replace("_", " ")
    assert any(f"goes to {new} again; the lab of any main clinic" in line.lower() for line in lines)
    assert said not in (tmp_path / "out-b.json").read_text()
