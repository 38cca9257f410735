"""What every learner keeps: it learns, the same twice, and is the same when saved, loaded or sent to a process."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path

import pytest
from notes import clinic_note, clinic_notes

from deid.document import Document
from deid.features import FeatureSet
from deid.labeling.learners import LEARNERS
from deid.labeling.tagger import Tagger, load_model, train
from deid.labeling.training import ALGORITHMS, TrainingOptions

UNSEEN = [Document(note.id, note.text) for note in clinic_notes(12, 100)]


@cache
def trained(algorithm: str) -> Tagger:
    return train(clinic_notes(40), FeatureSet("default", "rc"), TrainingOptions(algorithm=algorithm, iterations=30))


def test_the_names_of_options_and_registry_are_the_same() -> None:
    assert set(LEARNERS) == set(ALGORITHMS)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_it_finds_most_of_new_notes(algorithm: str) -> None:
    wanted = {(n, s.start, s.end, s.category) for n in range(12) for s in clinic_note(100 + n).spans}
    found = {(n, s.start, s.end, s.category) for n in range(12) for s in trained(algorithm).find(UNSEEN[n])}
    assert len(found & wanted) >= 0.7 * len(wanted)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_saved_loaded_or_sent_it_finds_the_same(algorithm: str, tmp_path: Path) -> None:
    tagger = trained(algorithm)
    expected = [tagger.find(note) for note in UNSEEN]
    assert expected == [tagger.find(note) for note in UNSEEN]
    tagger.save(tmp_path / "m")
    for other in (load_model(tmp_path / "m"), pickle.loads(pickle.dumps(tagger))):
        assert type(other.decoder) is type(tagger.decoder)
        assert [other.find(note) for note in UNSEEN] == expected
        assert other.categories == {"PATIENT", "DOCTOR", "DATE"}
    assert not list(tmp_path.rglob("*.pkl"))
