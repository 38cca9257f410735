"""The model that ships: it loads, stores no rare word, and finds most PHI in the sample notes."""

from __future__ import annotations

from pathlib import Path

from deid import io
from deid.base.resources import resource_folder
from deid.detection.recognizers import build_recognizer
from deid.document import Document
from deid.evaluation import ScoringSettings, evaluate
from deid.labeling.audit import audit_model
from deid.labeling.tagger import load_model

SAMPLE = Path(__file__).resolve().parents[1] / "corpora" / "synthetic" / "sample"


def test_it_finds_most_of_the_phi_in_notes_of_the_development_part() -> None:
    gold = [d for d in io.read(SAMPLE / "xml") if isinstance(d, Document)]
    recognizer = build_recognizer()
    found = [d.with_spans(recognizer.find(d)) for d in gold]
    words = evaluate(gold, found, settings=ScoringSettings(resamples=0)).tables["word"].micro()
    assert len(gold) >= 10
    assert words.recall > 0.85
    assert words.precision > 0.80


def test_it_says_what_it_is_and_stores_nothing_rare(tmp_path: Path) -> None:
    import shutil

    folder = resource_folder("models") / "en"
    shutil.copytree(folder, tmp_path / "en")
    assert audit_model(tmp_path / "en", 3).rare == ()
    assert load_model().rules == ("en",)
    for name in ("scores.json", "README.md"):
        assert (folder / name).is_file()
