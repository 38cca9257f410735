"""PS-rules and RBAT: rule-based anonymization (Loukides, Gkoulalas-Divanis and Shao, DEXA 2010).

Attacker: knows the public codes of a rule ``I -> J`` and infers its sensitive codes. Afterwards what stands for I
occurs in at least k records, at most a share c of which hold all of J. Sensitive codes stay as they are; public ones
are generalized to sets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deid.base.errors import ConfigError
from deid.transactions.measures import Weight, log2_of_subsets
from deid.transactions.suppression import require_records
from deid.transactions.transactions import Transactions, common, generalize, set_label

Rule = tuple[frozenset[str], frozenset[str]]
"""Public codes, and the sensitive ones that they must not tell; none of the latter: identity alone."""

_PAIRS = 400
"""Public items above which the seeds of a split are found in two passes instead of among all pairs."""


def rbat(data: Transactions, rules: Sequence[Rule], k: int, c: float, *, weight: Weight | None = None) -> Transactions:
    """Start with all public codes as one item and split it while all rules stay protected.

    Parameters
    ----------
    data : Transactions
        The records.
    rules : sequence of (frozenset, frozenset)
        The rules; codes that are sensitive in one may not be public in another.
    k : int
        Least number of records of a rule's public codes.
    c : float
        Greatest confidence of a rule.
    weight : callable, optional
        Semantic distance of a set of codes; 1 by default.

    Returns
    -------
    Transactions
        The published records; sensitive codes stay as they are.

    Raises
    ------
    ConfigError
        When a code is on both sides, or a rule cannot be met even by one item; names the rule by its number.
    InputError
        When there are fewer than k records.
    """
    require_records(data, k)
    hidden = frozenset().union(*(right for _, right in rules))
    for number, (left, _) in enumerate(rules, 1):
        if left & hidden:
            raise ConfigError(f"rule {number} has a public code that is sensitive in a rule", "give each code one side")
    place = {code: item for code, item in data.place.items() if data.supports[item]}
    goals = []
    for left, right in rules:
        there = right and all(code in place for code in right)
        held = common((data.bits[place[code]] for code in right), data.all_bits) if there else 0
        goals.append((tuple(place[code] for code in sorted(left) if code in place), held))
    public = tuple(sorted(item for code, item in place.items() if code not in hidden))
    image = dict.fromkeys(public, 0)
    bits = {0: data.any_bits(public)}
    broken = _broken(goals, image, bits, data.all_bits, k, c)
    if broken is not None:
        raise ConfigError(
            f"rule {broken + 1} of {len(rules)} cannot be met: all public codes as one item do not protect it",
            "ask for a smaller k or a greater c, or leave the rule's sensitive codes out",
        )
    touching: dict[int, list[int]] = {}
    for number, (items, _) in enumerate(goals):
        for item in items:
            touching.setdefault(item, []).append(number)
    queue, final = [public], list[tuple[int, ...]]()
    while queue:
        items = queue.pop(0)
        if len(items) < 2:
            final += [items] if items else []
            continue
        one, two = _split(data, items, weight)
        old = image[items[0]]
        new = max(bits) + 1
        kept = bits[old]
        image.update(dict.fromkeys(two, new))
        bits[old], bits[new] = data.any_bits(one), data.any_bits(two)
        concerned = sorted({number for item in items for number in touching.get(item, ())})
        if _broken([goals[n] for n in concerned], image, bits, data.all_bits, k, c) is None:
            queue += [one, two]
        else:
            image.update(dict.fromkeys(two, old))
            bits[old] = kept
            del bits[new]
            final.append(items)
    return _publish(data, final, public)


def _broken(
    goals: Sequence[tuple[tuple[int, ...], int]],
    image: dict[int, int],
    bits: dict[int, int],
    whole: int,
    k: int,
    c: float,
) -> int | None:
    """Return the place of a rule that is not protected."""
    for place, (items, goal) in enumerate(goals):
        held = common((bits[group] for group in {image[item] for item in items}), whole)
        count = held.bit_count()
        if items and count and (count < k or (held & goal).bit_count() > c * count + 1e-9):
            return place
    return None


def _split(
    data: Transactions, items: tuple[int, ...], weight: Weight | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split items by the two that lose most together; the others go where they lose less."""

    def loss(members: Sequence[int], bits: int) -> float:
        log = log2_of_subsets(len(members))
        if weight is not None:
            log += math.log2(max(weight(frozenset(data.labels[i] for i in members)), 1e-9))
        return log + math.log2(bits.bit_count() or 1)

    def pair(a: int, b: int) -> tuple[float, int, int]:
        return loss((a, b), data.bits[a] | data.bits[b]), -a, -b

    if len(items) <= _PAIRS:
        best = max(pair(a, b) for i, a in enumerate(items) for b in items[i + 1 :])
    else:
        first = max(items, key=lambda item: (int(data.supports[item]), -item))
        best = max(pair(first, other) for other in items if other != first)
    sides = ([-best[1]], [-best[2]])
    bits = [data.bits[-best[1]], data.bits[-best[2]]]
    for item in items:
        if item not in (sides[0][0], sides[1][0]):
            costs = [loss([*side, item], held | data.bits[item]) for side, held in zip(sides, bits, strict=True)]
            to = int(costs[1] < costs[0])
            sides[to].append(item)
            bits[to] |= data.bits[item]
    return tuple(sorted(sides[0])), tuple(sorted(sides[1]))


def _publish(data: Transactions, groups: Sequence[tuple[int, ...]], public: tuple[int, ...]) -> Transactions:
    groups = [*groups, *((item,) for item in sorted(set(range(len(data.labels))) - set(public)))]
    groups.sort()
    image = np.full(len(data.labels), -1)
    for number, items in enumerate(groups):
        image[list(items)] = number
    members = [frozenset(data.labels[item] for item in items) for items in groups]
    return generalize(data, image, [set_label(m) for m in members], members)
