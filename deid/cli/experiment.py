"""Commands that train in order to score: crossval, and the experiments on taggers."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from deid.base.files import check_folder
from deid.cli import Summary, command, option
from deid.cli.notes import MISTAKES
from deid.cli.outcomes import setup_of, show
from deid.detection.options import RecognizerOptions
from deid.experiments.active_learning import QueueOptions
from deid.experiments.options import (
    AnyTraining,
    CorpusOptions,
    CurveOptions,
    DividedCorpus,
    FewFolds,
    FoldOptions,
    GroupFeatures,
    HideFeatures,
    LoopTraining,
    PlainTraining,
    SlowTraining,
    TrialJobs,
    TwoCorpora,
)
from deid.experiments.outcome import Outcome, OutcomeOptions
from deid.experiments.sampling import Points
from deid.features.options import FeatureOptions
from deid.labeling.training import TrainingOptions


@command
def crossval(
    told: Summary,
    *,
    corpus: CorpusOptions,
    folds: FoldOptions,
    places: OutcomeOptions,
    features: FeatureOptions,
    options: TrainingOptions,
    bias: float = option(0.0, "Recall dial: subtracted from the score of O when tagging.", panel="Training"),
    resamples: int = option(1000, "Bootstrap resamples of the pooled figures' intervals.", minimum=0, panel="Folds"),
    mistakes: Path | None = MISTAKES,
) -> None:
    """Cross-validate a tagger: each document is tagged by a tagger trained without its fold.

    Example: deid crossval corpus/train --folds 10 --preset hide --jobs 2 --json scores.json
    """
    from deid.evaluation.page import write_page
    from deid.experiments.crossval import cross_validate
    from deid.experiments.page import crossval_sections

    if mistakes is not None:
        check_folder(mistakes)
    result = cross_validate(setup_of(told, corpus, features, options, folds), bias=bias, resamples=resamples)
    frame = result.to_frame().reset_index()
    show(told, places, Outcome("Cross-validation", crossval_sections(result), frame, result.as_dict()))
    if mistakes is not None:
        write_page(result.pooled, mistakes)
        told.notes.append(f"{mistakes} shows texts of notes: it contains PHI (mode 0600)")


@command
def features(
    told: Summary,
    *,
    corpus: CorpusOptions,
    folds: FoldOptions,
    places: OutcomeOptions,
    measure: str = option("strict", "F1 of: strict, token, token_category or word."),
    features: GroupFeatures,
    options: TrainingOptions,
) -> None:
    """Cross-validate every subset of the feature groups on the same folds, and test each against all groups.

    Example: deid experiment features corpus/train --folds 10 --jobs 2 --report features.html
    """
    from deid.experiments.page import FEATURES
    from deid.experiments.subsets import compare_subsets

    setup = setup_of(told, corpus, features, options, folds)
    frame = compare_subsets(setup, measure=measure)
    settings = setup.settings(folds=folds.folds, seed=options.seed, measure=measure)
    show(told, places, FEATURES.outcome(frame, settings=settings))


@command
def sampling(
    told: Summary,
    *,
    corpus: DividedCorpus,
    folds: FewFolds,
    places: OutcomeOptions,
    points: Points,
    features: HideFeatures,
    options: PlainTraining,
) -> None:
    """Measure window and random O-sampling beside the recall dial of a tagger trained on all tokens.

    Example: deid experiment sampling corpus/train --test corpus/dev --windows 4,16,64 --report sampling.html
    """
    from deid.experiments.page import SAMPLING
    from deid.experiments.sampling import sampling_curves

    setup = setup_of(told, corpus, features, options, folds)
    frame = sampling_curves(setup, points=points)
    used = folds.folds if corpus.test is None else None
    settings = setup.settings(points=asdict(points), folds=used, seed=options.seed)
    show(told, places, SAMPLING.outcome(frame, settings=settings))


@command
def learning_curve(
    told: Summary,
    *,
    corpus: DividedCorpus,
    divided: TrialJobs,
    places: OutcomeOptions,
    asked: CurveOptions,
    features: FeatureOptions,
    options: TrainingOptions,
) -> None:
    """Train on more and more documents, from scratch and from a model, and score each tagger on the same documents.

    Example: deid experiment learning-curve corpus/train --test corpus/dev --sizes 10,50,200 --start-from models/mine
    """
    from deid.experiments.learning import learning_curve
    from deid.experiments.page import LEARNING

    setup = setup_of(told, corpus, features, options, divided)
    frame = learning_curve(setup, asked)
    show(told, places, LEARNING.outcome(frame, settings=setup.settings(seed=options.seed)))


@command
def active_learning(
    told: Summary,
    *,
    corpus: TwoCorpora,
    divided: TrialJobs,
    places: OutcomeOptions,
    asked: QueueOptions,
    start_from: str | None = option(
        None, "Start every training from this model (folder or shipped).", metavar="MODEL", panel="The queue"
    ),
    features: FeatureOptions,
    options: LoopTraining,
) -> None:
    """Simulate how many notes must be annotated when a queue asks for those of which the tagger is unsure.

    Example: deid experiment active-learning corpus/train --test corpus/dev --queues entropy,margin --jobs 2
    """
    from deid.experiments.active_learning import active_learning
    from deid.experiments.page import QUEUES

    setup = setup_of(told, corpus, features, options, divided)
    frame = active_learning(setup, asked, start=start_from)
    show(told, places, QUEUES.outcome(frame, settings=setup.settings(queue=asdict(asked), start=start_from)))


@command
def learners(
    told: Summary,
    *,
    corpus: TwoCorpora,
    divided: TrialJobs,
    places: OutcomeOptions,
    algorithms: str = option(
        "sgd,lbfgs,memm,maxent,svm,tree,naive-bayes",
        "Learners, as deid train --algorithm names them.",
        metavar="NAME,...",
    ),
    features: FeatureOptions,
    options: AnyTraining,
) -> None:
    """Train the learners of the literature on the same documents and features, and score them on the same others.

    Example: deid experiment learners corpus/train --test corpus/dev --algorithms sgd,memm,maxent,naive-bayes
    """
    from deid.experiments.learners import compare_learners
    from deid.experiments.page import LEARNT

    setup = setup_of(told, corpus, features, options, divided)
    frame = compare_learners(setup, algorithms=algorithms.split(","))
    show(told, places, LEARNT.outcome(frame, settings=setup.settings()))


@command(brief=RecognizerOptions)
def hips(
    told: Summary,
    *,
    corpus: DividedCorpus,
    said: RecognizerOptions,
    policy: str | None = option(None, "What replaces identifiers.", metavar="NAME|FILE", panel="The release"),
    key_file: Path | None = option(None, "Key in hex, for surrogates that differ.", panel="The release"),
    folds: FewFolds,
    places: OutcomeOptions,
    features: FeatureOptions,
    options: SlowTraining,
) -> None:
    """Hiding in plain sight: train on surrogates and originals, test on both; then look for what was missed.

    --folds counts the parrots; each trains on all of the release but a part. With --model, or any other option of deid
    tag that says what finds, what that leaves is released, not what the trained tagger leaves. Without
    --key-file surrogates come from a fixed key, so that figures can be repeated.

    Example: deid experiment hips corpus/train --test corpus/dev --report hips.html
    """
    from deid.experiments.hips import hips
    from deid.experiments.page import HIPS
    from deid.pipeline.known_people import recognizer_of
    from deid.replacement.policy import DEFAULT_POLICY

    setup = setup_of(told, corpus, features, options, folds)
    finds = said != RecognizerOptions()
    result = hips(
        setup,
        recognizer=recognizer_of(said) if finds else None,
        policy=policy or DEFAULT_POLICY,
        key=None if key_file is None else told.key(key_file, create=False),
    )  # fmt: skip
    values = {"settings": setup.settings(folds=folds.folds, seed=options.seed), **result.as_dict()}
    show(told, places, replace(HIPS.again(values), rows=result.table()))
    if not result.leaks:
        told.notes.append("the tagger missed nothing in the test set, so there was nothing to find")
