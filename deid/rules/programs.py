"""Expressions as programs of a small machine that tells at once where no match can begin.

``deid._native.Sieve`` runs the program of a pattern at each place that its sets let through; only where the program
ends well is the expression itself tried. A program accepts wherever the expression matches, and seldom elsewhere: what
it cannot know it takes for granted. So it knows the 128 ASCII characters and takes others for what fits, gives no
character back to none but to all (possessive repeats are ordinary ones), and passes whatever a back reference asks for.
Below a negation all of this turns round: there it must be certain. The machine tries alternatives one after the other
and goes back (as Spencer's matcher of 1986); where that takes too long it accepts.

A program is a list of numbers: an instruction of `Do` and what belongs to it. Jumps count from their instruction. A
gate is two sets, of the next character and of the one before: going on there is in vain when they are in none of them.
Of many alternatives a switch goes on with those that the next character, or the one before, leaves.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Sequence

import numpy as np

from deid.rules.expressions import ALL, OTHER, OUTSIDE, SYMBOLS, WILD, WORD, At, Group, Look, Node, One, Repeat

_LONGEST = 4096
"""Numbers that a repeated piece may be written out to."""
_ASCII = (1 << 128) - 1
_WORDY, _OTHERS = WORD & _ASCII, _ASCII & ~WORD | OUTSIDE
_UNCERTAIN = OTHER | WILD
_LINE = OUTSIDE | 1 << ord("\n")


class Do(enum.IntEnum):
    """Instructions; ``deid/csrc/programs.c`` has the same."""

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
    """set, least, most (-1: any number), gate: reads characters of the set, as many as there are, and fewer in need."""
    RUN_BACK = 7
    SPLIT = 8
    """jump, gate, gate at the jump: goes on behind, in need at the jump."""
    JUMP = 9
    """jump."""
    HOLDS = 10
    """jump: the program that follows accepts; goes on at the jump."""
    HOLDS_NOT = 11
    SWITCH = 12
    """numbers of jumps, a byte a symbol: the one of the `JUMP` behind that the next character asks for."""
    SWITCH_BACK = 13
    """The same of the character before."""


_ONES = (Do.FORTH, Do.BACK, Do.NEXT, Do.LAST)
_RUNS = (Do.RUN, Do.RUN_BACK)
_SWITCHES = (Do.SWITCH, Do.SWITCH_BACK)
_WIDTH = -(-SYMBOLS // 4)
"""Numbers that a byte for each symbol takes."""
_SIZES = {
    **{**dict.fromkeys(Do, 2), Do.ACCEPT: 1, Do.FAIL: 1, Do.SPLIT: 6},
    **{**dict.fromkeys(_RUNS, 6), **dict.fromkeys(_SWITCHES, 1 + _WIDTH)},
}
_FEW = 4
"""Alternatives for which a switch pays."""
_ALL_OF_THEM = (-1,)
"""What a switch goes on with where no alternative can be told from others: it accepts."""
_OPEN = [0, 0]
"""A gate, until all of the program is there."""
_ANY = (ALL | WILD, ALL | WILD)


class Programs:
    """The programs of many expressions, and the sets that they share."""

    def __init__(self) -> None:
        self._sets: dict[int, int] = {}
        self._codes: list[list[int]] = []

    def add(self, branches: Sequence[Sequence[Node]] | None) -> None:
        """Add the program of an expression that was parsed; None: of one that was not understood."""
        code = self._either([self._last(b) for b in branches], certain=False) if branches is not None else [Do.ACCEPT]
        self._codes.append(self._gated([*code, Do.ACCEPT]))

    def _last(self, nodes: Sequence[Node]) -> list[int]:
        """Return the program of pieces behind which nothing comes: a long assertion waits for what follows it."""
        for number, node in enumerate(nodes):
            match node.piece:
                case Group((branch,), _):
                    return self._last([*nodes[:number], *branch, *nodes[number + 1 :]])
                case Look() as look:
                    code, rest = self._look(look, certain=False), self._last(nodes[number + 1 :])
                    before = self._chain(nodes[:number], back=False, certain=False)
                    if len(code) > len(rest):
                        return [*before, Do.HOLDS, len(rest) + 2, *rest, *code, Do.ACCEPT]
                    return [*before, *code, *rest]
        return [*self._chain(nodes, back=False, certain=False), Do.ACCEPT]

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

    def _gated(self, code: list[int]) -> list[int]:
        """Fill in the gates."""
        gates = _Gates(code, list(self._sets))
        for at, behind in reversed(list(itertools.pairwise(_begins(code)))):  # what follows is known then, but in loops
            if code[at] in _RUNS:
                code[at + 4 : at + 6] = map(self._set, gates.at(behind))
            elif code[at] == Do.SPLIT:
                code[at + 2 : at + 6] = map(self._set, (*gates.at(behind), *gates.at(at + code[at + 1])))
            gates.at(at)
        return code

    def _either(self, codes: Sequence[list[int]], *, certain: bool) -> list[int]:
        """Return a program that accepts what one of some programs does; what they begin with in common stands once."""
        rests: dict[tuple[int, ...], list[list[int]]] = {}
        for code in codes:
            shared = _SIZES[Do(code[0])] if code and code[0] in (*_ONES, *_RUNS) else len(code)
            rests.setdefault(tuple(code[:shared]), []).append(code[shared:])
        if len(rests) == 1 and not any(rests[next(iter(rests))]):
            return codes[0]
        return self._chosen([[*head, *self._either(tails, certain=certain)] for head, tails in rests.items()], certain)

    def _chosen(self, codes: Sequence[list[int]], certain: bool) -> list[int]:
        """Return a program that goes on with those of some programs that may accept."""
        if len(codes) == 1:
            return codes[0]
        if len(codes) < _FEW:
            return _forked(codes)
        known = list(self._sets)
        gates = [_Gates([*code, Do.ACCEPT], known).at(0) for code in codes]
        side = min((0, 1), key=lambda side: sum(gate[side].bit_count() for gate in gates))
        open_to = [tuple(n for n, gate in enumerate(gates) if gate[side] >> s & 1) for s in range(SYMBOLS)]
        if not certain and open_to[WILD.bit_length() - 1]:
            open_to[WILD.bit_length() - 1] = _ALL_OF_THEM
        if max(map(len, open_to)) > len(codes) // 2:
            return _forked(codes)
        return [_SWITCHES[side], *_switched(codes, open_to)]

    def _choice(self, branches: Sequence[Sequence[Node]], *, back: bool, certain: bool) -> list[int]:
        return self._either([self._chain(b, back=back, certain=certain) for b in branches], certain=certain)

    def _chain(self, nodes: Sequence[Node], *, back: bool, certain: bool) -> list[int]:
        ordered = reversed(nodes) if back else nodes
        return [number for node in ordered for number in self._node(node, back=back, certain=certain)]

    def _node(self, node: Node, *, back: bool, certain: bool) -> list[int]:
        match node.piece:
            case One() as one:
                return [Do.BACK if back else Do.FORTH, self._set(_known(one, certain))]
            case Group(branches, atomic):
                return [Do.FAIL] if atomic and certain else self._choice(branches, back=back, certain=certain)
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
            return [Do.RUN_BACK if back else Do.RUN, found, repeat.least, -1 if most is None else most, *_OPEN]
        code = self._node(repeat.node, back=back, certain=certain)
        if (len(code) + 8) * max(repeat.least, most or 0) > _LONGEST:
            return [Do.FAIL if certain else Do.ACCEPT]
        more: list[int] = []
        if most is None:
            more = [Do.SPLIT, len(code) + 8, *_OPEN, *_OPEN, *code, Do.JUMP, -len(code) - 6]
        else:
            for _ in range(most - repeat.least):
                more = [Do.SPLIT, len(code) + len(more) + 6, *_OPEN, *_OPEN, *code, *more]
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
        code = [*self._choice(look.branches, back=look.behind, certain=certain), Do.ACCEPT]
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
            return self._either([begins, ends], certain=certain)
        return [Do.FAIL if certain else Do.ACCEPT]


class _Gates:
    """What the next character and the one before must be where a program is to accept."""

    def __init__(self, code: list[int], known: list[int]) -> None:
        self._code, self._known = code, known
        self._gates: dict[int, tuple[int, int]] = {}

    def at(self, at: int) -> tuple[int, int]:
        """Return the gate of an instruction."""
        if at not in self._gates:
            self._gates[at] = _ANY  # for those who come back here on their way
            self._gates[at] = self._find(at)
        return self._gates[at]

    def _find(self, at: int) -> tuple[int, int]:
        code = self._code
        does, behind = Do(code[at]), at + _SIZES[Do(code[at])]
        if does == Do.FAIL:
            return 0, 0
        if does in (Do.JUMP, Do.HOLDS_NOT):
            return self.at(at + code[at + 1])
        if does == Do.SPLIT:
            return _joined(self.at(behind), self.at(at + code[at + 1]))
        if does == Do.HOLDS:
            (one, other), (next_one, next_other) = self.at(behind), self.at(at + code[at + 1])
            return one & next_one, other & next_other
        if does in _SWITCHES:
            return self._of_switch(at)
        if does not in (*_ONES, *_RUNS):
            return _ANY
        found = self._known[code[at + 1]]
        if does in (Do.NEXT, Do.LAST):
            following, before = self.at(behind)
            return (following & found, before) if does == Do.NEXT else (following, before & found)
        read = (found, _ANY[1]) if does in (Do.FORTH, Do.RUN) else (_ANY[0], found)
        return _joined(read, self.at(behind)) if does in _RUNS and not code[at + 2] else read

    def _of_switch(self, at: int) -> tuple[int, int]:
        side = _SWITCHES.index(Do(self._code[at]))
        ways = np.array(self._code[at + 1 : at + 1 + _WIDTH], np.int32).view(np.uint8)[:SYMBOLS]
        gate = 0, 0
        for way in set(ways.tolist()):
            asks = 0
            for symbol in np.flatnonzero(ways == way).tolist():
                asks |= 1 << symbol
            found = list(self.at(at + 1 + _WIDTH + 2 * way))
            found[side] &= asks
            gate = _joined(gate, (found[0], found[1]) if found[side] else (0, 0))
        return gate


def _begins(code: list[int]) -> list[int]:
    """Return where the instructions of a program begin, and its end."""
    begins = [0]
    while begins[-1] < len(code):
        begins.append(begins[-1] + _SIZES[Do(code[begins[-1]])])
    return begins


def _forked(codes: Sequence[list[int]]) -> list[int]:
    """Return a program that tries some programs in order: gates of halves, so that few of many are looked at."""
    if len(codes) == 1:
        return codes[0]
    half = len(codes) // 2
    one, other = _forked(codes[:half]), _forked(codes[half:])
    return [Do.SPLIT, len(one) + 8, *_OPEN, *_OPEN, *one, Do.JUMP, len(other) + 2, *other]


def _switched(codes: Sequence[list[int]], open_to: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the rest of a switch: its table, jumps, the programs, and for some symbols several of them in order."""
    ways = list(dict.fromkeys(open_to))
    code: list[int] = [Do.JUMP, 0] * len(ways)
    starts: dict[tuple[int, ...], int] = {}
    ends = []
    for number, one in enumerate(codes):
        starts[number,] = len(code)
        code += [*one, Do.JUMP, 0]
        ends.append(len(code) - 2)
    for way in ways:
        if way not in starts:
            starts[way] = len(code)
            for number in way[1:]:
                code += [Do.SPLIT, starts[number,] - len(code), *_OPEN, *_OPEN]
            if way in ((), _ALL_OF_THEM):
                code += [Do.ACCEPT if way else Do.FAIL]
            else:
                code += [Do.JUMP, starts[way[0],] - len(code)]
    for number, way in enumerate(ways):
        code[2 * number + 1] = starts[way] - 2 * number
    for end in ends:
        code[end + 1] = len(code) - end
    table = [ways.index(way) for way in open_to] + [0] * (4 * _WIDTH - SYMBOLS)
    return [*np.array(table, np.uint8).view(np.int32).tolist(), *code]


def _joined(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] | other[0], one[1] | other[1]


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
