"""Decoding without expanding features: emission rows per token type and offset, then Viterbi or forward-backward.

Each distinct token type gets one row of label scores per offset, the sum of the weights of its attributes; the
emission scores of a document are sums of gathered rows plus its position attributes (DESIGN, idea 3).
"""

from __future__ import annotations

import numpy as np

from deid.features import Encoded, FeatureSet
from deid.labeling.weights import Weights

__all__ = ["Decoder"]

_CACHED_TYPES = 10_000
"""Numbers and names never stop bringing new types; 10,000 rows of 60 labels at 9 offsets take 43 MB."""


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
