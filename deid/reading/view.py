"""A text as the grammars see it: words with their case, numbers and signs, white space left out.

Unlike the tokens of a tagger, a word keeps its inner apostrophes and hyphens (*O'Brien*, *Smith-Jones*), because names
do. A possessive *'s* is a word of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final

import regex

from deid.base.compiled import native_for
from deid.reading.alphabet import page
from deid.reading.dictionaries import fold
from deid.reading.phrases import Ids

native = native_for("view")

SIGN: Final = 0
NUMBER: Final = 1
LOWER: Final = 2
TITLE: Final = 3
UPPER: Final = 4
MIXED: Final = 5
"""Kinds of words: a sign, a number, and four ways of writing letters. One capital letter alone is UPPER.

Each has its number written down: compiled modules take these, and need not look them up at every use."""

_LONG_LINE, _MOST_BREAKS = 58, 255
_ABBREVIATION = 5
"""Letters of the longest abbreviation that a full stop belongs to."""
_LETTERS = r"[\p{L}\p{M}]"
_WORD = regex.compile(
    rf"{_LETTERS}++(?:['\u2019](?!(?:re|ve|ll)\b){_LETTERS}{{2,}}+|-{_LETTERS}++)*+|\p{{N}}++|[^\s\p{{L}}\p{{M}}\p{{N}}]"
)


@dataclass(slots=True)
class View:
    """Words of one text; parallel lists, one entry a word."""

    text: str = field(repr=False)
    strings: list[str] = field(repr=False)
    starts: list[int] = field(repr=False)
    ends: list[int] = field(repr=False)
    folded: list[str] = field(repr=False)
    """The words in the form of `deid.reading.dictionaries.fold`."""
    kinds: bytes = field(repr=False)
    """SIGN, NUMBER, LOWER, TITLE, UPPER or MIXED."""
    breaks: bytes = field(repr=False)
    """Line ends between a word and the word before it, at most 255; 2 at the start of the text."""
    wrapped: bytes = field(repr=False)
    """Whether the line before a word is so long that the word only stands in the next one for want of room."""
    uppercase_line: bytes = field(repr=False)
    """Whether the word stands in a line of capitals, where case says nothing."""
    abbreviating: bytes = field(repr=False)
    """Whether the word is a full stop right behind a short word, as in *Med. Rec. No.*"""
    ids: Ids = field(default=None, repr=False, compare=False)
    """By what numbers the compiled module knows the words."""

    def __len__(self) -> int:
        return len(self.strings)

    def at(self, offset: int) -> int:
        """Return the index of the first word that ends behind ``offset``; the number of words where none does."""
        low = bisect_left(self.starts, offset)
        return low - 1 if low and self.ends[low - 1] > offset else low

    def words_at(self, start: int, end: int) -> range:
        """Return the words that share a character with a place."""
        first = bisect_left(self.starts, start)
        if first and self.ends[first - 1] > start:
            first -= 1
        return range(first, bisect_left(self.starts, end, first))

    def joined(self) -> bytes:
        """Return whether each word may continue a phrase of the words before it: no empty line stands between."""
        return self.breaks.translate(_JOINED)

    def starts_sentence(self, index: int) -> bool:
        """Tell whether a word is the first of a line, of a sentence, or of what follows a colon or an opening sign."""
        if index == 0 or self.breaks[index]:
            return True
        before = self.strings[index - 1]
        if before == ".":
            # "Dr. Smith", "J. Smith", "pt. Jones": a full stop behind a short word ends no sentence
            return index < 2 or len(self.strings[index - 2]) > 3 or self.kinds[index - 2] == NUMBER
        return before in OPENERS


_JOINED = bytes(breaks < 2 for breaks in range(256))
OPENERS = frozenset('!?:;"\u201c\u2022*-\u2013\u2014|>)]')
"""Signs behind which a sentence, or something like one, begins."""


def words_of(text: str) -> list[str]:
    """Return the words of a phrase, split as `view_of` does."""
    return _WORD.findall(text)


def view_of(text: str) -> View:
    """Return the words of a text with plain line ends (`deid.reading.line_ends`): white space is left out."""
    if _viewer is not None:
        return View(text, *_viewer.view(text))
    strings: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _WORD.finditer(text):
        strings.append(match[0])
        start, end = match.span()
        starts.append(start)
        ends.append(end)
    kinds = [_kind(s) for s in strings]
    breaks = _breaks(text, starts, ends)
    folded = [fold(s) for s in strings]
    wrapped, uppercase_line = _wrapped(text, starts, ends, breaks), _uppercase_lines(strings, kinds, breaks)
    marks = bytes(kinds), bytes(breaks), bytes(wrapped), bytes(uppercase_line)
    return View(text, strings, starts, ends, folded, *marks, bytes(_abbreviating(folded, starts, ends)))


def _describe(word: str) -> tuple[str, int]:
    return fold(word), _kind(word)


_viewer = None if native is None else native.Viewer(page, _describe)


def _kind(word: str) -> int:
    if word.isupper():
        return UPPER
    if word.islower():
        return LOWER
    if not word[0].isalpha():
        return NUMBER if word[0].isnumeric() else SIGN
    if word[0].isupper():
        return TITLE if word[1:].islower() or word.istitle() else MIXED
    return MIXED


def _breaks(text: str, starts: list[int], ends: list[int]) -> list[int]:
    """Count the line ends before each word."""
    breaks = [0] * len(starts)
    last = 0
    for index, start in enumerate(starts):
        if start - last > 0:
            gap = text[last:start]
            breaks[index] = min(_MOST_BREAKS, gap.count("\n"))
        last = ends[index]
    if breaks:
        breaks[0] = 2
    return breaks


def _wrapped(text: str, starts: list[int], ends: list[int], breaks: list[int]) -> list[bool]:
    """Mark the first word of each line that continues a long one without indent."""
    wrapped = [False] * len(starts)
    line = 0  # where the present line begins
    for index, start in enumerate(starts):
        if not breaks[index] or not index:
            continue
        gap = text[ends[index - 1] : start]
        last = gap.rfind("\n") + 1
        long = ends[index - 1] - line >= _LONG_LINE
        behind = ends[index] + (text[ends[index] : ends[index] + 1] in (" ", "\u00a0"))  # French: "S :"
        labels = text[behind : behind + 1] == ":" and not text[behind + 1 : behind + 2].isdecimal()
        goes_on = text[ends[index - 1] - 1] not in ".:;!?" and not labels  # "S:" begins a part of its own
        wrapped[index] = breaks[index] == 1 and long and last == len(gap) and goes_on
        line = start
    return wrapped


def _abbreviating(folded: list[str], starts: list[int], ends: list[int]) -> list[bool]:
    """Mark the full stops right behind short words."""
    marked = [False] * len(folded)
    for index in range(1, len(folded)):
        short = ends[index - 1] - starts[index - 1] <= _ABBREVIATION
        marked[index] = folded[index] == "." and short and starts[index] == ends[index - 1]
    return marked


def _uppercase_lines(strings: list[str], kinds: list[int], breaks: list[int]) -> list[bool]:
    """Mark the words of lines in which nearly all letters are capitals."""
    uppercase_line = [False] * len(strings)
    first = 0
    for index in range(1, len(strings) + 1):
        if index < len(strings) and not breaks[index]:
            continue
        upper = lower = 0
        for i in range(first, index):
            if kinds[i] == UPPER and len(strings[i]) > 1:
                upper += len(strings[i])
            elif kinds[i] in (LOWER, TITLE, MIXED):
                lower += len(strings[i])
        if upper > 4 * lower:
            uppercase_line[first:index] = [True] * (index - first)
        first = index
    return uppercase_line
