"""Cross-validation: who trains on what, and figures that follow from the counts."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from deid.base.errors import ConfigError
from deid.document import Document, Span
from deid.experiments.crossval import cross_validate
from deid.experiments.folds import group_documents
from deid.experiments.trials import Trial, TrialSetup, run_trials
from deid.features import FeatureSet
from deid.labeling.sampling import keep_window
from deid.labeling.schemes import spans_to_labels
from deid.labeling.tagger import train
from deid.labeling.training import TrainingOptions

HIDE = FeatureSet("hide", "rac")
QUICK = TrainingOptions(algorithm="lbfgs", iterations=12, min_documents=1)


def all_spans(_: FeatureSet, document: Document, __: float) -> tuple[Span, ...]:
    return document.spans


def no_dates(_: FeatureSet, document: Document, __: float) -> list[Span]:
    return [span for span in document.spans if span.category != "DATE"]


def test_each_document_is_tagged_once_by_a_tagger_that_has_not_seen_it_or_its_patient(
    corpus: list[Document], told: Callable
) -> None:
    fake = told(all_spans)
    cross_validate(
        TrialSetup(corpus, HIDE, QUICK, folds=4, groups=group_documents(corpus, field="person")), resamples=0
    )
    assert sorted(name for _, name in fake.tagged) == sorted(d.id for d in corpus)
    for training, (documents, _, _) in enumerate(fake.calls):
        tagged = {name[:2] for number, name in fake.tagged if number == training}
        assert tagged
        assert not tagged & {d.id[:2] for d in documents}
        assert len(documents) + 2 * len(tagged) == len(corpus)


def test_figures_of_a_tagger_that_knows_no_dates(corpus: list[Document], told: Callable) -> None:
    """Two of three spans are found: recall 2/3, precision 1, and the words of the dates are left."""
    told(no_dates)
    result = cross_validate(TrialSetup(corpus, HIDE, QUICK, folds=3), resamples=10)
    frame = result.to_frame()
    assert frame["documents"].tolist() == [8, 8, 8]
    assert frame["spans"].tolist() == [24, 24, 24]
    assert frame["strict_precision"].tolist() == [1, 1, 1]
    assert frame["strict_recall"].tolist() == pytest.approx([2 / 3] * 3)
    assert frame["leaks_per_document"].tolist() == [3, 3, 3]
    assert frame["phi_recall"].tolist() == pytest.approx([0.5] * 3)
    assert frame["documents_clean"].tolist() == [0, 0, 0]
    summary = result.summary()
    assert summary.loc["strict_f1"].tolist() == pytest.approx([0.8, 0, 0.8])
    assert result.pooled.bounds["strict"].shape == (2, 3)


def test_the_token_table_tells_begin_from_intermediate(corpus: list[Document], told: Callable) -> None:
    """A span that lacks its last token loses an Intermediate and nothing else; `hide` counts 5 tokens in a date."""

    def cut(_: FeatureSet, document: Document, __: float) -> list[Span]:
        cut = {"DATE": 5, "PATIENT": 0, "DOCTOR": 0}
        return [Span(s.start, s.end - cut[s.category], s.category) for s in document.spans]

    told(cut)
    table = cross_validate(TrialSetup(corpus, HIDE, QUICK, folds=3), resamples=0).token_table()
    assert list(table.index) == ["B-DATE", "I-DATE", "B-DOCTOR", "B-PATIENT", "I-PATIENT"]
    assert table.loc["B-DATE", ["precision", "recall", "f1"]].tolist() == [1, 1, 1]
    assert table.loc["I-DATE", ["gold", "system"]].tolist() == [4 * 24, 2 * 24]
    assert table.loc["I-DATE", "recall"] == pytest.approx(0.5)


def test_pooled_counts_are_the_sum_of_the_folds(corpus: list[Document]) -> None:
    result = cross_validate(TrialSetup(corpus, HIDE, QUICK, folds=3), resamples=0)
    for name, table in result.pooled.tables.items():
        folds = sum(fold.tables[name].documents().sum(axis=0) for fold in result.folds)
        assert table.documents().sum(axis=0).tolist() == folds.tolist(), name
    frame = result.to_frame()
    assert result.summary().loc["strict_f1", "sd"] == pytest.approx(np.std(frame["strict_f1"], ddof=1))
    assert (frame["train_cpu_seconds"] > 0).all()


def test_a_fold_is_what_training_by_hand_gives(corpus: list[Document]) -> None:
    result = cross_validate(TrialSetup(corpus, HIDE, QUICK, folds=3, seed=5), resamples=0)
    scored = {case.document.id for case in result.folds[0].cases.cases}
    tagger = train([d for d in corpus if d.id not in scored], HIDE, QUICK)
    found = {case.document.id: list(case.system) for case in result.folds[0].cases.cases}
    assert found == {d.id: tagger.find(d) for d in corpus if d.id in scored}


def test_equal_seeds_give_equal_numbers_and_json_names_no_document(corpus: list[Document]) -> None:
    named = [Document(f"Smith {d.id}", d.text, d.spans) for d in corpus]

    def numbers() -> dict:
        found = cross_validate(TrialSetup(named, HIDE, QUICK, folds=2, seed=3), resamples=20).as_dict()
        for fold in found["folds"]:
            assert fold.pop("train_cpu_seconds") > 0
        return found

    once = numbers()
    assert once == numbers()
    text = json.dumps(once, allow_nan=False)
    assert "Smith" not in text
    assert corpus[0].text[:8] not in text


def test_the_dial_turns_in_a_cross_validation(corpus: list[Document]) -> None:
    low, high = (
        cross_validate(TrialSetup(corpus, HIDE, QUICK, folds=2), bias=bias, resamples=0)
        .summary()
        .loc["phi_recall", "pooled"]
        for bias in (-6, 6)
    )
    assert low < high


def test_processes_give_the_same_outcomes_in_order(corpus: list[Document]) -> None:
    done: list[tuple[int, int]] = []
    trials = [
        Trial(tuple(range(0, 16)), tuple(range(16, 24)), HIDE, QUICK, (0.0, 2.0)),
        Trial(tuple(range(8, 24)), tuple(range(0, 8)), HIDE, TrainingOptions(iterations=5, window=2)),
    ]
    alone = list(run_trials(corpus, trials))
    together = list(run_trials(corpus, trials, jobs=2, report=lambda *counts: done.append(counts)))
    assert [o.answers for o in together] == [o.answers for o in alone]
    assert [(o.tokens, o.kept) for o in together] == [(o.tokens, o.kept) for o in alone]
    assert done == [(1, 2), (2, 2)]


def test_an_error_in_a_process_comes_back_as_it_was(corpus: list[Document]) -> None:
    empty = [d.with_spans(()) for d in corpus]
    trials = [Trial((0, 1), (2,), HIDE, QUICK)] * 2
    with pytest.raises(ConfigError, match="no annotated span"):
        list(run_trials(empty, trials, jobs=2))


def test_tokens_kept_are_those_of_the_window(corpus: list[Document]) -> None:
    trial = Trial(tuple(range(24)), (), HIDE, TrainingOptions(iterations=1, window=1))
    (outcome,) = run_trials(corpus, [trial])
    tokens = kept = 0
    for document in corpus:
        encoded = HIDE.encode(document.text)
        labels = spans_to_labels(document.spans, encoded.tokens.starts, encoded.tokens.ends)
        tokens += len(labels)
        kept += int(keep_window(labels, 1).sum())
    assert (outcome.tokens, outcome.kept) == (tokens, kept)


def test_no_jobs_are_refused(corpus: list[Document]) -> None:
    with pytest.raises(ConfigError, match="jobs"):
        list(run_trials(corpus, [], jobs=0))
