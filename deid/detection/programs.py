"""Expressions as programs of a small machine that tells at once where no match can begin.

``deid._native.Sieve`` runs the program of a pattern at each place that its sets let through; only where the program
ends well is the expression itself tried. A program accepts wherever the expression matches, and seldom elsewhere: what
it cannot know it takes for granted. So it knows the 128 ASCII characters and takes others for what fits, gives no
character back to none but to all (possessive repeats are ordinary ones), and passes whatever a back reference asks for.
Below a negation all of this turns round: there it must be certain. The machine tries alternatives one after the other
and goes back (as Spencer's matcher of 1986); where that takes too long it accepts.

A program is a list of numbers: an instruction of `Do` and what belongs to it. Jumps count from their instruction.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import numpy as np

from deid.detection.expressions import ALL, OTHER, OUTSIDE, WILD, WORD, At, Group, Look, Node, One, Repeat

__all__ = ["Do", "Programs"]

_LONGEST = 4096
"""Numbers that a repeated piece may be written out to."""
_ASCII = (1 << 128) - 1
_WORDY, _OTHERS = WORD & _ASCII, _ASCII & ~WORD | OUTSIDE
_UNCERTAIN = OTHER | WILD
_LINE = OUTSIDE | 1 << ord("\n")


class Do(enum.IntEnum):
    """Instructions; ``deid/_programs.c`` has the same."""

    ACCEPT = 0
    FAIL = 1
    FORTH = 2
    """set: reads a character of the set."""
    BACK = 3
    """set: reads the character before, towards the start of the text."""
    NEXT = 4
    """set: the character that would be read is in the set."""
    LAST = 5
    """set: the character before is in the set."""
    RUN = 6
    """set, least, most (-1: any number): reads characters of the set, as many as there are, and fewer in need."""
    RUN_BACK = 7
    SPLIT = 8
    """jump: goes on behind, in need at the jump."""
    JUMP = 9
    """jump."""
    HOLDS = 10
    """jump: the program that follows accepts; goes on at the jump."""
    HOLDS_NOT = 11


class Programs:
    """The programs of many expressions, and the sets that they share."""

    def __init__(self) -> None:
        self._sets: dict[int, int] = {}
        self._codes: list[list[int]] = []

    def add(self, branches: Sequence[Sequence[Node]] | None) -> None:
        """Add the program of an expression that was parsed; None: of one that was not understood."""
        code = self._either(branches, back=False, certain=False) if branches is not None else []
        self._codes.append([*code, Do.ACCEPT])

    def tables(self) -> tuple[bytes, bytes, bytes]:
        """Return the programs as ``deid._native.Sieve`` reads them.

        Returns
        -------
        code : bytes
            The programs one behind the other, 32-bit integers.
        starts : bytes
            Where each begins and the last ends, 32-bit integers.
        sets : bytes
            Each set as three 64-bit words, a bit for each symbol.
        """
        starts = np.cumsum([0, *map(len, self._codes)])
        code = [number for code in self._codes for number in code]
        sets = b"".join(found.to_bytes(24, "little") for found in self._sets)
        return np.array(code, np.int32).tobytes(), starts.astype(np.int32).tobytes(), sets

    def _set(self, found: int) -> int:
        return self._sets.setdefault(found, len(self._sets))

    def _either(self, branches: Sequence[Sequence[Node]], *, back: bool, certain: bool) -> list[int]:
        *others, code = [self._chain(b, back=back, certain=certain) for b in branches]
        for other in reversed(others):
            code = [Do.SPLIT, len(other) + 4, *other, Do.JUMP, len(code) + 2, *code]
        return code

    def _chain(self, nodes: Sequence[Node], *, back: bool, certain: bool) -> list[int]:
        ordered = reversed(nodes) if back else nodes
        return [number for node in ordered for number in self._node(node, back=back, certain=certain)]

    def _node(self, node: Node, *, back: bool, certain: bool) -> list[int]:
        match node.piece:
            case One() as one:
                return [Do.BACK if back else Do.FORTH, self._set(_known(one, certain))]
            case Group(branches, atomic):
                return [Do.FAIL] if atomic and certain else self._either(branches, back=back, certain=certain)
            case Repeat() as repeat:
                return self._repeat(repeat, back=back, certain=certain)
            case Look() as look:
                return self._look(look, certain=certain)
            case At() as place:
                return self._at(place, certain=certain)

    def _repeat(self, repeat: Repeat, *, back: bool, certain: bool) -> list[int]:
        if repeat.possessive and certain:
            return [Do.FAIL]
        one, most = _one_of(repeat.node), repeat.most
        if one is not None:
            found = self._set(_known(one, certain))
            return [Do.RUN_BACK if back else Do.RUN, found, repeat.least, -1 if most is None else most]
        code = self._node(repeat.node, back=back, certain=certain)
        if (len(code) + 4) * max(repeat.least, most or 0) > _LONGEST:
            return [Do.FAIL if certain else Do.ACCEPT]
        more: list[int] = []
        if most is None:
            more = [Do.SPLIT, len(code) + 4, *code, Do.JUMP, -len(code) - 2]
        else:
            for _ in range(most - repeat.least):
                more = [Do.SPLIT, len(code) + len(more) + 2, *code, *more]
        return code * repeat.least + more

    def _look(self, look: Look, *, certain: bool) -> list[int]:
        certain ^= look.negated
        ones = [_one_of(branch[0]) if len(branch) == 1 else None for branch in look.branches]
        found = 0
        for one in ones:
            found |= _known(one, certain) if one is not None else 0
        if None not in ones:
            if look.negated:
                found = (ALL | WILD) & ~found
            return [Do.LAST if look.behind else Do.NEXT, self._set(found)]
        code = [*self._either(look.branches, back=look.behind, certain=certain), Do.ACCEPT]
        return [Do.HOLDS_NOT if look.negated else Do.HOLDS, len(code) + 2, *code]

    def _at(self, place: At, *, certain: bool) -> list[int]:
        if place is At.HERE:
            return []
        if place is At.LINE_START:
            return [Do.LAST, self._set(OUTSIDE if certain else _LINE)]
        if place is At.LINE_END:
            return [Do.NEXT, self._set(OUTSIDE if certain else _LINE)]
        if place is At.END:
            return [Do.NEXT, self._set(OUTSIDE)]
        if place is At.WORD_EDGE:
            unknown = 0 if certain else _UNCERTAIN
            word, other = self._set(_WORDY | unknown), self._set(_OTHERS | unknown)
            begins, ends = [Do.LAST, other, Do.NEXT, word], [Do.LAST, word, Do.NEXT, other]
            return [Do.SPLIT, len(begins) + 4, *begins, Do.JUMP, len(ends) + 2, *ends]
        return [Do.FAIL if certain else Do.ACCEPT]


def _known(one: One, certain: bool) -> int:
    return one.surely if certain else one.may | WILD


def _one_of(node: Node) -> One | None:
    """Return the character that a piece is, where it is one."""
    match node.piece:
        case One() as one:
            return one
        case Group(((only,),), _):
            return _one_of(only)
    return None
