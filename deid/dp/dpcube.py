"""DPCube: noisy cells choose a partition, then the boxes of the partition are counted (two phases).

Xiao, Xiong and others 2010 and 2012; as printed in Gardner's dissertation (2012), algorithms 2 to 4. Phase 1 draws
every cell; a k-d partition is made from the noisy cells alone, which is post-processing; phase 2 draws a count for each
box. Both phases ask about the same rows: their epsilons add up.

``paper`` keeps the printed gain (definition 6) and discards phase 1; it is corrected only where algorithm 3, taken
literally, loses cells: an unsplittable half stays as a box, and the partitioning recurs into itself. The improved form
cuts where squared error falls by more than noise explains, and fuses both phases by inverse variance.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deid.base.arrays import FloatArray, IntArray
from deid.base.errors import require
from deid.dp.boxes import Boxes
from deid.dp.epsilon import split_epsilon
from deid.dp.noise import Noise, laplace_variance

CELL_SHARE = {"paper": 0.5, "improved": 0.75}
"""Share of epsilon for the cells of phase 1, by mode."""
_PAPER_THRESHOLD = 1.0
_SSE_THRESHOLD = 8.0  # four times the noise of a cell
_UNIFORMITY_THRESHOLD = 0.1


def _entropy_sums(mass: FloatArray) -> FloatArray:
    """Return the entropies in bits of all beginnings of ``mass``."""
    total = np.cumsum(mass)
    logs = np.cumsum(mass * np.log2(np.where(mass > 0, mass, 1)))
    safe = np.where(total > 0, total, 1)
    return np.where(total > 0, np.log2(safe) - logs / safe, 0.0)


def _entropies(mass: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the entropies left and right of each cut, and of the whole."""
    left, right = _entropy_sums(mass), _entropy_sums(mass[::-1])[::-1]
    return left[:-1], right[1:], float(left[-1])


def _printed(mass: FloatArray, volume: float, variance: float) -> FloatArray:
    left, right, whole = _entropies(np.maximum(mass, 0))
    return left + right - whole


def _weighted(mass: FloatArray, volume: float, variance: float) -> FloatArray:
    mass = np.maximum(mass, 0)
    left, right, whole = _entropies(mass)
    share = np.cumsum(mass)[:-1] / max(float(mass.sum()), 1e-300)
    return whole - share * left - (1 - share) * right


def _uniformity(mass: FloatArray, volume: float, variance: float) -> FloatArray:
    mass = np.maximum(mass, 0)
    total = float(mass.sum())
    if total <= 0:
        return np.zeros(len(mass) - 1)
    share = np.cumsum(mass)[:-1] / total
    cells = np.arange(1, len(mass)) / len(mass)

    def term(w: FloatArray, v: FloatArray) -> FloatArray:
        return np.where(w > 0, w * np.log2(np.where(w > 0, w, 1) / v), 0.0)

    return term(share, cells) + term(1 - share, 1 - cells)


def _sse(mass: FloatArray, volume: float, variance: float) -> FloatArray:
    """Return by how much each cut lowers the squared error of the box's cells, less what noise alone explains."""
    cells = volume / len(mass) * np.arange(1, len(mass))
    left, total = np.cumsum(mass)[:-1], float(mass.sum())
    fall = left**2 / cells + (total - left) ** 2 / (volume - cells) - total**2 / volume
    return np.asarray(fall - variance)


GAINS: dict[str, Callable[[FloatArray, float, float], FloatArray]] = {
    "printed": _printed,
    "weighted": _weighted,
    "uniformity": _uniformity,
    "sse": _sse,
}
"""Gains of every cut of a box along one dimension (cut i leaves i + 1 slabs on the left), by name.

``printed`` is the dissertation's definition 6 (H1 + H2 - H), ``weighted`` information gain, ``uniformity`` the
divergence of the halves' mass from their cells, ``sse`` the fall of the squared error. Each takes the sums of the
box's noisy cells along the dimension, its number of cells and, for ``sse``, the noise variance of a cell; all but
``sse`` clip negative sums."""


def partition(
    cells: FloatArray, gain: str, threshold: float, *, variance: float, min_mass: float
) -> tuple[IntArray, IntArray]:
    """Cut a cube of noisy cells into boxes; looks at nothing but the noisy cells.

    Parameters
    ----------
    cells : float array
        Phase 1.
    gain : str
        A key of `GAINS`.
    threshold : float
        A cut is made when the best gain over all dimensions and places exceeds it.
    variance : float
        Noise variance of a cell.
    min_mass : float
        Multiple of the noise's standard deviation that a box's mass must reach to be cut; 0 for no such rule.

    Returns
    -------
    (int64 array, int64 array), shape (boxes, dimensions)
        First cells, and the cells after the last ones.
    """
    gains = GAINS[gain]
    # the entropy gains need masses, so they see clipped cells (raw ones would cancel in sums)
    seen = cells if gain == "sse" else np.maximum(cells, 0.0)
    lows, highs = [], []
    stack = [(np.zeros(cells.ndim, np.int64), np.array(cells.shape, np.int64))]
    while stack:
        low, high = stack.pop()
        box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        volume = float(np.prod(high - low))
        best, place = threshold, None
        wide = np.nonzero(high - low > 1)[0]
        heavy = not min_mass or cells[box].sum() >= min_mass * np.sqrt(variance * volume)
        if heavy and wide.size:
            for axis, sums in _slabs(seen[box], wide):
                values = gains(sums, volume, variance)
                cut = int(np.argmax(values))
                if values[cut] > best:
                    best, place = float(values[cut]), (axis, int(low[axis]) + cut + 1)
        if place is None:
            lows.append(low)
            highs.append(high)
            continue
        axis, at = place
        left_high, right_low = high.copy(), low.copy()
        left_high[axis] = right_low[axis] = at
        stack += [(low, left_high), (right_low, high)]
    return np.array(lows), np.array(highs)


def _slabs(box: FloatArray, wide: IntArray) -> list[tuple[int, FloatArray]]:
    """Return the sums along each wide dimension; the largest is summed out first, and its remainder used for others."""
    if len(wide) == 1:
        return [(int(wide[0]), box.sum(axis=tuple(a for a in range(box.ndim) if a != wide[0])))]
    largest = int(wide[np.argmax([box.shape[axis] for axis in wide])])
    flat = box.sum(axis=largest, keepdims=True)
    rest = np.array([axis for axis in wide if axis != largest])
    along = box.sum(axis=tuple(a for a in range(box.ndim) if a != largest))
    return [(largest, along), *_slabs(flat, rest)]


def dpcube(
    counts: IntArray,
    epsilon: float,
    noise: Noise,
    *,
    mode: str = "improved",
    distance: int = 1,
    cell_share: float | None = None,
    gain: str | None = None,
    threshold: float | None = None,
) -> Boxes:
    """Partition a cube by its noisy cells and count the boxes.

    Parameters
    ----------
    counts : int64 array
        The cube.
    epsilon : float
        For both phases together.
    noise : Noise
        Source of noise.
    mode : str
        ``paper`` or ``improved``.
    distance : int
        Rows between neighbours (`PrivacyUnit.distance`).
    cell_share : float, optional
        Share of epsilon for phase 1; by default that of `CELL_SHARE`.
    gain : str, optional
        A key of `GAINS`; by default ``printed`` in paper mode, ``sse`` in the improved one.
    threshold : float, optional
        For ``sse`` in units of 1 / epsilon1**2 (8), else in bits (1 for ``printed`` and ``weighted``, .1 for
        ``uniformity``).

    Returns
    -------
    Boxes
        Disjoint boxes that cover the cube, with noisy counts that may be negative.

    Raises
    ------
    ConfigError
        When there is no such mode or gain, or epsilon is too small to be divided.
    """
    require(mode in CELL_SHARE, "unknown mode of DPCube", f"use one of {', '.join(CELL_SHARE)}")
    gain = gain or ("printed" if mode == "paper" else "sse")
    require(gain in GAINS, "unknown gain", f"use one of {', '.join(GAINS)}")
    share = CELL_SHARE[mode] if cell_share is None else cell_share
    first, second = split_epsilon(epsilon, (share, 1 - share))
    cells = noise.discrete_laplace(counts, distance, first).astype(float)
    cell_variance, box_variance = laplace_variance(distance, first), laplace_variance(distance, second)
    if gain == "sse":
        limit = (_SSE_THRESHOLD if threshold is None else threshold) * (distance / first) ** 2
    else:
        default = _UNIFORMITY_THRESHOLD if gain == "uniformity" else _PAPER_THRESHOLD
        limit = default if threshold is None else threshold
    min_mass = 2.0 if gain == "uniformity" else 0.0
    lows, highs = partition(cells, gain, limit, variance=cell_variance, min_mass=min_mass)

    def sums(cube: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        boxes = (tuple(map(slice, low, high)) for low, high in zip(lows, highs, strict=True))
        return np.array([cube[box].sum() for box in boxes])

    drawn = noise.discrete_laplace(sums(counts).astype(np.int64), distance, second).astype(float)
    variances = np.full(len(lows), box_variance)
    if mode == "improved":
        own = cell_variance * np.prod((highs - lows).astype(float), axis=1)
        weight = own / (own + box_variance)
        drawn = weight * drawn + (1 - weight) * sums(cells).astype(float)
        variances = own * box_variance / (own + box_variance)
    return Boxes(counts.shape, lows, highs, drawn, variances)
