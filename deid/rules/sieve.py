"""One pass for all patterns: where in a text may a match of each begin?

From each expression the sieve takes what the characters around the start of a match can be: at each of the offsets -6
to 9, and at the first five from the end of the word there, a set of ASCII characters, "some other character", "outside
the text". A place survives for a pattern when the characters around it lie in all its sets; the compiled loop
(``deid._native.Sieve``) tests all patterns at once with one bit each, and with more where a pattern begins in ways that
a single set blurs; an expression whose matches must hold a digit, or a colon and its like, also says how near. Where a
bit is left, the program of the pattern runs (`deid.rules.programs`), and only where that accepts the expression itself
is tried. The sets are supersets by construction (what is not understood allows everything), so that no match is lost:
the method of literal pre-filters (Navarro and Raffinot, *Flexible pattern matching in strings*, 2002, section 4.2),
with sets for literals.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.rules.expressions import (
    AFTER,
    ALL,
    BEFORE,
    BEHIND,
    BEYOND,
    INNER,
    LINE_EDGE,
    MARKS,
    OTHER,
    SYMBOLS,
    WIDTH,
    WILD,
    WORD,
    At,
    ExpressionError,
    Group,
    Look,
    Node,
    One,
    Repeat,
    Sets,
    behind_of,
    latest,
    marks_of,
    one_of,
    parse,
    whole,
)
from deid.rules.programs import Programs

__all__ = ["needs_tables", "sieve_tables"]

_BLOCK = 4
"""Words of bits that the compiled loop takes at once."""
_MANY = 200
"""Patterns for which another block of lines pays."""
_SHARE = np.full(SYMBOLS, 0.05 / SYMBOLS)
"""About how often each symbol is met in notes."""
for _met, _often in (
    ("etaoinshr", 0.5),
    ("bcdfgjklmpquvwxyz", 0.22),
    (" ", 0.15),
    ("0123456789", 0.03),
    ("\n.,", 0.05),
):
    _SHARE[list(map(ord, _met))] += _often / len(_met)
_KINDS = (slice(ord("a"), ord("z") + 1), slice(ord("A"), ord("Z") + 1), slice(SYMBOLS))
_MOST_WAYS, _MOST_BEHIND = 64, (64, 32, 16)
"""Ways to begin that are told apart, and to stand behind something: as many as there is room for."""


def _opened(branches: Sequence[tuple[Node, ...]]) -> Node:
    """Return alternatives of what stands before a place as if they read what they begin with.

    An assertion there may be read for nothing else stands before it: the start of a line, what ``(?<=`` asks for.
    """
    return whole([(_read(way[0]), *way[1:]) if way else way for way in branches])


def _read(node: Node) -> Node:
    match node.piece:
        case At.LINE_START:
            return one_of(LINE_EDGE)
        case Look(behind=True, negated=True) if node.around is not None and node.around()[BEFORE - 1] != ALL:
            return one_of(node.around()[BEFORE - 1])
        case Look(branches, behind=True, negated=False) | Group(branches, _):
            return _opened(branches)
    return node


def _before(node: Node, places: int) -> Sets:
    """Return what an assertion allows when it stands behind so many characters as `places` says."""
    group = _opened(node.behind)
    found = []
    for end in range(AFTER):
        if places >> end & 1:
            back = [0] * AFTER
            _finish(back, group.turned(1, back))
            sets = [ALL] * WIDTH
            for distance, allowed in enumerate(back):
                if BEFORE + end - 1 - distance >= 0:
                    sets[BEFORE + end - 1 - distance] = allowed
            found.append(sets)
    return [ALL] * WIDTH if places & BEYOND else _union(found)


def _union(all_sets: Sequence[Sets]) -> Sets:
    joined = [0] * WIDTH
    for sets in all_sets:
        joined = [a | b for a, b in zip(joined, sets, strict=True)]
    return joined


def _finish(sets: Sets, ends: int) -> None:
    """Behind the end of a match anything may stand."""
    ends &= (1 << len(sets)) - 1
    if ends:
        for place in range((ends & -ends).bit_length() - 1, len(sets)):
            sets[place] |= ALL


def _limits(nodes: Sequence[Node]) -> Sets:
    """Return what may stand around the start of a sequence of pieces."""
    read = [0] * AFTER
    places = 1
    limits = [ALL] * WIDTH
    bounded = False
    for node in nodes:
        if node.around is not None and places == 1:
            limits = [a & b for a, b in zip(limits, node.around(), strict=True)]
            bounded |= node.piece is At.WORD_EDGE
        if node.ahead and places == 1:
            limits = [a & b for a, b in zip(limits, _union([_limits(b) for b in node.ahead]), strict=True)]
        elif node.ahead:
            seen = list(read)
            _finish(seen, whole(node.ahead).walk(places, seen))
            limits = [a & b for a, b in zip(limits, [ALL] * BEFORE + seen + [ALL] * BEHIND, strict=True)]
        if node.behind and places:
            limits = [a & b for a, b in zip(limits, _before(node, places), strict=True)]
        places = node.walk(places, read)
    _finish(read, places)
    limits = [a & b for a, b in zip(limits, [ALL] * BEFORE + read + _behind_word(nodes), strict=True)]
    if bounded and not limits[BEFORE] & (~WORD | OTHER):
        limits[BEFORE - 1] &= (ALL & ~WORD) | OTHER
    return limits


def _behind_word(nodes: Sequence[Node]) -> Sets:
    """Return what may stand from the end of the word on within which a sequence of pieces begins."""
    read, limits = [0] * BEHIND, [ALL] * BEHIND
    places = 1
    for node in nodes:
        if node.ahead:
            seen = list(read)
            _finish(seen, _walk_all(node.ahead, places, seen))
            limits = [a & b for a, b in zip(limits, seen, strict=True)]
        places = _walk(node, places, read)
    _finish(read, places)
    return [a & b for a, b in zip(limits, read, strict=True)]


def _walk(node: Node, places: int, read: Sets) -> int:
    """Walk from places to places: the first stands for all of the word and its end, the others for what follows."""
    match node.piece:
        case One(may):
            return _walk_one(may, places, read)
        case Group(branches, _):
            return _walk_all(branches, places, read)
        case Repeat(one, least, most):
            ends = 0 if least else places
            for count in range(1, 1 + (least + BEHIND + 1 if most is None else most)):
                places = _walk(one, places, read)
                if count >= least and places | ends == ends:
                    break
                ends |= places if count >= least else 0
            return ends
        case At.UNREAD:
            _finish(read, places)
            return 1 << BEHIND
    return places


def _walk_all(branches: Sequence[Sequence[Node]], places: int, read: Sets) -> int:
    ends = 0
    for branch in branches:
        ends |= functools.reduce(lambda places, node: _walk(node, places, read), branch, places)
    return ends


def _walk_one(may: int, places: int, read: Sets) -> int:
    ends = places & 1 << BEHIND
    if places & 1:
        read[0] |= may & ~INNER
        ends |= bool(may & INNER) | bool(may & ~INNER) << 1
    for place in range(1, BEHIND):
        if places >> place & 1:
            read[place] |= may
            ends |= 2 << place
    return ends


def _spread(branches: Sequence[tuple[Node, ...]], most: int, *, back: bool = False) -> list[tuple[Node, ...]]:
    """Write alternatives out, those that they begin with first, to at most so many sequences.

    With ``back`` those that they end with come first.
    """
    done: list[tuple[Node, ...]] = []
    # (what is settled, what follows), the shortest settled first
    waiting: list[tuple[tuple[Node, ...], tuple[Node, ...]]] = [
        ((), tuple(reversed(b)) if back else b) for b in branches
    ]
    while waiting:
        passed, rest = waiting.pop(0)
        if not rest or len(passed) > 3 * AFTER:
            done.append((*passed, *rest))
            continue
        node, others = rest[0], rest[1:]
        choices = [tuple(reversed(b)) if back else b for b in node.branches]
        if node.behind and not back:
            for limit in _MOST_BEHIND:
                choices = [(behind_of((way,)),) for way in _spread(node.behind, limit, back=True)]
                if len(done) + len(waiting) + len(choices) <= most:
                    break
        if len(choices) > 1 and len(done) + len(waiting) + len(choices) <= most:
            settled = not node.branches
            waiting += [((*passed, *c), others) if settled else (passed, (*c, *others)) for c in choices]
        elif len(choices) == 1 and node.branches:
            waiting.insert(0, (passed, (*choices[0], *others)))
        else:
            waiting.insert(0, ((*passed, node), others))
    return [tuple(reversed(way)) if back else way for way in done]


@dataclass(frozen=True, slots=True)
class Start:
    """One way in which matches of a pattern begin."""

    sets: tuple[int, ...]
    """For each place looked at a set of symbols, one bit each: from -BEFORE on, and from the end of the word on."""
    marks: tuple[int, ...] = (0,) * len(MARKS)
    """Among so many first characters stands one of each of `MARKS`; 0 when that need not be."""


_ANYWHERE = Start((ALL,) * WIDTH)


def starts_of(branches: Sequence[Sequence[Node]]) -> list[Start]:
    """Return what may stand around the start of a match of a parsed expression: it begins in one of these ways."""
    ways = _spread(list(map(tuple, branches)), _MOST_WAYS)
    return [Start(tuple(_limits(way)), marks_of(way)) for way in ways]


def _passes(sets: np.ndarray) -> np.ndarray:
    """Return about which share of places lines let through; sets are bits by line, offset and symbol."""
    return np.asarray((sets @ _SHARE).prod(axis=-1))


@dataclass(frozen=True, slots=True)
class _Choice:
    """Ways of a pattern in so many lines."""

    ways: list[list[int]]
    passes: float
    """About which share of places they let through."""


def _joined(starts: Sequence[Start]) -> list[_Choice]:
    """Join the ways of a pattern one after the other, at each step the two that lose least; the fewest lines first."""
    sets = _bits_of([s.sets for s in starts])
    ways = {number: [number] for number in range(len(starts))}
    passes = _passes(sets)
    loss = np.full((len(ways), len(ways)), np.inf)
    for one in range(1, len(ways)):
        loss[one, :one] = _passes(sets[one] | sets[:one]) - passes[one] - passes[:one]
    choices = [_Choice(list(ways.values()), float(passes.sum()))]
    while len(ways) > 1:
        one, other = divmod(int(loss.argmin()), len(loss))
        sets[other] |= sets[one]
        ways[other] = ways[other] + ways.pop(one)
        passes[other] = _passes(sets[other])
        loss[one, :] = loss[:, one] = np.inf
        rest = np.array([number for number in ways if number != other], dtype=np.intp)
        joined = _passes(sets[rest] | sets[other]) - passes[rest] - passes[other]
        loss[np.maximum(rest, other), np.minimum(rest, other)] = joined
        choices.append(_Choice(list(ways.values()), float(passes[list(ways)].sum())))
    return choices[::-1]


def _lines(patterns: Sequence[Sequence[Start]]) -> list[tuple[int, list[int]]]:
    """Return a pattern and some of its ways for each line, as many lines as the compiled loop takes at once."""
    choices = [_joined(starts) for starts in patterns]
    counts = [1] * len(patterns)
    free = -len(patterns) % (64 * _BLOCK) + 64 * _BLOCK * (len(patterns) >= _MANY)

    def next_best(number: int) -> tuple[float, int, int]:
        """Return what more lines of a pattern gain each, as a negative number, the pattern, and how many they are."""
        now, count = choices[number][counts[number] - 1], counts[number]
        gains = [
            ((choice.passes - now.passes) / more, number, more)
            for more, choice in enumerate(choices[number][count : count + free], 1)
        ]
        return min(gains, default=(0.0, number, 0))

    waiting = [next_best(number) for number in range(len(patterns))]
    heapq.heapify(waiting)
    while free and waiting:
        gain, number, more = heapq.heappop(waiting)
        if gain < 0 and more <= free:
            free -= more
            counts[number] += more
        if gain < 0:
            heapq.heappush(waiting, next_best(number))
    # what begins with the same kind of character beside each other, for only their blocks are looked at there
    order = sorted(range(len(patterns)), key=lambda number: _begin(patterns[number]))
    return [(number, ways) for number in order for ways in choices[number][counts[number] - 1].ways]


def _begin(starts: Sequence[Start]) -> tuple[float, ...]:
    """Return where a pattern has its place among others: how often it begins with a small letter, or another one."""
    first = _bits_of([_union([list(s.sets) for s in starts])])[0, BEFORE] * _SHARE
    return tuple(-float(first[kind].sum()) for kind in _KINDS)


def sieve_tables(expressions: Sequence[tuple[str, bool]]) -> tuple[bytes, ...]:
    """Return the tables of many expressions as ``deid._native.Sieve`` reads them.

    Parameters
    ----------
    expressions : sequence of (str, bool)
        Expressions of the ``regex`` module, and whether each is compiled without regard to case.

    Returns
    -------
    rows : bytes
        For each block of lines, offset and symbol a row of bits, one for each line, in 64-bit words. A line is a
        pattern, or some ways in which its matches begin.
    lines : bytes
        For each line 32-bit integers: its pattern, and within how many characters one of each of `MARKS` stands; 0 when
        that need not be.
    code, starts, sets : bytes
        See `Programs.tables`.
    """
    patterns, programs = [], Programs()
    for expression, ignore_case in expressions:
        try:
            branches = parse(expression, ignore_case=ignore_case)
            patterns.append(starts_of(branches))
        except (ExpressionError, ValueError, RecursionError):
            branches = None
            patterns.append([_ANYWHERE])
        programs.add(branches)
    sets, told = [], []
    for number, ways in _lines(patterns):
        starts = [patterns[number][way] for way in ways]
        sets.append(_union([list(s.sets) for s in starts]))
        told.append((number, *latest([s.marks for s in starts])))
    return _columns(sets), np.array(told, dtype=np.int32).tobytes(), *programs.tables()


def needs_tables(needs: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], bytes]:
    """Return what patterns need as ``deid._native.Sieve`` reads it.

    Parameters
    ----------
    needs : sequence of sequence of str
        For each pattern lower-case strings of which a text must hold one; none: all texts will do.

    Returns
    -------
    strings : tuple of str
        Each once.
    users : bytes
        Pairs of 32-bit integers, sorted: number of a string, number of a pattern that needs it.
    """
    numbers = {need: number for number, need in enumerate(dict.fromkeys(n for wanted in needs for n in wanted))}
    users = sorted({(numbers[need], pattern) for pattern, wanted in enumerate(needs) for need in wanted})
    return tuple(numbers), np.array(users, dtype=np.int32).tobytes()


def _bits_of(lines: Sequence[Sequence[int]]) -> np.ndarray:
    """Return sets of symbols, one list of them a line, as bits by line, offset and symbol."""
    size = (SYMBOLS + 7) // 8
    packed = b"".join(allowed.to_bytes(size, "little") for sets in lines for allowed in sets)
    bits = np.frombuffer(packed, np.uint8).reshape(len(lines), -1, size)
    return np.unpackbits(bits, axis=2, count=SYMBOLS, bitorder="little").astype(bool)


def _columns(lines: Sequence[Sequence[int]]) -> bytes:
    """Turn sets of symbols, one list of them a line, into sets of lines, one for each block, offset and symbol."""
    blocks = -(-len(lines) // (64 * _BLOCK))
    bits = np.zeros((blocks * 64 * _BLOCK, WIDTH, SYMBOLS), dtype=np.uint8)
    bits[: len(lines)] = _bits_of([[s | WILD for s in sets] for sets in lines])
    columns = bits.reshape(blocks, 64 * _BLOCK, WIDTH, SYMBOLS).transpose(0, 2, 3, 1)
    return np.packbits(columns, axis=3, bitorder="little").view("<u8").astype(np.uint64).tobytes()
