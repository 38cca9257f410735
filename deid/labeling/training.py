"""From annotated documents to the sequences that a learner is trained on."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from deid.base.errors import ConfigError
from deid.document import Document
from deid.features import FeatureSet
from deid.labeling.encoding import LabelledSequences, encode_corpus
from deid.labeling.sampling import keep_random_o, keep_window
from deid.labeling.schemes import misaligned, spans_to_labels
from deid.labeling.weights import Weights
from deid.reading.line_ends import unified_document

__all__ = ["TrainingData", "TrainingOptions", "corpus_checksum", "prepare"]


ALGORITHMS = ("sgd", "lbfgs", "memm", "maxent", "svm", "tree", "naive-bayes")
"""What `deid.labeling.learners.LEARNERS` holds."""


@dataclass(frozen=True)
class TrainingOptions:
    """How a tagger is trained; saved with the model."""

    scheme: str = "BIO"
    algorithm: str = "sgd"
    """``sgd`` (CRF by stochastic gradient), ``lbfgs`` (CRF by CRFsuite's L-BFGS), ``memm`` (maximum entropy Markov
    model), ``maxent`` (maximum entropy), ``svm`` (linear support vector machine), ``tree`` or ``naive-bayes``."""
    c1: float = 0.0
    """``lbfgs``: L1 penalty, adds c1 * |w|."""
    c2: float = 0.3
    """``lbfgs``: L2 penalty, adds c2 * |w|^2 (not halved)."""
    all_pairs: bool = True
    """CRF by L-BFGS: weights for every pair of an attribute and a label, and of two labels; else, as CRFsuite does by
    default, only for pairs that occur. Twice the time for fewer false alarms."""
    rate: float = 0.1
    """Learning rate of ``sgd``."""
    drop: float = 0.5
    """``sgd``, ``memm`` and ``maxent``: share of the attributes that a step does not see, so that no weight can lean on
    another (dropout: Srivastava et al., JMLR 15, 2014)."""
    margins: tuple[tuple[str, float], ...] = ()
    """``sgd``, ``memm`` and ``maxent``: category, or PHI for all -> by how much its labels must win where they are
    right (softmax-margin: Gimpel and Smith, NAACL 2010). 2 to 4 for PHI makes a tagger that misses less."""
    prune: float = 0.05
    """``sgd``: weights of attributes smaller than this are left out of the model."""
    iterations: int | None = None
    """Iterations of ``lbfgs`` (100 when not given), epochs of ``sgd``, ``memm`` and ``maxent`` (15)."""
    pull: float = 1.0
    """``sgd`` that starts from another model: how strongly the weights are held near the old ones."""
    window: int | None = None
    """Keep only tokens within this many tokens of a span."""
    o_sampling: float | None = None
    """Keep each token outside spans with this probability."""
    split_at_gaps: bool = False
    """Cut the sequence where sampling dropped tokens; else what is left stays one sequence a document."""
    acceptance: tuple[tuple[str, float], ...] = ()
    """Learners that take tokens one by one: label -> probability that a drawn token is accepted."""
    accepted: int | None = None
    """Learners that take tokens one by one: how many tokens to accept; as many as the corpus has when not given."""
    min_documents: int = 3
    """Lexical attributes seen in fewer documents are dropped, so that the model does not store patients' words."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise ConfigError(f"unknown training algorithm {self.algorithm!r}", "known: " + ", ".join(ALGORITHMS))
        if self.min_documents < 1:
            raise ConfigError("min_documents is less than 1", "give 1 to keep every word")
        if not 0 <= self.drop < 1:
            raise ConfigError("the share of attributes to drop is not 0 to below 1", "0.5 is usual, 0 drops none")
        if min(self.c1, self.c2, self.pull, self.prune) < 0 or self.rounds < 1:
            raise ConfigError("a penalty is negative or there is no iteration", "see: deid train --help")

    @property
    def rounds(self) -> int:
        """How often the learner goes over the corpus."""
        if self.iterations is not None:
            return self.iterations
        return 100 if self.algorithm == "lbfgs" else 15


@dataclass(frozen=True)
class TrainingData:
    """What a learner gets: the corpus as arrays, after sampling and without the rare words."""

    documents: Sequence[Document] = field(repr=False)
    features: FeatureSet
    options: TrainingOptions
    items: LabelledSequences = field(repr=False)
    labels: tuple[str, ...]
    """Labels by id, in the order of their first appearance."""
    gold: np.ndarray = field(repr=False)
    """Label id of each item, int32 of shape (n_items,)."""
    lexicon: Mapping[str, int] = field(repr=False)
    """Lexical attribute (one that spells a word or a part of one) -> number of documents that it was seen in, for those
    that were kept."""
    off_borders: int
    """Gold spans that do not begin and end on token borders."""
    spans: int

    def sequences(self) -> Iterator[tuple[list[dict[str, float]], list[str]]]:
        """Yield the attributes and labels of each sequence, in order of the documents."""
        for rows, (first, stop) in zip(self.items.rows(), itertools.pairwise(self.items.bounds.tolist()), strict=True):
            yield rows, [self.labels[i] for i in self.gold[first:stop].tolist()]


def prepare(
    documents: Sequence[Document], features: FeatureSet, options: TrainingOptions, start: Weights | None = None
) -> TrainingData:
    """Encode a corpus, sample its tokens, drop the lexical attributes of too few documents.

    Parameters
    ----------
    documents : sequence of Document
    features : FeatureSet
    options : TrainingOptions
    start : Weights, optional
        Weights that training starts from: their labels come first, and their attributes stay.

    Returns
    -------
    TrainingData
        The encoded tokens with their labels.

    Raises
    ------
    ConfigError
        When there is nothing to learn from.
    """
    # texts are learnt as they are read when they are labelled
    documents = [unified_document(document)[0] for document in documents]
    everything, borders = encode_corpus(documents, features)
    numbers = {label: i for i, label in enumerate(start.labels if start else ())}
    rng = np.random.default_rng(options.seed)
    spans = off = 0
    gold: list[int] = []
    taken, bounds = [], [0]
    for document, (starts, ends), first in zip(documents, borders, everything.bounds.tolist(), strict=False):
        spans += len(document.spans)
        off += len(misaligned(document.spans, starts, ends))
        labels = spans_to_labels(document.spans, starts, ends, options.scheme)
        kept = np.flatnonzero(_sample(labels, options, rng))
        cuts: list[int] = (np.flatnonzero(np.diff(kept) > 1) + 1).tolist() if options.split_at_gaps else []
        bounds.extend([len(gold) + cut for cut in cuts])
        gold.extend(numbers.setdefault(labels[i], len(numbers)) for i in kept.tolist())
        taken.append(kept + first)
        if len(gold) > bounds[-1]:
            bounds.append(len(gold))
    if not spans:
        raise ConfigError("the corpus holds no annotated span", "name a corpus in an annotated format")
    if not gold:
        raise ConfigError("sampling left no token to train on", "use a wider window or a larger share of O tokens")
    stays = ~everything.lexical | (everything.documents >= options.min_documents)
    if start:
        stays |= np.fromiter((name in start.attributes for name in everything.attributes), dtype=bool, count=len(stays))
    items = everything.take(np.concatenate(taken), np.array(bounds, dtype=np.int64), stays)
    lexicon = {items.attributes[i]: int(items.documents[i]) for i in np.flatnonzero(items.lexical).tolist()}
    return TrainingData(
        documents, features, options, items, tuple(numbers), np.array(gold, dtype=np.int32), lexicon, off, spans
    )


def _sample(labels: Sequence[str], options: TrainingOptions, rng: np.random.Generator) -> np.ndarray:
    keep = np.ones(len(labels), dtype=bool)
    if options.window is not None:
        keep &= keep_window(labels, options.window)
    if options.o_sampling is not None:
        keep &= keep_random_o(labels, options.o_sampling, rng)
    return keep


def corpus_checksum(documents: Sequence[Document]) -> str:
    """Return SHA-256 over ids, texts and spans, so that a model says what it was trained on."""
    digest = hashlib.sha256()
    for document in documents:
        spans = ";".join(f"{s.start},{s.end},{s.category}" for s in document.spans)
        for part in (document.id, document.text, spans):
            raw = part.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()
