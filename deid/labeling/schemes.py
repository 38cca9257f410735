"""Label schemes: spans to labels and back (BIO, i.e. Begin/Intermediate, and BIOES)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from deid.base.errors import require
from deid.document import Span, resolve_overlaps

SCHEMES = ("BIO", "BIOES")


def misaligned(spans: Iterable[Span], starts: np.ndarray, ends: np.ndarray) -> list[Span]:
    """Return the spans that do not begin and end on token borders (a hard limit for any tagger on these tokens).

    Parameters
    ----------
    spans : iterable of Span
    starts, ends : ndarray of shape (n_tokens,)
        Character offsets of the tokens.
    """
    first, last = set(starts.tolist()), set(ends.tolist())
    return [s for s in spans if s.start not in first or s.end not in last]


def spans_to_labels(spans: Iterable[Span], starts: np.ndarray, ends: np.ndarray, scheme: str = "BIO") -> list[str]:
    """Label tokens: the first token of a span ``B-category``, later ones ``I-category``, others ``O``.

    A token that a span cuts is labelled as a whole. Overlapping spans are merged first (`resolve_overlaps`). With
    ``BIOES`` the last token of a span gets ``E-`` and a span of one token ``S-``.

    Parameters
    ----------
    spans : iterable of Span
    starts, ends : ndarray of shape (n_items,)
        Character offsets of the tokens that are labelled, in order; they need not cover the text.
    scheme : str
        ``BIO`` or ``BIOES``.

    Returns
    -------
    list of str
        A label for each token.

    Raises
    ------
    ConfigError
        When there is no such scheme.
    """
    require(scheme in SCHEMES, f"unknown label scheme {scheme!r}", "known: " + ", ".join(SCHEMES))
    labels = ["O"] * len(starts)
    taken = 0
    for span in resolve_overlaps(spans):
        first = max(taken, int(np.searchsorted(ends, span.start, side="right")))
        last = int(np.searchsorted(starts, span.end, side="left"))
        for i in range(first, last):
            labels[i] = f"{'B' if i == first else 'I'}-{span.category}"
        taken = max(taken, last)
        if scheme == "BIOES" and last > first:
            kind = "S" if last - first == 1 else "E"
            labels[last - 1] = f"{kind}-{span.category}"
    return labels


def labels_to_spans(labels: Sequence[str], starts: np.ndarray, ends: np.ndarray) -> list[Span]:
    """Turn labels of either scheme into spans; the characters between the tokens of a span belong to it.

    ``B-`` and ``S-`` open a span, ``I-`` and ``E-`` continue the open span of their category and open one where there
    is none (the usual repair), ``O`` closes.

    Parameters
    ----------
    labels : sequence of str
        A label for each token.
    starts, ends : int array, shape (n_items,)
        Character offsets of the tokens.

    Returns
    -------
    list of Span
        Disjoint spans in the order of the text.
    """
    spans: list[Span] = []
    first: int | None = None
    category = ""

    def close(stop: int) -> None:
        nonlocal first
        if first is not None:
            spans.append(Span(int(starts[first]), int(ends[stop - 1]), category))
        first = None

    for i, label in enumerate(labels):
        kind, _, name = label.partition("-")
        if kind == "O":
            close(i)
            continue
        if kind in "BS" or first is None or name != category:
            close(i)
            first, category = i, name
        if kind in "ES":
            close(i + 1)
    close(len(labels))
    return spans
