"""What diagrams of an evaluation are drawn from: which categories are taken for which, and how true scores are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.document import Span
from deid.evaluation.cases import Case, keys
from deid.evaluation.scores import word_bounds

NONE = "none"
"""What a word is that no span touches."""


def confusion(cases: Sequence[Case], categories: Sequence[str]) -> np.ndarray:
    """Count words (runs of letters and digits) by their category in gold and in the system.

    Parameters
    ----------
    cases : sequence of Case
    categories : sequence of str

    Returns
    -------
    ndarray of int64, shape (n_categories + 1, n_categories + 1)
        Gold in rows, system in columns; the last is `NONE`. Of overlapping spans the one that begins first counts.
    """
    number = {category: i for i, category in enumerate(categories)}
    size = len(number) + 1
    counts = np.zeros(size * size, dtype=np.int64)
    for case in cases:
        starts, ends = word_bounds(case.document.text)
        gold, system = (_categories(starts, ends, side, number) for side in (case.gold, case.system))
        counts += np.bincount(gold * size + system, minlength=size * size)
    return counts.reshape(size, size)


def _categories(starts: np.ndarray, ends: np.ndarray, spans: Sequence[Span], number: dict[str, int]) -> np.ndarray:
    found = np.full(len(starts), len(number), dtype=np.int64)
    for span in reversed(spans):
        found[np.searchsorted(ends, span.start, "right") : np.searchsorted(starts, span.end)] = number[span.category]
    return found


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Spans of the system with scores between two numbers."""

    above: float
    upto: float
    spans: int
    score: float
    """Their mean score: which share of them is right, as the system has it."""
    right: float
    """Which share of them is right: start, end and category."""


def reliability(cases: Sequence[Case]) -> list[ReliabilityBin]:
    """Compare the scores of a system's spans, by tenths, with how often spans of such scores are right.

    Reliability diagrams: DeGroot and Fienberg, The Statistician 32, 1983.

    Returns
    -------
    list of ReliabilityBin
        Ascending; empty where no span has a score.
    """
    told = [
        (span.score, (span.start, span.end, span.category) in gold)
        for case in cases
        for gold in [keys(case.gold)]
        for span in case.system
        if span.score is not None
    ]
    if not told:
        return []
    scores, right = np.array(told, dtype=float).T
    place = np.clip(np.ceil(scores * 10).astype(int) - 1, 0, 9)
    return [
        ReliabilityBin(
            int(i) / 10,
            (int(i) + 1) / 10,
            int((place == i).sum()),
            float(scores[place == i].mean()),
            float(right[place == i].mean()),
        )
        for i in np.unique(place)
    ]
