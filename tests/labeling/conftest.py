"""Small corpora and taggers, trained once."""

from __future__ import annotations

import pytest

from deid.document import Document, Span
from deid.features import FeatureSet
from deid.labeling.tagger import Tagger, train
from deid.labeling.training import TrainingOptions

GIVEN = ("Ana", "Bea", "Carl", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jan")
FAMILY = ("Ruiz", "Shah", "Lee", "Novak", "Okoro", "Berg", "Costa", "Diaz", "Egan", "Fox")


def note(number: int) -> Document:
    """A note with a patient, a doctor, a record number and a date."""
    parts = (
        ("Name: ", ""),
        (f"{GIVEN[number % 10]} {FAMILY[(3 * number) % 10]}", "PATIENT"),
        (". MRN ", ""),
        (str(10_000 + 937 * number), "MEDICALRECORD"),
        (", seen by Dr. ", ""),
        (FAMILY[(7 * number + 1) % 10], "DOCTOR"),
        (" on ", ""),
        (f"{number % 28 + 1} May 20{number % 90 + 10}", "DATE"),
        (". Chest pain for 3 days, no fever.\n", ""),
    )
    text, spans = "", []
    for part, category in parts:
        if category:
            spans.append(Span(len(text), len(text) + len(part), category))
        text += part
    return Document(f"note-{number}", text, tuple(spans))


@pytest.fixture(scope="session")
def corpus() -> list[Document]:
    """Thirty annotated notes."""
    return [note(i) for i in range(30)]


@pytest.fixture(scope="session")
def small_tagger(corpus: list[Document]) -> Tagger:
    """A CRF with the default features."""
    return train(corpus, FeatureSet("default", "rac"), TrainingOptions(algorithm="lbfgs", iterations=40), name="small")


@pytest.fixture(scope="session")
def small_hide_tagger(corpus: list[Document]) -> Tagger:
    """A CRF with the dissertation's features."""
    return train(
        corpus, FeatureSet("hide", "rac"), TrainingOptions(algorithm="lbfgs", iterations=40), name="small-hide"
    )
