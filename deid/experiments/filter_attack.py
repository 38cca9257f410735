"""What somebody without the key learns from keyed filters by counting and comparing them.

Equal values have equal filters, so the most frequent filters are those of the most frequent names of a public list, in
about the same order (Christen, Schnell, Vatsalan and Ranbaduge, "Efficient cryptanalysis of Bloom filters for
privacy-preserving record linkage", PAKDD 2017). Similar names have similar filters, which puts the order right: names
are assigned so that distances of filters follow those of names (Vidanage, Christen, Ranbaduge and Schnell, "A graph
matching attack on privacy-preserving record linkage", CIKM 2020), here by the fast approximate quadratic assignment of
Vogelstein et al. 2015. It needs neither the key nor how bits are chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.linkage.encodings import normalized, q_grams

_REACH = 0.2
"""A name is at first taken for one e^0.2 times as frequent with 1/e of the weight of an equally frequent one."""


_FIRST = 50


@dataclass(frozen=True)
class FilterAttack:
    """What an attack found; shares are of records."""

    filters: int
    """Distinct ones."""
    reidentified: float
    """Records whose name is guessed, and rightly."""
    by_chance: float
    """The same when every record is guessed to have the most frequent name."""


def attack_filters(
    filters: np.ndarray, public: Sequence[tuple[str, ...]], truth: Sequence[tuple[str, ...]], names: int = 200
) -> FilterAttack:
    """Guess the names behind the most frequent filters, without their key.

    Parameters
    ----------
    filters : ndarray of uint8, shape (records, bytes)
    public : sequence of tuples of str
        The encoded fields of other people, one a person: how frequent names are.
    truth : sequence of tuples of str, length records
        What is right; used to count only.
    names : int
        How many of the most frequent filters are attacked.
    """
    from scipy.optimize import quadratic_assignment

    seen, of_record, counts = np.unique(filters, axis=0, return_inverse=True, return_counts=True)
    known = Counter(tuple(map(normalized, values)) for values in public).most_common(names)
    top = np.argsort(-counts, kind="stable")[: len(known)]
    known = known[: len(top)]
    sides = [_distances(np.unpackbits(seen[top], axis=1)), _distances(_grams([values for values, _ in known]))]
    shares = np.log(counts[top] / len(filters)), np.log(np.array([n for _, n in known]) / len(public))
    found = np.zeros((0, 2), dtype=np.int64)
    for size in dict.fromkeys((min(_FIRST, len(known)), len(known))):  # the most frequent ones tell the next
        rest = np.arange(len(found), size)
        start = np.exp(-np.abs(shares[0][rest, None] - shares[1][rest]) / _REACH) + 1e-3
        for _ in range(5000):  # to rows and columns with sums of 1
            start /= start.sum(axis=1, keepdims=True)
            start /= start.sum(axis=0)
        how = {"maximize": True, "P0": start, "maxiter": 50, "partial_match": found}
        names_of = quadratic_assignment(*(side[:size, :size] for side in sides), options=how).col_ind
        found = np.stack([np.arange(size), names_of], axis=1)
    guess = dict(zip(top.tolist(), (known[name][0] for name in found[:, 1]), strict=True))
    right = [tuple(map(normalized, values)) for values in truth]
    hits = sum(guess.get(place) == values for place, values in zip(of_record.ravel().tolist(), right, strict=True))
    common = sum(values == known[0][0] for values in right)
    return FilterAttack(len(seen), hits / len(right), common / len(right))


def _grams(names: Sequence[tuple[str, ...]]) -> np.ndarray:
    """Return which pairs of letters, by field, each name has."""
    sets = [{(field, gram) for field, value in enumerate(values) for gram in q_grams(value, 2)} for values in names]
    every = sorted(set().union(*sets))
    return np.array([[gram in own for gram in every] for own in sets], dtype=np.uint8)


def _distances(rows: np.ndarray) -> np.ndarray:
    """Return minus the differing bits of all pairs of rows, in standard deviations from their mean; 0 on the diagonal.

    Unlike Dice's coefficient they keep their order when filters are folded, and when complements stand behind them.
    """
    bits = rows.astype(float)
    ones = bits.sum(axis=1)
    alike = 2 * bits @ bits.T - ones[:, None] - ones
    others = ~np.eye(len(rows), dtype=bool)
    if others.any():
        alike = (alike - alike[others].mean()) / max(alike[others].std(), 1e-9)
    return np.where(others, alike, 0)
