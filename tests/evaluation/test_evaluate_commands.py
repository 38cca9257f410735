"""The commands evaluate and compare, as users call them."""

from __future__ import annotations

import html
import json
import re
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deid import io
from deid.cli.main import app
from deid.document import Document

TEXT = 'Dr. Ann Lee <lee@x.org>\nsaw "Bob" & Ray\x07 on 3 May.'
GOLD = [(4, 11, "DOCTOR"), (13, 22, "EMAIL"), (29, 32, "PATIENT"), (36, 39, "PATIENT"), (44, 49, "DATE")]
SYSTEM = [(4, 7, "DOCTOR"), (13, 22, "EMAIL"), (29, 32, "DOCTOR"), (24, 27, "CITY")]


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path, note) -> Path:
    """GOLD and two systems, of which the first lacks a document and makes mistakes."""
    gold = [note(f"Smith-{i}", TEXT, *GOLD) for i in range(4)]
    io.write(gold, tmp_path / "gold.jsonl", "jsonl")
    io.write([note(f"Smith-{i}", TEXT, *SYSTEM) for i in range(3)], tmp_path / "a", "brat")
    io.write(gold, tmp_path / "b", "brat")
    return tmp_path


def test_evaluate_prints_tables_and_writes_numbers(folder: Path) -> None:
    result = _run(
        "evaluate",
        folder / "gold.jsonl",
        folder / "a",
        "--json",
        folder / "n.json",
    )
    assert result.exit_code == 0, result.output
    assert re.search(r"Spans, strict +0\.2500 +0\.1500 +0\.1875", result.stdout)
    assert "Smith" not in result.output
    numbers = json.loads((folder / "n.json").read_text())
    assert numbers["measures"]["strict"]["micro"]["recall"] == 0.15
    assert numbers["mistakes"]["by_kind"]["category"] == 3
    assert len(numbers["compared"]["missing"]) == 1
    assert (numbers["documents"], numbers["failed"]) == (4, 0)


def test_evaluate_fails_when_a_text_differs_and_still_scores_the_rest(folder: Path, note) -> None:
    io.write([note("Smith-0", "[NAME] fell"), note("Smith-1", TEXT, *GOLD)], folder / "scrubbed", "jsonl")
    result = _run("evaluate", folder / "gold.jsonl", folder / "scrubbed", "--resamples", "0")
    assert result.exit_code == 1
    assert re.search(r"Spans, strict +1\.0000 +0\.2500", result.stdout)
    assert "differ" in result.stderr
    assert "fell" not in result.output


def test_page_shows_mistakes_escaped_and_says_what_it_is(folder: Path) -> None:
    page_file = folder / "page.html"
    page_file.write_text("an older page")
    result = _run("evaluate", folder / "gold.jsonl", folder / "a", "--report", page_file)
    assert result.exit_code == 0, result.output
    assert "PHI" in result.stderr
    assert stat.S_IMODE(page_file.stat().st_mode) == 0o600
    page = page_file.read_text()
    assert "protected health information" in page
    assert '<mark class="both">Ann</mark><mark class="gold"> Lee</mark> &lt;lee@x.org&gt;\nsaw &#34;Bob&#34;' in page
    assert "⟨U+0007⟩" in page
    assert "<lee" not in page
    body = re.search(r'<table id="mistakes">.*?<tbody>(.*?)</tbody>', page, re.DOTALL).group(1)
    rows = re.findall(r'<tr data-kind="([^"]*)" data-category="([^"]*)"', body)
    # three documents with four mistakes each, and five missed spans in the one that is missing
    assert len(rows) == 3 * 5 + 5
    assert ("spurious", "CITY") in rows
    assert re.search(r'<option value="missed">missed \((\d+)\)', page).group(1) == "11"
    assert html.unescape(page).count("Smith-3") == 6


def test_page_loads_nothing_from_elsewhere(folder: Path) -> None:
    _run("evaluate", folder / "gold.jsonl", folder / "a", "--report", folder / "page.html")
    page = (folder / "page.html").read_text()
    assert not re.search(r"https?:|//[a-z]|<link|<img|<iframe|@import|url\(|src=", page)
    assert "default-src 'none'" in page


def test_compare_prints_the_difference_with_its_tests(folder: Path) -> None:
    result = _run(
        *("compare", folder / "gold.jsonl", folder / "a", folder / "b", "--metric", "strict.f1"),
        *("--json", folder / "c.json", "--permutations", "100", "--seed", "4"),
    )
    assert result.exit_code == 0, result.output
    assert re.search(r"spans, strict: f1 +0\.1875 +1\.0000 +-0\.8125", result.stdout)
    assert "100 swaps" in result.stdout
    found = json.loads((folder / "c.json").read_text())["compared"]
    assert found["metrics"]["strict.f1"]["t_documents"] == 4
    assert found["missing"] == {"a": 1, "b": 0}


def test_compare_names_the_known_figures_when_one_is_unknown(folder: Path) -> None:
    result = _run("compare", folder / "gold.jsonl", folder / "a", folder / "b", "--metric", "f2")
    assert result.exit_code != 0
    assert "strict.f1" in str(result.exception)


def test_mapping_and_labels_are_told(folder: Path) -> None:
    result = _run("evaluate", folder / "gold.jsonl", folder / "a", "--map", "i2b2-2006", "--labels", "PATIENT")
    assert result.exit_code == 0, result.output
    assert "4 gold and 3 system spans have no place there" in result.stdout
    assert "EMAIL has no place in i2b2-2006 and is dropped" in result.stdout
    assert "Scored: PATIENT." in result.stdout


def test_a_sentences_file_that_does_not_fit_is_named(folder: Path) -> None:
    path = folder / "sentences.tsv"
    path.write_text("id\tpart\tsentences\nx\tdev\tmany\n")
    result = _run("evaluate", folder / "gold.jsonl", folder / "a", "--sentences", path)
    assert result.exit_code != 0
    assert f"{path}, line 2" in str(result.exception)


@pytest.fixture
def odd(note) -> Document:
    return note("Smith", "a\ud800b\x00c", (0, 5, "PATIENT"))


def test_page_survives_text_that_html_cannot_hold(tmp_path: Path, odd: Document) -> None:
    from deid.evaluation import evaluate
    from deid.evaluation.page import write_page

    write_page(evaluate([odd], []), tmp_path / "page.html")
    assert "a⟨U+D800⟩b⟨U+0000⟩c" in (tmp_path / "page.html").read_text()
