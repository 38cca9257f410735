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
from deid.dp.events import Events
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


MANY = PrivacyUnit("patient", max_rows=10**9)


@pytest.mark.parametrize("asked", ["cells", "topdown", "marginals", "privelet", "sequences"])
def test_an_epsilon_too_small_for_the_report_alone_is_refused_by_the_plan(asked: str) -> None:
    """A thousandth of what hides a billion rows of a person in the counts cannot hide whether they were left out."""

    def plan(report_share: float) -> Any:
        common: dict[str, Any] = {"person": "id", "report_share": report_share}
        if asked == "sequences":
            return plan_sequences(SEX, ["a", "b"], 1e-6, MANY, **common)
        return plan_cube([SEX], 1e-6, MANY, method=asked, slices=[["sex"]] if asked == "marginals" else [], **common)

    assert plan(0.0)
    with pytest.raises(ConfigError, match="epsilon is too small"):
        plan(0.001)


def test_a_report_on_persons_needs_no_more_epsilon_for_their_many_rows() -> None:
    """A person's events are one sequence, inside the domains or outside, however many they are."""
    frame = pd.DataFrame({"id": ["1", "1", "2"], "day": ["2020-01-01", "2020-01-02", "2021-01-01"], "sex": list("FMF")})
    days = declare("day", {"dates": ["2020-01-01", "2020-01-02"]})
    plan = plan_sequences(SEX, Events("id", days, "sex"), 1e-6, MANY)
    told = release_sequences(frame.astype("string"), plan, ledger=None, noise=SeededNoise(1)).metadata["left_out"]
    assert told.keys() == {"told", "epsilon", "persons_outside_domains", "plus_minus"}
    assert told["plus_minus"] == pytest.approx(np.log(20) / told["epsilon"], rel=0.01)


def test_slopes_need_two_periods_and_a_step() -> None:
    assert slope_classes([0, 1], 2).shape == (3, 2, 2)
    assert slope_classes([0, 1], 2)[0, 1, 0] == 1  # one period down is falling
    for length, step in ((1, 0.5), (0, 0.5), (3, 0.0), (3, -1.0), (3, float("nan"))):
        with pytest.raises(ConfigError, match="two periods"):
            slope_classes([0, 1], length, step=step)


@pytest.mark.parametrize(("method", "limit", "most"), [("tree", "MAX_NODES", 3), ("markov", "_MAX_CHAIN", 3 * 3 * 2)])
def test_levels_that_a_tree_or_a_chain_cannot_hold_are_refused_by_it_alone(
    monkeypatch: pytest.MonkeyPatch, method: str, limit: str, most: int
) -> None:
    levels = declare("level", {"values": ["low", "mid", "high"]})
    for held in (most, most - 1):
        monkeypatch.setattr(f"deid.dp.sequences.{limit}", held)
        for asked in ("tree", "markov"):
            if asked == method and held < most:
                with pytest.raises(ConfigError, match=r"levels .*are too many"):
                    plan_sequences(levels, ["a", "b", "c"], 1.0, ROW, method=asked)
            else:
                assert plan_sequences(levels, ["a", "b", "c"], 1.0, ROW, method=asked).method == asked


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
    for length in (0, 4):
        with pytest.raises(ConfigError, match="no sequences of this length"):
            release.model.total(np.ones((2,) * length), 0.95)


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 10.5), (0.5, 10.0), (0.5, 10.5)], ids=["upper bound", "lower bound", "both"]
)
def test_sums_within_bounds_that_are_no_whole_numbers_are_of_the_clipped_values(low: float, high: float) -> None:
    """Ages are whole numbers; clipped to 10.5 they are not, and their sum is not rounded to one."""
    frame = pd.DataFrame({"age": ["0"] * 50 + ["99"] * 51}, dtype="string")
    session = QuerySession(frame, (AGE,), None, noise=SeededNoise(3))
    (row,) = session.query(f"SELECT SUM(age, {low}, {high})", 2000.0).rows
    assert row["value"] == pytest.approx(50 * low + 51 * high, abs=0.2)
