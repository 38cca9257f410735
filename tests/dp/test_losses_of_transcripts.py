"""What any course of events may cost, told exactly: the same answers are dictated to a table and to its neighbour.

Whatever a mechanism does next may depend on what it was told, so both runs take the same course, and what enters the
noise differs by the neighbour alone. Each draw loses at most its cost times the change over the stated sensitivity (its
square, of a rho), a choice what its threshold can move (`deid.dp.noise.Noise.choose`). The sum must not exceed what was
charged: for every mechanism, law, relation, number of rows and course. That is the claim of adaptive and of parallel
composition in one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.dp import adaptive
from deid.dp.cube import GAUSSIAN, plan_cube
from deid.dp.domain import declare
from deid.dp.epsilon import payable
from deid.dp.methods import Rows, measure
from deid.dp.noise import SeededNoise
from deid.dp.sequences import measure_sequences, plan_sequences
from deid.dp.session import QuerySession
from deid.dp.synthetic import check_fidelity
from deid.dp.unit import PrivacyUnit
from deid.dp.zcdp import rho_of

EPSILON, DELTA = 0.8, 1e-5
Rowed = list[tuple[int, int, int]]
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=6)
UNIT = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=2)


class Dictated(SeededNoise):
    """Answers that do not look at the data, and what they were asked."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.asked: list[tuple[str, npt.NDArray[np.float64], float, float]] = []
        self._words = np.random.default_rng(seed)

    def _told(self, law: str, values: npt.ArrayLike, sensitivity: float, cost: float) -> Any:
        array = np.array(values, float)
        self.asked.append((law, array, float(sensitivity), float(cost)))
        return array

    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
        array = self._told("laplace", values, sensitivity, epsilon)
        return (self._words.exponential(8 * sensitivity / epsilon, array.shape) - 4).astype(np.int64)

    def discrete_gaussian(self, values: npt.ArrayLike, sensitivity: int, rho: float) -> Any:
        array = self._told("gaussian", values, sensitivity, rho)
        return (self._words.exponential(8 * sensitivity / math.sqrt(rho), array.shape) - 4).astype(np.int64)

    def choose(self, scores: npt.ArrayLike, sensitivity: float, epsilon: float) -> int:
        array = self._told("choose", scores, sensitivity, epsilon)
        return int(self._words.integers(array.size))


def loss(one: Dictated, two: Dictated, *, gaussian: bool) -> float:
    """Return what the course of events costs: an epsilon, or a rho."""
    total = 0.0
    for (law, first, sensitivity, cost), (_, second, _, _) in zip(one.asked, two.asked, strict=True):
        assert first.shape == second.shape
        with np.errstate(invalid="ignore"):
            moved = np.where(first == second, 0.0, second - first)
        if law == "gaussian":
            total += cost * float((moved**2).sum()) / sensitivity**2
            continue
        if law == "laplace":
            lost = cost * float(np.abs(moved).sum()) / sensitivity
        else:  # the threshold of what is chosen moves by no more than that
            lost = cost * float(moved.max(initial=0) - moved.min(initial=0)) / (2 * sensitivity)
        total += lost**2 / 2 if gaussian else lost
    return total


def check(run: Callable[[Rowed, Dictated, PrivacyUnit], None], others: Rowed, own: Rowed, seed: int, relation: str,
          *, gaussian: bool) -> None:  # fmt: skip
    unit = PrivacyUnit("patient", relation, 2)
    before = [(3, 3, 3), (0, 1, 2)] if relation == "replace" else []
    tables = ([*others, *before], [*others, *own])
    noises = []
    for rows in tables:
        noise = Dictated(seed)
        run(rows, noise, unit)
        noises.append(noise)
    allowed = rho_of(EPSILON, DELTA) if gaussian else EPSILON
    assert gaussian or all(law != "gaussian" for law, *_ in noises[0].asked)
    assert loss(*noises, gaussian=gaussian) <= allowed * (1 + 1e-9)


@pytest.fixture(autouse=True)
def short_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive, "_FITTING", 2)


@settings(max_examples=60)
@given(
    st.sampled_from(GAUSSIAN), ROWS, UNIT, st.integers(0, 99), st.sampled_from(["add-remove", "replace"]), st.booleans()
)
def test_cubes(method: str, others: Rowed, own: Rowed, seed: int, relation: str, gaussian: bool) -> None:
    dimensions = [
        declare("a", {"tree": {"x": ["0", "1"], "y": ["2"], "z": ["3"]}, "within": ["outer"]}),
        declare("b", {"tree": {"p": ["0"], "q": ["1", "2", "3"]}, "within": ["wider"]}),
        declare("c", {"range": [0, 3]}),
    ]

    def run(rows: Rowed, noise: Dictated, unit: PrivacyUnit) -> None:
        plan = plan_cube(
            dimensions, EPSILON, unit, method=method, slices=[["a", "b"], ["b", "c"]] if method == "marginals" else [],
            delta=DELTA if gaussian else 0.0, person="who", report_share=0.1,
        )  # fmt: skip
        measure(Rows(np.array(rows, np.int64).reshape(-1, 3), (4, 4, 4)), plan, noise)

    check(run, others, own, seed, relation, gaussian=gaussian)


@settings(max_examples=60)
@given(ROWS, UNIT, ROWS, st.integers(0, 99), st.sampled_from(["add-remove", "replace"]), st.booleans())
def test_fidelity(others: Rowed, own: Rowed, made: Rowed, seed: int, relation: str, gaussian: bool) -> None:
    dimensions = [declare(name, {"range": [0, 3]}) for name in "abc"]

    def frame(rows: Rowed) -> pd.DataFrame:
        return pd.DataFrame(rows, columns=list("abc"), dtype="string")

    def run(rows: Rowed, noise: Dictated, unit: PrivacyUnit) -> None:
        slices = [["a", "b"], ["c"], ["a", "c"]]
        check_fidelity(
            frame(rows), frame(made), dimensions, slices, EPSILON, ledger=None, unit=unit, noise=noise,
            assert_bound=True, delta=DELTA if gaussian else 0.0,
        )  # fmt: skip

    check(run, others, own, seed, relation, gaussian=gaussian)


@settings(max_examples=60)
@given(
    st.sampled_from(["tree", "markov"]), ROWS, UNIT, st.integers(0, 99), st.sampled_from(["add-remove", "replace"]),
    st.booleans(), st.booleans(),
)  # fmt: skip
def test_sequences(
    method: str, others: Rowed, own: Rowed, seed: int, relation: str, gaussian: bool, ends: bool
) -> None:
    level = declare("level", {"range": [0, 2]}) if ends else declare("level", {"range": [0, 3]})

    def run(rows: Rowed, noise: Dictated, unit: PrivacyUnit) -> None:
        plan = plan_sequences(
            level, ["q1", "q2", "q3"], EPSILON, unit, method=method, ends=ends, delta=DELTA if gaussian else 0.0,
            weights={1: 1.0, 3: 2.0}, person="who", threshold=0.5,
        )  # fmt: skip
        codes = np.array(rows, np.int64).reshape(-1, 3)
        if ends:  # nothing but the end follows the end
            codes = np.where(np.maximum.accumulate(codes == 3, axis=1), 3, codes)
        measure_sequences(codes, plan, noise)

    check(run, others, own, seed, relation, gaussian=gaussian)


QUERIES = (
    "COUNT(*)", "COUNT(PERSONS)", "COUNT(DISTINCT b)", "SUM(a)", "MEAN(a)", "VARIANCE(a)", "SD(a)", "MEDIAN(a)",
    "QUANTILE(a, 0.9) WITH INTERVAL", "QUARTILES(a)", "QUARTILES(a) WITH INTERVAL", "HISTOGRAM(b)", "TOP(2, b)",
    "COUNT(*), MEAN(a), QUARTILES(a)", "COUNT(*), MEAN(a), QUANTILE(a, 0.3) WITH SAMPLING", "TOP(2, b) WITH SAMPLING",
    "COUNT(a)", "SD(a), COUNT(*), VARIANCE(a), MEAN(a), SUM(a), COUNT(a)", "SUM(a), MEAN(a), COUNT(a) WITH SAMPLING",
    "SD(a), SUM(a), VARIANCE(a) WITH SAMPLING",
)  # fmt: skip


@settings(max_examples=80)
@given(
    st.sampled_from(QUERIES), st.sampled_from(["", " GROUP BY c"]), ROWS, UNIT, st.integers(0, 99),
    st.sampled_from(["add-remove", "replace"]), st.booleans(),
)  # fmt: skip
def test_questions(
    asked: str, grouped: str, others: Rowed, own: Rowed, seed: int, relation: str, gaussian: bool
) -> None:
    columns = [declare(name, {"range": [0, 3]}) for name in "abc"]

    def run(rows: Rowed, noise: Dictated, unit: PrivacyUnit) -> None:
        frame = pd.DataFrame(rows, columns=["a", "b", "c"]).astype(str).astype("string")
        mine = len(rows) - 2 if relation == "replace" else len(others)
        frame["who"] = pd.Series([f"p{place}" if place < mine else "new" for place in range(len(rows))], dtype="string")
        session = QuerySession(
            frame, columns, None, person="who", noise=noise, unit=unit, delta=DELTA if gaussian else 0.0
        )
        session.query(f"SELECT {asked}{grouped}", EPSILON)

    if relation == "replace":
        own = (own * 2)[:2]
    check(run, others, own, seed, relation, gaussian=gaussian)


def test_a_course_that_costs_more_is_found_out() -> None:
    """The control: a count that is said to cost half of what it does."""

    def run(rows: Rowed, noise: Dictated, unit: PrivacyUnit) -> None:
        for _ in range(2):
            noise.discrete_laplace(np.array([len(rows)]), unit.distance, payable(EPSILON))

    with pytest.raises(AssertionError):
        check(run, [], [(0, 0, 0), (1, 1, 1)], 0, "add-remove", gaussian=False)
