# ruff: noqa: E501  (markup, a line for what belongs together)
"""Documents that LibreOffice makes: scrubbed, they open, look the same but for words, and hold nothing planted."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import docx
import numpy as np
import pytest
from docx.oxml import parse_xml
from packages import contents, document
from samples import KEY

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
GIVEN = ("Eleanor", "Bartholomew", "Agnes", "Gerald", "Harriet", "Rosalind", "Edmund", "Philippa")
FAMILY = ("Thornbury", "Quigg", "Lowell", "Vance", "Ashworth", "Pemberton", "Hollis", "Marchetti")
BODY = (
    "{given} {family} is a {age}-year-old patient who was admitted on {month:02}/{day:02}/2023.",
    "Dr. {doctor} saw the patient for chest pain, and started aspirin 81 mg daily.",
    "The patient was discharged home in stable condition. Please call ({area}) 555-01{line:02} with questions.",
)


DOTS = 40  # an inch, of the pictures compared
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
FURTHER = (
    # what python-docx has no words for, as Word writes it
    '<w:ins w:id="91" w:author="{doctor}" w:date="2023-{month:02}-{day:02}T09:00:00Z"><w:r><w:t>Seen again by Dr. {doctor}.'
    "</w:t></w:r></w:ins>",
    '<w:del w:id="92" w:author="{doctor}" w:date="2023-{month:02}-{day:02}T09:00:00Z"><w:r><w:delText>Mrs. {family} left.'
    "</w:delText></w:r></w:del>",
    '<w:sdt><w:sdtPr><w:alias w:val="{given} {family}"/><w:tag w:val="patient"/></w:sdtPr><w:sdtContent><w:r>'
    "<w:t>{given} {family}</w:t></w:r></w:sdtContent></w:sdt>",
    '<w:bookmarkStart w:id="93" w:name="{family}"/><w:r><w:t>Dear Mrs. {family},</w:t></w:r><w:bookmarkEnd w:id="93"/>',
    '<w:fldSimple w:instr=" MERGEFIELD {family} "><w:r><w:t>{given} {family}</w:t></w:r></w:fldSimple>',
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> HYPERLINK '
    '"mailto:{family}@mail.example" </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>Write to '
    'Mrs. {family}</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>',
    '<w:r><w:pict><v:shape xmlns:v="urn:schemas-microsoft-com:vml" style="width:200pt;height:30pt" alt="{given} {family}">'
    "<v:textbox><w:txbxContent><w:p><w:r><w:t>Copy to Dr. {doctor}</w:t></w:r></w:p></w:txbxContent></v:textbox>"
    "</v:shape></w:pict></w:r>",
    '<w:r><w:t xml:space="preserve">Page </w:t></w:r><w:fldSimple w:instr=" PAGE "><w:r><w:t>1</w:t></w:r></w:fldSimple>',
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
    new.styles["Normal"].font.name = "Courier New"  # as wide with other letters, so that no line moves to another page
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
    for form in draw.sample(FURTHER, draw.randint(2, len(FURTHER))):
        paragraph = new.add_paragraph()
        for element in parse_xml(f'<w:p xmlns:w="{W}">{form.format(**said)}</w:p>'):
            paragraph._p.append(element)
    remark = new.add_comment(paragraph.add_run("As told."), f"Ask Mrs. {person['family']}.", doctor, "XY")
    assert remark.author == doctor
    new.core_properties.keywords, new.core_properties.comments = mrn, f"Letter on {name}"
    new.save(str(path))
    return [person["family"], mrn, doctor.split()[1], f"555-01{said['line']:02}"]


def converted(files: list[Path], kind: str, folder: Path) -> None:
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{folder}/profile", "--convert-to", kind]
    subprocess.run([*command, "--outdir", str(folder), *map(str, files)], check=True, capture_output=True, timeout=500)


def pages(path: Path) -> list[np.ndarray]:
    """Return the pages of a PDF file as pictures: where something is drawn, cell by cell."""
    raw = subprocess.run(["pdftoppm", "-r", str(DOTS), "-gray", str(path)], check=True, capture_output=True).stdout
    found = []
    while raw:
        _, size, _, rest = raw.split(b"\n", 3)
        width, height = map(int, size.split())
        found.append(np.frombuffer(rest[: width * height], np.uint8).reshape(height, width) < 200)
        raw = rest[width * height :]
    return found


def boxes(path: Path) -> list[list[tuple[str, tuple[int, int, int, int]]]]:
    """Return the words of each page of a PDF file, each with the cells of its picture: left, top, right, bottom."""
    shown = subprocess.run(["pdftotext", "-bbox", str(path), "-"], check=True, capture_output=True, text=True).stdout
    found = []
    for page in shown.split("<page ")[1:]:
        words = re.findall(r'xMin="(.+?)" yMin="(.+?)" xMax="(.+?)" yMax="(.+?)">(.*?)</word>', page)
        edges = [(word, [float(each) * DOTS / 72 for each in edge]) for *edge, word in words]
        found.append([(word, (int(a) - 1, int(b) - 1, int(c) + 2, int(d) + 2)) for word, (a, b, c, d) in edges])
    return found


def differing(old: Path, new: Path) -> float:
    """Return the greatest share of a page's drawn cells that differ where no covered word stands."""
    worst = 0.0
    each = list(zip(pages(old), pages(new), boxes(new), strict=True))
    for before, after, words in each:
        assert after.shape == before.shape
        free = np.ones_like(before)
        for word, (left, top, right, bottom) in words:
            if "*" in word:
                free[max(top, 0) : bottom, max(left, 0) : right] = False
        assert free.any()
        worst = max(worst, ((before != after) & free).sum() / max((before & free).sum(), 1))
    return worst


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
            assert len(pages(path)) == len(pages(after / path.name)), "as many pages"
            assert differing(path, after / path.name) < 0.2, "words alone differ"


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
