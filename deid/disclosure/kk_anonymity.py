"""(k,k)-anonymity: every record has its own box, alike to k others from both sides (Gionis, Mazza, Tassa 2008).

Weaker than k-anonymity against who knows the whole table, as strong against who knows one person, and it loses less,
because boxes of different records may overlap instead of being equal.
"""

from __future__ import annotations

import numpy as np

from deid.base.arrays import BoolArray
from deid.base.errors import ConfigError, require
from deid.disclosure.clustering import BoxLoss
from deid.disclosure.encoding import CodedTable, Ints

MAX_ROWS = 20_000
"""The cost grows with the square of the rows."""


def kk_anonymity(table: CodedTable, k: int) -> tuple[Ints, Ints]:
    """Return a box of codes (least, greatest; each [n, d]) for every row such that (k,k)-anonymity holds.

    First every box is grown by the k - 1 records that cost least, one after the other, so that it covers k records;
    then, while a record lies in fewer than k boxes, the boxes that lose least by it are grown to cover it.

    Raises
    ------
    ConfigError
        When there are fewer than k rows, several rows a person, or more than `MAX_ROWS` rows.
    """
    count = len(table)
    if table.persons is not None:
        raise ConfigError("(k,k)-anonymity counts records", "use mondrian or local where a person has several rows")
    require(count >= k, f"no release of these {count} records can reach {k}-anonymity", "ask for less, or add records")
    require(count <= MAX_ROWS, f"more than {MAX_ROWS} rows", "use mondrian or local for large tables")
    boxes = BoxLoss(table.columns)
    codes = table.codes
    low, high = codes.copy(), codes.copy()
    for row in range(count):
        own_low, own_high = _closed(table, codes[row], codes[row])
        inside = _within(own_low, own_high, codes)
        while np.count_nonzero(inside) < k:
            cost = boxes.joined(own_low, own_high, codes, codes)
            cost[inside] = np.inf
            nearest = codes[int(np.argmin(cost))]
            own_low, own_high = _closed(table, np.minimum(own_low, nearest), np.maximum(own_high, nearest))
            inside = _within(own_low, own_high, codes)
        low[row], high[row] = own_low, own_high
    loss = boxes.loss(low, high)
    for row in range(count):
        record = codes[row]
        covering = (low <= record).all(axis=1) & (high >= record).all(axis=1)
        missing = k - int(np.count_nonzero(covering))
        if missing > 0:
            rise = boxes.joined(record, record, low, high) - loss
            rise[covering] = np.inf
            for box in np.argsort(rise, kind="stable")[:missing]:
                low[box], high[box] = _closed(table, np.minimum(low[box], record), np.maximum(high[box], record))
                loss[box] = boxes.loss(low[box][None], high[box][None])[0]
    return low, high


def _closed(table: CodedTable, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return what is published for a box: in columns with a hierarchy, all leaves below the common ancestor."""
    ends = [column.covers(low[c : c + 1], high[c : c + 1]) for c, column in enumerate(table.columns)]
    return (
        np.array([first[0] for first, _ in ends], dtype=np.int32),
        np.array([last[0] for _, last in ends], dtype=np.int32),
    )


def _within(low: Ints, high: Ints, codes: Ints) -> BoolArray:
    return np.asarray(((codes >= low) & (codes <= high)).all(axis=1))
