"""DiffPart: sets of items (diagnosis codes of a patient) with noisy counts, found top-down in a taxonomy.

Chen, Mohammed, Fung, Desai and Xiong, "Publishing set-valued data via differential privacy", 2011. All records begin in
one partition that is described by the taxonomy's root. A partition is divided by replacing one inner node of its
description by the nonempty sets of that node's children: each record falls into exactly one. A part goes on if its
noisy size passes a threshold, also when it is empty, so what is absent says nothing. Partitions described by items
alone are counted again and released.

Along a path each division spends an equal share of what is left over the divisions that may still come; parts are
disjoint, so paths do not add up. The taxonomy is context free: it only orders the search, and must not come from the
data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from deid.base.errors import ConfigError
from deid.dp.epsilon import split_epsilon
from deid.dp.noise import Noise
from deid.table.hierarchy import Hierarchy

_MAX_CHILDREN = 10  # 2**children - 1 parts are counted at a division
_SIZE_FACTOR = math.sqrt(2)  # thresholds in standard deviations of the noise: C1 = C2 = 1 of the paper
_ROOT = "*"


def balanced_taxonomy(items: Sequence[str], fanout: int = 4) -> Hierarchy:
    """Return a taxonomy over declared items that groups neighbours in their order, ``fanout`` at a time.

    Raises
    ------
    ConfigError
        When there are not two different items, one is repeated, or the fan-out is not from 2 to 10.
    """
    if len(items) < 2 or len(set(items)) < len(items) or not 2 <= fanout <= _MAX_CHILDREN:
        raise ConfigError("a taxonomy needs two different items and a fan-out of 2 to 10", "declare the items")
    parents: dict[str, str] = {}
    level, number = list(items), 0
    while len(level) > 1:
        groups = [level[start : start + fanout] for start in range(0, len(level), fanout)]
        names = [_ROOT] if len(groups) == 1 else [f"{_ROOT}{number + place}" for place in range(len(groups))]
        parents |= {node: name for name, group in zip(names, groups, strict=True) for node in group}
        level, number = names, number + len(groups)
    return Hierarchy("items", parents)


def _inner_nodes(taxonomy: Hierarchy, cut: Iterable[str]) -> int:
    """Return how many divisions may still come."""
    nodes = list(cut)
    count = 0
    while nodes:
        children = taxonomy.children(nodes.pop())
        count += bool(children)
        nodes += children
    return count


def diffpart(
    records: Sequence[frozenset[str]], taxonomy: Hierarchy, epsilon: float, noise: Noise, *, distance: int = 1
) -> dict[frozenset[str], int]:
    """Release sets of items with noisy counts.

    Parameters
    ----------
    records : sequence of frozenset of str
        The items of each record. Items outside the taxonomy are left out, and so are records without items.
    taxonomy : Hierarchy
        Over the declared items.
    epsilon : float
        Cost.
    noise : Noise
        Source of noise.
    distance : int
        Records between neighbours.

    Returns
    -------
    dict of frozenset of str to int
        Sets that passed, with their noisy counts.

    Raises
    ------
    ConfigError
        When a node of the taxonomy has more than 10 children.
    """
    if max(len(taxonomy.children(node)) for node in taxonomy) > _MAX_CHILDREN:
        raise ConfigError("a node of the taxonomy has more than 10 children", "put a level in between")
    dividing, counting = split_epsilon(epsilon, (1.0, 1.0))
    leaves = set(taxonomy.leaves())
    known = [items for items in (record & leaves for record in records) if items]
    above = {item: frozenset(taxonomy.chain(item)) for item in leaves}
    covered = [frozenset().union(*(above[item] for item in items)) for items in known]  # all nodes of a record
    result: dict[frozenset[str], int] = {}
    stack = [(frozenset([taxonomy.root]), covered, dividing)]
    while stack:
        cut, members, left = stack.pop()
        inner = sorted(node for node in cut if taxonomy.children(node))
        if not inner:
            spent = _sum_down(counting, left)
            count = int(noise.discrete_laplace(np.array([len(members)]), distance, spent)[0])
            if count >= _SIZE_FACTOR * distance / spent:
                result[cut] = count
            continue
        node = inner[0]
        divisions = _inner_nodes(taxonomy, cut)
        share = left if divisions == 1 else split_epsilon(left, (1.0, divisions - 1.0))[0]
        children = taxonomy.children(node)
        kinds = [
            frozenset(kind) for size in range(1, len(children) + 1) for kind in itertools.combinations(children, size)
        ]
        parts: dict[frozenset[str], list[frozenset[str]]] = {kind: [] for kind in kinds}
        for member in members:
            parts[member & frozenset(children)].append(member)
        sizes = noise.discrete_laplace(np.array([len(parts[kind]) for kind in kinds]), distance, share)
        rest = 0.0 if divisions == 1 else split_epsilon(left, (1.0, divisions - 1.0))[1]
        for kind, size in zip(kinds, sizes.tolist(), strict=True):
            if size >= _SIZE_FACTOR * distance / share:
                stack.append(((cut - {node}) | kind, parts[kind], rest))
    return result


def _sum_down(first: float, second: float) -> float:
    """Add what is left of the divisions to what counts, rounded down."""
    return math.nextafter(first + second, 0.0) if second else first
