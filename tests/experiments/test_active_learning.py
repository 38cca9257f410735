"""Simulated annotation: what is taken and when it ends, against training by hand; the figures of need; the command."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from deid import io
from deid.annotation.queue import annotation_queue
from deid.base.errors import ConfigError
from deid.cli.main import app
from deid.document import Document
from deid.experiments.active_learning import QueueOptions, active_learning, documents_needed
from deid.experiments.trials import TrialSetup, figures, score
from deid.features import FeatureSet
from deid.labeling.tagger import train
from deid.labeling.training import TrainingOptions
from deid.labeling.uncertainty import uncertainty

FEATURES = FeatureSet("default", "rac")
QUICK = TrainingOptions(iterations=3, min_documents=1)


def test_a_simulation_takes_what_the_tagger_is_least_sure_of(corpus: list[Document]) -> None:
    pool, test = corpus[:12], corpus[12:]
    options = QueueOptions(seeds=1, first=3, batch=2, random_share=0, diversity=0, targets=(0.999,), most=5)
    frame = active_learning(TrialSetup(pool, FEATURES, QUICK, test=test), options).set_index(["queue", "documents"])
    assert frame.index.tolist() == [("random", 3), ("random", 5), ("entropy", 3), ("entropy", 5)]
    ids = [d.id for d in pool]
    drawn = [q.id for q in annotation_queue(ids, [0.0] * 12, random_share=1.0)][:3]
    known = {d.id: d for d in pool}
    tagger = train([known[name] for name in drawn], FEATURES, QUICK)
    left = sorted(set(ids) - set(drawn))
    unsure = sorted(left, key=lambda name: (-uncertainty(tagger, known[name].text).entropy, name))[:2]
    after = train([known[name] for name in [*drawn, *unsure]], FEATURES, QUICK)
    by_hand = figures(score(test, [d.with_spans(after.find(d)) for d in test], FEATURES))
    row = frame.loc[("entropy", 5)]
    for name in ("strict_precision", "strict_recall", "strict_f1", "phi_precision", "phi_recall", "phi_f1"):
        assert row[name] == pytest.approx(by_hand[name]), name
    assert row["words"] == sum(len(known[name].text.split()) for name in [*drawn, *unsure])
    assert frame.loc[("random", 3), "strict_f1"] == frame.loc[("entropy", 3), "strict_f1"]


def test_batches_grow_and_a_simulation_ends_with_its_notes_or_at_its_target(corpus: list[Document]) -> None:
    setup = TrialSetup(corpus[:12], FEATURES, QUICK, test=corpus[12:16])
    never = QueueOptions(queues=("missed",), seeds=1, first=1, batch=2, growth=2.0, targets=(0.9999,))
    frame = active_learning(setup, never)
    sizes = frame[frame["queue"] == "missed"]["documents"].tolist()
    assert sizes == [1, 3, 7, 12][: len(sizes)]
    assert frame["strict_f1"].iloc[-1] >= 0.9999 or sizes[-1] == 12
    at_once = active_learning(setup, QueueOptions(queues=(), seeds=2, first=4, targets=(0.001,)))
    assert at_once["documents"].tolist() == [4, 4]
    assert at_once["seed"].tolist() == [0, 1]


def test_what_is_needed_is_where_the_curve_first_gets_there() -> None:
    rows = [
        ("random", 0, 10, 100, 0.5), ("random", 0, 20, 200, 0.9), ("random", 0, 30, 300, 0.96),
        ("random", 1, 10, 120, 0.5), ("random", 1, 20, 220, 0.88), ("random", 1, 40, 420, 0.96),
        ("margin", 0, 10, 150, 0.92), ("margin", 0, 15, 260, 0.89), ("margin", 0, 20, 300, 0.95),
        ("margin", 1, 10, 160, 0.88), ("margin", 1, 20, 280, 0.92), ("margin", 1, 30, 400, 0.94),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["queue", "seed", "documents", "words", "strict_f1"])
    told = documents_needed(frame, (0.95, 0.9)).set_index(["target", "queue"])
    assert told.loc[(0.9, "random"), ["documents", "words"]].tolist() == pytest.approx([(20 + 25) / 2, (200 + 270) / 2])
    assert told.loc[(0.9, "margin"), ["documents", "words"]].tolist() == pytest.approx([(10 + 15) / 2, (150 + 220) / 2])
    assert told.loc[(0.9, "margin"), "fewer"] == pytest.approx(1 - 12.5 / 22.5)
    assert told.loc[(0.9, "margin"), "fewer_words"] == pytest.approx(1 - 185 / 235)
    assert told.loc[(0.9, "margin"), "sd"] == pytest.approx(np.std([10, 15], ddof=1))
    # one simulation never got there: no mean that only the lucky ones make
    assert told.loc[(0.95, "margin"), "reached"] == 1
    assert np.isnan(told.loc[(0.95, "margin"), ["documents", "fewer", "words"]].astype(float)).all()


def test_one_id_for_two_notes_and_no_test_set_are_refused(corpus: list[Document]) -> None:
    options = QueueOptions(seeds=1)
    with pytest.raises(ConfigError, match="same id"):
        active_learning(TrialSetup([corpus[0]] * 2, FEATURES, QUICK, test=corpus[1:2]), options)
    with pytest.raises(ConfigError, match="no document to score"):
        active_learning(TrialSetup(corpus[:4], FEATURES, QUICK), options)


@pytest.mark.parametrize("what", [{"queues": ("guess",)}, {"growth": 0.5}, {"targets": (1.5,)}, {"targets": ()}])
def test_options_that_make_no_simulation_are_refused(what: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        QueueOptions(**what)  # type: ignore[arg-type]


def test_the_command_prints_what_is_needed_and_writes_rows_plot_and_page(
    corpus: list[Document], tmp_path: Path
) -> None:
    io.write(corpus[:10], tmp_path / "train.jsonl", "jsonl")
    io.write(corpus[10:16], tmp_path / "test.jsonl", "jsonl")
    result = CliRunner().invoke(
        app,
        [
            *("experiment", "active-learning", str(tmp_path / "train.jsonl"), "--test", str(tmp_path / "test.jsonl")),
            *("--queues", "entropy,margin", "--seeds", "2", "--first-notes", "2", "--batch", "4", "--iterations", "2"),
            *("--targets", "0.2,0.999", "-o", str(tmp_path / "a.csv"), "--plot", str(tmp_path / "a.svg")),
            *("--report", str(tmp_path / "a.html"), "--json", str(tmp_path / "a.json")),
        ],
    )
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    assert {row["queue"] for row in rows} == {"random", "entropy", "margin"}
    assert {row["seed"] for row in rows} == {"0", "1"}
    assert re.search(r"0\.2\s+entropy\s+2 of 2", result.stdout)
    assert "notes annotated" in (tmp_path / "a.svg").read_text()
    assert "Notes to annotate" in (tmp_path / "a.html").read_text()
    told = json.loads((tmp_path / "a.json").read_text())
    assert len(told["rows"]) == len(rows)
    assert told["settings"]["queue"]["queues"] == ["entropy", "margin"]
