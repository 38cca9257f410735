"""Sampling curves beside the dial's own."""

from __future__ import annotations

import pytest
from notes import clinic_notes

from deid.base.errors import ConfigError
from deid.document import Document
from deid.experiments.sampling import Points, sampling_curves
from deid.experiments.trials import TrialSetup, figures, score
from deid.features import FeatureSet
from deid.labeling.tagger import train
from deid.labeling.training import TrainingOptions

HIDE = FeatureSet("hide", "rac")
QUICK = TrainingOptions(algorithm="lbfgs", iterations=10, min_documents=1)
NO_BAYES = Points((1000,), (1.0,), (2.0,), naive_bayes=False)


@pytest.fixture(scope="module")
def unseen() -> list[Document]:
    return clinic_notes(8, first=30)


def test_the_rows_are_what_training_by_hand_gives(corpus: list[Document], unseen: list[Document]) -> None:
    points = Points(windows=(0,), shares=(0.2,), biases=(0.0, 2.0))
    frame = sampling_curves(TrialSetup(corpus, HIDE, QUICK, test=unseen), points=points)
    assert frame["curve"].tolist() == ["full", "dial", "window", "o-sampling", "naive-bayes", "rejection"]
    assert frame["value"].fillna(-1).tolist() == [-1, 2, 0, 0.2, -1, -1]
    assert frame.loc[1, "train_cpu_seconds"] == frame.loc[0, "train_cpu_seconds"] > 0
    by_hand = {
        0: train(corpus, HIDE, QUICK),
        1: train(corpus, HIDE, QUICK).dial(2.0),
        2: train(corpus, HIDE, TrainingOptions(algorithm="lbfgs", iterations=10, min_documents=1, window=0)),
        3: train(corpus, HIDE, TrainingOptions(algorithm="lbfgs", iterations=10, min_documents=1, o_sampling=0.2)),
        5: train(
            corpus, HIDE, TrainingOptions(algorithm="naive-bayes", min_documents=1, acceptance=(("O", 0.1),), seed=0)
        ),
    }
    for row, tagger in by_hand.items():
        answers = [d.with_spans(tagger.find(d)) for d in unseen]
        expected = figures(score(unseen, answers, HIDE))
        assert frame.loc[row, list(expected)].to_dict() == pytest.approx(expected), row
    kept = frame.set_index("curve")["tokens_kept"]
    assert kept["window"] < kept["o-sampling"] < kept["full"] == 1
    assert kept["rejection"] == 1


def test_sampling_that_drops_nothing_is_no_sampling(corpus: list[Document], unseen: list[Document]) -> None:
    frame = sampling_curves(TrialSetup(corpus, HIDE, QUICK, test=unseen), points=NO_BAYES).set_index("curve")
    same = frame.drop(columns=["value", "train_cpu_seconds"])
    assert same.loc["window"].tolist() == same.loc["full"].tolist() == same.loc["o-sampling"].tolist()


def test_the_dial_trades_precision_for_recall(corpus: list[Document], unseen: list[Document]) -> None:
    points = Points((), (), (-1.0, 2.0), naive_bayes=False)
    options = TrainingOptions(algorithm="lbfgs", iterations=4, min_documents=1)
    frame = sampling_curves(TrialSetup(corpus, HIDE, options, test=unseen), points=points)
    full, low, high = (frame.loc[i] for i in range(3))
    assert low["phi_recall"] < full["phi_recall"] < high["phi_recall"]
    assert low["phi_precision"] >= full["phi_precision"] > high["phi_precision"]


def test_without_a_test_set_every_document_is_scored_by_folds(corpus: list[Document]) -> None:
    counts: list[tuple[int, int]] = []
    points = Points((), (), (1.0,), naive_bayes=False)
    setup = TrialSetup(corpus, HIDE, QUICK, folds=3, seed=4, report=lambda *c: counts.append(c))
    frame = sampling_curves(setup, points=points)
    assert counts == [(1, 3), (2, 3), (3, 3)]
    from deid.experiments.crossval import cross_validate

    pooled = cross_validate(TrialSetup(corpus, HIDE, QUICK, folds=3, seed=4), resamples=0).summary()["pooled"]
    assert frame.loc[0, list(pooled.index)].to_dict() == pytest.approx(pooled.to_dict())


@pytest.mark.parametrize("change", [{"window": 3}, {"o_sampling": 0.5}, {"acceptance": (("O", 0.5),)}])
def test_options_that_sample_already_are_refused(corpus: list[Document], change: dict) -> None:
    with pytest.raises(ConfigError, match="sample already"):
        sampling_curves(TrialSetup(corpus, HIDE, TrainingOptions(**change)))
