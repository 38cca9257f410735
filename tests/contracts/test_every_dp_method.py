"""What every private method keeps: it pays before it draws, needs a ledger, and shows the data through noise alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from deid.base.errors import ConfigError
from deid.dp.budget import BudgetExceeded, Ledger
from deid.dp.cube import CubePlan, plan_cube, release_cube
from deid.dp.domain import Dimension, declare
from deid.dp.epsilon import NANO
from deid.dp.methods import METHODS
from deid.dp.noise import OpenDPNoise, SeededNoise
from deid.dp.payment import AlreadyReleased
from deid.dp.release import NOT_PRIVATE, write_release
from deid.dp.unit import PrivacyUnit

ROW = PrivacyUnit()
DIMENSIONS = (
    declare("a", {"range": [0, 3]}),
    declare("b", {"values": ["x", "y"]}),
    declare("c", {"range": [0, 2]}),
)


def plan_for(method: str, dimensions: tuple[Dimension, ...], epsilon: float = 1.0) -> CubePlan:
    return plan_cube(
        dimensions, epsilon, ROW, method=method, slices=[["a", "b"], ["b", "c"]] if method == "marginals" else []
    )


def table(size: int, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": generator.integers(0, 6, size),
            "b": generator.choice(["x", "y", "z"], size),
            "c": generator.integers(0, 3, size),
            "who": generator.integers(0, 9, size),
        }
    ).astype("string")


class BlindNoise:
    """Answers without looking: what comes out then cannot depend on the data, unless a path leads around the noise."""

    private = True
    label = "blind"

    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
        return (np.arange(np.size(values)).reshape(np.shape(values)) * 7) % 11

    def laplace(self, values: npt.ArrayLike, scale: float) -> Any:
        return np.where(np.arange(np.size(values)) % 3, -1.0, 1.0) if np.size(values) < 8 else -np.ones(np.size(values))

    def choose(self, scores: npt.ArrayLike, sensitivity: float, epsilon: float) -> int:
        return np.size(scores) - 1


@pytest.mark.parametrize("method", METHODS)
def test_no_true_count_is_reachable(method: str, tmp_path: Any) -> None:
    """With noise that does not look, two different tables give the same release, byte for byte."""
    unit = PrivacyUnit("patient", max_rows=2)
    written = []
    for number, size in enumerate((3, 400)):
        frame = table(size, number)
        plan = replace(plan_for(method, DIMENSIONS), unit=unit, person="who", report_share=0.1)
        ledger = Ledger.create(tmp_path / f"{number}.db", 1.0, unit)
        release = release_cube(frame, plan, ledger=ledger, request="r", noise=BlindNoise())
        write_release(release, tmp_path / f"{number}.json")
        written.append((tmp_path / f"{number}.json").read_text().replace(ledger.id, "the id of the ledger"))
        ledger.close()
    assert written[0] == written[1]


@pytest.mark.parametrize("method", METHODS)
def test_private_releases_need_a_ledger_and_are_charged_before(method: str, tmp_path: Path) -> None:
    frame, plan = table(40), plan_for(method, DIMENSIONS, 0.4)
    with pytest.raises(ConfigError, match="needs a ledger"):
        release_cube(frame, plan, ledger=None)
    ledger = Ledger.create(tmp_path / "l.db", 1.0, ROW)

    class Broken(OpenDPNoise):
        def __getattribute__(self, name: str) -> Any:
            if name in ("discrete_laplace", "laplace", "choose"):
                raise RuntimeError
            return super().__getattribute__(name)

    with pytest.raises(RuntimeError):
        release_cube(frame, plan, ledger=ledger, request="a", noise=Broken())
    assert ledger.account().spent == 4 * NANO // 10
    release = release_cube(frame, plan, ledger=ledger, request="b")
    assert release.private
    assert release.metadata["noise"].startswith("OpenDP")
    assert NOT_PRIVATE not in release.slice([])
    ledger.answer("b", "written")
    with pytest.raises(AlreadyReleased) as caught:
        release_cube(frame, plan, ledger=ledger, request="b")
    assert caught.value.answer == "written"
    with pytest.raises(BudgetExceeded):
        release_cube(frame, plan, ledger=ledger, request="c")
    assert ledger.account().spent == 8 * NANO // 10


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_gives_the_same_release_in_any_order_of_the_rows(method: str, tmp_path: Path) -> None:
    frame, plan, written = table(60), plan_for(method, DIMENSIONS), []
    for number, rows in enumerate((frame, frame, frame.iloc[::-1].reset_index(drop=True))):
        write_release(release_cube(rows, plan, ledger=None, noise=SeededNoise(3)), tmp_path / f"{number}.json")
        written.append((tmp_path / f"{number}.json").read_text())
    assert written[0] == written[1] == written[2]
    assert NOT_PRIVATE in written[0] or "NOT PRIVATE" in written[0]
