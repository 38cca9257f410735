"""Patterns, one of the things that `deid.detection.catalogue` reads, and how they run."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import regex

from deid.compiled import native
from deid.detection.checks import CHECKS
from deid.document import Span
from deid.errors import DetectionError

__all__ = ["ANCHORS", "Context", "Haystack", "Pattern", "compiled_of", "holds_word", "timed", "value_of"]
__all__ += ["words_expression"]

_SECONDS, _SECONDS_PER_CHARACTER = 20.0, 1e-5
"""Time limit of one expression on one text; generous, since it is wall-clock time on machines that may be busy."""
_MANY = 4096
"""Places that an expression is tried at without a look at the clock."""


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
        return bool(
            (self.before and holds_word(self.words, text, max(0, start - self.before), start))
            or (self.after and holds_word(self.words, text, end, end + self.after))
        )


def holds_word(words: tuple[str, ...], text: str, start: int, end: int) -> bool:
    """Tell whether one of the words stands between two places."""
    if native is not None:
        held = _compiled_words(words).hold(text, start, end)
        if held is not None:
            return bool(held)
    return words_expression(words).search(text, start, end) is not None


@functools.lru_cache(maxsize=512)
def _compiled_words(words: tuple[str, ...]) -> Any:
    return native.Words(tuple(w for w in words if w.isascii()))


@functools.lru_cache(maxsize=512)
def words_expression(words: tuple[str, ...]) -> Any:
    """Return the expression that finds one of some words in any case."""
    # words are literal; a word that begins or ends with a letter or digit must not be a part of a longer one
    pieces = [
        (r"(?<!\w)" if w[0].isalnum() else "")
        + regex.escape(w, special_only=True)
        + (r"(?!\w)" if w[-1].isalnum() else "")
        for w in sorted(words, key=lambda w: (-len(w), w))
    ]
    return regex.compile("|".join(pieces), flags=regex.IGNORECASE)


ANCHORS: dict[str, str] = {
    "digits": r"(?<![0-9])(?=[0-9])",
    "digits.small": r"(?<![0-9])(?=[0-9]{1,3}(?![0-9]))",
    "digits.year": r"(?<![0-9])(?=[0-9]{4}(?![0-9]))",
    "digits.five": r"(?<![0-9])(?=[0-9]{5}(?![0-9]))",
    "digits.long": r"(?<![0-9])(?=[0-9]{7})",
    "digits.slash": r"(?<![0-9])(?=[0-9]{1,2}/)",
    "digits.date": r"(?<![0-9])(?=[0-9]{1,4}[/.-])",
    "digits.three": r"(?<![0-9])(?=[0-9]{3,4}[- .])",
    "digits.word": r"(?:(?<![0-9])(?=[0-9])|(?<!\p{L})(?=\p{L}{1,12}[0-9])|(?=\p{L}{12}[0-9]))",
    "digits.code": (
        r"(?:(?<![0-9])(?=[0-9])|(?<!\p{L})(?=\p{L}{1,4}[-/]?[0-9])|(?=\p{L}{4}[-/]?[0-9])|(?<!\p{L})(?=[-/][0-9]))"
    ),
    "digits.bracket": r"(?:(?<![0-9])(?=[0-9])|(?=[(+][0-9]))",
}
"""Where a pattern counts: at numbers, told apart by their length and the character behind them; at the start of what
a number ends (a word of up to twelve letters, a code, an opening bracket)."""


class Haystack:
    """A text that many patterns are looked for in; what they share is computed once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = text.lower()
        """The text in lower case; offsets may differ from those of the text."""
        self._held: dict[str, bool] = {}

    def holds_one(self, needs: tuple[str, ...]) -> bool:
        """Tell whether one of some lower-case strings is in the text."""
        for need in needs:
            held = self._held.get(need)
            if held is None:
                held = self._held[need] = need in self.folded
            if held:
                return True
        return False


def _matches_at(name: str, compiled: Any, text: str, places: Sequence[int]) -> list[Any]:
    """Match an expression at some places, from left to right, without overlaps.

    The expression is timed as a whole: the shipped ones are bounded, and tested to be.
    """
    match = compiled.match
    matches = []
    last = 0
    stop = time.monotonic() + _limit(text) if len(places) > _MANY else 0.0
    for count, place in enumerate(places, 1):
        if place >= last:
            found = match(text, place)
            if found is not None:
                last = found.end()
                matches.append(found)
        if stop and not count % _MANY and time.monotonic() > stop:
            raise _too_slow(name)
    return matches


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
    """Whether it comes from a folder of the user's own; then every run is timed, and the sieve is not asked."""
    match: tuple[str, ...] = field(default=(), repr=False)
    no_match: tuple[str, ...] = field(default=(), repr=False)
    _ready: tuple[Any, ...] = field(default=(), init=False, repr=False, compare=False)
    """What `find` asks for each time: the compiled expression, whether it has a group ``value``, check, source."""

    @property
    def whole(self) -> str:
        """The expression with its anchor."""
        return f"{self.anchor}(?:{self.expression})" if self.anchor else self.expression

    def find(self, haystack: Haystack, places: Sequence[int] | None = None) -> list[Span]:
        """Find the spans of this pattern.

        Parameters
        ----------
        haystack : Haystack
        places : sequence of int, optional
            Where a match may begin, sorted, in a text that holds what the pattern needs; anywhere when not given.
        """
        if places is None and self.needs and not haystack.holds_one(self.needs):
            return []
        text = haystack.text
        if not self._ready:
            compiled = compiled_of(self.whole, self.case)
            ready = compiled, "value" in compiled.groupindex, CHECKS.get(self.check), f"rule:{self.name}"
            object.__setattr__(self, "_ready", ready)
        compiled, valued, check, source = self._ready
        if places is None or self.guarded:
            matches = timed(self.name, compiled, text)
        else:
            matches = _matches_at(self.name, compiled, text, places)
        context, unless = self.context, self.unless
        spans: list[Span] = []
        for found in matches:
            start, end = found.span("value") if valued else (-1, -1)
            if start < 0:
                start, end = found.span()
            certainty = self.certainty
            if context and context.near(text, start, end):
                certainty = context.certainty
            if start == end or certainty <= 0 or (check and not check(text[start:end])):
                continue
            if not unless or not unless.near(text, start, end):
                spans.append(Span(start, end, self.category, source=source, score=certainty))
        return spans


def value_of(found: Any) -> tuple[int, int]:
    """Return the extent of the group ``value`` where it took part in the match, else of the whole match."""
    if "value" in found.re.groupindex and found.start("value") >= 0:
        return found.span("value")
    return found.span()


def timed(name: str, compiled: Any, text: str) -> list[Any]:
    """Return all matches of an expression in a text, under its time limit."""
    try:
        return list(compiled.finditer(text, timeout=_limit(text)))
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
