"""Exact rules: what makes two rows one person's without any estimate, unless what else they say contradicts.

Each rule is a list of columns of `deid.linkage.columns.read_records` that must be there and be equal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from deid.base.arrays import IntArray
from deid.base.buckets import Words
from deid.base.late import pd
from deid.linkage.clustering import Facts

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
    """Return what each row says that can contradict another one; rows that say the same share what they hold."""
    columns = {name: records[name].tolist() for name in records.columns}
    numbers = [name for name in columns if name.startswith("number_")]
    nothing: Mapping[str, frozenset[str]] = {}
    kept: dict[object, frozenset[str]] = {}

    def of(name: str, row: int) -> frozenset[str]:
        value = columns[name][row] if name in columns else None
        return kept.setdefault(value, frozenset((value,))) if value else frozenset()

    def givens(row: int) -> frozenset[str]:
        said = of("given", row) | frozenset(word for word in of("middle", row) if len(word) > 2)
        return kept.setdefault(said, said)

    return [
        Facts(
            {
                sys.intern(f"{name} {columns[name][row].rpartition(':')[0]}"): of(name, row)
                for name in numbers
                if columns[name][row]
            }
            or nothing,
            of("birth", row),
            of("sex", row),
            givens(row),
            of("suffix", row),
            of("known", row),
        )
        for row in range(len(records))
    ]


def exact_edges(records: pd.DataFrame, rules: int = len(RULES)) -> pd.DataFrame:
    """Return the pairs of rows that the first ``rules`` exact rules join: columns of `deid.linkage.clustering.Edge`.

    Their weights are above all that a model can give, and fall with the trust in the rule.
    """
    parts = [pd.DataFrame({"a": [], "b": [], "weight": [], "why": []}).astype({"a": int, "b": int, "why": object})]
    for rank, (rule, names) in enumerate(RULES[:rules]):
        for keys in _keys(records, names):
            group = keys.groupby(list(keys), sort=False).ngroup().sort_values(kind="stable")
            rows, of = group.index.to_numpy(), group.to_numpy()
            for step in range(1, _NEXT + 1):
                same = of[step:] == of[:-step]
                own = pd.DataFrame({"a": rows[:-step][same], "b": rows[step:][same]})
                parts.append(own.assign(weight=_ABOVE - rank, why=rule))
    return pd.concat(parts, ignore_index=True)


def key_hashes(records: pd.DataFrame) -> tuple[Words, Words, IntArray]:
    """Return for each key that an exact rule compares a number, that of what may stand for no number, and its row.

    Rows that an exact rule joins have a key in common; hardly any others do. What may stand for no number is told by
    `number_hashes`, 0 where there is none.
    """
    hashes, shared, rows = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for rule, names in RULES:
        for number, keys in enumerate(_keys(records, names)):
            hashes.append(hashes_of(keys.astype(str).assign(rule=f"{rule} {number}")))
            numbers = [number_hashes(keys[name]) for name in numbered(keys)]
            shared.append(numbers[0] if numbers else np.zeros(len(keys), np.uint64))
            rows.append(keys.index.to_numpy(np.int64))
    return np.concatenate(hashes), np.concatenate(shared), np.concatenate(rows)


def numbered(records: pd.DataFrame) -> list[str]:
    """Return the columns of records with numbers, for which something may stand that is none."""
    return [name for name in map(str, records) if name == "phone" or name.startswith("number_")]


def number_hashes(cells: pd.Series) -> Words:
    """Return a number for each cell of a column of records; equal ones have the same, and hardly any others."""
    return hashes_of(pd.DataFrame({"value": cells.astype(str), "column": str(cells.name)}))


def hashes_of(frame: pd.DataFrame) -> Words:
    """Return a number for each row of texts; equal rows have the same one, and hardly any others."""
    return np.asarray(pd.util.hash_pandas_object(frame, index=False, categorize=False), np.uint64)


def _keys(records: pd.DataFrame, names: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Return the columns of a rule, of rows that have them all; once for each authority of a record number."""
    if names[0].endswith("*"):
        wanted = [[name] for name in map(str, records) if name.startswith(names[0][:-1])]
    else:
        wanted = [["given" if name == "initial" else name for name in names]]
    for columns in wanted:
        if not all(name in records for name in columns):
            continue
        keys = records[columns].dropna()
        if columns[0] == "full_given":
            keys = keys[keys["full_given"].str.len() > 1]
        yield keys.assign(given=keys["given"].str[:1]) if "initial" in names else keys
