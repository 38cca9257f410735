"""The lattice of IUPAC nucleotide symbols: what two symbols have in common, and what joining them costs.

A symbol is a set of bases, kept as bits (A 1, C 2, G 4, T 8). The join of two symbols is their union; its *level* is
the number of bases less one. A gap joined with a base gives N. Distance: ``2 * level(join) - level(x) - level(y)``
(Malin, Protecting DNA sequence anonymity with generalization lattices, 2005).
"""

from __future__ import annotations

import numpy as np

_BASES = {"A": 1, "C": 2, "G": 4, "T": 8}
_CODES = {**_BASES, **dict(zip("RYSWMKBDHVN-", (5, 10, 6, 9, 3, 12, 14, 13, 11, 7, 15, 16), strict=True))}
SYMBOLS = "".join(_CODES)
"""All symbols; ``-`` is a gap."""
N = 15
"""Code of any base."""
GAP = 16
"""Code of a gap."""
_SIZE = 17

LEVELS = np.array([max(0, bin(code).count("1") - 1) for code in range(_SIZE)], dtype=np.int8)
"""Code -> level; 0 for bases and the gap, 3 for N."""


def _join(x: int, y: int) -> int:
    if x == y:
        return x
    return N if GAP in (x, y) else x | y


JOINS = np.array([[_join(x, y) for y in range(_SIZE)] for x in range(_SIZE)], dtype=np.uint8)
"""Codes of two symbols -> code of their join."""
DISTANCES = (2 * LEVELS[JOINS] - LEVELS[:, None] - LEVELS[None, :]).astype(np.int16)
"""Codes of two symbols -> their distance."""

_ENCODE = np.zeros(256, dtype=np.uint8)
for _symbol, _code in _CODES.items():
    _ENCODE[ord(_symbol)] = _ENCODE[ord(_symbol.lower())] = _code
_ENCODE[ord("U")] = _ENCODE[ord("u")] = _BASES["T"]
_ENCODE[ord(".")] = GAP
_DECODE = np.zeros(_SIZE, dtype="S1")
for _symbol, _code in _CODES.items():
    _DECODE[_code] = _symbol.encode()


def encode(sequence: str) -> np.ndarray:
    """Return the codes of a sequence, uint8 of shape (sites,); 0 where a letter is no IUPAC symbol. U counts as T."""
    return _ENCODE[np.frombuffer(sequence.encode("latin-1", "replace"), dtype=np.uint8)]


def decode(codes: np.ndarray) -> str:
    """Return a sequence in letters."""
    return b"".join(_DECODE[codes].tolist()).decode("ascii")
