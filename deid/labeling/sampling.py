"""Sampling of training tokens: features see the whole document, then tokens are dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deid.base.errors import ConfigError, require


def keep_window(labels: Sequence[str], k: int) -> np.ndarray:
    """Keep every labelled token and every token within ``k`` positions of one.

    Parameters
    ----------
    labels : sequence of str
        Labels of one document, ``O`` for none.
    k : int
        Half-width of the window, 0 or more.

    Returns
    -------
    ndarray of bool, shape (n_items,)

    Raises
    ------
    ConfigError
        When ``k`` is negative.
    """
    require(k >= 0, "the window is negative", "give 0 or more tokens")
    phi = np.array([label != "O" for label in labels], dtype=np.int64)
    padded = np.concatenate([np.zeros(k + 1, dtype=np.int64), phi, np.zeros(k, dtype=np.int64)])
    total = np.cumsum(padded)
    return (total[2 * k + 1 :] - total[: len(phi)]) > 0


def keep_random_o(labels: Sequence[str], p: float, rng: np.random.Generator) -> np.ndarray:
    """Keep every labelled token and each other one with probability ``p``; order is preserved.

    Labels and result as of `keep_window`; ``rng`` is the source of chance.

    Raises
    ------
    ConfigError
        When ``p`` is no probability.
    """
    require(0 <= p <= 1, "the share of O tokens to keep is no probability", "give a number between 0 and 1")
    phi = np.array([label != "O" for label in labels], dtype=bool)
    return phi | (rng.random(len(phi)) < p)


def rejection_sample(
    labels: Sequence[str], probability: Mapping[str, float], n: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw tokens uniformly with replacement, accept each with its label's probability, until ``n`` are accepted.

    Cost-proportionate rejection sampling (Zadrozny, Langford and Abe 2003), for learners that take tokens one by one.

    Parameters
    ----------
    labels : sequence of str
        Labels of all training tokens.
    probability : mapping
        Label -> acceptance probability; a label that is missing is accepted always.
    n : int
        Tokens to accept.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    ndarray of int64, shape (n,)
        Indices into ``labels`` in the order of acceptance.

    Raises
    ------
    ConfigError
        When there is no token, or no token could be accepted.
    """
    accept = np.array([probability.get(label, 1.0) for label in labels])
    if len(accept) == 0 or not ((accept >= 0) & (accept <= 1)).all() or accept.max() == 0:
        raise ConfigError("no token could be accepted", "give probabilities between 0 and 1, not all of them 0")
    taken: list[np.ndarray] = []
    have = 0
    while have < n:
        draw = rng.integers(0, len(accept), size=n)
        draw = draw[rng.random(n) < accept[draw]]
        taken.append(draw)
        have += len(draw)
    return np.concatenate(taken)[:n] if taken else np.empty(0, dtype=np.int64)
