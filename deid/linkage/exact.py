"""Exact rules: what makes two rows one person's without any estimate, unless what else they say contradicts.

Each rule is a list of columns of `deid.linkage.columns.read_records` that must be there and be equal.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from deid.base.late import pd
from deid.linkage.clustering import Edge, Facts

RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("record number", ("number_*",)),
    ("name and birth date", ("full_given", "family", "birth")),
    ("surname, initial and telephone number", ("family", "initial", "phone")),
    ("surname, initial and birth date", ("family", "initial", "birth")),
)
"""Rules in the order of their trust. A record number counts within its authority, which is its column."""
_ABOVE = 1e6
_NEXT = 5
"""Rows of a group that each is joined with: where one contradicts, the next may not."""
SURE = 2
"""Rules of so much trust that a model is not asked."""


def facts_of(records: pd.DataFrame) -> list[Facts]:
    """Return what each row says that can contradict another one."""
    columns = {name: records[name].tolist() for name in records.columns}
    numbers = [name for name in columns if name.startswith("number_")]

    def of(name: str, row: int) -> frozenset[str]:
        value = columns[name][row] if name in columns else None
        return frozenset((value,)) if value else frozenset()

    return [
        Facts(
            {
                f"{name} {columns[name][row].rpartition(':')[0]}": frozenset((columns[name][row],))
                for name in numbers
                if columns[name][row]
            },
            of("birth", row),
            of("sex", row),
            of("given", row) | frozenset(word for word in of("middle", row) if len(word) > 2),
            of("suffix", row),
            of("known", row),
        )
        for row in range(len(records))
    ]


def exact_edges(records: pd.DataFrame, rules: int = len(RULES)) -> list[Edge]:
    """Return the pairs of rows that the first ``rules`` exact rules join.

    Their weights are above all that a model can give, and fall with the trust in the rule.
    """
    edges = []
    for rank, (rule, names) in enumerate(RULES[:rules]):
        for columns in _columns(records, names):
            groups: dict[tuple[str, ...], list[int]] = {}
            for row, key in _keys(records, columns):
                groups.setdefault(key, []).append(row)
            for rows, step in itertools.product(groups.values(), range(1, _NEXT + 1)):
                edges += [Edge(_ABOVE - rank, a, b, rule) for a, b in zip(rows, rows[step:], strict=False)]
    return edges


def _columns(records: pd.DataFrame, names: Sequence[str]) -> list[list[str]]:
    """Return the columns of a rule; one list for each authority of a record number."""
    if names[0].endswith("*"):
        return [[name] for name in records.columns if name.startswith(names[0][:-1])]
    own = ["given" if name == "initial" else name for name in names]
    return [list(names)] if all(name in records.columns for name in own) else []


def _keys(records: pd.DataFrame, columns: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    cells = [
        [value and value[0] for value in records["given"]] if name == "initial" else records[name].tolist()
        for name in columns
    ]
    for row, key in enumerate(zip(*cells, strict=True)):
        if all(key) and (columns[0] != "full_given" or len(key[0]) > 1):
            yield row, key
