"""Sampling of training tokens against the recall dial: what each buys in recall, and what it costs.

Window and random O-sampling are those of Gardner 2012, chapter 4, cost-proportionate rejection
sampling is Zadrozny, Langford and Abe 2003. The dial turns one tagger that was trained on everything.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.base.options import option
from deid.document import Document
from deid.experiments.folds import Split
from deid.experiments.trials import Trial, TrialResult, TrialSetup, figures, score
from deid.features import FeatureSet
from deid.labeling.training import TrainingOptions, label_number

CURVES: dict[str, str] = {
    "full": "all tokens",
    "dial": "all tokens, recall dial",
    "window": "window sampling",
    "o-sampling": "random O-sampling",
    "naive-bayes": "Naive Bayes",
    "rejection": "Naive Bayes, rejection sampling",
}
"""Values of the column ``curve``, and what they are called."""


@dataclass(frozen=True)
class Points:
    """Kinds and degrees of sampling, and dials, at which the curves are measured."""

    PANEL: ClassVar[str] = "Curves"
    windows: Sequence[int] = option((4, 16, 64), "Windows, in tokens.", metavar="K,...")
    shares: Sequence[float] = option((0.1, 0.5), "Probabilities to keep a token outside spans.", metavar="P,...")
    biases: Sequence[float] = option((0.5, 1.0, 2.0), "Positions of the recall dial.", metavar="B,...")
    """Beside 0."""
    acceptance: tuple[tuple[str, float], ...] = option(
        (("O", 0.1),),
        "Rejection sampling: acceptance probability of a label (repeatable).",
        metavar="LABEL=P",
        read=label_number("--acceptance", "B-DATE=0.5"),
    )
    """Labels that are missing are accepted always; .1 for tokens outside spans is of the dissertation, table 4.6."""
    naive_bayes: bool = option(True, "Train Naive Bayes too, plain and with rejection sampling.")


def sampling_curves(setup: TrialSetup, *, points: Points = Points()) -> pd.DataFrame:
    """Train with each kind and degree of sampling, and turn the dial of the tagger that was trained on all tokens.

    Parameters
    ----------
    setup : TrialSetup
        Without a test set figures are pooled over folds. Its options do not sample, which the points decide.
    points : Points

    Returns
    -------
    DataFrame
        One row a point: ``curve`` (`CURVES`), ``value`` (k, p or bias), ``train_cpu_seconds`` of one training,
        ``tokens_kept`` (share), and the figures of `deid.experiments.trials.figures`.

    Raises
    ------
    ConfigError
        When ``options`` sample already, or the folds cannot be made.
    """
    pool, parts, features, options = setup.pool, setup.parts(), setup.features, setup.options
    if options.window is not None or options.o_sampling is not None or options.acceptance:
        raise ConfigError("the training options sample already", "leave sampling to the points of the curves")
    plan = _plan(options, points)
    trials = [
        Trial(train, scored, features, changed, biases) for _, _, changed, biases in plan for train, scored in parts
    ]
    outcomes = setup.run(trials)
    rows = []
    for curve, value, _, biases in plan:
        found = [next(outcomes) for _ in parts]
        for bias in biases:
            at = (curve, value) if bias == 0 else ("dial", bias)
            rows.append({"curve": at[0], "value": at[1], **_row(pool, parts, found, bias, features)})
    next(outcomes, None)  # lets the generator end, and with it the processes
    return pd.DataFrame(rows).astype({"value": float})  # also when no point has a value


_Plan = tuple[str, float | None, TrainingOptions, tuple[float, ...]]


def _plan(options: TrainingOptions, points: Points) -> list[_Plan]:
    """Return curve, value, options and positions of the dial of each training."""
    change = dataclasses.replace
    plan: list[_Plan] = [("full", None, options, (0.0, *(b for b in points.biases if b)))]
    plan += [("window", k, change(options, window=k), (0.0,)) for k in points.windows]
    plan += [("o-sampling", p, change(options, o_sampling=p), (0.0,)) for p in points.shares]
    if points.naive_bayes:
        plain = change(options, algorithm="naive-bayes")
        plan.append(("naive-bayes", None, plain, (0.0,)))
        if points.acceptance:
            plan.append(("rejection", None, change(plain, acceptance=points.acceptance), (0.0,)))
    return plan


def _row(
    pool: Sequence[Document], parts: Sequence[Split], outcomes: Sequence[TrialResult], bias: float, features: FeatureSet
) -> dict[str, float]:
    scored = [pool[i] for _, test in parts for i in test]
    answers = [document for outcome in outcomes for document in outcome.answers[bias]]
    return {
        "train_cpu_seconds": sum(outcome.seconds for outcome in outcomes) / len(outcomes),
        "tokens_kept": sum(outcome.kept for outcome in outcomes) / sum(outcome.tokens for outcome in outcomes),
        **figures(score(scored, answers, features)),
    }
