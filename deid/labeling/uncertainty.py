"""How unsure a CRF is of a note, for choosing what to annotate next.

The measures of Settles and Craven (EMNLP 2008) for sequences: the improbability of the best labels (least confidence),
how close the second best come (margin), and the entropy of the labels of single tokens. All are in nats, and sums over
the note rather than means: an unsure long note teaches more than an unsure short one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from deid.base.errors import require
from deid.labeling import kernels
from deid.labeling.reference import log_partition
from deid.labeling.tagger import Tagger
from deid.reading.line_ends import unified


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What a linear chain does not know about one sequence; each figure is computed when it is asked for.

    Parameters
    ----------
    emissions : ndarray of float64, shape (n_items, n_labels)
    transition : ndarray of float64, shape (n_labels, n_labels)
        From row to column.
    outside : int
        Id of the label O; -1 when there is none, and nothing counts as missed.
    words : ndarray of bool, shape (n_items,)
        Which items are words; punctuation is no leak.
    """

    emissions: np.ndarray = field(repr=False)
    transition: np.ndarray = field(repr=False)
    outside: int
    words: np.ndarray = field(repr=False)

    @cached_property
    def _best(self) -> np.ndarray:
        return kernels.viterbi(self.emissions, self.transition)

    @cached_property
    def _chance(self) -> np.ndarray:
        return kernels.marginals(self.emissions, self.transition)

    @cached_property
    def _top(self) -> float:
        """Score of the best sequence."""
        best = self._best
        steps = self.transition[best[:-1], best[1:]].sum()
        return float(self.emissions[np.arange(len(best)), best].sum() + steps)

    @cached_property
    def surprise(self) -> float:
        """-log p of the best label sequence: 0 when it is certain."""
        return max(0.0, log_partition(self.emissions, self.transition) - self._top) if len(self.emissions) else 0.0

    @cached_property
    def margin(self) -> float:
        """log p of the best sequence less that of the second best: 0 when two are equally good, infinite when there is
        no other.

        The second best differs from the best in some item, so its score is the largest that any other label of any
        item has in its own best sequence (max-marginals: one pass from either side).
        """
        reach = _max_marginals(self.emissions, self.transition)
        reach[np.arange(len(reach)), self._best] = -np.inf
        return max(0.0, self._top - float(reach.max(initial=-np.inf)))

    @cached_property
    def entropy(self) -> float:
        """Sum of the entropies of the items' labels."""
        logs = np.log(self._chance, out=np.zeros_like(self._chance), where=self._chance > 0)
        return max(0.0, -float((self._chance * logs).sum()))

    @cached_property
    def missed(self) -> float:
        """Expected number of PHI words that the best sequence leaves outside spans, as far as the model knows: the sum
        of 1 - p(O) over words labelled O.
        """
        if self.outside < 0:
            return 0.0
        left = (self._best == self.outside) & self.words
        return float((1.0 - self._chance[left, self.outside]).clip(0.0).sum())


MEASURES: dict[str, Callable[[Uncertainty], float]] = {
    "least-confident": lambda told: told.surprise,
    "margin": lambda told: -told.margin,
    "entropy": lambda told: told.entropy,
    "missed": lambda told: told.missed,
}
"""Name -> how much a note is worth asking for: the most first. Entropy and missed take a tenth of the others' time."""


def find_measure(name: str) -> Callable[[Uncertainty], float]:
    """Return one of `MEASURES`.

    Raises
    ------
    ConfigError
        When there is none of that name.
    """
    require(name in MEASURES, "unknown measure of uncertainty", "known: " + ", ".join(MEASURES))
    return MEASURES[name]


def uncertainty(tagger: Tagger, text: str) -> Uncertainty:
    """Return what a tagger does not know about a text, its recall dial (`Tagger.bias`) counted in."""
    text = unified(text).text
    emissions, starts, ends = tagger.decoder.scores(text, tagger.bias)
    words = [any(map(str.isalnum, text[start:end])) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    outside = tagger.labels.index("O") if "O" in tagger.labels else -1
    return Uncertainty(emissions, tagger.decoder.weights.transition, outside, np.array(words, dtype=bool))


def _max_marginals(emissions: np.ndarray, transition: np.ndarray) -> np.ndarray:
    """Return the score of the best sequence through each label of each item, shape (n_items, n_labels)."""
    into = np.ascontiguousarray(transition.T)
    before, after = emissions.copy(), np.zeros_like(emissions)
    for i in range(1, len(emissions)):
        before[i] += (into + before[i - 1]).max(axis=1)
    for i in range(len(emissions) - 2, -1, -1):
        after[i] = (transition + (emissions[i + 1] + after[i + 1])).max(axis=1)
    return before + after
