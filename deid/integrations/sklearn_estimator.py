"""A scikit-learn estimator: taggers in grid searches and cross-validations of scikit-learn.

>>> from sklearn.model_selection import GridSearchCV                                    # doctest: +SKIP
>>> search = GridSearchCV(SpanTagger(), {"c2": [0.01, 0.1, 1], "bias": [0, 1]}, cv=5)   # doctest: +SKIP
>>> search.fit(documents)                                                               # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from deid.base.errors import ConfigError, InputError, require
from deid.document import Document, Span, check_spans
from deid.evaluation import ScoringSettings, evaluate
from deid.features import FeatureSet
from deid.labeling.tagger import train
from deid.labeling.training import TrainingOptions

Spans = Iterable[Span | tuple[int, int, str]]


_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("preset", "groups", "scheme", "algorithm"), (str,)),
    **dict.fromkeys(("skip_punct", "all_pairs", "split_at_gaps"), (bool,)),
    **dict.fromkeys(("c1", "c2", "rate", "drop", "prune", "prune_rare", "pull"), (Real,)),
    **dict.fromkeys(("min_documents", "rescore", "random_state"), (Integral,)),
    **dict.fromkeys(("iterations", "window", "accepted"), (Integral, type(None))),
    "o_sampling": (Real, type(None)),
}
_PLAIN: Mapping[type, type] = {Real: float, Integral: int}
"""Numbers of other libraries become Python's."""


@dataclass(kw_only=True, eq=False, repr=False)
class SpanTagger(BaseEstimator):
    """Learns to find spans in texts.

    ``X`` is a sequence of texts or of `Document`, one sample a document; ``y`` is a sequence of as many lists of spans,
    each a `Span` or a tuple (start, end, category). ``y`` may be left out where ``X`` holds annotated documents.

    Parameters
    ----------
    preset, groups, dictionaries, skip_punct
        Features, see `deid.features.FeatureSet`.
    scheme, algorithm, c1, c2, all_pairs, rate, drop, prune, prune_rare, pull, window, o_sampling, split_at_gaps,
    accepted, min_documents, rescore
        Training, see `deid.labeling.training.TrainingOptions`.
    iterations : int, optional
        Iterations of L-BFGS (100 when not given) or epochs of stochastic gradient (15).
    margins : mapping or sequence of (str, float)
        Category, or PHI for all -> by how much its labels must win where they are right.
    acceptance : mapping or sequence of (str, float)
        Naive Bayes only: label -> probability that a drawn token is accepted.
    bias : float
        The recall dial, subtracted from the score of O when spans are predicted; it can be searched like any other
        parameter.
    random_state : int
        Seed of all sampling. Neither None nor a generator: the same input shall give the same tagger.

    Attributes
    ----------
    tagger_ : deid.labeling.tagger.Tagger
        What was learnt; ``tagger_.save(folder)`` writes a model folder for the command line.
    categories_ : tuple of str
        Categories that can be found, sorted.
    n_documents_ : int
        How many documents it was fitted on.
    """

    preset: str = "default"
    groups: str = "racd"
    dictionaries: Sequence[str] = ()
    skip_punct: bool = False
    scheme: str = "BIO"
    algorithm: str = "sgd"
    c1: float = 0.0
    c2: float = 0.3
    all_pairs: bool = True
    rate: float = 0.1
    drop: float = 0.5
    prune: float = 0.05
    prune_rare: float = 0.0
    pull: float = 1.0
    iterations: int | None = None
    window: int | None = None
    o_sampling: float | None = None
    split_at_gaps: bool = False
    acceptance: Mapping[str, float] | Sequence[tuple[str, float]] = ()
    margins: Mapping[str, float] | Sequence[tuple[str, float]] = ()
    accepted: int | None = None
    min_documents: int = 3
    rescore: int = 0
    bias: float = 0.0
    random_state: int = 0

    def __sklearn_tags__(self) -> Any:
        """Say that samples are texts (or documents), not rows of a table."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def fit(self, X: Sequence[str | Document], y: Sequence[Spans] | None = None) -> SpanTagger:
        """Learn from annotated documents.

        Parameters
        ----------
        X : sequence of str or Document
        y : sequence of lists of spans, optional
            Takes the place of the documents' own annotations when given.

        Returns
        -------
        SpanTagger
            Itself.

        Raises
        ------
        ConfigError
            When a parameter cannot be used, or there is no span to learn from.
        InputError
            When ``X`` or ``y`` is not what it should be.
        """
        features, options = self._validated()
        documents = _annotated(X, y)
        self.tagger_ = train(documents, features, options)
        self.categories_ = tuple(sorted(self.tagger_.categories))
        self.n_documents_ = len(documents)
        return self

    def predict(self, X: Sequence[str | Document]) -> np.ndarray:
        """Find spans; annotations of documents are ignored.

        Returns
        -------
        ndarray of object, shape (n_samples,)
            A list of `Span` for each sample; an array, because scikit-learn joins the answers of several folds.
        """
        check_is_fitted(self)
        # set here and not in fit, so that a search over the dial alone need not train again
        tagger = self.tagger_.dial(self._checked_bias())
        documents = _documents(X)
        found = np.empty(len(documents), dtype=object)
        for i, document in enumerate(documents):
            found[i] = tagger.find(document)
        return found

    def score(self, X: Sequence[str | Document], y: Sequence[Spans] | None = None) -> float:
        """Return the strict F1 over all documents: start, end and category of a span must be right."""
        check_is_fitted(self)
        gold = [replace(d, id=str(i)) for i, d in enumerate(_annotated(X, y))]
        answers = [d.with_spans(spans) for d, spans in zip(gold, self.predict(gold), strict=True)]
        return evaluate(gold, answers, settings=ScoringSettings(resamples=0)).tables["strict"].micro().f1

    def _validated(self) -> tuple[FeatureSet, TrainingOptions]:
        """Check the parameters' types here, their values where they are used."""
        if isinstance(self.dictionaries, str) or not all(isinstance(name, str) for name in self.dictionaries):
            raise ConfigError("dictionaries is no list of names", "for example: ('names/last_popular',)")
        found: dict[str, Any] = {}
        for name, kinds in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                allowed = " or ".join("None" if kind is type(None) else kind.__name__.lower() for kind in kinds)
                raise ConfigError(f"parameter {name} is a {type(value).__name__}", f"allowed: {allowed}")
            found[name] = value if value is None or kinds[0] not in _PLAIN else _PLAIN[kinds[0]](value)
        self._checked_bias()
        features = FeatureSet(self.preset, self.groups, tuple(self.dictionaries), skip_punct=self.skip_punct)
        for name in ("preset", "groups", "skip_punct"):
            del found[name]
        found |= {name: _pairs(name, getattr(self, name)) for name in ("acceptance", "margins")}
        return features, TrainingOptions(seed=found.pop("random_state"), **found)

    def _checked_bias(self) -> float:
        if not isinstance(self.bias, Real) or isinstance(self.bias, bool):
            raise ConfigError(f"parameter bias is a {type(self.bias).__name__}", "allowed: real")
        return float(self.bias)


def _documents(X: Sequence[str | Document]) -> list[Document]:
    require(not isinstance(X, str | Document), "X is one text or document", "put it into a list", kind=InputError)
    documents = []
    for index, sample in enumerate(X, 1):
        if isinstance(sample, Document):
            documents.append(sample)
        elif isinstance(sample, str):
            documents.append(Document(str(index), str(sample), index=index))  # str(): numpy has strings of its own
        else:
            raise InputError(
                f"it is a {type(sample).__name__}", "X holds texts or deid.Document", "X", f"sample {index}"
            )
    return documents


def _annotated(X: Sequence[str | Document], y: Sequence[Spans] | None) -> list[Document]:
    documents = _documents(X)
    if y is None:
        if any(isinstance(sample, str) for sample in X):
            raise InputError("y is missing", "give the spans of each text, or annotated documents as X")
        return documents
    if len(y) != len(documents):
        raise InputError(f"y has {len(y)} entries for {len(documents)} documents", "give one list of spans for each")
    found = []
    for index, (document, spans) in enumerate(zip(documents, y, strict=True), 1):
        found.append(document.with_spans(_span(span, index) for span in spans))
        check_spans(len(document.text), found[-1].spans, f"y, sample {index}")
    return found


def _span(span: Any, index: int) -> Span:
    if isinstance(span, Span):
        return span
    try:
        start, end, category = span
        if not isinstance(category, str):
            raise TypeError
        return Span(int(start), int(end), str(category))
    except (TypeError, ValueError):
        raise InputError(
            "a span is neither a Span nor (start, end, category)",
            "for example: (0, 9, 'PATIENT')",
            f"y, sample {index}",
        ) from None


def _pairs(name: str, given: Mapping[str, float] | Sequence[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    try:
        return tuple((str(label), float(number)) for label, number in dict(given).items())
    except (TypeError, ValueError):
        raise ConfigError(f"{name} is no mapping of labels to numbers", "for example: {'O': .1}") from None
