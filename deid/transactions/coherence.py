"""(h,k,p)-coherence by suppression of the items of minimal moles (Xu, Wang, Fu and Yu, KDD 2008).

Attacker: knows up to p public codes of a person and looks for a sensitive one. Afterwards every set of up to p public
codes that occurs does so in at least k records, and no sensitive code is held by more than a share of them.

The share is ``max_prob``, from 0 to 1: the paper's h. Some sources write it as 1/h.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

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
    hidden = [bits for label, bits in zip(data.labels, data.bits, strict=True) if label in sensitive]
    public = [i for i, label in enumerate(data.labels) if label not in sensitive and data.bits[i]]
    moles: list[tuple[int, ...]] = []

    def violates(bits: int) -> bool:
        count = bits.bit_count()
        return count < k or any((bits & other).bit_count() > max_prob * count + 1e-9 for other in hidden)

    good: dict[tuple[int, ...], int] = {}
    for item in public:
        if violates(data.bits[item]):
            moles.append((item,))
        else:
            good[(item,)] = data.bits[item]
    singles = [items[0] for items in good]
    steps = 0
    for _ in range(1, p):
        level: dict[tuple[int, ...], int] = {}
        for items, bits in good.items():
            for other in singles:
                if other <= items[-1] or not (both := bits & data.bits[other]):
                    continue
                steps += 1
                require(steps <= MOST_SETS, f"more than {MOST_SETS:,} sets of public codes occur", "choose a smaller p")
                new = (*items, other)
                if any(new[:i] + new[i + 1 :] not in good for i in range(len(new) - 1)):
                    continue  # holds a smaller mole
                if violates(both):
                    moles.append(new)
                else:
                    level[new] = both
        good = level
    return moles


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
