"""The compiled loops equal their NumPy reference; the reference's gradient is the true one."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base import compiled
from deid.labeling import kernels, reference

_native = pytest.importorskip("deid._native", reason="the compiled module was not built")

sizes = st.tuples(st.integers(1, 12), st.integers(1, 9), st.integers(0, 10_000))


def scores(case: tuple[int, int, int], *, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    n, labels, seed = case
    rng = np.random.default_rng(seed)
    if ties:
        return rng.integers(0, 2, (n, labels)).astype(float), rng.integers(0, 2, (labels, labels)).astype(float)
    return rng.normal(scale=5, size=(n, labels)), rng.normal(scale=3, size=(labels, labels))


@pytest.mark.skipif(os.environ.get("DEID_KERNELS") == "numpy", reason="the reference was chosen for this run")
def test_the_compiled_module_is_what_runs() -> None:
    assert compiled.BACKEND == "native"


def test_the_reference_can_be_chosen() -> None:
    code = "from deid.base import compiled; print(compiled.BACKEND)"
    environment = {**os.environ, "DEID_KERNELS": "numpy"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "numpy"


@given(case=sizes, ties=st.booleans())
def test_viterbi_takes_the_same_path_ties_included(case: tuple[int, int, int], ties: bool) -> None:
    emissions, transition = scores(case, ties=ties)
    assert kernels.viterbi(emissions, transition).tolist() == reference.viterbi(emissions, transition).tolist()


@given(case=sizes)
def test_marginals_agree(case: tuple[int, int, int]) -> None:
    emissions, transition = scores(case)
    assert kernels.marginals(emissions, transition) == pytest.approx(reference.marginals(emissions, transition))


@given(case=sizes, apart=st.sampled_from([30, 100, 300, 1000, 1e5]))
def test_marginals_of_scores_far_apart_agree(case: tuple[int, int, int], apart: float) -> None:
    emissions, transition = (apart * values for values in scores(case))
    agreed = pytest.approx(reference.marginals(emissions, transition), abs=1e-9)
    assert kernels.marginals(emissions, transition) == agreed


def problem(seed: int, labels: int = 3) -> list[np.ndarray]:
    """A random training problem of two documents in three stretches, as `epoch` takes it."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, 10)
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    gold = rng.integers(0, labels, 10).astype(np.int32)
    stretches = np.array([[0, 4, -1, gold[4]], [4, 7, gold[3], -1], [7, 10, -1, -1]], dtype=np.int64)
    return [
        begin,
        rng.integers(0, 6, begin[-1]).astype(np.int32),
        rng.choice([1.0, 0.25], begin[-1]).astype(np.float32),
        gold,
        stretches,
        rng.permutation(3),
        rng.normal(size=(6, labels)).astype(np.float32),
        rng.random((6, labels)).astype(np.float32),
        rng.normal(size=(labels, labels)),
        rng.random((labels, labels)),
        rng.normal(size=(6, labels)).astype(np.float32),
        rng.normal(size=(labels, labels)),
        rng.random(labels),
    ]


@given(seed=st.integers(0, 10_000), labels=st.integers(1, 5), drop=st.sampled_from([0.0, 0.25, 0.5]))
@settings(max_examples=50)
def test_an_epoch_changes_the_weights_alike(seed: int, labels: int, drop: float) -> None:
    mine, theirs = problem(seed, labels), problem(seed, labels)
    tail = (0.1, 0.2, drop, 1 + seed)
    for _ in range(3):
        assert kernels.epoch(*mine, *tail) == pytest.approx(reference.epoch(*theirs, *tail), abs=1e-5)
    for a, b in zip(mine[6:10], theirs[6:10], strict=True):
        assert a == pytest.approx(b, abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_the_step_follows_the_finite_difference_of_the_loss(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With large accumulated squares and a tiny rate, a step is the gradient."""
    monkeypatch.setattr(reference, "NOTHING", 0.0)
    arrays = problem(seed)
    arrays[4], arrays[5] = arrays[4][:2], np.array([0], dtype=np.int64)  # one step, on a stretch with a right neighbour
    arrays[4] = arrays[4][:1]
    arrays[7][:], arrays[9][:] = 1e12, 1e12
    start = [a.copy() for a in arrays]
    rate = 1e3
    arrays[6] = arrays[6].astype(np.float64)  # the reference takes any float type
    reference.epoch(*arrays, rate, 0.0, 0.0, 1)
    for weights in (6, 8):
        for place in np.ndindex(start[weights].shape):
            losses = []
            for sign in (1, -1):
                moved = [a.astype(np.float64) if i == 6 else a.copy() for i, a in enumerate(start)]
                moved[weights][place] += sign * 1e-5
                losses.append(reference.epoch(*moved, 0.0, 0.0, 0.0, 1))
            slope = (losses[0] - losses[1]) / 2e-5
            step = (start[weights][place] - arrays[weights][place]) * 1e6 / rate
            assert step == pytest.approx(slope, abs=1e-4)


def test_the_pull_leads_back_to_the_old_weights() -> None:
    """The stronger the pull, the nearer the weights stay to where they came from."""
    distances = []
    for pull in (0.0, 0.3, 3.0):
        arrays = problem(3)
        arrays[6], arrays[8] = arrays[10].copy(), arrays[11].copy()
        for _ in range(30):
            kernels.epoch(*arrays, 0.1, pull, 0.0, 1)
        distances.append(np.abs(arrays[6] - arrays[10]).sum() + np.abs(arrays[8] - arrays[11]).sum())
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < distances[0] / 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda a: a[1].__setitem__(0, 99),
        lambda a: a[1].__setitem__(0, -1),
        lambda a: a[3].__setitem__(0, 7),
        lambda a: a[4].__setitem__((0, 1), 11),
        lambda a: a[4].__setitem__((0, 2), 3),
        lambda a: a[5].__setitem__(0, 3),
        lambda a: a[0].__setitem__(-1, a[0][-1] + 1),
        lambda a: a.__setitem__(8, a[8][:-1]),
        lambda a: a.__setitem__(2, a[2][:-1]),
        lambda a: a.__setitem__(10, a[10][:-1]),
        lambda a: a.__setitem__(12, a[12][:-1]),
    ],
)
def test_arrays_that_do_not_fit_are_refused_before_any_loop(spoil: object) -> None:
    arrays = problem(1)
    spoil(arrays)  # type: ignore[operator]
    with pytest.raises(ValueError, match=r"array"):
        _native.epoch(*(np.ascontiguousarray(a) for a in arrays), 3, 0.1, 0.0, 0.0, 1)


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="sizes"):
        _native.viterbi(np.zeros((2, 2)), np.zeros((2, 2)), 3, 2, np.empty(3, dtype=np.int64))
    with pytest.raises(ValueError, match="sizes"):
        _native.marginals(np.zeros((2, 2)), np.zeros((2, 2)), 2, 2, np.zeros((1, 2)))


def test_without_the_compiled_module_the_reference_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deid._native", None)
    monkeypatch.delattr("deid._native", raising=False)
    try:
        importlib.reload(compiled)
        importlib.reload(kernels)
        assert compiled.BACKEND == "numpy"
        emissions, transition = scores((5, 3, 1))
        assert kernels.viterbi(emissions, transition).tolist() == reference.viterbi(emissions, transition).tolist()
    finally:
        monkeypatch.undo()
        importlib.reload(compiled)
        importlib.reload(kernels)
