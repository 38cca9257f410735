"""Naive Bayes over binary features, trained on a cost-proportionate rejection sample (ALGORITHMS section 2.3).

The classifier is linear in log space, so it is stored and decoded like a CRF without transitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deid.labeling.sampling import rejection_sample
from deid.labeling.training import TrainingData
from deid.labeling.weights import Weights

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["token_matrix", "train_naive_bayes"]


def token_matrix(data: TrainingData) -> tuple[csr_matrix, np.ndarray]:
    """Return what learners that take tokens one by one are trained on.

    Returns
    -------
    X : scipy.sparse.csr_matrix of shape (n_tokens, n_attributes)
    y : ndarray of int32, shape (n_tokens,)
        Label ids. With ``options.acceptance`` both are a cost-proportionate rejection sample.
    """
    from scipy.sparse import csr_matrix

    items, options = data.items, data.options
    X = csr_matrix((items.values, items.ids, items.begin), shape=(len(data.gold), len(items.attributes)))
    if not options.acceptance:
        return X, data.gold
    labels = [data.labels[i] for i in data.gold.tolist()]
    rng = np.random.default_rng(options.seed)
    drawn = rejection_sample(labels, dict(options.acceptance), options.accepted or len(labels), rng)
    return X[drawn], data.gold[drawn]


def train_naive_bayes(data: TrainingData) -> Weights:
    """Train scikit-learn's multinomial Naive Bayes with Laplace smoothing 1.

    With ``options.acceptance`` tokens are drawn by rejection sampling until ``options.accepted`` are accepted; labels
    that it does not name are accepted always.
    """
    from sklearn.naive_bayes import MultinomialNB

    X, y = token_matrix(data)
    model = MultinomialNB(alpha=1.0).fit(X, y)
    known = [data.labels[i] for i in model.classes_.tolist()]
    return Weights(
        tuple(known),
        {name: i for i, name in enumerate(data.items.attributes)},
        np.ascontiguousarray(model.feature_log_prob_.T),
        np.zeros((len(known), len(known))),
        np.asarray(model.class_log_prior_),
    )
