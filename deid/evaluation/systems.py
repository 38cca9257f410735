"""Two systems on the same documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from deid.base.errors import ConfigError, require
from deid.document import Document, Failure
from deid.evaluation.comparison import LEVEL, Difference, compare_statistics
from deid.evaluation.evaluation import DEFAULT_SETTINGS, Evaluation, ScoringSettings, evaluate
from deid.evaluation.scores import prf


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure that follows from counts summed over documents."""

    title: str
    counts: Callable[[Evaluation], np.ndarray]
    """Counts of each document, of shape (n_documents, k)."""
    value: Callable[[np.ndarray], np.ndarray]
    """From counts of shape (..., k) to the figure; NaN where undefined."""


def _figure(column: int, counts: np.ndarray) -> np.ndarray:
    """Return precision (0), recall (1) or F1 (2); undefined without any item to divide by."""
    _, gold, _, system = np.moveaxis(counts, -1, 0)
    items = (system, gold, gold + system)[column]
    return np.where(items > 0, prf(counts)[..., column], np.nan)


def _ratio(counts: np.ndarray) -> np.ndarray:
    return counts[..., 0] / counts[..., 1]


def _with_ones(counts: np.ndarray) -> np.ndarray:
    return np.stack([counts, np.ones_like(counts)], axis=1)


def _table_metrics() -> dict[str, Metric]:
    titles = {
        "strict": "spans, strict",
        "span": "spans, position only",
        "merged": "spans, neighbours joined",
        "relaxed": "spans, end within 2 characters",
        "overlap": "spans, any overlap",
        "token_category": "tokens, categories",
        "word": "words, PHI or not",
    }
    found = {}
    for name, title in titles.items():
        for column, figure in enumerate(("precision", "recall", "f1")):
            found[f"{name}.{figure}"] = Metric(
                f"{title}: {figure}",
                lambda evaluation, name=name: evaluation.tables[name].documents(),  # type: ignore[misc]
                lambda counts, column=column: _figure(column, counts),  # type: ignore[misc]
            )
    return found


METRICS: Mapping[str, Metric] = {
    **_table_metrics(),
    "leaks": Metric("PHI words left per document", lambda e: _with_ones(e.leaks.words_left), _ratio),
    "clean": Metric(
        "share of documents with no PHI word left", lambda e: _with_ones(e.leaks.clean.astype(int)), _ratio
    ),
}
"""The figures that can be compared, by name."""

DEFAULT_METRICS = ("strict.f1", "overlap.recall", "word.precision", "word.recall", "word.f1", "leaks", "clean")


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two systems, and how they differ in each figure."""

    a: Evaluation
    b: Evaluation
    differences: Mapping[str, Difference]
    resamples: int
    permutations: int
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON values."""
        return {
            "level": LEVEL,
            "resamples": self.resamples,
            "permutations": self.permutations,
            "seed": self.seed,
            "documents": len(self.a.pairing.pairs),
            "missing": {"a": len(self.a.pairing.names("missing")), "b": len(self.b.pairing.names("missing"))},
            "text_differs": {
                "a": len(self.a.pairing.names("text differs")),
                "b": len(self.b.pairing.names("text differs")),
            },
            "metrics": {
                name: {"title": METRICS[name].title, **asdict(difference)}
                for name, difference in self.differences.items()
            },
        }


def compare(
    gold: Sequence[Document | Failure],
    a: Iterable[Document | Failure],
    b: Iterable[Document | Failure],
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    settings: ScoringSettings = DEFAULT_SETTINGS,
    permutations: int = 10_000,
) -> Comparison:
    """Compare two systems on the same gold documents.

    Parameters
    ----------
    gold : sequence of Document or Failure
    a, b : iterable of Document or Failure
        The systems' annotations, matched to gold by id; what is missing counts as empty.
    metrics : sequence of str
        Names in `METRICS`.
    settings : ScoringSettings
        ``resamples`` must be positive.
    permutations : int
        Of the approximate randomization test.

    Returns
    -------
    Comparison

    Raises
    ------
    ConfigError
        When a metric is unknown or a number is not positive.
    """
    unknown = [name for name in metrics if name not in METRICS]
    require(not unknown, f"unknown metric {', '.join(unknown)}", "known: " + ", ".join(METRICS))
    if settings.resamples < 1 or permutations < 1:
        raise ConfigError("resamples and permutations must be positive", "leave them out for 1000 and 10000")
    gold = list(gold)
    plain = replace(settings, resamples=0)
    first, second = (evaluate(gold, side, settings=plain) for side in (a, b))
    differences = {
        name: compare_statistics(
            METRICS[name].counts(first),
            METRICS[name].counts(second),
            METRICS[name].value,
            resamples=settings.resamples,
            permutations=permutations,
            seed=settings.seed,
        )
        for name in metrics
    }
    return Comparison(first, second, differences, settings.resamples, permutations, settings.seed)
