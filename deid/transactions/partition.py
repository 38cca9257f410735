"""Complete k-anonymity by greedy partition from the top (He and Naughton, VLDB 2009).

Attacker: knows everything of a person's codes, also that there are no others. Every distinct published record occurs at
least k times. Recoding is local: one code may be published at several levels.
"""

from __future__ import annotations

from deid.transactions.suppression import require_records
from deid.transactions.transactions import Transactions, from_rows
from deid.transactions.tree import CodeTree

Group = tuple[list[int], frozenset[int]]
"""Records, and the nodes that all of them are published as."""


def partition_records(data: Transactions, tree: CodeTree, k: int) -> list[Group]:
    """Group the records.

    Parameters
    ----------
    data, tree
        The records, and the tree over their items.
    k : int
        Least number of records of a group.

    Returns
    -------
    list of (records, nodes)
        Records of a group are published as the same nodes. Records without codes are a group of their own; when they
        are fewer than k, others lose all their codes to join them.
    """
    require_records(data, k)
    splitter = _Splitter(data, tree, k)
    full = [record for record, row in enumerate(data.sets) if row]
    empty = [record for record, row in enumerate(data.sets) if not row]
    done: list[Group] = []
    stack: list[Group] = []
    if 0 < len(full) < k:
        empty, full = sorted(empty + full), []
    if full:
        stack.append((full, frozenset({tree.root})))
    while stack:
        records, cut = stack.pop()
        parts = splitter.split(records, cut)
        if parts is None:
            done.append((records, cut))
        else:
            done.extend(parts[1])
            stack.extend(parts[0])
    if 0 < len(empty) < k:
        empty = _fill(empty, done, k)
    if empty:
        done.append((empty, frozenset()))
    return sorted(done, key=lambda group: group[0][0])


def _fill(empty: list[int], groups: list[Group], k: int) -> list[int]:
    """Take records of the groups that lose least, whole groups where no record can be spared."""
    groups.sort(key=lambda group: (len(group[0]) < 2 * k - len(empty), len(group[0]), group[0][0]))
    records, cut = groups.pop(0)
    needed = k - len(empty)
    if len(records) - needed >= k:
        groups.append((records[needed:], cut))
        records = records[:needed]
    return sorted(empty + records)


class _Splitter:
    """Splits groups of records by the branches of one node."""

    def __init__(self, data: Transactions, tree: CodeTree, k: int) -> None:
        self.k = k
        self.size = [len(leaves) for leaves in tree.leaves]
        self.children = [frozenset(below) for below in tree.children()]
        chains = [frozenset(tree.chain(item)) for item in range(len(data.labels))]
        self.touched = [frozenset().union(*(chains[item] for item in row)) for row in data.sets]

    def split(self, records: list[int], cut: frozenset[int]) -> tuple[list[Group], list[Group]] | None:
        """Return parts to go on with and parts that are done, or None when no node of the cut can be expanded."""
        choices = []
        for node in sorted(cut):
            if self.children[node]:
                keys = [self.touched[record] & self.children[node] for record in records]
                after = sum(self.size[child] for key in keys for child in key)
                choices.append((after - self.size[node] * len(records), node, keys))
        for _, node, keys in sorted(choices, key=lambda choice: choice[:2]):
            found = self._parts(records, cut, node, keys)
            if found is not None:
                return found
        return None

    def _parts(
        self, records: list[int], cut: frozenset[int], node: int, keys: list[frozenset[int]]
    ) -> tuple[list[Group], list[Group]] | None:
        parts: dict[frozenset[int], list[int]] = {}
        for record, key in zip(records, keys, strict=True):
            parts.setdefault(key, []).append(record)
        leftover = [record for part in parts.values() if len(part) < self.k for record in part]
        large = {key: part for key, part in parts.items() if len(part) >= self.k}
        # the records that gain least by the split go back first
        order = sorted(large, key=lambda key: (-sum(self.size[child] for child in key), sorted(key)))
        for key in order:
            while 0 < len(leftover) < self.k and len(large[key]) > self.k:
                leftover.append(large[key].pop())
        for key in order:
            if 0 < len(leftover) < self.k:
                leftover += large.pop(key)
        if not large:
            return None
        rest = cut - {node}
        return [(part, rest | key) for key, part in large.items()], [(sorted(leftover), cut)] if leftover else []


def publish_groups(data: Transactions, tree: CodeTree, groups: list[Group]) -> Transactions:
    """Return the records as their groups' nodes.

    Parameters
    ----------
    data, tree
        The records, and the tree over their items.
    groups : list of (list of int, frozenset of int)
        Records of each group, and the nodes that all of them are published as; records in none become empty.
    """
    nodes = sorted({node for _, cut in groups for node in cut}, key=lambda node: (tree.leaves[node], tree.labels[node]))
    rows: list[list[str]] = [[] for _ in range(len(data))]
    for records, cut in groups:
        labels = [tree.labels[node] for node in cut]
        for record in records:
            rows[record] = labels
    members = dict(zip((tree.labels[node] for node in nodes), tree.members(data, nodes), strict=True))
    for node in nodes:  # an inner value that records hold themselves stands for all below it
        label = tree.labels[node]
        members[label] |= tree.members(data, [node])[0]
    return from_rows(list(members), rows, list(members.values()))
