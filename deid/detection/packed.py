"""Many spans in little room, and which of them hang together.

A span as an object takes about 160 bytes, of which a text of many megabytes has millions on the way.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from deid.document import Span

_PARTS = re.compile(r"[^\W_]|[\t\n]")
"""What stands in no gap that two pieces of one span are joined over."""
_CHUNK = 5_000
"""Spans that are made objects at a time."""


class Packed:
    """A list of spans, each in 20 bytes; what is not its place is held once for all that share it."""

    def __init__(self) -> None:
        self._starts, self._ends, self._kinds = array("q"), array("q"), array("i")
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._samples: list[Span] = []

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[Span]:
        return self.some(range(len(self)))

    def extend(self, spans: Iterable[Span]) -> None:
        """Add spans."""
        for span in spans:
            kind = (span.category, span.id, span.source, span.score, span.attributes, span.also)
            number = self._numbers.setdefault(kind, len(self._samples))
            if number == len(self._samples):
                self._samples.append(span.moved(0, 1))
            self._starts.append(span.start)
            self._ends.append(span.end)
            self._kinds.append(number)

    def some(self, places: Iterable[int]) -> Iterator[Span]:
        """Yield the spans at some places of the list."""
        starts, ends, kinds, samples = self._starts, self._ends, self._kinds, self._samples
        return (samples[kinds[place]].moved(starts[place], ends[place]) for place in places)

    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Return starts and ends."""
        return np.array(self._starts, dtype=np.int64), np.array(self._ends, dtype=np.int64)


def together(text: str, spans: Packed, others: Packed) -> Iterator[tuple[list[Span], list[Span]]]:
    """Yield the spans of a text in portions, with what of the others lies there, each by start.

    Portions do not touch, and a letter, a digit, a tab or a line's end stands between two, so that what is joined is in
    one (`deid.detection.edges.joined`), and cells of a table need not be.

    Parameters
    ----------
    text : str
    spans : Packed
    others : Packed
        No character of them lies outside of the spans.
    """
    if not len(spans):
        return
    starts, ends = spans.columns()
    order = np.argsort(starts, kind="stable")
    reach = np.maximum.accumulate(ends[order])
    beside = others.columns()[0]
    apart = np.argsort(beside, kind="stable")
    beside = beside[apart]
    first = done = 0
    for stop in range(1, len(order) + 1):
        few = stop - first < _CHUNK
        if stop < len(order) and (few or not _PARTS.search(text, reach[stop - 1], starts[order[stop]])):
            continue
        upto = int(np.searchsorted(beside, reach[stop - 1]))
        yield list(spans.some(order[first:stop].tolist())), list(others.some(apart[done:upto].tolist()))
        first, done = stop, upto
