"""Naive Bayes over binary features, trained on a cost-proportionate rejection sample (ALGORITHMS section 2.3).

The classifier is linear in log space, so it is stored and decoded like a CRF without transitions.
"""

from __future__ import annotations

import numpy as np

from deid.errors import ConfigError
from deid.labeling.sampling import rejection_sample
from deid.labeling.training import TrainingData
from deid.labeling.weights import Weights

__all__ = ["train_naive_bayes"]


def train_naive_bayes(data: TrainingData) -> Weights:
    """Train scikit-learn's multinomial Naive Bayes with Laplace smoothing 1.

    With ``options.acceptance`` tokens are drawn by rejection sampling until ``options.accepted`` are accepted; labels
    that it does not name are accepted always.

    Raises
    ------
    ConfigError
        When sampling left nothing to train on.
    """
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.naive_bayes import MultinomialNB

    rows: list[dict[str, float]] = []
    labels: list[str] = []
    for attributes, names in data.sequences():
        rows.extend(attributes)
        labels.extend(names)
    if not rows:
        raise ConfigError("sampling left no token to train on", "use a wider window or a larger share of O tokens")
    vectorizer = DictVectorizer(sparse=True)
    X = vectorizer.fit_transform(rows)
    y = np.array(labels)
    options = data.options
    if options.acceptance:
        drawn = rejection_sample(
            labels, dict(options.acceptance), options.accepted or len(labels), np.random.default_rng(options.seed)
        )
        X, y = X[drawn], y[drawn]
    model = MultinomialNB(alpha=1.0).fit(X, y)
    known = [str(label) for label in model.classes_]
    return Weights(
        tuple(known),
        {name: i for i, name in enumerate(vectorizer.feature_names_)},
        np.ascontiguousarray(model.feature_log_prob_.T),
        np.zeros((len(known), len(known))),
        np.asarray(model.class_log_prior_),
    )
