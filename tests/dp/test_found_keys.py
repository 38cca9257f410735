"""Values found by a threshold: the guarantee by brute force and by OpenDP, the ledger's delta, the command."""

from __future__ import annotations

import io
import itertools
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_dp_commands import deid

from deid.base.errors import ConfigError
from deid.dp.budget import BudgetExceeded, Ledger
from deid.dp.domain_options import read_domains
from deid.dp.keys import find_keys, log_delta, plan_keys, threshold_for
from deid.dp.noise import SeededNoise, laplace_scale
from deid.dp.unit import PrivacyUnit


def law(rows: int, scale: float, threshold: int, reach: int = 160) -> npt.NDArray[np.float64]:
    """The law of what is said of a value: not released, or one of the counts from the threshold on."""
    alpha = math.exp(-1 / scale)
    counts = np.arange(-reach, threshold + reach)
    chances = (1 - alpha) / (1 + alpha) * alpha ** np.abs(counts - rows)
    said = np.where(counts < threshold, 0.0, chances) if rows else 0.0 * chances  # what does not occur is never said
    return np.append(said, 1 - said.sum())


def worst_delta(epsilon: float, max_rows: int, threshold: int, base: int = 30) -> float:
    """The true delta of a unit more, in either direction, over all that it may do: hockey-stick divergence."""
    scale, worst = laplace_scale(max_rows, epsilon), 0.0
    for new in range(1, max_rows + 1):
        for kept in range(max_rows - new + 1):
            for first in range(1, new + 1):
                # the rows lie in one new value or two, and in one that is there already
                pairs = [(0, first), (base, base + kept)] + ([(0, new - first)] if new > first else [])
                laws = [[law(own, scale, threshold) for own in pair] for pair in pairs]
                without, having = (_product([own[side] for own in laws]) for side in (0, 1))
                for p, q in ((having, without), (without, having)):
                    worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    return worst


def _product(laws: list[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    if len(laws) == 3:  # of the value that was there, steps of several counts are enough: they lose little
        laws[1] = np.append(np.add.reduceat(laws[1][:-1], np.arange(0, len(laws[1]) - 1, 8)), laws[1][-1])
    result = laws[0]
    for own in laws[1:]:
        result = np.multiply.outer(result, own).ravel()
    return result


@pytest.mark.parametrize(("epsilon", "max_rows"), [(1.0, 1), (0.5, 1), (1.0, 2), (2.0, 2)])
def test_the_guarantee_by_brute_force(epsilon: float, max_rows: int) -> None:
    delta, unit = 1e-3, PrivacyUnit("patient", max_rows=max_rows)
    threshold = threshold_for(unit, epsilon, delta)
    true = worst_delta(epsilon, max_rows, threshold)
    assert true <= delta
    assert true >= delta / (3 if max_rows == 1 else 60)  # nor is much given away
    slack = 0 if max_rows == 1 else math.ceil(laplace_scale(max_rows, epsilon) * math.log(60))
    assert worst_delta(epsilon, max_rows, threshold - 2 - slack) > delta  # the control


def test_opendp_agrees() -> None:
    """Its own threshold is strict, ours is not: the same law one step further."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = (
        dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i32")),
        dp.l01inf_distance(dp.absolute_distance(T="i32")),
    )
    for epsilon, threshold in ((0.5, 40), (1.0, 20)):
        scale = laplace_scale(1, epsilon)
        loss, delta = dp.m.make_laplace_threshold(*space, scale=scale, threshold=threshold - 1).map((1, 1, 1))
        assert loss <= epsilon
        assert math.exp(log_delta(PrivacyUnit(), epsilon, threshold)) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("max_rows", [1, 3, 20])
def test_a_unit_that_is_replaced_leaves_and_another_one_comes(max_rows: int) -> None:
    """Two steps of half of epsilon: their deltas together, the second e to the first epsilon times."""
    for epsilon, threshold in ((0.5, 200), (2.0, 60)):
        one = log_delta(PrivacyUnit("patient", "add-remove", max_rows), epsilon / 2, threshold)
        both = log_delta(PrivacyUnit("patient", "replace", max_rows), epsilon, threshold)
        assert math.exp(both) == pytest.approx(math.exp(one) * (1 + math.exp(epsilon / 2)), rel=1e-6)


@given(
    st.floats(0.05, 8), st.floats(1e-12, 0.05), st.integers(1, 50), st.sampled_from(["add-remove", "replace"])
)  # fmt: skip
@example(600.0, 0.09, 50, "add-remove")
@example(2000.0, 0.09, 3, "replace")
def test_the_threshold_is_the_least(epsilon: float, delta: float, max_rows: int, relation: str) -> None:
    unit = PrivacyUnit("patient", relation, max_rows)
    threshold = threshold_for(unit, epsilon, delta)
    assert log_delta(unit, epsilon, threshold) <= math.log(delta)
    assert threshold > max_rows
    assert log_delta(unit, epsilon, threshold - 1) > math.log(delta) - 1e-9
    # the worst division of the rows is at least as bad as all that are tried here
    scale = laplace_scale(unit.distance, epsilon)
    alpha = math.exp(-1 / scale)
    for new, kept in itertools.product(range(1, max_rows + 1), repeat=2):
        if new + kept <= max_rows:
            apart = new * alpha ** (threshold - 1) / (1 + alpha) * math.exp(kept / scale)
            assert apart <= delta * (1 + 1e-9)


def codes(many: int = 400) -> pd.DataFrame:
    rows = ["E11, type 2"] * many + ['say "ah"'] * many + ["Ünï\x7f"] * many + ["rare"] * 2 + [""] * 50
    return pd.DataFrame({"dx": rows, "id": [str(n) for n in range(len(rows))]}, dtype="string")


def test_common_values_are_found_and_rare_ones_are_not(tmp_path: Path) -> None:
    unit = PrivacyUnit("patient")
    ledger = Ledger.create(tmp_path / "l.db", 2.0, unit, keys_delta=2.5e-6)
    plan = plan_keys("dx", 0.5, 1e-6, unit, person="id")
    found = find_keys(codes(), plan, ledger=ledger, request="a")
    assert [row["dx"] for row in found.rows] == ["E11, type 2", 'say "ah"', "Ünï\x7f"]
    assert all(abs(row["count"] - 400) < 60 for row in found.rows)
    found.write_domain(tmp_path / "d.toml")
    declared = read_domains(tmp_path / "d.toml")["dx"]
    assert declared["values"] == ["E11, type 2", 'say "ah"', "Ünï\x7f"]
    assert ledger.id in declared["source"]
    again = find_keys(codes(3), plan, ledger=ledger, request="a")
    assert again.rows == found.rows
    account = ledger.account()
    assert (account.spent, account.keys_spent) == (500_000_000, pytest.approx(1e-6))
    empty = find_keys(codes(3), plan_keys("dx", 0.1, 1e-6, unit, person="id"), ledger=ledger, request="b")
    assert not empty.rows
    empty.write_domain(tmp_path / "e.toml")
    assert tomllib.loads((tmp_path / "e.toml").read_text()) == {"columns": {}}
    with pytest.raises(BudgetExceeded, match="delta"):
        find_keys(codes(), plan, ledger=ledger, request="c")
    assert ledger.account().spent == 600_000_000  # the refused request costs nothing
    for missing in (codes().iloc[:0], codes().assign(dx=None)):
        assert not find_keys(missing, plan, ledger=None, request="x", noise=SeededNoise(1)).rows


def test_a_ledger_without_such_a_delta_pays_for_none(tmp_path: Path) -> None:
    unit = PrivacyUnit("patient")
    ledger = Ledger.create(tmp_path / "l.db", 1.0, unit, delta=1e-6)
    with pytest.raises(ConfigError, match="allows no values"):
        find_keys(codes(), plan_keys("dx", 0.1, 1e-6, unit, person="id"), ledger=ledger, request="a")
    assert ledger.account().spent == 0
    both = Ledger.create(tmp_path / "m.db", 1.0, unit, delta=1e-6, keys_delta=1e-6)
    assert find_keys(codes(), plan_keys("dx", 0.1, 1e-6, unit, person="id"), ledger=both, request="a").rows
    assert both.account().spent == 5_000_000  # rhos
    pure = Ledger.create(tmp_path / "p.db", 1.0, unit, keys_delta=1e-6)
    find_keys(codes().head(3), plan_keys("dx", 0.1, 7.5e-7, unit, person="id"), ledger=pure, request="a")
    with pytest.raises(BudgetExceeded, match=r"costs a delta of 5e-07 and 2.5e-07 is left for finding values"):
        find_keys(codes().head(3), plan_keys("dx", 0.1, 5e-7, unit, person="id"), ledger=pure, request="b")
    assert (pure.account().keys_spent, pure.account().spent) == (7.5e-7, 100_000_000)


@pytest.mark.parametrize("wrong", [{"delta": 0.0}, {"delta": 0.5}, {"delta": math.nan}, {"epsilon": 0.0}])
def test_what_cannot_be_asked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        plan_keys("dx", wrong.get("epsilon", 0.5), wrong.get("delta", 1e-6), PrivacyUnit())


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    codes().to_csv("t.csv", index=False)
    deid("budget", "init", "l.db", "--epsilon", "2", "--unit", "patient", "--keys-delta", "1e-6")
    asked = ("keys", "t.csv", "--column", "dx", "--epsilon", "0.5", "--keys-delta", "5e-7", "--ledger", "l.db",
             "--person", "id")  # fmt: skip
    assert "found from" in deid(*asked, "--dry-run")
    shown = pd.read_csv(io.StringIO(deid(*asked, "-o", "d.toml")))
    assert shown["dx"].tolist() == ["E11, type 2", 'say "ah"', "Ünï\x7f"]
    assert "5e-07 spent" in deid("budget", "show", "l.db")
    Path("more.toml").write_text("[columns.id]\nrange = [0, 9]\n")
    query = ("query", "t.csv", "SELECT COUNT(*) GROUP BY dx", "--domains", "d.toml", "--domains", "more.toml")
    counted = pd.read_csv(io.StringIO(deid(*query, "--epsilon", "0.5", "--ledger", "l.db", "--person", "id")))
    assert counted["dx"].tolist() == shown["dx"].tolist()
    assert (counted["value"] - 400).abs().max() < 60


@pytest.mark.parametrize("rows", [1, 3])
def test_a_threshold_is_above_the_rows_of_a_unit_however_little_noise_there_is(rows: int) -> None:
    unit = PrivacyUnit("person", "add-remove", rows) if rows > 1 else PrivacyUnit()
    assert threshold_for(unit, 500.0 * rows, 0.09) == rows + 1
    for delta in (0.0, 0.1, 1.0):
        with pytest.raises(ConfigError, match="delta is a small probability"):
            threshold_for(unit, 1.0, delta)


def test_no_count_is_said_to_be_below_none() -> None:
    frame = pd.DataFrame(
        {"dx": [f"code {number}" for number in range(40) for _ in range(4 + number % 9)]}, dtype="string"
    )
    plan = plan_keys("dx", 1.0, 0.09, PrivacyUnit(), level=0.999)
    found = find_keys(frame, plan, ledger=None, request="x", noise=SeededNoise(1)).rows
    half = {row["upper"] - row["count"] for row in found}
    assert len(half) == 1
    assert [row["lower"] for row in found] == [max(row["count"] - min(half), 0.0) for row in found]
    assert 0 < sum(row["lower"] == 0.0 for row in found) < len(found)


def test_a_value_is_found_whose_noisy_count_reaches_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SeededNoise, "discrete_laplace", lambda _, values, *__: np.asarray(values))
    plan = plan_keys("dx", 1.0, 1e-6, PrivacyUnit())
    rows = ["below"] * (plan.threshold - 1) + ["there"] * plan.threshold
    found = find_keys(pd.DataFrame({"dx": rows}), plan, ledger=None, request="x", noise=SeededNoise(1)).rows
    assert [(row["dx"], row["count"]) for row in found] == [("there", plan.threshold)]


@pytest.mark.parametrize("level", [0.3, 0.5, 0.51, 0.9, 0.999])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_so_many_rows_are_found_with_the_probability_of_the_level_and_fewer_are_not(
    level: float, epsilon: float
) -> None:
    plan = plan_keys("dx", epsilon, 1e-6, PrivacyUnit(), level=level)
    alpha = math.exp(-1 / laplace_scale(1, epsilon))

    def found(rows: int) -> float:  # a draw is below -a with the probability alpha**(a + 1) / (1 + alpha)
        return 1 - alpha ** (rows - plan.threshold + 1) / (1 + alpha)

    assert found(plan.found_from) >= level
    assert plan.found_from == plan.threshold or found(plan.found_from - 1) < level
