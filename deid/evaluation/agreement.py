"""Agreement of annotators: spans, Cohen's kappa and Krippendorff's alpha on tokens, and where they differ.

Kappa: Cohen, Educational and Psychological Measurement 20 (1960). Alpha for nominal data with missing values:
Krippendorff, Computing Krippendorff's Alpha-Reliability (2011). Tokens are the units; a token's value is its span's
category, or none. Most tokens are in no span, so a high share of equal tokens says little; both measures
count what chance alone would give.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deid.base.reports import Section
from deid.document import Document, Span
from deid.evaluation.cases import keys
from deid.evaluation.evaluation import ScoringSettings, evaluate
from deid.evaluation.scores import token_codes
from deid.reading.tokenization import tokenize


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How far two annotators agree, over the documents of both."""

    annotators: tuple[str, str]
    documents: int
    tokens: int
    spans: tuple[int, int]
    f1: float | None
    """Share of spans that are the same in borders and category (F1; neither side is gold); None without spans."""
    overlap: float | None
    """The same where it is enough that spans share a character."""
    kappa: float | None
    """Cohen's kappa on tokens; None where one value is all there is."""
    by_category: Mapping[str, tuple[float, int]]
    """Category -> F1, and the spans of both sides that it rests on."""

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "annotators": list(self.annotators),
            "documents": self.documents,
            "tokens": self.tokens,
            "spans": list(self.spans),
            "f1": self.f1,
            "overlap_f1": self.overlap,
            "kappa": self.kappa,
            "by_category": {name: {"f1": f1, "spans": spans} for name, (f1, spans) in self.by_category.items()},
        }


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far annotators agree."""

    pairs: tuple[PairAgreement, ...]
    alpha: float | None
    """Krippendorff's alpha on the tokens of all documents that two or more annotated; None where one value is all
    there is."""
    documents: int
    """Documents that alpha rests on."""
    tokens: int

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "alpha": self.alpha,
            "documents": self.documents,
            "tokens": self.tokens,
            "pairs": [pair.as_dict() for pair in self.pairs],
        }

    def sections(self) -> list[Section]:
        """Return the figures as tables: of each pair, and of each pair by category."""

        def shown(value: float | None) -> str:
            return "-" if value is None else f"{value:.4f}"

        rows, by_category = [], []
        for pair in self.pairs:
            names = " and ".join(pair.annotators)
            counts, figures = (pair.documents, pair.tokens, *pair.spans), (pair.f1, pair.overlap, pair.kappa)
            rows.append((names, *map(str, counts), *map(shown, figures)))
            by_category += [(names, c, shown(f1), str(spans)) for c, (f1, spans) in sorted(pair.by_category.items())]
        titles = ("annotators", "notes", "tokens", "spans", "spans", "span F1", "overlap F1", "kappa")
        note = f"Krippendorff's alpha of all: {shown(self.alpha)}, on {self.tokens} tokens of {self.documents} notes"
        return [
            Section("Agreement", titles, rows, note),
            Section("By category", ("annotators", "category", "span F1", "spans of both"), by_category),
        ]


@dataclass(frozen=True, slots=True)
class Dispute:
    """A stretch of a document where annotators differ."""

    document: str = field(repr=False)
    """Id of the document."""
    start: int
    end: int
    spans: Mapping[str, tuple[Span, ...]]
    """What each annotator has there; nothing for one who has none."""


def cohen_kappa(table: np.ndarray) -> float | None:
    """Return Cohen's kappa of a confusion matrix, int of shape (n_labels, n_labels).

    None where both sides give one and the same label alone: chance would agree as well.
    """
    total = table.sum()
    by_chance = float(table.sum(axis=0) @ table.sum(axis=1)) / float(total) ** 2 if total else 1.0
    return None if by_chance == 1.0 else (float(np.trace(table)) / float(total) - by_chance) / (1.0 - by_chance)


def krippendorff_alpha(counts: np.ndarray) -> float | None:
    """Return Krippendorff's alpha for nominal values.

    Parameters
    ----------
    counts : ndarray of int, shape (n_units, n_labels)
        How many observers gave each unit each label; units with fewer than two values do not count.

    Returns
    -------
    float or None
        None where there is nothing to compare, or one label alone.
    """
    counts = counts[counts.sum(axis=1) > 1].astype(float)
    values = counts.sum(axis=1)
    labels = counts.sum(axis=0)
    expected = labels.sum() ** 2 - (labels**2).sum()
    if not expected:
        return None
    observed = ((values**2 - (counts**2).sum(axis=1)) / (values - 1)).sum()
    return float(1.0 - (labels.sum() - 1) * observed / expected)


def agreement(layers: Mapping[str, Iterable[Document]]) -> Agreement:
    """Return how far annotators agree.

    Parameters
    ----------
    layers : mapping of str to iterable of Document
        Annotator -> the documents that they annotated. Documents are matched by id; those that only one annotated do
        not count.

    Returns
    -------
    Agreement
        Of each pair that has documents in common, in order of the layers, and of all.

    Raises
    ------
    InputError
        When two annotators have other texts of one id.
    """
    held = {name: {document.id: document for document in documents} for name, documents in layers.items()}
    categories = sorted({s.category for own in held.values() for document in own.values() for s in document.spans})
    codes = {category: 2 * i + 1 for i, category in enumerate(categories)}
    pairs = []
    for a, b in itertools.combinations(held, 2):
        common = [id for id in held[a] if id in held[b]]
        if common:
            pairs.append(_pair(a, b, [held[a][id] for id in common], [held[b][id] for id in common], codes))
    counts = []
    for id in dict.fromkeys(itertools.chain.from_iterable(held.values())):
        values = [_values(own[id], codes) for own in held.values() if id in own]
        if len(values) > 1:
            counts.append(sum(np.eye(len(categories) + 1, dtype=np.int64)[value] for value in values))
    units = np.concatenate(counts) if counts else np.zeros((0, 1), dtype=np.int64)
    return Agreement(tuple(pairs), krippendorff_alpha(units), len(counts), len(units))


def disputes(layers: Mapping[str, Iterable[Document]]) -> list[Dispute]:
    """Return where annotators differ, in documents that two or more of them annotated; stretches that touch are one."""
    held = {name: {document.id: document for document in documents} for name, documents in layers.items()}
    found = []
    for id in dict.fromkeys(itertools.chain.from_iterable(held.values())):
        own = {name: documents[id].spans for name, documents in held.items() if id in documents}
        if len(own) < 2:
            continue
        for start, end in _stretches(itertools.chain.from_iterable(own.values())):
            here = {name: tuple(s for s in spans if start <= s.start < end) for name, spans in own.items()}
            if len({frozenset(keys(spans)) for spans in here.values()}) > 1:
                found.append(Dispute(id, start, end, here))
    return found


def _stretches(spans: Iterable[Span]) -> list[tuple[int, int]]:
    """Return the stretches that spans cover, each as far as spans overlap."""
    found: list[tuple[int, int]] = []
    for start, end in sorted((span.start, span.end) for span in spans):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def _values(document: Document, codes: dict[str, int]) -> np.ndarray:
    """Return the category of each token that is no white space: 0 for none; shape (n_tokens,)."""
    tokens = tokenize(document.text, scheme="default")
    solid = ~np.asarray(tokens.spaces, dtype=bool)
    return (token_codes(document.spans, tokens, codes)[solid] + 1) // 2


def _pair(
    a: str, b: str, first: Sequence[Document], second: Sequence[Document], codes: dict[str, int]
) -> PairAgreement:
    size = len(codes) + 1
    table = np.zeros((size, size), dtype=np.int64)
    for one, other in zip(first, second, strict=True):
        np.add.at(table, (_values(one, codes), _values(other, codes)), 1)
    scored = evaluate(first, second, settings=ScoringSettings(resamples=0))
    strict, overlap = scored.tables["strict"].micro(), scored.tables["overlap"].micro()
    by_label = scored.tables["strict"].by_label()
    return PairAgreement(
        (a, b),
        len(first),
        int(table.sum()),
        (strict.gold, strict.system),
        strict.f1 if strict.gold + strict.system else None,
        overlap.f1 if strict.gold + strict.system else None,
        cohen_kappa(table),
        {name: (score.f1, score.gold + score.system) for name, score in by_label.items()},
    )
