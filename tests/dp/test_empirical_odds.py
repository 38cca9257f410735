"""Odds of what mechanisms say of neighbours, by counting: 1,000 answers a side by day, 8,000 in the longer tests.

Events are what an attacker would look at: the answer in steps along the direction in which a row moves it. A right
mechanism fails with probability .001 at most (Clopper-Pearson bounds, Bonferroni over events and directions); the seeds
are fixed. Mechanisms that spend a multiple of the epsilon that they say are found out: the positive controls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from odds import upper_log_ratio

from deid.dp.aggregates import noisy_quantiles, noisy_top, noisy_variance
from deid.dp.domain import declare
from deid.dp.noise import SeededNoise
from deid.dp.session import QuerySession
from deid.dp.zcdp import epsilon_of, rho_of

VALUES = np.array([0.0, 3.0, 3.0, 6.0])
COLUMNS = [declare("a", {"range": [0, 9]}), declare("b", {"values": ["x", "y"]})]
Floats = npt.NDArray[np.float64]


def quartiles(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    found = noisy_quantiles(values, [0.25, 0.5, 0.75], 0, 3, epsilon, noise, 1, 0.95, whole=True)
    return tuple(int(own.value) for own in found)


def extreme(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    return noisy_quantiles(values, [1.0], 0, 6, epsilon, noise, 1, 0.95, whole=True, interval=True)[0].value


def variance(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    return round(noisy_variance(values, 0, 6, epsilon, noise, 1, 0.95).value)


def top(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    counts = np.array([int((values == 3).sum()), int((values == 6).sum()) + 1])
    ((cell, count),) = noisy_top(counts, 1, epsilon, noise, 1, 0.95)
    return cell, int(np.clip(count.value, 0, 4))


def choice(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    """Two scores that a row moves in opposite directions: the worst case of a choice."""
    ones = float((values == 6).sum())
    return noise.choose([2 * ones - 3, 3 - 2 * ones], 2.0, epsilon)


def several(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    frame = pd.DataFrame({"a": values.astype(int).astype(str), "b": "x"}, dtype="string")
    session = QuerySession(frame, COLUMNS, None, noise=noise, report_share=0)
    rows = session.query("SELECT COUNT(*), COUNT(DISTINCT a)", epsilon).rows
    return tuple(int(np.clip(row["value"] - 3, -2, 3)) for row in rows)


def gaussian(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    """An event of probability .001 or less may lose more; with 8,000 answers none such can be told."""
    counts = np.array([int((values == 6).sum()), 3])
    return tuple(np.clip(np.rint(noise.discrete_gaussian(counts, 1, rho_of(epsilon, 1e-3)) / 2), -2, 3).astype(int))


MECHANISMS: dict[str, Callable[[Floats, float, SeededNoise], Any]] = {
    own.__name__: own for own in (quartiles, extreme, variance, top, choice, several, gaussian)
}


def bound(name: str, epsilon: float, size: int) -> float:
    seen = []
    for which, values in enumerate((VALUES, np.append(VALUES, 6.0))):
        noise = SeededNoise(40 + which)
        seen.append(Counter(MECHANISMS[name](values, epsilon, noise) for _ in range(size)))
    return upper_log_ratio(*seen, size)


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "several"])
def test_odds_of_neighbours_stay_within_epsilon(name: str) -> None:
    assert bound(name, 1.0, 1000) <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_odds_of_neighbours_stay_within_epsilon_in_the_long_run(name: str) -> None:
    assert bound(name, 1.0, 2000 if name == "several" else 8000) <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "times"), [("choice", 2), ("top", 3), ("several", 4), ("gaussian", 5), ("extreme", 8)]
)
def test_a_mechanism_that_spends_more_than_it_says_is_found_out(name: str, times: int) -> None:
    assert bound(name, float(times), 2000 if name == "several" else 8000) > 1.0


def test_the_gaussian_control_is_one() -> None:
    assert epsilon_of(rho_of(5.0, 1e-3), 1e-3) == pytest.approx(5.0)
