"""From annotated documents to the sequences that a learner is trained on."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from deid.document import Document
from deid.errors import ConfigError
from deid.features import FeatureSet
from deid.labeling.sampling import keep_random_o, keep_window
from deid.labeling.schemes import misaligned, spans_to_labels

__all__ = ["Lexicon", "TrainingData", "TrainingOptions", "corpus_checksum", "prepare"]


ALGORITHMS = ("lbfgs", "sgd", "naive-bayes")


@dataclass(frozen=True)
class TrainingOptions:
    """How a tagger is trained; saved with the model."""

    scheme: str = "BIO"
    algorithm: str = "lbfgs"
    """``lbfgs`` (CRFsuite through sklearn-crfsuite), ``sgd`` (stochastic gradient) or ``naive-bayes``."""
    c1: float = 0.0
    """L1 penalty of the CRF: adds c1 * |w|."""
    c2: float = 0.3
    """L2 penalty of the CRF: adds c2 * |w|^2 (not halved)."""
    all_pairs: bool = True
    """CRF by L-BFGS: weights for every pair of an attribute and a label, and of two labels; else, as CRFsuite does by
    default, only for pairs that occur. Twice the time for fewer false alarms."""
    rate: float = 0.05
    """Learning rate of ``sgd``."""
    iterations: int | None = None
    """Iterations of ``lbfgs`` (100 when not given), epochs of ``sgd`` (10)."""
    window: int | None = None
    """Keep only tokens within this many tokens of a span."""
    o_sampling: float | None = None
    """Keep each token outside spans with this probability."""
    split_at_gaps: bool = False
    """Cut the sequence where sampling dropped tokens; else what is left stays one sequence a document."""
    acceptance: tuple[tuple[str, float], ...] = ()
    """Naive Bayes only: label -> probability that a drawn token is accepted (cost-proportionate rejection sampling)."""
    accepted: int | None = None
    """Naive Bayes only: how many tokens to accept; as many as the corpus has when not given."""
    min_documents: int = 3
    """Lexical attributes seen in fewer documents are dropped, so that the model does not store patients' words."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.iterations is None:
            object.__setattr__(self, "iterations", 10 if self.algorithm == "sgd" else 100)
        if self.algorithm not in ALGORITHMS:
            raise ConfigError(f"unknown training algorithm {self.algorithm!r}", "known: " + ", ".join(ALGORITHMS))
        if self.min_documents < 1:
            raise ConfigError("min_documents is less than 1", "give 1 to keep every word")
        if min(self.c1, self.c2) < 0 or self.rounds < 1:
            raise ConfigError("a penalty is negative or there is no iteration", "see: deid train --help")

    @property
    def rounds(self) -> int:
        """How often the learner goes over the corpus."""
        assert self.iterations is not None  # filled in when made
        return self.iterations


@dataclass(frozen=True)
class Lexicon:
    """Lexical attributes of a training corpus: those that spell words or parts of words."""

    documents: dict[str, int] = field(repr=False)
    """Attribute -> number of documents that it was seen in, for the attributes that were kept."""
    dropped: frozenset[str] = field(repr=False)
    """Attributes seen in too few documents; not stored with a model."""


@dataclass(frozen=True)
class TrainingData:
    """Sequences to train on, made anew at each pass so that a large corpus need not fit in memory."""

    documents: Sequence[Document] = field(repr=False)
    features: FeatureSet
    options: TrainingOptions
    lexicon: Lexicon
    off_borders: int
    """Gold spans that do not begin and end on token borders."""
    spans: int

    def sequences(self) -> Iterator[tuple[list[dict[str, float]], list[str]]]:
        """Yield the attributes and labels of each sequence, in order of the documents."""
        rng = np.random.default_rng(self.options.seed)
        for document in self.documents:
            yield from self._of(document, rng)

    def _of(self, document: Document, rng: np.random.Generator) -> Iterator[tuple[list[dict[str, float]], list[str]]]:
        encoded = self.features.encode(document.text)
        starts, ends = encoded.tokens.starts[encoded.items], encoded.tokens.ends[encoded.items]
        labels = spans_to_labels(document.spans, starts, ends, self.options.scheme)
        keep = np.ones(len(labels), dtype=bool)
        if self.options.window is not None:
            keep &= keep_window(labels, self.options.window)
        if self.options.o_sampling is not None:
            keep &= keep_random_o(labels, self.options.o_sampling, rng)
        if not keep.any():
            return
        dropped = self.lexicon.dropped
        rows = [
            {name: value for name, value in row.items() if name not in dropped} if kept else {}
            for row, kept in zip(self.features.expand(encoded), keep, strict=True)
        ]
        taken = np.flatnonzero(keep)
        cuts: list[int] = (np.flatnonzero(np.diff(taken) > 1) + 1).tolist() if self.options.split_at_gaps else []
        for part in np.split(taken, cuts):
            yield [rows[i] for i in part], [labels[i] for i in part]


def prepare(documents: Sequence[Document], features: FeatureSet, options: TrainingOptions) -> TrainingData:
    """Count what the corpus holds and decide which lexical attributes are kept.

    Raises
    ------
    ConfigError
        When there is nothing to learn from.
    """
    counts: Counter[str] = Counter()
    spans = off = 0
    for document in documents:
        encoded = features.encode(document.text)
        counts.update(features.lexical(encoded))
        spans += len(document.spans)
        off += len(misaligned(document.spans, encoded.tokens.starts, encoded.tokens.ends))
    if not spans:
        raise ConfigError("the corpus holds no annotated span", "name a corpus in an annotated format")
    rare = frozenset(name for name, n in counts.items() if n < options.min_documents)
    kept = {name: n for name, n in sorted(counts.items()) if name not in rare}
    return TrainingData(documents, features, options, Lexicon(kept, rare), off, spans)


def corpus_checksum(documents: Sequence[Document]) -> str:
    """Return SHA-256 over ids, texts and spans, so that a model says what it was trained on."""
    digest = hashlib.sha256()
    for document in documents:
        spans = ";".join(f"{s.start},{s.end},{s.category}" for s in document.spans)
        for part in (document.id, document.text, spans):
            raw = part.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()
