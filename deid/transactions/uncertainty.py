"""Rho-uncertainty (Cao, Karras, Raïssi and Tan, PVLDB 2010): no set of codes tells a sensitive code.

Attacker: knows any codes of a person, sensitive ones too, and infers a further sensitive one. Afterwards no rule
``X -> s`` has a confidence above rho. There is no protection of identity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deid.base.errors import ConfigError, require
from deid.transactions.coherence import items_in_all
from deid.transactions.transactions import Transactions, without
from deid.transactions.tree import CodeTree

MOST_SETS = 2_000_000
"""Sets of items above which the search is refused."""


@dataclass(frozen=True, eq=False)
class Uncertain:
    """A release with its loss.

    Parameters
    ----------
    published : Transactions
        The records.
    suppressed : tuple of str
        Published items that are gone.
    loss : float
        Occurrences lost, as a share: suppressed ones count 1, generalized ones the share of the public codes that
        their item stands for.
    """

    published: Transactions
    suppressed: tuple[str, ...]
    loss: float


def _violating(data: Transactions, hidden: list[bool], rho: float, size: int) -> list[tuple[int, ...]] | None:
    """Return the rules with ``size`` items before the arrow that violate, as items with the told one last.

    None when no larger set occurs together with a further sensitive item.
    """
    secret = [item for item, is_hidden in enumerate(hidden) if is_hidden and data.bits[item]]
    every = data.any_bits(secret)
    found: list[tuple[int, ...]] = []
    alive = False
    steps = 0
    stack: list[tuple[tuple[int, ...], int]] = [((), data.all_bits)]
    while stack:
        items, bits = stack.pop()
        steps += 1
        if steps > MOST_SETS:
            raise ConfigError(f"more than {MOST_SETS:,} sets of codes occur", "bound what the attacker knows by a size")
        if len(items) == size:
            count = bits.bit_count()
            for item in secret:
                if item not in items and (told := (bits & data.bits[item]).bit_count()):
                    alive = True
                    if told > rho * count + 1e-9:
                        found.append((*items, item))
            continue
        first = items[-1] + 1 if items else 0
        for item in range(first, len(data.labels)):
            both = bits & data.bits[item]
            if both & every:
                stack.append(((*items, item), both))
    return found if alive else None


def suppress_control(
    data: Transactions, sensitive: frozenset[str], rho: float, *, size: int | None = None
) -> Uncertain:
    """Suppress items everywhere, level by level, until no rule with so many known items violates.

    At each level the item in most violating rules for the fewest occurrences goes first; suppressing an item changes no
    rule without it, so the levels below stay good.

    Parameters
    ----------
    data : Transactions
        The records.
    sensitive : frozenset of str
        Codes that must not be told.
    rho : float
        Greatest confidence, 0 to 1.
    size : int, optional
        Most items that the attacker knows; any number by default, at a cost that grows with all sets that occur.

    Returns
    -------
    Uncertain
        The published records, with what is gone.

    Raises
    ------
    ConfigError
        When rho is not from 0 to 1, or ``size`` is below 0.
    """
    _check(rho, size)
    hidden = [bool(members & sensitive) for members in data.members]
    now, gone = data, set[int]()
    level = 0
    while size is None or level <= size:
        rules = _violating(now, hidden, rho, level)
        if rules is None:
            break
        gone |= items_in_all(map(frozenset, rules), data)
        now = data.keep(~np.isin(data.items, sorted(gone)))  # suppressed items keep their places
        level += 1
    lost = sum(int(data.supports[item]) for item in gone)
    return Uncertain(without(data, gone), tuple(data.labels[i] for i in sorted(gone)), lost / max(len(data.items), 1))


def _check(rho: float, size: int | None) -> None:
    require(0 <= rho <= 1, "rho is a confidence, from 0 to 1", "for example 0.5")
    require(size is None or size >= 0, "the attacker knows at least 0 codes", "leave it out for any number")


def top_down_control(
    data: Transactions, tree: CodeTree, sensitive: frozenset[str], rho: float, *, size: int | None = None
) -> Uncertain:
    """Generalize public codes as well: from the root down, specialize while suppression and generalization together
    lose less.

    Parameters
    ----------
    data : Transactions
        The records.
    tree : CodeTree
        Tree over all items; sensitive ones stay as they are.
    sensitive, rho, size
        As those of `suppress_control`.

    Returned value and errors are those of `suppress_control`.
    """
    _check(rho, size)
    public = np.array([label not in sensitive for label in data.labels])
    cut = np.where(public, tree.root, np.arange(len(data.labels)))
    domain = max(int(public.sum()), 1)
    children = tree.children()
    best = _controlled(data, tree, cut, sensitive, rho, size, domain)
    closed: set[int] = set()
    while True:
        options = {int(node) for node in cut[public]} - closed
        options = {node for node in options if children[node]}
        if not options:
            return best
        gain = {node: _gain(data, tree, node, children[node], public) for node in options}
        node = max(options, key=lambda other: (gain[other], -other))
        tried = cut.copy()
        for child in children[node]:
            inside = [item for item in tree.leaves[child] if public[item]]
            tried[inside] = child
        found = _controlled(data, tree, tried, sensitive, rho, size, domain)
        if found.loss < best.loss - 1e-12 or (found.loss <= best.loss and not found.suppressed):
            best, cut = found, tried
        else:
            closed.add(node)


def _gain(data: Transactions, tree: CodeTree, node: int, below: list[int], public: np.ndarray) -> int:
    """Return the certainty that specializing a node wins, in codes times occurrences."""
    won = 0
    size = sum(bool(public[item]) for item in tree.leaves[node])
    for child in below:
        items = [item for item in tree.leaves[child] if public[item]]
        won += int(data.supports[items].sum()) * (size - len(items))
    return won


def _controlled(
    data: Transactions,
    tree: CodeTree,
    cut: np.ndarray,
    sensitive: frozenset[str],
    rho: float,
    size: int | None,
    domain: int,
) -> Uncertain:
    general = tree.publish(data, cut)
    # a node over sensitive codes stands for the public ones among them: those are published as they are
    members = tuple(m if len(m) == 1 else m - sensitive for m in general.members)
    general = Transactions(general.labels, general.offsets, general.items, members)
    found = suppress_control(general, sensitive, rho, size=size)
    gone = set(found.suppressed)
    lost = 0.0
    for item, code in enumerate(data.labels):
        label = tree.labels[cut[item]]
        if label in gone:
            lost += int(data.supports[item])
        elif code not in sensitive:
            width = len(frozenset(data.labels[i] for i in tree.leaves[cut[item]]) - sensitive)
            lost += int(data.supports[item]) * (width / domain if width > 1 else 0.0)
    return Uncertain(found.published, found.suppressed, lost / max(len(data.items), 1))
