"""Which feature groups matter: every non-empty subset of them on the same folds, tested against all of them.

The experiment of Gardner 2012, chapter 4.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.evaluation import subset_ttest
from deid.experiments.trials import Trial, TrialSetup, score
from deid.features import FeatureSet

MEASURES: dict[str, str] = {
    "strict": "spans, strict",
    "token": "tokens, Begin and Intermediate",
    "token_category": "tokens, categories",
    "word": "words, PHI or not",
}
"""Tables of an evaluation whose F1 can be compared, and what they are called."""


def subsets(groups: str) -> list[str]:
    """Return the non-empty subsets of feature groups, small ones first, all of them last."""
    return ["".join(chosen) for size in range(1, len(groups) + 1) for chosen in combinations(groups, size)]


def compare_subsets(setup: TrialSetup, *, measure: str = "strict") -> pd.DataFrame:
    """Cross-validate every non-empty subset of the feature set's groups on the same folds.

    Parameters
    ----------
    setup : TrialSetup
        Its features have all groups that are compared; group d needs word lists.
    measure : str
        One of `MEASURES`.

    Returns
    -------
    DataFrame
        One row a subset, best first: ``features``, ``mean`` and ``sd`` of F1 over folds, ``difference`` to all groups,
        ``t`` and two-sided ``p`` of the paired t-test against all groups (empty in their own row), and F1 in each
        fold (``fold_1`` and so on).

    Raises
    ------
    ConfigError
        When there are fewer than two groups, group d has no word lists, the measure is unknown, or the folds cannot
        be made.
    """
    features, documents = setup.features, setup.documents
    require(measure in MEASURES, f"unknown measure {measure!r}", "known: " + ", ".join(MEASURES))
    if "d" in features.groups and not features.dictionaries:
        raise ConfigError("group d has no word lists", "name word lists, or compare the groups without d")
    require(len(features.groups) >= 2, "one feature group leaves nothing to compare", "give at least two of r, a, c, d")
    chosen = [
        FeatureSet(features.preset, name, features.dictionaries, skip_punct=features.skip_punct)
        for name in subsets(features.groups)
    ]
    parts = setup.parts()
    trials = [Trial(train, test, subset, setup.options) for subset in chosen for train, test in parts]
    f1 = [
        score([documents[i] for i in trial.test], outcome.answers[0.0], features).tables[measure].micro().f1
        for trial, outcome in zip(trials, setup.run(trials), strict=True)
    ]
    scores = np.array(f1).reshape(len(chosen), len(parts))
    t, p = subset_ttest(scores)
    frame = pd.DataFrame(
        {
            "features": [subset.groups for subset in chosen],
            "mean": scores.mean(axis=1),
            "sd": scores.std(axis=1, ddof=1),
            "difference": scores.mean(axis=1) - scores[-1].mean(),
            "t": [*t, np.nan],
            "p": [*p, np.nan],
            **{f"fold_{number}": column for number, column in enumerate(scores.T, 1)},
        }
    )
    # the size of the name decides ties, so that a smaller set that is as good stands first
    frame["size"] = frame["features"].str.len()
    order = frame.sort_values(["mean", "size", "features"], ascending=[False, True, True])
    return order.drop(columns="size").reset_index(drop=True)
