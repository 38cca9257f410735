"""Cross-validation: every document is tagged once, by a tagger that has not seen it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from deid.base.late import pd
from deid.evaluation import Evaluation
from deid.experiments.trials import Trial, TrialSetup, figures, score


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What a cross-validation found."""

    setup: TrialSetup
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
            "features": self.setup.features.spec(),
            "options": dataclasses.asdict(self.setup.options),
            "seed": self.setup.seed,
            "bias": self.bias,
            "folds": self.to_frame().reset_index().to_dict("records"),
            "mean": summary["mean"].to_dict(),
            "sd": summary["sd"].to_dict(),
            "pooled": self.pooled.as_dict(),
        }


def cross_validate(setup: TrialSetup, *, bias: float = 0.0, resamples: int = 1000) -> CrossValidation:
    """Train on all folds but one and score on that one, for each fold.

    Parameters
    ----------
    setup : TrialSetup
    bias : float
        The recall dial.
    resamples : int
        Of the pooled figures' bootstrap intervals, 0 for none.

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
    documents, features, parts = setup.documents, setup.features, setup.parts()
    trials = [Trial(train, test, features, setup.options, (bias,)) for train, test in parts]
    outcomes = list(setup.run(trials))
    answers = [outcome.answers[bias] for outcome in outcomes]
    return CrossValidation(
        setup,
        bias,
        tuple(
            score([documents[i] for i in test], found, features)
            for (_, test), found in zip(parts, answers, strict=True)
        ),
        score(documents, [document for found in answers for document in found], features, resamples),
        tuple(outcome.seconds for outcome in outcomes),
    )
