"""What would stay readable: gold PHI that no span of the system touches.

This view asks whether the words are hidden, not whether they are named rightly: every span of the system hides what
it covers, whatever its category.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deid.document import Span, resolve_overlaps
from deid.evaluation.cases import Case
from deid.evaluation.scores import bounds, touched, word_bounds


@dataclass(frozen=True, slots=True)
class CategoryLeaks:
    """What is left of one category."""

    words: int
    """Words (runs of letters and digits) that gold spans touch."""
    words_left: int
    """Those that no span of the system touches."""
    spans: int
    hidden: int
    """Spans with no letter or digit outside the system's spans."""
    untouched: int
    """Spans that no span of the system touches; the rest is hidden in part."""


@dataclass(frozen=True, slots=True, eq=False)
class Leaks:
    """What is left, for each document and for each category."""

    words: np.ndarray
    """PHI words of each document, int64 of shape (n_documents,)."""
    words_left: np.ndarray
    """PHI words that no span of the system touches, of shape (n_documents,)."""
    characters: np.ndarray
    """Letters and digits inside gold spans, of shape (n_documents,)."""
    characters_left: np.ndarray
    """Those outside the system's spans; counts the rest of words that are hidden in part, too."""
    taken: np.ndarray
    """Words that no gold span touches, but a span of the system does: false alarms."""
    all_words: np.ndarray
    """Words of each document; precision depends on how dense PHI is among them, false alarms by words do not."""
    by_category: dict[str, CategoryLeaks]

    @property
    def clean(self) -> np.ndarray:
        """Whether a document has no PHI word left, bool of shape (n_documents,)."""
        return self.words_left == 0

    def as_dict(self) -> dict[str, Any]:
        """Return the totals."""
        n = max(1, len(self.words))
        categories = self.by_category.values()
        return {
            "phi_words": int(self.words.sum()),
            "phi_words_left": int(self.words_left.sum()),
            "phi_words_left_per_document": float(self.words_left.sum()) / n,
            "phi_words_left_worst_document": int(self.words_left.max(initial=0)),
            "phi_characters": int(self.characters.sum()),
            "phi_characters_left": int(self.characters_left.sum()),
            "words": int(self.all_words.sum()),
            "false_alarms": int(self.taken.sum()),
            "false_alarms_per_1000_words": 1000 * float(self.taken.sum()) / max(1, int(self.all_words.sum())),
            "documents": len(self.words),
            "documents_clean": int(self.clean.sum()),
            "share_of_documents_clean": float(self.clean.sum()) / n,
            "spans": sum(category.spans for category in categories),
            "spans_hidden": sum(category.hidden for category in categories),
            "spans_untouched": sum(category.untouched for category in categories),
            "by_category": {
                name: {
                    "phi_words": found.words,
                    "phi_words_left": found.words_left,
                    "spans": found.spans,
                    "spans_hidden": found.hidden,
                    "spans_untouched": found.untouched,
                }
                for name, found in self.by_category.items()
            },
        }


def find_leaks(cases: Sequence[Case], categories: Sequence[str]) -> Leaks:
    """Find what the system would leave readable.

    Parameters
    ----------
    cases : sequence of Case
    categories : sequence of str
        Rows of the table; those without a gold span are left out.

    Returns
    -------
    Leaks
        Gold words that no span of the system touches, by document and by category, and the other words that one does.
    """
    words, words_left, characters, characters_left, taken, all_words = np.zeros((6, len(cases)), dtype=np.int64)
    counts = {category: np.zeros(5, dtype=np.int64) for category in categories}
    for d, case in enumerate(cases):
        starts, ends = word_bounds(case.document.text)
        phi, left = touched(starts, ends, case.gold), ~touched(starts, ends, case.cover)
        words[d], words_left[d] = phi.sum(), (phi & left).sum()
        taken[d], all_words[d] = (~(phi | left)).sum(), len(phi)
        letters = _Letters(starts, ends, case.cover)
        characters[d], characters_left[d] = (counted.sum() for counted in letters.within(*_union(case.gold)))
        for category in {span.category for span in case.gold}:
            spans = [span for span in case.gold if span.category == category]
            span_starts, span_ends = bounds(spans)
            own, met = touched(starts, ends, spans), touched(span_starts, span_ends, case.cover)
            _, open_letters = letters.within(span_starts, span_ends)
            shut = met & (open_letters == 0)
            counts[category] += (own.sum(), (own & left).sum(), len(spans), shut.sum(), (~met).sum())
    by_category = {category: CategoryLeaks(*(int(n) for n in row)) for category, row in counts.items() if row[2]}
    return Leaks(words, words_left, characters, characters_left, taken, all_words, by_category)


def _union(spans: Sequence[Span]) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and ends of the stretches that spans cover, without counting anything twice."""
    return bounds(resolve_overlaps(spans))


class _Letters:
    """Counts the letters and digits of a text in any stretch, and those of them that ``cover`` leaves open."""

    def __init__(self, starts: np.ndarray, ends: np.ndarray, cover: Sequence[Span]) -> None:
        self._words = (starts, ends, np.concatenate([[0], np.cumsum(ends - starts)]))
        cover_starts, cover_ends = _union(cover)
        hidden = self._before(cover_ends) - self._before(cover_starts)
        self._cover = (cover_starts, cover_ends, np.concatenate([[0], np.cumsum(hidden)]))

    def within(self, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the letters and digits in each stretch, and the open ones among them."""
        letters = self._before(ends) - self._before(starts)
        return letters, letters - (self._hidden_before(ends) - self._hidden_before(starts))

    def _before(self, offsets: np.ndarray) -> np.ndarray:
        starts, ends, sums = self._words
        return _sum_before(offsets, starts, ends, sums, lambda low, high: high - low)

    def _hidden_before(self, offsets: np.ndarray) -> np.ndarray:
        starts, ends, sums = self._cover
        return _sum_before(offsets, starts, ends, sums, lambda low, high: self._before(high) - self._before(low))


def _sum_before(
    offsets: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    sums: np.ndarray,
    size: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the summed sizes of disjoint sorted stretches before each offset, a stretch cut by it in part."""
    if not len(starts):
        return np.zeros(len(offsets), dtype=np.int64)
    started = np.searchsorted(starts, offsets, side="left")
    last = np.maximum(started, 1) - 1
    beyond = size(np.minimum(offsets, ends[last]), ends[last])
    return sums[started] - np.where(started > 0, beyond, 0)
