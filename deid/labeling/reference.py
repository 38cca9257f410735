"""NumPy reference of the compiled loops: the oracle in tests, and what runs where nothing was compiled.

Equations: Gardner 2012, chapter 4, equations 4.3 to 4.11.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np


def viterbi(emissions: np.ndarray, transition: np.ndarray) -> np.ndarray:
    """Return the best label sequence; ties go to the first label id.

    Parameters
    ----------
    emissions : ndarray of shape (n_items, n_labels)
    transition : ndarray of shape (n_labels, n_labels)
        From row to column.

    Returns
    -------
    ndarray of shape (n_items,)
        Label ids.
    """
    n, size = emissions.shape
    best = np.empty(n, dtype=np.int64)
    if n == 0:
        return best
    # a row holds what leads to one label, so that the search for the best predecessor runs along memory
    into = np.ascontiguousarray(transition.T)
    back = np.empty((n, size), dtype=np.int64)
    score = emissions[0]
    everyone = np.arange(size)
    for i in range(1, n):
        through = into + score
        back[i] = through.argmax(axis=1)
        score = through[everyone, back[i]] + emissions[i]
    best[-1] = score.argmax()
    for i in range(n - 1, 0, -1):
        best[i - 1] = back[i, best[i]]
    return best


def _log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    top = values.max(axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.exp(values - top).sum(axis=axis))


def _forward(emissions: np.ndarray, transition: np.ndarray) -> np.ndarray:
    alpha = np.empty_like(emissions)
    alpha[0] = emissions[0]
    for i in range(1, len(emissions)):
        alpha[i] = _log_sum(alpha[i - 1][:, None] + transition, 0) + emissions[i]
    return alpha


def log_partition(emissions: np.ndarray, transition: np.ndarray) -> float:
    """Return log Z of one sequence, in log space; arguments as those of `viterbi`, at least one item."""
    return float(_log_sum(_forward(emissions, transition)[-1], 0))


def marginals(emissions: np.ndarray, transition: np.ndarray) -> np.ndarray:
    """Return p(label | text) of each item by forward-backward in log space, float64 of shape (n_items, n_labels)."""
    if len(emissions) == 0:
        return np.empty_like(emissions)
    alpha = _forward(emissions, transition)
    beta = np.zeros_like(emissions)
    for i in range(len(emissions) - 2, -1, -1):
        beta[i] = _log_sum(transition + (emissions[i + 1] + beta[i + 1]), 1)
    scores = alpha + beta
    return np.exp(scores - _log_sum(scores, 1)[:, None])


FLOOR = 1e-8
NOTHING = 1e-2


def epoch(
    begin: np.ndarray,
    attribute: np.ndarray,
    value: np.ndarray,
    label: np.ndarray,
    stretches: np.ndarray,
    order: np.ndarray,
    state: np.ndarray,
    state_square: np.ndarray,
    move: np.ndarray,
    move_square: np.ndarray,
    old_state: np.ndarray,
    old_move: np.ndarray,
    margin: np.ndarray,
    rate: float,
    pull: float,
    drop: float,
    random: int,
) -> float:
    """Take one AdaGrad step for each stretch of training items, in the given order; the weights change in place.

    Parameters
    ----------
    begin : ndarray of int64, shape (n_items + 1,)
        Where each item's attributes begin.
    attribute, value : ndarray of int32 and float32, shape (begin[-1],)
        Attribute ids and their values.
    label : ndarray of int32, shape (n_items,)
    stretches : ndarray of int64, shape (n_stretches, 4)
        First item, one past the last item, label before and label behind (-1 at the ends of a document): each step
        follows the gradient of the likelihood of a stretch given its neighbours' labels.
    order : ndarray of int64, shape (n_stretches,)
    state, state_square : ndarray of float32, shape (n_attributes, n_labels)
        Weights and their accumulated squared gradients.
    move, move_square : ndarray of float64, shape (n_labels, n_labels)
        The same for transitions.
    old_state, old_move : ndarray of the shapes and types of ``state`` and ``move``
        Where the weights are pulled to.
    margin : ndarray of float64, shape (n_labels,)
        By how much a label's score must win where it is right: it is taken off there while training (softmax-margin:
        Gimpel and Smith, NAACL 2010).
    rate : float
        Learning rate.
    pull : float
        Strength of the pull: its part of a weight's gradient is ``pull`` times the distance. Like the rest of the
        gradient it is taken only where the likelihood's part is larger than `NOTHING`.
    drop : float
        Share of an item's attributes that a step does not see, 0 to below 1; the values of the others grow by
        1 / (1 - drop), so that sums stay what they are on average.
    random : int
        State of the random numbers (`draws`), 1 to 2^64 - 1.

    Returns
    -------
    float
        Sum of the negative log likelihoods, each measured before its step.
    """
    loss = 0.0
    keep = int((1.0 - drop) * 2**32)
    numbers = draws(random)
    for first, stop, left, right in stretches[order].tolist():
        items = range(first, stop)
        seen = value[begin[first] : begin[stop]].astype(np.float32)
        if drop:
            kept = np.array([next(numbers) < keep for _ in seen], dtype=bool)
            seen = np.where(kept, seen * np.float32(2**32 / keep), np.float32(0.0)).astype(np.float32)
        rows = [attribute[begin[i] : begin[i + 1]] for i in items]
        values = [seen[begin[i] - begin[first] : begin[i + 1] - begin[first]].astype(np.float64) for i in items]
        emissions = np.array([v @ state[r].astype(np.float64) for r, v in zip(rows, values, strict=True)])
        y = label[first:stop]
        emissions[np.arange(len(y)), y] -= margin[y]
        bounded = emissions.copy()
        if left >= 0:
            bounded[0] += move[left]
        if right >= 0:
            bounded[-1] += move[:, right]
        probability = marginals(bounded, move)
        expected = _expected_moves(bounded, move)
        path = [y_ for y_ in (left, *y.tolist(), right) if y_ >= 0]
        loss += log_partition(bounded, move) - emissions[np.arange(len(y)), y].sum()
        if left >= 0:
            expected[left] += probability[0]
        if right >= 0:
            expected[:, right] += probability[-1]
        for before, after in itertools.pairwise(path):
            loss -= move[before, after]
            expected[before, after] -= 1.0
        gradient = probability
        gradient[np.arange(len(y)), y] -= 1.0
        for g, r, v in zip(gradient, rows, values, strict=True):
            for row, x in zip(r.tolist(), v.tolist(), strict=True):
                if x == 0.0:
                    continue
                away = state[row].astype(np.float64) - old_state[row].astype(np.float64)
                d = np.where(np.abs(g) > NOTHING, g * x + pull * away, 0.0)
                state_square[row] += (d * d).astype(np.float32)
                state[row] -= (rate * d / np.sqrt(state_square[row].astype(np.float64) + FLOOR)).astype(np.float32)
        d = np.where(np.abs(expected) > NOTHING, expected + pull * (move - old_move), 0.0)
        move_square += d * d
        move -= rate * d / np.sqrt(move_square + FLOOR)
    return loss


def draws(state: int) -> Iterator[int]:
    """Yield random numbers below 2^32: xorshift64* (Marsaglia 2003, Vigna 2016), the upper half of each."""
    while True:
        state ^= state >> 12
        state = (state ^ (state << 25)) & (2**64 - 1)
        state ^= state >> 27
        yield (state * 2685821657736338717 & (2**64 - 1)) >> 32


def _expected_moves(emissions: np.ndarray, transition: np.ndarray) -> np.ndarray:
    """Return the expected number of each transition inside a sequence, shape (n_labels, n_labels)."""
    alpha = _forward(emissions, transition)
    beta = np.zeros_like(emissions)
    total = np.zeros_like(transition)
    for i in range(len(emissions) - 2, -1, -1):
        onward = emissions[i + 1] + beta[i + 1]
        beta[i] = _log_sum(transition + onward, 1)
        pair = alpha[i][:, None] + transition + onward
        total += np.exp(pair - pair.max()) / np.exp(pair - pair.max()).sum()
    return total
