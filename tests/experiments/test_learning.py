"""Learning curves: what is trained on and scored, from scratch and from a model, and the command."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from deid import io
from deid.base.errors import ConfigError
from deid.cli.main import app
from deid.document import Document
from deid.experiments.learning import learning_curve
from deid.experiments.options import CurveOptions
from deid.experiments.trials import TrialSetup, figures, score
from deid.features import FeatureSet
from deid.labeling.tagger import train
from deid.labeling.training import TrainingOptions

FEATURES = FeatureSet("default", "rac")
QUICK = TrainingOptions(iterations=4, min_documents=1)


@pytest.fixture(scope="module")
def model(corpus: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "start"
    train(corpus[16:], FEATURES, QUICK, name="start").save(folder)
    return folder


def test_a_row_is_what_training_by_hand_gives(corpus: list[Document]) -> None:
    setup = TrialSetup(corpus[:12], FEATURES, QUICK, test=corpus[12:], seed=3)
    frame = learning_curve(setup, CurveOptions(sizes=(8, 2)))
    assert frame["documents"].tolist() == [2, 8]
    order = np.random.default_rng(3).permutation(12)
    tagger = train([corpus[i] for i in sorted(order[:8])], FEATURES, QUICK)
    answers = [d.with_spans(tagger.find(d)) for d in corpus[12:]]
    row = frame[frame["documents"] == 8].iloc[0]
    assert {name: row[name] for name in figures(score(corpus[12:], answers, FEATURES))} == pytest.approx(
        figures(score(corpus[12:], answers, FEATURES))
    )


def test_without_a_test_set_what_the_largest_size_leaves_is_scored(corpus: list[Document]) -> None:
    frame = learning_curve(TrialSetup(corpus, FEATURES, QUICK), CurveOptions(sizes=(4,), repeats=2))
    assert frame["repeat"].tolist() == [0, 1]
    with pytest.raises(ConfigError, match="no document is left"):
        learning_curve(TrialSetup(corpus, FEATURES, QUICK), CurveOptions(sizes=(len(corpus),)))


def test_a_model_is_scored_alone_and_as_a_start(corpus: list[Document], model: Path) -> None:
    frame = learning_curve(
        TrialSetup(corpus[:8], FeatureSet("hide", "r"), QUICK, test=corpus[8:16]),
        CurveOptions(sizes=(1, 4), start_from=str(model)),
    )
    assert list(zip(frame["start"], frame["documents"], strict=True)) == [
        ("model", 0),
        ("scratch", 1),
        ("model", 1),
        ("scratch", 4),
        ("model", 4),
    ]
    f1 = frame.set_index(["start", "documents"])["strict_f1"]
    assert f1["model", 1] > f1["scratch", 1]


@pytest.mark.parametrize("sizes", [(), (0, 2), (3, 99)])
def test_sizes_that_cannot_be_drawn_are_refused(sizes: tuple[int, ...], corpus: list[Document]) -> None:
    with pytest.raises(ConfigError, match="sizes cannot be drawn"):
        learning_curve(TrialSetup(corpus, FEATURES, QUICK), CurveOptions(sizes=sizes))


def test_the_command_prints_and_writes_the_curve(corpus: list[Document], model: Path, tmp_path: Path) -> None:
    io.write(corpus[:10], tmp_path / "train.jsonl", "jsonl")
    io.write(corpus[10:16], tmp_path / "test.jsonl", "jsonl")
    result = CliRunner().invoke(
        app,
        [
            *("experiment", "learning-curve", str(tmp_path / "train.jsonl"), "--test", str(tmp_path / "test.jsonl")),
            *("--sizes", "2,5", "--repeats", "2", "--iterations", "3", "--min-documents", "1"),
            *("--start-from", str(model), "-o", str(tmp_path / "c.csv"), "--plot", str(tmp_path / "c.svg")),
            *("--report", str(tmp_path / "c.html")),
        ],
    )
    assert result.exit_code == 0, result.output
    assert "from a model" in result.stdout
    rows = list(csv.DictReader((tmp_path / "c.csv").open()))
    assert len(rows) == 2 * (1 + 2 * 2)
    mean = np.mean([float(r["strict_f1"]) for r in rows if (r["start"], r["documents"]) == ("scratch", "5")])
    assert f"{mean:.4f}" in result.stdout
    assert "documents trained on" in (tmp_path / "c.svg").read_text()
    assert f"{mean:.4f}" in (tmp_path / "c.html").read_text()
