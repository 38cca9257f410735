"""DNALA: sequences released in pairs, each replaced by the join of the two in the IUPAC lattice.

Malin, Protecting DNA sequence anonymity with generalization lattices (2005): only columns where sequences differ
(single-nucleotide variable regions) count; sequences are paired so that the join loses least. Every released sequence
occurs at least twice. Instead of the paper's greedy pairing, the default is a matching of least total distance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from deid.base.errors import InputError, require
from deid.genomes.lattice import DISTANCES, GAP, JOINS, LEVELS, N
from deid.genomes.sequences import Sequences

EXACT_LIMIT = 500
"""Number of sequences up to which the exact matching is the default."""
_MATCHINGS = ("exact", "greedy")


@dataclass(frozen=True, eq=False)
class GeneralizedSequences:
    """Released sequences."""

    sequences: Sequences
    """In the order of their symbols, which says nothing of that of the originals; columns that were gaps in all of them
    are dropped."""
    order: list[int] = field(repr=False)
    """Place of the original of each released sequence: not for publication."""
    groups: tuple[tuple[int, ...], ...] = field(repr=False)
    """Places of the originals that were joined, pairs and at most one group of three."""
    cost: int
    """Sum over all sequences and columns of ``level(published) - level(original)``: a pair counts its distance."""
    variable: int
    """Number of variable columns."""
    matching: str


def variable_sites(codes: np.ndarray) -> np.ndarray:
    """Return the columns, ascending, with at least two symbols; ``codes`` has shape (sequences, sites)."""
    return np.flatnonzero((codes != codes[0]).any(axis=0))


def distances(codes: np.ndarray) -> np.ndarray:
    """Return the distances between all pairs of sequences, int64 of shape (sequences, sequences)."""
    count = len(codes)
    found = np.zeros((count, count), dtype=np.int64)
    for i in range(count - 1):
        found[i, i + 1 :] = DISTANCES[codes[i][None, :], codes[i + 1 :]].sum(axis=1)
    return found + found.T


def generalize_sequences(sequences: Sequences, *, matching: str | None = None) -> GeneralizedSequences:
    """Release sequences so that each occurs at least twice; the order in which they are given changes nothing.

    Parameters
    ----------
    sequences : Sequences
        At least two, aligned.
    matching : {'exact', 'greedy'}, optional
        ``greedy`` takes each sequence, in the order of their symbols, with the nearest that is left; by default
        ``exact`` up to `EXACT_LIMIT` sequences.

    Returns
    -------
    GeneralizedSequences
        The released sequences, with the groups and the loss.

    Raises
    ------
    InputError
        When there are fewer than two sequences.
    ConfigError
        When there is no such matching.
    """
    count = len(sequences)
    require(count >= 2, "fewer than two sequences", "one sequence cannot hide among others", kind=InputError)
    matching = matching or ("exact" if count <= EXACT_LIMIT else "greedy")
    require(matching in _MATCHINGS, f"there is no matching {matching!r}", f"one of: {', '.join(_MATCHINGS)}")
    sites = variable_sites(sequences.codes)
    given = sequences.order()
    between = distances(sequences.codes[given][:, sites])
    pairs = _exact(between) if matching == "exact" else _greedy(between)
    groups = tuple(sorted(tuple(sorted(given[member] for member in group)) for group in _with_rest(pairs, between)))
    released = sequences.codes.copy()
    cost = 0
    for group in groups:
        join = sequences.codes[group[0]]
        for member in group[1:]:
            join = JOINS[join, sequences.codes[member]]
        for member in group:
            cost += int(LEVELS[join].sum()) - int(LEVELS[sequences.codes[member]].sum())
            released[member] = join
    kept = ~(released == GAP).all(axis=0)
    joined = Sequences(sequences.names, released[:, kept])
    order = joined.order()
    return GeneralizedSequences(joined.at(order), order, groups, cost, len(sites), matching)


def _exact(between: np.ndarray) -> list[tuple[int, int]]:
    """Return the matching of least total distance; of an odd number one sequence is left."""
    import rustworkx

    count = len(between)
    graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(count))
    top = int(between.max()) + 1
    rows, columns = np.triu_indices(count, 1)
    weights = (top - between[rows, columns]).tolist()
    graph.add_edges_from(list(zip(rows.tolist(), columns.tolist(), weights, strict=True)))
    found = rustworkx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    return sorted((min(a, b), max(a, b)) for a, b in found)


def _greedy(between: np.ndarray) -> list[tuple[int, int]]:
    left = list(range(len(between)))
    pairs = []
    while len(left) > 1:
        first = left.pop(0)
        nearest = min(left, key=lambda other: (between[first, other], other))
        left.remove(nearest)
        pairs.append((first, nearest))
    return pairs


def _with_rest(pairs: Sequence[tuple[int, int]], between: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Add the sequence that an odd number leaves to the nearest pair."""
    groups: list[tuple[int, ...]] = list(pairs)
    rest = set(range(len(between))).difference(*pairs)
    for single in rest:
        place = min(range(len(groups)), key=lambda g: (sum(int(between[single, m]) for m in groups[g]), g))
        groups[place] = tuple(sorted((*groups[place], single)))
    return tuple(groups)


def check_release(released: Sequences, originals: Sequences | None = None) -> tuple[bool, int, int | None]:
    """Verify a release on its own: every sequence occurs at least twice; with the originals, covers them.

    Returns
    -------
    bool
        Whether it holds.
    int
        How often the rarest sequence occurs.
    int or None
        Place of a sequence that is too rare or does not cover its original.
    """
    rows = [row.tobytes() for row in released.codes]
    counts = Counter(rows)
    level = min(counts.values())
    witness = next((i for i, row in enumerate(rows) if counts[row] < 2), None)
    if witness is None and originals is not None:
        kept = originals.codes
        if kept.shape[1] != released.codes.shape[1]:
            kept = kept[:, ~(kept == GAP).all(axis=0)]
        wrong = (JOINS[kept, released.codes] != released.codes) & (released.codes != N)
        witness = int(np.flatnonzero(wrong.any(axis=1))[0]) if wrong.any() else None
    return witness is None, level, witness
