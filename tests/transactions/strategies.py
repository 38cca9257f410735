"""Small random transactions for properties, with a hierarchy over their codes."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from deid.table.hierarchy import Hierarchy, hierarchy_from_rows
from deid.transactions.transactions import Transactions, transactions_of

CODES = "abcdefgh"


def tree() -> Hierarchy:
    """a, b, c below A; d to h below B."""
    return hierarchy_from_rows(([code, "A" if code in "abc" else "B", "*"] for code in CODES), "letters")


def records(least: int = 1, most: int = 12) -> st.SearchStrategy[Transactions]:
    """Transactions over eight codes, empty ones among them."""
    sets = st.frozensets(st.sampled_from(CODES), max_size=5)
    return st.lists(sets, min_size=least, max_size=most).map(lambda rows: transactions_of(rows, CODES))


def letters(*rows: str) -> Transactions:
    """Transactions whose codes are letters: ``letters("ab", "c")``."""
    return transactions_of(rows)


def smallest_support(data: Transactions, m: int) -> int | None:
    """The least support of a set of up to m items that occurs, counted one by one."""
    found = {frozenset(c) for row in data.sets for size in range(1, m + 1) for c in itertools.combinations(row, size)}
    return min((sum(items <= row for row in data.sets) for items in found), default=None)
