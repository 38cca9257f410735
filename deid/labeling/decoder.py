"""Decoding without expanding features: emission rows per token type and offset, then Viterbi or forward-backward.

Each distinct token type gets one row of label scores per offset, the sum of the weights of its attributes; the
emission scores of a document are sums of gathered rows plus its position attributes. The compiled route does all of it,
from the text to the labels, in one call (``deid/csrc/labeller.c``, ``deid/csrc/walk.c``); the NumPy route below is its
oracle, and what runs where nothing was compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from deid.features import Encoded, FeatureSet
from deid.labeling import kernels
from deid.labeling.chances import chances
from deid.labeling.tables import MappedTable, TablePlace, common_words
from deid.labeling.weights import Weights

_CACHED_TYPES = 10_000
"""Numbers and names never stop bringing new types; 10,000 rows of 60 labels at 9 offsets take 43 MB."""
_COMPILED_TYPES, _COMPILED_ROWS = 40_000, 60_000
"""What the compiled route keeps between documents: rows of 64 labels take 15 MB. Rows without scores are not stored.
The English set alone has more words than 16,000: built anew in every pass, they cost three times as long."""


class Decoder:
    """Scores documents with the weights of a CRF.

    Parameters
    ----------
    weights : Weights
        Or a callable that returns them, for a model whose table is kept.
    features : FeatureSet
        The feature set that the weights were trained with.
    place : TablePlace, optional
        Where the model's table is kept.
    """

    def __init__(
        self, weights: Weights | Callable[[], Weights], features: FeatureSet, place: TablePlace | None = None
    ) -> None:
        self._given = weights
        self.features = features
        self._place = place
        self._ids: dict[str, int] = {}
        self._rows: dict[int, np.ndarray] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # compiled tables and rows are made anew where they are used
        return type(self), (self.weights, self.features, self._place)

    @cached_property
    def weights(self) -> Weights:
        """The weights; labelling with a kept table never asks for them."""
        return self._given() if callable(self._given) else self._given

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in the order of their ids."""
        return self._kept.labels if self._kept is not None else self.weights.labels

    @property
    def tabled(self) -> bool:
        """Whether a table was found, which was made of whole weights."""
        return self._kept is not None

    @cached_property
    def _kept(self) -> MappedTable | None:
        return None if self._place is None else self._place.find()

    def decode(
        self, text: str, bias: float = 0.0, *, sure: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """Label a text.

        Parameters
        ----------
        text : str
        bias : float
            Taken off the score of the label O at every item.
        sure : bool
            Whether to compute the probabilities of the labels too.

        Returns
        -------
        labels : ndarray of int
            Label id of each item, shape (n_items,).
        starts, ends : ndarray of int64
            Where the items lie in the text.
        probabilities : ndarray of float64 or None
            Marginal probability of each item's label.
        """
        if sure or self._labeller is None:
            return self._decode_scores(text, bias, sure=sure)
        path, starts, ends = self._labeller.path(text, self._outside, bias)
        return np.frombuffer(path, np.uint8), np.frombuffer(starts, np.int64), np.frombuffer(ends, np.int64), None

    def marked(self, text: str, bias: float = 0.0) -> list[tuple[int, int, str]] | None:
        """Return start, end and category of what the best labels mark, but for white space.

        What `labels_to_spans` makes of them, in one compiled call; None where there is none.
        """
        if self._labeller is None:
            return None
        kinds, groups, names = self._kinds
        found = self._labeller.spans(text, self._outside, bias, kinds, groups)
        return [(start, end, names[group]) for start, end, group in found]

    def chances(self, text: str, places: Iterable[tuple[int, int]], bias: float = 0.0) -> list[float]:
        """Return how sure the best labels of some places are.

        Parameters
        ----------
        text : str
            Asked right after `marked` has read the same text, the compiled route does not read it again.
        places : iterable of (int, int)
            Start and end.
        bias : float
            As in `decode`.

        Returns
        -------
        list of float
            The least probability of the labels of each place's items; of one outside spans, that it is not
            (`deid.labeling.chances`).
        """
        places = list(places)
        if self._labeller is not None:
            found: list[float] | None = self._labeller.chances(text, self._outside, bias, places)
            if found is not None:
                return found
        emissions, starts, ends = self.scores(text, bias)
        transition = self.weights.transition
        firsts = np.searchsorted(ends, [start for start, _ in places], side="right").tolist()
        stops = np.searchsorted(starts, [end for _, end in places]).tolist()
        best = kernels.viterbi(emissions, transition)
        return chances(emissions, transition, best, zip(firsts, stops, strict=True), self._outside)

    @cached_property
    def _kinds(self) -> tuple[bytes, bytes, list[str]]:
        """What each label does to a span (1 opens, 2 continues, 4 closes), the number of its category, and these."""
        parts = [label.partition("-")[::2] for label in self.labels]
        names = sorted({name for _, name in parts})
        kinds = bytes(0 if kind == "O" else (1 if kind in "BS" else 2) | 4 * (kind in "ES") for kind, _ in parts)
        return kinds, bytes(names.index(name) for _, name in parts), names

    def _decode_scores(
        self, text: str, bias: float, *, sure: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        emissions, starts, ends = self.scores(text, bias)
        best = kernels.viterbi(emissions, self.weights.transition)
        if not sure:
            return best, starts, ends, None
        chance = kernels.marginals(emissions, self.weights.transition)
        return best, starts, ends, chance[np.arange(len(best)), best]

    def scores(self, text: str, bias: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the label scores of a text's items, float64 of shape (n_items, n_labels), their starts and ends."""
        exact = self._exact_labeller
        if exact is not None:
            found, starts, ends = exact.scores(text, self._outside, bias)
            shaped = np.frombuffer(found, np.float64).reshape(-1, len(self.labels))
            return shaped, np.frombuffer(starts, np.int64), np.frombuffer(ends, np.int64)
        encoded = self.features.encode(text)
        emissions = self.emissions(encoded)
        if self._outside >= 0:
            emissions[:, self._outside] -= bias
        return emissions, encoded.tokens.starts[encoded.items], encoded.tokens.ends[encoded.items]

    @cached_property
    def _outside(self) -> int:
        """Id of the label O, -1 when there is none."""
        labels = self.labels
        return labels.index("O") if "O" in labels else -1

    @cached_property
    def _labeller(self) -> Any:
        """The compiled route with rows of whole numbers; None where it cannot be had."""
        return self._compiled(exact=False)

    @cached_property
    def _exact_labeller(self) -> Any:
        """The same with rows in double precision, for probabilities."""
        return self._compiled(exact=True)

    def _compiled(self, *, exact: bool) -> Any:
        plan = self.features.compiled()
        if plan is None:
            return None
        if self._kept is not None:
            return self._thawed(plan, self._kept, exact=exact)
        made = self._made(plan, exact=exact)
        if exact or made is None or self._place is None:
            return made

        def frozen() -> tuple[tuple[str, ...], bytes]:
            made.path(" ".join(common_words(self.weights.attributes, plan)), -1, 0.0)
            return self.weights.labels, made.frozen()

        table = self._place.find(frozen)
        if table is None:
            return made
        self._kept = table
        if callable(self._given):
            del self.weights  # can be read again
        return self._thawed(plan, table, exact=False)

    def _made(self, plan: Mapping[str, Any], *, exact: bool) -> Any:
        weights = self.weights
        # of booleans, in one dimension: four times as fast
        rows, columns = np.divmod(np.flatnonzero(weights.state.ravel() != 0), len(weights.labels))
        begin = np.zeros(len(weights.attributes) + 1, dtype=np.int32)
        np.cumsum(np.bincount(rows, minlength=len(weights.attributes)), out=begin[1:])
        return kernels.labeller(
            **plan,
            labels=len(weights.labels),
            attributes=list(weights.attributes),
            begin=begin,
            label=columns.astype(np.int32),
            weight=np.ascontiguousarray(weights.state[rows, columns], dtype=np.float64),
            transition=np.ascontiguousarray(weights.transition, dtype=np.float64),
            prior=np.ascontiguousarray(weights.prior, dtype=np.float64),
            exact=exact,
            most_types=_COMPILED_TYPES,
            most_rows=_COMPILED_ROWS,
        )

    @staticmethod
    def _thawed(plan: Mapping[str, Any], table: MappedTable, *, exact: bool) -> Any:
        nothing = {"begin": b"", "label": b"", "weight": b"", "transition": b"", "prior": b""}
        return kernels.labeller(
            **{**plan, **nothing, "lists": ()},
            labels=len(table.labels),
            attributes=[],
            exact=exact,
            most_types=_COMPILED_TYPES,
            most_rows=_COMPILED_ROWS,
            table=table.block,
        )

    def _clear(self) -> None:
        # row 0 of each table is the edge of the document
        self._ids = {}
        self._rows = {o: np.empty((1024, len(self.labels))) for o in self.features.offsets}
        for offset, rows in self._rows.items():
            rows[0] = self._row(None, offset)

    def _row(self, token: str | None, offset: int) -> np.ndarray:
        known = self.weights.attributes
        ids = [known[a] for a in self.features.type_attributes(token, offset) if a in known]
        return self.weights.state[ids].sum(axis=0)

    def _type_ids(self, types: list[str]) -> np.ndarray:
        if not self._rows or len(self._ids) + len(types) > _CACHED_TYPES:
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
