"""Demographics and codes in one release: (k, k^m)-anonymity (Poulis, Loukides, Gkoulalas-Divanis and Skiadopoulos, ECML
PKDD 2013), in a simple form.

Attacker: knows the demographic columns of a person and up to m codes. Every class of equal published columns has at
least k records, and within the class every set of up to m published items that occurs does so in at least k records.

The columns come already generalized, for instance by `deid anonymize`; classes in which codes cannot be protected are
merged: columns in which they differ become ``*``. Codes are generalized class by class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from deid.base.errors import InputError
from deid.base.late import pd
from deid.table.microdata import SUPPRESSED, Microdata, check_columns
from deid.transactions.km import recode_apart
from deid.transactions.suppression import require_coded_records, require_records
from deid.transactions.transactions import Transactions
from deid.transactions.tree import CodeTree
from deid.transactions.verifiers import TransactionVerdict, verify_km

Cells = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RelationalRelease:
    """Columns and codes of one release.

    Parameters
    ----------
    cells : tuple of tuples of str
        Published columns of each record.
    published : Transactions
        Published codes of each record.
    classes : int
        Number of classes.
    merged : int
        How often two classes were merged.
    """

    cells: tuple[Cells, ...]
    published: Transactions
    classes: int
    merged: int


def column_cells(frame: pd.DataFrame, columns: Sequence[str]) -> list[Cells]:
    """Return the cells of some columns as text, row by row; empty where nothing is recorded."""
    check_columns(frame, columns)
    data = Microdata(frame, {})
    texts = ([text or "" for text in data.texts(name)] for name in columns)
    return [tuple(row) for row in zip(*texts, strict=True)]


def anonymize_both(cells: Sequence[Cells], data: Transactions, tree: CodeTree, k: int, m: int) -> RelationalRelease:
    """Merge classes until codes can be protected in each, then generalize codes in each.

    Parameters
    ----------
    cells : sequence of tuples of str
        Relational columns of each record, generalized before.
    data : Transactions
        Codes of the same records.
    tree : CodeTree
        Tree over their items.
    k, m : int
        In every class, every set of up to m codes that occurs does so in at least k records.

    Returns
    -------
    RelationalRelease
        Published columns and codes, record by record.

    Raises
    ------
    InputError
        When fewer than k records hold codes at all, there are fewer than k records, or not as many cells as records.
    """
    require_records(data, k)
    if len(cells) != len(data):
        raise InputError("other records with codes than rows", "use a table with one row a person")
    require_coded_records(data, k)
    groups: dict[Cells, list[int]] = {}
    for record, row in enumerate(cells):
        groups.setdefault(row, []).append(record)
    merged = 0
    while True:
        bad = [row for row, records in groups.items() if not _feasible(data, records, k)]
        if not bad:
            break
        row = min(bad, key=lambda key: (len(groups[key]), key))
        other = min((key for key in groups if key != row), key=lambda key: (_apart(row, key), len(groups[key]), key))
        both = tuple(a if a == b else SUPPRESSED for a, b in zip(row, other, strict=True))
        records = groups.pop(row) + groups.pop(other)
        groups[both] = sorted(groups.pop(both, []) + records)
        merged += 1
    shown: list[Cells] = [()] * len(data)
    for row, records in groups.items():
        for record in records:
            shown[record] = row
    published = recode_apart(data, tree, k, m, groups.values())
    return RelationalRelease(tuple(shown), published, len(groups), merged)


def _feasible(data: Transactions, records: Sequence[int], k: int) -> bool:
    held = sum(bool(data.lengths[record]) for record in records)
    return len(records) >= k and (held == 0 or held >= k)


def _apart(a: Cells, b: Cells) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


def verify_both(cells: Sequence[Cells], published: Transactions, k: int, m: int) -> TransactionVerdict:
    """Judge columns and codes by what is published: each class alone holds k records and is k^m-anonymous.

    Parameters
    ----------
    cells : sequence of tuples of str
        Published columns of each record.
    published : Transactions
        Published codes of the same records.
    k, m : int
        As those of `anonymize_both`.

    Returns
    -------
    TransactionVerdict
        Level: the least size of a class, or support of a set in one; records: those of that class that hold the set.
    """
    groups: dict[Cells, list[int]] = {}
    for record, row in enumerate(cells):
        groups.setdefault(row, []).append(record)
    least, witness, worst = math.inf, tuple[str, ...](), list[int]()
    for records in groups.values():
        found = verify_km(published.take(records), k, m)
        if min(found.level, len(records)) < least:
            least = min(found.level, float(len(records)))
            witness, worst = found.witness, records
    held = published.texts()
    holding = tuple(record for record in worst if set(witness) <= set(held[record]))
    return TransactionVerdict(least >= k, least, witness, () if least >= k else holding)
