"""The baselines of the literature against scikit-learn and brute force."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ModelError
from deid.document import Document
from deid.features import FeatureSet
from deid.labeling import kernels, tree
from deid.labeling.decoder import Decoder
from deid.labeling.independent import token_matrix
from deid.labeling.memm import MemmDecoder
from deid.labeling.tagger import load_model, train
from deid.labeling.training import TrainingOptions, prepare
from deid.labeling.tree import DecisionTree, TreeDecoder
from deid.labeling.weights import Weights

FEATURES = FeatureSet("default", "rac")
UNSEEN = Document("x", "Name: Ivo Berg. MRN 12345, seen by Dr. Lee on 3 May 2019. Chest pain for 3 days.\n")
WANTED = [("Ivo Berg", "PATIENT"), ("12345", "MEDICALRECORD"), ("Lee", "DOCTOR"), ("3 May 2019", "DATE")]


@pytest.mark.parametrize("algorithm", ["svm", "tree"])
def test_labels_are_those_of_scikit_learn(
    algorithm: str, corpus: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    monkeypatch.setattr(tree, "_OFFERED", 60)  # fewer than there are: a tree is asked of the most frequent ones
    options = TrainingOptions(algorithm=algorithm)
    data = prepare(corpus, FEATURES, options)
    X, y = token_matrix(data)
    assert X.shape[1] > 60
    if algorithm == "svm":
        model = LinearSVC(C=0.1, random_state=0, max_iter=200, tol=1e-3).fit(X, y)
    else:
        offered = np.sort(np.argsort(-np.asarray((X != 0).sum(axis=0)).ravel(), kind="stable")[:60])
        X = X[:, offered]
        model = DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(X.tocsc(), y)
    tagger = train(corpus, FEATURES, options)
    found = [label for document in corpus for label in tagger.label(document.text)[0]]
    assert found == [data.labels[i] for i in model.predict(X).tolist()]


def test_a_machine_for_one_category_of_single_words_is_that_of_scikit_learn(corpus: list[Document]) -> None:
    """Two labels in all, of which scikit-learn keeps one row of weights."""
    from sklearn.svm import LinearSVC

    doctors = [d.with_spans(s for s in d.spans if s.category == "DOCTOR") for d in corpus]
    data = prepare(doctors, FEATURES, TrainingOptions(algorithm="svm"))
    X, y = token_matrix(data)
    model = LinearSVC(C=0.1, random_state=0, max_iter=200, tol=1e-3).fit(X, y)
    assert len(model.classes_) == 2
    tagger = train(doctors, FEATURES, TrainingOptions(algorithm="svm"))
    found = [label for document in doctors for label in tagger.label(document.text)[0]]
    assert found == [data.labels[i] for i in model.predict(X).tolist()]
    assert [UNSEEN.text[s.start : s.end] for s in tagger.find(UNSEEN)] == ["Lee"]


def test_maximum_entropy_comes_near_the_likelihood_of_logistic_regression(corpus: list[Document]) -> None:
    from sklearn.linear_model import LogisticRegression

    features = FeatureSet("default", "r")
    data = prepare(corpus, features, TrainingOptions(algorithm="maxent", iterations=60, drop=0.0))
    X, y = token_matrix(data)
    best = -LogisticRegression(C=1e4, max_iter=3000).fit(X, y).predict_log_proba(X)[np.arange(len(y)), y].sum()
    losses: list[float] = []
    options = TrainingOptions(algorithm="maxent", iterations=60, drop=0.0)
    tagger = train(corpus, features, options, report=lambda _, loss: losses.append(loss))
    assert not tagger.decoder.weights.transition.any()
    assert best <= losses[-1] <= best + 0.02 * len(y)  # labels at random would cost log(9) = 2.2 each


@given(seed=st.integers(0, 1000), n=st.integers(1, 4), size=st.integers(1, 3))
@settings(max_examples=40)
def test_a_path_of_the_markov_model_is_a_product_of_local_probabilities(seed: int, n: int, size: int) -> None:
    """Marginals and best path against all paths, each scored by softmax given the label before."""
    rng = np.random.default_rng(seed)
    labels = tuple(f"L{i}" for i in range(size))
    words = [f"w{i}" for i in range(n)]
    attributes = {f"LW_{w}": i for i, w in enumerate(words)}
    weights = Weights(labels, attributes, rng.normal(size=(n, size)), rng.normal(size=(size, size)), np.zeros(size))
    features = FeatureSet("default", "c")
    encoded = features.encode(" ".join(words))
    plain, local = Decoder(weights, features).emissions(encoded), MemmDecoder(weights, features).emissions(encoded)

    def chance(path: tuple[int, ...]) -> float:
        p, before = 1.0, None
        for i, y in enumerate(path):
            scores = plain[i] + (0.0 if before is None else weights.transition[before])
            p, before = p * np.exp(scores[y]) / np.exp(scores).sum(), y
        return float(p)

    n_items = len(plain)
    paths = {path: chance(path) for path in itertools.product(range(size), repeat=n_items)}
    assert sum(paths.values()) == pytest.approx(1.0)
    expected = np.zeros_like(plain)
    for path, p in paths.items():
        expected[np.arange(n_items), path] += p
    assert kernels.marginals(local, weights.transition) == pytest.approx(expected)
    best = tuple(kernels.viterbi(local, weights.transition).tolist())
    assert paths[best] == pytest.approx(max(paths.values()))


def test_the_markov_model_is_decoded_locally_after_loading(corpus: list[Document], tmp_path: Path) -> None:
    train(corpus, FEATURES, TrainingOptions(algorithm="memm", iterations=3)).save(tmp_path / "m")
    assert isinstance(load_model(tmp_path / "m").decoder, MemmDecoder)


@pytest.mark.parametrize("algorithm", ["memm", "naive-bayes", "sgd", "svm", "tree"])
def test_a_model_does_the_same_in_another_process_and_from_its_folder(
    algorithm: str, corpus: list[Document], tmp_path: Path
) -> None:
    tagger = train(corpus[:12], FEATURES, TrainingOptions(algorithm=algorithm, iterations=3), name="m")
    tagger.save(tmp_path / "m")
    for again in (pickle.loads(pickle.dumps(tagger)), load_model(tmp_path / "m")):
        assert type(again.decoder) is type(tagger.decoder)
        for document in (UNSEEN, corpus[20]):
            assert again.find(document) == tagger.find(document)
            assert again.label(document.text)[0] == tagger.label(document.text)[0]
    assert tagger.find(UNSEEN)


def test_a_tree_that_goes_round_in_a_circle_is_refused() -> None:
    arrays = {"right": np.array([2, -1, -1]), "attribute": np.array([0, -1, -1]), "threshold": np.zeros(3)}
    scores = np.zeros((3, 2), dtype=np.float32)
    DecisionTree(("O", "B-X"), {"a": 0}, np.array([1, -1, -1]), scores=scores, **arrays)
    for left in ([0, -1, -1], [7, -1, -1], [1, 0, -1]):
        with pytest.raises(ValueError, match="no tree"):
            DecisionTree(("O", "B-X"), {"a": 0}, np.array(left), scores=scores, **arrays)
    none = np.zeros(0, dtype=np.int32)
    with pytest.raises(ValueError, match="no tree"):
        DecisionTree(("O",), {}, none, none, none, none, scores[:0, :1])


def test_a_damaged_tree_is_refused_when_loaded(corpus: list[Document], tmp_path: Path) -> None:
    tagger = train(corpus, FEATURES, TrainingOptions(algorithm="tree"))
    assert isinstance(tagger.decoder, TreeDecoder)
    tagger.decoder.tree.left[0] = 0
    tagger.save(tmp_path / "m")
    with pytest.raises(ModelError, match="does not hold weights"):
        load_model(tmp_path / "m")
