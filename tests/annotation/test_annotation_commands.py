"""Notes into a project and out of it, in all formats and by commands."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from commands import call
from notes import clinic_notes

from deid.annotation.editing import Add
from deid.annotation.project import Project
from deid.document import Document, Span
from deid.io import FORMATS, Options, read, write
from deid.labeling.tagger import load_model

TEXT = "Mr. Müller 😀 (e\u0301) & <b>Ann</b>\nשלום 3/4/2012.\n"
ANY = Options(any_label=True)


@pytest.mark.parametrize("name", [name for name, format in FORMATS.items() if not format.of_records])
def test_what_goes_in_comes_out_the_same(name: str, tmp_path: Path) -> None:
    """The files that a project writes are those that it read, byte by byte."""
    start = TEXT.index("3/4")
    spans = () if name == "text" else (Span(4, 10, "PATIENT"), Span(start, start + 8, "DATE"))
    given = [Document("1-1", TEXT, spans), Document("2-1", "Nothing here.\n")]
    write(given, tmp_path / "in", name, ANY, single=False)
    with Project.create(tmp_path / "p") as project:
        assert not project.add(read(tmp_path / "in", name, any_label=True), "gold").failures
        assert {project.text(id)[mark.start : mark.end] for id in (1, 2) for mark in project.marks(id, "gold")[1]} == {
            TEXT[span.start : span.end] for span in spans
        }
        write(project.documents("gold"), tmp_path / "out", name, ANY, single=False)
    files = {path.relative_to(tmp_path / "in"): path.read_bytes() for path in (tmp_path / "in").rglob("*.*")}
    assert files
    assert files == {path.relative_to(tmp_path / "out"): path.read_bytes() for path in (tmp_path / "out").rglob("*.*")}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    notes = clinic_notes(12)
    write(notes, "gold.jsonl", "jsonl")
    write([note.with_spans(note.spans[:-1]) for note in notes], "other.jsonl", "jsonl")
    write([note.with_spans(()) for note in notes], "notes.jsonl", "jsonl")
    return tmp_path


def _summary(*command: str) -> dict[str, object]:
    assert call(*command, "--json", "told.json") == 0
    told: dict[str, object] = json.loads(Path("told.json").read_text())
    Path("told.json").unlink()
    return told


def test_the_path_of_a_corpus(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Import, two annotators, agreement, adjudication, export, and a model that may leave."""
    _summary("annotate", "import", "p", "notes.jsonl")
    assert stat.S_IMODE((place / "p").stat().st_mode) == 0o600
    _summary("annotate", "import", "p", "gold.jsonl", "--layer", "anna")
    told = _summary("annotate", "import", "p", "other.jsonl", "--layer", "ben")
    assert told["categories"] == {"DATE": 12, "PATIENT": 12}
    capsys.readouterr()
    agreed = _summary("annotate", "agreement", "p")
    assert agreed["disputes"] == 12
    assert agreed["pairs"][0]["f1"] == pytest.approx(2 * 24 / 60)  # type: ignore[index]
    assert "on 12 notes" in capsys.readouterr().out.replace("of 12 notes", "on 12 notes")
    settled = _summary("annotate", "adjudicate", "p", "--annotator", "chief", "--between", "anna", "--between", "ben")
    assert (settled["agreed"], settled["disputed"]) == (24, 12)
    assert _summary("annotate", "export", "p", "c.jsonl", "--to", "jsonl", "--annotator", "chief")["documents"] == 0
    _summary("annotate", "export", "p", "d.jsonl", "--to", "jsonl", "--annotator", "chief", "--unfinished")
    assert [len(note.spans) for note in read("d.jsonl") if isinstance(note, Document)] == [2] * 12
    _summary("annotate", "export", "p", "out.jsonl", "--to", "jsonl", "--annotator", "anna")
    assert (place / "out.jsonl").read_bytes() == (place / "gold.jsonl").read_bytes()
    assert stat.S_IMODE((place / "out.jsonl").stat().st_mode) == 0o600
    _summary("annotate", "export", "p", "xml", "--to", "meddocan", "--annotator", "anna", "--map", "meddocan")
    assert len(list((place / "xml").glob("*.xml"))) == 12
    assert call("annotate", "export", "p", "one.xml", "--to", "meddocan", "--annotator", "anna") == 2
    _summary("annotate", "train", "p", "--annotator", "anna", "--start", "none", "-o", "model")
    assert min(load_model(place / "model").lexicon.values(), default=3) >= 3
    _summary("annotate", "history", "p", "-o", "history.csv")
    assert (place / "history.csv").read_text().splitlines()[0].startswith("note,when,annotator,what")


def test_corrections_of_a_run_are_what_the_next_run_goes_by(place: Path) -> None:
    (place / "in").mkdir()
    (place / "in" / "n.txt").write_text("Dr. Quill saw Dr. Babinski sign.\n")
    scrub = ("--model", "none", "--policy", "redact", "--key-file", "key", "--edits")
    assert call("scrub", "in", "out", *scrub, "edits.jsonl") == 0
    edits = ("--edits", "edits.jsonl", "--key-file", "key")
    assert call("annotate", "import", "p", "in", "--scrubbed", "out") == 2
    told = _summary("annotate", "import", "p", "in", *edits, "--scrubbed", "out")
    assert told["documents"] == 1
    assert call("annotate", "import", "q", "in", *edits, "--scrubbed", "in") == 1
    with Project.open(place / "p") as project:
        project.set_label("DOCTOR")
        revision, marks = project.marks(1, "eva")
        text = project.text(1)
        (quill,) = (mark for mark in marks if text[mark.start : mark.end] == "Quill")
        assert dict(quill.span[1])["replacement"] == "[NAME]"
        sign = text.index("sign")
        project.change(1, "eva", revision, [Add(sign, sign + 4, "DOCTOR", "sign")])
        project.finish(1, "eva")
    assert call("annotate", "lists", "p", "--annotator", "eva", "--deny-list", "one", "--allow-list", "one") == 2
    assert not Path("one").exists()
    told = _summary("annotate", "lists", "p", "--annotator", "eva", "--deny-list", "deny", "--allow-list", "allow")
    assert (told["deny"], told["allow"]) == (1, 0)
    assert call("scrub", "in", "again", *scrub, "e2.jsonl", "--deny", "deny") == 0
    (written,) = (place / "again").rglob("*.txt")
    assert "sign" not in written.read_text()


def test_findings_and_pairs_are_brought_and_taken(place: Path) -> None:
    (place / "in").mkdir()
    (place / "in" / "n.txt").write_text("Dr. Quill.\n")
    assert call("verify", "in", "in", "--model", "none", "--json", "verify.json") == 1
    assert _summary("annotate", "review", "p", "verify.json")["documents"] == 1
    with Project.open(place / "p") as project:
        (item,) = project.items.all("verify")
        project.items.decide(item.id, "eva", "leak", "the doctor")
    assert _summary("annotate", "decisions", "p", "verify", "--annotator", "eva", "-o", "d.csv")["documents"] == 1
    assert "the doctor" in (place / "d.csv").read_text()
    assert call("annotate", "decisions", "p", "notes", "--annotator", "eva", "-o", "e.csv") == 2


def test_a_person_is_forgotten_in_a_project(place: Path) -> None:
    rows = [
        {"id": "n1", "text": "Ann Quill came."},
        {"id": "n2", "text": "Quill again.", "mrn": "4711"},
        {"id": "n3", "text": "Bob."},
    ]
    (place / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (place / "patients.csv").write_text("document,patient\nn1,4711\nn3,4712\n")
    _summary("annotate", "import", "p", "in.jsonl", "--layer", "eva")
    with Project.open(place / "p") as project:
        project.trainings.keep("eva", {}, b"model of Quill")
        project.items.add(
            "link", [("1-2", {"row_a": "1", "a": {"mrn": "4711", "name": "Quill"}}), ("3-4", {"row_a": "3"})]
        )
    told = _summary("forget", "4711", "--in-project", "p", "--patients", "patients.csv")
    assert told["annotated_notes"] == 3
    with Project.open(place / "p") as project:
        assert [name for _, name in project.names()] == ["n3"]
        assert [item.name for item in project.items.all()] == ["3-4"]
    assert b"Quill" not in b"".join(file.read_bytes() for file in place.glob("p*") if file.name != "patients.csv")
    assert call("forget", "4711", "--in-project", "p", "--patients", "patients.csv") == 1
