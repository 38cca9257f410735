"""What each partition does where the noise gives the truth: the method as its paper has it, by brute force."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.dp.boxes import Boxes
from deid.dp.diffgen import diffgen
from deid.dp.diffpart import balanced_taxonomy, diffpart
from deid.dp.dpcube import dpcube, partition
from deid.dp.noise import laplace_variance
from deid.dp.privtree import privtree

SHAPE = (4, 5, 3)
SKEWED = np.random.default_rng(2).gamma(0.4, 60, SHAPE).astype(np.int64)


class Exact:
    """Gives the truth, or what is best, and keeps what was asked: sensitivity or scale, and epsilon."""

    def __init__(self) -> None:
        self.counted: list[tuple[int, float]] = []
        self.chosen: list[tuple[float, float]] = []
        self.scales: list[float] = []

    def discrete_laplace(self, values: Any, sensitivity: int, epsilon: float) -> Any:
        self.counted.append((sensitivity, epsilon))
        return np.asarray(values)

    def laplace(self, values: Any, scale: float) -> Any:
        self.scales.append(scale)
        return np.asarray(values, float)

    def choose(self, scores: Any, sensitivity: float, epsilon: float) -> int:
        self.chosen.append((sensitivity, epsilon))
        return int(np.argmax(scores))


def exact() -> Any:
    return Exact()


def box_set(lows: np.ndarray, highs: np.ndarray) -> set[tuple[tuple[int, int], ...]]:
    return {tuple(zip(low, high, strict=True)) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)}


def boxes_of(boxes: Boxes) -> set[tuple[tuple[int, int], ...]]:
    return box_set(boxes.lows, boxes.highs)


def within(points: np.ndarray, box: tuple[tuple[int, int], ...]) -> int:
    return sum(all(low <= x < high for x, (low, high) in zip(point, box, strict=True)) for point in points.tolist())


# ------------------------------------------------------------------------------------------------------- DPCube


def sse_gain(left: np.ndarray, right: np.ndarray, variance: float) -> float:
    whole = np.concatenate([left.ravel(), right.ravel()])
    return (
        sum(-((part - part.mean()) ** 2).sum() for part in (left, right))
        + ((whole - whole.mean()) ** 2).sum()
        - variance
    )


def uniformity_gain(left: np.ndarray, right: np.ndarray, variance: float) -> float:
    sizes = left.size + right.size
    mass = [np.maximum(left, 0).sum(), np.maximum(right, 0).sum()]
    share = [m / sum(mass) for m in mass] if sum(mass) else [0, 0]
    return sum(w * math.log2(w * sizes / part.size) for w, part in zip(share, (left, right), strict=True) if w > 0)


def cut_apart(cells: np.ndarray, gain: Any, threshold: float, variance: float, min_mass: float) -> set[Any]:
    found, stack = set(), [tuple((0, size) for size in cells.shape)]
    while stack:
        box = stack.pop()
        own = cells[tuple(slice(*ends) for ends in box)]
        best = (threshold, None)
        if own.sum() >= min_mass * math.sqrt(variance * own.size) or not min_mass:
            for axis, (low, high) in enumerate(box):
                for at in range(low + 1, high):
                    left, right = np.split(own, [at - low], axis)
                    best = max(best, (gain(left, right, variance), (axis, at)), key=lambda pair: pair[0])
        if best[1] is None:
            found.add(box)
            continue
        axis, at = best[1]
        stack += [(*box[:axis], ends, *box[axis + 1 :]) for ends in ((box[axis][0], at), (at, box[axis][1]))]
    return found


@settings(max_examples=12)
@given(st.integers(0, 999), st.sampled_from([0.0, 2.0]), st.sampled_from([0.3, 4.0]))
def test_dpcube_cuts_where_the_gain_is_greatest(seed: int, min_mass: float, variance: float) -> None:
    cells = np.random.default_rng(seed).gamma(0.4, 6, SHAPE)
    for name, gain, threshold in (("sse", sse_gain, 9.0), ("uniformity", uniformity_gain, 0.1)):
        found = box_set(*partition(cells, name, threshold, variance=variance, min_mass=min_mass))
        assert found == cut_apart(cells, gain, threshold, variance, min_mass)


@pytest.mark.parametrize("mode", ["paper", "improved"])
def test_dpcube_pays_for_cells_and_boxes_and_counts_what_is_in_them(mode: str) -> None:
    noise = exact()
    counts = SKEWED
    boxes = dpcube(counts, 2.0, noise, mode=mode, distance=3, cell_share=0.25, gain="uniformity", threshold=0.01)
    assert [sensitivity for sensitivity, _ in noise.counted] == [3, 3]
    assert [epsilon for _, epsilon in noise.counted] == pytest.approx([0.5, 1.5])
    assert len(boxes) > 1
    for low, high, count, variance in zip(boxes.lows, boxes.highs, boxes.counts, boxes.variances, strict=True):
        own = counts[tuple(map(slice, low, high))]
        assert count == pytest.approx(own.sum())
        # two measurements of one number, each with its variance: that of their best mean
        cells, box = own.size * laplace_variance(3, 0.5), laplace_variance(3, 1.5)
        assert variance == pytest.approx(box if mode == "paper" else 1 / (1 / cells + 1 / box), rel=1e-6)


@pytest.mark.parametrize(
    ("gain", "threshold"), [("sse", 8.0), ("uniformity", 0.1), ("printed", 1.0), ("weighted", 1.0)]
)
def test_dpcubes_thresholds_are_those_that_are_said(gain: str, threshold: float) -> None:
    counts = SKEWED // 20 if gain == "sse" else np.where(np.arange(4)[:, None, None] < 2, SKEWED, SKEWED // 20)
    found = [boxes_of(dpcube(counts, 2.0, exact(), gain=gain, threshold=t)) for t in (None, threshold, threshold / 9)]
    assert found[0] == found[1] != found[2]


# ----------------------------------------------------------------------------------------------------- PrivTree


@settings(max_examples=12)
@given(st.integers(0, 999), st.sampled_from([1, 2]))
def test_privtree_halves_what_holds_more_than_its_depth_costs(seed: int, distance: int) -> None:
    points = np.random.default_rng(seed).integers(0, SHAPE, (150, 3)) // [1, 2, 1]
    noise = exact()
    boxes = privtree(points, SHAPE, 4.0, noise, distance=distance)
    scale = 3 * distance / 2.0  # (2 b - 1) / (b - 1) of two halves, over half of epsilon
    assert noise.scales == pytest.approx([scale] * len(noise.scales))
    assert noise.counted == [(distance, pytest.approx(2.0))]
    decay = scale * math.log(2)
    axes = sorted(range(3), key=lambda axis: (SHAPE[axis], axis))
    found = set()
    stack = [(tuple((0, size) for size in SHAPE), 0, 0)]
    while stack:
        box, depth, turn = stack.pop()
        wide = [axis for axis in (*axes[turn:], *axes[:turn]) if box[axis][1] - box[axis][0] > 1]
        if not wide or within(points, box) <= depth * decay:
            found.add(box)
            continue
        axis = wide[0]
        low, high = box[axis]
        for ends in ((low, (low + high) // 2), ((low + high) // 2, high)):
            half = (*box[:axis], ends, *box[axis + 1 :])
            stack.append((half, depth + 1, (axes.index(axis) + 1) % 3))
    assert boxes_of(boxes) == found
    for low, high, count in zip(boxes.lows.tolist(), boxes.highs.tolist(), boxes.counts, strict=True):
        assert count == within(points, tuple(zip(low, high, strict=True)))


# ------------------------------------------------------------------------------------------------------ DiffGen


@settings(max_examples=12)
@given(st.integers(0, 999), st.integers(1, 7))
def test_diffgen_halves_what_is_furthest_from_even(seed: int, rounds: int) -> None:
    points = np.random.default_rng(seed).integers(0, SHAPE, (97, 3)) // [1, 2, 1]
    noise = exact()
    boxes = diffgen(points, SHAPE, 2.0, noise, distance=2, rounds=rounds)
    cuts = [[0, size] for size in SHAPE]
    for _ in range(rounds):
        best: tuple[float, int, int] | None = None
        for axis, own in enumerate(cuts):
            for low, high in itertools.pairwise(own):
                if high - low > 1:
                    inside = [x for x in points[:, axis].tolist() if low <= x < high]
                    middle = (low + high) // 2
                    even = len(inside) * (middle - low) / (high - low)
                    score = abs(sum(x < middle for x in inside) - even)
                    if best is None or score > best[0] + 1e-9:
                        best = score, axis, middle
        if best is not None:
            cuts[best[1]] = sorted([*cuts[best[1]], best[2]])
    expected = set(itertools.product(*(list(itertools.pairwise(own)) for own in cuts)))
    assert boxes_of(boxes) == expected
    assert boxes.counts.tolist() == [
        within(points, tuple(zip(low, high, strict=True)))
        for low, high in zip(boxes.lows.tolist(), boxes.highs.tolist(), strict=True)
    ]
    assert all(sensitivity == 2 and epsilon == pytest.approx(0.6 / rounds) for sensitivity, epsilon in noise.chosen)
    assert noise.counted == [(2, pytest.approx(1.4))]
    with pytest.raises(ConfigError, match="at least one"):
        diffgen(points, SHAPE, 2.0, noise, rounds=0)


# ----------------------------------------------------------------------------------------------------- DiffPart

ITEMS = [f"i{n}" for n in range(9)]


@pytest.mark.parametrize("fanout", [2, 3, 10])
def test_a_balanced_taxonomy_keeps_all_items_in_order(fanout: int) -> None:
    items = [f"i{n}" for n in range(20)]
    tree = balanced_taxonomy(items, fanout)
    assert list(tree.leaves()) == items
    inner = [node for node in tree if tree.children(node)]
    assert all(len(tree.children(node)) <= fanout for node in inner)
    assert {len(tree.chain(item)) for item in items} == {math.ceil(math.log(20, fanout) - 1e-9) + 1}
    assert list(balanced_taxonomy(items[:2], fanout).leaves()) == items[:2]
    for wrong in ((items[:1], fanout), (["a", "a"], fanout), (items, 1), (items, 11)):
        with pytest.raises(ConfigError):
            balanced_taxonomy(*wrong)


@settings(max_examples=15)
@given(st.integers(0, 999), st.sampled_from([1, 2]))
def test_diffpart_counts_the_sets_that_are_frequent_enough(seed: int, distance: int) -> None:
    generator = np.random.default_rng(seed)
    kinds = [frozenset(generator.choice(ITEMS, int(generator.integers(1, 4)), replace=False)) for _ in range(6)]
    records = [kinds[int(place)] | {"not declared"} for place in generator.integers(0, 6, 400)]
    tree, noise = balanced_taxonomy(ITEMS, 3), exact()
    truth = Counter(record - {"not declared"} for record in records)
    assert diffpart([*records, frozenset()], tree, 400.0, noise, distance=distance) == dict(truth)
    assert {sensitivity for sensitivity, _ in noise.counted} == {distance}
    # with the least epsilon that a set of this size passes at all, it does; with less, it does not
    found = diffpart(records, tree, 0.5, exact(), distance=distance)
    assert all(found[own] == truth[own] for own in found)


def test_a_set_passes_diffpart_when_each_part_on_its_way_is_beyond_the_noise() -> None:
    """Two divisions each have half of half of epsilon, counting the other half: sqrt(2) / (epsilon / 4) decides."""
    tree = balanced_taxonomy(["a", "b", "c", "d"], 2)  # above a is one of two inner nodes, above them the root
    noise = exact()
    for size, passes in ((56, False), (57, True)):
        found = diffpart([frozenset({"a"})] * size, tree, 0.1 * 3 / 2, noise)
        assert (found == {frozenset({"a"}): size}) == passes


def test_diffpart_spends_its_epsilon_and_no_more_along_each_way() -> None:
    for items, fanout in ((["a", "b"], 2), (["a", "b", "c", "d"], 2), (ITEMS, 3)):
        noise = exact()
        diffpart([frozenset({"a", "i0"})] * 10_000, balanced_taxonomy(items, fanout), 1.0, noise)
        spent = sum(epsilon for _, epsilon in noise.counted)  # one way: each record has the same items
        assert 1.0 - 1e-6 <= spent <= 1.0
