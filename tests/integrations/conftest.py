"""A corpus and a tagger that was trained on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from notes import clinic_notes

from deid.document import Document
from deid.features import FeatureSet
from deid.labeling.tagger import Tagger, train
from deid.labeling.training import TrainingOptions


@pytest.fixture(scope="session")
def corpus() -> list[Document]:
    """Twenty-four annotated notes."""
    return clinic_notes(24)


@pytest.fixture(scope="session")
def tagger(corpus: list[Document]) -> Tagger:
    """A CRF with the default features."""
    return train(corpus, FeatureSet("default", "rac"), TrainingOptions(iterations=20, min_documents=1), name="clinic")


@pytest.fixture(scope="session")
def model(tagger: Tagger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tagger as a model folder."""
    folder = tmp_path_factory.mktemp("models") / "clinic"
    tagger.save(folder)
    return folder
