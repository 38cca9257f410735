"""Training by stochastic gradient: AdaGrad over short stretches, weights averaged; a linear-chain CRF, or its kin.

Every pair of an attribute and a label may get a weight (CRFsuite's L-BFGS by default allows only pairs that occur), and
a step is taken for each stretch of a document instead of one for the whole corpus: the same F1 in a small part of the
time (docs/accuracy.md has the figures and the commands).

Two older models of the literature are the same objective on other stretches. A *maximum entropy* classifier (Berger,
Della Pietra and Della Pietra 1996; multinomial logistic regression) labels each item by itself: stretches of one item
that know nothing of their neighbours. A *maximum entropy Markov model* (McCallum, Freitag and Pereira 2000) gives each
label a probability given the one before it: stretches of one item that know the label on their left only.

AdaGrad: Duchi, Hazan and Singer, JMLR 12, 2011. Averaging of the later iterates: Polyak and Juditsky, 1992.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from deid.base.errors import ConfigError
from deid.labeling.kernels import epoch
from deid.labeling.training import TrainingData
from deid.labeling.warm_start import align
from deid.labeling.weights import Weights

_STRETCH = 25
"""Stretches are cut at the first place after this many items where no span is cut."""


def train_sgd(
    data: TrainingData, report: Callable[[int, float], None] | None = None, start: Weights | None = None
) -> Weights:
    """Train a CRF, or what the options' ``algorithm`` says: ``maxent`` or ``memm``.

    Parameters
    ----------
    data : TrainingData
        Its options give the number of epochs (``iterations``), the learning rate, the smallest weight that is kept
        (``prune``, ``prune_rare``) and the seed.
    report : callable, optional
        Gets the epoch's number and the loss after each epoch.
    start : Weights, optional
        Weights to start from and to stay near (``pull``); those of attributes that ``data`` does not hold are kept.

    Returns
    -------
    Weights
        The mean of the weights over the later half of the epochs.

    Raises
    ------
    ConfigError
        When a margin is asked for a category that no span has.
    """
    options, items, size = data.options, data.items, len(data.labels)
    outside = data.labels.index("O") if "O" in data.labels else -1
    if options.algorithm in ("maxent", "memm"):
        stretches = _single_items(data.gold, items.bounds, follow=options.algorithm == "memm")
    else:
        stretches = np.array(_stretches(data.gold.tolist(), items.bounds.tolist(), outside), dtype=np.int64)
    corpus = (items.begin, items.ids, items.values, data.gold, stretches)
    names = items.attributes
    if start is not None:
        here = set(names)
        names = [*names, *(name for name in start.attributes if name not in here)]
        start = align(start, names, data.labels)
    state = np.zeros((len(names), size), dtype=np.float32) if start is None else start.state.astype(np.float32)
    move = np.zeros((size, size)) if start is None else start.transition
    # without a start there is nothing to be pulled to
    old_state, old_move, pull = (state, move, 0.0) if start is None else (state.copy(), move.copy(), options.pull)
    state_square, move_square = np.zeros_like(state), np.zeros_like(move)
    margins = dict(options.margins)
    categories = [label.partition("-")[2] for label in data.labels]
    if unknown := margins.keys() - {*categories, "PHI"}:
        raise ConfigError(f"no span has the category {min(unknown)!r}", "name one of the corpus, or PHI for all")
    margin = np.array([margins.get(c, margins.get("PHI", 0.0)) if c else 0.0 for c in categories])
    rng = np.random.default_rng(options.seed)
    state_sum, move_sum, averaged = np.zeros_like(state), np.zeros_like(move), 0
    for number in range(1, options.rounds + 1):
        order = rng.permutation(len(stretches))
        weights = (state, state_square, move, move_square, old_state, old_move, margin)
        random = int(rng.integers(1, 2**63))
        loss = epoch(*corpus, order, *weights, options.rate, pull, options.drop, random)
        if report is not None:
            report(number, loss)
        if 2 * number > options.rounds:
            state_sum += state
            move_sum += move
            averaged += 1
    state_sum /= averaged
    moved = state_square > 0
    # the fewer documents an attribute was seen in, the less a weight of it says
    least = np.full((len(names), 1), options.prune)
    least[: len(items.documents), 0] = np.maximum(options.prune, options.prune_rare / np.sqrt(items.documents))
    state_sum[moved & (np.abs(state_sum) < least)] = 0.0
    if start is not None:
        state_sum[~moved] = old_state[~moved]
    rows = {name: i for i, name in enumerate(names)}
    return Weights(data.labels, rows, state_sum.astype(np.float64), move_sum / averaged, np.zeros(size))


def _stretches(gold: Sequence[int], bounds: Sequence[int], outside: int) -> list[tuple[int, int, int, int]]:
    """Cut sequences between items outside spans; see `reference.epoch` for the rows."""
    found = []
    for first, stop in itertools.pairwise(bounds):
        begin = first
        for i in range(first + 1, stop + 1):
            whole = i == stop
            if whole or (i - begin >= _STRETCH and gold[i] == outside == gold[i - 1]):
                found.append((begin, i, -1 if begin == first else gold[begin - 1], -1 if whole else gold[i]))
                begin = i
    return found


def _single_items(gold: np.ndarray, bounds: np.ndarray, *, follow: bool) -> np.ndarray:
    """Make each item a stretch of its own, which knows the label before it or nothing."""
    n = len(gold)
    rows = np.full((n, 4), -1, dtype=np.int64)
    rows[:, 0], rows[:, 1] = np.arange(n), np.arange(1, n + 1)
    if follow:
        rows[1:, 2] = gold[:-1]
        rows[bounds[:-1], 2] = -1
    return rows
