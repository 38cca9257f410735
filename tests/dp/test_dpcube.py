"""DPCube: the gains of the specification's table, partitions that lose nothing, what the modes do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

import deid.dp.dpcube
from deid.base.arrays import IntArray
from deid.base.errors import ConfigError
from deid.dp.boxes import Boxes, simplex
from deid.dp.dpcube import GAINS, dpcube, partition
from deid.dp.methods import Rows
from deid.dp.noise import SeededNoise, laplace_variance
from deid.dp.privtree import privtree


@pytest.mark.parametrize(
    ("counts", "printed", "weighted", "uniformity"),
    [
        ([5] * 8, 1.0, 1.0, 0.0),
        ([0] * 4 + [10] * 4, 0.0, 0.0, 1.0),
        ([1] * 4 + [9] * 4, 1.531, 0.469, 0.531),
        ([0] * 7 + [40], 0.0, 0.0, 1.0),
        ([1] * 64, 4.0, 1.0, 0.0),
    ],
)
def test_gains_in_bits(counts: list[int], printed: float, weighted: float, uniformity: float) -> None:
    """The worked example of DPCube, cut in the middle."""
    middle = len(counts) // 2 - 1
    for gain, expected in (("printed", printed), ("weighted", weighted), ("uniformity", uniformity)):
        assert GAINS[gain](np.array(counts, float), len(counts), 0.0)[middle] == pytest.approx(expected, abs=5e-4)


def test_weighted_gain_never_exceeds_one_bit() -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        assert GAINS["weighted"](generator.exponential(size=30), 30, 0.0).max() <= 1 + 1e-9


def test_sse_gain_is_the_fall_of_squared_error() -> None:
    cells = np.array([1.0, 2.0, 9.0, 8.0, 8.0])

    def error(part: np.ndarray) -> float:
        return float(((part - part.mean()) ** 2).sum())

    expected = [error(cells) - error(cells[:i]) - error(cells[i:]) - 0.5 for i in range(1, 5)]
    np.testing.assert_allclose(GAINS["sse"](cells, len(cells), 0.5), expected)


@settings(max_examples=20)
@example([0.25, 0.5, 0.0, 3.0])
@example([0.0, -2.0])
@given(st.lists(st.sampled_from([-2.0, 0.0, 0.25, 0.5, 1.0, 3.0, 40.0]), min_size=2, max_size=8))
def test_gains_are_those_of_their_definitions(sums: list[float]) -> None:
    """Over whole and broken masses, empty slabs and negative sums, which count as none."""
    mass = np.maximum(sums, 0)

    def bits(part: np.ndarray) -> float:
        return 0.0 if part.sum() == 0 else float(entropy(part, base=2))

    for cut in range(1, len(sums)):
        left, right, whole = bits(mass[:cut]), bits(mass[cut:]), bits(mass)
        total = mass.sum()
        share, cells = mass[:cut].sum() / total if total else 0.0, cut / len(sums)
        expected = {
            "printed": left + right - whole,
            "weighted": whole - share * left - (1 - share) * right,
            "uniformity": float(entropy([share, 1 - share], [cells, 1 - cells], base=2)) if total else 0.0,
        }
        for gain, value in expected.items():
            with np.errstate(all="raise", under="ignore"):
                found = GAINS[gain](np.array(sums), len(sums), 0.0)
            assert found[cut - 1] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(("gain", "threshold"), [("uniformity", 0.1), ("printed", 1.0), ("weighted", 1.0)])
def test_each_gain_has_its_threshold_and_uniformity_alone_a_least_mass(
    gain: str, threshold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, float] = {}

    def kept(cells: np.ndarray, gain: str, threshold: float, **said: float) -> tuple[IntArray, IntArray]:
        asked.update(said, threshold=threshold)
        return partition(cells, gain, threshold, variance=said["variance"], min_mass=said["min_mass"])

    monkeypatch.setattr(deid.dp.dpcube, "partition", kept)
    dpcube(np.array([[1, 7], [2, 30]]), 2.0, SeededNoise(0), gain=gain, distance=2, cell_share=0.25)
    assert asked["threshold"] == threshold
    assert asked["variance"] == pytest.approx(laplace_variance(2, 0.5))
    assert asked["min_mass"] == (2.0 if gain == "uniformity" else 0.0)  # standard deviations of the noise
    dpcube(np.array([1, 7]), 2.0, SeededNoise(0), gain=gain, threshold=0.0)
    assert asked["threshold"] == 0.0


def test_a_box_is_cut_where_its_mass_reaches_the_least() -> None:
    """Two standard deviations of four cells with noise of variance 9 are 12."""
    for mass, boxes in ((11.9, 1), (12.0, 3)):
        lows, _ = partition(np.array([0, 0, mass, 0]), "uniformity", 0.9, variance=9.0, min_mass=2.0)
        assert len(lows) == boxes


def covered(boxes: Boxes) -> np.ndarray:
    seen = np.zeros(boxes.shape, int)
    for low, high in zip(boxes.lows, boxes.highs, strict=True):
        seen[tuple(map(slice, low, high))] += 1
    return seen


@settings(max_examples=25)
@given(st.integers(0, 999), st.sampled_from(["printed", "weighted", "uniformity", "sse"]), st.floats(0.01, 2))
def test_boxes_cover_every_cell_once(seed: int, gain: str, threshold: float) -> None:
    """Algorithm 3 as printed loses the halves that cannot be split."""
    cells = np.random.default_rng(seed).normal(2, 3, (4, 5, 3))
    lows, highs = partition(cells, gain, threshold, variance=1.0, min_mass=0.0)
    assert (covered(Boxes(cells.shape, lows, highs, np.zeros(len(lows)), np.zeros(len(lows)))) == 1).all()


def test_improved_mode_finds_a_block_that_the_printed_gain_cannot() -> None:
    counts = np.zeros((16, 2), np.int64)
    counts[8:, 1] = 200
    errors = {}
    for mode in ("paper", "improved"):
        boxes = dpcube(counts, 1.0, SeededNoise(1), mode=mode)
        assert (covered(boxes) == 1).all()
        errors[mode] = np.abs(boxes.aggregate([0, 1], [None, None], boxes.counts) - counts).sum()
    assert errors["improved"] < 200 < errors["paper"]


def test_fusion_lowers_the_variance() -> None:
    counts = np.zeros((4, 4), np.int64)
    errors = [dpcube(counts, 1.0, SeededNoise(seed), threshold=1e9).counts[0] for seed in range(300)]
    boxes = dpcube(counts, 1.0, SeededNoise(0), threshold=1e9)
    assert len(boxes) == 1
    assert np.var(errors) == pytest.approx(boxes.variances[0], rel=0.35)
    assert boxes.variances[0] < dpcube(counts, 1.0, SeededNoise(0), mode="paper", cell_share=0.75).variances[0]


@settings(max_examples=20)
@given(st.integers(0, 999))
def test_privtree_covers_every_cell_once_and_follows_the_data(seed: int) -> None:
    points = np.random.default_rng(seed).integers(0, [3, 40, 7], (300, 3))
    boxes = privtree(points, (3, 40, 7), 2.0, SeededNoise(seed))
    assert (covered(boxes) == 1).all()
    dense = np.tile([[1, 5, 2]], (5000, 1))
    boxes = privtree(dense, (3, 40, 7), 2.0, SeededNoise(seed))
    own = [i for i in range(len(boxes)) if np.all(boxes.lows[i] <= [1, 5, 2]) and np.all(boxes.highs[i] > [1, 5, 2])]
    assert (boxes.highs[own[0]] - boxes.lows[own[0]]).prod() == 1
    assert boxes.counts[own[0]] == pytest.approx(5000, abs=40)


def test_slices_of_boxes_are_sums_over_cells() -> None:
    """Against the cube that is spelt out; with conditions, in both spreads."""
    points = np.random.default_rng(2).integers(0, [3, 8, 5], (400, 3)) // [1, 2, 1]
    for spread in ("even", "profile"):
        found = privtree(points, (3, 8, 5), 3.0, SeededNoise(2))
        boxes = Boxes(found.shape, found.lows, found.highs, found.counts, found.variances, spread)
        cube = boxes.aggregate([0, 1, 2], [None] * 3, boxes.counts)
        assert cube.sum() == pytest.approx(boxes.counts.sum())
        some = np.array([1, 2, 6])
        np.testing.assert_allclose(boxes.aggregate([2, 0], [None, some, None], boxes.counts), cube[:, some].sum(1).T)
        np.testing.assert_allclose(boxes.aggregate([1], [None, some, None], boxes.counts), cube.sum((0, 2))[some])
        weights = boxes.shares(0)[:, 1] * boxes.shares(1)[:, some].sum(1)
        variance = boxes.aggregate([0], [None, some, None], boxes.variances, 2)[1]
        assert variance == pytest.approx((boxes.variances * weights**2).sum())


def test_simplex() -> None:
    np.testing.assert_allclose(simplex(np.array([3.0, -1.0, 2.0]), 4.0), [2.5, 0, 1.5])
    np.testing.assert_allclose(simplex(np.array([3.0, -1.0]), -2.0), [0, 0])


def test_wrong_options_are_refused() -> None:
    counts = np.zeros((2, 2), np.int64)
    for wrong in ({"mode": "other"}, {"gain": "other"}):
        with pytest.raises(ConfigError):
            dpcube(counts, 1.0, SeededNoise(0), **wrong)  # type: ignore[arg-type]


def test_rows_and_cubes_agree() -> None:
    rows = Rows(np.array([[0, 1], [1, 1]]), (2, 2))
    assert rows.counts((1,)).tolist() == [0, 2]
