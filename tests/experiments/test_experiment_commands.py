"""The commands crossval, experiment features and experiment sampling, and the plots and pages they write."""

from __future__ import annotations

import json
import re
import stat
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deid import io
from deid.base.errors import ConfigError, OutputError
from deid.cli.main import app
from deid.document import Document

QUICK = ("--iterations", "6", "--min-documents", "1")


@pytest.fixture(scope="module")
def corpus_file(corpus: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.jsonl"
    io.write(corpus, path, "jsonl")
    return path


def invoke(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=True)
    assert result.exit_code == status, result.output
    return result


def test_crossval_prints_tables_and_writes_numbers_and_pages(
    corpus_file: Path, corpus: list[Document], tmp_path: Path
) -> None:
    files = {name: tmp_path / name for name in ("n.json", "page.html", "mistakes.html")}
    result = invoke(
        *("crossval", corpus_file, "--folds", 3, "--preset", "hide", "--features", "rc", *QUICK),
        *("--group-pattern", r"^\d+", "--json", files["n.json"], "--report", files["page.html"]),
        *("--mistakes", files["mistakes.html"]),
    )
    assert re.search(r"^mean  ", result.stdout, re.MULTILINE)
    assert re.search(r"^sd  ", result.stdout, re.MULTILINE)
    assert re.search(r"^I-PATIENT  ", result.stdout, re.MULTILINE)
    numbers = json.loads(files["n.json"].read_text())
    assert [fold["documents"] for fold in numbers["folds"]] == [8, 8, 8]
    assert numbers["options"]["iterations"] == 6
    assert numbers["features"]["groups"] == "rc"
    mean = sum(fold["strict_f1"] for fold in numbers["folds"]) / 3
    assert numbers["mean"]["strict_f1"] == pytest.approx(mean)
    assert numbers["documents"] == 24
    page = files["page.html"].read_text()
    assert f"{numbers['mean']['strict_f1']:.4f}" in page
    assert not any(d.text[s.start : s.end] in page for d in corpus for s in d.spans)
    assert stat.S_IMODE(files["mistakes.html"].stat().st_mode) == 0o600
    assert "protected health information" in files["mistakes.html"].read_text()


def test_crossval_trains_with_the_algorithm_named(corpus_file: Path, tmp_path: Path) -> None:
    numbers = tmp_path / "n.json"
    invoke("crossval", corpus_file, "--folds", 2, "--features", "c", "--algorithm", "sgd", "--json", numbers)
    options = json.loads(numbers.read_text())["options"]
    assert options["algorithm"] == "sgd"


def test_feature_experiment_writes_table_plot_and_page(corpus_file: Path, tmp_path: Path) -> None:
    rows_file, page, plot = tmp_path / "f.json", tmp_path / "f.html", tmp_path / "f.svg"
    result = invoke(
        *("experiment", "features", corpus_file, "--folds", 2, "--dictionaries", "calendar/months", *QUICK),
        *("--measure", "word", "--json", rows_file, "--report", page, "--plot", plot),
    )
    written = json.loads(rows_file.read_text())
    assert len(written["rows"]) == 15
    assert written["settings"]["measure"] == "word"
    assert {row["features"] for row in written["rows"] if row["p"] is None} == {"racd"}
    for row in written["rows"]:
        assert re.search(rf"^{row['features']} +{row['mean']:.4f} ", result.stdout, re.MULTILINE)
    drawn = plot.read_text()
    labels = {
        "".join(text.itertext()) for text in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")
    }
    assert {row["features"] for row in written["rows"]} <= labels
    html = page.read_text()
    assert "data:image/svg+xml;base64," in html
    assert not re.search(r'(src|href)="(?!data:)', html)


def test_sampling_experiment_draws_its_curves_the_same_way_twice(
    corpus_file: Path, corpus: list[Document], tmp_path: Path
) -> None:
    from deid.base.plots import image
    from deid.experiments.plots import plot_sampling
    from deid.experiments.sampling import Points, sampling_curves
    from deid.experiments.trials import TrialSetup
    from deid.features import FeatureSet
    from deid.labeling.training import TrainingOptions

    rows_file, plot = tmp_path / "s.json", tmp_path / "s.png"
    result = invoke(
        *("experiment", "sampling", corpus_file, "--folds", 2, *QUICK, "--windows", "0,2", "--shares", ".5"),
        *("--biases", "1", "--acceptance", "O=.3", "--json", rows_file, "--plot", plot),
    )
    rows = json.loads(rows_file.read_text())["rows"]
    assert [(row["curve"], row["value"]) for row in rows] == [
        ("full", None),
        ("dial", 1.0),
        ("window", 0.0),
        ("window", 2.0),
        ("o-sampling", 0.5),
        ("naive-bayes", None),
        ("rejection", None),
    ]
    assert "Naive Bayes, rejection sampling" in result.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")
    points = Points((0, 2), (0.5,), (1.0,), (("O", 0.3),))
    options = TrainingOptions(iterations=6, min_documents=1)
    frame = sampling_curves(TrialSetup(corpus, FeatureSet("hide"), options, folds=2), points=points)
    frame["train_cpu_seconds"] = 1.0
    assert frame["phi_recall"].tolist() == pytest.approx([row["phi_recall"] for row in rows])
    assert image(plot_sampling(frame)) == image(plot_sampling(frame))


def test_a_test_set_takes_the_place_of_folds(corpus_file: Path, tmp_path: Path) -> None:
    rows_file = tmp_path / "s.json"
    result = invoke(
        *("experiment", "sampling", corpus_file, "--test", corpus_file, *QUICK, "--windows", "", "--shares", ""),
        *("--biases", "", "--no-naive-bayes", "--json", rows_file),
    )
    written = json.loads(rows_file.read_text())
    assert [row["curve"] for row in written["rows"]] == ["full"]
    assert written["settings"]["folds"] is None
    assert "experiment sampling: 48 documents" in result.stderr


def test_documents_that_cannot_be_read_are_reported_and_the_rest_is_scored(corpus_file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text(corpus_file.read_text() + '{"text": "Smith", "spans": [[0, 99, "PATIENT"]]}\n')
    result = invoke("crossval", broken, "--folds", 2, "--features", "c", *QUICK, status=1)
    assert "24 documents, 1 failed" in result.stderr
    assert re.search(r"^mean  ", result.stdout, re.MULTILINE)
    assert "Smith" not in result.output


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("crossval", "--json", "nowhere/f.json"), OutputError, "there is no folder"),
        (("crossval", "--folds", 99), ConfigError, "99 folds cannot be made of 24"),
        (("crossval", "--preset", "best"), ConfigError, "unknown feature preset"),
        (("crossval", "--iterations", 0), ConfigError, "there is no iteration"),
        (("experiment", "features", "--plot", "f.jpg"), ConfigError, "another suffix"),
        (("experiment", "features", "--dictionaries", "none"), ConfigError, "no word lists"),
        (("experiment", "sampling", "--windows", "4;16"), ConfigError, "no list of numbers"),
    ],
)
def test_what_cannot_be_done_is_said_before_training(
    arguments: tuple[object, ...],
    error: type[Exception],
    message: str,
    corpus_file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_training(*_: object) -> None:
        raise AssertionError("training began")

    monkeypatch.setattr("deid.experiments.trials.train", no_training)
    result = invoke(*arguments, corpus_file, status=1)  # main() turns it into a message and status 2
    assert isinstance(result.exception, error)
    assert message in str(result.exception)
