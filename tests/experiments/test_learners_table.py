"""Comparing learners: the table is what training each by hand gives, and the command prints it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid import io
from deid.base.errors import ConfigError
from deid.cli.main import app
from deid.document import Document
from deid.experiments.learners import compare_learners
from deid.experiments.trials import TrialSetup, figures, score
from deid.features import FeatureSet
from deid.labeling.tagger import train
from deid.labeling.training import TrainingOptions

FEATURES = FeatureSet("default", "rac")
OPTIONS = TrainingOptions(min_documents=1)


def test_rows_are_what_training_by_hand_gives(corpus: list[Document]) -> None:
    frame = compare_learners(
        TrialSetup(corpus[:16], FEATURES, OPTIONS, test=corpus[16:]), algorithms=("maxent", "tree", "sgd")
    )
    assert sorted(frame["algorithm"]) == ["maxent", "sgd", "tree"]
    assert frame["strict_f1"].is_monotonic_decreasing
    for row in frame.to_dict("records"):
        tagger = train(corpus[:16], FEATURES, dataclasses.replace(OPTIONS, algorithm=row["algorithm"]))
        answers = [d.with_spans(tagger.find(d)) for d in corpus[16:]]
        assert row["strict_f1"] == figures(score(corpus[16:], answers, FEATURES))["strict_f1"]


@pytest.mark.parametrize("names", [(), ("sgd", "sgd"), ("perceptron",)])
def test_unknown_learners_are_refused(names: tuple[str, ...], corpus: list[Document]) -> None:
    with pytest.raises(ConfigError, match="unknown or named twice"):
        compare_learners(TrialSetup(corpus[:8], FEATURES, OPTIONS, test=corpus[8:]), algorithms=names)


def test_the_command_prints_the_table(corpus: list[Document], tmp_path: Path) -> None:
    io.write(corpus[:12], tmp_path / "train.jsonl", "jsonl")
    io.write(corpus[12:], tmp_path / "test.jsonl", "jsonl")
    result = CliRunner().invoke(
        app,
        [
            *("experiment", "learners", str(tmp_path / "train.jsonl"), "--test", str(tmp_path / "test.jsonl")),
            *("--algorithms", "naive-bayes,memm", "--min-documents", "1", "--json", str(tmp_path / "t.json")),
        ],
    )
    assert result.exit_code == 0, result.output
    rows = json.loads((tmp_path / "t.json").read_text())["rows"]
    assert {row["algorithm"] for row in rows} == {"naive-bayes", "memm"}
    assert all(f"{row['strict_f1']:.4f}" in result.stdout for row in rows)
    assert "maximum entropy Markov model" in result.stdout
