"""Weights of an older model as the point where a new training starts, and towards which it is held.

A site has few annotated notes of its own: ten notes do not show every category, format or name. Training that starts
from the weights of another model and is held near them changes only what the local notes speak about (domain
adaptation with the old weights as the mean of the prior: Chelba and Acero, EMNLP 2004).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from deid.base.errors import ConfigError
from deid.labeling.weights import Weights
from deid.phi import label_set_of, map_used_labels


def rename_labels(weights: Weights, categories: Iterable[str]) -> Weights:
    """Return the weights with their categories renamed to those that the new notes use.

    Where the notes' categories belong to a known label set, each category of the model becomes the one that
    `deid.phi.map_used_labels` names there. Categories that become one share the mean of their weights; those that have
    no place in the set, and all where the set is unknown, keep their names.

    Parameters
    ----------
    weights : Weights
    categories : iterable of str
        Categories of the new notes' spans.

    Raises
    ------
    ConfigError
        When the model is no CRF.
    """
    if weights.prior.any():
        raise ConfigError("only a CRF can be trained further", "start from a model of the algorithm sgd or lbfgs")
    old = {label.partition("-")[2] for label in weights.labels} - {""}
    known = label_set_of(categories)
    to = {} if known is None else map_used_labels(old, known.name).to
    new: dict[str, int] = {}
    place = np.empty(len(weights.labels), dtype=np.int64)
    for i, label in enumerate(weights.labels):
        kind, _, category = label.partition("-")
        name = f"{kind}-{to.get(category) or category}" if category else label
        place[i] = new.setdefault(name, len(new))
    share = np.zeros((len(weights.labels), len(new)))
    share[np.arange(len(place)), place] = 1.0
    share /= share.sum(axis=0)
    return Weights(
        tuple(new), weights.attributes, weights.state @ share, share.T @ weights.transition @ share, np.zeros(len(new))
    )


def align(weights: Weights, attributes: Sequence[str], labels: Sequence[str]) -> Weights:
    """Return the weights for other attributes and labels, in their order; those that are new have 0.

    Parameters
    ----------
    weights : Weights
        Its labels are the first of ``labels``.
    attributes, labels : sequence of str
        Those of the result, in order.
    """
    assert tuple(labels[: len(weights.labels)]) == weights.labels
    size = len(weights.labels)
    state = np.zeros((len(attributes), len(labels)))
    rows = {name: i for i, name in enumerate(attributes)}
    both = [(rows[name], i) for name, i in weights.attributes.items() if name in rows]
    if both:
        mine, theirs = np.array(both).T
        state[mine, :size] = weights.state[theirs]
    move = np.zeros((len(labels), len(labels)))
    move[:size, :size] = weights.transition
    return Weights(tuple(labels), rows, state, move, np.zeros(len(labels)))
