"""Spans by their probability: those that win most of the expected F1, instead of those on the best path.

The most probable sequence of labels need not hold the most probable spans: where three borders of one span compete, the
best path takes one of them, however doubtful. Here each span has its own probability, summed over all sequences that
hold it, and the spans are chosen that maximize the sum of (probability - threshold) without overlap (minimum Bayes
risk). To take what is more probable than half of the F1 that can be had maximizes the expected F1 (Lipton, Elkan and
Narayanaswamy, ECML 2014); a little less is safer for recall.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from deid.labeling import kernels

LabelledSpan = tuple[int, int, str, float]
"""First item, one past the last item, category, probability."""

_CERTAIN = 0.9995
"""Items that are outside spans with this probability are taken for certain, so that stretches between stay short."""


def probable_spans(
    emissions: np.ndarray, transition: np.ndarray, labels: Sequence[str], threshold: float
) -> list[LabelledSpan]:
    """Choose spans of a CRF with BIO labels.

    Parameters
    ----------
    emissions : ndarray of float64, shape (n_items, n_labels)
    transition : ndarray of float64, shape (n_labels, n_labels)
        From row to column.
    labels : sequence of str
        ``O``, ``B-category`` and ``I-category`` by id.
    threshold : float
        Spans of this probability or less are never chosen; above 0.

    Returns
    -------
    list of LabelledSpan
        In order, without overlap.
    """
    return best_spans(possible_spans(emissions, transition, labels, threshold), len(emissions), threshold)


def possible_spans(
    emissions: np.ndarray, transition: np.ndarray, labels: Sequence[str], threshold: float
) -> list[LabelledSpan]:
    """Return all spans above a probability, those that overlap too, by their starts; parameters of `probable_spans`."""
    outside = labels.index("O")
    free = kernels.marginals(emissions, transition)[:, outside] < _CERTAIN
    edges = np.flatnonzero(np.diff(np.concatenate([[False], free, [False]]).astype(np.int8)))
    possible: list[LabelledSpan] = []
    for first, stop in edges.reshape(-1, 2).tolist():
        scores = emissions[first:stop].copy()
        if first > 0:
            scores[0] += transition[outside]
        if stop < len(emissions):
            scores[-1] += transition[:, outside]
        possible += [
            (first + a, first + b, name, p) for a, b, name, p in _candidates(scores, transition, labels, threshold)
        ]
    return sorted(possible)


def _sums(emissions: np.ndarray, transition: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the logarithms of what leads to each label of each item, of what follows, and of everything."""
    moves = np.exp(transition)
    before, after = np.empty_like(emissions), np.zeros_like(emissions)
    before[0] = emissions[0]
    for i in range(1, len(emissions)):
        top = before[i - 1].max()
        before[i] = np.log(np.exp(before[i - 1] - top) @ moves) + top + emissions[i]
    for i in range(len(emissions) - 2, -1, -1):
        onward = emissions[i + 1] + after[i + 1]
        top = onward.max()
        after[i] = np.log(moves @ np.exp(onward - top)) + top
    top = before[-1].max()
    return before, after, float(np.log(np.exp(before[-1] - top).sum()) + top)


@functools.lru_cache(8)
def _kinds(labels: tuple[str, ...]) -> tuple[np.ndarray, Mapping[str, int]]:
    """Return which labels begin spans, and the id of the label that continues one of each category."""
    begins = np.array([label.startswith("B-") for label in labels])
    return begins, {label[2:]: i for i, label in enumerate(labels) if label.startswith("I-")}


def _candidates(
    emissions: np.ndarray, transition: np.ndarray, labels: Sequence[str], threshold: float
) -> list[LabelledSpan]:
    """Find all spans above the threshold: each begins with a B that is above it, and so does each of its beginnings."""
    before, after, total = _sums(emissions, transition)
    begins, inside = _kinds(tuple(labels))
    found = []
    for first, begin in np.argwhere((np.exp(before + after - total) > threshold) & begins).tolist():
        name, path, last = labels[begin][2:], float(before[first, begin]), begin
        follow = inside.get(name, -1)
        stop = first + 1
        while np.exp(path + after[stop - 1, last] - total) > threshold:
            longer = float("-inf")
            if follow >= 0 and stop < len(emissions):
                longer = path + float(transition[last, follow] + emissions[stop, follow])
            held = float(np.exp(path + after[stop - 1, last] - total))
            goes_on = float(np.exp(longer + after[stop, follow] - total)) if longer > float("-inf") else 0.0
            if held - goes_on > threshold:
                found.append((first, stop, name, held - goes_on))
            if not goes_on:
                break
            path, last, stop = longer, follow, stop + 1
    return found


def best_spans(found: Sequence[LabelledSpan], size: int, threshold: float) -> list[LabelledSpan]:
    """Choose spans without overlap that have the largest sum of probabilities above the threshold.

    Parameters
    ----------
    found : sequence of LabelledSpan
    size : int
        Number of items.
    threshold : float
        Spans of this probability or less are never chosen.

    Returns
    -------
    list of LabelledSpan
        In order.
    """
    ending: dict[int, list[LabelledSpan]] = {}
    for span in found:
        ending.setdefault(span[1], []).append(span)
    value = [0.0] * (size + 1)
    taken: list[LabelledSpan | None] = [None] * (size + 1)
    for stop in range(1, size + 1):
        value[stop] = value[stop - 1]
        for span in ending.get(stop, ()):
            gain = value[span[0]] + span[3] - threshold
            if gain > value[stop]:
                value[stop], taken[stop] = gain, span
    chosen = []
    stop = size
    while stop:
        last = taken[stop]
        if last is None:
            stop -= 1
        else:
            chosen.append(last)
            stop = last[0]
    return chosen[::-1]
