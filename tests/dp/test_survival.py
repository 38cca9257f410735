"""Survival from released counts: the textbook's curve without noise, and intervals that cover."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from test_dp_commands import deid

from deid.base.errors import ConfigError
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import declare
from deid.dp.noise import SeededNoise
from deid.dp.survival import survival
from deid.dp.unit import PrivacyUnit

MONTHS = declare("months", {"range": [0, 29]})
DEATH = declare("death", {"values": ["0", "1", "lost"]})
ARM = declare("arm", {"values": ["a", "b"]})
HAZARD = np.linspace(0.02, 0.05, 30)


def patients(seed: int, size: int = 3000) -> pd.DataFrame:
    """Deaths by a known hazard, censored at random."""
    generator = np.random.default_rng(seed)
    died = np.argmax(np.column_stack([generator.random((size, 30)) < HAZARD, np.ones(size, bool)]), axis=1)
    left = generator.integers(5, 60, size)
    frame = pd.DataFrame({"months": np.minimum(np.minimum(died, left), 29), "death": "1"})
    frame.loc[left < died, "death"] = "0"
    frame.loc[(died == 30) & (left >= 29), "death"] = "lost"
    return frame.assign(arm=generator.choice(["a", "b"], size)).astype("string")


def released(frame: pd.DataFrame, epsilon: float, seed: int, **how: Any) -> Any:
    plan = plan_cube([MONTHS, DEATH, ARM], epsilon, PrivacyUnit(), report_share=0,
                     **(how or {"slices": [["months", "death", "arm"]]}))  # fmt: skip
    return release_cube(frame, plan, ledger=None, noise=SeededNoise(seed))


def textbook(frame: pd.DataFrame) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The product-limit estimate patient by patient, and Greenwood's variance of its logarithm."""
    times, death = frame["months"].astype(int).to_numpy(), (frame["death"] == "1").to_numpy()
    curve, variance, value, spread = [], [], 1.0, 0.0
    for month in range(30):
        at_risk, died = int((times >= month).sum()), int((death & (times == month)).sum())
        value *= 1 - died / at_risk
        spread += died / (at_risk * (at_risk - died))
        curve.append(value)
        variance.append(spread)
    return np.array(curve), np.array(variance)


def test_without_noise_it_is_kaplan_and_meiers_with_greenwoods_interval() -> None:
    frame = patients(1)
    found = survival(released(frame, 1e6, 1), "months", "death", "1", by=["arm"])
    assert found.index.equals(pd.RangeIndex(len(found)))
    for arm in "ab":
        own = found[found["arm"] == arm]
        curve, variance = textbook(frame[frame["arm"] == arm])
        np.testing.assert_allclose(own["survival"], curve[: len(own)], atol=1e-9)
        assert len(own) >= 29
        inner = np.log(curve[: len(own)])
        for name, sign in (("lower", 1), ("upper", -1)):
            end = np.exp(inner * np.exp(sign * 1.95996 * np.sqrt(variance[: len(own)]) / -inner))
            np.testing.assert_allclose(own[name], end, atol=1e-4)


@pytest.mark.parametrize("sampling", [True, False])
def test_intervals_cover(sampling: bool) -> None:
    truth, inside, widths = np.cumprod(1 - HAZARD), [], []
    for seed in range(40):
        frame = patients(seed)
        goal = truth if sampling else textbook(frame)[0]
        own = survival(released(frame, 0.3, seed), "months", "death", "1", sampling=sampling)
        goal = goal[: len(own)]
        inside.append(((own["lower"] - 1e-9 <= goal) & (goal <= own["upper"] + 1e-9)).mean())
        widths.append(float((own["upper"] - own["lower"]).mean()))
        assert (own["survival"].diff().dropna() <= 1e-12).all()
        assert ((own["lower"] <= own["survival"] + 1e-9) & (own["survival"] <= own["upper"] + 1e-9)).all()
    assert np.mean(inside) >= 0.92
    assert np.mean(widths) <= 0.25


def test_a_curve_ends_in_noise() -> None:
    few = survival(released(patients(1, 60), 0.2, 1), "months", "death", "1")
    assert len(few) < 12


def test_what_cannot_be_asked() -> None:
    cube = released(patients(1, 300), 5.0, 1)
    for asked, words in (
        (("death", "months", "1", {}), "no order"),
        (("months", "dead", "1", {}), "no dimension"),
        (("months", "death", "2", {}), "no such cell"),
        (("months", "death", "1", {"by": ["death"]}), "named twice"),
    ):
        with pytest.raises(ConfigError, match=words):
            survival(cube, *asked[:3], **asked[3])
    with pytest.raises(ConfigError, match="measured"):
        survival(released(patients(1, 300), 5.0, 1, method="forest"), "months", "death", "1")
    with pytest.raises(ConfigError, match="no marginal"):
        survival(released(patients(1, 300), 5.0, 1, slices=[["months"], ["death"]]), "months", "death", "1")


def test_the_command_and_its_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    patients(2, 900).to_csv("t.csv", index=False)
    declared = ("--domain", "months=0..29", "--domain", "death=0,1,lost", "--domain", "arm=a,b", "--epsilon", "2")
    test = ("--not-private-seed", "1")
    deid("cube", "t.csv", "--dims", "months,death,arm", "--slice", "months,death,arm", *declared, *test, "-o", "c.csv")
    shown = pd.read_csv(io.StringIO(deid(
        "survival", "c.csv", "--time", "months", "--event", "death=1", "--dims", "arm", "--plot", "s.svg"
    )))  # fmt: skip
    assert set(shown["arm"]) == {"a", "b"}
    deid("slice", "c.csv", "--dims", "death,months", "--plot", "b.svg")
    deid("query", "t.csv", "SELECT HISTOGRAM(months)", *declared, *test, "--plot", "h.svg")
    deid("query", "t.csv", "SELECT QUARTILES(months) GROUP BY arm", *declared, *test, "--plot", "q.svg")
    for name, word in (("s.svg", "survival"), ("b.svg", "lost"), ("h.svg", "months"), ("q.svg", "0.75")):
        drawn = Path(name).read_text()
        assert word in drawn
        assert "NOT PRIVATE" in drawn
    with pytest.raises(ConfigError, match="suffix"):
        deid("slice", "c.csv", "--plot", "b.pdf")
