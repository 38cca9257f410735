"""Patterns over sequences: by all sequences there are, read with nothing but the definition."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from deid.base.errors import ConfigError
from deid.dp.patterns import ever, then

SYMBOLS, LENGTH = 3, 5


def until_the_end(own: tuple[int, ...], ends: bool) -> tuple[int, ...]:
    return own[: own.index(SYMBOLS - 1)] if ends and SYMBOLS - 1 in own else own


def has(levels: set[int]) -> Callable[[tuple[int, ...]], bool]:
    return lambda own: not levels.isdisjoint(own)


def follows(first: int, second: int, within: int) -> Callable[[tuple[int, ...]], bool]:
    return lambda own: any(
        level == first and second in own[place + 1 : place + 1 + within] for place, level in enumerate(own)
    )


PATTERNS = [
    *((ever(own, SYMBOLS), has(own)) for own in ({0}, {1}, {0, 1})),
    *((then(*own, SYMBOLS), follows(*own)) for own in itertools.product((0, 1), (0, 1), (1, 2, 3))),
]


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("number", range(len(PATTERNS)))
def test_a_pattern_accepts_what_it_says_and_is_as_likely_as_its_sequences(number: int, ends: bool) -> None:
    """What follows the end counts for nothing, and nothing comes behind it."""
    pattern, accepts = PATTERNS[number]
    shares = np.random.default_rng(number).dirichlet(np.ones(SYMBOLS), SYMBOLS)
    chances = pattern.chances(shares, LENGTH - 1, ends=ends)
    assert chances.shape == (LENGTH, pattern.states, SYMBOLS)
    for length in range(1, LENGTH + 1):
        for own in itertools.product(range(SYMBOLS), repeat=length):
            if ends and SYMBOLS - 1 in own[:-1]:
                continue
            state = 0
            for symbol in own:
                state = int(pattern.steps[state, symbol])
            assert (state == pattern.states - 1) is accepts(until_the_end(own, ends)), own
            more = LENGTH - length
            likely = sum(
                np.prod([shares[a, b] for a, b in itertools.pairwise((own[-1], *rest))])
                for rest in itertools.product(range(SYMBOLS), repeat=more)
                if accepts(until_the_end((*own, *rest), ends))
            )
            assert chances[more, state, own[-1]] == pytest.approx(likely)


def test_a_level_does_not_follow_in_the_same_period() -> None:
    with pytest.raises(ConfigError):
        then(0, 1, 0, SYMBOLS)
