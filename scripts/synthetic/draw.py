"""Reproducible choices: a stream of numbers that depends on its key alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Numbers from BLAKE2b over a key and a counter: the same on every machine and for every version of every library.

    Each entity of a document draws from a stream of its own, so that one more slot changes no other slot's filling.
    """

    def __init__(self, *key: object) -> None:
        self._key = "\x1f".join(str(part) for part in key).encode()
        self._count = 0

    def below(self, n: int) -> int:
        """Return a whole number in 0..n-1."""
        self._count += 1
        digest = hashlib.blake2b(self._key + b"\x1f%d" % self._count, digest_size=8).digest()
        return int.from_bytes(digest, "big") % n

    def between(self, low: int, high: int) -> int:
        """Return a whole number in low..high, both included."""
        return low + self.below(high - low + 1)

    def chance(self, p: float) -> bool:
        """Return True with probability ``p``."""
        return self.below(1_000_000) < p * 1_000_000

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[tuple[T, int]]) -> T:
        """Return one of the items, each with its weight."""
        rest = self.below(sum(weight for _, weight in items))
        for item, weight in items:
            rest -= weight
            if rest < 0:
                return item
        raise AssertionError("weights are positive")

    def digits(self, pattern: str) -> str:
        """Fill a pattern: ``#`` digit, ``%`` 1-9, ``^`` 2-9, ``@`` capital letter, ``&`` letter or digit, ``*`` hex."""
        out = []
        for c in pattern:
            if c == "#":
                c = str(self.below(10))
            elif c == "%":
                c = str(1 + self.below(9))
            elif c == "^":
                c = str(2 + self.below(8))
            elif c == "@":
                c = self.pick("ABCDEFGHJKLMNPRSTUVWXYZ")
            elif c == "&":
                c = self.pick("ABCDEFGHJKLMNPRSTUVWXYZ0123456789")
            elif c == "*":
                c = self.pick("0123456789abcdef")
            out.append(c)
        return "".join(out)
