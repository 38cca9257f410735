"""Model files that we write are read by CRFsuite, which labels as our decoder does."""

from __future__ import annotations

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ModelError
from deid.document import Document
from deid.features import FeatureSet
from deid.labeling.crfsuite_file import pack_crfsuite, parse_crfsuite
from deid.labeling.reference import log_partition
from deid.labeling.tagger import Tagger, train
from deid.labeling.training import TrainingOptions
from deid.labeling.weights import Weights

names = st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=40)


@st.composite
def random_weights(draw: st.DrawFn) -> Weights:
    labels = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    attributes = draw(st.lists(names, max_size=30, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    shape = (len(attributes), len(labels))
    state = rng.normal(size=shape) * (rng.random(shape) < 0.6)
    move = rng.normal(size=(len(labels),) * 2) * (rng.random((len(labels),) * 2) < 0.8)
    return Weights(tuple(labels), {a: i for i, a in enumerate(attributes)}, state, move, np.zeros(len(labels)))


@given(weights=random_weights())
@settings(max_examples=60)
def test_what_is_written_is_read_back(weights: Weights) -> None:
    again = parse_crfsuite(pack_crfsuite(weights))
    assert again.labels == weights.labels
    assert (again.transition == weights.transition).all()
    used = {a for a, i in weights.attributes.items() if weights.state[i].any()}
    assert set(again.attributes) == used
    for name in used:
        assert (again.state[again.attributes[name]] == weights.state[weights.attributes[name]]).all()


@given(weights=random_weights(), seed=st.integers(0, 100))
@settings(max_examples=60)
def test_crfsuite_scores_with_the_weights_written(weights: Weights, seed: int) -> None:
    """log p(labels | items) by CRFsuite is the one that the weights give, for attributes in and outside the model."""
    rng = np.random.default_rng(seed)
    known = [*weights.attributes, "no such attribute"]
    items = [[known[i] for i in rng.permutation(len(known))[:4]] for _ in range(4)]
    path = rng.integers(0, len(weights.labels), 4)
    tagger = pycrfsuite.Tagger()
    model = pack_crfsuite(weights)  # the tagger reads from these bytes and does not keep them alive
    tagger.open_inmemory(model)
    assert tagger.labels() == list(weights.labels)
    rows = [[weights.attributes[a] for a in item if a in weights.attributes] for item in items]
    emissions = np.array([weights.state[r].sum(axis=0) for r in rows])
    score = emissions[np.arange(4), path].sum() + weights.transition[path[:-1], path[1:]].sum()
    tagger.set(items)
    found = np.log(tagger.probability([weights.labels[i] for i in path]))
    assert found == pytest.approx(score - log_partition(emissions, weights.transition), abs=1e-6)


@pytest.fixture(scope="module")
def stochastic(corpus: list[Document]) -> Tagger:
    return train(corpus, FeatureSet("default", "rac"), TrainingOptions(algorithm="sgd"), name="sgd")


@given(text=st.text(alphabet=st.sampled_from("AaBb Rios123.,\n:é\x00"), max_size=60))
@settings(max_examples=40)
def test_labels_of_stochastic_gradient_equal_crfsuite(stochastic: Tagger, text: str) -> None:
    reference = pycrfsuite.Tagger()
    reference.open_inmemory(stochastic.crfsuite)
    features = stochastic.decoder.features
    assert stochastic.label(text)[0] == reference.tag(features.expand(features.encode(text)))


@given(cut=st.integers(0, 400))
def test_a_file_cut_short_is_refused(stochastic: Tagger, cut: int) -> None:
    assert stochastic.crfsuite is not None
    with pytest.raises(ModelError, match="no complete CRFsuite model"):
        parse_crfsuite(stochastic.crfsuite[:cut])
