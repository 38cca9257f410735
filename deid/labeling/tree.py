"""A decision tree over attributes (CART, Breiman et al. 1984, by scikit-learn), stored as arrays.

The first learnt recognizers of identifiers were trees (Szarvas, Farkas and Busa-Fekete 2007, boosted). A tree labels
tokens one by one. Only frequent attributes are offered to it, as a tree with a hundred thousand of them takes hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deid.features import Encoded, FeatureSet
from deid.labeling.decoder import Decoder
from deid.labeling.independent import token_matrix
from deid.labeling.training import TrainingData
from deid.labeling.weights import Weights

_OFFERED = 2_000
_MOST_TOKENS = 60_000


@dataclass(frozen=True)
class DecisionTree:
    """Inner nodes ask whether an attribute's value exceeds a threshold; leaves hold log probabilities of labels."""

    labels: tuple[str, ...]
    attributes: dict[str, int] = field(repr=False)
    """Attribute -> column that `attribute` refers to."""
    left: np.ndarray = field(repr=False)
    """int32 of shape (n_nodes,): where to go when the value is not larger; -1 in a leaf."""
    right: np.ndarray = field(repr=False)
    attribute: np.ndarray = field(repr=False)
    threshold: np.ndarray = field(repr=False)
    scores: np.ndarray = field(repr=False)
    """float32 of shape (n_nodes, n_labels)."""

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays by name, as a model folder stores them."""
        return {name: getattr(self, name) for name in ("left", "right", "attribute", "threshold", "scores")}

    def __post_init__(self) -> None:
        n = len(self.left)
        inner = self.left >= 0
        links = np.concatenate([self.left[inner], self.right[inner]])
        # children follow their parents, so that no walk can go round in a circle
        parents = np.tile(np.flatnonzero(inner), 2)
        if (
            n == 0
            or not all(len(array) == n for array in self.arrays().values())
            or self.scores.shape != (n, len(self.labels))
            or (links <= parents).any()
            or (links >= n).any()
            or (inner & ((self.attribute < 0) | (self.attribute >= len(self.attributes)))).any()
        ):
            raise ValueError("the arrays are no tree")


class TreeDecoder(Decoder):
    """Scores documents with a tree."""

    def __init__(self, tree: DecisionTree, features: FeatureSet) -> None:
        size = len(tree.labels)
        empty = np.zeros((len(tree.attributes), size))
        super().__init__(Weights(tree.labels, tree.attributes, empty, np.zeros((size, size)), np.zeros(size)), features)
        self.tree = tree

    def __reduce__(self) -> tuple[Any, ...]:
        return TreeDecoder, (self.tree, self.features)

    def emissions(self, encoded: Encoded) -> np.ndarray:
        """Return the logarithms of the labels' shares in the leaf that each item reaches; shape (n_items, n_labels)."""
        tree = self.tree
        values = np.zeros((len(encoded.items), len(tree.attributes)), dtype=np.float32)
        for i, row in enumerate(self.features.expand(encoded)):
            for name, value in row.items():
                column = tree.attributes.get(name)
                if column is not None:
                    values[i, column] = value
        node = np.zeros(len(values), dtype=np.int64)
        while (walking := np.flatnonzero(tree.left[node] >= 0)).size:
            at = node[walking]
            low = values[walking, tree.attribute[at]] <= tree.threshold[at]
            node[walking] = np.where(low, tree.left[at], tree.right[at])
        return tree.scores[node].astype(np.float64)

    def _compiled(self, *, exact: bool) -> None:
        """There is no compiled route for trees."""
        return None


def train_tree(data: TrainingData) -> DecisionTree:
    """Return scikit-learn's decision tree over the most frequent attributes of at most 60,000 tokens."""
    from sklearn.tree import DecisionTreeClassifier

    X, y = token_matrix(data)
    if X.shape[0] > _MOST_TOKENS:
        drawn = np.sort(np.random.default_rng(data.options.seed).permutation(X.shape[0])[:_MOST_TOKENS])
        X, y = X[drawn], y[drawn]
    counts = np.asarray((X != 0).sum(axis=0)).ravel()
    offered = np.sort(np.argsort(-counts, kind="stable")[:_OFFERED])
    model = DecisionTreeClassifier(min_samples_leaf=3, random_state=data.options.seed)
    fitted = model.fit(X[:, offered].tocsc(), y).tree_
    inner = fitted.children_left >= 0
    asked, columns = np.unique(fitted.feature[inner], return_inverse=True)
    attribute = np.full(len(inner), -1, dtype=np.int32)
    attribute[inner] = columns
    shares = fitted.value[:, 0, :]
    shares = (shares + 1e-6) / (shares + 1e-6).sum(axis=1, keepdims=True)
    names = [data.items.attributes[i] for i in offered[asked].tolist()]
    return DecisionTree(
        tuple(data.labels[i] for i in model.classes_.tolist()),
        {name: i for i, name in enumerate(names)},
        fitted.children_left.astype(np.int32),
        fitted.children_right.astype(np.int32),
        attribute,
        fitted.threshold.astype(np.float32),
        np.log(shares).astype(np.float32),
    )
