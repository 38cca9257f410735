"""Training and decoding on a real corpus; minutes of CPU. The learner that is the default by day, L-BFGS at night."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pycrfsuite
import pytest

from deid import io
from deid.document import Document
from deid.evaluation import ScoringSettings, evaluate
from deid.features import FeatureSet
from deid.labeling.tagger import Tagger, train
from deid.labeling.training import TrainingOptions
from deid.reading.dictionaries import available


def documents(folder: Path) -> list[Document]:
    found = list(io.read(folder, "meddocan"))
    assert all(isinstance(item, Document) for item in found)
    return found  # type: ignore[return-value]


@pytest.fixture(scope="session")
def parts(shared_data: Path) -> tuple[list[Document], list[Document]]:
    """The training and the development part of MEDDOCAN."""
    root = shared_data / "meddocan"
    return documents(root / "train" / "xml"), documents(root / "dev" / "xml")


def strict_f1(tagger: Tagger, gold: list[Document]) -> float:
    found = [document.with_spans(tagger.find(document)) for document in gold]
    return evaluate(gold, found, settings=ScoringSettings(resamples=0)).tables["strict"].micro().f1


def assert_crfsuite_agrees(tagger: Tagger, gold: list[Document]) -> None:
    """CRFsuite, fed by hand with the expanded features, gives the same label to every token."""
    reference = pycrfsuite.Tagger()
    reference.open_inmemory(tagger.crfsuite)
    features = tagger.decoder.features
    for document in gold:
        assert tagger.label(document.text)[0] == reference.tag(features.expand(features.encode(document.text)))


@pytest.mark.night
def test_hide_preset(parts: tuple[list[Document], list[Document]]) -> None:
    training, development = parts
    tagger = train(training, FeatureSet("hide", "rac"), TrainingOptions(algorithm="lbfgs", c2=0.1, all_pairs=False))
    assert strict_f1(tagger, development) >= 0.940
    assert_crfsuite_agrees(tagger, development)


@pytest.mark.night
def test_default_preset(parts: tuple[list[Document], list[Document]]) -> None:
    training, development = parts
    tagger = train(training, FeatureSet("default", "rac"), TrainingOptions(algorithm="lbfgs", iterations=80))
    assert tagger.description["corpus"]["spans_off_token_borders"] == 7
    assert strict_f1(tagger, development) >= 0.958
    assert_crfsuite_agrees(tagger, development)


@pytest.mark.slow
def test_stochastic_gradient(parts: tuple[list[Document], list[Document]]) -> None:
    training, development = parts
    tagger = train(training, FeatureSet("default", "rac"))
    assert strict_f1(tagger, development) >= 0.960
    assert_crfsuite_agrees(tagger, development)


@pytest.mark.slow
def test_spanish_lists_and_spans_by_probability(parts: tuple[list[Document], list[Document]]) -> None:
    training, development = parts
    tagger = train(training, FeatureSet("default", "racd", available("es")))
    assert strict_f1(dataclasses.replace(tagger, span_probability=0.4), development) >= 0.963
