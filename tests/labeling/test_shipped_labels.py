"""The shipped model labels as CRFsuite does with the same weights, though its scores are rounded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pycrfsuite
import pytest

from deid.labeling.tagger import Tagger, load_model

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return load_model()


def compare(tagger: Tagger, texts: Iterable[str], *, chances: bool) -> int:
    """Compare every label, and the labels' probabilities; returns the number of tokens."""
    peer = pycrfsuite.Tagger()
    peer.open_inmemory(tagger.crfsuite)
    features, tokens = tagger.decoder.features, 0
    for text in texts:
        expected = peer.tag(features.expand(features.encode(text)))
        assert tagger.label(text)[0] == expected
        tokens += len(expected)
        if chances:
            _, _, _, sure = tagger.decoder.decode(text, sure=True)
            assert sure is not None
            assert sure == pytest.approx([peer.marginal(label, i) for i, label in enumerate(expected)], abs=1e-6)
    return tokens


def test_notes_of_the_synthetic_corpus(tagger):
    lines = (ROOT / "corpora" / "synthetic" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    assert compare(tagger, (json.loads(line)["text"] for line in lines[:8]), chances=True) > 1000


@pytest.mark.slow
def test_every_token_of_the_english_set(tagger, shared_data):
    paths = sorted((shared_data / "english" / "txt").glob("*.txt"))
    assert compare(tagger, (path.read_bytes().decode("utf-8-sig") for path in paths), chances=True) > 100_000
