"""Zero-concentrated privacy: the conversion, Gaussian noise, a ledger that counts rhos, releases that it pays for."""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from typer.testing import CliRunner

from deid.base.errors import ConfigError
from deid.cli.main import app
from deid.dp import QuerySession
from deid.dp.budget import BudgetExceeded, Ledger
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import Dimension, declare
from deid.dp.epsilon import NANO
from deid.dp.forecast import epsilon_for, forecast
from deid.dp.methods import Rows, measure
from deid.dp.noise import Noise, OpenDPNoise, SeededNoise, gaussian_scale
from deid.dp.release import read_release, write_release
from deid.dp.sequence_release import read_sequences, write_sequences
from deid.dp.sequences import plan_sequences, release_sequences
from deid.dp.survival import survival
from deid.dp.unit import PrivacyUnit
from deid.dp.zcdp import epsilon_of, nano_rho_of_pure, rho_of, split_rho

Small = tuple[pd.DataFrame, tuple[Dimension, ...]]
ROW = PrivacyUnit()
SLICES = [["sex", "age"], ["age", "clinic"]]


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("scale", [0.5, 2.0, 30.0])
def test_the_conversion_is_that_of_another_library(scale: float, delta: float) -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    noisy = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i32")), dp.l2_distance(T="f64"), scale=scale)
    known = dp.c.make_zCDP_to_approxDP(noisy).map(1.0).epsilon(delta)
    rho = 1 / (2 * scale * scale)
    assert epsilon_of(rho, delta) == pytest.approx(known, rel=2e-3)
    assert epsilon_of(rho, delta) <= rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1e-6
    assert rho_of(known, delta) == pytest.approx(rho, rel=5e-3)


@given(st.floats(1e-4, 30), st.floats(1e-12, 1e-2))
@settings(max_examples=40)
def test_rho_and_back_never_promises_more(epsilon: float, delta: float) -> None:
    rho = rho_of(epsilon, delta)
    assert 0 < rho < epsilon
    assert epsilon_of(rho, delta) <= epsilon * (1 + 1e-6)
    assert sum(split_rho(rho, [3, 1, 2.5])) <= rho
    assert nano_rho_of_pure(epsilon) / NANO >= epsilon**2 / 2 * (1 - 1e-12)


@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize("rho", [0.02, 0.4])
def test_divergences_of_neighbours_by_brute_force(shift: int, rho: float) -> None:
    """Of the exact law, for orders from 1.01 to 100; half the scale is found out."""

    def divergences(scale: float) -> list[tuple[float, float]]:
        steps = np.arange(-int(40 * scale) - 50, int(40 * scale) + 51).astype(float)
        logs = -(steps**2) / (2 * scale**2)
        total = math.log(np.exp(logs).sum())
        result = []
        for order in (1.01, 1.5, 2.0, 10.0, 100.0):
            other = -((steps - shift) ** 2) / (2 * scale**2)
            terms = order * (logs - total) + (1 - order) * (other - total)
            most = terms.max()
            result.append((order, (most + math.log(np.exp(terms - most).sum())) / (order - 1)))
        return result

    assert all(found <= rho * order + 1e-9 for order, found in divergences(gaussian_scale(shift, rho)))
    assert any(found > rho * order for order, found in divergences(gaussian_scale(shift, rho) / 2))


@pytest.mark.parametrize("noise", [OpenDPNoise(), SeededNoise(5)], ids=["opendp", "seeded"])
def test_gaussian_noise_has_its_law(noise: Noise) -> None:
    drawn = noise.discrete_gaussian(np.full(12_000, 7), 2, 0.5) - 7
    assert drawn.dtype == np.int64
    steps = np.arange(-6, 7)
    law = np.exp(-(steps.astype(float) ** 2) / (2 * 4))
    law = law / np.exp(-(np.arange(-60, 61).astype(float) ** 2) / 8).sum() * len(drawn)
    seen = np.array([(drawn == step).sum() for step in steps])
    assert ((seen - law) ** 2 / law).sum() < chi2.ppf(0.9999, len(steps))
    assert noise.discrete_gaussian(np.zeros((0, 3), int), 1, 1.0).shape == (0, 3)
    for wrong in (0.0, -1.0, math.nan, math.inf, 1e-40):
        with pytest.raises(ConfigError):
            noise.discrete_gaussian(np.zeros(1, int), 1, wrong)
    with pytest.raises(TypeError):
        noise.discrete_gaussian(np.zeros(1), 1, 1.0)


def test_a_ledger_with_a_delta_counts_rhos(tmp_path: Path) -> None:
    pure = Ledger.create(tmp_path / "pure.db", 1.0, ROW)
    ledger = Ledger.create(tmp_path / "delta.db", 1.0, ROW, delta=1e-6)
    account = ledger.account()
    assert (account.delta, account.total) == (1e-6, math.floor(rho_of(1.0, 1e-6) * NANO))
    assert account.epsilon(account.total) == pytest.approx(1.0, abs=1e-6)
    assert "of 1 at delta 1e-06 is left" in account.left()
    assert {name: value for name, value in account.as_dict().items() if name.startswith("rho")} == {
        "rho_total": account.total / NANO, "rho_spent": 0.0, "rho_remaining": account.total / NANO,
    }  # fmt: skip
    assert "rho_total" not in pure.account().as_dict()
    for none in (0.0, -1.0, float("nan")):
        with pytest.raises(ConfigError):
            ledger.charge(none, "none", unit=ROW, purpose="count", rho=1e-4)
    for name, version in (("pure", 2), ("delta", 3)):  # which a program that knows no rhos refuses
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as store:
            assert store.execute("SELECT version FROM deid_ledger").fetchall() == [(version,)]
    number = account.total // 450_000  # .03**2 / 2
    assert number > 50  # 33 of a pure budget
    for place in range(number):
        assert ledger.charge(0.03, f"q{place}", unit=ROW, purpose="count").charged == 450_000
    with pytest.raises(BudgetExceeded, match="of the budget's rho is left"):
        ledger.charge(0.03, "one more", unit=ROW, purpose="count")
    with pytest.raises(BudgetExceeded):
        ledger.charge(0.5, "g", unit=ROW, purpose="cube", rho=0.01)
    assert ledger.account().spent == number * 450_000
    assert ledger.charge(0.5, "next to nothing", unit=ROW, purpose="cube", rho=1e-15).charged == 1
    assert Ledger.open(tmp_path / "delta.db").account() == ledger.account()
    with pytest.raises(ConfigError, match="counts pure epsilon"):
        pure.charge(0.5, "g", unit=ROW, purpose="cube", rho=0.01)
    assert pure.account().spent == 0
    for wrong in (-1e-6, 0.5, math.nan):
        with pytest.raises(ConfigError):
            Ledger.create(tmp_path / "wrong.db", 1.0, ROW, delta=wrong)
    again = Ledger.create(tmp_path / "delta.db", 1.0, ROW, budget="other")  # a pure one beside it
    assert again.account().total == NANO


def test_parts_cost_their_maximum_in_rhos_and_a_request_is_charged_once(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l.db", 1.0, ROW, delta=1e-6)
    for part in ("a", "b"):
        ledger.charge(0.5, part, unit=ROW, purpose="p", path=[("ward", part)], rho=2**-8)
    assert ledger.account().spent == 3_906_250
    ledger.charge(0.5, "a2", unit=ROW, purpose="p", path=[("ward", "a")], rho=2**-9)
    assert ledger.account().spent == 5_859_375
    ledger.answer("a", "told")
    assert ledger.charge(0.5, "a", unit=ROW, purpose="p", path=[("ward", "a")], rho=2**-8).answer == "told"
    with pytest.raises(ConfigError, match="another question"):
        ledger.charge(0.5, "a", unit=ROW, purpose="p", path=[("ward", "a")], rho=0.005)


class Entering(SeededNoise):
    """Keeps what enters Gaussian and Laplace noise."""

    def __init__(self) -> None:
        super().__init__(0)
        self.entered: list[tuple[npt.NDArray[Any], float, float]] = []
        self.rho = 0.0

    def discrete_gaussian(self, values: npt.ArrayLike, sensitivity: int, rho: float) -> Any:
        self.entered.append((np.array(values, float), sensitivity, rho))
        self.rho += rho
        return super().discrete_gaussian(values, sensitivity, rho)

    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
        self.rho += epsilon**2 / 2
        return super().discrete_laplace(values, sensitivity, epsilon)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=8),
    st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=2),
    st.sampled_from(["add-remove", "replace"]), st.sampled_from(["marginals", "cells", "topdown"]),
)  # fmt: skip
def test_neighbours_move_by_the_stated_distance_in_l2_and_the_whole_rho_is_not_exceeded(
    others: list[tuple[int, int, int]], own: list[tuple[int, int, int]], relation: str, method: str
) -> None:
    """Brute force: a unit with two rows comes (add-remove), or its rows become others (replace)."""
    unit = PrivacyUnit("patient", relation, 2)
    dimensions = [declare(name, {"range": [0, 2]}) for name in "abc"]
    slices = [["a", "b"], ["b", "c"]] if method == "marginals" else []
    plan = plan_cube(dimensions, 0.7, unit, method=method, slices=slices, delta=1e-5, person="who", report_share=0.1)
    before = [*others, *([(1, 1, 1), (0, 2, 1)] if relation == "replace" else [])]
    noises = []
    for points in (before, [*others, *own]):
        noise = Entering()
        measure(Rows(np.array(points, np.int64).reshape(-1, 3), (3, 3, 3)), plan, noise)
        plan.tell_left_out(np.zeros(2, np.int64), noise)
        noises.append(noise)
        assert noise.rho <= rho_of(0.7, 1e-5)
    for (one, sensitivity, _), (two, _, _) in zip(*(own.entered for own in noises), strict=True):
        assert float(np.sqrt(((one - two) ** 2).sum())) <= sensitivity + 1e-9


def test_many_slices_have_less_noise_than_with_a_pure_epsilon() -> None:
    """All 36 pairs of nine columns at epsilon 1 and delta 1e-6: cells have a standard deviation of 27 instead of 51."""
    dimensions = [declare(name, {"range": [0, 9]}) for name in "abcdefghi"]
    slices = [list(pair) for pair in itertools.combinations("abcdefghi", 2)]
    deviations = []
    for delta in (0.0, 1e-6):
        plan = plan_cube(dimensions, 1.0, ROW, slices=slices, delta=delta, report_share=0)
        deviations.append({round(math.sqrt(plan.variance(share)), 3) for _, share in plan.measured()})
    assert [len(own) for own in deviations] == [1, 1]
    assert deviations[0].pop() == pytest.approx(36 * math.sqrt(2), rel=1e-3)
    assert deviations[1].pop() == pytest.approx(27.2, abs=0.1)
    with pytest.raises(ConfigError, match="draws no Gaussian noise"):
        plan_cube(dimensions[:2], 1.0, ROW, method="privtree", delta=1e-6)


@pytest.mark.parametrize("method", ["marginals", "cells"])
def test_intervals_and_forecast_hold_for_gaussian_noise(method: str, small: Small, tmp_path: Path) -> None:
    frame, dimensions = small
    slices = SLICES if method == "marginals" else []
    plan = plan_cube(dimensions, 1.0, ROW, method=method, slices=slices, nonnegative=False, delta=1e-6, report_share=0)
    asked = plan  # the forecast of single columns: of cells by themselves, of slices where they are named
    if slices:
        named = [*SLICES, ["age"]]
        asked = plan_cube(dimensions, 1.0, ROW, slices=named, delta=1e-6, report_share=0)
    true = frame["age"].astype(int).value_counts().reindex(range(12), fill_value=0).to_numpy()
    inside, errors = [], []
    for seed in range(60):
        release = release_cube(frame, plan, ledger=None, noise=SeededNoise(seed))
        shown = release.slice(["age"])
        inside.append((shown["lower"] <= true) & (true <= shown["upper"]))
        errors.append(np.abs(shown["count"] - true))
    assert 0.92 <= np.mean(inside) <= 0.985
    (ages,) = [own for own in forecast(asked) if own.slice == "age" and own.method == method]
    assert np.mean(errors) == pytest.approx(ages.per_cell, rel=0.15)
    assert "cells-clamped" not in epsilon_for(plan, 5.0)
    write_release(release, tmp_path / "cube.json")
    again = read_release(tmp_path / "cube.json")
    pd.testing.assert_frame_equal(again.slice(["age"]), release.slice(["age"]), check_dtype=False)
    assert (again.metadata["delta"], again.metadata["rho"]) == (1e-6, rho_of(1.0, 1e-6))


def test_one_ledger_pays_for_gaussian_cubes_and_pure_questions(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEID_LEDGER", raising=False)
    small[0].to_csv("t.csv", index=False)

    def deid(*arguments: str, ends: int = 0) -> str:
        result = CliRunner().invoke(app, arguments)
        if ends:
            assert result.exception is not None
            return str(result.exception) + result.output
        assert result.exit_code == 0, result.output
        return result.output

    deid("budget", "init", "pure.db", "--epsilon", "1")
    assert "at delta 1e-06" in deid("budget", "init", "l.db", "--epsilon", "1", "--delta", "1e-6")
    cube = ("cube", "t.csv", "--dims", "sex,age,clinic", "--domain", "sex=F,M", "--domain", "age=0..11", "--domain",
            "clinic=north,south,west", "--slice", "sex,age", "--slice", "age,clinic", "--epsilon", "0.5",
            "--gaussian")  # fmt: skip
    assert "delta 1e-06" in deid(*cube, "--ledger", "l.db", "--dry-run")
    assert "needs a budget with a delta" in deid(*cube, "--ledger", "pure.db", "-o", "x.json", ends=1)
    deid(*cube, "--ledger", "l.db", "-o", "c.json")
    deid("query", "t.csv", "SELECT COUNT(*)", "--domain", "sex=F,M", "--epsilon", "0.01", "--ledger", "l.db")
    shown = deid("budget", "show", "l.db")
    assert "rho" in shown
    assert "delta      1e-06" in shown
    ledger = Ledger.open(tmp_path / "l.db")
    assert ledger.account().spent == math.ceil(rho_of(0.5, 1e-6) * NANO) + 50_000
    assert '"rho"' in deid("budget", "history", "l.db")
    deid("synthesize", "c.json", "-o", "made.csv")
    fidelity = ("fidelity", "t.csv", "made.csv", "--release", "c.json", "--slice", "sex,age", "--slice", "clinic",
                "--epsilon", "0.2", "--gaussian")  # fmt: skip
    assert "rho" in deid(*fidelity, "--ledger", "l.db", "--dry-run")
    assert "needs a budget with a delta" in deid(*fidelity, "--ledger", "pure.db", ends=1)
    before = ledger.account().spent
    deid(*fidelity, "--ledger", "l.db", "--json", "f.json")
    assert ledger.account().spent - before == math.ceil(rho_of(0.2, 1e-6) * NANO)
    alone = epsilon_of(rho_of(0.2, 1e-6) / 2, 1e-6)
    assert [own["epsilon"] for own in json.loads(Path("f.json").read_text())["slices"]] == pytest.approx([alone] * 2)
    columns = [declare("sex", {"values": ["F", "M"]})]
    assert 0 < QuerySession(small[0], columns, ledger).remaining < 1


QUESTIONS = (
    "COUNT(*)", "COUNT(DISTINCT age)", "SUM(age)", "MEAN(age)", "SD(age)", "MEDIAN(age) WITH INTERVAL"
)  # fmt: skip


@pytest.mark.parametrize("asked", QUESTIONS)
def test_answers_with_gaussian_noise_have_intervals_that_hold(asked: str, small: Small) -> None:
    frame, dimensions = small
    ages = frame["age"].astype(int)
    true = {
        "COUNT(*)": len(frame), "COUNT(DISTINCT age)": ages.nunique(), "SUM(age)": ages.sum(), "MEAN(age)": ages.mean(),
        "SD(age)": ages.std(ddof=0), "MEDIAN(age) WITH INTERVAL": ages.median(),
    }[asked]  # fmt: skip
    inside, errors = [], []
    for seed in range(120):
        session = QuerySession(frame, dimensions, None, noise=SeededNoise(seed), delta=1e-6, report_share=0)
        answer = session.query(f"SELECT {asked}", 1.0)
        assert answer.delta == answer.as_dict()["delta"] == 1e-6
        inside.append(answer.lower <= true <= answer.upper)
        errors.append(abs(answer.value - true))
    assert np.mean(inside) >= 0.9
    if asked == "COUNT(*)":
        assert np.mean(errors) == pytest.approx(math.sqrt(1 / rho_of(1.0, 1e-6) / math.pi), rel=0.25)


@pytest.mark.slow
def test_sequences_with_gaussian_noise_hold_and_come_back_from_a_file(tmp_path: Path) -> None:
    codes = np.random.default_rng(3).integers(0, 3, (3000, 4))
    frame = pd.DataFrame(codes, columns=["q1", "q2", "q3", "q4"]).astype("string")
    level = declare("level", {"range": [0, 2]})
    true = int(((codes[:, 0] == 0) & (codes[:, 1] == 1)).sum())
    for method in ("tree", "markov"):
        inside = []
        plan = plan_sequences(level, list(frame), 1.0, ROW, method=method, delta=1e-6)
        for seed in range(50):
            found = release_sequences(frame, plan, ledger=None, noise=SeededNoise(seed))
            row = found.prefix(["0", "1"]).iloc[0]
            inside.append(row["lower"] <= true <= row["upper"])
        assert np.mean(inside) >= 0.85
        for suffix in (".json", ".parquet", ".csv"):
            write_sequences(found, tmp_path / f"{method}{suffix}")
            again = read_sequences(tmp_path / f"{method}{suffix}")
            pd.testing.assert_frame_equal(again.prefixes(2), found.prefixes(2), check_dtype=False)
            assert (again.metadata["delta"], again.metadata["rho"]) == (1e-6, rho_of(1.0, 1e-6))
    with pytest.raises(ConfigError, match="draws no Gaussian noise"):
        plan_sequences(level, list(frame), 1.0, ROW, method="tree-paper", delta=1e-6)


def test_top_down_counts_and_survival_with_gaussian_noise_hold(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    months, event = rng.integers(0, 12, 4000), rng.integers(0, 2, 4000)
    trees = {f"s{s}": [f"c{s}{n}" for n in range(8)] for s in range(3)}
    county = np.array([own for family in trees.values() for own in family])[rng.integers(0, 24, 4000)]
    frame = pd.DataFrame({"county": county, "months": months, "death": event}).astype(str).astype("string")
    places = declare("county", {"tree": trees, "within": ["state"]})
    plan = plan_cube([places], 1.0, ROW, method="topdown", delta=1e-6, nonnegative=False)
    states = np.array([sum(int((county == own).sum()) for own in family) for family in trees.values()])
    inside = []
    for seed in range(60):
        found = release_cube(frame, plan, ledger=None, noise=SeededNoise(seed))
        shown = found.slice(["state"])
        inside.append((shown["lower"] <= states) & (states <= shown["upper"]))
    assert 0.9 <= np.mean(inside) <= 0.99
    write_release(found, tmp_path / "c.parquet")
    pd.testing.assert_frame_equal(read_release(tmp_path / "c.parquet").slice(["state"]), shown, check_dtype=False)

    time, died = declare("months", {"range": [0, 11]}), declare("death", {"values": ["0", "1"]})
    plan = plan_cube([time, died], 1.0, ROW, slices=[["months", "death"]], delta=1e-6)
    at_risk = np.array([(months >= t).sum() for t in range(12)])
    events = np.array([((months == t) & (event == 1)).sum() for t in range(12)])
    curve = np.cumprod(1 - events / at_risk)[:8]
    covered = []
    for seed in range(60):
        cube = release_cube(frame, plan, ledger=None, noise=SeededNoise(seed))
        found = survival(cube, "months", "death", "1", sampling=False)[:8]
        covered.append((found["lower"] <= curve) & (curve <= found["upper"]))
    assert 0.9 <= np.mean(covered) <= 0.99


def test_questions_and_sequences_are_paid_in_rhos_on_the_command_line(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEID_LEDGER", raising=False)
    small[0].assign(q1="0", q2="1").to_csv("t.csv", index=False)
    ledger = Ledger.create(tmp_path / "l.db", 1.0, ROW, delta=1e-6)
    Ledger.create(tmp_path / "pure.db", 1.0, ROW)

    def deid(*arguments: str) -> str:
        result = CliRunner().invoke(app, [*arguments, "--gaussian"])
        return result.output + str(result.exception)

    query = ("query", "t.csv", "SELECT COUNT(*), MEAN(age) GROUP BY sex", "--domain", "sex=F,M", "--domain",
             "age=0..11", "--epsilon", "0.1")  # fmt: skip
    level = ("sequences", "t.csv", "--periods", "q1,q2", "--domain", "level=0..1", "--epsilon", "0.3")
    assert "needs a budget with a delta" in deid(*query, "--ledger", "pure.db")
    assert "at epsilon 0.1, delta 1e-06" in deid(*query, "--ledger", "l.db", "--dry-run")
    assert "rho" in deid(*level, "--ledger", "l.db", "--dry-run")
    assert ledger.account().spent == 0
    shown = deid(*query, "--ledger", "l.db", "--request", "a")
    assert "MEAN(age),F" in shown
    assert ledger.account().spent == math.ceil(rho_of(0.1, 1e-6) * NANO)
    assert deid(*query, "--ledger", "l.db", "--request", "a").splitlines()[:5] == shown.splitlines()[:5]
    deid(*level, "--ledger", "l.db", "-o", "s.json")
    assert ledger.account().spent == math.ceil(rho_of(0.1, 1e-6) * NANO) + math.ceil(rho_of(0.3, 1e-6) * NANO)
    assert read_sequences(tmp_path / "s.json").metadata["rho"] == rho_of(0.3, 1e-6)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.inf, math.nan, 1e10])
def test_an_epsilon_that_cannot_be_accounted_for_is_worth_no_rho(wrong: float) -> None:
    with pytest.raises(ConfigError, match=r"epsilon (must be positive|is no number)"):
        rho_of(wrong, 1e-6)
