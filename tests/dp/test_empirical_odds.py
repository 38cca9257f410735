"""Odds of what mechanisms say of neighbours, by counting: 1,000 answers a side by day, 8,000 in the longer tests.

Events are what an attacker would look at: the answer in steps along the direction in which a row moves it. A right
mechanism fails with probability .001 at most (Clopper-Pearson bounds, Bonferroni over events and directions); the seeds
are fixed. Mechanisms that spend a multiple of the epsilon that they say are found out: the positive controls.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from odds import upper_log_ratio
from scipy.stats import beta

from deid.dp.aggregates import Drawing, noisy_count, noisy_counts, noisy_distinct, noisy_quantiles, noisy_sum, noisy_top
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import declare
from deid.dp.join import joining
from deid.dp.keys import find_keys, plan_keys
from deid.dp.moments import noisy_moments
from deid.dp.noise import SeededNoise
from deid.dp.sequences import measure_sequences, plan_sequences
from deid.dp.session import QuerySession
from deid.dp.synthetic import check_fidelity
from deid.dp.unit import PrivacyUnit
from deid.dp.zcdp import epsilon_of, rho_of

VALUES = np.array([0.0, 3.0, 3.0, 6.0])
COLUMNS = [declare("a", {"range": [0, 9]}), declare("b", {"values": ["x", "y"]})]
Floats = npt.NDArray[np.float64]


def quartiles(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    found = noisy_quantiles(values, [0.25, 0.5, 0.75], 0, 3, Drawing(epsilon, noise, 1, 0.95), whole=True)
    return tuple(int(own.value) for own in found)


def extreme(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    return noisy_quantiles(values, [1.0], 0, 6, Drawing(epsilon, noise, 1, 0.95), whole=True, interval=True)[0].value


def variance(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    return round(noisy_moments(values, ["VARIANCE"], 0, 6, Drawing(epsilon, noise, 1, 0.95))[0].value)


def top(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    counts = np.array([int((values == 3).sum()), int((values == 6).sum()) + 1])
    ((cell, count),) = noisy_top(counts, 1, Drawing(epsilon, noise, 1, 0.95))
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


def number(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    return int(np.clip(noisy_count(len(values), Drawing(epsilon, noise, 1, 0.95)).value, 1, 8))


def cells(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    counts = np.bincount(values.astype(int) // 3, minlength=3)
    return tuple(int(np.clip(own.value, 0, 3)) for own in noisy_counts(counts, Drawing(epsilon, noise, 1, 0.95)))


def different(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    counts = np.array([1, int((values == 6).sum()) - 1])
    return int(np.clip(noisy_distinct(counts, Drawing(epsilon, noise, 1, 0.95, sampling=1)).value, -2, 5))


def total(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    return int(np.clip(noisy_sum(values, 0, 6, Drawing(epsilon, noise, 1, 0.95), whole=True).value // 6, -2, 6))


def sampled_total(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    """By both numbers that are drawn: the sum, and in the width of the interval that of the squares."""
    found = noisy_sum(values, 0, 6, Drawing(epsilon, noise, 1, 0.95, sampling=1), whole=True)
    wide = found.upper - found.value > 40
    return int(np.clip(found.value // 6, -1, 5)), wide


def average(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    return round(noisy_moments(values, ["MEAN"], 0, 6, Drawing(epsilon, noise, 1, 0.95))[0].value)


def sampled_spread(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    found = noisy_moments(values, ["VARIANCE"], 0, 6, Drawing(epsilon, noise, 1, 0.95, sampling=1))[0]
    return round(found.value / 3), found.upper < 9


def middle(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    return noisy_quantiles(values, [0.5], 0, 6, Drawing(epsilon, noise, 1, 0.95), whole=True)[0].value


def distance(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    """How far made-up rows are from the true ones, by two slices."""
    frame = pd.DataFrame({"a": values.astype(int).astype(str), "b": "x"}, dtype="string")
    made = frame.iloc[:2]
    found = check_fidelity(frame, made, COLUMNS, [["a"], ["b"]], epsilon, ledger=None, unit=PrivacyUnit(), noise=noise)
    return tuple(int(np.clip(own.distance, 0, 5)) for own in found)


def of_sequences(method: str) -> Callable[[Floats, float, SeededNoise], Any]:
    level = declare("level", {"range": [0, 1]})

    def release(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
        plan = plan_sequences(level, ["p", "q"], epsilon, PrivacyUnit(), method=method, threshold=0.0, report_share=0.0)
        bits = (values > 3).astype(np.int64)
        model: Any = measure_sequences(np.stack([bits, bits], axis=1), plan, noise)
        if method == "markov":
            return int(np.clip(model.chain.noisy[0][1, 1], -1, 4))
        # what a row moves: the node 1 of the first depth and, where it was grown, 11 of the second
        levels = model.tree.levels
        grown = len(levels[2].noisy)
        return grown, int(np.clip(levels[1].noisy[-1], -1, 4)), int(np.clip(levels[2].noisy[-1], -1, 4)) if grown else 0

    release.__name__ = method
    return release


def asked(frame: pd.DataFrame, text: str, epsilon: float, noise: SeededNoise, **how: Any) -> list[float]:
    session = QuerySession(frame, COLUMNS, None, noise=noise, report_share=0, **how)
    return [row["value"] for row in session.query(text, epsilon).rows]


def grouped(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    """Groups have no row in common: each is told with all of epsilon."""
    columns = {"a": values.astype(int).astype(str), "b": np.where(values > 3, "y", "x")}
    found = asked(pd.DataFrame(columns, dtype="string"), "SELECT COUNT(*) GROUP BY b", epsilon, noise)
    return tuple(int(np.clip(own - 1, -1, 4)) for own in found)


PATIENT = PrivacyUnit("patient", "add-remove", 2)


def visits(values: Floats) -> pd.DataFrame:
    """Two rows a person: a row more of the others is a person more here."""
    who = [f"p{number}" for number in range(len(values)) for _ in "xy"]
    columns = {"who": who, "a": np.repeat(values.astype(int).astype(str), 2), "b": ["x", "y"] * len(values)}
    return pd.DataFrame(columns, dtype="string")


def persons(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    (found,) = asked(visits(values), "SELECT COUNT(*)", epsilon, noise, unit=PATIENT, person="who")
    return int(np.clip(found // 2, 0, 8))


def heads(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    """A person is in both groups, which thus share epsilon."""
    text = "SELECT COUNT(PERSONS) GROUP BY b"
    found = asked(visits(values), text, epsilon, noise, unit=PATIENT, person="who")
    return tuple(int(np.clip(own, 3, 6)) for own in found)


def joined(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    """One row of the second table stands behind both rows of a person."""
    frame = visits(values)
    both = joining(frame[["who", "a"]].drop_duplicates(), "who")(frame[["who", "b"]])
    (found,) = asked(both, "SELECT COUNT(*) WHERE a = 6", epsilon, noise, unit=PATIENT, person="who")
    return int(np.clip(found // 2, -3, 5))


def cube_of_a_frame(values: Floats, epsilon: float, noise: SeededNoise) -> Any:
    """Cells, and how many rows are in none: a person more moves the latter."""
    plan = plan_cube(COLUMNS[1:], epsilon, PATIENT, method="cells", person="who", report_share=0.5)
    frame = visits(values)
    release = release_cube(frame.assign(b=frame["b"].where(frame["a"] != "6")), plan, ledger=None, noise=noise)
    return int(np.clip(release.metadata["left_out"]["rows_outside_domains"] // 2, -2, 5))


MECHANISMS: dict[str, Callable[[Floats, float, SeededNoise], Any]] = {
    own.__name__: own
    for own in (
        quartiles,
        extreme,
        variance,
        top,
        choice,
        several,
        gaussian,
        number,
        cells,
        different,
        total,
        sampled_total,
        average,
        sampled_spread,
        middle,
        distance,
        grouped,
        persons,
        heads,
        joined,
        cube_of_a_frame,
        *map(of_sequences, ("tree", "tree-paper", "markov")),
    )
}
FRAMES = ("several", "grouped", "persons", "heads", "joined", "cube_of_a_frame")
"""What goes by data frames, which take time: 2,000 answers a side in the longer tests."""


def bound(name: str, epsilon: float, size: int) -> float:
    seen = []
    for which, values in enumerate((VALUES, np.append(VALUES, 6.0))):
        noise = SeededNoise(40 + which)
        seen.append(Counter(MECHANISMS[name](values, epsilon, noise) for _ in range(size)))
    return upper_log_ratio(*seen, size)


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name not in {*FRAMES, "distance"}])
def test_odds_of_neighbours_stay_within_epsilon(name: str) -> None:
    assert bound(name, 1.0, 1000) <= 1.0


LONGEST = ("joined", "distance", "cube_of_a_frame", "persons", "tree", "tree-paper")
"""Mechanisms of which a thousand answers take seconds: by night as many as of the others."""


def of_some(name: str) -> Any:
    """Return a parameter that waits for the night where the mechanism is among the longest."""
    return pytest.mark.night if name in LONGEST else pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "size"),
    [
        *(pytest.param(name, 400, marks=pytest.mark.slow) for name in LONGEST),
        *(pytest.param(name, 2000 if name in FRAMES else 8000, marks=of_some(name)) for name in MECHANISMS),
    ],
)
def test_odds_of_neighbours_stay_within_epsilon_in_the_long_run(name: str, size: int) -> None:
    assert bound(name, 1.0, size) <= 1.0


@pytest.mark.parametrize(
    ("name", "times"),
    [pytest.param(*own, marks=of_some(own[0])) for own in (
        ("choice", 2), ("top", 3), ("several", 4), ("gaussian", 5), ("extreme", 5), ("number", 2), ("cells", 3),
        ("different", 2), ("total", 2), ("sampled_total", 3), ("average", 8), ("sampled_spread", 16), ("middle", 3),
        ("distance", 4), ("grouped", 2), ("persons", 2), ("heads", 3), ("joined", 2), ("cube_of_a_frame", 6),
        ("tree", 4), ("tree-paper", 4), ("markov", 3),
    )],
)  # fmt: skip
def test_a_mechanism_that_spends_more_than_it_says_is_found_out(name: str, times: int) -> None:
    assert bound(name, float(times), 2000 if name in FRAMES else 8000) > 1.0


def test_the_gaussian_control_is_one() -> None:
    assert epsilon_of(rho_of(5.0, 1e-3), 1e-3) == pytest.approx(5.0)


def beyond(epsilon: float, delta: float, size: int, value: str = "y") -> float:
    """Return a lower bound of the delta that finding keys spends beside an epsilon of 1: a row more has ``value``.

    Events are the values that are told with their counts in steps; what lies beyond e times the other side's odds adds
    up over all of them, so the bound is that of one event, made of half the answers and tried on the other half.
    """
    plan = plan_keys("a", epsilon, delta, PrivacyUnit())
    seen: list[list[Any]] = []
    for which, values in enumerate((["x"] * 6, ["x"] * 6 + [value])):
        frame, noise = pd.DataFrame({"a": values}, dtype="string"), SeededNoise(60 + which)
        answers = (find_keys(frame, plan, ledger=None, request="r", noise=noise).rows for _ in range(size))
        seen.append([tuple((str(row["a"]), min(int(row["count"]), 9)) for row in own) for own in answers])
    worst = -1.0
    for one, other in ((seen[0], seen[1]), (seen[1], seen[0])):
        first, second = Counter(one[: size // 2]), Counter(other[: size // 2])
        event = {own for own in first if first[own] > math.e * second[own]}
        hits = [sum(own in event for own in side[size // 2 :]) for side in (one, other)]
        low = beta.ppf(5e-4, hits[0], size // 2 - hits[0] + 1) if hits[0] else 0.0
        worst = max(worst, low - math.e * beta.ppf(1 - 5e-4, hits[1] + 1, size // 2 - hits[1]))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize(("value", "delta"), [("y", 0.02), ("y", 0.09), ("x", 0.02)])
def test_keys_spend_no_more_than_epsilon_and_delta(value: str, delta: float) -> None:
    assert beyond(1.0, delta, 8000, value) <= delta


@pytest.mark.night
def test_keys_that_spend_more_than_they_say_are_found_out() -> None:
    """A new value by a threshold for nine times the delta, one that occurs by the noise of four times the epsilon."""
    assert beyond(1.0, 0.09, 8000) > 0.01
    assert beyond(4.0, 0.02, 8000, "x") > 0.02
