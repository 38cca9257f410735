"""Labelled values, lists of PHI, labels of persons, cues: what one pass over the words of a text finds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any

import regex

from deid.base.cache import cached
from deid.base.compiled import native_for, quick
from deid.document import Span
from deid.reading.dictionaries import Dictionary, fold, load_dictionary
from deid.reading.phrases import PhraseMatcher
from deid.reading.view import View, words_of
from deid.rules import expressions, programs
from deid.rules.checks import CHECKS
from deid.rules.expressions import ExpressionError, parse
from deid.rules.patterns import Context, compiled_of, too_slow
from deid.rules.programs import Programs

native = native_for("fields")

_STRICT = frozenset(":#=|\t^_>]?")
_LEADERS = ("..", ". .", "\u2026\u2026", "\u00b7\u00b7")
_SECONDS = 20.0
_VOWELS = "aeiouyh"
"""First letters, without accents, of words that an article is elided before."""
_ARTICLE = 2
"""Characters of an elided article, with its apostrophe."""

CUES = [
    *("naming", "greeting", "closing", "contact", "doctor", "signer", "lives", "where", "hospital_at", "work_at"),
    *("aged", "hospital_verb", "hospital_unit", "hospital_field"),
    *("works_as", "is_a", "retired", "works_in", "by_trade", "occupation", "article", "eponym"),
]
"""Names of cues that the grammars ask for."""


def _is_strict(between: str) -> bool:
    """Tell whether what stands between a label and its value is a sign, or leads there: *Occupation . . . . Nurse*."""
    return not _STRICT.isdisjoint(between) or any(sign in between for sign in _LEADERS)


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
    guarded: bool = False
    """Whether it comes from a folder of the user's own; then every run is timed: the shipped expressions are bounded,
    and tested to be."""
    match: tuple[str, ...] = field(default=(), repr=False)
    no_match: tuple[str, ...] = field(default=(), repr=False)
    _ready: tuple[Any, ...] = field(default=(), init=False, repr=False, compare=False)
    """What `value_at` asks for each time: how to match, number of the group ``value`` (0: none), check, source."""

    def judge(self, text: str, start: int, end: int, separator: Any) -> Span | None:
        """Return the value behind a label, None when there is none.

        Parameters
        ----------
        text : str
            The document's text.
        start, end : int
            Characters of the label.
        separator : compiled expression
            What may stand between label and value.
        """
        if self.exact and text[start:end] not in self.labels:
            return None
        between = separator.match(text, end)
        if between is None or (self.strict and not _is_strict(between[0])):
            return None
        return self.value_at(text, between.end())

    def value_at(self, text: str, start: int) -> Span | None:
        """Return the value that starts at an offset, None when there is none.

        Raises
        ------
        DetectionError
            When the expression of the value takes too long.
        """
        match, value, check, source = self._ready or self._prepare()
        first, last = _place(self.name, match, value, text, start)
        if first == last or (check is not None and not check(text[first:last])):
            return None
        return Span(first, last, self.category, "", source, self.certainty)

    def _prepare(self) -> tuple[Any, ...]:
        ready = *_matcher(self.expression, self.guarded), CHECKS.get(self.check), f"rule:{self.name}"
        object.__setattr__(self, "_ready", ready)
        return ready


def _matcher(expression: str, guarded: bool) -> tuple[Any, int]:
    """Return what matches an expression at an offset, and the number of its group ``value`` (0: none)."""
    compiled = compiled_of(expression, False)
    match = functools.partial(compiled.match, timeout=_SECONDS) if guarded else compiled.match
    return match, compiled.groupindex.get("value", 0)


def _place(name: str, match: Any, value: int, text: str, start: int) -> tuple[int, int]:
    """Return where the value of a rule stands that begins at an offset; -1 twice where there is none.

    Raises
    ------
    DetectionError
        When the expression takes too long.
    """
    try:
        found = match(text, start)
    except TimeoutError:
        raise too_slow(name) from None
    if found is None:
        return -1, -1
    first, last = found.span(value)
    return (first, last) if first >= 0 else found.span()


@dataclass(frozen=True, slots=True)
class ListRule:
    """Word lists whose items are PHI wherever they stand."""

    name: str
    category: str
    lists: tuple[str, ...]
    certainty: float
    capital: bool = False
    """Whether an item counts only when it begins with a capital."""
    small: bool = False
    """Whether an item of one word counts only when it begins with a small letter."""
    context: Context | None = None
    unless: Context | None = None
    match: tuple[str, ...] = field(default=(), repr=False)
    no_match: tuple[str, ...] = field(default=(), repr=False)

    def judge(self, text: str, start: int, end: int, _separator: Any) -> Span | None:
        """Return the span of an item that was found, None when its surroundings speak against it; see `Field.judge`."""
        certainty = self.certainty
        if self.context and self.context.near(text, start, end):
            certainty = self.context.certainty
        if certainty <= 0 or (self.capital and not text[start].isupper()):
            return None
        if self.small and not text[start].islower() and " " not in text[start:end]:
            return None
        if self.unless and self.unless.near(text, start, end):
            return None
        return Span(start, end, self.category, source=f"rule:{self.name}", score=certainty)


@dataclass(frozen=True, slots=True)
class HeadRule:
    """Word lists whose items say what kind of a thing something is, with its name right behind: *Amtsgericht Celle*."""

    name: str
    category: str
    lists: tuple[str, ...]
    expression: str = field(repr=False)
    certainty: float
    part: bool = False
    """Whether the head is a part of the name."""
    capital: bool = False
    """Whether a head counts only when it begins with a capital."""
    unlisted: bool = False
    """Whether a name of ordinary words does not count."""
    guarded: bool = False
    """As that of `Field`."""
    match: tuple[str, ...] = field(default=(), repr=False)
    no_match: tuple[str, ...] = field(default=(), repr=False)

    def judge(self, text: str, start: int, end: int, ordinary: Callable[[str], bool] | None) -> Span | None:
        """Return the name behind a head, or both, None where none stands there; see `Field.judge`.

        Parameters
        ----------
        text : str
            The document's text.
        start, end : int
            Characters of the head.
        ordinary : callable, optional
            Tells of a name whether it is words of ordinary or clinical language.

        Raises
        ------
        DetectionError
            When the expression of the name takes too long.
        """
        if self.capital and not text[start].isupper():
            return None
        first, last = _place(self.name, *_matcher(self.expression, self.guarded), text, end)
        if first < 0 or (self.unlisted and ordinary is not None and ordinary(text[first:last])):
            return None
        return Span(start if self.part else first, last, self.category, "", f"rule:{self.name}", self.certainty)


@dataclass(frozen=True, slots=True)
class PersonField:
    """A label behind which a name stands."""

    name: str
    category: str
    labels: tuple[str, ...]
    strict: bool = True
    certainty: float = 0.95


@quick
@dataclass(frozen=True, slots=True)
class PersonLabel:
    """A label behind which a name may stand."""

    field: PersonField
    first: int
    """First word of the label."""
    end: int
    """One past its last word."""


@dataclass(frozen=True, slots=True)
class Cue:
    """Words around a candidate that the grammars of names, places and occupations ask for."""

    name: str
    words: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Scan:
    """What one pass over the words found."""

    spans: list[Span]
    """Labelled values and items of lists."""
    labels: list[PersonLabel]
    """Labels of persons, in order."""
    cues_before: dict[str, set[int]]
    """Name of each cue -> the words that it ends right before; one past the last word too."""
    cues_at: dict[str, set[int]]
    """Name of each cue -> the words that it starts with."""


_Rule = Field | HeadRule | ListRule | PersonField


class LabelFinder:
    """Finds labelled values, items of lists, labels of persons and cues in one pass over the words of a text.

    Parameters
    ----------
    fields, lists, persons, cues
        What to find.
    separator : str
        Expression of what may stand between a label and its value.
    folders : sequence of Path
        Dictionary folders of the user's own.
    heads : sequence of HeadRule
        What names stand behind.
    elided : collection of str
        Articles that an apostrophe joins to the word behind them (*l'hôpital*): items of lists and heads are found
        behind them.
    """

    def __init__(
        self,
        fields: Sequence[Field],
        lists: Sequence[ListRule],
        persons: Sequence[PersonField],
        cues: Sequence[Cue],
        separator: str,
        folders: Sequence[Path] = (),
        heads: Sequence[HeadRule] = (),
        elided: Collection[str] = (),
    ) -> None:
        labelled: list[Field | PersonField] = [*fields, *persons]
        # of the rules that end at one place the first by name counts, so they are numbered in that order
        self._rules: list[_Rule] = sorted([*labelled, *lists, *heads], key=lambda r: r.name)
        self._persons = {n: rule for n, rule in enumerate(self._rules) if isinstance(rule, PersonField)}
        self._heads = frozenset(n for n, rule in enumerate(self._rules) if isinstance(rule, HeadRule))
        self._lists = self._heads.union(n for n, rule in enumerate(self._rules) if isinstance(rule, ListRule))
        self._separator = regex.compile(separator, flags=regex.IGNORECASE)
        self._shipped = not folders
        self.by_label: dict[str, Field | PersonField] = {fold(label): r for r in labelled for label in r.labels}
        """Folded label -> its field, for the columns of tables."""
        phrases = [_phrases_of(rule, folders) for rule in self._rules]
        self._elided: set[str] = set()
        """First words of items and heads that an elided article was written before."""
        for n, rule in enumerate(self._rules if elided else ()):
            if isinstance(rule, ListRule | HeadRule):
                phrases[n] = self._with_articles(phrases[n], elided)
        phrases += [Dictionary(c.name, tuple(map(fold, c.words))) for c in cues]
        # cues that the language lacks are asked for too, and found nowhere
        phrases += [Dictionary(name, ()) for name in CUES if name not in {c.name for c in cues}]
        self._marks = tuple(d.name for d in phrases[len(self._rules) :])
        self._matcher = PhraseMatcher(phrases, _undotted_words)
        self._fits: Any = None

    def find(self, view: View, ordinary: Callable[[str], bool] | None = None) -> Scan:
        """Return the labelled values, items of lists, names behind heads, labels of persons and cues in a text's words.

        ``ordinary`` tells of a name whether it is words of ordinary or clinical language.
        """
        matches, before, at = self._matcher.scan(
            view.folded,
            view.joined(),
            ids=view.ids,
            passed=view.abbreviating,
            longest_first=True,
            marks=self._marks,
        )
        spans: list[Span] = []
        labels: list[PersonLabel] = []
        rules, persons, lists, heads = self._rules, self._persons, self._lists, self._heads
        text, strings, starts, ends = view.text, view.strings, view.starts, view.ends
        numbers: list[int] = []
        firsts: list[int] = []
        places: list[int] = []
        covered = 0
        for start, end, number in matches:
            joined = strings[start - 1] == "/" and end == start + 1 and start and starts[start] == ends[start - 1]
            if joined and number not in heads:
                continue  # "mg/dL"
            if number not in lists:
                if end < covered:
                    continue  # "id" inside of "patient id" is no label of its own
                covered = end
                person = persons.get(number)
                if person is not None:
                    labels.append(PersonLabel(person, start, end))
                    continue
            numbers.append(number)
            firsts.append(start)
            places.append(ends[end - 1])
        if numbers:
            may = self._may_fit(text, numbers, places)
            elided, folded = self._elided, view.folded
            for number, first, last in compress(zip(numbers, firsts, places, strict=True), may):
                rule = rules[number]
                asked = ordinary if isinstance(rule, HeadRule) else self._separator
                begin = starts[first] + (_ARTICLE if folded[first] in elided else 0)
                span = rule.judge(text, begin, last, asked)  # type: ignore[union-attr]
                if span is not None:
                    spans.append(span)
        return Scan(spans, labels, before, at)

    def _with_articles(self, found: Dictionary, elided: Collection[str]) -> Dictionary:
        """Return what a rule looks for, also behind elided articles."""
        more = [f"{letter}'{phrase}" for phrase in found.phrases if phrase[0] in _VOWELS for letter in elided]
        self._elided.update(phrase.split(" ", 1)[0] for phrase in more)
        self._elided.difference_update(phrase.split(" ", 1)[0] for phrase in found.phrases)
        return Dictionary(found.name, (*found.phrases, *more), found.exceptions)

    def _may_fit(self, text: str, rules: list[int], places: list[int]) -> bytes:
        """Tell of rules whether a value may stand behind a label that ends at a place; most places have none."""
        if native is None:
            return b"\1" * len(rules)
        if self._fits is None:
            self._fits = self._made_fits()
        return self._fits.may(text, rules, places)

    def _made_fits(self) -> Any:
        """Return what the compiled module tells by: a program a rule."""
        separator = self._separator.pattern
        wholes = [
            (f"(?:{separator})" if isinstance(r, Field) else "") + f"(?:{r.expression})"
            if isinstance(r, Field | HeadRule)
            else ""
            for r in self._rules
        ]

        def make() -> tuple[bytes, ...]:
            made = Programs()
            for whole in wholes:
                try:
                    made.add(parse(whole, ignore_case=True))
                except (ExpressionError, ValueError, RecursionError):
                    made.add(None)
            return made.tables()

        code = (Path(str(room.__file__)).read_bytes() for room in (expressions, programs))
        return native.Fits(*(cached("values", (*code, "\0".join(wholes).encode()), make) if self._shipped else make()))


def _phrases_of(rule: _Rule, folders: Sequence[Path]) -> Dictionary:
    """Return what a rule looks for."""
    if isinstance(rule, Field | PersonField):
        return Dictionary(rule.name, tuple(map(fold, rule.labels)))
    loaded = [load_dictionary(name, folders) for name in rule.lists]
    items = tuple(item for d in loaded for item in d.phrases)
    return Dictionary(rule.name, items, tuple(e for d in loaded for e in d.exceptions))


def _undotted_words(phrase: str) -> list[str]:
    return [w for w in words_of(phrase) if w != "."]
