"""Patterns and labelled fields: the values that `deid.detection.catalogue` reads, and how they run."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import regex

from deid.detection.checks import CHECKS
from deid.detection.view import View, words_of
from deid.dictionaries import Dictionary, PhraseMatcher, fold
from deid.document import Span
from deid.errors import DetectionError

__all__ = ["Context", "Field", "FieldFinder", "Pattern", "PersonField", "timed"]

_SECONDS, _SECONDS_PER_CHARACTER = 20.0, 1e-5
"""Time limit of one expression on one text; generous, since it is wall-clock time on machines that may be busy."""

_STRICT = regex.compile(r"[:#=|\t]")


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


@dataclass(frozen=True, slots=True)
class Pattern:
    """One expression with its conditions; compiled when first used."""

    name: str
    category: str
    expression: str = field(repr=False)
    certainty: float
    case: bool = False
    needs: tuple[str, ...] = ()
    check: str = ""
    context: Context | None = None
    unless: Context | None = None
    match: tuple[str, ...] = field(default=(), repr=False)
    no_match: tuple[str, ...] = field(default=(), repr=False)

    def find(self, text: str, folded: str) -> Iterator[Span]:
        """Find the spans of this pattern; ``folded`` is the text in lower case."""
        if self.needs and not any(n in folded for n in self.needs):
            return
        compiled = _compiled(self.expression, self.case)
        for found in timed(self.name, compiled, text):
            start, end = _value(found)
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


@dataclass(frozen=True, slots=True)
class Field:
    """A labelled value."""

    name: str
    category: str
    labels: tuple[str, ...]
    expression: str = field(repr=False)
    certainty: float
    strict: bool = False
    exact: bool = False
    check: str = ""
    match: tuple[str, ...] = field(default=(), repr=False)
    no_match: tuple[str, ...] = field(default=(), repr=False)

    def value(self, text: str, label: tuple[int, int], separator: Any) -> Span | None:
        """Return the value behind a label, if there is one."""
        start, end = label
        if self.exact and text[start:end] not in self.labels:
            return None
        between = separator.match(text, end)
        if between is None or (self.strict and not _STRICT.search(between[0])):
            return None
        compiled = _compiled(self.expression, False)
        found = compiled.match(text, between.end(), timeout=_SECONDS)
        if found is None:
            return None
        first, last = _value(found)
        if first == last or (self.check and not CHECKS[self.check](text[first:last])):
            return None
        return Span(first, last, self.category, source=f"rule:{self.name}", score=self.certainty)


@dataclass(frozen=True, slots=True)
class PersonField:
    """A label behind which a name stands."""

    name: str
    category: str
    labels: tuple[str, ...]
    strict: bool = True
    certainty: float = 0.95


def _value(found: Any) -> tuple[int, int]:
    """Return the extent of the group ``value`` where it took part in the match, else of the whole match."""
    if "value" in found.re.groupindex and found.start("value") >= 0:
        return found.span("value")
    return found.span()


def timed(name: str, compiled: Any, text: str) -> Iterator[Any]:
    """Run an expression over a text under its time limit."""
    try:
        yield from compiled.finditer(text, timeout=_SECONDS + _SECONDS_PER_CHARACTER * len(text))
    except TimeoutError:
        raise DetectionError(
            f"pattern {name} did not finish within its time limit",
            "the pattern is not linear on this text: correct it, or split the document",
        ) from None


@functools.lru_cache(maxsize=1024)
def _compiled(expression: str, case: bool) -> Any:
    return regex.compile(expression, flags=0 if case else regex.IGNORECASE)


class FieldFinder:
    """Finds labelled values: one pass over the words for all labels, then the value behind each label.

    Parameters
    ----------
    fields : sequence of Field
    separator : str
        Expression of what may stand between a label and its value.
    """

    def __init__(self, fields: Sequence[Field], separator: str) -> None:
        self._fields = {f.name: f for f in fields}
        self._separator = regex.compile(separator, flags=regex.IGNORECASE)
        lists = (Dictionary(f.name, tuple(fold(label) for label in f.labels)) for f in fields)
        self._labels = PhraseMatcher(lists, words_of)

    def find(self, view: View) -> list[Span]:
        """Return the values found, in order of their labels."""
        spans = []
        covered = 0
        matches = self._labels.match(view.folded)
        for start, end, name in sorted(matches, key=lambda m: (m[0], -m[1], m[2])):
            # "id" inside of "patient id" is no label of its own
            longest = max(covered, end)
            if end < longest:
                continue
            covered = longest
            label = (view.starts[start], view.ends[end - 1])
            span = self._fields[name].value(view.text, label, self._separator)
            if span is not None:
                spans.append(span)
        return spans
