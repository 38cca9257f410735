"""A corpus, and a tagger that is not trained but told what to find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from notes import clinic_notes

from deid.document import Document, Span
from deid.features import FeatureSet
from deid.labeling.training import TrainingOptions


@pytest.fixture(scope="session")
def corpus() -> list[Document]:
    """Twenty-four annotated notes of twelve patients."""
    return clinic_notes(24)


@dataclass
class Told:
    """Stands for `deid.labeling.tagger.train`: keeps what it was called with and finds what a function says."""

    find_spans: Callable[[FeatureSet, Document, float], Sequence[Span]]
    calls: list[tuple[list[Document], FeatureSet, TrainingOptions]] = field(default_factory=list)
    tagged: list[tuple[int, str]] = field(default_factory=list)
    """Number of the training and id of each document that was tagged after it."""

    def __call__(
        self, documents: list[Document], features: FeatureSet, options: TrainingOptions, *, start: None = None
    ) -> _Tagger:
        self.calls.append((list(documents), features, options))
        return _Tagger(self, features, 0.0, len(self.calls) - 1)


@dataclass
class _Tagger:
    told: Told
    features: FeatureSet
    bias: float
    training: int

    def dial(self, bias: float) -> _Tagger:
        return _Tagger(self.told, self.features, bias, self.training)

    def find(self, document: Document) -> list[Span]:
        self.told.tagged.append((self.training, document.id))
        return list(self.told.find_spans(self.features, document, self.bias))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Told]:
    """Replace training by a tagger that finds what the given function says."""

    def replace(find_spans: Callable[[FeatureSet, Document, float], Sequence[Span]]) -> Told:
        fake = Told(find_spans)
        monkeypatch.setattr("deid.experiments.trials.train", fake)
        return fake

    return replace
