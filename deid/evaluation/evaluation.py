"""Score a system against gold annotations: all measures of this room over one set of documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from deid.base.late import pd
from deid.base.options import option
from deid.document import Document, Failure
from deid.evaluation.cases import Cases, prepare
from deid.evaluation.comparison import LEVEL, intervals, resampled_totals
from deid.evaluation.diagrams import NONE, confusion, reliability
from deid.evaluation.leaks import Leaks, find_leaks
from deid.evaluation.mistakes import KINDS, Mistake, find_mistakes
from deid.evaluation.official import (
    SUBSETS,
    Sentences,
    score_binary,
    score_end_tolerant,
    score_merged,
    score_span_tokens,
    sentences_of,
    subset,
)
from deid.evaluation.pairing import Pairing, pair_documents
from deid.evaluation.scores import (
    ALL,
    CountTable,
    Score,
    prf,
    score_overlap,
    score_span_only,
    score_strict,
    score_tokens,
    score_words,
)
from deid.reading.tokenization import tokenize

_SCORING = "Scoring"


@dataclass(frozen=True)
class ScoringSettings:
    """How a system is scored."""

    PANEL: ClassVar[str] = _SCORING
    tokenizer: str = option("default", "Tokens of the Begin/Intermediate table: default, hide or spacy.")
    """Tokens of the Begin/Intermediate measures, a scheme of `deid.reading.tokenization`."""
    labels: tuple[str, ...] = option(
        (), "Score only this category (after --map; repeatable); other spans are left out.", metavar="A"
    )
    """Categories to score, empty for all."""
    map_to: str | None = option(
        None,
        "Map the labels of both sides to i2b2-2014, i2b2-2006, physionet, meddocan, hide or hipaa.",
        "--map",
        metavar="SET",
    )
    """Label set that both sides are mapped to."""
    resamples: int = option(1000, "Bootstrap resamples of the intervals; 0 for none.", minimum=0)
    """Bootstrap resamples of the confidence intervals, 0 for none."""
    seed: int = option(0, "Seed of all draws.", minimum=0)


DEFAULT_SETTINGS = ScoringSettings()


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """All scores of a system, with what is needed to show its mistakes."""

    settings: ScoringSettings
    pairing: Pairing
    cases: Cases = field(repr=False)
    tables: Mapping[str, CountTable] = field(repr=False)
    """strict, span, relaxed, overlap, overlap_category, merged, token, token_category, with_negatives, word and
    span_token; see docs/evaluation.md."""
    binary: Mapping[str, CountTable] = field(repr=False)
    """i2b2-2014's binary measures, span and token, with a row for each of its subsets."""
    leaks: Leaks = field(repr=False)
    sentences: Sentences
    bounds: Mapping[str, np.ndarray] = field(repr=False)
    """Confidence intervals of micro precision, recall and F1 of each table, shape (2, 3); of ``leaks`` (words left
    per document, share of documents without any), shape (2, 2). Empty without resamples."""

    def __repr__(self) -> str:
        score = self.tables["strict"].micro()
        return f"Evaluation({len(self.pairing.pairs)} documents, strict F1 {score.f1:.4f})"

    @property
    def categories(self) -> tuple[str, ...]:
        """Categories of either side, sorted."""
        return self.cases.categories

    def mistakes(self) -> list[Mistake]:
        """Return every mistake, in the order of documents and positions."""
        return find_mistakes(self.cases.cases)

    def i2b2_2014(self) -> dict[str, dict[str, Score]]:
        """Return i2b2-2014's official measures, each over all categories and over both HIPAA subsets."""
        found: dict[str, dict[str, Score]] = {}
        for title, name in (("strict", "strict"), ("relaxed", "relaxed"), ("token", "span_token")):
            table = self.tables[name]
            found[title] = {part: table.micro(subset(table.labels, part)) for part in SUBSETS}
        for name, table in self.binary.items():
            found[f"binary {name}"] = table.by_label()
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON values; documents are named by their safe names."""
        pairing, strict = self.pairing, self.tables["strict"]
        mistakes = self.mistakes()
        return {
            "settings": {
                "tokenizer": self.settings.tokenizer,
                "labels": list(self.settings.labels),
                "map": self.settings.map_to,
                "map_losses": list(self.cases.losses),
                "map_dropped_spans": dict(zip(("gold", "system"), self.cases.dropped, strict=True)),
                "resamples": self.settings.resamples,
                "seed": self.settings.seed,
                "level": LEVEL,
            },
            "documents": {
                "gold": len(pairing.pairs),
                "system": pairing.system_documents,
                "scored": sum(pair.status == "scored" for pair in pairing.pairs),
                "missing": list(pairing.names("missing")),
                "text_differs": list(pairing.names("text differs")),
                "extra": list(pairing.extra),
                "failed": len(pairing.failures),
                "matched_by": pairing.matched_by,
            },
            "measures": {name: self._measure(name) for name in self.tables},
            "i2b2-2014": {
                title: {part: score.as_dict() for part, score in parts.items()}
                for title, parts in self.i2b2_2014().items()
            },
            "meddocan": {
                "strict": strict.micro().as_dict(),
                "span": self.tables["span"].micro().as_dict(),
                "merged": self.tables["merged"].micro().as_dict(),
                "leak_score": self.sentences.leak(strict.micro()),
                "sentences": self.sentences.total,
                "sentences_from": self.sentences.source,
            },
            "leaks": {**self.leaks.as_dict(), **self._leak_intervals()},
            "mistakes": {
                "by_kind": {kind: sum(m.kind == kind for m in mistakes) for kind in KINDS},
                "by_category": {
                    category: dict(sorted(Counter(m.kind for m in mistakes if m.category == category).items()))
                    for category in sorted({m.category for m in mistakes})
                },
            },
            "confusion": {
                "labels": [*self.cases.categories, NONE],
                "words": confusion(self.cases.cases, self.cases.categories).tolist(),
            },
            "reliability": [asdict(part) for part in reliability(self.cases.cases)],
            "by_document": [
                {
                    "name": pair.gold.name,
                    "index": pair.gold.index,
                    "status": pair.status,
                    "strict": Score(*map(int, counts)).as_dict(),
                    "phi_words": int(self.leaks.words[i]),
                    "phi_words_left": int(self.leaks.words_left[i]),
                }
                for i, (pair, counts) in enumerate(zip(pairing.pairs, strict.documents(), strict=True))
            ],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each measure and label (``ALL`` is micro), with scores, counts and intervals."""
        rows = []
        for name, told in ((name, self._measure(name)) for name in self.tables):
            scores = {ALL: told["micro"], **told.get("by_label", {})}
            rows += [{"measure": name, "label": label, **score} for label, score in scores.items()]
        return pd.DataFrame(rows)

    def _measure(self, name: str) -> dict[str, Any]:
        table = self.tables[name]
        found: dict[str, Any] = {"title": table.title, "micro": {**table.micro().as_dict(), **self._intervals(name)}}
        if table.labels != (ALL,):
            found["by_label"] = {label: score.as_dict() for label, score in table.by_label().items()}
        return found

    def _intervals(self, name: str) -> dict[str, list[float]]:
        if name not in self.bounds:
            return {}
        figures = ("precision_interval", "recall_interval", "f1_interval")
        return {figure: [float(x) for x in self.bounds[name][:, i]] for i, figure in enumerate(figures)}

    def _leak_intervals(self) -> dict[str, list[float]]:
        if "leaks" not in self.bounds:
            return {}
        figures = ("phi_words_left_per_document_interval", "share_of_documents_clean_interval")
        return {figure: [float(x) for x in self.bounds["leaks"][:, i]] for i, figure in enumerate(figures)}


def evaluate(
    gold: Iterable[Document | Failure],
    system: Iterable[Document | Failure],
    *,
    settings: ScoringSettings = DEFAULT_SETTINGS,
    sentences: Mapping[str, int] | None = None,
) -> Evaluation:
    """Score a system's annotations against gold annotations of the same documents.

    Parameters
    ----------
    gold, system : iterable of Document or Failure
        Matched by id. A document missing on the system's side, or with another text there, counts as one in which
        nothing was found.
    settings : ScoringSettings
    sentences : mapping of str to int, optional
        Sentences of each document by id, for MEDDOCAN's leak score; our own split counts them when left out.

    Returns
    -------
    Evaluation

    Raises
    ------
    InputError
        When no gold document can be read.
    ConfigError
        When a setting does not fit, or ``sentences`` lacks a document.
    """
    pairing = pair_documents(gold, system)
    prepared = prepare(pairing.pairs, labels=settings.labels, map_to=settings.map_to)
    cases, categories = prepared.cases, prepared.categories
    token, token_category, with_negatives = score_tokens(
        cases, categories, partial(tokenize, scheme=settings.tokenizer)
    )
    tables = {
        "strict": score_strict(cases, categories),
        "span": score_span_only(cases),
        "merged": score_merged(cases),
        "relaxed": score_end_tolerant(cases, categories),
        "overlap_category": score_overlap(cases, categories),
        "overlap": score_overlap(cases),
        "token": token,
        "token_category": token_category,
        "with_negatives": with_negatives,
        "span_token": score_span_tokens(cases, categories),
        "word": score_words(cases),
    }
    binary = {"span": score_binary(cases, tokens=False), "token": score_binary(cases, tokens=True)}
    leaks = find_leaks(cases, categories)
    return Evaluation(
        settings,
        pairing,
        prepared,
        tables,
        binary,
        leaks,
        sentences_of(cases, sentences),
        _bounds(tables, leaks, settings) if settings.resamples else {},
    )


def _bounds(tables: Mapping[str, CountTable], leaks: Leaks, settings: ScoringSettings) -> dict[str, np.ndarray]:
    """Return bootstrap intervals, all from the same draws of documents."""
    columns = [table.documents() for table in tables.values()]
    columns.append(np.stack([leaks.words_left, leaks.clean], axis=1))
    totals = resampled_totals(np.concatenate(columns, axis=1), settings.resamples, settings.seed)
    found = {name: intervals(prf(totals[:, 4 * i : 4 * i + 4])) for i, name in enumerate(tables)}
    found["leaks"] = intervals(totals[:, -2:] / len(leaks.words))
    return found
