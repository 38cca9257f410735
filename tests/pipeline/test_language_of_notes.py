"""Notes of several languages in one run: each is read in its own, or whoever ran it is told."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.keys import Key
from deid.cli.main import app
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Span
from deid.pipeline import Pipeline
from deid.pipeline.core import Settings

KEY = Key(b"a key of the tests")
SPANISH = (
    "Mujer de 45 años que acude a urgencias por dolor en el pecho desde ayer. Vive con su marido en la Calle del Olmo "
    "4 de Zamora y la acompaña su hija. Fue valorada por el Dr. Aitor Lasarte Mugica, que solicita una analítica."
)
ENGLISH = (
    "The patient was seen by Dr. Harriet Okonkwo on 03/14/2021 for chest pain since yesterday. She lives with her "
    "husband and came with her daughter. An electrocardiogram was ordered and she feels better now."
)
SHORT = "Seen by Dr. Harriet Okonkwo."


def run(*arguments: object, fails: bool = False) -> tuple[str, dict[str, object]]:
    """Run a command; return what it told, and its summary."""
    result = CliRunner().invoke(app, [*map(str, arguments), "--json", "-"])
    assert (result.exit_code == 0) is not fails, result.output
    start = result.stdout.index("{")
    return result.stderr, json.loads(result.stdout[start:])


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in (("a", SPANISH), ("b", ENGLISH), ("c", SHORT)):
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("command", ["scrub", "tag", "verify", "extract"])
def test_a_note_of_another_language_is_told_and_counted(notes: Path, tmp_path: Path, command: str) -> None:
    """By every command that looks for what is to be found in notes."""
    verified = command == "verify"  # in English something of the Spanish note is found that stays
    if verified:
        run("scrub", notes, tmp_path / "out", "--language", "auto")
    out = tmp_path / ("out.csv" if command == "extract" else "out")
    said, summary = run(command, notes, out, fails=verified)
    assert "1 documents are written in another language than they were read in (es: 1)" in said
    assert summary["other_languages"] == {"es": 1}


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_each_note_is_read_in_its_own_language(notes: Path, tmp_path: Path, jobs: int) -> None:
    out = tmp_path / "out"
    _, summary = run(
        "scrub", notes, out, "--language", "auto", "--policy", "redact", "--keep", "filename", "--jobs", jobs
    )
    assert summary["other_languages"] == {}
    spanish, english, short = ((out / f"{name}.txt").read_text(encoding="utf-8") for name in "abc")
    assert "45 años" not in spanish.replace("[AGE]", "")
    for name in ("Aitor", "Lasarte", "Mugica", "Olmo", "Zamora"):
        assert name not in spanish
    for name in ("Okonkwo", "2021"):
        assert name not in english + short
    # of one model only what its own language finds: each note is as a run in that language alone makes it
    for language, name, text in (("es", "a", spanish), ("en", "b", english)):
        alone = tmp_path / f"alone-{language}"
        run("scrub", notes / f"{name}.txt", alone, "--language", language, "--policy", "redact", "--keep", "filename")
        assert (alone / f"{name}.txt").read_text(encoding="utf-8") == text


def test_a_table_is_made_of_notes_of_several_languages(notes: Path, tmp_path: Path) -> None:
    asked = ("extract", notes, tmp_path / "out.csv", "--language", "auto", "--model", "none", "--by", "note")
    _, summary = run(*asked)
    assert summary["other_languages"] == {}
    view = pd.read_csv(tmp_path / "out.csv", dtype=str).set_index("document")
    assert tuple(view.loc["a", ["sex", "age", "city"]]) == ("female", "45", "Zamora")
    assert view.loc["b", "sex"] == "female"


def test_the_surrogates_of_a_note_are_of_its_language() -> None:
    at = SPANISH.index("Aitor")
    note = Document("a", SPANISH, (Span(at, at + len("Aitor Lasarte Mugica"), "DOCTOR"),))

    def new(language: str) -> str:
        return Pipeline(None, None, KEY, Settings(gold=True, language=language))(note).document.text

    assert new("auto") == new("auto:de") == new("es") != new("en")


def test_what_cannot_be_told_is_of_the_language_that_the_user_names(notes: Path) -> None:
    document = Document("short", SHORT)
    for said, language in (("auto", "en"), ("auto:es", "es")):
        recognizer = build_recognizer(RecognizerOptions(language=said))
        assert recognizer.language_of(document) == language
        assert recognizer.language_of(Document("es", SPANISH)) == "es"


def test_a_language_has_its_own_model() -> None:
    assert build_recognizer(RecognizerOptions(language="es")).name == "es"
    assert build_recognizer(RecognizerOptions(language="en")).name == "en"
    assert build_recognizer(RecognizerOptions(language="es", model="none")).name == "rules"


def test_a_feed_tells_it_too(tmp_path: Path) -> None:
    feed = tmp_path / "feed.ndjson"
    feed.write_text("".join(json.dumps({"id": n, "text": t}) + "\n" for n, t in enumerate((SPANISH, ENGLISH, SPANISH))))
    said, summary = run("filter", feed, "-o", tmp_path / "out.ndjson", "--from", "ndjson")
    assert "2 documents are written in another language" in said
    assert summary["other_languages"] == {"es": 2}
    assert not any("written" in category for category in summary["categories"])
