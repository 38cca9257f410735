"""Slices that are chosen step by step: what the rows so far get most wrong is measured next.

First all single columns are measured. Then, in steps, a pair of columns is chosen by the exponential mechanism,
measured, and a model is fitted to all that is known: a mixture (`deid.dp.mixture`), or of many columns, few
of whose pairs are measured, a junction tree (`deid.dp.graphical`), which pairs that would make it wide are kept from.
The model says how far the next pairs are off. Steps begin small; each time that a pair moved the model by less than
half of its noise, the next have twice the epsilon, and fewer are left. This is the scheme of AIM (McKenna, Mullins,
Sheldon and Miklau, "AIM: an adaptive and iterative mechanism for differentially private synthetic data", 2022) in pure
epsilon, with other models.

Privacy. The score of a pair is how far its true table lies from the model's in L1, less three fifths of the error
that measuring it would cause: the fitted model follows noise in part. The model is public by then (post-processing of
what was drawn), so a row, which changes one cell of the true table by one, changes a score by at most 1, and d rows by
at most d: the exponential mechanism with sensitivity d (McSherry and Talwar 2007, theorem 6). Each measured table has
L1 sensitivity d, and discrete Laplace noise. How many steps there are, and how large each is, follows from noisy counts
and the model. Each is split off what is left of the cost, so that they never come to more, whatever the course: pure
epsilons that are chosen on the way add up (Rogers, Roth, Ullman and Vadhan, "Privacy odometers and filters", 2016), and
so do rhos (`deid.dp.costs`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.dp.costs import Cost, Rho, choosing, draw, split, split_evenly, variance_of
from deid.dp.forest import Measured, as_marginals, single_share
from deid.dp.graphical import GraphicalModel, few, fit_graphical, staying_narrow
from deid.dp.marginals import Axes, least_squares
from deid.dp.mixture import Mixture, fit_mixture
from deid.dp.noise import Noise

_CHOICE = 0.15  # share of a round for the choice
_FOLLOWED = 0.6  # of the noise of a table, by the rows; both measured on Adult, see docs/synthetic-data.md
_PACE = 0.16  # rounds: this times the square root of epsilon times rows
_LEAST_ROUNDS = 4
_LITTLE = 0.5  # of the noise of a table: less moves the model little; of .25, .5 and 1, see docs/synthetic-data.md
_FITTING = 80  # steps of each fit


def adaptive_pairs(shape: Sequence[int], largest: int) -> list[Axes]:
    """Return the pairs of columns among which is chosen: those with at most ``largest`` cells."""
    pairs = itertools.combinations(range(len(shape)), 2)
    return [pair for pair in pairs if shape[pair[0]] * shape[pair[1]] <= largest]


def _rounds(total: float, distance: int, cost: Cost) -> float:
    """Return how many pairs to measure: as many as raise a cell's noise to a multiple of the root of rows times the
    noise of a single table. With n tables Laplace noise grows by n, Gaussian noise by the root of n.
    """
    if not isinstance(cost, Rho):
        return _PACE * math.sqrt(total * cost / distance)
    return _PACE**2 * math.sqrt(2) * total / math.sqrt(variance_of(distance, cost))


def measure_adaptive(
    counts: Callable[[Axes], IntArray],
    shape: Sequence[int],
    pairs: Sequence[Axes],
    cost: Cost,
    noise: Noise,
    *,
    distance: int = 1,
) -> list[Measured]:
    """Measure single columns, then chosen pairs, each once.

    Parameters
    ----------
    counts : callable
        Returns the true marginal over some axes.
    shape : sequence of int
        Cells of each dimension.
    pairs : sequence of axes
        What may be chosen (`adaptive_pairs`).
    cost : Cost
        Of all steps together.
    noise, distance : Noise, int
        Source of noise, and rows between neighbours.

    Returns
    -------
    list of (axes, float array, Cost)
        Noisy tables, with the cost of each.

    Raises
    ------
    ConfigError
        When a share of epsilon is too small; nothing was drawn.
    """
    single = single_share(len(shape))
    first, later = split(cost, (single, 1 - single)) if pairs else (cost, cost)
    if pairs:  # however many rounds there will be
        choosing(split(split_evenly(later, len(pairs))[0], (_CHOICE, 1 - _CHOICE))[0])
    measured: list[Measured] = []
    # the error of a table grows with its cells and falls with its share: square roots make the sum of errors least
    for axis, share in enumerate(split(first, [math.sqrt(size) for size in shape])):
        measured.append(((axis,), draw(noise, counts((axis,)), distance, share).astype(float), share))
    total = max(float(least_squares(as_marginals(measured, distance), shape).parts[()]), 1.0)
    rounds = min(max(round(_rounds(total, distance, cost)), _LEAST_ROUNDS), len(pairs))
    true = {pair: counts(pair) for pair in pairs}
    left = list(pairs)
    tree = few(rounds, len(shape))
    fitted: tuple[FloatArray, ...] = ()
    size = 1
    last: tuple[Axes, FloatArray, float] | None = None  # a pair, its table before it was measured, and little of it
    while rounds:
        known = as_marginals(measured, distance)
        model: GraphicalModel | Mixture
        among = staying_narrow([axes for axes, _, _ in measured], shape, left) if tree else left
        tree, among = tree and bool(among), among or left
        if tree:
            model = fit_graphical(known, shape, total=total, rounds=_FITTING, start=fitted)
            fitted = model.parameters
        else:
            model = fit_mixture(known, shape, total=total, rounds=_FITTING, starts=1)
        if last and float(np.abs(total * model.table(last[0]) - last[1]).sum()) <= last[2]:
            size *= 2
        taken = size if rounds >= 2 * size else rounds  # the last step takes what would not suffice for another
        this, later = split(later, (taken, rounds - taken)) if taken < rounds else (later, later)
        rounds -= taken
        choice, measuring = split(this, (_CHOICE, 1 - _CHOICE))
        error = math.sqrt(variance_of(distance, measuring) / 2)
        scores = [
            float(np.abs(true[pair] - total * model.table(pair)).sum()) - _FOLLOWED * error * true[pair].size
            for pair in among
        ]
        pair = among[noise.choose(scores, distance, choosing(choice))]
        last = pair, total * model.table(pair), _LITTLE * error * true[pair].size
        left.remove(pair)
        measured.append((pair, draw(noise, true[pair], distance, measuring).astype(float), measuring))
    return measured
