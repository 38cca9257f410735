"""Pages of results: what commands wrote is shown with their figures, and what they did not write is refused."""

from __future__ import annotations

import html
import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from notes import clinic_notes
from typer.testing import CliRunner

from deid import io
from deid.cli import report
from deid.cli.main import app
from deid.document import Span
from deid.experiments import results


def run(*arguments: object, status: int = 0) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if status != 2 and result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if status != 2:
        assert result.exit_code == status, result.output
    return result.output + str(result.exception or "")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what commands wrote."""
    folder = tmp_path_factory.mktemp("run")
    base = tmp_path_factory.mktemp("given")
    documents = clinic_notes(12)
    found = [
        d.with_spans([Span(s.start, s.end, s.category, score=0.3 + 0.05 * i) for i, s in enumerate(d.spans[:-1])])
        for d in documents
    ]
    gold = base / "gold.jsonl"
    io.write(documents, gold, "jsonl")
    io.write(found, base / "found.jsonl", "jsonl")
    quick = ("--iterations", 2, "--min-documents", 1)
    run("evaluate", gold, base / "found.jsonl", "--resamples", 0, "--json", folder / "evaluate.json")
    run("crossval", gold, "--folds", 2, "--resamples", 0, *quick, "--json", folder / "crossval.json")
    run("calibrate", gold, "--recall", 0.8, "--dials", "0,4", "--no-rules", "--json", folder / "calibrate.json")
    experiments = {
        "learning-curve": ("--sizes", "2,4"),
        "active-learning": ("--seeds", 1, "--first-notes", 2, "--batch", 4, "--targets", 0.2),
        "learners": ("--algorithms", "sgd,maxent"),
        "hips": (),
    }
    for name, options in experiments.items():
        run("experiment", name, gold, "--test", gold, *options, *quick, "--json", folder / f"{name}.json")
    run("experiment", "robustness", gold, "--no-rules", "--only", "capitals", "--json", folder / "robustness.json")
    mentions = ("--sizes", 120, "--methods", "record-number,exact", "--resamples", 20)
    run("experiment", "linkage", *mentions, "--json", folder / "linkage.json")
    table = base / "table.csv"
    rows = [f"{20 + i % 30},{'FM'[i % 2]},d{i % 3}" for i in range(60)]
    table.write_text("\n".join(["age,sex,disease", *rows]) + "\n")
    roles = ("--qi", "age,sex", "--sensitive", "disease")
    run("ru-map", table, *roles, "--ks", "2,5", "-o", base / "map.svg", "--json", folder / "map.json")
    for k in (2, 5):
        run("anonymize", table, *roles, "--k", k, "-o", base / f"r{k}.csv", "--json", folder / f"release{k}.json")
    domains = ("--dims", "sex,disease", "--domain", "sex=F,M", "--domain", "disease=d0,d1,d2")
    noise = ("--methods", "cells", "--epsilons", "0.5,1", "--runs", 1)
    dp = ("experiment", "dp", table, *domains, "--slice", "sex,disease", *noise)
    ages = ("--dims", "age", "--domain", "age=20..49", "--slice", "age", "--histogram")
    bins = ("experiment", "dp", table, *ages, *noise)
    levels = base / "levels.csv"
    levels.write_text(
        "\n".join(["who,q1,q2,q3", *(f"{i // 2},{i % 2},{i % 3},{(i * 7) % 3}" for i in range(40))]) + "\n"
    )
    asked = ("--domain", "level=0..2", "--trends", 2, "--draw", 2, "--person", "who", "--bounds", "1,2", "--runs", 1)
    sequences = ("experiment", "sequences", levels, "--periods", "q1,q2,q3", *asked)
    filters = ("experiment", "private-linkage", "--persons", 60, "--harden", "none")
    for name, command in {"dp": dp, "bins": bins, "sequences": sequences, "filters": filters}.items():
        (folder / f"{name}.txt").write_text(run(*command, "--quiet", "--json", folder / f"{name}.json"))
    (folder / "other.json").write_text('{"command": "scrub"}')
    return folder


def plots(page: str) -> list[str]:
    """Return what the page's plots show, as they say it to who cannot see them."""
    return re.findall(r'<img src="data:image/svg\+xml;base64,[^"]+" alt="([^"]+)"', page)


EXPECTED = {
    "evaluate": ["Bars", "Confusion matrix", "Reliability diagram"],
    "crossval": ["Bars", "Confusion matrix"],
    "calibrate": ["Recall, precision"],
    "learning-curve": ["Strict F1 and recall"],
    "active-learning": ["Strict F1 over notes"],
    "learners": [],
    "hips": ["Share of missed identifiers"],
    "robustness": ["Bars: recall of PHI words lost"],
    "linkage": ["Precision over recall"],
    "map": ["R-U map"],
    "release2": ["R-U map"],
    "dp": ["L1 error over epsilon"],
    "bins": ["Counts over bins"],
    "sequences": ["Error over the length"],
    "filters": [],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_result_is_shown_with_its_plots_and_nothing_from_elsewhere(name: str, written: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run("report", "open", written / f"{name}.json", "-o", page)
    text = page.read_text()
    assert [alt.startswith(begin) for alt, begin in zip(plots(text), EXPECTED[name], strict=True)].count(False) == 0
    assert "<table>" in text or name == "release2"
    assert not re.search(r"<script|<link|(?:src|href)=\"(?!data:)", text)
    assert "@media print" in text
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_figures_on_the_page_are_those_of_the_file(written: Path, tmp_path: Path) -> None:
    run("report", "open", written / "evaluate.json", "-o", tmp_path / "p.html")
    page = tmp_path.joinpath("p.html").read_text()
    values = json.loads((written / "evaluate.json").read_text())
    for category, score in values["measures"]["strict"]["by_label"].items():
        assert re.search(rf"<td>{category}</td>.*?{score['recall']:.4f}", page)
    run("report", "open", written / "dp.json", "-o", tmp_path / "d.html")
    assert "NOT private" in (tmp_path / "d.html").read_text()


@pytest.mark.parametrize("name", ["dp", "bins", "sequences", "filters"])
def test_the_page_has_the_tables_that_the_command_printed(name: str, written: Path, tmp_path: Path) -> None:
    run("report", "open", written / f"{name}.json", "-o", tmp_path / "p.html")
    page = re.sub(r"<[^>]+>", " ", (tmp_path / "p.html").read_text())
    printed = (written / f"{name}.txt").read_text()
    assert [word for word in printed.split() if word not in html.unescape(page).split()] == []


@pytest.mark.slow
def test_a_folder_is_one_page_with_its_releases_on_one_map(written: Path, tmp_path: Path) -> None:
    run("report", "open", written, "-o", tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text()
    for name in EXPECTED:
        assert f"({name}.json)" in page
    assert "other.json" not in page
    assert plots(page)[0].startswith("R-U map")
    assert sum(alt.startswith("R-U map") for alt in plots(page)) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("no JSON", "the file is no JSON"),
        ("[1, 2]", "no result that has a page"),
        ('{"command": "scrub"}', "no result that has a page"),
        ('{"command": ["evaluate"]}', "no result that has a page"),
        ("[" * 100_000, "the file is no JSON"),
    ],
)
def test_what_no_command_wrote_is_refused(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content)
    assert said in run("report", "open", tmp_path / "x.json", "-o", tmp_path / "p.html", status=2)
    assert not (tmp_path / "p.html").exists()


@pytest.mark.parametrize(
    "name", ["evaluate", "calibrate", "active-learning", "map", "release2", "dp", "hips", "robustness", "linkage"]
)
def test_a_damaged_result_is_an_error_of_its_file_or_a_page(name: str, written: Path) -> None:
    values = json.loads((written / f"{name}.json").read_text())
    wrong: list[Any] = ["x", [], None]
    damaged = [{**values, part: wrong[i % 3]} for i, part in enumerate(values) if part != "command"]
    damaged.append({"command": values["command"]})
    errors = []
    for one in damaged:
        try:
            results.show_results({"f.json": one}, Path("f.json"))
        except results.InputError as error:
            errors.append(str(error))
    assert errors
    assert all("does not hold what deid" in error for error in errors)


def test_an_empty_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    assert "holds no result" in run("report", "open", tmp_path, "-o", tmp_path / "p.html", status=2)
    assert "cannot be read" in run("report", "open", tmp_path / "none.json", "-o", tmp_path / "p.html", status=2)


def test_the_browser_is_opened_only_for_who_sees_it(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    told = run("report", "open", written / "map.json", status=2)  # the runner's output is no terminal
    assert "--output" in told
    monkeypatch.setattr(report, "_has_browser", lambda: True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run("report", "open", written / "map.json", "-o", tmp_path / "p.html")
    assert opened == []
    run("report", "open", written / "map.json")
    assert len(opened) == 1
    page = Path(opened[0].removeprefix("file://"))
    assert page.parent.parent == tmp_path
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
