"""Perturbation: values that are changed rather than generalized.

Rounding, additive noise and swapping change cells (Willenborg and de Waal 2001), microaggregation publishes the means
of small groups (Domingo-Ferrer and Mateo-Sanz, IEEE TKDE 14(1), 2002), small-domain randomization perturbs sensitive
values within small sets of them (Chaytor and Wang, PVLDB 3(1), 2010). None of these is a generalization: what is
published need not be true of a row, and no verifier of `deid.disclosure.privacy` speaks for it, except that
microaggregation of all quasi-identifiers together makes classes of at least k rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.errors import ConfigError, InputError, require
from deid.disclosure.randomization import uniform_operator
from deid.table.microdata import NA_CODE, Microdata, check_columns


def round_values(values: np.ndarray, base: float, *, random: bool = False, seed: int = 0) -> np.ndarray:
    """Round numbers to multiples of a base.

    Parameters
    ----------
    values : float array
        NaN stays NaN.
    base : float
        Above 0.
    random : bool
        Round up or down by chance, so that the expected value stays; otherwise to the nearest multiple, halves to the
        even one.
    seed : int
        Seed of the generator.

    Returns
    -------
    float array
        Multiples of the base, of the shape of ``values``.

    Raises
    ------
    ConfigError
        When the base is not above 0.
    """
    require(base > 0, f"the base {base:g} is not above 0", "for example 5")
    scaled = np.asarray(values, dtype=float) / base
    if not random:
        return np.asarray(np.round(scaled) * base)
    below = np.floor(scaled)
    up = np.random.default_rng(seed).random(scaled.shape) < scaled - below
    return np.asarray((below + up) * base)


def add_noise(values: np.ndarray, relative: float, *, seed: int = 0) -> np.ndarray:
    """Add independent normal noise to numbers.

    Parameters
    ----------
    values : float array, shape (rows,) or (rows, columns)
        NaN stays NaN.
    relative : float
        Standard deviation of the noise as a share of each column's own.
    seed : int
        Seed of the generator.

    Returns
    -------
    float array
        The noisy numbers, of the shape of ``values``.

    Raises
    ------
    ConfigError
        When ``relative`` is not above 0.
    """
    require(relative > 0, f"noise of {relative:g} standard deviations", "give a number above 0, such as 0.1")
    table = np.asarray(values, dtype=float)
    deviation = np.nanstd(table, axis=0)
    return np.asarray(table + np.random.default_rng(seed).normal(size=table.shape) * deviation * relative)


def swap_values(values: np.ndarray, share: float, *, window: float | None = None, seed: int = 0) -> np.ndarray:
    """Swap the values of a column between rows; the column's distribution stays exactly as it was.

    Parameters
    ----------
    values : int or float array, shape (rows,)
        Codes or numbers. NaN is not swapped.
    share : float
        Share of the rows that take part (rounded down to pairs).
    window : float, optional
        Rank swapping (Moore 1996): partners' ranks differ by at most this share of the rows. Any two rows by default.
    seed : int
        Seed of the generator.

    Returns
    -------
    int or float array, shape (rows,)
        The same values in another order.

    Raises
    ------
    ConfigError
        When the share or the window is not above 0 and at most 1.
    """
    require(0 < share <= 1, f"a share of {share:g} of the rows", "give a number above 0, at most 1")
    if window is not None and not 0 < window <= 1:
        raise ConfigError(f"a window of {window:g} of the ranks", "give a number above 0, at most 1")
    rng = np.random.default_rng(seed)
    result = np.array(values)
    there = np.flatnonzero(~np.isnan(result)) if result.dtype.kind == "f" else np.arange(len(result))
    chosen = rng.permutation(there)[: int(len(there) * share) // 2 * 2]
    if window is None:
        left, right = chosen[::2], chosen[1::2]
    else:
        ranked = chosen[np.argsort(result[chosen], kind="stable")]
        left, right = _rank_pairs(ranked, max(int(len(there) * window * len(chosen) / max(len(there), 1)), 1), rng)
    result[left], result[right] = result[right], result[left].copy()
    return result


def _rank_pairs(ranked: np.ndarray, reach: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Pair each row, in the order of ranks, with a free one at most ``reach`` further."""
    free = np.ones(len(ranked), dtype=bool)
    left, right = [], []
    for place in range(len(ranked)):
        if not free[place]:
            continue
        partners = place + 1 + np.flatnonzero(free[place + 1 : place + 1 + reach])
        if len(partners):
            partner = int(rng.choice(partners))
            free[[place, partner]] = False
            left.append(ranked[place])
            right.append(ranked[partner])
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)


def microaggregation_groups(points: np.ndarray, k: int) -> np.ndarray:
    """Group rows by MDAV (maximum distance to average vector), fixed size k.

    Parameters
    ----------
    points : float array, shape (rows, columns)
        Standardized within: columns are scaled to unit variance first.
    k : int
        Least number of rows of a group; groups have k to 2k - 1.

    Returns
    -------
    int64 array, shape (rows,)
        Group of each row.

    Raises
    ------
    ConfigError
        When k is below 1.
    InputError
        When there are fewer than k rows, or a number is missing (NaN).

    Notes
    -----
    Quadratic in the rows. Ties go to the first row.
    """
    require(k >= 1, f"k is {k}", "give at least 1")
    require(len(points) >= k, f"{len(points)} rows are fewer than k = {k}", "ask for a smaller k", kind=InputError)
    table = np.asarray(points, dtype=float)
    if np.isnan(table).any():
        raise InputError("a missing value", "fill it in, or leave the row out of microaggregation")
    deviation = table.std(axis=0)
    table = table / np.where(deviation > 0, deviation, 1.0)
    groups = np.full(len(table), -1, dtype=np.int64)
    left = np.arange(len(table))
    number = 0

    def take(center: np.ndarray) -> None:
        nonlocal left, number
        distance = ((table[left] - center) ** 2).sum(axis=1)
        nearest = np.argsort(distance, kind="stable")[:k]
        groups[left[nearest]] = number
        number += 1
        left = np.delete(left, nearest)

    def farthest(center: np.ndarray) -> np.ndarray:
        return np.asarray(table[left[np.argmax(((table[left] - center) ** 2).sum(axis=1))]])

    while len(left) >= 3 * k:
        first = farthest(table[left].mean(axis=0))
        take(first)
        take(farthest(first))
    if len(left) >= 2 * k:
        take(farthest(table[left].mean(axis=0)))
    groups[left] = number
    return groups


def microaggregate(points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Replace rows of numbers by the means of their groups.

    Returns
    -------
    means : float array, shape (rows, columns)
        Every row occurs at least k times; column means stay as they were.
    groups : int64 array, shape (rows,)
        `microaggregation_groups`.
    """
    groups = microaggregation_groups(points, k)
    sizes = np.bincount(groups)
    sums = np.stack([np.bincount(groups, weights=column) for column in np.asarray(points, dtype=float).T], axis=1)
    return (sums / sizes[:, None])[groups], groups


@dataclass(frozen=True, eq=False, repr=False)
class SmallDomains:
    """What small-domain randomization published.

    Parameters
    ----------
    values : tuple of str
        Domain of the sensitive column.
    codes : int64 array, shape (rows,)
        Published value of each row, -1 where it is missing.
    blocks : int64 array, shape (values,)
        Block of each value: rows of one block form a subtable, in which values were perturbed among each other.
    gamma : float
        Amplification of the operator.
    """

    values: tuple[str, ...]
    codes: np.ndarray
    blocks: np.ndarray
    gamma: float

    def operator(self, block: int) -> np.ndarray:
        """Return the operator of a block (`uniform_operator`): shape (values, values), in the order of the domain."""
        return uniform_operator(int((self.blocks == block).sum()), self.gamma)

    def estimate(self) -> np.ndarray:
        """Return the reconstructed counts of the original values, shape (values,).

        In a block of m values and n rows, with a = gamma/(m-1+gamma) and b = 1/(m-1+gamma), the estimate is
        (observed - n b) / (a - b); unbiased, may be negative. For gamma = 1 nothing can be reconstructed: NaN.
        """
        observed = np.bincount(self.codes[self.codes != NA_CODE], minlength=len(self.values)).astype(float)
        rows = np.bincount(self.blocks, weights=observed)[self.blocks]
        sizes = np.bincount(self.blocks)[self.blocks]
        kept, other = self.gamma / (sizes - 1 + self.gamma), 1.0 / (sizes - 1 + self.gamma)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(
                sizes == 1, observed, (observed - rows * other) / np.where(kept > other, kept - other, np.nan)
            )


def randomize_small_domains(
    table: Microdata, sensitive: str, gamma: float, least: int, order: Sequence[str] | None = None, *, seed: int = 0
) -> SmallDomains:
    """Perturb a sensitive column within small blocks of its values (Chaytor and Wang 2010).

    Over a domain of 15,000 codes hardly one stays intact under uniform perturbation; over a block of ten with gamma 5
    more than a third do, with the same amplification, hence the same bound on breaches within a block.

    Parameters
    ----------
    table : Microdata
        The table.
    sensitive : str
        Column to perturb.
    gamma : float
        At least 1; 1 is full randomization.
    least : int
        Least number of values of a block. Values are blocked in the order given; the last block takes the rest.
    order : sequence of str, optional
        Order of the values, such as that of a hierarchy's leaves; by frequency by default.
    seed : int
        Seed of the generator.

    Returns
    -------
    SmallDomains
        The perturbed codes, with the blocks; missing values stay missing.

    Raises
    ------
    ConfigError
        When the table lacks the column, a block is larger than the domain, or the order is not one of its values.
    """
    check_columns(table.frame, [sensitive])
    column = table.codes(sensitive)
    m = len(column.values)
    require(gamma >= 1, "uniform perturbation needs a gamma of at least 1", "for example gamma = 5")
    require(1 <= least <= m, f"blocks of at least {least} of {m} values", "give a number from 1 to that of the values")
    recorded = np.flatnonzero(column.codes != NA_CODE)
    if order is None:
        frequencies = np.bincount(column.codes[recorded], minlength=m)
        ranked = np.argsort(-frequencies, kind="stable")
    elif sorted(order) == sorted(column.values):
        places = {value: place for place, value in enumerate(column.values)}
        ranked = np.array([places[value] for value in order])
    else:
        raise ConfigError("the order does not hold the column's values, each once", "give all of them, or none")
    blocks = np.empty(m, dtype=np.int64)
    blocks[ranked] = np.minimum(np.arange(m) // least, m // least - 1)
    rng = np.random.default_rng(seed)
    codes = column.codes.astype(np.int64)
    for block in range(int(blocks.max()) + 1):
        members = np.flatnonzero(blocks == block)
        rows = recorded[np.isin(codes[recorded], members)]
        keep = (gamma - 1) / (len(members) - 1 + gamma)  # else the value is drawn from the whole block
        redraw = rng.random(len(rows)) >= keep
        codes[rows[redraw]] = rng.choice(members, int(redraw.sum()))
    return SmallDomains(column.values, codes, blocks, gamma)
