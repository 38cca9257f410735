"""Patterns, one of the things that `deid.detection.catalogue` reads, and how they run."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import regex

from deid.detection.checks import CHECKS
from deid.document import Span
from deid.errors import DetectionError

__all__ = ["DIGIT_ANCHORS", "WORD_ANCHORS", "Context", "Haystack", "Pattern", "compiled_of", "timed", "value_of"]

_SECONDS, _SECONDS_PER_CHARACTER = 20.0, 1e-5
"""Time limit of one expression on one text; generous, since it is wall-clock time on machines that may be busy."""


@dataclass(frozen=True, slots=True)
class Context:
    """Words near a match."""

    words: tuple[str, ...]
    before: int = 40
    """Characters looked at before the match."""
    after: int = 0
    """Characters looked at behind the match."""
    certainty: float = 0.0

    def near(self, text: str, start: int, end: int) -> bool:
        """Tell whether one of the words stands near a match."""
        found = _words_expression(self.words)
        return bool(
            (self.before and found.search(text, max(0, start - self.before), start))
            or (self.after and found.search(text, end, end + self.after))
        )


@functools.lru_cache(maxsize=512)
def _words_expression(words: tuple[str, ...]) -> Any:
    # words are literal; a word that begins or ends with a letter or digit must not be a part of a longer one
    pieces = [
        (r"(?<!\w)" if w[0].isalnum() else "")
        + regex.escape(w, special_only=True)
        + (r"(?!\w)" if w[-1].isalnum() else "")
        for w in sorted(words, key=lambda w: (-len(w), w))
    ]
    return regex.compile("|".join(pieces), flags=regex.IGNORECASE)


_DIGITS = regex.compile(r"[0-9]+")
_DATE_SIGNS, _PART_SIGNS = frozenset("/.-"), frozenset("- .")

DIGIT_ANCHORS: dict[str, Callable[[int, str], bool]] = {
    "digits": lambda length, sign: True,
    "digits.small": lambda length, sign: length < 4,
    "digits.year": lambda length, sign: length == 4,
    "digits.five": lambda length, sign: length == 5,
    "digits.long": lambda length, sign: length > 6,
    "digits.slash": lambda length, sign: length < 3 and sign == "/",
    "digits.date": lambda length, sign: length < 5 and sign in _DATE_SIGNS,
    "digits.three": lambda length, sign: 2 < length < 5 and sign in _PART_SIGNS,
}
"""Anchors at numbers, told apart by their length and the character behind them."""

WORD_ANCHORS: dict[str, tuple[str, int]] = {
    "digits.word": ("", 12),
    "digits.code": ("-/", 4),
    "digits.bracket": ("(+", 0),
}
"""Anchors at the start of what a number ends: signs and number of letters that may stand before it."""


class Haystack:
    """A text that many patterns are looked for in; what they share is computed once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = text.lower()
        """The text in lower case; offsets may differ from those of the text."""
        self._positions: dict[str, list[int]] = {}
        self._digits: list[tuple[int, int, str]] | None = None

    def matches(self, name: str, compiled: Any, anchor: str, guarded: bool) -> Iterator[Any]:
        """Match an expression at the places where ``anchor`` is found, from left to right, without overlaps.

        Only ``guarded`` expressions, those of the user's own, are timed at every place, which costs more than the match
        itself; the shipped ones are bounded, and tested to be, and are timed as a whole.
        """
        positions = self._anchors(name, anchor)
        text, limit = self.text, _limit(self.text)
        match = functools.partial(compiled.match, timeout=limit) if guarded else compiled.match
        last, stop = 0, time.monotonic() + limit
        for count, position in enumerate(positions):
            if position < last:
                continue
            if not count & 0xFFF and time.monotonic() > stop:
                raise _too_slow(name)
            try:
                found = match(text, position)
            except TimeoutError:
                raise _too_slow(name) from None
            if found is not None:
                last = found.end()
                yield found

    def _anchors(self, name: str, anchor: str) -> list[int]:
        """Return the places where an anchor is found; computed once."""
        found = self._positions.get(anchor)
        if found is not None:
            return found
        if anchor in DIGIT_ANCHORS:
            holds = DIGIT_ANCHORS[anchor]
            found = [start for start, length, sign in self._numbers() if holds(length, sign)]
        elif anchor in WORD_ANCHORS:
            starts = {start for start, _, _ in self._numbers()}
            found = sorted(starts.union(self._lead(start, *WORD_ANCHORS[anchor]) for start in starts))
        else:
            found = [m.start() for m in timed(name, compiled_of(anchor, False), self.text)]
        self._positions[anchor] = found
        return found

    def _numbers(self) -> list[tuple[int, int, str]]:
        """Return start, length and following character of each number."""
        if self._digits is None:
            text = self.text + "\n"
            self._digits = [(m.start(), m.end() - m.start(), text[m.end()]) for m in _DIGITS.finditer(text)]
        return self._digits

    def _lead(self, start: int, signs: str, letters: int) -> int:
        """Return where the letters and the sign right before a number begin."""
        text, at = self.text, start
        if signs and at and text[at - 1] in signs:
            at -= 1
        least = max(0, at - letters)
        while at > least and text[at - 1].isalpha():
            at -= 1
        return at


@dataclass(frozen=True, slots=True)
class Pattern:
    """One expression with its conditions; compiled when first used."""

    name: str
    category: str
    expression: str = field(repr=False)
    certainty: float
    case: bool = False
    anchor: str = field(default="", repr=False)
    needs: tuple[str, ...] = ()
    check: str = ""
    unlisted: bool = False
    """Whether a match that is an ordinary or clinical word does not count; told by whoever has the word lists."""
    context: Context | None = None
    unless: Context | None = None
    guarded: bool = False
    """Whether it comes from a folder of the user's own."""
    match: tuple[str, ...] = field(default=(), repr=False)
    no_match: tuple[str, ...] = field(default=(), repr=False)

    def find(self, haystack: Haystack) -> Iterator[Span]:
        """Find the spans of this pattern."""
        if self.needs and not any(n in haystack.folded for n in self.needs):
            return
        text = haystack.text
        compiled = compiled_of(self.expression, self.case)
        if self.anchor:
            matches = haystack.matches(self.name, compiled, self.anchor, self.guarded)
        else:
            matches = timed(self.name, compiled, text)
        for found in matches:
            start, end = value_of(found)
            certainty = self.certainty
            if self.context and self.context.near(text, start, end):
                certainty = self.context.certainty
            if start == end or certainty <= 0:
                continue
            if self.check and not CHECKS[self.check](text[start:end]):
                continue
            if self.unless and self.unless.near(text, start, end):
                continue
            yield Span(start, end, self.category, source=f"rule:{self.name}", score=certainty)


def value_of(found: Any) -> tuple[int, int]:
    """Return the extent of the group ``value`` where it took part in the match, else of the whole match."""
    if "value" in found.re.groupindex and found.start("value") >= 0:
        return found.span("value")
    return found.span()


def timed(name: str, compiled: Any, text: str) -> Iterator[Any]:
    """Run an expression over a text under its time limit."""
    try:
        yield from compiled.finditer(text, timeout=_limit(text))
    except TimeoutError:
        raise _too_slow(name) from None


def _limit(text: str) -> float:
    return _SECONDS + _SECONDS_PER_CHARACTER * len(text)


def _too_slow(name: str) -> DetectionError:
    return DetectionError(
        f"pattern {name} did not finish within its time limit",
        "the pattern is not linear on this text: correct it, or split the document",
    )


@functools.lru_cache(maxsize=1024)
def compiled_of(expression: str, case: bool) -> Any:
    """Compile an expression of a catalogue, once."""
    return regex.compile(expression, flags=0 if case else regex.IGNORECASE)
