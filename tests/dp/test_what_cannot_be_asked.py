"""Plans and questions that make no sense are refused before anything is spent, and their neighbours that do are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from deid.base.errors import ConfigError
from deid.dp.cube import plan_cube
from deid.dp.domain import declare
from deid.dp.epsilon import split_epsilon
from deid.dp.noise import SeededNoise
from deid.dp.sequence_release import slope_classes
from deid.dp.sequences import plan_sequences, release_sequences
from deid.dp.session import QuerySession
from deid.dp.unit import PrivacyUnit

ROW = PrivacyUnit()
SEX, AGE = declare("sex", {"values": ["F", "M"]}), declare("age", {"range": [0, 99]})


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"range": [5, 4]}, {"range": [5, 5]}),
        ({"range": [0, 9], "width": 0}, {"range": [0, 9], "width": 1}),
        ({"edges": [1]}, {"edges": [1, 2]}),
        ({"edges": [1, 1]}, {"edges": [1, 1.5]}),
        ({"edges": [2, 1]}, {"edges": [1, 2]}),
        ({"edges": [0, float("inf")]}, {"edges": [0, 1e300]}),
        ({"dates": ["2020-01-01", "2019-12-31"]}, {"dates": ["2020-01-01", "2020-01-01"]}),
    ],
)
def test_a_domain_has_a_beginning_before_its_end(wrong: dict[str, Any], right: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        declare("x", wrong)
    assert len(declare("x", right)) >= 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dimensions": ()}, "needs a dimension"),
        ({"dimensions": (SEX, SEX)}, "named twice"),
        ({"level": 0.0}, "between 0 and 1"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"report_share": -0.1}, "share of the report"),
        ({"report_share": 1.0}, "share of the report"),
        ({"unit": PrivacyUnit(name="patient", max_rows=3)}, "no column says"),
        ({"slices": [[]]}, "no dimension"),
        ({"slices": [["ward"]]}, "no dimension"),
        ({"slices": [["sex"], ["sex"]]}, "named twice"),
        ({"method": "magic"}, "unknown method"),
        ({"method": "marginals"}, "slices are named"),
        ({"method": "table", "slices": [["sex"]]}, "method"),
        ({"slices": [["sex"], ["age"]], "weights": [1.0]}, "weights"),
    ],
)
def test_a_plan_of_a_cube_that_makes_no_sense_is_refused(options: dict[str, Any], said: str) -> None:
    given = {"dimensions": (SEX, AGE), "unit": ROW, **options}
    dimensions, unit = given.pop("dimensions"), given.pop("unit")
    with pytest.raises(ConfigError, match=said):
        plan_cube(dimensions, 1.0, unit, **given)
    plan_cube((SEX, AGE), 1.0, ROW, slices=[["sex"], ["age", "sex"]], weights=[1.0, 2.0], level=0.5)


@pytest.mark.parametrize("weights", [[], [0.0], [1.0, 0.0], [1.0, -1.0], [1.0, float("inf")], [1.0, float("nan")]])
def test_every_share_of_a_budget_is_positive(weights: list[float]) -> None:
    with pytest.raises(ConfigError, match="positive"):
        split_epsilon(1.0, weights)


def test_a_share_below_a_nano_epsilon_is_refused() -> None:
    assert split_epsilon(2e-9, [1.0, 1.0]) == pytest.approx((1e-9, 1e-9))
    with pytest.raises(ConfigError, match="smaller than a nano-epsilon"):
        split_epsilon(1e-9, [1.0, 1.0])


def test_slopes_need_two_periods_and_a_step() -> None:
    assert slope_classes([0, 1], 2).shape == (3, 2, 2)
    assert slope_classes([0, 1], 2)[0, 1, 0] == 1  # one period down is falling
    for length, step in ((1, 0.5), (0, 0.5), (3, 0.0), (3, -1.0), (3, float("nan"))):
        with pytest.raises(ConfigError, match="two periods"):
            slope_classes([0, 1], length, step=step)


@pytest.mark.parametrize("method", ["tree", "markov"])
def test_a_release_of_sequences_has_no_longer_ones(method: str) -> None:
    frame = pd.DataFrame(np.array(["F", "M"])[np.random.default_rng(0).integers(0, 2, (200, 3))], columns=list("abc"))
    plan = plan_sequences(SEX, list("abc"), 20.0, ROW, method=method)
    release = release_sequences(frame.astype("string"), plan, ledger=None, noise=SeededNoise(1))
    for length in (1, 2, 3):
        assert len(release.model.prefixes(length, 0.95).count) == 2**length
    for length in (0, 4, -1):
        with pytest.raises(ConfigError, match="no sequences of this length"):
            release.model.prefixes(length, 0.95)


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 10.5), (0.5, 10.0), (0.5, 10.5)], ids=["upper bound", "lower bound", "both"]
)
def test_sums_within_bounds_that_are_no_whole_numbers_are_of_the_clipped_values(low: float, high: float) -> None:
    """Ages are whole numbers; clipped to 10.5 they are not, and their sum is not rounded to one."""
    frame = pd.DataFrame({"age": ["0"] * 50 + ["99"] * 51}, dtype="string")
    session = QuerySession(frame, (AGE,), None, noise=SeededNoise(3))
    (row,) = session.query(f"SELECT SUM(age, {low}, {high})", 2000.0).rows
    assert row["value"] == pytest.approx(50 * low + 51 * high, abs=0.2)
