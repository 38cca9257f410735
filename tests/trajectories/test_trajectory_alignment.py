"""Alignment of trajectories: the paper's example, brute force, and the compiled loop against NumPy."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trajectories.fixture import AGES, CODES, paper

from deid.trajectories import kernels, make_trajectories, reference
from deid.trajectories.alignment import Costs, align, align_by_index, alignment_tables
from deid.trajectories.records import Trajectories


def test_the_papers_tables() -> None:
    """Example 5: losses and ways of aligning T4 with T1, weights one half."""
    data = paper()
    costs = Costs(data.codes, data.ages)
    loss, way = alignment_tables(data.trajectory(3), data.trajectory(0), costs)
    assert (loss[..., 0] / 3 * 0.5).tolist() == [
        [0, 0.5, 1, 1.5],
        [0.5, 1, 1.5, 2],
        [1, 0.5, 1, 1.5],
        [1.5, 1, 0.5, 1],
        [2, 1.5, 1, 0.5],
    ]
    assert (loss[..., 1] / 8 * 0.5).tolist() == [
        [0, 0.5, 1, 1.5],
        [0.5, 0, 0.5, 1],
        [1, 0.5, 0.25, 0.75],
        [1.5, 1, 0.5, 0.75],
        [2, 1.5, 1, 0.5],
    ]
    assert way.tolist() == [[-1, 1, 1, 1], [2, 0, 1, 1], [2, 0, 0, 1], [2, 2, 0, 0], [2, 2, 2, 0]]
    found = align(data.trajectory(3), data.trajectory(0), costs)
    assert [(data.codes.names[c], data.ages.names[a]) for c, a in found.pairs] == [
        ("401.1", "33"),
        ("401.1", "34"),
        ("401.1", "35"),
    ]
    baseline = align_by_index(data.trajectory(3), data.trajectory(0), costs)
    assert (baseline.codes / 3, baseline.ages / 8) == (3, 2.5)


def test_loss_telescopes() -> None:
    """LM(33, [33-34]) is .25 and LM([33-34], [33-36]) too: a leaf counts no leaves."""
    tree = paper().ages
    leaf, two, four, root = (tree.index[n] for n in ("33", "[33-34]", "[33-36]", "[33-40]"))
    d = tree.leaves / tree.size
    assert (d[two] - d[leaf], d[four] - d[two], d[root] - d[leaf]) == (0.25, 0.25, 1)


_pair = st.tuples(st.sampled_from(["401.0", "401.1", "401.9"]), st.integers(33, 40).map(str))
_history = st.lists(_pair, min_size=1, max_size=4)


def encode(*histories: list[tuple[str, str]]) -> Trajectories:
    return make_trajectories({str(i): h for i, h in enumerate(histories)}, CODES, AGES)


def cheapest(data: Trajectories, costs: Costs) -> int:
    """Return the least cost over all ways to choose pairs that stand side by side, in order."""
    x, y = data.trajectory(0), data.trajectory(1)
    weights = np.array(costs.weights)

    def cost(rows: np.ndarray, other: np.ndarray | None) -> int:
        trees = (costs.codes, costs.ages)
        if other is None:
            parts = [tree.root_cost(rows[:, k]).sum() for k, tree in enumerate(trees)]
        else:
            parts = [tree.pair_cost(rows[:, k], other[:, k]).sum() for k, tree in enumerate(trees)]
        return int(np.array(parts) @ weights)

    best = None
    for count in range(min(len(x), len(y)) + 1):
        for left in itertools.combinations(range(len(x)), count):
            for right in itertools.combinations(range(len(y)), count):
                total = cost(x[list(left)], y[list(right)])
                total += cost(np.delete(x, left, 0), None) + cost(np.delete(y, right, 0), None)
                best = total if best is None else min(best, total)
    assert best is not None
    return best


@settings(max_examples=60)
@given(_history, _history, st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_alignment_is_optimal(a: list[tuple[str, str]], b: list[tuple[str, str]], weight: float) -> None:
    data = encode(a, b)
    costs = Costs(data.codes, data.ages, weight)
    found = align(data.trajectory(0), data.trajectory(1), costs)
    assert np.array([found.codes, found.ages]) @ np.array(costs.weights) == cheapest(data, costs)


@settings(max_examples=60)
@given(st.lists(_history, min_size=2, max_size=6), st.sampled_from([0.2, 0.5]), st.booleans(), st.booleans())
def test_compiled_and_reference_costs_are_those_of_the_alignments(
    histories: list[list[tuple[str, str]]], weight: float, by_index: bool, tabulated: bool
) -> None:
    if kernels.BACKEND != "native":
        pytest.skip("the compiled alignment is not built")
    data = encode(*histories)
    costs = Costs(data.codes, data.ages, weight)
    if not tabulated:
        data.codes.__dict__["table"] = data.ages.__dict__["table"] = np.empty(0, np.int32)
    active = np.ones(len(data), dtype=np.uint8)
    active[-1] = 0
    arguments = (data.trajectory(0), data.pairs, data.bounds, active, costs, by_index)
    native, plain = kernels.alignment_costs(*arguments), reference.alignment_costs(*arguments)
    join = align_by_index if by_index else align
    single = [join(data.trajectory(0), data.trajectory(i), costs) for i in range(len(data) - 1)]
    for found, expected in zip(native, plain, strict=True):
        assert found.tolist() == expected.tolist()
    assert native[0].tolist() == [*(s.codes for s in single), 0]
    assert native[1].tolist() == [*(s.ages for s in single), 0]


def test_the_compiled_loop_refuses_arrays_that_do_not_fit() -> None:
    compiled = pytest.importorskip("deid._alignment")
    data = encode([("401.0", "33")], [("401.1", "34")])
    trees = [a for t in (data.codes, data.ages) for a in (t.parent, t.depth, t.leaves, t.table)]
    columns = [np.ascontiguousarray(data.pairs[:, k]) for _ in (0, 1) for k in (0, 1)]
    out = [np.zeros(2, np.int64), np.zeros(2, np.int64)]
    good = [*trees, *columns, data.bounds, np.ones(2, np.uint8), 1, 1, False, *out]
    compiled.costs(*good)
    for place, bad in (
        (8, np.array([99, 0], np.int32)),
        (12, np.array([0, 9, 2])),
        (13, np.ones(3, np.uint8)),
        (14, "x"),
    ):
        wrong = list(good)
        wrong[place] = bad
        with pytest.raises((ValueError, TypeError)):
            compiled.costs(*wrong)
