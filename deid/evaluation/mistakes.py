"""Every error of a system, of what kind it is, and where it stands in its text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from deid.document import Document, Span
from deid.evaluation.cases import Case, keys

MISSED, SPURIOUS, BOUNDARY, CATEGORY, BOTH = KINDS = (
    "missed",
    "spurious",
    "boundary",
    "category",
    "boundary and category",
)
"""Kinds of mistakes: nothing there, nothing asked for, other borders, another category, or both of these."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A gold span that was not found exactly, or a span of the system that is not exactly right."""

    kind: str
    document: Document
    gold: Span | None
    system: Span | None

    @property
    def category(self) -> str:
        """The gold category, for spurious spans the system's."""
        span = self.gold or self.system
        return span.category if span else ""

    @property
    def start(self) -> int:
        """First character of either span."""
        return min(span.start for span in (self.gold, self.system) if span)

    @property
    def end(self) -> int:
        """One past the last character of either span."""
        return max(span.end for span in (self.gold, self.system) if span)


@dataclass(frozen=True, slots=True, repr=False)
class ContextPiece:
    """A stretch of the text around a mistake, inside or outside its gold and system spans."""

    text: str
    gold: bool
    system: bool


class _Overlaps:
    """Finds the spans of one side that overlap a given span."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._starts = [span.start for span in spans]
        self._reach = list(accumulate((span.end for span in spans), max))

    def best(self, span: Span) -> Span | None:
        """Return the partner: same borders first, then same category, then the longest overlap."""
        i = bisect_left(self._starts, span.end)
        candidates = []
        while i > 0 and self._reach[i - 1] > span.start:
            i -= 1
            if self._spans[i].overlaps(span):
                candidates.append(self._spans[i])
        return min(candidates, key=lambda other: _distance(span, other), default=None)


def _distance(span: Span, other: Span) -> tuple[bool, bool, int, int]:
    shared = min(span.end, other.end) - max(span.start, other.start)
    same_place = (span.start, span.end) == (other.start, other.end)
    return not same_place, span.category != other.category, -shared, other.start


def _kind(gold: Span, system: Span) -> str:
    if (gold.start, gold.end) == (system.start, system.end):
        return CATEGORY
    return BOUNDARY if gold.category == system.category else BOTH


def find_mistakes(cases: Sequence[Case]) -> list[Mistake]:
    """Return all mistakes in the order of documents and positions.

    A gold span that is not matched exactly is compared with the system span that overlaps it best; system spans
    that are neither exact nor such a partner follow in the same way.
    """
    found: list[Mistake] = []
    for case in cases:
        exact = keys(case.gold) & keys(case.system)
        gold_side, system_side = _Overlaps(case.gold), _Overlaps(case.system)
        mistakes = []
        partners = set()
        for gold in case.gold:
            if (gold.start, gold.end, gold.category) not in exact:
                system = system_side.best(gold)
                kind = _kind(gold, system) if system else MISSED
                mistakes.append(Mistake(kind, case.document, gold, system))
                partners.add(system)
        for system in case.system:
            if (system.start, system.end, system.category) not in exact and system not in partners:
                partner = gold_side.best(system)
                kind = _kind(partner, system) if partner else SPURIOUS
                mistakes.append(Mistake(kind, case.document, partner, system))
        found.extend(sorted(mistakes, key=lambda m: (m.start, m.end, m.system.start if m.system else -1)))
    return found


def context(mistake: Mistake, width: int = 60) -> list[ContextPiece]:
    """Return the text around a mistake in pieces that begin and end with spans; ``width`` characters on either side."""
    text = mistake.document.text
    borders = {max(0, mistake.start - width), min(len(text), mistake.end + width)}
    for span in (mistake.gold, mistake.system):
        if span:
            borders |= {span.start, span.end}
    return [
        ContextPiece(text[start:end], _inside(mistake.gold, start), _inside(mistake.system, start))
        for start, end in pairwise(sorted(borders))
    ]


def _inside(span: Span | None, offset: int) -> bool:
    return span is not None and span.start <= offset < span.end
