"""Decoding without expanding features: emission rows per token type and offset, then Viterbi or forward-backward.

Each distinct token type gets one row of label scores per offset, the sum of the weights of its attributes; the
emission scores of a document are sums of gathered rows plus its position attributes (DESIGN, idea 3). Viterbi breaks
ties as CRFsuite does, towards the first label id, so that the labels are the same.
"""

from __future__ import annotations

import numpy as np

from deid.features import Encoded, FeatureSet
from deid.labeling.weights import Weights

__all__ = ["Decoder", "log_partition", "marginals", "viterbi"]

_CACHED_TYPES = 100_000


class Decoder:
    """Scores documents with the weights of a CRF.

    Parameters
    ----------
    weights : Weights
    features : FeatureSet
        The feature set that the weights were trained with.
    """

    def __init__(self, weights: Weights, features: FeatureSet) -> None:
        self.weights = weights
        self.features = features
        self._clear()

    def _clear(self) -> None:
        # row 0 of each table is the edge of the document
        self._ids: dict[str, int] = {}
        self._rows = {o: np.empty((1024, len(self.weights.labels))) for o in self.features.offsets}
        for offset, rows in self._rows.items():
            rows[0] = self._row(None, offset)

    def _row(self, token: str | None, offset: int) -> np.ndarray:
        known = self.weights.attributes
        ids = [known[a] for a in self.features.type_attributes(token, offset) if a in known]
        return self.weights.state[ids].sum(axis=0)

    def _type_ids(self, types: list[str]) -> np.ndarray:
        if len(self._ids) + len(types) > _CACHED_TYPES:
            self._clear()  # bounded memory: unknown types never die out in a stream
        ids = np.empty(len(types) + 1, dtype=np.int64)
        for i, token in enumerate(types):
            known = self._ids.get(token)
            if known is None:
                known = self._ids[token] = len(self._ids) + 1
                for offset, rows in self._rows.items():
                    if known >= len(rows):
                        self._rows[offset] = rows = np.concatenate([rows, np.empty_like(rows)])
                    rows[known] = self._row(token, offset)
            ids[i] = known
        ids[-1] = 0  # so that neighbour -1, beyond the document, finds the edge
        return ids

    def emissions(self, encoded: Encoded) -> np.ndarray:
        """Return the label scores of each item, float64 of shape (n_items, n_labels)."""
        ids = self._type_ids(encoded.types)
        scores = np.tile(self.weights.prior, (len(encoded.items), 1))
        for offset, column in encoded.neighbours.items():
            scores += self._rows[offset][ids[column]]
        return self._add_position(scores, encoded)

    def _add_position(self, scores: np.ndarray, encoded: Encoded) -> np.ndarray:
        known = self.weights.attributes
        rows: list[int] = []
        attributes: list[int] = []
        values: list[float] = []
        for i, found in enumerate(encoded.position):
            for name, value in found:
                attribute = known.get(name)
                if attribute is not None:
                    rows.append(i)
                    attributes.append(attribute)
                    values.append(value)
        if rows:
            np.add.at(scores, rows, self.weights.state[attributes] * np.array(values)[:, None])
        return scores


def viterbi(emissions: np.ndarray, transition: np.ndarray) -> np.ndarray:
    """Return the best label sequence; ties go to the first label id.

    Parameters
    ----------
    emissions : ndarray of shape (n_items, n_labels)
    transition : ndarray of shape (n_labels, n_labels)
        From row to column.

    Returns
    -------
    ndarray of shape (n_items,)
        Label ids.
    """
    n, size = emissions.shape
    best = np.empty(n, dtype=np.int64)
    if n == 0:
        return best
    # a row holds what leads to one label, so that the search for the best predecessor runs along memory
    into = np.ascontiguousarray(transition.T)
    back = np.empty((n, size), dtype=np.int64)
    score = emissions[0]
    everyone = np.arange(size)
    for i in range(1, n):
        through = into + score
        back[i] = through.argmax(axis=1)
        score = through[everyone, back[i]] + emissions[i]
    best[-1] = score.argmax()
    for i in range(n - 1, 0, -1):
        best[i - 1] = back[i, best[i]]
    return best


def _log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    top = values.max(axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.exp(values - top).sum(axis=axis))


def _forward(emissions: np.ndarray, transition: np.ndarray) -> np.ndarray:
    alpha = np.empty_like(emissions)
    alpha[0] = emissions[0]
    for i in range(1, len(emissions)):
        alpha[i] = _log_sum(alpha[i - 1][:, None] + transition, 0) + emissions[i]
    return alpha


def log_partition(emissions: np.ndarray, transition: np.ndarray) -> float:
    """Return log Z of one sequence (ALGORITHMS section 2.1), in log space."""
    return float(_log_sum(_forward(emissions, transition)[-1], 0))


def marginals(emissions: np.ndarray, transition: np.ndarray) -> np.ndarray:
    """Return p(label | text) of each item by forward-backward in log space, float64 of shape (n_items, n_labels)."""
    if len(emissions) == 0:
        return np.empty_like(emissions)
    alpha = _forward(emissions, transition)
    beta = np.zeros_like(emissions)
    for i in range(len(emissions) - 2, -1, -1):
        beta[i] = _log_sum(transition + (emissions[i + 1] + beta[i + 1]), 1)
    scores = alpha + beta
    return np.exp(scores - _log_sum(scores, 1)[:, None])
