"""Learners that take tokens one by one: Naive Bayes and linear support vector machines.

Both are linear in the attributes, so they are stored and decoded like a CRF without transitions. With
``options.acceptance`` they are trained on a cost-proportionate rejection sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deid.labeling.sampling import rejection_sample
from deid.labeling.training import TrainingData
from deid.labeling.weights import Weights

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def token_matrix(data: TrainingData) -> tuple[csr_matrix, np.ndarray]:
    """Return what learners that take tokens one by one are trained on.

    Returns
    -------
    X : scipy.sparse.csr_matrix of shape (n_tokens, n_attributes)
    y : ndarray of int32, shape (n_tokens,)
        Label ids. With ``options.acceptance`` both are a rejection sample.
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
    """Return the weights of scikit-learn's multinomial Naive Bayes with Laplace smoothing 1.

    Labels that sampling did not draw are unknown to it.
    """
    from sklearn.naive_bayes import MultinomialNB

    X, y = token_matrix(data)
    model = MultinomialNB(alpha=1.0).fit(X, y)
    return _weights(data, model.classes_, model.feature_log_prob_, model.class_log_prior_)


def train_svm(data: TrainingData) -> Weights:
    """Return the weights of scikit-learn's linear support vector machine: one against the rest, squared hinge loss."""
    from sklearn.svm import LinearSVC

    X, y = token_matrix(data)
    model = LinearSVC(C=0.1, random_state=data.options.seed, max_iter=200, tol=1e-3).fit(X, y)
    coefficients, intercept = model.coef_, model.intercept_
    if len(model.classes_) == 2:  # scikit-learn keeps one row for two classes
        coefficients, intercept = np.vstack([-coefficients, coefficients]), np.concatenate([-intercept, intercept])
    # weights this small turn no decision, and are most of them
    return _weights(data, model.classes_, np.where(np.abs(coefficients) < 1e-4, 0.0, coefficients), intercept)


def _weights(data: TrainingData, classes: np.ndarray, coefficients: np.ndarray, prior: np.ndarray) -> Weights:
    known = tuple(data.labels[i] for i in classes.tolist())
    rows = {name: i for i, name in enumerate(data.items.attributes)}
    state = np.ascontiguousarray(coefficients.T)
    return Weights(known, rows, state, np.zeros((len(known), len(known))), np.asarray(prior))
