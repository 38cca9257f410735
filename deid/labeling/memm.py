"""Decoding of a maximum entropy Markov model (McCallum, Freitag and Pereira 2000).

The probability of a label given the one before it is normalized at each item, not over the whole sequence as in a CRF:
p(y_i | y_{i-1}, x_i) = exp(e_i(y_i) + t(y_{i-1}, y_i)) / Z_i(y_{i-1}). The normalizer Z_i depends on the label before,
so taking its logarithm off the score of that label at item i - 1 turns the model into sums that Viterbi and
forward-backward of a CRF work on.
"""

from __future__ import annotations

import numpy as np

from deid.features import Encoded
from deid.labeling.decoder import Decoder


class MemmDecoder(Decoder):
    """Scores documents with the weights of a maximum entropy Markov model."""

    def emissions(self, encoded: Encoded) -> np.ndarray:
        """Return the label scores of each item, less the next item's normalizer; shape (n_items, n_labels)."""
        scores = super().emissions(encoded)
        if len(scores) == 0:
            return scores
        through = self.weights.transition[None] + scores[1:, None, :]
        top = through.max(axis=2, keepdims=True)
        scores[:-1] -= top[:, :, 0] + np.log(np.exp(through - top).sum(axis=2))
        first = scores[0].max()
        scores[0] -= first
        return scores

    def _compiled(self, *, exact: bool) -> None:
        """There is no compiled route: its scores know nothing of normalizers."""
        return None
