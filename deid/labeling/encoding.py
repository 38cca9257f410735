"""Annotated documents as integer arrays: what every learner is trained on.

Attributes are expanded once per distinct token and offset, then gathered for all items at once, so that a corpus is
encoded in a third of the time that a dictionary per token takes.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from deid.document import Document
from deid.features import FeatureSet


@dataclass(frozen=True)
class LabelledSequences:
    """Items (tokens that are labelled), their attributes and labels, document by document."""

    attributes: list[str] = field(repr=False)
    """Names of the attributes by id."""
    lexical: np.ndarray = field(repr=False)
    """Whether an attribute spells a word or a part of one; bool of shape (n_attributes,)."""
    documents: np.ndarray = field(repr=False)
    """In how many documents, or groups of them, an attribute was seen; int64 of shape (n_attributes,)."""
    begin: np.ndarray = field(repr=False)
    """Where each item's attributes begin; int64 of shape (n_items + 1,)."""
    ids: np.ndarray = field(repr=False)
    """Attribute ids, int32 of shape (begin[-1],)."""
    values: np.ndarray = field(repr=False)
    """Their values, float32 of the same shape; 1 but for real-valued features."""
    bounds: np.ndarray = field(repr=False)
    """First item of each sequence and the number of items; int64 of shape (n_sequences + 1,)."""

    def take(self, items: np.ndarray, bounds: np.ndarray, attributes: np.ndarray) -> LabelledSequences:
        """Return the chosen items with the chosen attributes, renumbered.

        Parameters
        ----------
        items : ndarray of int64
            Increasing.
        bounds : ndarray of int64
            Bounds of the sequences among the chosen items.
        attributes : ndarray of bool, shape (n_attributes,)
        """
        number = np.where(attributes, np.cumsum(attributes) - 1, -1).astype(np.int32)
        cells = _ranges(self.begin[items], self.begin[items + 1])
        ids = number[self.ids[cells]]
        kept = ids >= 0
        sizes = _begins(self.begin[items + 1] - self.begin[items])
        return LabelledSequences(
            [name for name, wanted in zip(self.attributes, attributes.tolist(), strict=True) if wanted],
            self.lexical[attributes],
            self.documents[attributes],
            _begins(kept)[sizes],
            ids[kept],
            self.values[cells][kept],
            bounds,
        )

    def rows(self) -> Iterator[list[dict[str, float]]]:
        """Yield the attributes and values of each sequence's items as dictionaries, as CRFsuite takes them."""
        for first, stop in itertools.pairwise(self.bounds.tolist()):
            begins = self.begin[first : stop + 1].tolist()
            low, high = begins[0], begins[-1]
            names = [self.attributes[i] for i in self.ids[low:high].tolist()]
            values = self.values[low:high].tolist()
            yield [
                dict(zip(names[a - low : b - low], values[a - low : b - low], strict=True))
                for a, b in itertools.pairwise(begins)
            ]


def _ranges(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Concatenate the ranges starts[i]..stops[i]."""
    sizes = stops - starts
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - sizes), sizes)


def _begins(sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.asarray(sizes, dtype=np.int64))])


def encode_corpus(
    documents: Sequence[Document], features: FeatureSet, groups: Sequence[str] | None = None
) -> tuple[LabelledSequences, list[tuple[np.ndarray, np.ndarray]]]:
    """Encode documents; one sequence each.

    Parameters
    ----------
    documents : sequence of Document
    features : FeatureSet
    groups : sequence of str, optional
        Whose each document is: what several documents of one have was seen once. By default copies of a text are one.

    Returns
    -------
    sequences : LabelledSequences
    borders : list of (starts, ends)
        Character offsets of each document's items.
    """
    numbers: dict[str, int] = {}
    types: dict[str | None, int] = {None: 0}  # type 0 is beyond the edge of a document
    columns: dict[int, list[np.ndarray]] = {offset: [] for offset in features.offsets}
    sizes, ids, values = array("q"), array("i"), array("f")
    borders = []
    for document in documents:
        encoded = features.encode(document.text)
        mine = np.array([types.setdefault(t, len(types)) for t in (*encoded.types, None)], dtype=np.int64)
        for offset, column in encoded.neighbours.items():
            columns[offset].append(mine[column])  # -1, beyond the edge, finds the last
        for row in encoded.position:
            sizes.append(len(row))
            for name, value in row:
                ids.append(numbers.setdefault(name, len(numbers)))
                values.append(value)
        borders.append((encoded.tokens.starts[encoded.items], encoded.tokens.ends[encoded.items]))
    bounds = _begins([len(starts) for starts, _ in borders])
    lexical = {number for name, number in numbers.items() if features.spells(name)}
    parts = [(np.array(sizes, dtype=np.int64), np.array(ids, dtype=np.int32), np.array(values, dtype=np.float32))]
    for offset, pieces in columns.items():
        column = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
        begin, table = _table(list(types), column, features, offset, numbers, lexical)
        found = table[_ranges(begin[column], begin[column + 1])]
        parts.append((begin[column + 1] - begin[column], found, np.ones(len(found), dtype=np.float32)))
    spells = np.zeros(len(numbers), dtype=bool)
    spells[list(lexical)] = True
    begin, all_ids, all_values = _interleave(parts)
    seen = _seen(begin, all_ids, bounds, len(numbers), groups or [document.text for document in documents])
    return LabelledSequences(list(numbers), spells, seen, begin, all_ids, all_values, bounds), borders


def _table(
    types: Sequence[str | None],
    column: np.ndarray,
    features: FeatureSet,
    offset: int,
    numbers: dict[str, int],
    lexical: set[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Number the attributes of the types that stand in a column; return where each type's begin, and their ids."""
    stands = np.zeros(len(types), dtype=bool)
    stands[column] = True
    sizes, ids = array("q"), array("i")
    for token, wanted in zip(types, stands.tolist(), strict=True):
        first = len(ids)
        for name, spells in features.spelled_attributes(token, offset) if wanted else ():
            number = numbers.setdefault(name, len(numbers))
            ids.append(number)
            if spells:
                lexical.add(number)
        sizes.append(len(ids) - first)
    return _begins(sizes), np.array(ids, dtype=np.int32)


def _interleave(parts: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge arrays of (attributes per item, ids, values), each ordered by item, into one ordered by item."""
    begin = _begins(np.sum([sizes for sizes, _, _ in parts], axis=0))
    ids, values = np.empty(begin[-1], dtype=np.int32), np.empty(begin[-1], dtype=np.float32)
    free = begin[:-1].copy()
    for sizes, part_ids, part_values in parts:
        cells = _ranges(free, free + sizes)
        ids[cells], values[cells] = part_ids, part_values
        free += sizes
    return begin, ids, values


def _seen(begin: np.ndarray, ids: np.ndarray, bounds: np.ndarray, size: int, groups: Sequence[str]) -> np.ndarray:
    """Count in how many groups of sequences each attribute stands."""
    pieces: dict[str, list[np.ndarray]] = {}
    for group, (first, stop) in zip(groups, itertools.pairwise(begin[bounds].tolist()), strict=True):
        pieces.setdefault(group, []).append(ids[first:stop])
    counts = np.zeros(size, dtype=np.int64)
    for own in pieces.values():
        counts[np.unique(np.concatenate(own))] += 1
    return counts
