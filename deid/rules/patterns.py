"""Patterns, one of the things that `deid.rules.catalogue` reads, and how they run."""

from __future__ import annotations

import copyreg
import functools
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import regex

from deid.base.cache import cached
from deid.base.compiled import native_for
from deid.base.errors import DetectionError
from deid.document import Span
from deid.rules.checks import CHECKS

native = native_for("patterns")

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
    _hold: Callable[[str, int, int], bool | None] | None = field(default=None, init=False, repr=False, compare=False)

    def near(self, text: str, start: int, end: int) -> bool:
        """Tell whether one of the words stands near a match; ``start`` and ``end`` are its offsets in the text."""
        if self._hold is None:
            object.__setattr__(self, "_hold", _holder(self.words))
        hold: Any = self._hold
        if self.before:
            first = start - self.before if start > self.before else 0
            held = hold(text, first, start)
            if held or (held is None and _stands(self.words, text, first, start)):
                return True
        if self.after:
            held = hold(text, end, end + self.after)
            return bool(held or (held is None and _stands(self.words, text, end, end + self.after)))
        return False


def holds_word(words: tuple[str, ...], text: str, start: int, end: int) -> bool:
    """Tell whether one of the words stands in a text between two offsets, ``start`` and ``end``."""
    held = _holder(words)(text, start, end)
    return _stands(words, text, start, end) if held is None else held


def _holder(words: tuple[str, ...]) -> Callable[[str, int, int], bool | None]:
    """Return what tells whether one of the words stands between two places; None where only the expression can.

    A text with letters beyond ASCII is left to the expression, and so are words with other such characters.
    """
    if native is None or not all(w.isascii() or any(c.isalpha() and not c.isascii() for c in w) for w in words):
        return functools.partial(_stands, words)
    hold: Callable[[str, int, int], bool | None] = native.Words(tuple(w for w in words if w.isascii())).hold
    return hold


def _stands(words: tuple[str, ...], text: str, start: int, end: int) -> bool:
    return words_expression(words).search(text, start, end) is not None


@functools.lru_cache(maxsize=512)
def words_expression(words: tuple[str, ...]) -> Any:
    """Return the expression that finds one of some words in any case."""
    return compiled_of(words_text(words), False)


def words_text(words: tuple[str, ...]) -> str:
    """Return that expression as `keep_compiled` is asked for it."""
    # words are literal; a word that begins or ends with a letter or digit must not be a part of a longer one
    pieces = [
        (r"(?<!\w)" if w[0].isalnum() else "")
        + regex.escape(w, special_only=True)
        + (r"(?!\w)" if w[-1].isalnum() else "")
        for w in sorted(words, key=lambda w: (-len(w), w))
    ]
    return "|".join(pieces)


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
    decides: bool = False
    """Whether it asks for a label or a form that only one kind of identifier has, so that its category goes before what
    others think (`deid.detection.ensemble`)."""
    context: Context | None = None
    unless: Context | None = None
    guarded: bool = False
    """Whether it comes from a folder of the user's own; then every run is timed, and the sieve is not asked."""
    match: tuple[str, ...] = field(default=(), repr=False)
    no_match: tuple[str, ...] = field(default=(), repr=False)
    _ready: tuple[Any, ...] = field(default=(), init=False, repr=False, compare=False)

    @property
    def whole(self) -> str:
        """The expression with its anchor."""
        return f"{self.anchor}(?:{self.expression})" if self.anchor else self.expression

    def find(self, haystack: Haystack) -> list[Span]:
        """Return the spans of this pattern, anywhere in a text; errors as those of `spans_of`."""
        if self.needs and not haystack.holds_one(self.needs):
            return []
        return spans_of(haystack.text, ((self, None),))

    def ready(self) -> tuple[Any, ...]:
        """Return what `spans_of` asks for each time: expression, group ``value`` (0: none), source, and the rest."""
        if not self._ready:
            compiled = compiled_of(self.whole, self.case)
            ready = (
                *(compiled.match, compiled.groupindex.get("value", 0), self.category, f"rule:{self.name}"),
                *(self.certainty, self.context, self.unless, CHECKS.get(self.check), self.unlisted),
            )
            object.__setattr__(self, "_ready", ready)
        return self._ready


def spans_of(
    text: str,
    hits: Iterable[tuple[Pattern, Sequence[int] | None]],
    ordinary: Callable[[str], bool] | None = None,
) -> list[Span]:
    """Return the spans of some patterns.

    Parameters
    ----------
    text : str
    hits : iterable of (Pattern, sequence of int or None)
        Patterns and where their matches may begin, sorted, from left to right without overlaps; anywhere when None.
    ordinary : callable, optional
        Tells of what a pattern matched whether it is a word of ordinary language; patterns that want none ask it.

    Raises
    ------
    DetectionError
        When a pattern takes too long.
    """
    spans: list[Span] = []
    for pattern, places in hits:
        match, value, category, source, sure, context, unless, check, unlisted = pattern._ready or pattern.ready()
        if places is None or pattern.guarded:
            matches = timed(pattern.name, match.__self__, text)
        else:
            # the shipped expressions are bounded, and tested to be: they are timed only where they have much to do
            matches, last, size = [], 0, len(text)
            for place in places if len(places) <= _MANY else _watched(pattern.name, text, places):
                if place >= last:
                    # whole, and without letting other threads run: a match takes a microsecond
                    found = match(text, place, size, False, False)
                    if found is not None:
                        last = found.end()
                        matches.append(found)
        for found in matches:
            start, end = found.span(value)
            if start < 0:
                start, end = found.span()
            certainty = sure
            if context is not None and context.near(text, start, end):
                certainty = context.certainty
            if (
                start < end
                and certainty > 0
                and (check is None or check(text[start:end]))
                and (unless is None or not unless.near(text, start, end))
                and not (unlisted and ordinary is not None and ordinary(text[start:end]))
            ):
                spans.append(Span(start, end, category, "", source, certainty))
    return spans


def _watched(name: str, text: str, places: Sequence[int]) -> Iterator[int]:
    """Yield places with a look at the clock now and then."""
    stop = time.monotonic() + _limit(text)
    for count, place in enumerate(places, 1):
        yield place
        if not count % _MANY and time.monotonic() > stop:
            raise too_slow(name)


def timed(name: str, compiled: Any, text: str) -> list[Any]:
    """Return all matches of an expression in a text.

    Raises
    ------
    DetectionError
        When it takes longer than its time limit, which grows with the text; names the pattern.
    """
    try:
        return list(compiled.finditer(text, timeout=_limit(text)))
    except TimeoutError:
        raise too_slow(name) from None


def _limit(text: str) -> float:
    return _SECONDS + _SECONDS_PER_CHARACTER * len(text)


def too_slow(name: str) -> DetectionError:
    """Return the error of an expression that met its time limit."""
    return DetectionError(
        f"pattern {name} did not finish within its time limit",
        "the pattern is not linear on this text: correct it, or split the document",
    )


@functools.lru_cache(maxsize=1024)
def compiled_of(expression: str, case: bool) -> Any:
    """Return an expression of a catalogue, compiled once; letter case counts where ``case`` is true."""
    kept = _KEPT.pop((expression, case), None)
    if kept is None:
        return regex.compile(expression, flags=0 if case else regex.IGNORECASE)
    flags, code, names, offset, required, required_flags, groups = json.loads(kept)
    restore, _ = _parts(_ANY)
    numbers = {number: name for name, number in names.items()}
    rest: tuple[Any, ...] = names, numbers, {}, [], offset, tuple(required), required_flags, groups
    return restore(expression, flags, code.encode("latin-1"), *rest)


def keep_compiled(expressions: Sequence[tuple[str, bool]]) -> None:
    """Have what expressions that ship are compiled to kept between runs, for `compiled_of`: to parse them takes longer
    than to read a few notes.

    Parameters
    ----------
    expressions : sequence of (str, bool)
        As `compiled_of` is asked for them.
    """

    def make() -> tuple[bytes, ...]:
        return tuple(_state(compiled_of(*one)) for one in expressions)

    release = f"{regex.__version__} {sys.version} {sys.platform}"
    texts = "\0".join(f"{case:d}{expression}" for expression, case in expressions)
    columns = cached("expressions", (_SOURCE.read_bytes(), release.encode(), texts.encode()), make)
    _KEPT.update((one, state) for one, state in zip(expressions, columns, strict=True) if state)


_SOURCE = Path(str(sys.modules["deid"].__file__)).parent / "rules" / "patterns.py"
"""This module; compiled, it does not know where it lies."""
_ANY = regex.compile("")
_MADE_OF = 11
"""Values that a compiled expression is made of, in the releases of `regex` that are known here."""
_KEPT: dict[tuple[str, bool], bytes] = {}
"""What expressions that were not used yet are compiled to."""


def _parts(compiled: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return what makes a compiled expression again, and of what, as `pickle` would have it."""
    reduced: Any = copyreg.dispatch_table[type(compiled)](compiled)
    return reduced[0], reduced[1]


def _state(compiled: Any) -> bytes:
    """Return what a compiled expression is made of beside its text; nothing where it has lists of words."""
    _, parts = _parts(compiled)
    if len(parts) != _MADE_OF:  # another release of the package: parsed at every start
        return b""
    _, flags, code, names, _, lists, places, offset, *rest = parts
    if lists or places:
        return b""
    return json.dumps((flags, code.decode("latin-1"), names, offset, *rest)).encode()
