"""Learning curves: how many annotated documents a tagger needs, from scratch and from another model."""

from __future__ import annotations

import numpy as np

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.experiments.options import CurveOptions
from deid.experiments.trials import Trial, TrialSetup, figures, score
from deid.labeling.tagger import load_model

STARTS: dict[str, str] = {"scratch": "from scratch", "model": "from a model"}
"""Values of the column ``start``, and what they are called."""


def learning_curve(setup: TrialSetup, asked: CurveOptions) -> pd.DataFrame:
    """Train on more and more documents and score each tagger on the same test documents.

    The documents of a size are the first of a random order, so that each size holds the smaller ones.

    Parameters
    ----------
    setup : TrialSetup
        Documents to draw from; without a test set, those that the largest size leaves are scored. Its features are for
        trainings from scratch; from a model on, both kinds use the features of that model.
    asked : CurveOptions
        With a model to start from each size is trained from scratch and from this model, and the model itself is
        scored as size 0. Order ``r`` of the random orders has the setup's seed ``+ r``.

    Returns
    -------
    DataFrame
        One row a training: ``start`` (`STARTS`), ``documents``, ``repeat``, ``train_cpu_seconds``, and the figures of
        `deid.experiments.trials.figures`.

    Raises
    ------
    ConfigError
        When a size cannot be drawn, or nothing is left to score.
    """
    documents, test, features, options = setup.documents, setup.test, setup.features, setup.options
    wanted = sorted(set(asked.sizes))
    if not wanted or wanted[0] < 1 or wanted[-1] > len(documents) or asked.repeats < 1:
        raise ConfigError("the sizes cannot be drawn", f"give numbers from 1 to {len(documents)}")
    if test is None and wanted[-1] == len(documents):
        raise ConfigError("no document is left to score", "name a test set or a smaller largest size")
    model = None if asked.start_from is None else load_model(asked.start_from)
    if model is not None:
        features, options = model.going_on(options)
    starts = {"scratch": None} | ({} if model is None else {"model": asked.start_from})
    pool = setup.pool
    plan: list[tuple[dict[str, str | float], Trial | None]] = []
    for repeat in range(asked.repeats):
        order = np.random.default_rng(setup.seed + repeat).permutation(len(documents)).tolist()
        scored = sorted(order[wanted[-1] :]) if test is None else list(range(len(documents), len(pool)))
        if model is not None:
            local = model.renamed({span.category for document in documents for span in document.spans})
            answers = [pool[i].with_spans(local.find(pool[i])) for i in scored]
            counts = figures(score([pool[i] for i in scored], answers, features))
            plan.append(
                ({"start": "model", "documents": 0, "repeat": repeat, "train_cpu_seconds": 0.0, **counts}, None)
            )
        for size in wanted:
            chosen = tuple(sorted(order[:size]))
            for name, start in starts.items():
                trial = Trial(chosen, tuple(scored), features, options, start=start)
                plan.append(({"start": name, "documents": size, "repeat": repeat}, trial))
    outcomes = setup.run([trial for _, trial in plan if trial is not None])
    rows = []
    for row, planned in plan:
        if planned is not None:
            outcome = next(outcomes)
            found = figures(score([pool[i] for i in planned.test], outcome.answers[0.0], features))
            row |= {"train_cpu_seconds": outcome.seconds, **found}
        rows.append(row)
    next(outcomes, None)  # lets the generator end, and with it the processes
    return pd.DataFrame(rows)
