"""Counts and measures: what was found and what was right, for spans and for tokens.

A `CountTable` holds four counts for each document and label: how many items of the gold side were *found* and how
many there are (*gold*), how many items of the system's side were *right* and how many there are (*system*).
Recall is found / gold, precision right / system. Where an item can answer only one other, found equals right
(true positives); where overlap is enough they differ. Sums over documents give micro figures, and resampling
documents needs nothing else. 0/0 counts as 0 everywhere.

The token measures are those of the dissertation's tables (Gardner 2012, chapter 4: "Begin" and
"Intermediate"), the others the usual span measures of named entity recognition.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from deid.document import Span, resolve_overlaps
from deid.evaluation.cases import Case, Key, keys

ALL = "ALL"
"""The label of tables that do not tell categories apart."""

_WORD = re.compile(r"[^\W_]+")


class TokenBounds(Protocol):
    """What a tokenizer must return: parallel arrays with one entry for each token."""

    @property
    def starts(self) -> np.ndarray:
        """First character of each token."""

    @property
    def ends(self) -> np.ndarray:
        """One past the last character of each token."""

    @property
    def spaces(self) -> np.ndarray:
        """Whether a token is white space."""


Tokenizer = Callable[[str], TokenBounds]
"""From a text to its tokens."""


@dataclass(frozen=True, slots=True)
class Score:
    """Four counts and the measures that follow from them."""

    found: int
    gold: int
    right: int
    system: int

    @property
    def precision(self) -> float:
        """Share of the system's items that are right."""
        return self.right / self.system if self.system else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold items that were found."""
        return self.found / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        p, r = self.precision, self.recall
        return 2 * p * r / (p + r) if p + r else 0.0

    def as_dict(self) -> dict[str, float]:
        """Return measures and counts."""
        return {
            **{"precision": self.precision, "recall": self.recall, "f1": self.f1},
            **{"found": self.found, "gold": self.gold, "right": self.right, "system": self.system},
        }


@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    """Counts of one measure for each document and label."""

    title: str
    labels: tuple[str, ...]
    counts: np.ndarray
    """int64 of shape (n_documents, n_labels, 4): found, gold, right, system."""

    def documents(self, labels: Collection[str] | None = None) -> np.ndarray:
        """Return counts summed over ``labels`` (all by default), of shape (n_documents, 4)."""
        if labels is None:
            return self.counts.sum(axis=1)
        chosen = [i for i, label in enumerate(self.labels) if label in labels]
        return self.counts[:, chosen].sum(axis=1)

    def micro(self, labels: Collection[str] | None = None) -> Score:
        """Return the score over all documents and ``labels`` (all by default)."""
        return Score(*(int(count) for count in self.documents(labels).sum(axis=0)))

    def by_label(self) -> dict[str, Score]:
        """Return the score of each label over all documents."""
        totals = self.counts.sum(axis=0)
        return {label: Score(*(int(count) for count in totals[i])) for i, label in enumerate(self.labels)}


def prf(counts: np.ndarray) -> np.ndarray:
    """Return precision, recall and F1 of counts.

    Parameters
    ----------
    counts : int array, shape (..., 4)
        As in `CountTable`: gold items that were found, gold items, system items that are right, system items.

    Returns
    -------
    float array, shape (..., 3)
        Precision right/system, recall found/gold and their harmonic mean; 0/0 is 0.
    """
    found, gold, right, system = np.moveaxis(np.asarray(counts, dtype=float), -1, 0)
    precision = np.divide(right, system, out=np.zeros_like(right), where=system > 0)
    recall = np.divide(found, gold, out=np.zeros_like(found), where=gold > 0)
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    return np.stack([precision, recall, f1], axis=-1)


Columns = tuple[Iterable[str], Iterable[str], Iterable[str], Iterable[str]]
"""Labels of what was found, of gold, of what is right, of the system: one entry for each item."""


def tally(title: str, labels: Sequence[str], documents: Sequence[Columns]) -> CountTable:
    """Return a table of counts by document and label.

    Parameters
    ----------
    title : str
        Name of the measure.
    labels : sequence of str
        The rows; every label in ``documents`` is one of them.
    documents : sequence of Columns
        For each document the labels of what was found, of gold, of what is right and of the system, one an item.
    """
    index = {label: i for i, label in enumerate(labels)}
    counts = np.zeros((len(documents), len(labels), 4), dtype=np.int64)
    for d, columns in enumerate(documents):
        for c, column in enumerate(columns):
            for label, count in Counter(column).items():
                counts[d, index[label], c] = count
    return CountTable(title, tuple(labels), counts)


def score_equal(
    title: str, labels: Sequence[str], cases: Sequence[Case], items: Callable[[Case, Sequence[Span]], set[Key]]
) -> CountTable:
    """Return counts of items that are right when both sides have them, start, end and label, a row a label.

    Parameters
    ----------
    title, labels
        As those of `tally`.
    cases : sequence of Case
    items : callable
        Gets a case and the spans of a side; returns start, end and label of the side's items.
    """
    documents: list[Columns] = []
    for case in cases:
        gold, system = items(case, case.gold), items(case, case.system)
        both, all_gold, all_system = ([label for _, _, label in own] for own in (gold & system, gold, system))
        documents.append((both, all_gold, both, all_system))
    return tally(title, labels, documents)


def score_strict(cases: Sequence[Case], categories: Sequence[str]) -> CountTable:
    """Return counts of spans, right when start, end and category are equal, a row a category.

    Strict span, MEDDOCAN's NER, i2b2-2014's strict.
    """
    return score_equal("Spans, strict", categories, cases, lambda _, spans: keys(spans))


def score_span_only(cases: Sequence[Case]) -> CountTable:
    """Return counts of spans, right when start and end are equal, whatever their category, in one row."""
    title = "Spans, position only"
    return score_equal(title, (ALL,), cases, lambda _, spans: {(start, end, ALL) for start, end, _ in keys(spans)})


def score_overlap(cases: Sequence[Case], categories: Sequence[str] | None = None) -> CountTable:
    """Score spans by overlap: found or right is what a span of the other side shares a character with.

    Parameters
    ----------
    cases : sequence of Case
    categories : sequence of str, optional
        When given, only a span of the same category counts, and the table has a row for each.

    Returns
    -------
    CountTable
        Gold spans that were found and system spans that are right may differ: one span can touch several.
    """
    labels = (ALL,) if categories is None else tuple(categories)
    counts = np.zeros((len(cases), len(labels), 4), dtype=np.int64)
    for d, case in enumerate(cases):
        for i, label in enumerate(labels):
            gold = [s for s in case.gold if categories is None or s.category == label]
            system = [s for s in case.system if categories is None or s.category == label]
            counts[d, i] = _touched_spans(gold, system), len(gold), _touched_spans(system, gold), len(system)
    title = "Spans, any overlap" if categories is None else "Spans, overlap of the same category"
    return CountTable(title, labels, counts)


def _touched_spans(spans: Sequence[Span], others: Sequence[Span]) -> int:
    starts, ends = bounds(spans)
    return int(touched(starts, ends, others).sum())


def bounds(spans: Sequence[Span]) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and ends of spans as arrays of shape (n_spans,)."""
    both = np.array([(span.start, span.end) for span in spans], dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def touched(starts: np.ndarray, ends: np.ndarray, spans: Sequence[Span]) -> np.ndarray:
    """Tell for each stretch ``starts[i]:ends[i]`` whether it shares a character with one of ``spans``.

    Parameters
    ----------
    starts, ends : ndarray of shape (n,)
    spans : sequence of Span
        Sorted by start; they may overlap.

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    if not spans:
        return np.zeros(len(starts), dtype=bool)
    span_starts, span_ends = bounds(spans)
    reach = np.maximum.accumulate(span_ends)  # the farthest end among the spans up to here
    before = np.searchsorted(span_starts, ends, side="left")  # spans that start before the stretch ends
    return (before > 0) & (reach[np.maximum(before, 1) - 1] > starts)


def word_bounds(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and ends of the words of a text, the runs of letters and digits; int64 arrays of shape (words,)."""
    both = np.array([match.span() for match in _WORD.finditer(text)], dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def score_words(cases: Sequence[Case]) -> CountTable:
    """Return counts of words (runs of letters and digits), each PHI when a span touches it, in one row."""
    documents: list[Columns] = []
    for case in cases:
        starts, ends = word_bounds(case.document.text)
        gold, system = touched(starts, ends, case.gold), touched(starts, ends, case.system)
        same = [ALL] * int((gold & system).sum())
        documents.append((same, [ALL] * int(gold.sum()), same, [ALL] * int(system.sum())))
    return tally("Words, PHI or not", (ALL,), documents)


def score_tokens(
    cases: Sequence[Case], categories: Sequence[str], tokenizer: Tokenizer
) -> tuple[CountTable, CountTable, CountTable]:
    """Score the labels of tokens.

    The first token of a span has the label ``B-category`` (Begin), later ones ``I-category`` (Intermediate),
    all others O. A token that a span cuts is labelled as a whole, overlapping spans are merged first.

    Parameters
    ----------
    cases : sequence of Case
    categories : sequence of str
    tokenizer : callable
        Its tokens should cover the text, white space included, to give the dissertation's figures.

    Returns
    -------
    (Table, Table, Table)
        By Begin and Intermediate label; by category with the two merged; and *with negatives*, where every
        token other than white space counts and O is a label like the others, so that precision and recall
        are both the accuracy.
    """
    size = 2 * len(categories) + 1
    codes = {category: 2 * i + 1 for i, category in enumerate(categories)}
    begin_inside = np.zeros((len(cases), size, 4), dtype=np.int64)
    merged = np.zeros((len(cases), len(categories) + 1, 4), dtype=np.int64)
    negatives = np.zeros((len(cases), 1, 4), dtype=np.int64)
    for d, case in enumerate(cases):
        tokens = tokenizer(case.document.text)
        gold, system = (token_codes(side, tokens, codes) for side in (case.gold, case.system))
        _count_codes(begin_inside[d], gold, system)
        _count_codes(merged[d], (gold + 1) // 2, (system + 1) // 2)
        solid = ~np.asarray(tokens.spaces, dtype=bool)
        correct, total = int(((gold == system) & solid).sum()), int(solid.sum())
        negatives[d, 0] = correct, total, correct, total
    labels = tuple(f"{position}-{category}" for category in categories for position in "BI")
    return (
        CountTable("Tokens, Begin and Intermediate", labels, begin_inside[:, 1:]),
        CountTable("Tokens, categories", tuple(categories), merged[:, 1:]),
        CountTable("Tokens, with negatives (accuracy)", (ALL,), negatives),
    )


def token_codes(spans: Sequence[Span], tokens: TokenBounds, codes: dict[str, int]) -> np.ndarray:
    """Return the label of each token as a number: 0 for O, odd for Begin, even for Intermediate."""
    labels = np.zeros(len(tokens.starts), dtype=np.int64)
    taken = 0
    for span in resolve_overlaps(spans):
        first = max(taken, int(np.searchsorted(tokens.ends, span.start, side="right")))
        last = int(np.searchsorted(tokens.starts, span.end, side="left"))
        if last > first:
            labels[first:last] = codes[span.category] + 1
            labels[first] -= 1
            taken = last
    return labels


def _count_codes(counts: np.ndarray, gold: np.ndarray, system: np.ndarray) -> None:
    size = len(counts)
    counts[:, 0] = counts[:, 2] = np.bincount(gold[gold == system], minlength=size)
    counts[:, 1] = np.bincount(gold, minlength=size)
    counts[:, 3] = np.bincount(system, minlength=size)
