"""k^m-anonymity by generalization (Terrovitis, Mamoulis and Kalnis, VLDB 2008; VLDB Journal 2010).

Attacker: knows up to m codes of a person. Every set of up to m published items that occurs does so in at least k
records. `apriori_cut` recodes whole subtrees everywhere; the variants recode parts of the records (`local_recoding`) or
begin with parts of the codes (`vertical_cut`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from deid.base.arrays import IndexArray, IntArray
from deid.base.errors import ConfigError, require
from deid.transactions.measures import certainty_penalty
from deid.transactions.suppression import require_coded_records, require_records
from deid.transactions.transactions import Transactions, common, from_rows, generalize
from deid.transactions.tree import CodeTree

MOST_SETS = 100_000_000
"""Sets of m codes, counted with repetition, above which the search is refused."""


def apriori_cut(
    data: Transactions, tree: CodeTree, k: int, m: int, *, start: IntArray | None = None, below: int | None = None
) -> IntArray:
    """Find a cut of the tree that makes the records k^m-anonymous.

    Level by level: sets of j items that are rare on the present cut are generalized by the ancestors that cost least
    certainty and make them frequent, whole subtrees at a time. Supports of lower levels only grow by that.

    Parameters
    ----------
    data : Transactions
        The records.
    tree : CodeTree
        Tree over their items.
    k, m : int
        Every set of up to m codes that occurs does so in at least k records.
    start : int64 array, shape (items,), optional
        IntArray to begin with; the items themselves by default.
    below : int, optional
        Generalize no higher than to this node; sets that would need it stay rare.

    Returns
    -------
    int64 array, shape (items,)
        Node that each item is published as.

    Raises
    ------
    InputError
        When there are fewer than k records, or fewer hold codes at all.
    ConfigError
        When k or m is below 1, or the records are too long for m.
    """
    require_records(data, k)
    require(m >= 1 and k >= 1, "k and m are at least 1", "for example k = 5, m = 2")
    if below is None:
        require_coded_records(data, k)
    if sum(math.comb(int(n), min(m, int(n) // 2)) for n in data.lengths.tolist()) > MOST_SETS:
        raise ConfigError(f"the records hold more than {MOST_SETS:,} sets of {m} codes", "choose a smaller m")
    cut = np.arange(len(data.labels)) if start is None else start.copy()
    nodes = _Nodes(data, tree)
    top = tree.root if below is None else below
    for size in range(1, min(m, int(data.lengths.max(initial=0))) + 1):
        given_up: set[tuple[int, ...]] = set()
        while True:
            used, published = _recode(data, cut)
            rare = [tuple(int(used[i]) for i in items) for items in _rare_sets(published, size, k)]
            rare = [items for items in rare if items not in given_up]
            if not rare:
                break
            for items in rare:
                if any(cut[tree.leaves[node][0]] != node for node in items):
                    continue  # generalized meanwhile
                chosen = nodes.cheapest(items, cut, k, top)
                if chosen is None:
                    given_up.add(items)
                else:
                    for node in chosen:
                        cut[nodes.leaves[node]] = node
    return cut


def _recode(data: Transactions, cut: IntArray) -> tuple[IntArray, Transactions]:
    """Return the nodes of a cut that are there, and the records over them."""
    used, image = np.unique(cut, return_inverse=True)
    return used, generalize(data, image, [str(i) for i in range(len(used))], ())


def _rare_sets(published: Transactions, size: int, k: int) -> Iterator[tuple[int, ...]]:
    """Yield the sets of a size that fewer than k records hold, but some; all smaller sets are frequent."""
    supports = published.supports
    if size == 1:
        yield from ((int(item),) for item in np.flatnonzero((supports > 0) & (supports < k)))
        return
    for item, records in enumerate(published.records_with()):
        if not len(records):
            continue
        part = published.take(records)
        later = part.items > item
        if size == 2:
            counts = np.bincount(part.items[later], minlength=len(supports))
            yield from ((item, int(other)) for other in np.flatnonzero((counts > 0) & (counts < k)))
            continue
        yield from ((item, *others) for others in _rare_sets(part.keep(later), size - 1, k))


class _Nodes:
    """Supports and costs of the nodes of a tree."""

    def __init__(self, data: Transactions, tree: CodeTree) -> None:
        self.tree = tree
        self.data = data
        self.leaves = tree.leaf_arrays
        self.size = tree.sizes
        self.held: dict[int, int] = {}
        self.chains: dict[int, list[int]] = {}
        self.under: dict[int, frozenset[int]] = {}

    def bits(self, node: int) -> int:
        if node not in self.held:
            self.held[node] = self.data.any_bits(self.tree.leaves[node])
        return self.held[node]

    def _cost(self, node: int, cut: IntArray) -> int:
        """Return by how much the certainty penalty grows, in codes times occurrences."""
        items = self.leaves[node]
        occurrences = self.data.supports[items]
        return int(occurrences.sum() * self.size[node] - (occurrences * self.size[cut[items]]).sum())

    def cheapest(self, items: tuple[int, ...], cut: IntArray, k: int, top: int) -> list[int] | None:
        """Return the nodes that items are best generalized to, so that k records hold them."""
        chains = []
        for item in items:
            chain = self.chains.setdefault(item, self.tree.chain(item))
            chains.append(chain[: chain.index(top) + 1] if top in chain else [item])
        cost = {node: self._cost(node, cut) for chain in chains for node in chain}
        best: tuple[int, list[int]] | None = None
        for nodes in set(itertools.product(*chains)):
            # of nodes above each other the higher one says all
            apart = [a for a in set(nodes) if not any(a != b and a in self._below(b) for b in nodes)]
            apart.sort()
            total = sum(cost[node] for node in apart)
            if best is not None and (total, apart) >= best:
                continue
            if common(map(self.bits, apart), self.data.all_bits).bit_count() >= k:
                best = (total, apart)
        return None if best is None else best[1]

    def _below(self, node: int) -> frozenset[int]:
        """Return the nodes that lie under one, itself included."""
        if node not in self.under:
            self.under[node] = frozenset(other for item in self.tree.leaves[node] for other in self._up_to(item, node))
        return self.under[node]

    def _up_to(self, item: int, node: int) -> list[int]:
        chain = self.chains.setdefault(item, self.tree.chain(item))
        return chain[: chain.index(node) + 1]


def vertical_cut(data: Transactions, tree: CodeTree, k: int, m: int) -> IntArray:
    """Find a cut part by part (VPA): first within each branch below the top, then over all codes together.

    Parameters, returned value and errors are those of `apriori_cut`.
    """
    require_records(data, k)
    cut = np.arange(len(data.labels))
    for branch in tree.children()[tree.top]:
        part = data.keep(np.isin(data.items, tree.leaves[branch]))
        cut = apriori_cut(part, tree, k, m, start=cut, below=branch)
    return apriori_cut(data, tree, k, m, start=cut)


def gray_order(data: Transactions, tree: CodeTree) -> IndexArray:
    """Return the record numbers in the order of the Gray code of their nodes, so that neighbours are alike.

    The rank of a Gray code has the running parity of its bits. Nodes with more codes below come first, then frequent
    ones: records of the same branches are neighbours even where their codes differ.
    """
    chains = [np.array(tree.chain(item)[:-1]) for item in range(len(data.labels))]
    held_by = np.array([sum(int(data.supports[i]) for i in leaves) for leaves in tree.leaves])
    order = sorted(range(tree.root), key=lambda node: (-len(tree.leaves[node]), -held_by[node], node))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    keys = []
    for row in data:
        held = np.zeros(len(order), dtype=bool)
        for item in row.tolist():
            held[place[chains[item]]] = True
        keys.append(np.packbits(np.logical_xor.accumulate(held)).tobytes())
    return np.array(sorted(range(len(data)), key=keys.__getitem__), dtype=np.intp)


def local_recoding(data: Transactions, tree: CodeTree, k: int, m: int, *, chunk: int | None = None) -> Transactions:
    """Recode chunks of similar records apart (LRA); the same code may be published at several levels.

    Every chunk is k^m-anonymous by itself, therefore all are together.

    Parameters
    ----------
    data, tree, k, m
        As those of `apriori_cut`.
    chunk : int, optional
        Records of a chunk, at least; chunks hold at least k records with codes. Without it 4 k, 40 k and all records
        are tried, and what loses least certainty is kept.

    Returns
    -------
    Transactions
        The published records.

    Raises
    ------
    InputError, ConfigError
        See `apriori_cut`.
    """
    require_records(data, k)
    order = [int(record) for record in gray_order(data, tree) if data.lengths[record]]
    if not order:
        return data
    sizes = [4 * k, 40 * k, len(order)] if chunk is None else [chunk]
    found = [_recode_chunks(data, tree, k, m, order, max(size, k)) for size in sizes if size <= len(order)]
    if not found:
        found = [_recode_chunks(data, tree, k, m, order, len(order))]
    return min(found, key=lambda release: certainty_penalty(data, release))


def _recode_chunks(data: Transactions, tree: CodeTree, k: int, m: int, order: list[int], size: int) -> Transactions:
    starts = list(range(0, max(len(order) - size, 0) + 1, size))
    ends = [*starts[1:], len(order)]
    return recode_apart(data, tree, k, m, [order[a:b] for a, b in zip(starts, ends, strict=True)])


def recode_apart(data: Transactions, tree: CodeTree, k: int, m: int, parts: Iterable[Sequence[int]]) -> Transactions:
    """Publish parts of the records, each k^m-anonymous by itself; records in no part are published empty."""
    rows: list[tuple[str, ...]] = [()] * len(data)
    members: dict[str, frozenset[str]] = {}
    for records in parts:
        part = data.take(records)
        found = tree.publish(part, apriori_cut(part, tree, k, m))
        for label, codes in zip(found.labels, found.members, strict=True):
            members[label] = members.get(label, frozenset()) | codes
        for record, labels in zip(records, found.texts(), strict=True):
            rows[record] = labels
    names = sorted(members)
    return from_rows(names, rows, [members[name] for name in names])
