"""Verifiers: does a published table of codes hold what it promises, judged by the published records alone.

They share no code with the methods. A witness names published items, which are public by then, never a record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import BoolArray, FloatArray, IntArray
from deid.base.errors import require
from deid.transactions.transactions import Transactions, common


@dataclass(frozen=True)
class TransactionVerdict:
    """What a verifier found.

    Parameters
    ----------
    holds : bool
        Whether the model holds.
    level : float
        The level that is reached: the smallest support, or the greatest confidence.
    witness : tuple of str
        Published items of the worst case, empty when there is none.
    records : tuple of int
        Records that hold it, from a verifier that tells them.
    """

    holds: bool
    level: float
    witness: tuple[str, ...] = ()
    records: tuple[int, ...] = ()


def _names(published: Transactions, items: Iterable[int]) -> tuple[str, ...]:
    return tuple(published.labels[item] for item in items)


def _together(published: Transactions, records: IntArray) -> IntArray:
    """Count the items of some records."""
    lengths = published.lengths[records]
    starts = np.repeat(published.offsets[records] - np.cumsum(lengths) + lengths, lengths)
    return np.bincount(published.items[starts + np.arange(lengths.sum())], minlength=len(published.labels))


def verify_km(published: Transactions, k: int, m: int) -> TransactionVerdict:
    """Verify k^m-anonymity: every set of up to m items that occurs does so in at least k records.

    Terrovitis et al. 2008. The search goes through all sets that occur, prefix by prefix, so it costs about the number
    of sets of m - 1 items.

    Returns
    -------
    TransactionVerdict
        Level: the smallest support of a set.
    """
    require(min(k, m) >= 1, "k and m are at least 1", "for example k = 5, m = 2")
    least, witness = len(published), tuple[int, ...]()
    if not len(published.items):
        return TransactionVerdict(True, float(len(published)))
    stack: list[tuple[tuple[int, ...], IntArray]] = [
        ((item,), records) for item, records in enumerate(published.records_with()) if len(records)
    ]
    for prefix, records in stack:
        if len(records) < least or not witness:
            least, witness = len(records), prefix
    while stack and m > 1:
        prefix, records = stack.pop()
        counts = _together(published, records)
        counts[: prefix[-1] + 1] = 0
        others = np.flatnonzero(counts)
        if not len(others):
            continue
        rarest = int(others[np.argmin(counts[others])])
        if counts[rarest] < least:
            least, witness = int(counts[rarest]), (*prefix, rarest)
        if len(prefix) + 1 < m:
            held = published.take(records).records_with()
            stack.extend(((*prefix, int(item)), records[held[int(item)]]) for item in others)
    return TransactionVerdict(least >= k, float(least), _names(published, witness) if least < k else ())


def verify_complete(published: Transactions, k: int) -> TransactionVerdict:
    """Verify complete k-anonymity: every distinct published record occurs at least k times (He and Naughton 2009).

    Returns
    -------
    TransactionVerdict
        Level: how often the rarest record occurs.
    """
    counts = Counter(row.tobytes() for row in published)
    if not counts:
        return TransactionVerdict(True, 0.0)
    row, count = min(counts.items(), key=lambda pair: (pair[1], pair[0]))
    witness = _names(published, np.frombuffer(row, published.items.dtype).tolist())
    return TransactionVerdict(count >= k, float(count), () if count >= k else witness or ("a record without codes",))


def verify_full_sets(published: Transactions, k: int) -> TransactionVerdict:
    """Verify that at least k records hold the full set of codes of every record, or more codes (Vinterbo 2001).

    Returns
    -------
    TransactionVerdict
        Level: the smallest support of a record's set.
    """
    least, witness = float(len(published)), tuple[str, ...]()
    for row in {row.tobytes(): row for row in published}.values():
        count = published.support(row.tolist())
        if count < least:
            least, witness = float(count), _names(published, row.tolist())
    return TransactionVerdict(least >= k or not len(published.items), least, witness if least < k else ())


def verify_privacy_policy(published: Transactions, policy: Sequence[frozenset[str]], k: int) -> TransactionVerdict:
    """Verify privacy constraints: a constraint's images occur together in 0 or in at least k records.

    Loukides et al., PNAS 2010. Codes that no published item stands for are suppressed and left out. A code with several
    published items, as local recoding makes them, is held by the records of any of them.

    Parameters
    ----------
    published : Transactions
        The release.
    policy : sequence of frozenset of str
        Codes of each constraint.
    k : int
        Least support.

    Returns
    -------
    TransactionVerdict
        Level: the smallest support of a constraint that occurs; witness: its codes.
    """
    held = published.holding
    least, witness = float(len(published)), tuple[str, ...]()
    for constraint in policy:
        known = sorted(code for code in constraint if held.get(code))
        count = common((held[code] for code in known), published.all_bits).bit_count()
        if known and 0 < count < least:
            least, witness = float(count), tuple(known)
    return TransactionVerdict(least >= k or not witness, least, witness if least < k else ())


def verify_utility_policy(
    original: Transactions,
    published: Transactions,
    policy: Sequence[frozenset[str]],
    *,
    most_suppressed: float = 1.0,
    free: bool = False,
) -> TransactionVerdict:
    """Verify utility constraints: members of a published item lie in one constraint, and few codes are suppressed.

    Parameters
    ----------
    original, published : Transactions
        The records before and after.
    policy : sequence of frozenset of str
        Codes of each constraint.
    most_suppressed : float
        Greatest share of the codes of the original that may be suppressed.
    free : bool
        Codes in no constraint may be combined with each other.

    Returns
    -------
    TransactionVerdict
        Level: the share of codes that are suppressed; 1 where an item has members of two constraints.
    """
    named = frozenset().union(*policy)
    for item, members in enumerate(published.members):
        alone = len(members) == 1 or any(members <= group for group in policy)
        if not alone and not (free and not members & named):
            return TransactionVerdict(False, 1.0, (published.labels[item],))
    there = frozenset().union(*published.members)
    gone = sum(code not in there for code in original.labels) / max(len(original.labels), 1)
    return TransactionVerdict(gone <= most_suppressed, gone)


def verify_coherence(
    published: Transactions, sensitive: frozenset[str], *, max_prob: float, k: int, p: int
) -> TransactionVerdict:
    """Verify (h,k,p)-coherence (Xu et al. 2008).

    Every set of up to p public items that occurs does so in at least k records, and tells no sensitive item with more
    than ``max_prob``.

    Returns
    -------
    TransactionVerdict
        Level: the greatest probability of a sensitive item; where the model fails, that of the first set that fails.
    """
    hidden = np.array([bool(members & sensitive) for members in published.members], dtype=bool)
    stack: list[tuple[tuple[int, ...], IntArray]] = [
        ((item,), records) for item, records in enumerate(published.records_with()) if len(records) and not hidden[item]
    ]
    level = 0.0
    while stack:
        items, records = stack.pop()
        counts = _together(published, records)
        confidence = float(counts[hidden].max(initial=0)) / len(records)
        if len(records) < k or confidence > max_prob + 1e-12:
            return TransactionVerdict(False, confidence, _names(published, items))
        level = max(level, confidence)
        others = np.flatnonzero((counts > 0) & ~hidden & (np.arange(len(counts)) > items[-1]))
        if len(items) == p or not len(others):
            continue
        part = published.take(records)
        if len(items) < p - 1:
            held = part.records_with()
            stack.extend(((*items, other), records[held[other]]) for other in others.tolist())
            continue
        # the largest sets, all at once: nothing is looked for beyond them
        told = _greatest_share(part, hidden, counts)[others]
        bad = np.flatnonzero((counts[others] < k) | (told > max_prob + 1e-12))
        if len(bad):
            first = int(bad[-1])
            return TransactionVerdict(False, float(told[first]), _names(published, (*items, int(others[first]))))
        level = max(level, float(told.max()))
    return TransactionVerdict(True, level, ())


def _greatest_share(part: Transactions, hidden: BoolArray, counts: IntArray) -> FloatArray:
    """Return for each item, shape [items], the greatest share of its records that hold one hidden item."""
    most = np.zeros(len(hidden), dtype=np.int64)
    secret = hidden[part.items]
    for code in np.unique(part.items[secret]).tolist():
        holding = np.zeros(len(part), dtype=bool)
        holding[part.record_of[part.items == code]] = True
        most = np.maximum(most, np.bincount(part.items[holding[part.record_of]], minlength=len(hidden)))
    return most / np.maximum(counts, 1)


def verify_rules(
    published: Transactions, rules: Iterable[tuple[frozenset[str], frozenset[str]]], k: int, c: float
) -> TransactionVerdict:
    """Verify PS-rules (Loukides, Gkoulalas-Divanis and Shao 2010).

    The antecedent's images occur in 0 or in at least k records, of which at most a share ``c`` hold the whole
    consequent.

    Parameters
    ----------
    published : Transactions
        The release.
    rules : iterable of (frozenset of str, frozenset of str)
        Public and sensitive codes of each rule.
    k : int
        Least support of the public codes.
    c : float
        Greatest share, 0 to 1.

    Returns
    -------
    TransactionVerdict
        Level: the greatest share; where a rule fails, its share, with its codes as the witness.
    """
    greatest = 0.0

    def holding(codes: frozenset[str], bits: int, absent: int) -> int:
        return common((published.holding.get(code, absent) for code in codes), bits)

    for public, hidden in rules:
        body = holding(public, published.all_bits, published.all_bits)
        count = body.bit_count()
        if not count:
            continue
        confidence = holding(hidden, body, 0).bit_count() / count if hidden else 0.0
        if count < k or confidence > c + 1e-12:
            return TransactionVerdict(False, confidence, tuple(sorted(public | hidden)))
        greatest = max(greatest, confidence)
    return TransactionVerdict(True, greatest)


def verify_uncertainty(
    published: Transactions, sensitive: frozenset[str], rho: float, *, size: int | None = None
) -> TransactionVerdict:
    """Verify rho-uncertainty (Cao et al. 2010).

    No set of items, sensitive ones too, tells a further sensitive item with more than ``rho``.

    Parameters
    ----------
    published : Transactions
        The release.
    sensitive : frozenset of str
        Codes that must not be told.
    rho : float
        Greatest confidence, 0 to 1.
    size : int, optional
        Largest set that the attacker knows; any by default, which costs as many steps as there are sets.

    Returns
    -------
    TransactionVerdict
        Level: the greatest confidence; where the model fails, that of the witness.
    """
    require(size is None or size >= 0, "the attacker knows at least 0 codes", "leave it out for any number")
    hidden = np.array([bool(members & sensitive) for members in published.members], dtype=bool)
    greatest = 0.0
    stack: list[tuple[tuple[int, ...], IntArray]] = [((), np.arange(len(published)))]
    while stack:
        items, records = stack.pop()
        if not len(records):
            continue
        counts = _together(published, records)
        told = np.where(hidden, counts, 0)
        told[list(items)] = 0
        if not told.any():
            continue  # records without a further sensitive item: no larger set tells one
        confidence = float(told.max()) / len(records)
        if confidence > rho + 1e-12:
            return TransactionVerdict(False, confidence, _names(published, (*items, int(np.argmax(told)))))
        greatest = max(greatest, confidence)
        if size is None or len(items) < size:
            last = items[-1] if items else -1
            held = published.take(records).records_with()
            stack.extend(
                ((*items, other), records[held[other]]) for other in np.flatnonzero(counts).tolist() if other > last
            )
    return TransactionVerdict(True, greatest)
