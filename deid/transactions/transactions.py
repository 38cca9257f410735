"""Transactions: records that are sets of items, such as a patient's diagnosis codes, as arrays.

An original item is a code. A published item stands for one code or more: a set ``(493.00,493.01)``, or an inner value
of a hierarchy; it supports a record when the record held any of its members. Both are `Transactions`, so that
verifiers and measures read either.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deid.base.arrays import BoolArray, IndexArray, IntArray
from deid.base.errors import InputError

_BLOCK = 1 << 20
"""Occurrences that are worked on at once."""


@dataclass(frozen=True, eq=False)
class Transactions:
    """Records as sets of items.

    Parameters
    ----------
    labels : tuple of str
        Name of each item.
    offsets : int64 array, shape (records + 1,)
        Where each record begins in ``items``.
    items : int32 array, shape (occurrences,)
        Items of all records, one record after the other, ascending and distinct within a record.
    members : tuple of frozenset of str
        The original codes that each item stands for; by default its label.
    """

    labels: tuple[str, ...]
    offsets: IntArray
    items: NDArray[np.int32]
    members: tuple[frozenset[str], ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.members:
            object.__setattr__(self, "members", tuple(frozenset((label,)) for label in self.labels))

    def __repr__(self) -> str:
        return f"Transactions({len(self)} records, {len(self.labels)} items, {len(self.items)} occurrences)"

    def __len__(self) -> int:
        """Return the number of records, empty ones included."""
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        """Iterate over the records' items."""
        return (self.items[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True))

    @cached_property
    def place(self) -> dict[str, int]:
        """Item of each label."""
        return {label: item for item, label in enumerate(self.labels)}

    @cached_property
    def supports(self) -> IntArray:
        """Number of records that hold each item."""
        return np.bincount(self.items, minlength=len(self.labels))

    @cached_property
    def lengths(self) -> IntArray:
        """Number of items of each record."""
        return np.diff(self.offsets)

    @cached_property
    def record_of(self) -> NDArray[np.signedinteger]:
        """Record of each occurrence in ``items``."""
        return np.repeat(np.arange(len(self), dtype=np.int32 if len(self) < 1 << 31 else np.int64), self.lengths)

    @cached_property
    def sets(self) -> list[frozenset[int]]:
        """The records as sets of items."""
        return [frozenset(row.tolist()) for row in self]

    def records_with(self) -> list[NDArray[np.signedinteger]]:
        """Return the records that hold each item, in their order."""
        order = np.argsort(self.items, kind="stable")
        return np.split(self.record_of[order], np.cumsum(self.supports)[:-1])[: len(self.labels)]

    @cached_property
    def bits(self) -> list[int]:
        """The records that hold each item, as a whole number with a bit a record: supports are counts of bits."""
        found = []
        mask = np.zeros(len(self), dtype=bool)
        for held in self.records_with():
            if not len(held):
                found.append(0)
                continue
            mask[held] = True
            found.append(int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little"))
            mask[held] = False
        return found

    @cached_property
    def all_bits(self) -> int:
        """A bit for every record."""
        return (1 << len(self)) - 1

    @cached_property
    def holding(self) -> dict[str, int]:
        """The records that may hold each code, as `bits`, of every code that an item stands for."""
        found: dict[str, int] = {}
        for members, bits in zip(self.members, self.bits, strict=True):
            for code in members:
                found[code] = found.get(code, 0) | bits
        return found

    def any_bits(self, items: Iterable[int]) -> int:
        """Return the records that hold any of the items, a bit for each."""
        return functools.reduce(operator.or_, (self.bits[item] for item in items), 0)

    def support(self, items: Iterable[int]) -> int:
        """Return the number of records that hold all the items."""
        return common((self.bits[item] for item in items), self.all_bits).bit_count()

    def take(self, records: Sequence[int] | IndexArray) -> Transactions:
        """Return some of the records, over the same items."""
        chosen = np.asarray(records, dtype=np.int64)
        lengths = self.lengths[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        items = np.empty(offsets[-1], np.int32)
        for a, b in _blocks(offsets):
            begin, end = offsets[a], offsets[b]
            shift = np.repeat(self.offsets[chosen[a:b]] - offsets[a:b], lengths[a:b])
            items[begin:end] = self.items[shift + np.arange(begin, end)]
        return Transactions(self.labels, offsets, items, self.members)

    def keep(self, kept: BoolArray) -> Transactions:
        """Return the records with some of their occurrences, shape [occurrences], over the same items."""
        lengths = np.bincount(self.record_of[kept], minlength=len(self))
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return Transactions(self.labels, offsets, self.items[kept], self.members)

    def texts(self) -> list[tuple[str, ...]]:
        """Return the labels of each record's items, in the order of the labels; equal records share theirs."""
        known: dict[bytes, tuple[str, ...]] = {}
        found = []
        for row in self:
            key = row.tobytes()
            if key not in known:
                known[key] = tuple(self.labels[item] for item in row.tolist())
            found.append(known[key])
        return found

    def order(self) -> IndexArray:
        """Return the records in the order of `texts`, equal ones in their own."""
        rank = np.empty(len(self.labels) + 1, np.uint16 if len(self.labels) < 1 << 16 else np.int64)
        rank[sorted(range(len(self.labels)), key=self.labels.__getitem__)] = np.arange(1, len(rank))
        rank[-1] = 0  # behind the end of a record
        places = np.append(self.items, np.int32(-1))
        found = np.arange(len(self))
        for place in reversed(range(int(self.lengths.max(initial=0)))):
            there = self.offsets[:-1][found] + place
            keys = rank[places[np.where(there < self.offsets[1:][found], there, -1)]]
            found = found[np.argsort(keys, kind="stable")]
        return found


def common(bits: Iterable[int], whole: int) -> int:
    """Return the records that are in ``whole`` and in all of some sets of records, a bit for each."""
    return functools.reduce(operator.and_, bits, whole)


def transactions_of(records: Iterable[Iterable[str]], codes: Iterable[str] = ()) -> Transactions:
    """Return records of codes as transactions.

    Parameters
    ----------
    records : iterable of iterables of str
        The codes of each record; repeated ones count once, records may be empty.
    codes : iterable of str
        Further codes of the domain, without records.

    Raises
    ------
    InputError
        When a code is empty; names the record.
    """
    sets = [frozenset(record) for record in records]
    for number, record in enumerate(sets, 1):
        if "" in record:
            raise InputError("an empty code", "remove it", position=f"record {number}")
    labels = sorted(frozenset(codes).union(*sets))
    return from_rows(labels, sets)


def from_rows(
    labels: Sequence[str], rows: Iterable[Iterable[str]], members: Sequence[frozenset[str]] = ()
) -> Transactions:
    """Return records of labels as transactions.

    Parameters
    ----------
    labels : sequence of str
        The items, in this order.
    rows : iterable of iterable of str
        Labels of each record, all of them among ``labels``; repeated ones count once.
    members : sequence of frozenset of str
        Original codes that each item stands for; each for itself by default.
    """
    place = {label: item for item, label in enumerate(labels)}
    return from_items(labels, [{place[label] for label in row} for row in rows], members)


def from_items(
    labels: Sequence[str], rows: Sequence[Collection[int]], members: Sequence[frozenset[str]]
) -> Transactions:
    """Return records of items, each once in its record, as transactions; see `from_rows`."""
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    items = np.fromiter((item for row in rows for item in sorted(row)), np.int32, count=int(offsets[-1]))
    return Transactions(tuple(labels), offsets, items, tuple(members))


def set_label(members: Iterable[str]) -> str:
    """Return the label of a set of codes: the code itself, or ``(a,b)`` in order."""
    names = sorted(members)
    return names[0] if len(names) == 1 else f"({','.join(names)})"


def without(data: Transactions, gone: Iterable[int]) -> Transactions:
    """Return the records without some items (by number), which are suppressed everywhere."""
    kept = np.setdiff1d(np.arange(len(data.labels)), list(gone))
    image = np.full(len(data.labels), -1)
    image[kept] = np.arange(len(kept))
    return generalize(data, image, [data.labels[i] for i in kept], [data.members[i] for i in kept])


def generalize(
    data: Transactions, image: NDArray[np.integer], labels: Sequence[str], members: Sequence[frozenset[str]]
) -> Transactions:
    """Replace every item everywhere.

    Parameters
    ----------
    data : Transactions
        The records.
    image : integer array, shape (items,)
        New item of each item, -1 where it is suppressed.
    labels, members : sequences
        The new items.

    Returns
    -------
    Transactions
        The records over the new items; what became the same item counts once a record.
    """
    image = np.asarray(image)
    width = max(len(labels), 1)
    counts, items = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
    for a, b in _blocks(data.offsets):
        new = image[data.items[data.offsets[a] : data.offsets[b]]]
        keep = new >= 0
        keys = np.unique(np.repeat(np.arange(b - a), data.lengths[a:b])[keep] * width + new[keep])
        counts.append(np.bincount(keys // width, minlength=b - a))
        items.append((keys % width).astype(np.int32))
    return Transactions(tuple(labels), np.cumsum(np.concatenate(counts)), np.concatenate(items), tuple(members))


def _blocks(offsets: IntArray) -> Iterator[tuple[int, int]]:
    """Yield stretches of records, the first and the one behind the last, that have some number of occurrences."""
    first = 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _BLOCK, "right")) - 1)
        yield first, last
        first = last
