"""The learners of the literature on the same documents and features."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.experiments.trials import Trial, TrialSetup, figures, score
from deid.labeling.learners import LEARNERS


def compare_learners(setup: TrialSetup, *, algorithms: Sequence[str] = tuple(LEARNERS)) -> pd.DataFrame:
    """Train each learner on the same documents and score it on the same others.

    Parameters
    ----------
    setup : TrialSetup
        With a test set. Of its options all but the algorithm; iterations that are not given are each learner's own.
    algorithms : sequence of str
        Names in `deid.labeling.learners.LEARNERS`.

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
    test, features, options = setup.test or (), setup.features, setup.options
    trained, scored = setup.parts()[0]
    trials = [Trial(trained, scored, features, dataclasses.replace(options, algorithm=name)) for name in algorithms]
    rows = [
        {
            "algorithm": name,
            "train_cpu_seconds": outcome.seconds,
            **figures(score(test, outcome.answers[0.0], features)),
        }
        for name, outcome in zip(algorithms, setup.run(trials), strict=True)
    ]
    return pd.DataFrame(rows).sort_values("strict_f1", ascending=False, ignore_index=True)
