"""The learners by name, behind one interface: from training data to what labels texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from deid.labeling.decoder import Decoder
from deid.labeling.training import TrainingData
from deid.labeling.weights import Weights

Report = Callable[[int, float], None] | None
"""Gets the number of each iteration and the loss after it."""


@dataclass(frozen=True)
class Learnt:
    """What a learner made of the training data."""

    decoder: Decoder
    crfsuite: bytes | None = field(default=None, repr=False)
    """The weights as CRFsuite's model file, where they fit into one."""


def _stochastic(data: TrainingData, report: Report, start: Weights | None) -> Learnt:
    from deid.labeling.crfsuite_file import pack_crfsuite, parse_crfsuite
    from deid.labeling.memm import MemmDecoder
    from deid.labeling.sgd import train_sgd

    file = pack_crfsuite(train_sgd(data, report, start))
    decoder = MemmDecoder if data.options.algorithm == "memm" else Decoder
    return Learnt(decoder(parse_crfsuite(file), data.features), file)


def _crfsuite(data: TrainingData, report: Report, start: Weights | None) -> Learnt:
    from deid.labeling.crf import train_crf
    from deid.labeling.crfsuite_file import parse_crfsuite

    file = train_crf(data, report)
    return Learnt(Decoder(parse_crfsuite(file), data.features), file)


def _independent(data: TrainingData, report: Report, start: Weights | None) -> Learnt:
    from deid.labeling.independent import train_naive_bayes, train_svm

    train = train_svm if data.options.algorithm == "svm" else train_naive_bayes
    return Learnt(Decoder(train(data), data.features))


def _tree(data: TrainingData, report: Report, start: Weights | None) -> Learnt:
    from deid.labeling.tree import TreeDecoder, train_tree

    return Learnt(TreeDecoder(train_tree(data), data.features))


LEARNERS: dict[str, tuple[str, Callable[[TrainingData, Report, Weights | None], Learnt]]] = {
    "sgd": ("CRF, stochastic gradient", _stochastic),
    "lbfgs": ("CRF, L-BFGS (CRFsuite)", _crfsuite),
    "memm": ("maximum entropy Markov model", _stochastic),
    "maxent": ("maximum entropy", _stochastic),
    "svm": ("linear support vector machine", _independent),
    "tree": ("decision tree", _tree),
    "naive-bayes": ("Naive Bayes", _independent),
}
"""Name -> what it is called in tables, and the learner. Only ``sgd`` uses the weights to start from."""
