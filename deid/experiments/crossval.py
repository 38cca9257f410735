"""Cross-validation: every document is tagged once, by a tagger that has not seen it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from deid.base.late import pd
from deid.document import Document
from deid.evaluation import Evaluation
from deid.experiments.folds import assign_folds, splits
from deid.experiments.trials import Report, Trial, figures, run_trials, score
from deid.features import FeatureSet
from deid.labeling.training import TrainingOptions


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What a cross-validation found."""

    features: FeatureSet
    options: TrainingOptions
    seed: int
    bias: float
    folds: tuple[Evaluation, ...] = field(repr=False)
    """Scores of the held-out documents of each fold."""
    pooled: Evaluation = field(repr=False)
    """Scores of all documents together, with bootstrap intervals."""
    seconds: tuple[float, ...]
    """CPU time of each fold's training."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row a fold: documents, gold spans, figures, CPU seconds of training."""
        rows = []
        for number, (fold, seconds) in enumerate(zip(self.folds, self.seconds, strict=True), 1):
            counts = {"documents": len(fold.pairing.pairs), "spans": fold.tables["strict"].micro().gold}
            rows.append({"fold": number, **counts, **figures(fold), "train_cpu_seconds": seconds})
        return pd.DataFrame(rows).set_index("fold")

    def summary(self) -> pd.DataFrame:
        """Return mean and standard deviation (n - 1) of each figure over the folds, and the pooled figure."""
        names = list(figures(self.pooled))
        frame = self.to_frame()[names]
        return pd.DataFrame({"mean": frame.mean(), "sd": frame.std(ddof=1), "pooled": figures(self.pooled)})

    def token_table(self) -> pd.DataFrame:
        """Return precision, recall and F1 of each Begin and Intermediate label over all folds.

        This is the form of the dissertation's Tables 4.4 and 4.5 (Gardner 2012): one row a label such as
        ``B-DATE``; labels that neither side has are left out.
        """
        scores = self.pooled.tables["token"].by_label()
        rows = [{"label": label, **s.as_dict()} for label, s in scores.items() if s.gold or s.system]
        return pd.DataFrame(rows).set_index("label")[["precision", "recall", "f1", "gold", "system"]]

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON values; documents are named by their safe names."""
        summary = self.summary()
        return {
            "features": self.features.spec(),
            "options": dataclasses.asdict(self.options),
            "seed": self.seed,
            "bias": self.bias,
            "folds": self.to_frame().reset_index().to_dict("records"),
            "mean": summary["mean"].to_dict(),
            "sd": summary["sd"].to_dict(),
            "pooled": self.pooled.as_dict(),
        }


def cross_validate(
    documents: Sequence[Document],
    features: FeatureSet,
    options: TrainingOptions | None = None,
    *,
    folds: int = 10,
    seed: int = 0,
    groups: Sequence[str] | None = None,
    bias: float = 0.0,
    resamples: int = 1000,
    jobs: int = 1,
    report: Report | None = None,
) -> CrossValidation:
    """Train on all folds but one and score on that one, for each fold.

    Parameters
    ----------
    documents : sequence of Document
        Annotated documents.
    features : FeatureSet
    options : TrainingOptions, optional
    folds : int
    seed : int
        Decides which document is in which fold; sampling has its own seed in ``options``.
    groups : sequence of str, optional
        Group of each document (`group_documents`): one group is never on both sides.
    bias : float
        The recall dial.
    resamples : int
        Of the pooled figures' bootstrap intervals, 0 for none.
    jobs : int
        Processes.
    report : callable, optional
        Gets the number of trainings done and their total.

    Returns
    -------
    CrossValidation
        Scores of each fold and of all documents together.

    Raises
    ------
    ConfigError
        When the folds cannot be made, or a training set holds no span.
    DuplicateError
        When two documents have the same id.
    """
    options = options or TrainingOptions()
    parts = splits(assign_folds(documents, folds, seed, groups=groups))
    trials = [Trial(train, test, features, options, (bias,)) for train, test in parts]
    outcomes = list(run_trials(documents, trials, jobs=jobs, report=report))
    answers = [outcome.answers[bias] for outcome in outcomes]
    return CrossValidation(
        features,
        options,
        seed,
        bias,
        tuple(
            score([documents[i] for i in test], found, features)
            for (_, test), found in zip(parts, answers, strict=True)
        ),
        score(documents, [document for found in answers for document in found], features, resamples),
        tuple(outcome.seconds for outcome in outcomes),
    )
