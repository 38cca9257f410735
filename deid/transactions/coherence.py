"""(h,k,p)-coherence by suppression of the items of minimal moles (Xu, Wang, Fu and Yu, KDD 2008).

Attacker: knows up to p public codes of a person and looks for a sensitive one. Afterwards every set of up to p public
codes that occurs does so in at least k records, and no sensitive code is held by more than a share of them.

The share is ``max_prob``, from 0 to 1: the paper's h. Some sources write it as 1/h.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from deid.base.arrays import BoolArray, IndexArray, IntArray
from deid.base.errors import ConfigError, require
from deid.transactions.suppression import require_records
from deid.transactions.transactions import Transactions, without

MOST_SETS = 5_000_000
"""Sets of public codes above which the search is refused."""


def items_in_all(sets: Iterable[frozenset[int]], data: Transactions) -> set[int]:
    """Return items of which each set holds one: again and again that in most open sets for the fewest occurrences."""
    left, chosen = list(sets), set[int]()
    while left:
        count = Counter(item for items in left for item in items)
        worst = max(count, key=lambda item: (count[item] / int(data.supports[item]), -item))
        chosen.add(worst)
        left = [items for items in left if worst not in items]
    return chosen


def minimal_moles(
    data: Transactions, sensitive: frozenset[str], *, max_prob: float, k: int, p: int
) -> list[tuple[int, ...]]:
    """Return the sets of up to p public items that violate, and none of whose parts does.

    Level by level: only sets without a mole in them are extended. Parameters as those of `coherence`.

    Returns
    -------
    list of tuple of int
        Items of each set, ascending.

    Raises
    ------
    ConfigError
        When more sets occur than can be searched (`MOST_SETS`).
    """
    hidden = np.array([label in sensitive for label in data.labels], dtype=bool)
    moles: list[tuple[int, ...]] = []
    # every set that is no mole, with the records that hold it; at first the empty one
    good: dict[tuple[int, ...], IndexArray] = {(): np.arange(len(data))}
    singles = np.ones(len(data.labels), dtype=bool)
    steps = 0
    for size in range(1, p + 1):
        level: dict[tuple[int, ...], IndexArray] = {}
        for items, records in good.items():
            part = data.take(records)
            counts, told = _counts(part, hidden)
            later = np.arange(len(counts)) > (items[-1] if items else -1)
            others = np.flatnonzero((counts > 0) & ~hidden & later & singles)
            bad = (counts < k) | (told > max_prob * counts + 1e-9)
            steps += len(others) if items else 0
            require(steps <= MOST_SETS, f"more than {MOST_SETS:,} sets of public codes occur", "choose a smaller p")
            for other in others.tolist():
                new = (*items, other)
                if size > 2 and any(new[:i] + new[i + 1 :] not in good for i in range(size - 1)):
                    continue  # holds a smaller mole
                if bad[other]:
                    moles.append(new)
                else:
                    level[new] = records[:0]
            if size < p and level:
                _hold(level, items, part, records)
        if size == 1:
            singles = np.array([(item,) in level for item in range(len(data.labels))], dtype=bool)
        good = level
    return moles


def _counts(part: Transactions, hidden: BoolArray) -> tuple[IntArray, IntArray]:
    """Return for each item how many records hold it, and the most that hold it together with one hidden item."""
    size = len(hidden)
    counts = np.bincount(part.items, minlength=size)
    told = np.zeros(size, dtype=np.int64)
    secret = np.flatnonzero(hidden[part.items])
    by_code = secret[np.argsort(part.items[secret], kind="stable")]
    for places in np.split(by_code, np.flatnonzero(np.diff(part.items[by_code])) + 1) if len(by_code) else ():
        both = part.take(part.record_of[places])
        np.maximum(told, np.bincount(both.items, minlength=size), out=told)
    return counts, told


def _hold(
    level: dict[tuple[int, ...], IndexArray], items: tuple[int, ...], part: Transactions, records: IndexArray
) -> None:
    """Set the records of the sets of a level that are ``items`` and one more."""
    order = np.argsort(part.items, kind="stable")
    ends = np.cumsum(np.bincount(part.items, minlength=len(part.labels)))
    for item in np.unique(part.items).tolist():
        if (new := (*items, item)) in level:
            level[new] = records[part.record_of[order[ends[item] - part.supports[item] : ends[item]]]]


def coherence(
    data: Transactions, sensitive: frozenset[str], *, max_prob: float, k: int, p: int
) -> tuple[Transactions, tuple[str, ...]]:
    """Suppress public codes everywhere: all that are moles alone, then those in most moles for the least occurrences.

    Parameters
    ----------
    data : Transactions
        The records.
    sensitive : frozenset of str
        Private codes; the others are public.
    max_prob : float
        Greatest probability of a private code, 0 to 1.
    k, p : int
        Least support of up to p public codes.

    Returns
    -------
    Transactions
        The release.
    tuple of str
        The codes that are gone.

    Raises
    ------
    ConfigError
        When ``max_prob`` is no probability, k or p is below 1, or too many sets of public codes occur.
    InputError
        When there are fewer than k records.
    """
    require_records(data, k)
    if not 0 <= max_prob <= 1 or p < 1 or k < 1:
        raise ConfigError("max_prob is a probability, k and p are at least 1", "for example 0.5, k = 5, p = 2")
    moles = {frozenset(mole) for mole in minimal_moles(data, sensitive, max_prob=max_prob, k=k, p=p)}
    gone = {item for mole in moles if len(mole) == 1 for item in mole}
    gone |= items_in_all((mole for mole in moles if not mole & gone), data)
    return without(data, gone), tuple(data.labels[item] for item in sorted(gone))
