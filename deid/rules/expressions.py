"""What an expression of the ``regex`` module reads, place by place: the ground of `deid.rules.sieve`.

The parser knows the part of the syntax that patterns use and refuses the rest (`ExpressionError`). What it says is a
superset: a set of characters holds all that may stand at a place, and perhaps more.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deid.base.errors import ConfigError

BEFORE, AFTER, BEHIND = 6, 10, 5
"""Characters looked at before the start of a match, from it on, and from the end of the word on that begins there."""
WIDTH = BEFORE + AFTER + BEHIND
_ASCII = (1 << 128) - 1
OTHER, OUTSIDE, WILD = 1 << 128, 1 << 129, 1 << 130
SYMBOLS = 131
"""128 ASCII characters, any other, outside the text, and what case makes ASCII of (the Kelvin sign, the long s, the
Turkish i), which passes everywhere."""
_ANY = _ASCII | OTHER
ALL = _ANY | OUTSIDE


_ODD = "\u017f\u212a\u0130\u0131"


def _bits(characters: str) -> int:
    found = 0
    for c in characters:
        found |= 1 << ord(c) if ord(c) < 128 else OTHER | WILD if c in _ODD else OTHER
    return found


def _range(first: str, last: str) -> int:
    found = _bits("".join(c for c in _ODD if first <= c <= last))
    for number in range(ord(first), min(ord(last), 127) + 1):
        found |= 1 << number
    return found | (OTHER if ord(last) > 127 else 0)


_ALIKE = _bits("kKsSiI")
"""What `_ODD` are without case: in a set that names one of those these may be too, or be left out."""
_UPPER, _LOWER, _DIGIT = _range("A", "Z"), _range("a", "z"), _range("0", "9")
WORD = _UPPER | _LOWER | _DIGIT | _bits("_") | OTHER
INNER = WORD | WILD | _bits("'-")
"""What words are made of whose ends are looked for; ``deid/csrc/sieve.c`` has the same."""
MARKS = (_DIGIT, _bits(":"), _bits("@[("), _bits(","))
"""Characters that are rare: where a match reads one of such a set, the next one must be near; ``deid/csrc/sieve.c`` has
the same."""
_NO_MARKS = (0,) * len(MARKS)
_BLANK = _bits("\t\n\x0b\x0c\r ") | _range("\x1c", "\x1f") | OTHER
_SURELY_BLANK = _bits("\t\n\x0b\x0c\r ")
LINE_EDGE = OUTSIDE | _bits("\n")
_ESCAPES = {
    **{"d": _DIGIT | OTHER, "w": WORD, "s": _BLANK},
    **{"D": (_ASCII & ~_DIGIT) | OTHER, "W": (_ASCII & ~WORD) | OTHER, "S": (_ASCII & ~_SURELY_BLANK) | OTHER},
    **{"n": _bits("\n"), "t": _bits("\t"), "r": _bits("\r"), "f": _bits("\f"), "v": _bits("\v")},
}
_SURE = _ASCII & ~_range("\x1c", "\x1f")
"""Characters of which is known whether they are in a set; of some blanks it is not."""
_PROPERTIES = {"L": _UPPER | _LOWER, "Lu": _UPPER, "Ll": _LOWER, "N": _DIGIT, "Nd": _DIGIT, "M": 0}

# An expression as a tree. A piece is walked from the places where it may begin to the places where it may end, and
# notes in `sets` what it reads on the way. Places and character sets are bit sets; place AFTER and beyond is one place.
Sets = list[int]
Walk = Callable[[int, Sets], int]
BEYOND = 1 << AFTER
_ENDLESS = 1 << 20


class ExpressionError(ConfigError):
    """The expression uses what is not understood here."""

    def __init__(self) -> None:
        super().__init__("the expression uses what is not understood here", "write it with simpler means")


@dataclass(frozen=True, slots=True)
class One:
    """One character."""

    may: int
    """What it can be."""
    surely: int
    """What of this it is for certain: ASCII characters."""


@dataclass(frozen=True, slots=True)
class Group:
    """Alternatives."""

    branches: tuple[tuple[Node, ...], ...]
    atomic: bool = False


@dataclass(frozen=True, slots=True)
class Repeat:
    """A piece some times."""

    node: Node
    least: int
    most: int | None
    possessive: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """An assertion of what follows or stands before."""

    branches: tuple[tuple[Node, ...], ...]
    behind: bool = False
    negated: bool = False


class At(enum.Enum):
    """A place, or what is like one."""

    HERE = "any place"
    WORD_EDGE = "between a word's character and another"
    LINE_START = "start of the text, perhaps of a line"
    LINE_END = "end of the text, perhaps of a line"
    END = "end of the text"
    UNREAD = "anything may follow"


Piece = One | Group | Repeat | Look | At


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of an expression."""

    walk: Walk
    turned: Walk
    """The same from its end to its start."""
    longest: int = 0
    """Most characters that it reads."""
    marks: tuple[int, ...] = _NO_MARKS
    """Within how many characters from its start it reads one of each of `MARKS`, in every match; 0 when it need not."""
    around: Callable[[], Sets] | None = None
    """For an assertion: what it allows at the places looked at when nothing was read before."""
    reads: int | None = None
    """For one character: the set."""
    branches: tuple[tuple[Node, ...], ...] = ()
    """For alternatives: each of them."""
    ahead: tuple[tuple[Node, ...], ...] = ()
    """For an assertion of what follows: each alternative of it."""
    behind: tuple[tuple[Node, ...], ...] = ()
    """For an assertion of what stands before: each alternative of it."""
    piece: Piece = At.UNREAD
    """The same as data."""


def stay(places: int, sets: Sets) -> int:
    """Return the same places: an assertion reads nothing."""
    return places


def _anything(places: int, sets: Sets) -> int:
    first = places & -places
    for place in range(first.bit_length() - 1, AFTER):
        sets[place] |= ALL
    return 2 * BEYOND - first if places else 0


def one_of(allowed: int, surely: int = _SURE) -> Node:
    """Return the piece that reads a character of a set, of which it is sure of some."""
    surely &= ~_ALIKE if allowed & WILD else ALL

    def walk(places: int, sets: Sets) -> int:
        left = places & (BEYOND - 1)
        while left:
            sets[(left & -left).bit_length() - 1] |= allowed
            left &= left - 1
        return ((places << 1) & (2 * BEYOND - 1)) | (places & BEYOND)

    marks = tuple(int(not allowed & ~mark) for mark in MARKS)
    return Node(walk, walk, 1, marks, reads=allowed, piece=One(allowed, allowed & surely))


def _assertion(around: Callable[[], Sets], piece: Piece) -> Node:
    return Node(stay, stay, around=around, piece=piece)


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
    limit = AFTER + least if most is None else most

    def walk(places: int, sets: Sets) -> int:
        ends = 0
        for count in range(limit + 1):
            if count:
                places = part(places, sets)
            if count >= least:
                if places | ends == ends:
                    break
                ends |= places
            elif places == BEYOND:
                return BEYOND
        return ends

    return walk


def _repeat(node: Node, least: int, most: int | None, *, possessive: bool) -> Node:
    longest = _ENDLESS if most is None else min(_ENDLESS, node.longest * most)
    branches: tuple[tuple[Node, ...], ...] = ()
    if most is not None and most < 5:
        branches = tuple((node,) * count for count in range(least, most + 1))
    walks = (_repeated(node.walk, least, most), _repeated(node.turned, least, most))
    piece = Repeat(node, least, most, possessive)
    return Node(*walks, longest, node.marks if least else _NO_MARKS, branches=branches, piece=piece)


def marks_of(nodes: Sequence[Node]) -> tuple[int, ...]:
    """Return within how many characters a sequence reads one of each of `MARKS`; 0 when it need not, or very late."""
    read, least = 0, [_ENDLESS] * len(MARKS)
    for node in nodes:
        least = [min(held, read + within) if within else held for held, within in zip(least, node.marks, strict=True)]
        read += node.longest
    return tuple(held if held < _ENDLESS else 0 for held in least)


def latest(marks: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return within how many characters one of several sequences reads each of `MARKS`, whichever it is."""
    return tuple(max(held) if all(held) else 0 for held in zip(*marks, strict=True))


def whole(branches: Sequence[Sequence[Node]], *, atomic: bool = False) -> Node:
    """Return the group of some alternatives."""
    return Node(
        _either([_chain([n.walk for n in b]) for b in branches]),
        _either([_chain([n.turned for n in reversed(b)]) for b in branches]),
        min(_ENDLESS, max(sum(n.longest for n in b) for b in branches)),
        latest([marks_of(b) for b in branches]),
        reads=branches[0][0].reads if len(branches) == 1 and len(branches[0]) == 1 else None,
        branches=tuple(map(tuple, branches)),
        piece=Group(tuple(map(tuple, branches)), atomic),
    )


def _atomic(branches: Sequence[Sequence[Node]]) -> Node:
    return whole(branches, atomic=True)


def _look(branches: Sequence[Sequence[Node]], *, behind: bool = False, negated: bool = False) -> Look:
    return Look(tuple(map(tuple, branches)), behind, negated)


def _ahead(branches: Sequence[Sequence[Node]]) -> Node:
    piece = _look(branches)
    return Node(stay, stay, marks=whole(branches).marks, ahead=piece.branches, piece=piece)


def _not_ahead(branches: Sequence[Sequence[Node]]) -> Node:
    single = _single(branches)
    around = _around if single is None else lambda: _around(after=_without(single))
    return _assertion(around, _look(branches, negated=True))


def behind_of(branches: Sequence[Sequence[Node]]) -> Node:
    """Return the piece of an assertion of what stands before; `_limits` reads it."""
    piece = _look(branches, behind=True)
    return Node(stay, stay, behind=piece.branches, piece=piece)


def _not_behind(branches: Sequence[Sequence[Node]]) -> Node:
    single = _single(branches)
    around = _around if single is None else lambda: _around(before=_without(single))
    return _assertion(around, _look(branches, behind=True, negated=True))


_HEADS: tuple[tuple[str, Callable[[Sequence[Sequence[Node]]], Node]], ...] = (
    (":", whole),
    (">", _atomic),
    ("=", _ahead),
    ("!", _not_ahead),
    ("<=", behind_of),
    ("<!", _not_behind),
)


def _around(before: int = ALL, after: int = ALL) -> Sets:
    return [ALL] * (BEFORE - 1) + [before, after] + [ALL] * (WIDTH - BEFORE - 1)


def _single(branches: Sequence[Sequence[Node]]) -> int | None:
    """Return the set when the branches are single characters."""
    found = 0
    for branch in branches:
        if len(branch) != 1 or branch[0].reads is None:
            return None
        found |= branch[0].reads
    return found


def _without(found: int) -> int:
    """Return the complement; what is not surely in a class stays: other characters, and blanks that few call so."""
    unsure = WILD | _ALIKE if found & WILD else 0
    return (ALL & ~found) | OTHER | _range("\x1c", "\x1f") | unsure


class _Parser:
    def __init__(self, expression: str, ignore_case: bool) -> None:
        self.text, self.at = expression, 0
        self.ignore_case = ignore_case

    def _peek(self, what: str) -> bool:
        return self.text.startswith(what, self.at)

    def _take(self, what: str) -> bool:
        if self._peek(what):
            self.at += len(what)
            return True
        return False

    def _found(self, expression: str) -> re.Match[str] | None:
        found = re.compile(expression).match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise ExpressionError
        self.at += 1
        return self.text[self.at - 1]

    def whole_expression(self) -> list[list[Node]]:
        """Read all of it."""
        branches = self._alternatives()
        if self.at != len(self.text):
            raise ExpressionError
        return branches

    def _alternatives(self) -> list[list[Node]]:
        branches: list[list[Node]] = [[]]
        before = self.ignore_case
        while self.at < len(self.text) and not self._peek(")"):
            if self._take("|"):
                branches.append([])
            else:
                branches[-1].append(self._quantified(self._atom()))
        self.ignore_case = before
        return branches

    def _quantified(self, node: Node) -> Node:
        found = self._found(r"[*+?]|\{(\d*)(,?)(\d*)\}")
        if found is None:
            return node
        if found[0] in ("*", "+", "?"):
            least, most = int(found[0] == "+"), 1 if found[0] == "?" else None
        elif found[1] or found[3]:
            least = int(found[1] or 0)
            most = int(found[3]) if found[3] else None if found[2] else least
        else:
            raise ExpressionError
        possessive = not self._take("?") and self._take("+")
        return _repeat(node, least, most, possessive=possessive)

    def _atom(self) -> Node:
        c = self._next()
        if c == "(":
            return self._group()
        if c == "[":
            return one_of(self._set())
        if c == ".":
            return one_of(_ANY, _SURE & ~_bits("\n"))
        if c == "^":
            return _assertion(lambda: _around(before=LINE_EDGE), At.LINE_START)
        if c == "$":
            return _assertion(_around, At.LINE_END)
        if c == "\\":
            return self._escape()
        if c in "*+?{":
            raise ExpressionError
        return one_of(self._cased(_bits(c)))

    def _escape(self) -> Node:
        if self._take("b"):
            return _assertion(_around, At.WORD_EDGE)
        if self._take("Z"):
            return _assertion(_around, At.END)
        if self._found("[1-9]"):  # what a group matched
            return Node(_anything, _anything, _ENDLESS)
        if self._found("[BAmMKGRX0]"):
            raise ExpressionError
        return one_of(self._cased(self._escaped()))

    def _escaped(self) -> int:
        c = self._next()
        if c in _ESCAPES:
            return _ESCAPES[c]
        if c == "p":
            found = self._found(r"\{(\w+)\}")
            if found is None or found[1] not in _PROPERTIES:
                raise ExpressionError
            return _PROPERTIES[found[1]] | OTHER
        sizes = {"x": 2, "u": 4, "U": 8}
        if c in sizes:
            digits = self.text[self.at : self.at + sizes[c]]
            self.at += sizes[c]
            return _bits(chr(int(digits, 16)))
        if c.isalnum():
            raise ExpressionError
        return _bits(c)

    def _set(self) -> int:
        negated = self._take("^")
        found, first = 0, True
        while first or not self._peek("]"):
            first = False
            if self._peek("[:") or self._peek("[["):
                raise ExpressionError
            escape = self._peek("\\")
            c = self._next()
            low = self._escaped() if escape else _bits(c)
            if self._peek("-") and not self._peek("-]") and (low & ~WILD).bit_count() == 1:
                self.at += 1
                start = c if not escape else chr(low.bit_length() - 1)
                last = self._next()
                if last == "\\":
                    high = self._escaped()
                    if low & OTHER or high & OTHER or high.bit_count() != 1:
                        raise ExpressionError
                    last = chr(high.bit_length() - 1)
                low = _range(start, last)
            found |= low
        self.at += 1
        found = self._cased(found)
        return _without(found) & (_ANY | WILD) if negated else found

    def _cased(self, found: int) -> int:
        if self.ignore_case:
            lower, upper = found & _LOWER, found & _UPPER
            found |= lower >> 32 | upper << 32 | (_ALIKE if found & WILD else 0)
        return found

    def _group(self) -> Node:
        if not self._take("?"):
            return self._body(whole)
        for head, make in _HEADS:
            if self._take(head):
                return self._body(make)
        if self._found(r"P?<\w+>"):
            return self._body(whole)
        flags = self._found(r"([im]*)(?:-([im]+))?([:)])")
        if flags is None:
            raise ExpressionError
        before = self.ignore_case
        self.ignore_case = ("i" in flags[1] or before) and "i" not in (flags[2] or "")
        if flags[3] == ")":
            return _assertion(_around, At.HERE)
        node = self._body(whole)
        self.ignore_case = before
        return node

    def _body(self, make: Callable[[Sequence[Sequence[Node]]], Node]) -> Node:
        branches = self._alternatives()
        if not self._take(")"):
            raise ExpressionError
        return make(branches)


def parse(expression: str, *, ignore_case: bool) -> list[list[Node]]:
    """Return the alternatives of an expression, each a sequence of pieces.

    Raises
    ------
    ExpressionError
        When it uses what is not understood here.
    """
    parser = _Parser(expression, ignore_case)
    return parser.whole_expression()
