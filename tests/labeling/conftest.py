"""Small corpora and taggers, trained once."""

from __future__ import annotations

import pytest
from notes import FAMILY, GIVEN, composed

from deid.document import Document
from deid.features import FeatureSet
from deid.labeling.tagger import Tagger, train
from deid.labeling.training import TrainingOptions


def note(number: int) -> Document:
    """A note with a patient, a doctor, a record number and a date."""
    pieces = (
        *("Name: ", ("PATIENT", f"{GIVEN[number % 10]} {FAMILY[(3 * number) % 10]}")),
        *(". MRN ", ("MEDICALRECORD", str(10_000 + 937 * number))),
        *(", seen by Dr. ", ("DOCTOR", FAMILY[(7 * number + 1) % 10])),
        *(" on ", ("DATE", f"{number % 28 + 1} May 20{number % 90 + 10}"), ". Chest pain for 3 days, no fever.\n"),
    )
    return Document(f"note-{number}", *composed(*pieces))


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
