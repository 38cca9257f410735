"""The learners of the literature on the same documents and features."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.document import Document
from deid.experiments.trials import Report, Trial, figures, run_trials, score
from deid.features import FeatureSet
from deid.labeling.learners import LEARNERS
from deid.labeling.training import TrainingOptions


def compare_learners(
    documents: Sequence[Document],
    test: Sequence[Document],
    features: FeatureSet,
    options: TrainingOptions | None = None,
    *,
    algorithms: Sequence[str] = tuple(LEARNERS),
    jobs: int = 1,
    report: Report | None = None,
) -> pd.DataFrame:
    """Train each learner on the same documents and score it on the same others.

    Parameters
    ----------
    documents, test : sequence of Document
    features : FeatureSet
    options : TrainingOptions, optional
        All but the algorithm; iterations that are not given are each learner's own.
    algorithms : sequence of str
        Names in `deid.labeling.learners.LEARNERS`.
    jobs : int
        Processes.
    report : callable, optional

    Returns
    -------
    DataFrame
        One row a learner: ``algorithm``, ``train_cpu_seconds``, and the figures of
        `deid.experiments.trials.figures`; best strict F1 first.

    Raises
    ------
    ConfigError
        When a learner is unknown or named twice.
    """
    if set(algorithms) - set(LEARNERS) or len(set(algorithms)) < len(algorithms) or not algorithms:
        raise ConfigError("a learner to compare is unknown or named twice", "known: " + ", ".join(LEARNERS))
    options = options or TrainingOptions()
    pool = [*documents, *test]
    trained, scored = tuple(range(len(documents))), tuple(range(len(documents), len(pool)))
    trials = [Trial(trained, scored, features, dataclasses.replace(options, algorithm=name)) for name in algorithms]
    rows = [
        {
            "algorithm": name,
            "train_cpu_seconds": outcome.seconds,
            **figures(score(test, outcome.answers[0.0], features)),
        }
        for name, outcome in zip(algorithms, run_trials(pool, trials, jobs=jobs, report=report), strict=True)
    ]
    return pd.DataFrame(rows).sort_values("strict_f1", ascending=False, ignore_index=True)
