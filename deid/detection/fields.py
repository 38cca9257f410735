"""Labelled values, lists of PHI and labels of persons: what one pass over the words of a text finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import regex

from deid.detection.checks import CHECKS
from deid.detection.patterns import Context, compiled_of, value_of
from deid.detection.view import View, words_of
from deid.dictionaries import Dictionary, PhraseMatcher, fold, load_dictionary
from deid.document import Span

__all__ = ["Field", "LabelFinder", "ListRule", "PersonField", "PersonLabel"]

_STRICT = regex.compile(r"[:#=|\t^]")
_SECONDS = 20.0


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
        compiled = compiled_of(self.expression, False)
        found = compiled.match(text, between.end(), timeout=_SECONDS)
        if found is None:
            return None
        first, last = value_of(found)
        if first == last or (self.check and not CHECKS[self.check](text[first:last])):
            return None
        return Span(first, last, self.category, source=f"rule:{self.name}", score=self.certainty)


@dataclass(frozen=True, slots=True)
class ListRule:
    """Word lists whose items are PHI wherever they stand."""

    name: str
    category: str
    lists: tuple[str, ...]
    certainty: float
    capital: bool = False
    """Whether an item counts only when it begins with a capital."""
    context: Context | None = None
    unless: Context | None = None
    match: tuple[str, ...] = field(default=(), repr=False)
    no_match: tuple[str, ...] = field(default=(), repr=False)

    def judge(self, text: str, start: int, end: int) -> Span | None:
        """Return the span of an item that was found, unless its surroundings speak against it."""
        certainty = self.certainty
        if self.context and self.context.near(text, start, end):
            certainty = self.context.certainty
        if certainty <= 0 or (self.capital and not text[start].isupper()):
            return None
        if self.unless and self.unless.near(text, start, end):
            return None
        return Span(start, end, self.category, source=f"rule:{self.name}", score=certainty)


@dataclass(frozen=True, slots=True)
class PersonField:
    """A label behind which a name stands."""

    name: str
    category: str
    labels: tuple[str, ...]
    strict: bool = True
    certainty: float = 0.95


@dataclass(frozen=True, slots=True)
class PersonLabel:
    """A label behind which a name may stand."""

    field: PersonField
    first: int
    """First word of the label."""
    end: int
    """One past its last word."""


class LabelFinder:
    """Finds labelled values, items of lists and labels of persons in one pass over the words of a text.

    Parameters
    ----------
    fields, lists, persons
        What to find.
    separator : str
        Expression of what may stand between a label and its value.
    folders : sequence of Path
        Dictionary folders of the user's own.
    """

    def __init__(
        self,
        fields: Sequence[Field],
        lists: Sequence[ListRule],
        persons: Sequence[PersonField],
        separator: str,
        folders: Sequence[Path] = (),
    ) -> None:
        labelled: list[Field | PersonField] = [*fields, *persons]
        self._rules: dict[str, Field | ListRule | PersonField] = {r.name: r for r in labelled}
        self._rules.update((r.name, r) for r in lists)
        self._separator = regex.compile(separator, flags=regex.IGNORECASE)
        phrases = [Dictionary(r.name, tuple(fold(label) for label in r.labels)) for r in labelled]
        for rule in lists:
            loaded = [load_dictionary(name, folders) for name in rule.lists]
            items = tuple(item for d in loaded for item in d.phrases)
            phrases.append(Dictionary(rule.name, items, tuple(e for d in loaded for e in d.exceptions)))
        self._matcher = PhraseMatcher(phrases, words_of)

    def find(self, view: View) -> tuple[list[Span], list[PersonLabel]]:
        """Return the values and items found, and the labels of persons, in order of position."""
        spans: list[Span] = []
        labels: list[PersonLabel] = []
        covered = 0
        matches = self._matcher.match(view.folded)
        for start, end, name in sorted(matches, key=lambda m: (m[0], -m[1], m[2])):
            rule = self._rules[name]
            extent = (view.starts[start], view.ends[end - 1])
            if isinstance(rule, ListRule):
                span = rule.judge(view.text, *extent)
            elif end < covered:
                continue  # "id" inside of "patient id" is no label of its own
            elif isinstance(rule, PersonField):
                covered = max(covered, end)
                labels.append(PersonLabel(rule, start, end))
                continue
            else:
                covered = max(covered, end)
                span = rule.value(view.text, extent, self._separator)
            if span is not None:
                spans.append(span)
        return spans, labels
