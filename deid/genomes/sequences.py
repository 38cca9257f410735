"""Aligned sequences: FASTA files, and a progressive alignment for sequences of unequal length."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from deid.base.errors import FormatError, InputError
from deid.base.files import write_bytes
from deid.genomes.lattice import DISTANCES, GAP, decode, encode

_LINE = 70
_GAP_COST = int(DISTANCES[1, GAP])
"""What a base against a gap costs, as in the lattice."""


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of equal length.

    Parameters
    ----------
    names : tuple of str
        One a sequence; empty where the file gives none.
    codes : uint8 array, shape (sequences, sites)
        Symbols as `deid.genomes.lattice` codes them.
    """

    names: tuple[str, ...] = field(repr=False)
    codes: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.names)

    def letters(self) -> list[str]:
        """Return the sequences in letters."""
        return [decode(row) for row in self.codes]

    def order(self) -> list[int]:
        """Return their places in the order of their symbols, of equal ones in that of their names."""
        return sorted(range(len(self)), key=lambda i: (self.codes[i].tobytes(), self.names[i]))

    def at(self, places: list[int]) -> Sequences:
        """Return the sequences at some places."""
        return Sequences(tuple(self.names[i] for i in places), self.codes[places])


def read_fasta(path: Path, *, unequal: str = "align") -> Sequences:
    """Return the sequences of a FASTA file, in equal length.

    Parameters
    ----------
    path : Path
    unequal : {'align', 'refuse'}
        What to do with sequences of unequal length.

    Raises
    ------
    InputError
        When the file cannot be read or is empty, a letter is no IUPAC symbol, or lengths differ and are refused; names
        the line.
    """
    where = str(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FormatError("not a FASTA file in UTF-8", "save it as UTF-8, for its names", where) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", "check the path and its permissions", where) from None
    names: list[str] = []
    parts: list[list[np.ndarray]] = []
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if not line or line.startswith(";"):
            continue
        if line.startswith(">"):
            names.append(line[1:].strip())
            parts.append([])
            continue
        if not names:
            raise FormatError("no FASTA file", "it begins with a line >name", where, f"line {number}")
        codes = encode(line.replace(" ", ""))
        if not codes.all():
            place = int(np.flatnonzero(codes == 0)[0]) + 1
            raise InputError(
                "a letter outside IUPAC", "A C G T U R Y S W M K B D H V N and - are", where, f"line {number}, {place}"
            )
        parts[-1].append(codes)
    rows = [np.concatenate(p) if p else np.empty(0, np.uint8) for p in parts]
    if not rows or not all(len(row) for row in rows):
        raise InputError("no sequence, or an empty one", "name a FASTA file with sequences", where)
    if len({len(row) for row in rows}) > 1:
        if unequal == "refuse":
            raise InputError("sequences of unequal length", "align them first, or let deid do so", where)
        return Sequences(tuple(names), align(rows))
    return Sequences(tuple(names), np.stack(rows))


def write_fasta(sequences: Sequences, path: Path) -> None:
    """Write a FASTA file, atomically and with mode 0600.

    Raises
    ------
    OutputError
        When it cannot be written.
    """
    lines = []
    for name, letters in zip(sequences.names, sequences.letters(), strict=True):
        lines.append(f">{name}")
        lines += [letters[i : i + _LINE] for i in range(0, len(letters), _LINE)]
    write_bytes(path, ("\n".join(lines) + "\n").encode())


def _pairwise(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Align two sequences (Needleman and Wunsch 1970): each column's place in ``a`` and in ``b``, -1 for a gap."""
    n, m = len(a), len(b)
    steps = np.empty((n + 1, m + 1), dtype=np.int8)  # 0 both, 1 a gap in b, 2 a gap in a
    previous = np.arange(m + 1, dtype=np.int64) * _GAP_COST
    steps[0] = 2
    ramp = np.arange(m + 1, dtype=np.int64) * _GAP_COST
    for i in range(1, n + 1):
        both = previous[:-1] + DISTANCES[a[i - 1], b]
        down = previous + _GAP_COST
        best = down.copy()
        best[1:] = np.minimum(both, down[1:])
        step = np.ones(m + 1, dtype=np.int8)
        step[1:][both <= down[1:]] = 0
        # gaps in a, one after the other: the least of best[k] + (j - k) * cost over k <= j
        current = np.minimum.accumulate(best - ramp) + ramp
        step[current < best] = 2
        steps[i], previous = step, current
    left, right = [], []
    i, j = n, m
    while i or j:
        move = int(steps[i, j]) if i and j else 2 if j else 1
        i -= move != 2
        j -= move != 1
        left.append(i if move != 2 else -1)
        right.append(j if move != 1 else -1)
    return np.array(left[::-1]), np.array(right[::-1])


def align(rows: list[np.ndarray]) -> np.ndarray:
    """Align sequences of unequal length to the longest one, one after the other, longer ones first.

    Once a gap, always a gap: what earlier sequences put in stays. Sequences of one length are taken in the order of
    their symbols, so that the alignment does not depend on the order of ``rows``.

    Returns
    -------
    uint8 array, shape (sequences, sites)
    """
    order = sorted(range(len(rows)), key=lambda i: (-len(rows[i]), rows[i].tobytes()))
    profile = rows[order[0]]
    aligned: list[np.ndarray] = []
    for i in order:
        at, own = _pairwise(profile, rows[i])
        aligned = [_spread(row, at) for row in aligned]
        profile = _spread(profile, at, fill=GAP)
        aligned.append(_spread(rows[i], own))
    result = np.empty((len(rows), len(profile)), dtype=np.uint8)
    for row, i in zip(aligned, order, strict=True):
        result[i] = row
    return result


def _spread(row: np.ndarray, places: np.ndarray, fill: int = GAP) -> np.ndarray:
    """Return the row at its places, gaps elsewhere."""
    return np.where(places >= 0, row[np.maximum(places, 0)], fill).astype(np.uint8)
