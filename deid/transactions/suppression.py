"""Suppression of rare codes until no record's full set of codes is rare (after Vinterbo, Ohno-Machado and Dreiseitl
2001).

Attacker: knows all codes of a person. Afterwards the full set of every record is held by at least k records.
"""

from __future__ import annotations

import numpy as np

from deid.base.errors import InputError
from deid.transactions.transactions import Transactions, from_items, without


def require_records(data: Transactions, k: int) -> None:
    """Refuse tables that no method can protect.

    Raises
    ------
    InputError
        When there are fewer records than k.
    """
    if len(data) < k:
        raise InputError(f"{len(data)} records are fewer than k = {k}", "ask for a smaller k, or add records")


def require_coded_records(data: Transactions, k: int) -> None:
    """Refuse tables in which some records hold codes, but fewer than k (`InputError`)."""
    held = int((data.lengths > 0).sum())
    if 0 < held < k:
        raise InputError(f"{held} records with codes are fewer than k = {k}", "ask for a smaller k, or add records")


def suppress_rare(data: Transactions, most: int) -> Transactions:
    """Return the records without the codes that at most ``most`` of them hold."""
    return without(data, np.flatnonzero(data.supports <= most))


def _rare_records(data: Transactions, k: int) -> dict[frozenset[int], None]:
    """Return the distinct sets of codes that fewer than k records hold."""
    return {row: None for row in dict.fromkeys(data.sets) if row and data.support(row) < k}


def suppress_globally(data: Transactions, k: int) -> tuple[Transactions, int]:
    """Suppress the rarest codes everywhere, as few supports as needed.

    Returns
    -------
    Transactions
        The release.
    int
        The threshold: codes that at most so many records held are gone. A smaller one does not do: supports of full
        sets only grow with it, so it is found by bisection.
    """
    require_records(data, k)
    thresholds = [0, *sorted(set(data.supports.tolist()))]
    low, high = 0, len(thresholds) - 1
    while low < high:
        middle = (low + high) // 2
        if _rare_records(suppress_rare(data, thresholds[middle]), k):
            low = middle + 1
        else:
            high = middle
    return suppress_rare(data, thresholds[low]), thresholds[low]


def suppress_locally(data: Transactions, k: int) -> Transactions:
    """Suppress codes only in the records whose full sets are rare, the rarest code first.

    A record that loses a code no longer supports other records' sets, so the search goes on until nothing is rare.

    Returns
    -------
    Transactions
        The records over the same items, each full set of codes held by at least k of them.

    Raises
    ------
    InputError
        When there are fewer than k records.
    """
    require_records(data, k)
    rows = data.sets
    now = data
    while rare := _rare_records(now, k):
        supports = now.supports
        lost = {row: row - {min(row, key=lambda item: (int(supports[item]), item))} for row in rare}
        rows = [lost.get(row, row) for row in rows]
        now = from_items(data.labels, rows, data.members)
    return now
