"""deid generalize: files in, t-plausible files out, and the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError, OutputError
from deid.cli.main import app
from deid.pipeline.generalizing import GeneralizedNote, GeneralizingReport
from deid.pipeline.options import GeneralizeOptions
from deid.replacement.t_plausibility import make_generalizer

SENTENCE = "A Sacramento resident purchased marijuana for the lumbar pain caused by liver cancer.\n"


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["generalize", *map(str, arguments)])
    if isinstance(result.exception, DeidError):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text(SENTENCE)
    (folder / "sub" / "Smith_John.txt").write_text("He is an accountant with asthma.")
    (folder / "c.txt").write_text("Nothing.")
    return folder


@pytest.mark.parametrize("objective", ["minimal", "uniform"])
def test_what_the_command_is_not_told_is_what_the_library_takes(objective: str) -> None:
    assert GeneralizeOptions(t=96, objective=objective).generalizer() == make_generalizer(96, objective=objective)


def test_folder_is_generalized_and_each_note_reported(notes: Path, tmp_path: Path) -> None:
    status, _ = run(notes, tmp_path / "out", "--plausible", 96, "--keep", "filename", "--json", tmp_path / "s.json")
    assert status == 0
    text = (tmp_path / "out" / "a.txt").read_text()
    assert text != SENTENCE
    assert text.startswith("A Sacramento resident purchased drug of abuse for the ")
    assert (tmp_path / "out" / "c.txt").read_text() == "Nothing."
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary["documents"] == 3
    assert summary["without_words"] == 1
    assert summary["below_t"] == 0
    assert [note["words"] for note in summary["plausible"]] == [4, 0, 2]
    assert all(note["plausible"] >= 96 and note["reached"] for note in summary["plausible"] if note["words"])


GERMAN = (
    "Wir berichten über die Patientin, die sich mit Luftnot in unserer Klinik vorstellte und bei der wir eine "
    "Lungenentzündung und einen insulinpflichtigen Diabetes fanden; sie arbeitet als Lehrerin in der Stadt Mitte.\n"
)


def test_notes_of_another_language_than_the_ontologies_are_told(tmp_path: Path) -> None:
    """Their words are not found, so that nothing is certified about them."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text(SENTENCE)
    (folder / "b.txt").write_text(GERMAN)
    status, said = run(folder, tmp_path / "out", "--plausible", 96, "--json", tmp_path / "s.json")
    assert status == 0
    assert "1 notes are in another language than the words to be generalized (de: 1)" in said
    assert json.loads((tmp_path / "s.json").read_text())["other_languages"] == {"de": 1}
    own = tmp_path / "own.csv"  # nobody says of what language these words are
    own.write_text("Lehrerin;Beruf;*\nKoch;Beruf;*\n")
    status, said = run(folder, tmp_path / "more", "--plausible", 1, "--ontology", own, "--json", tmp_path / "t.json")
    assert "another language" not in said
    assert json.loads((tmp_path / "t.json").read_text())["other_languages"] == {}


def test_names_and_fields_are_pseudonyms_unless_kept(notes: Path, tmp_path: Path) -> None:
    run(notes, tmp_path / "out", "--plausible", 96)
    names = [f.relative_to(tmp_path / "out").as_posix() for f in (tmp_path / "out").rglob("*.txt")]
    assert len(names) == 3
    assert "Smith" not in "".join(names)
    (tmp_path / "in.jsonl").write_text(
        json.dumps({"id": "Smith-1", "text": SENTENCE, "city": "Sacramento", "year": "2011"}) + "\n"
    )
    run(tmp_path / "in.jsonl", tmp_path / "out.jsonl", "--plausible", 96, "--keep", "year")
    written = (tmp_path / "out.jsonl").read_text()
    assert "Smith" not in written
    assert json.loads(written)["year"] == "2011"
    assert json.loads(written)["city"] != "Sacramento"


def test_names_that_scrub_made_stay(tmp_path: Path) -> None:
    """So that a scrubbed note and its generalized copy belong together."""
    folder = tmp_path / "scrubbed" / "folder-0123456789abcdef"
    folder.mkdir(parents=True)
    (folder / "doc-0123456789abcdef.txt").write_text(SENTENCE)
    run(tmp_path / "scrubbed", tmp_path / "out", "--plausible", 96)
    assert (tmp_path / "out" / "folder-0123456789abcdef" / "doc-0123456789abcdef.txt").exists()


def test_collections_of_a_folder_have_other_names_unless_they_are_kept_or_made_by_scrub(tmp_path: Path) -> None:
    scrubbed = "doc-0123456789abcdef.jsonl"
    (tmp_path / "in").mkdir()
    for name in ("Smith.jsonl", scrubbed):
        (tmp_path / "in" / name).write_text(json.dumps({"id": "n1", "text": SENTENCE}) + "\n")
    run(tmp_path / "in", tmp_path / "out", "--plausible", 96)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert scrubbed in written
    assert "Smith.jsonl" not in written
    run(tmp_path / "in", tmp_path / "kept", "--plausible", 96, "--keep", "filename")
    assert {path.name for path in (tmp_path / "kept").iterdir()} >= {scrubbed, "Smith.jsonl"}


def test_notes_of_which_nothing_tells_that_they_were_scrubbed_are_counted(notes: Path, tmp_path: Path) -> None:
    """Generalizing leaves names, dates and numbers: who forgot to scrub is told."""
    _, said = run(notes, tmp_path / "out", "--plausible", 96)
    assert "3 notes have no ids of deid scrub" in " ".join(said.split())
    _, said = run(tmp_path / "out", tmp_path / "again", "--plausible", 96)
    assert "deid scrub" not in said


def test_annotations_are_the_words_with_gold(tmp_path: Path) -> None:
    spans = [{"start": 2, "end": 12, "label": "CITY"}]
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"id": "1", "text": SENTENCE, "spans": spans}) + "\n")
    run(source, tmp_path / "out.jsonl", "--plausible", 96, "--gold")
    written = json.loads((tmp_path / "out.jsonl").read_text())
    assert written["text"] == SENTENCE.replace("Sacramento", "California")
    assert [(s["start"], s["end"], s["label"]) for s in written["spans"]] == [(2, 12, "CITY")]
    source.write_text(json.dumps({"id": "1", "text": SENTENCE}) + "\n")
    with pytest.raises(ConfigError, match="no document carries an annotation"):
        run(source, tmp_path / "out2.jsonl", "--plausible", 96, "--gold")


def test_notes_that_cannot_reach_t_are_listed_and_as_general_as_can_be(notes: Path, tmp_path: Path) -> None:
    _, output = run(notes, tmp_path / "out", "--plausible", 10**13, "--keep", "filename")
    assert (tmp_path / "out" / "sub" / "Smith_John.txt").read_text() == "He is a [PROFESSION] with [CONDITION]."
    assert "notes below 10000000000000 plausible texts" in output
    assert "Smith" not in output


def test_ontology_of_the_users_own(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "money.csv").write_text("accountant;bean counter;*\nauditor;bean counter;*\ncat;pet;*\n")
    run(notes, tmp_path / "out", "--plausible", 2, "--ontology", tmp_path / "money.csv", "--keep", "filename")
    assert (tmp_path / "out" / "sub" / "Smith_John.txt").read_text() == "He is a bean counter with asthma."
    assert (tmp_path / "out" / "a.txt").read_text() == SENTENCE


def test_document_that_cannot_be_read_stops_no_other(notes: Path, tmp_path: Path) -> None:
    (notes / "b.txt").write_bytes(b"\xff\xfe\xfd")
    status, output = run(notes, tmp_path / "out", "--plausible", 96)
    assert status == 1
    assert len(list((tmp_path / "out").rglob("*.txt"))) == 3
    assert "1 failed" in output


@pytest.mark.parametrize(
    "wrong",
    [["--plausible", 0], ["--plausible", 5, "--objective", "x"], ["--plausible", 5, "--ontology", "x"]],
)
def test_wrong_options_write_nothing(notes: Path, tmp_path: Path, wrong: list[object]) -> None:
    with pytest.raises(ConfigError):
        run(notes, tmp_path / "out", *wrong)
    assert not (tmp_path / "out").exists()
    with pytest.raises(OutputError):
        run(notes, notes / "out", "--plausible", 5)


def test_what_is_known_of_the_patient_is_sensitive_too(tmp_path: Path) -> None:
    """What an ontology has of it counts, the rest becomes its category; jobs change nothing."""
    records = [{"id": n, "text": f"{n}: zyx of Qarth has asthma", "who": f"p{n}"} for n in range(3)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    (tmp_path / "known.csv").write_text("patient,name,city\np0,Zyx,Qarth\np1,Zyx,Qarth\n")
    options = ("--plausible", 4, "--known", tmp_path / "known.csv", "--patient-field", "who")
    for jobs in (1, 2):
        status, said = run(tmp_path / "in.jsonl", tmp_path / f"{jobs}.jsonl", *options, "--jobs", jobs)
        assert status == 0
        assert "1 documents of patients that the table of known patients does not have" in said
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()
    first, _, last = [json.loads(line)["text"] for line in (tmp_path / "1.jsonl").read_text().splitlines()]
    assert first.startswith("0: [NAME] of [PLACE] has ")
    assert last.startswith("2: zyx of Qarth has ")


@pytest.mark.parametrize("many", [10, 11])
def test_notes_that_stay_short_are_named_ten_of_them(many: int) -> None:
    notes = [GeneralizedNote(f"note-{n}", n, 2, 3, reached=False, optimal=True) for n in range(many)]
    (told,) = [line for line in GeneralizingReport(t=4, notes=notes).remarks() if "notes below 4" in line]
    assert ("note-9, ...)" in told) == (many > 10)
    assert told.endswith(")")
    assert "note-10" not in told
