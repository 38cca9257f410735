"""Taggers: features, label scheme and learnt weights in one; train, find, save, load."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.draws import draw
from deid.base.errors import ConfigError, ModelError, OutputError, require
from deid.base.files import check_new_folder
from deid.base.resources import resource_folder
from deid.document import Document, Span
from deid.features import FeatureSet
from deid.labeling import kernels
from deid.labeling import model_folder as folders
from deid.labeling.decoder import Decoder
from deid.labeling.learners import LEARNERS
from deid.labeling.rescoring import LEAST, Candidate, Rescorer
from deid.labeling.schemes import labels_to_spans
from deid.labeling.span_decoding import best_spans, possible_spans, probable_spans
from deid.labeling.training import TrainingData, TrainingOptions, corpus_checksum, prepare
from deid.labeling.warm_start import rename_labels
from deid.labeling.weights import Weights
from deid.reading.line_ends import unified

_USUAL = 0.4
"""Probability from which a rescored span is chosen with the dial at 0."""

DEFAULT_MODEL = "en"
"""The model that ships and is used when none is named."""


@dataclass(frozen=True)
class Tagger:
    """A learnt recognizer.

    Made by `train` or `load_model`, not by hand.
    """

    name: str
    """For `Span.source`: the folder's name."""
    decoder: Decoder = field(repr=False)
    description: Mapping[str, Any] = field(repr=False)
    """Content of ``tagger.json``."""
    lexicon: Mapping[str, int] = field(repr=False)
    """Lexical attribute -> number of training documents, or of patients where these were told."""
    crfsuite: bytes | None = field(default=None, repr=False)
    """CRFsuite's own file for a CRF, as `save` writes it."""
    bias: float = 0.0
    """The recall dial: subtracted from the score of the label O at every token. 0 decodes as trained; 0.5 to 2 trades
    precision for recall; negative values do the reverse."""
    scores: bool = False
    """Whether spans carry the smallest marginal probability of their tokens' labels (`deid.labeling.chances`)."""

    doubt: float = 0.0
    """A token that got the label O is flagged all the same where the probability of O is at most this, with the most
    probable other label: fewer leaks for more false alarms, at a better rate than `bias` gives (twice the time)."""

    span_probability: float = 0.0
    """Above 0: choose spans by their own probability instead of the best path of labels, each more probable than this
    (`deid.labeling.span_decoding`); .4 finds most spans exactly. Wins over `doubt`. Nine times the time of
    the compiled best path."""

    rescorer: Rescorer | None = field(default=None, repr=False)
    """Says how likely each possible span is, all in all (`deid.labeling.rescoring`): spans are then chosen by that,
    each above `span_probability` (.4 where that is 0), which the dial turns; not with `doubt`."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in the order of their ids."""
        return self.decoder.labels

    @property
    def categories(self) -> frozenset[str]:
        """The categories that the tagger can find."""
        return frozenset(label.partition("-")[2] for label in self.labels if label != "O")

    @property
    def rules(self) -> tuple[str, ...]:
        """Languages of the rules that the model was made to work with."""
        return tuple(self.description.get("rules", ()))

    def dial(self, bias: float) -> Tagger:
        """Return the same tagger with another `bias`."""
        return dataclasses.replace(self, bias=bias)

    def renamed(self, categories: Iterable[str]) -> Tagger:
        """Return the same tagger with its categories named as a corpus of these categories names them.

        What `train` does with the model that it starts from (`deid.labeling.warm_start.rename_labels`).
        """
        weights = rename_labels(self.decoder.weights, categories)
        return dataclasses.replace(self, decoder=Decoder(weights, self.decoder.features), crfsuite=None, rescorer=None)

    def going_on(self, options: TrainingOptions) -> tuple[FeatureSet, TrainingOptions]:
        """Return features and options of a training that starts from this model: features and scheme are its own."""
        return self.decoder.features, dataclasses.replace(options, scheme=str(self.description["options"]["scheme"]))

    def label(self, text: str) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return the labels of the labelled tokens, and their starts and ends in ``text``; shape (n_items,)."""
        normal = unified(text)
        best, starts, ends, _ = self._decode(normal.text)
        if normal.removed:
            gone = np.array(normal.removed)
            starts = starts + np.searchsorted(gone, starts, side="right")
            ends = ends + np.searchsorted(gone, ends - 1, side="right")
        return [self.labels[i] for i in best.tolist()], starts, ends

    def _decode(self, text: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        if not self.doubt or "O" not in self.labels:
            return self.decoder.decode(text, self.bias)
        emissions, starts, ends = self.decoder.scores(text, self.bias)
        best = kernels.viterbi(emissions, self.decoder.weights.transition)
        chance = kernels.marginals(emissions, self.decoder.weights.transition)
        outside = self.labels.index("O")
        doubted = (best == outside) & (chance[:, outside] <= self.doubt)
        others = chance.copy()
        others[:, outside] = -1.0
        best = np.where(doubted, others.argmax(axis=1), best)
        return best, starts, ends, chance[np.arange(len(best)), best] if self.scores else None

    def find(self, document: Document) -> list[Span]:
        """Return the spans found in the document's text, in order; its annotations are ignored."""
        normal = unified(document.text)
        found = self._found(normal.text)
        return [normal.back(span) for span in found] if normal.removed else found

    def _found(self, text: str) -> list[Span]:
        if self.rescorer is not None and not self.doubt:
            return self._rescored(text, self.rescorer)
        if self.span_probability:
            return self._probable(text)
        source = f"model:{self.name}"
        marked = None if self.doubt else self.decoder.marked(text, self.bias)
        if marked is not None:
            return self._scored(text, [Span(start, end, category, source=source) for start, end, category in marked])
        best, starts, ends, sure = self._decode(text)
        names = self.labels
        matters = best != (names.index("O") if "O" in names else -1)
        # of the items outside spans only one behind each run matters, to close it
        matters[1:] |= matters[:-1]
        told = np.flatnonzero(matters)
        labels = [names[i] for i in best[told].tolist()]
        found = []
        for span in labels_to_spans(labels, starts[told], ends[told]):
            score = None
            if sure is not None:
                first, last = np.searchsorted(starts, span.start), np.searchsorted(ends, span.end)
                score = float(sure[first : last + 1].min())
            # labels that white space alone got (the hide tokenizer labels it) say nothing about PHI
            if not text[span.start : span.end].isspace():
                found.append(Span(span.start, span.end, span.category, source=source, score=score))
        return found if sure is not None else self._scored(text, found)

    def _scored(self, text: str, spans: list[Span]) -> list[Span]:
        """Return spans of the best labels with their certainty, where it is asked for."""
        if not self.scores:
            return spans
        chances = self.chances(text, ((span.start, span.end) for span in spans))
        return [span.scored(chance) for span, chance in zip(spans, chances, strict=True)]

    def chances(self, text: str, places: Iterable[tuple[int, int]]) -> list[float]:
        """Return how sure the labels of some places are (`deid.labeling.chances`); lines must end in line feeds."""
        return self.decoder.chances(text, places, self.bias)

    def candidates(self, text: str) -> list[Candidate]:
        """Return the spans that a text may have, those that overlap too, for a rescorer; lines end in line feeds.

        Raises
        ------
        ConfigError
            When the labels are not those of the scheme BIO.
        """
        return [candidate for candidate, _ in self._possible(text)]

    def _possible(self, text: str) -> list[tuple[Candidate, tuple[int, int]]]:
        """Return candidates with their first item and the one past their last."""
        self._require_bio()
        emissions, starts, ends = self.decoder.scores(text)
        return [
            ((int(starts[first]), int(ends[stop - 1]), name, chance), (first, stop))
            for first, stop, name, chance in possible_spans(
                emissions, self.decoder.weights.transition, self.labels, LEAST
            )
            if not text[starts[first] : ends[stop - 1]].isspace()
        ]

    def _rescored(self, text: str, rescorer: Rescorer) -> list[Span]:
        possible = self._possible(text)
        threshold = turned_by(self.span_probability or _USUAL, self.bias)
        likely = rescorer.rescored(text, [candidate for candidate, _ in possible])
        items = [(*place, name, p) for (_, place), (*_, name, p) in zip(possible, likely, strict=True)]
        where = {place: (start, end) for (start, end, *_), place in possible}
        return [
            Span(*where[first, stop], category, source=f"model:{self.name}", score=chance)
            for first, stop, category, chance in best_spans(items, max((s for _, s, *_ in items), default=0), threshold)
        ]

    def _require_bio(self) -> None:
        if any(label[:2] in ("E-", "S-") for label in self.labels) or "O" not in self.labels:
            raise ConfigError("spans are chosen by probability with BIO labels only", "train with --label-scheme BIO")

    def _probable(self, text: str) -> list[Span]:
        self._require_bio()
        emissions, starts, ends = self.decoder.scores(text, self.bias)
        transition = self.decoder.weights.transition
        return [
            Span(int(starts[first]), int(ends[stop - 1]), category, source=f"model:{self.name}", score=probability)
            for first, stop, category, probability in probable_spans(
                emissions, transition, self.labels, self.span_probability
            )
            if not text[starts[first] : ends[stop - 1]].isspace()
        ]

    def save(self, folder: Path) -> None:
        """Write the model folder; it appears complete or not at all.

        Raises
        ------
        OutputError
            When the folder exists and is not an empty folder, or cannot be written.
        """
        check_new_folder(folder)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".model-", dir=folder.parent) as name:
                part = Path(name) / "model"
                part.mkdir()
                self._write(part)
                if folder.exists():
                    folder.rmdir()
                part.rename(folder)
        except OSError as error:
            raise OutputError(
                f"the model cannot be written ({error.strerror})", "free space or choose another place", str(folder)
            ) from None

    def _write(self, folder: Path) -> None:
        if self.crfsuite is not None:
            (folder / folders.CRF_WEIGHTS).write_bytes(self.crfsuite)
        else:
            folders.write_arrays(folder, self.decoder)
        folders.write_lexicon(folder, self.lexicon)
        if self.rescorer is not None:
            (folder / folders.RESCORER).write_bytes(self.rescorer.write())
        folders.write_description(folder, self.description)

    @classmethod
    def load(cls, folder: Path, *, ships: bool = False) -> Tagger:
        """Load a model folder.

        Parameters
        ----------
        folder : Path
        ships : bool
            Whether it is a model of this installation, of which a table may be kept (`deid.labeling.tables`).

        Raises
        ------
        ModelError
            When the folder is no model, is damaged, or was trained with other word lists than this installation has.
        """
        description = folders.read_description(folder)
        try:
            features = FeatureSet.from_spec(description["features"])
        except ConfigError as error:
            raise ModelError(error.what, error.hint, str(folder)) from None
        if features.checksums() != description.get("dictionaries"):
            raise ModelError(
                "the word lists differ from those that the model was trained with",
                "train the model again, or install the version that it came with",
                str(folder),
            )
        decoder, crfsuite = folders.read_decoder(folder, description, features, ships=ships)
        if sorted(decoder.labels) != sorted(description.get("labels", ())):
            raise ModelError(
                "the weights have other labels than tagger.json says", "train the model again", str(folder)
            )
        lexicon = folders.StoredLexicon(folder)
        rescorer = folders.read_rescorer(folder, description)
        return cls(folder.resolve().name, decoder, description, lexicon, crfsuite, rescorer=rescorer)


def train(
    documents: Sequence[Document],
    features: FeatureSet,
    options: TrainingOptions | None = None,
    *,
    name: str = "model",
    rules: Iterable[str] = (),
    start: Tagger | None = None,
    groups: Sequence[str] | None = None,
    report: Callable[[int, float], None] | None = None,
) -> Tagger:
    """Train a tagger.

    Parameters
    ----------
    documents : sequence of Document
        Annotated documents.
    features : FeatureSet
    options : TrainingOptions, optional
    name : str
        Name of the model.
    rules : iterable of str
        Languages of the rules that shall work beside the model.
    start : Tagger, optional
        A model to start from (``sgd`` only), with the same features and label scheme; its categories are renamed to
        those of the documents (`deid.labeling.warm_start`).
    groups : sequence of str, optional
        Whose each document is, such as its patient: words of fewer than ``min_documents`` of them are dropped, however
        many notes somebody has. By default documents count, copies of a text as one.
    report : callable, optional
        Gets the iteration's number and the loss after each iteration.

    Returns
    -------
    Tagger
        The trained tagger, not saved yet.

    Raises
    ------
    ConfigError
        When there is nothing to learn from, or the start does not fit.
    """
    options = options or TrainingOptions()
    old = None if start is None else _start_weights(start, documents, features, options)
    data = prepare(documents, features, options, old, groups)
    learnt = LEARNERS[options.algorithm][1](data, report, old)
    weights = learnt.decoder.weights
    description = _describe(data, weights.labels, name, rules)
    if start is not None:
        description["start"] = {"name": start.name, "digest": start.description.get("digest")}
    # a word that the start held counts the documents of both trainings
    counts = Counter(data.lexicon) + Counter({} if start is None else start.lexicon)
    stored = {name: n for name, n in counts.items() if name in weights.attributes}
    rescorer = _rescorer(data, start) if options.rescore else None
    return Tagger(name, learnt.decoder, description, stored, learnt.crfsuite, rescorer=rescorer)


def _rescorer(data: TrainingData, start: Tagger | None) -> Rescorer:
    """Learn to rescore from taggers of folds, which leave every document out once."""
    from deid.labeling.rescoring_training import learn_rescorer

    documents, features, options = data.documents, data.features, data.options
    once = dataclasses.replace(options, rescore=0)

    def propose(known: Sequence[Document], others: Sequence[Document]) -> list[list[Candidate]]:
        tagger = train(known, features, once, start=start)
        return [tagger.candidates(document.text) for document in others]

    if len(documents) < options.rescore:
        raise ConfigError("there are fewer documents than parts to learn rescoring from", "give --rescore fewer")
    order = sorted(range(len(documents)), key=lambda i: draw(options.seed, f"rescore {documents[i].id}"))
    folds = [0] * len(documents)
    for rank, i in enumerate(order):
        folds[i] = rank % options.rescore
    return learn_rescorer(documents, folds, propose, options.min_documents, data.groups)


def turned_by(probability: float, bias: float) -> float:
    """Return the threshold that a probability becomes when the dial is turned: its odds by exp(-bias)."""
    odds = probability / (1.0 - probability) * math.exp(-max(-30.0, min(30.0, bias)))
    return odds / (1.0 + odds)


def _start_weights(
    start: Tagger, documents: Sequence[Document], features: FeatureSet, options: TrainingOptions
) -> Weights:
    require(options.algorithm == "sgd", "only stochastic gradient starts from a model", "train with the algorithm sgd")
    if features.spec() != start.decoder.features.spec():
        raise ConfigError("the features are not those of the model to start from", "leave the choice to that model")
    schemes = {options.scheme, start.description["options"]["scheme"]}
    require(len(schemes) <= 1, "the label scheme is not that of the model to start from", "train with the same scheme")
    return rename_labels(start.decoder.weights, {span.category for d in documents for span in d.spans})


def _describe(data: TrainingData, labels: Sequence[str], name: str, rules: Iterable[str]) -> dict[str, Any]:
    from importlib.metadata import version

    options = {k: v for k, v in dataclasses.asdict(data.options).items() if v is not None}
    options["iterations"] = data.options.rounds
    groups = len(set(data.groups or ()))
    return {
        "name": name,
        "labels": sorted(labels),
        "features": data.features.spec(),
        "dictionaries": data.features.checksums(),
        "rules": sorted(rules),
        "options": {**options, "acceptance": dict(data.options.acceptance), "margins": dict(data.options.margins)},
        "corpus": {
            "documents": len(data.documents),
            "spans": data.spans,
            "spans_off_token_borders": data.off_borders,
            "checksum": corpus_checksum(data.documents),
            **({"groups": groups} if 0 < groups < len(data.documents) else {}),
        },
        "versions": {p: version(p) for p in ("clinical-deid", "numpy", "python-crfsuite", "scikit-learn")},
    }


def available_models() -> tuple[str, ...]:
    """Return the names of the models that ship with this installation."""
    try:
        root = resource_folder("models")
    except ConfigError:
        return ()
    return tuple(sorted(p.parent.name for p in root.glob("*/tagger.json")))


def load_model(name_or_folder: str | Path | None = None) -> Tagger:
    """Load a shipped model by name, or a model folder by path; the default model when nothing is named.

    Returns
    -------
    Tagger
        The model, ready to label.

    Raises
    ------
    ModelError
        When there is no such model or it cannot be used.
    """
    wanted = str(name_or_folder or DEFAULT_MODEL)
    shipped = available_models()
    if wanted in shipped:
        return Tagger.load(resource_folder("models") / wanted, ships=True)
    folder = Path(wanted)
    if not folder.is_dir():
        raise ModelError(f"no model {wanted!r}", f"name a folder, or one of: {', '.join(shipped) or 'none'}")
    return Tagger.load(folder)
