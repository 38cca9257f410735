"""What a release of codes lost: utility loss, errors of counts, certainty penalty, and how often sets of codes occur.

Measures take the original and the published transactions; where a measure follows records one by one, both must have
the same records in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.errors import InputError
from deid.table.hierarchy import Hierarchy
from deid.transactions.transactions import Transactions

Weight = Callable[[frozenset[str]], float]
"""Semantic distance of the members of a generalized item, 0 to 1."""


def semantic_weight(hierarchy: Hierarchy) -> Weight:
    """Return the weight that a hierarchy gives a set of codes: the level of their common ancestor over the root's.

    Codes that are not in the hierarchy are as far from all others as can be.
    """

    def weight(members: frozenset[str]) -> float:
        if len(members) == 1 or not all(code in hierarchy for code in members):
            return 1.0
        return hierarchy.level(hierarchy.lowest_common_ancestor(sorted(members))) / hierarchy.height

    return weight


def log2_of_subsets(size: int) -> float:
    """Return log2(2^size - 1)."""
    return math.log2(2**size - 1) if size < 60 else float(size)


def log_item_loss(size: int, domain: int, support: int, records: int) -> float:
    """Return log2 of the utility loss of one generalized item (Loukides et al., PNAS 2010).

    UL = (2^size - 1) / (2^domain - 1) * support / records; with thousands of codes only its logarithm is a
    number that can be held.
    """
    if not support:
        return -math.inf
    return log2_of_subsets(size) - log2_of_subsets(domain) + math.log2(support / records)


def utility_loss(original: Transactions, published: Transactions) -> float:
    """Return UL: the sum over the published items, and a penalty for suppressed codes (Loukides et al., PNAS 2010).

    Parameters
    ----------
    original, published : Transactions
        The same records before and after. A code that only some records lost counts for these.

    Returns
    -------
    float
        0 is best; small for large domains unless items of many members are published.
    """
    _check_records(original, published)
    records = max(len(original), 1)
    total = 0.0
    for item, support in enumerate(published.supports.tolist()):
        members = published.members[item]
        log = log_item_loss(len(members), len(original.labels), support, records)
        total += 2.0**log if log > -1000 else 0.0
    return total + sum(gone / records for gone in _suppressed(original, published))


def _check_records(original: Transactions, published: Transactions) -> None:
    if len(original) != len(published):
        raise InputError("the release has other records than the original", "give both with the same records")


def _covering(original: Transactions, published: Transactions) -> list[list[int]]:
    """Return the published items that cover each original code."""
    place = original.place
    found: list[list[int]] = [[] for _ in original.labels]
    for item, members in enumerate(published.members):
        for code in members:
            if code in place:
                found[place[code]].append(item)
    return found


def _suppressed(original: Transactions, published: Transactions) -> list[int]:
    """Return for each code the number of records that held it and publish nothing that covers it."""
    gone = []
    for item, covers in enumerate(_covering(original, published)):
        held = original.bits[item]
        for other in covers:
            held &= ~published.bits[other]
        gone.append(held.bit_count())
    return gone


def presence(size: int) -> float:
    """Return the chance that a generalized item of so many members holds one of them.

    Any non-empty subset of the members is equally likely: 2^(n-1) / (2^n - 1), which is 2/3 for two members.
    """
    return 1.0 if size == 1 else 1.0 / (2.0 - 2.0 ** (1 - size)) if size < 1000 else 0.5


def estimated_support(published: Transactions, codes: Iterable[str], domain: frozenset[str] | None = None) -> float:
    """Return the number of records that are expected to hold all the codes.

    Parameters
    ----------
    published : Transactions
        The release.
    codes : iterable of str
        Original codes that a record holds all of; without any, all records count.
    domain : frozenset of str, optional
        Codes that occur at all; others among an item's members do not count for its size.
    """
    product: np.ndarray | None = None
    for code in codes:
        chance = np.zeros(len(published))
        for item, members in enumerate(published.members):
            if code in members:
                size = len(members if domain is None else members & domain)
                held = published.record_of[published.items == item]
                chance[held] = 1 - (1 - chance[held]) * (1 - presence(max(size, 1)))
        product = chance if product is None else product * chance
    return float(len(published)) if product is None else float(product.sum())


def average_relative_error(
    original: Transactions, published: Transactions, queries: Iterable[Sequence[str]] | None = None
) -> float:
    """Return AvgRE: the mean over queries of ``|actual - estimate| / actual``; 0 where no query has records.

    Parameters
    ----------
    original, published : Transactions
        The same records before and after.
    queries : iterable of sequences of str, optional
        Sets of codes to be counted; by default every code alone. Queries without records are left out.
    """
    domain = frozenset(original.labels)
    if queries is None:
        return _average_over_codes(original, published)
    errors = []
    for query in queries:
        actual = original.support([original.place[code] for code in query])
        if actual:
            errors.append(abs(actual - estimated_support(published, query, domain)) / actual)
    return float(np.mean(errors)) if errors else 0.0


def _average_over_codes(original: Transactions, published: Transactions) -> float:
    """Do the same for every code alone, fast where no code has several published items."""
    domain = frozenset(original.labels)
    chance = [presence(max(len(members & domain), 1)) for members in published.members]
    errors = []
    for item, covers in enumerate(_covering(original, published)):
        actual = int(original.supports[item])
        if not actual:
            continue
        if len(covers) <= 1:
            estimate = sum(chance[c] * int(published.supports[c]) for c in covers)
        else:
            estimate = estimated_support(published, [original.labels[item]], domain)
        errors.append(abs(actual - estimate) / actual)
    return float(np.mean(errors)) if errors else 0.0


def certainty_penalty(original: Transactions, published: Transactions) -> float:
    """Return the mean certainty penalty (NCP) of an occurrence: 0 as it was, the share of all codes that a published
    item stands for, 1 where a code is suppressed (Terrovitis et al. 2008)."""
    _check_records(original, published)
    domain = max(len(original.labels), 1)
    lost = 0.0
    known = frozenset(original.labels)
    share = [len(members & known) / domain if len(members) > 1 else 0.0 for members in published.members]
    for item, covers in enumerate(_covering(original, published)):
        left = original.bits[item]
        for other in covers:
            here = left & published.bits[other]
            lost += share[other] * here.bit_count()
            left &= ~here
        lost += left.bit_count()
    return lost / max(len(original.items), 1)


def frequent_itemsets(data: Transactions, share: float) -> dict[tuple[str, ...], int]:
    """Return the case counts of the sets of one or two items that at least a share of the records hold.

    The counts that epidemiologists ask for; PNAS 2010 looks at a tenth of the records.
    """
    least = max(share * len(data), 1)
    level: dict[tuple[int, ...], int] = {
        (item,): bits
        for item, (bits, support) in enumerate(zip(data.bits, data.supports.tolist(), strict=True))
        if support >= least
    }
    found: dict[tuple[str, ...], int] = {}
    singles = dict(level)
    for _ in range(2):
        for items, bits in level.items():
            found[tuple(data.labels[item] for item in items)] = bits.bit_count()
        level = {
            (*items, item): both
            for items, bits in level.items()
            for (item,), other in singles.items()
            if item > items[-1] and (both := bits & other).bit_count() >= least
        }
    return found


@dataclass(frozen=True)
class CodeLoss:
    """What a release lost.

    Parameters
    ----------
    ul : float
        Utility loss.
    avg_re : float
        Average relative error of the counts of all codes.
    ncp : float
        Mean certainty penalty of an occurrence.
    suppressed : float
        Share of the occurrences that are suppressed.
    codes_intact : int
        Codes that are published as they are, wherever they occurred.
    case_error : float
        Average relative error of the counts of the sets of up to two codes that a tenth of the records hold.
    """

    ul: float
    avg_re: float
    ncp: float
    suppressed: float
    codes_intact: int
    case_error: float


def code_loss(original: Transactions, published: Transactions) -> CodeLoss:
    """Return all measures of loss; case counts are those of sets that at least a tenth of the records hold."""
    gone = _suppressed(original, published)
    intact = 0
    for item, covers in enumerate(_covering(original, published)):
        plain = sum(int(published.supports[c]) for c in covers if len(published.members[c]) == 1)
        intact += plain == int(original.supports[item]) > 0
    cases = frequent_itemsets(original, 0.1)
    return CodeLoss(
        ul=utility_loss(original, published),
        avg_re=average_relative_error(original, published),
        ncp=certainty_penalty(original, published),
        suppressed=sum(gone) / max(len(original.items), 1),
        codes_intact=intact,
        case_error=average_relative_error(original, published, cases),
    )
