"""Training that starts from another model: what it keeps, what it learns, and what it refuses."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from deid.base.errors import ConfigError
from deid.document import Document, Span
from deid.features import FeatureSet
from deid.labeling.tagger import Tagger, load_model, train
from deid.labeling.training import TrainingOptions
from deid.labeling.warm_start import rename_labels
from deid.labeling.weights import Weights

FEATURES = FeatureSet("default", "rac")
OPTIONS = TrainingOptions(min_documents=1)
# notes of another hospital: record numbers look otherwise, wards are marked too
LOCAL = [
    Document(
        f"local-{i}",
        f"Ward {name}\nPID: AB-{i}7{i}\nwell.\n",
        (Span(5, 5 + len(name), "DEPARTMENT"), Span(11 + len(name), 16 + len(name), "MEDICALRECORD")),
    )
    for i, name in enumerate(("North", "South", "East", "West"))
]


@pytest.fixture(scope="module")
def old(corpus: list[Document]) -> Tagger:
    return train(corpus, FEATURES, OPTIONS, name="old")


@pytest.fixture(scope="module")
def adapted(old: Tagger) -> Tagger:
    return train(LOCAL, FEATURES, OPTIONS, name="adapted", start=old)


def found(tagger: Tagger, text: str) -> list[tuple[str, str]]:
    return [(text[s.start : s.end], s.category) for s in tagger.find(Document("x", text))]


NEW = "Ward North\nPID: AB-979\nwell.\n"
OLD = "Name: Bea Ruiz. MRN 12345, seen by Dr. Lee on 3 May 2019. Chest pain for 3 days, no fever.\n"


def test_it_learns_the_local_notes_and_keeps_what_they_do_not_show(old: Tagger, adapted: Tagger) -> None:
    assert ("North", "DEPARTMENT") in found(adapted, NEW)
    assert ("AB-979", "MEDICALRECORD") in found(adapted, NEW)
    assert ("AB-979", "MEDICALRECORD") not in found(old, NEW)
    assert set(found(old, OLD)) <= set(found(adapted, OLD))
    fresh = train(LOCAL, FEATURES, OPTIONS)
    assert not {("Bea Ruiz", "PATIENT"), ("Lee", "DOCTOR")} & set(found(fresh, OLD))


def test_it_works_without_the_old_model_and_says_where_it_started(old: Tagger, adapted: Tagger, tmp_path: Path) -> None:
    adapted.save(tmp_path / "adapted")
    loaded = load_model(tmp_path / "adapted")
    assert found(loaded, OLD) == found(adapted, OLD)
    assert loaded.description["start"]["name"] == "old"
    word = "PREV1_Dr"
    assert loaded.lexicon[word] == old.lexicon[word]


def test_a_strong_pull_leaves_the_old_weights_where_they_are(old: Tagger) -> None:
    def moved(pull: float) -> float:
        now = train(LOCAL, FEATURES, dataclasses.replace(OPTIONS, pull=pull, prune=0.0), start=old).decoder.weights
        was = old.decoder.weights
        shared = [a for a in was.attributes if a in now.attributes]
        ids = [was.attributes[a] for a in shared], [now.attributes[a] for a in shared]
        places = [now.labels.index(label) for label in was.labels]
        return float(np.abs(now.state[ids[1]][:, places] - was.state[ids[0]]).sum())

    assert moved(10.0) < moved(0.1) < moved(0.0)


def test_old_weights_that_nothing_moved_are_kept_as_they_are(old: Tagger) -> None:
    """Small ones too, though new weights of that size are left out."""
    now = train(LOCAL, FEATURES, dataclasses.replace(OPTIONS, prune=0.5), start=old).decoder.weights
    was = old.decoder.weights
    local = {name for d in LOCAL for row in FEATURES.expand(FEATURES.encode(d.text)) for name in row}
    places = [now.labels.index(label) for label in was.labels]
    kept = [name for name in was.attributes if name not in local]
    assert min(abs(x) for name in kept for x in was.state[was.attributes[name]] if x) < 0.5
    for name in kept:
        found = now.state[now.attributes[name]][places]
        assert found == pytest.approx(was.state[was.attributes[name]], rel=1e-6)


def weights(labels: tuple[str, ...]) -> Weights:
    size = len(labels)
    state = np.arange(2.0 * size).reshape(2, size)
    return Weights(labels, {"a": 0, "b": 1}, state, np.arange(float(size * size)).reshape(size, size), np.zeros(size))


def test_categories_are_renamed_to_those_of_the_local_label_set() -> None:
    old = weights(("O", "B-MEDICALRECORD", "B-ACCOUNT", "B-DOCTOR", "B-PROFESSION"))
    new = rename_labels(old, {"PATIENT", "ID"})  # i2b2-2006: all numbers are ID, professions have no place
    assert new.labels == ("O", "B-ID", "B-DOCTOR", "B-PROFESSION")
    assert new.state.tolist() == [[0, 1.5, 3, 4], [5, 6.5, 8, 9]]
    assert new.transition[1, 1] == np.mean([6, 7, 11, 12])
    assert new.transition[0].tolist() == [0, 1.5, 3, 4]


def test_categories_of_no_known_set_keep_their_names() -> None:
    old = weights(("O", "B-DOCTOR", "I-DOCTOR"))
    new = rename_labels(old, {"DOCTOR", "our own"})
    assert new.labels == old.labels
    assert (new.state == old.state).all()


@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        (FEATURES, TrainingOptions(algorithm="lbfgs"), "only stochastic gradient"),
        (FeatureSet("default", "rc"), OPTIONS, "features are not those"),
        (FEATURES, TrainingOptions(scheme="BIOES"), "label scheme is not that"),
    ],
)
def test_what_does_not_fit_is_refused(
    features: FeatureSet, options: TrainingOptions, message: str, old: Tagger
) -> None:
    with pytest.raises(ConfigError, match=message):
        train(LOCAL, features, options, start=old)


def test_a_learner_without_transitions_is_no_start(corpus: list[Document]) -> None:
    bayes = train(corpus, FEATURES, TrainingOptions(algorithm="naive-bayes"))
    with pytest.raises(ConfigError, match="only a CRF"):
        train(LOCAL, FEATURES, OPTIONS, start=bayes)


def test_on_the_command_line_features_and_rules_are_those_of_the_start(corpus: list[Document], tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from deid import io
    from deid.cli.main import app

    train(corpus, FeatureSet("hide", "rc"), OPTIONS, name="old", rules=("en",)).save(tmp_path / "old")
    io.write(LOCAL, tmp_path / "local.jsonl", "jsonl")
    arguments = ["train", str(tmp_path / "local.jsonl"), "-o", str(tmp_path / "new"), "--min-documents", "1"]
    result = CliRunner().invoke(app, [*arguments, "--start-from", str(tmp_path / "old")])
    assert result.exit_code == 0, result.output
    new = load_model(tmp_path / "new")
    assert new.rules == ("en",)
    assert new.decoder.features.spec() == FeatureSet("hide", "rc").spec()
    assert {"DEPARTMENT", "PATIENT"} <= new.categories
