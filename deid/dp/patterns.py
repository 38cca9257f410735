"""Patterns over sequences: a level ever, one level then another, the second within so many periods of the first.

A pattern is a small automaton that reads a sequence symbol by symbol and stays where it has accepted. How many
sequences a release's model holds that it accepts follows by carrying its states along the tree or the chain, so that no
sequence is listed: 40 periods of 30 levels are no more work than their nodes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.base.errors import require


@dataclass(frozen=True, eq=False)
class PatternAutomaton:
    """An automaton; its last state accepts.

    Parameters
    ----------
    steps : int64 array, shape (states, symbols)
        The next state by state and symbol; reading begins in state 0. The end of a sequence is a level like others that
        no pattern names: it leads from no other state to the last.
    """

    steps: IntArray

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.steps)

    def chances(self, transitions: FloatArray, length: int, *, ends: bool) -> FloatArray:
        """Return how likely it accepts, by how much is still to come.

        Parameters
        ----------
        transitions : float array, shape (symbols, symbols)
            Shares of the next symbol by the last one.
        length : int
            The most symbols to come.
        ends : bool
            Whether the last symbol is the end, behind which nothing comes.

        Returns
        -------
        float64 array, shape (length + 1, states, symbols)
            By the number of symbols to come, the state, and the last symbol.
        """
        symbols = len(transitions)
        result = np.zeros((length + 1, self.states, symbols))
        result[:, -1] = 1.0
        for more in range(1, length + 1):
            # of each next symbol, the chance from the state that it leads to
            onward = result[more - 1][self.steps, np.arange(symbols)]
            result[more] = onward @ transitions.T
            if ends:
                result[more, :, -1] = result[0, :, -1]
        return result


def ever(levels: Collection[int], symbols: int) -> PatternAutomaton:
    """Return the pattern of sequences that have one of some levels.

    Parameters
    ----------
    levels : collection of int
        The levels, by number.
    symbols : int
        How many symbols there are, the end among them.
    """
    steps = np.zeros((2, symbols), np.int64)
    steps[0, list(levels)] = 1
    steps[1] = 1
    return PatternAutomaton(steps)


def then(first: int, second: int, within: int, symbols: int) -> PatternAutomaton:
    """Return the pattern of sequences that have one level, and another at most ``within`` periods after it.

    Parameters
    ----------
    first, second : int
        The levels, by number; they may be the same.
    within : int
        Periods between them at most: 1 for the next one.
    symbols : int
        As that of `ever`.

    Raises
    ------
    ConfigError
        When ``within`` is below 1.
    """
    require(within >= 1, "a level follows another within one period or more", "for example: --within 2")
    # state n: the first level was n periods ago, seen from the next one; a later one counts anew
    steps = np.zeros((within + 2, symbols), np.int64)
    for state in range(within + 1):
        steps[state] = state + 1 if 0 < state < within else 0
        steps[state, first] = 1
        if state:
            steps[state, second] = within + 1
    steps[-1] = within + 1
    return PatternAutomaton(steps)
