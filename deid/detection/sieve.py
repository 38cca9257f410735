"""One pass for all patterns: where in a text may a match of each begin?

From each expression the sieve takes what the characters around the start of a match can be: at each of the offsets
-6 to 9 a set of ASCII characters, "some other character", "outside the text". A place survives for a pattern when the
characters around it lie in all its sets; the compiled loop tests all patterns at once with one bit each
(``deid._native.Sieve``), and only where a bit is left is the expression itself tried. Before that a finer sieve of its
own is asked, in which each of the alternatives that the expression begins with has a bit; an expression whose matches
must hold a digit also says how near. The sets are supersets by
construction (what is not understood allows everything), so that no match is lost: the method of literal
pre-filters (Navarro and Raffinot, *Flexible pattern matching in strings*, 2002, section 4.2), with sets for literals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["AFTER", "BEFORE", "SYMBOLS", "Start", "places_table", "starts_of"]

BEFORE, AFTER = 6, 10
"""Characters looked at before the start of a match, and from it on."""
_ASCII = (1 << 128) - 1
_OTHER, _OUTSIDE, _WILD = 1 << 128, 1 << 129, 1 << 130
SYMBOLS = 131
"""128 ASCII characters, any other, outside the text, and what case makes ASCII of (the Kelvin sign, the long s, the
Turkish i), which passes everywhere."""
_ANY = _ASCII | _OTHER
_ALL = _ANY | _OUTSIDE


def _bits(characters: str) -> int:
    found = 0
    for c in characters:
        found |= 1 << ord(c) if ord(c) < 128 else _OTHER
    return found


def _range(first: str, last: str) -> int:
    found = 0
    for number in range(ord(first), min(ord(last), 127) + 1):
        found |= 1 << number
    return found | (_OTHER if ord(last) > 127 else 0)


_UPPER, _LOWER, _DIGIT = _range("A", "Z"), _range("a", "z"), _range("0", "9")
_WORD = _UPPER | _LOWER | _DIGIT | _bits("_") | _OTHER
_BLANK = _bits("\t\n\x0b\x0c\r ") | _range("\x1c", "\x1f") | _OTHER
_SURELY_BLANK = _bits("\t\n\x0b\x0c\r ")
_ESCAPES = {
    **{"d": _DIGIT | _OTHER, "w": _WORD, "s": _BLANK},
    **{"D": (_ASCII & ~_DIGIT) | _OTHER, "W": (_ASCII & ~_WORD) | _OTHER, "S": (_ASCII & ~_SURELY_BLANK) | _OTHER},
    **{"n": _bits("\n"), "t": _bits("\t"), "r": _bits("\r"), "f": _bits("\f"), "v": _bits("\v")},
}
_PROPERTIES = {"L": _UPPER | _LOWER, "Lu": _UPPER, "Ll": _LOWER, "N": _DIGIT, "Nd": _DIGIT, "M": 0}

# An expression as a tree. A piece is walked from the places where it may begin to the places where it may end, and
# notes in `sets` what it reads on the way. Places and character sets are bit sets; place AFTER and beyond is one place.
Sets = list[int]
Walk = Callable[[int, Sets], int]
_BEYOND = 1 << AFTER
_ENDLESS = 1 << 20
_MOST_WAYS, _MOST_BEHIND = 32, 16


class _Unknown(Exception):
    """The expression uses what is not understood here."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A piece of an expression."""

    walk: Walk
    turned: Walk
    """The same from its end to its start."""
    longest: int = 0
    """Most characters that it reads."""
    digit: int = 0
    """Within so many characters from its start it reads a digit, in every match; 0 when it need not."""
    around: Callable[[], Sets] | None = None
    """For an assertion: what it allows at offsets -BEFORE to AFTER - 1 when nothing was read before."""
    reads: int | None = None
    """For one character: the set."""
    branches: tuple[tuple[_Node, ...], ...] = ()
    """For alternatives: each of them."""
    behind: tuple[tuple[_Node, ...], ...] = ()
    """For an assertion of what stands before: each alternative of it."""


def _stay(places: int, sets: Sets) -> int:
    return places


def _anything(places: int, sets: Sets) -> int:
    first = places & -places
    for place in range(first.bit_length() - 1, AFTER):
        sets[place] |= _ALL
    return 2 * _BEYOND - first if places else 0


def _one(allowed: int) -> _Node:
    def walk(places: int, sets: Sets) -> int:
        left = places & (_BEYOND - 1)
        while left:
            sets[(left & -left).bit_length() - 1] |= allowed
            left &= left - 1
        return ((places << 1) & (2 * _BEYOND - 1)) | (places & _BEYOND)

    return _Node(walk, walk, 1, 0 if allowed & ~_DIGIT else 1, reads=allowed)


def _assertion(around: Callable[[], Sets], digit: int = 0) -> _Node:
    return _Node(_stay, _stay, digit=digit, around=around)


def _chain(parts: Sequence[Walk]) -> Walk:
    def walk(places: int, sets: Sets) -> int:
        for part in parts:
            places = part(places, sets)
        return places

    return walk


def _either(parts: Sequence[Walk]) -> Walk:
    def walk(places: int, sets: Sets) -> int:
        ends = 0
        for part in parts:
            ends |= part(places, sets)
        return ends

    return walk


def _repeated(part: Walk, least: int, most: int | None) -> Walk:
    def walk(places: int, sets: Sets) -> int:
        ends = 0
        for count in range(AFTER + least + 1 if most is None else most + 1):
            if count >= least:
                if places | ends == ends:
                    break
                ends |= places
            elif places == _BEYOND:
                return _BEYOND
            places = part(places, sets)
        return ends

    return walk


def _repeat(node: _Node, least: int, most: int | None) -> _Node:
    longest = _ENDLESS if most is None else min(_ENDLESS, node.longest * most)
    branches: tuple[tuple[_Node, ...], ...] = ()
    if most is not None and most < 5:
        branches = tuple((node,) * count for count in range(least, most + 1))
    walks = (_repeated(node.walk, least, most), _repeated(node.turned, least, most))
    return _Node(*walks, longest, node.digit if least else 0, branches=branches)


def _digit_of(nodes: Sequence[_Node]) -> int:
    """Return within how many characters a sequence reads a digit; 0 when it need not, or may do so very late."""
    read, least = 0, 0
    for node in nodes:
        if node.digit and (not least or read + node.digit < least):
            least = read + node.digit
        read += node.longest
    return least if least < _ENDLESS else 0


def _whole(branches: Sequence[Sequence[_Node]]) -> _Node:
    digits = [_digit_of(b) for b in branches]
    return _Node(
        _either([_chain([n.walk for n in b]) for b in branches]),
        _either([_chain([n.turned for n in reversed(b)]) for b in branches]),
        min(_ENDLESS, max(sum(n.longest for n in b) for b in branches)),
        max(digits) if all(digits) else 0,
        reads=branches[0][0].reads if len(branches) == 1 and len(branches[0]) == 1 else None,
        branches=tuple(map(tuple, branches)),
    )


def _ahead(branches: Sequence[Sequence[_Node]]) -> _Node:
    return _assertion(lambda: _union([_limits(b) for b in branches]), _whole(branches).digit)


def _not_ahead(branches: Sequence[Sequence[_Node]]) -> _Node:
    single = _single(branches)
    return _assertion(lambda: _around() if single is None else _around(after=_without(single)))


def _behind(branches: Sequence[Sequence[_Node]]) -> _Node:
    """An assertion of what stands before; `_limits` reads it."""
    return _Node(_stay, _stay, behind=tuple(map(tuple, branches)))


def _before(node: _Node, places: int) -> Sets:
    """Return what an assertion allows when it stands behind so many characters as `places` says."""
    whole = _whole(node.behind)
    found = []
    for end in range(AFTER):
        if places >> end & 1:
            back = [0] * AFTER
            _finish(back, whole.turned(1, back))
            sets = [_ALL] * (BEFORE + AFTER)
            for distance, allowed in enumerate(back):
                if BEFORE + end - 1 - distance >= 0:
                    sets[BEFORE + end - 1 - distance] = allowed
            found.append(sets)
    return [_ALL] * (BEFORE + AFTER) if places & _BEYOND else _union(found)


def _not_behind(branches: Sequence[Sequence[_Node]]) -> _Node:
    single = _single(branches)
    return _assertion(lambda: _around() if single is None else _around(before=_without(single)))


_HEADS: tuple[tuple[str, Callable[[Sequence[Sequence[_Node]]], _Node]], ...] = (
    (":", _whole),
    (">", _whole),
    ("=", _ahead),
    ("!", _not_ahead),
    ("<=", _behind),
    ("<!", _not_behind),
)


def _around(before: int = _ALL, after: int = _ALL) -> Sets:
    return [_ALL] * (BEFORE - 1) + [before, after] + [_ALL] * (AFTER - 1)


def _boundary() -> Sets:
    """What a word boundary allows is known together with what stands behind it; see `_limits`."""
    return _around()


def _single(branches: Sequence[Sequence[_Node]]) -> int | None:
    """Return the set when the branches are single characters."""
    found = 0
    for branch in branches:
        if len(branch) != 1 or branch[0].reads is None:
            return None
        found |= branch[0].reads
    return found


def _without(found: int) -> int:
    """Return the complement; what is not surely in a class stays: other characters, and blanks that few call so."""
    return (_ALL & ~found) | _OTHER | _range("\x1c", "\x1f")


def _union(all_sets: Sequence[Sets]) -> Sets:
    joined = [0] * (BEFORE + AFTER)
    for sets in all_sets:
        joined = [a | b for a, b in zip(joined, sets, strict=True)]
    return joined


def _finish(sets: Sets, ends: int) -> None:
    """Behind the end of a match anything may stand."""
    ends &= _BEYOND - 1
    if ends:
        for place in range((ends & -ends).bit_length() - 1, AFTER):
            sets[place] |= _ALL


def _limits(nodes: Sequence[_Node]) -> Sets:
    """Return what may stand around the start of a sequence of pieces."""
    read = [0] * AFTER
    places = 1
    limits = [_ALL] * (BEFORE + AFTER)
    bounded = False
    for node in nodes:
        if node.around is not None and places == 1:
            limits = [a & b for a, b in zip(limits, node.around(), strict=True)]
            bounded |= node.around is _boundary
        if node.behind and places:
            limits = [a & b for a, b in zip(limits, _before(node, places), strict=True)]
        places = node.walk(places, read)
    _finish(read, places)
    limits = [a & b for a, b in zip(limits, [_ALL] * BEFORE + read, strict=True)]
    if bounded and not limits[BEFORE] & (~_WORD | _OTHER):
        limits[BEFORE - 1] &= (_ALL & ~_WORD) | _OTHER
    return limits


def _spread(branches: Sequence[tuple[_Node, ...]], most: int, *, back: bool = False) -> list[tuple[_Node, ...]]:
    """Write alternatives out, those that they begin with first, to at most so many sequences.

    With ``back`` those that they end with come first.
    """
    done: list[tuple[_Node, ...]] = []
    # (what is settled, what follows), the shortest settled first
    waiting: list[tuple[tuple[_Node, ...], tuple[_Node, ...]]] = [
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
            choices = [(_behind((way,)),) for way in _spread(node.behind, _MOST_BEHIND, back=True)]
        if len(choices) > 1 and len(done) + len(waiting) + len(choices) <= most:
            settled = not node.branches
            waiting += [((*passed, *c), others) if settled else (passed, (*c, *others)) for c in choices]
        elif len(choices) == 1 and node.branches:
            waiting.insert(0, (passed, (*choices[0], *others)))
        else:
            waiting.insert(0, ((*passed, node), others))
    return [tuple(reversed(way)) if back else way for way in done]


class _Parser:
    def __init__(self, expression: str, ignore_case: bool) -> None:
        self.text, self.at = expression, 0
        self.ignore_case = ignore_case

    def peek(self, what: str) -> bool:
        return self.text.startswith(what, self.at)

    def take(self, what: str) -> bool:
        if self.peek(what):
            self.at += len(what)
            return True
        return False

    def found(self, expression: str) -> re.Match[str] | None:
        found = re.compile(expression).match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def next(self) -> str:
        if self.at >= len(self.text):
            raise _Unknown
        self.at += 1
        return self.text[self.at - 1]

    def alternatives(self) -> list[list[_Node]]:
        branches: list[list[_Node]] = [[]]
        before = self.ignore_case
        while self.at < len(self.text) and not self.peek(")"):
            if self.take("|"):
                branches.append([])
            else:
                branches[-1].append(self.quantified(self.atom()))
        self.ignore_case = before
        return branches

    def quantified(self, node: _Node) -> _Node:
        found = self.found(r"[*+?]|\{(\d*)(,?)(\d*)\}")
        if found is None:
            return node
        if found[0] in ("*", "+", "?"):
            least, most = int(found[0] == "+"), 1 if found[0] == "?" else None
        elif found[1] or found[3]:
            least = int(found[1] or 0)
            most = int(found[3]) if found[3] else None if found[2] else least
        else:
            raise _Unknown
        _ = self.take("?") or self.take("+")
        return _repeat(node, least, most)

    def atom(self) -> _Node:
        c = self.next()
        if c == "(":
            return self.group()
        if c == "[":
            return _one(self.set())
        if c == ".":
            return _one(_ANY)
        if c == "^":
            return _assertion(lambda: _around(before=_OUTSIDE | _bits("\n")))
        if c == "$":
            return _assertion(_around)
        if c == "\\":
            return self.escape()
        if c in "*+?{":
            raise _Unknown
        return _one(self.cased(_bits(c)))

    def escape(self) -> _Node:
        if self.take("b"):
            return _assertion(_boundary)
        if self.take("Z"):
            return _assertion(_around)
        if self.found("[1-9]"):  # what a group matched
            return _Node(_anything, _anything, _ENDLESS)
        if self.found("[BAmMKGRX0]"):
            raise _Unknown
        return _one(self.cased(self.escaped()))

    def escaped(self) -> int:
        c = self.next()
        if c in _ESCAPES:
            return _ESCAPES[c]
        if c == "p":
            found = self.found(r"\{(\w+)\}")
            if found is None or found[1] not in _PROPERTIES:
                raise _Unknown
            return _PROPERTIES[found[1]] | _OTHER
        sizes = {"x": 2, "u": 4, "U": 8}
        if c in sizes:
            digits = self.text[self.at : self.at + sizes[c]]
            self.at += sizes[c]
            return _bits(chr(int(digits, 16)))
        if c.isalnum():
            raise _Unknown
        return _bits(c)

    def set(self) -> int:
        negated = self.take("^")
        found, first = 0, True
        while first or not self.peek("]"):
            first = False
            if self.peek("[:") or self.peek("[["):
                raise _Unknown
            escape = self.peek("\\")
            c = self.next()
            low = self.escaped() if escape else _bits(c)
            if self.peek("-") and not self.peek("-]") and low.bit_count() == 1:
                self.at += 1
                start = c if not escape else chr(low.bit_length() - 1)
                last = self.next()
                if last == "\\":
                    high = self.escaped()
                    if low & _OTHER or high & _OTHER or high.bit_count() != 1:
                        raise _Unknown
                    last = chr(high.bit_length() - 1)
                low = _range(start, last)
            found |= low
        self.at += 1
        found = self.cased(found)
        return _without(found) & _ANY if negated else found

    def cased(self, found: int) -> int:
        if self.ignore_case:
            lower, upper = found & _LOWER, found & _UPPER
            found |= lower >> 32 | upper << 32
        return found

    def group(self) -> _Node:
        if not self.take("?"):
            return self.body(_whole)
        for head, make in _HEADS:
            if self.take(head):
                return self.body(make)
        if self.found(r"P?<\w+>"):
            return self.body(_whole)
        flags = self.found(r"([im]*)(?:-([im]+))?([:)])")
        if flags is None:
            raise _Unknown
        before = self.ignore_case
        self.ignore_case = ("i" in flags[1] or before) and "i" not in (flags[2] or "")
        if flags[3] == ")":
            return _assertion(_around)
        node = self.body(_whole)
        self.ignore_case = before
        return node

    def body(self, make: Callable[[Sequence[Sequence[_Node]]], _Node]) -> _Node:
        branches = self.alternatives()
        if not self.take(")"):
            raise _Unknown
        return make(branches)


@dataclass(frozen=True, slots=True)
class Start:
    """One way in which matches of a pattern begin."""

    sets: tuple[int, ...]
    """For each offset from -BEFORE to AFTER - 1 a set of symbols, one bit each."""
    digit: int = 0
    """A digit stands among so many first characters; 0 when that need not be."""


_ANYWHERE = Start((_ALL,) * (BEFORE + AFTER))


def starts_of(expression: str, *, ignore_case: bool) -> list[Start]:
    """Return what may stand around the start of a match.

    Parameters
    ----------
    expression : str
        An expression of the ``regex`` module.
    ignore_case : bool
        Whether it is compiled so.

    Returns
    -------
    list of Start
        A match begins in one of these ways; anywhere, when the expression is not understood.
    """
    parser = _Parser(expression, ignore_case)
    try:
        branches = parser.alternatives()
        if parser.at != len(expression):
            raise _Unknown
        ways = _spread(list(map(tuple, branches)), _MOST_WAYS)
        return [Start(tuple(_limits(way)), _digit_of(way)) for way in ways]
    except (_Unknown, ValueError, RecursionError):
        return [_ANYWHERE]


def places_table(patterns: Sequence[Sequence[Start]]) -> tuple[bytes, bytes, bytes]:
    """Return the starts of many patterns as ``deid._native.Sieve`` reads them.

    Returns
    -------
    rows : bytes
        For each offset and symbol a row of bits, one a pattern, in 64-bit words.
    ways : bytes
        For each pattern, offset and symbol a 64-bit word with a bit for each of its starts.
    digits : bytes
        For each pattern within how many characters a digit stands, a 32-bit integer; 0 when that need not be.
    """
    joined = [_union([list(s.sets) for s in starts]) for starts in patterns]
    rows = _columns(joined, (len(patterns) + 63) // 64)
    ways = b"".join(_columns([s.sets for s in starts], 1) for starts in patterns)
    digits = [max(s.digit for s in starts) if all(s.digit for s in starts) else 0 for starts in patterns]
    return rows, ways, np.array(digits, dtype=np.int32).tobytes()


def _columns(lines: Sequence[Sequence[int]], words: int) -> bytes:
    """Turn sets of symbols, one list of them a line, into sets of lines, one for each offset and symbol."""
    size = (SYMBOLS + 7) // 8
    packed = b"".join((allowed | _WILD).to_bytes(size, "little") for sets in lines for allowed in sets)
    bits = np.unpackbits(np.frombuffer(packed, np.uint8).reshape(len(lines), -1, size), axis=2, bitorder="little")
    columns = np.zeros((BEFORE + AFTER, SYMBOLS, 64 * words), dtype=np.uint8)
    columns[:, :, : len(lines)] = bits[:, :, :SYMBOLS].transpose(1, 2, 0)
    return np.packbits(columns, axis=2, bitorder="little").view("<u8").astype(np.uint64).tobytes()
