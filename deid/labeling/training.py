"""From annotated documents to the sequences that a learner is trained on."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deid.base.errors import ConfigError, require
from deid.base.options import option
from deid.document import Document
from deid.features import FeatureSet
from deid.labeling.encoding import LabelledSequences, encode_corpus
from deid.labeling.sampling import keep_random_o, keep_window
from deid.labeling.schemes import misaligned, spans_to_labels
from deid.labeling.weights import Weights
from deid.reading.line_ends import unified_document

if TYPE_CHECKING:
    from deid.labeling.tagger import Tagger

ALGORITHMS = ("sgd", "lbfgs", "memm", "maxent", "svm", "tree", "naive-bayes")
"""What `deid.labeling.learners.LEARNERS` holds."""


def label_number(option: str, example: str) -> Callable[[str], tuple[str, float]]:
    """Return what reads ``LABEL=NUMBER`` for an option, and raises `ConfigError` with ``example`` for other texts."""

    def read(text: str) -> tuple[str, float]:
        label, _, value = text.rpartition("=")
        try:
            return label, float(value)
        except ValueError:
            raise ConfigError(f"{option} is not of the form LABEL=NUMBER", f"for example: {option} {example}") from None

    return read


_TRAINING, _SAMPLING, _LBFGS, _BAYES = "Training", "Sampling", "CRF by L-BFGS", "Naive Bayes"


@dataclass(frozen=True, kw_only=True)
class NewModelOptions:
    """A model that is trained: where it goes, what it starts from, and which rules work beside it."""

    model: Path = option(..., "New folder for the model.", "--output", "-o", metavar="DIR")
    start_from: str | None = option(
        None,
        "Start from this model (folder or shipped) and stay near it: for few notes of your own. Features, word lists "
        "and label scheme are those of that model.",
        metavar="MODEL",
    )
    rule_languages: str | None = option(
        None,
        "Languages whose rules shall work beside the model, commas between; or none. By default none, or those of the "
        "model to start from.",
    )

    def rules(self, start: Tagger | None) -> tuple[str, ...]:
        """Return the languages of the rules beside the model, which may start from another one."""
        if self.rule_languages is None:
            return () if start is None else start.rules
        return () if self.rule_languages == "none" else tuple(self.rule_languages.split(","))


@dataclass(frozen=True)
class TrainingOptions:
    """How a tagger is trained; saved with the model.

    ``drop`` is dropout (Srivastava et al., JMLR 15, 2014): no weight can lean on another. ``margins`` are those of
    softmax-margin (Gimpel and Smith, NAACL 2010): by how much the labels of a category, or PHI for all, must win where
    they are right; 2 to 4 for PHI makes a tagger that misses less. ``c1`` adds c1 * |w|, ``c2`` adds c2 * |w|^2 (not
    halved). With ``all_pairs`` there are weights for every pair of an attribute and a label, and of two labels; else,
    as CRFsuite does by default, only for pairs that occur: twice the time for fewer false alarms.
    """

    PANEL: ClassVar[str] = _TRAINING
    scheme: str = option("BIO", "Label scheme: BIO or BIOES.", "--label-scheme")
    algorithm: str = option(
        "sgd", "sgd (CRF by stochastic gradient), lbfgs (CRF by CRFsuite), memm, maxent, svm, tree or naive-bayes."
    )
    c1: float = option(0.0, "L1 penalty.", panel=_LBFGS)
    c2: float = option(0.3, "L2 penalty.", panel=_LBFGS)
    all_pairs: bool = option(True, "Weights for attribute and label pairs that do not occur, too.", panel=_LBFGS)
    rate: float = option(0.1, "Learning rate of sgd.")
    drop: float = option(0.5, "sgd, memm, maxent: share of the attributes that a step does not see.", "--dropout")
    margins: tuple[tuple[str, float], ...] = option(
        (),
        "sgd, memm, maxent: labels of a category (PHI for all) must win by W where they are right (repeatable). PHI=4 "
        "misses less and flags more.",
        "--label-weight",
        metavar="CATEGORY=W",
        read=label_number("--label-weight", "PHI=4"),
    )
    prune: float = option(0.05, "sgd: weights smaller than this are left out of the model.")
    prune_rare: float = option(0.0, "sgd: as --prune, over the root of N documents.")
    iterations: int | None = option(None, "Iterations of lbfgs (100), or epochs of sgd, memm and maxent (15).")
    pull: float = option(1.0, "From a model on: pull towards its weights.")
    window: int | None = option(None, "Train only on tokens within K tokens of a span.", metavar="K", panel=_SAMPLING)
    o_sampling: float | None = option(
        None, "Keep each token outside spans with probability P.", metavar="P", panel=_SAMPLING
    )
    split_at_gaps: bool = option(False, "Cut sequences where sampling dropped tokens.", panel=_SAMPLING)
    acceptance: tuple[tuple[str, float], ...] = option(
        (),
        "Acceptance probability of a label (repeatable).",
        metavar="LABEL=P",
        panel=_BAYES,
        read=label_number("--acceptance", "B-DATE=0.5"),
    )
    accepted: int | None = option(
        None, "Tokens to accept in rejection sampling; by default as many as there are.", panel=_BAYES
    )
    min_documents: int = option(
        3, "Drop words of fewer documents (patients, see --group-field): models then store nobody's own words."
    )
    rescore: int = option(
        0,
        "sgd, lbfgs: rescore spans, learnt from K taggers of parts of the notes (0: none).",
        metavar="K",
    )
    seed: int = option(0, "Seed of the folds and of all sampling.", minimum=0)

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise ConfigError(f"unknown training algorithm {self.algorithm!r}", "known: " + ", ".join(ALGORITHMS))
        require(self.min_documents >= 1, "min_documents is less than 1", "give 1 to keep every word")
        require(0 <= self.drop < 1, "the share of attributes to drop is not 0 to below 1", "0.5 is usual, 0 drops none")
        require(self.rescore >= 0 and self.rescore != 1, "rescoring is learnt from two parts or more", "4 is usual")
        if self.rescore and (self.algorithm not in ("sgd", "lbfgs") or self.scheme != "BIO"):
            raise ConfigError("only spans of a CRF with BIO labels are rescored", "train with sgd or lbfgs, scheme BIO")
        if min(self.c1, self.c2, self.pull, self.prune, self.prune_rare) < 0 or self.rounds < 1:
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
    """Lexical attribute (one that spells a word or a part of one) -> number of documents, or groups of them, it was
    seen in, for those that were kept."""
    off_borders: int
    """Gold spans that do not begin and end on token borders."""
    spans: int
    groups: Sequence[str] | None = field(default=None, repr=False)
    """Whose each document is, where that was said."""

    def sequences(self) -> Iterator[tuple[list[dict[str, float]], list[str]]]:
        """Yield the attributes and labels of each sequence, in order of the documents."""
        for rows, (first, stop) in zip(self.items.rows(), itertools.pairwise(self.items.bounds.tolist()), strict=True):
            yield rows, [self.labels[i] for i in self.gold[first:stop].tolist()]


def prepare(
    documents: Sequence[Document],
    features: FeatureSet,
    options: TrainingOptions,
    start: Weights | None = None,
    groups: Sequence[str] | None = None,
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
    everything, borders = encode_corpus(documents, features, groups)
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
    require(spans, "the corpus holds no annotated span", "name a corpus in an annotated format")
    require(gold, "sampling left no token to train on", "use a wider window or a larger share of O tokens")
    stays = ~everything.lexical | (everything.documents >= options.min_documents)
    if start:
        stays |= np.fromiter((name in start.attributes for name in everything.attributes), dtype=bool, count=len(stays))
    items = everything.take(np.concatenate(taken), np.array(bounds, dtype=np.int64), stays)
    lexicon = {items.attributes[i]: int(items.documents[i]) for i in np.flatnonzero(items.lexical).tolist()}
    return TrainingData(
        documents, features, options, items, tuple(numbers), np.array(gold, dtype=np.int32), lexicon, off, spans, groups
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
