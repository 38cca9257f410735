"""The scikit-learn estimator: its contract, and that it learns what the command line learns.

scikit-learn's own checks that fit feed every estimator random matrices, which are no texts; `check_estimator` skips
them all for an estimator whose tags say that its input is no table. The checks of parameters, tags, clones and reprs
need no data and are run here one by one; those that do are run again below on notes: `fit` returns the estimator and
changes no parameter, fitting twice gives the same, `predict` changes nothing and does not depend on the order or the
number of the samples, and an estimator that was not fitted says so. Left out as they have no meaning for text are the
checks of shapes, dtypes, sparse and NaN input, `n_features_in_`, feature names and sample weights.
"""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

from deid.base.errors import ConfigError, DeidError, InputError, OffsetError
from deid.document import Document, Span
from deid.features import FeatureSet
from deid.integrations.sklearn_estimator import SpanTagger
from deid.labeling.tagger import train
from deid.labeling.training import TrainingOptions

QUICK = {"iterations": 12, "min_documents": 1, "groups": "rac"}


@pytest.fixture(scope="module")
def texts(corpus: list[Document]) -> list[str]:
    return [d.text for d in corpus]


@pytest.fixture(scope="module")
def spans(corpus: list[Document]) -> list[list[tuple[int, int, str]]]:
    return [[(s.start, s.end, s.category) for s in d.spans] for d in corpus]


@pytest.fixture(scope="module")
def fitted(corpus: list[Document]) -> SpanTagger:
    return SpanTagger(**QUICK).fit(corpus[:16])


@pytest.mark.parametrize(
    "name",
    [
        "check_estimator_cloneable",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_estimator_repr",
        "check_no_attributes_set_in_init",
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_mixin_order",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
    ],
)
def test_scikit_learns_checks_that_need_no_data(name: str) -> None:
    getattr(estimator_checks, name)("SpanTagger", SpanTagger())


def test_scikit_learn_knows_that_its_matrices_do_not_fit() -> None:
    with pytest.warns(estimator_checks.SkipTestWarning, match="Can't test estimator SpanTagger"):
        estimator_checks.check_estimator(SpanTagger())


def test_fit_returns_itself_and_leaves_parameters_alone(corpus: list[Document]) -> None:
    lists = ["calendar/months"]
    estimator = SpanTagger(**{**QUICK, "groups": "racd"}, dictionaries=lists, acceptance={})
    before = estimator.get_params()
    assert estimator.fit(corpus) is estimator
    assert estimator.get_params() == before
    assert estimator.dictionaries is lists
    learnt = {name for name in vars(estimator) if name not in before}
    assert learnt == {"tagger_", "categories_", "n_documents_"}
    assert (estimator.categories_, estimator.n_documents_) == (("DATE", "DOCTOR", "PATIENT"), 24)


def test_it_learns_what_train_learns(corpus: list[Document], fitted: SpanTagger) -> None:
    options = TrainingOptions(iterations=12, min_documents=1)
    tagger = train(corpus[:16], FeatureSet("default", "rac"), options)
    assert fitted.predict(corpus).tolist() == [tagger.find(d) for d in corpus]
    assert fitted.tagger_.crfsuite == tagger.crfsuite


def test_texts_with_spans_and_annotated_documents_are_the_same(
    corpus: list[Document], texts: list[str], spans: list, fitted: SpanTagger
) -> None:
    from_texts = SpanTagger(**QUICK).fit(texts[:16], spans[:16])
    from_arrays = SpanTagger(**QUICK).fit(np.array(texts[:16]), [[Span(*s) for s in row] for row in spans[:16]])
    found = fitted.predict(corpus).tolist()
    assert from_texts.predict(texts).tolist() == from_arrays.predict(np.array(texts)).tolist() == found
    assert from_texts.score(texts, spans) == fitted.score(corpus)


def test_y_takes_the_place_of_the_documents_annotations(corpus: list[Document]) -> None:
    dates = [[s for s in d.spans if s.category == "DATE"] for d in corpus]
    estimator = SpanTagger(**QUICK).fit(corpus, dates)
    assert estimator.categories_ == ("DATE",)
    assert estimator.score(corpus, dates) == 1
    assert estimator.score(corpus) == pytest.approx(0.5)  # a third of the spans, precision 1


def test_score_is_strict_f1(corpus: list[Document]) -> None:
    """Of two spans found one is cut short: precision 1/2, recall 1/3."""
    estimator = SpanTagger(**QUICK).fit(corpus)
    document = corpus[0]
    whole, cut = document.spans[0], document.spans[1]

    class Fixed:
        def dial(self, _: float) -> Fixed:
            return self

        def find(self, _: Document) -> list[Span]:
            return [whole, Span(cut.start, cut.end - 1, cut.category)]

    estimator.tagger_ = Fixed()
    assert estimator.score([document]) == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))


def test_fitting_twice_and_predicting_change_nothing(corpus: list[Document], texts: list[str]) -> None:
    estimator = SpanTagger(**QUICK).fit(corpus)
    once = estimator.predict(texts).tolist()
    before = vars(estimator).copy()
    assert estimator.predict(texts[::-1]).tolist() == once[::-1]
    assert [estimator.predict([text])[0] for text in texts] == once
    assert vars(estimator) == before
    assert estimator.fit(corpus).predict(texts).tolist() == once


@pytest.mark.parametrize("call", [lambda e: e.predict(["a"]), lambda e: e.score(["a"], [[]])])
def test_an_estimator_that_was_not_fitted_says_so(call: Callable) -> None:
    with pytest.raises(NotFittedError):
        call(SpanTagger())


def test_clone_and_copies_of_a_fitted_estimator(corpus: list[Document], fitted: SpanTagger) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "tagger_")
    sent = pickle.load(io.BytesIO(pickle.dumps(fitted)))  # as joblib sends it to a process
    assert sent.predict(corpus).tolist() == fitted.predict(corpus).tolist()
    assert corpus[0].text[:8] not in repr(fitted)


def test_cross_validation_of_scikit_learn(corpus: list[Document], texts: list[str], spans: list) -> None:
    estimator = SpanTagger(**QUICK)
    scores = cross_val_score(estimator, texts, spans, cv=3)
    assert cross_val_score(estimator, corpus, cv=3).tolist() == scores.tolist()
    by_hand = clone(estimator).fit(corpus[8:]).score(corpus[:8])
    assert scores[0] == pytest.approx(by_hand)


@pytest.mark.slow
def test_grid_search_over_training_and_dial(corpus: list[Document]) -> None:
    grid = {"bias": [-20.0, 0.0], "iterations": [1, 12]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(SpanTagger(**QUICK, algorithm="lbfgs"), grid, cv=2, n_jobs=2).fit(corpus)
    assert search.best_params_ == {"bias": 0.0, "iterations": 12}
    none = [
        s for s, p in zip(search.cv_results_["mean_test_score"], search.cv_results_["params"], strict=True) if p["bias"]
    ]
    assert none == [0, 0]
    assert search.predict(corpus)[0]


def test_it_stands_at_the_end_of_a_pipeline(texts: list[str], spans: list) -> None:
    pipeline = make_pipeline(FunctionTransformer(lambda X: [text.upper() for text in X]), SpanTagger(**QUICK))
    assert pipeline.fit(texts, spans).score(texts, spans) > 0.5
    found = cross_val_predict(pipeline, texts, spans, cv=2).tolist()
    first = clone(pipeline).fit(texts[12:], spans[12:]).predict(texts[:12]).tolist()
    assert (len(found), found[:12]) == (24, first)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"preset": "best"}, "unknown feature preset"),
        ({"preset": 3}, "parameter preset is a int. Hint: allowed: str"),
        ({"iterations": 2.5}, "parameter iterations is a float. Hint: allowed: integral or None"),
        ({"iterations": True}, "parameter iterations is a bool"),
        ({"iterations": 0}, "no iteration"),
        ({"window": "4"}, "parameter window is a str. Hint: allowed: integral or None"),
        ({"o_sampling": 2.0}, "no probability"),
        ({"scheme": "BILOU"}, "unknown label scheme"),
        ({"algorithm": "perceptron"}, "unknown training algorithm"),
        ({"dictionaries": "names/last"}, "no list of names"),
        ({"acceptance": ["O"]}, "no mapping of labels"),
        ({"margins": ["O"]}, "no mapping of labels"),
        ({"bias": "1"}, "parameter bias is a str"),
        ({"random_state": None}, "parameter random_state is a NoneType"),
    ],
)
def test_parameters_are_checked_at_fit_and_not_before(
    parameters: dict[str, object], message: str, corpus: list[Document]
) -> None:
    estimator = SpanTagger(**{**QUICK, **parameters})
    with pytest.raises(ConfigError) as caught:
        estimator.fit(corpus)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        ("Smith", None, InputError, "put it into a list"),
        (["Smith"], None, InputError, "y is missing"),
        (["Smith"], [[], []], InputError, "y has 2 entries for 1 documents"),
        ([17], [[]], InputError, "X, sample 1: it is a int"),
        (["Smith"], [[(0, 9, "PATIENT")]], OffsetError, "y, sample 1"),
        (["Smith"], [["Smith"]], InputError, "y, sample 1: a span is neither"),
        (["Smith"], [[(0, 5, 7)]], InputError, "y, sample 1: a span is neither"),
        (["Smith"], [[]], ConfigError, "no annotated span"),
    ],
)
def test_bad_input_is_refused_without_quoting_it(X: object, y: object, error: type[DeidError], message: str) -> None:
    with pytest.raises(error) as caught:
        SpanTagger(**QUICK).fit(X, y)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert "Smith" not in str(caught.value)


@pytest.mark.parametrize(("algorithm", "iterations"), [("lbfgs", 100), ("sgd", 15)])
def test_the_number_of_iterations_follows_the_algorithm(
    algorithm: str, iterations: int, corpus: list[Document]
) -> None:
    estimator = SpanTagger(algorithm=algorithm, min_documents=1, groups="c").fit(corpus[:4])
    assert estimator.tagger_.description["options"]["iterations"] == iterations
    assert estimator.iterations is None


def test_every_option_of_training_is_a_parameter_and_has_the_same_default() -> None:
    """So that an option that training gets later is not forgotten here."""
    import dataclasses

    parameters = SpanTagger().get_params()
    for option in dataclasses.fields(TrainingOptions):
        name = {"seed": "random_state"}.get(option.name, option.name)
        if name != "iterations":  # None here, as it follows the algorithm
            assert parameters[name] == option.default, name
