"""Documents that LibreOffice makes: scrubbed, they open, look the same but for words, and hold nothing planted."""

from __future__ import annotations

import random
import shutil
import subprocess
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import docx
import numpy as np
import pytest
from packages import contents, document

from deid.base.keys import Key
from deid.pipeline import Pipeline, build_pipeline
from deid.pipeline.options import PipelineOptions
from deid.records.record import Record

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("soffice") is None or shutil.which("pdftoppm") is None,
        reason="LibreOffice and poppler-utils are not installed",
    ),
]
KEY = Key(b"r" * 32)
GIVEN = ("Eleanor", "Bartholomew", "Agnes", "Gerald", "Harriet", "Rosalind", "Edmund", "Philippa")
FAMILY = ("Thornbury", "Quigg", "Lowell", "Vance", "Ashworth", "Pemberton", "Hollis", "Marchetti")
BODY = (
    "{given} {family} is a {age}-year-old patient who was admitted on {month:02}/{day:02}/2023.",
    "Dr. {doctor} saw the patient for chest pain, and started aspirin 81 mg daily.",
    "The patient was discharged home in stable condition. Please call ({area}) 555-01{line:02} with questions.",
)


def made(seed: int, path: Path) -> list[str]:
    """Write a document of some pages; return what must not be left of it."""
    draw = random.Random(seed)
    person = {"given": draw.choice(GIVEN), "family": draw.choice(FAMILY), "age": draw.randint(30, 80)}
    doctor = f"{draw.choice(GIVEN)} {draw.choice(FAMILY)}"
    mrn = str(draw.randint(10_000_000, 99_999_999))
    said = {**person, "doctor": doctor, "month": draw.randint(1, 12), "day": draw.randint(1, 28)}
    said |= {"area": 802, "line": draw.randint(10, 99)}
    new = docx.Document()
    name = f"{person['given']} {person['family']}"
    new.core_properties.author, new.core_properties.title = doctor, f"Discharge summary of {name}"
    section = new.sections[0]
    section.header.paragraphs[0].text = f"Patient: {name}   MRN: {mrn}"
    section.footer.paragraphs[0].text = f"Discharge summary of {name}"
    new.add_heading("Discharge summary", draw.randint(1, 3))
    table = new.add_table(0, 2, style=draw.choice([None, "Table Grid", "Light Shading"]))
    for left, right in (("Patient Name", name), ("MRN", mrn), ("Attending", f"Dr. {doctor}")):
        row = table.add_row()
        row.cells[0].text, row.cells[1].text = left, right
    for _ in range(draw.randint(1, 12)):
        line = draw.choice(BODY).format(**said)
        paragraph = new.add_paragraph(style=draw.choice([None, "List Bullet", "Quote"]))
        while line:  # runs that end anywhere, within names too
            size = draw.randint(3, 40)
            run = paragraph.add_run(line[:size])
            run.bold, run.italic = draw.random() < 0.2, draw.random() < 0.2
            line = line[size:]
    new.save(str(path))
    return [person["family"], mrn, doctor.split()[1], f"555-01{said['line']:02}"]


def converted(files: list[Path], kind: str, folder: Path) -> None:
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{folder}/profile", "--convert-to", kind]
    subprocess.run([*command, "--outdir", str(folder), *map(str, files)], check=True, capture_output=True, timeout=500)


def pages(path: Path) -> list[np.ndarray]:
    """Return the pages of a PDF file as pictures: where something is drawn, cell by cell."""
    raw = subprocess.run(["pdftoppm", "-r", "40", "-gray", str(path)], check=True, capture_output=True).stdout
    found = []
    while raw:
        _, size, _, rest = raw.split(b"\n", 3)
        width, height = map(int, size.split())
        found.append(np.frombuffer(rest[: width * height], np.uint8).reshape(height, width) < 200)
        raw = rest[width * height :]
    return found


@pytest.mark.parametrize(
    ("count", "kinds"),
    [
        (3, ("docx", "odt", "rtf")),
        pytest.param(200, ("docx", "odt", "rtf"), marks=pytest.mark.night),
    ],
)
def test_documents_of_libreoffice_open_and_look_the_same(count: int, kinds: tuple[str, ...], tmp_path: Path) -> None:
    """Replaced words are covered letter by letter here; wider letters may still take a word into the next line."""
    policy = tmp_path / "mask.toml"
    policy.write_text('description = "Covers all."\n[default]\noperator = "mask"\n')
    masking = build_pipeline(KEY, PipelineOptions(policy=str(policy)))
    planted: dict[str, list[str]] = {}
    sources = tmp_path / "made"
    sources.mkdir()
    for seed in range(count):
        planted[f"d{seed}"] = made(seed, sources / f"d{seed}.docx")
    for kind in kinds:
        before, after = tmp_path / kind, tmp_path / f"{kind}-scrubbed"
        before.mkdir()
        after.mkdir()
        each = [
            sources / f"{name}.docx" for number, name in enumerate(planted) if number % len(kinds) == kinds.index(kind)
        ]
        converted(each, {"docx": "docx:MS Word 2007 XML"}.get(kind, kind), before)
        for path in sorted(before.glob(f"*.{kind}")):
            found = document(path.read_bytes())
            written = masking(replace(found, id=path.stem)).document.record
            assert written is not None
            (after / path.name).write_bytes(written.data)
            shown = b"".join(contents(written.data).values()) if kind != "rtf" else written.data
            assert not [word for word in planted[path.stem] if word.encode() in shown], path.name
            again = document(written.data).record
            assert isinstance(found.record, Record)
            assert isinstance(again, Record)
            assert found.record.frames(again.source)
        converted(sorted(before.glob(f"*.{kind}")), "pdf", before)
        converted(sorted(after.glob(f"*.{kind}")), "pdf", after)
        for path in sorted(before.glob("*.pdf")):
            old, new = pages(path), pages(after / path.name)
            assert len(new) == len(old), "as many pages"
            for one, other in zip(old, new, strict=True):
                assert other.shape == one.shape
                assert (one == other).mean() > 0.9, "words alone differ"


def test_pictures_go_and_the_document_still_opens(surrogates: Pipeline, tmp_path: Path) -> None:
    picture = tmp_path / "scan.png"
    import matplotlib.image

    matplotlib.image.imsave(picture, np.zeros((20, 20)))
    new = docx.Document()
    new.add_paragraph("Scan of Mrs. Eleanor Thornbury")
    new.add_picture(str(picture))
    new.save(str(tmp_path / "a.docx"))
    converted([tmp_path / "a.docx"], "odt", tmp_path)
    for name in ("a.docx", "a.odt"):
        found = document((tmp_path / name).read_bytes())
        written = surrogates(replace(found, id="a")).document.record
        assert written is not None
        with zipfile.ZipFile(BytesIO(written.data)) as archive:
            (member,) = [n for n in archive.namelist() if "media/" in n or ("Pictures/" in n and not n.endswith("/"))]
            assert len(archive.read(member)) < 100
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / name).write_bytes(written.data)
        converted([tmp_path / "out" / name], "pdf", tmp_path / "out")
        assert len(pages(tmp_path / "out" / "a.pdf")) == 1
