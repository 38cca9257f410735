"""The fifteen subsets of the feature groups and their paired t-test."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scipy.stats import ttest_rel

from deid.base.errors import ConfigError
from deid.document import Document, Span
from deid.experiments.subsets import compare_subsets, subsets
from deid.experiments.trials import TrialSetup
from deid.features import FeatureSet
from deid.labeling.training import TrainingOptions

QUICK = TrainingOptions(algorithm="lbfgs", iterations=8, min_documents=1)
LISTS = ("calendar/months",)


def by_groups(features: FeatureSet, document: Document, _: float) -> list[Span]:
    """Find more the more groups there are; c alone is as good as all of them."""
    found = 3 if features.groups in ("c", "racd") else len(features.groups) - 1
    # note 07-0 is found by all, so that the differences of the folds differ
    return list(document.spans[: 3 if document.id.startswith("07") else found])


def test_the_subsets_are_fifteen_and_the_whole_is_last() -> None:
    assert subsets("racd") == [
        *("r", "a", "c", "d"),
        *("ra", "rc", "rd", "ac", "ad", "cd"),
        *("rac", "rad", "rcd", "acd"),
        "racd",
    ]


def test_the_table_is_sorted_and_tested_as_scipy_does(corpus: list[Document], told: Callable) -> None:
    fake = told(by_groups)
    frame = compare_subsets(TrialSetup(corpus, FeatureSet("hide", "racd", LISTS), QUICK, folds=4, seed=2))
    assert frame["features"].tolist()[:2] == ["c", "racd"]
    assert frame["mean"].is_monotonic_decreasing
    assert len(frame) == 15
    folds = [f"fold_{i}" for i in range(1, 5)]
    rows = frame.set_index("features")
    for name in ("r", "ra", "rad", "cd"):
        expected = ttest_rel(rows.loc[name, folds].astype(float), rows.loc["racd", folds].astype(float))
        assert rows.loc[name, "t"] == pytest.approx(expected.statistic)
        assert rows.loc[name, "p"] == pytest.approx(expected.pvalue)
        assert rows.loc[name, "difference"] == pytest.approx(rows.loc[name, "mean"] - rows.loc["racd", "mean"])
    assert rows.loc["c", ["t", "p"]].tolist() == [0, 1]
    assert rows.loc["racd", ["t", "p"]].isna().all()
    trained = [tuple(d.id for d in documents) for documents, _, _ in fake.calls]
    assert len(set(trained)) == 4, "all subsets are trained on the same four folds"


def test_context_is_learnt_and_measured(corpus: list[Document]) -> None:
    """Real training: with 24 notes the words around tell more than dictionaries of months."""
    frame = compare_subsets(
        TrialSetup(corpus, FeatureSet("hide", "cd", LISTS), QUICK, folds=2, seed=1), measure="token"
    ).set_index("features")
    assert frame.loc["c", "mean"] > frame.loc["d", "mean"]


@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        (FeatureSet("hide", "racd"), {}, "group d has no word lists"),
        (FeatureSet("hide", "c"), {}, "nothing to compare"),
        (FeatureSet("hide", "rc"), {"measure": "f2"}, "unknown measure 'f2'"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    corpus: list[Document], features: FeatureSet, options: dict, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        compare_subsets(TrialSetup(corpus, features), **options)
