"""Records as keyed Bloom filters, so that two sites can compare persons without exchanging identifiers.

A cryptographic long-term key (CLK; Schnell, Bachteler and Reiher, "A novel error-tolerant anonymous linking code",
2011) is one Bloom filter a record: each q-gram of each field sets some bits, which an HMAC with a secret of the sites
chooses (random hashing; Schnell and Borgs, "Randomized response and balanced Bloom filters for privacy preserving
record linkage", 2016), and the Dice coefficient of two filters follows how alike the records are. Hardening: a salt of
each record, here the year of a date (Niedermeyer, Steinmetzer, Kroll and Schnell 2014); XOR folding (Schnell and Borgs,
"XOR-folding for Bloom filter-based encryptions for privacy-preserving record linkage", 2016); balancing, by which all
filters have as many ones (Schnell and Borgs 2016). Who has the secret can try names; who has not can still count: see
`deid.experiments.filter_attack`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.base.errors import ConfigError, InputError, require
from deid.base.keys import Key
from deid.base.late import pd
from deid.base.options import option
from deid.table.table_files import read_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAIR_BUDGET = 5_000_000_000
"""Most pairs of filters that are compared one by one, minutes of two cores; more need blocks."""

MOST_FOUND = 50_000_000
"""Most pairs that a comparison returns."""
LSH_BITS = 24
"""Bits in which two filters agree that are compared when blocks are asked for."""

_ROWS = 2048
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1).astype(np.uint8)
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_COLUMN = re.compile(r"clk-\d+-[0-9a-f]{16}")


_PANEL = "Hardening"


def _weighted(text: str) -> tuple[str, int]:
    """Read ``COLUMN`` or ``COLUMN=N``."""
    name, equals, number = text.rpartition("=")
    if not equals:
        return text, 10
    require(name and number.isdecimal(), f"{text!r} is not of the form COLUMN=N", "for example: last=12")
    return name, int(number)


@dataclass(frozen=True)
class Encoding:
    """How records become filters; both sites must use the same.

    A pair of ``text`` and ``date`` is a column and the bits that each of its q-grams sets, its weight. Texts are
    compared by the q-grams of their letters and digits, dates by those of YYYYMMDD with their place.
    """

    text: tuple[tuple[str, int], ...] = option(
        (), "Column of names, numbers or addresses, and bits of a q-gram (10; repeatable).", "--text-column",
        metavar="COLUMN[=N]", read=_weighted,
    )  # fmt: skip
    date: tuple[tuple[str, int], ...] = option(
        (),
        "Column of ISO dates, and bits of a q-gram (10; repeatable).",
        "--date-column",
        metavar="COLUMN[=N]",
        read=_weighted,
    )
    salt: str | None = option(
        None, "Column of dates whose year chooses other bits; a wrong year never matches.", metavar="COLUMN",
        panel=_PANEL,
    )  # fmt: skip
    fold: int = option(0, "Times that half of a filter is XORed onto the other.", metavar="N", panel=_PANEL)
    balance: bool = option(False, "Add the complement, shuffled: all filters have as many ones.", panel=_PANEL)
    bits: int = option(1024, "Bits before hardening, a power of two.", metavar="N", panel=_PANEL)
    q: int = option(2, "Letters of a q-gram.", metavar="N", panel=_PANEL)

    def __post_init__(self) -> None:
        names = [name for name, _ in (*self.text, *self.date)]
        if not names or len(set(names)) < len(names):
            raise ConfigError("name each column to encode once", "for example: --text-column first --text-column last")
        if not all(1 <= hashes <= 100 for _, hashes in (*self.text, *self.date)):
            raise ConfigError("a q-gram sets 1 to 100 bits", "10 is usual")
        if self.bits & (self.bits - 1) or not 64 <= self.bits <= 65536:
            raise ConfigError(f"a filter of {self.bits} bits", "a power of two from 64 to 65536, such as 1024")
        if not 0 <= self.fold <= 4 or self.bits >> self.fold < 64:
            raise ConfigError(f"{self.fold} folds of {self.bits} bits", "at least 64 bits must be left")
        require(1 <= self.q <= 5, f"q-grams of {self.q} letters", "1 to 5; 2 is usual")

    @property
    def length(self) -> int:
        """Bits of a finished filter."""
        return (self.bits >> self.fold) << self.balance

    def name(self, key: Key) -> str:
        """Return the name of the column of filters: equal where fields, hardening and secret are."""
        return f"clk-{self.length}-{key.derive('clk').mac('encoding', json.dumps(asdict(self))).hex()[:16]}"


def normalized(value: str) -> str:
    """Return letters and digits in lower case, without accents.

    >>> normalized("O'Néill-Smith")
    'oneillsmith'
    """
    return "".join(c for c in unicodedata.normalize("NFKD", value.casefold()) if c.isalnum())


def q_grams(value: str, q: int) -> list[str]:
    """Return the distinct q-grams of a text with blanks at both ends, in order.

    >>> q_grams("anna", 2)
    [' a', 'an', 'nn', 'na', 'a ']
    """
    padded = " " * (q - 1) + value + " " * (q - 1)
    return list(dict.fromkeys(padded[at : at + q] for at in range(len(padded) - q + 1))) if value else []


def _grams(value: str, kind: str, q: int) -> list[str]:
    if kind == "text":
        return q_grams(normalized(value), q)
    digits = value.replace("-", "")
    return [f"{at}{digits[at : at + q]}" for at in range(len(digits) - q + 1)]


def _values(frame: pd.DataFrame, column: str, kind: str) -> list[str]:
    """Return a column's values, empty where missing.

    Raises
    ------
    InputError
        When a date is in another form: two sites that write dates differently would never match.
    """
    if column not in frame.columns:
        raise ConfigError(f"the table has no column {column!r}", f"it has {', '.join(map(repr, frame.columns))}")
    values = ["" if value is None or value != value else str(value).strip() for value in frame[column]]
    if kind == "date":
        wrong = [row for row, value in enumerate(values, 1) if value and not _DATE.fullmatch(value)]
        if wrong:
            told = f"column {column!r}: {len(wrong)} values are no dates, the first in row {wrong[0]}"
            raise InputError(told, "write dates as YYYY-MM-DD, YYYY-MM or YYYY, or leave them empty")
    if not any(values):
        raise InputError(f"column {column!r} is empty in all rows", "leave this field out, at both sites")
    return values


def _positions(key: Key, count: int, bits: int, *parts: str) -> list[int]:
    """Return positions that look random to who has not the key; each drawn from all bits."""
    found: list[int] = []
    while len(found) < count:
        digest = key.mac(*parts, str(len(found)))
        found += np.frombuffer(digest, "<u2")[: count - len(found)].tolist()
    return [number % bits for number in found]


def encode(frame: pd.DataFrame, encoding: Encoding, key: Key) -> NDArray[np.uint8]:
    """Return a filter for each record.

    Parameters
    ----------
    frame : DataFrame
        Texts; a missing value sets no bits.
    encoding : Encoding
    key : Key
        The secret of the sites that encode.

    Returns
    -------
    ndarray of uint8, shape (rows, ``encoding.length`` / 8)
        Packed bits.

    Raises
    ------
    ConfigError, InputError
        When a column is not there, or its values cannot be encoded.
    """
    secret = key.derive("clk")
    salts = [""] * len(frame)
    if encoding.salt is not None:
        salts = [value[:4] for value in _values(frame, encoding.salt, "date")]
    columns = [
        (name, kind, hashes, _values(frame, name, kind))
        for kind, pairs in (("text", encoding.text), ("date", encoding.date))
        for name, hashes in pairs
    ]
    order = np.argsort(np.frombuffer(hashlib.shake_256(secret.mac("order")).digest(8 * encoding.length), "<u8"))
    of_gram: dict[tuple[str, str, str], list[int]] = {}
    blocks = [np.zeros((0, encoding.length // 8), dtype=np.uint8)]
    for start in range(0, len(frame), _ROWS):
        rows = range(start, min(start + _ROWS, len(frame)))
        bits = np.zeros((len(rows), encoding.bits), dtype=bool)
        for name, kind, hashes, values in columns:
            at, places = [], []
            for row in rows:
                for gram in _grams(values[row], kind, encoding.q):
                    part = (name, salts[row], gram)
                    if part not in of_gram:
                        of_gram[part] = _positions(secret, hashes, encoding.bits, *part)
                    at.append(row - start)
                    places.append(of_gram[part])
            if at:
                bits[np.array(at)[:, None], np.array(places)] = True
        for _ in range(encoding.fold):
            left, right = np.split(bits, 2, axis=1)
            bits = left ^ right
        if encoding.balance:
            bits = np.concatenate([bits, ~bits], axis=1)[:, order]
        blocks.append(np.packbits(bits, axis=1))
    return np.concatenate(blocks)


def _counts(filters: NDArray[np.uint8]) -> IntArray:
    return _ONES[filters].sum(axis=-1, dtype=np.int64)


def dice(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> FloatArray:
    """Return the Dice coefficients of filters row by row: twice the common ones over all ones; 0 for two empty ones."""
    both, ones = _counts(a & b), _counts(a) + _counts(b)
    return np.divide(2.0 * both, ones, out=np.zeros(len(both)), where=ones > 0)


Pairs = tuple[IntArray, IntArray, FloatArray]


def match(
    a: NDArray[np.uint8], b: NDArray[np.uint8], threshold: float, *, tables: int = 0, one_to_one: bool = False
) -> Pairs:
    """Return the pairs of filters whose Dice coefficient is not below a threshold, by falling coefficient.

    Parameters
    ----------
    a, b : ndarray of uint8, shape (rows, bytes)
    threshold : float
        Above 0, at most 1.
    tables : int
        0 compares all pairs that the numbers of ones leave possible; else only pairs that agree in `LSH_BITS` bits
        drawn at random, in at least one of so many draws (locality-sensitive hashing; Indyk and Motwani 1998): far
        fewer, and some matches may be missed.
    one_to_one : bool
        Each row is in one pair at most; the best pairs are taken first.

    Returns
    -------
    rows of a, rows of b, coefficients

    Raises
    ------
    ConfigError
        When lengths differ, or there is more to compare than `PAIR_BUDGET`, or more found than `MOST_FOUND`.
    """
    if a.shape[1] != b.shape[1]:
        raise ConfigError("filters of different length cannot be compared", "encode both with the same options")
    if not 0 < threshold <= 1 or tables < 0:
        raise ConfigError(f"a threshold of {threshold:g} and {tables} tables", "above 0 to 1, such as 0.85; 0 or more")
    if not tables and len(a) * len(b) > PAIR_BUDGET:
        told = f"{len(a)} x {len(b)} filters are more than {PAIR_BUDGET:,} pairs"
        raise ConfigError(told, "compare within blocks: --tables 40")
    found = []
    total = 0
    for rows_a, rows_b in _in_blocks(a, b, tables) if tables else _all_pairs(a, b, threshold):
        scores = dice(a[rows_a], b[rows_b])
        alike = scores >= threshold
        found.append((rows_a[alike], rows_b[alike], scores[alike]))
        total += len(found[-1][0])
        if total > MOST_FOUND * max(1, tables):
            raise ConfigError(f"more than {MOST_FOUND:,} pairs are alike", "raise the threshold")
    empty = np.zeros(0, dtype=np.int64)
    rows_a, rows_b, scores = (np.concatenate(part) for part in zip((empty, empty, np.zeros(0)), *found, strict=True))
    _, kept = np.unique(rows_a * len(b) + rows_b, return_index=True)
    kept = kept[np.argsort(-scores[kept], kind="stable")]
    if one_to_one:
        kept = _one_to_one(rows_a, rows_b, kept)
    return rows_a[kept], rows_b[kept], scores[kept]


def matched_pairs(
    a: str, b: str, threshold: float, *, tables: int = 0, one_to_one: bool = False
) -> tuple[pd.DataFrame, tuple[int, int]]:
    """Return the pairs of filters in two files that are alike: their pseudonyms and Dice coefficient.

    Parameters
    ----------
    a, b : str
        Tables that `encoded_table` made, by path or URL.
    threshold, tables, one_to_one
        See `match`.

    Returns
    -------
    pandas.DataFrame
        Columns a, b and dice, by falling coefficient.
    (int, int)
        Filters of both.

    Raises
    ------
    InputError
        When a file cannot be read, or they were made in different ways.
    ConfigError
        See `match`.
    """
    sides = (read_encoded(read_table(one, text=True), one) for one in (a, b))
    (how, ids_a, filters_a), (other, ids_b, filters_b) = sides
    if how != other:
        hint = "encode both with the same key and the same options"
        raise InputError(f"its filters were made in another way than those of {a}", hint, b)
    rows_a, rows_b, scores = match(filters_a, filters_b, threshold, tables=tables, one_to_one=one_to_one)
    ids = {"a": [ids_a[row] for row in rows_a.tolist()], "b": [ids_b[row] for row in rows_b.tolist()]}
    pairs = pd.DataFrame({**ids, "dice": scores.round(6)})
    return pairs.sort_values(["dice", "a", "b"], ascending=[False, True, True]), (len(ids_a), len(ids_b))


def _one_to_one(rows_a: IntArray, rows_b: IntArray, order: IntArray) -> IntArray:
    taken_a: set[int] = set()
    taken_b: set[int] = set()
    kept = []
    for pair, one, two in zip(order.tolist(), rows_a[order].tolist(), rows_b[order].tolist(), strict=True):
        if one not in taken_a and two not in taken_b:
            taken_a.add(one)
            taken_b.add(two)
            kept.append(pair)
    return np.array(kept, dtype=np.int64)


def _all_pairs(a: NDArray[np.uint8], b: NDArray[np.uint8], threshold: float) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield blocks of pairs that may be alike; filters of which one has too few ones for the other are passed over."""
    ones_a, ones_b = _counts(a), _counts(b)
    order_a, order_b = np.argsort(ones_a, kind="stable"), np.argsort(ones_b, kind="stable")
    order_a, order_b = order_a[ones_a[order_a] > 0], order_b[ones_b[order_b] > 0]
    sorted_b = ones_b[order_b]
    bound = threshold / (2 - threshold) * (1 - 1e-9)
    for at in range(0, len(order_a), _ROWS):
        rows_a = order_a[at : at + _ROWS]
        low, high = ones_a[rows_a[0]] * bound, ones_a[rows_a[-1]] / bound
        start, end = np.searchsorted(sorted_b, low, "left"), np.searchsorted(sorted_b, high, "right")
        left = np.hstack([np.unpackbits(a[rows_a], axis=1), ones_a[rows_a, None], np.ones((len(rows_a), 1))])
        for place in range(start, end, _ROWS):
            rows_b = order_b[place : min(place + _ROWS, end)]
            # what is common less what must be: one product of matrices, whose rounding the margin covers
            needed = np.full((len(rows_b), 1), -threshold / 2)
            right = np.hstack([np.unpackbits(b[rows_b], axis=1), needed, needed * ones_b[rows_b, None]])
            one, two = np.nonzero(left.astype(np.float32) @ right.astype(np.float32).T >= -0.5)
            yield rows_a[one], rows_b[two]


def _in_blocks(a: NDArray[np.uint8], b: NDArray[np.uint8], tables: int) -> Iterator[tuple[IntArray, IntArray]]:
    rng = np.random.default_rng(0)
    compared = 0
    full_a, full_b = (np.flatnonzero(_counts(side)) for side in (a, b))
    for _ in range(tables):
        chosen = rng.choice(8 * a.shape[1], LSH_BITS, replace=False)
        keys = [
            sum(((side[rows, bit >> 3] >> (7 - (bit & 7))) & 1).astype(np.int64) << i for i, bit in enumerate(chosen))
            for side, rows in ((a, full_a), (b, full_b))
        ]
        order = np.argsort(keys[1], kind="stable")
        first, last = (np.searchsorted(keys[1][order], keys[0], side) for side in ("left", "right"))
        ends = np.cumsum(last - first)
        compared += int(ends[-1]) if len(ends) else 0
        require(compared <= PAIR_BUDGET // 10, "the blocks hold too many pairs", "encode more fields, or fewer tables")
        cuts = np.searchsorted(ends, np.arange(0, ends[-1] if len(ends) else 0, 1 << 17), "left")
        for start, end in zip(cuts, [*cuts[1:], len(ends)], strict=True):
            counts = (last - first)[start:end]
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            rows_a = np.repeat(full_a[start:end], counts)
            rows_b = full_b[order[np.repeat(first[start:end], counts) + within]]
            yield rows_a, rows_b


def encoded_table(frame: pd.DataFrame, encoding: Encoding, key: Key) -> tuple[pd.DataFrame, pd.Series]:
    """Return what may go to who compares, and what stays: whose filter each is.

    Returns
    -------
    (DataFrame, Series)
        Columns ``id`` and `Encoding.name`: a pseudonym and the filter in base64 a record, in the pseudonyms' order,
        which tells nothing of the table's; and the pseudonyms in the order of the table.
    """
    filters = encode(frame, encoding, key)
    # two tables of one secret get other pseudonyms: neither site knows those of the other
    named = key.derive("clk").derive(hashlib.sha256(filters.tobytes()).hexdigest())
    ids = pd.Series([named.pseudonym("rec", str(row)) for row in range(len(frame))], index=frame.index, dtype=object)
    texts = [base64.b64encode(row.tobytes()).decode("ascii") for row in filters]
    table = pd.DataFrame({"id": ids.tolist(), encoding.name(key): texts})
    return table.sort_values("id", ignore_index=True), ids


def read_encoded(frame: pd.DataFrame, where: str) -> tuple[str, list[str], NDArray[np.uint8]]:
    """Return how a table of filters was encoded, its ids and its packed filters.

    Raises
    ------
    InputError
        When it is no table of filters, or ids repeat; names ``where`` it stands.
    """
    named = [str(name) for name in frame.columns if _COLUMN.fullmatch(str(name))]
    hint = "give a table that deid link encode wrote"
    if len(named) != 1 or "id" not in frame.columns:
        raise InputError("no columns id and clk-...", hint, where)
    ids = [str(value) for value in frame["id"]]
    require(len(set(ids)) >= len(ids), "ids repeat", hint, where, kind=InputError)
    size = int(named[0].split("-")[1]) // 8
    filters = np.zeros((len(frame), size), dtype=np.uint8)
    for row, text in enumerate(frame[named[0]]):
        try:
            raw = base64.b64decode(str(text), validate=True)
        except binascii.Error:
            raw = b""
        require(len(raw) == size, f"row {row + 1} holds no filter of {8 * size} bits", hint, where, kind=InputError)
        filters[row] = np.frombuffer(raw, np.uint8)
    return named[0], ids, filters
